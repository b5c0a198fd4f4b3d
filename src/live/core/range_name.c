/* SPDX-License-Identifier: MIT */
/* Names are made UTF-8 here, whatever they were: a single other byte would make the snapshot
 * unreadable for Python. */
#include "live/core/range_name.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "support/utf8.h"

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
    struct mt_str rest = mt_str_from(p ? p : "");
    while (rest.n > 0 && !o.full) {
        uint32_t code;
        size_t n = mt_utf8_decode(rest, &code);
        if (n > 0) {
            put_char(&o, rest.p, n);
        } else {
            put_code(&o, 0xfffd);
        }
        n = n > 0 ? n : 1;
        rest = (struct mt_str){rest.p + n, rest.n - n};
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
