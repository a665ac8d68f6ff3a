# shellcheck shell=bash
# The one place where scripts start MPI programs. To be sourced after common.sh. Tests have the same knowledge in
# tests/common/launcher.rs, where the reasons for the arguments are.

# Seconds that a job may take.
: "${MPI_TIME_LIMIT:=600}"

# mpi_of PROGRAM: prints the MPI that it is linked with, openmpi or mpich.
mpi_of() {
    local library
    library=$(ldd "$1" | awk '{ print $1 }' | grep -m 1 -oE '^libmpi(ch)?\.so\.[0-9]+') || true
    case $library in
    libmpich.* | libmpi.so.12) echo mpich ;;
    libmpi.so.*) echo openmpi ;;
    *) fail 4 "$1 is not linked with an MPI library that scripts/lib/launch.sh knows" ;;
    esac
}

# launcher_of MPI: prints the program that starts its ranks. Its name alone does not tell: any MPI may own mpirun.
launcher_of() {
    local names mark name
    case $1 in
    openmpi) names='mpirun.openmpi mpirun mpiexec' mark='OpenRTE|Open MPI|PRTE' ;;
    mpich) names='mpiexec.mpich mpiexec.hydra mpiexec mpirun' mark='HYDRA' ;;
    esac
    for name in $names; do
        # Not through a pipe into grep -q: under pipefail the launcher's broken pipe would count.
        if [[ $("$name" --version 2>/dev/null </dev/null) =~ $mark ]]; then
            echo "$name"
            return
        fi
    done
    fail 3 "none of the commands $names is the launcher of $1: install it (scripts/test.sh does)"
}

# run_mpi N PROGRAM ARGUMENT...: N ranks of PROGRAM under the launcher of its own MPI; the exit code is the launcher's.
# A job that takes longer than MPI_TIME_LIMIT ends with code 124.
run_mpi() {
    local ranks=$1 program=$2 mpi launcher options
    mpi=$(mpi_of "$program") || return
    launcher=$(launcher_of "$mpi") || return
    case $mpi in
    openmpi) options=(--allow-run-as-root --map-by slot:OVERSUBSCRIBE --bind-to none --mca mpi_yield_when_idle 1) ;;
    mpich) options=(-launcher fork -bind-to core) ;;
    esac
    shift
    timeout --foreground --kill-after=15 "$MPI_TIME_LIMIT" "$launcher" "${options[@]}" -n "$ranks" "$@" </dev/null
}
