/* SPDX-License-Identifier: MIT */
/*
 * Boils the events of a device down to what the program did: requests, frees, and pending frees,
 * each block known by a slot number. Done once; every run then is a walk over this list without a
 * map. What is freed or alive at the end without an alloc must have been there before: ghosts.
 */
#include "snapshot/model/device_segments.h"
#include "verbs/simulate/sim.h"

struct scan {
    struct mt_sim *sim;
    struct leftovers *left;
    struct mt_idmap live;     /* block address -> slot */
    struct mt_idmap segments; /* addresses of segments that were made in the trace */
    struct mt_idmap dying;    /* slots of ghosts whose free was requested -> index of the ghost */
    MT_VEC(uint32_t) spare;   /* slots */
    struct mt_error *err;
};

static enum mt_status push(struct scan *c, size_t event, enum op_kind kind, uint32_t slot)
{
    struct op op = {(uint32_t)event, slot, 0, (uint8_t)kind};
    c->sim->n_calls += kind == OP_ALLOC;
    return mt_vec_push(&c->sim->ops, op) ? MT_OK : mt_fail_nomem(c->err);
}

static enum mt_status take_slot(struct scan *c, bool fresh, uint32_t *slot)
{
    if (!fresh && c->spare.n) {
        *slot = c->spare.v[--c->spare.n];
        return MT_OK;
    }
    *slot = c->sim->n_slots++;
    return MT_OK;
}

static enum mt_status give_slot(struct scan *c, uint32_t slot)
{
    return mt_vec_push(&c->spare, slot) ? MT_OK : mt_fail_nomem(c->err);
}

/* The block at `event`'s address must have been there before the trace. */
static enum mt_status add_ghost(struct scan *c, size_t event, bool pending, uint32_t *slot)
{
    const struct mt_event *e = &c->sim->events[event];
    MT_TRY(take_slot(c, true, slot));
    struct ghost g = {.addr = e->addr,
                      .requested = e->size,
                      .freed = (uint32_t)event,
                      .block = NEVER,
                      .slot = *slot,
                      .pending = pending,
                      .edge = UINT64_MAX};
    return mt_vec_push(&c->left->ghosts, g) ? MT_OK : mt_fail_nomem(c->err);
}

/* A ghost whose free was requested in the trace lives until it completes. */
static void outlive(struct scan *c, uint32_t slot, size_t event)
{
    uint32_t ghost;
    if (mt_idmap_remove(&c->dying, slot, &ghost)) {
        c->left->ghosts.v[ghost].freed = (uint32_t)event;
    }
}

static enum mt_status on_alloc(struct scan *c, size_t event)
{
    const struct mt_event *e = &c->sim->events[event];
    uint32_t slot;
    const uint32_t *old = mt_idmap_find(&c->live, e->addr);
    if (old) {
        /* The end of the former block was lost. */
        slot = *old;
        MT_TRY(push(c, event, OP_FREE, slot));
    } else {
        MT_TRY(take_slot(c, false, &slot));
    }
    if (!mt_idmap_put(&c->live, e->addr, slot)) {
        return mt_fail_nomem(c->err);
    }
    return push(c, event, OP_ALLOC, slot);
}

/* Both halves in one when they follow each other. Sets *used to 2 then. */
static enum mt_status on_free_requested(struct scan *c, size_t event, size_t *used)
{
    const struct mt_event *e = &c->sim->events[event];
    const uint32_t *at = mt_idmap_find(&c->live, e->addr);
    bool both =
        event + 1 < c->sim->n && e[1].action == MT_ACTION_FREE_COMPLETED && e[1].addr == e->addr;
    uint32_t slot;
    if (at) {
        slot = *at;
    } else {
        MT_TRY(add_ghost(c, event, false, &slot));
    }
    if (both) {
        *used = 2;
        mt_idmap_remove(&c->live, e->addr, NULL);
        MT_TRY(give_slot(c, slot));
        return push(c, event, OP_FREE, slot);
    }
    if (!at && (!mt_idmap_put(&c->live, e->addr, slot) ||
                !mt_idmap_put(&c->dying, slot, (uint32_t)(c->left->ghosts.n - 1)))) {
        return mt_fail_nomem(c->err);
    }
    c->sim->has_pending = true;
    return push(c, event, OP_FREE_REQUEST, slot);
}

/* free_completed by itself, or the single free of early releases. */
static enum mt_status on_free(struct scan *c, size_t event)
{
    const struct mt_event *e = &c->sim->events[event];
    bool whole = e->action == MT_ACTION_FREE;
    uint32_t slot;
    if (mt_idmap_remove(&c->live, e->addr, &slot)) {
        outlive(c, slot, event);
    } else {
        MT_TRY(add_ghost(c, event, !whole, &slot));
    }
    MT_TRY(give_slot(c, slot));
    c->sim->has_pending |= !whole;
    return push(c, event, whole ? OP_FREE : OP_FREE_COMPLETE, slot);
}

static enum mt_status on_segment(struct scan *c, size_t event)
{
    const struct mt_event *e = &c->sim->events[event];
    if (e->action == MT_ACTION_SEGMENT_ALLOC) {
        return mt_idmap_put(&c->segments, e->addr, 1) ? MT_OK : mt_fail_nomem(c->err);
    }
    if (e->action == MT_ACTION_SEGMENT_FREE && !mt_idmap_remove(&c->segments, e->addr, NULL)) {
        struct old_segment old = {e->addr, e->size, NEVER, (uint32_t)event};
        if (!mt_vec_push(&c->left->segments, old)) {
            return mt_fail_nomem(c->err);
        }
    }
    if (!is_release(e)) {
        return MT_OK;
    }
    if (c->sim->ops.n) {
        struct op *last = &c->sim->ops.v[c->sim->ops.n - 1];
        if (last->kind == OP_RELEASE && last->event + last->slot == event) {
            last->slot++;
            return MT_OK;
        }
    }
    return push(c, event, OP_RELEASE, 1);
}

static enum mt_status on_event(struct scan *c, size_t event, size_t *used)
{
    const struct mt_event *e = &c->sim->events[event];
    switch (e->action) {
    case MT_ACTION_ALLOC: return on_alloc(c, event);
    case MT_ACTION_FREE_REQUESTED: return on_free_requested(c, event, used);
    case MT_ACTION_FREE_COMPLETED:
    case MT_ACTION_FREE: return on_free(c, event);
    case MT_ACTION_OOM: return push(c, event, OP_OOM, NEVER);
    default: return is_segment_event(e) ? on_segment(c, event) : push(c, event, OP_COPY, NEVER);
    }
}

/* ---- what the final state adds ---- */

static enum mt_status final_block(struct scan *c, uint32_t index)
{
    const struct mt_block *b = &c->sim->snapshot->blocks[index];
    if (b->state == MT_BLOCK_INACTIVE || mt_idmap_find(&c->live, b->addr)) {
        return MT_OK;
    }
    struct ghost g = {.addr = b->addr,
                      .requested = b->requested,
                      .freed = NEVER,
                      .block = index,
                      .stack = b->stack,
                      .pending = b->state == MT_BLOCK_PENDING,
                      .edge = UINT64_MAX};
    c->sim->has_pending |= g.pending;
    MT_TRY(take_slot(c, true, &g.slot));
    return mt_vec_push(&c->left->ghosts, g) ? MT_OK : mt_fail_nomem(c->err);
}

static enum mt_status final_state(struct scan *c)
{
    const struct mt_snapshot *s = c->sim->snapshot;
    struct mt_device_segments walk = mt_device_segments(s, c->sim->device);
    for (const struct mt_segment *g; (g = mt_device_segments_next(&walk)) != NULL;) {
        if (!g->expandable && !mt_idmap_find(&c->segments, g->addr)) {
            struct old_segment old = {g->addr, g->total_size, (uint32_t)(g - s->segments), NEVER};
            if (!mt_vec_push(&c->left->segments, old)) {
                return mt_fail_nomem(c->err);
            }
        }
        for (uint32_t k = 0; k < g->n_blocks; k++) {
            MT_TRY(final_block(c, g->first_block + k));
        }
    }
    return MT_OK;
}

/* Mapped ranges that no event of the trace mapped: counted in bytes, which is all that is asked. */
static bool maps_add_up(const struct mt_sim *sim)
{
    uint64_t made = 0, left = 0;
    for (size_t i = 0; i < sim->n; i++) {
        const struct mt_event *e = &sim->events[i];
        made += e->action == MT_ACTION_SEGMENT_MAP ? e->size : 0;
        made -= e->action == MT_ACTION_SEGMENT_UNMAP ? e->size : 0;
    }
    struct mt_device_segments walk = mt_device_segments(sim->snapshot, sim->device);
    for (const struct mt_segment *g; (g = mt_device_segments_next(&walk)) != NULL;) {
        left += g->expandable ? g->total_size : 0;
    }
    return made == left;
}

static void scan_release(struct scan *c)
{
    mt_idmap_release(&c->live);
    mt_idmap_release(&c->segments);
    mt_idmap_release(&c->dying);
    mt_vec_release(&c->spare);
}

static enum mt_status scan_events(struct scan *c)
{
    struct mt_sim *sim = c->sim;
    for (size_t i = 0, used; i < sim->n; i += used) {
        used = 1;
        MT_TRY(on_event(c, i, &used));
    }
    MT_TRY(final_state(c));
    sim->complete = c->left->ghosts.n == 0 && c->left->segments.n == 0 && maps_add_up(sim);
    return MT_OK;
}

static enum mt_status list_releases(struct mt_sim *sim, struct mt_error *err)
{
    for (size_t i = 0; i < sim->ops.n; i++) {
        struct undecided u = {i, sim->ops.v[i].slot};
        if (sim->ops.v[i].kind == OP_RELEASE && !mt_vec_push(&sim->releases, u)) {
            return mt_fail_nomem(err);
        }
    }
    return MT_OK;
}

enum mt_status mt_sim_make_program(struct mt_sim *sim, struct leftovers *left, struct mt_error *err)
{
    struct scan c = {.sim = sim, .left = left, .err = err};
    enum mt_status status = mt_vec_reserve(&sim->ops, sim->n / 2) ? MT_OK : mt_fail_nomem(err);
    if (status == MT_OK) {
        status = scan_events(&c);
    }
    scan_release(&c);
    return status == MT_OK ? list_releases(sim, err) : status;
}
