/* SPDX-License-Identifier: MIT */
/*
 * Wu and Manber's search for a set of words. A window as long as the shortest word slides over the
 * text; the last three bytes of the window say how far it may jump, and only where they end some
 * word is anything compared. With words of five letters and more most bytes of a log are never
 * looked at: the log reader's first look at 2 GB costs a second or so, which memmem a word at a
 * time (30 passes) and regular expressions do not come near.
 */
#include "multi_match.h"

#include <memtool/mem.h>

/* Bit 5 tells 'a' from 'A'; without the upper bits, both (and a few others) are one. */
static inline size_t block_of(const unsigned char *p)
{
    return (size_t)(p[0] & 31u) << 10 | (size_t)(p[1] & 31u) << 5 | (p[2] & 31u);
}

static inline unsigned char lower(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c | 32u) : c;
}

static size_t shortest_of(const struct mt_str *needles, size_t n)
{
    size_t shortest = 255;
    for (size_t i = 0; i < n; i++) {
        MT_ASSERT(needles[i].n >= 4 && needles[i].n <= 255);
        shortest = needles[i].n < shortest ? needles[i].n : shortest;
    }
    return shortest;
}

enum mt_status mt_multi_init(struct mt_multi *m, const struct mt_str *needles, size_t n,
                             struct mt_error *err)
{
    MT_ASSERT(n < MT_MULTI_NONE);
    *m = (struct mt_multi){.needles = needles, .n = n, .shortest = shortest_of(needles, n)};
    m->next = mt_mem_alloc(n, sizeof *m->next);
    m->shift = mt_mem_alloc(MT_MULTI_BLOCKS, sizeof *m->shift);
    m->first = mt_mem_alloc(MT_MULTI_BLOCKS, sizeof *m->first);
    if (!m->next || !m->shift || !m->first) {
        return mt_fail_nomem(err);
    }
    memset(m->shift, (int)(m->shortest - 2), MT_MULTI_BLOCKS * sizeof *m->shift);
    memset(m->first, 0xff, MT_MULTI_BLOCKS * sizeof *m->first);
    for (size_t i = 0; i < n; i++) {
        const unsigned char *p = (const unsigned char *)needles[i].p;
        for (size_t j = 0; j + 2 < m->shortest; j++) {
            uint8_t jump = (uint8_t)(m->shortest - 3 - j);
            uint8_t *shift = &m->shift[block_of(p + j)];
            *shift = jump < *shift ? jump : *shift;
        }
        size_t last = block_of(p + m->shortest - 3);
        m->next[i] = m->first[last];
        m->first[last] = (uint16_t)i;
    }
    return MT_OK;
}

void mt_multi_release(struct mt_multi *m)
{
    mt_mem_free(m->next);
    mt_mem_free(m->shift);
    mt_mem_free(m->first);
    *m = (struct mt_multi){0};
}

static bool equal_folded(const unsigned char *text, struct mt_str needle)
{
    const unsigned char *p = (const unsigned char *)needle.p;
    for (size_t i = 0; i < needle.n; i++) {
        if (lower(text[i]) != p[i]) {
            return false;
        }
    }
    return true;
}

/* The longest needle that begins at `at`, or MT_MULTI_NONE. */
static size_t needle_at(const struct mt_multi *m, struct mt_str text, size_t at, size_t block)
{
    size_t best = MT_MULTI_NONE;
    for (size_t i = m->first[block]; i != MT_MULTI_NONE; i = m->next[i]) {
        struct mt_str needle = m->needles[i];
        if (needle.n <= text.n - at &&
            (best == MT_MULTI_NONE || needle.n > m->needles[best].n ||
             (needle.n == m->needles[best].n && i < best)) &&
            equal_folded((const unsigned char *)text.p + at, needle)) {
            best = i;
        }
    }
    return best;
}

bool mt_multi_find(const struct mt_multi *m, struct mt_str text, size_t from,
                   struct mt_multi_hit *hit)
{
    const unsigned char *p = (const unsigned char *)text.p;
    size_t to_block = m->shortest - 3;
    if (text.n < m->shortest) {
        return false;
    }
    size_t end = text.n - m->shortest; /* the last place where a window fits */
    for (size_t at = from; at <= end;) {
        size_t block = block_of(p + at + to_block);
        size_t jump = m->shift[block];
        if (MT_LIKELY(jump > 0)) {
            at += jump;
            continue;
        }
        size_t which = needle_at(m, text, at, block);
        if (which != MT_MULTI_NONE) {
            *hit = (struct mt_multi_hit){.at = at, .which = which};
            return true;
        }
        at++;
    }
    return false;
}
