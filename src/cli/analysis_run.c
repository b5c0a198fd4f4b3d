/* SPDX-License-Identifier: MIT */
/*
 * The frame of the verbs that look at one device after the other. A filter that names what is not
 * in the file, or hides everything, is an error of the call: a verdict on nothing is none.
 */
#include "cli/analysis_run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "heap/walk/query.h"
#include "print/trust_text.h"
#include "heap/sums/totals.h"
#include "heap/sums/trust.h"
#include "support/units.h"

#include "cli/logged_input.h"
#include "cli/slurp.h"

struct file_run {
    struct mt_cli *cli;
    const struct mt_common *common;
    const struct mt_filter *filter;
    const struct mt_analysis_verb *verb;
    void *ctx;
    bool several;
};

/* One device; *found tells whether it had the moment that was asked for. */
static enum mt_status run_device(const struct file_run *x, const struct mt_snapshot *s,
                                 struct mt_filtered *f, int32_t device, bool *found,
                                 struct mt_error *err)
{
    struct mt_replay r;
    MT_TRY(mt_replay_init(&r, s, device, err));
    struct mt_device_run d = {s, &r, f};
    struct mt_error missing;
    enum mt_status status = x->verb->device(x->ctx, &d, &missing);
    *found |= status == MT_OK;
    if (status != MT_OK) {
        *err = missing;
    }
    mt_replay_release(&r);
    return status == MT_NOT_FOUND ? MT_OK : status;
}

static enum mt_status run_devices(const struct file_run *x, const struct mt_snapshot *s,
                                  struct mt_filtered *f, struct mt_error *err)
{
    struct mt_devices devices = {0};
    bool wanted = false;
    bool found = false;
    enum mt_status status = mt_devices_find(&devices, s, false, err);
    for (size_t i = 0; status == MT_OK && i < devices.ids.n; i++) {
        int32_t device = devices.ids.v[i];
        if (x->filter->device < 0 || x->filter->device == device) {
            wanted = true;
            status = run_device(x, s, f, device, &found, err);
        }
    }
    if (status == MT_OK && !wanted && x->filter->device >= 0) {
        status = mt_fail(err, MT_NOT_FOUND, MT_NO_OFFSET,
                         "device %" PRId32 " has neither segments nor events in this file",
                         x->filter->device);
    } else if (status == MT_OK && wanted && !found) {
        status = MT_NOT_FOUND; /* err is that of the last device */
    }
    mt_devices_release(&devices);
    return status;
}

/* The filter without its device, which the loop over devices has dealt with; NULL when nothing else
 * is asked for, so that memory of which only the size is known counts. */
static enum mt_status analyse(const struct file_run *x, const struct mt_snapshot *s,
                              struct mt_error *err)
{
    struct mt_filter rest = *x->filter;
    rest.device = -1;
    if (mt_filter_is_open(&rest)) {
        return run_devices(x, s, NULL, err);
    }
    struct mt_filtered f;
    enum mt_status status = mt_filtered_init(&f, &rest, s, err);
    if (status == MT_OK) {
        status = mt_filtered_check(&f, true, err);
    }
    if (status == MT_OK) {
        status = run_devices(x, s, &f, err);
    }
    mt_filtered_release(&f);
    return status;
}

/* The trust banner, over text only; it speaks of the whole file, whatever the filter. */
static enum mt_status print_trust(const struct mt_report *r, const struct mt_snapshot *s,
                                  struct mt_error *err)
{
    struct mt_filter open;
    mt_filter_init(&open);
    struct mt_filtered all = {.filter = &open, .snapshot = s};
    struct mt_totals totals = {0};
    struct mt_trust trust = {0};
    enum mt_status status = mt_totals_find(&totals, s, &all, 0, err);
    if (status == MT_OK) {
        status = mt_trust_find(&trust, s, &totals, err);
    }
    if (status == MT_OK) {
        status = mt_report_trust(r, s, &trust, err);
    }
    mt_trust_release(&trust);
    mt_totals_release(&totals);
    return status;
}

static void print_name(const struct mt_report *r)
{
    fprintf(r->out, "%s==> ", mt_color_begin(r, MT_COLOR_HEAD));
    mt_text_put(r, r->file);
    fprintf(r->out, " <==%s\n", mt_color_end(r));
}

static enum mt_status report_file(const struct file_run *x, const struct mt_report *r,
                                  const struct mt_snapshot *s, struct mt_error *err)
{
    if (!r->json && !r->separator && !x->verb->picture) {
        if (x->several) {
            print_name(r);
        }
        MT_TRY(print_trust(r, s, err));
    }
    return x->verb->report(x->ctx, r, s, x->several, err);
}

/* Printed figures have nothing that a filter could look at. */
static int run_logged(const struct file_run *x, const struct mt_report *r, const char *file)
{
    struct mt_error err;
    struct mt_buf text = {0};
    struct mt_logged l = {0};
    struct mt_report here = *r;
    here.file = file;
    enum mt_status status = mt_filter_is_open(x->filter) ? mt_cli_logged_read(file, &text, &l, &err)
                                                         : mt_cli_logged_unfiltered(&err);
    if (status == MT_OK && x->several && !r->json && !r->separator) {
        print_name(&here);
    }
    if (status == MT_OK) {
        status = x->verb->logged(x->ctx, &here, &l, x->several, &err);
    }
    mt_logged_release(&l);
    mt_buf_release(&text);
    return status == MT_OK ? 0 : mt_cli_fail(x->cli, file, &err);
}

static int run_file(const struct file_run *x, const struct mt_report *r, const char *file)
{
    struct mt_snapshot s;
    struct mt_error err;
    if (x->verb->logged && mt_cli_is_logged(file)) {
        return run_logged(x, r, file);
    }
    int exit_code = mt_cli_load(x->cli, x->common, file, &s);
    if (exit_code && exit_code != 4) {
        return exit_code;
    }
    enum mt_status status = analyse(x, &s, &err);
    if (status == MT_OK) {
        struct mt_report here = *r;
        here.file = file;
        status = report_file(x, &here, &s, &err);
    }
    x->verb->reset(x->ctx);
    mt_snapshot_release(&s);
    return status == MT_OK ? exit_code : mt_cli_fail(x->cli, file, &err);
}

int mt_analysis_run(struct mt_cli *cli, const struct mt_common *common,
                    const struct mt_filter *filter, const struct mt_analysis_verb *verb, void *ctx,
                    char **files, size_t n_files)
{
    struct mt_report r;
    struct mt_cli_output o;
    struct file_run x = {cli, common, filter, verb, ctx, n_files > 1};
    int exit_code = mt_cli_report_begin(cli, common, files[0], &r, &o);
    if (exit_code) {
        return exit_code;
    }
    for (size_t i = 0; i < n_files; i++) {
        if (i && !r.json && !r.separator) {
            fputc('\n', r.out);
        }
        int one = run_file(&x, &r, files[i]);
        exit_code = exit_code ? exit_code : one;
    }
    return mt_cli_report_end(cli, &o, exit_code);
}

/* ---- rules ---- */

enum { MAX_RULES = (int)MT_MIB };

int mt_cli_rules(struct mt_cli *cli, const char *file, struct mt_rules **out)
{
    struct mt_error err;
    struct mt_buf text = {0};
    const char *path = file ? file : getenv("MEMTOOL_RULES");
    enum mt_status status = path && *path ? mt_cli_slurp_file(path, MAX_RULES, &text, &err) : MT_OK;
    if (status == MT_OK) {
        status = mt_rules_new(mt_buf_view(&text), out, &err);
    }
    mt_buf_release(&text);
    return status == MT_OK ? 0 : mt_cli_fail(cli, path, &err);
}
