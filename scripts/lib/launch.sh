# shellcheck shell=bash
# The one place where scripts start MPI programs. To be sourced after common.sh. What is known about launchers is in
# launchers.ini, which tests read as well.

# Seconds that a job may take.
: "${MPI_TIME_LIMIT:=600}"

launchers=${project:?source scripts/lib/common.sh first}/scripts/lib/launchers.ini

# launchers_of KIND: the names of all sections of this kind (library, launcher).
launchers_of() {
    sed -n "s/^\[$1 \(.*\)\]\$/\1/p" "$launchers"
}

# launcher_value SECTION KEY: a value of launchers.ini, for example `launcher_value 'launcher srun' bind`.
launcher_value() {
    awk -v section="[$1]" -v key="$2" '
        /^\[/ { inside = ($0 == section) }
        inside && $1 == key && $2 == "=" { sub(/^[^=]*= */, ""); sub(/ +$/, ""); print; found = 1 }
        END { exit !found }' "$launchers" || fail 4 "$launchers has no value \`$2\` in [$1]"
}

# launcher_words ARRAY SECTION KEY...: appends the words of these values to an array, with {interface} and {agent}
# replaced by the variables interface and agent.
# shellcheck disable=SC2154 # set by whoever uses a value that has these places
launcher_words() {
    local -n words_out=$1
    local section=$2 value word
    shift 2
    for key in "$@"; do
        value=$(launcher_value "$section" "$key") || return
        for word in $value; do
            word=${word//'{interface}'/${interface-}}
            words_out+=("${word//'{agent}'/${agent-}}")
        done
    done
}

# mpi_of PROGRAM: prints the MPI library that it is linked with, openmpi or mpich.
mpi_of() {
    local linked name library
    linked=$(ldd "$1" | awk '{ print $1 }')
    for library in $(launchers_of library); do
        for name in $(launcher_value "library $library" names); do
            if grep -qxF -- "$name" <<<"$linked"; then
                echo "$library"
                return
            fi
        done
    done
    fail 4 "$1 is not linked with an MPI library that scripts/lib/launchers.ini knows"
}

# launcher_of LIBRARY: prints the name of the launcher on PATH that starts its ranks, and its command.
launcher_of() {
    local launcher command mark told marks tried=
    for launcher in $(launchers_of launcher); do
        [[ " $(launcher_value "launcher $launcher" starts) " == *" $1 "* ]] || continue
        IFS='|' read -ra marks <<<"$(launcher_value "launcher $launcher" version)"
        for command in $(launcher_value "launcher $launcher" commands); do
            # Not through a pipe into grep -q: under pipefail the launcher's broken pipe would count.
            told=$("$command" --version 2>/dev/null </dev/null) || continue
            for mark in "${marks[@]}"; do
                if [[ $told == *"$(trimmed "$mark")"* ]]; then
                    echo "$launcher $command"
                    return
                fi
            done
            tried+=" $command"
        done
    done
    fail 3 "no command on PATH is the launcher of $1${tried:+ (looked at:$tried)}: install it (scripts/test.sh does)"
}

trimmed() {
    read -r REPLY <<<"$1"
    printf '%s' "$REPLY"
}

# run_mpi N PROGRAM ARGUMENT...: N ranks of PROGRAM on this machine under the launcher of its own MPI; the exit code is
# the launcher's. A job that takes longer than MPI_TIME_LIMIT ends with code 124. With MPI_PIN=yes each rank has a core to
# itself, if there are enough, and does not yield it.
run_mpi() {
    local ranks=$1 program=$2 library found launcher command environment=() options=()
    library=$(mpi_of "$program") || return
    found=$(launcher_of "$library") || return
    read -r launcher command <<<"$found"
    if [ "${MPI_PIN-}" = yes ] && (($(nproc) >= ranks)); then
        launcher_words options "launcher $launcher" here root pin ranks
    else
        launcher_words environment "library $library" yield
        launcher_words options "launcher $launcher" here root crowd bind ranks
    fi
    shift
    timeout --foreground --kill-after=15 "$MPI_TIME_LIMIT" \
        env "${environment[@]}" "$command" "${options[@]}" "$ranks" "$@" </dev/null
}
