/* SPDX-License-Identifier: MIT */
/* What a fit cannot know, in sentences. */
#ifndef MEMTOOL_REPORT_FIT_DOUBTS_H
#define MEMTOOL_REPORT_FIT_DOUBTS_H

#include "verbs/fit/print.h"
#include "support/vec.h"

struct mt_fit_doubt {
    const char *id; /* for programs */
    char *text;     /* owned */
};
struct mt_fit_doubts {
    MT_VEC(struct mt_fit_doubt) list;
};

/* Errors: MT_NOMEM. */
enum mt_status mt_fit_doubts_find(struct mt_fit_doubts *d, const struct mt_report *r,
                                  const struct mt_fit_report *v, struct mt_error *err) MT_NODISCARD;
void mt_fit_doubts_release(struct mt_fit_doubts *d);

#endif
