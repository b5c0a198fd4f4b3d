/* SPDX-License-Identifier: MIT */
/* A segment as a line of characters, one a page, as PyTorch's viewer prints it in `stats`. */
#ifndef MEMTOOL_VERBS_STATS_PAGE_MAP_H
#define MEMTOOL_VERBS_STATS_PAGE_MAP_H

#include "heap/stacks/filter.h"
#include "snapshot/model/model.h"
#include "support/error.h"
#include "support/vec.h"
#include "torch/torch_rules.h"

/* 20 MiB, the page of `_memory_viz.py stats`, whatever the settings. */
#define MT_PAGE_SIZE MT_TORCH_LARGE_BUFFER

/* Characters for a segment of `size` bytes. */
static inline uint64_t mt_page_count(uint64_t size, uint64_t page)
{
    return size / page + (size % page != 0);
}

/*
 * Fills out[0 .. n) with n = mt_page_count(segment->total_size, page): blank, nothing allocated; a
 * letter, one allocation (the next letter for the next, round the alphabet); a digit, several that
 * fill that many tenths; '*', several that fill it. `touched` is scratch for n numbers. Only
 * allocated blocks count, with their requested bytes. O(blocks + pages).
 */
void mt_page_map_fill(const struct mt_snapshot *s, const struct mt_segment *segment, uint64_t page,
                      char *out, uint64_t *touched);

/* A segment worth a line of its own. */
struct mt_page_row {
    uint32_t segment;   /* index into mt_snapshot.segments */
    uint16_t stream;    /* index into mt_snapshot.streams */
    uint64_t size;      /* of the segment */
    uint64_t allocated; /* sizes of allocated blocks */
    uint64_t pending;   /* of other blocks in use: freed, but another stream may still use them */
    uint64_t free;      /* what is left of size; 0 where the file does not add up */
};
struct mt_page_rows {
    MT_VEC(struct mt_page_row) rows; /* largest first, then fullest, then by stream */
};
/* The device's segments of a page or more that pass `f`. Errors: MT_NOMEM. Release it also after a
 * failure. */
enum mt_status mt_page_rows_find(struct mt_page_rows *p, const struct mt_snapshot *s,
                                 const struct mt_filtered *f, int32_t device, struct mt_error *err)
    MT_NODISCARD;
void mt_page_rows_release(struct mt_page_rows *p);

#endif
