#!/usr/bin/env bash
#
# Is any node of this cluster slower than it was, or slower than the others, tonight?
#
# Submits one short job over all nodes of a partition that are idle now, which measures every pair of them quickly and keeps
# the results by date, with the verdict (network.diagnosis.txt, .json, the end of job.log), what changed since the night
# before (network.comparison.txt, also there) and a page to look at (report.html): <results>/<date>-<job id>/. For cron or
# scrontab on a node that may submit jobs:
#
#     30 2 * * * /path/to/nightly.sh
#
# The same file is the job: without a job around it, it submits itself. A job that cannot start soon, because its nodes
# have been taken meanwhile, is given up.
#
# Exit codes: 0 submitted, or too few nodes idle; those of network_test inside the job, whatever the verdict.
#
# ==== edit from here ==================================================================================================
#SBATCH --job-name=network_nightly
##SBATCH --account=ACCOUNT
#SBATCH --ntasks-per-node=1
#SBATCH --time=00:20:00
#SBATCH --exclusive
#SBATCH --no-requeue

# What your programs need, for example: module load openmpi netcdf
load_modules() {
    :
}
partition=             # empty: the default partition
least_nodes=4          # with fewer idle nodes no job: among fewer than four nobody can say which one is different
most_nodes=1024        # of the idle nodes this many at most
start_within=30minutes
# Open MPI's mpirun waits for a host that freezes with all its processes until the time of the job is up, though the ranks
# have reported it and ended. srun does not; see slurm/README.md.
launcher=mpirun        # or srun
srun_mpi=pmix          # what `srun --mpi=list` offers for your MPI: pmix for Open MPI, pmi2 for MPICH
network_test=network_test
network_analyze=network_analyze
results=$HOME/network_nightly
keep_days=90
mail_to=               # who gets by `mail` what is slow or became slower; empty: it is in the files alone
metrics=               # file in the folder that Prometheus' node exporter reads (--collector.textfile.directory); empty: none
measure=(-t one_to_one --schedule disjoint --lengths '0,4K,64K,1M' -n 20 --time-limit 15m)
# ==== to here =========================================================================================================
set -euo pipefail

submit() {
    local self nodes limit=() idle
    self=$(readlink -f -- "${BASH_SOURCE[0]}")
    [ -z "$partition" ] || limit=("--partition=$partition")
    # A node that is in several partitions is listed for each.
    idle=$(sinfo "${limit[@]}" --Node --noheader --states=idle --format=%N | sort -u | head -n "$most_nodes")
    nodes=$(grep -c . <<<"$idle" || true)
    if [ "$nodes" -lt "$least_nodes" ]; then
        echo "no job tonight: idle nodes: $nodes, needed: $least_nodes"
        return
    fi
    mkdir -p "$results"
    sbatch "${limit[@]}" --nodes="$nodes" --nodelist="$(paste -sd, <<<"$idle")" --deadline="now+$start_within" \
        --output="$results/%j.log" "$self"
}

# Who is slow: in this job's output and next to the results, with a page to look at. Returns what `diagnose` does:
# 0 healthy, 1 findings, 5 cannot be judged.
judge() {
    local folder=$1 median verdict=0 sets=() given=() metrics_to=()
    for median in "$folder"/*_median.nc; do
        [ ! -e "$median" ] || sets+=("${median%_median.nc}")
    done
    [ ${#sets[@]} -gt 0 ] || return 5
    rm -f "$folder/network.diagnosis.json"
    [ -z "$metrics" ] || metrics_to=(--prometheus "$metrics")
    "$network_analyze" diagnose "${sets[@]}" --json "$folder/network.diagnosis.json" "${metrics_to[@]}" |
        tee "$folder/network.diagnosis.txt" || verdict=$?
    [ ! -e "$folder/network.diagnosis.json" ] || given=(--diagnosis "$folder/network.diagnosis.json")
    "$network_analyze" report "${sets[@]}" "${given[@]}" -o "$folder/report.html" --force || true
    return "$verdict"
}

# The newest folder before this one in which a night was judged and left a set of this name; nothing if there is none.
night_before() {
    local folder=$1 set=$2 earlier found=
    while IFS= read -r earlier; do
        [ "$earlier" != "$folder" ] || break
        [ ! -e "$earlier/${set}_median.nc" ] || [ ! -e "$earlier/network.diagnosis.txt" ] || found=$earlier
    done < <(printf '%s\n' "$results"/????-??-??-* | sort --version-sort)
    printf '%s\n' "$found"
}

# What changed since the night before, set by set. Returns 1 where something became slower. A night that cannot be compared,
# because it had other hosts or its files are damaged, is printed and no failure.
compare_with_night_before() {
    local folder=$1 median set earlier code slower=0
    for median in "$folder"/*_median.nc; do
        set=$(basename -- "$median" _median.nc)
        earlier=$(night_before "$folder" "$set")
        if [ ! -e "$median" ] || [ -z "$earlier" ]; then
            continue
        fi
        code=0
        "$network_analyze" compare "$earlier/$set" "$folder/$set" || code=$?
        case $code in
        0) ;;
        1) slower=1 ;;
        *) echo "$set cannot be compared with that of $earlier" ;;
        esac
    done
    return "$slower"
}

# To `mail_to`, if the verdict is not "healthy" or something became slower: both texts, under the first line of the one that
# says so.
mail_what_is_slow() {
    local folder=$1 verdict=$2 slower=$3 text subject
    [ -n "$mail_to" ] && [ $((verdict + slower)) -gt 0 ] || return 0
    [ -s "$folder/network.diagnosis.txt" ] || return 0
    text=$(cat "$folder/network.diagnosis.txt")
    if [ -s "$folder/network.comparison.txt" ]; then
        text+=$'\n\n'$(cat "$folder/network.comparison.txt")
    fi
    subject=$text
    [ "$verdict" -ne 0 ] || subject=$(grep -m 1 '^REGRESSION' <<<"$text" || true)
    mail -s "network_test: ${subject%%$'\n'*}" "$mail_to" <<<"$text" ||
        echo "the verdict could not be mailed to $mail_to" >&2
}

measure_idle_nodes() {
    local start folder median code=0 verdict=0 slower=0
    # Many sites' `module` reads variables that are not set.
    set +u
    load_modules
    set -u
    case $launcher in
    srun) start=(srun "--mpi=$srun_mpi") ;;
    mpirun) start=(mpirun) ;;
    *) echo "launcher is \`$launcher\`: write mpirun or srun" >&2 && exit 2 ;;
    esac
    folder=$results/$(date +%Y-%m-%d)-$SLURM_JOB_ID
    mkdir -p "$folder"
    "${start[@]}" "$network_test" -f "$folder/network" "${measure[@]}" || code=$?
    for median in "$folder"/*_median.nc; do
        [ ! -e "$median" ] || "$network_analyze" info "${median%_median.nc}"
    done >"$folder/report.txt" 2>&1 || true
    judge "$folder" || verdict=$?
    compare_with_night_before "$folder" 2>&1 | tee "$folder/network.comparison.txt" || slower=$?
    [ -s "$folder/network.comparison.txt" ] || rm -f "$folder/network.comparison.txt"
    mail_what_is_slow "$folder" "$verdict" "$slower"
    mv "$results/$SLURM_JOB_ID.log" "$folder/job.log"
    # Only folders that this script has made, and only by their own date.
    find "$results" -mindepth 1 -maxdepth 1 -type d -name '????-??-??-*' -mtime "+$keep_days" -exec rm -r {} +
    return "$code"
}

if [ -z "${SLURM_JOB_ID:-}" ]; then
    submit
else
    measure_idle_nodes
fi
