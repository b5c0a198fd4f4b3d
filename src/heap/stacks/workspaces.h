/* SPDX-License-Identifier: MIT */
/* What cuBLAS takes for itself: a workspace a handle and stream, kept as long as the process.
 * Private to analysis/. */
#ifndef MEMTOOL_HEAP_STACKS_WORKSPACES_H
#define MEMTOOL_HEAP_STACKS_WORKSPACES_H

#include "heap/findings/passes.h"
#include "heap/stacks/stack_roles.h"
#include "support/error.h"

/* Whether PyTorch gives cuBLAS a workspace of that size. */
bool mt_workspace_size(uint64_t size);

/* Event indexes. */
struct mt_events_list {
    uint32_t *v; /* as MT_VEC */
    size_t n, cap;
};

/*
 * Appends the events that allocate a workspace. Compiled frames tell them; else the size of what is
 * taken inside of the model or its backward pass and never freed, once: at most one of each for a
 * stream. Stacks in `fixed` (by id; NULL: none) are passed over. Linear. Errors: MT_NOMEM. Release
 * it also after a failure.
 */
enum mt_status mt_workspaces_find(struct mt_events_list *out, const struct mt_stack_roles *roles,
                                  const struct mt_passes *passes, const bool *fixed,
                                  struct mt_error *err) MT_NODISCARD;

#endif
