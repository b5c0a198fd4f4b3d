/* SPDX-License-Identifier: MIT */
#include "heap/stacks/held.h"

#include "support/hash.h"
#include "heap/stacks/stack_roles.h"
#include "heap/stacks/workspaces.h"
#include "heap/walk/query.h"

static bool is_private(struct mt_pool_id id)
{
    return id.a != 0 || id.b != 0;
}

/* From 2.12 on the events say it. */
static void by_events(bool *held, const struct mt_replay *r, const uint32_t *pools)
{
    size_t base = (size_t)(r->events - r->snapshot->events);
    for (size_t i = 0; i < r->n; i++) {
        held[i] =
            mt_event_allocates(&r->events[i]) && is_private(r->snapshot->pools[pools[base + i]]);
    }
}

/* When the final segments were taken: begin of a segment to its last event. */
static bool note_segments(struct mt_idmap *taken, const struct mt_replay *r)
{
    bool ok = true;
    for (size_t i = 0; ok && i < r->n; i++) {
        const struct mt_event *e = &r->events[i];
        uint32_t *last =
            e->action == MT_ACTION_SEGMENT_ALLOC ? mt_idmap_find(taken, e->addr) : NULL;
        if (last) {
            *last = (uint32_t)i;
        } else if (e->action == MT_ACTION_SEGMENT_ALLOC) {
            ok = mt_idmap_put(taken, e->addr, (uint32_t)i);
        }
    }
    return ok;
}

/* Before, the segment that the address lies in at the end tells, from when it was taken. */
static bool by_segments(bool *held, const struct mt_replay *r, const struct mt_segment_index *x)
{
    struct mt_idmap taken = {0};
    bool ok = note_segments(&taken, r);
    for (size_t i = 0; ok && i < r->n; i++) {
        const struct mt_segment *g =
            mt_event_allocates(&r->events[i]) ? mt_segment_index_find(x, r->events[i].addr) : NULL;
        if (g && is_private(g->pool)) {
            const uint32_t *since = mt_idmap_find(&taken, g->addr);
            held[i] = !since || *since < i;
        }
    }
    mt_idmap_release(&taken);
    return ok;
}

static enum mt_status in_private_pools(bool *held, const struct mt_replay *r, struct mt_error *err)
{
    const uint32_t *pools = r->snapshot->columns[MT_COLUMN_POOL];
    size_t n = 0;
    for (size_t i = 0; i < r->snapshot->n_segments; i++) {
        n += is_private(r->snapshot->segments[i].pool);
    }
    if (pools || !n) {
        if (pools) {
            by_events(held, r, pools);
        }
        return MT_OK;
    }
    struct mt_segment_index x;
    MT_TRY(mt_segment_index_init(&x, r->snapshot, r->device, err));
    bool ok = by_segments(held, r, &x);
    mt_segment_index_release(&x);
    return ok ? MT_OK : mt_fail_nomem(err);
}

static enum mt_status workspaces(bool *held, const struct mt_replay *r,
                                 const struct mt_periods *periods, struct mt_error *err)
{
    struct mt_stack_roles roles;
    struct mt_events_list found = {0};
    enum mt_status status = mt_stack_roles_init(&roles, r, err);
    if (status == MT_OK) {
        status = mt_workspaces_find(&found, &roles, &periods->passes, NULL, err);
    }
    for (size_t i = 0; status == MT_OK && i < found.n; i++) {
        held[found.v[i]] = true;
    }
    mt_vec_release(&found);
    mt_stack_roles_release(&roles);
    return status;
}

enum mt_status mt_held_find(bool *held, const struct mt_replay *r, const struct mt_periods *periods,
                            struct mt_error *err)
{
    MT_TRY(in_private_pools(held, r, err));
    return workspaces(held, r, periods, err);
}
