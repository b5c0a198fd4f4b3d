/* SPDX-License-Identifier: MIT */
/* Who keeps what a line allocated, by the names of tensors that capture --tensors found. */
#ifndef MEMTOOL_HEAP_STACKS_TENSOR_NAMES_H
#define MEMTOOL_HEAP_STACKS_TENSOR_NAMES_H

#include "heap/stacks/event_labels.h"

/* Of the allocations of one stack that are alive at the end of the trace. */
struct mt_keeper {
    uint32_t name;  /* a string id, the one that most have; 0: none has one */
    uint64_t count; /* have it */
    uint64_t of;    /* are alive */
};

/* Zero for a file without memtool_tensors. Linear. Errors: MT_NOMEM. */
enum mt_status mt_keeper_find(struct mt_keeper *out, const struct mt_snapshot *s, uint32_t stack,
                              struct mt_error *err) MT_NODISCARD;

#endif
