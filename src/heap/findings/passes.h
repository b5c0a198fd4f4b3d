/* SPDX-License-Identifier: MIT */
/* The calls of a program's model that a trace holds. Private to analysis/. */
#ifndef MEMTOOL_HEAP_FINDINGS_PASSES_H
#define MEMTOOL_HEAP_FINDINGS_PASSES_H

#include "heap/findings/period.h"

#include "heap/stacks/stack_roles.h"

/*
 * Fills `out` with the calls of the model, in order. The model is what most allocations are made
 * by, of those that a backward pass finds alive where there is one: one forward(), called from one
 * function of the program as the outermost nn.Module. A call
 * begins where its first line allocates after something else did, so N calls are N, however many
 * layers run inside; calls one right after the other are told apart by the first and the last line
 * of the model's forward(). Where the program calls PyTorch's own layers itself, as generation
 * written by hand does, a call is one round of the outermost loop that they stand in. Empty where
 * no stack has a module's call. Linear, and 4 bytes an event. Errors: MT_NOMEM.
 */
enum mt_status mt_passes_find(struct mt_passes *out, const struct mt_stack_roles *roles,
                              struct mt_error *err) MT_NODISCARD;

/* The first pass that begins at `event` or behind it; passes->n: none. */
size_t mt_pass_after(const struct mt_passes *passes, uint32_t event);

/* Whether pass i > 0 begins a new round of the loop around it: it is called from the same line as
 * the one before or from one further up. */
bool mt_pass_returns(const struct mt_passes *passes, size_t i, const struct mt_stack_roles *roles);

/* The event that begins the round of the loop in which pass i is: allocations before it that stand
 * above it in the same functions belong to it. Not before `least`. */
uint32_t mt_pass_head(const struct mt_passes *passes, size_t i, const struct mt_stack_roles *roles,
                      uint32_t least);

#endif
