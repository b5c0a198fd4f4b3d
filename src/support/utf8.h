/* SPDX-License-Identifier: MIT */
/*
 * Text of the input is bytes that should be UTF-8. Where they are not, memtool does as Python: a
 * lone surrogate stands in three bytes ("surrogatepass", which its pickles have), and a byte that
 * belongs to no character is the surrogate U+DC00 + byte ("surrogateescape", which its names of
 * files have).
 */
#ifndef MEMTOOL_SUPPORT_UTF8_H
#define MEMTOOL_SUPPORT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/str.h"

/* Reads one code point of UTF-8 at the head of s into *code; returns its bytes, 0 when they are not
 * valid UTF-8 (overlong forms and surrogates are not) or s is empty. */
size_t mt_utf8_decode(struct mt_str s, uint32_t *code);

/* The same of any bytes, surrogates as above; at least 1. s is not empty. */
size_t mt_utf8_decode_any(struct mt_str s, uint32_t *code);

/* Whether s is UTF-8, with surrogates in three bytes. */
bool mt_utf8_is_python(struct mt_str s);

/* At most n, and no end inside a character of p, which has more than n bytes. */
static inline size_t mt_utf8_cut(const char *p, size_t n)
{
    size_t cut = n;
    while (cut > 0 && n - cut < 3 && ((unsigned char)p[cut] & 0xc0) == 0x80) {
        cut--;
    }
    return cut;
}

/* Appends a code point of at most 0x1fffff; surrogates in three bytes. */
void mt_utf8_add(struct mt_buf *b, uint32_t code);

#endif
