/* SPDX-License-Identifier: MIT */
/* How the memory of one process went: moments, slopes, stacks that grew. */
#include "print/course_report.h"

#include <inttypes.h>

#include "print/report_json.h"

void mt_course_stack_label(void *ctx, struct mt_buf *out, const struct mt_snapshot *s,
                           uint32_t stack)
{
    mt_stack_label(out, s, stack, ctx);
    mt_stack_label_forward(out, s, stack);
}

static bool is_of_files(const struct mt_course *c)
{
    return c->points.n == 0 || c->points.v[0].line == 0;
}

/* Files of one name in several folders: "iteration_100/rank0.pickle". */
static struct mt_str short_name(const struct mt_course *c, const struct mt_course_point *p)
{
    struct mt_str name = mt_str_from(p->file);
    const struct mt_course_point *other = &c->points.v[p == c->points.v ? c->points.n - 1 : 0];
    struct mt_str base = mt_str_basename(name);
    return mt_str_equal(base, mt_str_basename(mt_str_from(other->file))) ? name : base;
}

static void add_place(struct mt_table *t, const struct mt_course *c,
                      const struct mt_course_point *p)
{
    struct mt_buf b = {0};
    if (p->line) {
        mt_buf_printf(&b, "line %zu", p->line);
        if (p->step >= 0) {
            mt_buf_printf(&b, ", step %" PRId64, p->step);
        }
    } else {
        mt_text_safe(&b, short_name(c, p));
    }
    mt_table_buf(t, &b);
    mt_buf_release(&b);
}

/* ---- text ---- */

/* "grows by 50.00 MiB" */
static void add_slope(struct mt_buf *b, const struct mt_report *r, int64_t step)
{
    uint64_t size = (uint64_t)(step < 0 ? -step : step);
    if (step == 0) {
        mt_buf_text(b, "neither grows nor falls");
    } else {
        mt_buf_printf(b, "%s by %s", step < 0 ? "falls" : "grows", mt_report_size(r, size).s);
    }
}

/* "live memory grows by 50.00 MiB from file to file over 4 files of one process" */
static void add_sentence(struct mt_buf *b, const struct mt_report *r, const struct mt_course *c)
{
    const char *each = is_of_files(c) ? "file" : "print";
    size_t n = c->points.n;
    if (n < c->least) {
        mt_buf_printf(b, "%zu moment%s of one process, and at least %zu are needed", n,
                      n == 1 ? "" : "s", c->least);
        return;
    }
    mt_buf_text(b, "live memory ");
    add_slope(b, r, c->live_step);
    c->by_step ? mt_buf_text(b, " a step, reserved memory ")
               : mt_buf_printf(b, " from %s to %s, reserved memory ", each, each);
    c->points.v[0].has_reserved ? add_slope(b, r, c->reserved_step)
                                : mt_buf_text(b, "is not known");
    mt_buf_printf(b, ", over %zu %ss of one process", n, each);
}

/* Why growth is no leak. */
static void add_reason(struct mt_buf *b, const struct mt_course *c)
{
    if (c->verdict != MT_COURSE_NO_LEAK || c->live_step <= 0) {
        return;
    }
    if ((uint64_t)c->live_step <= c->threshold) {
        mt_buf_printf(b, "; a leak is counted from %s bytes on (--threshold)",
                      mt_count_text(c->threshold).s);
    } else {
        mt_buf_text(b, "; not in the second half any more");
    }
}

static void add_who(struct mt_buf *b, const struct mt_course *c)
{
    if (c->rank >= 0) {
        mt_buf_printf(b, " (rank %" PRId32, c->rank);
        mt_buf_printf(b, c->device > 0 ? ", device %" PRId64 ")" : ")", c->device);
    } else if (c->device > 0) {
        mt_buf_printf(b, " (device %" PRId64 ")", c->device);
    }
}

/* From when on it only grew, where that is not the beginning. */
static void print_since(const struct mt_report *r, const struct mt_course *c)
{
    struct mt_buf b = {0};
    size_t n = c->points.n;
    if (n < c->least || c->live_step <= 0 || c->since == 0 || c->since + 1 >= n) {
        return;
    }
    if (c->points.v[c->since].line) {
        mt_buf_printf(&b, "line %zu", c->points.v[c->since].line);
    } else {
        mt_text_safe(&b, short_name(c, &c->points.v[c->since]));
    }
    mt_report_line(r, 2, "It rises from %s on.", mt_buf_view(&b).p);
    mt_buf_release(&b);
}

static void print_head(const struct mt_report *r, const struct mt_course *c, bool judged)
{
    static const char *const VERDICT[] = {"Unknown: ", "No leak: ", "Leak: "};
    bool leak = judged && c->verdict == MT_COURSE_LEAK;
    struct mt_buf b = {0};
    mt_buf_text(&b, judged ? VERDICT[c->verdict] : "");
    add_sentence(&b, r, c);
    add_who(&b, c);
    judged ? add_reason(&b, c) : (void)0;
    if (!judged && b.n && b.p[0] == 'l') {
        b.p[0] = 'L';
    }
    mt_report_line(r, 2, "%s%s%s", mt_color_begin(r, leak ? MT_COLOR_BAD : MT_COLOR_HEAD),
                   mt_buf_view(&b).p, mt_color_end(r));
    mt_buf_release(&b);
    print_since(r, c);
}

static enum mt_status print_stacks(const struct mt_report *r, const struct mt_course *c,
                                   struct mt_error *err)
{
    struct mt_table *t = mt_table_new();
    if (!t) {
        return mt_fail_nomem(err);
    }
    static const char *const TITLES[] = {"GROWTH", "ALIVE", "COUNT", "SINCE", "WHERE"};
    for (size_t i = 0; i < MT_COUNT(TITLES); i++) {
        mt_table_column(t, TITLES[i], i < 3 ? MT_RIGHT : MT_LEFT);
    }
    mt_table_names(t, "growth_bytes,live_bytes,count,since,stack");
    for (size_t i = 0; i < c->stacks.n && (!r->limit || i < r->limit); i++) {
        const struct mt_course_stack *k = &c->stacks.v[i];
        mt_table_delta(t, (int64_t)(k->last - k->first));
        mt_table_size(t, k->last);
        mt_table_count(t, k->count);
        add_place(t, c, &c->points.v[k->since]);
        mt_table_cell(t, "%s", k->name.p);
    }
    enum mt_status status = mt_table_print(t, r, 0, err);
    mt_table_free(t);
    return status;
}

static enum mt_status print_points(const struct mt_report *r, const struct mt_course *c,
                                   struct mt_error *err)
{
    struct mt_table *t = mt_table_new();
    if (!t) {
        return mt_fail_nomem(err);
    }
    const char *const titles[] = {"LIVE", "CHANGE", "RESERVED", "CHANGE",
                                  is_of_files(c) ? "FILE" : "PRINT"};
    for (size_t i = 0; i < MT_COUNT(titles); i++) {
        mt_table_column(t, titles[i], i < 4 ? MT_RIGHT : MT_LEFT);
    }
    mt_table_names(t, "live_bytes,live_change_bytes,reserved_bytes,reserved_change_bytes,moment");
    for (size_t i = 0; i < c->points.n; i++) {
        const struct mt_course_point *q = &c->points.v[i], *before = i ? q - 1 : q;
        bool both = i && q->has_reserved && before->has_reserved;
        mt_table_size(t, q->live);
        i ? mt_table_delta(t, (int64_t)(q->live - before->live)) : mt_table_cell(t, "%s", "");
        q->has_reserved ? mt_table_size(t, q->reserved) : mt_table_cell(t, "%s", "");
        both ? mt_table_delta(t, (int64_t)(q->reserved - before->reserved))
             : mt_table_cell(t, "%s", "");
        add_place(t, c, q);
    }
    enum mt_status status = mt_table_print(t, r, 0, err);
    mt_table_free(t);
    return status;
}

enum mt_status mt_report_course_text(const struct mt_report *r, const struct mt_course *c,
                                     bool judged, struct mt_error *err)
{
    if (!r->separator) {
        print_head(r, c, judged);
        fputc('\n', r->out);
    }
    MT_TRY(print_points(r, c, err));
    if (c->stacks.n && !r->separator) {
        fputc('\n', r->out);
        return print_stacks(r, c, err);
    }
    return MT_OK;
}

/* ---- JSON ---- */

static void put_points(struct mt_out root, const struct mt_course *c)
{
    struct mt_out list = mt_out_array(root, "series");
    for (size_t i = 0; i < c->points.n; i++) {
        const struct mt_course_point *q = &c->points.v[i];
        struct mt_out o = mt_out_object(list, NULL);
        mt_out_text(o, "file", q->file);
        if (q->line) {
            mt_out_u64(o, "line", q->line);
        }
        if (q->step >= 0) {
            mt_out_i64(o, "step", q->step);
        }
        mt_out_time(o, "us", q->us);
        mt_out_u64(o, "live_bytes", q->live);
        mt_out_known(o, "reserved_bytes", q->has_reserved, q->reserved);
    }
}

static void put_stacks(struct mt_out root, const struct mt_report *r, const struct mt_course *c)
{
    struct mt_out list = mt_out_array(root, "stacks");
    int64_t steps = c->points.n > 1 ? (int64_t)c->points.n - 1 : 1;
    for (size_t i = 0; i < c->stacks.n && (!r->limit || i < r->limit); i++) {
        const struct mt_course_stack *k = &c->stacks.v[i];
        struct mt_out o = mt_out_object(list, NULL);
        mt_out_i64(o, "bytes_per_step", (int64_t)(k->last - k->first) / steps);
        mt_out_u64(o, "live_bytes", k->last);
        mt_out_u64(o, "count", k->count);
        mt_out_str(o, "name", k->name);
        mt_out_text(o, "since", c->points.v[k->since].file);
    }
}

enum mt_status mt_report_course_json(const struct mt_report *r, const struct mt_course *c,
                                     bool judged, bool one_line, struct mt_error *err)
{
    static const char *const VERDICT[] = {"unknown", "no_leak", "leak"};
    struct mt_json_out json;
    struct mt_out root = mt_report_json(&json, r, judged ? "leaks/1" : "summary/1", one_line);
    if (judged) {
        mt_out_text(root, "verdict", VERDICT[c->verdict]);
        mt_out_null(root, "period");
    }
    mt_out_known(root, "rank", c->rank >= 0, (uint64_t)c->rank);
    mt_out_known(root, "device", c->device >= 0, (uint64_t)c->device);
    bool many = c->points.n > 1 && (!judged || c->points.n >= c->least);
    many ? mt_out_i64(root, "bytes_per_step", c->live_step) : mt_out_null(root, "bytes_per_step");
    many && c->points.v[0].has_reserved
        ? mt_out_i64(root, "reserved_bytes_per_step", c->reserved_step)
        : mt_out_null(root, "reserved_bytes_per_step");
    if (judged) {
        mt_out_u64(root, "threshold_bytes_per_step", c->threshold);
    }
    mt_out_text(root, "since",
                many && c->live_step > 0 && is_of_files(c) ? c->points.v[c->since].file : NULL);
    put_points(root, c);
    put_stacks(root, r, c);
    return mt_report_json_end(root, err);
}
