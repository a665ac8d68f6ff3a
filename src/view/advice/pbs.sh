# shellcheck shell=sh disable=SC2154 # prefix is set before this

reason_of() {
    pbsnodes "$1" | sed -n 's/^ *comment = //p'
}

drain() {
    now=$(reason_of "$1")
    case $now in
    '' | "$prefix"*) pbsnodes -o -C "$2" "$1" ;;
    *) echo "$1 keeps its reason: $now" >&2 ;;
    esac
}

resume() {
    case $(reason_of "$1") in
    "$prefix"*) pbsnodes -r -C '' "$1" ;;
    esac
}
