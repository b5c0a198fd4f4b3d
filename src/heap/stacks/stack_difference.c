/* SPDX-License-Identifier: MIT */
/*
 * Where stacks of one name differ. Each frame becomes a hash of its name, file and line, so that
 * stacks of several files can be compared; how many stacks have a frame is counted once for the
 * whole group by sorting, so that a hundred thousand stacks of one name take no longer than their
 * frames.
 */
#include "heap/stacks/frames.h"

#include <stdlib.h>

#include "support/hash.h"
#include "support/vec.h"

/* A frame of a stack of the group. */
struct place {
    uint64_t key;
    size_t stack;
};

struct places {
    MT_VEC(struct place) v;
};

static const struct mt_frame *frame_at(const struct mt_stack_of *x, uint32_t i)
{
    return &x->s->frames[x->s->stack_frames[x->s->stacks[x->stack].first + i]];
}

static uint64_t frame_key(const struct mt_snapshot *s, const struct mt_frame *f)
{
    struct mt_str name = mt_snapshot_str(s, f->name), file = mt_snapshot_str(s, f->filename);
    uint64_t h = mt_hash_bytes(name.p, name.n, 0);
    return mt_hash_mix(mt_hash_bytes(file.p, file.n, h), (uint64_t)(int64_t)f->line);
}

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return x->key != y->key ? (x->key < y->key ? -1 : 1)
                            : (x->stack > y->stack) - (x->stack < y->stack);
}

/* Sorted, each frame of a stack once. */
static bool collect(struct places *p, const struct mt_stack_of *group, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct mt_snapshot *s = group[i].s;
        for (uint32_t k = 0; k < s->stacks[group[i].stack].n; k++) {
            struct place place = {frame_key(s, frame_at(&group[i], k)), i};
            if (!mt_vec_push(&p->v, place)) {
                return false;
            }
        }
    }
    size_t kept = 0;
    if (p->v.n) {
        qsort(p->v.v, p->v.n, sizeof *p->v.v, compare_places);
    }
    for (size_t i = 0; i < p->v.n; i++) {
        if (i == 0 || compare_places(&p->v.v[i], &p->v.v[kept - 1]) != 0) {
            p->v.v[kept++] = p->v.v[i];
        }
    }
    p->v.n = kept;
    return true;
}

/* Index of the first place that is not before (key, stack). */
static size_t lower_bound(const struct places *p, uint64_t key, size_t stack)
{
    const struct place wanted = {key, stack};
    size_t lo = 0, hi = p->v.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (compare_places(&p->v.v[mid], &wanted) < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

/* How little a frame says of itself: a line of Python, a function, an offset in a library. */
static size_t dullness(const struct mt_snapshot *s, const struct mt_frame *f)
{
    struct mt_str name = mt_snapshot_str(s, f->name);
    return mt_frame_is_python(s, f) ? 0 : name.n && !mt_str_starts(name, MT_STR("+0x")) ? 1 : 2;
}

static struct mt_stack_difference find(const struct places *p, const struct mt_stack_of *x,
                                       size_t n)
{
    struct mt_stack_difference d = {.frame = x->s->stacks[x->stack].n};
    size_t least = SIZE_MAX;
    for (uint32_t i = 0; i < x->s->stacks[x->stack].n; i++) {
        const struct mt_frame *f = frame_at(x, i);
        uint64_t key = frame_key(x->s, f);
        size_t others = lower_bound(p, key, SIZE_MAX) - lower_bound(p, key, 0) - 1;
        size_t cost = others * 3 + dullness(x->s, f);
        if (others + 1 < n && cost < least) {
            least = cost;
            d = (struct mt_stack_difference){i, others == 0};
        }
    }
    return d;
}

bool mt_stack_differences(const struct mt_stack_of *group, size_t n,
                          struct mt_stack_difference *out)
{
    struct places p = {.v = {.n = 0}};
    bool ok = collect(&p, group, n);
    for (size_t i = 0; ok && i < n; i++) {
        out[i] = find(&p, &group[i], n);
    }
    mt_vec_release(&p.v);
    return ok;
}
