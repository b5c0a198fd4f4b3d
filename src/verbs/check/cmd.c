/* SPDX-License-Identifier: MIT */
/* check: is a run within its budgets? One line, exit 0 or 1, for CI. */
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/logged_input.h"
#include "support/mem.h"
#include "verbs/check/check_history.h"
#include "verbs/check/print.h"

struct check_settings {
    struct mt_common common;
    struct mt_budget budget;
    const char *base;
    const char *junit, *sarif;
    const char *history;
    const char *commit;
    int against;
    const char *against_commit;
    int64_t last;
    double percent;
    uint64_t bytes;
    struct mt_filter filter;
};

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files);
static void defaults(void *settings);

/* ---- options: each sets its rule's bit ---- */

static enum mt_status wrong(struct mt_error *err, const char *text, const char *expected)
{
    return mt_fail(err, MT_USAGE, MT_NO_OFFSET, "'%.100s' is not %s", text, expected);
}

static enum mt_status parse_bytes(struct mt_budget *b, enum mt_budget_rule rule, uint64_t *bytes,
                                  const char *text, struct mt_error *err)
{
    b->rules |= 1u << rule;
    return mt_size_arg(text, true, bytes, err);
}

static enum mt_status parse_max_peak(void *field, const char *text, struct mt_error *err)
{
    struct mt_budget *b = field;
    return parse_bytes(b, MT_BUDGET_MAX_PEAK, &b->max_peak, text, err);
}

static enum mt_status parse_max_reserved(void *field, const char *text, struct mt_error *err)
{
    struct mt_budget *b = field;
    return parse_bytes(b, MT_BUDGET_MAX_RESERVED, &b->max_reserved, text, err);
}

/* "20%" or "0.2"; false for anything else and outside of [0, max]. */
static bool parse_share(const char *text, double max, double *share)
{
    char *end;
    double x = strtod(text, &end);
    bool percent = end != text && strcmp(end, "%") == 0;
    *share = percent ? x / 100 : x;
    return end != text && (percent || !*end) && *share >= 0 && *share <= max;
}

static enum mt_status parse_max_frag(void *field, const char *text, struct mt_error *err)
{
    struct mt_budget *b = field;
    b->rules |= 1u << MT_BUDGET_MAX_FRAG;
    return parse_share(text, 1, &b->max_frag) ? MT_OK
                                              : wrong(err, text, "a share such as 20% or 0.2");
}

static enum mt_status parse_min_hits(void *field, const char *text, struct mt_error *err)
{
    struct mt_budget *b = field;
    b->rules |= 1u << MT_BUDGET_MIN_HITS;
    return parse_share(text, 1, &b->min_hits) ? MT_OK
                                              : wrong(err, text, "a share such as 95% or 0.95");
}

static enum mt_status parse_max_calls(void *field, const char *text, struct mt_error *err)
{
    struct mt_budget *b = field;
    uint64_t n = 0;
    b->rules |= 1u << MT_BUDGET_MAX_DRIVER_CALLS;
    bool ok = mt_u64_parse(mt_str_from(text), &n) && n <= INT64_MAX;
    b->max_driver_calls = ok ? (int64_t)n : 0;
    return ok ? MT_OK : wrong(err, text, "a number of calls from 0 to 2^63 - 1");
}

static enum mt_status parse_max_growth(void *field, const char *text, struct mt_error *err)
{
    struct mt_budget *b = field;
    uint64_t bytes = 0;
    b->rules |= 1u << MT_BUDGET_MAX_GROWTH;
    b->growth_is_share = strchr(text, '%') != NULL;
    if (b->growth_is_share) {
        return parse_share(text, 1e6, &b->max_growth) ? MT_OK
                                                      : wrong(err, text, "a share such as 5%");
    }
    if (!strpbrk(text, "0123456789")) {
        return wrong(err, text, "a size such as 100MiB or a share such as 5%");
    }
    MT_TRY(mt_size_arg(text, true, &bytes, err));
    b->max_growth = (double)bytes;
    return MT_OK;
}

/* Flags that set a rule: the field is the rule itself, taken over after parsing. */
struct flags {
    bool no_oom, no_leaks;
};
struct settings {
    struct check_settings check; /* first, for the common options */
    struct flags flags;
};

#define AT(field) offsetof(struct settings, field)

static const char *const AGAINST[] = {"best", "median", NULL};

static const struct mt_option OPTIONS[] = {
    MT_OPT_CUSTOM(0, "max-peak", AT(check.budget), "SIZE", parse_max_peak,
                  "requested memory at its highest point", .common = true),
    MT_OPT_CUSTOM(0, "max-reserved", AT(check.budget), "SIZE", parse_max_reserved,
                  "memory reserved from the driver at its highest point", .common = true),
    MT_OPT_CUSTOM(0, "max-frag", AT(check.budget), "SHARE", parse_max_frag,
                  "share of reserved memory that is cut up at the end, neither allocated nor "
                  "cached whole: 20% or 0.2",
                  .common = true),
    MT_OPT_CUSTOM(0, "max-growth", AT(check.budget), "SIZE|SHARE", parse_max_growth,
                  "growth of the peak against --base: 100MiB or 5%", .common = true),
    MT_OPT_TEXT(0, "base", AT(check.base), "FILE",
                "snapshot of a good run that --max-growth compares with", .common = true),
    MT_OPT_CUSTOM(0, "min-hits", AT(check.budget), "SHARE", parse_min_hits,
                  "share of requests that the cache serves in the steps after warm-up: 95% or 0.95",
                  .common = true),
    MT_OPT_CUSTOM(0, "max-driver-calls", AT(check.budget), "N", parse_max_calls,
                  "how often a step after warm-up may ask the driver for memory", .common = true),
    MT_OPT_FLAG(0, "no-oom", AT(flags.no_oom), "the run may not have run out of memory",
                .common = true),
    MT_OPT_FLAG(0, "no-leaks", AT(flags.no_leaks),
                "live memory may not rise step after step (memtool leaks)", .common = true),
    MT_OPT_FLAG(0, "strict", AT(check.budget.unknown_breaks),
                "what a trace is too short to tell counts as broken", .common = true),
    MT_OPT_TEXT(0, "history", AT(check.history), "FILE",
                "compare the peak with the runs in FILE, and append this one as a line",
                .common = true),
    MT_OPT_TEXT(0, "commit", AT(check.commit), "ID",
                "of this run, for --history (default: GITHUB_SHA or CI_COMMIT_SHA)"),
    MT_OPT_CHOICE(0, "against", AT(check.against), AGAINST,
                  "the run of --history that counts: best (default), or the median"),
    MT_OPT_TEXT(0, "against-commit", AT(check.against_commit), "COMMIT",
                "or the newest one whose commit begins so"),
    MT_OPT_INT(0, "last", AT(check.last), "N", 1, 1e9, "the median of the last N runs only"),
    MT_OPT_NUMBER(0, "tolerance", AT(check.percent), "PERCENT", 0, 1e6,
                  "so much more than that is allowed (default 1)"),
    MT_OPT_SIZE(0, "tolerance-bytes", AT(check.bytes), "SIZE",
                "so many bytes are allowed where they are more than the per cent", .memory = true),
    MT_OPT_TEXT(0, "junit", AT(check.junit), "FILE", "write the results as JUnit XML too",
                .common = true),
    MT_OPT_TEXT(0, "sarif", AT(check.sarif), "FILE", "write what is broken as SARIF too"),
};

static const struct mt_option_group GROUPS[] = {
    {.title = "Budgets", .options = OPTIONS, .n = MT_COUNT(OPTIONS)},
    MT_FILTER_GROUP(struct check_settings),
};

const struct mt_command mt_cmd_check = {
    .name = "check",
    .summary = "is a run within its memory budget? for CI",
    .usage = "[options] FILE...",
    .description =
        "Holds each snapshot against budgets and prints one line: ok, or what is over and by how "
        "much. Exit 0 when all budgets are kept, 1 when one is broken, 3 when a file cannot be "
        "read. With several devices in a file the worst one counts. A file may be what "
        "memory_stats() said at the end: what it does not tell is open, not kept.",
    .examples = "memtool check --max-peak 70GiB --no-oom snap.pickle\n"
                "memtool check --base good.pickle --max-growth 5% --junit memory.xml new.pickle",
    .groups = GROUPS,
    .n_groups = MT_COUNT(GROUPS),
    .flags = MT_COMMAND_FIGURES,
    .settings_size = sizeof(struct settings),
    .defaults = defaults,
    .min_files = 1,
    .max_files = -1,
    .run = run,
};

static void defaults(void *settings)
{
    struct settings *x = settings;
    x->check.percent = 1;
}

/* ---- measuring ---- */

static int measure_logged(struct mt_cli *cli, const struct check_settings *x, const char *file,
                          struct mt_budget_facts *facts)
{
    struct mt_error err;
    struct mt_buf text = {0};
    struct mt_logged l = {0};
    enum mt_status status = mt_filter_is_open(&x->filter)
                                ? mt_cli_logged_read(file, &text, &l, &err)
                                : mt_cli_logged_unfiltered(&err);
    if (status == MT_OK) {
        status = mt_budget_measure_logged(facts, &l, &err);
    }
    if (status == MT_OK && x->history && facts->missing >> MT_BUDGET_HISTORY & 1) {
        status = mt_fail(&err, MT_NOT_FOUND, MT_NO_OFFSET,
                         "the figures do not tell the peak that --history keeps "
                         "(requested_bytes.all.peak)");
    }
    mt_logged_release(&l);
    mt_buf_release(&text);
    return status == MT_OK ? 0 : mt_cli_fail(cli, file, &err);
}

/* 0 or 4 with the facts, else the exit code after the error was printed. */
static int measure(struct mt_cli *cli, const struct check_settings *x, const char *file,
                   struct mt_budget_facts *facts)
{
    struct mt_snapshot s;
    struct mt_error err;
    if (mt_cli_is_logged(file)) {
        return measure_logged(cli, x, file, facts);
    }
    int loaded = mt_cli_load(cli, &x->common, file, &s);
    if (loaded != 0 && loaded != 4) {
        return loaded;
    }
    struct mt_filtered f;
    enum mt_status status = mt_filtered_init(&f, &x->filter, &s, &err);
    if (status == MT_OK) {
        status = mt_filtered_check(&f, true, &err);
    }
    if (status == MT_OK) {
        unsigned rules = x->budget.rules | (x->history ? 1u << MT_BUDGET_NO_LEAKS : 0);
        status = mt_budget_measure(facts, &s, &f, rules, &err);
    }
    mt_filtered_release(&f);
    mt_snapshot_release(&s);
    return status == MT_OK ? loaded : mt_cli_fail(cli, file, &err);
}

static int check_file(struct mt_cli *cli, const struct check_settings *x, const char *file,
                      struct mt_check_outcome *o)
{
    struct mt_budget_facts facts;
    *o = (struct mt_check_outcome){.file = file, .base = x->base};
    int code = measure(cli, x, file, &facts);
    if (code != 0 && code != 4) {
        o->error = "the file could not be read";
        return code;
    }
    o->n = mt_budget_check(&x->budget, &facts, o->results);
    if (x->history) {
        int kept = mt_check_history_add(cli, x->history, x->commit, file, &facts);
        code = kept ? kept : code;
    }
    return code ? code : !mt_check_ok(o);
}

/* A file that cannot be read weighs more than a budget that is broken. */
static int worse(int a, int b)
{
    return a > b ? a : b;
}

/* ---- what is written beside the report ---- */

struct also {
    const char *path; /* NULL: not asked for */
    enum mt_status (*write)(FILE *to, const struct mt_check_outcome *outcomes, size_t n,
                            struct mt_error *err);
    struct mt_cli_output o;
};

/* Before anything is measured: a run that fails here is in no history. */
static int open_also(struct mt_cli *cli, const struct check_settings *x, struct also *also)
{
    struct mt_error err;
    also->o = (struct mt_cli_output){.nameless = -1};
    return !also->path || mt_cli_output_open(cli, &x->common, also->path, &also->o, &err) == MT_OK
               ? 0
               : mt_cli_fail(cli, NULL, &err);
}

static int write_also(struct mt_cli *cli, struct also *also,
                      const struct mt_check_outcome *outcomes, size_t n)
{
    struct mt_error err;
    if (!also->path) {
        return 0;
    }
    enum mt_status status = also->write(also->o.stream, outcomes, n, &err);
    if (status == MT_OK) {
        status = mt_cli_output_commit(&also->o, &err);
    } else {
        mt_cli_output_abandon(&also->o);
    }
    return status == MT_OK ? 0 : mt_cli_fail(cli, NULL, &err);
}

/* Each would take the place of the other, and the history is all earlier runs. */
static int refuse_one_file(struct mt_cli *cli, const struct check_settings *x)
{
    const struct {
        const char *option, *path;
    } names[] = {{"--history", x->history},
                 {"--junit", x->junit},
                 {"--sarif", x->sarif},
                 {"-o", x->common.output}};
    for (size_t i = 0; i < MT_COUNT(names); i++) {
        for (size_t k = i + 1; k < MT_COUNT(names); k++) {
            if (mt_cli_is_one_file(names[i].path, names[k].path)) {
                return mt_cli_usage(cli, "check: %s and %s name one file", names[i].option,
                                    names[k].option);
            }
        }
    }
    return 0;
}

static int print(struct mt_report *r, const struct mt_check_outcome *o, bool one_line,
                 struct mt_cli *cli)
{
    struct mt_error err;
    r->file = o->file;
    if (o->error) {
        return 0; /* said on standard error */
    }
    enum mt_status status =
        r->json ? mt_report_check_json(r, o, one_line, &err) : mt_report_check_text(r, o, &err);
    return status == MT_OK ? 0 : mt_cli_fail(cli, NULL, &err);
}

static int check_all(struct mt_cli *cli, const struct check_settings *x, char **files, size_t n,
                     struct mt_check_outcome *outcomes)
{
    struct mt_report r;
    struct mt_cli_output o;
    struct mt_error err;
    struct also junit = {.path = x->junit, .write = mt_report_check_junit};
    struct also sarif = {.path = x->sarif, .write = mt_report_check_sarif};
    int code = mt_cli_report_begin(cli, &x->common, files[0], &r, &o);
    if (code) {
        return code;
    }
    code = open_also(cli, x, &junit);
    code = code ? code : open_also(cli, x, &sarif);
    if (code) {
        mt_cli_output_abandon(&junit.o);
        mt_cli_output_abandon(&o);
        return code;
    }
    for (size_t i = 0; i < n; i++) {
        code = worse(code, check_file(cli, x, files[i], &outcomes[i]));
        code = worse(code, print(&r, &outcomes[i], n > 1, cli));
    }
    code = worse(code, write_also(cli, &junit, outcomes, n));
    code = worse(code, write_also(cli, &sarif, outcomes, n));
    return mt_cli_output_commit(&o, &err) == MT_OK ? code : mt_cli_fail(cli, NULL, &err);
}

static int settle(struct mt_cli *cli, struct settings *all)
{
    struct check_settings *x = &all->check;
    struct mt_budget *b = &x->budget;
    b->rules |= all->flags.no_oom ? 1u << MT_BUDGET_NO_OOM : 0;
    b->rules |= all->flags.no_leaks ? 1u << MT_BUDGET_NO_LEAKS : 0;
    b->rules |= x->history ? 1u << MT_BUDGET_HISTORY : 0;
    if (!b->rules) {
        return mt_cli_usage(
            cli, "no budget given: --max-peak, --max-reserved, --max-frag, "
                 "--max-growth, --min-hits, --max-driver-calls, --history, --no-oom or --no-leaks");
    }
    if (x->history) {
        struct mt_history_rule rule = {.against = x->against_commit ? MT_AGAINST_COMMIT
                                                  : x->against == 1 ? MT_AGAINST_MEDIAN
                                                                    : MT_AGAINST_BEST,
                                       .commit = x->against_commit,
                                       .last = (uint64_t)x->last,
                                       .percent = x->percent,
                                       .bytes = x->bytes};
        int read = mt_check_history_limit(cli, x->history, &rule, b);
        if (read) {
            return read;
        }
    }
    bool growth = b->rules >> MT_BUDGET_MAX_GROWTH & 1;
    if (growth != (x->base != NULL)) {
        return mt_cli_usage(cli, growth ? "--max-growth needs --base FILE"
                                        : "--base needs --max-growth");
    }
    struct mt_budget_facts base = {0};
    int code = growth ? measure(cli, x, x->base, &base) : 0;
    if (growth && (code == 0 || code == 4)) {
        b->base_peak = base.peak;
        return 0;
    }
    return code;
}

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files)
{
    struct settings *x = settings;
    int code = refuse_one_file(cli, &x->check);
    code = code ? code : settle(cli, x);
    if (code) {
        return code;
    }
    struct mt_check_outcome *outcomes = mt_mem_zalloc(n_files, sizeof *outcomes);
    if (!outcomes) {
        struct mt_error err;
        mt_fail_nomem(&err);
        return mt_cli_fail(cli, NULL, &err);
    }
    code = check_all(cli, &x->check, files, n_files, outcomes);
    mt_mem_free(outcomes);
    return code;
}
