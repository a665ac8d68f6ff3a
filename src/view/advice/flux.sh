# shellcheck shell=sh disable=SC2154 # prefix is set before this

reason_of() {
    flux resource drain --no-header --format='{reason}' --include="$1" | head -n 1
}

# Flux refuses to drain a host again that has another reason.
drain() {
    flux resource drain "$1" "$2"
}

resume() {
    case $(reason_of "$1") in
    "$prefix"*) flux resource undrain "$1" ;;
    esac
}
