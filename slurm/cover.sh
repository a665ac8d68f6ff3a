#!/usr/bin/env bash
#
# Which nodes and links of a machine are slow, of which a job gets only a part at a time?
#
# Cuts a list of nodes into half-blocks and submits an array with one task for each pair of half-blocks, so that every
# two nodes meet in at least one of them; a last job merges what they have measured into one result set. Tasks start when
# their nodes are free, in any order; one that fails costs its own pairs, which the last job names. It ends with who is
# slow, in merge.log and in network.diagnosis.txt and .json, and with a page to look at (report.html).
#
#     ./cover.sh                      submits everything, results in results/cover-<job id>/
#     ./cover.sh --dry-run            says which nodes meet in which task
#     ./cover.sh --merge FOLDER       merges again, after a task was repeated by hand
#
# Exit codes: 0 submitted; 2 wrong settings; that of network_test inside a task; of the last job 1 if pairs are missing.
#
# ==== edit from here ==================================================================================================
#SBATCH --job-name=network_cover
##SBATCH --account=ACCOUNT
##SBATCH --partition=PARTITION
#SBATCH --ntasks-per-node=1
#SBATCH --time=00:30:00
#SBATCH --exclusive

# What your programs need, for example: module load openmpi netcdf
load_modules() {
    :
}
nodes='node[001-128]'  # all that are to be covered
half_block=16          # nodes; a task gets two half-blocks
at_a_time=4            # tasks
# Open MPI's mpirun waits for a host that freezes with all its processes until the time of the job is up, though the ranks
# have reported it and ended. srun does not; see slurm/README.md.
launcher=mpirun        # or srun
srun_mpi=pmix          # what `srun --mpi=list` offers for your MPI: pmix for Open MPI, pmi2 for MPICH
network_test=network_test
network_analyze=network_analyze
results=results
measure=(-t one_to_one --schedule disjoint --lengths '0,4K,64K,1M' -n 20 --time-limit 25m)
# ==== to here =========================================================================================================
set -euo pipefail
self=$(readlink -f -- "${BASH_SOURCE[0]}")

wrong() {
    echo "$1" >&2
    exit 2
}

# One line for each task: its nodes, separated by commas. Every task has two half-blocks of different nodes; where the
# last half-block would be short, it takes nodes of the one before, and a task that has fewer takes the first of all.
tasks() {
    scontrol show hostnames "$nodes" | awk -v half="$half_block" '
        { node[NR - 1] = $0 }
        END {
            if (half < 1 || NR < 2 * half) exit 1
            blocks = int((NR + half - 1) / half)
            for (a = 0; a < blocks; a++) {
                for (b = a + 1; b < blocks; b++) {
                    delete taken
                    count = 0
                    line = ""
                    first[0] = a * half > NR - half ? NR - half : a * half
                    first[1] = b * half > NR - half ? NR - half : b * half
                    first[2] = 0
                    for (part = 0; part < 3; part++) {
                        for (k = first[part]; k < (part < 2 ? first[part] + half : NR) && count < 2 * half; k++) {
                            if (k in taken) continue
                            taken[k] = 1
                            line = line (count++ ? "," : "") node[k]
                        }
                    }
                    print line
                }
            }
        }'
}

submit() {
    local list task=0 job folder nodes_of line
    list=$(tasks) || wrong "\`nodes\` must be a list of at least twice \`half_block\` nodes"
    nodes_of=$((2 * half_block))
    if [ "${1-}" = --dry-run ]; then
        awk '{ print "task " NR - 1 ": " $0 }' <<<"$list"
        return
    fi
    mkdir -p "$results"
    # Held until every task has its own nodes: the options of an array are the same for all of its tasks.
    job=$(sbatch --parsable --hold --array="0-$(($(wc -l <<<"$list") - 1))%$at_a_time" --nodes="$nodes_of" \
        --output="$results/cover-%A-%a.log" "$self")
    job=${job%%;*}
    folder=$results/cover-$job
    mkdir -p "$folder"
    printf '%s\n' "$list" >"$folder/tasks.txt"
    while read -r line; do
        scontrol update "JobId=${job}_$task" "ReqNodeList=$line"
        task=$((task + 1))
    done <<<"$list"
    scontrol release "$job"
    sbatch --parsable --dependency="afterany:$job" --nodes=1 --ntasks=1 --output="$folder/merge.log" "$self" --merge "$folder" \
        >"$folder/merge_job.txt"
    echo "Submitted $task tasks as job $job, and job $(cat "$folder/merge_job.txt") to merge them in $folder."
}

measure_task() {
    local start folder code=0
    # Many sites' `module` reads variables that are not set.
    set +u
    load_modules
    set -u
    case $launcher in
    srun) start=(srun "--mpi=$srun_mpi") ;;
    mpirun) start=(mpirun) ;;
    *) wrong "launcher is \`$launcher\`: write mpirun or srun" ;;
    esac
    folder=$results/cover-$SLURM_ARRAY_JOB_ID/$SLURM_ARRAY_TASK_ID
    mkdir -p "$folder"
    "${start[@]}" "$network_test" -f "$folder/network" --resume "${measure[@]}" || code=$?
    mv "$results/cover-$SLURM_ARRAY_JOB_ID-$SLURM_ARRAY_TASK_ID.log" "$folder/job.log"
    return "$code"
}

is_complete() {
    [ -e "$1" ] && "$network_analyze" info --format json "$1" 2>/dev/null | grep -q '"complete": true'
}

# Who is slow: on standard output and next to the results, with a page to look at. Returns what `diagnose` does:
# 0 healthy, 1 findings, 5 cannot be judged.
judge() {
    local folder=$1 median verdict=0 sets=() given=()
    for median in "$folder"/*_median.nc; do
        [ ! -e "$median" ] || sets+=("${median%_median.nc}")
    done
    [ ${#sets[@]} -gt 0 ] || return 5
    rm -f "$folder/network.diagnosis.json"
    "$network_analyze" diagnose "${sets[@]}" --json "$folder/network.diagnosis.json" |
        tee "$folder/network.diagnosis.txt" || verdict=$?
    [ ! -e "$folder/network.diagnosis.json" ] || given=(--diagnosis "$folder/network.diagnosis.json")
    "$network_analyze" report "${sets[@]}" "${given[@]}" -o "$folder/report.html" --force || true
    return "$verdict"
}

# The tasks' sets of each mode become one, FOLDER/<set>. Tasks that are not complete are named and left out: a merged set
# has the lengths that all have.
merge() {
    local folder=$1 task set sets missing=0 line parts
    # Many sites' `module` reads variables that are not set.
    set +u
    load_modules
    set -u
    [ -r "$folder/tasks.txt" ] || wrong "\`$folder\` is no folder of this script: it has no tasks.txt"
    sets=$(for set in "$folder"/*/*_median.nc; do [ ! -e "$set" ] || basename "$set" _median.nc; done | sort -u)
    [ -n "$sets" ] || wrong "no task has measured anything"
    for set in $sets; do
        parts=()
        task=0
        while read -r line; do
            if is_complete "$folder/$task/${set}_median.nc"; then
                parts+=("$folder/$task/${set}_median.nc")
            else
                echo "$set: task $task is not complete, pairs among $(scontrol show hostlist "$line") may be missing"
                missing=1
            fi
            task=$((task + 1))
        done <"$folder/tasks.txt"
        if [ ${#parts[@]} -gt 0 ]; then
            "$network_analyze" merge "${parts[@]}" -o "$folder/$set" --force
            "$network_analyze" info "$folder/$set" | tee "$folder/$set.txt"
        fi
    done
    judge "$folder" || true
    return "$missing"
}

if [ "${1-}" = --merge ]; then
    [ $# -eq 2 ] || wrong "--merge needs a folder"
    merge "$2"
elif [ -n "${SLURM_ARRAY_TASK_ID:-}" ]; then
    measure_task
elif [ $# -eq 0 ] || [ "$*" = --dry-run ]; then
    submit "$@"
else
    wrong "usage: cover.sh [--dry-run | --merge FOLDER]"
fi
