/* SPDX-License-Identifier: MIT */
/* A line of JSON, key after key, without a tree in between. */
#include "print/json_line.h"
#include "print/report.h"
#include "support/checked.h"
#include "support/safe_char.h"
#include "support/utf8.h"

void mt_line_open(struct mt_buf *b, char bracket)
{
    char last = b->n ? b->p[b->n - 1] : ':';
    if (last != ':' && last != '[' && last != '{') {
        mt_buf_char(b, ',');
    }
    mt_buf_char(b, bracket);
}

void mt_line_close(struct mt_buf *b, char bracket)
{
    mt_buf_char(b, bracket);
}

void mt_line_key(struct mt_buf *b, const char *key)
{
    bool first = b->n && (b->p[b->n - 1] == '{' || b->p[b->n - 1] == '[');
    mt_buf_text(b, first ? "\"" : ",\"");
    mt_buf_text(b, key);
    mt_buf_text(b, "\":");
}

/* ---- numbers ---- */

static void add_digits(struct mt_buf *b, uint64_t n, unsigned base)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = "0123456789abcdef"[n % base];
        n /= base;
    } while (n);
    mt_buf_add(b, digits + at, sizeof digits - at);
}

void mt_line_u64(struct mt_buf *b, const char *key, uint64_t n)
{
    mt_line_key(b, key);
    add_digits(b, n, 10);
}

void mt_line_i64(struct mt_buf *b, const char *key, int64_t n)
{
    mt_line_key(b, key);
    mt_buf_text(b, n < 0 ? "-" : "");
    add_digits(b, n < 0 ? 0 - (uint64_t)n : (uint64_t)n, 10);
}

void mt_line_addr(struct mt_buf *b, const char *key, uint64_t addr)
{
    mt_line_key(b, key);
    mt_buf_text(b, "\"0x");
    add_digits(b, addr, 16);
    mt_buf_char(b, '"');
}

void mt_line_null(struct mt_buf *b, const char *key)
{
    mt_line_key(b, key);
    mt_buf_text(b, "null");
}

/* ---- text ---- */

static void add_unit(struct mt_buf *b, uint32_t unit)
{
    mt_buf_printf(b, "\\u%04x", unit);
}

/* The escapes with a letter, else the number; beyond 0xffff as two surrogates. */
static void add_escape(struct mt_buf *b, uint32_t code)
{
    static const char letters[][2] = {
        {'\n', 'n'}, {'\r', 'r'}, {'\t', 't'}, {'\b', 'b'}, {'\f', 'f'}};
    for (size_t i = 0; i < MT_COUNT(letters); i++) {
        if (code == (uint32_t)letters[i][0]) {
            mt_buf_char(b, '\\');
            mt_buf_char(b, letters[i][1]);
            return;
        }
    }
    if (code >= 0x10000) {
        add_unit(b, 0xd800u + ((code - 0x10000) >> 10));
        code = 0xdc00u + (code & 0x3ff);
    }
    add_unit(b, code);
}

/* How many of the first n bytes, all of them safe ASCII, need no escape. */
static size_t plain(struct mt_str s, size_t n)
{
    size_t i = 0;
    while (i < n && s.p[i] != '"' && s.p[i] != '\\') {
        i++;
    }
    return i;
}

/* The first character of s, which is not plain. Returns its length in bytes. */
static size_t add_character(struct mt_buf *b, struct mt_str s)
{
    uint32_t code = 0;
    size_t n = mt_utf8_decode(s, &code);
    if (n == 0 || code == 0) {
        mt_buf_text(b, "\xef\xbf\xbd"); /* U+FFFD */
        return 1;
    }
    if (mt_char_is_safe(code)) {
        mt_buf_text(b, code == '"' || code == '\\' ? "\\" : "");
        mt_buf_add(b, s.p, n);
    } else {
        add_escape(b, code);
    }
    return n;
}

void mt_line_str(struct mt_buf *b, const char *key, struct mt_str s)
{
    mt_line_key(b, key);
    mt_buf_char(b, '"');
    size_t ascii = 0; /* bytes of s known to be safe: a text of quotes is looked at once */
    while (s.n) {
        ascii = ascii ? ascii : mt_str_ascii(s);
        size_t n = plain(s, ascii);
        mt_buf_add(b, s.p, n);
        if (n == 0) {
            n = add_character(b, s);
        }
        ascii = mt_sub_sat(ascii, n);
        s = (struct mt_str){s.p + n, s.n - n};
    }
    mt_buf_char(b, '"');
}
