/* SPDX-License-Identifier: MIT */
/*
 * The loops of the speed figures, in C, over any pair of functions with the ABI of PyTorch's
 * pluggable allocator; a Python script starts them, so that there is a Python stack to record. The
 * sizes of `mixed` are those that the figures of PyTorch's own allocator were taken with: 40 % 1 B
 * to 4 KiB, 30 % to 1 MiB, 20 % to 10 MiB, 10 % to 100 MiB.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>

typedef void *(*malloc_function)(ssize_t size, int device, void *stream);
typedef void (*free_function)(void *ptr, ssize_t size, int device, void *stream);

double bench_same(malloc_function take, free_function give, ssize_t size, long pairs);
double bench_mixed(malloc_function take, free_function give, long slots, long pairs,
                   uint64_t ceiling);

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* Nanoseconds for one allocate and free of the same size, again and again. */
double bench_same(malloc_function take, free_function give, ssize_t size, long pairs)
{
    give(take(size, 0, NULL), size, 0, NULL);
    double start = now_ns();
    for (long i = 0; i < pairs; i++) {
        void *p = take(size, 0, NULL);
        give(p, size, 0, NULL);
    }
    return (now_ns() - start) / (double)pairs;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static ssize_t random_size(uint64_t *state, uint64_t ceiling)
{
    static const struct {
        unsigned until_percent;
        uint64_t low, high;
    } classes[] = {{40, 1, 4u << 10},
                   {70, 4u << 10, 1u << 20},
                   {90, 1u << 20, 10u << 20},
                   {100, 10u << 20, 100u << 20}};
    unsigned percent = (unsigned)(next_random(state) % 100);
    unsigned c = 0;
    while (percent >= classes[c].until_percent) {
        c++;
    }
    uint64_t size = classes[c].low + next_random(state) % (classes[c].high - classes[c].low + 1);
    return (ssize_t)(size < ceiling ? size : ceiling);
}

/* Nanoseconds for freeing a random one of `slots` and filling it anew, after 20 rounds of warming;
 * the random number and the array are in the figure. Sizes are cut at `ceiling`. -1: no memory. */
double bench_mixed(malloc_function take, free_function give, long slots, long pairs,
                   uint64_t ceiling)
{
    uint64_t state = 88172645463325252u;
    double start = 0;
    struct slot {
        void *p;
        ssize_t size;
    } *v = calloc((size_t)slots, sizeof *v);
    if (!v) {
        return -1;
    }
    for (long i = -20 * slots; i < pairs; i++) {
        if (i == 0) {
            start = now_ns();
        }
        struct slot *s = &v[next_random(&state) % (uint64_t)slots];
        if (s->p) {
            give(s->p, s->size, 0, NULL);
        }
        s->size = random_size(&state, ceiling);
        s->p = take(s->size, 0, NULL);
    }
    double each = (now_ns() - start) / (double)pairs;
    for (long i = 0; i < slots; i++) {
        if (v[i].p) {
            give(v[i].p, v[i].size, 0, NULL);
        }
    }
    free(v);
    return each;
}
