/* SPDX-License-Identifier: MIT */
/*
 * memtool convert: the same snapshot in another form. The format comes from the suffix of the
 * output or from --format; a part of the recording, or names masked, on the way.
 */
#include <string.h>

#include "cli/command.h"
#include "print/report_json.h"
#include "snapshot/write/sink.h"
#include "snapshot/model/view.h"
#include "snapshot/write/write.h"
#include "support/checked.h"
#include "support/units.h"
#include "verbs/convert/export.h"
#include "verbs/convert/keep_categories.h"
#include "heap/walk/slice.h"

enum format {
    FORMAT_AUTO,
    FORMAT_PICKLE,
    FORMAT_JSON,
    FORMAT_EXPORTS, /* + enum mt_export_format */
};

static const char *const FORMATS[] = {"auto",  "pickle",   "json", "folded", "speedscope",
                                      "pprof", "perfetto", "csv",  NULL};

struct convert_settings {
    struct mt_common common;
    int format; /* enum format */
    int64_t protocol;
    bool gzip;
    bool anonymize;
    const char *salt;
    bool drop_frames;
    struct mt_moment at;
    int64_t max_samples;
    uint64_t max_output; /* bytes before gzip, 0 = no limit, MT_MAX_OUTPUT_AUTO: by the input */
    struct mt_filter filter;
};

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files);
static void defaults(void *settings);

#define AT(field) offsetof(struct convert_settings, field)

static const struct mt_option OPTIONS[] = {
    MT_OPT_CHOICE(0, "format", AT(format), FORMATS,
                  "what to write; auto: by the suffix of the output", .common = true),
    MT_OPT_INT(0, "protocol", AT(protocol), "N", 2, 5,
               "pickle protocol, 2 to 5 (default 4, which PyTorch's web viewer opens)",
               .common = true),
    MT_OPT_FLAG(0, "gzip", AT(gzip), "compress with gzip; a name that ends in .gz does the same"),
    MT_OPT_FLAG(0, "anonymize", AT(anonymize),
                "replace file names, functions and notes by numbers; sizes and order stay",
                .common = true),
    MT_OPT_TEXT(0, "salt", AT(salt), "TEXT",
                "with --anonymize: same TEXT, same numbers, to compare files (default: random)"),
    MT_OPT_FLAG(0, "drop-frames", AT(drop_frames), "leave out all call stacks", .common = true),
    MT_OPT_CUSTOM(0, "at", AT(at), "WHEN", mt_at_parse,
                  "folded, speedscope, pprof: memory alive at peak, oom, end, start, step:N, "
                  "annotation:NAME, EVENT or TIME",
                  .common = true),
    MT_OPT_INT(0, "max-samples", AT(max_samples), "N", 0, 1e9,
               "perfetto: at most N points a counter and N slices, 0 = all (default 20000)"),
    MT_OPT_SIZE(0, "max-output", AT(max_output), "SIZE",
                "stop when the output grows beyond SIZE before gzip, 0 = no limit (default: 256 "
                "times what was read, at least 256MiB)"),
    MT_OPT_OUTPUT("write to FILE, as its name ends: .pickle, .json, .folded, .speedscope.json, "
                  ".pb.gz, .perfetto.json or .csv; - is standard output"),
};

static const struct mt_option_group GROUPS[] = {
    {.title = "Converting", .options = OPTIONS, .n = MT_COUNT(OPTIONS)},
    MT_FILTER_GROUP_TITLED("Part of the recording", struct convert_settings),
};

const struct mt_command mt_cmd_convert = {
    .name = "convert",
    .summary = "write a snapshot in another format, in part, or without names",
    .usage = "[options] FILE -o OUTPUT",
    .description =
        "Writes the snapshot as a pickle or as JSON, losing nothing: unknown keys, absent keys "
        "and the stale sizes of free blocks come out as they went in. Or writes its memory for "
        "other tools: folded stacks, speedscope and pprof show what is alive at a moment, perfetto "
        "and CSV the recording. --anonymize makes a file that can be shown to others. When the end "
        "of the recording is cut off, the segments become those of that moment.",
    .examples =
        "memtool convert snap.pickle -o snap.json.gz                  as compressed JSON\n"
        "memtool convert --anonymize snap.pickle -o share.pickle      without names and paths\n"
        "memtool convert --at peak snap.pickle -o peak.speedscope.json",
    .groups = GROUPS,
    .n_groups = MT_COUNT(GROUPS),
    .flags = MT_COMMAND_FIGURES | MT_COMMAND_OWN_SUFFIXES,
    .settings_size = sizeof(struct convert_settings),
    .defaults = defaults,
    .min_files = 1,
    .max_files = 1,
    .run = run,
};

static void defaults(void *settings)
{
    struct convert_settings *c = settings;
    c->protocol = MT_PICKLE_PROTOCOL;
    c->at.kind = MT_AT_END;
    c->max_samples = 20000;
    c->max_output = MT_MAX_OUTPUT_AUTO;
}

/* ---- what to write ---- */

static const struct {
    const char *suffix;
    int format;
} SUFFIXES[] = {
    {".pickle", FORMAT_PICKLE},
    {".pkl", FORMAT_PICKLE},
    {".pt", FORMAT_PICKLE},
    {".folded", FORMAT_EXPORTS + MT_EXPORT_FOLDED},
    {".speedscope.json", FORMAT_EXPORTS + MT_EXPORT_SPEEDSCOPE},
    {".pb", FORMAT_EXPORTS + MT_EXPORT_PPROF},
    {".pprof", FORMAT_EXPORTS + MT_EXPORT_PPROF},
    {".perfetto.json", FORMAT_EXPORTS + MT_EXPORT_PERFETTO},
    {".trace.json", FORMAT_EXPORTS + MT_EXPORT_PERFETTO},
    {".csv", FORMAT_EXPORTS + MT_EXPORT_CSV},
    {".json", FORMAT_JSON},
};

/* FORMAT_AUTO where the name tells nothing. */
static int format_of_name(const char *name, bool *gzip)
{
    struct mt_str s = mt_str_from(name);
    if (mt_str_ends(s, MT_STR(".gz"))) {
        *gzip = true;
        s.n -= 3;
    }
    for (size_t i = 0; i < MT_COUNT(SUFFIXES); i++) {
        if (mt_str_ends(s, mt_str_from(SUFFIXES[i].suffix))) {
            return SUFFIXES[i].format;
        }
    }
    return FORMAT_AUTO;
}

/* What a filter can do depends on the format. */
static int settle_filter(struct mt_cli *cli, const struct convert_settings *c)
{
    const struct mt_filter *f = &c->filter;
    bool by_frame = f->has_frame || f->has_not_frame;
    if (f->live_only || f->freed_only) {
        return mt_cli_usage(cli, "convert has no --live and --freed: see --at");
    }
    if (c->format < FORMAT_EXPORTS && (f->size_min > 0 || f->size_max < UINT64_MAX || by_frame)) {
        return mt_cli_usage(cli,
                            "--size, --frame and --not-frame would leave holes in segments: a "
                            "snapshot is cut by --device, --stream, --pool, --events, --time and "
                            "--annotation");
    }
    if (c->format >= FORMAT_EXPORTS && c->anonymize && (by_frame || f->annotation)) {
        return mt_cli_usage(cli, "--anonymize leaves no names that --frame, --not-frame and "
                                 "--annotation could look for");
    }
    return 0;
}

/* Settles format and gzip; 0, or the exit code after saying what is wrong with the call. */
static int settle(struct mt_cli *cli, struct convert_settings *c)
{
    const char *output = c->common.output;
    if (!output) {
        return mt_cli_usage(cli, "where to? -o FILE names the output, -o - is standard output");
    }
    bool to_stdout = strcmp(output, "-") == 0;
    int by_name = to_stdout ? FORMAT_AUTO : format_of_name(output, &c->gzip);
    if (c->format == FORMAT_AUTO) {
        c->format = by_name;
    }
    if (c->format == FORMAT_AUTO) {
        return mt_cli_usage(cli,
                            "'%s' does not tell a format: give --format, or end the name in "
                            ".pickle, .json, .folded, .speedscope.json, .pb.gz, .perfetto.json or "
                            ".csv",
                            output);
    }
    if (to_stdout && c->common.json) {
        return mt_cli_usage(cli, "--json reports on standard output, so the output needs a name");
    }
    bool binary = c->format == FORMAT_PICKLE || c->format == FORMAT_EXPORTS + MT_EXPORT_PPROF;
    if (to_stdout && cli->out_is_terminal && (binary || c->gzip)) {
        return mt_cli_usage(cli, "will not write binary data to a terminal: -o FILE, or a pipe");
    }
    if (c->salt && !c->anonymize) {
        return mt_cli_usage(cli, "--salt needs --anonymize");
    }
    return settle_filter(cli, c);
}

/* ---- doing it ---- */

static enum mt_status change(const struct mt_cli *cli, const struct convert_settings *c,
                             struct mt_view *v, struct mt_error *err)
{
    if (c->format < FORMAT_EXPORTS && !mt_filter_is_open(&c->filter)) {
        MT_TRY(mt_view_slice(v, &c->filter, err));
    }
    if (c->drop_frames || c->anonymize) {
        MT_TRY(mt_view_keep_categories(v, err)); /* the names that tell it will go */
    }
    if (c->drop_frames) {
        MT_TRY(mt_view_drop_frames(v, err));
    }
    if (c->anonymize) {
        struct mt_str salt = {(const char *)&cli->hash_seed, sizeof cli->hash_seed};
        MT_TRY(mt_view_anonymize(v, mt_mask_key_from(c->salt ? mt_str_from(c->salt) : salt), err));
    }
    return MT_OK;
}

static void note_left_out(struct mt_cli *cli, const struct convert_settings *c,
                          const struct mt_export_result *r)
{
    if (r->points_left_out || r->slices_left_out) {
        mt_cli_note(cli, &c->common,
                    "left out %s points between the highest ones and the %s smallest allocations; "
                    "--max-samples 0 writes all",
                    mt_count_text(r->points_left_out).s, mt_count_text(r->slices_left_out).s);
    }
    if (r->no_times) {
        mt_cli_note(cli, &c->common, "the file gives no times: one event a microsecond");
    }
}

static enum mt_status export_to(struct mt_cli *cli, const struct convert_settings *c,
                                const struct mt_snapshot *s, FILE *to, struct mt_error *err)
{
    struct mt_filtered filtered;
    struct mt_export_result result;
    struct mt_export_options o = {
        .filtered = &filtered,
        .at = c->at,
        .gzip = c->gzip,
        .max_samples = (uint64_t)c->max_samples,
        .max_bytes = mt_max_output(c->max_output, s),
    };
    enum mt_status status = mt_filtered_init(&filtered, &c->filter, s, err);
    if (status == MT_OK) {
        status = mt_filtered_check(&filtered, false, err);
    }
    if (status == MT_OK) {
        status = mt_export_write(s, (enum mt_export_format)(c->format - FORMAT_EXPORTS), &o, to,
                                 &result, err);
    }
    if (status == MT_OK) {
        note_left_out(cli, c, &result);
    }
    mt_filtered_release(&filtered);
    return status;
}

static enum mt_status write_to(struct mt_cli *cli, const struct convert_settings *c,
                               const struct mt_snapshot *s, FILE *to, struct mt_error *err)
{
    struct mt_write_options o = {
        .format = c->format == FORMAT_JSON ? MT_WRITE_JSON : MT_WRITE_PICKLE,
        .protocol = (int)c->protocol,
        .gzip = c->gzip,
        .max_bytes = mt_max_output(c->max_output, s),
    };
    return c->format >= FORMAT_EXPORTS ? export_to(cli, c, s, to, err)
                                       : mt_snapshot_write(s, &o, to, err);
}

static bool report_json(struct mt_cli *cli, const struct convert_settings *c, const char *file,
                        const struct mt_snapshot *s, long bytes)
{
    struct mt_error err;
    struct mt_json_out json;
    struct mt_report r = mt_cli_report(cli, &c->common, file);
    struct mt_out o = mt_report_json(&json, &r, "convert/1", false);
    mt_out_text(o, "output", c->common.output);
    mt_out_text(o, "format", FORMATS[c->format]);
    mt_out_known(o, "protocol", c->format == FORMAT_PICKLE, (uint64_t)c->protocol);
    mt_out_bool(o, "gzip", c->gzip);
    mt_out_bool(o, "anonymized", c->anonymize);
    mt_out_u64(o, "events", s->n_events);
    mt_out_u64(o, "segments", s->n_segments);
    mt_out_known(o, "output_bytes", bytes >= 0, (uint64_t)bytes);
    return mt_report_json_end(o, &err) == MT_OK;
}

static int write_out(struct mt_cli *cli, const struct convert_settings *c, const char *file,
                     const struct mt_snapshot *s)
{
    struct mt_error err;
    struct mt_cli_output out;
    if (mt_cli_output_open(cli, &c->common, c->common.output, &out, &err) != MT_OK) {
        return mt_cli_fail(cli, NULL, &err);
    }
    if (write_to(cli, c, s, out.stream, &err) != MT_OK) {
        mt_cli_output_abandon(&out);
        return mt_cli_fail(cli, c->common.output, &err);
    }
    long bytes = out.path ? ftell(out.stream) : -1;
    if (mt_cli_output_commit(&out, &err) != MT_OK) {
        return mt_cli_fail(cli, NULL, &err);
    }
    if (c->common.json && !report_json(cli, c, file, s, bytes)) {
        mt_fail_nomem(&err);
        return mt_cli_fail(cli, NULL, &err);
    }
    if (bytes >= 0 && cli->err_is_terminal) {
        struct mt_size_format size = {MT_UNIT_AUTO, false};
        mt_cli_note(cli, &c->common, "wrote %s, %s", c->common.output,
                    mt_size_text((uint64_t)bytes, size).s);
    }
    return 0;
}

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files)
{
    struct convert_settings *c = settings;
    struct mt_snapshot s;
    struct mt_error err;
    (void)n_files;
    int wrong = settle(cli, c);
    if (wrong) {
        return wrong;
    }
    int loaded = mt_cli_load(cli, &c->common, files[0], &s);
    if (loaded != 0 && loaded != 4) {
        return loaded;
    }
    struct mt_view v;
    mt_view_init(&v, &s);
    enum mt_status status = change(cli, c, &v, &err);
    int code = status == MT_OK ? write_out(cli, c, files[0], &v.s) : mt_cli_fail(cli, NULL, &err);
    mt_view_release(&v);
    mt_snapshot_release(&s);
    return code ? code : loaded;
}
