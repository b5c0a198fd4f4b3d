/* SPDX-License-Identifier: MIT */
/*
 * A picture as plain data. Coordinates are px from the top left corner, angles do not exist, text
 * is never rotated. Marks are painted in their order.
 */
#ifndef MEMTOOL_DRAW_SCENE_H
#define MEMTOOL_DRAW_SCENE_H

#include "draw/palette.h"
#include "draw/plot.h"
#include "support/vec.h"

enum mt_mark_kind {
    MT_MARK_RECT,
    MT_MARK_POLYGON, /* closed, filled */
    MT_MARK_LINE,    /* open polyline, stroked */
    MT_MARK_TEXT,
    MT_MARK_GROUP, /* what follows belongs together (its tip, its class) up to the END */
    MT_MARK_END
};

enum mt_anchor { MT_ANCHOR_START, MT_ANCHOR_MIDDLE, MT_ANCHOR_END };
enum mt_pattern { MT_SOLID, MT_HATCHED };

struct mt_point {
    double x, y;
};

struct mt_mark {
    uint8_t kind;    /* enum mt_mark_kind */
    uint8_t anchor;  /* TEXT: enum mt_anchor */
    uint8_t pattern; /* RECT, POLYGON: hatched in the stroke colour over the fill */
    bool bold;       /* TEXT */
    bool halo;       /* TEXT: readable over shapes (outlined in the background) */
    bool round;      /* RECT: an ellipse */
    bool scripted;   /* GROUP: only for pictures that carry a script; it shows them */
    uint32_t fill;   /* 0xRRGGBBAA; 0 = none */
    uint32_t stroke;
    double stroke_width, dash; /* px; dash 0 = solid */
    double x, y, w, h;         /* TEXT: x, baseline y, width as measured, h = size */
    uint32_t first, n;         /* POLYGON, LINE: points */
    uint32_t text;             /* offset into texts; GROUP: its class */
    uint32_t tip;              /* offset into texts, 0 = none */
};

/* Scripts that the SVG painter embeds. */
enum mt_scene_script { MT_SCRIPT_NONE, MT_SCRIPT_FLAME };

struct mt_scene {
    struct mt_plot_style style;
    const struct mt_theme *theme;
    double width, height;
    enum mt_scene_script script;
    uint32_t title; /* offset into texts: what the picture is, for readers that cannot see it */
    MT_VEC(struct mt_mark) marks;
    MT_VEC(struct mt_point) points;
    struct mt_buf texts;    /* NUL-terminated strings; offset 0 is "" */
    bool failed;            /* out of memory: checked once, at the end */
    struct mt_mark nowhere; /* written after a failure, never read */
};

/* Adding never fails in sight: it sets `failed`. Each returns the mark (never NULL, a scratch one
 * after a failure), valid until the next addition, so that rare fields can be set. */
struct mt_mark *mt_scene_rect(struct mt_scene *s, double x, double y, double w, double h,
                              uint32_t fill);
struct mt_mark *mt_scene_line(struct mt_scene *s, double x1, double y1, double x2, double y2,
                              uint32_t stroke, double stroke_width);
/* An empty polygon or polyline; its points follow by mt_scene_point. */
struct mt_mark *mt_scene_polygon(struct mt_scene *s, uint32_t fill);
struct mt_mark *mt_scene_polyline(struct mt_scene *s, uint32_t stroke, double stroke_width);
/* Adds to the newest mark; a point that changes nothing to see is dropped. */
void mt_scene_point(struct mt_scene *s, double x, double y);
/* `text` is made safe (mt_scene_keep). */
struct mt_mark *mt_scene_text(struct mt_scene *s, double x, double y, double size, uint32_t fill,
                              const char *text);
/* The same, cut with an ellipsis to be at most `room` wide. */
struct mt_mark *mt_scene_text_fit(struct mt_scene *s, double x, double y, double size,
                                  uint32_t fill, double room, bool bold, const char *text);
/* The same of a buffer, whose failure becomes the scene's. */
struct mt_mark *mt_scene_text_buf(struct mt_scene *s, double x, double y, double size,
                                  uint32_t fill, double room, bool bold, const struct mt_buf *text);
/* In as many lines as it needs, broken at the middle dots of " · "; returns the base line of the
 * last one. */
double mt_scene_text_lines(struct mt_scene *s, double x, double y, double size, uint32_t fill,
                           double room, bool bold, const struct mt_buf *text);
struct mt_mark *mt_scene_group(struct mt_scene *s, const char *class_name, uint32_t tip);
void mt_scene_end(struct mt_scene *s);

/* Keeps a text for tips: control characters and broken UTF-8 become U+FFFD, newlines stay. Returns
 * its offset. */
uint32_t mt_scene_keep(struct mt_scene *s, const char *text);

/* The same of a buffer, which is released. */
uint32_t mt_scene_take(struct mt_scene *s, struct mt_buf *b);

static inline const char *mt_scene_str(const struct mt_scene *s, uint32_t offset)
{
    return s->texts.p ? s->texts.p + offset : "";
}

/* ---- text ---- */

/* Width in px of UTF-8 text, by the metrics of DejaVu Sans: wider than most, so that what fits here
 * fits in the reader's font too. */
double mt_text_px(const char *text, double size, bool bold);

/* Cuts text in the middle of its end with an ellipsis so that it is at most `room` px wide. */
void mt_text_cut(struct mt_buf *out, const char *text, double size, bool bold, double room);

/* Appends text with control characters, marks that turn the direction of writing and broken UTF-8
 * as U+FFFD; newlines stay. */
void mt_text_keep_safe(struct mt_buf *b, const char *text);

/* Bytes of the UTF-8 character at p (1 when it is broken), which is decoded into *code (0xfffd when
 * broken). */
size_t mt_utf8_next(const char *p, size_t n, uint32_t *code);

#endif
