/* SPDX-License-Identifier: MIT */
/*
 * The pickle memo: every object that a pickle may name again, by a dense index. Python's writer
 * puts every dictionary, list and string into it, two or three an event, so an entry is 4 bytes:
 * the tag and 28 bits of payload. Words that need more (integers, ids above 2^28) lie in a side
 * table, which the packed tag 0 (that of integers, which no writer memoizes) points into.
 */
#ifndef MEMTOOL_SNAPSHOT_SCHEMA_MEMO_H
#define MEMTOOL_SNAPSHOT_SCHEMA_MEMO_H

#include "snapshot/schema/word.h"
#include "support/vec.h"

enum { MT_MEMO_PAYLOAD_BITS = 28 };
#define MT_MEMO_NEVER UINT32_MAX

/* Empty when zeroed. */
struct mt_memo {
    MT_VEC(uint32_t) packed;
    MT_VEC(mt_word) wide;
};

static inline void mt_memo_release(struct mt_memo *m)
{
    mt_vec_release(&m->packed);
    mt_vec_release(&m->wide);
}

/* True, with the word, when `index` was stored. */
static inline bool mt_memo_get(const struct mt_memo *m, uint64_t index, mt_word *w)
{
    if (MT_UNLIKELY(index >= m->packed.n)) {
        return false;
    }
    uint32_t p = m->packed.v[index];
    *w = mt_word_make((enum mt_tag)(p & 15), p >> 4);
    if (MT_UNLIKELY((p & 15) == MT_TAG_INT)) {
        *w = m->wide.v[p >> 4];
    }
    return p != MT_MEMO_NEVER;
}

/* Stores a word; `index` is at most 2^32 - 2. False: no memory. */
static inline bool mt_memo_put(struct mt_memo *m, uint64_t index, mt_word w)
{
    if (MT_LIKELY(index == m->packed.n && index < m->packed.cap)) {
        m->packed.v[m->packed.n++] = MT_MEMO_NEVER;
    }
    while (MT_UNLIKELY(index >= m->packed.n)) {
        if (!mt_vec_push(&m->packed, MT_MEMO_NEVER)) {
            return false;
        }
    }
    uint64_t payload = mt_word_payload(w);
    enum mt_tag tag = mt_word_tag(w);
    if (MT_UNLIKELY(tag == MT_TAG_INT || payload >= (1u << MT_MEMO_PAYLOAD_BITS) - 1)) {
        if (m->wide.n >= (1u << MT_MEMO_PAYLOAD_BITS) || !mt_vec_push(&m->wide, w)) {
            return false;
        }
        tag = MT_TAG_INT;
        payload = m->wide.n - 1;
    }
    m->packed.v[index] = (uint32_t)payload << 4 | (uint32_t)tag;
    return true;
}

#endif
