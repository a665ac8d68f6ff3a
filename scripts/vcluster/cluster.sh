# shellcheck shell=bash
# shellcheck disable=SC2154 # here: vcluster; hosts, racks, mtu: the file conf
# Makes and removes the virtual hosts. To be sourced by vcluster.
#
# In: options. Out: namespaces `$VC_NAME-switch`, `$VC_NAME-n0`, ..., `$VC_NAME-head`, and a folder of state:
#   conf      hosts, racks, mtu           hosts, resolv.conf   what the hosts see under these names in /etc
#   NAME.pid  who keeps the host's namespaces open             rsh                 stands in for ssh
#   ready     is made last: without it, the rest is what an interrupted `up` has left
#   faults    see faults.sh
# The switch has a bridge per rack. Port p<i> leads to host i; with several racks, u<r> leads from rack r to c<r> of the
# core, which `head` is plugged into.

: "${VC_NAME:=vc}" "${VC_RUN:=/run/vcluster}"
state=$VC_RUN/$VC_NAME
switch=$VC_NAME-switch

# A dash would make the names of one cluster begin like those of another. The state's path becomes an argument of
# mpirun that is split at blanks.
[[ $VC_NAME =~ ^[a-z0-9]{1,20}$ ]] || fail 2 "VC_NAME=$VC_NAME: use up to 20 small letters and digits"
[[ $VC_RUN =~ ^/[^[:space:]]+$ ]] || fail 2 "VC_RUN=$VC_RUN: use an absolute path without blanks"

# --- Names and numbers. Host `hosts` is `head`, in a rack of its own if there are several.

name_of() {
    if [ "$1" -eq "$hosts" ]; then echo head; else echo "n$1"; fi
}

# number_of NAME
number_of() {
    if [ "$1" = head ]; then
        echo "$hosts"
    elif [[ $1 =~ ^n(0|[1-9][0-9]?)$ ]] && [ "${1#n}" -lt "$hosts" ]; then
        echo "${1#n}"
    else
        fail 2 "$1 is no host of this cluster: it has n0 to n$((hosts - 1)), and head"
    fi
}

# All but `head`, separated by commas.
all_hosts() {
    seq -s, -f 'n%.0f' 0 $((hosts - 1))
}

rack_of() {
    if [ "$1" -eq "$hosts" ]; then echo $((racks > 1 ? racks : 0)); else echo $(($1 * racks / hosts)); fi
}

address_of() {
    echo "10.77.$(rack_of "$1").$(($1 + 1))"
}

# The delay line tells hosts by the last byte.
mac_of() {
    printf '02:76:63:00:%02x:%02x\n' "$(rack_of "$1")" "$1"
}

# --- State.

# locked: until this program and all that it has started are through, nobody else changes this cluster.
locked() {
    mkdir -p "$VC_RUN"
    exec {lock}>"$VC_RUN/$VC_NAME.lock"
    flock -w 60 "$lock" || fail 3 "another command has been changing the cluster $VC_NAME for a minute: see who holds $VC_RUN/$VC_NAME.lock"
}

# need_root: what everything but --help needs.
need_root() {
    [ "$(id -u)" -eq 0 ] || fail 3 "virtual hosts need root: start this as root, or with sudo"
    mountpoint -q / || fail 3 "virtual hosts need a / that is a mount point: in a chroot, bind its folder onto itself" \
        "before you enter it (mount --bind DIR DIR)"
}

# need_up: reads the configuration into hosts, racks, mtu.
need_up() {
    need_root
    [ -e "$state/ready" ] || fail 3 "no cluster $VC_NAME is up: \`$here/vcluster up\` makes one"
    # shellcheck disable=SC1091 # written by `up`
    source "$state/conf"
}

# keeper_of HOST: the process that keeps its namespaces open. Not a later process of the same number.
keeper_of() {
    local pid title
    pid=$(cat "$state/$1.pid" 2>/dev/null) || return 1
    read -r -d '' title 2>/dev/null <"/proc/$pid/cmdline" && [ "$title" = "vcluster-$VC_NAME-$1" ] && echo "$pid"
}

all_alive() {
    local i
    for ((i = 0; i <= hosts; i++)); do
        keeper_of "$(name_of "$i")" >/dev/null || return 1
    done
}

namespaces() {
    ip netns list | awk -v mine="$VC_NAME-" 'index($1, mine) == 1 { print $1 }'
}

# --- up

# number FLAG VALUE FROM TO
number() {
    [[ $2 =~ ^[1-9][0-9]{0,5}$|^0$ && $2 -ge $3 && $2 -le $4 ]] || fail 2 "$1 $2: use a number from $3 to $4"
    echo "$2"
}

vc_up() {
    local hosts=6 racks=1 mtu=1500 wanted
    while [ $# -gt 0 ]; do
        case $1 in
        -n | --hosts) hosts=$(number "$1" "${2-}" 2 60) || return ;;
        -r | --racks) racks=$(number "$1" "${2-}" 1 12) || return ;;
        --mtu) mtu=$(number "$1" "${2-}" 576 65535) || return ;;
        *) fail 2 "up: unknown option $1 (see --help)" ;;
        esac
        shift 2
    done
    [ "$racks" -le "$hosts" ] || fail 2 "--racks $racks: more than the $hosts hosts"
    need_root
    require iproute2 util-linux
    locked
    wanted="hosts=$hosts racks=$racks mtu=$mtu"
    if [ -e "$state/ready" ] && [ "$(cat "$state/conf")" != "$wanted" ]; then
        fail 2 "the cluster $VC_NAME is up with $(cat "$state/conf"): take it down first, or choose another VC_NAME"
    fi
    if [ -e "$state/ready" ] && all_alive; then
        echo "the cluster $VC_NAME is up already: $wanted"
        return
    fi
    # What an interrupted `up` has left, or a cluster some of whose hosts have died.
    remove
    mkdir -p "$state"
    echo "$wanted" >"$state/conf"
    make || { remove && exit 3; }
    touch "$state/ready"
    echo "up: $hosts hosts ($(all_hosts)) in $racks $([ "$racks" -eq 1 ] && echo rack || echo racks)"
}

# Called where errors do not end the script: every step says itself what has failed.
make() {
    write_files &&
        make_namespaces &&
        batch "make a switch: the kernel needs bridge and veth" switch_commands ip -n "$switch" -batch - &&
        start_hosts &&
        batch "plug in the cables" cable_commands ip -n "$switch" -batch - &&
        batch "set up the switch" forwarding_commands bridge -n "$switch" -batch - &&
        configure_hosts
}

# batch AIM GENERATOR COMMAND...: gives a command what the generator prints.
batch() {
    local aim=$1 generator=$2
    shift 2
    "$generator" | "$@" || { echo "cannot $aim" >&2 && return 1; }
}

write_files() {
    local i
    {
        echo "127.0.0.1 localhost"
        for ((i = 0; i <= hosts; i++)); do
            echo "$(address_of "$i") $(name_of "$i")"
        done
    } >"$state/hosts"
    : >"$state/resolv.conf"
    : >"$state/faults"
    printf '#!/bin/sh\nVC_NAME=%q VC_RUN=%q exec %q rsh "$@"\n' "$VC_NAME" "$VC_RUN" "$here/vcluster" >"$state/rsh"
    chmod +x "$state/rsh"
}

make_namespaces() {
    local i
    {
        echo "netns add $switch"
        for ((i = 0; i <= hosts; i++)); do
            echo "netns add $VC_NAME-$(name_of "$i")"
        done
    } | ip -batch - || { echo "cannot make network namespaces: the kernel, or the container, does not allow it" >&2 && return 1; }
    # Where it matters: a bridge would else hand frames to the machine's packet filter.
    # shellcheck disable=SC2016 # for the inner shell
    ip netns exec "$switch" sh -c 'for file in all default; do echo 1 >/proc/sys/net/ipv6/conf/$file/disable_ipv6; done
        for file in /proc/sys/net/bridge/bridge-nf-call-*; do [ ! -e "$file" ] || echo 0 >"$file"; done' 2>/dev/null || true
}

bridges() {
    seq 0 $((racks > 1 ? racks : 0))
}

switch_commands() {
    local r
    for r in $(bridges); do
        echo "link add br$r mtu $mtu type bridge stp_state 0 forward_delay 0 mcast_snooping 0"
        echo "link set br$r up"
    done
    [ "$racks" -gt 1 ] || return 0
    for ((r = 0; r < racks; r++)); do
        echo "link add u$r mtu $mtu type veth peer name c$r mtu $mtu"
        echo "link set u$r master br$r up"
        echo "link set c$r master br$racks up"
    done
}

# Each host is kept by a process that does nothing.
start_hosts() {
    local i name tries
    for ((i = 0; i <= hosts; i++)); do
        name=$(name_of "$i")
        setsid nsenter --net="/run/netns/$VC_NAME-$name" unshare --uts --ipc --mount --propagation slave \
            bash "$here/keeper.sh" "$VC_NAME" "$name" "$state" "$lock" </dev/null >"$state/$name.log" 2>&1 &
    done
    for ((i = 0; i <= hosts; i++)); do
        name=$(name_of "$i")
        for ((tries = 0; tries < 1000; tries++)); do
            keeper_of "$name" >/dev/null && break
            sleep 0.01
        done
        keeper_of "$name" >/dev/null || { echo "host $name did not start: $(cat "$state/$name.log")" >&2 && return 1; }
    done
}

cable_commands() {
    local i
    for ((i = 0; i <= hosts; i++)); do
        echo "link add p$i mtu $mtu type veth peer name eth0 address $(mac_of "$i") mtu $mtu netns $VC_NAME-$(name_of "$i")"
        echo "link set p$i master br$(rack_of "$i") up"
    done
}

# Every bridge knows from the beginning behind which port a host is: nothing is flooded.
forwarding_commands() {
    local i r rack port
    for ((i = 0; i <= hosts; i++)); do
        rack=$(rack_of "$i")
        for r in $(bridges); do
            port=u$r
            if [ "$r" -eq "$rack" ]; then port=p$i; elif [ "$r" -eq "$racks" ]; then port=c$rack; fi
            echo "fdb replace $(mac_of "$i") dev $port master static"
        done
    done
}

configure_hosts() {
    local i neighbours congestion=
    # Another algorithm may be the machine's own; bbr paces, which blurs what a cable does.
    ! grep -qw cubic /proc/sys/net/ipv4/tcp_available_congestion_control || congestion="congctl cubic"
    neighbours=$(for ((i = 0; i <= hosts; i++)); do
        echo "neigh replace $(address_of "$i") lladdr $(mac_of "$i") dev eth0 nud permanent"
    done)
    for ((i = 0; i <= hosts; i++)); do
        ip -n "$VC_NAME-$(name_of "$i")" -batch - <<END || { echo "cannot set up $(name_of "$i")" >&2 && return 1; }
addr add $(address_of "$i")/16 dev eth0
link set eth0 up
route replace 10.77.0.0/16 dev eth0 src $(address_of "$i") $congestion
$(grep -vF " $(address_of "$i") " <<<"$neighbours")
END
    done
}

# --- down

vc_down() {
    [ $# -eq 0 ] || fail 2 "down takes no arguments"
    need_root
    has ip || fail 3 "virtual hosts need iproute2: install it, and start this again"
    locked
    remove
}

# Ends what runs in the namespaces, politely first, and removes them.
remove() {
    local namespace tries pids
    pids=$(inhabitants)
    signal_all CONT "$pids"
    signal_all TERM "$pids"
    for ((tries = 0; tries < 100; tries++)); do
        pids=$(inhabitants)
        [ -n "$pids" ] || break
        [ "$tries" -lt 50 ] || signal_all KILL "$pids"
        sleep 0.02
    done
    for namespace in $(namespaces); do
        ip netns del "$namespace"
    done
    rm -rf "$state"
}

# All processes in namespaces of this cluster.
inhabitants() {
    local namespace
    for namespace in $(namespaces); do
        # A namespace that is half made has none.
        ip netns pids "$namespace" 2>/dev/null || true
    done
}

# signal_all SIGNAL PIDS: some of them may have ended by now.
signal_all() {
    local pid
    for pid in $2; do
        kill -s "$1" "$pid" 2>/dev/null || true
    done
}
