/* SPDX-License-Identifier: MIT */
/*
 * Any bytes behind a protocol 4 header, so that the fuzzer stays in the pickle reader. Each input
 * is read whole and in small pieces: whole, the fast ways read what they can; in pieces, nothing
 * but the plain loop over opcodes does. Both must say the same.
 */
#include "fuzz_read.h"

#include <stdio.h>
#include <stdlib.h>

#include "same_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_both_ways(const uint8_t *data, size_t size, bool salvage)
{
    struct mt_read_options o = {.max_input = 1 << 24, .max_events = 1 << 20, .salvage = salvage};
    struct mt_snapshot whole;
    struct mt_snapshot pieces;
    struct mt_error err[2];
    enum mt_status status = mt_snapshot_read_memory(data, size, 0, &o, &whole, &err[0]);
    enum mt_status same = mt_snapshot_read_memory(data, size, 1 + size % 31, &o, &pieces, &err[1]);
    const char *difference = status != same ? "status" : NULL;
    if (status == MT_OK && same == MT_OK) {
        difference = same_model(&whole, &pieces);
    }
    if (difference) {
        fprintf(stderr, "whole and in pieces: %s differs\n", difference);
        abort();
    }
    if (status == MT_OK) {
        mt_snapshot_release(&whole);
        mt_snapshot_release(&pieces);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || data[0] != 0x80) {
        return 0;
    }
    read_both_ways(data, size, false);
    read_both_ways(data, size, true);
    return 0;
}
