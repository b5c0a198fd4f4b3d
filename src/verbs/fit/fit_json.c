/* SPDX-License-Identifier: MIT */
/* fit/1: predictions with their range, the largest sizes, and what they rest on. */
#include "verbs/fit/doubts.h"

#include "print/report_json.h"
#include "verbs/simulate/cures_json.h"

static void put_recordings(struct mt_out root, const struct mt_fit_report *v)
{
    size_t n;
    const struct mt_fit_recording *rows = mt_fit_recordings(v->fit, &n);
    struct mt_out list = mt_out_array(root, "recordings");
    for (size_t i = 0; i < n; i++) {
        struct mt_out o = mt_out_object(list, NULL);
        mt_out_text(o, "file", v->files[i]);
        mt_out_u64(o, "size", rows[i].size);
        mt_out_i64(o, "device", rows[i].device);
        mt_out_u64(o, "allocations", rows[i].calls);
        mt_out_u64(o, "aligned", rows[i].aligned);
        mt_out_bool(o, "same_path", rows[i].same_path);
        mt_out_bool(o, "used", rows[i].used);
        mt_out_u64(o, "reserved_peak_bytes", rows[i].reserved);
        mt_out_u64(o, "requested_peak_bytes", rows[i].requested);
        mt_out_bool(o, "replay_exact", rows[i].exact);
        mt_out_bool(o, "complete", rows[i].complete);
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

static void put_calls(struct mt_out root, const struct mt_fit_report *v)
{
    size_t n, base = mt_fit_base(v->fit);
    const size_t *counts = mt_fit_laws(v->fit);
    const struct mt_fit_recording *rows = mt_fit_recordings(v->fit, &n);
    struct mt_out o = mt_out_object(root, "calls");
    mt_out_u64(o, "base_size", rows[base].size);
    mt_out_u64(o, "allocations", rows[base].calls);
    for (size_t i = 0; i < MT_FIT_LAWS; i++) {
        mt_out_u64(o, LAWS[i], counts[i]);
    }
}

static void put_growing(struct mt_out root, const struct mt_fit_report *v)
{
    size_t n;
    const struct mt_fit_stack *rows = mt_fit_growing(v->fit, &n);
    struct mt_out list = mt_out_array(root, "growth");
    for (size_t i = 0; i < n && i < MT_FIT_GROWING; i++) {
        struct mt_out o = mt_out_object(list, NULL);
        mt_out_f64(o, "bytes_per_unit", rows[i].per_unit);
        mt_out_text(o, "kind", rows[i].law < MT_FIT_STEPS ? LAWS[rows[i].law] : "irregular");
        mt_out_u64(o, "allocations", rows[i].count);
        mt_out_frames(o, v->base, rows[i].stack);
    }
}

static void put_run(struct mt_out list, const struct mt_fit_answer *a, const struct mt_fit_run *run)
{
    struct mt_out o = mt_out_object(list, NULL);
    bool refused = run->verdict == MT_SIM_OUT_OF_MEMORY;
    mt_out_u64(o, "size", run->size);
    mt_out_str(o, "conf", a->recorded ? MT_STR("") : a->conf);
    mt_out_known(o, "reserved_peak_bytes", run->known, run->reserved);
    mt_out_known(o, "reserved_low_bytes", run->known, run->low);
    mt_out_known(o, "reserved_high_bytes", run->known, run->high);
    mt_out_known(o, "requested_peak_bytes", run->known, run->requested);
    mt_out_text(o, "verdict", mt_sim_verdict_word(run->verdict));
    mt_out_known(o, "refused_bytes", refused && run->refused, run->refused);
}

static void put_largest(struct mt_out list, const struct mt_fit_report *v,
                        const struct mt_fit_answer *a)
{
    struct mt_out o = mt_out_object(list, NULL);
    uint64_t bound = mt_fit_bound(a);
    mt_out_str(o, "conf", a->recorded ? MT_STR("") : a->conf);
    mt_out_known(o, "limit_bytes", bound > 0, bound);
    bool known = a->fits.verdict != MT_SIM_UNKNOWN, fits = known && a->fits.size > 0;
    bool fails = known && a->next.size > 0;
    mt_out_known(o, "size", known, a->fits.size);
    mt_out_known(o, "reserved_peak_bytes", fits, a->fits.reserved);
    mt_out_known(o, "next_size", fails, a->next.size);
    mt_out_known(o, "next_refused_bytes", fails, a->next.refused);
    mt_out_known(o, "headroom_bytes", fits, bound - a->fits.reserved);
    struct mt_out next = mt_out_object(o, "next");
    mt_out_known(next, "size", fails, a->next.size);
    mt_out_text(next, "verdict", fails ? "out_of_memory" : NULL);
    mt_out_frames(next, v->base, fails ? a->next.refused_stack : 0);
}

static void put_advice(struct mt_out root, const struct mt_fit_report *v)
{
    struct mt_out o = mt_out_object(root, "advice");
    mt_out_known(o, "size", v->advised > 0, v->advised);
    mt_out_known(o, "reserved_peak_bytes", v->advised > 0, v->cures->reserved);
    struct mt_out list = mt_out_array(o, "cures");
    for (size_t i = 0; i < v->cures->list.n; i++) {
        mt_sim_put_cure(list, v->base, &v->cures->list.v[i], v->cures->reserved);
    }
}

enum mt_status mt_report_fit_json(const struct mt_report *r, const struct mt_fit_report *v,
                                  struct mt_error *err)
{
    struct mt_json_out json;
    struct mt_fit_doubts doubts = {{0}};
    enum mt_status status = mt_fit_doubts_find(&doubts, r, v, err);
    if (status != MT_OK) {
        mt_fit_doubts_release(&doubts);
        return status;
    }
    struct mt_out root = mt_report_json(&json, r, "fit/1", false);
    mt_out_text(root, "what", v->what);
    mt_out_str(root, "recorded_conf", mt_fit_conf(v->fit));
    put_recordings(root, v);
    mt_out_text(root, "aligned", alignment(v));
    put_calls(root, v);
    struct mt_out predictions = mt_out_array(root, "predictions");
    for (size_t i = 0; i < v->n_answers; i++) {
        for (size_t k = 0; k < v->answers[i].n_runs; k++) {
            put_run(predictions, &v->answers[i], &v->answers[i].runs[k]);
        }
    }
    struct mt_out largest = mt_out_array(root, "largest");
    for (size_t i = 0; i < v->n_answers; i++) {
        if (v->answers[i].searched) {
            put_largest(largest, v, &v->answers[i]);
        }
    }
    put_growing(root, v);
    put_advice(root, v);
    struct mt_out list = mt_out_array(root, "doubts");
    for (size_t i = 0; i < doubts.list.n; i++) {
        struct mt_out o = mt_out_object(list, NULL);
        mt_out_text(o, "id", doubts.list.v[i].id);
        mt_out_str(o, "text", mt_str_from(doubts.list.v[i].text));
    }
    mt_fit_doubts_release(&doubts);
    return mt_report_json_end(root, err);
}
