/* SPDX-License-Identifier: MIT */
/* The characters that are written as an escape wherever text of the input is printed. */
#include "support/safe_char.h"
#include "support/compiler.h"

/* First and last code point of the ranges that must not reach a terminal. */
static const struct {
    uint32_t first, last;
} UNSAFE[] = {
    {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},
    {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},
    {0xfe00, 0xfe0f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff},
    {0xfdd0, 0xfdef}, {0xfffe, 0xffff}, {0xe000, 0xf8ff}, {0xf0000, 0x10ffff},
};

bool mt_char_is_safe(uint32_t code)
{
    for (size_t i = 0; i < MT_COUNT(UNSAFE); i++) {
        if (code >= UNSAFE[i].first && code <= UNSAFE[i].last) {
            return false;
        }
    }
    return true;
}

size_t mt_str_ascii(struct mt_str s)
{
    size_t n = 0;
    while (n < s.n && s.p[n] >= 0x20 && s.p[n] < 0x7f) {
        n++;
    }
    return n;
}
