/* SPDX-License-Identifier: MIT */
/* The ranks in one picture: memory over time as a heat map, one row per rank, and their peaks
 * beside it. */
#ifndef MEMTOOL_VERBS_RANKS_HEAT_MAP_H
#define MEMTOOL_VERBS_RANKS_HEAT_MAP_H

#include "draw/plot.h"
#include "print/report.h"
#include "verbs/ranks/ranks.h"

/* Rows of the picture; with more ranks several share one, which shows the most of them. */
#define MT_RANK_ROWS 256

struct mt_rank_picture {
    const struct mt_ranks *ranks; /* compared */
    const struct mt_ranks_result *result;
    uint64_t capacity; /* 0: not known */
};

/* Draws to r->out. Errors: MT_NOMEM, and those of the format. */
enum mt_status mt_rank_picture_write(const struct mt_report *r, const struct mt_plot_format *format,
                                     const struct mt_rank_picture *what, struct mt_error *err)
    MT_NODISCARD;

/* The scene of it. Errors: MT_NOMEM. */
enum mt_status mt_rank_picture_scene(struct mt_scene *s, const struct mt_rank_picture *what,
                                     struct mt_error *err) MT_NODISCARD;

#endif
