/* SPDX-License-Identifier: MIT */
/* stats: how much is allocated, active, reserved, lost. */
#include <memtool/report_verbs.h>

#include "each_file.h"

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files);

static const struct mt_option_group GROUPS[] = {
    MT_FILTER_GROUP(struct mt_filter_settings),
};

const struct mt_command mt_cmd_stats = {
    .name = "stats",
    .summary = "how much is allocated, reserved and lost",
    .usage = "[options] FILE...",
    .description =
        "Adds up the memory of a snapshot: allocated, requested, reserved and free bytes per "
        "device, pool, private pool and stream, as PyTorch's memory_stats() counts them; from the "
        "trace the hits and misses of the cache, splits and merges, retries and calls to the "
        "driver; requests by size, segments by size, and a map of the large segments. With "
        "several files, one report after the other.",
    .examples = "memtool stats snap.pickle              all of it\n"
                "memtool stats -v snap.pickle           PyTorch's own key beside each figure\n"
                "memtool stats --json *.pickle          one JSON object a line",
    .groups = GROUPS,
    .n_groups = MT_COUNT(GROUPS),
    .settings_size = sizeof(struct mt_filter_settings),
    .defaults = mt_filter_settings_defaults,
    .min_files = 1,
    .max_files = -1,
    .run = run,
    .release = mt_filter_settings_release,
};

/* The banner speaks of the whole file, so with a filter it takes totals of its own. */
static enum mt_status find_trust(struct mt_trust *trust, const struct mt_snapshot *s,
                                 const struct mt_filtered *f, const struct mt_totals *t,
                                 struct mt_error *err)
{
    if (mt_filter_is_open(f->filter)) {
        return mt_trust_find(trust, s, t, err);
    }
    struct mt_filter open;
    mt_filter_init(&open);
    struct mt_filtered all;
    struct mt_totals whole = {0};
    enum mt_status status = mt_filtered_init(&all, &open, s, err);
    if (status == MT_OK) {
        status = mt_totals_find(&whole, s, &all, 0, err);
        mt_filtered_release(&all);
    }
    if (status == MT_OK) {
        status = mt_trust_find(trust, s, &whole, err);
    }
    mt_totals_release(&whole);
    mt_filter_release(&open);
    return status;
}

static enum mt_status print(const struct mt_report *r, const struct mt_snapshot *s,
                            struct mt_filtered *f, const struct mt_totals *t, bool one_line,
                            struct mt_error *err)
{
    if (r->json) {
        return mt_report_stats_json(r, s, t, one_line, err);
    }
    if (r->separator) {
        return mt_report_stats_csv(r, s, t, err);
    }
    struct mt_trust trust = {0};
    enum mt_status status = find_trust(&trust, s, f, t, err);
    if (status == MT_OK) {
        status = mt_report_stats_text(r, s, f, t, &trust, err);
    }
    mt_trust_release(&trust);
    return status;
}

static enum mt_status report(const struct mt_report *r, const struct mt_snapshot *s,
                             struct mt_filtered *f, const struct mt_each_file *each,
                             struct mt_error *err)
{
    struct mt_totals t = {0};
    enum mt_status status = mt_totals_find(&t, s, f, MT_TOTALS_SPLITS | MT_TOTALS_HOST, err);
    if (status == MT_OK) {
        status = print(r, s, f, &t, each->several, err);
    }
    mt_totals_release(&t);
    return status;
}

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files)
{
    struct mt_filter_settings *o = settings;
    struct mt_each_file each = {.report = report, .settings = o};
    int code = mt_cli_no_fate_filters(cli, &o->filter, "memtool trace");
    return code ? code : mt_cli_each_file(cli, &o->common, &o->filter, files, n_files, &each);
}
