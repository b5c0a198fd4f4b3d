/* SPDX-License-Identifier: MIT */
/* Sorted, disjoint ranges of addresses in one vector; a device maps a few dozen of them. */
#include "verbs/simulate/sim.h"

#include <string.h>

#define MOST_PIECES 16384

/* The first range that ends above addr. */
static size_t place(const struct ranges *r, uint64_t addr)
{
    size_t low = 0, high = r->list.n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (r->list.v[mid].high <= addr) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

/* Replaces `n` ranges from `at` on by `with`. */
static enum mt_status replace(struct ranges *r, size_t at, size_t n, const struct range *with,
                              size_t n_with, struct mt_error *err)
{
    size_t rest = r->list.n - at - n;
    if (r->list.n + n_with > MOST_PIECES) {
        return mt_fail(err, MT_LIMIT, MT_NO_OFFSET, "more than %d mapped ranges", MOST_PIECES);
    }
    if (!mt_vec_reserve(&r->list, r->list.n + n_with)) {
        return mt_fail_nomem(err);
    }
    if (r->list.v) {
        memmove(r->list.v + at + n_with, r->list.v + at + n, rest * sizeof *r->list.v);
        memcpy(r->list.v + at, with, n_with * sizeof *with);
    }
    r->list.n = at + n_with + rest;
    return MT_OK;
}

enum mt_status mt_ranges_add(struct ranges *r, uint64_t low, uint64_t high, struct mt_error *err)
{
    size_t at = place(r, low), n = 0;
    if (at > 0 && r->list.v[at - 1].high == low) {
        at--;
    }
    struct range all = {low, high};
    for (; at + n < r->list.n && r->list.v[at + n].low <= high; n++) {
        const struct range *old = &r->list.v[at + n];
        all.low = old->low < all.low ? old->low : all.low;
        all.high = old->high > all.high ? old->high : all.high;
    }
    return replace(r, at, n, &all, 1, err);
}

enum mt_status mt_ranges_remove(struct ranges *r, uint64_t low, uint64_t high, struct mt_error *err)
{
    size_t at = place(r, low), n = 0, n_rest = 0;
    struct range rest[2] = {{0, 0}, {0, 0}};
    for (; at + n < r->list.n && r->list.v[at + n].low < high; n++) {
        const struct range *old = &r->list.v[at + n];
        if (old->low < low) {
            rest[n_rest++] = (struct range){old->low, low};
        }
        if (old->high > high) {
            rest[n_rest++] = (struct range){high, old->high};
        }
    }
    return n ? replace(r, at, n, rest, n_rest, err) : MT_OK;
}

void mt_ranges_release(struct ranges *r)
{
    mt_vec_release(&r->list);
}
