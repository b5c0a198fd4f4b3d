/* SPDX-License-Identifier: MIT */
/* Flame graphs: trees from stacks, boxes to scale, comparisons in colour. */
#include <string.h>

#include "made_trace.h"
#include "scene_checks.h"
#include "unit.h"

static const struct mt_plot_style PLAIN = {.theme = MT_THEME_LIGHT};

/* A stack of two frames: main, then the name. */
static uint32_t two_frames(struct made *m, const char *name)
{
    struct mt_frame inner = {
        .name = mt_builder_cstr(m->b, name), .filename = mt_builder_cstr(m->b, "b.py"), .line = 2};
    struct mt_frame outer = {.name = mt_builder_cstr(m->b, "main"),
                             .filename = mt_builder_cstr(m->b, "a.py"),
                             .line = 1};
    uint32_t frames[2] = {mt_builder_frame(m->b, &inner), mt_builder_frame(m->b, &outer)};
    return mt_builder_stack(m->b, frames, 2);
}

struct drawn {
    struct made m;
    struct mt_flame tree;
    struct mt_scene *scene;
    uint32_t f, g;
};

static void begin(struct drawn *d)
{
    made_begin(&d->m);
    d->f = two_frames(&d->m, "f");
    d->g = two_frames(&d->m, "g");
    made_finish(&d->m);
}

static void draw(struct drawn *d, const struct mt_flame_item *items, size_t n, bool compare)
{
    struct mt_error err;
    ck_assert_int_eq(mt_flame_build_items(&d->tree, items, n, &err), MT_OK);
    struct mt_flame_panel p = {.snapshot = &d->m.s,
                               .tree = &d->tree,
                               .compare = compare,
                               .title = "Memory by stack",
                               .file = "snap.pickle",
                               .before = compare ? "runs/before.pickle" : NULL,
                               .total = "alive"};
    d->scene = mt_scene_new(&PLAIN);
    ck_assert_ptr_nonnull(d->scene);
    ck_assert_int_eq(mt_plot_flame(d->scene, &p, &err), MT_OK);
    scene_check_texts(d->scene);
}

static void drawn_release(struct drawn *d)
{
    mt_scene_free(d->scene);
    mt_flame_release(&d->tree);
    made_release(&d->m);
}

/* The box that follows the group with this tip. */
static const struct mt_mark *box_of(const struct mt_scene *s, const char *tip)
{
    for (size_t i = 0; i + 1 < s->marks.n; i++) {
        if (s->marks.v[i].kind == MT_MARK_GROUP &&
            strncmp(mt_scene_str(s, s->marks.v[i].tip), tip, strlen(tip)) == 0) {
            return &s->marks.v[i + 1];
        }
    }
    ck_abort_msg("no box '%s'", tip);
}

START_TEST(boxes_to_scale)
{
    struct drawn d;
    begin(&d);
    struct mt_flame_item items[3] = {
        {&d.m.s, d.f, 300, 3, 0}, {&d.m.s, d.g, 100, 1, 0}, {&d.m.s, 0, 100, 1, 0}};
    draw(&d, items, 3, false);
    ck_assert_uint_eq(d.tree.nodes.n, 5);
    const struct mt_mark *all = box_of(d.scene, "all\n500 B (100.0 %), 5 blocks");
    const struct mt_mark *main_box = box_of(d.scene, "a.py:1:main\n400 B (80.0 %), 4 blocks");
    const struct mt_mark *f = box_of(d.scene, "b.py:2:f\n300 B (60.0 %), 3 blocks");
    const struct mt_mark *g = box_of(d.scene, "b.py:2:g\n100 B (20.0 %), 1 block");
    ck_assert_double_eq_tol(main_box->w / all->w, 0.8, 0.001);
    ck_assert_double_eq_tol(f->w / all->w, 0.6, 0.001);
    ck_assert_double_eq_tol(g->x, f->x + f->w, 1);
    ck_assert(f->y < main_box->y && main_box->y < all->y);
    ck_assert(scene_mentions(d.scene, "500 B alive in 5 blocks"));
    drawn_release(&d);
}
END_TEST

START_TEST(comparison)
{
    struct drawn d;
    begin(&d);
    struct mt_flame_item items[2] = {{&d.m.s, d.f, 300, 3, 200}, {&d.m.s, d.g, 100, 0, -100}};
    draw(&d, items, 2, true);
    uint32_t grew = box_of(d.scene, "b.py:2:f\n300 B (75.0 %), change +200 B")->fill;
    uint32_t shrank = box_of(d.scene, "b.py:2:g\n100 B (25.0 %), change -100 B")->fill;
    ck_assert_uint_gt(grew >> 24, grew >> 8 & 255);
    ck_assert_uint_lt(shrank >> 24, shrank >> 8 & 255);
    ck_assert(scene_mentions(d.scene, "change +100 B"));
    ck_assert(scene_has_text(d.scene, "before.pickle to snap.pickle"));
    drawn_release(&d);
}
END_TEST

/* What is narrower than can be seen is left out, with a word. */
START_TEST(narrow_ones)
{
    struct drawn d;
    begin(&d);
    struct mt_flame_item items[2] = {{&d.m.s, d.f, 1000000, 1, 0}, {&d.m.s, d.g, 1, 1, 0}};
    draw(&d, items, 2, false);
    ck_assert(scene_mentions(d.scene, "1 too narrow to be drawn"));
    ck_assert(!scene_mentions(d.scene, "b.py:2:g"));
    drawn_release(&d);
}
END_TEST

/* The script's controls are there for it alone; the picture is whole without. */
START_TEST(script)
{
    struct drawn d;
    begin(&d);
    struct mt_flame_item items[1] = {{&d.m.s, d.f, 1000, 1, 0}};
    draw(&d, items, 1, false);
    char *svg = scene_svg(d.scene);
    ck_assert_ptr_nonnull(strstr(svg, "<g class=\"search\" display=\"none\">"));
    ck_assert_ptr_nonnull(strstr(svg, "<script><![CDATA["));
    ck_assert_ptr_nonnull(strstr(svg, "<g class=\"f\"><title>b.py:2:f\n1000 B (100.0 %), 1 block"));
    free(svg);
    drawn_release(&d);
}
END_TEST

/* A box with too little room for the file and the function has the function. */
START_TEST(narrow_boxes_name_the_function)
{
    struct drawn d;
    begin(&d);
    struct mt_flame_item items[2] = {{&d.m.s, d.f, 4, 1, 0}, {&d.m.s, d.g, 96, 1, 0}};
    draw(&d, items, 2, false);
    ck_assert(scene_has_text(d.scene, "f")); /* 4 % of the width: "b.py:2:f" would be cut */
    ck_assert(!scene_has_text(d.scene, "b.py:2:f"));
    ck_assert(scene_has_text(d.scene, "b.py:2:g"));
    drawn_release(&d);
}
END_TEST

UNIT_MAIN("flame_scene", narrow_boxes_name_the_function, boxes_to_scale, comparison, narrow_ones,
          script)
