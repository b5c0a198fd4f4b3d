/* SPDX-License-Identifier: MIT */
/* steps/1. */
#include "print/labels.h"
#include "verbs/steps/print.h"

#include "print/peak_label.h"
#include "print/driver_report.h"
#include "print/report_json.h"

static void put_part(struct mt_out o, const struct mt_step_part *x)
{
    mt_out_u64(o, "requests", x->requests);
    mt_out_u64(o, "requested_bytes", x->requested_bytes);
    mt_out_u64(o, "device_allocs", x->device_allocs);
    mt_out_u64(o, "device_frees", x->device_frees);
    x->requests ? mt_out_f64(o, "hit_rate", mt_step_hit_rate(x)) : mt_out_null(o, "hit_rate");
}

static void put_phases(struct mt_out o, const struct mt_step_row *row)
{
    struct mt_out phases = mt_out_array(o, "phases");
    for (int k = 0; k < MT_PHASE_COUNT; k++) {
        const struct mt_step_part *x = &row->phases[k];
        if (!x->events) {
            continue;
        }
        struct mt_out phase = mt_out_object(phases, NULL);
        mt_out_text(phase, "phase", mt_phase_name((enum mt_phase)k));
        mt_out_u64(phase, "events", x->events);
        mt_out_u64(phase, "peak_bytes", x->peak_bytes);
        mt_out_i64(phase, "change_bytes", x->change_bytes);
        put_part(phase, x);
    }
}

static void put_odd(struct mt_out o, unsigned odd)
{
    static const char *const WORDS[] = {"peak", "requests", "driver", "time"};
    struct mt_out list = mt_out_array(o, "odd");
    for (size_t i = 0; i < MT_COUNT(WORDS); i++) {
        if (odd & 1u << i) {
            mt_out_str(list, NULL, mt_str_from(WORDS[i]));
        }
    }
}

static void put_row(struct mt_out rows, const struct mt_trace_steps *x, size_t i)
{
    const struct mt_step_row *row = &x->rows.v[i];
    struct mt_out o = mt_out_object(rows, NULL);
    mt_out_u64(o, "index", i);
    mt_out_u64(o, "from_event", row->from);
    mt_out_u64(o, "to_event", row->to);
    mt_out_time(o, "from_us", row->from_us);
    mt_out_time(o, "to_us", row->to_us);
    mt_out_u64(o, "live_before_bytes", row->live_before);
    mt_out_u64(o, "live_after_bytes", row->live_after);
    mt_out_u64(o, "peak_bytes", row->all.peak_bytes);
    mt_out_u64(o, "peak_event", row->peak_event);
    put_part(o, &row->all);
    mt_out_text(o, "phase", mt_phase_name(row->peak_phase));
    mt_out_u64(o, "passes", row->passes);
    mt_out_bool(o, "warm_up", row->warm_up);
    mt_out_bool(o, "whole", i < x->whole);
    put_odd(o, row->odd);
    put_phases(o, row);
}

static void put_layers(struct mt_out o, const struct mt_snapshot *s, const struct mt_layers *x)
{
    if (!x->count) {
        mt_out_null(o, "layers");
        return;
    }
    struct mt_out layers = mt_out_object(o, "layers");
    mt_out_u64(layers, "count", x->count);
    mt_out_u64(layers, "bytes_per_layer", x->bytes);
    mt_out_u64(layers, "before_bytes", x->before);
    mt_out_u64(layers, "after_bytes", x->after);
    mt_out_known(layers, "weights_bytes", x->weights > 0, x->weights);
    mt_out_known(layers, "gradients_bytes", x->gradients > 0, x->gradients);
    mt_out_known(layers, "optimizer_state_bytes", x->state > 0, x->state);
    mt_out_frames(layers, s, x->stack);
    struct mt_out stacks = mt_out_array(layers, "stacks");
    for (size_t i = 0; i < x->parts.n; i++) {
        struct mt_out part = mt_out_object(stacks, NULL);
        mt_out_u64(part, "bytes_per_layer", x->parts.v[i].bytes);
        mt_out_u64(part, "count_per_layer", x->parts.v[i].count);
        mt_out_frames(part, s, x->parts.v[i].stack);
    }
}

static void put_typical(struct mt_out o, const struct mt_trace_steps *x)
{
    struct mt_trace_steps_typical t = x->typical;
    if (!t.steps) {
        mt_out_null(o, "typical");
        return;
    }
    struct mt_out typical = mt_out_object(o, "typical");
    mt_out_u64(typical, "steps", t.steps);
    mt_out_u64(typical, "peak_bytes", t.peak_bytes);
    mt_out_u64(typical, "requests", t.requests);
    mt_out_u64(typical, "device_allocs", t.device_allocs);
    mt_out_f64(typical, "hit_rate", t.hit_rate);
    mt_out_known(typical, "us", t.us >= 0, (uint64_t)t.us);
}

static void put_peak(struct mt_out o, const struct mt_trace_steps *x)
{
    struct mt_out peak = mt_out_object(o, "peak");
    mt_out_u64(peak, "event", x->at_event);
    mt_out_known(peak, "step", x->rows.n > 0, x->shown);
    mt_out_u64(peak, "bytes", x->at_bytes);
    mt_out_categories(peak, x->by_category, x->sure);
}

static void put_leak(struct mt_out o, const struct mt_trace_steps *x)
{
    struct mt_out leak = mt_out_object(o, "leak");
    mt_out_text(leak, "verdict", mt_leak_verdict_id(x->leak));
    mt_out_i64(leak, "bytes_per_step", x->leak_bytes_per_step);
}

static void put_device(struct mt_out devices, const struct mt_report *r,
                       const struct mt_snapshot *s, const struct mt_trace_steps *x)
{
    struct mt_out o = mt_out_object(devices, NULL);
    mt_out_i64(o, "device", x->device);
    mt_out_u64(o, "whole_steps", x->whole);
    mt_out_known(o, "passes", x->periods.passes.n > 0, x->periods.passes.n);
    put_leak(o, x);
    struct mt_out rows = mt_out_array(o, "steps");
    for (size_t i = 0; i < x->rows.n; i++) { /* all: there is no sum of others */
        put_row(rows, x, i);
    }
    put_typical(o, x);
    x->has_events ? mt_out_driver_price(o, r, s, &x->driver) : mt_out_null(o, "driver");
    put_layers(o, s, &x->layers);
    x->has_events ? put_peak(o, x) : mt_out_null(o, "peak");
}

enum mt_status mt_report_steps_json(const struct mt_report *r, const struct mt_snapshot *s,
                                    const struct mt_trace_steps *devices, size_t n, bool one_line,
                                    struct mt_error *err)
{
    struct mt_json_out json;
    struct mt_out root = mt_report_json(&json, r, "steps/1", one_line);
    struct mt_out list = mt_out_array(root, "devices");
    for (size_t i = 0; i < n; i++) {
        put_device(list, r, s, &devices[i]);
    }
    return mt_report_json_end(root, err);
}
