#!/usr/bin/env bash
# Runs everything that CI runs: format, lints, tests with and without MPI, real MPI jobs under Open MPI and under MPICH,
# a simulated cluster, virtual hosts, a real Slurm, a real browser, the detector against planted faults, documentation,
# shell scripts, and that network_analyze stays free of MPI. Installs what is missing. Virtual hosts need root: for anyone
# else their tests fail.
#
# usage: scripts/test.sh [--quick]
#
# --quick: format, lints, shell scripts, unit tests, the tests of network_analyze, and MPI jobs under one MPI.
#
# All checks are made, whatever fails. Then comes how long each took. The last line counts tests and checks:
# `N passed, N failed`. Exit codes: 0 all passed, 1 something failed, 2 usage, 3 something is missing and cannot be
# installed.
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib/common.sh"
# shellcheck source=scripts/lib/install.sh
source "$project/scripts/lib/install.sh"

quick=
case $* in
'') ;;
--quick) quick=yes ;;
*) fail 2 "usage: scripts/test.sh [--quick]" ;;
esac
require compiler pkg-config libclang netcdf ncdump openmpi shellcheck ps mandoc
if [ -z "$quick" ]; then
    require mpich simgrid iproute2 util-linux slurm munge browser python dpkg rpm
    require_localhost
    require_tools
fi
require_rust
require_component fmt rustfmt
require_component clippy clippy

cd "$project"
target=${CARGO_TARGET_DIR:-$project/target}
export CARGO_TARGET_DIR=$target CARGO_TERM_COLOR=${CARGO_TERM_COLOR:-never}
# Nothing is compiled twice here: what makes a second time quicker makes the first one slower.
export CARGO_INCREMENTAL=0
export MPICC=mpicc.openmpi
# What is drawn is the same in every run, so that a failure can be repeated.
export PROPTEST_RNG_SEED=${PROPTEST_RNG_SEED:-1}

# One list of features for everything that is built with MPI: another list would be another build of the library.
features=(--features 'beds browser')

# mpi-sys finds its MPI through MPICC, but Cargo does not notice when that changes. A profile of its own tells the crate,
# and all that depends on it, from the one for another MPI; programs go to a folder of their own; all other crates are
# shared. scripts/simgrid/run does the same.
mpich() {
    MPICC=mpicc.mpich CARGO_TARGET_DIR=$target/mpich CARGO_BUILD_BUILD_DIR=$target \
        cargo --config 'profile.dev.package.mpi-sys.opt-level=2' "$@"
}

log=$(mktemp)
beside=$(mktemp -d)
trap 'rm -rf "$log" "$beside"' EXIT
passed=0
failed=0
failures=()
parts=()

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
    parts+=("$(printf '%5d s  %-6s  %s' $((SECONDS - start)) "$([ "$code" -eq 0 ] && echo ok || echo FAILED)" "$title")")
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

# tests WHICH: the options that name the test programs that need `mpi`, `beds`, `browser` or `nothing`, as Cargo.toml
# demands it for them.
tests() {
    local names name
    names=$(
        for name in tests/*.rs tests/*/main.rs; do
            name=${name#tests/}
            echo "${name%%[./]*}"
        done | awk -v which="$1" -F'"' '
            NR == FNR && /^\[/ { test = ($0 == "[[test]]") }
            NR == FNR && test && /^name/ { name = $2 }
            NR == FNR && test && /^required-features/ { needs[name] = $2 }
            NR != FNR && (which == "nothing" ? !($0 in needs) : needs[$0] == which)' Cargo.toml -
    )
    while read -r name; do
        printf -- '--test\n%s\n' "$name"
    done <<<"$names"
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

# The detector against planted faults: a short draw of the benchmark, and limits that leave room for it.
detector() {
    cargo build --locked "${features[@]}" --bins --example detector_bench || return
    local family families=()
    for family in cards cores leaf-hosts link rail-card rank lossy silent cut-off damaged pcie socket part-of-time \
        plain kinds thin-tree adaptive drift tails; do
        families+=(--family "$family")
    done
    "$target/debug/examples/detector_bench" --program "$target/debug/network_analyze" "${families[@]}" \
        --cases 4 --seed 1 --require recall=88,blamed=4,precision=88,quiet=90,direction=96,range=90,clean=88
}

# begin NAME TESTS...: what waits most of the time, or keeps one core busy, runs beside what measures no time.
begin() {
    local own=$beside/$1
    shift
    (test_programs "$@" >"$own.log" 2>&1 && echo 0 >"$own" || echo $? >"$own") &
}

# end_of NAME: waits for it.
end_of() {
    until [ -s "$beside/$1" ]; do
        sleep 1
    done
    cat "$beside/$1.log"
    return "$(cat "$beside/$1")"
}

test_programs() {
    cargo test --locked --no-fail-fast "${features[@]}" "$@"
}

# Optimising takes longer than the library's own tests save by it.
unit_tests() {
    cargo --config 'profile.dev.package.netmatrix.opt-level=0' test --locked --no-fail-fast "${features[@]}" --lib "$@"
}

# What no MPI library has a part in.
same=(a_fast_clock damaged_payloads disjoint_and_sampled noise_travels precision_ends samples_of_pairs)

# Those that have tests.
examples=(--example simulated_cluster --example detector_bench)
mapfile -t plain < <(tests nothing)
mapfile -t jobs < <(tests mpi)
[ $((${#plain[@]} > 2 && ${#jobs[@]} > 2)) -eq 1 ] || fail 4 "scripts/test.sh cannot read Cargo.toml any more"

check "shell scripts" shell_syntax
check "format" cargo fmt --all --check
check "no MPI crate without the feature" no_mpi_crates
check "lints" cargo clippy --locked --all-targets "${features[@]}" -- -D warnings
[ -n "$quick" ] ||
    check "lints without MPI" without_mpi cargo clippy --locked --lib --bins --no-default-features -- -D warnings
if [ -n "$quick" ]; then
    check "unit tests, and MPI jobs under Open MPI" unit_tests --test mpi --test analyze
else
    check "build" test_programs --no-run --bins "${examples[@]}" --test '*'
    check "unit tests" unit_tests
    # Each once, and as it was built for tests: that they run, not how fast they are.
    check "benchmarks" test_programs --bench '*'
    begin slurm --test slurm
    begin analyst --test predict --test analyst
    check "tests without MPI" test_programs --bins "${examples[@]}" "${plain[@]}"
    check "reports in a browser" test_programs --test report
    check "detector" detector
    check "simulated cluster" test_programs --test simgrid
    check "xarray, pandas, schemas; predictions" end_of analyst
    check "Slurm" end_of slurm
    check "MPI jobs, Open MPI" test_programs "${jobs[@]}"
    check "network_analyze is free of MPI" free_of_mpi
    check "MPI jobs, MPICH" mpich test --locked --no-fail-fast "${features[@]}" --test mpi --test launcher -- \
        "${same[@]/#/--skip=}"
    check "virtual hosts" test_programs --test vcluster
    check "documentation" env RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps "${features[@]}"
fi

printf '\n'
printf '%s\n' "${parts[@]}"
[ ${#failures[@]} -eq 0 ] || printf 'failed: %s\n' "${failures[@]}"
[ -z "$quick" ] || echo "quick: without MPICH, Python, simulated cluster, virtual hosts, Slurm, browser, detector, documentation"
printf '%d passed, %d failed\n' "$passed" "$failed"
[ ${#failures[@]} -eq 0 ]
