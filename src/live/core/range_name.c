/* SPDX-License-Identifier: MIT */
/* Names are made UTF-8 here, whatever they were: a single other byte would make the snapshot
 * unreadable for Python. */
#include "live/core/range_name.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct text_out {
    struct mt_range_name *name;
    size_t n;
    bool full;
};

/* A character that does not fit whole is left out, and everything behind it. */
static void put_char(struct text_out *o, const char *bytes, size_t n)
{
    o->full |= n > MT_RANGE_NAME_MAX - o->n;
    if (!o->full) {
        memcpy(o->name->text + o->n, bytes, n);
        o->n += n;
    }
}

static void put_code(struct text_out *o, uint32_t c)
{
    char b[4];
    if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) {
        c = 0xfffd;
    }
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--) {
        b[i] = (char)(0x80 | (c & 0x3f));
        c >>= 6;
    }
    static const unsigned char first[] = {0, 0x00, 0xc0, 0xe0, 0xf0};
    b[0] = (char)(first[n] | c);
    put_char(o, b, n);
}

/* Bytes of the UTF-8 character at p; 0 when it is none. */
static size_t utf8_length(const char *p)
{
    unsigned char c = (unsigned char)*p;
    size_t n = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : 4;
    uint32_t code = n == 1 ? c : c & (0xffu >> (n + 1));
    if (n == 4 && (c < 0xf0 || c > 0xf4)) {
        return 0;
    }
    for (size_t i = 1; i < n; i++) {
        if (((unsigned char)p[i] & 0xc0) != 0x80) {
            return 0;
        }
        code = code << 6 | ((unsigned char)p[i] & 0x3f);
    }
    bool shortest = n < 3 || code >= (n == 3 ? 0x800u : 0x10000u);
    return shortest && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? n : 0;
}

static struct mt_range_name finished(struct text_out *o)
{
    if (o->n == 0) {
        put_char(o, "?", 1); /* a range without a message */
    }
    o->name->text[o->n] = '\0';
    return *o->name;
}

struct mt_range_name mt_range_name_bytes(const char *p)
{
    struct mt_range_name name;
    struct text_out o = {.name = &name};
    while (p && *p && !o.full) {
        size_t n = utf8_length(p);
        if (n > 0) {
            put_char(&o, p, n);
        } else {
            put_code(&o, 0xfffd);
        }
        p += n > 0 ? n : 1;
    }
    return finished(&o);
}

struct mt_range_name mt_range_name_wide(const wchar_t *p)
{
    struct mt_range_name name;
    struct text_out o = {.name = &name};
    while (p && *p && !o.full) {
        put_code(&o, (uint32_t)*p++);
    }
    return finished(&o);
}
