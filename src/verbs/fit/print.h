/* SPDX-License-Identifier: MIT */
/* fit as text, JSON and CSV. */
#ifndef MEMTOOL_REPORT_FIT_H
#define MEMTOOL_REPORT_FIT_H

#include "verbs/fit/fit.h"
#include "print/report.h"

/* One setting that was asked for; all borrowed. */
struct mt_fit_answer {
    struct mt_str conf; /* "" for the defaults */
    bool recorded;      /* the settings of the recordings */
    const struct mt_fit_run *runs;
    size_t n_runs;
    uint64_t limit, capacity; /* bytes, 0: none */
    bool searched;            /* for the largest size: */
    struct mt_fit_run fits, next;
};

struct mt_fit_report {
    const struct mt_fit *fit;
    const struct mt_snapshot *base; /* whose stacks are named */
    const char *what;               /* the name of the size: "batch" */
    char **files;                   /* of the recordings, in their order */
    const struct mt_fit_answer *answers;
    size_t n_answers;
    uint64_t advised; /* the size that `cures` are for; 0: none were asked for */
    const struct mt_sim_cures *cures;
};

enum { MT_FIT_GROWING = 5 }; /* stacks that are named */

/* Under which the largest size is sought; 0: none. */
static inline uint64_t mt_fit_bound(const struct mt_fit_answer *a)
{
    return a->limit && (!a->capacity || a->limit < a->capacity) ? a->limit : a->capacity;
}

/* A call of the base, as people read it. */
void mt_fit_label(struct mt_buf *b, const struct mt_fit_report *v, uint32_t stack,
                  const struct mt_report *r);

enum mt_status mt_report_fit_json(const struct mt_report *r, const struct mt_fit_report *v,
                                  struct mt_error *err) MT_NODISCARD;
enum mt_status mt_report_fit_text(const struct mt_report *r, const struct mt_fit_report *v,
                                  struct mt_error *err) MT_NODISCARD;
/* One row a prediction. */
enum mt_status mt_report_fit_csv(const struct mt_report *r, const struct mt_fit_report *v,
                                 struct mt_error *err) MT_NODISCARD;

#endif
