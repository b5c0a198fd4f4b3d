/* SPDX-License-Identifier: MIT */
/*
 * memtool's own key of a snapshot: what a watched process found out beside its allocations. The
 * keys are listed in memtool-snapshot(5).
 */
#ifndef MEMTOOL_LIVE_DUMP_DUMP_OWN_H
#define MEMTOOL_LIVE_DUMP_DUMP_OWN_H

#include <stdbool.h>
#include <stdint.h>

#include "live/dump/pickle_out.h"
#include "support/str.h"
#include "support/vec.h"

/* Bytes that may not be known. */
struct mt_own_bytes {
    bool known;
    uint64_t bytes;
};

struct mt_own_device {
    int device; /* MT_RECORD_HOST: the host's pinned memory, of which the sums alone are there */
    struct mt_own_bytes total, free_start, free_dump, free_before_context;
    struct mt_own_bytes seen, seen_peak, pool_reserved, pool_used;
};

struct mt_own_library {
    int device;
    struct mt_str path; /* as in the frames; borrowed */
    uint64_t current, peak, code;
};

/* Empty when zeroed. Devices ascend; the host, if it is there, comes last. */
struct mt_own {
    const char *mode; /* NULL: the key is not written */
    MT_VEC(struct mt_own_device) devices;
    MT_VEC(struct mt_own_library) libraries; /* in any order */
    uint64_t runtime_calls, driver_calls, lookups;
};

void mt_own_release(struct mt_own *own);

/* Writes the dictionary; sorts the libraries first. */
void mt_own_put(struct mt_own *own, struct mt_pickle_out *out);

#endif
