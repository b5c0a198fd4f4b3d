/* SPDX-License-Identifier: MIT */
/* The frame of verbs that answer for one file after the other. */
#include "cli/each_file.h"

#include "cli/logged_input.h"
#include "heap/walk/cut_trace.h"
#include "heap/walk/slice.h"

static int one_logged(struct mt_cli *cli, const struct mt_report *r,
                      const struct mt_each_file *each)
{
    struct mt_error err;
    struct mt_buf text = {0};
    struct mt_logged logged = {0};
    enum mt_status status = mt_cli_logged_read(r->file, &text, &logged, &err);
    if (status == MT_OK) {
        status = each->logged(r, &logged, each, &err);
    }
    mt_logged_release(&logged);
    mt_buf_release(&text);
    return status == MT_OK ? 0 : mt_cli_fail(cli, r->file, &err);
}

static enum mt_status filter_and_report(const struct mt_report *r, const struct mt_snapshot *s,
                                        const struct mt_filter *filter,
                                        const struct mt_each_file *each, struct mt_error *err)
{
    struct mt_filtered f;
    enum mt_status status = mt_filtered_init(&f, filter, s, err);
    if (status == MT_OK) {
        status = mt_filtered_check(&f, each->verdict, err);
    }
    if (status == MT_OK) {
        status = each->report(r, s, &f, each, err);
    }
    mt_filtered_release(&f);
    return status;
}

/* "At peak: device 0 after event 16 of 30." for text. */
static void say_moment(const struct mt_report *r, const struct mt_moment *at,
                       const struct mt_snapshot *whole, const struct mt_snapshot *then)
{
    fputs(at->kind == MT_AT_EVENT ? "At event " : "At ", r->out);
    mt_text_put(r, r->at);
    const char *before = ":";
    for (size_t d = 0; d < whole->n_traces; d++) {
        size_t n = whole->traces[d].n, done = then->traces[d].n;
        if (done) {
            fprintf(r->out, "%s device %zu after event %s of %s", before, d,
                    mt_count_text(done - 1).s, mt_count_text(n).s);
            before = ",";
        }
    }
    fputs("\n\n", r->out);
}

static enum mt_status report_at(const struct mt_report *r, struct mt_snapshot *s,
                                const struct mt_filter *filter, const struct mt_each_file *each,
                                struct mt_error *err)
{
    struct mt_view v;
    MT_TRY(mt_snapshot_follow_trace(s, err)); /* its events lead to the segments */
    mt_view_init(&v, s);
    struct mt_report then = *r;
    then.at = each->at->text;
    enum mt_status status = mt_view_at(&v, each->at, err);
    if (status == MT_OK) {
        if (!r->json && !r->separator && !each->raw) {
            say_moment(&then, each->at, s, &v.s);
        }
        status = filter_and_report(&then, &v.s, filter, each, err);
    }
    mt_view_release(&v);
    return status;
}

static int one_file(struct mt_cli *cli, const struct mt_common *common,
                    const struct mt_filter *filter, const struct mt_report *r,
                    const struct mt_each_file *each)
{
    struct mt_snapshot s;
    struct mt_error err;
    bool past = each->at && each->at->kind != MT_AT_END;
    if (each->logged && !past && mt_cli_is_logged(r->file)) {
        return one_logged(cli, r, each);
    }
    int code = mt_cli_load(cli, common, r->file, &s);
    if (code != 0 && code != 4) {
        return code;
    }
    enum mt_status status =
        past ? report_at(r, &s, filter, each, &err) : filter_and_report(r, &s, filter, each, &err);
    if (status != MT_OK) {
        code = mt_cli_fail(cli, r->file, &err);
    }
    mt_snapshot_release(&s);
    return code;
}

int mt_cli_each_file(struct mt_cli *cli, const struct mt_common *common,
                     const struct mt_filter *filter, char **files, size_t n_files,
                     struct mt_each_file *each)
{
    struct mt_report r;
    struct mt_cli_output out;
    int worst = mt_cli_report_begin(cli, common, files[0], &r, &out);
    if (worst) {
        return worst;
    }
    each->several = n_files > 1;
    for (size_t i = 0; i < n_files; i++) {
        r.file = files[i];
        if (i && !r.json && !r.separator) {
            fputc('\n', r.out);
        }
        int code = one_file(cli, common, filter, &r, each);
        worst = code > worst ? code : worst;
    }
    return mt_cli_report_end(cli, &out, worst);
}

/* ---- filters that do not apply ---- */

static int refuse(struct mt_cli *cli, const char *option, const char *instead)
{
    return mt_cli_usage(cli, "%s: %s does not apply here: try %s", cli->command->name, option,
                        instead);
}

int mt_cli_no_fate_filters(struct mt_cli *cli, const struct mt_filter *filter, const char *instead)
{
    if (filter->live_only || filter->freed_only) {
        return refuse(cli, filter->live_only ? "--live" : "--freed", instead);
    }
    return 0;
}

int mt_cli_no_event_filters(struct mt_cli *cli, const struct mt_filter *filter, const char *instead)
{
    if (filter->event_min || filter->event_max != UINT64_MAX) {
        return refuse(cli, "--events", instead);
    }
    if (filter->has_time || filter->annotation) {
        return refuse(cli, filter->has_time ? "--time" : "--annotation", instead);
    }
    return mt_cli_no_fate_filters(cli, filter, instead);
}
