/* SPDX-License-Identifier: MIT */
/* The pictures of trace_plot and segment_plot: panels become marks of a scene, or characters. */
#ifndef MEMTOOL_VERBS_PLOTS_PLOTS_H
#define MEMTOOL_VERBS_PLOTS_PLOTS_H

#include "draw/plot.h"
#include "heap/findings/leaks.h"
#include "heap/walk/replay.h"
#include "heap/walk/state.h"
#include "heap/walk/timeline.h"

/* One chart of a timeline picture. Everything is borrowed for the call. */
struct mt_trace_panel {
    const struct mt_snapshot *snapshot;
    const struct mt_replay *replay;
    const struct mt_timeline *timeline;
    const struct mt_timeline_options *options;
    const char *file;               /* name for the title */
    const char *only;               /* the filters, "--live"; "": none */
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

/* The events [*first, *last) that the ranges of events and of time in f leave. */
void mt_plot_window(const struct mt_filter *f, const struct mt_replay *r, size_t *first,
                    size_t *last);

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

/* ---- terminals ---- */

/* Timelines in characters, one below the other on one scale; appended to out. Errors: MT_NOMEM. */
enum mt_status mt_term_trace(const struct mt_trace_panel *panels, size_t n,
                             const struct mt_plot_style *style, const struct mt_term_style *term,
                             struct mt_buf *out, struct mt_error *err) MT_NODISCARD;

/* The allocator's state in characters, that of a device below the other. */
enum mt_status mt_term_segments(const struct mt_segment_panel *panels, size_t n,
                                const struct mt_plot_style *style, const struct mt_term_style *term,
                                struct mt_buf *out, struct mt_error *err) MT_NODISCARD;

#endif
