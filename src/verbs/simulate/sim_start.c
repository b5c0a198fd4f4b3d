/* SPDX-License-Identifier: MIT */
/*
 * The state before a recording that begins in the middle, from what was freed without having been
 * allocated and from what is still there at the end. A gap between living blocks is one free block,
 * since frees merge completely. The size of a block is known when it lives to the end (the snapshot
 * has it), in the small pool and in expandable segments (exactly the rounded request); in a large
 * cudaMalloc segment a remainder of up to 1 MiB may have stayed with the block. It did where what
 * would be left over could not exist as a free block; otherwise it is not determined, and none is
 * assumed.
 */
#include <stdlib.h>

#include "snapshot/model/device_segments.h"
#include "verbs/simulate/sim.h"

/* An expandable segment that was seen, in the final state or in the trace. */
struct expandable {
    uint64_t stream;
    struct mt_pool_id pool;
    bool small;
    uint64_t low, high; /* all addresses of it that were seen */
};

struct rebuild {
    struct mt_sim *sim;
    struct leftovers *left;
    MT_VEC(struct expandable) expandables;
    struct ranges mapped;
    size_t ghost; /* the next one by address */
    struct mt_error *err;
};

/* ---- blocks ---- */

static int ghost_by_addr(const void *x, const void *y)
{
    const struct ghost *l = x, *r = y;
    return (l->addr > r->addr) - (l->addr < r->addr);
}

static int segment_by_addr(const void *x, const void *y)
{
    const struct old_segment *l = x, *r = y;
    return (l->addr > r->addr) - (l->addr < r->addr);
}

static int expandable_by_addr(const void *x, const void *y)
{
    const struct expandable *l = x, *r = y;
    return (l->low > r->low) - (l->low < r->low);
}

/* The last ghost that begins below addr. */
static struct ghost *ghost_below(const struct leftovers *left, uint64_t addr)
{
    size_t low = 0, high = left->ghosts.n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (left->ghosts.v[mid].addr < addr) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low ? &left->ghosts.v[low - 1] : NULL;
}

/* While a ghost lives, whatever is handed out above it lies beyond its end. */
static void find_edges(const struct rebuild *r)
{
    const struct mt_sim *sim = r->sim;
    for (size_t i = 0; i < sim->n; i++) {
        const struct mt_event *e = &sim->events[i];
        if (e->action != MT_ACTION_ALLOC) {
            continue;
        }
        struct ghost *g = ghost_below(r->left, e->addr);
        if (g && g->freed > i && e->addr < g->edge) {
            g->edge = e->addr;
        }
    }
}

static uint64_t ghost_size(struct rebuild *r, const struct ghost *g, bool large, uint64_t end)
{
    struct mt_sim *sim = r->sim;
    if (g->block != NEVER) {
        return sim->snapshot->blocks[g->block].size;
    }
    uint64_t size = mt_torch_round(&sim->rules, g->requested);
    const struct ghost *next = g + 1;
    bool has_next = (size_t)(next - r->left->ghosts.v) < r->left->ghosts.n;
    uint64_t edge = has_next && next->addr < end ? next->addr : end;
    edge = g->edge < edge ? g->edge : edge;
    if (!large || edge <= g->addr || edge - g->addr < size) {
        return size;
    }
    if (!mt_torch_splits(&sim->rules, false, size, edge - g->addr)) {
        return edge - g->addr;
    }
    sim->n_unsure++;
    return size;
}

static enum mt_status add_block(struct rebuild *r, uint64_t size, const struct ghost *g,
                                bool mapped)
{
    struct mt_alloc_restore_block b = {.size = size, .mapped = mapped};
    uint32_t slot = NEVER;
    if (size == 0) {
        return MT_OK;
    }
    if (g) {
        b.requested = g->requested;
        b.stack = restored_stack(r->sim, g->stack);
        b.state = g->pending ? MT_ALLOC_PENDING : MT_ALLOC_IN_USE;
        slot = g->slot;
    }
    struct start *s = &r->sim->start;
    s->reserved += mapped ? size : 0;
    if (!mt_vec_push(&s->blocks, b) || !mt_vec_push(&s->slots, slot)) {
        return mt_fail_nomem(r->err);
    }
    return MT_OK;
}

/* The living blocks of [low, high) with the free ones between them. */
static enum mt_status add_run(struct rebuild *r, uint64_t low, uint64_t high, bool large)
{
    const struct leftovers *left = r->left;
    uint64_t at = low;
    for (; r->ghost < left->ghosts.n && left->ghosts.v[r->ghost].addr < high; r->ghost++) {
        const struct ghost *g = &left->ghosts.v[r->ghost];
        uint64_t size = ghost_size(r, g, large, high);
        if (g->addr < at || size == 0 || size > high - g->addr) {
            r->sim->n_unsure++; /* it cannot have been there: the file contradicts itself */
            continue;
        }
        MT_TRY(add_block(r, g->addr - at, NULL, true));
        MT_TRY(add_block(r, size, g, true));
        at = g->addr + size;
    }
    return add_block(r, high - at, NULL, true);
}

static enum mt_status close_segment(struct rebuild *r, struct mt_alloc_restore_segment *s,
                                    size_t first_block)
{
    s->n_blocks = r->sim->start.blocks.n - first_block;
    return mt_vec_push(&r->sim->start.segments, *s) ? MT_OK : mt_fail_nomem(r->err);
}

/* ---- cudaMalloc segments ---- */

static enum mt_status add_segment(struct rebuild *r, const struct old_segment *old)
{
    const struct mt_sim *sim = r->sim;
    size_t first = sim->start.blocks.n;
    struct mt_alloc_restore_segment s = {.addr = old->addr, .size = old->size};
    if (old->segment != NEVER) {
        const struct mt_segment *g = &sim->snapshot->segments[old->segment];
        s.stream = sim->snapshot->streams[g->stream].handle;
        s.pool = (struct mt_alloc_pool_id){g->pool.a, g->pool.b};
        s.small = g->kind == MT_POOL_SMALL;
        s.stack = restored_stack(sim, g->stack);
    } else {
        const struct mt_event *e = &sim->events[old->event];
        s.stream = stream_handle(sim, e);
        s.small = mt_torch_grant_is_small(old->size);
        s.stack = restored_stack(sim, e->stack);
    }
    while (r->ghost < r->left->ghosts.n && r->left->ghosts.v[r->ghost].addr < old->addr) {
        r->ghost++;
    }
    if (old->size == 0 || old->size > UINT64_MAX - old->addr) {
        return MT_OK;
    }
    MT_TRY(add_run(r, old->addr, old->addr + old->size, !s.small));
    return close_segment(r, &s, first);
}

/* ---- expandable segments ---- */

static uint64_t distance(const struct expandable *x, uint64_t addr)
{
    if (addr < x->low) {
        return x->low - addr;
    }
    return addr >= x->high ? addr - x->high : 0;
}

/* The nearest known one of the stream; made when there is none. */
static enum mt_status note_range(struct rebuild *r, uint64_t stream, const struct mt_segment *g,
                                 uint64_t low, uint64_t high)
{
    struct expandable *best = NULL;
    for (size_t i = 0; i < r->expandables.n; i++) {
        struct expandable *x = &r->expandables.v[i];
        bool same =
            x->stream == stream && (!g || (x->small == (g->kind == MT_POOL_SMALL) &&
                                           x->pool.a == g->pool.a && x->pool.b == g->pool.b));
        if (same && (!best || distance(x, low) < distance(best, low))) {
            best = x;
        }
    }
    if (best) {
        best->low = low < best->low ? low : best->low;
        best->high = high > best->high ? high : best->high;
        return MT_OK;
    }
    struct expandable x = {.stream = stream, .low = low, .high = high};
    x.small = g ? g->kind == MT_POOL_SMALL : mt_torch_range_is_small(&r->sim->rules, high - low);
    if (g) {
        x.pool = g->pool;
    }
    return mt_vec_push(&r->expandables, x) ? MT_OK : mt_fail_nomem(r->err);
}

static bool is_map_event(const struct mt_event *e)
{
    return (e->action == MT_ACTION_SEGMENT_MAP || e->action == MT_ACTION_SEGMENT_UNMAP) &&
           e->size > 0 && e->size <= UINT64_MAX - e->addr;
}

static bool is_mapped_run(const struct mt_segment *g)
{
    return g->expandable && g->total_size > 0 && g->total_size <= UINT64_MAX - g->addr;
}

/* The final ranges, with the events undone. */
enum mt_status mt_sim_mapped_before(const struct mt_sim *sim, struct ranges *mapped,
                                    struct mt_error *err)
{
    struct mt_device_segments walk = mt_device_segments(sim->snapshot, sim->device);
    for (const struct mt_segment *g; (g = mt_device_segments_next(&walk)) != NULL;) {
        if (is_mapped_run(g)) {
            MT_TRY(mt_ranges_add(mapped, g->addr, g->addr + g->total_size, err));
        }
    }
    for (size_t i = sim->n; i-- > 0;) {
        const struct mt_event *e = &sim->events[i];
        if (is_map_event(e)) {
            MT_TRY(e->action == MT_ACTION_SEGMENT_MAP
                       ? mt_ranges_remove(mapped, e->addr, e->addr + e->size, err)
                       : mt_ranges_add(mapped, e->addr, e->addr + e->size, err));
        }
    }
    return MT_OK;
}

static enum mt_status find_expandables(struct rebuild *r)
{
    const struct mt_sim *sim = r->sim;
    const struct mt_snapshot *s = sim->snapshot;
    struct mt_device_segments walk = mt_device_segments(s, sim->device);
    for (const struct mt_segment *g; (g = mt_device_segments_next(&walk)) != NULL;) {
        if (is_mapped_run(g)) {
            MT_TRY(
                note_range(r, s->streams[g->stream].handle, g, g->addr, g->addr + g->total_size));
        }
    }
    for (size_t i = sim->n; i-- > 0;) {
        const struct mt_event *e = &sim->events[i];
        if (is_map_event(e)) {
            MT_TRY(note_range(r, stream_handle(sim, e), NULL, e->addr, e->addr + e->size));
        }
    }
    return mt_sim_mapped_before(sim, &r->mapped, r->err);
}

static enum mt_status add_expandable(struct rebuild *r, const struct expandable *x)
{
    struct mt_sim *sim = r->sim;
    uint64_t page = mt_torch_page_size(&sim->rules, x->small);
    uint64_t most = (uint64_t)1 << 40; /* longer than what a device can map */
    uint64_t length = ((x->high - x->low > most ? x->high - x->low : most) / page + 1) * page;
    size_t first = sim->start.blocks.n;
    uint64_t at = x->low;
    struct mt_alloc_restore_segment s = {.addr = x->low,
                                         .size = length,
                                         .stream = x->stream,
                                         .pool = {x->pool.a, x->pool.b},
                                         .small = x->small,
                                         .expandable = true};
    for (size_t i = 0; i < r->mapped.list.n; i++) {
        const struct range *m = &r->mapped.list.v[i];
        if (m->low < at || m->high > x->high) {
            continue;
        }
        while (r->ghost < r->left->ghosts.n && r->left->ghosts.v[r->ghost].addr < m->low) {
            r->ghost++;
        }
        MT_TRY(add_block(r, m->low - at, NULL, false));
        MT_TRY(add_run(r, m->low, m->high, false));
        at = m->high;
    }
    MT_TRY(add_block(r, x->low + length - at, NULL, false));
    return close_segment(r, &s, first);
}

static enum mt_status rebuild_all(struct rebuild *r)
{
    struct leftovers *left = r->left;
    if (left->ghosts.n) {
        qsort(left->ghosts.v, left->ghosts.n, sizeof *left->ghosts.v, ghost_by_addr);
        find_edges(r);
    }
    if (left->segments.n) {
        qsort(left->segments.v, left->segments.n, sizeof *left->segments.v, segment_by_addr);
    }
    for (size_t i = 0; i < left->segments.n; i++) {
        MT_TRY(add_segment(r, &left->segments.v[i]));
    }
    r->ghost = 0;
    MT_TRY(find_expandables(r));
    if (r->expandables.n) {
        qsort(r->expandables.v, r->expandables.n, sizeof *r->expandables.v, expandable_by_addr);
    }
    for (size_t i = 0; i < r->expandables.n; i++) {
        MT_TRY(add_expandable(r, &r->expandables.v[i]));
    }
    return MT_OK;
}

enum mt_status mt_sim_rebuild(struct mt_sim *sim, struct leftovers *left, struct mt_error *err)
{
    struct rebuild r = {.sim = sim, .left = left, .err = err};
    sim->n_ghosts = left->ghosts.n;
    enum mt_status status = rebuild_all(&r);
    mt_vec_release(&r.expandables);
    mt_ranges_release(&r.mapped);
    return status;
}
