#!/usr/bin/env bash
# Runs the main job end to end on this machine: installs what is missing, builds, measures real MPI processes, shows
# the result, asks who is slow. Leaves the result sets, the verdict (demo.diagnosis.txt and .json) and a page to look at
# (report.html) in results/<date-time>/. Takes about a minute after the first build.
#
# usage: scripts/demo.sh [RANKS]      (default: 4)
#
# Exit codes: 0 done, whatever the verdict, 2 usage, 3 something is missing and cannot be installed, else that of the program that failed.
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib/common.sh"
# shellcheck source=scripts/lib/install.sh
source "$project/scripts/lib/install.sh"
# shellcheck source=scripts/lib/launch.sh
source "$project/scripts/lib/launch.sh"

ranks=${1:-4}
[[ $# -le 1 && $ranks =~ ^[0-9]+$ && $ranks -ge 2 ]] || fail 2 "usage: scripts/demo.sh [RANKS], with 2 ranks or more"

lengths=0,1,16,64,256,1K,4K,16K,64K,256K,1M
samples=50
noise=$((ranks > 2 ? 1 : 0))

# Any MPI will do. The program is built for the one whose mpicc is found, and started by that one's launcher.
require compiler pkg-config libclang netcdf mpi
require_rust

say "Building"
cd "$project"
cargo build --release --locked
programs=${CARGO_TARGET_DIR:-$project/target}/release

results=$project/results/$(date +%Y-%m-%dT%H-%M-%S)
mkdir -p "$project/results"
# Never into an existing folder: results are not overwritten.
mkdir "$results"

show() {
    say "network_analyze $*"
    "$programs/network_analyze" "$@"
}

say "Measuring all modes with $ranks ranks under $(mpi_of "$programs/network_test")"
run_mpi "$ranks" "$programs/network_test" -t all -p "$noise" --lengths "$lengths" -n "$samples" -f "$results/demo"

# The first one is what the page shows first.
sets=("$results/demo_one_to_one")
for median in "$results"/demo_*_median.nc; do
    [ "${median%_median.nc}" = "${sets[0]}" ] || sets+=("${median%_median.nc}")
done

show info "$results/demo_one_to_one"
show view "$results/demo_one_to_one"
show cluster "$results/demo_one_to_one" -o "$results/demo_one_to_one.cluster.nc" --list

# Findings (1) and a measurement that cannot be judged (3) are answers; 3 without an answer is a file that cannot be read.
say "network_analyze diagnose ${results#"$project"/}/demo_*"
code=0
"$programs/network_analyze" diagnose "${sets[@]}" --json "$results/demo.diagnosis.json" |
    tee "$results/demo.diagnosis.txt" || code=$?
[ -s "$results/demo.diagnosis.json" ] || exit "$code"
[ "$code" -ne 3 ] || cat <<'END'

All ranks run on this machine, which is one host: there is nothing that it could be compared with. On a cluster this is
where the slow hosts, links and switches are named.
END

say "network_analyze report ${results#"$project"/}/demo_* -o ${results#"$project"/}/report.html"
"$programs/network_analyze" report "${sets[@]}" --diagnosis "$results/demo.diagnosis.json" -o "$results/report.html"

say "The results are in ${results#"$project"/}:"
ls "$results"
