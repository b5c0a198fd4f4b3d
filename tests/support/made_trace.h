/* SPDX-License-Identifier: MIT */
/* Snapshots made by hand for tests of analyses and pictures: one device, events a millisecond
 * apart, frames "train.py:LINE NAME". */
#ifndef MEMTOOL_TESTS_MADE_TRACE_H
#define MEMTOOL_TESTS_MADE_TRACE_H

#include "snapshot/model/builder.h"
#include "heap/walk/replay.h"

#define MADE_MIB (UINT64_C(1) << 20)
#define MADE_BASE UINT64_C(0x7f0000000000)

struct made {
    struct mt_builder *b;
    size_t n;
    struct mt_snapshot s;
    struct mt_replay r;
};

void made_begin(struct made *m);
/* A stack of one frame; line 1 .. */
uint32_t made_stack(struct made *m, const char *name, int line);
/* `addr` counts from MADE_BASE. */
void made_event(struct made *m, enum mt_action action, uint64_t addr, uint64_t size,
                uint32_t stack);
/* A segment with its blocks, which tile it: {size, requested, state, stack} each. */
struct made_block {
    uint64_t size, requested;
    enum mt_block_state state;
    uint32_t stack;
};
void made_segment(struct made *m, uint64_t addr, bool expandable, const struct made_block *blocks,
                  size_t n);
/* Builds the snapshot and its replay. */
void made_finish(struct made *m);
void made_release(struct made *m);

#endif
