/* SPDX-License-Identifier: MIT */
/* steps as text and CSV: the rows, then what a usual step is made of. */
#include <inttypes.h>

#include "support/checked.h"
#include "print/peak_label.h"
#include "print/driver_report.h"
#include "print/labels.h"
#include "verbs/steps/steps_words.h"
#include "verbs/steps/print.h"
#include "support/units.h"

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* ---- the head ---- */

static enum mt_status print_head(const struct mt_report *r, const struct mt_snapshot *s,
                                 const struct mt_trace_steps *x, struct mt_error *err)
{
    struct mt_buf b = {0};
    if (!x->has_events) {
        mt_report_prose(r, 2, "Device %" PRId32 ": the file has no events.", x->device);
        return MT_OK;
    }
    if (!x->rows.n) {
        mt_report_prose(r, 2,
                        "Device %" PRId32
                        ": the trace does not show where a step begins; pass --period "
                        "EVENTS or --period NAME, an annotation.",
                        x->device);
        return MT_OK;
    }
    mt_buf_printf(&b, "%sDevice %" PRId32 ": ", mt_color_begin(r, MT_COLOR_HEAD), x->device);
    mt_steps_count(&b, x);
    mt_buf_text(&b, mt_color_end(r));
    mt_steps_say_begin(&b, r, s, x);
    mt_report_line(r, 2, "%s", mt_buf_view(&b).p);
    if (x->periods.passes.n > x->rows.n) {
        mt_report_line(r, 2, "  the model is called %s times in %s",
                       mt_count_text(x->periods.passes.n).s, x->rows.n == 1 ? "it" : "them");
    }
    if (x->periods.may_be_layers) {
        mt_report_prose(
            r, 4, "  %s these may be the layers of one pass%s; --period says what a step is",
            mt_period_doubt(&x->periods),
            x->periods.of_frames || x->periods.learns ? "" : ": each keeps most of what it takes");
    }
    bool failed = b.failed;
    mt_buf_release(&b);
    return failed ? mt_fail_nomem(err) : MT_OK;
}

/* "After warm-up: 1,645 requests per step, 100.0 % of them served by the cache". */
static void print_typical(const struct mt_report *r, const struct mt_trace_steps *x)
{
    struct mt_trace_steps_typical t = x->typical;
    const char *word = mt_period_word(&x->periods);
    struct mt_sentence b = {0};
    if (t.steps < 2) {
        return;
    }
    mt_sentence_add(
        &b, "%s: median peak %s, %s requests per %s, %.1f %% of them served by the cache, ",
        x->rows.v[0].warm_up ? "after warm-up" : "of all steps", mt_report_size(r, t.peak_bytes).s,
        mt_count_text(t.requests).s, word, 100 * t.hit_rate);
    if (t.device_allocs) {
        mt_sentence_add(&b, "the driver is asked for memory %s per %s",
                        mt_counted_text(t.device_allocs, "time").s, word);
    } else {
        mt_sentence_add(&b,
                        t.most_device_allocs ? "most %ss do not ask the driver for memory"
                                             : "no %s asks the driver for memory",
                        word);
    }
    if (t.us >= 0) {
        mt_sentence_add(&b, ", %s", mt_duration_text(t.us).s);
    }
    mt_report_prose(r, 4, "  %s", b.text);
}

/* ---- the rows ---- */

/* The step, from 1 on; in CSV the device before it. */
static void add_number(struct mt_table *t, const struct mt_report *r,
                       const struct mt_trace_steps *x, size_t i)
{
    if (r->separator) {
        mt_table_cell(t, "%" PRId32, x->device);
    }
    mt_table_count(t, i + 1);
}

static void add_part(struct mt_table *t, const struct mt_report *r, const struct mt_step_part *p)
{
    mt_table_count(t, p->requests);
    mt_table_size(t, p->requested_bytes);
    mt_table_count(t, p->device_allocs);
    if (!p->requests) {
        mt_table_cell(t, "%s", "");
    } else if (r->separator) {
        mt_table_cell(t, "%.4f", mt_step_hit_rate(p));
    } else {
        mt_table_cell(t, "%.1f %%", 100 * mt_step_hit_rate(p));
    }
}

static void add_time(struct mt_table *t, const struct mt_report *r, const struct mt_step_row *row)
{
    bool known = row->from_us != MT_NO_TIME && row->to_us != MT_NO_TIME;
    int64_t us = known ? mt_time_between(row->from_us, row->to_us) : 0;
    if (known && r->separator) {
        mt_table_cell(t, "%" PRId64, us);
    } else {
        mt_table_cell(t, "%s", known ? mt_duration_text(us).s : "");
    }
}

static struct mt_table *new_table(const struct mt_report *r)
{
    static const struct {
        const char *title;
        enum mt_align align;
    } COLUMNS[] = {{"STEP", MT_RIGHT},      {"BEFORE", MT_RIGHT}, {"PEAK", MT_RIGHT},
                   {"IN", MT_LEFT},         {"AFTER", MT_RIGHT},  {"REQUESTS", MT_RIGHT},
                   {"ASKED FOR", MT_RIGHT}, {"DRIVER", MT_RIGHT}, {"HITS", MT_RIGHT},
                   {"TIME", MT_RIGHT},      {"NOTE", MT_LEFT}};
    struct mt_table *t = mt_table_new();
    if (t && r->separator) {
        mt_table_column(t, "DEVICE", MT_RIGHT);
    }
    for (size_t i = 0; t && i < MT_COUNT(COLUMNS); i++) {
        mt_table_column(t, COLUMNS[i].title, COLUMNS[i].align);
    }
    return t;
}

static void add_row(struct mt_table *t, const struct mt_report *r, const struct mt_trace_steps *x,
                    size_t i)
{
    const struct mt_step_row *row = &x->rows.v[i];
    add_number(t, r, x, i);
    mt_table_size(t, row->live_before);
    mt_table_size(t, row->all.peak_bytes);
    mt_table_cell(t, "%s", mt_phase_name(row->peak_phase));
    mt_table_size(t, row->live_after);
    add_part(t, r, &row->all);
    add_time(t, r, row);
    struct mt_sentence note = {0};
    mt_steps_note(&note, x, i);
    mt_table_cell(t, "%s", note.text);
}

static enum mt_status print_rows(const struct mt_report *r, const struct mt_trace_steps *x,
                                 struct mt_error *err)
{
    struct mt_table *t = new_table(r);
    if (!t) {
        return mt_fail_nomem(err);
    }
    size_t shown = r->limit && r->limit < x->rows.n ? r->limit : x->rows.n;
    fputc('\n', r->out);
    for (size_t i = 0; i < shown; i++) {
        add_row(t, r, x, i);
    }
    enum mt_status status = mt_table_print(t, r, 0, err);
    mt_table_free(t);
    if (shown < x->rows.n) {
        mt_report_line(r, 2, "[%s others; -n 0 shows all]", mt_count_text(x->rows.n - shown).s);
    }
    return status;
}

/* ", most of it from train.py:58 forward", appended; nothing for 0. */
static void add_line_of(struct mt_buf *b, const struct mt_report *r, const struct mt_snapshot *s,
                        uint32_t stack)
{
    if (stack && s->stacks[stack].n) {
        mt_buf_text(b, ", most of it from ");
        mt_stack_label_long(b, s, stack, r);
    }
}

/* What is left after the steps [first, last], where that is the question of leaks. */
static void print_leak(const struct mt_report *r, const struct mt_snapshot *s,
                       const struct mt_trace_steps *x)
{
    static const char *const SAYS[] = {
        [MT_LEAK_UNKNOWN] = "memtool leaks says why that proves no leak",
        [MT_LEAK_NO] = "memtool leaks says why that is no leak",
    };
    size_t last = x->whole ? x->whole - 1 : 0, first = 0;
    while (first < last && x->rows.v[first].warm_up) {
        first++;
    }
    if (x->leak == MT_LEAK_YES) {
        struct mt_buf b = {0};
        add_line_of(&b, r, s, x->leak_stack);
        mt_report_prose(
            r, 2, "\nWhat stays alive grows by %s per step: a leak%s. memtool leaks says more.",
            mt_report_size(r, (uint64_t)x->leak_bytes_per_step).s, b.n ? mt_buf_view(&b).p : "");
        mt_buf_release(&b);
        return;
    }
    uint64_t before = x->rows.v[first].live_after, after = x->rows.v[last].live_after;
    if (after > before && (after - before) / (last - first) >= MT_LEAK_THRESHOLD) {
        mt_report_prose(r, 2, "\nAFTER rises from %s in step %s to %s in step %s; %s.",
                        mt_report_size(r, before).s, mt_count_text(first + 1).s,
                        mt_report_size(r, after).s, mt_count_text(last + 1).s, SAYS[x->leak]);
    }
}

/* ---- phases ---- */

static void add_phases(struct mt_table *t, const struct mt_report *r,
                       const struct mt_trace_steps *x, size_t step)
{
    const struct mt_step_row *row = &x->rows.v[step];
    for (int k = 0; k < MT_PHASE_COUNT; k++) {
        const struct mt_step_part *p = &row->phases[k];
        if (!p->events) {
            continue;
        }
        add_number(t, r, x, step);
        mt_table_cell(t, "%s", mt_phase_name((enum mt_phase)k));
        mt_table_size(t, p->peak_bytes);
        mt_table_delta(t, p->change_bytes);
        add_part(t, r, p);
    }
}

/* The last step with evaluation, where that of which the phases are shown has none; else n. */
static size_t step_with_evaluation(const struct mt_trace_steps *x)
{
    size_t i = x->rows.v[x->shown].phases[MT_PHASE_EVALUATION].requests ? 0 : x->rows.n;
    while (i > 0 && !x->rows.v[i - 1].phases[MT_PHASE_EVALUATION].requests) {
        i--;
    }
    return i ? i - 1 : x->rows.n;
}

/* Of the steps [first, end), and of step `also`, where there is such a step. */
static enum mt_status print_phases(const struct mt_report *r, const struct mt_trace_steps *x,
                                   size_t first, size_t end, size_t also, struct mt_error *err)
{
    static const char *const TITLES[] = {"PEAK",      "CHANGE", "REQUESTS",
                                         "ASKED FOR", "DRIVER", "HITS"};
    struct mt_table *t = mt_table_new();
    if (!t) {
        return mt_fail_nomem(err);
    }
    mt_table_column(t, "STEP", MT_RIGHT);
    mt_table_column(t, "PHASE", MT_LEFT);
    for (size_t i = 0; i < MT_COUNT(TITLES); i++) {
        mt_table_column(t, TITLES[i], MT_RIGHT);
    }
    if (also < first) {
        add_phases(t, r, x, also);
    }
    for (size_t i = first; i < end; i++) {
        add_phases(t, r, x, i);
    }
    if (also >= end && also < x->rows.n) {
        add_phases(t, r, x, also);
    }
    fputc('\n', r->out);
    enum mt_status status = mt_table_print(t, r, 0, err);
    mt_table_free(t);
    return status;
}

/* ---- what one pass is made of ---- */

/* What a step holds at its peak, most first, unknown last. */
static enum mt_status print_categories(const struct mt_report *r, const struct mt_snapshot *s,
                                       const struct mt_trace_steps *x, struct mt_error *err)
{
    struct mt_buf b = {0};
    fputc('\n', r->out);
    if (x->rows.n > 1) {
        char at[48] = ""; /* --at finds the steps itself, and counts from 0 */
        if (x->periods.source != MT_PERIOD_OPTION && x->shown < x->whole) {
            snprintf(at, sizeof at, " (--at step:%zu)", x->shown);
        }
        mt_report_line(r, 2, "The peak of step %s%s holds %s (at event %s)",
                       mt_count_text(x->shown + 1).s, at, mt_report_size(r, x->at_bytes).s,
                       mt_count_text(x->at_event).s);
    } else {
        mt_report_line(r, 2, "The peak holds %s (at event %s)", mt_report_size(r, x->at_bytes).s,
                       mt_count_text(x->at_event).s);
    }
    bool done[MT_CATEGORY_COUNT] = {false};
    for (enum mt_category c; (c = mt_category_next(done, x->by_category)) < MT_CATEGORY_COUNT;) {
        const char *sure = mt_category_sure_word(c, x->sure[c]);
        bool high = !sure || mt_sureness_of(x->sure[c]) == MT_SURE_HIGH;
        mt_buf_reset(&b);
        mt_buf_printf(&b, "%12s  %5.1f %%  %s%s%s%s", mt_report_size(r, x->by_category[c]).s,
                      percent(x->by_category[c], x->at_bytes), mt_category_name(c),
                      high ? "" : " (", high ? "" : sure, high ? "" : " confidence)");
        add_line_of(&b, r, s, c == MT_CATEGORY_WORKSPACE ? 0 : x->most_from[c]);
        mt_report_line(r, 2, "%s", mt_buf_view(&b).p);
    }
    bool failed = b.failed;
    mt_buf_release(&b);
    return failed ? mt_fail_nomem(err) : MT_OK;
}

/* "Another layer would cost 27.03 MiB of activations, 27.04 MiB of weights". No sum: at no moment
 * need all of them be alive. */
static void print_another(const struct mt_report *r, const struct mt_layers *l)
{
    const struct {
        uint64_t bytes;
        const char *what;
    } PARTS[] = {{l->bytes, "activations"},
                 {l->weights, "weights"},
                 {l->gradients, "gradients"},
                 {l->state, "optimizer state"}};
    struct mt_sentence b = {0};
    for (size_t i = 0; i < MT_COUNT(PARTS); i++) {
        if (PARTS[i].bytes) {
            mt_sentence_add(&b, "%s%s of %s", i ? ", " : "", mt_report_size(r, PARTS[i].bytes).s,
                            PARTS[i].what);
        }
    }
    if (!l->weights && !l->gradients && !l->state) {
        mt_report_prose(
            r, 2, "Another layer would cost %s, plus its weights, which this trace does not show.",
            b.text);
    } else {
        mt_report_prose(
            r, 2,
            "Another layer would cost %s%s, counting the sizes that every layer has. Not "
            "all of these need be alive at the peak.",
            b.text, l->weights ? "" : ", plus its weights, which this trace does not show");
    }
}

static enum mt_status print_layers(const struct mt_report *r, const struct mt_snapshot *s,
                                   const struct mt_trace_steps *x, struct mt_error *err)
{
    enum { SHOWN = 8 };
    const struct mt_layers *l = &x->layers;
    if (!l->count) {
        return MT_OK;
    }
    fputc('\n', r->out);
    mt_report_prose(
        r, 2,
        "One pass: %s layers that keep %s each; %s before them, %s after them (head and "
        "loss).",
        mt_count_text(l->count).s, mt_report_size(r, l->bytes).s, mt_report_size(r, l->before).s,
        mt_report_size(r, l->after).s);
    print_another(r, l);
    struct mt_table *t = mt_table_new();
    struct mt_buf b = {0};
    if (!t) {
        return mt_fail_nomem(err);
    }
    mt_table_column(t, "PER LAYER", MT_RIGHT);
    mt_table_column(t, "COUNT", MT_RIGHT);
    mt_table_column(t, "WHERE", MT_LEFT);
    size_t shown = r->limit && l->parts.n > SHOWN ? SHOWN : l->parts.n;
    for (size_t i = 0; i < shown; i++) {
        mt_table_size(t, l->parts.v[i].bytes);
        mt_table_count(t, l->parts.v[i].count);
        mt_buf_reset(&b);
        mt_stack_label_inner(&b, s, l->parts.v[i].stack, r);
        mt_table_stack(t, &b, 0, s, l->parts.v[i].stack);
    }
    enum mt_status status = b.failed ? mt_fail_nomem(err) : mt_table_print(t, r, 2, err);
    mt_buf_release(&b);
    mt_table_free(t);
    if (shown < l->parts.n) {
        mt_report_line(r, 2, "[%s others; -n 0 shows all]", mt_count_text(l->parts.n - shown).s);
    }
    return status;
}

/* After warm-up a call or two is none to speak of. */
static enum mt_status print_driver(const struct mt_report *r, const struct mt_snapshot *s,
                                   const struct mt_trace_steps *x, struct mt_error *err)
{
    bool warm = x->rows.n && x->rows.v[0].warm_up;
    if (!warm || x->driver.taken + x->driver.given >= MT_FEW_REGAINED) {
        MT_TRY(mt_report_driver_price(r, s, &x->driver, warm ? "after warm-up" : "for memory",
                                      x->driver_span_us, err));
    }
    return mt_report_emptied(r, s, &x->driver, x->driver_span_us, err);
}

static enum mt_status print_device(const struct mt_report *r, const struct mt_snapshot *s,
                                   const struct mt_trace_steps *x, bool phases,
                                   struct mt_error *err)
{
    size_t shown = r->limit && r->limit < x->rows.n ? r->limit : x->rows.n;
    MT_TRY(print_head(r, s, x, err));
    print_typical(r, x);
    MT_TRY(print_driver(r, s, x, err));
    if (x->rows.n) {
        MT_TRY(phases ? print_phases(r, x, 0, shown, x->rows.n, err) : print_rows(r, x, err));
        print_leak(r, s, x);
    }
    if (x->rows.n && !phases) {
        MT_TRY(print_phases(r, x, x->shown, x->shown + 1, step_with_evaluation(x), err));
    }
    if (x->has_events) {
        MT_TRY(print_categories(r, s, x, err));
    }
    return print_layers(r, s, x, err);
}

/* ---- CSV ---- */

static enum mt_status print_csv(const struct mt_report *r, const struct mt_trace_steps *devices,
                                size_t n, bool phases, struct mt_error *err)
{
    struct mt_table *t = phases ? mt_table_new() : new_table(r);
    if (!t) {
        return mt_fail_nomem(err);
    }
    static const char *const TITLES[] = {"device",          "step",          "phase",
                                         "peak_bytes",      "change_bytes",  "requests",
                                         "requested_bytes", "device_allocs", "hit_share"};
    for (size_t i = 0; phases && i < MT_COUNT(TITLES); i++) {
        mt_table_column(t, TITLES[i], MT_RIGHT);
    }
    if (!phases) {
        mt_table_names(t,
                       "device,step,live_before_bytes,peak_bytes,phase,live_after_bytes,requests,"
                       "requested_bytes,device_allocs,hit_share,us,note");
    }
    for (size_t d = 0; d < n; d++) {
        for (size_t i = 0; i < devices[d].rows.n && (!r->limit || i < r->limit); i++) {
            phases ? add_phases(t, r, &devices[d], i) : add_row(t, r, &devices[d], i);
        }
    }
    enum mt_status status = mt_table_print(t, r, 0, err);
    mt_table_free(t);
    return status;
}

enum mt_status mt_report_steps_text(const struct mt_report *r, const struct mt_snapshot *s,
                                    const struct mt_trace_steps *devices, size_t n, bool phases,
                                    struct mt_error *err)
{
    if (r->separator) {
        return print_csv(r, devices, n, phases, err);
    }
    for (size_t i = 0; i < n; i++) {
        fputs(i ? "\n" : "", r->out);
        MT_TRY(print_device(r, s, &devices[i], phases, err));
    }
    if (!n) {
        fputs("No device has segments or events.\n", r->out);
    }
    return MT_OK;
}
