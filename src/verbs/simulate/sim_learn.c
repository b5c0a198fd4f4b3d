/* SPDX-License-Identifier: MIT */
/*
 * Finding the limit of a process whose recording has garbage collection but no refusal. A request
 * that missed with R bytes reserved and whole segments idle collected nothing: the limit is at
 * least R / t. One that did collect: the limit is below R / t. A first replay collects this
 * evidence; in it the allocator is told before each request whether the recording shows a release
 * next, so that it stays on the recorded path whatever the limit.
 */
#include "verbs/simulate/sim.h"

#define NO_LIMIT ((uint64_t)1 << 60)

/* The next recorded call of this request releases something. */
static bool releases_next(const struct machine *m, const struct op *op)
{
    const struct mt_sim *sim = m->sim;
    size_t i = m->recorded->next;
    while (i < op->event && !is_segment_event(&sim->events[i])) {
        i++;
    }
    return i < op->event && is_release(&sim->events[i]);
}

void mt_sim_learn(struct machine *m, const struct op *op, const struct mt_alloc_request *r)
{
    struct learner *l = m->learner;
    double t = m->sim->rules.settings.garbage_collection_threshold;
    uint64_t at = (uint64_t)((double)mt_alloc_total_allocated(m->alloc) / t) + 1;
    bool collects = releases_next(m, op);
    mt_alloc_set_allowed(m->alloc, true, NO_LIMIT);
    if (r->size == 0 || mt_alloc_would_hit(m->alloc, r)) {
        return;
    }
    if (collects && at > l->least) {
        l->below = at < l->below ? at : l->below;
        mt_alloc_set_allowed(m->alloc, true, l->least);
    } else if (at > l->least && mt_alloc_has_idle_segment(m->alloc)) {
        l->least = at;
    }
}
