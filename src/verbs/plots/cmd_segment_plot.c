/* SPDX-License-Identifier: MIT */
/* segment_plot: what the allocator's state looks like at a moment. */
#include <string.h>

#include "cli/output/picture.h"
#include "draw/plot.h"
#include "heap/walk/query.h"
#include "support/checked.h"
#include "verbs/plots/page/page.h"
#include "verbs/plots/page/page_output.h"
#include "verbs/plots/plot_verbs.h"
#include "verbs/plots/plots.h"
#include "verbs/plots/print.h"

struct segment_plot_settings {
    struct mt_common common;
    struct mt_picture picture;
    struct mt_moment at;
    int64_t device;
    bool timeline;
};

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files);
static void defaults(void *settings);

#define AT(field) offsetof(struct segment_plot_settings, field)

static const struct mt_option OPTIONS[] = {
    MT_OPT_CUSTOM(
        0, "at", AT(at), "WHEN", mt_at_parse,
        "peak, oom, end, start, step:N, annotation:NAME, an event or a time (default end)",
        .common = true),
    MT_OPT_INT(0, "device", AT(device), "N", 0, 1023, "only this device", .common = true),
    MT_OPT_FLAG('s', "segments", AT(timeline),
                "draw reserved segments over time, the same as trace_plot -s"),
    MT_OPT_OUTPUT("write the picture to FILE, as its name ends: .svg, .png, .pdf, or .html to look "
                  "around in"),
};

static const struct mt_option_group GROUPS[] = {
    {.title = "State", .options = OPTIONS, .n = MT_COUNT(OPTIONS)},
    MT_PICTURE_GROUP(struct segment_plot_settings),
};

const struct mt_command mt_cmd_segment_plot = {
    .name = "segment_plot",
    .summary = "draw the allocator's state at a moment",
    .usage = "[options] FILE",
    .description =
        "Draws each segment to scale, in rows by pool and stream: blocks in the colour of the "
        "stack that holds them, holes between them blank, empty segments tinted, frees that wait "
        "for another stream hatched, bytes lost to rounding in red. The suffix of -o names the "
        "format; without -o the picture is drawn with characters.",
    .examples = "memtool segment_plot snap.pickle --at oom -o state.svg    why it did not fit\n"
                "memtool segment_plot snap.pickle --at peak                in the terminal",
    .groups = GROUPS,
    .n_groups = MT_COUNT(GROUPS),
    .flags = MT_COMMAND_FIGURES | MT_COMMAND_OWN_SUFFIXES,
    .settings_size = sizeof(struct segment_plot_settings),
    .defaults = defaults,
    .min_files = 1,
    .max_files = 1,
    .run = run,
};

static void defaults(void *settings)
{
    struct segment_plot_settings *set = settings;
    set->at.kind = MT_AT_END;
    set->device = -1;
}

/* A device with all that its panel is drawn from. */
struct subject {
    struct mt_replay replay;
    struct mt_state state;
    struct mt_timeline look; /* colours as in trace_plot */
    struct mt_buf moment;
};

struct plot {
    struct mt_cli *cli;
    struct segment_plot_settings *set;
    const char *file;
    struct mt_snapshot snapshot;
    MT_VEC(struct subject) subjects;
    MT_VEC(struct mt_segment_panel) panels;
};

/* "at the peak (event 1,206, after 4.62 s)". */
static void say_moment(struct mt_buf *b, enum mt_moment_kind kind, const struct mt_replay *r,
                       size_t done)
{
    static const char *const WORDS[] = {[MT_AT_PEAK] = "at the peak",
                                        [MT_AT_OOM] = "at the out-of-memory event",
                                        [MT_AT_END] = "at the end",
                                        [MT_AT_START] = "before the first event",
                                        [MT_AT_EVENT] = "after",
                                        [MT_AT_TIME] = "at that time",
                                        [MT_AT_STEP] = "at the highest point of the step",
                                        [MT_AT_ANNOTATION] =
                                            "at the highest point of the annotation"};
    mt_buf_text(b, WORDS[kind]);
    if (done == 0 || done > r->n || kind == MT_AT_END) {
        return;
    }
    int64_t us = r->events[done - 1].time_us, first = r->events[0].time_us;
    mt_buf_printf(b, kind == MT_AT_EVENT ? " event %s" : " (event %s", mt_count_text(done - 1).s);
    if (us != MT_NO_TIME && first != MT_NO_TIME && us >= first) {
        mt_buf_printf(b, kind == MT_AT_EVENT ? " (%s)" : ", %s",
                      mt_duration_text(mt_time_between(first, us)).s);
    }
    mt_buf_text(b, kind == MT_AT_EVENT ? "" : ")");
}

static enum mt_status add_device(struct plot *p, int32_t device, struct mt_error *err)
{
    struct subject u = {.moment = {0}};
    size_t done = 0;
    MT_TRY(mt_replay_init(&u.replay, &p->snapshot, device, err));
    enum mt_status status = mt_moment_find(&p->set->at, &u.replay, &done, err);
    if (status == MT_OK) {
        status = mt_state_at(&p->snapshot, (size_t)device, done, &u.state, err);
    }
    if (status == MT_OK) {
        status = mt_plot_look_init(&u.look, &u.replay, err);
    }
    if (status == MT_OK) {
        say_moment(&u.moment, p->set->at.kind, &u.replay, done);
        if (!mt_vec_push(&p->subjects, u) || u.moment.failed) {
            status = mt_fail_nomem(err);
        }
    }
    if (status != MT_OK &&
        (p->subjects.n == 0 || p->subjects.v[p->subjects.n - 1].moment.p != u.moment.p)) {
        mt_replay_release(&u.replay);
        mt_state_release(&u.state);
        mt_timeline_release(&u.look);
        mt_buf_release(&u.moment);
    }
    return status;
}

static enum mt_status add_devices(struct plot *p, struct mt_error *err)
{
    struct mt_devices devices = {0};
    enum mt_status status = mt_devices_find(&devices, &p->snapshot, false, err);
    for (size_t i = 0; status == MT_OK && i < devices.ids.n && i < MT_PLOT_MOST_DEVICES; i++) {
        if (p->set->device < 0 || p->set->device == devices.ids.v[i]) {
            status = add_device(p, devices.ids.v[i], err);
        }
    }
    if (devices.ids.n > MT_PLOT_MOST_DEVICES && p->set->device < 0) {
        mt_cli_note(p->cli, &p->set->common, "%s: the first %d of %zu devices are drawn", p->file,
                    MT_PLOT_MOST_DEVICES, devices.ids.n);
    }
    mt_devices_release(&devices);
    if (status == MT_OK && p->subjects.n == 0) {
        status = p->set->device < 0 ? add_device(p, 0, err)
                                    : mt_plot_no_device((int32_t)p->set->device, err);
    }
    for (size_t i = 0; status == MT_OK && i < p->subjects.n; i++) {
        const struct subject *u = &p->subjects.v[i];
        struct mt_segment_panel panel = {.snapshot = &p->snapshot,
                                         .replay = &u->replay,
                                         .state = &u->state,
                                         .look = &u->look,
                                         .file = p->file,
                                         .moment = u->moment.p ? u->moment.p : ""};
        if (!mt_vec_push(&p->panels, panel)) {
            status = mt_fail_nomem(err);
        }
    }
    return status;
}

static int print_json(struct plot *p)
{
    struct mt_error err;
    struct mt_report r;
    struct mt_cli_output o;
    MT_VEC(struct mt_state_result) list = {0};
    int code = mt_picture_json_begin(p->cli, &p->set->common, p->file, &r, &o);
    if (code) {
        return code;
    }
    enum mt_status status = MT_OK;
    for (size_t i = 0; status == MT_OK && i < p->panels.n; i++) {
        struct mt_state_result t = {&p->snapshot, p->panels.v[i].state, p->panels.v[i].moment};
        status = mt_vec_push(&list, t) ? MT_OK : mt_fail_nomem(&err);
    }
    if (status == MT_OK) {
        status = mt_report_states(&r, list.v, list.n, &err);
    }
    mt_vec_release(&list);
    return mt_cli_report_end(p->cli, &o, status == MT_OK ? 0 : mt_cli_fail(p->cli, p->file, &err));
}

static enum mt_status draw_scene(struct mt_scene *scene, const void *panels, size_t n,
                                 struct mt_error *err)
{
    return mt_plot_segments(scene, panels, n, err);
}

static enum mt_status draw_characters(const void *panels, size_t n,
                                      const struct mt_plot_style *style,
                                      const struct mt_term_style *term, struct mt_buf *out,
                                      struct mt_error *err)
{
    return mt_term_segments(panels, n, style, term, out, err);
}

static int draw(struct plot *p, const struct mt_picture_target *target)
{
    struct mt_picture_panels x = {p->panels.v, p->panels.n, draw_scene, draw_characters};
    return mt_picture_draw(p->cli, &p->set->common, &p->set->picture, target, &x);
}

static int answer(struct plot *p, const struct mt_picture_target *target)
{
    int code = p->set->common.json ? print_json(p) : 0;
    return code ? code : draw(p, target);
}

static void plot_release(struct plot *p)
{
    for (size_t i = 0; i < p->subjects.n; i++) {
        mt_state_release(&p->subjects.v[i].state);
        mt_timeline_release(&p->subjects.v[i].look);
        mt_replay_release(&p->subjects.v[i].replay);
        mt_buf_release(&p->subjects.v[i].moment);
    }
    mt_vec_release(&p->subjects);
    mt_vec_release(&p->panels);
    mt_snapshot_release(&p->snapshot);
}

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files)
{
    struct plot p = {.cli = cli, .set = settings, .file = files[0]};
    struct mt_picture_target target;
    struct mt_error err;
    if (mt_picture_is_page(&p.set->common, &p.set->picture)) {
        const struct mt_page_refusal refused[] = {{"--segments", p.set->timeline},
                                                  {"--at start", p.set->at.kind == MT_AT_START}};
        struct mt_page_options page = {.view = MT_PAGE_STATE,
                                       .device = (int32_t)p.set->device,
                                       .at = p.set->at,
                                       .opens_at = true,
                                       .dark = p.set->picture.theme == MT_THEME_DARK};
        int wrong =
            mt_page_check_options(cli, &p.set->common, &p.set->picture, refused, MT_COUNT(refused));
        return wrong ? wrong : mt_page_output(cli, &p.set->common, files, n_files, &page, NULL);
    }
    if (p.set->timeline) {
        return mt_plot_segment_timeline(cli, &p.set->common, &p.set->picture,
                                        (int32_t)p.set->device, files);
    }
    int code = mt_picture_target(cli, &p.set->common, &p.set->picture, &target);
    if (code) {
        return code;
    }
    int loaded = mt_cli_load(cli, &p.set->common, p.file, &p.snapshot);
    if (loaded != 0 && loaded != 4) {
        return loaded;
    }
    if (add_devices(&p, &err) != MT_OK) {
        code = mt_cli_fail(cli, p.file, &err);
    } else {
        code = answer(&p, &target);
    }
    plot_release(&p);
    return code ? code : loaded;
}
