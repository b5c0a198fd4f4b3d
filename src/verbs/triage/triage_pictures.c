/* SPDX-License-Identifier: MIT */
/* The pictures of a snapshot within the page: memory over the trace, and the segments at the
 * out-of-memory event or the peak, as SVG without a script. */
#include "verbs/triage/triage_pictures.h"

#include "draw/plot.h"
#include "heap/walk/moment.h"
#include "heap/walk/state.h"
#include "heap/walk/timeline.h"
#include "verbs/plots/plots.h"

/* Paints what `draw` made of the scene, if it could. */
static enum mt_status paint(FILE *out, struct mt_scene *scene, enum mt_status drawn,
                            struct mt_error *err)
{
    MT_TRY(drawn);
    fputs("<div class=\"picture\">\n", out);
    MT_TRY(mt_plot_format_named("svg")->paint(scene, 1, out, err));
    fputs("</div>\n", out);
    return MT_OK;
}

static enum mt_status put_timeline(FILE *out, const struct mt_triage_picture *p,
                                   const struct mt_replay *r, const struct mt_timeline *look,
                                   struct mt_scene *scene, struct mt_error *err)
{
    struct mt_timeline_options options = {
        .columns = MT_PLOT_LOOK_COLUMNS, .bands = MT_PLOT_LOOK_BANDS, .last = r->n};
    struct mt_trace_panel panel = {.snapshot = p->snapshot,
                                   .replay = r,
                                   .timeline = look,
                                   .options = &options,
                                   .file = p->file};
    return paint(out, scene, mt_plot_trace(scene, &panel, 1, err), err);
}

static enum mt_status put_segments(FILE *out, const struct mt_triage_picture *p,
                                   const struct mt_replay *r, const struct mt_timeline *look,
                                   struct mt_scene *scene, struct mt_error *err)
{
    struct mt_moment oom = {.kind = MT_AT_OOM}, peak = {.kind = MT_AT_PEAK};
    struct mt_state state;
    size_t done = 0;
    bool at_oom = mt_moment_find(&oom, r, &done, err) == MT_OK;
    if (!at_oom) {
        MT_TRY(mt_moment_find(&peak, r, &done, err));
    }
    MT_TRY(mt_state_at(p->snapshot, (size_t)p->device, done, &state, err));
    struct mt_segment_panel panel = {.snapshot = p->snapshot,
                                     .replay = r,
                                     .state = &state,
                                     .look = look,
                                     .file = p->file,
                                     .moment = at_oom ? "when it failed" : "at the peak"};
    enum mt_status status = paint(out, scene, mt_plot_segments(scene, &panel, 1, err), err);
    mt_state_release(&state);
    return status;
}

typedef enum mt_status put_fn(FILE *out, const struct mt_triage_picture *p,
                              const struct mt_replay *r, const struct mt_timeline *look,
                              struct mt_scene *scene, struct mt_error *err);

static enum mt_status put(put_fn *what, FILE *out, const struct mt_triage_picture *p,
                          const struct mt_replay *r, const struct mt_timeline *look,
                          struct mt_error *err)
{
    struct mt_plot_style style = {.theme = MT_THEME_LIGHT};
    struct mt_scene *scene = mt_scene_new(&style);
    enum mt_status status = scene ? what(out, p, r, look, scene, err) : mt_fail_nomem(err);
    mt_scene_free(scene);
    return status;
}

enum mt_status mt_triage_put_pictures(FILE *out, const struct mt_triage_picture *p,
                                      struct mt_error *err)
{
    struct mt_replay replay;
    struct mt_timeline look = {0};
    MT_TRY(mt_replay_init(&replay, p->snapshot, p->device, err));
    enum mt_status status = mt_plot_look_init(&look, &replay, err);
    if (status == MT_OK && replay.n > 0) {
        status = put(put_timeline, out, p, &replay, &look, err);
    }
    if (status == MT_OK) {
        status = put(put_segments, out, p, &replay, &look, err);
    }
    mt_timeline_release(&look);
    mt_replay_release(&replay);
    return status;
}
