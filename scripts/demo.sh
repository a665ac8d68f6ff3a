#!/usr/bin/env bash
# Runs the main job end to end on this machine: installs what is missing, builds, measures real MPI processes on six virtual
# hosts of which one has a slow cable, names that host, and shows that the same hosts are healthy once the cable is
# repaired. Leaves result sets, the verdict (slow.diagnosis.txt and .json) and pages to look at (slow.html, modes.html) in
# results/<date-time>/.
#
# Virtual hosts need root. For anyone else, and where they cannot be made, the verdict is that of a recorded run, and the
# nine modes are measured on this host alone.
#
# usage: scripts/demo.sh [--quick] [--programs FOLDER] [-o FOLDER]
#
# --quick: fewer samples and lengths. --programs: those that are built already. -o: for the results, instead of
# results/<date-time>/; made if it is not there.
#
# Exit codes: 0 done, 2 usage, 3 something is missing and cannot be installed, else that of the program that failed.
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib/common.sh"
# shellcheck source=scripts/lib/install.sh
source "$project/scripts/lib/install.sh"
# shellcheck source=scripts/lib/launch.sh
source "$project/scripts/lib/launch.sh"

usage="usage: scripts/demo.sh [--quick] [--programs FOLDER] [-o FOLDER]"
lengths=64K,128K,256K samples=8 samples_of_modes=5 programs='' results=''
while [ $# -gt 0 ]; do
    case $1 in
    --quick) lengths=64K,128K samples=3 samples_of_modes=1 ;;
    --programs | -o)
        [ $# -gt 1 ] || fail 2 "$usage"
        folder=$(realpath -m -- "$2")
        if [ "$1" = -o ]; then results=$folder; else programs=$folder; fi
        shift
        ;;
    *) fail 2 "$usage" ;;
    esac
    shift
done

# Virtual hosts are joined by Open MPI. Without them any MPI will do: the program is built for the one whose mpicc is
# found, and started by that one's launcher.
if [ "$(id -u)" -eq 0 ]; then
    require openmpi iproute2 util-linux
    export MPICC=mpicc.openmpi
else
    require mpi
fi
cd "$project"
if [ -z "$programs" ]; then
    require compiler pkg-config libclang netcdf
    require_rust
    say "Building"
    cargo build --release --locked
    programs=${CARGO_TARGET_DIR:-$project/target}/release
fi

if [ -z "$results" ]; then
    results=results/$(date +%Y-%m-%dT%H-%M-%S)
    # Never into an existing folder: results are not overwritten.
    mkdir -p results && mkdir "$results"
fi
mkdir -p "$results"

show() {
    say "network_analyze $*"
    "$programs/network_analyze" "$@"
}

# diagnose NAME RUN...: a verdict is an answer whatever it is; no verdict is a failure.
diagnose() {
    local name=$1 code=0
    shift
    say "network_analyze diagnose $*"
    "$programs/network_analyze" diagnose "$@" --json "$results/$name.diagnosis.json" --force |
        tee "$results/$name.diagnosis.txt" || code=$?
    [ -s "$results/$name.diagnosis.json" ] || exit "$code"
}

# A cluster of a name of its own, taken down whatever happens.
export VC_NAME=demo$$
hosts=6
vcluster() {
    scripts/vcluster/vcluster "$@"
}

virtual_hosts() {
    [ "$(id -u)" -eq 0 ] || return 1
    trap 'vcluster down' EXIT
    vcluster up -n $hosts
}

# measure NAME: times one pair after the other, with messages that are long enough for a cable to matter and cables that
# are slow enough for a machine with few cores: what the hosts share takes much less time than a message.
measure() {
    say "mpirun network_test on $hosts virtual hosts, which leaves $results/$1_*.nc"
    timeout --kill-after=15 "$MPI_TIME_LIMIT" scripts/vcluster/vcluster mpirun \
        "$programs/network_test" --lengths "$lengths" -n "$samples" --warmup 1 -f "$results/$1" --force
}

# verdict NAME: the line that `diagnose` ends with.
verdict() {
    grep '^RESULT' "$results/$1.diagnosis.txt"
}

if virtual_hosts; then
    say "The cable of host n2 receives at a fifth of the rate of all others"
    vcluster fault base rate=100mbit
    vcluster fault host n2 rate=20mbit down
    measure slow
    diagnose slow "$results/slow"
    show view "$results/slow" --length "${lengths##*,}"
    "$programs/network_analyze" report "$results/slow" --diagnosis "$results/slow.diagnosis.json" -o "$results/slow.html"

    say "All cables alike"
    vcluster fault clear
    vcluster fault base rate=100mbit
    # What else runs on this machine can make one of its hosts slow.
    for try in 1 2 3; do
        measure healthy
        diagnose healthy "$results/healthy"
        [[ $(verdict healthy) != *verdict=healthy* && $try -lt 3 ]] || break
        say "Something else keeps this machine busy: once more"
    done
    show compare "$results/healthy" "$results/slow" || [ $? -eq 1 ]

    say "All nine modes on the same hosts"
    timeout --kill-after=15 "$MPI_TIME_LIMIT" \
        scripts/vcluster/vcluster mpirun "$programs/network_test" -t all -p 1 -l 1K --lengths 1K,64K -n "$samples_of_modes" \
        --warmup 1 -f "$results/modes"
else
    if [ "$(id -u)" -eq 0 ]; then why="Virtual hosts cannot be made here"; else why="No virtual hosts without root"; fi
    say "$why: the verdict is that of a recorded run of 16 simulated hosts"
    diagnose slow tests/data/example/tuesday
    show view tests/data/example/tuesday --length 256K
    show compare tests/data/example/monday tests/data/example/tuesday || [ $? -eq 1 ]
    "$programs/network_analyze" report tests/data/example/tuesday -o "$results/slow.html"

    say "All nine modes with 4 ranks on this host under $(mpi_of "$programs/network_test")"
    run_mpi 4 "$programs/network_test" -t all -p 1 -l 1K --lengths 1K,64K -n 20 -f "$results/modes"
fi

show info "$results/modes_one_to_one"
sets=()
for median in "$results"/modes_*_median.nc; do
    sets+=("${median%_median.nc}")
done
# Few samples, and ranks that share cores: to look at, not to judge by.
"$programs/network_analyze" report "${sets[@]}" --no-diagnosis -o "$results/modes.html"

say "The results are in $results. Open slow.html in a browser."
(cd "$results" && ls ./*.html ./*.diagnosis.*)
printf '\n'
for name in slow healthy; do
    [ ! -s "$results/$name.diagnosis.txt" ] || printf '%-8s %s\n' "$name" "$(verdict "$name")"
done
