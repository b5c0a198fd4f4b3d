/* SPDX-License-Identifier: MIT */
/* Measures a run for its budgets, and holds it against them. */
#include "verbs/check/budget.h"
#include "heap/findings/peak.h"
#include "heap/findings/steps.h"
#include "heap/sums/totals.h"
#include "heap/walk/query.h"
#include "heap/walk/replay.h"

static const char *const rule_names[] = {
#define X(id, name, option) name,
    MT_BUDGET_RULES(X)
#undef X
};
static const char *const rule_options[] = {
#define X(id, name, option) option,
    MT_BUDGET_RULES(X)
#undef X
};

const char *mt_budget_rule_name(enum mt_budget_rule rule)
{
    return rule_names[rule];
}

const char *mt_budget_rule_option(enum mt_budget_rule rule)
{
    return rule_options[rule];
}

/* ---- measuring ---- */

static uint64_t device_calls(const struct mt_trace_totals *t)
{
    return t->actions[MT_ACTION_SEGMENT_ALLOC] + t->actions[MT_ACTION_SEGMENT_FREE] +
           t->actions[MT_ACTION_SEGMENT_MAP] + t->actions[MT_ACTION_SEGMENT_UNMAP];
}

static void measure_totals(struct mt_budget_facts *out, const struct mt_totals *t)
{
    for (size_t i = 0; i < t->devices.n; i++) {
        const struct mt_device_totals *d = &t->devices.v[i];
        double frag = mt_counters_cut_up(&d->all);
        out->allocated = d->all.allocated > out->allocated ? d->all.allocated : out->allocated;
        out->frag = frag > out->frag ? frag : out->frag;
        out->ooms += d->trace.actions[MT_ACTION_OOM];
        out->device_calls += device_calls(&d->trace);
    }
}

static enum mt_status measure_leak(struct mt_budget_facts *out, const struct mt_replay *r,
                                   struct mt_filtered *f, struct mt_error *err)
{
    static const struct mt_leak_options o = {.threshold = MT_LEAK_THRESHOLD};
    struct mt_leaks leaks;
    enum mt_status status = mt_leaks_find(&leaks, r->snapshot, r, f, &o, err);
    if (status == MT_OK) {
        out->leak = leaks.verdict > out->leak ? leaks.verdict : out->leak;
        out->bytes_per_step =
            leaks.bytes_per_step > out->bytes_per_step ? leaks.bytes_per_step : out->bytes_per_step;
    }
    mt_leaks_release(&leaks);
    return status;
}

/* The worst device counts. */
static enum mt_status measure_steps(struct mt_budget_facts *out, const struct mt_replay *r,
                                    struct mt_error *err)
{
    static const struct mt_period_options o = {0};
    struct mt_trace_steps steps;
    enum mt_status status = mt_trace_steps_find(&steps, r, NULL, &o, err);
    struct mt_trace_steps_typical t = steps.typical;
    if (status == MT_OK && t.steps) {
        out->hits = !out->has_steps || t.hit_rate < out->hits ? t.hit_rate : out->hits;
        out->driver_calls =
            t.most_device_allocs > out->driver_calls ? t.most_device_allocs : out->driver_calls;
        out->has_steps = true;
    }
    mt_trace_steps_release(&steps);
    return status;
}

/* The highest point of what the filter lets through. */
static enum mt_status filtered_peak(const struct mt_replay *r, struct mt_filtered *f,
                                    uint64_t *peak, struct mt_error *err)
{
    struct mt_rules *rules;
    struct mt_peak p;
    MT_TRY(mt_rules_new((struct mt_str){0}, &rules, err));
    struct mt_peak_options o = {.at = {.kind = MT_AT_PEAK}, .by = MT_BY_CATEGORY, .rules = rules};
    enum mt_status status = mt_peak_find(&p, r->snapshot, r, f, &o, err);
    *peak = p.bytes;
    mt_peak_release(&p);
    mt_rules_free(rules);
    return status;
}

static enum mt_status measure_device(struct mt_budget_facts *out, const struct mt_snapshot *s,
                                     int32_t device, struct mt_filtered *f, unsigned rules,
                                     struct mt_error *err)
{
    struct mt_replay r;
    struct mt_step at;
    enum mt_status status = MT_OK;
    MT_TRY(mt_replay_init(&r, s, device, err));
    uint64_t peak = r.ghost_bytes, reserved = r.start_reserved;
    for (mt_replay_begin(&r, &at); mt_replay_next(&r, &at);) {
        peak = at.live_bytes > peak ? at.live_bytes : peak;
        reserved = at.reserved_bytes > reserved ? at.reserved_bytes : reserved;
    }
    reserved = r.end_reserved > reserved ? r.end_reserved : reserved;
    if (!mt_filter_is_open(f->filter)) {
        status = filtered_peak(&r, f, &peak, err);
    }
    out->peak = peak > out->peak ? peak : out->peak;
    out->reserved = reserved > out->reserved ? reserved : out->reserved;
    if (status == MT_OK && rules >> MT_BUDGET_NO_LEAKS & 1) {
        status = measure_leak(out, &r, f, err);
    }
    unsigned of_steps = 1u << MT_BUDGET_MIN_HITS | 1u << MT_BUDGET_MAX_DRIVER_CALLS;
    if (status == MT_OK && rules & of_steps) {
        status = measure_steps(out, &r, err);
    }
    mt_replay_release(&r);
    return status;
}

enum mt_status mt_budget_measure(struct mt_budget_facts *out, const struct mt_snapshot *s,
                                 struct mt_filtered *f, unsigned rules, struct mt_error *err)
{
    struct mt_totals t;
    struct mt_devices devices = {0};
    *out = (struct mt_budget_facts){0};
    enum mt_status status = mt_totals_find(&t, s, f, 0, err);
    if (status == MT_OK) {
        measure_totals(out, &t);
        status = mt_devices_find(&devices, s, false, err);
    }
    for (size_t i = 0; status == MT_OK && i < devices.ids.n; i++) {
        if (mt_filtered_device(f, devices.ids.v[i])) {
            status = measure_device(out, s, devices.ids.v[i], f, rules, err);
        }
    }
    mt_devices_release(&devices);
    mt_totals_release(&t);
    return status;
}

/* ---- checking ---- */

static struct mt_budget_result at_most(enum mt_budget_rule rule, uint64_t found, uint64_t limit)
{
    return (struct mt_budget_result){
        .rule = rule, .found = found, .limit = limit, .ok = found <= limit};
}

static struct mt_budget_result check_growth(const struct mt_budget *b,
                                            const struct mt_budget_facts *f)
{
    struct mt_budget_result r = {.rule = MT_BUDGET_MAX_GROWTH, .is_signed = true};
    double limit = b->growth_is_share ? b->max_growth * (double)b->base_peak : b->max_growth;
    r.limit = limit >= 0x1p63 ? INT64_MAX : (uint64_t)limit;
    r.found_signed = (int64_t)(f->peak - b->base_peak);
    r.ok = r.found_signed <= (int64_t)r.limit;
    return r;
}

static struct mt_budget_result check_hits(const struct mt_budget *b,
                                          const struct mt_budget_facts *f)
{
    return (struct mt_budget_result){.rule = MT_BUDGET_MIN_HITS,
                                     .is_ratio = true,
                                     .is_unknown = !f->has_steps,
                                     .found_ratio = f->hits,
                                     .limit_ratio = b->min_hits,
                                     .ok = f->has_steps ? f->hits >= b->min_hits
                                                        : !b->unknown_breaks};
}

static struct mt_budget_result check_calls(const struct mt_budget *b,
                                           const struct mt_budget_facts *f)
{
    struct mt_budget_result r =
        at_most(MT_BUDGET_MAX_DRIVER_CALLS, f->driver_calls, (uint64_t)b->max_driver_calls);
    r.is_unknown = !f->has_steps;
    r.ok = r.is_unknown ? !b->unknown_breaks : r.ok;
    return r;
}

/* The first run of a history has nothing to be compared with. */
static struct mt_budget_result check_history(const struct mt_budget *b,
                                             const struct mt_budget_facts *f)
{
    struct mt_budget_result r = at_most(MT_BUDGET_HISTORY, f->peak, b->history_limit);
    r.is_unknown = !b->knows_history;
    r.ok = r.is_unknown ? !b->unknown_breaks : r.ok;
    return r;
}

static struct mt_budget_result check_one(const struct mt_budget *b, const struct mt_budget_facts *f,
                                         enum mt_budget_rule rule)
{
    switch (rule) {
    case MT_BUDGET_MAX_PEAK: return at_most(rule, f->peak, b->max_peak);
    case MT_BUDGET_MAX_RESERVED: return at_most(rule, f->reserved, b->max_reserved);
    case MT_BUDGET_MAX_GROWTH: return check_growth(b, f);
    case MT_BUDGET_HISTORY: return check_history(b, f);
    case MT_BUDGET_NO_OOM: return at_most(rule, f->ooms, 0);
    case MT_BUDGET_MAX_FRAG:
        return (struct mt_budget_result){.rule = rule,
                                         .is_ratio = true,
                                         .found_ratio = f->frag,
                                         .limit_ratio = b->max_frag,
                                         .ok = f->frag <= b->max_frag};
    case MT_BUDGET_MIN_HITS: return check_hits(b, f);
    case MT_BUDGET_MAX_DRIVER_CALLS: return check_calls(b, f);
    default: break;
    }
    struct mt_budget_result r =
        at_most(rule, f->bytes_per_step > 0 ? (uint64_t)f->bytes_per_step : 0, MT_LEAK_THRESHOLD);
    r.is_unknown = f->leak == MT_LEAK_UNKNOWN;
    r.by_prints = f->by_prints;
    r.ok = r.is_unknown ? !b->unknown_breaks : f->leak == MT_LEAK_NO;
    return r;
}

size_t mt_budget_check(const struct mt_budget *b, const struct mt_budget_facts *f,
                       struct mt_budget_result results[MT_BUDGET_RULE_COUNT])
{
    size_t n = 0;
    for (int rule = 0; rule < MT_BUDGET_RULE_COUNT; rule++) {
        if (b->rules >> rule & 1) {
            results[n] = check_one(b, f, (enum mt_budget_rule)rule);
            if (f->missing >> rule & 1 && results[n].ok) {
                results[n].is_missing = results[n].is_unknown = true;
                results[n].ok = !b->unknown_breaks;
            }
            n++;
        }
    }
    return n;
}
