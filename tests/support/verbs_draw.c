/* SPDX-License-Identifier: MIT */
/* Pictures, the page and the table of a snapshot that may say anything. */
#include <stdlib.h>

#include "verbs/plots/page/page.h"
#include "draw/plot.h"
#include "verbs/plots/plots.h"
#include "heap/walk/query.h"

#include "verbs.h"

static void draw_trace(const struct mt_trace_panel *panel, const struct mt_plot_style *style)
{
    struct mt_error err;
    struct mt_buf out = {0};
    struct mt_term_style term = {.width = 80, .height = 10};
    struct mt_scene *scene = mt_scene_new(style);
    if (scene) {
        (void)!mt_plot_trace(scene, panel, 1, &err);
        mt_scene_free(scene);
    }
    (void)!mt_term_trace(panel, 1, style, &term, &out, &err);
    mt_buf_release(&out);
}

static void draw_state(const struct mt_segment_panel *panel, const struct mt_plot_style *style)
{
    struct mt_error err;
    struct mt_buf out = {0};
    struct mt_term_style term = {.width = 80, .height = 10};
    struct mt_scene *scene = mt_scene_new(style);
    if (scene) {
        (void)!mt_plot_segments(scene, panel, 1, &err);
        mt_scene_free(scene);
    }
    (void)!mt_term_segments(panel, 1, style, &term, &out, &err);
    mt_buf_release(&out);
}

static void draw_device(const struct mt_snapshot *s, int32_t device, unsigned choice)
{
    static const struct mt_plot_style STYLE = {0};
    struct mt_error err;
    struct mt_replay r;
    struct mt_timeline t;
    struct mt_state state;
    struct mt_timeline_options o = {.subject = choice & 1,
                                    .by_time = choice & 2,
                                    .columns = 40,
                                    .bands = 4,
                                    .live_only = choice & 4,
                                    .first = choice & 8 ? 2 : 0,
                                    .last = SIZE_MAX};
    if (mt_replay_init(&r, s, device, &err) != MT_OK) {
        return;
    }
    if (mt_timeline_init(&t, &r, &o, &err) == MT_OK) {
        struct mt_trace_panel panel = {
            .snapshot = s, .replay = &r, .timeline = &t, .options = &o, .file = "a"};
        panel.per_alloc = choice & 16 ? 10 : 0;
        draw_trace(&panel, &STYLE);
        mt_timeline_release(&t);
    }
    if (mt_state_at(s, (size_t)device, choice & 32 ? 3 : SIZE_MAX, &state, &err) == MT_OK) {
        struct mt_segment_panel panel = {
            .snapshot = s, .replay = &r, .state = &state, .file = "a", .moment = "at the end"};
        draw_state(&panel, &STYLE);
        mt_state_release(&state);
    }
    mt_replay_release(&r);
}

static void write_page(const struct mt_snapshot *s, unsigned choice)
{
    struct mt_error err;
    struct mt_page_options o = {.file = "a", .view = choice & 1, .device = -1};
    FILE *to = fopen("/dev/null", "w");
    if (to) {
        (void)!mt_page_write(s, &o, to, &err);
        fclose(to);
    }
}

void verbs_draw(const struct mt_snapshot *s, unsigned choice)
{
    struct mt_error err;
    struct mt_devices devices = {0};
    if (mt_devices_find(&devices, s, false, &err) == MT_OK) {
        for (size_t i = 0; i < devices.ids.n; i++) {
            draw_device(s, devices.ids.v[i], choice);
        }
    }
    mt_devices_release(&devices);
    write_page(s, choice);
}
