# shellcheck shell=bash
# shellcheck disable=SC2154 # here, state, switch: vcluster and cluster.sh; hosts, racks: the file conf
# Runs programs on the virtual hosts and tells what is there. To be sourced by vcluster, after cluster.sh.

# vc_exec [-u USER] HOST COMMAND...: replaces this process, so that signals and the exit code are the command's own.
vc_exec() {
    local user=() pid
    if [ "${1-}" = -u ]; then
        [ $# -ge 2 ] || fail 2 "-u needs the name of a user"
        user=(runuser -u "$2" --)
        shift 2
    fi
    [ $# -ge 2 ] || fail 2 "exec needs a host and a command"
    need_up
    number_of "$1" >/dev/null
    pid=$(keeper_of "$1") || fail 3 "host $1 has died: \`$here/vcluster up\` makes the cluster anew"
    shift
    # shellcheck disable=SC2016 # for the inner shell
    exec nsenter -t "$pid" --net --uts --ipc --mount --root -- sh -c 'cd "$0" && exec "$@"' "$PWD" "${user[@]}" "$@"
}

# vc_rsh [OPTION...] HOST WORD...: like ssh, which takes its words for a line of shell.
vc_rsh() {
    while [[ ${1-} == -* ]]; do
        case $1 in
        -[bcDEeFIiJLlmOopQRSWw]) shift 2 ;;
        *) shift ;;
        esac
    done
    [ $# -ge 2 ] || fail 2 "rsh needs a host and a command"
    local host=${1#*@}
    shift
    vc_exec "$host" sh -c "$*"
}

vc_hosts() {
    [ $# -eq 0 ] || fail 2 "hosts takes no arguments"
    need_up
    all_hosts
}

vc_mpirun() {
    need_up
    local ranks=$hosts on found launcher command words=() environment=()
    on=$(all_hosts)
    while [ $# -ge 2 ]; do
        case $1 in
        -n | -np) ranks=$2 ;;
        -H | --host) on=$2 ;;
        *) break ;;
        esac
        shift 2
    done
    [ $# -gt 0 ] || fail 2 "mpirun needs a program"
    found=$(launcher_of openmpi) || return
    read -r launcher command <<<"$found"
    # shellcheck disable=SC2034 # read by launcher_words
    local interface=eth0 agent=$state/rsh
    launcher_words environment "library openmpi" tcp yield
    launcher_words words "launcher $launcher" root spread bind remote ranks
    words+=("$ranks")
    launcher_words words "launcher $launcher" hosts
    vc_exec head env "${environment[@]}" "$command" "${words[@]}" "$on" "$@"
}

vc_counters() {
    [ $# -eq 0 ] || fail 2 "counters takes no arguments"
    need_up
    local i name line='%-6s %16s %12s %16s %12s\n'
    # shellcheck disable=SC2059 # the format is the table's
    printf "$line" cable sent_bytes sent_packets received_bytes received_packets
    for ((i = 0; i <= hosts; i++)); do
        name=$(name_of "$i")
        traffic "$name" eth0 "$VC_NAME-$name"
    done
    [ "$racks" -gt 1 ] || return 0
    for ((i = 0; i < racks; i++)); do
        traffic "rack$i" "u$i" "$switch"
    done
}

# traffic LABEL INTERFACE NAMESPACE
traffic() {
    # shellcheck disable=SC2016 # awk's
    ip netns exec "$3" awk -v label="$1" -v name="$2:" '
        { sub(/:/, ": ") }
        $1 == name { printf "%-6s %16s %12s %16s %12s\n", label, $10, $11, $2, $3 }' /proc/net/dev
}

vc_status() {
    [ $# -eq 0 ] || fail 2 "status takes no arguments"
    need_root
    if [ ! -e "$state/ready" ]; then
        echo "the cluster $VC_NAME is down$([ ! -e "$state" ] || echo ", and an interrupted up has left something: up and down clean it")"
        return 1
    fi
    need_up
    local i name
    echo "the cluster $VC_NAME is up: $(cat "$state/conf")"
    for ((i = 0; i <= hosts; i++)); do
        name=$(name_of "$i")
        echo "$name $(address_of "$i") $(keeper_of "$name" >/dev/null && echo "$(($(ip netns pids "$VC_NAME-$name" | wc -l) - 1)) processes" || echo DEAD)"
    done
    vc_fault show
}
