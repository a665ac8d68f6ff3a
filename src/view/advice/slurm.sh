# shellcheck shell=sh disable=SC2154 # prefix is set before this

reason_of() {
    sinfo --noheader --nodes="$1" --format=%E | head -n 1
}

drain() {
    now=$(reason_of "$1")
    case $now in
    none | '' | "$prefix"*) scontrol update "NodeName=$1" State=DRAIN "Reason=$2" ;;
    *) echo "$1 keeps its reason: $now" >&2 ;;
    esac
}

resume() {
    case $(reason_of "$1") in
    "$prefix"*) scontrol update "NodeName=$1" State=RESUME ;;
    esac
}
