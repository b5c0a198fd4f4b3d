/* SPDX-License-Identifier: MIT */
/* Finds many words in one pass over a text, whatever their case. */
#ifndef MEMTOOL_TRIAGE_LOG_MULTI_MATCH_H
#define MEMTOOL_TRIAGE_LOG_MULTI_MATCH_H

#include <stdint.h>

#include "support/error.h"
#include "support/str.h"

/* Three bytes with the case bits cut off: the index of every table below. */
#define MT_MULTI_BLOCKS 32768
#define MT_MULTI_NONE UINT16_MAX
#define MT_MULTI_PLACES 8u

/* The first eight bytes of a needle, or all of it: (text | fold) & mask == bytes where it stands.
 */
struct mt_multi_head {
    uint64_t bytes, fold, mask;
};

struct mt_multi {
    const struct mt_str *needles; /* borrowed, lower case */
    struct mt_multi_head *heads;
    size_t n;
    size_t stride; /* two less than the shortest, at most MT_MULTI_PLACES */
    uint64_t
        *known; /* a bit for each block: some needle has it in one of its first `stride` places */
    uint8_t *places; /* by block: bits 1 << place */
    uint16_t *first; /* by block: a needle that has it in the last of those places, MT_MULTI_NONE */
    uint16_t *next;  /* the next needle of the same block */
};

struct mt_multi_hit {
    size_t at;    /* where it begins */
    size_t which; /* index of the needle */
};

/* `needles` must outlive m and be lower case, each of 4 to 255 bytes, fewer than 65,535. Errors:
 * MT_NOMEM; release it also then. */
enum mt_status mt_multi_init(struct mt_multi *m, const struct mt_str *needles, size_t n,
                             struct mt_error *err) MT_NODISCARD;
void mt_multi_release(struct mt_multi *m);

/* The first needle at or behind `from`; where several begin at the same byte the longest, of equal
 * ones the first. False: none. */
bool mt_multi_find(const struct mt_multi *m, struct mt_str text, size_t from,
                   struct mt_multi_hit *hit);

#endif
