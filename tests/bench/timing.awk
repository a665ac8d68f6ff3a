# Compares the medians of network_test (ours.RUN.csv) with those of a C program (c.RUN.csv) and that one's with its own
# (again.RUN.csv). Prints a table by length; the exit code is timing.sh's. -v most=R: the highest ratio that passes.
#
# Of each program, length and direction the smallest median of all runs counts: what else runs on the machine, and where
# the system puts the memory of a run, only ever adds time. The ratio at a length is the mean of both directions', the
# overall ratio the median over the lengths.

function median(values, n,    i, j, x) {
    for (i = 2; i <= n; i++) {
        x = values[i]
        for (j = i - 1; j >= 1 && values[j] > x; j--) values[j + 1] = values[j]
        values[j + 1] = x
    }
    return n ? (values[int((n + 1) / 2)] + values[int(n / 2) + 1]) / 2 : 0
}

# The smallest median of all runs, in seconds.
function best(program, length_, source,    run, x, least) {
    for (run in runs) {
        x = time[program, run, length_, source]
        if (x <= 0) give_up("length " length_ " of run " run " was not measured by all")
        if (!least || x < least) least = x
    }
    return least
}

# Mean over both directions of the ratio of two programs, or with no second one of the time in seconds.
function typical(one, other, length_,    source, sum) {
    for (source = 0; source <= 1; source++)
        sum += best(one, length_, source) / (other == "" ? 1 : best(other, length_, source))
    return sum / 2
}

function give_up(message) {
    print "timing.awk: " message > "/dev/stderr"
    failed = 1
    exit 3
}

FNR == 1 {
    split("", column)
    for (i = 1; i <= NF; i++) column[$i] = i
    if (!("length" in column && "source" in column && "destination" in column && "median" in column))
        give_up(FILENAME ": a column is missing: length, source, destination, median")
    n_parts = split(FILENAME, parts, /[\/.]/)
    program = parts[n_parts - 2]
    runs[parts[n_parts - 1]]
    run = parts[n_parts - 1]
    next
}

# Cells with themselves are no exchanges.
$column["source"] != $column["destination"] {
    bytes = $column["length"]
    time[program, run, bytes, $column["source"]] = $column["median"]
    if (!(bytes in seen)) lengths[++n_lengths] = bytes
    seen[bytes]
}

END {
    if (failed) exit 3
    if (!n_lengths) give_up("no measurements")
    printf "%10s  %12s  %12s  %12s  %12s\n", "bytes", "C [us]", "ours [us]", "ours / C", "C / C"
    for (i = 1; i <= n_lengths; i++) {
        ratios[i] = typical("ours", "c", lengths[i])
        noises[i] = typical("again", "c", lengths[i])
        printf "%10d  %12.3f  %12.3f  %12.3f  %12.3f\n", lengths[i], typical("c", "", lengths[i]) * 1e6, \
            typical("ours", "", lengths[i]) * 1e6, ratios[i], noises[i]
    }
    ratio = median(ratios, n_lengths)
    noise = median(noises, n_lengths)
    printf "overall: network_test / C = %.3f (at most %.2f), C / C = %.3f\n", ratio, most, noise
    if (noise > 1.01 || noise < 0.99) {
        print "the C program differs from itself by more than 1 %: the machine is too busy to tell"
        exit 75
    }
    exit ratio > most
}
