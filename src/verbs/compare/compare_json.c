/* SPDX-License-Identifier: MIT */
/* compare as JSON: compare/1 is of the dumps, compare/2 of any other moment. */
#include "print/json_put.h"
#include "print/peak_label.h"
#include "verbs/compare/print.h"

static void put_change(struct mt_put *p, cJSON *o, const char *const keys[3], uint64_t before,
                       uint64_t after)
{
    mt_put_u64(p, o, keys[0], before);
    mt_put_u64(p, o, keys[1], after);
    mt_put_i64(p, o, keys[2], mt_diff_delta(before, after));
}

static void put_row(struct mt_put *p, cJSON *list, const struct mt_comparison *c,
                    const struct mt_diff_row *row)
{
    static const char *const BYTES[] = {"before_bytes", "after_bytes", "delta_bytes"};
    cJSON *o = mt_put_object(p, list, NULL);
    uint32_t stack;
    const struct mt_snapshot *s = mt_compare_row_stack(c, row, &stack);
    put_change(p, o, BYTES, row->before, row->after);
    mt_put_u64(p, o, "before_count", row->before_count);
    mt_put_u64(p, o, "after_count", row->after_count);
    mt_put_text(p, o, "status", mt_diff_status_word(row->status));
    if (row->name.p) {
        mt_put_str(p, o, "name", row->name);
    } else {
        mt_put_bool(p, o, "moved", row->match == MT_DIFF_MOVED);
        mt_put_bool(p, o, "generated", row->match == MT_DIFF_GENERATED);
        mt_put_bool(p, o, "rerouted", row->match == MT_DIFF_REROUTED);
        mt_put_item(p, o, "frames", mt_json_frames(s, stack));
        mt_put_forward(p, o, s, stack);
    }
}

static void put_rows(struct mt_put *p, cJSON *o, const struct mt_report *r,
                     const struct mt_comparison *c)
{
    const struct mt_diff *d = c->diff;
    cJSON *list = mt_put_array(p, o, c->options->by == MT_BY_STACK ? "stacks" : "groups");
    size_t shown = r->limit && d->rows.n > r->limit ? r->limit : d->rows.n;
    int64_t rest = mt_diff_delta(d->before, d->after);
    for (size_t i = 0; i < shown; i++) {
        put_row(p, list, c, &d->rows.v[i]);
        rest -= mt_diff_delta(d->rows.v[i].before, d->rows.v[i].after);
    }
    mt_put_i64(p, o, "others_bytes", rest);
    mt_put_u64(p, o, "others", d->rows.n - shown);
}

static void put_differences(struct mt_put *p, cJSON *o, const struct mt_differences *d)
{
    cJSON *list = mt_put_array(p, o, "differences");
    for (size_t i = 0; i < d->v.n; i++) {
        cJSON *one = mt_put_object(p, list, NULL);
        mt_put_str(p, one, "what", mt_buf_view(&d->v.v[i].what));
        mt_put_str(p, one, "before", mt_buf_view(&d->v.v[i].before));
        mt_put_str(p, one, "after", mt_buf_view(&d->v.v[i].after));
    }
}

static void put_moments(struct mt_put *p, cJSON *o, const char *key,
                        const struct mt_compare_side *side)
{
    cJSON *list = mt_put_array(p, o, key);
    for (size_t i = 0; i < side->moments.n; i++) {
        const struct mt_compare_moment *m = &side->moments.v[i];
        cJSON *one = mt_put_object(p, list, NULL);
        mt_put_i64(p, one, "device", m->device);
        mt_put_known(p, one, "event", m->events_done > 0, m->events_done - 1);
        mt_put_time(p, one, "since_us", m->since_us);
        mt_put_u64(p, one, "bytes", m->live);
        mt_put_u64(p, one, "reserved_bytes", m->reserved);
        mt_put_u64(p, one, "reserved_peak_bytes", m->reserved_peak);
    }
}

/* What compare/2 says beyond compare/1. */
static void put_moment_keys(struct mt_put *p, cJSON *o, const struct mt_comparison *c)
{
    static const char *const RESERVED[] = {"before_reserved_bytes", "after_reserved_bytes",
                                           "delta_reserved_bytes"};
    put_change(p, o, RESERVED, c->before->reserved, c->after->reserved);
    int64_t between = mt_diff_delta(c->before->reserved, c->after->reserved) -
                      mt_diff_delta(c->diff->before, c->diff->after);
    if (c->filtered) {
        mt_put_null(p, o, "delta_unused_bytes");
    } else {
        mt_put_i64(p, o, "delta_unused_bytes", between);
    }
    put_moments(p, o, "before_moments", c->before);
    put_moments(p, o, "after_moments", c->after);
    put_differences(p, o, c->differences);
}

static void put_segments(struct mt_put *p, cJSON *root, const char *key,
                         const struct mt_snapshot *s, const uint32_t *list, size_t n)
{
    cJSON *array = mt_put_array(p, root, key);
    for (size_t i = 0; i < n; i++) {
        cJSON *o = mt_put_object(p, array, NULL);
        mt_put_i64(p, o, "device", s->segments[list[i]].device);
        mt_put_addr(p, o, "address", s->segments[list[i]].addr);
        mt_put_u64(p, o, "size_bytes", s->segments[list[i]].total_size);
    }
}

static void put_comparison(struct mt_put *p, cJSON *o, const struct mt_report *r,
                           const struct mt_comparison *c)
{
    static const char *const BYTES[] = {"before_bytes", "after_bytes", "delta_bytes"};
    mt_put_text(p, o, "before_file", c->before->file);
    put_change(p, o, BYTES, c->diff->before, c->diff->after);
    if (!mt_compare_is_of_dump(c->options)) {
        put_moment_keys(p, o, c);
    }
    put_rows(p, o, r, c);
    if (c->segments) {
        put_segments(p, o, "only_before", c->before->s, c->segments->only_before.v,
                     c->segments->only_before.n);
        put_segments(p, o, "only_after", c->after->s, c->segments->only_after.v,
                     c->segments->only_after.n);
    }
}

enum mt_status mt_report_compare_json(const struct mt_report *r, const struct mt_comparison *list,
                                      size_t n, struct mt_error *err)
{
    struct mt_put p = {0};
    const struct mt_compare_options *options = list->options;
    bool dump = mt_compare_is_of_dump(options);
    struct mt_report named = *r;
    named.at = dump ? NULL : options->at.text ? options->at.text : mt_moment_name(options->at.kind);
    cJSON *root = mt_json_begin(&named, dump ? "compare/1" : "compare/2");
    if (!dump) {
        mt_put_text(&p, root, "by", MT_PEAK_BY_WORDS[options->by]);
    }
    if (n == 1) {
        put_comparison(&p, root, r, list);
        return mt_put_end(&p, r, root, false, err);
    }
    cJSON *all = mt_put_array(&p, root, "comparisons");
    for (size_t i = 0; i < n; i++) {
        cJSON *o = mt_put_object(&p, all, NULL);
        mt_put_text(&p, o, "file", list[i].after->file);
        put_comparison(&p, o, r, &list[i]);
    }
    return mt_put_end(&p, r, root, false, err);
}
