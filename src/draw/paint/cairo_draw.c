/* SPDX-License-Identifier: MIT */
/*
 * Paints a scene as PNG or PDF; the only file that knows cairo.
 *
 * The font is whatever the machine calls sans-serif; text that turns out wider there than the scene
 * allows is condensed to fit. Without any font cairo falls back on one of its own, so a bare server
 * draws text too. A PDF carries no date, and so is the same for the same input.
 */
#include <cairo-pdf.h>
#include <cairo.h>

#include <math.h>
#include <string.h>

#include "draw/paint/painters.h"
#include "draw/scene.h"

static void set_color(cairo_t *c, uint32_t rgba)
{
    cairo_set_source_rgba(c, (rgba >> 24) / 255.0, (rgba >> 16 & 255) / 255.0,
                          (rgba >> 8 & 255) / 255.0, (rgba & 255) / 255.0);
}

static void stroke_path(cairo_t *c, const struct mt_mark *m)
{
    set_color(c, m->stroke);
    cairo_set_line_width(c, m->stroke_width > 0 ? m->stroke_width : 1);
    cairo_set_line_join(c, m->kind == MT_MARK_LINE ? CAIRO_LINE_JOIN_ROUND : CAIRO_LINE_JOIN_MITER);
    cairo_set_dash(c, &m->dash, m->dash > 0 ? 1 : 0, 0);
    cairo_stroke_preserve(c);
}

/* Diagonal strokes through the extents of the current path, clipped to it. */
static void hatch_path(cairo_t *c, uint32_t rgba)
{
    double x1, y1, x2, y2;
    cairo_path_extents(c, &x1, &y1, &x2, &y2);
    cairo_save(c);
    cairo_clip(c);
    set_color(c, rgba);
    cairo_set_line_width(c, 1);
    cairo_set_dash(c, NULL, 0, 0);
    double from = floor((x1 + y1) / 5) * 5;
    for (double k = from; k <= x2 + y2 + 5; k += 5) {
        cairo_move_to(c, k - y1 + 1, y1 - 1);
        cairo_line_to(c, k - y2 - 1, y2 + 1);
    }
    cairo_stroke(c);
    cairo_restore(c);
}

static void paint_path(cairo_t *c, const struct mt_mark *m)
{
    if (m->fill && m->kind != MT_MARK_LINE) {
        set_color(c, m->fill);
        cairo_fill_preserve(c);
    }
    if (m->pattern == MT_HATCHED) {
        hatch_path(c, m->stroke);
    } else if (m->stroke) {
        stroke_path(c, m);
    }
    cairo_new_path(c);
}

static void paint_rect(cairo_t *c, const struct mt_mark *m)
{
    if (m->round) {
        cairo_save(c);
        cairo_translate(c, m->x + m->w / 2, m->y + m->h / 2);
        cairo_scale(c, m->w / 2, m->h / 2);
        cairo_new_sub_path(c);
        cairo_arc(c, 0, 0, 1, 0, 2 * acos(-1));
        cairo_restore(c);
    } else {
        cairo_rectangle(c, m->x, m->y, m->w, m->h);
    }
    paint_path(c, m);
}

static void paint_points(cairo_t *c, const struct mt_scene *s, const struct mt_mark *m)
{
    for (uint32_t i = 0; i < m->n; i++) {
        cairo_line_to(c, s->points.v[m->first + i].x, s->points.v[m->first + i].y);
    }
    if (m->kind == MT_MARK_POLYGON) {
        cairo_close_path(c);
    }
    paint_path(c, m);
}

/* What stands for a character in cairo's own font, which has ASCII only. */
static char plain_char(uint32_t code)
{
    return code < 0x80 ? (char)code : code == 0xb7 ? '-' : code == 0x2026 ? '~' : '?';
}

static void make_plain(struct mt_buf *out, const char *text)
{
    size_t n = strlen(text);
    for (size_t i = 0; i < n;) {
        uint32_t code;
        i += mt_utf8_next(text + i, n - i, &code);
        mt_buf_char(out, plain_char(code));
    }
}

static void paint_string(cairo_t *c, const struct mt_scene *s, const struct mt_mark *m,
                         const char *text)
{
    cairo_text_extents_t e;
    cairo_text_extents(c, text, &e);
    double squeeze = e.x_advance > m->w && m->w > 0 ? m->w / e.x_advance : 1;
    double shift = m->anchor == MT_ANCHOR_END ? 1 : m->anchor == MT_ANCHOR_MIDDLE ? 0.5 : 0;
    cairo_save(c);
    cairo_translate(c, m->x - e.x_advance * squeeze * shift, m->y);
    cairo_scale(c, squeeze, 1);
    cairo_move_to(c, 0, 0);
    if (m->halo) {
        cairo_text_path(c, text);
        set_color(c, s->theme->panel);
        cairo_set_line_width(c, 3);
        cairo_set_line_join(c, CAIRO_LINE_JOIN_ROUND);
        cairo_set_dash(c, NULL, 0, 0);
        cairo_stroke(c);
        cairo_move_to(c, 0, 0);
    }
    set_color(c, m->fill);
    cairo_show_text(c, text);
    cairo_restore(c);
    cairo_new_path(c);
}

/* False: out of memory. */
static bool paint_text(cairo_t *c, const struct mt_scene *s, const struct mt_mark *m)
{
    const char *text = mt_scene_str(s, m->text);
    struct mt_buf plain = {0};
    cairo_select_font_face(c, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           m->bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(c, m->h);
    /* A user font is the one that cairo carries for machines that have none. */
    if (cairo_scaled_font_get_type(cairo_get_scaled_font(c)) == CAIRO_FONT_TYPE_USER) {
        make_plain(&plain, text);
    }
    paint_string(c, s, m, plain.p ? plain.p : text);
    bool ok = !plain.failed;
    mt_buf_release(&plain);
    return ok;
}

static bool paint_scene(cairo_t *c, const struct mt_scene *s)
{
    bool hidden = false; /* groups that only a script shows hold no groups */
    bool ok = true;
    for (size_t i = 0; i < s->marks.n; i++) {
        const struct mt_mark *m = &s->marks.v[i];
        hidden = m->kind == MT_MARK_END ? false : hidden || m->scripted;
        if (hidden) {
            continue;
        }
        switch ((enum mt_mark_kind)m->kind) {
        case MT_MARK_RECT: paint_rect(c, m); break;
        case MT_MARK_POLYGON:
        case MT_MARK_LINE: paint_points(c, s, m); break;
        case MT_MARK_TEXT: ok &= paint_text(c, s, m); break;
        case MT_MARK_GROUP:
        case MT_MARK_END: break;
        }
    }
    return ok;
}

static cairo_status_t write_piece(void *out, const unsigned char *p, unsigned n)
{
    return fwrite(p, 1, n, out) == n ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

static enum mt_status to_status(cairo_status_t c, FILE *out, struct mt_error *err)
{
    if (c == CAIRO_STATUS_SUCCESS) {
        return MT_OK;
    }
    if (c == CAIRO_STATUS_NO_MEMORY) {
        return mt_fail_nomem(err);
    }
    if (c == CAIRO_STATUS_WRITE_ERROR) {
        return mt_fail(err, MT_OUTPUT, MT_NO_OFFSET, "cannot write the picture: %s",
                       mt_stream_why(out));
    }
    return mt_fail(err, MT_OUTPUT, MT_NO_OFFSET, "cannot draw the picture: %s",
                   cairo_status_to_string(c));
}

static cairo_status_t paint_on(cairo_surface_t *surface, const struct mt_scene *s, double scale)
{
    cairo_t *c = cairo_create(surface);
    cairo_font_options_t *options = cairo_font_options_create();
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF); /* widths as measured */
    cairo_set_font_options(c, options);
    cairo_font_options_destroy(options);
    cairo_scale(c, scale, scale);
    bool ok = paint_scene(c, s);
    cairo_status_t status = ok ? cairo_status(c) : CAIRO_STATUS_NO_MEMORY;
    cairo_destroy(c);
    return status;
}

enum mt_status mt_paint_png(const struct mt_scene *s, double scale, FILE *out, struct mt_error *err)
{
    cairo_surface_t *surface = cairo_image_surface_create(
        CAIRO_FORMAT_RGB24, (int)lround(s->width * scale), (int)lround(s->height * scale));
    cairo_status_t status = paint_on(surface, s, scale);
    if (status == CAIRO_STATUS_SUCCESS) {
        status = cairo_surface_write_to_png_stream(surface, write_piece, out);
    }
    cairo_surface_destroy(surface);
    return to_status(status, out, err);
}

enum mt_status mt_paint_pdf(const struct mt_scene *s, double scale, FILE *out, struct mt_error *err)
{
    (void)scale; /* every size is sharp */
    cairo_surface_t *surface =
        cairo_pdf_surface_create_for_stream(write_piece, out, s->width, s->height);
    cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_TITLE, mt_scene_str(s, s->title));
    /* A date is written unless one is set; the epoch stands for "the same for the same input". */
    cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATE_DATE, "1970-01-01T00:00:00Z");
    cairo_status_t status = paint_on(surface, s, 1);
    cairo_surface_finish(surface);
    if (status == CAIRO_STATUS_SUCCESS) {
        status = cairo_surface_status(surface);
    }
    cairo_surface_destroy(surface);
    return to_status(status, out, err);
}
