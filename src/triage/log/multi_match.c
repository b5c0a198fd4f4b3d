/* SPDX-License-Identifier: MIT */
/*
 * Looks at three bytes here and there, so far apart that at least one such block lies wholly in any
 * word, wherever it stands; a bit for each block says whether it is part of some word at all. The
 * places to look at are known beforehand, so that the processor looks at several at a time: with
 * words of six letters and more a byte of a log costs about a cycle. (A window that jumps by what
 * it sees, as in Wu and Manber's search, waits for each jump and costs four; memmem a word at a
 * time takes 80 passes.) Only where a block is known anything is compared.
 */
#include "triage/log/multi_match.h"
#include "support/bytes.h"
#include "support/mem.h"

/* Bit 5 tells 'a' from 'A'; without the upper bits, both (and a few others) are one. */
static inline size_t block_in(uint32_t bytes)
{
    return (bytes & 31u) | (bytes >> 3 & 31u << 5) | (bytes >> 6 & 31u << 10);
}

static inline size_t block_of(const unsigned char *p)
{
    return block_in((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16);
}

static inline uint64_t is_known(const struct mt_multi *m, size_t block)
{
    return m->known[block / 64] >> (block % 64) & 1;
}

/* What turns upper case to lower in a byte that is compared with c: nothing where c is no letter.
 */
static inline unsigned char fold_of(char c)
{
    return c >= 'a' && c <= 'z' ? 32 : 0;
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

static struct mt_multi_head head_of(struct mt_str needle)
{
    struct mt_multi_head h = {0};
    for (size_t i = 0; i < needle.n && i < sizeof h.bytes; i++) {
        h.bytes |= (uint64_t)(unsigned char)needle.p[i] << (8 * i);
        h.fold |= (uint64_t)fold_of(needle.p[i]) << (8 * i);
        h.mask |= UINT64_C(255) << (8 * i);
    }
    return h;
}

static void add_needle(struct mt_multi *m, size_t which)
{
    const unsigned char *p = (const unsigned char *)m->needles[which].p;
    m->heads[which] = head_of(m->needles[which]);
    for (size_t place = 0; place < m->stride; place++) {
        size_t block = block_of(p + place);
        m->known[block / 64] |= UINT64_C(1) << (block % 64);
        m->places[block] |= (uint8_t)(1u << place);
    }
    size_t last = block_of(p + m->stride - 1);
    m->next[which] = m->first[last];
    m->first[last] = (uint16_t)which;
}

enum mt_status mt_multi_init(struct mt_multi *m, const struct mt_str *needles, size_t n,
                             struct mt_error *err)
{
    MT_ASSERT(n < MT_MULTI_NONE);
    *m = (struct mt_multi){.needles = needles, .n = n};
    size_t stride = shortest_of(needles, n) - 2;
    m->stride = stride < MT_MULTI_PLACES ? stride : MT_MULTI_PLACES;
    m->known = mt_mem_zalloc(MT_MULTI_BLOCKS / 64, sizeof *m->known);
    m->places = mt_mem_zalloc(MT_MULTI_BLOCKS, sizeof *m->places);
    m->first = mt_mem_alloc(MT_MULTI_BLOCKS, sizeof *m->first);
    m->next = mt_mem_alloc(n, sizeof *m->next);
    m->heads = mt_mem_alloc(n, sizeof *m->heads);
    if (!m->heads || !m->known || !m->places || !m->first || !m->next) {
        return mt_fail_nomem(err);
    }
    memset(m->first, 0xff, MT_MULTI_BLOCKS * sizeof *m->first);
    for (size_t i = 0; i < n; i++) {
        add_needle(m, i);
    }
    return MT_OK;
}

void mt_multi_release(struct mt_multi *m)
{
    mt_mem_free(m->heads);
    mt_mem_free(m->known);
    mt_mem_free(m->places);
    mt_mem_free(m->first);
    mt_mem_free(m->next);
    *m = (struct mt_multi){0};
}

/* Whether the needle goes on as the text does, from byte 8 on. */
static bool rest_equal(const unsigned char *text, struct mt_str needle)
{
    for (size_t i = sizeof(uint64_t); i < needle.n; i++) {
        if ((text[i] | fold_of(needle.p[i])) != (unsigned char)needle.p[i]) {
            return false;
        }
    }
    return true;
}

static uint64_t eight_bytes(const unsigned char *p, size_t n)
{
    if (MT_LIKELY(n >= 8)) {
        return mt_load64(p);
    }
    uint64_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        bytes |= (uint64_t)p[i] << (8 * i);
    }
    return bytes;
}

/* The longest needle that begins at `at`, or MT_MULTI_NONE; `block` is that of its last place. */
static size_t needle_at(const struct mt_multi *m, struct mt_str text, size_t at, size_t block)
{
    size_t best = MT_MULTI_NONE;
    size_t i = m->first[block];
    if (i == MT_MULTI_NONE) {
        return best;
    }
    const unsigned char *p = (const unsigned char *)text.p + at;
    uint64_t bytes = eight_bytes(p, text.n - at);
    for (; i != MT_MULTI_NONE; i = m->next[i]) {
        const struct mt_multi_head *head = &m->heads[i];
        struct mt_str needle = m->needles[i];
        if (((bytes | head->fold) & head->mask) == head->bytes && needle.n <= text.n - at &&
            (best == MT_MULTI_NONE || needle.n > m->needles[best].n ||
             (needle.n == m->needles[best].n && i < best)) &&
            rest_equal(p, needle)) {
            best = i;
        }
    }
    return best;
}

/* The first needle that has the block at `at` in one of its first places. */
static bool find_around(const struct mt_multi *m, struct mt_str text, size_t at,
                        struct mt_multi_hit *hit)
{
    const unsigned char *p = (const unsigned char *)text.p;
    unsigned places = m->places[block_of(p + at)];
    for (size_t place = m->stride; place-- > 0;) {
        size_t last = at + m->stride - 1 - place;
        if (!(places >> place & 1u) || last + 3 > text.n) {
            continue;
        }
        size_t which = needle_at(m, text, at - place, block_of(p + last));
        if (which != MT_MULTI_NONE) {
            *hit = (struct mt_multi_hit){.at = at - place, .which = which};
            return true;
        }
    }
    return false;
}

bool mt_multi_find(const struct mt_multi *m, struct mt_str text, size_t from,
                   struct mt_multi_hit *hit)
{
    const unsigned char *p = (const unsigned char *)text.p;
    size_t at = from + m->stride - 1;
    for (; at + 4 <= text.n; at += m->stride) {
        if (MT_UNLIKELY(is_known(m, block_in(mt_load32(p + at)))) &&
            find_around(m, text, at, hit)) {
            return true;
        }
    }
    return at + 3 <= text.n && is_known(m, block_of(p + at)) && find_around(m, text, at, hit);
}
