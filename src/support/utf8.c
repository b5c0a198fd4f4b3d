/* SPDX-License-Identifier: MIT */
/* UTF-8, with what Python makes of bytes that are none. */
#include "support/utf8.h"
#include "support/compiler.h"
#include "support/safe_char.h"

/* How many bytes follow a lead byte, the smallest code point that needs them, and the bits of the
 * lead that tell. */
static const struct form {
    unsigned char mask, value;
    unsigned more;
    uint32_t least;
} FORMS[] = {
    {0x80, 0x00, 0, 0x00},
    {0xe0, 0xc0, 1, 0x80},
    {0xf0, 0xe0, 2, 0x800},
    {0xf8, 0xf0, 3, 0x10000},
};

static bool is_surrogate(uint32_t code)
{
    return code >= 0xd800 && code <= 0xdfff;
}

/* Bytes of the character at the head of s, a surrogate too; 0: none. */
static size_t decode(struct mt_str s, uint32_t *code)
{
    const unsigned char *p = (const unsigned char *)s.p;
    for (size_t f = 0; s.n && f < MT_COUNT(FORMS); f++) {
        const struct form *form = &FORMS[f];
        if ((p[0] & form->mask) != form->value) {
            continue;
        }
        if (form->more >= s.n) {
            return 0;
        }
        uint32_t c = p[0] & (unsigned char)~form->mask;
        for (unsigned i = 1; i <= form->more; i++) {
            if ((p[i] & 0xc0) != 0x80) {
                return 0;
            }
            c = c << 6 | (p[i] & 0x3fu);
        }
        *code = c;
        return c < form->least || c > 0x10ffff ? 0 : form->more + 1;
    }
    return 0;
}

size_t mt_utf8_decode(struct mt_str s, uint32_t *code)
{
    uint32_t c = 0;
    size_t n = decode(s, &c);
    if (n == 0 || is_surrogate(c)) {
        return 0;
    }
    *code = c;
    return n;
}

size_t mt_utf8_decode_any(struct mt_str s, uint32_t *code)
{
    size_t n = decode(s, code);
    if (n > 0) {
        return n;
    }
    *code = 0xdc00u + (unsigned char)s.p[0];
    return 1;
}

bool mt_utf8_is_python(struct mt_str s)
{
    while (s.n) {
        uint32_t code;
        size_t n = mt_str_ascii(s);
        n = n ? n : decode(s, &code);
        if (n == 0) {
            return false;
        }
        s = (struct mt_str){s.p + n, s.n - n};
    }
    return true;
}

void mt_utf8_add(struct mt_buf *b, uint32_t code)
{
    if (code < 0x80) {
        mt_buf_char(b, (char)code);
        return;
    }
    char bytes[4];
    size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const uint8_t LEAD[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n; i-- > 1; code >>= 6) {
        bytes[i] = (char)(0x80 | (code & 0x3f));
    }
    bytes[0] = (char)(LEAD[n] | code);
    mt_buf_add(b, bytes, n);
}
