/* SPDX-License-Identifier: MIT */
/* Timeline pictures: what they say, that no label lies over another, and what the painters make. */
#include <math.h>
#include <string.h>

#include "verbs/plots/plots.h"

#include "draw/paint/painters.h"

#include "made_trace.h"
#include "scene_checks.h"
#include "unit.h"

static const struct mt_plot_style PLAIN = {.theme = MT_THEME_LIGHT};

struct drawn {
    struct mt_limit_range limit;
    const struct mt_leaks *leaks;
    struct made m;
    struct mt_timeline t;
    struct mt_timeline_options o;
    struct mt_scene *scene;
};

static void draw(struct drawn *d, const struct mt_plot_style *style, uint64_t capacity,
                 size_t per_alloc)
{
    struct mt_error err;
    d->o = (struct mt_timeline_options){.columns = 700, .bands = 10, .last = SIZE_MAX};
    ck_assert_int_eq(mt_timeline_init(&d->t, &d->m.r, &d->o, &err), MT_OK);
    struct mt_trace_panel p = {.snapshot = &d->m.s,
                               .replay = &d->m.r,
                               .timeline = &d->t,
                               .options = &d->o,
                               .file = "runs/snap.pickle",
                               .capacity = capacity,
                               .capacity_from = "capacity (--capacity)",
                               .limit = d->limit,
                               .leaks = d->leaks,
                               .per_alloc = per_alloc};
    d->scene = mt_scene_new(style);
    ck_assert_ptr_nonnull(d->scene);
    ck_assert_int_eq(mt_plot_trace(d->scene, &p, 1, &err), MT_OK);
    scene_check_texts(d->scene);
}

static void drawn_release(struct drawn *d)
{
    mt_scene_free(d->scene);
    mt_timeline_release(&d->t);
    made_release(&d->m);
}

/* Two stacks, and an OOM with room left in holes. */
static void make_oom_events(struct made *m)
{
    made_begin(m);
    uint32_t a = made_stack(m, "load <weights> & \"co\"", 1), b = made_stack(m, "forward", 2);
    made_event(m, MT_ACTION_SEGMENT_ALLOC, 0, 64 * MADE_MIB, a);
    made_event(m, MT_ACTION_ALLOC, 0, 10 * MADE_MIB, a);
    made_event(m, MT_ACTION_ALLOC, 10 * MADE_MIB, 30 * MADE_MIB, b);
    made_event(m, MT_ACTION_ALLOC, 40 * MADE_MIB, 4 * MADE_MIB, b);
    made_event(m, MT_ACTION_FREE_REQUESTED, 10 * MADE_MIB, 30 * MADE_MIB, 0);
    made_event(m, MT_ACTION_FREE_COMPLETED, 10 * MADE_MIB, 30 * MADE_MIB, 0);
    made_event(m, MT_ACTION_OOM, 7 * MADE_MIB, 40 * MADE_MIB, b);
    struct made_block blocks[4] = {{10 * MADE_MIB, 10 * MADE_MIB, MT_BLOCK_ALLOCATED, a},
                                   {30 * MADE_MIB, 0, MT_BLOCK_INACTIVE, 0},
                                   {4 * MADE_MIB, 4 * MADE_MIB, MT_BLOCK_ALLOCATED, b},
                                   {20 * MADE_MIB, 0, MT_BLOCK_INACTIVE, 0}};
    made_segment(m, 0, false, blocks, 4);
}

static void make_oom(struct made *m)
{
    make_oom_events(m);
    made_finish(m);
}

static const struct mt_mark *text_mark(const struct mt_scene *s, const char *text)
{
    for (size_t i = 0; i < s->marks.n; i++) {
        const struct mt_mark *m = &s->marks.v[i];
        if (m->kind == MT_MARK_TEXT && strcmp(mt_scene_str(s, m->text), text) == 0) {
            return m;
        }
    }
    return NULL;
}

START_TEST(tells_the_oom)
{
    struct drawn d = {0};
    make_oom(&d.m);
    draw(&d, &PLAIN, 71 * MADE_MIB, 0);
    ck_assert(scene_has_text(d.scene, "Memory over time"));
    ck_assert(scene_has_text(d.scene, "snap.pickle \xc2\xb7 device 0"));
    ck_assert(scene_mentions(d.scene, "peak 44.00 MiB at event 3 (3.00 ms)"));
    ck_assert(scene_has_text(d.scene, "Out of memory at event 6 (6.00 ms): asked for 40.00 MiB"));
    ck_assert(scene_has_text(d.scene, "In the cache: 50.00 MiB of the 64.00 MiB reserved was free, "
                                      "in holes of at most 30.00 MiB"));
    ck_assert(
        scene_has_text(d.scene, "On the device: 7.00 MiB was free, so the device refused it"));
    ck_assert(scene_has_text(d.scene, "out of memory: asked for 40.00 MiB"));
    ck_assert(scene_has_text(d.scene, "peak 44.00 MiB"));
    ck_assert(scene_has_text(d.scene, "reserved 64.00 MiB"));
    ck_assert(scene_has_text(d.scene, "capacity (--capacity) 71.00 MiB"));
    ck_assert(scene_has_text(d.scene, "TOTAL"));
    ck_assert(scene_has_text(d.scene, "train.py:2 forward"));
    ck_assert(scene_has_text(d.scene, "34.00 MiB"));
    ck_assert(scene_has_text(d.scene, "77.3 %"));
    ck_assert(text_mark(d.scene, "train.py:2 forward")->bold); /* the largest of the legend */
    const struct mt_mark *less = text_mark(d.scene, "train.py:1 load <weights> & \"co\"");
    ck_assert(!less->bold);
    drawn_release(&d);
}
END_TEST

/* A dashed line across the plot at the height of so many bytes; reserved memory is 64 MiB. */
static bool has_dashed_line(const struct mt_scene *s, double bytes)
{
    double ground = 0, reserved = 1e9;
    for (size_t i = 0; i < s->marks.n; i++) {
        const struct mt_mark *m = &s->marks.v[i];
        for (uint32_t k = 0; k < m->n; k++) {
            double y = s->points.v[m->first + k].y;
            ground = m->kind == MT_MARK_POLYGON && y > ground ? y : ground;
            reserved = m->kind == MT_MARK_LINE && m->n > 2 && y < reserved ? y : reserved;
        }
    }
    double wanted = ground - (ground - reserved) * bytes / (double)(64 * MADE_MIB);
    for (size_t i = 0; i < s->marks.n; i++) {
        const struct mt_mark *m = &s->marks.v[i];
        bool dashed = m->kind == MT_MARK_LINE && m->dash > 0 && m->n == 2;
        const struct mt_point *p = dashed ? &s->points.v[m->first] : NULL;
        bool level = p && fabs(p[0].y - p[1].y) < 0.01 && p[1].x - p[0].x > 100;
        if (level && fabs(p[0].y - wanted) < 0.01) {
            return true;
        }
    }
    return false;
}

/* The limit of a process that no file names: the range that it lies in, no more, with a line at its
 * upper end; also from above the picture. */
START_TEST(an_inferred_limit)
{
    const uint64_t mib = MADE_MIB;
    struct drawn d = {.limit = {66 * mib, 68 * mib}}, above = {.limit = {66 * mib, 900 * mib}};
    make_oom(&d.m);
    draw(&d, &PLAIN, 0, 0);
    ck_assert(
        scene_has_text(d.scene, "process limit (inferred): at least 66.00 MiB, below 68.00 MiB"));
    ck_assert(!scene_mentions(d.scene, "capacity"));
    ck_assert(has_dashed_line(d.scene, 68.0 * (double)MADE_MIB));
    ck_assert(!has_dashed_line(d.scene, 66.0 * (double)MADE_MIB));
    make_oom(&above.m);
    draw(&above, &PLAIN, 0, 0);
    ck_assert(scene_mentions(above.scene, "process limit (inferred): at least 66.00 MiB, below "
                                          "900.00 MiB, above the picture"));
    drawn_release(&d);
    drawn_release(&above);
}
END_TEST

/* However small a picture is asked for, the curves keep some room and the headings are whole. */
START_TEST(the_smallest_picture)
{
    static const struct mt_plot_style SIZES[] = {{.width = 300, .height = 200},
                                                 {.width = 500, .height = 400},
                                                 {.width = 1280, .height = 200}};
    for (size_t i = 0; i < MT_COUNT(SIZES); i++) {
        struct drawn d = {.limit = {66 * MADE_MIB, 68 * MADE_MIB}};
        make_oom(&d.m);
        draw(&d, &SIZES[i], 0, 0);
        const struct mt_mark *ground = text_mark(d.scene, "0"), *axis = text_mark(d.scene, "event");
        ck_assert_double_gt(axis->y, ground->y);
        ck_assert_int_ge(mt_scene_height(d.scene), SIZES[i].height);
        ck_assert(has_dashed_line(d.scene, 68.0 * (double)MADE_MIB));
        ck_assert(scene_has_text(d.scene, "peak 44.00 MiB"));
        ck_assert(!scene_mentions(d.scene, "\xe2\x80\xa6")); /* broken into lines, not cut */
        drawn_release(&d);
    }
}
END_TEST

/* Labels that the headings repeat are left out rather than put over the curves. */
START_TEST(labels_leave_curves_alone)
{
    static const struct mt_plot_style LOW = {.width = 300, .height = 200};
    struct drawn d = {0};
    make_oom(&d.m);
    draw(&d, &LOW, 0, 0);
    ck_assert(!scene_has_text(d.scene, "out of memory: asked for 40.00 MiB"));
    ck_assert(scene_mentions(d.scene, "Out of memory at event"));
    drawn_release(&d);
}
END_TEST

/* The bands: rectangles whose height is the bytes, to scale. */
START_TEST(bands_are_to_scale)
{
    struct drawn d = {0};
    make_oom(&d.m);
    draw(&d, &PLAIN, 0, 0);
    double ground = 0, highest = 1e9, reserved = 1e9;
    for (size_t i = 0; i < d.scene->marks.n; i++) {
        const struct mt_mark *m = &d.scene->marks.v[i];
        for (uint32_t k = 0; k < m->n; k++) {
            double y = d.scene->points.v[m->first + k].y;
            if (m->kind == MT_MARK_POLYGON) {
                ground = y > ground ? y : ground;
                highest = y < highest ? y : highest;
            } else if (m->n > 2) {
                reserved = y < reserved ? y : reserved;
            }
        }
    }
    ck_assert_double_eq_tol((ground - highest) / (ground - reserved), 44.0 / 64.0, 1e-9);
    drawn_release(&d);
}
END_TEST

START_TEST(svg_is_text_with_tips)
{
    struct drawn d = {0};
    make_oom(&d.m);
    draw(&d, &PLAIN, 0, 0);
    char *svg = scene_svg(d.scene), *again = scene_svg(d.scene);
    ck_assert_str_eq(svg, again);
    ck_assert_ptr_nonnull(strstr(svg, "<svg xmlns=\"http://www.w3.org/2000/svg\""));
    ck_assert_ptr_nonnull(strstr(svg, ">train.py:2 forward</text>"));
    ck_assert_ptr_nonnull(strstr(svg, "load &lt;weights&gt; &amp; &quot;co&quot;"));
    ck_assert_ptr_nonnull(strstr(svg, "<title>train.py:2 forward\n34.00 MiB at the peak in 2 "
                                      "allocations, 34.00 MiB at most\ntrain.py:2 forward"));
    ck_assert_ptr_null(strstr(svg, "nan"));
    ck_assert_ptr_null(strstr(svg, "inf"));
    free(svg);
    free(again);
    drawn_release(&d);
}
END_TEST

/* What was asked for is stacked on what was reserved, as the segment that it would have taken, at
 * the moment of the refusal: from the reserved line up, with a cross where it would have ended. */
START_TEST(the_request_stands_on_reserved_memory)
{
    struct drawn d = {0};
    make_oom(&d.m);
    draw(&d, &PLAIN, 0, 0);
    double ground = 0, reserved = 1e9, left = 1e9, right = 0, cross_x = 0, cross_y = 0;
    for (size_t i = 0; i < d.scene->marks.n; i++) {
        const struct mt_mark *m = &d.scene->marks.v[i];
        for (uint32_t k = 0; k < m->n; k++) {
            struct mt_point p = d.scene->points.v[m->first + k];
            ground = m->kind == MT_MARK_POLYGON && p.y > ground ? p.y : ground;
            left = m->kind == MT_MARK_POLYGON && p.x < left ? p.x : left;
            right = m->kind == MT_MARK_POLYGON && p.x > right ? p.x : right;
            reserved = m->kind == MT_MARK_LINE && m->n > 2 && p.y < reserved ? p.y : reserved;
        }
        bool tip = m->kind == MT_MARK_RECT && m->fill == 0xffffff01;
        cross_x = tip ? m->x + m->w / 2 : cross_x;
        cross_y = tip ? m->y + m->h / 2 : cross_y;
    }
    double per_mib = (ground - reserved) / 64;
    ck_assert_double_eq_tol(cross_y, ground - 104 * per_mib, 0.01);
    /* the last event, of seven, begins where its number stands */
    ck_assert_double_eq_tol(cross_x, left + (right - left) * 6 / 7, 0.01);
    size_t brackets = 0;
    for (size_t i = 0; i < d.scene->marks.n; i++) {
        const struct mt_mark *m = &d.scene->marks.v[i];
        const struct mt_point *p = m->kind == MT_MARK_LINE ? &d.scene->points.v[m->first] : NULL;
        brackets += p && m->n == 2 && m->dash > 0 && fabs(p[0].y - reserved) < 0.01 &&
                    fabs(p[1].y - cross_y) < 0.01 && fabs(p[0].x - cross_x) < 0.01;
    }
    ck_assert_uint_eq(brackets, 1);
    drawn_release(&d);
}
END_TEST

/* One unit for all times, which are read off the events: the first has one too. */
START_TEST(the_axis_of_time)
{
    struct drawn d = {0};
    make_oom(&d.m);
    draw(&d, &PLAIN, 0, 0);
    ck_assert(scene_has_text(d.scene, "event"));
    ck_assert(scene_has_text(d.scene, "at time"));
    ck_assert(scene_has_text(d.scene, "0.00 ms"));
    ck_assert(scene_has_text(d.scene, "1.00 ms"));
    ck_assert(scene_has_text(d.scene, "5.00 ms"));
    ck_assert(!scene_mentions(d.scene, "annotations"));
    drawn_release(&d);
}
END_TEST

/* Strips of annotations have a caption that counts names, and the plot begins below them. */
START_TEST(annotations_are_named)
{
    struct drawn d = {0}, without = {0};
    make_oom(&without.m);
    draw(&without, &PLAIN, 0, 0);
    make_oom_events(&d.m);
    struct mt_annotation note = {.name = mt_builder_cstr(d.m.b, "## step 0 ##"),
                                 .stage = mt_builder_cstr(d.m.b, "START"),
                                 .time_us = without.m.r.events[1].time_us};
    ck_assert(mt_builder_annotation(d.m.b, &note));
    note.stage = mt_builder_cstr(d.m.b, "END");
    note.time_us = without.m.r.events[5].time_us;
    ck_assert(mt_builder_annotation(d.m.b, &note));
    made_finish(&d.m);
    draw(&d, &PLAIN, 0, 0);
    ck_assert(scene_has_text(d.scene, "step 0"));
    ck_assert(scene_has_text(d.scene, "annotations: step \xc3\x97"
                                      "1"));
    ck_assert(!scene_mentions(without.scene, "annotations"));
    ck_assert_double_gt(text_mark(d.scene, "Held at the peak")->y,
                        text_mark(without.scene, "Held at the peak")->y + 10);
    drawn_release(&d);
    drawn_release(&without);
}
END_TEST

/* A request out of all proportion: its cross stays inside, and the label says so. */
START_TEST(a_request_above_the_picture)
{
    struct drawn d = {0};
    made_begin(&d.m);
    uint32_t a = made_stack(&d.m, "a", 1);
    made_event(&d.m, MT_ACTION_SEGMENT_ALLOC, 0, 20 * MADE_MIB, a);
    made_event(&d.m, MT_ACTION_ALLOC, 0, 20 * MADE_MIB, a);
    made_event(&d.m, MT_ACTION_OOM, 7 * MADE_MIB, 4000 * MADE_MIB, a);
    struct made_block block = {20 * MADE_MIB, 20 * MADE_MIB, MT_BLOCK_ALLOCATED, a};
    made_segment(&d.m, 0, false, &block, 1);
    made_finish(&d.m);
    draw(&d, &PLAIN, 0, 0);
    ck_assert(scene_has_text(d.scene, "out of memory: asked for 3.91 GiB, above the picture"));
    double top = 1e9, cross = 0;
    const struct mt_theme *t = mt_theme_get(MT_THEME_LIGHT);
    for (size_t i = 0; i < d.scene->marks.n; i++) {
        const struct mt_mark *m = &d.scene->marks.v[i];
        top = m->kind == MT_MARK_RECT && m->fill == t->panel ? m->y : top;
        cross = m->kind == MT_MARK_RECT && m->fill == 0xffffff01 ? m->y : cross;
    }
    ck_assert_double_gt(cross, top);
    drawn_release(&d);
}
END_TEST

/* Reserved memory as a staircase up to a peak near the right end. */
static void make_staircase(struct made *m, uint64_t steps)
{
    made_begin(m);
    uint32_t a = made_stack(m, "a", 1);
    struct made_block block = {20 * MADE_MIB, 18 * MADE_MIB, MT_BLOCK_ALLOCATED, a};
    for (uint64_t i = 0; i < steps; i++) {
        made_event(m, MT_ACTION_SEGMENT_ALLOC, i * 20 * MADE_MIB, 20 * MADE_MIB, a);
        made_event(m, MT_ACTION_ALLOC, i * 20 * MADE_MIB, 18 * MADE_MIB, a);
        made_segment(m, i * 20 * MADE_MIB, false, &block, 1);
    }
    made_event(m, MT_ACTION_ALLOC, UINT64_C(1) << 32, 4 * MADE_MIB, a); /* alive for a moment */
    made_event(m, MT_ACTION_FREE_REQUESTED, UINT64_C(1) << 32, 4 * MADE_MIB, 0);
    made_event(m, MT_ACTION_FREE_COMPLETED, UINT64_C(1) << 32, 4 * MADE_MIB, 0);
}

static bool are_crossed(struct mt_point a, struct mt_point b, struct mt_point c, struct mt_point d)
{
    double x1 = fmin(a.x, b.x), x2 = fmax(a.x, b.x), y1 = fmin(a.y, b.y), y2 = fmax(a.y, b.y);
    return fmin(c.x, d.x) < x2 && x1 < fmax(c.x, d.x) && fmin(c.y, d.y) <= y2 &&
           y1 <= fmax(c.y, d.y);
}

/* The leader of a label never meets the reserved line: it would look like one of its steps. */
START_TEST(leaders_cross_no_line)
{
    for (uint64_t steps = 4; steps < 40; steps += 3) {
        struct drawn d = {0};
        make_staircase(&d.m, steps);
        made_finish(&d.m);
        draw(&d, &PLAIN, 0, 0);
        const struct mt_mark *reserved = NULL;
        for (size_t i = 0; i < d.scene->marks.n; i++) {
            const struct mt_mark *m = &d.scene->marks.v[i];
            reserved = m->kind == MT_MARK_LINE && m->n > 2 ? m : reserved;
        }
        ck_assert_ptr_nonnull(reserved);
        for (size_t i = 0; i < d.scene->marks.n; i++) {
            const struct mt_mark *m = &d.scene->marks.v[i];
            bool leader = m->kind == MT_MARK_LINE && m->n == 2 && (m->stroke & 255) == 0x80;
            for (uint32_t k = 1; k < reserved->n && leader; k++) {
                const struct mt_point *l = &d.scene->points.v[m->first];
                const struct mt_point *r = &d.scene->points.v[reserved->first + k];
                ck_assert(!are_crossed(l[0], l[1], r[-1], r[0]));
            }
        }
        drawn_release(&d);
    }
}
END_TEST

static void draw_growing(struct drawn *d, enum mt_leak_reason reason, struct mt_leaks *l)
{
    static uint32_t bounds[] = {1, 2, 3, 4, 5, 6};
    static struct mt_growth growth = {.bytes_per_step = 5 << 20};
    make_oom(&d->m);
    growth.stack = d->m.r.events[2].stack;
    *l = (struct mt_leaks){.reason = reason,
                           .verdict = reason == MT_LEAK_RISES       ? MT_LEAK_YES
                                      : reason == MT_LEAK_TOO_SHORT ? MT_LEAK_UNKNOWN
                                                                    : MT_LEAK_NO,
                           .bytes_per_step = reason == MT_LEAK_FLAT ? 0 : 6 << 20,
                           .filled_bytes = 9 << 20,
                           .periods.bounds = {.v = bounds, .n = MT_COUNT(bounds)},
                           .stacks = {.v = &growth, .n = 1}};
    d->leaks = l;
    draw(d, &PLAIN, 0, 0);
}

/* Why memory ran out is often that it grew: a line of the headings. */
START_TEST(growth_is_told)
{
    static const struct {
        enum mt_leak_reason reason;
        const char *text;
    } SAID[] = {
        {MT_LEAK_RISES, "Grows by 6.00 MiB per step, 5.00 MiB of it from train.py:2 forward "
                        "\xc2\xb7 5 steps"},
        {MT_LEAK_BELOW_LINE, "Grows by 6.00 MiB per step, too little to be counted as a leak "
                             "\xc2\xb7 5 steps"},
        {MT_LEAK_FILLED, "Grew by 9.00 MiB, then stayed \xc2\xb7 5 steps"},
        {MT_LEAK_FLAT, "Does not grow from step to step after event 2 \xc2\xb7 5 steps"}};
    struct mt_leaks l;
    for (size_t i = 0; i < MT_COUNT(SAID); i++) {
        struct drawn d = {0};
        draw_growing(&d, SAID[i].reason, &l);
        ck_assert(scene_has_text(d.scene, SAID[i].text));
        drawn_release(&d);
    }
    struct drawn unknown = {0};
    draw_growing(&unknown, MT_LEAK_TOO_SHORT, &l);
    ck_assert(!scene_mentions(unknown.scene, "steps"));
    drawn_release(&unknown);
}
END_TEST

static size_t paint(enum mt_status (*painter)(const struct mt_scene *, double, FILE *,
                                              struct mt_error *),
                    const struct mt_scene *s, char **out)
{
    struct mt_error err;
    size_t n = 0;
    FILE *f = open_memstream(out, &n);
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(painter(s, 1, f, &err), MT_OK);
    fclose(f);
    return n;
}

START_TEST(png_and_pdf)
{
    struct drawn d = {0};
    char *png, *pdf, *again;
    make_oom(&d.m);
    draw(&d, &PLAIN, 0, 0);
    size_t n = paint(mt_paint_png, d.scene, &png);
    ck_assert_uint_gt(n, 1000);
    ck_assert_int_eq(memcmp(png, "\x89PNG\r\n\x1a\n", 8), 0);
    size_t m = paint(mt_paint_pdf, d.scene, &pdf);
    ck_assert_int_eq(memcmp(pdf, "%PDF-", 5), 0);
    ck_assert_uint_eq(paint(mt_paint_pdf, d.scene, &again), m);
    ck_assert_int_eq(memcmp(pdf, again, m), 0);
    free(png);
    free(pdf);
    free(again);
    drawn_release(&d);
}
END_TEST

START_TEST(small_and_dark)
{
    struct drawn d = {0};
    struct mt_plot_style small = {.width = 400, .height = 300, .theme = MT_THEME_DARK};
    make_oom(&d.m);
    draw(&d, &small, 0, 0);
    ck_assert_int_eq(mt_scene_width(d.scene), 400);
    ck_assert_uint_eq(d.scene->marks.v[0].fill, mt_theme_get(MT_THEME_DARK)->background);
    drawn_release(&d);
}
END_TEST

START_TEST(nothing_to_draw)
{
    struct drawn d = {0};
    made_begin(&d.m);
    made_finish(&d.m);
    draw(&d, &PLAIN, 0, 0);
    ck_assert(scene_has_text(d.scene, "no events were recorded and nothing is alive"));
    ck_assert(!scene_has_text(d.scene, "Held at the peak"));
    drawn_release(&d);
}
END_TEST

START_TEST(no_events)
{
    struct drawn d = {0};
    made_begin(&d.m);
    uint32_t a = made_stack(&d.m, "a", 1);
    struct made_block blocks[2] = {{MADE_MIB, MADE_MIB, MT_BLOCK_ALLOCATED, a},
                                   {MADE_MIB, 0, MT_BLOCK_INACTIVE, 0}};
    made_segment(&d.m, 0, false, blocks, 2);
    made_finish(&d.m);
    draw(&d, &PLAIN, 0, 0);
    ck_assert(scene_mentions(d.scene, "no events were recorded, so this is what was alive"));
    ck_assert(scene_has_text(d.scene, "Alive all the time"));
    ck_assert(scene_has_text(d.scene, "train.py:1 a"));
    drawn_release(&d);
}
END_TEST

START_TEST(one_shape_an_allocation)
{
    struct drawn d = {0};
    make_oom(&d.m);
    draw(&d, &PLAIN, 0, 2);
    ck_assert(scene_mentions(d.scene, "10.00 MiB, allocated at event 1, alive at the end"));
    ck_assert(scene_mentions(d.scene, "30.00 MiB, allocated at event 2, freed at event 5"));
    ck_assert(scene_mentions(d.scene, "1 smaller allocation"));
    drawn_release(&d);
}
END_TEST

/* What holds nothing at the peak is no row of 0 B: it says what it held at another time, and what
 * is too little to be seen is among the others, whose number is of those alive at the peak. */
START_TEST(no_row_of_nothing)
{
    struct drawn d = {.limit = {0}};
    made_begin(&d.m);
    uint64_t addr = 0;
    uint32_t late = made_stack(&d.m, "evaluate", 50), tiny = made_stack(&d.m, "log", 51);
    for (int i = 0; i < 12; i++) { /* ten get a band, two are others */
        uint32_t stack = made_stack(&d.m, "layer", i + 1);
        made_event(&d.m, MT_ACTION_ALLOC, addr, (uint64_t)(4 + i) * MADE_MIB, stack);
        addr += (uint64_t)(4 + i) * MADE_MIB;
    }
    made_event(&d.m, MT_ACTION_FREE_COMPLETED, addr - 15 * MADE_MIB, 15 * MADE_MIB, 0);
    made_event(&d.m, MT_ACTION_ALLOC, addr, 9 * MADE_MIB, late);
    made_event(&d.m, MT_ACTION_ALLOC, addr + 9 * MADE_MIB, MADE_MIB, tiny);
    for (int i = 0; i < 100; i++) { /* it is there most of the time */
        made_event(&d.m, MT_ACTION_ALLOC, addr + 16 * MADE_MIB, 512, tiny);
        made_event(&d.m, MT_ACTION_FREE_COMPLETED, addr + 16 * MADE_MIB, 512, 0);
    }
    made_finish(&d.m);
    draw(&d, &PLAIN, 0, 0);
    ck_assert(!scene_has_text(d.scene, "0 B"));
    ck_assert(scene_has_text(d.scene, "train.py:50 evaluate"));
    ck_assert(scene_has_text(d.scene, "at most, at another time"));
    ck_assert(!scene_has_text(d.scene, "train.py:51 log"));
    ck_assert(scene_has_text(d.scene, "[3 others]"));
    ck_assert_uint_eq(d.t.bands.v[d.t.bands.n - 1].stacks, 4);
    drawn_release(&d);
}
END_TEST

/* The y of each text, in the order of the panels. */
static size_t find_heights(const struct mt_scene *s, const char *text, double *y)
{
    size_t n = 0;
    for (size_t i = 0; i < s->marks.n; i++) {
        const struct mt_mark *m = &s->marks.v[i];
        if (m->kind == MT_MARK_TEXT && strcmp(mt_scene_str(s, m->text), text) == 0 && n < 2) {
            y[n++] = m->y;
        }
    }
    return n;
}

/* Whatever stands above and below them, plots side by side are on one scale; so are those in
 * characters. */
START_TEST(side_by_side_on_one_scale)
{
    static const struct mt_plot_style SIZES[] = {{.width = 0}, {.width = 2400}, {.width = 700}};
    struct drawn d[2] = {{.limit = {66 * MADE_MIB, 68 * MADE_MIB}}, {.limit = {0}}};
    struct mt_trace_panel p[2] = {{.snapshot = NULL}};
    struct mt_error err;
    make_oom(&d[0].m);
    make_staircase(&d[1].m, 2);
    made_finish(&d[1].m);
    for (size_t i = 0; i < 2; i++) {
        d[i].o = (struct mt_timeline_options){.columns = 700, .bands = 10, .last = SIZE_MAX};
        ck_assert_int_eq(mt_timeline_init(&d[i].t, &d[i].m.r, &d[i].o, &err), MT_OK);
        p[i] = (struct mt_trace_panel){.snapshot = &d[i].m.s,
                                       .replay = &d[i].m.r,
                                       .timeline = &d[i].t,
                                       .options = &d[i].o,
                                       .file = "snap.pickle",
                                       .limit = d[i].limit,
                                       .column = i};
    }
    for (size_t i = 0; i < MT_COUNT(SIZES); i++) {
        double less[2], more[2];
        struct mt_scene *scene = mt_scene_new(&SIZES[i]);
        ck_assert_int_eq(mt_plot_trace(scene, p, 2, &err), MT_OK);
        scene_check_texts(scene);
        ck_assert_uint_eq(find_heights(scene, "20 MiB", less), 2);
        ck_assert_uint_eq(find_heights(scene, "80 MiB", more), 2);
        ck_assert_double_eq_tol(less[0], less[1], 1e-9);
        ck_assert_double_eq_tol(more[0], more[1], 1e-9);
        mt_scene_free(scene);
    }
    struct mt_buf text = {0};
    const struct mt_term_style term = {.width = 80, .height = 20, .charset = MT_TERM_ASCII};
    ck_assert_int_eq(mt_term_trace(p, 2, &PLAIN, &term, &text, &err), MT_OK);
    const char *first = strstr(text.p, "96 MiB |");
    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_nonnull(strstr(first + 1, "96 MiB |"));
    mt_buf_release(&text);
    for (size_t i = 0; i < 2; i++) {
        mt_timeline_release(&d[i].t);
        made_release(&d[i].m);
    }
}
END_TEST

UNIT_MAIN("trace_scene", no_row_of_nothing, tells_the_oom, an_inferred_limit, the_smallest_picture,
          labels_leave_curves_alone, the_request_stands_on_reserved_memory, growth_is_told,
          a_request_above_the_picture, leaders_cross_no_line, the_axis_of_time,
          annotations_are_named, bands_are_to_scale, svg_is_text_with_tips, png_and_pdf,
          small_and_dark, nothing_to_draw, no_events, one_shape_an_allocation,
          side_by_side_on_one_scale)
