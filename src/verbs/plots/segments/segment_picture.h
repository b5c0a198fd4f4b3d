/* SPDX-License-Identifier: MIT */
/*
 * The picture of one state while it is drawn, for the files that draw its parts. Lengths are px of
 * the scene; everything goes to its marks, and memory that runs out to scene->failed.
 */
#ifndef MEMTOOL_VERBS_PLOTS_SEGMENTS_SEGMENT_PICTURE_H
#define MEMTOOL_VERBS_PLOTS_SEGMENTS_SEGMENT_PICTURE_H

#include "draw/plot.h"
#include "verbs/plots/chart.h"
#include "verbs/plots/segments/holders.h"
#include "verbs/plots/segments/row_layout.h"

#define MT_SEGMENT_MARGIN 24.0
#define MT_SEGMENT_LABEL_W 196.0    /* left of the lines */
#define MT_SEGMENT_GROUP_SPACE 16.0 /* below a group */

struct mt_segment_picture {
    struct mt_scene *scene;
    const struct mt_segment_panel *panel;
    struct mt_rows rows;
    struct mt_state_sum sum;
    uint64_t gaps;     /* bytes not mapped, of those drawn */
    double x, y, w;    /* of the lines; y moves down */
    double bar, pitch; /* height of a segment, distance of lines */
    double least_px;   /* narrower blocks are bundled */
    size_t tip_frames; /* frames in the tip of a block */
    bool hole_named;   /* the largest one */
    struct mt_holders holders;
};

/* A part of a segment on its line, with its blocks and the gap before it: segment_pieces.c. */
void mt_segment_draw_piece(struct mt_segment_picture *p, const struct mt_row_piece *piece);

/* Who holds the memory, and what the patterns mean; returns where it ends: segment_legend.c. */
double mt_segment_draw_legend(struct mt_segment_picture *p, struct mt_box box);

/* What segments without a block in use are called: those of private pools stay with their pool. */
const char *mt_segment_empty_name(const struct mt_state *st);

/* Names all holders: mt_label_stack, which also knows why blocks of the state have no stack, with
 * those of one name told apart. Each label is to be released. */
void mt_segment_labels(struct mt_label *labels, const struct mt_plot_style *style,
                       const struct mt_segment_panel *panel, const struct mt_holders *h);

/* ---- a state at which a request was refused: segment_request.c ---- */

/* The out-of-memory event that the state is shown at, or NULL. */
const struct mt_event *mt_segment_oom(const struct mt_segment_panel *panel);

/* When the last such event came before this state, and what was free then; false: there was none,
 * or it is the state's own. */
bool mt_segment_say_earlier(struct mt_buf *b, const struct mt_segment_panel *panel,
                            struct mt_size_format f);

/* "in use 23.76 GiB (97 %), 569.70 MiB of it freed and waiting": active memory, as PyTorch calls
 * it.
 */
void mt_segment_say_in_use(struct mt_buf *b, const struct mt_state_sum *sum,
                           struct mt_size_format f);

/* "free 121.75 MiB: 120.00 MiB in 6 empty segments, 1.75 MiB between blocks · largest hole 20.00
 * MiB"; nothing when nothing is free. */
void mt_segment_say_free(struct mt_buf *b, const struct mt_state_sum *sum, struct mt_size_format f);

/* Why it was refused, in lines at most `room` wide below y; returns where that ends. */
double mt_segment_say_refusal(struct mt_segment_picture *p, const struct mt_event *oom, double y,
                              double room);

/* What was asked for, on the scale of the segments: it fits into none of the holes below. */
void mt_segment_draw_request(struct mt_segment_picture *p, const struct mt_event *oom);

#endif
