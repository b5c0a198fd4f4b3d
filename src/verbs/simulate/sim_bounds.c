/* SPDX-License-Identifier: MIT */
/*
 * How much memory the process could have had, from what was granted and what was refused. A file
 * does not say it. Whoever got memory proves a lower bound; a refusal, and a request that had to
 * release something first, prove an upper one. Which of the two bounds a refusal speaks of,
 * PyTorch's limit or the device, tells what the device had free at that moment.
 */
#include "support/checked.h"
#include "verbs/simulate/sim.h"

struct walk {
    const struct mt_sim *sim;
    uint64_t total;      /* reserved now */
    uint64_t at_release; /* reserved before the first release of this request */
    uint64_t at_growth;  /* reserved before its first growth */
    bool released, grown;
    size_t op;                                         /* cursor into ops */
    uint64_t least;                                    /* reached */
    uint64_t limit_below, device_below, release_below; /* refused; UINT64_MAX: never */
    uint64_t device_had; /* held and free at a refusal by the device */
};

/* The releases at event i belong to a request, as far as the replay knows. */
static bool by_request(struct walk *w, size_t i)
{
    const struct mt_sim *sim = w->sim;
    while (w->op + 1 < sim->ops.n && sim->ops.v[w->op + 1].event <= i) {
        w->op++;
    }
    const struct op *op = w->op < sim->ops.n ? &sim->ops.v[w->op] : NULL;
    return op && op->kind == OP_NOTHING && op->event <= i;
}

static void on_segment(struct walk *w, size_t i)
{
    const struct mt_event *e = &w->sim->events[i];
    if (is_growth(e)) {
        w->at_growth = w->grown ? w->at_growth : w->total;
        w->grown = true;
        w->total += e->size;
        return;
    }
    if (!w->released && by_request(w, i)) {
        w->at_release = w->total;
        w->released = true;
    }
    w->total -= e->size < w->total ? e->size : w->total;
}

static uint64_t need_of(const struct walk *w, const struct mt_event *e)
{
    const struct mt_sim *sim = w->sim;
    return mt_torch_segment_for(&sim->rules, e->size);
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void on_request(struct walk *w, const struct mt_event *e)
{
    uint64_t need = need_of(w, e);
    if (e->action == MT_ACTION_OOM) {
        uint64_t refused = mt_add_sat(w->total, need);
        if (e->addr >= need) {
            w->limit_below = smaller(w->limit_below, refused);
        } else if (refused < w->device_below) {
            w->device_below = refused;
            w->device_had = w->total + e->addr;
        }
    } else if (w->grown) {
        uint64_t reached = mt_add_sat(w->at_growth, need);
        w->least = reached > w->least ? reached : w->least;
        bool gc = w->sim->rules.settings.garbage_collection_threshold > 0.0;
        if (w->released && !gc) {
            w->release_below = smaller(w->release_below, mt_add_sat(w->at_release, need));
        }
    }
    w->released = w->grown = false;
}

static void walk_events(struct walk *w)
{
    const struct mt_sim *sim = w->sim;
    w->total = w->least = sim->start.reserved;
    for (size_t i = 0; i < sim->n; i++) {
        const struct mt_event *e = &sim->events[i];
        if (is_segment_event(e)) {
            on_segment(w, i);
        } else if (e->action == MT_ACTION_ALLOC || e->action == MT_ACTION_OOM) {
            on_request(w, e);
        }
    }
}

struct given {
    bool is;
    uint64_t bytes;
};

/* What the user says holds for the recording too, unless the recording disproves it. */
static struct mt_sim_bound bound_of_recording(struct given given, uint64_t least, uint64_t below,
                                              uint64_t guess)
{
    bool holds = given.is && given.bytes >= least && given.bytes < below;
    return (struct mt_sim_bound){.known = holds || below != UINT64_MAX,
                                 .given = holds,
                                 .bytes = holds ? given.bytes : guess,
                                 .has_least = true,
                                 .least = least,
                                 .has_below = below != UINT64_MAX,
                                 .below = below};
}

static struct mt_sim_bound bound_of_runs(struct given given, const struct mt_sim_bound *recorded)
{
    struct mt_sim_bound b = *recorded;
    if (given.is) {
        b.known = b.given = true;
        b.bytes = given.bytes;
    }
    return b;
}

void mt_sim_infer_bounds(struct mt_sim *sim)
{
    struct walk w = {.sim = sim,
                     .limit_below = UINT64_MAX,
                     .device_below = UINT64_MAX,
                     .release_below = UINT64_MAX};
    walk_events(&w);
    /* Garbage collection knows only of the limit. */
    uint64_t learnt = sim->learnt.least;
    if (learnt && sim->learnt.below != UINT64_MAX) {
        w.limit_below = smaller(w.limit_below, sim->learnt.below);
    }
    /* Releases without a refusal to explain them: a limit was met, or the device was full. */
    bool device_refused = w.device_below != UINT64_MAX;
    bool by_limit = w.limit_below != UINT64_MAX || (!device_refused && !sim->released_by_device);
    uint64_t *below = by_limit ? &w.limit_below : &w.device_below;
    *below = smaller(*below, w.release_below);
    uint64_t device =
        w.device_had > w.least && w.device_had < w.device_below ? w.device_had : w.least;
    uint64_t least = learnt > w.least ? learnt : w.least;
    struct given limit = {sim->options.has_limit, sim->options.limit};
    struct given capacity = {sim->options.has_capacity, sim->options.capacity};
    sim->limit = bound_of_recording(limit, least, w.limit_below, least);
    sim->capacity = bound_of_recording(capacity, w.least, w.device_below, device);
    sim->run_limit = bound_of_runs(limit, &sim->limit);
    sim->run_capacity = bound_of_runs(capacity, &sim->capacity);
}
