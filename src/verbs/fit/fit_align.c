/* SPDX-License-Identifier: MIT */
/*
 * The longest common sequence of two lists of calls (Myers, "An O(ND) difference algorithm", 1986):
 * the cost grows with what differs, which is little between two runs of one program.
 */
#include <string.h>

#include "verbs/fit/fit_core.h"

/* Insertions and removals beyond which two lists are no two runs of one program. The memory is the
 * square of it: 4 bytes each. */
#define MOST_DIFFERENCES 4096

struct aligner {
    const struct call *a, *b;
    size_t n, m;
    int32_t *reach; /* of the current round, by diagonal + MOST_DIFFERENCES + 1: how far in a */
    MT_VEC(int32_t) rounds; /* of round d: the 2 d + 1 reaches it began with */
};

static int32_t slide(const struct aligner *x, int32_t at, int32_t diagonal)
{
    while ((size_t)at < x->n && (size_t)(at - diagonal) < x->m &&
           x->a[at].key == x->b[at - diagonal].key) {
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

/* From the end back to the beginning: the calls on diagonals are the common ones. */
static size_t trace_back(const struct aligner *x, int32_t d, uint32_t *match)
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
            match[--i] = (uint32_t)--j;
        }
        i = from;
        j = from - from_k;
    }
    return n;
}

enum mt_status mt_fit_align(const struct calls *base, const struct calls *other, uint32_t *match,
                            size_t *n, struct mt_error *err)
{
    struct aligner x = {base->list.v, other->list.v, base->list.n, other->list.n, NULL, {0}};
    bool done = false;
    *n = 0;
    memset(match, 0xff, x.n * sizeof *match);
    if (x.n > INT32_MAX / 2 || x.m > INT32_MAX / 2) {
        return MT_OK;
    }
    x.reach = mt_mem_zalloc(2 * MOST_DIFFERENCES + 3, sizeof *x.reach);
    bool room = x.reach != NULL;
    int32_t d = 0;
    while (room && !done && d <= MOST_DIFFERENCES) {
        room = extend(&x, d, &done);
        d += !done;
    }
    if (room && done) {
        *n = trace_back(&x, d, match);
    }
    mt_mem_free(x.reach);
    mt_vec_release(&x.rounds);
    return room ? MT_OK : mt_fail_nomem(err);
}
