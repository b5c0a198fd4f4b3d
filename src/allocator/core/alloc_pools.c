/* SPDX-License-Identifier: MIT */
/*
 * Pools: the default pair of small and large, private pairs by id, their bins by stream, and the
 * open scopes (graph captures, MemPools) that decide where a request goes.
 */
#include "allocator/core/alloc_core.h"

static bool same_id(struct mt_alloc_pool_id x, struct mt_alloc_pool_id y)
{
    return x.a == y.a && x.b == y.b;
}

/* Nobody who writes a file knows the address, so nobody can aim at one hash. */
static uint64_t hash_of(const struct mt_alloc *a, struct mt_alloc_pool_id id)
{
    return mt_hash_mix((uint64_t)id.a ^ (uint64_t)(uintptr_t)a, (uint64_t)id.b);
}

uint32_t mt_pair_find(const struct mt_alloc *a, struct mt_alloc_pool_id id)
{
    if (id.a == 0 && id.b == 0) {
        return 0;
    }
    if (same_id(a->pairs.v[a->last_pair].id, id) && a->pairs.v[a->last_pair].alive) {
        return a->last_pair;
    }
    const uint32_t *at = mt_idmap_find(&a->pair_at, hash_of(a, id));
    if (!a->pair_hashes_coincide) {
        return at && same_id(a->pairs.v[*at].id, id) ? *at : UINT32_MAX;
    }
    for (size_t i = 1; i < a->pairs.n; i++) {
        if (a->pairs.v[i].alive && same_id(a->pairs.v[i].id, id)) {
            return (uint32_t)i;
        }
    }
    return UINT32_MAX;
}

uint32_t mt_pair_get(struct mt_alloc *a, struct mt_alloc_pool_id id)
{
    uint32_t i = mt_pair_find(a, id);
    if (i != UINT32_MAX) {
        a->last_pair = i;
        return i;
    }
    for (i = a->dead_pair; i < a->pairs.n && a->pairs.v[i].alive; i++) {
    }
    a->dead_pair = i;
    if (i == a->pairs.n) {
        struct pair none = {.id = {0, 0}};
        if (a->pairs.n >= UINT32_MAX - 1 || !mt_vec_push(&a->pairs, none)) {
            return UINT32_MAX;
        }
    }
    uint64_t hash = hash_of(a, id);
    a->pair_hashes_coincide |= mt_idmap_find(&a->pair_at, hash) != NULL;
    if (!mt_idmap_put(&a->pair_at, hash, i)) {
        return UINT32_MAX;
    }
    a->pairs.v[i].id = id;
    a->pairs.v[i].alive = true;
    a->last_pair = i;
    return i;
}

void mt_pair_end(struct mt_alloc *a, uint32_t pair)
{
    a->pairs.v[pair].alive = false;
    mt_idmap_remove(&a->pair_at, hash_of(a, a->pairs.v[pair].id), NULL);
    a->dead_pair = pair < a->dead_pair ? pair : a->dead_pair;
}

/* Where `stream` stands, or would stand, in the pool's list. */
static size_t bin_place(const struct mt_alloc *a, const struct pool *p, uint64_t stream)
{
    size_t low = 0, high = p->bins.n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (a->bins.v[p->bins.v[mid]]->stream < stream) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

uint32_t mt_bin_find(const struct mt_alloc *a, uint32_t pair, bool small, uint64_t stream)
{
    const struct pool *p = &a->pairs.v[pair].pools[small];
    if (p->last && a->bins.v[p->last]->stream == stream) {
        return p->last;
    }
    size_t at = bin_place(a, p, stream);
    bool found = at < p->bins.n && a->bins.v[p->bins.v[at]]->stream == stream;
    return found ? p->bins.v[at] : 0;
}

static uint32_t bin_make(struct mt_alloc *a, uint32_t pair, bool small, uint64_t stream)
{
    struct pool *p = &a->pairs.v[pair].pools[small];
    if (a->bins.n >= UINT32_MAX || !mt_vec_reserve(&p->bins, p->bins.n + 1) ||
        !mt_vec_reserve(&a->bins, a->bins.n + 1)) {
        return 0;
    }
    struct bin *bin = mt_mem_zalloc(1, sizeof *bin);
    if (!bin) {
        return 0;
    }
    bin->stream = stream;
    bin->pair = pair;
    bin->small = small;
    bin->tally = &a->counts.tally[small];
    uint32_t i = (uint32_t)a->bins.n;
    a->bins.v[a->bins.n++] = bin;
    size_t at = bin_place(a, p, stream);
    for (size_t k = p->bins.n++; k > at; k--) {
        p->bins.v[k] = p->bins.v[k - 1];
    }
    p->bins.v[at] = i;
    return i;
}

uint32_t mt_bin_get(struct mt_alloc *a, uint32_t pair, bool small, uint64_t stream)
{
    uint32_t i = mt_bin_find(a, pair, small, stream);
    if (i == 0) {
        i = bin_make(a, pair, small, stream);
    }
    a->pairs.v[pair].pools[small].last = i;
    if (pair == 0) {
        a->recent[small] = a->bins.v[i];
    }
    return i;
}

/* ---- scopes ---- */

struct mt_alloc_pool_id mt_route(const struct mt_alloc *a, const struct mt_alloc_request *r)
{
    if (r->has_pool || a->captures.n == 0) {
        return r->has_pool ? r->pool : (struct mt_alloc_pool_id){0, 0};
    }
    for (size_t k = 0; k < a->captures.n; k++) {
        size_t i = a->rules.policy->newest_scope_first ? a->captures.n - 1 - k : k;
        const struct capture *c = &a->captures.v[i];
        if (!c->filter || c->filter(c->filter_ctx, r->stream)) {
            return c->id;
        }
    }
    return (struct mt_alloc_pool_id){0, 0};
}

enum mt_status mt_alloc_pool_begin(struct mt_alloc *a, struct mt_alloc_pool_id id, bool capture,
                                   bool (*filter)(void *ctx, uint64_t stream), void *filter_ctx,
                                   struct mt_error *err)
{
    struct capture c = {id, capture, filter, filter_ctx};
    uint32_t pair = mt_pair_get(a, id);
    if (pair == UINT32_MAX || !mt_vec_push(&a->captures, c)) {
        return mt_fail_nomem(err);
    }
    a->pairs.v[pair].users++;
    a->n_captures += capture;
    return MT_OK;
}

void mt_alloc_pool_end(struct mt_alloc *a, struct mt_alloc_pool_id id)
{
    for (size_t i = 0; i < a->captures.n; i++) {
        if (same_id(a->captures.v[i].id, id)) {
            a->n_captures -= a->captures.v[i].capture;
            a->captures.n--;
            for (; i < a->captures.n; i++) {
                a->captures.v[i] = a->captures.v[i + 1];
            }
        }
    }
}

void mt_alloc_pool_release(struct mt_alloc *a, struct mt_alloc_pool_id id)
{
    uint32_t pair = mt_pair_find(a, id);
    if (pair != UINT32_MAX && pair != 0 && a->pairs.v[pair].users > 0) {
        a->pairs.v[pair].users--;
    }
}
