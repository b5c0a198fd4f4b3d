/* SPDX-License-Identifier: MIT */
/* memtool frag: why free memory cannot be used. */
#include "cli/each_file.h"
#include "cli/analysis_run.h"
#include "cli/command.h"
#include "heap/findings/frag.h"
#include "verbs/frag/print.h"

struct frag_settings {
    struct mt_common common;
    struct mt_moment at;
    struct mt_filter filter;
};

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files);
static void defaults(void *settings);

static const struct mt_option OPTIONS[] = {
    MT_OPT_CUSTOM(0, "at", offsetof(struct frag_settings, at), "WHEN", mt_at_parse,
                  "the moment: oom or end (default: where a request failed, both), peak, start, "
                  "step:N or annotation:NAME (their highest point), an event's number or a time",
                  .common = true),
};

static const struct mt_option_group GROUPS[] = {
    {.title = "Options", .options = OPTIONS, .n = MT_COUNT(OPTIONS)},
    MT_FILTER_GROUP(struct frag_settings),
};

const struct mt_command mt_cmd_frag = {
    .name = "frag",
    .summary = "why the free memory cannot be used",
    .usage = "[options] FILE...",
    .description =
        "Tells what the memory that is reserved but not allocated is lost to: holes beside live "
        "blocks, wholly free segments, other streams, private pools, frees that wait. Shows the "
        "largest hole of each pool and stream, the call stacks whose live blocks pin the most free "
        "memory, what emptying the cache would give back, and what in the trace causes it, each "
        "with its fix.",
    .examples = "memtool frag snap.pickle              what is lost, and who pins it\n"
                "memtool frag --at oom snap.pickle     the same when the request failed",
    .groups = GROUPS,
    .n_groups = MT_COUNT(GROUPS),
    .flags = MT_COMMAND_TABLE | MT_COMMAND_FIGURES,
    .settings_size = sizeof(struct frag_settings),
    .defaults = defaults,
    .min_files = 1,
    .max_files = -1,
    .run = run,
};

static void defaults(void *settings)
{
    struct frag_settings *x = settings;
    x->at.kind = MT_AT_END;
}

struct visit {
    struct mt_moment at;
    MT_VEC(struct mt_frag_result) list;
};

/* The price of the cache, and where it is large what makes it so. */
static enum mt_status look_behind(struct mt_frag_result *x, const struct mt_device_run *d,
                                  struct mt_error *err)
{
    const struct mt_replay *r = d->replay;
    struct mt_recorded recorded;
    x->span_us = mt_replay_span_us(r);
    MT_TRY(mt_driver_price_find(&x->driver, r, 0, r->n, err));
    mt_recorded_find(&recorded, d->snapshot);
    if (x->frag.class == MT_FRAG_NORMAL || recorded.watched) {
        return MT_OK;
    }
    MT_TRY(mt_pattern_find(&x->pattern, r, err));
    return mt_cures_find(&x->cures, r, &x->pattern, err);
}

static uint64_t traced_until(const struct mt_replay *r, size_t done)
{
    struct mt_step at;
    mt_replay_begin(r, &at);
    uint64_t reserved = at.reserved_bytes;
    while (mt_replay_next(r, &at) && at.index < done) {
        reserved = at.reserved_bytes;
    }
    return reserved;
}

static enum mt_status look_at(struct visit *v, const struct mt_device_run *d,
                              const struct mt_moment *at, enum mt_frag_part part,
                              struct mt_error *err)
{
    struct mt_frag_result x = {.part = part};
    enum mt_status status = mt_frag_find(&x.frag, d->snapshot, d->replay, d->filtered, at, err);
    if (status == MT_OK) {
        status = mt_frag_sources_find(&x.sources, d->snapshot, d->replay, d->filtered, err);
    }
    if (status == MT_OK) {
        status = mt_packing_of_replay(&x.ideal, d->replay, err);
    }
    x.traced = traced_until(d->replay, x.frag.events_done);
    if (status == MT_OK && part != MT_FRAG_AFTER_UNWINDING) {
        status = look_behind(&x, d, err);
    }
    if (status == MT_OK && !mt_vec_push(&v->list, x)) {
        status = mt_fail_nomem(err);
    }
    if (status != MT_OK) {
        mt_frag_release(&x.frag);
        mt_frag_sources_release(&x.sources);
        mt_driver_price_release(&x.driver);
    }
    return status;
}

/* A program that catches the error unwinds, or dies and frees: the end of its trace shows the holes
 * of then, not those that made the request fail. */
static enum mt_status visit_device(void *ctx, const struct mt_device_run *d, struct mt_error *err)
{
    struct visit *v = ctx;
    const struct mt_moment oom = {.kind = MT_AT_OOM};
    size_t done;
    struct mt_error none;
    if (v->at.text || mt_moment_find(&oom, d->replay, &done, &none) != MT_OK) {
        return look_at(v, d, &v->at, MT_FRAG_ASKED, err);
    }
    MT_TRY(look_at(v, d, &oom, MT_FRAG_BEFORE_UNWINDING, err));
    return look_at(v, d, &v->at, MT_FRAG_AFTER_UNWINDING, err);
}

static enum mt_status report(void *ctx, const struct mt_report *r, const struct mt_snapshot *s,
                             bool one_line, struct mt_error *err)
{
    const struct visit *v = ctx;
    return r->json ? mt_report_frag_json(r, s, v->list.v, v->list.n, one_line, err)
                   : mt_report_frag_text(r, s, v->list.v, v->list.n, err);
}

static void reset(void *ctx)
{
    struct visit *v = ctx;
    for (size_t i = 0; i < v->list.n; i++) {
        mt_frag_release(&v->list.v[i].frag);
        mt_frag_sources_release(&v->list.v[i].sources);
        mt_driver_price_release(&v->list.v[i].driver);
    }
    mt_vec_release(&v->list);
}

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files)
{
    struct frag_settings *x = settings;
    struct visit v = {.at = x->at};
    const struct mt_analysis_verb verb = {.device = visit_device, .report = report, .reset = reset};
    int code = mt_cli_no_fate_filters(cli, &x->filter, "memtool peak");
    return code ? code : mt_analysis_run(cli, &x->common, &x->filter, &verb, &v, files, n_files);
}
