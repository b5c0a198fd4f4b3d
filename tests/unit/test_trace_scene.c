/* SPDX-License-Identifier: MIT */
/* Timeline pictures: what they say, that no label lies over another, and what the painters make. */
#include <math.h>
#include <string.h>

#include "plot/painters.h"

#include "made_trace.h"
#include "scene_checks.h"
#include "unit.h"

static const struct mt_plot_style PLAIN = {.theme = MT_THEME_LIGHT};

struct drawn {
    bool is_limit; /* the capacity was inferred */
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
                               .is_limit = d->is_limit,
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

START_TEST(tells_the_oom)
{
    struct drawn d = {0};
    make_oom(&d.m);
    draw(&d, &PLAIN, 71 * MADE_MIB, 0);
    ck_assert(scene_has_text(d.scene, "Memory over time"));
    ck_assert(scene_has_text(d.scene, "snap.pickle \xc2\xb7 device 0"));
    ck_assert(scene_mentions(d.scene, "peak 44.00 MiB at event 3 (3.00 ms)"));
    ck_assert(scene_has_text(d.scene, "Out of memory at event 6 (6.00 ms): asked for 40.00 MiB"));
    ck_assert(scene_has_text(d.scene, "50.00 MiB of the 64.00 MiB reserved was free, in holes of "
                                      "at most 30.00 MiB \xc2\xb7 the device had 7.00 MiB free, so "
                                      "the device refused it"));
    ck_assert(scene_has_text(d.scene, "out of memory: asked for 40.00 MiB"));
    ck_assert(scene_has_text(d.scene, "peak 44.00 MiB"));
    ck_assert(scene_has_text(d.scene, "reserved 64.00 MiB"));
    ck_assert(scene_has_text(d.scene, "capacity (--capacity) 71.00 MiB"));
    ck_assert(scene_has_text(d.scene, "TOTAL"));
    ck_assert(scene_has_text(d.scene, "train.py:2 forward"));
    ck_assert(scene_has_text(d.scene, "34.00 MiB"));
    ck_assert(scene_has_text(d.scene, "77.3 %"));
    drawn_release(&d);
}
END_TEST

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

/* The limit of a process that no file names: a line that says it was inferred, also from above the
 * picture. */
START_TEST(an_inferred_limit)
{
    struct drawn d = {.is_limit = true}, above = {.is_limit = true};
    make_oom(&d.m);
    draw(&d, &PLAIN, 68 * MADE_MIB, 0);
    ck_assert(scene_has_text(d.scene, "process limit (inferred) near 68.00 MiB"));
    ck_assert(!scene_mentions(d.scene, "capacity"));
    ck_assert(has_dashed_line(d.scene, 68.0 * (double)MADE_MIB));
    ck_assert(!has_dashed_line(d.scene, 66.0 * (double)MADE_MIB));
    make_oom(&above.m);
    draw(&above, &PLAIN, 900 * MADE_MIB, 0);
    ck_assert(scene_mentions(above.scene, "process limit (inferred) near 900.00 MiB, above"));
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
        struct drawn d = {.is_limit = true};
        make_oom(&d.m);
        draw(&d, &SIZES[i], 68 * MADE_MIB, 0);
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

/* Marks of an OOM at the end stand in a margin, right of all bands. */
START_TEST(an_oom_at_the_end_has_room)
{
    struct drawn d = {0};
    make_oom(&d.m);
    draw(&d, &PLAIN, 0, 0);
    double bands = 0, cross = 0;
    for (size_t i = 0; i < d.scene->marks.n; i++) {
        const struct mt_mark *m = &d.scene->marks.v[i];
        for (uint32_t k = 0; k < m->n; k++) {
            double x = d.scene->points.v[m->first + k].x;
            bands = m->kind == MT_MARK_POLYGON && x > bands ? x : bands;
        }
        bool tip = m->kind == MT_MARK_RECT && m->fill == 0xffffff01;
        cross = tip ? m->x + m->w / 2 : cross;
    }
    ck_assert_double_gt(cross, bands + 8);
    drawn_release(&d);
}
END_TEST

/* A line that no file names is told as inferred; one unit on the axis of time. */
START_TEST(the_axis_of_time)
{
    struct drawn d = {0};
    make_oom(&d.m);
    draw(&d, &PLAIN, 0, 0);
    ck_assert(scene_has_text(d.scene, "time"));
    ck_assert(!scene_has_text(d.scene, "after"));
    ck_assert(scene_has_text(d.scene, "1.00 ms"));
    ck_assert(scene_has_text(d.scene, "5.00 ms"));
    ck_assert_ptr_null(text_mark(d.scene, "annotations"));
    drawn_release(&d);
}
END_TEST

/* Strips of annotations have a name at their left, and the plot begins below them. */
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
    ck_assert(scene_has_text(d.scene, "annotations"));
    ck_assert(!scene_has_text(without.scene, "annotations"));
    ck_assert_double_gt(text_mark(d.scene, "Held at the peak")->y,
                        text_mark(without.scene, "Held at the peak")->y + 10);
    drawn_release(&d);
    drawn_release(&without);
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

UNIT_MAIN("trace_scene", tells_the_oom, an_inferred_limit, the_smallest_picture,
          labels_leave_curves_alone, an_oom_at_the_end_has_room, the_axis_of_time,
          annotations_are_named, bands_are_to_scale, svg_is_text_with_tips, png_and_pdf,
          small_and_dark, nothing_to_draw, no_events, one_shape_an_allocation)
