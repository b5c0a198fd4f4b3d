/* SPDX-License-Identifier: MIT */
/* What the fuzz targets of the readers share: read, with and without salvage, and let go. */
#ifndef MEMTOOL_FUZZ_READ_H
#define MEMTOOL_FUZZ_READ_H

#include "support/compiler.h"
#include "snapshot/read/read.h"

static inline void fuzz_read(const uint8_t *data, size_t size)
{
    struct mt_read_options o = {.max_input = 1 << 24, .max_events = 1 << 20};
    struct mt_snapshot s;
    struct mt_error err;
    for (int salvage = 0; salvage < 2; salvage++) {
        o.salvage = salvage;
        if (mt_snapshot_read_memory(data, size, size % 32, &o, &s, &err) == MT_OK) {
            MT_ASSERT(mt_snapshot_check(&s) == NULL); /* each record has one owner */
            mt_snapshot_release(&s);
        }
    }
}

#endif
