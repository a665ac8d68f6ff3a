# shellcheck shell=sh disable=SC2154 # prefix is set before this

annotation=network-test/reason

reason_of() {
    kubectl get node "$1" --output=jsonpath='{.metadata.annotations.network-test/reason}'
}

# A host that is cordoned without our reason is somebody else's.
drain() {
    if [ -z "$(reason_of "$1")" ] && [ "$(kubectl get node "$1" --output=jsonpath='{.spec.unschedulable}')" = true ]; then
        echo "$1 was cordoned by somebody else" >&2
    else
        kubectl annotate --overwrite node "$1" "$annotation=$2" && kubectl cordon "$1"
    fi
}

resume() {
    case $(reason_of "$1") in
    "$prefix"*) kubectl uncordon "$1" && kubectl annotate node "$1" "$annotation-" ;;
    esac
}
