/* SPDX-License-Identifier: MIT */
/*
 * The longest common sequence of two lists of calls (Myers, "An O(ND) difference algorithm", 1986):
 * the cost grows with what differs, which is little between two runs of one program.
 *
 * Many calls share a stack, or have none, so that the stack alone pairs the wrong ones where a path
 * differs. Sizes tell more: first calls are paired that stay, grow in proportion, or with the
 * square of it; then, in the gaps between these, calls that grow by less than in proportion.
 */
#include <math.h>
#include <string.h>

#include "verbs/fit/fit_core.h"

/* Insertions and removals beyond which two lists are no two runs of one program. The memory is the
 * square of it: 4 bytes each. */
#define MOST_DIFFERENCES 4096

#define NEAR 0.01 /* of a size: rounded inside a library */

struct aligner {
    const struct call *a, *b;
    size_t n, m;
    double grown;   /* times that the program of b is as large as that of a */
    bool loose;     /* whatever grows by no more than in proportion is a pair */
    int32_t *reach; /* of the current round, by diagonal + MOST_DIFFERENCES + 1: how far in a */
    MT_VEC(int32_t) rounds; /* of round d: the 2 d + 1 reaches it began with */
};

static bool is_near(double x, double y)
{
    return fabs(x - y) <= NEAR * (x > y ? x : y);
}

/* How well two calls go together; 0: not at all. */
static int kinship(const struct aligner *x, const struct call *a, const struct call *b)
{
    double from = (double)a->size, to = (double)b->size, grown = from * x->grown;
    bool between = (to > from) == (to < grown);
    return a->key != b->key                ? 0
           : is_near(to, from)             ? 4
           : is_near(to, grown)            ? 3
           : is_near(to, grown * x->grown) ? 2
           : x->loose && between           ? 1
                                           : 0;
}

static bool is_pair(const struct aligner *x, const struct call *a, const struct call *b)
{
    return kinship(x, a, b) > 0;
}

static int32_t slide(const struct aligner *x, int32_t at, int32_t diagonal)
{
    while ((size_t)at < x->n && (size_t)(at - diagonal) < x->m &&
           is_pair(x, &x->a[at], &x->b[at - diagonal])) {
        at++;
    }
    return at;
}

/* Whether diagonal k of round d comes from the one above: a call of b that a has not. */
static bool comes_down(const int32_t *reach, int32_t k, int32_t d)
{
    return k == -d || (k != d && reach[k - 1] < reach[k + 1]);
}

/* One more difference. *done: both ends are reached. */
static bool extend(struct aligner *x, int32_t d, bool *done)
{
    int32_t *reach = x->reach + MOST_DIFFERENCES + 1;
    size_t wide = 2 * (size_t)d + 1;
    if (!mt_vec_reserve(&x->rounds, x->rounds.n + wide)) {
        return false;
    }
    memcpy(x->rounds.v + x->rounds.n, reach - d, wide * sizeof *reach);
    x->rounds.n += wide;
    for (int32_t k = -d; k <= d && !*done; k += 2) {
        int32_t at = d == 0 ? 0 : comes_down(reach, k, d) ? reach[k + 1] : reach[k - 1] + 1;
        reach[k] = slide(x, at, k);
        *done = (size_t)reach[k] >= x->n && reach[k] - k >= 0 && (size_t)(reach[k] - k) >= x->m;
    }
    return true;
}

/* From the end back to the beginning: the calls on diagonals are the common ones. `first`: the call
 * of the whole list that b begins with. */
static size_t trace_back(const struct aligner *x, int32_t d, uint32_t first, uint32_t *match)
{
    size_t n = 0, at_round = x->rounds.n;
    int32_t i = (int32_t)x->n, j = (int32_t)x->m;
    for (; d >= 0; d--) {
        at_round -= 2 * (size_t)d + 1;
        const int32_t *reach = x->rounds.v + at_round + d;
        int32_t k = i - j, from = 0, from_k = 0;
        if (d > 0) {
            bool down = comes_down(reach, k, d);
            from_k = down ? k + 1 : k - 1;
            from = reach[from_k];
        }
        int32_t start = d == 0 ? 0 : from_k > k ? from : from + 1;
        for (; i > start; n++) {
            match[--i] = first + (uint32_t)--j;
        }
        i = from;
        j = from - from_k;
    }
    return n;
}

/* The parts of two lists that x names; their pairs are added to `match` and *n. */
static enum mt_status align_part(struct aligner *x, uint32_t first, uint32_t *match, size_t *n,
                                 struct mt_error *err)
{
    bool done = false;
    int32_t d = 0, most = MOST_DIFFERENCES;
    if (x->n + x->m < MOST_DIFFERENCES) {
        most = (int32_t)(x->n + x->m);
    }
    x->rounds.n = 0;
    x->reach = mt_mem_zalloc(2 * MOST_DIFFERENCES + 3, sizeof *x->reach);
    bool room = x->reach != NULL;
    while (room && !done && d <= most) {
        room = extend(x, d, &done);
        d += !done;
    }
    if (room && done) {
        *n += trace_back(x, d, first, match);
    }
    mt_mem_free(x->reach);
    return room ? MT_OK : mt_fail_nomem(err);
}

/* Pairs what grows otherwise, between the calls that are paired. */
static enum mt_status fill_gaps(struct aligner *x, const struct calls *base,
                                const struct calls *other, uint32_t *match, size_t *n,
                                struct mt_error *err)
{
    x->loose = true;
    for (size_t i = 0, j = 0; i < base->list.n;) {
        if (match[i] != NO_CALL) {
            j = match[i++] + (size_t)1;
            continue;
        }
        size_t end = i;
        while (end < base->list.n && match[end] == NO_CALL) {
            end++;
        }
        size_t until = end < base->list.n ? match[end] : other->list.n;
        x->a = base->list.v + i;
        x->n = end - i;
        x->b = other->list.v + j;
        x->m = until - j;
        if (x->m > 0) {
            MT_TRY(align_part(x, (uint32_t)j, match + i, n, err));
        }
        i = end;
    }
    return MT_OK;
}

/* A run of calls that only the base has can often begin earlier as well: it is moved to where the
 * pairs are the best. [from, end) is the run. */
static void shift_run(const struct aligner *x, const struct calls *base, const struct calls *other,
                      uint32_t *match, size_t from, size_t end)
{
    size_t best = 0;
    int gain = 0, most = 0;
    for (size_t k = 1; k <= from && match[from - k] != NO_CALL; k++) {
        const struct call *b = &other->list.v[match[from - k]];
        int now = kinship(x, &base->list.v[end - k], b);
        gain += now - kinship(x, &base->list.v[from - k], b);
        if (now == 0) {
            break;
        }
        best = gain > most ? k : best;
        most = gain > most ? gain : most;
    }
    for (size_t k = 1; k <= best; k++) {
        match[end - k] = match[from - k];
        match[from - k] = NO_CALL;
    }
}

static void shift_runs(const struct aligner *x, const struct calls *base, const struct calls *other,
                       uint32_t *match)
{
    for (size_t i = 0; i < base->list.n;) {
        size_t end = i;
        while (end < base->list.n && match[end] == NO_CALL) {
            end++;
        }
        if (end > i) {
            shift_run(x, base, other, match, i, end);
        }
        i = end + 1;
    }
}

enum mt_status mt_fit_align(const struct calls *base, const struct calls *other, uint32_t *match,
                            size_t *n, struct mt_error *err)
{
    struct aligner x = {.a = base->list.v,
                        .b = other->list.v,
                        .n = base->list.n,
                        .m = other->list.n,
                        .grown = base->at ? (double)other->at / (double)base->at : 1};
    *n = 0;
    memset(match, 0xff, x.n * sizeof *match);
    if (x.n > INT32_MAX / 2 || x.m > INT32_MAX / 2) {
        return MT_OK;
    }
    enum mt_status status = align_part(&x, 0, match, n, err);
    if (status == MT_OK && *n > 0) {
        shift_runs(&x, base, other, match);
        status = fill_gaps(&x, base, other, match, n, err);
    }
    mt_vec_release(&x.rounds);
    return status;
}
