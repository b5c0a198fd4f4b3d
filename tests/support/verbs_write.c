/* SPDX-License-Identifier: MIT */
/* A snapshot that may say anything: written in every format, as a part and with names masked,
 * exported, and compared with itself as two ranks. What is written must read back. */
#include <stdlib.h>

#include "verbs/check/budget.h"
#include "verbs/convert/export.h"
#include "verbs/convert/keep_categories.h"
#include "snapshot/read/read.h"
#include "verbs/ranks/print.h"
#include "heap/walk/slice.h"
#include "snapshot/write/write.h"

#include "verbs.h"

static const struct mt_read_options READ = {.max_input = 1 << 24, .max_events = 1 << 20};

/* Writes s to memory and reads it again; refusals are fine, damage is not. */
static void round_trip(const struct mt_snapshot *s, const struct mt_write_options *o)
{
    char *bytes = NULL;
    size_t n = 0;
    struct mt_error err;
    struct mt_snapshot back;
    FILE *f = open_memstream(&bytes, &n);
    if (!f) {
        return;
    }
    enum mt_status status = mt_snapshot_write(s, o, f, &err);
    fclose(f);
    if (status == MT_OK) {
        status = mt_snapshot_read_memory(bytes, n, 0, &READ, &back, &err);
        if (status == MT_OK) {
            MT_ASSERT(back.n_events == s->n_events || s->n_host_traces || s->n_values > 1);
            MT_ASSERT(back.n_segments == s->n_segments || s->n_values > 1);
            mt_snapshot_release(&back);
        }
        MT_ASSERT(status == MT_OK || status == MT_NOMEM || status == MT_LIMIT || s->n_values > 1 ||
                  s->source.salvaged);
    }
    free(bytes);
}

static void write_all(const struct mt_snapshot *s)
{
    for (int protocol = 2; protocol <= 5; protocol++) {
        round_trip(s, &(struct mt_write_options){MT_WRITE_PICKLE, protocol, protocol == 3, 0});
    }
    round_trip(s, &(struct mt_write_options){.format = MT_WRITE_JSON});
}

static void change(const struct mt_snapshot *s, const struct mt_filter *filter)
{
    struct mt_view v;
    struct mt_error err;
    mt_view_init(&v, s);
    if (mt_view_slice(&v, filter, &err) == MT_OK && mt_view_keep_categories(&v, &err) == MT_OK &&
        mt_view_drop_frames(&v, &err) == MT_OK &&
        mt_view_anonymize(&v, (struct mt_mask_key){1, 2}, &err) == MT_OK) {
        write_all(&v.s);
    }
    mt_view_release(&v);
}

static void export_all(const struct mt_snapshot *s, struct mt_filtered *f, FILE *to)
{
    for (int format = MT_EXPORT_FOLDED; format <= MT_EXPORT_CSV; format++) {
        struct mt_export_options o = {.filtered = f, .max_samples = 3};
        struct mt_export_result result;
        struct mt_error err;
        (void)!mt_export_write(s, (enum mt_export_format)format, &o, to, &result, &err);
    }
}

static void compare_ranks(const struct mt_snapshot *s, struct mt_filtered *f, FILE *to)
{
    struct mt_ranks ranks;
    struct mt_ranks_result result = {0};
    struct mt_error err;
    struct mt_report r = {.out = to, .stack_lines = 1};
    bool ok = mt_ranks_init(&ranks, 1, &err) == MT_OK;
    for (int i = 0; ok && i < 2; i++) {
        struct mt_rank_read_options o = {.filtered = f, .device = i - 1, .capacity = 1 << 30};
        size_t index = mt_ranks_of_file(&ranks, i ? MT_STR("a") : MT_STR("b"));
        ok = index != SIZE_MAX && mt_rank_read_snapshot(&ranks, index, s, &o, &err) == MT_OK;
    }
    if (ok && mt_ranks_compare(&ranks, 0.05, &result, &err) == MT_OK) {
        (void)!mt_report_ranks_text(&r, &ranks, &result, &err);
        (void)!mt_report_ranks_json(&r, &ranks, &result, &err);
    }
    mt_ranks_result_release(&result);
    mt_ranks_release(&ranks);
}

void verbs_write(const struct mt_snapshot *s, unsigned choice)
{
    struct mt_error err;
    FILE *to = fopen("/dev/null", "w");
    struct mt_filter filter;
    struct mt_filtered f;
    struct mt_budget_facts facts;
    mt_filter_init(&filter);
    filter.event_max = choice & 1 ? 7 : UINT64_MAX;
    filter.device = choice & 2 ? 0 : -1;
    if (to && mt_filtered_init(&f, &filter, s, &err) == MT_OK) {
        write_all(s);
        change(s, &filter);
        export_all(s, &f, to);
        compare_ranks(s, &f, to);
        (void)!mt_budget_measure(&facts, s, &f, ~0u, &err);
        mt_filtered_release(&f);
    }
    mt_filter_release(&filter);
    if (to) {
        fclose(to);
    }
}
