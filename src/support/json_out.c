/* SPDX-License-Identifier: MIT */
/*
 * The writer of JSON. Each level of containers is a byte: what it is, and whether it has a value
 * yet. Text gathers in one buffer; the fast paths below append to it in place.
 */
#include "support/json_out.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/safe_char.h"
#include "support/utf8.h"

enum { OBJECT = 1, FILLED = 2, ROWS = 4, TUPLE = 8 };

#define ENOUGH 32768 /* bytes of text that are worth a call of `drain` */

static inline void put(struct mt_json_out *json, const char *p, size_t n)
{
    struct mt_buf *b = &json->text;
    if (n >= b->cap - b->n) {
        mt_buf_add(b, p, n);
        return;
    }
    memcpy(b->p + b->n, p, n);
    b->n += n;
    b->p[b->n] = '\0';
}

static inline void put_char(struct mt_json_out *json, char c)
{
    struct mt_buf *b = &json->text;
    if (b->n + 1 < b->cap) {
        b->p[b->n++] = c;
        b->p[b->n] = '\0';
    } else {
        mt_buf_char(b, c);
    }
}

void mt_json_flush(struct mt_json_out *json)
{
    json->drain(json->to, json->text.p, json->text.n);
    mt_buf_reset(&json->text);
}

static void new_line(struct mt_json_out *json)
{
    put_char(json, '\n');
    for (unsigned i = 0; i < json->depth; i++) {
        put_char(json, '\t');
    }
}

/* ---- text ---- */

static void put_unit(struct mt_json_out *json, uint32_t unit)
{
    char text[] = "\\u0000";
    for (int i = 5; i >= 2; i--) {
        text[i] = "0123456789abcdef"[unit & 15];
        unit >>= 4;
    }
    put(json, text, 6);
}

/* The escapes with a letter, else the number; beyond 0xffff as two surrogates. */
static void put_escape(struct mt_json_out *json, uint32_t code)
{
    static const char LETTERS[][2] = {{'"', '"'},  {'\\', '\\'}, {'\n', 'n'}, {'\r', 'r'},
                                      {'\t', 't'}, {'\b', 'b'},  {'\f', 'f'}};
    for (size_t i = 0; i < MT_COUNT(LETTERS); i++) {
        if (code == (uint32_t)LETTERS[i][0]) {
            put(json, (const char[]){'\\', LETTERS[i][1]}, 2);
            return;
        }
    }
    if (code >= 0x10000) {
        put_unit(json, 0xd800u + ((code - 0x10000) >> 10));
        code = 0xdc00u + (code & 0x3ff);
    }
    put_unit(json, code);
}

/* How many bytes at the head of s need no escape and no decoding: nearly all text there is. */
static size_t plain_bytes(struct mt_str s)
{
    size_t i = 0;
    while (i < s.n && s.p[i] >= 0x20 && s.p[i] < 0x7f && s.p[i] != '"' && s.p[i] != '\\') {
        i++;
    }
    return i;
}

/* A high surrogate in front of a low one: read back, the two would be one character. */
static bool would_pair(struct mt_str s, uint32_t code, size_t n)
{
    uint32_t next = 0;
    if (code >= 0xd800 && code < 0xdc00 && n < s.n) {
        (void)mt_utf8_decode_any((struct mt_str){s.p + n, s.n - n}, &next);
    }
    return next >= 0xdc00 && next < 0xe000;
}

/* The first character of s, which is not plain. Returns its length in bytes. */
static size_t put_character(struct mt_json_out *json, struct mt_str s)
{
    uint32_t code = 0;
    size_t n = json->python ? mt_utf8_decode_any(s, &code) : mt_utf8_decode(s, &code);
    bool surrogate = code >= 0xd800 && code < 0xe000;
    if (!json->python && (n == 0 || code == 0)) {
        put(json, "\xef\xbf\xbd", 3); /* U+FFFD */
        return 1;
    }
    if (would_pair(s, code, n)) {
        put_unit(json, 0xdc00u + (unsigned char)s.p[0]);
        return 1;
    }
    if (code != '"' && code != '\\' && !surrogate && mt_char_is_safe(code)) {
        put(json, s.p, n);
    } else {
        put_escape(json, code);
    }
    return n;
}

static void put_string(struct mt_json_out *json, struct mt_str s)
{
    put_char(json, '"');
    while (s.n) {
        size_t n = plain_bytes(s);
        if (n) {
            put(json, s.p, n);
        } else {
            n = put_character(json, s);
        }
        s = (struct mt_str){s.p + n, s.n - n};
    }
    put_char(json, '"');
}

/* ---- containers ---- */

static void end_one(struct mt_json_out *json)
{
    bool object = json->level[json->depth--] & OBJECT;
    json->keyed = false;
    if (object && json->indented) {
        new_line(json);
    }
    put_char(json, object ? '}' : ']');
}

void mt_out_end(struct mt_out o)
{
    while (o.json->depth >= o.depth) {
        end_one(o.json);
    }
    if (o.json->drain && o.json->depth == 0) {
        mt_json_flush(o.json);
    }
}

/* Ends what was begun inside o, and separates the next item from the one before it. */
static void next_item(struct mt_out o)
{
    struct mt_json_out *json = o.json;
    MT_ASSERT(json->depth >= o.depth);
    while (json->depth > o.depth) {
        end_one(json);
    }
    if (json->drain && json->text.n >= ENOUGH) {
        mt_json_flush(json);
    }
    unsigned char *level = &json->level[o.depth];
    if (o.depth == 0) {
        return; /* the outermost value, after others or not */
    }
    if (*level & FILLED) {
        put_char(json, ',');
    }
    if (*level & ROWS) {
        put_char(json, '\n');
    } else if (json->indented && *level & OBJECT) {
        new_line(json);
    } else if (json->indented && *level & FILLED && !(*level & TUPLE)) {
        put_char(json, ' ');
    }
    *level |= FILLED;
}

static void end_key(struct mt_json_out *json)
{
    put(json, ":\t", json->indented ? 2 : 1);
}

/* Comes before each value. */
static struct mt_json_out *next(struct mt_out o, const char *key)
{
    struct mt_json_out *json = o.json;
    if (json->keyed) {
        MT_ASSERT(!key && json->depth == o.depth);
        json->keyed = false;
        return json;
    }
    next_item(o);
    MT_ASSERT(!key == !(json->level[o.depth] & OBJECT));
    if (key) {
        put_string(json, mt_str_from(key));
        end_key(json);
    }
    return json;
}

static struct mt_out begin(struct mt_json_out *json, unsigned char level)
{
    MT_ASSERT(json->depth + 1 < MT_JSON_DEPTH);
    json->level[++json->depth] = level;
    put_char(json, level & OBJECT ? '{' : '[');
    return mt_out_here(json);
}

struct mt_out mt_out_object(struct mt_out o, const char *key)
{
    return begin(next(o, key), OBJECT);
}

struct mt_out mt_out_array(struct mt_out o, const char *key)
{
    return begin(next(o, key), 0);
}

struct mt_out mt_out_rows(struct mt_out o, const char *key)
{
    return begin(next(o, key), ROWS);
}

struct mt_out mt_out_tuple(struct mt_out o, const char *key)
{
    return begin(next(o, key), TUPLE);
}

bool mt_out_wants_key(struct mt_out o)
{
    return o.json->level[o.depth] & OBJECT && !o.json->keyed;
}

/* ---- values ---- */

void mt_out_number(struct mt_out o, const char *key, struct mt_str digits)
{
    if (!key && mt_out_wants_key(o)) {
        mt_out_key(o, digits);
    } else {
        put(next(o, key), digits.p, digits.n);
    }
}

static void put_integer(struct mt_out o, const char *key, uint64_t n, bool negative)
{
    char digits[21];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    if (negative) {
        digits[--at] = '-';
    }
    mt_out_number(o, key, (struct mt_str){digits + at, sizeof digits - at});
}

void mt_out_u64(struct mt_out o, const char *key, uint64_t n)
{
    put_integer(o, key, n, false);
}

void mt_out_i64(struct mt_out o, const char *key, int64_t n)
{
    put_integer(o, key, n < 0 ? 0 - (uint64_t)n : (uint64_t)n, n < 0);
}

void mt_out_addr(struct mt_out o, const char *key, uint64_t addr)
{
    char text[24];
    mt_out_number(
        o, key,
        (struct mt_str){text, (size_t)snprintf(text, sizeof text, "\"0x%" PRIx64 "\"", addr)});
}

void mt_out_null(struct mt_out o, const char *key)
{
    mt_out_number(o, key, MT_STR("null"));
}

void mt_out_bool(struct mt_out o, const char *key, bool b)
{
    mt_out_number(o, key, b ? MT_STR("true") : MT_STR("false"));
}

void mt_out_known(struct mt_out o, const char *key, bool known, uint64_t n)
{
    known ? mt_out_u64(o, key, n) : mt_out_null(o, key);
}

/* Whether the text of x reads back as x: exactly, or as near as two doubles that cJSON takes for
 * the same. */
static bool reads_back(const char *text, double x, bool exactly)
{
    double back = strtod(text, NULL);
    double larger = fabs(back) > fabs(x) ? fabs(back) : fabs(x);
    return fabs(back - x) <= (exactly ? 0 : larger * DBL_EPSILON);
}

void mt_out_f64(struct mt_out o, const char *key, double x)
{
    bool python = o.json->python;
    char text[40];
    if (isnan(x) || (isinf(x) && !python)) {
        mt_out_null(o, key);
        return;
    }
    if (isinf(x)) {
        mt_out_number(o, key, x < 0 ? MT_STR("-1e999") : MT_STR("1e999"));
        return;
    }
    for (int digits = DBL_DIG; digits <= DBL_DECIMAL_DIG; digits += python ? 1 : 2) {
        snprintf(text, sizeof text - 2, "%.*g", digits, x);
        if (reads_back(text, x, python)) {
            break;
        }
    }
    if (python && !strpbrk(text, ".e")) {
        memcpy(text + strlen(text), ".0", sizeof ".0");
    }
    mt_out_number(o, key, mt_str_from(text));
}

void mt_out_str(struct mt_out o, const char *key, struct mt_str s)
{
    if (!key && mt_out_wants_key(o)) {
        mt_out_key(o, s);
        return;
    }
    put_string(next(o, key), s);
}

void mt_out_text(struct mt_out o, const char *key, const char *text)
{
    text ? mt_out_str(o, key, mt_str_from(text)) : mt_out_null(o, key);
}

void mt_out_buf(struct mt_out o, const char *key, const struct mt_buf *b)
{
    o.json->text.failed |= b->failed;
    mt_out_str(o, key, mt_buf_view(b));
}

void mt_out_key(struct mt_out o, struct mt_str key)
{
    next_item(o);
    put_string(o.json, key);
    end_key(o.json);
    o.json->keyed = true;
}
