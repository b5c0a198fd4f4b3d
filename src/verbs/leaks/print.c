/* SPDX-License-Identifier: MIT */
/* leaks as text: the verdict first, then the lines of code, then what else the trace shows. */
#include <inttypes.h>
#include <limits.h>

#include "verbs/leaks/print.h"
#include "heap/stacks/tensor_names.h"
#include "heap/sums/account.h"
#include "print/labels.h"
#include "support/units.h"

enum { SPARK_LEFT = 11, SPARK_COLUMNS = 48, SPARK_LEAST = 8 };

/* ---- the verdict ---- */

/* Reasons without figures. */
static const char *const PLAIN_REASONS[MT_LEAK_REASON_COUNT] = {
    [MT_LEAK_NO_EVENTS] = "the file has no events to judge by",
    [MT_LEAK_NO_PERIOD] = "nothing in the trace repeats often enough",
    [MT_LEAK_ONE_PASS] = "the trace holds one pass of the model; a leak shows from step to step",
    [MT_LEAK_REGROWN] = "tensors are made anew, larger in each step; a cache of generated tokens "
                        "grows so, and so does a tensor that is appended to",
    [MT_LEAK_CACHE] = "what grows is kept by lines that are called a cache; one that fills with "
                      "each token grows so, and so does one that is never emptied",
    [MT_LEAK_POOL] =
        "one line keeps several tensors per step, or now and then one of the same size, "
        "and nothing is learned from them; a cache that is paged grows so, and so does "
        "a list that is never emptied",
    [MT_LEAK_OUTWEIGHED] = "some lines hold more from step to step, but live memory as a whole "
                           "does not rise with them",
    [MT_LEAK_FLAT] = "what stays alive from step to step does not grow",
};

static void add_too_short(struct mt_sentence *b, size_t steps)
{
    if (steps == 0) {
        mt_sentence_add(b,
                        "the trace holds one step at most, and at least %d whole ones are needed",
                        MT_PERIODS_NEEDED);
        return;
    }
    mt_sentence_add(b, "the trace holds %zu whole step%s, and at least %d are needed", steps,
                    steps == 1 ? "" : "s", MT_PERIODS_NEEDED);
}

static void add_reason(struct mt_sentence *b, const struct mt_report *r, const struct mt_leaks *l)
{
    uint64_t rate = l->bytes_per_step > 0 ? (uint64_t)l->bytes_per_step : 0;
    const char *plain = PLAIN_REASONS[l->reason];
    if (plain) {
        mt_sentence_add(b, "%s", plain);
        return;
    }
    switch (l->reason) {
    case MT_LEAK_TOO_SHORT: add_too_short(b, mt_periods_count(&l->periods)); break;
    case MT_LEAK_FILL:
        mt_sentence_add(b,
                        "each round keeps %s and gives back little; a program that takes what it "
                        "needs looks so, and so does a leak",
                        mt_report_size(r, rate).s);
        break;
    case MT_LEAK_LAYERS:
        mt_sentence_add(b,
                        "some lines hold more and more, but %s the layers of one pass look like "
                        "steps that keep memory",
                        mt_period_doubt(&l->periods));
        break;
    case MT_LEAK_HELD:
        mt_sentence_add(b,
                        "what grows, by %s, is cuBLAS's workspaces, one a stream, or lies in "
                        "private pools, which CUDA graphs and MemPools keep",
                        mt_report_size(r, l->held_bytes).s);
        break;
    case MT_LEAK_FILLED:
        mt_sentence_add(b, "memory grew by %s and then stayed (a cache that filled, or warm-up)",
                        mt_report_size(r, l->filled_bytes).s);
        break;
    case MT_LEAK_GIVEN_BACK:
        mt_sentence_add(b, "memory was filled by %s, one block after the other, and %s given back",
                        mt_report_size(r, l->filled_bytes).s,
                        l->given_back_bytes < l->filled_bytes
                            ? mt_report_size(r, l->given_back_bytes).s
                            : "all of it was");
        break;
    case MT_LEAK_BELOW_LINE:
        mt_sentence_add(
            b,
            "live memory grows by %s per step; a leak is counted from %s bytes per step on "
            "(--threshold)",
            mt_report_size(r, rate).s, mt_count_text(l->threshold).s);
        break;
    case MT_LEAK_RISES:
        mt_sentence_add(b, "live memory of device %" PRId32 " grows by %s per step", l->device,
                        mt_report_size(r, rate).s);
        break;
    default: break;
    }
}

static void print_verdict(const struct mt_report *r, const struct mt_leaks *l)
{
    enum mt_color color = l->verdict == MT_LEAK_YES  ? MT_COLOR_BAD
                          : l->verdict == MT_LEAK_NO ? MT_COLOR_GOOD
                                                     : MT_COLOR_WARN;
    static const char *const WORD[] = {"Unknown", "No leak", "Leak"};
    bool slow = l->reason == MT_LEAK_BELOW_LINE;
    struct mt_sentence b = {0};
    mt_sentence_add(&b, "%s%s%s: ", mt_color_begin(r, slow ? MT_COLOR_WARN : color),
                    slow ? "Slow rise" : WORD[l->verdict], mt_color_end(r));
    add_reason(&b, r, l);
    mt_report_prose(r, 2, "%s", b.text);
}

static enum mt_status print_period(const struct mt_report *r, const struct mt_snapshot *s,
                                   const struct mt_leaks *l, struct mt_error *err)
{
    size_t n = mt_periods_count(&l->periods);
    if (!n) {
        return MT_OK;
    }
    struct mt_buf b = {0};
    uint64_t events = (l->periods.bounds.v[n] - l->periods.bounds.v[0]) / n;
    mt_period_begin_text(&b, r, s, &l->periods);
    mt_report_line(r, 4, "  %s whole %s%s of about %s event%s, %s", mt_count_text(n).s,
                   mt_period_word(&l->periods), n == 1 ? "" : "s", mt_count_text(events).s,
                   events == 1 ? "" : "s", mt_buf_view(&b).p);
    bool failed = b.failed;
    mt_buf_release(&b);
    return failed ? mt_fail_nomem(err) : MT_OK;
}

static size_t spark_columns(const struct mt_report *r, size_t n)
{
    int room = r->width > 0 ? r->width - SPARK_LEFT : SPARK_COLUMNS;
    size_t most = (size_t)(room < SPARK_LEAST ? SPARK_LEAST : room);
    most = most < SPARK_COLUMNS ? most : SPARK_COLUMNS;
    return n < most ? n : most;
}

/* The ends of the series and how it rises; `per_step` NULL: of no account. Where it is the second
 * half's and runs against the ends, it says so. */
static void add_ends(struct mt_sentence *b, const struct mt_report *r, const uint64_t *y, size_t n,
                     const int64_t *per_step)
{
    bool rises = y[n - 1] > y[0], falls = y[n - 1] < y[0];
    mt_sentence_add(b, "%s to %s", mt_report_size(r, y[0]).s, mt_report_size(r, y[n - 1]).s);
    if (per_step) {
        bool agrees = rises == (*per_step > 0) && falls == (*per_step < 0);
        mt_sentence_add(b, ", %s per step%s", mt_report_delta(r, *per_step).s,
                        agrees ? "" : " in the second half");
    }
}

/* Eighths of a line, the least of the series as the lowest. */
static void print_spark(const struct mt_report *r, const char *title, const uint64_t *y, size_t n,
                        const int64_t *per_step)
{
    static const char *const BARS[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    uint64_t low = UINT64_MAX;
    uint64_t high = 0;
    for (size_t i = 0; i < n; i++) {
        low = y[i] < low ? y[i] : low;
        high = y[i] > high ? y[i] : high;
    }
    struct mt_sentence says = {0};
    add_ends(&says, r, y, n, per_step);
    size_t columns = spark_columns(r, n);
    fprintf(r->out, "  %-9s", title);
    for (size_t c = 0; c < columns; c++) {
        uint64_t v = y[c * n / columns];
        double height = high > low ? (double)(v - low) / (double)(high - low) : 0;
        fputs(BARS[(int)(height * 7.0 + 0.5)], r->out);
    }
    int used = SPARK_LEFT + (int)columns + 2, words = mt_text_width(says.text);
    bool below = r->width > 0 && used + words > r->width;
    fprintf(r->out, below ? "\n%*s" : "  %.*s", below ? SPARK_LEFT : 0, "");
    mt_text_print_wrapped(r->out, says.text, below ? SPARK_LEFT : used, SPARK_LEFT,
                          r->width > 0 ? r->width : INT_MAX);
    fputc('\n', r->out);
}

/* ---- the lines of code ---- */

static void add_growth(struct mt_table *t, const struct mt_report *r, const struct mt_snapshot *s,
                       const struct mt_growth *g, struct mt_buf *b)
{
    mt_table_delta(t, g->bytes_per_step);
    mt_table_size(t, g->live_bytes);
    mt_table_count(t, g->count);
    mt_buf_reset(b);
    if (g->rest) {
        mt_buf_text(b, "many stacks together, none of which grows by itself");
    } else {
        mt_stack_label_long(b, s, g->stack, r);
    }
    mt_table_stack(t, b, 0, s, g->rest ? 0 : g->stack);
}

static void add_rest_and_total(struct mt_table *t, const struct mt_leaks *l, size_t shown)
{
    struct mt_growth all = {0};
    struct mt_growth rest = {0};
    for (size_t i = 0; i < l->stacks.n; i++) {
        const struct mt_growth *g = &l->stacks.v[i];
        all.live_bytes += g->live_bytes;
        all.count += g->count;
        if (i >= shown) {
            rest.bytes_per_step += g->bytes_per_step;
            rest.live_bytes += g->live_bytes;
            rest.count += g->count;
        }
    }
    if (shown < l->stacks.n) {
        mt_table_delta(t, rest.bytes_per_step);
        mt_table_size(t, rest.live_bytes);
        mt_table_count(t, rest.count);
        mt_table_cell_color(t, MT_COLOR_DIM, "[%zu other%s]", l->stacks.n - shown,
                            l->stacks.n - shown == 1 ? "" : "s");
    }
    mt_table_rule(t);
    mt_table_delta(t, l->bytes_per_step);
    mt_table_size(t, all.live_bytes);
    mt_table_count(t, all.count);
    mt_table_cell_color(t, MT_COLOR_HEAD, "TOTAL");
}

/* Who keeps the memory of the lines above, where the file has names of tensors. */
static enum mt_status print_keepers(const struct mt_report *r, const struct mt_snapshot *s,
                                    const struct mt_leaks *l, size_t shown, struct mt_error *err)
{
    for (size_t i = 0; i < shown; i++) {
        struct mt_keeper k;
        struct mt_buf b = {0};
        const struct mt_growth *g = &l->stacks.v[i];
        MT_TRY(mt_keeper_find(&k, s, g->rest ? 0 : g->stack, err));
        if (g->rest || !k.name) {
            continue;
        }
        mt_stack_label_long(&b, s, g->stack, r);
        mt_buf_text(&b, ": kept by ");
        mt_text_limited(&b, mt_snapshot_str(s, k.name));
        bool failed = b.failed;
        if (!failed) {
            mt_report_line(r, 4, "  %s (%s of %s)", b.p, mt_count_text(k.count).s,
                           mt_count_text(k.of).s);
        }
        mt_buf_release(&b);
        if (failed) {
            return mt_fail_nomem(err);
        }
    }
    return MT_OK;
}

static enum mt_status print_stacks(const struct mt_report *r, const struct mt_snapshot *s,
                                   const struct mt_leaks *l, struct mt_error *err)
{
    struct mt_table *t = mt_table_new();
    struct mt_buf b = {0};
    if (!t) {
        return mt_fail_nomem(err);
    }
    mt_table_names(t, "bytes_per_step,live_bytes,count,stack");
    mt_table_column(t, "PER STEP", MT_RIGHT);
    mt_table_column(t, "ALIVE", MT_RIGHT);
    mt_table_column(t, "COUNT", MT_RIGHT);
    mt_table_column(t, "WHERE", MT_LEFT);
    size_t shown = r->limit && r->limit < l->stacks.n ? r->limit : l->stacks.n;
    for (size_t i = 0; i < shown; i++) {
        add_growth(t, r, s, &l->stacks.v[i], &b);
    }
    if (!r->separator) {
        add_rest_and_total(t, l, shown);
        fputc('\n', r->out);
    }
    enum mt_status status = b.failed ? mt_fail_nomem(err) : mt_table_print(t, r, 0, err);
    mt_table_free(t);
    if (status == MT_OK && !r->separator) {
        status = print_keepers(r, s, l, shown, err);
    }
    for (size_t i = 0; status == MT_OK && r->stack_lines != 1 && !r->separator && i < shown; i++) {
        mt_buf_reset(&b);
        mt_buf_printf(&b, "\n%s per step:\n", mt_report_delta(r, l->stacks.v[i].bytes_per_step).s);
        mt_stack_lines(&b, s, l->stacks.v[i].stack, r, 4);
        mt_report_lines(r, mt_buf_view(&b).p);
        status = b.failed ? mt_fail_nomem(err) : MT_OK;
    }
    mt_buf_release(&b);
    return status;
}

/* ---- short lives, waiting frees ---- */

static void add_others(struct mt_table *t, size_t n)
{
    mt_table_cell_color(t, MT_COLOR_DIM, "[%zu other%s]", n, n == 1 ? "" : "s");
}

/* A row but for its last cell; `largest` may be NULL. */
static void add_temporary_sum(struct mt_table *t, uint64_t bytes, uint64_t count,
                              const uint64_t *largest)
{
    mt_table_size(t, bytes);
    mt_table_count(t, count);
    if (largest) {
        mt_table_size(t, *largest);
    } else {
        mt_table_cell(t, "%s", "");
    }
}

static enum mt_status print_temporary(const struct mt_report *r, const struct mt_snapshot *s,
                                      const struct mt_lifetimes *l, struct mt_error *err)
{
    struct mt_table *t = mt_table_new();
    struct mt_buf b = {0};
    if (!t) {
        return mt_fail_nomem(err);
    }
    mt_table_column(t, "SUM", MT_RIGHT);
    mt_table_column(t, "COUNT", MT_RIGHT);
    mt_table_column(t, "LARGEST", MT_RIGHT);
    mt_table_column(t, "WHERE", MT_LEFT);
    uint64_t bytes = l->temporary_bytes; /* of the rows that are not shown */
    uint64_t count = l->temporary_count;
    for (size_t i = 0; i < l->temporary.n && (!r->limit || i < r->limit); i++) {
        const struct mt_temporary *x = &l->temporary.v[i];
        add_temporary_sum(t, x->bytes, x->count, &x->largest);
        mt_buf_reset(&b);
        mt_stack_label_long(&b, s, x->stack, r);
        mt_table_stack(t, &b, 0, s, x->stack);
        bytes -= x->bytes;
        count -= x->count;
    }
    if (count) {
        add_temporary_sum(t, bytes, count, NULL);
        add_others(t, l->temporary.n - r->limit);
    }
    mt_table_rule(t);
    add_temporary_sum(t, l->temporary_bytes, l->temporary_count, NULL);
    mt_table_cell_color(t, MT_COLOR_HEAD, "TOTAL");
    enum mt_status status = b.failed ? mt_fail_nomem(err) : mt_table_print(t, r, 0, err);
    mt_buf_release(&b);
    mt_table_free(t);
    return status;
}

/* A row of sums, but for its last cell. */
static void add_pending_sum(struct mt_table *t, const struct mt_pending *sum)
{
    mt_table_cell(t, "%.3f", sum->byte_seconds / (double)MT_MIB);
    mt_table_size(t, sum->bytes);
    mt_table_count(t, sum->count);
    mt_table_cell(t, "%s", "");
    mt_table_cell(t, "%s", "");
}

static void add_pending(struct mt_table *t, const struct mt_report *r, const struct mt_snapshot *s,
                        const struct mt_pending *x, struct mt_buf *b)
{
    mt_table_cell(t, "%.3f", x->byte_seconds / (double)MT_MIB);
    mt_table_size(t, x->bytes);
    mt_table_count(t, x->count);
    mt_table_size(t, x->alive_bytes);
    mt_buf_reset(b);
    mt_stream_label(b, s, x->stream);
    mt_table_buf(t, b);
    mt_buf_reset(b);
    mt_stack_label_long(b, s, x->stack, r);
    mt_table_stack(t, b, 0, s, x->stack);
}

static enum mt_status print_pending(const struct mt_report *r, const struct mt_snapshot *s,
                                    const struct mt_lifetimes *l, struct mt_error *err)
{
    struct mt_table *t = mt_table_new();
    struct mt_buf b = {0};
    if (!t) {
        return mt_fail_nomem(err);
    }
    const struct mt_pending all = {.byte_seconds = l->pending_byte_seconds,
                                   .bytes = l->pending_bytes,
                                   .count = l->pending_count};
    struct mt_pending rest = all; /* of the rows that are not shown */
    static const char *const TITLES[] = {"MiB x s", "SUM", "COUNT", "STILL", "STREAM"};
    for (size_t i = 0; i < MT_COUNT(TITLES); i++) {
        mt_table_column(t, TITLES[i], i < 4 ? MT_RIGHT : MT_LEFT);
    }
    mt_table_column(t, "WHERE", MT_LEFT);
    for (size_t i = 0; i < l->pending.n && (!r->limit || i < r->limit); i++) {
        add_pending(t, r, s, &l->pending.v[i], &b);
        rest.byte_seconds -= l->pending.v[i].byte_seconds;
        rest.bytes -= l->pending.v[i].bytes;
        rest.count -= l->pending.v[i].count;
    }
    if (rest.count) {
        add_pending_sum(t, &rest);
        add_others(t, l->pending.n - r->limit);
    }
    mt_table_rule(t);
    add_pending_sum(t, &all);
    mt_table_cell_color(t, MT_COLOR_HEAD, "TOTAL");
    enum mt_status status = b.failed ? mt_fail_nomem(err) : mt_table_print(t, r, 0, err);
    mt_buf_release(&b);
    mt_table_free(t);
    return status;
}

static enum mt_status print_lives(const struct mt_report *r, const struct mt_snapshot *s,
                                  const struct mt_leaks_result *x, struct mt_error *err)
{
    const struct mt_lifetimes *l = x->lives;
    if (l->allocs) {
        fputc('\n', r->out);
        mt_report_line(r, 2,
                       "Short lives: %s of %s allocations are freed within %s events, %s in all%s",
                       mt_count_text(l->temporary_count).s, mt_count_text(l->allocs).s,
                       mt_count_text(l->within).s, mt_report_size(r, l->temporary_bytes).s,
                       x->show_temporary || !l->temporary_count ? "" : " (--temporary lists them)");
    }
    if (x->show_temporary && l->temporary.n) {
        MT_TRY(print_temporary(r, s, l, err));
    }
    if (l->pending_count || x->show_pending) {
        fputs(x->show_temporary && l->temporary.n ? "\n" : "", r->out);
        mt_report_line(r, 2, "Waiting frees: %s (%s) freed, but had to wait for another stream%s",
                       mt_counted_text(l->pending_count, "block").s,
                       mt_report_size(r, l->pending_bytes).s,
                       x->show_pending ? "" : " (--pending lists them)");
    }
    return x->show_pending && l->pending.n ? print_pending(r, s, l, err) : MT_OK;
}

/* ---- what to do ---- */

static void print_capacity(const struct mt_report *r, const struct mt_leaks_result *x)
{
    const struct mt_leaks *l = x->leaks;
    if (l->has_steps_left) {
        mt_report_line(r, 2, "  at this rate %s are full in %s steps (the last step peaked at %s)",
                       mt_report_size(r, x->capacity).s, mt_count_text(l->steps_left).s,
                       mt_report_size(r, l->last_peak).s);
    }
}

static void print_causes(const struct mt_report *r, const struct mt_snapshot *s)
{
    struct mt_recorded recorded;
    mt_recorded_find(&recorded, s);
    fputc('\n', r->out);
    if (recorded.plain) {
        mt_report_prose(r, 0,
                        "Usual causes: an allocation without its free, a buffer made anew in each "
                        "step, a cache without a bound.");
    } else {
        mt_report_prose(r, 0,
                        "Usual causes: tensors kept in a list or dict, a loss or metric "
                        "summed without .item(), which keeps its graph.");
        mt_report_prose(r, 0,
                        "Try .detach() or .item() where the first line above stores a tensor.");
    }
    mt_report_prose(r, 0, "memtool leaks --stack full shows the whole call stack.");
}

/* Whether live memory took at least half of what was reserved anew. */
static bool live_rises(const struct mt_leaks *l)
{
    uint64_t live = l->live.v[l->live.n - 1], reserved = l->reserved.v[l->reserved.n - 1];
    uint64_t rose = live > l->live.v[0] ? live - l->live.v[0] : 0;
    return reserved > l->reserved.v[0] && rose >= (reserved - l->reserved.v[0]) / 2;
}

/* Growth that is seen but may be right is not told better by a longer trace. */
static bool more_would_tell(enum mt_leak_reason reason)
{
    return reason == MT_LEAK_NO_PERIOD || reason == MT_LEAK_ONE_PASS ||
           reason == MT_LEAK_TOO_SHORT || reason == MT_LEAK_LAYERS || reason == MT_LEAK_REGROWN ||
           reason == MT_LEAK_CACHE || reason == MT_LEAK_POOL;
}

static void print_advice(const struct mt_report *r, const struct mt_snapshot *s,
                         const struct mt_leaks *l)
{
    if (l->verdict == MT_LEAK_YES) {
        print_causes(r, s);
    } else if (more_would_tell(l->reason)) {
        fputc('\n', r->out);
        mt_report_prose(r, 0,
                        "Record more steps, or say where a step begins: --period ANNOTATION or "
                        "--period EVENTS.");
    } else if (l->reserved_bytes_per_step > (int64_t)l->threshold && !live_rises(l)) {
        fputc('\n', r->out);
        mt_report_prose(r, 0, "Reserved memory grows %s: a growing cache or fragmentation.",
                        l->reason == MT_LEAK_BELOW_LINE ? "much faster than live memory"
                                                        : "while live memory does not");
        mt_report_prose(r, 0, "Next: memtool frag");
    }
}

enum mt_status mt_report_leaks_text(const struct mt_report *r, const struct mt_snapshot *s,
                                    const struct mt_leaks_result *x, struct mt_error *err)
{
    const struct mt_leaks *l = x->leaks;
    if (r->separator) { /* the rows that one would sort: what grows */
        return print_stacks(r, s, l, err);
    }
    print_verdict(r, l);
    MT_TRY(print_period(r, s, l, err));
    if (l->live.n) {
        double fit = l->stacks.n ? l->fit : 0;
        bool level = l->live.v[0] == l->live.v[l->live.n - 1];
        print_spark(r, "live", l->live.v, l->live.n,
                    l->stacks.n || level ? &l->bytes_per_step : NULL);
        if (mt_source_has_reserved(&s->source)) {
            print_spark(r, "reserved", l->reserved.v, l->reserved.n, &l->reserved_bytes_per_step);
        }
        if (fit > 0) {
            mt_report_line(r, 4, "  fit %.3f (1 is a straight line)", fit);
        }
    }
    print_capacity(r, x);
    if (x->other_devices) {
        fprintf(r->out, "  device %" PRId32 " is the worst of %zu\n", l->device,
                x->other_devices + 1);
    }
    if (l->stacks.n) {
        MT_TRY(print_stacks(r, s, l, err));
    }
    print_advice(r, s, l);
    return print_lives(r, s, x, err);
}
