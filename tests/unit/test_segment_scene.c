/* SPDX-License-Identifier: MIT */
/* Pictures of the allocator's state. */
#include <string.h>

#include "verbs/plots/plots.h"

#include "verbs/plots/segments/row_layout.h"

#include "made_trace.h"
#include "scene_checks.h"
#include "unit.h"

static const struct mt_plot_style PLAIN = {.theme = MT_THEME_LIGHT};

struct drawn {
    struct made m;
    struct mt_state st;
    struct mt_scene *scene;
};

static void draw(struct drawn *d, const struct mt_plot_style *style)
{
    struct mt_error err;
    made_finish(&d->m);
    ck_assert_int_eq(mt_state_at(&d->m.s, 0, SIZE_MAX, &d->st, &err), MT_OK);
    struct mt_segment_panel p = {.snapshot = &d->m.s,
                                 .replay = &d->m.r,
                                 .state = &d->st,
                                 .file = "snap.pickle",
                                 .moment = "at the end"};
    d->scene = mt_scene_new(style);
    ck_assert_ptr_nonnull(d->scene);
    ck_assert_int_eq(mt_plot_segments(d->scene, &p, 1, &err), MT_OK);
    scene_check_texts(d->scene);
}

static void drawn_release(struct drawn *d)
{
    mt_scene_free(d->scene);
    mt_state_release(&d->st);
    made_release(&d->m);
}

static void make_some(struct made *m, bool expandable)
{
    made_begin(m);
    uint32_t a = made_stack(m, "a", 1), b = made_stack(m, "b", 2);
    made_event(m, MT_ACTION_ALLOC, 0, 8 * MADE_MIB - 100, a);
    struct made_block large[4] = {{8 * MADE_MIB, 8 * MADE_MIB - 100, MT_BLOCK_ALLOCATED, a},
                                  {4 * MADE_MIB, 4 * MADE_MIB, MT_BLOCK_PENDING, b},
                                  {6 * MADE_MIB, 0, MT_BLOCK_INACTIVE, 0},
                                  {2 * MADE_MIB, MADE_MIB, MT_BLOCK_ALLOCATED, b}};
    struct made_block more[2] = {{10 * MADE_MIB, 10 * MADE_MIB, MT_BLOCK_ALLOCATED, a},
                                 {10 * MADE_MIB, 0, MT_BLOCK_INACTIVE, 0}};
    made_segment(m, 0, expandable, large, 4);
    made_segment(m, 64 * MADE_MIB, expandable, more, 2);
}

/* Rectangles of one height in a colour that no text has, the widths in the ratio of the bytes. */
static double width_of(const struct mt_scene *s, const char *tip)
{
    for (size_t i = 0; i < s->marks.n; i++) {
        const struct mt_mark *m = &s->marks.v[i];
        if (m->kind == MT_MARK_RECT && strncmp(mt_scene_str(s, m->tip), tip, strlen(tip)) == 0) {
            return m->w;
        }
    }
    ck_abort_msg("no block with the tip '%s'", tip);
}

START_TEST(blocks_to_scale)
{
    struct drawn d;
    make_some(&d.m, false);
    draw(&d, &PLAIN);
    double eight = width_of(d.scene, "8.00 MiB at 0x7f0000000000");
    ck_assert_double_gt(eight, 20);
    ck_assert_double_eq_tol(width_of(d.scene, "4.00 MiB") / eight, 0.5, 1e-6);
    ck_assert_double_eq_tol(width_of(d.scene, "free: 6.00 MiB") / eight, 0.75, 1e-6);
    ck_assert(scene_mentions(d.scene, "allocated at event 0, alive at the end"));
    ck_assert(scene_mentions(d.scene, "older than the trace"));
    ck_assert(scene_mentions(d.scene, "freed, waiting for another stream"));
    ck_assert(scene_has_text(d.scene, "40.00 MiB, 16.00 MiB free"));
    ck_assert(scene_has_text(d.scene, "largest hole 10.00 MiB"));
    ck_assert(scene_has_text(d.scene, "TOTAL in use"));
    ck_assert(scene_mentions(d.scene, "reserved 40.00 MiB \xc2\xb7 in use 24.00 MiB (60 %)"));
    ck_assert(!scene_mentions(d.scene, "not mapped"));
    drawn_release(&d);
}
END_TEST

START_TEST(unmapped_gaps)
{
    struct drawn d;
    make_some(&d.m, true);
    draw(&d, &PLAIN);
    ck_assert(scene_mentions(d.scene, "not mapped: 44.00 MiB of the expandable segment"));
    ck_assert(scene_has_text(d.scene, "addresses not mapped"));
    drawn_release(&d);
}
END_TEST

/* Thousands of tiny blocks are bundled: shapes follow the picture. */
START_TEST(many_small_blocks)
{
    enum { N = 40000 };
    static struct made_block blocks[N];
    struct drawn d;
    made_begin(&d.m);
    for (size_t i = 0; i < N; i++) {
        blocks[i] = i % 2 ? (struct made_block){512, 0, MT_BLOCK_INACTIVE, 0}
                          : (struct made_block){512, 100, MT_BLOCK_ALLOCATED, 0};
    }
    made_segment(&d.m, 0, false, blocks, N);
    draw(&d, &PLAIN);
    ck_assert_uint_lt(d.scene->marks.n, 20000);
    char *svg = scene_svg(d.scene);
    ck_assert_uint_lt(strlen(svg), 2u << 20);
    free(svg);
    drawn_release(&d);
}
END_TEST

START_TEST(nothing_reserved)
{
    struct drawn d;
    made_begin(&d.m);
    draw(&d, &PLAIN);
    ck_assert(scene_has_text(d.scene, "nothing was reserved"));
    ck_assert(!scene_has_text(d.scene, "In use"));
    drawn_release(&d);
}
END_TEST

START_TEST(narrow_and_dark)
{
    struct drawn d;
    struct mt_plot_style narrow = {.width = 500, .theme = MT_THEME_DARK};
    make_some(&d.m, false);
    draw(&d, &narrow);
    ck_assert_int_eq(mt_scene_width(d.scene), 500);
    drawn_release(&d);
}
END_TEST

/* At an out-of-memory event the request is drawn to the scale of the blocks. */
START_TEST(the_request)
{
    struct drawn d;
    make_some(&d.m, false);
    made_event(&d.m, MT_ACTION_OOM, 0, 16 * MADE_MIB, 0);
    draw(&d, &PLAIN);
    ck_assert(scene_has_text(d.scene, "the request"));
    ck_assert(scene_has_text(d.scene, "16.00 MiB"));
    ck_assert(scene_has_text(d.scene, "16.00 MiB was asked for, more than any hole it could use"));
    ck_assert(scene_has_text(d.scene, "On the device: 0 B was free, so the device refused it"));
    double eight = width_of(d.scene, "8.00 MiB at 0x7f0000000000"), request = 0;
    for (size_t i = 0; i < d.scene->marks.n; i++) {
        const struct mt_mark *m = &d.scene->marks.v[i];
        bool pale_red = m->kind == MT_MARK_RECT && (m->fill & 255) == 0x28;
        request = pale_red ? m->w : request;
    }
    ck_assert_double_eq_tol(request / eight, 2, 1e-6);
    drawn_release(&d);
}
END_TEST

/* A request longer than a line is drawn torn, and who refused it is told. */
START_TEST(a_long_request)
{
    struct drawn d;
    size_t torn = 0;
    make_some(&d.m, false);
    made_event(&d.m, MT_ACTION_OOM, UINT64_C(1) << 40, 4000 * MADE_MIB, 0);
    draw(&d, &PLAIN);
    ck_assert(scene_mentions(d.scene, "3.91 GiB, "));
    ck_assert(scene_mentions(d.scene, "times the length of this line"));
    ck_assert(scene_mentions(d.scene, "so a limit of the process refused it"));
    for (size_t i = 0; i < d.scene->marks.n; i++) {
        torn += d.scene->marks.v[i].kind == MT_MARK_POLYGON && d.scene->marks.v[i].n > 6;
    }
    ck_assert_uint_eq(torn, 1);
    drawn_release(&d);
}
END_TEST

/* Blocks are named by what was asked for; the largest hole is named once; rounding has a colour of
 * its own. */
START_TEST(blocks_and_holes_are_named)
{
    struct drawn d;
    made_begin(&d.m);
    uint32_t a = made_stack(&d.m, "a", 1);
    struct made_block blocks[3] = {{64 * MADE_MIB, 60 * MADE_MIB, MT_BLOCK_ALLOCATED, a},
                                   {40 * MADE_MIB, 0, MT_BLOCK_INACTIVE, 0},
                                   {5 * MADE_MIB, 5 * MADE_MIB, MT_BLOCK_ALLOCATED, a}};
    made_segment(&d.m, 0, false, blocks, 3);
    draw(&d, &PLAIN);
    ck_assert(scene_has_text(d.scene, "60.00 MiB"));
    ck_assert(!scene_has_text(d.scene, "64.00 MiB"));
    ck_assert(scene_has_text(d.scene, "largest hole, 40.00 MiB"));
    const struct mt_theme *t = mt_theme_get(MT_THEME_LIGHT);
    size_t rounding = 0;
    for (size_t i = 0; i < d.scene->marks.n; i++) {
        ck_assert_uint_ne(d.scene->marks.v[i].fill, t->trouble);
        rounding += d.scene->marks.v[i].fill == t->rounding;
    }
    ck_assert_uint_eq(rounding, 2); /* the sliver and its key */
    drawn_release(&d);
}
END_TEST

/* Hatched shapes of the fill that the first of them has. */
static size_t count_hatched(const struct mt_scene *s)
{
    uint32_t fill = 0;
    size_t n = 0;
    for (size_t i = 0; i < s->marks.n; i++) {
        const struct mt_mark *m = &s->marks.v[i];
        if (m->pattern == MT_HATCHED) {
            fill = fill ? fill : m->fill;
            n += m->fill == fill;
        }
    }
    return n;
}

static uint32_t fill_of(const struct mt_scene *s, const char *tip)
{
    for (size_t i = 0; i < s->marks.n; i++) {
        const struct mt_mark *m = &s->marks.v[i];
        if (m->kind == MT_MARK_RECT && strncmp(mt_scene_str(s, m->tip), tip, strlen(tip)) == 0) {
            return m->fill;
        }
    }
    ck_abort_msg("no block with the tip '%s'", tip);
}

/* Rows of the legend add up: stacks have what they asked for, rounding is a row, the rest is free
 * between blocks or in segments without any, which have a colour of their own. */
START_TEST(the_legend_adds_up)
{
    struct drawn d;
    made_begin(&d.m);
    uint32_t a = made_stack(&d.m, "a", 1), tiny = made_stack(&d.m, "tiny", 2);
    struct made_block used[4] = {{64 * MADE_MIB, 61 * MADE_MIB, MT_BLOCK_ALLOCATED, a},
                                 {8 * MADE_MIB, 8 * MADE_MIB, MT_BLOCK_PENDING, 0},
                                 {512, 512, MT_BLOCK_ALLOCATED, tiny},
                                 {8 * MADE_MIB - 512, 0, MT_BLOCK_INACTIVE, 0}};
    struct made_block empty[1] = {{20 * MADE_MIB, 0, MT_BLOCK_INACTIVE, 0}};
    made_event(&d.m, MT_ACTION_ALLOC, 0, 61 * MADE_MIB, a);
    made_segment(&d.m, 0, false, used, 4);
    made_segment(&d.m, 128 * MADE_MIB, false, empty, 1);
    draw(&d, &PLAIN);
    ck_assert(scene_mentions(d.scene, "free 28.00 MiB: 20.00 MiB in 1 empty segment, 8.00 MiB "
                                      "between blocks \xc2\xb7 largest hole 20.00 MiB"));
    ck_assert(scene_has_text(d.scene, "61.00 MiB"));
    ck_assert(scene_has_text(d.scene, "84.7 %"));
    ck_assert(scene_has_text(d.scene, "older than the trace"));
    ck_assert(scene_mentions(d.scene, "in use 72.00 MiB (72 %), 8.00 MiB of it freed and waiting"));
    ck_assert_uint_eq(count_hatched(d.scene), 2);           /* its swatch looks as it does */
    ck_assert(!scene_has_text(d.scene, "train.py:2 tiny")); /* less than 0.1 %: one of the others */
    ck_assert(scene_has_text(d.scene, "[1 other]"));
    ck_assert(scene_has_text(d.scene, "< 0.1 %"));
    ck_assert(scene_has_text(d.scene, "lost to rounding"));
    ck_assert(scene_has_text(d.scene, "3.00 MiB"));
    ck_assert(scene_has_text(d.scene, "72.00 MiB")); /* TOTAL */
    ck_assert(scene_has_text(d.scene, "free: empty segments, can be given back"));
    ck_assert(scene_has_text(d.scene, "free: holes between blocks in use"));
    const struct mt_theme *t = mt_theme_get(MT_THEME_LIGHT);
    ck_assert_uint_eq(fill_of(d.scene, "free: 20.00 MiB"), t->empty);
    ck_assert_uint_eq(fill_of(d.scene, "free: 8.00 MiB"), t->free);
    drawn_release(&d);
}
END_TEST

/* A state after an out-of-memory event says so, with what was free then. */
START_TEST(an_earlier_oom)
{
    struct drawn d;
    made_begin(&d.m);
    uint32_t a = made_stack(&d.m, "a", 1);
    struct made_block blocks[2] = {{6 * MADE_MIB, 6 * MADE_MIB, MT_BLOCK_ALLOCATED, a},
                                   {34 * MADE_MIB, 0, MT_BLOCK_INACTIVE, 0}};
    made_event(&d.m, MT_ACTION_ALLOC, 0, 6 * MADE_MIB, a);
    made_event(&d.m, MT_ACTION_ALLOC, 10 * MADE_MIB, 12 * MADE_MIB, a);
    made_event(&d.m, MT_ACTION_OOM, 0, 30 * MADE_MIB, a);
    made_event(&d.m, MT_ACTION_FREE_REQUESTED, 10 * MADE_MIB, 12 * MADE_MIB, 0);
    made_event(&d.m, MT_ACTION_FREE_COMPLETED, 10 * MADE_MIB, 12 * MADE_MIB, 0);
    made_segment(&d.m, 0, false, blocks, 2);
    draw(&d, &PLAIN);
    ck_assert(scene_mentions(d.scene, "largest hole 34.00 MiB"));
    ck_assert(scene_mentions(d.scene, "Out of memory 2 events before this state, at event 2: 30.00 "
                                      "MiB was asked for \xc2\xb7 then 22.00 MiB of the 40.00 MiB "
                                      "reserved was free, in holes of at most 18.00 MiB"));
    ck_assert(scene_mentions(d.scene, "--at oom draws that"));
    ck_assert(!scene_has_text(d.scene, "the request"));
    drawn_release(&d);
}
END_TEST

/* Two stacks that look alike in two lines: the second line tells what differs. */
START_TEST(stacks_that_look_alike)
{
    struct drawn d;
    made_begin(&d.m);
    uint32_t f[4], a, b, deep;
    for (int32_t i = 0; i < 4; i++) {
        struct mt_frame frame = {.name = mt_builder_cstr(d.m.b, i < 2 ? "step" : "main"),
                                 .filename = mt_builder_cstr(d.m.b, "train.py"),
                                 .line = i + 1};
        f[i] = mt_builder_frame(d.m.b, &frame);
    }
    a = mt_builder_stack(d.m.b, (uint32_t[]){f[0], f[1], f[2]}, 3);
    b = mt_builder_stack(d.m.b, (uint32_t[]){f[0], f[1], f[3]}, 3);
    deep = mt_builder_stack(d.m.b, (uint32_t[]){f[0], f[1], f[3], f[3], f[2]}, 5);
    struct made_block blocks[3] = {{8 * MADE_MIB, 8 * MADE_MIB, MT_BLOCK_ALLOCATED, a},
                                   {4 * MADE_MIB, 4 * MADE_MIB, MT_BLOCK_ALLOCATED, b},
                                   {2 * MADE_MIB, 2 * MADE_MIB, MT_BLOCK_ALLOCATED, deep}};
    made_segment(&d.m, 0, false, blocks, 3);
    draw(&d, &PLAIN);
    ck_assert(!scene_has_text(d.scene, "called at train.py:2 step"));
    ck_assert(scene_has_text(d.scene, "differs at train.py:3 main, 3 frames deep"));
    ck_assert(scene_has_text(d.scene, "differs at train.py:4 main, 3 frames deep"));
    ck_assert(scene_has_text(d.scene, "differs at train.py:4 main, 5 frames deep"));
    drawn_release(&d);
}
END_TEST

/* Every byte of every segment lies on exactly one piece, and no piece leaves its line. */
START_TEST(rows_hold_everything)
{
    static const uint64_t sizes[] = {700, 2, 2, 20, 20, 34, 2, 300, 20, 2};
    struct made m;
    struct mt_state st;
    struct mt_error err;
    struct mt_rows rows;
    made_begin(&m);
    for (size_t i = 0; i < MT_COUNT(sizes); i++) {
        struct made_block b = {sizes[i] * MADE_MIB, 0, MT_BLOCK_INACTIVE, 0};
        made_segment(&m, i << 40, false, &b, 1);
    }
    made_finish(&m);
    ck_assert_int_eq(mt_state_at(&m.s, 0, SIZE_MAX, &st, &err), MT_OK);
    const struct mt_rows_style style = {640, 20, 3, 8, 14};
    ck_assert(mt_rows_lay_out(&rows, &st, &style));
    ck_assert_uint_eq(rows.groups.n, 2);
    uint64_t bytes = 0;
    for (size_t i = 0; i < rows.pieces.n; i++) {
        const struct mt_row_piece *p = &rows.pieces.v[i];
        bytes += p->bytes;
        ck_assert_double_le(p->x + p->w, 640.001);
    }
    ck_assert_uint_eq(bytes, 1102 * MADE_MIB);
    ck_assert_uint_gt(rows.groups.v[1].zoom, 1); /* 8 MiB beside 1 GiB */
    mt_rows_release(&rows);
    mt_state_release(&st);
    made_release(&m);
}
END_TEST

/* The default pool first, then the MemPools by both halves of their ids. */
START_TEST(pools_in_order)
{
    static const struct mt_pool_id ids[] = {{1, 0}, {0, 2}, {0, 0}, {0, 1}};
    static const struct mt_pool_id sorted[] = {{0, 0}, {0, 1}, {0, 2}, {1, 0}};
    const struct mt_rows_style style = {640, 20, 3, 8, 14};
    struct made m;
    struct mt_state st;
    struct mt_error err;
    struct mt_rows rows;
    made_begin(&m);
    for (size_t i = 0; i < MT_COUNT(ids); i++) {
        struct made_block b = {20 * MADE_MIB, 0, MT_BLOCK_INACTIVE, 0};
        made_segment(&m, i << 40, false, &b, 1);
    }
    made_finish(&m);
    ck_assert_int_eq(mt_state_at(&m.s, 0, SIZE_MAX, &st, &err), MT_OK);
    ck_assert_uint_eq(st.n_segments, MT_COUNT(ids));
    for (size_t i = 0; i < st.n_segments; i++) {
        st.segments[i].pool = ids[i];
    }
    ck_assert(mt_rows_lay_out(&rows, &st, &style));
    ck_assert_uint_eq(rows.groups.n, MT_COUNT(sorted));
    for (size_t i = 0; i < MT_COUNT(sorted); i++) {
        ck_assert_int_eq(rows.groups.v[i].pool.a, sorted[i].a);
        ck_assert_int_eq(rows.groups.v[i].pool.b, sorted[i].b);
    }
    mt_rows_release(&rows);
    mt_state_release(&st);
    made_release(&m);
}
END_TEST

/* A size in a hatched block stands on plain ground, so that it can be read. */
START_TEST(no_hatching_through_text)
{
    struct drawn d;
    make_some(&d.m, false);
    draw(&d, &PLAIN);
    size_t found = 0;
    for (size_t i = 1; i < d.scene->marks.n; i++) {
        const struct mt_mark *m = &d.scene->marks.v[i], *before = m - 1;
        if (m->kind != MT_MARK_TEXT || strcmp(mt_scene_str(d.scene, m->text), "4.00 MiB") != 0 ||
            m->anchor != MT_ANCHOR_MIDDLE) {
            continue; /* the legend's */
        }
        found++;
        ck_assert_int_eq(before->kind, MT_MARK_RECT);
        ck_assert_int_eq(before->pattern, MT_SOLID);
        ck_assert(before->x <= m->x - m->w / 2 && before->x + before->w >= m->x + m->w / 2);
    }
    ck_assert_uint_eq(found, 1);
    drawn_release(&d);
}
END_TEST

/* In characters holes of neighbours in a line have a border between them. */
START_TEST(borders_in_characters)
{
    struct drawn d;
    struct mt_error err;
    struct mt_buf text = {0};
    made_begin(&d.m);
    uint32_t a = made_stack(&d.m, "a", 1);
    struct made_block blocks[3] = {{8 * MADE_MIB, 0, MT_BLOCK_INACTIVE, 0},
                                   {16 * MADE_MIB, 16 * MADE_MIB, MT_BLOCK_ALLOCATED, a},
                                   {8 * MADE_MIB, 0, MT_BLOCK_INACTIVE, 0}};
    for (uint64_t i = 0; i < 40; i++) {
        made_segment(&d.m, i * 64 * MADE_MIB, false, blocks, 3);
    }
    draw(&d, &PLAIN);
    const struct mt_term_style term = {.width = 80, .height = 10, .charset = MT_TERM_ASCII};
    struct mt_segment_panel p = {.snapshot = &d.m.s,
                                 .replay = &d.m.r,
                                 .state = &d.st,
                                 .file = "snap.pickle",
                                 .moment = "at the end"};
    ck_assert_int_eq(mt_term_segments(&p, 1, &PLAIN, &term, &text, &err), MT_OK);
    ck_assert_ptr_nonnull(strstr(text.p, "aa....|....aa"));
    ck_assert_ptr_nonnull(strstr(text.p, "between two segments"));
    ck_assert_ptr_null(strstr(text.p, ".........."));
    mt_buf_release(&text);
    drawn_release(&d);
}
END_TEST

UNIT_MAIN("segment_scene", borders_in_characters, no_hatching_through_text, blocks_to_scale,
          unmapped_gaps, many_small_blocks, nothing_reserved, narrow_and_dark, the_request,
          a_long_request, blocks_and_holes_are_named, the_legend_adds_up, an_earlier_oom,
          stacks_that_look_alike, rows_hold_everything, pools_in_order)
