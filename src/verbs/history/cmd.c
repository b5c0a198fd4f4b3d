/* SPDX-License-Identifier: MIT */
/* history: the runs that check --history wrote down, and where the growth came in. */
#include <inttypes.h>

#include "cli/command.h"
#include "cli/slurp.h"
#include "cli/output/flame_picture.h"
#include "print/report_json.h"
#include "verbs/history/trend.h"

struct history_settings {
    struct mt_common common;
    int against;
    int64_t last;
    const char *commit;
    double percent;
    uint64_t bytes;
};

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files);
static void defaults(void *settings);

static const char *const AGAINST[] = {"best", "median", NULL};

#define AT(field) offsetof(struct history_settings, field)

static const struct mt_option OPTIONS[] = {
    MT_OPT_CHOICE(0, "against", AT(against), AGAINST,
                  "compare with the lowest peak (default) or the median of all entries",
                  .common = true),
    MT_OPT_TEXT(0, "against-commit", AT(commit), "COMMIT",
                "compare with the newest entry whose commit begins so", .common = true),
    MT_OPT_INT(0, "last", AT(last), "N", 1, 1e9, "the median of the last N entries only"),
    MT_OPT_NUMBER(0, "tolerance", AT(percent), "PERCENT", 0, 1e6,
                  "an entry is bad when its peak is so much above that (default 1)",
                  .common = true),
    MT_OPT_SIZE(0, "tolerance-bytes", AT(bytes), "SIZE",
                "so many bytes are allowed where they are more than the per cent", .memory = true),
    MT_OPT_OUTPUT("write to FILE, - is standard output; to .json, .csv or .tsv as such, to .svg, "
                  ".png or .pdf as a picture of the trend"),
};

static const struct mt_option_group GROUPS[] = {
    {.title = "Comparing", .options = OPTIONS, .n = MT_COUNT(OPTIONS)},
};

const struct mt_command mt_cmd_history = {
    .name = "history",
    .summary = "which run made the memory grow",
    .usage = "[options] FILE",
    .description =
        "Prints the runs that `check --history FILE` wrote down, oldest first, each with its peak "
        "against the base, and names the first bad entry: the one from which on all peaks, to the "
        "last, are above the base and the tolerance.",
    .examples = "memtool check --history runs.ndjson --commit $(git rev-parse HEAD) snap.pickle\n"
                "memtool history runs.ndjson\n"
                "memtool history runs.ndjson -o trend.svg",
    .groups = GROUPS,
    .n_groups = MT_COUNT(GROUPS),
    .flags = MT_COMMAND_NO_SNAPSHOT | MT_COMMAND_TABLE | MT_COMMAND_FIGURES | MT_COMMAND_FLAME,
    .settings_size = sizeof(struct history_settings),
    .defaults = defaults,
    .min_files = 1,
    .max_files = 1,
    .run = run,
};

static void defaults(void *settings)
{
    struct history_settings *x = settings;
    x->percent = 1;
}

/* ---- text ---- */

static void name_cell(struct mt_table *t, struct mt_str text, size_t most, struct mt_buf *b)
{
    mt_buf_reset(b);
    mt_text_safe(b, text.n ? mt_str_head(text, most) : MT_STR("-"));
    mt_table_buf(t, b);
}

static void bad_cell(struct mt_table *t, bool bad)
{
    mt_table_cell_color(t, bad ? MT_COLOR_BAD : MT_COLOR_NONE, "%s", bad ? "bad" : "");
}

static void row(struct mt_table *t, const struct mt_report *r, const struct mt_trend *x, size_t i,
                struct mt_buf *b)
{
    const struct mt_history_entry *e = &x->h->v.v[i];
    mt_table_count(t, i);
    name_cell(t, e->commit, 12, b);
    name_cell(t, e->time, 20, b);
    mt_table_size(t, e->peak);
    mt_table_delta(t, (int64_t)(e->peak - x->base));
    mt_table_size(t, e->reserved);
    mt_table_cell(t, r->separator ? "%.6f" : "%.1f %%", r->separator ? e->frag : 100 * e->frag);
    mt_table_count(t, e->device_calls);
    if (e->knows_growth) {
        mt_table_delta(t, e->bytes_per_step);
    } else {
        mt_table_cell(t, "%s", r->separator ? "" : "-");
    }
    bad_cell(t, mt_trend_is_bad(x, i));
}

static enum mt_status table(const struct mt_report *r, const struct mt_trend *x,
                            struct mt_error *err)
{
    static const char *const TITLES[] = {"RUN",      "COMMIT", "TIME",  "PEAK",        "CHANGE",
                                         "RESERVED", "FRAG",   "CALLS", "GROWTH/STEP", ""};
    struct mt_table *t = mt_table_new();
    struct mt_buf b = {0};
    if (!t) {
        return mt_fail_nomem(err);
    }
    for (size_t i = 0; i < MT_COUNT(TITLES); i++) {
        bool left = i == 1 || i == 2 || i == 9;
        mt_table_column(t, TITLES[i], left ? MT_LEFT : MT_RIGHT);
    }
    mt_table_names(t, "run,commit,time,peak_requested_bytes,change_bytes,reserved_bytes,frag_share,"
                      "device_calls,bytes_per_step,");
    size_t n = x->h->v.n, from = r->limit && r->limit < n ? n - r->limit : 0;
    for (size_t i = from; i < n; i++) {
        row(t, r, x, i, &b);
    }
    enum mt_status status = b.failed ? mt_fail_nomem(err) : mt_table_print(t, r, 0, err);
    mt_buf_release(&b);
    mt_table_free(t);
    if (from && !r->separator) {
        fprintf(r->out, "[%zu earlier, -n 0 shows all]\n", from);
    }
    return status;
}

static void verdict(const struct mt_report *r, const struct mt_trend *x)
{
    if (!x->knows_base) {
        mt_report_line(r, 2, "Nothing to compare with.");
        return;
    }
    mt_report_line(r, 2, "Base %s, up to %s allowed.", mt_report_size(r, x->base).s,
                   mt_report_size(r, x->limit).s);
    if (x->first_bad == SIZE_MAX) {
        mt_report_line(r, 2, "The last run is within it.");
        return;
    }
    const struct mt_history_entry *e = &x->h->v.v[x->first_bad];
    fprintf(r->out, "%sFirst bad run: %zu", mt_color_begin(r, MT_COLOR_BAD), x->first_bad);
    if (e->commit.n) {
        struct mt_buf b = {0};
        mt_text_safe(&b, e->commit);
        fprintf(r->out, ", commit %s", b.failed ? "?" : mt_buf_view(&b).p);
        mt_buf_release(&b);
    }
    fprintf(r->out, "%s: peak %s, %s against the base%s.\n", mt_color_end(r),
            mt_report_size(r, e->peak).s, mt_report_delta(r, (int64_t)(e->peak - x->base)).s,
            x->first_bad + 1 < x->h->v.n ? "; all later runs are bad too" : "");
}

/* ---- JSON ---- */

static void put_entry(struct mt_out list, const struct mt_history_entry *e)
{
    struct mt_out o = mt_out_object(list, NULL);
    mt_out_str(o, "commit", e->commit);
    mt_out_str(o, "time", e->time);
    mt_out_str(o, "file", e->file);
    mt_out_u64(o, "peak_requested_bytes", e->peak);
    mt_out_u64(o, "reserved_bytes", e->reserved);
    mt_out_f64(o, "fragmentation", e->frag);
    mt_out_u64(o, "device_calls", e->device_calls);
    if (e->knows_growth) {
        mt_out_i64(o, "bytes_per_step", e->bytes_per_step);
    } else {
        mt_out_null(o, "bytes_per_step");
    }
}

static enum mt_status json(const struct mt_report *r, const struct mt_trend *x,
                           struct mt_error *err)
{
    struct mt_json_out json;
    struct mt_out root = mt_report_json(&json, r, "runs/1", false);
    mt_out_known(root, "base_bytes", x->knows_base, x->base);
    mt_out_known(root, "limit_bytes", x->knows_base, x->limit);
    mt_out_known(root, "first_bad", x->first_bad != SIZE_MAX, x->first_bad);
    struct mt_out list = mt_out_array(root, "entries");
    for (size_t i = 0; i < x->h->v.n; i++) {
        put_entry(list, &x->h->v.v[i]);
    }
    return mt_report_json_end(root, err);
}

/* ---- the verb ---- */

static void judge(struct mt_trend *x, const struct history_settings *o,
                  const struct mt_run_history *h)
{
    struct mt_history_rule rule = {.against = o->commit         ? MT_AGAINST_COMMIT
                                              : o->against == 1 ? MT_AGAINST_MEDIAN
                                                                : MT_AGAINST_BEST,
                                   .commit = o->commit,
                                   .last = (uint64_t)o->last,
                                   .percent = o->percent,
                                   .bytes = o->bytes};
    *x = (struct mt_trend){.h = h, .first_bad = SIZE_MAX};
    x->knows_base = mt_history_base(h, h->v.n, &rule, &x->base);
    x->limit = mt_history_limit(&rule, x->base);
    if (x->knows_base) {
        x->first_bad = mt_history_first_bad(h, x->limit);
    }
}

static enum mt_status report(const struct mt_report *r, const struct mt_trend *x,
                             struct mt_error *err)
{
    if (r->json) {
        return json(r, x, err);
    }
    if (!r->separator) {
        MT_TRY(mt_trend_text(r, x, err));
    }
    MT_TRY(table(r, x, err));
    if (!r->separator) {
        fputc('\n', r->out);
        verdict(r, x);
    }
    return MT_OK;
}

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files)
{
    const struct history_settings *o = settings;
    struct mt_run_history h = {0};
    struct mt_buf text = {0};
    struct mt_report r;
    struct mt_cli_output out;
    struct mt_error err;
    struct mt_trend x;
    (void)n_files;
    enum mt_status status = mt_cli_slurp_file(files[0], MT_SLURP_MOST, &text, &err);
    if (status == MT_OK) {
        status = mt_history_read(&h, mt_buf_view(&text), &err);
    }
    int code = status == MT_OK ? mt_cli_report_begin(cli, &o->common, files[0], &r, &out)
                               : mt_cli_fail(cli, files[0], &err);
    if (code == 0) {
        judge(&x, o, &h);
        const struct mt_plot_format *picture = mt_flame_format(&o->common);
        status = picture ? mt_trend_picture(&r, picture, &x, &err) : report(&r, &x, &err);
        code = mt_cli_report_end(cli, &out, status == MT_OK ? 0 : mt_cli_fail(cli, files[0], &err));
    }
    mt_history_release(&h);
    mt_buf_release(&text);
    return code;
}
