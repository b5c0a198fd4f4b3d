/* SPDX-License-Identifier: MIT */
#include "verbs/frag/frag_cures.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/mem.h"
#include "torch/alloc_conf.h"
#include "torch/torch_rules.h"
#include "verbs/simulate/simulate.h"

enum { MOST_EVENTS = 500000 };

static enum mt_status add(struct mt_cures *out, struct mt_sim *sim,
                          const struct mt_alloc_settings *settings, struct mt_cure cure,
                          struct mt_error *err)
{
    struct mt_sim_run run = {0};
    enum mt_status status = mt_sim_what_if(sim, settings, mt_str_from(cure.conf), &run, NULL, err);
    cure.reserved = run.peak.reserved;
    cure.fits = run.verdict == MT_SIM_FITS;
    if (status == MT_OK && out->n < MT_CURES) {
        out->v[out->n++] = cure;
    }
    mt_sim_run_release(&run);
    return status;
}

static enum mt_status try_settings(struct mt_cures *out, struct mt_sim *sim,
                                   const struct mt_sim_run *recorded, struct mt_error *err)
{
    struct mt_sim_candidate candidates[MT_CURES - 1];
    size_t n = mt_sim_candidates(sim, recorded, candidates, MT_COUNT(candidates));
    for (size_t i = 0; i < n; i++) {
        struct mt_conf parsed;
        struct mt_cure cure = {.reserved = 0};
        mt_conf_parse(mt_str_from(candidates[i].conf), mt_sim_release(sim), &parsed);
        if (parsed.valid && candidates[i].conf[0]) {
            (void)snprintf(cure.conf, sizeof cure.conf, "%s", candidates[i].conf);
            MT_TRY(add(out, sim, &parsed.settings, cure, err));
        }
    }
    return MT_OK;
}

static uint64_t largest_of(const struct mt_pattern *pattern, const struct mt_event *e)
{
    for (size_t i = 0; i < pattern->n_lines; i++) {
        bool of_it = pattern->lines[i].stack == e->stack && !mt_torch_is_small(e->size);
        if (of_it) {
            return pattern->lines[i].most;
        }
    }
    return e->size;
}

/* A buffer of the largest size, or inputs padded to it. */
static enum mt_status try_one_size(struct mt_cures *out, struct mt_sim *sim,
                                   const struct mt_replay *r, const struct mt_pattern *pattern,
                                   struct mt_error *err)
{
    size_t n = mt_sim_calls(sim), k = 0;
    uint64_t *sizes = mt_mem_alloc(n ? n : 1, sizeof *sizes);
    if (!sizes) {
        return mt_fail_nomem(err);
    }
    for (size_t i = 0; i < r->n; i++) {
        if (mt_event_allocates(&r->events[i]) && k < n) {
            sizes[k++] = largest_of(pattern, &r->events[i]);
        }
    }
    struct mt_cure cure = {.one_size = true};
    enum mt_status status = MT_OK;
    if (k == n) {
        mt_sim_set_sizes(sim, sizes);
        status = add(out, sim, mt_sim_settings(sim), cure, err);
        mt_sim_set_sizes(sim, NULL);
    }
    mt_mem_free(sizes);
    return status;
}

static int compare_cures(const void *a, const void *b)
{
    const struct mt_cure *x = a, *y = b;
    if (x->fits != y->fits) {
        return x->fits ? -1 : 1;
    }
    return (x->reserved > y->reserved) - (x->reserved < y->reserved);
}

static enum mt_status try_all(struct mt_cures *out, struct mt_sim *sim, const struct mt_replay *r,
                              const struct mt_pattern *pattern, struct mt_error *err)
{
    struct mt_sim_run recorded = {0};
    enum mt_status status = mt_sim_replay(sim, &recorded, NULL, err);
    out->tried = status == MT_OK && recorded.exact;
    out->reserved = recorded.peak.reserved;
    if (out->tried) {
        status = try_settings(out, sim, &recorded, err);
    }
    if (out->tried && status == MT_OK && pattern->kind != MT_PATTERN_NONE) {
        status = try_one_size(out, sim, r, pattern, err);
    }
    mt_sim_run_release(&recorded);
    return status;
}

enum mt_status mt_cures_find(struct mt_cures *out, const struct mt_replay *r,
                             const struct mt_pattern *pattern, struct mt_error *err)
{
    struct mt_sim_options options = {0};
    struct mt_sim *sim = NULL;
    *out = (struct mt_cures){.tried = false};
    if (r->n == 0 || r->n > MOST_EVENTS) {
        return MT_OK;
    }
    enum mt_status status = mt_sim_load(r->snapshot, r->device, &options, &sim, err);
    if (status == MT_OK && mt_sim_events(sim) > 0) {
        status = try_all(out, sim, r, pattern, err);
    }
    mt_sim_free(sim);
    if (out->n) {
        qsort(out->v, out->n, sizeof *out->v, compare_cures);
    }
    return status == MT_NOMEM ? status : MT_OK; /* one that cannot be made says nothing */
}
