/* SPDX-License-Identifier: MIT */
/* stats: how much is allocated, active, reserved, lost. */
#include "cli/card_figures.h"
#include "cli/each_file.h"
#include "verbs/stats/print.h"

struct stats_settings {
    struct mt_common common;
    struct mt_filter filter;
    struct mt_moment at;
    struct mt_card_settings card;
};

/* What reports look at. */
struct stats_input {
    const struct mt_account_figures *figures;
};

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files);
static void defaults(void *settings);

static const struct mt_option OPTIONS[] = {
    MT_OPT_AT(offsetof(struct stats_settings, at)),
};

static const struct mt_option_group GROUPS[] = {
    {.title = "Report", .options = OPTIONS, .n = MT_COUNT(OPTIONS)},
    MT_CARD_GROUP(struct stats_settings),
    MT_FILTER_GROUP(struct stats_settings),
};

const struct mt_command mt_cmd_stats = {
    .name = "stats",
    .summary = "how much is allocated, reserved and lost",
    .usage = "[options] FILE...",
    .description =
        "Adds up the memory of a snapshot: allocated, requested, reserved and free bytes per "
        "device, pool, private pool and stream, as PyTorch's memory_stats() counts them; from the "
        "trace the hits and misses of the cache, splits and merges, retries and calls to the "
        "driver; requests by size, segments by size, and a map of the large segments. Of "
        "memory_stats() and memory_summary() as a program printed them, the last figures. With "
        "several files, one report after the other.",
    .examples = "memtool stats snap.pickle              all of it\n"
                "memtool stats -v snap.pickle           PyTorch's own key beside each figure\n"
                "memtool stats --json *.pickle          one JSON object a line",
    .groups = GROUPS,
    .n_groups = MT_COUNT(GROUPS),
    .flags = MT_COMMAND_TABLE | MT_COMMAND_FIGURES,
    .settings_size = sizeof(struct stats_settings),
    .defaults = defaults,
    .min_files = 1,
    .max_files = -1,
    .run = run,
};

static void defaults(void *settings)
{
    struct stats_settings *o = settings;
    o->at.kind = MT_AT_END;
}

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

static enum mt_status print(const struct mt_report *r, struct mt_stats *x, struct mt_filtered *f,
                            bool one_line, struct mt_error *err)
{
    if (r->json) {
        return mt_report_stats_json(r, x, one_line, err);
    }
    if (r->separator) {
        return mt_report_stats_csv(r, x->snapshot, x->totals, err);
    }
    struct mt_trust trust = {0};
    enum mt_status status = find_trust(&trust, x->snapshot, f, x->totals, err);
    if (status == MT_OK) {
        x->trust = &trust;
        status = mt_report_stats_text(r, x, err);
        x->trust = NULL;
    }
    mt_trust_release(&trust);
    return status;
}

/* The account is of whole cards: a filter that leaves out memory leaves it out too. */
static bool is_of_devices(const struct mt_filter *f)
{
    struct mt_filter but_device = *f;
    but_device.device = -1;
    return mt_filter_is_open(&but_device);
}

static enum mt_status find_accounts(struct mt_accounts *all, const struct mt_snapshot *s,
                                    const struct mt_filter *f,
                                    const struct mt_account_figures *figures, struct mt_error *err)
{
    MT_TRY(mt_accounts_find(all, s, figures, err));
    if (figures->used_known && all->v.n > 1 && f->device < 0) {
        return mt_fail(err, MT_USAGE, MT_NO_OFFSET,
                       "--device-used is of one card and this snapshot has %zu: add --device",
                       all->v.n);
    }
    return MT_OK;
}

static enum mt_status report(const struct mt_report *r, const struct mt_snapshot *s,
                             struct mt_filtered *f, const struct mt_each_file *each,
                             struct mt_error *err)
{
    const struct stats_input *in = each->settings;
    struct mt_totals t = {0};
    struct mt_accounts accounts = {0};
    struct mt_stats x = {.snapshot = s, .filtered = f, .totals = &t};
    enum mt_status status = mt_totals_find(&t, s, f, MT_TOTALS_SPLITS | MT_TOTALS_HOST, err);
    if (status == MT_OK && is_of_devices(f->filter)) {
        status = find_accounts(&accounts, s, f->filter, in->figures, err);
        x.accounts = &accounts;
    }
    if (status == MT_OK) {
        status = print(r, &x, f, each->several, err);
    }
    mt_accounts_release(&accounts);
    mt_totals_release(&t);
    return status;
}

static enum mt_status report_logged(const struct mt_report *r, const struct mt_logged *l,
                                    const struct mt_each_file *each, struct mt_error *err)
{
    return r->json ? mt_report_stats_logged_json(r, l, each->several, err)
                   : mt_report_stats_logged_text(r, l, err);
}

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files)
{
    struct stats_settings *o = settings;
    struct mt_card_input card = {0};
    struct stats_input in = {&card.figures};
    struct mt_each_file each = {
        .report = report, .logged = report_logged, .settings = &in, .verdict = true, .at = &o->at};
    int code = mt_cli_no_fate_filters(cli, &o->filter, "memtool trace");
    code = code ? code : mt_card_input_read(cli, &o->card, &card);
    code = code ? code : mt_cli_each_file(cli, &o->common, &o->filter, files, n_files, &each);
    mt_card_input_release(&card);
    return code;
}
