/* SPDX-License-Identifier: MIT */
/* fit/1: predictions with their range, the largest sizes, and what they rest on. */
#include "verbs/fit/doubts.h"

#include "print/json_put.h"
#include "verbs/simulate/cures_json.h"

static void put_recordings(struct mt_put *p, cJSON *root, const struct mt_fit_report *v)
{
    size_t n;
    const struct mt_fit_recording *rows = mt_fit_recordings(v->fit, &n);
    cJSON *list = mt_put_array(p, root, "recordings");
    for (size_t i = 0; i < n; i++) {
        cJSON *o = mt_put_object(p, list, NULL);
        mt_put_text(p, o, "file", v->files[i]);
        mt_put_u64(p, o, "size", rows[i].size);
        mt_put_i64(p, o, "device", rows[i].device);
        mt_put_u64(p, o, "allocations", rows[i].calls);
        mt_put_u64(p, o, "aligned", rows[i].aligned);
        mt_put_bool(p, o, "same_path", rows[i].same_path);
        mt_put_bool(p, o, "used", rows[i].used);
        mt_put_u64(p, o, "reserved_peak_bytes", rows[i].reserved);
        mt_put_u64(p, o, "requested_peak_bytes", rows[i].requested);
        mt_put_bool(p, o, "replay_exact", rows[i].exact);
        mt_put_bool(p, o, "complete", rows[i].complete);
    }
}

static const char *const LAWS[MT_FIT_LAWS] = {"constant", "linear",      "quadratic",
                                              "steps",    "unconfirmed", "unknown"};

/* How the recordings that are points of the laws stand to the base. */
static const char *alignment(const struct mt_fit_report *v)
{
    size_t n, base = mt_fit_base(v->fit), others = 0;
    const struct mt_fit_recording *rows = mt_fit_recordings(v->fit, &n);
    bool same = true;
    for (size_t i = 0; i < n; i++) {
        others += rows[i].used && i != base;
        same &= !rows[i].used || rows[i].same_path;
    }
    return !others ? "no" : same ? "exact" : "by_stack";
}

static void put_calls(struct mt_put *p, cJSON *root, const struct mt_fit_report *v)
{
    size_t n, base = mt_fit_base(v->fit);
    const size_t *counts = mt_fit_laws(v->fit);
    const struct mt_fit_recording *rows = mt_fit_recordings(v->fit, &n);
    cJSON *o = mt_put_object(p, root, "calls");
    mt_put_u64(p, o, "base_size", rows[base].size);
    mt_put_u64(p, o, "allocations", rows[base].calls);
    for (size_t i = 0; i < MT_FIT_LAWS; i++) {
        mt_put_u64(p, o, LAWS[i], counts[i]);
    }
}

static void put_growing(struct mt_put *p, cJSON *root, const struct mt_fit_report *v)
{
    size_t n;
    const struct mt_fit_stack *rows = mt_fit_growing(v->fit, &n);
    cJSON *list = mt_put_array(p, root, "growth");
    for (size_t i = 0; i < n && i < MT_FIT_GROWING; i++) {
        cJSON *o = mt_put_object(p, list, NULL);
        mt_put_ratio(p, o, "bytes_per_unit", rows[i].per_unit);
        mt_put_text(p, o, "kind", rows[i].law < MT_FIT_STEPS ? LAWS[rows[i].law] : "irregular");
        mt_put_u64(p, o, "allocations", rows[i].count);
        mt_put_item(p, o, "frames", mt_json_frames(v->base, rows[i].stack));
    }
}

static void put_run(struct mt_put *p, cJSON *list, const struct mt_fit_answer *a,
                    const struct mt_fit_run *run)
{
    cJSON *o = mt_put_object(p, list, NULL);
    bool refused = run->verdict == MT_SIM_OUT_OF_MEMORY;
    mt_put_u64(p, o, "size", run->size);
    mt_put_str(p, o, "conf", a->recorded ? MT_STR("") : a->conf);
    mt_put_known(p, o, "reserved_peak_bytes", run->known, run->reserved);
    mt_put_known(p, o, "reserved_low_bytes", run->known, run->low);
    mt_put_known(p, o, "reserved_high_bytes", run->known, run->high);
    mt_put_known(p, o, "requested_peak_bytes", run->known, run->requested);
    mt_put_text(p, o, "verdict", mt_fit_verdict(run->verdict));
    mt_put_known(p, o, "refused_bytes", refused && run->refused, run->refused);
}

static void put_largest(struct mt_put *p, cJSON *list, const struct mt_fit_report *v,
                        const struct mt_fit_answer *a)
{
    cJSON *o = mt_put_object(p, list, NULL);
    uint64_t bound = mt_fit_bound(a);
    mt_put_str(p, o, "conf", a->recorded ? MT_STR("") : a->conf);
    mt_put_known(p, o, "limit_bytes", bound > 0, bound);
    bool known = a->fits.verdict != MT_SIM_UNKNOWN, fits = known && a->fits.size > 0;
    bool fails = known && a->next.size > 0;
    mt_put_known(p, o, "size", known, a->fits.size);
    mt_put_known(p, o, "reserved_peak_bytes", fits, a->fits.reserved);
    mt_put_known(p, o, "next_size", fails, a->next.size);
    mt_put_known(p, o, "next_refused_bytes", fails, a->next.refused);
    mt_put_known(p, o, "headroom_bytes", fits, bound - a->fits.reserved);
    cJSON *next = mt_put_object(p, o, "next");
    mt_put_known(p, next, "size", fails, a->next.size);
    mt_put_text(p, next, "verdict", fails ? "out_of_memory" : NULL);
    mt_put_item(p, next, "frames", mt_json_frames(v->base, fails ? a->next.refused_stack : 0));
}

static void put_advice(struct mt_put *p, cJSON *root, const struct mt_fit_report *v)
{
    cJSON *o = mt_put_object(p, root, "advice");
    mt_put_known(p, o, "size", v->advised > 0, v->advised);
    mt_put_known(p, o, "reserved_peak_bytes", v->advised > 0, v->cures->reserved);
    cJSON *list = mt_put_array(p, o, "cures");
    for (size_t i = 0; i < v->cures->list.n; i++) {
        mt_sim_put_cure(p, list, v->base, &v->cures->list.v[i], v->cures->reserved);
    }
}

enum mt_status mt_report_fit_json(const struct mt_report *r, const struct mt_fit_report *v,
                                  struct mt_error *err)
{
    struct mt_put p = {false};
    struct mt_fit_doubts doubts = {{0}};
    enum mt_status status = mt_fit_doubts_find(&doubts, r, v, err);
    if (status != MT_OK) {
        mt_fit_doubts_release(&doubts);
        return status;
    }
    cJSON *root = mt_json_begin(r, "fit/1");
    mt_put_text(&p, root, "what", v->what);
    mt_put_str(&p, root, "recorded_conf", mt_fit_conf(v->fit));
    put_recordings(&p, root, v);
    mt_put_text(&p, root, "aligned", alignment(v));
    put_calls(&p, root, v);
    cJSON *predictions = mt_put_array(&p, root, "predictions");
    for (size_t i = 0; i < v->n_answers; i++) {
        for (size_t k = 0; k < v->answers[i].n_runs; k++) {
            put_run(&p, predictions, &v->answers[i], &v->answers[i].runs[k]);
        }
    }
    cJSON *largest = mt_put_array(&p, root, "largest");
    for (size_t i = 0; i < v->n_answers; i++) {
        if (v->answers[i].searched) {
            put_largest(&p, largest, v, &v->answers[i]);
        }
    }
    put_growing(&p, root, v);
    put_advice(&p, root, v);
    cJSON *list = mt_put_array(&p, root, "doubts");
    for (size_t i = 0; i < doubts.list.n; i++) {
        cJSON *o = mt_put_object(&p, list, NULL);
        mt_put_text(&p, o, "id", doubts.list.v[i].id);
        mt_put_item(&p, o, "text", mt_json_str_item(mt_str_from(doubts.list.v[i].text)));
    }
    mt_fit_doubts_release(&doubts);
    return mt_put_end(&p, r, root, false, err);
}
