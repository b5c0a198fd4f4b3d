/* SPDX-License-Identifier: MIT */
/* compare as JSON: compare/1 is of the dumps, compare/2 of any other moment. */
#include "print/report_json.h"
#include "print/peak_label.h"
#include "verbs/compare/print.h"

static void put_change(struct mt_out o, const char *const keys[3], uint64_t before, uint64_t after)
{
    mt_out_u64(o, keys[0], before);
    mt_out_u64(o, keys[1], after);
    mt_out_i64(o, keys[2], mt_diff_delta(before, after));
}

static void put_row(struct mt_out list, const struct mt_comparison *c,
                    const struct mt_diff_row *row)
{
    static const char *const BYTES[] = {"before_bytes", "after_bytes", "delta_bytes"};
    struct mt_out o = mt_out_object(list, NULL);
    uint32_t stack;
    const struct mt_snapshot *s = mt_compare_row_stack(c, row, &stack);
    put_change(o, BYTES, row->before, row->after);
    mt_out_u64(o, "before_count", row->before_count);
    mt_out_u64(o, "after_count", row->after_count);
    mt_out_text(o, "status", mt_diff_status_word(row->status));
    if (row->name.p) {
        mt_out_str(o, "name", row->name);
    } else {
        mt_out_bool(o, "moved", row->match == MT_DIFF_MOVED);
        mt_out_bool(o, "generated", row->match == MT_DIFF_GENERATED);
        mt_out_bool(o, "rerouted", row->match == MT_DIFF_REROUTED);
        mt_out_frames(o, s, stack);
        mt_out_forward(o, s, stack);
    }
}

static void put_rows(struct mt_out o, const struct mt_report *r, const struct mt_comparison *c)
{
    const struct mt_diff *d = c->diff;
    struct mt_out list = mt_out_array(o, c->options->by == MT_BY_STACK ? "stacks" : "groups");
    size_t shown = r->limit && d->rows.n > r->limit ? r->limit : d->rows.n;
    int64_t rest = mt_diff_delta(d->before, d->after);
    for (size_t i = 0; i < shown; i++) {
        put_row(list, c, &d->rows.v[i]);
        rest -= mt_diff_delta(d->rows.v[i].before, d->rows.v[i].after);
    }
    mt_out_i64(o, "others_bytes", rest);
    mt_out_u64(o, "others", d->rows.n - shown);
}

static void put_differences(struct mt_out o, const struct mt_differences *d)
{
    struct mt_out list = mt_out_array(o, "differences");
    for (size_t i = 0; i < d->v.n; i++) {
        struct mt_out one = mt_out_object(list, NULL);
        mt_out_str(one, "what", mt_buf_view(&d->v.v[i].what));
        mt_out_str(one, "before", mt_buf_view(&d->v.v[i].before));
        mt_out_str(one, "after", mt_buf_view(&d->v.v[i].after));
    }
}

static void put_moments(struct mt_out o, const char *key, const struct mt_compare_side *side)
{
    struct mt_out list = mt_out_array(o, key);
    for (size_t i = 0; i < side->moments.n; i++) {
        const struct mt_compare_moment *m = &side->moments.v[i];
        struct mt_out one = mt_out_object(list, NULL);
        mt_out_i64(one, "device", m->device);
        mt_out_known(one, "event", m->events_done > 0, m->events_done - 1);
        mt_out_time(one, "since_us", m->since_us);
        mt_out_u64(one, "bytes", m->live);
        mt_out_u64(one, "reserved_bytes", m->reserved);
        mt_out_u64(one, "reserved_peak_bytes", m->reserved_peak);
    }
}

/* What compare/2 says beyond compare/1. */
static void put_moment_keys(struct mt_out o, const struct mt_comparison *c)
{
    static const char *const RESERVED[] = {"before_reserved_bytes", "after_reserved_bytes",
                                           "delta_reserved_bytes"};
    put_change(o, RESERVED, c->before->reserved, c->after->reserved);
    int64_t between = mt_diff_delta(c->before->reserved, c->after->reserved) -
                      mt_diff_delta(c->diff->before, c->diff->after);
    if (c->filtered) {
        mt_out_null(o, "delta_unused_bytes");
    } else {
        mt_out_i64(o, "delta_unused_bytes", between);
    }
    put_moments(o, "before_moments", c->before);
    put_moments(o, "after_moments", c->after);
    put_differences(o, c->differences);
}

static void put_segments(struct mt_out root, const char *key, const struct mt_snapshot *s,
                         const uint32_t *list, size_t n)
{
    struct mt_out array = mt_out_array(root, key);
    for (size_t i = 0; i < n; i++) {
        struct mt_out o = mt_out_object(array, NULL);
        mt_out_i64(o, "device", s->segments[list[i]].device);
        mt_out_addr(o, "address", s->segments[list[i]].addr);
        mt_out_u64(o, "size_bytes", s->segments[list[i]].total_size);
    }
}

static void put_comparison(struct mt_out o, const struct mt_report *r,
                           const struct mt_comparison *c)
{
    static const char *const BYTES[] = {"before_bytes", "after_bytes", "delta_bytes"};
    mt_out_text(o, "before_file", c->before->file);
    put_change(o, BYTES, c->diff->before, c->diff->after);
    if (!mt_compare_is_of_dump(c->options)) {
        put_moment_keys(o, c);
    }
    put_rows(o, r, c);
    if (c->segments) {
        put_segments(o, "only_before", c->before->s, c->segments->only_before.v,
                     c->segments->only_before.n);
        put_segments(o, "only_after", c->after->s, c->segments->only_after.v,
                     c->segments->only_after.n);
    }
}

enum mt_status mt_report_compare_json(const struct mt_report *r, const struct mt_comparison *list,
                                      size_t n, struct mt_error *err)
{
    struct mt_json_out json;
    const struct mt_compare_options *options = list->options;
    bool dump = mt_compare_is_of_dump(options);
    struct mt_report named = *r;
    named.at = dump ? NULL : options->at.text ? options->at.text : mt_moment_name(options->at.kind);
    struct mt_out root = mt_report_json(&json, &named, dump ? "compare/1" : "compare/2", false);
    if (!dump) {
        mt_out_text(root, "by", MT_PEAK_BY_WORDS[options->by]);
    }
    if (n == 1) {
        put_comparison(root, r, list);
        return mt_report_json_end(root, err);
    }
    struct mt_out all = mt_out_array(root, "comparisons");
    for (size_t i = 0; i < n; i++) {
        struct mt_out o = mt_out_object(all, NULL);
        mt_out_text(o, "file", list[i].after->file);
        put_comparison(o, r, &list[i]);
    }
    return mt_report_json_end(root, err);
}
