# shellcheck shell=sh disable=SC2154 # prefix is set before this

# What Slurm calls a host: mostly its name without the domain.
node() {
    if [ -n "$(sinfo --noheader --nodes="$1" --format=%N)" ]; then echo "$1"; else echo "${1%%.*}"; fi
}

reason_of() {
    sinfo --noheader --nodes="$1" --format=%E | head -n 1
}

drain() {
    node=$(node "$1")
    now=$(reason_of "$node")
    case $now in
    none | '' | "$prefix"*) scontrol update "NodeName=$node" State=DRAIN "Reason=$2" ;;
    *) echo "$node keeps its reason: $now" >&2 ;;
    esac
}

resume() {
    node=$(node "$1")
    case $(reason_of "$node") in
    "$prefix"*) scontrol update "NodeName=$node" State=RESUME ;;
    esac
}
