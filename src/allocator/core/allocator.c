/* SPDX-License-Identifier: MIT */
/*
 * The way of a request, step by step as in PyTorch c10/cuda/CUDACachingAllocator.cpp, malloc: round
 * it, search the cache once, then ask the device, release oversize blocks and ask again, release
 * everything and ask again, and give up. What was released is never searched: after a release the
 * device is asked. The order of the steps is what makes a replay exact.
 *
 * Nearly every request is served by the cache with the greater part of these steps having nothing
 * to do. The short way is the rest of them in a straight line; what it cannot do goes the whole
 * way.
 */
#include "allocator/core/alloc_blocks.h"

/* What a request becomes on its way. */
struct way {
    const struct mt_alloc_request *request;
    uint32_t bin;
    uint64_t size;       /* rounded */
    uint64_t alloc_size; /* asked of the device */
    bool capturing;
    uint32_t found;
};

/* ---- the search ---- */

/* Bytes of a block with the hole behind it: the tail before the large unmapped rest comes last. */
static uint64_t expandable_size(const struct mt_alloc *a, uint32_t i)
{
    const struct block *b = block_at(a, i);
    bool hole = b->next && block_at(a, b->next)->state == BLOCK_HOLE;
    return b->size + (hole ? block_at(a, b->next)->size : 0);
}

static bool is_expandable(const struct mt_alloc *a, uint32_t i)
{
    return block_at(a, i)->expandable;
}

static uint32_t prefer_holes(const struct mt_alloc *a, uint32_t i)
{
    for (uint32_t next; is_expandable(a, i); i = next) {
        next = mt_free_set_next(a, i);
        if (next == 0 || expandable_size(a, next) >= expandable_size(a, i)) {
            break;
        }
    }
    return i;
}

/* The candidate where the best fit is a block of an expandable segment. */
static uint32_t among_expandable(const struct mt_alloc *a, uint32_t i)
{
    if (a->rules.settings.expandable_segments) {
        return prefer_holes(a, i);
    }
    while (i && is_expandable(a, i)) {
        i = mt_free_set_next(a, i);
    }
    return i;
}

/* The one candidate, tested; no other is tried. */
static inline uint32_t search(const struct mt_alloc *a, const struct bin *bin, uint64_t size)
{
    uint32_t i = mt_free_set_fit(a, bin, size);
    if (i && MT_UNLIKELY(is_expandable(a, i))) {
        i = among_expandable(a, i);
    }
    if (i == 0) {
        return 0;
    }
    uint64_t max_split = a->rules.settings.max_split_size, has = block_at(a, i)->size;
    if (MT_LIKELY(has < max_split)) {
        return i;
    }
    bool wastes = size < max_split || has - size >= a->rules.settings.max_non_split_rounding;
    return wastes ? 0 : i;
}

bool mt_alloc_would_hit(const struct mt_alloc *a, const struct mt_alloc_request *r)
{
    if (r->size >= MT_TORCH_REQUEST_GUARD) {
        return false;
    }
    uint64_t size = mt_torch_round(&a->rules, r->size);
    uint32_t pair = mt_pair_find(a, mt_route(a, r));
    uint32_t bin =
        pair == UINT32_MAX ? 0 : mt_bin_find(a, pair, mt_torch_is_small(size), r->stream);
    return bin && search(a, a->bins.v[bin], size);
}

/* ---- the device ---- */

static bool may_expand(const struct mt_alloc *a, const struct way *w)
{
    return a->rules.settings.expandable_segments &&
           (a->rules.policy->expandable_private_pools || a->bins.v[w->bin]->pair == 0);
}

static enum mt_status new_segment(struct mt_alloc *a, struct way *w, struct mt_error *err)
{
    uint64_t addr, size = w->alloc_size;
    uint32_t segment = mt_segment_take(a);
    if (segment == 0) {
        return mt_fail_nomem(err);
    }
    enum mt_status status = a->device.ops->mem_alloc(a->device.ctx, size, &addr, err);
    if (status != MT_OK) {
        mt_segment_give(a, segment);
        return status;
    }
    const struct bin *bin = a->bins.v[w->bin];
    uint32_t i = mt_block_take(a);
    struct segment *s = &a->segments.v[segment];
    s->base = addr;
    s->size = size;
    s->first = i;
    s->stack = a->stack;
    s->bin = w->bin;
    struct block *b = block_at(a, i);
    b->addr = addr;
    b->size = size;
    b->bin = w->bin;
    b->segment = segment;
    a->total += size;
    mt_counts_rise(&a->counts, bin->tally, MT_STAT_SEGMENT, 1);
    mt_counts_rise(&a->counts, bin->tally, MT_STAT_RESERVED_BYTES, size);
    if (size >= a->rules.settings.max_split_size) {
        stat_up(&a->stats.oversize_segments, 1);
    }
    a->stats.num_device_alloc++;
    a->pairs.v[bin->pair].segments++;
    mt_observe_range(a, MT_ALLOC_EVENT_SEGMENT_ALLOC, segment, addr, size);
    w->found = i;
    return MT_OK;
}

static enum mt_status ask_device(struct mt_alloc *a, struct way *w, bool retry,
                                 struct mt_error *err)
{
    a->stats.num_alloc_retries += retry;
    bool over =
        a->has_allowed && (w->alloc_size > a->allowed || a->total > a->allowed - w->alloc_size);
    a->oom.by_limit = over;
    if (over) {
        return mt_fail(err, MT_DEVICE_OOM, MT_NO_OFFSET, "the memory fraction is used up");
    }
    if (may_expand(a, w)) {
        return mt_expand_allocate(a, w->bin, w->size, &w->found, err);
    }
    return new_segment(a, w, err);
}

/* From 2.12 on: refuse before any cache is released. */
static bool rejects(struct mt_alloc *a, const struct way *w)
{
    bool over = a->rules.settings.throw_on_cudamalloc_oom && a->has_allowed &&
                (w->alloc_size > a->allowed || a->total > a->allowed - w->alloc_size);
    a->stats.num_oom_rejections += over;
    a->oom.by_limit = over;
    return over;
}

static enum mt_status miss(struct mt_alloc *a, struct way *w, struct mt_error *err)
{
    if (a->gc_on) {
        MT_TRY(mt_collect_garbage(a, err));
    }
    enum mt_status status = ask_device(a, w, false, err);
    if (status != MT_DEVICE_OOM) {
        return status;
    }
    bool enough;
    a->stats.releases++;
    MT_TRY(mt_release_available(a, a->bins.v[w->bin], w->size, &enough, err));
    if (enough) {
        status = ask_device(a, w, false, err);
    }
    if (status == MT_DEVICE_OOM && !w->capturing) {
        MT_TRY(mt_release_cached(a, err));
        status = ask_device(a, w, true, err);
    }
    return status;
}

static enum mt_status refuse(struct mt_alloc *a, const struct way *w, struct mt_error *err)
{
    struct mt_error second;
    struct mt_alloc_oom *oom = &a->oom;
    oom->requested = w->request->size;
    oom->rounded = w->size;
    oom->alloc_size = w->alloc_size;
    oom->has_allowed = a->has_allowed;
    oom->allowed = a->allowed;
    if (a->device.ops->mem_info(a->device.ctx, &oom->device_free, &oom->device_total, &second) !=
        MT_OK) {
        oom->device_free = oom->device_total = 0;
    }
    const struct bin *bin = a->bins.v[w->bin];
    if (a->observer.on_event) {
        a->observer.on_event(a->observer.ctx, &(struct mt_alloc_event){
                                                  .kind = MT_ALLOC_EVENT_OOM,
                                                  .addr = oom->device_free,
                                                  .size = w->size,
                                                  .stream = bin->stream,
                                                  .stack = a->stack,
                                              });
    }
    a->stats.num_ooms++;
    return mt_fail(err, MT_DEVICE_OOM, MT_NO_OFFSET,
                   "out of memory: %llu bytes asked of the device, %llu free%s",
                   (unsigned long long)w->alloc_size, (unsigned long long)oom->device_free,
                   oom->by_limit ? ", refused by the memory fraction" : "");
}

/* ---- handing out ---- */

/* Cuts the found block where that pays; the rest goes back to the free set. Returns the block. */
MT_INLINE uint32_t split(struct mt_alloc *a, struct bin *bin, uint32_t found, uint64_t size)
{
    struct block *b = block_at(a, found);
    bool small = bin->small, already = is_split(b);
    if (!mt_torch_splits(&a->rules, small, size, b->size)) {
        if (already && !b->expandable) {
            count_split_down(bin->tally, 1, b->size);
        }
        return found;
    }
    uint32_t front = mt_block_cut_front(a, found, size);
    b->state = BLOCK_FREE;
    if (a->gc_ever) {
        b->gc_base = pool_of(a, bin)->calls;
    }
    mt_free_set_insert(a, bin, found);
    a->stats.splits++;
    if (already && !b->expandable) {
        count_split_down(bin->tally, 0, size);
    } else if (!b->expandable) {
        count_split_up(&a->counts, bin->tally, 1, b->size);
    }
    return front;
}

/* A found block, in no set, becomes the answer to a request. Returns it. */
MT_INLINE uint32_t hand_out(struct mt_alloc *a, struct bin *bin, uint32_t found, uint64_t size,
                            uint64_t requested, uint32_t stack)
{
    found = split(a, bin, found, size);
    struct block *b = block_at(a, found);
    b->state = BLOCK_IN_USE;
    b->requested = requested;
    b->stack = stack;
    count_taken(&a->counts, bin->tally, b->size, requested);
    if (b->size >= a->rules.settings.max_split_size) {
        stat_up(&a->stats.oversize_allocations, 1);
    }
    mt_observe_block(a, MT_ALLOC_EVENT_ALLOC, bin, found, b, stack);
    return found;
}

/* ---- the short way ---- */

/* No free waits for a stream, nothing is captured and no pool is open. */
static inline bool is_quiet(const struct mt_alloc *a)
{
    return (a->n_waiting | a->deferred.n | a->captures.n) == 0;
}

/* Serves a request to the default pools from the cache where none of the steps is needed that this
 * leaves out; else nothing is done. Returns the block, or 0. */
MT_INLINE uint32_t serve(struct mt_alloc *a, uint64_t requested, uint64_t stream, uint32_t stack)
{
    uint64_t size =
        mt_torch_round_up(requested, MT_TORCH_MIN_BLOCK); /* 0 where that is no number */
    struct bin *bin = a->recent[mt_torch_is_small(size)];
    if (MT_UNLIKELY(!a->short_way || size == 0 || !bin || bin->stream != stream || !is_quiet(a) ||
                    a->n_spare == 0)) {
        return 0;
    }
    uint32_t found = search(a, bin, size);
    if (MT_UNLIKELY(found == 0)) { /* as is every request beyond the guard */
        return 0;
    }
    a->stats.searches++;
    a->stats.hits++;
    mt_free_set_erase(a, bin, found);
    return hand_out(a, bin, found, size, requested, stack);
}

MT_HOT uint64_t mt_alloc_serve(struct mt_alloc *a, uint64_t size, uint64_t stream, uint32_t stack)
{
    uint32_t i = mt_addr_table_has_room(a) ? serve(a, size, stream, stack) : 0;
    if (MT_UNLIKELY(i == 0)) {
        return 0;
    }
    mt_addr_table_put(a, i);
    return block_at(a, i)->addr;
}

/* ---- the whole way ---- */

/* The bin is made when it is new. */
static bool route(struct mt_alloc *a, struct way *w)
{
    struct mt_alloc_pool_id id = mt_route(a, w->request);
    uint32_t pair = mt_pair_get(a, id);
    w->capturing = a->n_captures > 0 || (w->request->has_pool && id.a != 0);
    w->bin = pair == UINT32_MAX
                 ? 0
                 : mt_bin_get(a, pair, mt_torch_is_small(w->size), w->request->stream);
    return w->bin != 0;
}

static enum mt_status find(struct mt_alloc *a, struct way *w, struct mt_error *err)
{
    if (!w->capturing && (a->n_waiting || a->deferred.n)) {
        MT_TRY(mt_streams_process(a, err));
    }
    struct bin *bin = a->bins.v[w->bin];
    if (a->gc_on) {
        pool_of(a, bin)->calls++;
    }
    a->stats.searches++;
    w->found = search(a, bin, w->size);
    if (w->found) {
        a->stats.hits++;
        mt_free_set_erase(a, bin, w->found);
        return MT_OK;
    }
    w->alloc_size = mt_torch_segment_size(&a->rules, w->size);
    enum mt_status status =
        rejects(a, w) ? mt_fail(err, MT_DEVICE_OOM, MT_NO_OFFSET, "rejected") : miss(a, w, err);
    return status == MT_DEVICE_OOM ? refuse(a, w, err) : status;
}

/* Rounds and routes, reserves what serving may need, and serves. */
static enum mt_status go(struct mt_alloc *a, struct way *w, struct mt_error *err)
{
    w->size = mt_torch_round(&a->rules, w->request->size);
    if (!route(a, w) || !mt_blocks_reserve(a, 4)) {
        return mt_fail_nomem(err);
    }
    MT_TRY(find(a, w, err));
    w->found =
        hand_out(a, a->bins.v[w->bin], w->found, w->size, w->request->size, w->request->stack);
    return MT_OK;
}

enum mt_status mt_alloc_allocate(struct mt_alloc *a, const struct mt_alloc_request *r,
                                 uint64_t *addr, mt_alloc_block *block, struct mt_error *err)
{
    if (r->size == 0) {
        return mt_fail(err, MT_USAGE, MT_NO_OFFSET, "a request of 0 bytes");
    }
    if (r->size >= MT_TORCH_REQUEST_GUARD) {
        return mt_fail(err, MT_DEVICE_OOM, MT_NO_OFFSET, "a request of more than 1 EiB");
    }
    if (a->find_by_addr && !mt_addr_table_reserve(a)) {
        return mt_fail_nomem(err);
    }
    struct way w = {.request = r};
    a->stack = r->stack;
    w.found = r->has_pool ? 0 : serve(a, r->size, r->stream, r->stack);
    if (w.found == 0) {
        MT_TRY(go(a, &w, err));
    }
    if (a->find_by_addr) {
        mt_addr_table_put(a, w.found);
    }
    if (addr) {
        *addr = block_at(a, w.found)->addr;
    }
    if (block) {
        block->i = w.found;
    }
    return MT_OK;
}

const struct mt_alloc_oom *mt_alloc_last_oom(const struct mt_alloc *a)
{
    return &a->oom;
}
