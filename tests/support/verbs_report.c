/* SPDX-License-Identifier: MIT */
/* The reports of the text verbs over a snapshot that may say anything. */
#include "verbs/compare/diff.h"
#include "verbs/compare/print.h"
#include "print/folded.h"
#include "verbs/info/print.h"
#include "verbs/segments/print.h"
#include "verbs/stats/print.h"
#include "verbs/trace/print.h"

#include "verbs.h"

static void totals(const struct mt_report *r, const struct mt_snapshot *s, struct mt_filtered *f)
{
    struct mt_error err;
    struct mt_totals t = {0};
    struct mt_trust trust = {0};
    struct mt_accounts accounts = {0};
    struct mt_info info = {s, &t, &accounts, &trust};
    struct mt_stats x = {s, f, &t, &accounts, &trust};
    if (mt_totals_find(&t, s, f, MT_TOTALS_SPLITS | MT_TOTALS_HOST, &err) == MT_OK &&
        mt_trust_find(&trust, s, &t, &err) == MT_OK &&
        mt_accounts_find(&accounts, s, NULL, &err) == MT_OK) {
        (void)!mt_report_stats_text(r, &x, &err);
        (void)!mt_report_stats_json(r, &x, true, &err);
        (void)!mt_report_info(r, &info, true, &err);
    }
    mt_accounts_release(&accounts);
    mt_trust_release(&trust);
    mt_totals_release(&t);
}

static void trace(const struct mt_report *r, const struct mt_snapshot *s, struct mt_filtered *f)
{
    struct mt_error err;
    for (int32_t device = -1; device < 2; device++) {
        struct mt_replay p;
        if (mt_replay_init(&p, s, device, &err) == MT_OK) {
            struct mt_trace_listing l = {.snapshot = s, .replay = &p, .filter = f};
            (void)!mt_report_trace(r, &l, &err);
            mt_replay_release(&p);
        }
    }
}

static void segments(const struct mt_report *r, const struct mt_snapshot *s, struct mt_filtered *f)
{
    struct mt_error err;
    struct mt_segment_rows rows;
    struct mt_flame flame;
    if (mt_segment_rows_find(&rows, s, f, MT_SEGMENTS_BY_FREE, false, &err) == MT_OK) {
        (void)!mt_report_segments(r, s, f, &rows, true, &err);
    }
    mt_segment_rows_release(&rows);
    (void)!mt_report_folded(r, s, f, true, &err);
    (void)!mt_flame_build(&flame, s, f, MT_FLAME_SEGMENTS, &err);
    mt_flame_release(&flame);
}

static void compare(const struct mt_report *r, const struct mt_snapshot *s, struct mt_filtered *f)
{
    struct mt_error err;
    struct mt_diff d = {0};
    struct mt_differences differences = {0};
    struct mt_compare_side a = {.file = "a", .s = s}, b = {.file = "b", .s = s};
    struct mt_rules *rules = NULL;
    struct mt_compare_options o = {.at = {.kind = r->json ? MT_AT_END : MT_AT_PEAK},
                                   .by = r->json ? MT_BY_STACK : MT_BY_FILE,
                                   .device = MT_ALL_DEVICES};
    bool ok = mt_rules_new((struct mt_str){0}, &rules, &err) == MT_OK;
    o.rules = rules;
    ok = ok && mt_compare_side_find(&a, f, &o, r, &err) == MT_OK &&
         mt_compare_side_find(&b, NULL, &o, r, &err) == MT_OK &&
         mt_diff_find(&d, &a, &b, &err) == MT_OK &&
         mt_differences_find(&differences, s, s, &err) == MT_OK;
    struct mt_comparison c = {&o, &a, &b, &d, &differences, NULL, true};
    if (ok) {
        (void)!mt_report_compare(r, &c, 1, &err);
    }
    mt_diff_release(&d);
    mt_differences_release(&differences);
    mt_compare_side_release(&a);
    mt_compare_side_release(&b);
    mt_rules_free(rules);
}

void verbs_report(const struct mt_snapshot *s, unsigned choice)
{
    struct mt_error err;
    FILE *out = fopen("/dev/null", "w");
    struct mt_filter filter;
    struct mt_filtered f;
    mt_filter_init(&filter);
    filter.size_min = choice & 1 ? 1024 : 0;
    filter.event_min = choice & 2 ? 3 : 0;
    if (out && mt_filtered_init(&f, &filter, s, &err) == MT_OK) {
        struct mt_report r = {.out = out, .file = "fuzz", .limit = 20, .stack_lines = 1};
        for (int json = 0; json < 2; json++) {
            r.json = json;
            r.verbose = choice & 4;
            totals(&r, s, &f);
            trace(&r, s, &f);
            segments(&r, s, &f);
            compare(&r, s, &f);
        }
        mt_filtered_release(&f);
    }
    if (out) {
        fclose(out);
    }
    mt_filter_release(&filter);
}
