/* SPDX-License-Identifier: MIT */
/* From recordings to calls with laws: which recordings took the same path, and which one's calls
 * are replayed. */
#include <string.h>

#include "verbs/fit/fit_core.h"

/* ---- loading ---- */

static int32_t busiest_device(const struct mt_snapshot *s)
{
    size_t best = 0;
    for (size_t i = 1; i < s->n_traces && i <= INT32_MAX; i++) {
        best = s->traces[i].n > s->traces[best].n ? i : best;
    }
    return (int32_t)best;
}

static enum mt_status check_inputs(const struct mt_fit_input *inputs, size_t n,
                                   struct mt_error *err)
{
    if (n < 2 || n > MT_FIT_RECORDINGS) {
        return mt_fail(err, MT_USAGE, MT_NO_OFFSET, "%zu recordings: from 2 to %d can be aligned",
                       n, MT_FIT_RECORDINGS);
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++) {
            if (inputs[i].size == inputs[k].size) {
                return mt_fail(err, MT_USAGE, MT_NO_OFFSET, "two recordings of size %llu",
                               (unsigned long long)inputs[i].size);
            }
        }
    }
    return MT_OK;
}

static void sort_recordings(struct mt_fit *f)
{
    for (size_t i = 0; i < f->n; i++) {
        size_t k = i;
        for (; k > 0 && f->recordings[f->order[k - 1]].size > f->recordings[i].size; k--) {
            f->order[k] = f->order[k - 1];
        }
        f->order[k] = i;
    }
}

/* The replay of recording i: its peaks. The sim of the base is kept. */
static enum mt_status replay(struct mt_fit *f, size_t i, int32_t device, mt_torch_release release,
                             struct mt_error *err)
{
    struct mt_sim_options o = {.release = release};
    struct mt_fit_recording *r = &f->recordings[i];
    struct mt_sim_run run = {0};
    struct mt_sim *sim;
    MT_TRY(mt_sim_load(f->snapshots[i], device, &o, &sim, err));
    enum mt_status status = mt_sim_replay(sim, &run, NULL, err);
    r->reserved = run.peak.reserved;
    r->requested = (uint64_t)run.stats.stat[MT_STAT_REQUESTED_BYTES][MT_SLOT_ALL].peak;
    r->exact = run.exact;
    r->complete = mt_sim_is_complete(sim);
    r->ooms = run.n_ooms;
    mt_sim_run_release(&run);
    if (i == f->base && status == MT_OK) {
        f->sim = sim;
        f->peak_stack = run.of_trace ? 0 : mt_sim_stack_of(sim, run.allocated_peak_event);
    } else {
        mt_sim_free(sim);
    }
    return status;
}

static enum mt_status load(struct mt_fit *f, const struct mt_fit_input *inputs, int32_t device,
                           int32_t *devices, struct mt_error *err)
{
    for (size_t i = 0; i < f->n; i++) {
        const struct mt_snapshot *s = inputs[i].snapshot;
        f->snapshots[i] = s;
        f->recordings[i].size = f->calls[i].at = inputs[i].size;
        devices[i] = f->recordings[i].device = device >= 0 ? device : busiest_device(s);
        if ((size_t)devices[i] < s->n_traces) {
            MT_TRY(mt_fit_list_calls(s, devices[i], &f->calls[i], err));
        }
        f->recordings[i].calls = f->calls[i].list.n;
        if (f->calls[i].list.n == 0) {
            return mt_fail(err, MT_NOT_FOUND, MT_NO_OFFSET,
                           "the recording of size %llu has no allocations on device %d%s",
                           (unsigned long long)inputs[i].size, (int)devices[i],
                           s->n_events == 0 ? ": the history was not recorded" : "");
        }
    }
    sort_recordings(f);
    return MT_OK;
}

/* ---- which paths ---- */

static bool same_path(const struct mt_fit *f, size_t i, size_t k)
{
    return f->calls[i].path == f->calls[k].path && f->calls[i].list.n == f->calls[k].list.n;
}

/* The recording of the largest size that shares its path with another; else the largest. */
static size_t choose_base(const struct mt_fit *f)
{
    for (size_t at = f->n; at-- > 0;) {
        for (size_t k = 0; k < f->n; k++) {
            if (k != f->order[at] && same_path(f, k, f->order[at])) {
                return f->order[at];
            }
        }
    }
    return f->order[f->n - 1];
}

/* A recording that took another path is a point only where none took the base's. */
static enum mt_status align(struct mt_fit *f, struct mt_error *err)
{
    size_t same = 0;
    f->base = choose_base(f);
    for (size_t i = 0; i < f->n; i++) {
        struct mt_fit_recording *r = &f->recordings[i];
        r->same_path = same_path(f, i, f->base);
        r->aligned = r->same_path ? r->calls : 0;
        same += r->same_path;
    }
    for (size_t i = 0; i < f->n; i++) {
        struct mt_fit_recording *r = &f->recordings[i];
        size_t n = f->calls[f->base].list.n;
        if (!r->same_path) {
            f->match[i] = mt_mem_alloc(n, sizeof *f->match[i]);
            if (!f->match[i]) {
                return mt_fail_nomem(err);
            }
            MT_TRY(mt_fit_align(&f->calls[f->base], &f->calls[i], f->match[i], &r->aligned, err));
        }
        r->used = r->same_path || (same == 1 && r->aligned > 0);
    }
    return MT_OK;
}

enum mt_status mt_fit_new(const struct mt_fit_input *inputs, size_t n, int32_t device,
                          mt_torch_release release, struct mt_fit **out, struct mt_error *err)
{
    int32_t devices[MT_FIT_RECORDINGS];
    MT_TRY(check_inputs(inputs, n, err));
    struct mt_fit *f = mt_mem_zalloc(1, sizeof *f);
    if (!f) {
        return mt_fail_nomem(err);
    }
    f->n = n;
    enum mt_status status = load(f, inputs, device, devices, err);
    if (status == MT_OK) {
        status = align(f, err);
    }
    for (size_t i = 0; status == MT_OK && i < n; i++) {
        status = replay(f, i, devices[i], release, err);
    }
    if (status == MT_OK) {
        status = mt_fit_find_laws(f, err);
    }
    if (status == MT_OK) {
        status = mt_fit_try(f, err);
    }
    if (status == MT_OK) {
        status = mt_fit_list_stacks(f, err);
    }
    if (status != MT_OK) {
        mt_fit_free(f);
        return status;
    }
    *out = f;
    return MT_OK;
}

void mt_fit_free(struct mt_fit *f)
{
    if (!f) {
        return;
    }
    for (size_t i = 0; i < f->n; i++) {
        mt_vec_release(&f->calls[i].list);
        mt_mem_free(f->match[i]);
    }
    mt_sim_free(f->sim);
    mt_mem_free(f->laws);
    mt_mem_free(f->like);
    mt_mem_free(f->mispaired);
    mt_vec_release(&f->unknown);
    mt_vec_release(&f->growing);
    mt_mem_free(f);
}

const struct mt_fit_recording *mt_fit_recordings(const struct mt_fit *f, size_t *n)
{
    *n = f->n;
    return f->recordings;
}

size_t mt_fit_base(const struct mt_fit *f)
{
    return f->base;
}

const size_t *mt_fit_laws(const struct mt_fit *f)
{
    return f->law_counts;
}

void mt_fit_off(const struct mt_fit *f, double *low, double *high)
{
    *low = f->off_low;
    *high = f->off_high;
}

struct mt_str mt_fit_conf(const struct mt_fit *f)
{
    return mt_sim_conf(f->sim);
}

uint32_t mt_fit_peak_stack(const struct mt_fit *f)
{
    return f->peak_stack;
}

const struct mt_fit_stack *mt_fit_unknown(const struct mt_fit *f, size_t *n)
{
    *n = f->unknown.n;
    return f->unknown.v;
}

const struct mt_fit_stack *mt_fit_growing(const struct mt_fit *f, size_t *n)
{
    *n = f->growing.n;
    return f->growing.v;
}
