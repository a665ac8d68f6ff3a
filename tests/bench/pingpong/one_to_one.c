/* The exchange of `network_test -t one_to_one --timing receive` in plain C: what it costs without our program.
 *
 * The receiver announces that it is ready with an empty message and clocks until the message is complete; both
 * directions of the pair in turn, the buffers touched before, warm-up exchanges not counted. Statistics are made by the
 * receiver, as network_test does. Runs on 2 ranks and prints CSV: times in seconds, the deviation is the population's.
 *
 * usage: one_to_one [-b BEGIN] [-e END] [-s STEP] [-L LENGTH,LENGTH,...] [-n SAMPLES] [-w WARMUP]
 *
 * END is exclusive; -L replaces the first three. Defaults are network_test's: 0, 10000, 100, 100 samples, warm-up 3.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ANNOUNCEMENT = 16, MESSAGE = 17, RESULT = 18, EXIT_USAGE = 2, EXIT_MEMORY = 4 };

struct sweep {
    int *lengths; /* bytes */
    size_t count;
};

struct options {
    struct sweep sweep;
    int samples;
    int warmup;
};

struct summary {
    double min, average, median, max, deviation; /* seconds */
};

/* What a rank needs for its half of the exchanges. */
struct link {
    MPI_Comm communicator;
    int other;
    char *out, *into;
    double *times; /* [sample], seconds */
};

static void stop(int code, const char *message)
{
    fprintf(stderr, "one_to_one: %s\n", message);
    MPI_Abort(MPI_COMM_WORLD, code);
    exit(code);
}

/* Memory whose pages are there: what was never written may be one shared page of zeros. */
static void *touched(size_t size, int value)
{
    void *memory = malloc(size > 0 ? size : 1);
    if (memory == NULL)
        stop(EXIT_MEMORY, "out of memory");
    return memset(memory, value, size);
}

static int number(const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || value < 0 || value > 1 << 30)
        stop(EXIT_USAGE, "a number from 0 to 2^30 is expected");
    return (int)value;
}

static struct sweep linear(int begin, int end, int step)
{
    if (begin >= end || step < 1)
        stop(EXIT_USAGE, "the sweep is empty: -b has to be below -e, and -s 1 or more");
    struct sweep sweep = { NULL, ((size_t)(end - begin) + (size_t)step - 1) / (size_t)step };
    sweep.lengths = touched(sweep.count * sizeof *sweep.lengths, 0);
    for (size_t i = 0; i < sweep.count; i++)
        sweep.lengths[i] = begin + (int)i * step;
    return sweep;
}

static struct sweep list(char *text)
{
    struct sweep sweep = { touched((strlen(text) / 2 + 1) * sizeof(int), 0), 0 };
    for (char *word = strtok(text, ","); word != NULL; word = strtok(NULL, ","))
        sweep.lengths[sweep.count++] = number(word);
    return sweep;
}

static struct options parse(int argc, char **argv)
{
    struct options options = { { NULL, 0 }, 100, 3 };
    int begin = 0, end = 10000, step = 100, option;
    while ((option = getopt(argc, argv, "b:e:s:L:n:w:")) != -1) {
        switch (option) {
        case 'b': begin = number(optarg); break;
        case 'e': end = number(optarg); break;
        case 's': step = number(optarg); break;
        case 'L': options.sweep = list(optarg); break;
        case 'n': options.samples = number(optarg); break;
        case 'w': options.warmup = number(optarg); break;
        default: stop(EXIT_USAGE, "see the head of one_to_one.c for its options");
        }
    }
    if (optind != argc || options.samples < 1)
        stop(EXIT_USAGE, "see the head of one_to_one.c for its options");
    if (options.sweep.lengths == NULL)
        options.sweep = linear(begin, end, step);
    return options;
}

/* The side whose clock measures. */
static void timed(struct link *link, int length, int count)
{
    for (int i = 0; i < count; i++) {
        double start = MPI_Wtime();
        MPI_Send(link->out, 0, MPI_BYTE, link->other, ANNOUNCEMENT, link->communicator);
        MPI_Recv(link->into, length, MPI_BYTE, link->other, MESSAGE, link->communicator, MPI_STATUS_IGNORE);
        link->times[i] = MPI_Wtime() - start;
    }
}

static void answering(struct link *link, int length, int count)
{
    for (int i = 0; i < count; i++) {
        MPI_Recv(link->into, 0, MPI_BYTE, link->other, ANNOUNCEMENT, link->communicator, MPI_STATUS_IGNORE);
        MPI_Send(link->out, length, MPI_BYTE, link->other, MESSAGE, link->communicator);
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of `count` samples, 1 or more, which are sorted. */
static struct summary summarise(double *samples, int count)
{
    qsort(samples, (size_t)count, sizeof *samples, compare);
    double sum = 0, squares = 0;
    for (int i = 0; i < count; i++)
        sum += samples[i];
    double average = sum / count;
    for (int i = 0; i < count; i++)
        squares += (samples[i] - average) * (samples[i] - average);
    double median = (samples[(count - 1) / 2] + samples[count / 2]) / 2;
    return (struct summary){ samples[0], average, median, samples[count - 1], sqrt(squares / count) };
}

static struct summary measure(struct link *link, int length, const struct options *options)
{
    timed(link, length, options->warmup);
    timed(link, length, options->samples);
    return summarise(link->times, options->samples);
}

static void answer(struct link *link, int length, const struct options *options)
{
    answering(link, length, options->warmup);
    answering(link, length, options->samples);
}

static void print(int length, int source, int destination, struct summary s)
{
    printf("%d,%d,%d,%.9e,%.9e,%.9e,%.9e,%.9e\n", length, source, destination, s.min, s.average, s.median, s.max,
           s.deviation);
}

/* Both directions at one length. Rank 0 measures last, so that it can print without anybody waiting in a measurement. */
static void both_directions(struct link *link, int rank, int length, const struct options *options)
{
    struct summary theirs;
    MPI_Barrier(link->communicator);
    if (rank == 0) {
        answer(link, length, options);
        struct summary mine = measure(link, length, options);
        MPI_Recv(&theirs, 5, MPI_DOUBLE, 1, RESULT, link->communicator, MPI_STATUS_IGNORE);
        print(length, 0, 1, theirs);
        print(length, 1, 0, mine);
    } else {
        theirs = measure(link, length, options);
        answer(link, length, options);
        MPI_Send(&theirs, 5, MPI_DOUBLE, 0, RESULT, link->communicator);
    }
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2)
        stop(EXIT_USAGE, "start it with 2 ranks");
    struct options options = parse(argc, argv);
    int longest = 0, most = options.samples > options.warmup ? options.samples : options.warmup;
    for (size_t i = 0; i < options.sweep.count; i++)
        longest = options.sweep.lengths[i] > longest ? options.sweep.lengths[i] : longest;
    struct link link = { MPI_COMM_NULL, 1 - rank, touched((size_t)longest, 0x55), touched((size_t)longest, 0xaa),
                         touched((size_t)most * sizeof(double), 0) };
    MPI_Comm_dup(MPI_COMM_WORLD, &link.communicator);
    if (rank == 0)
        puts("length,source,destination,min,average,median,max,deviation");
    for (size_t i = 0; i < options.sweep.count; i++)
        both_directions(&link, rank, options.sweep.lengths[i], &options);
    MPI_Comm_free(&link.communicator);
    free(link.out);
    free(link.into);
    free(link.times);
    free(options.sweep.lengths);
    MPI_Finalize();
    return 0;
}
