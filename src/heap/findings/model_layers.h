/* SPDX-License-Identifier: MIT */
/* The layers of one pass of a model. Private to analysis/. */
#ifndef MEMTOOL_HEAP_FINDINGS_MODEL_LAYERS_H
#define MEMTOOL_HEAP_FINDINGS_MODEL_LAYERS_H

#include "heap/findings/steps.h"

#include "heap/stacks/stack_roles.h"

/*
 * Fills `out` for the pass: what repeats most evenly inside of it, and keeps alike. `until`: the
 * event at which its backward pass begins, or the end of the step. What `c` calls workspaces is
 * none of the layers'. Errors: MT_NOMEM. Release out->parts also after a failure.
 */
enum mt_status mt_layers_find(struct mt_layers *out, const struct mt_stack_roles *roles,
                              const struct mt_categories *c, struct mt_pass pass, size_t until,
                              struct mt_error *err) MT_NODISCARD;

/* What the parameters, gradients and state of one layer take: of sizes that are alive after the
 * event, or allocated in [from, to). False: no memory. */
bool mt_layers_weigh(struct mt_layers *out, const struct mt_categories *c, size_t event,
                     size_t from, size_t to) MT_NODISCARD;

#endif
