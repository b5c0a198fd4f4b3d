/* SPDX-License-Identifier: MIT */
/*
 * Text that is safe to print: colours, sizes in the chosen unit, and bytes of the input made
 * harmless.
 *
 * A function name in a snapshot is whatever its writer put there. Printed raw it could move the
 * cursor, retitle the window, or (with bidirectional overrides) read differently from what it is.
 * So everything that comes from input passes mt_text_safe: printable UTF-8 stays, everything else
 * is written as an escape that shows its value.
 */
#define _XOPEN_SOURCE 700 /* wcwidth */
#include "print/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "support/safe_char.h"
#include "support/utf8.h"

const char *mt_color_begin(const struct mt_report *r, enum mt_color c)
{
    static const char *const codes[] = {
        [MT_COLOR_NONE] = "",         [MT_COLOR_BAD] = "\033[31m", [MT_COLOR_GOOD] = "\033[32m",
        [MT_COLOR_WARN] = "\033[33m", [MT_COLOR_HEAD] = "\033[1m", [MT_COLOR_DIM] = "\033[2m",
    };
    return r->color ? codes[c] : "";
}

const char *mt_color_end(const struct mt_report *r)
{
    return r->color ? "\033[0m" : "";
}

struct mt_size_text mt_report_size(const struct mt_report *r, uint64_t bytes)
{
    return mt_size_text(bytes, r->size);
}

struct mt_size_text mt_report_delta(const struct mt_report *r, int64_t bytes)
{
    return mt_size_delta_text(bytes, r->size);
}

struct escape {
    char s[sizeof "\\U00000000"];
};

static struct mt_str escape(struct escape *e, uint32_t code)
{
    switch (code) {
    case '\n': return MT_STR("\\n");
    case '\t': return MT_STR("\\t");
    case '\r': return MT_STR("\\r");
    default: break;
    }
    (void)snprintf(e->s, sizeof e->s,
                   code < 0x100     ? "\\x%02x"
                   : code < 0x10000 ? "\\u%04x"
                                    : "\\U%08x",
                   code);
    return mt_str_from(e->s);
}

/* Takes what may stand as it is, or one character as its escape, from the head of *s. */
static struct mt_str take_safe(struct mt_str *s, struct escape *e)
{
    uint32_t code;
    size_t n = mt_str_ascii(*s);
    struct mt_str piece = {s->p, n};
    if (n == 0) {
        n = mt_utf8_decode_any(*s, &code);
        bool byte = code >= 0xdc80 && code <= 0xdcff; /* a name of Python's has it as surrogate */
        bool safe = mt_char_is_safe(code) && (code < 0xd800 || code > 0xdfff);
        piece = byte ? escape(e, code & 0xff) : safe ? (struct mt_str){s->p, n} : escape(e, code);
    }
    *s = (struct mt_str){s->p + n, s->n - n};
    return piece;
}

void mt_text_safe(struct mt_buf *b, struct mt_str s)
{
    struct escape e;
    mt_buf_add(b, "", 0); /* so that the empty text is a text too */
    while (s.n) {
        mt_buf_str(b, take_safe(&s, &e));
    }
}

void mt_text_put(const struct mt_report *r, const char *text)
{
    struct escape e;
    for (struct mt_str rest = mt_str_from(text); rest.n;) {
        struct mt_str piece = take_safe(&rest, &e);
        fwrite(piece.p, 1, piece.n, r->out);
    }
}

static int columns_of(struct mt_str rest)
{
    int width = 0;
    while (rest.n) {
        uint32_t code = 0;
        if (rest.p[0] == '\033') { /* a colour, memtool's own: the text is safe */
            size_t end = mt_str_find(rest, MT_STR("m"));
            size_t skip = end == SIZE_MAX ? rest.n : end + 1;
            rest = (struct mt_str){rest.p + skip, rest.n - skip};
            continue;
        }
        size_t n = mt_str_ascii(rest);
        if (n > 0) {
            width += (int)n;
        } else {
            n = mt_utf8_decode(rest, &code);
            int w = n && code >= 0x80 ? wcwidth((wchar_t)code) : 1;
            width += w < 0 ? 1 : w;
            n = n ? n : 1;
        }
        rest = (struct mt_str){rest.p + n, rest.n - n};
    }
    return width;
}

int mt_text_width(const char *s)
{
    return columns_of(mt_str_from(s));
}

/* ---- lines ---- */

/* Whether a word at the head of s is the unit of a number in front of it; "MiB," is. */
static bool is_unit(const char *s)
{
    static const char *const UNITS[] = {"B",  "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "GB",
                                        "MB", "KB",  "us",  "ms",  "s",   "h",   "%"};
    for (size_t i = 0; i < MT_COUNT(UNITS); i++) {
        size_t n = strlen(UNITS[i]);
        if (strncmp(s, UNITS[i], n) == 0 && (!s[n] || strchr(" ,.;:)]", s[n]))) {
            return true;
        }
    }
    return false;
}

/* Bytes of the word at the head of s, a number together with its unit. */
static size_t word_at(const char *s)
{
    size_t n = strcspn(s, " ");
    bool number = n > 0 && s[n - 1] >= '0' && s[n - 1] <= '9';
    return number && s[n] == ' ' && is_unit(s + n + 1) ? n + 1 + strcspn(s + n + 1, " ") : n;
}

size_t mt_text_line(const char *text, int room, const char **next)
{
    size_t end = word_at(text);
    int used = columns_of((struct mt_str){text, end});
    for (;;) {
        size_t blanks = strspn(text + end, " "), word = word_at(text + end + blanks);
        used += (int)blanks + columns_of((struct mt_str){text + end + blanks, word});
        if (word == 0 || used > room) {
            *next = text + end + blanks;
            return end;
        }
        end += blanks + word;
    }
}

void mt_text_print_wrapped(FILE *out, const char *text, int column, int indent, int width)
{
    for (const char *next; *text; text = next) {
        size_t n = mt_text_line(text, width - column, &next);
        fprintf(out, "%.*s", (int)n, text);
        if (*next) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        }
    }
}

void mt_sentence_add(struct mt_sentence *s, const char *format, ...)
{
    va_list args;
    size_t room = sizeof s->text - s->n;
    va_start(args, format);
    int n = vsnprintf(s->text + s->n, room, format, args);
    va_end(args);
    s->n += n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

/* A line in `width` columns at most, 0 = no end. */
MT_PRINTF(4, 0)
static void print_line(const struct mt_report *r, int width, int indent, const char *format,
                       va_list args)
{
    va_list again;
    char text[1024];
    va_copy(again, args);
    int n = vsnprintf(text, sizeof text, format, args);
    if (width > 0 && n >= 0 && (size_t)n < sizeof text) {
        mt_text_print_wrapped(r->out, text, 0, indent, width);
    } else {
        vfprintf(r->out, format, again);
    }
    fputc('\n', r->out);
    va_end(again);
}

void mt_report_line(const struct mt_report *r, int indent, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_line(r, r->width, indent, format, args);
    va_end(args);
}

void mt_report_prose(const struct mt_report *r, int indent, const char *format, ...)
{
    enum { PAGE = 100 }; /* columns that are read with ease */
    va_list args;
    va_start(args, format);
    print_line(r, r->width > 0 && r->width < PAGE ? r->width : PAGE, indent, format, args);
    va_end(args);
}

void mt_report_lines(const struct mt_report *r, const char *text)
{
    enum { BEHIND = 4 };
    struct mt_buf line = {0};
    while (r->width > 0 && !line.failed && *text) {
        size_t n = strcspn(text, "\n");
        mt_buf_reset(&line);
        mt_buf_add(&line, text, n);
        if (!line.failed) {
            mt_text_print_wrapped(r->out, mt_buf_view(&line).p, 0, (int)strspn(text, " ") + BEHIND,
                                  r->width);
            text += n + (text[n] == '\n');
            fputc('\n', r->out);
        }
    }
    mt_buf_release(&line);
    fputs(text, r->out); /* without a terminal, or without memory, as it is */
}
