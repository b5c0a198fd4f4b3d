/* SPDX-License-Identifier: MIT */
/* Where annotations begin and end, counted in events of a device's trace. */
#ifndef MEMTOOL_VERBS_PLOTS_PAGE_PAGE_MARKS_H
#define MEMTOOL_VERBS_PLOTS_PAGE_PAGE_MARKS_H

#include "heap/walk/replay.h"
#include "support/error.h"
#include "support/vec.h"

struct mt_page_mark {
    uint32_t name;  /* string id */
    uint32_t event; /* begins: the first event inside; ends: the first event behind. 0 .. r->n */
    bool begins;
    int64_t time_us;
    size_t order; /* in the file: decides between marks of one microsecond */
};

struct mt_page_marks {
    MT_VEC(struct mt_page_mark) v;
};

/* The marks of r's device and of no device, by event; none without events. Release with
 * mt_vec_release(&m->v), also after a failure. Errors: MT_NOMEM. */
enum mt_status mt_page_marks_find(struct mt_page_marks *m, const struct mt_replay *r,
                                  struct mt_error *err) MT_NODISCARD;

#endif
