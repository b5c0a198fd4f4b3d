/* SPDX-License-Identifier: MIT */
/*
 * A snapshot from any bytes through the analyses and reports of the text verbs: whatever a reader
 * lets through must not hurt them. The last byte chooses filters.
 */
#include "snapshot/read/read.h"

#include "verbs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mt_read_options o = {.max_input = 1 << 24, .max_events = 1 << 20, .salvage = true};
    struct mt_snapshot s;
    struct mt_error err;
    if (size >= 1 && mt_snapshot_read_memory(data, size, 0, &o, &s, &err) == MT_OK) {
        verbs_report(&s, data[size - 1]);
        mt_snapshot_release(&s);
    }
    return 0;
}
