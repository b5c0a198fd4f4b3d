/* SPDX-License-Identifier: MIT */
/* Any bytes that read as a snapshot go through the analyses of peak, leaks, steps, frag and
 * summary. The first byte chooses the moment and the grouping. */
#include "snapshot/read/read.h"

#include "verbs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mt_read_options o = {.max_input = 1 << 24, .max_events = 1 << 20, .salvage = true};
    struct mt_snapshot s;
    struct mt_error err;
    if (size >= 2 && mt_snapshot_read_memory(data + 1, size - 1, 0, &o, &s, &err) == MT_OK) {
        verbs_analyse(&s, data[0]);
        mt_snapshot_release(&s);
    }
    return 0;
}
