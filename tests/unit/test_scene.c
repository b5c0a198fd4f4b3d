/* SPDX-License-Identifier: MIT */
/* The pieces of a picture, and how SVG writes them. */
#include <string.h>

#include "draw/scene.h"

#include "scene_checks.h"
#include "unit.h"

static struct mt_scene *fresh(void)
{
    static const struct mt_plot_style plain = {.theme = MT_THEME_LIGHT};
    struct mt_scene *s = mt_scene_new(&plain);
    ck_assert_ptr_nonnull(s);
    s->width = 100;
    s->height = 50;
    return s;
}

START_TEST(as_text)
{
    struct mt_scene *s = fresh();
    struct mt_buf b = {0};
    s->title = mt_scene_keep(s, "two marks");
    mt_scene_rect(s, 1, 2, 30.25, 4, 0x112233ff)->tip = mt_scene_keep(s, "a tip");
    mt_scene_line(s, 0, 0, 10, 10, 0xff, 1);
    mt_scene_group(s, "f", 0);
    mt_scene_text(s, 5, 6, 12, 0xff, "word")->anchor = MT_ANCHOR_END;
    mt_scene_end(s);
    mt_scene_dump(s, &b);
    ck_assert_str_eq(b.p, "scene 100x50 'two marks'\n"
                          "rect 1.0,2.0 30.2x4.0 #112233ff tip 'a tip'\n"
                          "line #000000ff 0.0,0.0 10.0,10.0\n"
                          "group f\n"
                          "text 5.0,6.0 end 12px 'word'\n"
                          "end\n");
    mt_buf_release(&b);
    mt_scene_free(s);
}
END_TEST

/* Points on a straight way are dropped; corners and steps back are kept. */
START_TEST(points)
{
    struct mt_scene *s = fresh();
    mt_scene_polyline(s, 0xff, 1);
    for (int i = 0; i <= 10; i++) {
        mt_scene_point(s, i, 5);
    }
    mt_scene_point(s, 10, 9);
    mt_scene_point(s, 10, 1);
    ck_assert_uint_eq(s->marks.v[0].n, 4);
    ck_assert_double_eq(s->points.v[1].x, 10);
    ck_assert_double_eq(s->points.v[3].y, 1);
    mt_scene_free(s);
}
END_TEST

/* Whatever a file holds, no byte of it can break the XML or turn the text around. */
START_TEST(hostile_text)
{
    struct mt_scene *s = fresh();
    mt_scene_text(s, 0, 20, 12, 0xff,
                  "a\x1b[31m\x01<b>&\"\xff\xe2\x80\xae"
                  "c")
        ->tip = mt_scene_keep(s, "]]></title>\n\xed\xa0\x80");
    char *svg = scene_svg(s);
    ck_assert_ptr_nonnull(strstr(svg, "a\xef\xbf\xbd[31m\xef\xbf\xbd&lt;b&gt;&amp;&quot;"
                                      "\xef\xbf\xbd\xef\xbf\xbd"
                                      "c</text>"));
    ck_assert_ptr_nonnull(strstr(svg, "<title>]]&gt;&lt;/title&gt;\n\xef\xbf\xbd"));
    free(svg);
    mt_scene_free(s);
}
END_TEST

START_TEST(svg_is_short)
{
    struct mt_scene *s = fresh();
    mt_scene_polygon(s, 0xff0000ff);
    mt_scene_point(s, 0, 0);
    mt_scene_point(s, 10.04, 0);
    mt_scene_point(s, 10.04, 0.5);
    mt_scene_point(s, 0, 3);
    mt_scene_rect(s, 0.04, 0, 0.02, 1, 0x12345680);
    char *svg = scene_svg(s);
    ck_assert_ptr_nonnull(strstr(svg, "<path d=\"M0 0h10v.5l-10 2.5z\" fill=\"#f00\"/>"));
    ck_assert_ptr_nonnull(strstr(
        svg,
        "<rect x=\"0\" y=\"0\" width=\".1\" height=\"1\" fill=\"#123456\" fill-opacity=\".50\"/>"));
    free(svg);
    mt_scene_free(s);
}
END_TEST

START_TEST(lines_break_at_dots)
{
    struct mt_scene *s = fresh();
    struct mt_buf b = {0};
    mt_buf_text(&b, "one two \xc2\xb7 three \xc2\xb7 four");
    double room = mt_text_px("one two \xc2\xb7 three", 12, false);
    double y = mt_scene_text_lines(s, 0, 10, 12, 0xff, room + 1, false, &b);
    ck_assert(scene_has_text(s, "one two \xc2\xb7 three"));
    ck_assert(scene_has_text(s, "four"));
    ck_assert_double_gt(y, 20);
    ck_assert_uint_eq(s->marks.n, 2);
    mt_buf_release(&b);
    mt_scene_free(s);
}
END_TEST

UNIT_MAIN("scene", as_text, points, hostile_text, svg_is_short, lines_break_at_dots)
