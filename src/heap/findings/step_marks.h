/* SPDX-License-Identifier: MIT */
/* Which calls of a model belong to one step of an optimizer. Private to analysis/. */
#ifndef MEMTOOL_HEAP_FINDINGS_STEP_MARKS_H
#define MEMTOOL_HEAP_FINDINGS_STEP_MARKS_H

#include "heap/findings/period_ways.h"

/*
 * Sets after[i] where the optimizer makes a step between pass i and the next: by the annotations
 * called `optimizer` (0: there are none), else where an optimizer allocates, else where gradients
 * are given back, which micro-batches leave alone. *together: these are all of them. False: no
 * memory.
 */
bool mt_step_marks(bool *after, bool *together, const struct mt_passes *passes,
                   const struct mt_stack_roles *roles, const struct mt_period_names *names,
                   uint32_t optimizer) MT_NODISCARD;

#endif
