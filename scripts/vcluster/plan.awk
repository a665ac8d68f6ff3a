# What has to be set for the faults that are wanted.
#
# usage: awk -v racks=N -v mtu=BYTES -v cluster=NAME -v switch_name=NAMESPACE -f plan.awk NODES FAULTS
#
# In: NODES, a line `NUMBER NAME RACK ADDRESS` per host, `head` last; FAULTS as in faults.sh. Out, in any order:
#   shape NAMESPACE INTERFACE TC-COMMAND;TC-COMMAND...     rates, by the kernel
#   delay FROM TO DELAY JITTER LOSS                        of all cables between two hosts; us, us, parts per million
#   steer PORT MATCH...                                    frames that enter the switch there and match are delayed
# The longest way has six stages: the sender's cable, its rack's, the other rack's, the receiver's, and what is particular
# to the pair. Delays and jitters add up, and of a host's rate and the one of all hosts the host's counts.

NR == FNR {
    name[$1] = $2; rack[$1] = $3; address[$1] = $4
    nodes = NR
    next
}

{
    place = $1 " " $2 " " $3 " " $4
    delay[place] = $5; jitter[place] = $6; loss[place] = $7; rate[place] = $8
    if ($1 == "pair" && $8) slow_pairs[$2] = slow_pairs[$2] " " $3
}

END {
    for (i = 0; i < nodes; i++) number[name[i]] = i
    for (i = 0; i < nodes; i++) {
        shape_host(i)
        shape(switch_name, "p" i, cable_rate(i, "down"))
    }
    for (r = 0; racks > 1 && r < racks; r++) {
        shape(switch_name, "u" r, rate["rack " r " - up"])
        shape(switch_name, "c" r, rate["rack " r " - down"])
    }
    for (i = 0; i < nodes; i++) delay_from(i)
}

function cable_rate(i, direction,    own) {
    own = rate["host " name[i] " - " direction]
    return own ? own : rate["base - - " direction]
}

# A millisecond's worth of bytes may go at once, at least two frames: a rate limit does not show in single short messages.
function bucket(kbit) {
    return "tbf rate " kbit "kbit burst " int(max(kbit / 8, 2 * mtu + 100)) " latency 50ms"
}

function max(a, b) {
    return a > b ? a : b
}

function shape(namespace, interface, kbit) {
    if (kbit) print "shape " namespace " " interface " qdisc add dev " interface " root " bucket(kbit)
}

# What a host sends: one rate for all, or a class for each receiver that is reached slowly.
function shape_host(i,    namespace, all, count, receivers, k, j, class, line) {
    namespace = cluster "-" name[i]
    all = cable_rate(i, "up")
    count = split(slow_pairs[name[i]], receivers, " ")
    if (!count) { shape(namespace, "eth0", all); return }
    if (!all) all = 40000000
    line = "qdisc add dev eth0 root handle 1: htb default 2 r2q 1000" \
        ";class add dev eth0 parent 1: classid 1:1 htb rate " all "kbit burst 64k cburst 64k quantum 60000" \
        ";class add dev eth0 parent 1:1 classid 1:2 htb rate " all "kbit burst 64k cburst 64k quantum 60000"
    for (k = 1; k <= count; k++) {
        j = number[receivers[k]]
        class = sprintf("1:%x", 16 + j)
        line = line ";class add dev eth0 parent 1:1 classid " class " htb rate " \
            rate["pair " name[i] " " name[j] " -"] "kbit quantum 3000" \
            ";filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dst " address[j] "/32 flowid " class
    }
    print "shape " namespace " eth0 " line
}

function delay_from(i,    j, affected) {
    for (j = 0; j < nodes; j++) {
        if (j == i) continue
        total_delay = total_jitter = 0; kept = 1
        pass("base - - up"); pass("host " name[i] " - up")
        if (rack[i] != rack[j]) { pass("rack " rack[i] " - up"); pass("rack " rack[j] " - down") }
        pass("pair " name[i] " " name[j] " -")
        pass("base - - down"); pass("host " name[j] " - down")
        if (!total_delay && !total_jitter && kept == 1) continue
        print "delay " i, j, total_delay, total_jitter, int(1000000 * (1 - kept) + 0.5)
        affected[j] = 1
        count[i]++
    }
    if (count[i] == nodes - 1) print "steer p" i " u32 0 0 " redirect(i)
    else for (j in affected) print "steer p" i " ip dst " address[j] "/32 " redirect(i)
}

# One stage of the way.
function pass(place) {
    total_delay += delay[place]
    total_jitter += jitter[place]
    kept *= 1 - loss[place] / 1000000
}

function redirect(i) {
    return "action mirred egress redirect dev d" rack[i]
}
