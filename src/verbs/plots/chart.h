/* SPDX-License-Identifier: MIT */
/* What charts over time share: their frame, axes, where labels may stand, and the legend. */
#ifndef MEMTOOL_VERBS_PLOTS_CHART_H
#define MEMTOOL_VERBS_PLOTS_CHART_H

#include "draw/label.h"
#include "draw/scene.h"
#include "verbs/plots/plots.h"

#define MT_CHART_LABELS 24

struct mt_box {
    double x, y, w, h;
};

/* The area of one panel and the chart in it. */
struct mt_chart {
    struct mt_scene *scene;
    const struct mt_trace_panel *panel;
    struct mt_box area; /* of the whole panel */
    struct mt_box plot; /* of the curves */
    struct mt_box legend;
    double legend_spare; /* px of height that the rows of the legend do not need */
    double y_max;        /* bytes at the top of the plot */
    struct mt_box taken[MT_CHART_LABELS];
    size_t n_taken;
};

double mt_chart_x(const struct mt_chart *c, double x01);
double mt_chart_y(const struct mt_chart *c, double bytes);

/* Frame, grid, ticks and their labels. */
void mt_chart_axes(struct mt_chart *c);

/* ---- annotations (chart_strips.c) ---- */

/* How high the strips of annotations above the plot are with their caption, px: 0 when there are
 * none, or they are too narrow. The plot's x and width must be known. */
double mt_chart_strips(const struct mt_chart *c);

/* Draws them. */
void mt_chart_annotations(struct mt_chart *c);

/* ---- labels on the chart (chart_notes.c) ---- */

struct mt_note {
    double x, y; /* of the point it belongs to */
    uint32_t color;
    const char *text;
};

/* Keeps labels off a mark. */
void mt_chart_take(struct mt_chart *c, struct mt_box box);

/* A label at its point; one that may stand further away; one that lies on curves when there is no
 * other place. None is ever over another one. False: there was no place, it is left out. */
bool mt_chart_note_near(struct mt_chart *c, const struct mt_note *n);
bool mt_chart_note(struct mt_chart *c, const struct mt_note *n);
bool mt_chart_note_anyhow(struct mt_chart *c, const struct mt_note *n);

/* One row of a legend. */
struct mt_legend_row {
    uint32_t color;
    const struct mt_label *label;
    uint64_t bytes;
    bool largest;  /* of all stacks: bold */
    uint64_t most; /* with bytes = 0: what it had at another time, instead of a share */
    double share;  /* of the total, 0 .. 1 */
    uint32_t tip;
    double spare; /* px by which it may be higher, so that a long second line is broken, not cut */
};
#define MT_LEGEND_ROW_PX 34.0
#define MT_LEGEND_HEAD_PX 24.0
void mt_legend_head(struct mt_scene *s, struct mt_box box, const char *title);
/* Returns its height: MT_LEGEND_ROW_PX, or more out of `spare`. */
double mt_legend_row(struct mt_scene *s, struct mt_box box, double y,
                     const struct mt_legend_row *row);
void mt_legend_total(struct mt_scene *s, struct mt_box box, double y, const char *title,
                     uint64_t bytes);

#endif
