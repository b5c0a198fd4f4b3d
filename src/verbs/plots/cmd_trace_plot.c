/* SPDX-License-Identifier: MIT */
/* trace_plot: how memory moved over time. */
#include <string.h>

#include "cli/output/picture.h"
#include "draw/plot.h"
#include "heap/walk/query.h"
#include "support/checked.h"
#include "verbs/plots/overlay/overlay.h"
#include "verbs/plots/page/page.h"
#include "verbs/plots/page/page_output.h"
#include "verbs/plots/plot_verbs.h"
#include "verbs/plots/plots.h"
#include "verbs/plots/print.h"

struct trace_plot_settings {
    struct mt_common common;
    struct mt_filter filter;
    struct mt_picture picture;
    bool segments;
    bool filter_freed;
    int x; /* -1: chosen */
    uint64_t capacity;
    bool per_alloc;
    bool side_by_side;
    struct mt_texts confs;
};

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files);

static void defaults(void *settings);

enum { AXIS_EVENT, AXIS_TIME, AXIS_STEP };
static const char *const AXES[] = {"event", "time", "step", NULL};

#define AT(field) offsetof(struct trace_plot_settings, field)

static const struct mt_option OPTIONS[] = {
    MT_OPT_FLAG('s', "segments", AT(segments),
                "draw reserved segments, by the stack that needed them", .common = true),
    MT_OPT_CHOICE(0, "x", AT(x), AXES,
                  "what the horizontal axis counts; step lays the steps of several files over one "
                  "another (default where they have steps)",
                  .common = true),
    MT_OPT_FLAG(0, "side-by-side", AT(side_by_side),
                "several files beside one another with their stacks, not as lines over one "
                "another; so do -n and --per-alloc",
                .common = true),
    MT_OPT_SIZE(0, "capacity", AT(capacity), "SIZE",
                "draw a line at the size of the device (default: known after an OOM)",
                .memory = true, .min = 1, .max = MT_ANY_SIZE, .common = true),
    MT_OPT_TEXTS(
        0, "conf", AT(confs), "SETTINGS",
        "in a page (-o x.html): what would be reserved under these settings, written as in "
        "PYTORCH_CUDA_ALLOC_CONF, as a line; repeatable",
        .common = true),
    MT_OPT_INT('n', "limit", AT(common.limit), "N", 0, 1e15,
               "N stacks have a band of their own (default 10), 0 = up to 40", .common = true),
    MT_OPT_FLAG(0, "per-alloc", AT(per_alloc),
                "one shape an allocation for the largest (-n, default 2000), not one a stack"),
    MT_OPT_FLAG(0, "filter_freed", AT(filter_freed),
                "leave out what is freed in the trace, the same as --live"),
    MT_OPT_OUTPUT("write the picture to FILE, as its name ends: .svg, .png, .pdf, or .html to look "
                  "around in"),
};

static const struct mt_option_group GROUPS[] = {
    {.title = "Timeline", .options = OPTIONS, .n = MT_COUNT(OPTIONS)},
    MT_PICTURE_GROUP(struct trace_plot_settings),
    MT_FILTER_GROUP(struct trace_plot_settings),
};

const struct mt_command mt_cmd_trace_plot = {
    .name = "trace_plot",
    .summary = "draw memory over time",
    .usage = "[options] FILE...",
    .description =
        "Draws the memory in use over the recorded events: the stacks that hold most as bands, "
        "reserved memory as a line, the capacity, the peak and each out-of-memory event. The "
        "suffix of -o names the format; without -o the picture is drawn with characters. Several "
        "files lie over one another as lines on one scale, step over step where they have steps; "
        "of "
        "two it marks where they diverge.",
    .examples = "memtool trace_plot snap.pickle -o mem.svg     for the browser\n"
                "memtool trace_plot before.pickle after.pickle -o both.png\n"
                "memtool trace_plot snap.pickle                in the terminal",
    .groups = GROUPS,
    .n_groups = MT_COUNT(GROUPS),
    .flags = MT_COMMAND_FIGURES | MT_COMMAND_OWN_SUFFIXES,
    .settings_size = sizeof(struct trace_plot_settings),
    .defaults = defaults,
    .min_files = 1,
    .max_files = -1,
    .run = run,
};

static void defaults(void *settings)
{
    struct trace_plot_settings *x = settings;
    x->x = -1;
}

/* A device of a file with all that its panel is drawn from. */
struct subject {
    size_t file;
    struct mt_replay replay;
    struct mt_timeline timeline;
    struct mt_timeline look; /* that colours are chosen by, unless `timeline` is it */
    bool own_look;
    struct mt_timeline lines; /* that runs are compared by, unless `timeline` is it */
    bool own_lines;
    struct mt_leaks leaks;
    bool has_leaks;
    struct mt_timeline_options options;
    bool filtered; /* what is drawn passed a filter */
};

struct plot {
    struct mt_cli *cli;
    struct trace_plot_settings *set;
    char **files;
    size_t n_files;
    struct mt_snapshot *snapshots; /* the first `loaded` of them are to be released */
    size_t loaded;
    MT_VEC(struct subject) subjects;
    MT_VEC(struct mt_trace_panel) panels;
    struct mt_buf only; /* the filters in words */
    /* The part of the trace to show, taken out of the filter: memory from before it still counts.
     */
    int32_t device;          /* -1: all; out of the filter too */
    struct mt_filter window; /* its events and times alone */
    bool salvaged;
    bool overlay; /* the files over one another */
    MT_VEC(struct mt_overlay) overlays;
};

static void take_window(struct plot *p)
{
    struct mt_filter *f = &p->set->filter;
    f->live_only |= p->set->filter_freed;
    mt_filter_say(&p->only, f);
    p->device = f->device;
    f->device = -1;
    p->window = *f;
    f->event_min = 0;
    f->event_max = UINT64_MAX;
    f->has_time = false;
}

static size_t picture_columns(const struct plot *p, bool term)
{
    enum { BESIDE = 528, LEAST = 200 };
    if (term) {
        return (size_t)mt_picture_columns(p->cli);
    }
    int64_t w = p->set->picture.width / (int64_t)p->n_files;
    return w == 0               ? MT_PLOT_LOOK_COLUMNS
           : w > BESIDE + LEAST ? (size_t)(w - BESIDE)
                                : (size_t)(w ? w : 1);
}

static void fill_options(const struct plot *p, struct subject *u, bool term,
                         struct mt_filtered *filtered)
{
    enum { MOST_BANDS = 40 };
    const struct trace_plot_settings *set = p->set;
    int64_t limit = set->common.limit;
    bool lines = p->overlay && !set->common.json; /* JSON has the stacks all the same */
    u->options = (struct mt_timeline_options){
        .subject = set->segments ? MT_TIMELINE_SEGMENTS : MT_TIMELINE_MEMORY,
        .by_time = set->x == AXIS_TIME,
        .columns = lines ? MT_OVERLAY_DETAIL : picture_columns(p, term),
        .bands = lines                              ? 1
                 : limit < 0 || set->per_alloc      ? MT_PLOT_LOOK_BANDS
                 : limit == 0 || limit > MOST_BANDS ? MOST_BANDS
                                                    : (size_t)limit,
        .filter = mt_filter_is_open(&set->filter) ? NULL : filtered,
        .live_only = set->filter.live_only,
        .freed_only = set->filter.freed_only,
    };
    mt_plot_window(&p->window, &u->replay, &u->options.first, &u->options.last);
}

/* Whether the timeline is the one that colours are chosen by: nothing but the default was asked
 * for. */
static bool is_look(const struct subject *u)
{
    const struct mt_timeline_options *o = &u->options;
    return o->subject == MT_TIMELINE_MEMORY && !o->by_time && !u->filtered && !o->live_only &&
           !o->freed_only && o->columns == MT_PLOT_LOOK_COLUMNS && o->bands == MT_PLOT_LOOK_BANDS &&
           o->first == 0 && o->last >= u->replay.n;
}

/* Growth is told of the memory of a whole trace, as the verb leaks finds it. */
static enum mt_status find_growth(struct subject *u, struct mt_error *err)
{
    const struct mt_timeline_options *o = &u->options;
    if (o->subject != MT_TIMELINE_MEMORY || u->filtered || o->live_only || o->freed_only ||
        o->first > 0 || o->last < u->replay.n) {
        return MT_OK;
    }
    const struct mt_leak_options leak = {.threshold = MT_LEAK_THRESHOLD};
    u->has_leaks = true;
    return mt_leaks_find(&u->leaks, u->replay.snapshot, &u->replay, NULL, &leak, err);
}

/* JSON has the stacks of runs that lie over one another too. */
static enum mt_status find_timelines(const struct plot *p, struct subject *u, bool term,
                                     struct mt_error *err)
{
    struct mt_filtered filtered;
    MT_TRY(mt_filtered_init(&filtered, &p->set->filter, u->replay.snapshot, err));
    enum mt_status status = mt_filtered_check(&filtered, true, err);
    if (status == MT_OK) {
        fill_options(p, u, term, &filtered);
        status = mt_timeline_init(&u->timeline, &u->replay, &u->options, err);
    }
    if (status == MT_OK && p->overlay && p->set->common.json) {
        struct mt_timeline_options o = u->options;
        o.columns = MT_OVERLAY_DETAIL;
        o.bands = 1;
        u->own_lines = true;
        status = mt_timeline_init(&u->lines, &u->replay, &o, err);
    }
    u->filtered = u->options.filter != NULL;
    u->options.filter = NULL;
    mt_filtered_release(&filtered);
    return status;
}

static enum mt_status add_device(struct plot *p, size_t file, int32_t device, bool term,
                                 struct mt_error *err)
{
    struct subject u = {.file = file};
    MT_TRY(mt_replay_init(&u.replay, &p->snapshots[file], device, err));
    enum mt_status status = find_timelines(p, &u, term, err);
    if (status == MT_OK && !p->overlay && !is_look(&u)) {
        u.own_look = true;
        status = mt_plot_look_init(&u.look, &u.replay, err);
    }
    if (status == MT_OK && !p->overlay) {
        status = find_growth(&u, err);
    }
    if (status == MT_OK && !mt_vec_push(&p->subjects, u)) {
        status = mt_fail_nomem(err);
    }
    if (status != MT_OK) {
        mt_timeline_release(&u.timeline);
        mt_timeline_release(&u.look);
        mt_timeline_release(&u.lines);
        mt_leaks_release(&u.leaks);
        mt_replay_release(&u.replay);
    }
    return status;
}

static enum mt_status add_devices(struct plot *p, size_t file, bool term, struct mt_error *err)
{
    struct mt_devices devices = {0};
    enum mt_status status = mt_devices_find(&devices, &p->snapshots[file], false, err);
    size_t drawn = 0, had = p->subjects.n;
    for (size_t i = 0; status == MT_OK && i < devices.ids.n; i++) {
        int32_t device = devices.ids.v[i];
        bool wanted = p->device < 0 || p->device == device;
        if (wanted && drawn++ < MT_PLOT_MOST_DEVICES) {
            status = add_device(p, file, device, term, err);
        }
    }
    if (drawn > MT_PLOT_MOST_DEVICES) {
        mt_cli_note(p->cli, &p->set->common, "%s: the first %d of %zu devices are drawn",
                    p->files[file], MT_PLOT_MOST_DEVICES, drawn);
    }
    if (status == MT_OK && p->subjects.n == had) { /* an empty picture is an answer too */
        status =
            p->device < 0 ? add_device(p, file, 0, term, err) : mt_plot_no_device(p->device, err);
    }
    mt_devices_release(&devices);
    return status;
}

/* What the refusals tell of a limit of the process; false, and untouched: nothing. */
static bool limit_of(const struct subject *u, struct mt_limit_range *limit)
{
    const struct mt_timeline *t = &u->timeline;
    uint64_t granted = u->own_look ? u->look.reserved_peak : t->reserved_peak;
    return mt_source_has_reserved(&u->replay.snapshot->source) &&
           mt_timeline_limit(t, granted, limit);
}

/* What is in use elsewhere on the device is not known, so the line says what it is the sum of. With
 * room on the device the request met a limit of the process. */
static void capacity_from_oom(struct mt_trace_panel *panel, const struct subject *u)
{
    const struct mt_timeline *t = &u->timeline;
    const struct mt_timeline_oom *o = &t->ooms.v[t->ooms.n - 1];
    if (!limit_of(u, &panel->limit)) {
        panel->capacity = mt_add_sat(o->reserved, o->device_free);
        panel->capacity_from = "reserved + free at the OOM";
    }
}

static struct mt_trace_panel panel_of(const struct plot *p, const struct subject *u)
{
    enum { SHAPES = 2000 };
    const struct trace_plot_settings *set = p->set;
    const struct mt_timeline *t = &u->timeline;
    struct mt_trace_panel panel = {.snapshot = &p->snapshots[u->file],
                                   .replay = &u->replay,
                                   .timeline = t,
                                   .look = u->own_look ? &u->look : NULL,
                                   .leaks = u->has_leaks ? &u->leaks : NULL,
                                   .options = &u->options,
                                   .file = p->files[u->file],
                                   .only = p->only.n ? p->only.p : "",
                                   .column = u->file,
                                   .capacity = set->capacity,
                                   .capacity_from = "capacity (--capacity)"};
    if (set->per_alloc) {
        panel.per_alloc = set->common.limit > 0 ? (size_t)set->common.limit : SHAPES;
    }
    if (panel.capacity == 0 && t->ooms.n > 0 && mt_source_has_reserved(&panel.snapshot->source)) {
        capacity_from_oom(&panel, u);
    }
    return panel;
}

static bool make_panels(struct plot *p)
{
    size_t row = 0;
    for (size_t i = 0; i < p->subjects.n; i++) {
        struct mt_trace_panel panel = panel_of(p, &p->subjects.v[i]);
        row = i > 0 && p->subjects.v[i - 1].file == p->subjects.v[i].file ? row + 1 : 0;
        panel.row = row;
        if (!mt_vec_push(&p->panels, panel)) {
            return false;
        }
    }
    return true;
}

/* The n-th devices of the files lie over one another, whatever their numbers: the dumps of ranks
 * name different ones. */
static enum mt_status add_to_overlay(struct plot *p, size_t row, const struct subject *u,
                                     struct mt_error *err)
{
    struct mt_overlay empty = {0};
    if (row == p->overlays.n && !mt_vec_push(&p->overlays, empty)) {
        return mt_fail_nomem(err);
    }
    struct mt_overlay *o = &p->overlays.v[row];
    if (!o->runs) {
        MT_TRY(mt_overlay_init(o, p->set->segments, err));
    }
    o->capacity = p->set->capacity;
    return mt_overlay_add(o, p->files[u->file], u->file, &u->replay,
                          u->own_lines ? &u->lines : &u->timeline, err);
}

static enum mt_status make_overlays(struct plot *p, struct mt_error *err)
{
    static const enum mt_overlay_axis AXIS[] = {[AXIS_EVENT] = MT_OVERLAY_EVENTS,
                                                [AXIS_TIME] = MT_OVERLAY_TIME,
                                                [AXIS_STEP] = MT_OVERLAY_STEPS};
    size_t row = 0;
    for (size_t i = 0; i < p->subjects.n; i++) {
        row = i > 0 && p->subjects.v[i - 1].file == p->subjects.v[i].file ? row + 1 : 0;
        MT_TRY(add_to_overlay(p, row, &p->subjects.v[i], err));
    }
    for (size_t i = 0; i < p->overlays.n; i++) {
        MT_TRY(mt_overlay_align(&p->overlays.v[i],
                                p->set->x < 0 ? MT_OVERLAY_CHOOSE : AXIS[p->set->x], err));
    }
    return MT_OK;
}

/* One object a file. */
static enum mt_status print_file(struct plot *p, struct mt_report *r, size_t file,
                                 struct mt_error *err)
{
    MT_VEC(struct mt_timeline_result) list = {0};
    bool kept = true;
    for (size_t i = 0; i < p->subjects.n; i++) {
        const struct subject *u = &p->subjects.v[i];
        struct mt_timeline_result t = {.snapshot = &p->snapshots[file],
                                       .timeline = &u->timeline,
                                       .subject = u->options.subject};
        (void)limit_of(u, &t.limit);
        if (p->n_files == 2 && file == 1 && u->file == 1 && list.n < p->overlays.n) {
            const struct mt_overlay *o = &p->overlays.v[list.n];
            t.overlay = o->n == 2 ? o : NULL;
        }
        kept = kept && (u->file != file || mt_vec_push(&list, t));
    }
    r->file = p->files[file];
    enum mt_status status =
        kept ? mt_report_timelines(r, list.v, list.n, p->n_files > 1, err) : mt_fail_nomem(err);
    mt_vec_release(&list);
    return status;
}

static int print_json(struct plot *p)
{
    struct mt_error err;
    struct mt_report r;
    struct mt_cli_output o;
    int code = mt_picture_json_begin(p->cli, &p->set->common, p->files[0], &r, &o);
    if (code) {
        return code;
    }
    for (size_t i = 0; code == 0 && i < p->n_files; i++) {
        code = print_file(p, &r, i, &err) == MT_OK ? 0 : mt_cli_fail(p->cli, p->files[i], &err);
    }
    return mt_cli_report_end(p->cli, &o, code);
}

static enum mt_status draw_scene(struct mt_scene *scene, const void *panels, size_t n,
                                 struct mt_error *err)
{
    return mt_plot_trace(scene, panels, n, err);
}

static enum mt_status draw_characters(const void *panels, size_t n,
                                      const struct mt_plot_style *style,
                                      const struct mt_term_style *term, struct mt_buf *out,
                                      struct mt_error *err)
{
    return mt_term_trace(panels, n, style, term, out, err);
}

static enum mt_status draw_overlay(struct mt_scene *scene, const void *panels, size_t n,
                                   struct mt_error *err)
{
    return mt_overlay_scene(scene, panels, n, err);
}

static enum mt_status draw_overlay_characters(const void *panels, size_t n,
                                              const struct mt_plot_style *style,
                                              const struct mt_term_style *term, struct mt_buf *out,
                                              struct mt_error *err)
{
    return mt_overlay_term(panels, n, style, term, out, err);
}

static int draw(struct plot *p, const struct mt_picture_target *target)
{
    struct mt_picture_panels x = {p->panels.v, p->panels.n, draw_scene, draw_characters};
    if (p->overlay) {
        x = (struct mt_picture_panels){p->overlays.v, p->overlays.n, draw_overlay,
                                       draw_overlay_characters};
    }
    return mt_picture_draw(p->cli, &p->set->common, &p->set->picture, target, &x);
}

static int load_files(struct plot *p, bool term)
{
    struct mt_error err;
    for (size_t i = 0; i < p->n_files; i++) {
        int code = mt_cli_load(p->cli, &p->set->common, p->files[i], &p->snapshots[i]);
        if (code != 0 && code != 4) {
            return code;
        }
        p->loaded++;
        p->salvaged |= code == 4;
        if (add_devices(p, i, term, &err) != MT_OK) {
            return mt_cli_fail(p->cli, p->files[i], &err);
        }
    }
    enum mt_status status = p->overlay       ? make_overlays(p, &err)
                            : make_panels(p) ? MT_OK
                                             : mt_fail_nomem(&err);
    return status == MT_OK ? 0 : mt_cli_fail(p->cli, NULL, &err);
}

static void plot_release(struct plot *p)
{
    for (size_t i = 0; i < p->overlays.n; i++) {
        mt_overlay_release(&p->overlays.v[i]);
    }
    mt_vec_release(&p->overlays);
    for (size_t i = 0; i < p->subjects.n; i++) {
        mt_timeline_release(&p->subjects.v[i].timeline);
        mt_timeline_release(&p->subjects.v[i].look);
        mt_timeline_release(&p->subjects.v[i].lines);
        mt_leaks_release(&p->subjects.v[i].leaks);
        mt_replay_release(&p->subjects.v[i].replay);
    }
    mt_vec_release(&p->subjects);
    mt_vec_release(&p->panels);
    mt_buf_release(&p->only);
    for (size_t i = 0; i < p->loaded; i++) {
        mt_snapshot_release(&p->snapshots[i]);
    }
    mt_mem_free(p->snapshots);
}

static int write_page(const struct plot *p)
{
    const struct trace_plot_settings *set = p->set;
    const struct mt_filter *f = &set->filter;
    const char *const *said = f->said;
    const struct mt_page_refusal refused[] = {
        {"--segments", set->segments},
        {"--per-alloc", set->per_alloc},
        {"--x time", set->x == 1},
        {"--filter_freed", set->filter_freed},
        {"--live", f->live_only},
        {"--freed", f->freed_only},
        {"--annotation", f->annotation != NULL},
        {"--stream", said[MT_FILTER_STREAM] != NULL},
        {"--pool", said[MT_FILTER_POOL] != NULL},
        {"--size", said[MT_FILTER_SIZE] != NULL},
        {"--frame", said[MT_FILTER_FRAME] != NULL},
        {"--not-frame", said[MT_FILTER_NOT_FRAME] != NULL},
        {"--label", said[MT_FILTER_LABEL] != NULL},
    };
    struct mt_page_options page = {.view = MT_PAGE_TIMELINE,
                                   .device = f->device,
                                   .capacity = set->capacity,
                                   .window = f,
                                   .dark = set->picture.theme == MT_THEME_DARK};
    int code =
        mt_page_check_options(p->cli, &set->common, &set->picture, refused, MT_COUNT(refused));
    return code ? code
                : mt_page_output(p->cli, &set->common, p->files, p->n_files, &page, &set->confs);
}

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files)
{
    struct plot p = {.cli = cli, .set = settings, .files = files, .n_files = n_files};
    struct mt_picture_target target;
    struct mt_error err;
    p.overlay = n_files > 1 && !p.set->side_by_side && !p.set->per_alloc && p.set->common.limit < 0;
    if (p.set->x == AXIS_STEP && !p.overlay) {
        return mt_cli_usage(cli, "--x step lays several files over one another");
    }
    if (p.set->segments && p.set->per_alloc) {
        return mt_cli_usage(cli,
                            "--per-alloc draws allocations, --segments draws segments: choose");
    }
    if (mt_picture_is_page(&p.set->common, &p.set->picture)) {
        return write_page(&p);
    }
    if (p.set->confs.n) {
        return mt_cli_usage(cli, "--conf is drawn in a page: -o x.html");
    }
    int code = mt_picture_target(cli, &p.set->common, &p.set->picture, &target);
    if (code) {
        return code;
    }
    take_window(&p);
    p.snapshots = mt_mem_zalloc(n_files, sizeof *p.snapshots);
    if (!p.snapshots) {
        mt_fail_nomem(&err);
        return mt_cli_fail(cli, NULL, &err);
    }
    code = load_files(&p, target.term);
    if (code == 0 && p.set->common.json) {
        code = print_json(&p);
    }
    if (code == 0) {
        code = draw(&p, &target);
    }
    plot_release(&p);
    return code ? code : p.salvaged ? 4 : 0;
}

int mt_plot_segment_timeline(struct mt_cli *cli, const struct mt_common *common,
                             const struct mt_picture *picture, int32_t device, char **files)
{
    struct trace_plot_settings set = {
        .common = *common, .picture = *picture, .segments = true, .x = -1};
    mt_filter_init(&set.filter);
    set.filter.device = device;
    return run(cli, &set, files, 1);
}

enum mt_status mt_plot_no_device(int32_t device, struct mt_error *err)
{
    return mt_fail(err, MT_NOT_FOUND, MT_NO_OFFSET,
                   "device %d has neither segments nor events in this file", (int)device);
}
