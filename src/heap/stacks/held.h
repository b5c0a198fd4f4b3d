/* SPDX-License-Identifier: MIT */
/* Memory that others than the program's own tensors keep, so that its growth is no leak. Private to
 * analysis/. */
#ifndef MEMTOOL_HEAP_STACKS_HELD_H
#define MEMTOOL_HEAP_STACKS_HELD_H

#include "heap/findings/period.h"

/*
 * Marks the allocations of the trace that are cuBLAS's workspaces, one a stream and handle, or lie
 * in a private pool, which its CUDA graphs or MemPool keep: `held` has r->n entries, all false.
 * Linear but for the segments' order. Errors: MT_NOMEM.
 */
enum mt_status mt_held_find(bool *held, const struct mt_replay *r, const struct mt_periods *periods,
                            struct mt_error *err) MT_NODISCARD;

#endif
