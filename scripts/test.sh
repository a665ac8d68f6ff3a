#!/usr/bin/env bash
# Runs everything that CI runs: format, lints, tests with and without MPI, real MPI jobs under Open MPI and under MPICH,
# a simulated cluster, virtual hosts, a real Slurm, a real browser, the detector against planted faults, documentation,
# shell scripts, and that network_analyze stays free of MPI. Installs what is missing. Virtual hosts need root: for anyone
# else their tests fail.
#
# usage: scripts/test.sh
#
# All checks are made, whatever fails. The last line counts tests and checks: `N passed, N failed`. Exit codes: 0 all
# passed, 1 something failed, 3 something is missing and cannot be installed.
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib/common.sh"
# shellcheck source=scripts/lib/install.sh
source "$project/scripts/lib/install.sh"

[ $# -eq 0 ] || fail 2 "usage: scripts/test.sh"
require compiler pkg-config libclang netcdf ncdump openmpi mpich simgrid shellcheck ps iproute2 util-linux slurm munge browser
require_rust
require_component fmt rustfmt
require_component clippy clippy

cd "$project"
target=${CARGO_TARGET_DIR:-$project/target}
export CARGO_TARGET_DIR=$target CARGO_TERM_COLOR=${CARGO_TERM_COLOR:-never}
# mpi-sys finds its MPI through MPICC, but Cargo does not notice when that changes: each MPI has a folder of its own.
export MPICC=mpicc.openmpi
mpich() {
    MPICC=mpicc.mpich CARGO_TARGET_DIR=$target/mpich "$@"
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
passed=0
failed=0
failures=()

# check TITLE COMMAND...: counts the tests that the command reports, or the command itself.
check() {
    local title=$1 start=$SECONDS code=0 tests lost
    shift
    say "$title"
    "$@" 2>&1 | tee "$log" || code=$?
    tests=$(awk '/^test result:/ { n += $4 } END { print n + 0 }' "$log")
    lost=$(awk '/^test result:/ { n += $6 } END { print n + 0 }' "$log")
    passed=$((passed + tests))
    failed=$((failed + lost))
    if [ "$code" -eq 0 ]; then
        [ $((tests + lost)) -gt 0 ] || passed=$((passed + 1))
    else
        [ "$lost" -gt 0 ] || failed=$((failed + 1))
        failures+=("$title")
    fi
    printf -- '-- %s: %s, %d s\n' "$title" "$([ "$code" -eq 0 ] && echo ok || echo FAILED)" $((SECONDS - start))
}

# Shell scripts by name or by first line.
shell_scripts() {
    find . \( -name target -o -name results -o -name .git \) -prune -o -type f \
        \( -name '*.sh' -o -name '*.slurm' -o -name '*.sbatch' -o -path './.ci/*' \
        -o -path './scripts/*' -perm -u+x \) -print | sort
}

shell_syntax() {
    local script scripts code=0
    mapfile -t scripts < <(shell_scripts)
    for script in "${scripts[@]}"; do
        bash -n "$script" || code=1
    done
    shellcheck --external-sources "${scripts[@]}" || code=1
    echo "${#scripts[@]} scripts"
    return "$code"
}

# Tests that need MPI, by the features that Cargo.toml demands for them.
mpi_tests() {
    awk -F'"' '/^\[/ { test = ($0 == "[[test]]") } test && /^name/ { name = $2 }
        test && /^required-features/ && /"mpi"/ { print "--test"; print name }' Cargo.toml
}

# A build without the feature has nothing of MPI in it, not even a crate that would look for it.
no_mpi_crates() {
    local tree
    tree=$(cargo tree --locked --no-default-features --edges normal,build,dev --prefix none) || return
    if grep -E '^(mpi|mpi-sys|build-probe-mpi) ' <<<"$tree"; then
        echo "a build without the feature mpi depends on these crates"
        return 1
    fi
}

# ... and it is made where any look for an MPI installation fails.
without_mpi() {
    MPI_PKG_CONFIG=/nonexistent/mpi.pc MPICC=/nonexistent/mpicc "$@"
}

# network_analyze has to start where no MPI is installed, also when it was built together with network_test. What the
# site's NetCDF brings along is the site's choice: only its own entries count.
free_of_mpi() {
    local own folder=$CARGO_TARGET_DIR/debug
    own=$(readelf -d "$folder/network_test" "$folder/network_analyze") || return
    awk '/^File:/ { program = $2; sub(/.*\//, "", program) }
        /NEEDED/ { print program ": " $NF; if ($NF ~ /^\[lib(mpi|mpich|pmpi|open-rte|open-pal)/) linked[program] = 1 }
        END {
            if (!linked["network_test"]) { print "network_test needs no MPI: this check has lost its meaning"; exit 1 }
            if (linked["network_analyze"]) { print "network_analyze is linked with MPI"; exit 1 }
        }' <<<"$own"
}

# The detector against planted faults: a short draw of the benchmark in the README, and limits that leave room for it.
detector() {
    without_mpi cargo build --locked --release --no-default-features --bins --example detector_bench || return
    local programs=$CARGO_TARGET_DIR/release
    "$programs/examples/detector_bench" --program "$programs/network_analyze" --cases 60 --require 85,93,93,96
}

mapfile -t mpi_tests < <(mpi_tests)
[ ${#mpi_tests[@]} -gt 0 ] || fail 4 "Cargo.toml names no test that needs MPI: scripts/test.sh cannot read it any more"

check "shell scripts" shell_syntax
check "format" cargo fmt --check
check "no MPI crate without the feature" no_mpi_crates
check "lints without MPI" without_mpi cargo clippy --locked --all-targets --no-default-features --features browser -- -D warnings
check "tests without MPI" without_mpi cargo test --locked --no-fail-fast --no-default-features
check "reports in a browser" without_mpi cargo test --locked --no-fail-fast --no-default-features --features browser \
    --test report
check "detector" detector
check "lints" cargo clippy --locked --all-targets --features beds -- -D warnings
check "tests, Open MPI" cargo test --locked --no-fail-fast
check "network_analyze is free of MPI" free_of_mpi
check "tests of MPI jobs, MPICH" mpich cargo test --locked --no-fail-fast --bin network_test "${mpi_tests[@]}"
check "simulated cluster" cargo test --locked --no-fail-fast --features beds --test simgrid
check "virtual hosts" cargo test --locked --no-fail-fast --features beds --test vcluster
check "Slurm" cargo test --locked --no-fail-fast --features beds --test slurm
check "documentation" env RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps

printf '\n'
[ ${#failures[@]} -eq 0 ] || printf 'failed: %s\n' "${failures[@]}"
printf '%d passed, %d failed\n' "$passed" "$failed"
[ ${#failures[@]} -eq 0 ]
