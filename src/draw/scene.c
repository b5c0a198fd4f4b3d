/* SPDX-License-Identifier: MIT */
/*
 * Building a scene. Adding a mark cannot fail in the eyes of the caller: when memory runs out
 * `failed` is set, further marks go to nowhere, and whoever made the scene looks once at the end.
 */
#include "draw/scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/safe_char.h"

/* A point nearer than this to a straight line between its neighbours is not seen. */
#define STRAIGHT_PX 0.02

struct mt_scene *mt_scene_new(const struct mt_plot_style *style)
{
    struct mt_scene *s = mt_mem_zalloc(1, sizeof *s);
    if (!s) {
        return NULL;
    }
    s->style = *style;
    s->theme = mt_theme_get(style->theme);
    mt_buf_add(&s->texts, "", 1); /* offset 0: the empty text */
    return s;
}

void mt_scene_free(struct mt_scene *s)
{
    if (!s) {
        return;
    }
    mt_vec_release(&s->marks);
    mt_vec_release(&s->points);
    mt_buf_release(&s->texts);
    mt_mem_free(s);
}

int mt_scene_width(const struct mt_scene *s)
{
    return (int)s->width;
}

int mt_scene_height(const struct mt_scene *s)
{
    return (int)s->height;
}

/* ---- text ---- */

void mt_text_keep_safe(struct mt_buf *b, const char *text)
{
    size_t n = strlen(text);
    for (size_t i = 0; i < n;) {
        uint32_t code;
        size_t len = mt_utf8_next(text + i, n - i, &code);
        if (code == '\n' || (code != 0xfffd && mt_char_is_safe(code))) {
            mt_buf_add(b, text + i, len);
        } else {
            mt_buf_text(b, "\xef\xbf\xbd");
        }
        i += len;
    }
}

uint32_t mt_scene_keep(struct mt_scene *s, const char *text)
{
    if (!*text) {
        return 0;
    }
    size_t at = s->texts.n;
    mt_text_keep_safe(&s->texts, text);
    mt_buf_add(&s->texts, "", 1);
    s->failed |= s->texts.failed || at > UINT32_MAX;
    return s->failed ? 0 : (uint32_t)at;
}

uint32_t mt_scene_take(struct mt_scene *s, struct mt_buf *b)
{
    s->failed |= b->failed;
    uint32_t at = mt_scene_keep(s, b->p ? b->p : "");
    mt_buf_release(b);
    return at;
}

/* ---- marks ---- */

static struct mt_mark *add(struct mt_scene *s, enum mt_mark_kind kind)
{
    struct mt_mark m = {.kind = (uint8_t)kind, .first = (uint32_t)s->points.n};
    if (s->points.n >= UINT32_MAX || (s->failed && s->marks.n) || !mt_vec_push(&s->marks, m)) {
        s->failed = true;
        return &s->nowhere;
    }
    return &s->marks.v[s->marks.n - 1];
}

struct mt_mark *mt_scene_rect(struct mt_scene *s, double x, double y, double w, double h,
                              uint32_t fill)
{
    struct mt_mark *m = add(s, MT_MARK_RECT);
    m->x = x;
    m->y = y;
    m->w = w;
    m->h = h;
    m->fill = fill;
    return m;
}

struct mt_mark *mt_scene_polygon(struct mt_scene *s, uint32_t fill)
{
    struct mt_mark *m = add(s, MT_MARK_POLYGON);
    m->fill = fill;
    return m;
}

struct mt_mark *mt_scene_polyline(struct mt_scene *s, uint32_t stroke, double stroke_width)
{
    struct mt_mark *m = add(s, MT_MARK_LINE);
    m->stroke = stroke;
    m->stroke_width = stroke_width;
    return m;
}

struct mt_mark *mt_scene_line(struct mt_scene *s, double x1, double y1, double x2, double y2,
                              uint32_t stroke, double stroke_width)
{
    struct mt_mark *m = mt_scene_polyline(s, stroke, stroke_width);
    mt_scene_point(s, x1, y1);
    mt_scene_point(s, x2, y2);
    return m;
}

/* Whether b lies on the way from a to c. */
static bool between(struct mt_point a, struct mt_point b, struct mt_point c)
{
    double dx = c.x - a.x, dy = c.y - a.y, length = hypot(dx, dy);
    double ex = b.x - a.x, ey = b.y - a.y;
    double along = ex * dx + ey * dy;
    if (length < STRAIGHT_PX) {
        return hypot(ex, ey) < STRAIGHT_PX;
    }
    return fabs(ex * dy - ey * dx) < STRAIGHT_PX * length && along >= 0 && along <= length * length;
}

void mt_scene_point(struct mt_scene *s, double x, double y)
{
    if (s->marks.n == 0 || s->failed) {
        return;
    }
    struct mt_mark *m = &s->marks.v[s->marks.n - 1];
    struct mt_point p = {x, y}, *v = m->n ? s->points.v + m->first : NULL;
    if (m->n >= 2 && between(v[m->n - 2], v[m->n - 1], p)) {
        v[m->n - 1] = p;
    } else if (mt_vec_push(&s->points, p)) {
        m->n++;
    } else {
        s->failed = true;
    }
}

struct mt_mark *mt_scene_text(struct mt_scene *s, double x, double y, double size, uint32_t fill,
                              const char *text)
{
    uint32_t at = mt_scene_keep(s, text);
    struct mt_mark *m = add(s, MT_MARK_TEXT);
    m->x = x;
    m->y = y;
    m->h = size;
    m->fill = fill;
    m->text = at;
    m->w = mt_text_px(mt_scene_str(s, at), size, false);
    return m;
}

struct mt_mark *mt_scene_text_fit(struct mt_scene *s, double x, double y, double size,
                                  uint32_t fill, double room, bool bold, const char *text)
{
    struct mt_buf cut = {0};
    mt_text_cut(&cut, text, size, bold, room);
    s->failed |= cut.failed;
    struct mt_mark *m = mt_scene_text(s, x, y, size, fill, cut.p ? cut.p : "");
    m->bold = bold;
    m->w = mt_text_px(mt_scene_str(s, m->text), size, bold);
    mt_buf_release(&cut);
    return m;
}

struct mt_mark *mt_scene_text_buf(struct mt_scene *s, double x, double y, double size,
                                  uint32_t fill, double room, bool bold, const struct mt_buf *text)
{
    s->failed |= text->failed;
    return mt_scene_text_fit(s, x, y, size, fill, room, bold, text->p ? text->p : "");
}

/* The last `mark` of text so that what is before it fits into the room; NULL when there is none. A
 * number stays with its unit. */
static const char *last_that_fits(const char *text, const char *mark, double size, bool bold,
                                  double room, bool *failed)
{
    const char *best = NULL;
    for (const char *at = strstr(text, mark); at; at = strstr(at + 1, mark)) {
        if (mark[1] == '\0' && at > text && at[-1] >= '0' && at[-1] <= '9') {
            continue;
        }
        struct mt_buf head = {0};
        mt_buf_add(&head, text, (size_t)(at - text));
        bool fits = head.p && mt_text_px(head.p, size, bold) <= room;
        *failed |= head.failed;
        mt_buf_release(&head);
        if (!fits) {
            break;
        }
        best = at;
    }
    return best;
}

/* Puts as much of text into line as fits, up to a " · " or else to a blank. Returns the rest, NULL
 * when it has no place to be broken. */
static const char *break_before(const char *text, double size, bool bold, double room,
                                struct mt_buf *line)
{
    static const char *const MARKS[] = {" \xc2\xb7 ", " "};
    for (size_t i = 0; i < MT_COUNT(MARKS); i++) {
        const char *best = last_that_fits(text, MARKS[i], size, bold, room, &line->failed);
        if (best && best > text) {
            mt_buf_reset(line);
            mt_buf_add(line, text, (size_t)(best - text));
            return best + strlen(MARKS[i]);
        }
    }
    return NULL;
}

double mt_scene_text_lines(struct mt_scene *s, double x, double y, double size, uint32_t fill,
                           double room, bool bold, const struct mt_buf *text)
{
    const char *rest = text->p ? text->p : "";
    struct mt_buf line = {0};
    s->failed |= text->failed;
    while (mt_text_px(rest, size, bold) > room) {
        const char *next = break_before(rest, size, bold, room, &line);
        if (!next) {
            break;
        }
        mt_scene_text_buf(s, x, y, size, fill, room, bold, &line);
        rest = next;
        y += size * 1.45;
    }
    mt_scene_text_fit(s, x, y, size, fill, room, bold, rest);
    s->failed |= line.failed;
    mt_buf_release(&line);
    return y;
}

struct mt_mark *mt_scene_group(struct mt_scene *s, const char *class_name, uint32_t tip)
{
    uint32_t at = mt_scene_keep(s, class_name);
    struct mt_mark *m = add(s, MT_MARK_GROUP);
    m->text = at;
    m->tip = tip;
    return m;
}

void mt_scene_end(struct mt_scene *s)
{
    (void)add(s, MT_MARK_END);
}

/* ---- as text, for tests ---- */

static void dump_mark(const struct mt_scene *s, const struct mt_mark *m, struct mt_buf *out)
{
    static const char *const KINDS[] = {"rect", "polygon", "line", "text", "group", "end"};
    static const char *const ANCHORS[] = {"start", "middle", "end"};
    mt_buf_text(out, KINDS[m->kind]);
    switch ((enum mt_mark_kind)m->kind) {
    case MT_MARK_RECT:
        mt_buf_printf(out, " %.1f,%.1f %.1fx%.1f #%08x", m->x, m->y, m->w, m->h, m->fill);
        mt_buf_text(out, m->pattern == MT_HATCHED ? " hatched" : "");
        break;
    case MT_MARK_POLYGON:
    case MT_MARK_LINE:
        mt_buf_printf(out, " #%08x", m->kind == MT_MARK_LINE ? m->stroke : m->fill);
        for (uint32_t i = 0; i < m->n; i++) {
            const struct mt_point *p = &s->points.v[m->first + i];
            mt_buf_printf(out, " %.1f,%.1f", p->x, p->y);
        }
        break;
    case MT_MARK_TEXT:
        mt_buf_printf(out, " %.1f,%.1f %s %gpx '%s'", m->x, m->y, ANCHORS[m->anchor], m->h,
                      mt_scene_str(s, m->text));
        break;
    case MT_MARK_GROUP: mt_buf_printf(out, " %s", mt_scene_str(s, m->text)); break;
    case MT_MARK_END: break;
    }
    if (m->tip) {
        mt_buf_printf(out, " tip '%s'", mt_scene_str(s, m->tip));
    }
    mt_buf_char(out, '\n');
}

void mt_scene_dump(const struct mt_scene *s, struct mt_buf *out)
{
    mt_buf_printf(out, "scene %gx%g '%s'\n", s->width, s->height, mt_scene_str(s, s->title));
    for (size_t i = 0; i < s->marks.n; i++) {
        dump_mark(s, &s->marks.v[i], out);
    }
}
