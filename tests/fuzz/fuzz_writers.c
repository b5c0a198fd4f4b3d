/* SPDX-License-Identifier: MIT */
/* A snapshot from any bytes: written, exported and compared. The last byte chooses filters. */
#include "snapshot/read/read.h"

#include "verbs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mt_read_options o = {.max_input = 1 << 24, .max_events = 1 << 20};
    struct mt_snapshot s;
    struct mt_error err;
    if (size >= 1 && mt_snapshot_read_memory(data, size, 0, &o, &s, &err) == MT_OK) {
        verbs_write(&s, data[size - 1]);
        mt_snapshot_release(&s);
    }
    return 0;
}
