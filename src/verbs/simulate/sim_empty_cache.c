/* SPDX-License-Identifier: MIT */
/*
 * Whether releases in a recording were the program's own empty_cache() or the work of a request.
 * Call stacks tell, where they were recorded for all events. Otherwise the request that follows
 * does: one that is served from the cache, or that had no reason to release anything, did not
 * release. Undecided by nature is an empty_cache directly before a request that would itself have
 * released the same.
 */
#include "heap/stacks/frames.h"
#include "support/checked.h"
#include "verbs/simulate/sim.h"

static bool has_frames(const struct mt_sim *sim, const struct mt_event *e)
{
    return e->stack != 0 && sim->snapshot->stacks[e->stack].n > 0;
}

/* The request that the releases would belong to, NULL when there is none. */
static const struct op *next_request(const struct mt_sim *sim, size_t index)
{
    while (++index < sim->ops.n && sim->ops.v[index].kind == OP_RELEASE) {
    }
    const struct op *op = index < sim->ops.n ? &sim->ops.v[index] : NULL;
    return op && (op->kind == OP_ALLOC || op->kind == OP_OOM) ? op : NULL;
}

static bool exceeds(const struct mt_sim_bound *b, uint64_t bytes)
{
    return b->known && bytes > b->bytes;
}

/* Whether a request that misses now would have released something first. Where no bound is known,
 * what was reached cannot have been too much. */
static bool had_reason(const struct machine *m, const struct mt_alloc_request *r)
{
    const struct mt_sim *sim = m->sim;
    uint64_t total = mt_alloc_total_allocated(m->alloc);
    uint64_t need = mt_torch_segment_for(&sim->rules, r->size);
    double t = sim->rules.settings.garbage_collection_threshold;
    bool bounded = sim->limit.known || sim->capacity.known;
    bool collects = t > 0.0 && (m->learner || sim->limit.known) &&
                    total > (uint64_t)(t * (double)sim->limit.bytes);
    return collects || exceeds(&sim->limit, mt_add_sat(total, need)) ||
           exceeds(&sim->capacity, mt_add_sat(total, need)) ||
           (!bounded && mt_add_sat(total, need) > sim->limit.least);
}

uint32_t mt_sim_is_empty_cache(const struct machine *m, size_t index)
{
    const struct mt_sim *sim = m->sim;
    const struct op *op = &sim->ops.v[index];
    uint32_t last = 0;
    bool frames = false;
    if (op->pool != 0) {
        return op->slot;
    }
    for (uint32_t i = 0; i < op->slot; i++) {
        const struct mt_event *e = &sim->events[op->event + i];
        frames |= has_frames(sim, e);
        if (has_frames(sim, e) && mt_stack_empties_cache(sim->snapshot, e->stack)) {
            last = i + 1;
        }
    }
    if (frames) {
        return last;
    }
    const struct op *request = next_request(sim, index);
    if (!request) {
        return op->slot;
    }
    if (request->kind == OP_OOM) {
        return 0;
    }
    const struct mt_event *e = &sim->events[request->event];
    struct mt_alloc_request r = {.size = e->size, .stream = stream_handle(sim, e)};
    if (request->pool != 0) {
        r.has_pool = true;
        r.pool = pool_id(sim, request->pool);
    }
    bool own = e->size > 0 && (mt_alloc_would_hit(m->alloc, &r) || !had_reason(m, &r));
    return own ? op->slot : 0;
}
