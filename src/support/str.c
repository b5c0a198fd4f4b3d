/* SPDX-License-Identifier: MIT */
/* Byte strings and the growing buffer. */
#include "support/str.h"

#include <stdarg.h>
#include <stdio.h>

#include "support/vec.h"

int mt_str_compare(struct mt_str a, struct mt_str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int c = n ? memcmp(a.p, b.p, n) : 0;
    return c ? c : (a.n > b.n) - (a.n < b.n);
}

bool mt_str_starts(struct mt_str s, struct mt_str prefix)
{
    return s.n >= prefix.n && (prefix.n == 0 || memcmp(s.p, prefix.p, prefix.n) == 0);
}

bool mt_str_ends(struct mt_str s, struct mt_str suffix)
{
    return s.n >= suffix.n &&
           (suffix.n == 0 || memcmp(s.p + (s.n - suffix.n), suffix.p, suffix.n) == 0);
}

size_t mt_str_find(struct mt_str s, struct mt_str part)
{
    if (part.n == 0 || part.n > s.n) {
        return part.n == 0 ? 0 : SIZE_MAX;
    }
    size_t last = s.n - part.n;
    for (size_t i = 0; i <= last; i++) {
        const char *first = memchr(s.p + i, part.p[0], last - i + 1);
        if (!first) {
            return SIZE_MAX;
        }
        i = (size_t)(first - s.p);
        /* the last byte first: that the first one fits is no news */
        if (first[part.n - 1] == part.p[part.n - 1] && memcmp(first, part.p, part.n) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

bool mt_path_contains(struct mt_str path, struct mt_str part)
{
    for (size_t i = 0; i + part.n <= path.n; i++) {
        size_t k = 0;
        while (k < part.n &&
               (path.p[i + k] == part.p[k] || (path.p[i + k] == '\\' && part.p[k] == '/'))) {
            k++;
        }
        if (k == part.n) {
            return true;
        }
    }
    return false;
}

struct mt_str mt_str_basename(struct mt_str path)
{
    path = mt_str_tail(path, MT_BASENAME_BYTES);
    size_t i = path.n;
    while (i > 0 && path.p[i - 1] != '/' && path.p[i - 1] != '\\') {
        i--;
    }
    return (struct mt_str){path.p + i, path.n - i};
}

#define PRINTF_ROOM 64 /* bytes that mt_buf_printf sees to before it knows how many it needs */

void mt_buf_release(struct mt_buf *b)
{
    mt_mem_free(b->p);
    *b = (struct mt_buf){0};
}

void mt_buf_reset(struct mt_buf *b)
{
    b->n = 0;
    if (b->p) {
        b->p[0] = '\0';
    }
}

static bool make_room(struct mt_buf *b, size_t more)
{
    if (b->failed || more >= SIZE_MAX - b->n) {
        b->failed = true;
        return false;
    }
    size_t want = b->n + more + 1;
    if (want > b->cap && !mt_vec_grow(&b->p, &b->cap, want, 1)) {
        b->failed = true;
        return false;
    }
    return true;
}

void mt_buf_add(struct mt_buf *b, const void *p, size_t n)
{
    if (!make_room(b, n)) {
        return;
    }
    if (n) {
        memcpy(b->p + b->n, p, n);
    }
    b->n += n;
    b->p[b->n] = '\0';
}

void mt_buf_str(struct mt_buf *b, struct mt_str s)
{
    mt_buf_add(b, s.p, s.n);
}

void mt_buf_text(struct mt_buf *b, const char *nul_terminated)
{
    mt_buf_add(b, nul_terminated, strlen(nul_terminated));
}

void mt_buf_char(struct mt_buf *b, char c)
{
    mt_buf_add(b, &c, 1);
}

/* Into the room that there is, which is nearly always enough, and again when it was not. */
void mt_buf_printf(struct mt_buf *b, const char *format, ...)
{
    va_list args;
    if (!make_room(b, PRINTF_ROOM)) {
        return;
    }
    va_start(args, format);
    int n = vsnprintf(b->p + b->n, b->cap - b->n, format, args);
    va_end(args);
    if (n >= 0 && (size_t)n >= b->cap - b->n) {
        b->p[b->n] = '\0';
        if (!make_room(b, (size_t)n)) {
            return;
        }
        va_start(args, format);
        n = vsnprintf(b->p + b->n, b->cap - b->n, format, args);
        va_end(args);
    }
    b->failed |= n < 0;
    b->n += n < 0 ? 0 : (size_t)n;
}
