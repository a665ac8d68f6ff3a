/*
 * A delay line for the switch of virtual hosts: delay, jitter and loss on the way from one host to another.
 *
 * usage: delay TABLE TAP...
 *
 * In: Ethernet frames that the switch redirects to the TAP interfaces, and TABLE, a line `FROM TO DELAY JITTER LOSS` for
 * each direction that is affected (host numbers, us, us, parts per million). Out: the same frames, when they are due,
 * through the TAP that they came from. A frame is due after its delay, plus or minus a random share of its jitter, and
 * not before its predecessor on the same way. Hosts are told by the last byte of their addresses. The TAPs are made here
 * and vanish with the program; "ready" on standard output tells that they are there. SIGHUP: read TABLE again.
 *
 * The kernel could do this with sch_netem, but many kernels are built without.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
    HOSTS = 64,
    TAPS = 16,
    FRAME = 65536 + 18,
    HEADER = 14,
    /* Frames under way at most; a switch would drop them long before. */
    ROOM = 200000,
    /* Frames read in a row before it is looked whether others are due. */
    SPELL = 32,
};

struct way {
    int64_t delay, jitter; /* ns */
    int64_t loss;          /* parts per million */
    int64_t last;          /* when the latest frame is due, ns */
};

struct frame {
    int64_t due;
    uint64_t number;
    int tap, length;
    unsigned char bytes[];
};

static struct way ways[HOSTS][HOSTS];
static struct frame *heap[ROOM]; /* the frame that is due first on top */
static int waiting;
static volatile sig_atomic_t reload = 1;

static void on_hangup(int signal)
{
    (void)signal;
    reload = 1;
}

static void give_up(const char *what)
{
    perror(what);
    exit(3);
}

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* Uniform in [0, 1): the same numbers in every run. */
static double uniform(void)
{
    static uint64_t x = 88172645463325252ULL;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return (double)(x >> 11) / 9007199254740992.0;
}

static int before(const struct frame *a, const struct frame *b)
{
    return a->due < b->due || (a->due == b->due && a->number < b->number);
}

static void push(struct frame *frame)
{
    int i = waiting++;
    for (int parent; i > 0 && before(frame, heap[parent = (i - 1) / 2]); i = parent)
        heap[i] = heap[parent];
    heap[i] = frame;
}

static struct frame *pop(void)
{
    struct frame *top = heap[0], *moved = heap[--waiting];
    int i = 0;
    for (int child; (child = 2 * i + 1) < waiting; i = child) {
        if (child + 1 < waiting && before(heap[child + 1], heap[child]))
            child++;
        if (!before(heap[child], moved))
            break;
        heap[i] = heap[child];
    }
    heap[i] = moved;
    return top;
}

static void load(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file)
        give_up(path);
    for (int i = 0; i < HOSTS; i++)
        for (int j = 0; j < HOSTS; j++)
            ways[i][j] = (struct way){ .last = ways[i][j].last };
    int from, to;
    long long delay, jitter, loss;
    while (fscanf(file, "%d %d %lld %lld %lld", &from, &to, &delay, &jitter, &loss) == 5)
        if (from >= 0 && from < HOSTS && to >= 0 && to < HOSTS)
            ways[from][to] = (struct way){ delay * 1000, jitter * 1000, loss, ways[from][to].last };
    fclose(file);
}

static void send_out(int tap, const unsigned char *bytes, int length)
{
    /* What the interface does not take is lost, as on a cable that is pulled out. */
    while (write(tap, bytes, length) < 0 && errno == EINTR)
        ;
}

static void arrive(int tap, const unsigned char *bytes, int length, uint64_t number)
{
    unsigned to = bytes[5], from = bytes[11];
    if (length < HEADER || (bytes[0] & 1) || to >= HOSTS || from >= HOSTS) {
        send_out(tap, bytes, length);
        return;
    }
    struct way *way = &ways[from][to];
    if (way->loss && uniform() * 1e6 < way->loss)
        return;
    int64_t due = now() + way->delay + (int64_t)((2 * uniform() - 1) * way->jitter);
    if (due < way->last)
        due = way->last;
    way->last = due;
    struct frame *frame = waiting < ROOM ? malloc(sizeof *frame + length) : NULL;
    if (!frame)
        return;
    *frame = (struct frame){ .due = due, .number = number, .tap = tap, .length = length };
    memcpy(frame->bytes, bytes, length);
    push(frame);
}

static int open_tap(const char *name)
{
    struct ifreq request = { .ifr_flags = IFF_TAP | IFF_NO_PI };
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    int tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (tap < 0)
        give_up("/dev/net/tun");
    if (ioctl(tap, TUNSETIFF, &request))
        give_up(name);
    return tap;
}

/* A frame that is late by a scheduler's slice would be the delay of another fault. */
static void be_punctual(void)
{
    struct sched_param priority = { .sched_priority = 20 };
    if (sched_setscheduler(0, SCHED_FIFO, &priority))
        perror("no real-time priority: frames will be less punctual");
    prctl(PR_SET_TIMERSLACK, 1);
    mlockall(MCL_CURRENT | MCL_FUTURE);
}

int main(int argc, char **argv)
{
    static unsigned char buffer[FRAME];
    struct pollfd taps[TAPS];
    int count = argc - 2;
    if (count < 1 || count > TAPS) {
        fprintf(stderr, "usage: delay TABLE TAP...\n");
        return 2;
    }
    for (int i = 0; i < count; i++)
        taps[i] = (struct pollfd){ .fd = open_tap(argv[2 + i]), .events = POLLIN };
    /* Signals only while waiting. */
    sigset_t blocked, open_mask;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGHUP);
    sigprocmask(SIG_BLOCK, &blocked, &open_mask);
    sigaction(SIGHUP, &(struct sigaction){ .sa_handler = on_hangup }, NULL);
    be_punctual();
    printf("ready\n");
    fflush(stdout);

    for (uint64_t number = 0;;) {
        if (reload) {
            reload = 0;
            load(argv[1]);
        }
        while (waiting && heap[0]->due <= now()) {
            struct frame *frame = pop();
            send_out(frame->tap, frame->bytes, frame->length);
            free(frame);
        }
        int64_t rest = waiting ? heap[0]->due - now() : 0;
        if (rest < 0)
            rest = 0;
        struct timespec time = { rest / 1000000000, rest % 1000000000 };
        if (ppoll(taps, count, waiting ? &time : NULL, &open_mask) <= 0)
            continue;
        for (int i = 0; i < count; i++) {
            int length;
            for (int k = 0; k < SPELL && (length = read(taps[i].fd, buffer, sizeof buffer)) > 0; k++)
                arrive(taps[i].fd, buffer, length, number++);
        }
    }
}
