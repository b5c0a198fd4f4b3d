/* SPDX-License-Identifier: MIT */
/* What calls of the driver cost a program, who makes them, and whether its cache is emptied in the
 * loop. */
#ifndef MEMTOOL_HEAP_FINDINGS_DRIVER_PRICE_H
#define MEMTOOL_HEAP_FINDINGS_DRIVER_PRICE_H

#include "heap/walk/replay.h"
#include "support/error.h"
#include "support/vec.h"

/* Of one stack. */
struct mt_driver_caller {
    uint32_t stack; /* 0: not recorded */
    uint64_t calls; /* memory taken and given back */
    uint64_t bytes; /* the sum of both */
};

struct mt_driver_price {
    uint64_t taken, given; /* calls */
    uint64_t taken_bytes, given_bytes;
    /* What a call costs, about: by how much the median one delays the next event, where that shows
     * in the file's times, else what it took on an H200. */
    uint64_t call_us;
    bool measured;
    MT_VEC(struct mt_driver_caller) callers; /* most calls first */
    /* The cache was emptied for a request that the driver had refused, and it was asked again. */
    uint64_t retries;
    bool knows_retries; /* not with garbage collection, which looks alike */
    /* torch.cuda.empty_cache(), as far as it gave something back. */
    uint64_t emptied, emptied_segments;
    uint32_t emptied_stack;            /* the one that gave most back; 0: not recorded */
    uint64_t regained, regained_bytes; /* segments of it that were taken again */
};

/* Looks at the events [from, to). Linear. Errors: MT_NOMEM. Release it also after a failure. */
enum mt_status mt_driver_price_find(struct mt_driver_price *out, const struct mt_replay *r,
                                    size_t from, size_t to, struct mt_error *err) MT_NODISCARD;
void mt_driver_price_release(struct mt_driver_price *x);

/* Time of so many calls. */
uint64_t mt_driver_price_us(const struct mt_driver_price *x, uint64_t calls);

/* Fewer segments that came back are warm-up, or the end of a phase. */
#define MT_FEW_REGAINED 4
/* Whether the loop takes back from the driver what empty_cache gives it. */
bool mt_driver_price_in_loop(const struct mt_driver_price *x);

#endif
