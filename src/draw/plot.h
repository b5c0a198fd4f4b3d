/* SPDX-License-Identifier: MIT */
/*
 * Pictures. What is to be drawn first becomes a scene: rectangles, polygons, lines and text with
 * plain numbers, which tests compare; painters then walk the scene and know nothing of memory.
 *
 *   analysis (timeline, state, flame tree) -> scene -> SVG | PNG | PDF
 *
 * The same input gives the same bytes. Only cairo_draw.c knows cairo.
 */
#ifndef MEMTOOL_DRAW_PLOT_H
#define MEMTOOL_DRAW_PLOT_H

#include <stdio.h>

#include "heap/stacks/fold.h"
#include "snapshot/model/model.h"
#include "support/error.h"
#include "support/units.h"

enum mt_theme_name { MT_THEME_LIGHT, MT_THEME_DARK };

struct mt_plot_style {
    int width, height; /* px; 0: chosen by what is drawn */
    enum mt_theme_name theme;
    struct mt_size_format size;
    bool full_path;  /* whole file names in labels */
    bool all_frames; /* stacks are named by their innermost frame, not by the one that tells most */
};

struct mt_scene;
struct mt_scene *mt_scene_new(const struct mt_plot_style *style) MT_NODISCARD; /* NULL: no memory */
void mt_scene_free(struct mt_scene *scene);
int mt_scene_width(const struct mt_scene *scene); /* px, once something was drawn */
int mt_scene_height(const struct mt_scene *scene);

/* The scene as text, one mark a line, for tests. */
void mt_scene_dump(const struct mt_scene *scene, struct mt_buf *out);

/* ---- what can be drawn ---- */

/* A flame graph of a tree, the root at the bottom. Frames narrower than the picture can show are
 * left out, and said so. Errors: MT_NOMEM. */
struct mt_flame_panel {
    const struct mt_snapshot
        *snapshot; /* for telling internal frames; NULL: colours by name only */
    const struct mt_flame *tree;
    bool compare; /* coloured by what grew (red) and shrank (blue) */
    const char *title, *file;
    const char *before; /* the file that `file` is compared with; NULL: none */
    const char *total;  /* what the whole width is: "in use at the end"; of a comparison the figures
                           of both, "1 GiB before, 2 GiB after" */
};
enum mt_status mt_plot_flame(struct mt_scene *scene, const struct mt_flame_panel *panel,
                             struct mt_error *err) MT_NODISCARD;

/* ---- painting ---- */

struct mt_plot_format {
    const char *name;   /* for --format */
    const char *suffix; /* ".svg" */
    enum mt_status (*paint)(const struct mt_scene *scene, double scale, FILE *out,
                            struct mt_error *err);
};
extern const struct mt_plot_format MT_PLOT_FORMATS[]; /* ends with a NULL name */

/* By name, or by the suffix of a path; NULL when there is none. */
const struct mt_plot_format *mt_plot_format_named(const char *name);
const struct mt_plot_format *mt_plot_format_of(const char *path);

/* ---- terminals ---- */

enum mt_term_charset { MT_TERM_BLOCKS, MT_TERM_ASCII };

struct mt_term_style {
    int width;  /* columns of the whole picture, at least 40 */
    int height; /* rows of the chart */
    enum mt_term_charset charset;
    bool color;
    struct mt_size_format size;
};

#endif
