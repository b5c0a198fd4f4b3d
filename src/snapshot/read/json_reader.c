/* SPDX-License-Identifier: MIT */
/*
 * JSON, read as a stream: tokens drive the machine, an object is a dictionary that closes, an array
 * a list that is appended to in batches, so that a trace of any length keeps the stack short.
 * Integers are read as integers of any width. Also taken: NaN, Infinity and -Infinity, which
 * Python's json module writes, and lone surrogates, which its strings may hold.
 *
 * No tree is built: a tree costs five times the file, and numbers in it are doubles, which lose
 * addresses above 2^53.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/read/readers.h"
#include "support/bytes.h"
#include "support/utf8.h"

enum { BATCH = 1024, MAX_NUMBER = 4096 };

/* What may come next inside a container. */
enum expect { EXPECT_VALUE, EXPECT_FIRST, EXPECT_COMMA, EXPECT_KEY, EXPECT_COLON };

struct json {
    struct mt_input *in;
    struct mt_machine *m;
    MT_VEC(uint8_t) objects; /* one entry an open container: 1 = object */
    enum expect expect;
    struct mt_buf text; /* unescaped strings */
};

static enum mt_status unexpected(struct json *j, const char *expected)
{
    uint8_t c = *j->in->at;
    if (c >= 0x20 && c < 0x7f) {
        return mt_fail(j->m->err, MT_FORMAT, j->m->offset,
                       "JSON: expected %s, found '%c' at byte %" PRIu64, expected, c, j->m->offset);
    }
    return mt_fail(j->m->err, MT_FORMAT, j->m->offset,
                   "JSON: expected %s, found byte 0x%02x at byte %" PRIu64, expected, c,
                   j->m->offset);
}

/* ---- strings ---- */

static int hex_value(uint8_t c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Four hexadecimal digits at p; -1 when they are none. */
static int32_t hex4(const uint8_t *p)
{
    int32_t v = 0;
    for (int i = 0; i < 4; i++) {
        int d = hex_value(p[i]);
        if (d < 0) {
            return -1;
        }
        v = v * 16 + d;
    }
    return v;
}

/* \uXXXX at p (behind the u), perhaps with the second half of a pair behind it; returns the bytes
 * taken, 0 when malformed. */
static size_t unescape_unicode(struct json *j, const uint8_t *p, size_t n)
{
    int32_t high = n >= 4 ? hex4(p) : -1;
    if (high < 0) {
        return 0;
    }
    if (high >= 0xd800 && high < 0xdc00 && n >= 10 && p[4] == '\\' && p[5] == 'u') {
        int32_t low = hex4(p + 6);
        if (low >= 0xdc00 && low < 0xe000) {
            mt_utf8_add(&j->text,
                        0x10000 + (((uint32_t)high - 0xd800) << 10) + ((uint32_t)low - 0xdc00));
            return 10;
        }
    }
    mt_utf8_add(&j->text, (uint32_t)high);
    return 4;
}

/* The bytes p[0 .. n) between the quotes, with escapes, into j->text. */
static bool unescape(struct json *j, const uint8_t *p, size_t n)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    mt_buf_reset(&j->text);
    for (size_t i = 0; i < n;) {
        const uint8_t *slash = memchr(p + i, '\\', n - i);
        size_t plain = slash ? (size_t)(slash - (p + i)) : n - i;
        mt_buf_add(&j->text, p + i, plain);
        i += plain;
        if (i >= n) {
            break;
        }
        const char *hit = i + 1 < n && p[i + 1] ? strchr(from, p[i + 1]) : NULL;
        if (hit) {
            mt_buf_char(&j->text, to[hit - from]);
            i += 2;
        } else {
            size_t took =
                i + 1 < n && p[i + 1] == 'u' ? unescape_unicode(j, p + i + 2, n - i - 2) : 0;
            if (!took) {
                return false;
            }
            i += 2 + took;
        }
    }
    return true;
}

/* Not 0 when one of eight bytes is c. */
static inline uint64_t has_byte(uint64_t eight, unsigned char c)
{
    uint64_t x = eight ^ UINT64_C(0x0101010101010101) * c;
    return (x - UINT64_C(0x0101010101010101)) & ~x & UINT64_C(0x8080808080808080);
}

/* Length of the string whose opening quote is at in->at, without the quotes; *escaped: it holds a
 * backslash. */
static enum mt_status scan_string(struct json *j, size_t *n, bool *escaped)
{
    size_t i = 1;
    *escaped = false;
    for (;;) {
        size_t left = mt_input_left(j->in);
        const uint8_t *p = j->in->at;
        while (i + 8 <= left && !has_byte(mt_load64(p + i), '"') &&
               !has_byte(mt_load64(p + i), '\\')) {
            i += 8;
        }
        while (i < left && p[i] != '"' && p[i] != '\\') {
            i++;
        }
        if (i < left && p[i] == '"') {
            *n = i - 1;
            return MT_OK;
        }
        size_t skip = i < left ? 2 : 1;
        *escaped |= skip == 2;
        if (!mt_input_need(j->in, i + skip)) {
            return mt_input_ends(j->in, j->m, "inside a string");
        }
        i += skip == 2 ? 2 : 0;
    }
}

static enum mt_status read_string(struct json *j)
{
    size_t n = 0;
    bool escaped = false;
    MT_TRY(scan_string(j, &n, &escaped));
    const uint8_t *p = j->in->at + 1;
    j->in->at += n + 2;
    if (!escaped) {
        return mt_machine_push_str(j->m, p, n);
    }
    if (!unescape(j, p, n)) {
        return mt_fail(j->m->err, MT_FORMAT, j->m->offset,
                       "JSON: a string with a malformed escape at byte %" PRIu64, j->m->offset);
    }
    struct mt_str s = mt_buf_view(&j->text);
    return j->text.failed ? mt_fail_nomem(j->m->err) : mt_machine_push_str(j->m, s.p, s.n);
}

/* ---- numbers and words ---- */

static bool is_number_byte(uint8_t c)
{
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

static enum mt_status read_number(struct json *j)
{
    size_t n = 0;
    while (mt_input_need(j->in, n + 1) && n < MAX_NUMBER && is_number_byte(j->in->at[n])) {
        n++;
    }
    const uint8_t *p = j->in->at;
    enum mt_status status = MT_OK;
    if (mt_push_decimal(j->m, p, n, &status)) {
        j->in->at += n;
        return status;
    }
    char text[MAX_NUMBER + 1];
    memcpy(text, p, n);
    text[n] = '\0';
    char *end = text;
    double x = strtod(text, &end);
    if (n == 0 || end != text + n) {
        return unexpected(j, "a number");
    }
    j->in->at += n;
    return mt_machine_push_float(j->m, x);
}

static enum mt_status read_word(struct json *j)
{
    static const struct {
        const char *word;
        int constant; /* enum mt_const, or -1: a number */
        double number;
    } words[] = {{"null", MT_CONST_NONE, 0},        {"true", MT_CONST_TRUE, 0},
                 {"false", MT_CONST_FALSE, 0},      {"NaN", -1, (double)__builtin_nanf("")},
                 {"Infinity", -1, __builtin_inf()}, {"-Infinity", -1, -__builtin_inf()}};
    for (size_t i = 0; i < MT_COUNT(words); i++) {
        size_t n = strlen(words[i].word);
        if (*j->in->at == (uint8_t)words[i].word[0] && mt_input_need(j->in, n) &&
            memcmp(j->in->at, words[i].word, n) == 0) {
            j->in->at += n;
            if (words[i].constant < 0) {
                return mt_machine_push_float(j->m, words[i].number);
            }
            mt_word w = mt_word_make(MT_TAG_CONST, (uint64_t)words[i].constant);
            return mt_machine_push(j->m, w);
        }
    }
    return *j->in->at == '-' ? read_number(j) : unexpected(j, "a value");
}

/* ---- structure ---- */

static enum mt_status open_container(struct json *j, bool object)
{
    mt_word fresh = mt_word_make(object ? MT_TAG_FRESH_DICT : MT_TAG_FRESH_LIST, 0);
    MT_TRY(mt_machine_push(j->m, fresh));
    if (!mt_vec_push(&j->objects, object)) {
        return mt_fail_nomem(j->m->err);
    }
    j->in->at++;
    j->expect = object ? EXPECT_KEY : EXPECT_FIRST;
    return mt_machine_mark(j->m);
}

static enum mt_status close_container(struct json *j)
{
    bool object = j->objects.v[--j->objects.n];
    size_t at = 0;
    MT_TRY(mt_machine_pop_mark(j->m, &at));
    j->in->at++;
    j->expect = EXPECT_COMMA;
    return object ? mt_machine_set(j->m, at, true) : mt_machine_append(j->m, at);
}

static enum mt_status value(struct json *j)
{
    uint8_t c = *j->in->at;
    j->expect = EXPECT_COMMA;
    switch (c) {
    case '{': return open_container(j, true);
    case '[': return open_container(j, false);
    case '"': return read_string(j);
    default: return c >= '0' && c <= '9' ? read_number(j) : read_word(j);
    }
}

/* Hands over the items so far; the list stays open. */
static enum mt_status append_batch(struct json *j)
{
    size_t at = 0;
    MT_TRY(mt_machine_pop_mark(j->m, &at));
    MT_TRY(mt_machine_append(j->m, at));
    return mt_machine_mark(j->m);
}

/* Behind a value: a comma, or the end of its container. */
static enum mt_status behind_value(struct json *j)
{
    bool object = j->objects.v[j->objects.n - 1];
    uint8_t c = *j->in->at;
    if (c == (object ? '}' : ']')) {
        return close_container(j);
    }
    if (c != ',') {
        return unexpected(j, object ? "',' or '}'" : "',' or ']'");
    }
    j->in->at++;
    j->expect = object ? EXPECT_KEY : EXPECT_VALUE;
    return !object && j->m->stack.n - j->m->fence >= BATCH ? append_batch(j) : MT_OK;
}

static enum mt_status one_token(struct json *j)
{
    uint8_t c = *j->in->at;
    switch (j->expect) {
    case EXPECT_FIRST: return c == ']' ? close_container(j) : value(j);
    case EXPECT_VALUE: return value(j);
    case EXPECT_COMMA: return behind_value(j);
    case EXPECT_KEY:
        if (c == '}' && j->m->stack.n == j->m->fence) {
            return close_container(j);
        }
        j->expect = EXPECT_COLON;
        return c == '"' ? read_string(j) : unexpected(j, "a key");
    case EXPECT_COLON:
        if (c != ':') {
            return unexpected(j, "':'");
        }
        j->in->at++;
        j->expect = EXPECT_VALUE;
        return MT_OK;
    }
    return MT_OK;
}

/* Stands at the next byte that is no white space; false at the end of the input. */
static bool skip_space(struct mt_input *in)
{
    do {
        while (in->at < in->end &&
               (*in->at == ' ' || *in->at == '\n' || *in->at == '\t' || *in->at == '\r')) {
            in->at++;
        }
    } while (in->at == in->end && mt_input_need(in, 1));
    return in->at < in->end;
}

static enum mt_status nothing_behind(struct json *j)
{
    while (skip_space(j->in)) {
        j->m->offset = mt_input_offset(j->in);
        if (*j->in->at != 0) {
            return unexpected(j, "the end");
        }
        j->in->at++;
    }
    return j->in->failure.code == MT_OK ? MT_OK : mt_input_ends(j->in, j->m, "");
}

static enum mt_status read_all(struct json *j)
{
    do {
        if (!skip_space(j->in)) {
            return mt_input_ends(j->in, j->m, "inside JSON");
        }
        j->m->offset = mt_input_offset(j->in);
        MT_TRY(one_token(j));
    } while (j->objects.n);
    return nothing_behind(j);
}

enum mt_status mt_json_read(struct mt_input *in, struct mt_machine *m)
{
    struct json j = {.in = in, .m = m, .expect = EXPECT_VALUE};
    enum mt_status status = read_all(&j);
    mt_vec_release(&j.objects);
    mt_buf_release(&j.text);
    return status;
}
