/* SPDX-License-Identifier: MIT */
/* steps/1. */
#include "print/labels.h"
#include "verbs/steps/print.h"

#include "print/peak_label.h"
#include "print/driver_report.h"
#include "print/json_put.h"

static void put_part(struct mt_put *p, cJSON *o, const struct mt_step_part *x)
{
    mt_put_u64(p, o, "requests", x->requests);
    mt_put_u64(p, o, "requested_bytes", x->requested_bytes);
    mt_put_u64(p, o, "device_allocs", x->device_allocs);
    mt_put_u64(p, o, "device_frees", x->device_frees);
    x->requests ? mt_put_ratio(p, o, "hit_rate", mt_step_hit_rate(x))
                : mt_put_null(p, o, "hit_rate");
}

static void put_phases(struct mt_put *p, cJSON *o, const struct mt_step_row *row)
{
    cJSON *phases = mt_put_array(p, o, "phases");
    for (int k = 0; k < MT_PHASE_COUNT; k++) {
        const struct mt_step_part *x = &row->phases[k];
        if (!x->events) {
            continue;
        }
        cJSON *phase = mt_put_object(p, phases, NULL);
        mt_put_text(p, phase, "phase", mt_phase_name((enum mt_phase)k));
        mt_put_u64(p, phase, "events", x->events);
        mt_put_u64(p, phase, "peak_bytes", x->peak_bytes);
        mt_put_i64(p, phase, "change_bytes", x->change_bytes);
        put_part(p, phase, x);
    }
}

static void put_odd(struct mt_put *p, cJSON *o, unsigned odd)
{
    static const char *const WORDS[] = {"peak", "requests", "driver", "time"};
    cJSON *list = mt_put_array(p, o, "odd");
    for (size_t i = 0; i < MT_COUNT(WORDS); i++) {
        if (odd & 1u << i) {
            mt_put_item(p, list, NULL, mt_json_str_item(mt_str_from(WORDS[i])));
        }
    }
}

static void put_row(struct mt_put *p, cJSON *rows, const struct mt_trace_steps *x, size_t i)
{
    const struct mt_step_row *row = &x->rows.v[i];
    cJSON *o = mt_put_object(p, rows, NULL);
    mt_put_u64(p, o, "index", i);
    mt_put_u64(p, o, "from_event", row->from);
    mt_put_u64(p, o, "to_event", row->to);
    mt_put_time(p, o, "from_us", row->from_us);
    mt_put_time(p, o, "to_us", row->to_us);
    mt_put_u64(p, o, "live_before_bytes", row->live_before);
    mt_put_u64(p, o, "live_after_bytes", row->live_after);
    mt_put_u64(p, o, "peak_bytes", row->all.peak_bytes);
    mt_put_u64(p, o, "peak_event", row->peak_event);
    put_part(p, o, &row->all);
    mt_put_text(p, o, "phase", mt_phase_name(row->peak_phase));
    mt_put_u64(p, o, "passes", row->passes);
    mt_put_bool(p, o, "warm_up", row->warm_up);
    mt_put_bool(p, o, "whole", i < x->whole);
    put_odd(p, o, row->odd);
    put_phases(p, o, row);
}

static void put_layers(struct mt_put *p, cJSON *o, const struct mt_snapshot *s,
                       const struct mt_layers *x)
{
    if (!x->count) {
        mt_put_null(p, o, "layers");
        return;
    }
    cJSON *layers = mt_put_object(p, o, "layers");
    mt_put_u64(p, layers, "count", x->count);
    mt_put_u64(p, layers, "bytes_per_layer", x->bytes);
    mt_put_u64(p, layers, "before_bytes", x->before);
    mt_put_u64(p, layers, "after_bytes", x->after);
    mt_put_known(p, layers, "weights_bytes", x->weights > 0, x->weights);
    mt_put_known(p, layers, "gradients_bytes", x->gradients > 0, x->gradients);
    mt_put_known(p, layers, "optimizer_state_bytes", x->state > 0, x->state);
    mt_put_item(p, layers, "frames", mt_json_frames(s, x->stack));
    cJSON *stacks = mt_put_array(p, layers, "stacks");
    for (size_t i = 0; i < x->parts.n; i++) {
        cJSON *part = mt_put_object(p, stacks, NULL);
        mt_put_u64(p, part, "bytes_per_layer", x->parts.v[i].bytes);
        mt_put_u64(p, part, "count_per_layer", x->parts.v[i].count);
        mt_put_item(p, part, "frames", mt_json_frames(s, x->parts.v[i].stack));
    }
}

static void put_typical(struct mt_put *p, cJSON *o, const struct mt_trace_steps *x)
{
    struct mt_trace_steps_typical t = x->typical;
    if (!t.steps) {
        mt_put_null(p, o, "typical");
        return;
    }
    cJSON *typical = mt_put_object(p, o, "typical");
    mt_put_u64(p, typical, "steps", t.steps);
    mt_put_u64(p, typical, "peak_bytes", t.peak_bytes);
    mt_put_u64(p, typical, "requests", t.requests);
    mt_put_u64(p, typical, "device_allocs", t.device_allocs);
    mt_put_ratio(p, typical, "hit_rate", t.hit_rate);
    mt_put_known(p, typical, "us", t.us >= 0, (uint64_t)t.us);
}

static void put_peak(struct mt_put *p, cJSON *o, const struct mt_trace_steps *x)
{
    cJSON *peak = mt_put_object(p, o, "peak");
    mt_put_u64(p, peak, "event", x->at_event);
    mt_put_known(p, peak, "step", x->rows.n > 0, x->shown);
    mt_put_u64(p, peak, "bytes", x->at_bytes);
    mt_put_categories(p, peak, x->by_category, x->sure);
}

static void put_leak(struct mt_put *p, cJSON *o, const struct mt_trace_steps *x)
{
    cJSON *leak = mt_put_object(p, o, "leak");
    mt_put_text(p, leak, "verdict", mt_leak_verdict_id(x->leak));
    mt_put_i64(p, leak, "bytes_per_step", x->leak_bytes_per_step);
}

static void put_device(struct mt_put *p, cJSON *devices, const struct mt_report *r,
                       const struct mt_snapshot *s, const struct mt_trace_steps *x)
{
    cJSON *o = mt_put_object(p, devices, NULL);
    mt_put_i64(p, o, "device", x->device);
    mt_put_u64(p, o, "whole_steps", x->whole);
    mt_put_known(p, o, "passes", x->periods.passes.n > 0, x->periods.passes.n);
    put_leak(p, o, x);
    cJSON *rows = mt_put_array(p, o, "steps");
    for (size_t i = 0; i < x->rows.n; i++) { /* all: there is no sum of others */
        put_row(p, rows, x, i);
    }
    put_typical(p, o, x);
    x->has_events ? mt_put_driver_price(p, o, r, s, &x->driver) : mt_put_null(p, o, "driver");
    put_layers(p, o, s, &x->layers);
    x->has_events ? put_peak(p, o, x) : mt_put_null(p, o, "peak");
}

enum mt_status mt_report_steps_json(const struct mt_report *r, const struct mt_snapshot *s,
                                    const struct mt_trace_steps *devices, size_t n, bool one_line,
                                    struct mt_error *err)
{
    struct mt_put p = {0};
    cJSON *root = mt_json_begin(r, "steps/1");
    cJSON *list = mt_put_array(&p, root, "devices");
    for (size_t i = 0; i < n; i++) {
        put_device(&p, list, r, s, &devices[i]);
    }
    return mt_put_end(&p, r, root, one_line, err);
}
