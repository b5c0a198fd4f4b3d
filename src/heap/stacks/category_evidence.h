/* SPDX-License-Identifier: MIT */
/* What lifetimes, sizes and phases say about the categories that call stacks gave. Private to
 * analysis/. */
#ifndef MEMTOOL_HEAP_STACKS_CATEGORY_EVIDENCE_H
#define MEMTOOL_HEAP_STACKS_CATEGORY_EVIDENCE_H

#include "heap/stacks/categories.h"

/*
 * Mends c, which the rules have filled. Stacks that a user's own rule sorted (c->fixed) keep it.
 * Linear in the events and the stacks' frames. Errors: MT_NOMEM.
 */
enum mt_status mt_categories_weigh(struct mt_categories *c, struct mt_error *err) MT_NODISCARD;

#endif
