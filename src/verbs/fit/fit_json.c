/* SPDX-License-Identifier: MIT */
/* fit/1: predictions with their range, the largest sizes, and what they rest on. */
#include "verbs/fit/doubts.h"

#include "print/json_put.h"

static void put_recordings(struct mt_put *p, cJSON *root, const struct mt_fit_report *v)
{
    size_t n;
    const struct mt_fit_recording *rows = mt_fit_recordings(v->fit, &n);
    cJSON *list = mt_put_array(p, root, "recordings");
    for (size_t i = 0; i < n; i++) {
        cJSON *o = mt_put_object(p, list, NULL);
        mt_put_text(p, o, "file", v->files[i]);
        mt_put_u64(p, o, "size", rows[i].size);
        mt_put_u64(p, o, "allocations", rows[i].calls);
        mt_put_u64(p, o, "aligned", rows[i].aligned);
        mt_put_bool(p, o, "same_path", rows[i].same_path);
        mt_put_bool(p, o, "used", rows[i].used);
        mt_put_u64(p, o, "reserved_peak_bytes", rows[i].reserved);
        mt_put_u64(p, o, "requested_peak_bytes", rows[i].requested);
        mt_put_bool(p, o, "exact", rows[i].exact);
        mt_put_bool(p, o, "complete", rows[i].complete);
    }
}

static void put_aligned(struct mt_put *p, cJSON *root, const struct mt_fit_report *v)
{
    static const char *const names[MT_FIT_LAWS] = {"constant", "linear", "quadratic", "steps",
                                                   "unconfirmed", "unknown"};
    size_t n, base = mt_fit_base(v->fit);
    const size_t *counts = mt_fit_laws(v->fit);
    const struct mt_fit_recording *rows = mt_fit_recordings(v->fit, &n);
    cJSON *o = mt_put_object(p, root, "aligned");
    mt_put_u64(p, o, "base_size", rows[base].size);
    mt_put_u64(p, o, "allocations", rows[base].calls);
    for (size_t i = 0; i < MT_FIT_LAWS; i++) {
        mt_put_u64(p, o, names[i], counts[i]);
    }
}

static void put_growing(struct mt_put *p, cJSON *root, const struct mt_fit_report *v)
{
    size_t n;
    const struct mt_fit_stack *rows = mt_fit_growing(v->fit, &n);
    cJSON *list = mt_put_array(p, root, "growing");
    for (size_t i = 0; i < n && i < MT_FIT_GROWING; i++) {
        cJSON *o = mt_put_object(p, list, NULL);
        mt_put_ratio(p, o, "bytes_per_unit", rows[i].per_unit);
        mt_put_u64(p, o, "allocations", rows[i].count);
        mt_put_item(p, o, "frames", mt_json_frames(v->base, rows[i].stack));
    }
}

static void put_run(struct mt_put *p, cJSON *list, const struct mt_fit_answer *a,
                    const struct mt_fit_run *run)
{
    cJSON *o = mt_put_object(p, list, NULL);
    bool fits = run->verdict == MT_SIM_FITS;
    mt_put_u64(p, o, "size", run->size);
    mt_put_str(p, o, "conf", a->recorded ? MT_STR("") : a->conf);
    mt_put_known(p, o, "reserved_peak_bytes", run->known, run->reserved);
    mt_put_known(p, o, "reserved_low_bytes", run->known, run->low);
    mt_put_known(p, o, "reserved_high_bytes", run->known, run->high);
    mt_put_known(p, o, "requested_peak_bytes", run->known, run->requested);
    mt_put_text(p, o, "verdict", fits ? "fits" : "out_of_memory");
    mt_put_known(p, o, "refused_bytes", !fits && run->refused, run->refused);
}

static void put_largest(struct mt_put *p, cJSON *list, const struct mt_fit_answer *a)
{
    cJSON *o = mt_put_object(p, list, NULL);
    mt_put_str(p, o, "conf", a->recorded ? MT_STR("") : a->conf);
    mt_put_known(p, o, "limit_bytes", a->limit || a->capacity, a->limit ? a->limit : a->capacity);
    mt_put_u64(p, o, "size", a->fits.size);
    mt_put_known(p, o, "reserved_peak_bytes", a->fits.size > 0, a->fits.reserved);
    mt_put_known(p, o, "next_size", a->next.size > 0, a->next.size);
    mt_put_known(p, o, "next_refused_bytes", a->next.size > 0, a->next.refused);
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
    put_aligned(&p, root, v);
    cJSON *predictions = mt_put_array(&p, root, "predictions");
    for (size_t i = 0; i < v->n_answers; i++) {
        for (size_t k = 0; k < v->answers[i].n_runs; k++) {
            put_run(&p, predictions, &v->answers[i], &v->answers[i].runs[k]);
        }
    }
    cJSON *largest = mt_put_array(&p, root, "largest");
    for (size_t i = 0; i < v->n_answers; i++) {
        if (v->answers[i].searched) {
            put_largest(&p, largest, &v->answers[i]);
        }
    }
    put_growing(&p, root, v);
    cJSON *list = mt_put_array(&p, root, "doubts");
    for (size_t i = 0; i < doubts.list.n; i++) {
        mt_put_item(&p, list, NULL, mt_json_str_item(mt_str_from(doubts.list.v[i])));
    }
    mt_fit_doubts_release(&doubts);
    return mt_put_end(&p, r, root, false, err);
}
