#!/usr/bin/env bash
# Turns the namespaces it was started in into a host, then keeps them open. Started by vcluster, once per host.
#
# usage: keeper.sh CLUSTER HOST STATE LOCK     (LOCK: the descriptor that keeps others from changing the cluster)
set -euo pipefail
cluster=$1 host=$2 state=$3 lock=$4

hostname "$host"
# /sys shows the network of whoever mounts it.
mount -t sysfs sysfs /sys
# What debootstrap makes has none yet.
[ -e /etc/hosts ] || : >>/etc/hosts
mount --bind "$state/hosts" /etc/hosts
# No name server can be reached from here: without this, an unknown name would be waited for.
resolver=$(readlink -f /etc/resolv.conf) || resolver=
[ ! -f "$resolver" ] || mount --bind "$state/resolv.conf" "$resolver"
mount -t tmpfs -o mode=1777 shm /dev/shm
echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6
# Every connection starts alike.
echo 1 >/proc/sys/net/ipv4/tcp_no_metrics_save
echo 0 >/proc/sys/net/ipv4/tcp_slow_start_after_idle
ip link set lo up

echo $$ >"$state/$host.pid"
cd /
exec {lock}>&-
# This name is how vcluster knows it again.
exec -a "vcluster-$cluster-$host" sleep infinity
