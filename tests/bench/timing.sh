#!/usr/bin/env bash
# Whether network_test's timing path costs anything: its medians over those of a C program that makes the same exchange.
#
# Both run on 2 ranks of this machine, each on a core of its own where there are two, several times in turn, the C program
# twice each time: how far it is from itself shows what the machine can resolve. The best run of each counts, because others
# on the machine only ever add time. Prints the ratio of medians per length and over all; see timing.awk.
#
# usage: tests/bench/timing.sh [RUNS [SAMPLES]]      (default: 15 runs of 1000 samples; MPICC chooses the MPI)
#
# PROGRAMS: the folder of programs that are built already; else a release is built.
#
# Exit codes: 0 the overall ratio is at most 1.02, 1 it is more, 2 usage, 3 something is missing, 75 the machine is too
# busy to tell: try again later.
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../../scripts/lib/common.sh"
# shellcheck source=scripts/lib/install.sh
source "$project/scripts/lib/install.sh"
# shellcheck source=scripts/lib/launch.sh
source "$project/scripts/lib/launch.sh"

runs=${1:-15} samples=${2:-1000} warmup=100 most=1.02
[[ $# -le 2 && $runs =~ ^[1-9][0-9]*$ && $samples =~ ^[1-9][0-9]*$ ]] ||
    fail 2 "usage: tests/bench/timing.sh [RUNS [SAMPLES]]"
lengths=0,1,2,4,8,16,32,64,128,256,512,1024,2048,4096,8192,16384,32768,65536

export MPI_PIN=yes
require compiler pkg-config libclang netcdf mpi

cd "$project"
programs=${PROGRAMS:-}
if [ -z "$programs" ]; then
    require_rust
    cargo build --release --locked
    programs=${CARGO_TARGET_DIR:-$project/target}/release
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${MPICC:-mpicc}" -std=c11 -D_POSIX_C_SOURCE=200809L -O2 -Wall -Wextra -o "$folder/one_to_one" \
    tests/bench/pingpong/one_to_one.c -lm
mpi=$(mpi_of "$folder/one_to_one")
[ "$mpi" = "$(mpi_of "$programs/network_test")" ] ||
    fail 2 "network_test was built for $(mpi_of "$programs/network_test"), ${MPICC:-mpicc} is for $mpi:" \
        "set MPICC, and CARGO_TARGET_DIR to a folder of its own"

# measure_PROGRAM RUN: leaves PROGRAM.RUN.csv
measure_c() {
    run_mpi 2 "$folder/one_to_one" -L "$lengths" -n "$samples" -w "$warmup" >"$folder/c.$1.csv"
}

measure_again() {
    run_mpi 2 "$folder/one_to_one" -L "$lengths" -n "$samples" -w "$warmup" >"$folder/again.$1.csv"
}

measure_ours() {
    run_mpi 2 "$programs/network_test" -t one_to_one --timing receive --lengths "$lengths" -n "$samples" \
        --warmup "$warmup" --retest 0 --quiet -f "$folder/run.$1"
    "$programs/network_analyze" convert "$folder/run.$1" --to csv -o - | grep -ve '^#' -e '^$' >"$folder/ours.$1.csv"
}

for ((run = 1; run <= runs; run++)); do
    [ ! -t 2 ] || printf '\rrun %d of %d under %s' "$run" "$runs" "$mpi" >&2
    # Whoever comes first has the colder machine: they take turns.
    case $((run % 3)) in
    0) order='c ours again' ;;
    1) order='ours again c' ;;
    2) order='again c ours' ;;
    esac
    for program in $order; do
        "measure_$program" "$run"
    done
done
[ ! -t 2 ] || printf '\n' >&2

awk -F, -v most="$most" -f tests/bench/timing.awk "$folder"/{c,again,ours}.*.csv
