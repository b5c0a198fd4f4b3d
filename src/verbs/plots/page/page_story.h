/* SPDX-License-Identifier: MIT */
/* What the headings of a picture of memory over time say, for the page. */
#ifndef MEMTOOL_VERBS_PLOTS_PAGE_PAGE_STORY_H
#define MEMTOOL_VERBS_PLOTS_PAGE_PAGE_STORY_H

#include "draw/plot.h"
#include "heap/walk/timeline.h"

/* A band as pictures draw it: from the ground up, in their colours. */
struct mt_page_band {
    uint32_t stack; /* or MT_BAND_OLDER; the others are the viewer's */
    uint32_t light, dark;
};

struct mt_page_story {
    MT_VEC(struct mt_page_band) bands;
    struct mt_buf doubt;         /* why figures cannot be right; may be empty */
    struct mt_buf growth;        /* what memory does from step to step; may be empty */
    struct mt_buf oom;           /* the last out-of-memory event, and why; may be empty */
    struct mt_buf limit_text;    /* of the limit, if there is one */
    struct mt_limit_range limit; /* of the process, inferred; below = 0: none */
};

/* Errors: MT_NOMEM; *story is to be released in any case. */
enum mt_status mt_page_story_init(struct mt_page_story *story, const struct mt_replay *r,
                                  const struct mt_plot_style *style, struct mt_error *err)
    MT_NODISCARD;
void mt_page_story_release(struct mt_page_story *story);

#endif
