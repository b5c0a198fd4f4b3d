/* SPDX-License-Identifier: MIT */
/*
 * Character cells to a terminal. Colours are those of the 256-colour palette, which every terminal
 * of this century knows; the nearest entry of its 6 x 6 x 6 cube stands for each.
 */
#include "draw/paint/term_draw.h"

#include <stdlib.h>
#include <string.h>

#include "support/mem.h"

#include "draw/scene.h"

bool mt_canvas_init(struct mt_canvas *c, int width, int height, const struct mt_term_style *style)
{
    *c = (struct mt_canvas){.width = width, .height = height, .style = *style};
    c->cells = mt_mem_zalloc((size_t)width * (size_t)height, sizeof *c->cells);
    return c->cells != NULL;
}

void mt_canvas_release(struct mt_canvas *c)
{
    mt_mem_free(c->cells);
    c->cells = NULL;
}

void mt_canvas_put(struct mt_canvas *c, int x, int y, const char *text, uint32_t ink)
{
    if (x < 0 || y < 0 || x >= c->width || y >= c->height) {
        return;
    }
    struct mt_cell *cell = &c->cells[y * c->width + x];
    size_t n = strlen(text);
    memcpy(cell->text, text, n < sizeof cell->text ? n + 1 : 1);
    cell->text[sizeof cell->text - 1] = '\0';
    cell->ink = ink;
    cell->halves = false;
}

void mt_canvas_text(struct mt_canvas *c, int x, int y, const char *text, uint32_t ink)
{
    size_t n = strlen(text);
    for (size_t i = 0; i < n; x++) {
        uint32_t code;
        char one[5] = "";
        size_t len = mt_utf8_next(text + i, n - i, &code);
        memcpy(one, text + i, len);
        mt_canvas_put(c, x, y, one, ink);
        i += len;
    }
}

/* ---- signs ---- */

static const char *const SIGNS[][2] = {
    [MT_SIGN_LINE] = {"\u2500", "-"}, [MT_SIGN_CROSS] = {"\u2715", "X"},
    [MT_SIGN_BAR] = {"\u2502", "|"},  [MT_SIGN_CORNER] = {"\u2514", "+"},
    [MT_SIGN_HOLE] = {"\u00b7", "."}, [MT_SIGN_EMPTY] = {"\u2581", "_"},
    [MT_SIGN_WAIT] = {"/", "/"},      [MT_SIGN_DOT] = {"\u00b7", "-"},
};

const char *mt_term_sign(const struct mt_term_style *style, enum mt_term_sign sign)
{
    return SIGNS[sign][style->charset == MT_TERM_ASCII];
}

const char *mt_term_fill(const struct mt_term_style *style, size_t band)
{
    static const char *const LETTERS[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i",
                                          "j", "k", "l", "m", "n", "o", "p", "q", "r",
                                          "s", "t", "u", "v", "w", "x", "y", "z"};
    bool block = style->color && style->charset != MT_TERM_ASCII;
    return block ? "\u2588" : LETTERS[band % MT_COUNT(LETTERS)];
}

/* ---- colours ---- */

static unsigned cube_level(unsigned byte)
{
    /* Levels of the cube: 0, 95, 135, 175, 215, 255. */
    return byte < 48 ? 0 : byte < 115 ? 1 : (byte - 35) / 40;
}

static unsigned palette_index(uint32_t rgba)
{
    unsigned r = rgba >> 24, g = rgba >> 16 & 255, b = rgba >> 8 & 255;
    return 16 + 36 * cube_level(r) + 6 * cube_level(g) + cube_level(b);
}

void mt_term_ink(const struct mt_term_style *style, uint32_t rgba, struct mt_buf *out)
{
    if (style->color && rgba) {
        mt_buf_printf(out, "\x1b[38;5;%um", palette_index(rgba));
    }
}

void mt_term_ink_end(const struct mt_term_style *style, struct mt_buf *out)
{
    if (style->color) {
        mt_buf_text(out, "\x1b[0m");
    }
}

/* ---- output ---- */

static bool is_blank(const struct mt_cell *cell)
{
    return cell->halves ? !cell->upper && !cell->lower : cell->text[0] == '\0';
}

static void write_halves(const struct mt_cell *cell, struct mt_buf *out)
{
    uint32_t ink = cell->upper ? cell->upper : cell->lower;
    mt_buf_printf(out, "\x1b[38;5;%um", palette_index(ink));
    if (cell->upper && cell->lower && cell->upper != cell->lower) {
        mt_buf_printf(out, "\x1b[48;5;%um\u2580\x1b[0m", palette_index(cell->lower));
        return;
    }
    mt_buf_text(out, cell->upper && cell->lower ? "\u2588" : cell->upper ? "\u2580" : "\u2584");
    mt_buf_text(out, "\x1b[0m");
}

static void write_cell(const struct mt_canvas *c, const struct mt_cell *cell, struct mt_buf *out)
{
    if (is_blank(cell)) {
        mt_buf_char(out, ' ');
    } else if (cell->halves) {
        write_halves(cell, out);
    } else if (cell->ink && c->style.color) {
        mt_term_ink(&c->style, cell->ink, out);
        mt_buf_text(out, cell->text);
        mt_term_ink_end(&c->style, out);
    } else {
        mt_buf_text(out, cell->text);
    }
}

void mt_canvas_write(const struct mt_canvas *c, struct mt_buf *out)
{
    for (int y = 0; y < c->height; y++) {
        int end = c->width;
        const struct mt_cell *row = c->cells + y * c->width;
        while (end > 0 && is_blank(&row[end - 1])) {
            end--;
        }
        for (int x = 0; x < end; x++) {
            write_cell(c, &row[x], out);
        }
        mt_buf_char(out, '\n');
    }
}

void mt_term_text(const struct mt_term_style *style, struct mt_buf *out, const char *text, int room)
{
    struct mt_buf safe = {0};
    mt_text_keep_safe(&safe, text);
    size_t n = safe.n, width = 0;
    for (size_t i = 0; i < n;) { /* one column a character: a wide one may only make it shorter */
        uint32_t code;
        size_t len = mt_utf8_next(safe.p + i, n - i, &code);
        bool ascii = style->charset == MT_TERM_ASCII;
        if (width + 1 >= (size_t)room && i + len < n && room > 3) {
            mt_buf_text(out, ascii ? "~" : "\u2026");
            break;
        }
        if (code == 0xb7 && ascii) {
            mt_buf_char(out, '-');
        } else if (code == '\n' || (code >= 0x80 && ascii)) {
            mt_buf_char(out, code == '\n' ? ' ' : '?');
        } else {
            mt_buf_add(out, safe.p + i, len);
        }
        width += code >= 0x1100 ? 2 : 1;
        i += len;
    }
    out->failed |= safe.failed;
    mt_buf_release(&safe);
}

static void put_piece(const struct mt_term_style *style, struct mt_buf *out, const char *text,
                      uint32_t ink)
{
    mt_term_ink(style, ink, out);
    mt_term_text(style, out, text, style->width);
    if (ink) {
        mt_term_ink_end(style, out);
    }
    mt_buf_char(out, '\n');
}

enum { NARROW = 80 }; /* columns below which legends keep to the left */

/* A blank between a number and its unit is no place to end a line. */
static bool is_break(const char *text, size_t at)
{
    bool number = at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9';
    const char *unit = text + at + 1;
    return text[at] == ' ' && !(number && (strchr("KMGTPE", *unit) ? strncmp(unit + 1, "iB", 2) == 0
                                                                   : *unit == 'B' || *unit == '%'));
}

/* How many bytes of `text` make a line: up to a blank where more than `width` are left; all of it
 * where its first word is too long. */
static size_t line_of(const char *text, size_t n, size_t width)
{
    size_t cut = n <= width ? n : width;
    while (n > width && cut > 0 && !is_break(text, cut)) {
        cut--;
    }
    return cut ? cut : n;
}

void mt_term_lines(const struct mt_term_style *style, struct mt_buf *out, const struct mt_buf *text,
                   uint32_t ink)
{
    const char *p = text->p ? text->p : "";
    size_t left = text->n;
    do {
        size_t n = line_of(p, left, (size_t)style->width);
        struct mt_buf line = {0};
        mt_buf_add(&line, p, n);
        put_piece(style, out, line.p ? line.p : "", ink);
        out->failed |= line.failed;
        mt_buf_release(&line);
        n += n < left;
        p += n;
        left -= n;
    } while (left);
    out->failed |= text->failed;
}

void mt_term_key(const struct mt_term_style *style, struct mt_buf *out, enum mt_term_sign sign,
                 uint64_t bytes, const char *words)
{
    enum { BYTES = 15, BEHIND_SHARES = 26 };
    size_t n = strlen(words), width = (size_t)style->width;
    int column = width < NARROW ? BYTES + 2 : BEHIND_SHARES;
    mt_buf_printf(out, "  %s %11s", mt_term_sign(style, sign),
                  bytes ? mt_size_text(bytes, style->size).s : "");
    for (int at = BYTES; n; at = 0) {
        size_t cut = line_of(words, n, width - (size_t)column);
        mt_buf_printf(out, "%*s%.*s\n", column - at, "", (int)cut, words);
        cut += cut < n;
        words += cut;
        n -= cut;
    }
}

void mt_term_legend(const struct mt_term_style *style, struct mt_buf *out, const char *fill,
                    uint32_t color, uint64_t bytes, double share, const struct mt_label *label)
{
    enum { BEFORE = 27, LEAST = 30, BELOW = 6 };
    struct mt_buf text = {0};
    mt_buf_text(out, "  ");
    mt_term_ink(style, color, out);
    mt_buf_text(out, *fill ? fill : " ");
    mt_term_ink_end(style, out);
    mt_buf_printf(out, " %11s ", mt_size_text(bytes, style->size).s);
    if (share < 0) {
        mt_buf_text(out, " at most");
    } else if (bytes > 0 && share < 0.0005) {
        mt_buf_text(out, " < 0.1 %");
    } else {
        mt_buf_printf(out, "%6.1f %%", share * 100);
    }
    mt_buf_str(&text, mt_buf_view(&label->main));
    if (label->sub.n) {
        mt_buf_printf(&text, "  (%s)", label->sub.p);
    }
    bool below = style->width - BEFORE < LEAST && (int)text.n > style->width - BEFORE;
    mt_buf_printf(out, below ? "\n%*s" : "%*s", below ? BELOW : 2, "");
    mt_term_text(style, out, text.p ? text.p : "", style->width - (below ? BELOW : BEFORE));
    mt_buf_char(out, '\n');
    out->failed |= text.failed || mt_label_failed(label);
    mt_buf_release(&text);
}

void mt_term_legend_total(const struct mt_term_style *style, struct mt_buf *out, uint64_t bytes,
                          const char *title)
{
    mt_buf_printf(out, "    %11s %6.1f %%  %s\n", mt_size_text(bytes, style->size).s, 100.0, title);
}
