/* SPDX-License-Identifier: MIT */
/* Which part of its step each event of a trace belongs to. Private to analysis/. */
#ifndef MEMTOOL_HEAP_FINDINGS_PHASES_H
#define MEMTOOL_HEAP_FINDINGS_PHASES_H

#include "heap/findings/steps.h"

#include "heap/stacks/stack_roles.h"

/*
 * An array of enum mt_phase, one an event; the caller frees it with mt_mem_free; NULL when out of
 * memory. Allocations have the phase of their stack, other events that of the allocation before
 * them. What the program allocates itself between the model and the backward pass is the loss:
 * forward. A forward pass that no backward pass follows within its step, or of which the next one
 * finds nothing alive, is evaluation, where the program learns at all; at the end of the trace it
 * may have been cut off, and stays forward.
 */
unsigned char *mt_phases_of(const struct mt_stack_roles *roles, const struct mt_periods *periods);

#endif
