/* SPDX-License-Identifier: MIT */
/* Whether a replay ended with exactly the segments and blocks of the snapshot. */
#include <stdlib.h>

#include "snapshot/model/device_segments.h"
#include "verbs/simulate/sim.h"

struct compare {
    const struct mt_snapshot *snapshot;
    MT_VEC(const struct mt_segment *) order; /* of the device, by address */
    size_t next;
    uint32_t block; /* of the segment before `next` */
    bool match;
};

static int by_addr(const void *x, const void *y)
{
    const struct mt_segment *const *l = x, *const *r = y;
    return ((*l)->addr > (*r)->addr) - ((*l)->addr < (*r)->addr);
}

static bool same_segment(void *ctx, const struct mt_alloc_segment_view *v)
{
    struct compare *c = ctx;
    if (c->next >= c->order.n) {
        return c->match = false;
    }
    const struct mt_segment *s = c->order.v[c->next++];
    c->block = 0;
    c->match = s->addr == v->addr && s->total_size == v->size && s->n_blocks == v->n_blocks &&
               c->snapshot->streams[s->stream].handle == v->stream &&
               (s->kind == MT_POOL_SMALL) == v->small && s->expandable == v->expandable;
    return c->match;
}

static enum mt_alloc_block_state state_of(const struct mt_block *b)
{
    return b->state == MT_BLOCK_INACTIVE    ? MT_ALLOC_FREE
           : b->state == MT_BLOCK_ALLOCATED ? MT_ALLOC_IN_USE
                                            : MT_ALLOC_PENDING;
}

static bool same_block(void *ctx, const struct mt_alloc_block_view *v)
{
    struct compare *c = ctx;
    const struct mt_segment *s = c->order.v[c->next - 1];
    const struct mt_block *b = &c->snapshot->blocks[s->first_block + c->block++];
    c->match = b->addr == v->addr && b->size == v->size && state_of(b) == v->state &&
               (v->state == MT_ALLOC_FREE || b->requested == v->requested);
    return c->match;
}

enum mt_status mt_sim_compare_layout(const struct mt_sim *sim, const struct mt_alloc *a,
                                     bool *match, struct mt_error *err)
{
    const struct mt_snapshot *s = sim->snapshot;
    struct compare c = {.snapshot = s, .match = true};
    enum mt_status status = MT_OK;
    struct mt_device_segments walk = mt_device_segments(s, sim->device);
    for (const struct mt_segment *g;
         status == MT_OK && (g = mt_device_segments_next(&walk)) != NULL;) {
        if (!mt_vec_push(&c.order, g)) {
            status = mt_fail_nomem(err);
        }
    }
    if (status == MT_OK && c.order.n) {
        qsort(c.order.v, c.order.n, sizeof *c.order.v, by_addr);
    }
    struct mt_alloc_visitor visitor = {same_segment, same_block, &c};
    if (status == MT_OK) {
        status = mt_alloc_walk(a, &visitor, err);
    }
    *match = c.match && c.next == c.order.n;
    mt_vec_release(&c.order);
    return status;
}
