/* SPDX-License-Identifier: MIT */
/* The trend of a history, drawn: the peak of each run, what is allowed, and the first bad run. */
#ifndef MEMTOOL_VERBS_HISTORY_TREND_H
#define MEMTOOL_VERBS_HISTORY_TREND_H

#include "draw/plot.h"
#include "print/history.h"
#include "print/report.h"

struct mt_trend {
    const struct mt_run_history *h;
    uint64_t base, limit; /* valid when knows_base */
    bool knows_base;
    size_t first_bad; /* SIZE_MAX: none */
};

/* Whether an entry is above the limit. */
static inline bool mt_trend_is_bad(const struct mt_trend *x, size_t i)
{
    return x->knows_base && x->h->v.v[i].peak > x->limit;
}

/* As a picture to r->out. Errors: MT_NOMEM, and those of the format. */
enum mt_status mt_trend_picture(const struct mt_report *r, const struct mt_plot_format *format,
                                const struct mt_trend *x, struct mt_error *err) MT_NODISCARD;
enum mt_status mt_trend_scene(struct mt_scene *s, const struct mt_trend *x, const char *file,
                              struct mt_error *err) MT_NODISCARD;

/* In characters, for a text report. Fewer than three runs have no trend: nothing. Errors: MT_NOMEM.
 */
enum mt_status mt_trend_text(const struct mt_report *r, const struct mt_trend *x,
                             struct mt_error *err) MT_NODISCARD;

#endif
