/* SPDX-License-Identifier: MIT */
/*
 * Which settings are worth a replay for this recording: expandable segments and the usual bounds on
 * splitting always; rounding where large requests come in many sizes; garbage collection where a
 * limit is known (without one it does nothing).
 */
#include <stdio.h>
#include <string.h>

#include "verbs/simulate/sim.h"

#define LARGE_REQUEST (2 * MT_MIB)
#define MANY_SIZES 64 /* distinct large requests from which rounding is tried */

struct list {
    const struct mt_sim *sim;
    struct mt_sim_candidate *v;
    size_t n, max;
};

static void add(struct list *l, const char *conf)
{
    if (l->n < l->max && !mt_str_equal(l->sim->conf, mt_str_from(conf))) {
        snprintf(l->v[l->n++].conf, sizeof l->v->conf, "%s", conf);
    }
}

/* Distinct sizes of large requests, counted up to what matters; a table that overflows says many.
 */
static bool has_many_sizes(const struct mt_sim *sim)
{
    uint64_t seen[4 * MANY_SIZES] = {0};
    size_t n = 0;
    for (size_t i = 0; i < sim->n && n < MANY_SIZES; i++) {
        const struct mt_event *e = &sim->events[i];
        if (e->action != MT_ACTION_ALLOC || e->size < LARGE_REQUEST) {
            continue;
        }
        size_t at = (size_t)mt_hash_mix(e->size, 0) % MT_COUNT(seen);
        while (seen[at] != 0 && seen[at] != e->size) {
            at = (at + 1) % MT_COUNT(seen);
        }
        n += seen[at] == 0;
        seen[at] = e->size;
    }
    return n >= MANY_SIZES;
}

size_t mt_sim_candidates(const struct mt_sim *sim, const struct mt_sim_run *recorded,
                         struct mt_sim_candidate *out, size_t max)
{
    struct list l = {sim, out, 0, max};
    bool many = has_many_sizes(sim);
    bool other_bounds = (sim->run_limit.given && !recorded->limit.given) ||
                        (sim->run_capacity.given && !recorded->capacity.given);
    if (other_bounds && max > 0 && sim->conf.n < sizeof out->conf) {
        memcpy(out->conf, sim->conf.p, sim->conf.n); /* the same settings with that much memory */
        out->conf[sim->conf.n] = '\0';
        l.n = 1;
    }
    add(&l, "expandable_segments:True");
    add(&l, "max_split_size_mb:64");
    add(&l, "max_split_size_mb:128");
    add(&l, "max_split_size_mb:256");
    if (many) {
        add(&l, "roundup_power2_divisions:4");
        add(&l, "roundup_power2_divisions:8");
    }
    if (sim->run_limit.known) {
        add(&l, "garbage_collection_threshold:0.8");
        add(&l, "garbage_collection_threshold:0.6");
    }
    if (sim->conf.n > 0) {
        add(&l, "");
    }
    return l.n;
}
