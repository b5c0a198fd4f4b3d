/* SPDX-License-Identifier: MIT */
/* ranks/1. */
#include "print/report_json.h"
#include "verbs/ranks/print.h"

static const char *const NAMES[] = {
#define X(id, name, heading) name,
    MT_RANK_FIGURE_MAP(X)
#undef X
};

/* n, or null where it is not known. */
static void put_signed(struct mt_out o, const char *key, bool known, int64_t n)
{
    known ? mt_out_i64(o, key, n) : mt_out_null(o, key);
}

static void put_rank(struct mt_out list, const struct mt_rank *rank)
{
    struct mt_out o = mt_out_object(list, NULL);
    mt_out_i64(o, "rank", rank->rank);
    mt_out_str(o, "file", rank->file);
    for (int k = 0; k < MT_RANK_FIGURE_COUNT; k++) {
        mt_out_known(o, NAMES[k], rank->known >> k & 1, rank->figure[k]);
    }
    put_signed(o, "bytes_per_step", rank->knows_growth, rank->bytes_per_step);
    mt_out_known(o, "outside_bytes", rank->knows_outside, rank->outside_bytes);
    put_signed(o, "headroom_bytes", rank->knows_headroom, rank->headroom_bytes);
    mt_out_time(o, "first_oom_us", rank->first_oom_us);
    put_signed(o, "stage", rank->stage >= 0, rank->stage);
    put_signed(o, "device", rank->device >= 0, rank->device);
}

static void put_lost(struct mt_out root, const struct mt_ranks *ranks)
{
    struct mt_out missing = mt_out_array(root, "missing");
    for (size_t i = 0; i < ranks->gaps.n; i++) {
        struct mt_out o = mt_out_object(missing, NULL);
        mt_out_i64(o, "from", ranks->gaps.v[i].from);
        mt_out_i64(o, "to", ranks->gaps.v[i].to);
    }
    struct mt_out lost = mt_out_array(root, "unreadable");
    for (size_t i = 0; i < ranks->lost.n; i++) {
        const struct mt_rank_lost *x = &ranks->lost.v[i];
        struct mt_out o = mt_out_object(lost, NULL);
        put_signed(o, "rank", x->rank >= 0, x->rank);
        mt_out_str(o, "file", x->file);
    }
    size_t next, first = mt_ranks_first_oom(ranks, &next);
    put_signed(root, "first_oom_rank", first != SIZE_MAX,
               first == SIZE_MAX ? 0 : ranks->ranks.v[first].rank);
}

static void put_range(struct mt_out root, const char *key, const struct mt_ranks_result *x,
                      size_t which)
{
    struct mt_out o = mt_out_object(root, key);
    for (int k = 0; k < MT_RANK_FIGURE_COUNT; k++) {
        const struct mt_rank_range *range = &x->figure[k];
        const uint64_t values[] = {range->min, range->median, range->max};
        mt_out_known(o, NAMES[k], range->n > 0, values[which]);
    }
}

static void put_stage(struct mt_out list, const struct mt_rank_stage *stage)
{
    struct mt_out o = mt_out_object(list, NULL);
    mt_out_i64(o, "stage", stage->stage);
    mt_out_u64(o, "ranks", stage->ranks);
    mt_out_known(o, "min_bytes", stage->peak.n > 0, stage->peak.min);
    mt_out_known(o, "median_bytes", stage->peak.n > 0, stage->peak.median);
    mt_out_known(o, "max_bytes", stage->peak.n > 0, stage->peak.max);
    mt_out_bool(o, "odd", stage->odd);
}

static void put_excess(struct mt_out list, const struct mt_ranks *ranks,
                       const struct mt_rank_excess *e)
{
    struct mt_out o = mt_out_object(list, NULL);
    mt_out_u64(o, "more_bytes", e->bytes - e->median_bytes);
    mt_out_u64(o, "bytes", e->bytes);
    mt_out_u64(o, "count", e->count);
    mt_out_u64(o, "median_bytes", e->median_bytes);
    mt_out_u64(o, "median_count", e->median_count);
    mt_out_frames(o, &ranks->names, e->stack);
}

static size_t shown(const struct mt_report *r, size_t n)
{
    return r->limit && r->limit < n ? r->limit : n;
}

static void put_outlier(struct mt_out list, const struct mt_report *r, const struct mt_ranks *ranks,
                        const struct mt_ranks_result *x, const struct mt_rank_outlier *odd)
{
    struct mt_out o = mt_out_object(list, NULL);
    struct mt_buf why = {0};
    struct mt_report exact = *r; /* one wording, whatever the options */
    exact.size = (struct mt_size_format){MT_UNIT_AUTO, false};
    mt_rank_reason(&why, &exact, ranks, x, odd);
    mt_out_i64(o, "rank", ranks->ranks.v[odd->index].rank);
    mt_out_buf(o, "why", &why);
    mt_buf_release(&why);
    mt_out_i64(o, "peak_above_median_bytes", odd->delta);
    mt_out_u64(o, "larger_bytes", odd->larger);
    mt_out_u64(o, "more_bytes", odd->more);
    mt_out_u64(o, "alone_bytes", odd->alone);
    mt_out_bool(o, "expected", odd->last_stage);
    struct mt_out stacks = mt_out_array(o, "stacks");
    for (size_t i = 0; i < shown(r, odd->stacks.n); i++) {
        put_excess(stacks, ranks, &odd->stacks.v[i]);
    }
}

static void put_common(struct mt_out list, const struct mt_ranks *ranks,
                       const struct mt_rank_common *c)
{
    struct mt_out o = mt_out_object(list, NULL);
    mt_out_u64(o, "min_bytes", c->min);
    mt_out_u64(o, "median_bytes", c->median);
    mt_out_u64(o, "max_bytes", c->max);
    mt_out_i64(o, "max_rank", ranks->ranks.v[c->max_index].rank);
    mt_out_u64(o, "ranks", c->ranks);
    mt_out_frames(o, &ranks->names, c->stack);
}

enum mt_status mt_report_ranks_json(const struct mt_report *r, const struct mt_ranks *ranks,
                                    const struct mt_ranks_result *x, struct mt_error *err)
{
    static const char *const RANGES[] = {"min", "median", "max"};
    struct mt_json_out json;
    struct mt_out root = mt_report_json(&json, r, "ranks/1", false);
    struct mt_out list = mt_out_array(root, "ranks");
    for (size_t i = 0; i < ranks->ranks.n; i++) {
        put_rank(list, &ranks->ranks.v[i]);
    }
    for (size_t i = 0; i < MT_COUNT(RANGES); i++) {
        put_range(root, RANGES[i], x, i);
    }
    list = mt_out_array(root, "stages");
    for (size_t i = 0; i < x->stages.n; i++) {
        put_stage(list, &x->stages.v[i]);
    }
    list = mt_out_array(root, "outliers");
    for (size_t i = 0; i < x->outliers.n; i++) {
        put_outlier(list, r, ranks, x, &x->outliers.v[i]);
    }
    list = mt_out_array(root, "stacks");
    for (size_t i = 0; i < shown(r, x->stacks.n); i++) {
        put_common(list, ranks, &x->stacks.v[i]);
    }
    mt_out_u64(root, "others", x->stacks.n - shown(r, x->stacks.n));
    put_lost(root, ranks);
    return mt_report_json_end(root, err);
}
