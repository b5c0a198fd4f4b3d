/* SPDX-License-Identifier: MIT */
/*
 * The allocator's state at a moment, by undoing the trace from its end.
 *
 * Two books are kept while undoing: live blocks (a vector with a map from address to entry) and
 * reserved ranges (a vector sorted by address: thousands at most in genuine files). At the end the
 * blocks are sorted and laid into their ranges; what no block covers is free. The stack of a block
 * that a free brought back is not known from the free, whose stack is that of the freeing code;
 * going on backwards, the first alloc of that address is its own, and the search stops when every
 * block has found its.
 *
 * Redoing from the front instead would need the state before the first event, which ring buffers
 * have lost.
 */
#include "heap/walk/state.h"

#include <stdlib.h>
#include <string.h>

#include "support/checked.h"
#include "snapshot/model/device_segments.h"
#include "support/hash.h"
#include "heap/walk/block_sizes.h"
#include "heap/walk/past_segments.h"
#include "heap/walk/query.h"
#include "snapshot/model/settings.h"
#include "support/vec.h"

/* One block in use. */
struct live {
    struct mt_block block;
    size_t alloc_event;
    bool guessed;     /* the size is rounded from the request */
    bool wants_alloc; /* its alloc event was not met yet */
    bool dead;        /* undone; waits for the compaction at the end */
};

struct undo {
    const struct mt_snapshot *s;
    struct mt_torch_rules rules;
    int32_t device;
    const struct mt_event *events; /* of the device */
    size_t first;                  /* index of events[0] in the snapshot */
    size_t n;
    MT_VEC(struct live) live;
    struct mt_idmap by_addr; /* address -> index in live */
    struct mt_past_segments past;
    size_t wanting; /* live entries that want their alloc */
    size_t unmatched;
};

/* ---- blocks ---- */

static bool live_add(struct undo *u, const struct live *l)
{
    if (u->live.n >= UINT32_MAX || !mt_vec_push(&u->live, *l)) {
        return false;
    }
    u->wanting++;
    return mt_idmap_put(&u->by_addr, l->block.addr, (uint32_t)(u->live.n - 1));
}

static void live_drop(struct undo *u, uint64_t addr)
{
    uint32_t at;
    if (!mt_idmap_remove(&u->by_addr, addr, &at)) {
        u->unmatched++;
        return;
    }
    u->wanting--;
    u->live.v[at].dead = true;
}

static bool undo_free(struct undo *u, const struct mt_event *e, enum mt_block_state state)
{
    if (mt_idmap_find(&u->by_addr, e->addr)) {
        u->unmatched++;
        return true;
    }
    struct live l = {.alloc_event = MT_STATE_NO_EVENT, .guessed = true, .wants_alloc = true};
    l.block.addr = e->addr;
    l.block.size = mt_torch_round(&u->rules, e->size);
    l.block.requested = e->size;
    l.block.state = (uint8_t)state;
    return live_add(u, &l);
}

/* Before its free_requested a block was in plain use. */
static void undo_request(struct undo *u, const struct mt_event *e)
{
    const uint32_t *at = mt_idmap_find(&u->by_addr, e->addr);
    if (at) {
        u->live.v[*at].block.state = MT_BLOCK_ALLOCATED;
    } else {
        u->unmatched++;
    }
}

/* ---- segments ---- */

/* An unmapping takes as many pages as lie side by side, so its size does not say of which pool they
 * are. The mappings that brought them do, and so does a block that lives there; where all that is
 * older than the trace it depends on whether the range is whole pages of the large pool. */
static void kinds_from_mappings(struct undo *u, size_t done)
{
    size_t wanted = 0;
    for (size_t i = 0; i < u->past.v.n; i++) {
        wanted += u->past.v.v[i].kind == MT_POOL_KIND_NOT_KNOWN;
    }
    for (size_t i = done; i > 0 && wanted > 0; i--) {
        const struct mt_event *e = &u->events[i - 1];
        if (e->action != MT_ACTION_SEGMENT_MAP) {
            continue;
        }
        size_t at = mt_past_segments_search(&u->past, e->addr);
        struct mt_segment *g = at < u->past.v.n ? &u->past.v.v[at] : NULL;
        if (g && g->kind == MT_POOL_KIND_NOT_KNOWN && g->addr <= e->addr) {
            g->kind = mt_torch_grant_is_small(e->size) ? MT_POOL_SMALL : MT_POOL_LARGE;
            wanted--;
        }
    }
}

/* The first block of live[] that begins at addr or behind it, or live.n. */
static size_t live_search(const struct undo *u, uint64_t addr)
{
    size_t lo = 0, hi = u->live.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (u->live.v[mid].block.addr < addr) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

static void kinds_from_blocks(struct undo *u)
{
    for (size_t i = 0; i < u->past.v.n; i++) {
        struct mt_segment *g = &u->past.v.v[i];
        if (g->kind != MT_POOL_KIND_NOT_KNOWN) {
            continue;
        }
        size_t at = live_search(u, g->addr);
        const struct mt_block *b = at < u->live.n ? &u->live.v[at].block : NULL;
        bool small = b && b->addr < mt_segment_end(g)
                         ? mt_torch_is_small(b->requested)
                         : mt_torch_range_is_small(&u->rules, g->total_size);
        g->kind = small ? MT_POOL_SMALL : MT_POOL_LARGE;
    }
}

static bool same_pool(const struct mt_segment *a, const struct mt_segment *b)
{
    return a->stream == b->stream && a->kind == b->kind && a->pool.a == b->pool.a &&
           a->pool.b == b->pool.b;
}

/* Neighbours of one stream and pool that touch become one run, as a snapshot shows them. */
static void runs_join(struct undo *u)
{
    size_t out = 0;
    for (size_t i = 0; i < u->past.v.n; i++) {
        struct mt_segment *g = &u->past.v.v[i];
        struct mt_segment *last = out ? &u->past.v.v[out - 1] : NULL;
        if (last && last->expandable && g->expandable && same_pool(last, g) &&
            mt_segment_end(last) == g->addr) {
            last->total_size += g->total_size;
        } else {
            u->past.v.v[out++] = *g;
        }
    }
    u->past.v.n = out;
}

static bool undo_one(struct undo *u, size_t index)
{
    const struct mt_event *e = &u->events[index];
    switch ((enum mt_action)e->action) {
    case MT_ACTION_ALLOC: live_drop(u, e->addr); return true;
    case MT_ACTION_FREE_REQUESTED: undo_request(u, e); return true;
    case MT_ACTION_FREE_COMPLETED: return undo_free(u, e, MT_BLOCK_PENDING);
    case MT_ACTION_FREE: return undo_free(u, e, MT_BLOCK_ALLOCATED);
    default: return mt_past_segments_undo(&u->past, index);
    }
}

/* ---- the start and the end ---- */

static bool take_blocks(struct undo *u, const struct mt_segment *g)
{
    for (size_t k = 0; k < g->n_blocks; k++) {
        const struct mt_block *b = &u->s->blocks[g->first_block + k];
        if (b->state == MT_BLOCK_INACTIVE || mt_idmap_find(&u->by_addr, b->addr)) {
            continue;
        }
        struct live l = {.block = *b, .alloc_event = MT_STATE_NO_EVENT, .wants_alloc = true};
        if (!live_add(u, &l)) {
            return false;
        }
    }
    return true;
}

static bool take_final(struct undo *u)
{
    struct mt_device_segments walk = mt_device_segments(u->s, u->device);
    for (const struct mt_segment *g; (g = mt_device_segments_next(&walk)) != NULL;) {
        if (g->total_size > 0 && !take_blocks(u, g)) {
            return false;
        }
    }
    return mt_past_segments_init(&u->past, u->s, u->device);
}

static void find_allocs(struct undo *u, size_t done)
{
    for (size_t i = done; i > 0 && u->wanting > 0; i--) {
        const struct mt_event *e = &u->events[i - 1];
        const uint32_t *at =
            e->action == MT_ACTION_ALLOC ? mt_idmap_find(&u->by_addr, e->addr) : NULL;
        struct live *l = at ? &u->live.v[*at] : NULL;
        if (!l || !l->wants_alloc) {
            continue;
        }
        l->wants_alloc = false;
        u->wanting--;
        l->alloc_event = i - 1;
        if (l->block.stack == 0) {
            l->block.stack = e->stack;
        }
    }
}

static int live_compare(const void *a, const void *b)
{
    const struct live *x = a, *y = b;
    return (x->block.addr > y->block.addr) - (x->block.addr < y->block.addr);
}

static void live_sort(struct undo *u)
{
    size_t out = 0;
    for (size_t i = 0; i < u->live.n; i++) {
        if (!u->live.v[i].dead) {
            u->live.v[out++] = u->live.v[i];
        }
    }
    u->live.n = out;
    if (out) {
        qsort(u->live.v, out, sizeof *u->live.v, live_compare);
    }
}

/* ---- laying the blocks into their segments ---- */

struct output {
    MT_VEC(struct mt_block) blocks;
    MT_VEC(size_t) events;
};

static bool put_block(struct output *o, const struct mt_block *b, size_t event)
{
    return mt_vec_push(&o->blocks, *b) && mt_vec_push(&o->events, event);
}

static bool put_hole(struct output *o, uint64_t addr, uint64_t size, size_t segment)
{
    struct mt_block b = {.addr = addr, .size = size, .segment = (uint32_t)segment};
    return size == 0 || put_block(o, &b, MT_STATE_NO_EVENT);
}

/* The size of a block with `room` bytes up to the next one. Where the file does not give it, what
 * lies behind it and is too small to be split off was its own. */
static uint64_t block_size(const struct undo *u, const struct mt_segment *g, const struct live *l,
                           uint64_t room)
{
    if (l->block.size >= room) {
        return room;
    }
    bool small = g->kind == MT_POOL_SMALL || g->expandable;
    bool kept = l->guessed && !mt_torch_splits(&u->rules, small, l->block.size, room);
    return kept ? room : l->block.size;
}

static void segment_count(struct mt_segment *g, const struct mt_block *b)
{
    g->active_size += b->size;
    g->allocated_size += b->state == MT_BLOCK_PENDING ? 0 : b->size;
    g->requested_size = g->requested_size > UINT64_MAX - b->requested
                            ? UINT64_MAX
                            : g->requested_size + b->requested;
}

/* Takes the blocks live[*at ...] that lie in segment `index`; false when out of memory. */
static bool fill_segment(struct undo *u, size_t index, size_t *at, struct output *o)
{
    struct mt_segment *g = &u->past.v.v[index];
    uint64_t pos = g->addr, end = mt_segment_end(g);
    g->first_block = (uint32_t)o->blocks.n;
    g->allocated_size = g->active_size = g->requested_size = 0;
    for (; *at < u->live.n && u->live.v[*at].block.addr < end; ++*at) {
        struct live *l = &u->live.v[*at];
        struct mt_block *b = &l->block;
        if (b->addr < pos) { /* overlaps the one before it, or lies in no segment */
            u->unmatched++;
            continue;
        }
        uint64_t next = *at + 1 < u->live.n ? u->live.v[*at + 1].block.addr : end;
        uint64_t hole = b->addr - pos;
        b->size = block_size(u, g, l, (next < end ? next : end) - b->addr);
        b->segment = (uint32_t)index;
        if (!put_hole(o, pos, hole, index) || !put_block(o, b, l->alloc_event)) {
            return false;
        }
        segment_count(g, b);
        pos = b->addr + b->size;
    }
    if (!put_hole(o, pos, end - pos, index)) {
        return false;
    }
    g->n_blocks = (uint32_t)(o->blocks.n - g->first_block);
    return true;
}

static bool fill_all(struct undo *u, struct output *o)
{
    size_t at = 0;
    for (size_t i = 0; i < u->past.v.n; i++) {
        if (!fill_segment(u, i, &at, o)) {
            return false;
        }
    }
    u->unmatched += u->live.n - at;
    return true;
}

/* What a replay tells of the sizes that no file gives, so that a block keeps its size as long as it
 * lives, whatever is freed behind it. */
static enum mt_status sizes_from_replay(struct undo *u, size_t done, struct mt_error *err)
{
    size_t guessed = 0;
    for (size_t i = 0; i < u->live.n; i++) {
        guessed += u->live.v[i].guessed;
    }
    if (guessed == 0 || done == 0) {
        return MT_OK;
    }
    struct mt_block_sizes sizes;
    MT_TRY(mt_block_sizes_find(&sizes, u->s, (size_t)u->device, err));
    for (size_t i = 0; i < u->live.n; i++) {
        struct live *l = &u->live.v[i];
        uint64_t size = !l->guessed ? 0
                        : l->alloc_event == MT_STATE_NO_EVENT
                            ? mt_block_sizes_older(&sizes, l->block.addr)
                            : sizes.of_event[l->alloc_event];
        if (size >= l->block.size) {
            l->block.size = size;
            l->guessed = false;
        }
    }
    mt_block_sizes_release(&sizes);
    return MT_OK;
}

static enum mt_status undo_run(struct undo *u, size_t done, struct output *o, struct mt_error *err)
{
    if (!take_final(u)) {
        return mt_fail_nomem(err);
    }
    for (size_t i = u->n; i > done; i--) {
        if (!undo_one(u, i - 1)) {
            return mt_fail_nomem(err);
        }
    }
    find_allocs(u, done);
    live_sort(u);
    kinds_from_mappings(u, done);
    kinds_from_blocks(u);
    runs_join(u);
    MT_TRY(sizes_from_replay(u, done, err));
    return fill_all(u, o) ? MT_OK : mt_fail_nomem(err);
}

enum mt_status mt_state_at(const struct mt_snapshot *s, size_t device, size_t events_done,
                           struct mt_state *out, struct mt_error *err)
{
    struct undo u = {.s = s, .rules = mt_settings_rules(s), .device = (int32_t)device};
    struct output o = {0};
    if (device < s->n_traces) {
        u.first = s->traces[device].first;
        u.n = s->traces[device].n;
        u.events = MT_PART(s->events, u.first);
    }
    size_t done = events_done < u.n ? events_done : u.n;
    enum mt_status status = undo_run(&u, done, &o, err);
    if (status == MT_OK) {
        *out = (struct mt_state){.device = device,
                                 .events_done = done,
                                 .segments = u.past.v.v,
                                 .n_segments = u.past.v.n,
                                 .blocks = o.blocks.v,
                                 .n_blocks = o.blocks.n,
                                 .alloc_event = o.events.v,
                                 .unmatched = u.unmatched + u.past.unmatched};
    } else {
        mt_past_segments_release(&u.past);
        mt_vec_release(&o.blocks);
        mt_vec_release(&o.events);
    }
    mt_vec_release(&u.live);
    mt_idmap_release(&u.by_addr);
    return status;
}

void mt_state_release(struct mt_state *st)
{
    mt_mem_free(st->segments);
    mt_mem_free(st->blocks);
    mt_mem_free(st->alloc_event);
    *st = (struct mt_state){0};
}

void mt_state_add_segment(const struct mt_state *st, size_t segment, struct mt_state_sum *sum)
{
    const struct mt_segment *g = &st->segments[segment];
    size_t in_use = sum->blocks;
    uint64_t free = sum->free;
    sum->segments++;
    sum->reserved = mt_add_sat(sum->reserved, g->total_size);
    for (size_t i = 0; i < g->n_blocks; i++) {
        const struct mt_block *b = &st->blocks[g->first_block + i];
        if (b->state == MT_BLOCK_INACTIVE) {
            sum->free = mt_add_sat(sum->free, b->size);
            sum->largest_hole = b->size > sum->largest_hole ? b->size : sum->largest_hole;
            continue;
        }
        uint64_t *kind = b->state == MT_BLOCK_PENDING ? &sum->pending : &sum->allocated;
        sum->blocks++;
        sum->requested = mt_add_sat(sum->requested, b->requested);
        *kind = mt_add_sat(*kind, b->size);
    }
    if (sum->blocks == in_use) {
        sum->empty_segments++;
        sum->empty = mt_add_sat(sum->empty, sum->free - free);
    }
}
