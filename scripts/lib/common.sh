# shellcheck shell=bash
# What every script needs: where the project is, how to say something, how to fail. To be sourced.

# The project's folder, wherever the script was started from.
export project
project=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)

say() {
    printf '\n== %s\n' "$*"
}

# fail CODE MESSAGE...: one line of message per argument. Codes are those of the programs: 2 usage, 3 something is missing.
fail() {
    local code=$1
    shift
    printf '%s\n' "$@" >&2
    exit "$code"
}

has() {
    command -v "$1" >/dev/null 2>&1
}
