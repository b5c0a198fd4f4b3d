/* SPDX-License-Identifier: MIT */
/*
 * Paints a scene as SVG. Cairo has an SVG surface, but it turns text into outlines and knows no
 * tooltips; here text stays text (to be searched and copied) and tips are <title> elements, which
 * every browser shows without a script.
 *
 * Numbers are written with one decimal at most and paths with relative steps: half the bytes of
 * absolute ones, and a tenth of a pixel is finer than any screen.
 */
#include <math.h>
#include <string.h>

#include "draw/paint/flame_script.h"
#include "draw/paint/painters.h"
#include "draw/scene.h"
#include "support/mem.h"

/* Fonts as wide as DejaVu Sans, the one that was measured with: places were chosen by its widths.
 */
#define FONTS                                                                                      \
    "'DejaVu Sans',Verdana,'Bitstream Vera Sans',Geneva,Tahoma,"                                   \
    "sans-serif"

struct svg {
    const struct mt_scene *s;
    struct mt_buf b;
    long px, py; /* current point of a path, in tenths */
};

/* ---- numbers, colours, text ---- */

/* Tenths as "12", "12.3", "-.5". */
static void put_tenths(struct mt_buf *b, long v)
{
    if (v < 0) {
        mt_buf_char(b, '-');
        v = -v;
    }
    if (v >= 10 || v % 10 == 0) {
        mt_buf_printf(b, "%ld", v / 10);
    }
    if (v % 10) {
        mt_buf_char(b, '.');
        mt_buf_char(b, (char)('0' + v % 10));
    }
}

static long tenths(double v)
{
    return lround(v * 10);
}

static void attribute(struct svg *g, const char *name, double v)
{
    mt_buf_printf(&g->b, " %s=\"", name);
    put_tenths(&g->b, tenths(v));
    mt_buf_char(&g->b, '"');
}

/* #rrggbb, or #rgb where that says the same; alpha as an opacity of its own. */
static void color(struct svg *g, const char *name, uint32_t c)
{
    if (c == 0) {
        mt_buf_printf(&g->b, " %s=\"none\"", name);
        return;
    }
    unsigned rgb = c >> 8, alpha = c & 255;
    bool shorter = (rgb >> 4 & 0x0f0f0f) == (rgb & 0x0f0f0f);
    if (shorter) {
        mt_buf_printf(&g->b, " %s=\"#%x%x%x\"", name, rgb >> 16 & 15, rgb >> 8 & 15, rgb & 15);
    } else {
        mt_buf_printf(&g->b, " %s=\"#%06x\"", name, rgb);
    }
    if (alpha != 255) {
        mt_buf_printf(&g->b, " %s-opacity=\".%02u\"", name, alpha * 100 / 256);
    }
}

static void escaped(struct mt_buf *b, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '&': mt_buf_text(b, "&amp;"); break;
        case '<': mt_buf_text(b, "&lt;"); break;
        case '>': mt_buf_text(b, "&gt;"); break;
        case '"': mt_buf_text(b, "&quot;"); break;
        default: mt_buf_char(b, *text);
        }
    }
}

/* Ends an element: with its tip inside, or short. */
static void close_element(struct svg *g, const struct mt_mark *m, const char *name)
{
    if (!m->tip) {
        mt_buf_text(&g->b, "/>\n");
        return;
    }
    mt_buf_text(&g->b, "><title>");
    escaped(&g->b, mt_scene_str(g->s, m->tip));
    mt_buf_printf(&g->b, "</title></%s>\n", name);
}

static void stroke(struct svg *g, const struct mt_mark *m)
{
    if (m->stroke && m->pattern != MT_HATCHED) {
        color(g, "stroke", m->stroke);
        if (m->stroke_width != 1 && m->stroke_width > 0) {
            attribute(g, "stroke-width", m->stroke_width);
        }
        if (m->dash > 0) {
            attribute(g, "stroke-dasharray", m->dash);
        }
    }
}

/* ---- marks ---- */

static void ellipse(struct svg *g, const struct mt_mark *m)
{
    mt_buf_text(&g->b, "<ellipse");
    attribute(g, "cx", m->x + m->w / 2);
    attribute(g, "cy", m->y + m->h / 2);
    attribute(g, "rx", m->w / 2);
    attribute(g, "ry", m->h / 2);
    color(g, "fill", m->fill);
    stroke(g, m);
    close_element(g, m, "ellipse");
}

/* "<rect x= y= width= height="; the size from rounded edges, so that neighbours touch. */
static void rect_open(struct svg *g, const struct mt_mark *m)
{
    long x = tenths(m->x), y = tenths(m->y);
    mt_buf_text(&g->b, "<rect x=\"");
    put_tenths(&g->b, x);
    mt_buf_text(&g->b, "\" y=\"");
    put_tenths(&g->b, y);
    mt_buf_text(&g->b, "\" width=\"");
    put_tenths(&g->b, tenths(m->x + m->w) - x);
    mt_buf_text(&g->b, "\" height=\"");
    put_tenths(&g->b, tenths(m->y + m->h) - y);
    mt_buf_char(&g->b, '"');
}

static void rect(struct svg *g, const struct mt_mark *m)
{
    if (m->round) {
        ellipse(g, m);
        return;
    }
    rect_open(g, m);
    color(g, "fill", m->fill);
    stroke(g, m);
    close_element(g, m, "rect");
    if (m->pattern == MT_HATCHED) {
        rect_open(g, m);
        mt_buf_printf(&g->b, " fill=\"url(#h%06x)\" pointer-events=\"none\"/>\n", m->stroke >> 8);
    }
}

static void path_to(struct svg *g, const struct mt_point *p, bool first)
{
    long x = tenths(p->x), y = tenths(p->y), dx = x - g->px, dy = y - g->py;
    if (first) {
        mt_buf_char(&g->b, 'M');
        put_tenths(&g->b, x);
        mt_buf_char(&g->b, ' ');
        put_tenths(&g->b, y);
    } else if (dy == 0 && dx == 0) {
        return;
    } else if (dy == 0) {
        mt_buf_char(&g->b, 'h');
        put_tenths(&g->b, dx);
    } else if (dx == 0) {
        mt_buf_char(&g->b, 'v');
        put_tenths(&g->b, dy);
    } else {
        mt_buf_char(&g->b, 'l');
        put_tenths(&g->b, dx);
        if (dy >= 0) {
            mt_buf_char(&g->b, ' ');
        }
        put_tenths(&g->b, dy);
    }
    g->px = x;
    g->py = y;
}

static void path(struct svg *g, const struct mt_mark *m)
{
    if (m->n < 2) {
        return;
    }
    mt_buf_text(&g->b, "<path d=\"");
    for (uint32_t i = 0; i < m->n; i++) {
        path_to(g, &g->s->points.v[m->first + i], i == 0);
    }
    mt_buf_text(&g->b, m->kind == MT_MARK_POLYGON ? "z\"" : "\"");
    color(g, "fill", m->kind == MT_MARK_POLYGON ? m->fill : 0);
    stroke(g, m);
    if (m->kind == MT_MARK_LINE) {
        mt_buf_text(&g->b, " stroke-linejoin=\"round\"");
    }
    close_element(g, m, "path");
}

static void text(struct svg *g, const struct mt_mark *m)
{
    static const char *const ANCHORS[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
    mt_buf_text(&g->b, "<text");
    attribute(g, "x", m->x);
    attribute(g, "y", m->y);
    if (m->h != 12) {
        attribute(g, "font-size", m->h);
    }
    color(g, "fill", m->fill);
    mt_buf_text(&g->b, ANCHORS[m->anchor]);
    mt_buf_text(&g->b, m->bold ? " font-weight=\"600\"" : "");
    if (m->halo) {
        color(g, "stroke", g->s->theme->panel);
        mt_buf_text(&g->b, " stroke-width=\"3\" paint-order=\"stroke\" stroke-linejoin=\"round\"");
    }
    mt_buf_char(&g->b, '>');
    if (m->tip) {
        mt_buf_text(&g->b, "<title>");
        escaped(&g->b, mt_scene_str(g->s, m->tip));
        mt_buf_text(&g->b, "</title>");
    }
    escaped(&g->b, mt_scene_str(g->s, m->text));
    mt_buf_text(&g->b, "</text>\n");
}

static void group(struct svg *g, const struct mt_mark *m)
{
    mt_buf_text(&g->b, "<g");
    if (m->text) {
        mt_buf_text(&g->b, " class=\"");
        escaped(&g->b, mt_scene_str(g->s, m->text));
        mt_buf_char(&g->b, '"');
    }
    mt_buf_text(&g->b, m->scripted ? " display=\"none\">" : ">");
    if (m->tip) {
        mt_buf_text(&g->b, "<title>");
        escaped(&g->b, mt_scene_str(g->s, m->tip));
        mt_buf_text(&g->b, "</title>");
    }
    mt_buf_char(&g->b, '\n');
}

static void mark(struct svg *g, const struct mt_mark *m)
{
    switch ((enum mt_mark_kind)m->kind) {
    case MT_MARK_RECT: rect(g, m); break;
    case MT_MARK_POLYGON:
    case MT_MARK_LINE: path(g, m); break;
    case MT_MARK_TEXT: text(g, m); break;
    case MT_MARK_GROUP: group(g, m); break;
    case MT_MARK_END: mt_buf_text(&g->b, "</g>\n"); break;
    }
}

/* ---- the document ---- */

/* One pattern for each colour that hatches. */
static void patterns(struct svg *g)
{
    uint32_t seen[8];
    size_t n = 0;
    for (size_t i = 0; i < g->s->marks.n; i++) {
        const struct mt_mark *m = &g->s->marks.v[i];
        bool known = m->pattern != MT_HATCHED;
        for (size_t k = 0; k < n && !known; k++) {
            known = seen[k] == m->stroke;
        }
        if (known || n == MT_COUNT(seen)) {
            continue;
        }
        seen[n++] = m->stroke;
        mt_buf_printf(&g->b,
                      "<pattern id=\"h%06x\" width=\"5\" height=\"5\" "
                      "patternUnits=\"userSpaceOnUse\"><path d=\"M-1 1l2-2M0 5l5-5M4 6l2-2\"",
                      m->stroke >> 8);
        color(g, "stroke", m->stroke);
        mt_buf_text(&g->b, " stroke-width=\"1.4\"/></pattern>\n");
    }
}

static void head(struct svg *g)
{
    const struct mt_scene *s = g->s;
    mt_buf_printf(&g->b,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                  "viewBox=\"0 0 %.0f %.0f\" font-family=\"" FONTS "\" font-size=\"12\" "
                  "role=\"img\" aria-label=\"",
                  s->width, s->height, s->width, s->height);
    escaped(&g->b, mt_scene_str(g->s, s->title));
    mt_buf_text(&g->b, "\">\n<defs>\n");
    patterns(g);
    mt_buf_text(&g->b, "</defs>\n");
}

enum mt_status mt_paint_svg(const struct mt_scene *s, double scale, FILE *out, struct mt_error *err)
{
    (void)scale; /* every size is sharp */
    struct svg g = {.s = s};
    head(&g);
    for (size_t i = 0; i < s->marks.n; i++) {
        mark(&g, &s->marks.v[i]);
    }
    if (s->script == MT_SCRIPT_FLAME) {
        mt_buf_printf(&g.b, "<script><![CDATA[%s]]></script>\n", MT_FLAME_SCRIPT);
    }
    mt_buf_text(&g.b, "</svg>\n");
    enum mt_status status = MT_OK;
    if (g.b.failed) {
        status = mt_fail_nomem(err);
    } else if (fwrite(g.b.p, 1, g.b.n, out) != g.b.n) {
        status = mt_fail(err, MT_OUTPUT, MT_NO_OFFSET, "cannot write the picture: %s",
                         mt_stream_why(out));
    }
    mt_buf_release(&g.b);
    return status;
}
