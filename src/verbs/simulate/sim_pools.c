/* SPDX-License-Identifier: MIT */
/*
 * Which private pool an allocation went to, and when a pool is given up. From 2.12 on each event
 * says its pool. Before, the pool of an allocation is that of the segment it lies in at that
 * moment: not of the address, since empty_cache() runs before each capture and the driver hands the
 * addresses of the default pool's segments out again. A segment that is there at the end names its
 * pool; one that was given back before is taken for the default pool's. Source: PyTorch
 * c10/cuda/CUDACachingAllocator.cpp, get_pool, releasePool.
 */
#include <stdlib.h>
#include <string.h>

#include "snapshot/model/device_segments.h"
#include "support/checked.h"
#include "verbs/simulate/sim.h"

/* More private pools, or more reservations at once, than this are no real recording; the rest
 * counts as the default pool's. */
#define MOST_POOLS 4096

/* ---- the pools that there are ---- */

uint16_t mt_sim_pool_index(const struct mt_sim *sim, struct mt_pool_id id)
{
    for (size_t i = 0; i < sim->pools.n; i++) {
        if (sim->pools.v[i].a == id.a && sim->pools.v[i].b == id.b) {
            return (uint16_t)i;
        }
    }
    return 0;
}

static bool is_private(const struct mt_segment *s)
{
    return s->pool.a != 0 || s->pool.b != 0;
}

/* The snapshot's own list may hold only those that events name. */
enum mt_status mt_sim_list_pools(struct mt_sim *sim, struct mt_error *err)
{
    const struct mt_snapshot *s = sim->snapshot;
    for (size_t i = 0; i < s->n_pools && i < MOST_POOLS; i++) {
        if (!mt_vec_push(&sim->pools, s->pools[i])) {
            return mt_fail_nomem(err);
        }
    }
    struct mt_device_segments walk = mt_device_segments(s, sim->device);
    for (const struct mt_segment *g;
         sim->pools.n < MOST_POOLS && (g = mt_device_segments_next(&walk)) != NULL;) {
        bool listed = !is_private(g) || mt_sim_pool_index(sim, g->pool) != 0;
        if (!listed && !mt_vec_push(&sim->pools, g->pool)) {
            return mt_fail_nomem(err);
        }
    }
    sim->named_pools = sim->pools.n;
    return MT_OK;
}

/* ---- regions, from the events ---- */

static enum mt_status add_region(struct regions *r, uint64_t low, uint64_t size, size_t from,
                                 uint32_t *index)
{
    struct region made = {.low = low,
                          .high = mt_add_sat(low, size),
                          .mapped = size,
                          .from = from,
                          .to = SIZE_MAX,
                          .stream = from < r->sim->n ? (uint16_t)r->sim->events[from].stream : 0};
    *index = (uint32_t)r->all.n;
    return mt_vec_push(&r->all, made) ? MT_OK : mt_fail_nomem(r->err);
}

static enum mt_status on_segment_alloc(struct regions *r, const struct mt_event *e, size_t event)
{
    uint32_t i;
    MT_TRY(add_region(r, e->addr, e->size, event, &i));
    return mt_idmap_put(&r->segments, e->addr, i) ? MT_OK : mt_fail_nomem(r->err);
}

/* The living reservation that [low, high) lies in or continues, as its place in `mappings`. A hole
 * begins at mapped memory of its own reservation or ends there: reservations lie far apart. */
static size_t find_mapping(const struct regions *r, uint64_t low, uint64_t high)
{
    size_t k = 0;
    while (k < r->mappings.n &&
           (low > r->all.v[r->mappings.v[k]].high || high < r->all.v[r->mappings.v[k]].low)) {
        k++;
    }
    return k;
}

static enum mt_status on_map(struct regions *r, uint64_t low, uint64_t size, size_t event)
{
    uint64_t high = mt_add_sat(low, size);
    size_t k = find_mapping(r, low, high);
    if (k < r->mappings.n) {
        struct region *g = &r->all.v[r->mappings.v[k]];
        g->low = low < g->low ? low : g->low;
        g->high = high > g->high ? high : g->high;
        g->mapped = mt_add_sat(g->mapped, size);
        return MT_OK;
    }
    uint32_t i;
    if (r->mappings.n >= MOST_POOLS) {
        return MT_OK;
    }
    MT_TRY(add_region(r, low, size, event, &i));
    return mt_vec_push(&r->mappings, i) ? MT_OK : mt_fail_nomem(r->err);
}

/* A reservation of which nothing is mapped is given back. */
static void on_unmap(struct regions *r, const struct mt_event *e, size_t event)
{
    size_t k = find_mapping(r, e->addr, mt_add_sat(e->addr, e->size));
    if (k < r->mappings.n) {
        struct region *g = &r->all.v[r->mappings.v[k]];
        g->mapped -= e->size < g->mapped ? e->size : g->mapped;
        if (g->mapped == 0) {
            g->to = event;
            r->mappings.v[k] = r->mappings.v[--r->mappings.n];
        }
    }
}

static void on_segment_free(struct regions *r, const struct mt_event *e, size_t event)
{
    uint32_t i;
    if (mt_idmap_remove(&r->segments, e->addr, &i)) {
        r->all.v[i].to = event;
    }
}

static enum mt_status on_event(struct regions *r, size_t event)
{
    const struct mt_event *e = &r->sim->events[event];
    switch (e->action) {
    case MT_ACTION_SEGMENT_ALLOC: return on_segment_alloc(r, e, event);
    case MT_ACTION_SEGMENT_FREE: on_segment_free(r, e, event); return MT_OK;
    case MT_ACTION_SEGMENT_MAP: return on_map(r, e->addr, e->size, event);
    case MT_ACTION_SEGMENT_UNMAP: on_unmap(r, e, event); return MT_OK;
    default: return MT_OK;
    }
}

/* What was mapped before the first event: the end with the events undone. */
static enum mt_status mapped_before(struct regions *r)
{
    const struct mt_sim *sim = r->sim;
    struct ranges mapped = {{0}};
    enum mt_status status = mt_sim_mapped_before(sim, &mapped, r->err);
    for (size_t i = 0; status == MT_OK && i < mapped.list.n; i++) {
        const struct range *m = &mapped.list.v[i];
        status = on_map(r, m->low, m->high - m->low, 0);
    }
    mt_ranges_release(&mapped);
    return status;
}

/* ---- which pool they are of ---- */

/* A segment that no event made was there before; it keeps its pool. */
static enum mt_status name_segment(struct regions *r, const struct mt_segment *g)
{
    const uint32_t *made = mt_idmap_find(&r->segments, g->addr);
    uint32_t i;
    if (made) {
        i = *made;
    } else {
        MT_TRY(add_region(r, g->addr, g->total_size, 0, &i));
    }
    r->all.v[i].pool = mt_sim_pool_index(r->sim, g->pool);
    r->all.v[i].known = true;
    return MT_OK;
}

/* A range that is mapped at the end. */
static void name_mapping(struct regions *r, const struct mt_segment *g)
{
    for (size_t k = 0; k < r->mappings.n; k++) {
        struct region *x = &r->all.v[r->mappings.v[k]];
        if (g->addr < x->high && x->low < mt_add_sat(g->addr, g->total_size)) {
            x->pool = mt_sim_pool_index(r->sim, g->pool);
            x->known = true;
        }
    }
}

static int by_from(const void *x, const void *y)
{
    const struct region *l = x, *r = y;
    return l->from != r->from ? (l->from > r->from) - (l->from < r->from)
                              : (l->low > r->low) - (l->low < r->low);
}

enum mt_status mt_regions_find(struct regions *r)
{
    const struct mt_sim *sim = r->sim;
    MT_TRY(mapped_before(r));
    for (size_t i = 0; i < sim->n; i++) {
        MT_TRY(on_event(r, i));
    }
    struct mt_device_segments walk = mt_device_segments(sim->snapshot, sim->device);
    for (const struct mt_segment *g; (g = mt_device_segments_next(&walk)) != NULL;) {
        if (g->expandable) {
            name_mapping(r, g);
        } else {
            MT_TRY(name_segment(r, g));
        }
    }
    if (r->all.n) {
        qsort(r->all.v, r->all.n, sizeof *r->all.v, by_from);
    }
    return MT_OK;
}

/* ---- looking an address up, event after event ---- */

/* The first region of the moment that ends above addr. */
static size_t place_of(const struct regions *r, uint64_t addr)
{
    size_t low = 0, high = r->here.n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (r->all.v[r->here.v[mid]].high <= addr) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

/* The next region takes the place of those that lay there. */
static enum mt_status enter(struct regions *r)
{
    uint32_t i = (uint32_t)r->next++;
    const struct region *g = &r->all.v[i];
    size_t at = place_of(r, g->low), n = 0;
    while (at + n < r->here.n && r->all.v[r->here.v[at + n]].low < g->high) {
        n++;
    }
    if (!mt_vec_reserve(&r->here, r->here.n + 1)) {
        return mt_fail_nomem(r->err);
    }
    size_t rest = r->here.n - at - n;
    memmove(r->here.v + at + 1, r->here.v + at + n, rest * sizeof *r->here.v);
    r->here.v[at] = i;
    r->here.n = at + 1 + rest;
    return MT_OK;
}

enum mt_status mt_regions_at(struct regions *r, size_t event, uint64_t addr, uint32_t *index)
{
    while (r->next < r->all.n && r->all.v[r->next].from <= event) {
        MT_TRY(enter(r));
    }
    size_t at = place_of(r, addr);
    bool inside = at < r->here.n && r->all.v[r->here.v[at]].low <= addr;
    *index = inside ? r->here.v[at] : NEVER;
    return MT_OK;
}

void mt_regions_release(struct regions *r)
{
    mt_vec_release(&r->all);
    mt_idmap_release(&r->segments);
    mt_vec_release(&r->mappings);
    mt_vec_release(&r->here);
}

/* ---- the program's pools ---- */

bool mt_sim_guesses_pools(const struct mt_sim *sim)
{
    return sim->named_pools > 1 && !sim->snapshot->columns[MT_COLUMN_POOL];
}

struct assign {
    struct mt_sim *sim;
    const uint32_t *column; /* of the device's events; NULL: they name no pool */
    struct regions *regions;
    struct mt_idmap streams; /* -> the pool that the last allocation on it went to */
    struct mt_error *err;
};

static enum mt_status pool_of_event(struct assign *a, size_t event, uint16_t *pool)
{
    if (a->column) {
        *pool = a->column[event] < a->sim->pools.n ? (uint16_t)a->column[event] : 0;
        return MT_OK;
    }
    uint32_t i;
    MT_TRY(mt_regions_at(a->regions, event, a->sim->events[event].addr, &i));
    *pool = i != NEVER ? a->regions->all.v[i].pool : 0;
    return MT_OK;
}

/* A refusal has no address: it is taken for a request like the last one on its stream. */
static enum mt_status pool_of_request(struct assign *a, const struct op *op, uint16_t *pool)
{
    uint16_t stream = a->sim->events[op->event].stream;
    if (op->kind == OP_OOM && !a->column) {
        const uint32_t *last = mt_idmap_find(&a->streams, stream);
        *pool = last ? (uint16_t)*last : 0;
        return MT_OK;
    }
    MT_TRY(pool_of_event(a, op->event, pool));
    return mt_idmap_put(&a->streams, stream, *pool) ? MT_OK : mt_fail_nomem(a->err);
}

/* Only a pool that nobody uses any more is released. Where nothing else is, its MemPool was
 * destroyed: empty_cache would release the default pool too. */
static enum mt_status note_ends(struct assign *a, size_t index)
{
    const struct op op = a->sim->ops.v[index];
    bool all = true;
    for (uint32_t i = 0; i < op.slot; i++) {
        struct pool_end end = {index, 0};
        MT_TRY(pool_of_event(a, (size_t)op.event + i, &end.pool));
        const struct pool_end *last =
            a->sim->pool_ends.n ? &a->sim->pool_ends.v[a->sim->pool_ends.n - 1] : NULL;
        bool known = last && last->op == index && last->pool == end.pool;
        all &= end.pool != 0;
        if (end.pool != 0 && !known && !mt_vec_push(&a->sim->pool_ends, end)) {
            return mt_fail_nomem(a->err);
        }
    }
    a->sim->ops.v[index].pool = all;
    return MT_OK;
}

static enum mt_status assign_all(struct assign *a)
{
    struct mt_sim *sim = a->sim;
    sim->pool_ends.n = 0;
    for (size_t i = 0; i < sim->ops.n; i++) {
        struct op *op = &sim->ops.v[i];
        if (op->kind == OP_ALLOC || op->kind == OP_OOM) {
            MT_TRY(pool_of_request(a, op, &op->pool));
        } else if (op->kind == OP_RELEASE) {
            MT_TRY(note_ends(a, i));
        }
    }
    return MT_OK;
}

enum mt_status mt_regions_assign(struct regions *r, struct mt_sim *sim, struct mt_error *err)
{
    const struct mt_snapshot *s = sim->snapshot;
    const uint32_t *column = s->columns[MT_COLUMN_POOL];
    struct assign a = {.sim = sim,
                       .column = column ? column + (sim->events - s->events) : NULL,
                       .regions = r,
                       .err = err};
    r->here.n = r->next = 0;
    enum mt_status status = assign_all(&a);
    mt_idmap_release(&a.streams);
    return status;
}

enum mt_status mt_sim_assign_pools(struct mt_sim *sim, struct mt_error *err)
{
    struct regions r = {.sim = sim, .err = err};
    if (sim->pools.n < 2) {
        return MT_OK; /* the default pool alone */
    }
    enum mt_status status = sim->snapshot->columns[MT_COLUMN_POOL] ? MT_OK : mt_regions_find(&r);
    if (status == MT_OK) {
        status = mt_regions_assign(&r, sim, err);
    }
    mt_regions_release(&r);
    return status;
}
