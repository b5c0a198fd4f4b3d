/* SPDX-License-Identifier: MIT */
/*
 * How little memory the lifetimes of a recording could do with: what is alive at once is the lower
 * bound, and a packing that knows all lifetimes beforehand shows how near to it one can come.
 */
#ifndef MEMTOOL_HEAP_FINDINGS_PACKING_H
#define MEMTOOL_HEAP_FINDINGS_PACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/walk/replay.h"
#include "support/error.h"
#include "support/vec.h"

struct mt_lifetime {
    uint32_t from, to; /* alive in [from, to) */
    uint64_t size;     /* bytes, rounded as the allocator does at least */
};

struct mt_packing {
    uint64_t alive;  /* bytes, the most at once: no placement needs less */
    bool known;      /* else there are more than MT_PACKING_MOST lifetimes */
    uint64_t packed; /* bytes that the best placement found takes */
    size_t lifetimes;
};
#define MT_PACKING_MOST 10000

/* Sorts `list`. Errors: MT_NOMEM. */
enum mt_status mt_packing_find(struct mt_packing *out, struct mt_lifetime *list, size_t n,
                               struct mt_error *err) MT_NODISCARD;

/* Of everything that a trace shows. Errors: MT_NOMEM. */
enum mt_status mt_packing_of_replay(struct mt_packing *out, const struct mt_replay *r,
                                    struct mt_error *err) MT_NODISCARD;

/* What the allocator makes of a request of so many bytes, under any settings at least. */
static inline uint64_t mt_packing_rounded(uint64_t size)
{
    return size > UINT64_MAX - 511 ? size : (size + 511) / 512 * 512;
}

#endif
