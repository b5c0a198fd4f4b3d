/* SPDX-License-Identifier: MIT */
/* See scene_checks.h. */
#include "scene_checks.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "draw/paint/painters.h"

struct extent {
    double x1, y1, x2, y2;
};

static struct extent extent_of(const struct mt_mark *m)
{
    double shift = m->anchor == MT_ANCHOR_END ? 1 : m->anchor == MT_ANCHOR_MIDDLE ? 0.5 : 0;
    double x = m->x - m->w * shift;
    /* From the height of an x to the base line: descenders may reach into the line below. */
    return (struct extent){x, m->y - m->h * 0.7, x + m->w, m->y};
}

void scene_check_texts(const struct mt_scene *s)
{
    for (size_t i = 0; i < s->marks.n; i++) {
        const struct mt_mark *m = &s->marks.v[i];
        if (m->kind != MT_MARK_TEXT || m->text == 0) {
            continue;
        }
        struct extent a = extent_of(m);
        ck_assert_msg(a.x1 >= 0 && a.y1 >= 0 && a.x2 <= s->width && a.y2 <= s->height,
                      "'%s' leaves the picture", mt_scene_str(s, m->text));
        for (size_t k = 0; k < i; k++) {
            const struct mt_mark *o = &s->marks.v[k];
            struct extent b = extent_of(o);
            bool apart = a.x2 <= b.x1 || b.x2 <= a.x1 || a.y2 <= b.y1 || b.y2 <= a.y1;
            ck_assert_msg(o->kind != MT_MARK_TEXT || o->text == 0 || apart, "'%s' lies over '%s'",
                          mt_scene_str(s, m->text), mt_scene_str(s, o->text));
        }
    }
}

bool scene_has_text(const struct mt_scene *s, const char *text)
{
    for (size_t i = 0; i < s->marks.n; i++) {
        const struct mt_mark *m = &s->marks.v[i];
        if (m->kind == MT_MARK_TEXT && strcmp(mt_scene_str(s, m->text), text) == 0) {
            return true;
        }
    }
    return false;
}

bool scene_mentions(const struct mt_scene *s, const char *part)
{
    for (size_t i = 0; i < s->marks.n; i++) {
        const struct mt_mark *m = &s->marks.v[i];
        bool text = m->kind == MT_MARK_TEXT && strstr(mt_scene_str(s, m->text), part);
        if (text || strstr(mt_scene_str(s, m->tip), part)) {
            return true;
        }
    }
    return false;
}

char *scene_svg(const struct mt_scene *s)
{
    char *text = NULL;
    size_t n = 0;
    struct mt_error err;
    FILE *f = open_memstream(&text, &n);
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(mt_paint_svg(s, 1, f, &err), MT_OK);
    fclose(f);
    return text;
}
