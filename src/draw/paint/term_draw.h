/* SPDX-License-Identifier: MIT */
/*
 * A canvas of character cells, for pictures on a terminal. A cell is a character, or two colours
 * one over the other: half blocks double the rows where there is colour. Without colour bands are
 * told apart by letters: of shades of the block the eye knows three or four.
 */
#ifndef MEMTOOL_DRAW_PAINT_TERM_DRAW_H
#define MEMTOOL_DRAW_PAINT_TERM_DRAW_H

#include "draw/label.h"
#include "draw/plot.h"

struct mt_cell {
    char text[5];          /* UTF-8; empty: blank */
    uint32_t upper, lower; /* colours of a half block (0: none); used when `halves` */
    uint32_t ink;          /* colour of `text`, 0: the terminal's own */
    bool halves;
};

struct mt_canvas {
    struct mt_cell *cells;
    int width, height;
    struct mt_term_style style;
};

/* False when out of memory. */
bool mt_canvas_init(struct mt_canvas *c, int width, int height, const struct mt_term_style *style);
void mt_canvas_release(struct mt_canvas *c);

/* Column 0 is the leftmost, row 0 the top. Outside of the canvas nothing happens. */
void mt_canvas_put(struct mt_canvas *c, int x, int y, const char *text, uint32_t ink);
/* A text of single-width characters from (x, y) to the right. */
void mt_canvas_text(struct mt_canvas *c, int x, int y, const char *text, uint32_t ink);

/* How `band` (from 0) is drawn: as a block where there is colour, else as a letter. */
const char *mt_term_fill(const struct mt_term_style *style, size_t band);

/* "─", "-" and the like. */
enum mt_term_sign {
    MT_SIGN_LINE,
    MT_SIGN_CROSS,
    MT_SIGN_BAR,
    MT_SIGN_CORNER,
    MT_SIGN_HOLE,
    MT_SIGN_EMPTY,
    MT_SIGN_WAIT,
    MT_SIGN_DOT
};
const char *mt_term_sign(const struct mt_term_style *style, enum mt_term_sign sign);

/* The rows of the canvas, each with a newline and without blanks at its end. */
void mt_canvas_write(const struct mt_canvas *c, struct mt_buf *out);

/* Begins a colour for text behind the canvas, and ends it; nothing without colour. */
void mt_term_ink(const struct mt_term_style *style, uint32_t rgba, struct mt_buf *out);
void mt_term_ink_end(const struct mt_term_style *style, struct mt_buf *out);

/* Input text, made safe, in ASCII where that was asked for, cut to `room` columns. */
void mt_term_text(const struct mt_term_style *style, struct mt_buf *out, const char *text,
                  int room);

/* The same in lines of the terminal's width, broken at blanks, each with a newline. */
void mt_term_lines(const struct mt_term_style *style, struct mt_buf *out, const struct mt_buf *text,
                   uint32_t ink);

/* One row of a legend: the fill, bytes, share, label. A negative share: these are the most at
 * another time. */
void mt_term_legend(const struct mt_term_style *style, struct mt_buf *out, const char *fill,
                    uint32_t color, uint64_t bytes, double share, const struct mt_label *label);

/* A row without a share: sign, bytes (0: none), words, which are wrapped. */
void mt_term_key(const struct mt_term_style *style, struct mt_buf *out, enum mt_term_sign sign,
                 uint64_t bytes, const char *words);

void mt_term_legend_total(const struct mt_term_style *style, struct mt_buf *out, uint64_t bytes,
                          const char *title);

#endif
