/* SPDX-License-Identifier: MIT */
/*
 * The way of a request, step by step as in PyTorch c10/cuda/CUDACachingAllocator.cpp, malloc: round
 * it, search the cache once, then ask the device, release oversize blocks and ask again, release
 * everything and ask again, and give up. What was released is never searched: after a release the
 * device is asked. The order of the steps is what makes a replay exact.
 */
#include "alloc_blocks.h"

/* What a request becomes on its way. */
struct way {
    const struct mt_alloc_request *request;
    uint32_t bin;
    uint64_t size;       /* rounded */
    uint64_t alloc_size; /* asked of the device */
    bool capturing;
    uint32_t found;
};

/* ---- life ---- */

static void take_settings(struct mt_alloc *a, const struct mt_alloc_settings *s)
{
    a->settings = *s;
    if (!a->policy->non_split_rounding) {
        a->settings.max_non_split_rounding = LARGE_BUFFER;
    }
    a->gc_on = a->has_allowed && s->garbage_collection_threshold > 0.0;
    a->gc_ever |= a->gc_on;
    a->plain_rounding = mt_rounding_is_plain(s, a->policy);
}

enum mt_status mt_alloc_new(const struct mt_alloc_options *o, struct mt_alloc **out,
                            struct mt_error *err)
{
    struct mt_alloc *a = mt_mem_zalloc(1, sizeof *a);
    if (!a) {
        return mt_fail_nomem(err);
    }
    a->policy = mt_policy_find(o->release ? o->release : 211);
    a->device = o->device;
    a->observer = o->observer;
    a->find_by_addr = o->find_by_addr;
    a->has_allowed = o->has_allowed;
    a->allowed = o->allowed;
    take_settings(a, &o->settings);
    a->device.ops->caps(a->device.ctx, &a->caps);
    struct segment no_segment = {0};
    struct use no_use = {0};
    struct pair pair = {.alive = true};
    struct bin *no_bin = NULL;
    enum mt_status status = MT_OK;
    if (!mt_vec_push(&a->segments, no_segment) || !mt_vec_push(&a->uses, no_use) ||
        !mt_vec_push(&a->pairs, pair) || !mt_vec_push(&a->bins, no_bin)) {
        status = mt_fail_nomem(err);
    } else if (o->settings.expandable_segments && !a->caps.has_vmm) {
        status =
            mt_fail(err, MT_UNSUPPORTED, MT_NO_OFFSET,
                    "the device %s cannot map memory: no expandable segments", a->device.ops->name);
    }
    if (status != MT_OK) {
        mt_alloc_delete(a);
        return status;
    }
    *out = a;
    return MT_OK;
}

/* Nothing can be done about a device that fails now. */
static void give_back(struct mt_alloc *a, const struct segment *s)
{
    struct mt_error err;
    const struct mt_device_ops *ops = a->device.ops;
    if (!s->expandable) {
        (void)!ops->mem_free(a->device.ctx, s->base, s->size, &err);
        return;
    }
    uint64_t stream = a->bins.v[s->bin]->stream;
    for (uint32_t i = s->first; i; i = block_at(a, i)->next) {
        const struct block *b = block_at(a, i);
        uint64_t low = b->addr, high = b->addr + b->size;
        while (b->state != BLOCK_HOLE && b->next && block_at(a, b->next)->state != BLOCK_HOLE) {
            i = b->next;
            b = block_at(a, i);
            high = b->addr + b->size;
        }
        if (b->state != BLOCK_HOLE) {
            (void)!ops->unmap(a->device.ctx, low, high - low, s->page, stream, &err);
        }
    }
    (void)!ops->va_free(a->device.ctx, s->base, s->size, &err);
}

void mt_alloc_delete(struct mt_alloc *a)
{
    if (!a) {
        return;
    }
    mt_streams_release(a);
    for (size_t i = 1; i < a->segments.n; i++) {
        if (a->segments.v[i].used) {
            give_back(a, &a->segments.v[i]);
        }
    }
    for (size_t i = 0; i < a->pairs.n; i++) {
        mt_vec_release(&a->pairs.v[i].pools[0].bins);
        mt_vec_release(&a->pairs.v[i].pools[1].bins);
    }
    for (size_t i = 0; i < a->bins.n; i++) {
        mt_mem_free(a->bins.v[i]);
    }
    for (size_t i = 0; i < a->n_chunks; i++) {
        mt_mem_free(a->chunks[i]);
    }
    mt_mem_free(a->chunks);
    mt_vec_release(&a->segments);
    mt_vec_release(&a->bins);
    mt_vec_release(&a->pairs);
    mt_vec_release(&a->captures);
    mt_vec_release(&a->scratch);
    mt_mem_free(a->by_addr.slots);
    mt_mem_free(a);
}

void mt_alloc_set_settings(struct mt_alloc *a, const struct mt_alloc_settings *s)
{
    take_settings(a, s);
    a->settings.expandable_segments = s->expandable_segments && a->caps.has_vmm;
}

void mt_alloc_set_observer(struct mt_alloc *a, struct mt_alloc_observer observer)
{
    a->observer = observer;
}

void mt_alloc_set_allowed(struct mt_alloc *a, bool on, uint64_t allowed)
{
    a->has_allowed = on;
    a->allowed = allowed;
    a->gc_on = on && a->settings.garbage_collection_threshold > 0.0;
    a->gc_ever |= a->gc_on;
}

const struct mt_alloc_settings *mt_alloc_settings(const struct mt_alloc *a)
{
    return &a->settings;
}

uint64_t mt_alloc_total_allocated(const struct mt_alloc *a)
{
    return a->total;
}

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
    return segment_of(a, block_at(a, i))->expandable;
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
    if (a->settings.expandable_segments) {
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
    uint64_t max_split = a->settings.max_split_size, has = block_at(a, i)->size;
    if (size < max_split && has >= max_split) {
        return 0;
    }
    if (size >= max_split && has - size >= a->settings.max_non_split_rounding) {
        return 0;
    }
    return i;
}

bool mt_alloc_would_hit(const struct mt_alloc *a, const struct mt_alloc_request *r)
{
    if (r->size >= REQUEST_GUARD) {
        return false;
    }
    uint64_t size = mt_rounded_size(&a->settings, a->policy, r->size);
    uint32_t pair = mt_pair_find(a, mt_route(a, r));
    uint32_t bin = pair == UINT32_MAX ? 0 : mt_bin_find(a, pair, size <= SMALL_SIZE, r->stream);
    return bin && search(a, a->bins.v[bin], size);
}

/* ---- the device ---- */

static bool may_expand(const struct mt_alloc *a, const struct way *w)
{
    return a->settings.expandable_segments &&
           (a->policy->expandable_private_pools || a->bins.v[w->bin]->pair == 0);
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
    mt_counts_rise(&a->counts, MT_STAT_SEGMENT, bin->small, 1);
    mt_counts_rise(&a->counts, MT_STAT_RESERVED_BYTES, bin->small, size);
    if (size >= a->settings.max_split_size) {
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
    bool over = a->settings.throw_on_cudamalloc_oom && a->has_allowed &&
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
                                                  .pool = a->pairs.v[bin->pair].id,
                                              });
    }
    a->stats.num_ooms++;
    return mt_fail(err, MT_DEVICE_OOM, MT_NO_OFFSET,
                   "out of memory: %llu bytes asked of the device, %llu free%s",
                   (unsigned long long)w->alloc_size, (unsigned long long)oom->device_free,
                   oom->by_limit ? ", refused by the memory fraction" : "");
}

/* ---- handing out ---- */

static bool should_split(const struct mt_alloc *a, const struct way *w)
{
    uint64_t rest = block_at(a, w->found)->size - w->size;
    if (a->bins.v[w->bin]->small || a->settings.expandable_segments) {
        return rest >= MIN_BLOCK;
    }
    return w->size < a->settings.max_split_size && rest > SMALL_SIZE;
}

/* Cuts the found block where that pays; the rest goes back to the free set. */
static void split(struct mt_alloc *a, struct way *w, bool small)
{
    struct block *b = block_at(a, w->found);
    bool already = is_split(b), expandable = segment_of(a, b)->expandable;
    if (should_split(a, w)) {
        uint32_t rest = w->found;
        w->found = mt_block_cut_front(a, rest, w->size);
        b->state = BLOCK_FREE;
        if (a->gc_ever) {
            b->gc_base = pool_of(a, a->bins.v[w->bin])->calls;
        }
        mt_free_set_insert(a, rest);
        a->stats.splits++;
        if (!expandable) {
            count_splits(&a->counts, small, !already,
                         already ? -(int64_t)w->size : (int64_t)b->size);
        }
    } else if (already && !expandable) {
        count_splits(&a->counts, small, -1, -(int64_t)b->size);
    }
}

static void hand_out(struct mt_alloc *a, struct way *w)
{
    bool small = a->bins.v[w->bin]->small;
    split(a, w, small);
    struct block *b = block_at(a, w->found);
    b->state = BLOCK_IN_USE;
    b->requested = w->request->size;
    b->stack = w->request->stack;
    count_taken(&a->counts, small, b->size, b->requested);
    if (b->size >= a->settings.max_split_size) {
        stat_up(&a->stats.oversize_allocations, 1);
    }
    mt_observe_block(a, MT_ALLOC_EVENT_ALLOC, w->found, b->stack);
}

/* The bin is made when it is new. */
static bool route(struct mt_alloc *a, struct way *w)
{
    struct mt_alloc_pool_id id = mt_route(a, w->request);
    uint32_t pair = mt_pair_get(a, id);
    w->capturing = a->n_captures > 0 || (w->request->has_pool && id.a != 0);
    w->bin =
        pair == UINT32_MAX ? 0 : mt_bin_get(a, pair, w->size <= SMALL_SIZE, w->request->stream);
    return w->bin != 0;
}

/* Rounds and routes, and reserves what serving may need. */
static enum mt_status set_out(struct mt_alloc *a, struct way *w, struct mt_error *err)
{
    uint64_t size = w->request->size;
    w->size = a->plain_rounding ? round_up(size, MIN_BLOCK)
                                : mt_rounded_size(&a->settings, a->policy, size);
    if (!w->request->has_pool && a->captures.n == 0) {
        w->bin = default_bin(a, w->size <= SMALL_SIZE, w->request->stream);
    }
    bool ready = (w->bin || route(a, w)) && (a->n_spare >= 4 || mt_blocks_reserve(a, 4)) &&
                 (!a->find_by_addr || mt_addr_table_reserve(a));
    return ready ? MT_OK : mt_fail_nomem(err);
}

static enum mt_status find(struct mt_alloc *a, struct way *w, struct mt_error *err)
{
    if (!w->capturing && (a->n_waiting || a->deferred.n)) {
        MT_TRY(mt_streams_process(a, err));
    }
    const struct bin *bin = a->bins.v[w->bin];
    if (a->gc_on) {
        pool_of(a, bin)->calls++;
    }
    a->stats.searches++;
    w->found = search(a, bin, w->size);
    if (w->found) {
        a->stats.hits++;
        mt_free_set_erase(a, w->found);
        return MT_OK;
    }
    w->alloc_size = segment_size(&a->settings, w->size);
    enum mt_status status =
        rejects(a, w) ? mt_fail(err, MT_DEVICE_OOM, MT_NO_OFFSET, "rejected") : miss(a, w, err);
    return status == MT_DEVICE_OOM ? refuse(a, w, err) : status;
}

enum mt_status mt_alloc_allocate(struct mt_alloc *a, const struct mt_alloc_request *r,
                                 uint64_t *addr, mt_alloc_block *block, struct mt_error *err)
{
    if (r->size == 0) {
        return mt_fail(err, MT_USAGE, MT_NO_OFFSET, "a request of 0 bytes");
    }
    if (r->size >= REQUEST_GUARD) {
        return mt_fail(err, MT_DEVICE_OOM, MT_NO_OFFSET, "a request of more than 1 EiB");
    }
    struct way w = {.request = r};
    a->stack = r->stack;
    MT_TRY(set_out(a, &w, err));
    MT_TRY(find(a, &w, err));
    hand_out(a, &w);
    uint64_t at = block_at(a, w.found)->addr;
    if (a->find_by_addr) {
        mt_addr_table_put(a, w.found);
    }
    if (addr) {
        *addr = at;
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
