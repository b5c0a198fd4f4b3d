/* SPDX-License-Identifier: MIT */
/*
 * Which private pool an allocation went to. From 2.12 on each event says it; before, only the
 * segments that are alive at the end do, which is enough for graph captures and MemPools: their
 * segments stay.
 */
#include <stdlib.h>

#include "snapshot/model/device_segments.h"
#include "support/checked.h"
#include "verbs/simulate/sim.h"

struct pool_range {
    uint64_t low, high;
    size_t from; /* event since which the range belongs to the pool */
    uint16_t pool;
};

/* More private pools than this are no real recording; the rest counts as the default pool. */
#define MOST_POOLS 4096

/* The index of an id, 0 when it is not listed. */
static uint16_t pool_index(const struct mt_sim *sim, struct mt_pool_id id)
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
        bool listed = !is_private(g) || pool_index(sim, g->pool) != 0;
        if (!listed && !mt_vec_push(&sim->pools, g->pool)) {
            return mt_fail_nomem(err);
        }
    }
    return MT_OK;
}

static int by_low(const void *x, const void *y)
{
    const struct pool_range *l = x, *r = y;
    return (l->low > r->low) - (l->low < r->low);
}

static struct pool_range *range_of(const struct pool_ranges *p, uint64_t addr)
{
    size_t low = 0, high = p->n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (p->v[mid].low <= addr) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low > 0 && addr < p->v[low - 1].high ? &p->v[low - 1] : NULL;
}

enum mt_status mt_pool_ranges_init(struct pool_ranges *p, const struct mt_sim *sim,
                                   struct mt_error *err)
{
    const struct mt_snapshot *s = sim->snapshot;
    size_t n = 0;
    *p = (struct pool_ranges){NULL, 0};
    struct mt_device_segments walk = mt_device_segments(s, sim->device);
    for (const struct mt_segment *g; (g = mt_device_segments_next(&walk)) != NULL;) {
        n += is_private(g);
    }
    if (n == 0 || s->columns[MT_COLUMN_POOL]) {
        return MT_OK;
    }
    p->v = mt_mem_alloc(n, sizeof *p->v);
    if (!p->v) {
        return mt_fail_nomem(err);
    }
    walk = mt_device_segments(s, sim->device);
    for (const struct mt_segment *g; (g = mt_device_segments_next(&walk)) != NULL;) {
        if (is_private(g)) {
            p->v[p->n++] = (struct pool_range){g->addr, mt_add_sat(g->addr, g->total_size), 0,
                                               pool_index(sim, g->pool)};
        }
    }
    qsort(p->v, p->n, sizeof *p->v, by_low);
    for (size_t e = 0; e < sim->n; e++) {
        if (sim->events[e].action == MT_ACTION_SEGMENT_ALLOC) {
            struct pool_range *r = range_of(p, sim->events[e].addr);
            if (r) {
                r->from = e;
            }
        }
    }
    return MT_OK;
}

void mt_pool_ranges_release(struct pool_ranges *p)
{
    mt_mem_free(p->v);
}

uint16_t mt_pool_ranges_find(const struct pool_ranges *p, const struct mt_sim *sim, size_t event)
{
    const uint32_t *column = sim->snapshot->columns[MT_COLUMN_POOL];
    if (column) {
        uint32_t pool = column[(size_t)(sim->events - sim->snapshot->events) + event];
        return pool < sim->pools.n ? (uint16_t)pool : 0;
    }
    const struct pool_range *r = p->n ? range_of(p, sim->events[event].addr) : NULL;
    return r && event >= r->from ? r->pool : 0;
}
