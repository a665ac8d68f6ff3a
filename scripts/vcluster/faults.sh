# shellcheck shell=bash
# shellcheck disable=SC2154 # here, state, switch, lock: vcluster and cluster.sh; hosts, racks, mtu: the file conf
# Faults of cables and hosts. To be sourced by vcluster, after cluster.sh.
#
# `$state/faults` is what is wanted, a line per place and direction:
#   SCOPE A B DIRECTION DELAY JITTER LOSS RATE     us, us, parts per million, kbit/s; 0: none; `-` where nothing is named
# plan.awk turns it into what has to be set, and apply sets what differs from before: rates are the kernel's packet
# schedulers at both ends of a cable; delay, jitter and loss are delay.c, which the switch sends the frames through that
# need it. Faults can be set and cleared while programs run.

vc_fault() {
    [ $# -gt 0 ] || fail 2 "fault needs to know what to do (see --help)"
    need_up
    local what=$1
    shift
    case $what in
    host | pair | rack | base) locked && set_fault "$what" "$@" ;;
    unplug) plug down "$@" ;;
    plug) plug up "$@" ;;
    freeze) signal_host STOP "$@" ;;
    thaw) signal_host CONT "$@" ;;
    crash) signal_host KILL "$@" ;;
    show) show_faults "$@" ;;
    clear) locked && clear_faults "$@" ;;
    *) fail 2 "fault: unknown \`$what\` (see --help)" ;;
    esac
}

# --- Wishes.

set_fault() {
    local scope=$1 a=- b=- settings direction directions='up down' places line
    shift
    case $scope in
    host)
        number_of "${1-}" >/dev/null
        a=$1 && shift
        ;;
    pair)
        number_of "${1-}" >/dev/null
        number_of "${2-}" >/dev/null
        [ "$1" != "$2" ] || fail 2 "fault pair: $1 is not connected with itself by a cable"
        a=$1 b=$2 directions=- && shift 2
        ;;
    rack)
        [ "$racks" -gt 1 ] || fail 2 "fault rack: this cluster has one switch (up --racks makes more)"
        a=$(number rack "${1-}" 0 $((racks - 1))) && shift
        ;;
    esac
    if [ $# -gt 0 ] && [ "$directions" != - ] && [[ ${!#} == up || ${!#} == down ]]; then
        directions=${!#}
        set -- "${@:1:$#-1}"
    fi
    settings=$(settings_of "$@") || return
    places=$(cat "$state/faults")
    for direction in $directions; do
        line="$scope $a $b $direction "
        places=$(grep -vF -- "$line" <<<"$places" || true)$'\n'"$line$settings"
    done
    wish "$places"
}

# settings_of SETTING...: delay, jitter, loss, rate.
settings_of() {
    [ $# -gt 0 ] || fail 2 "fault: nothing to set (rate=10mbit delay=1ms jitter=200us loss=2%)"
    local setting delay=0 jitter=0 loss=0 rate=0
    for setting in "$@"; do
        case $setting in
        delay=*) delay=$(scaled "$setting" us 1 ms 1000 s 1000000) || return ;;
        jitter=*) jitter=$(scaled "$setting" us 1 ms 1000 s 1000000) || return ;;
        loss=*) loss=$(scaled "$setting" % 10000) || return ;;
        rate=*) rate=$(scaled "$setting" kbit 1 mbit 1000 gbit 1000000) || return ;;
        *) fail 2 "fault: unknown setting $setting (rate=10mbit delay=1ms jitter=200us loss=2% up|down)" ;;
        esac
    done
    [ "$loss" -le 1000000 ] || fail 2 "fault: more than 100 % cannot be lost"
    echo "$delay $jitter $loss $rate"
}

# scaled KEY=VALUE UNIT FACTOR...: the value in whole units of factor 1.
scaled() {
    local value=${1#*=} result units=()
    local -A factors=()
    for ((i = 2; i < $#; i += 2)); do
        local next=$((i + 1))
        factors[${!i}]=${!next}
        units+=("${!i}")
    done
    if [[ $value =~ ^([0-9]{1,9}(\.[0-9]{1,6})?)([a-z%]+)$ ]] && [ -n "${factors[${BASH_REMATCH[3]}]-}" ]; then
        result=$(awk -v value="${BASH_REMATCH[1]}" -v factor="${factors[${BASH_REMATCH[3]}]}" \
            'BEGIN { printf "%.0f", value * factor }')
        if [ "$result" -gt 0 ] || [[ ${BASH_REMATCH[1]} =~ ^[0.]+$ ]]; then
            echo "$result"
            return
        fi
    fi
    fail 2 "fault: $1: use a number with one of the units ${units[*]}"
}

# wish LINES: makes them so, or leaves everything as it was. Lines without any effect are dropped.
wish() {
    local before=$state/faults.before
    cp "$state/faults" "$before"
    { grep -v -e '^$' -e ' 0 0 0 0$' || true; } <<<"$1" | sort >"$state/faults.new"
    mv "$state/faults.new" "$state/faults"
    if ! apply; then
        mv "$before" "$state/faults"
        apply || true
        fail 3 "the fault could not be set: there is none, or those of before"
    fi
    rm -f "$before"
}

show_faults() {
    [ $# -eq 0 ] || fail 2 "fault show takes no arguments"
    awk '{
        line = $1
        for (field = 2; field <= 4; field++) if ($field != "-") line = line " " $field
        if ($8) line = line " rate=" $8 "kbit"
        if ($5) line = line " delay=" $5 "us"
        if ($6) line = line " jitter=" $6 "us"
        if ($7) line = line " loss=" $7 / 10000 "%"
        print "fault " line
    }' "$state/faults"
    local i
    for ((i = 0; i <= hosts; i++)); do
        ip -n "$switch" link show "p$i" | grep -q '[<,]UP[,>]' || echo "fault unplug $(name_of "$i")"
    done
}

clear_faults() {
    [ $# -eq 0 ] || fail 2 "fault clear takes no arguments"
    local i
    for ((i = 0; i <= hosts; i++)); do
        ip -n "$switch" link set "p$i" up
    done
    wish ""
}

# plug up|down HOST
plug() {
    [ $# -eq 2 ] || fail 2 "fault plug and unplug need a host"
    local number
    number=$(number_of "$2") || return
    ip -n "$switch" link set "p$number" "$1"
}

# signal_host SIGNAL HOST: all its processes but the one that is the host.
signal_host() {
    [ $# -eq 2 ] || fail 2 "fault freeze, thaw and crash need a host"
    number_of "$2" >/dev/null
    local keeper
    keeper=$(keeper_of "$2") || fail 3 "host $2 has died: \`$here/vcluster up\` makes the cluster anew"
    signal_all "$1" "$(ip netns pids "$VC_NAME-$2" | grep -vx "$keeper" || true)"
}

# --- What follows from them.

# apply: sets everything as `faults` says. Called where errors do not end the script.
apply() {
    plan >"$state/plan" || return 1
    sed -n 's/^delay //p' "$state/plan" >"$state/delays.new"
    mv "$state/delays.new" "$state/delays"
    [ ! -s "$state/delays" ] || start_delay_line || return 1
    reload_delay_line
    steer && shape
}

plan() {
    local i
    {
        for ((i = 0; i <= hosts; i++)); do
            echo "$i $(name_of "$i") $(rack_of "$i") $(address_of "$i")"
        done
    } | awk -v racks="$racks" -v mtu="$mtu" -v cluster="$VC_NAME" -v switch_name="$switch" \
        -f "$here/plan.awk" - "$state/faults"
}

# differs NAME: whether the plan's lines of this kind are others than those that were set.
differs() {
    [ -e "$state/$1.set" ] || : >"$state/$1.set"
    sed -n "s/^$1 //p" "$state/plan" >"$state/$1.wanted"
    ! cmp -s "$state/$1.wanted" "$state/$1.set"
}

# Which frames leave the bridge for the delay line.
steer() {
    differs steer || return 0
    {
        awk '!seen[$1]++ { print "qdisc del dev", $1, "clsact" }' "$state/steer.set"
        awk '!seen[$1]++ { print "qdisc add dev", $1, "clsact" }' "$state/steer.wanted"
        sed 's/^\(p[0-9]*\) /filter add dev \1 ingress protocol ip prio 1 u32 match /' "$state/steer.wanted"
    } | tc -n "$switch" -batch - || { echo "cannot steer frames: the kernel needs clsact, cls_u32 and act_mirred" >&2 && return 1; }
    mv "$state/steer.wanted" "$state/steer.set"
}

# Rates. Only what has changed is touched: the queues of the others keep their frames.
shape() {
    differs shape || return 0
    local namespace device commands
    while read -r namespace device commands; do
        grep -qxF -- "$namespace $device $commands" "$state/shape.wanted" ||
            tc -n "$namespace" qdisc del dev "$device" root || return 1
    done <"$state/shape.set"
    while read -r namespace device commands; do
        if ! grep -qxF -- "$namespace $device $commands" "$state/shape.set"; then
            tr ';' '\n' <<<"$commands" | tc -n "$namespace" -batch - ||
                { echo "cannot limit a rate: the kernel needs sch_tbf, sch_htb and cls_u32" >&2 && return 1; }
        fi
    done <"$state/shape.wanted"
    mv "$state/shape.wanted" "$state/shape.set"
}

# --- The delay line.

delay_line() {
    local pid title
    pid=$(cat "$state/delay.pid" 2>/dev/null) || return 1
    read -r -d '' title 2>/dev/null <"/proc/$pid/cmdline" && [ "$title" = "$state/delay" ] && echo "$pid"
}

# From the first fault that needs it until `down`.
start_delay_line() {
    delay_line >/dev/null && return
    require compiler || return
    [ -c /dev/net/tun ] || { echo "delay, jitter and loss need /dev/net/tun, which this machine does not have" >&2 && return 1; }
    cc -std=gnu11 -O2 -Wall -Wextra -o "$state/delay" "$here/delay.c" || return 1
    local r taps=() tries
    for r in $(bridges); do
        taps+=("d$r")
    done
    (
        exec {lock}>&-
        exec setsid ip netns exec "$switch" "$state/delay" "$state/delays" "${taps[@]}" </dev/null >"$state/delay.log" 2>&1
    ) &
    echo $! >"$state/delay.pid"
    for ((tries = 0; tries < 500; tries++)); do
        grep -qx ready "$state/delay.log" 2>/dev/null && break
        sleep 0.01
    done
    grep -qx ready "$state/delay.log" || { echo "the delay line did not start: $(cat "$state/delay.log")" >&2 && return 1; }
    for r in $(bridges); do
        ip -n "$switch" link set "d$r" mtu "$mtu" txqueuelen 10000 master "br$r" up &&
            bridge -n "$switch" link set dev "d$r" learning off flood off mcast_flood off || return 1
    done
}

reload_delay_line() {
    local pid
    pid=$(delay_line) || return 0
    kill -s HUP "$pid"
}
