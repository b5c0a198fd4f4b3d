/* SPDX-License-Identifier: MIT */
/*
 * Pictures. What is to be drawn first becomes a scene: rectangles, polygons, lines and text with
 * plain numbers, which tests compare; painters then walk the scene and know nothing of memory.
 *
 *   analysis (timeline, state, flame tree) -> scene -> SVG | PNG | PDF
 *
 * The same input gives the same bytes. Only cairo_draw.c knows cairo.
 */
#ifndef MEMTOOL_PLOT_H
#define MEMTOOL_PLOT_H

#include <stdio.h>

#include <memtool/error.h>
#include <memtool/fold.h>
#include <memtool/leaks.h>
#include <memtool/model.h>
#include <memtool/replay.h>
#include <memtool/state.h>
#include <memtool/timeline.h>
#include <memtool/units.h>

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

/* One chart of a timeline picture. Everything is borrowed for the call. */
struct mt_trace_panel {
    const struct mt_snapshot *snapshot;
    const struct mt_replay *replay;
    const struct mt_timeline *timeline;
    const struct mt_timeline_options *options;
    const char *file;               /* name for the title */
    uint64_t capacity;              /* bytes of the device; 0: not known */
    const char *capacity_from;      /* the label, such as "capacity (--capacity)" */
    struct mt_limit_range limit;    /* of the process, inferred; below = 0: none */
    const struct mt_leaks *leaks;   /* what grows from step to step; NULL: not looked for */
    size_t row, column;             /* place in the grid: a row a device, a column a file */
    const struct mt_timeline *look; /* the timeline that colours are chosen by; NULL: its own */
    size_t per_alloc; /* this many of the largest allocations get shapes of their own; 0: bands */
};

/* What colours are chosen by: the timeline of a device's whole trace, as it is drawn when nothing
 * else is asked for. Pictures of a file that share it agree on the colour of each stack. */
#define MT_PLOT_LOOK_COLUMNS 752
#define MT_PLOT_LOOK_BANDS 10
enum mt_status mt_plot_look_init(struct mt_timeline *t, const struct mt_replay *r,
                                 struct mt_error *err) MT_NODISCARD;

/* Memory over time. The charts share the scale of bytes. Errors: MT_NOMEM. */
enum mt_status mt_plot_trace(struct mt_scene *scene, const struct mt_trace_panel *panels, size_t n,
                             struct mt_error *err) MT_NODISCARD;

struct mt_segment_panel {
    const struct mt_snapshot *snapshot;
    const struct mt_replay *replay; /* for lifetimes */
    const struct mt_state *state;
    const struct mt_timeline *look; /* whose colours it shares; NULL: colours by the state alone */
    const char *file;
    const char *moment; /* "at the peak (event 1,234)": for the title */
};

/* The allocator's state: segments in rows, blocks to scale. Errors: MT_NOMEM. */
enum mt_status mt_plot_segments(struct mt_scene *scene, const struct mt_segment_panel *panels,
                                size_t n, struct mt_error *err) MT_NODISCARD;

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

/* Timelines in characters, one below the other on one scale; appended to out. Errors: MT_NOMEM. */
enum mt_status mt_term_trace(const struct mt_trace_panel *panels, size_t n,
                             const struct mt_plot_style *style, const struct mt_term_style *term,
                             struct mt_buf *out, struct mt_error *err) MT_NODISCARD;

/* The allocator's state in characters, that of a device below the other. */
enum mt_status mt_term_segments(const struct mt_segment_panel *panels, size_t n,
                                const struct mt_plot_style *style, const struct mt_term_style *term,
                                struct mt_buf *out, struct mt_error *err) MT_NODISCARD;

#endif
