/* SPDX-License-Identifier: MIT */
/* Byte strings with a length (may hold NUL), and a growing buffer to build text in. */
#ifndef MEMTOOL_SUPPORT_STR_H
#define MEMTOOL_SUPPORT_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "support/compiler.h"

/* Borrowed bytes; not NUL-terminated unless the owner says so. */
struct mt_str {
    const char *p;
    size_t n;
};

/* From a string literal, without counting at run time. */
#define MT_STR(literal) ((struct mt_str){(literal), sizeof(literal) - 1})
/* The same inside a static initialiser. */
#define MT_STR_INIT(literal)                                                                       \
    {                                                                                              \
        (literal), sizeof(literal) - 1                                                             \
    }

static inline struct mt_str mt_str_from(const char *nul_terminated)
{
    return (struct mt_str){nul_terminated, strlen(nul_terminated)};
}

static inline bool mt_str_equal(struct mt_str a, struct mt_str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* Byte order, shorter first where one begins with the other; <0, 0, >0. */
int mt_str_compare(struct mt_str a, struct mt_str b);

bool mt_str_starts(struct mt_str s, struct mt_str prefix);
bool mt_str_ends(struct mt_str s, struct mt_str suffix);

/* Index of the first `part` in s, or SIZE_MAX. */
size_t mt_str_find(struct mt_str s, struct mt_str part);

/* The first n bytes, or all. */
static inline struct mt_str mt_str_head(struct mt_str s, size_t n)
{
    return s.n > n ? (struct mt_str){s.p, n} : s;
}

/* The last n bytes, or all. */
static inline struct mt_str mt_str_tail(struct mt_str s, size_t n)
{
    return s.n > n ? (struct mt_str){s.p + (s.n - n), n} : s;
}

/* Whether `part`, written with '/', is in the path, which may be written with '\\'. */
bool mt_path_contains(struct mt_str path, struct mt_str part);

/* What stands behind the last '/' or '\\', all of it when there is none; of the last 1,024 bytes:
 * no file system has longer names, and a hostile one is asked for again and again. */
enum { MT_BASENAME_BYTES = 1024 };
struct mt_str mt_str_basename(struct mt_str path);

/*
 * Growing text. Empty when zeroed. Always NUL-terminated once something was added. When memory runs
 * out `failed` is set and stays until the release, and further additions do nothing: check it once
 * at the end, also of a loop that resets the text for each row.
 */
struct mt_buf {
    char *p;
    size_t n;
    size_t cap;
    bool failed;
};

void mt_buf_release(struct mt_buf *b);
void mt_buf_reset(struct mt_buf *b); /* n = 0; keeps the memory, and `failed` */
void mt_buf_add(struct mt_buf *b, const void *p, size_t n);
void mt_buf_str(struct mt_buf *b, struct mt_str s);
void mt_buf_text(struct mt_buf *b, const char *nul_terminated);
void mt_buf_char(struct mt_buf *b, char c);
void mt_buf_printf(struct mt_buf *b, const char *format, ...) MT_PRINTF(2, 3);

static inline struct mt_str mt_buf_view(const struct mt_buf *b)
{
    return (struct mt_str){b->p ? b->p : "", b->n};
}

#endif
