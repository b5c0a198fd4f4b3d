/* SPDX-License-Identifier: MIT */
/* What memory is for, written into the snapshot before the names go that tell it. */
#ifndef MEMTOOL_VERBS_CONVERT_KEEP_CATEGORIES_H
#define MEMTOOL_VERBS_CONVERT_KEEP_CATEGORIES_H

#include "snapshot/model/view.h"
#include "support/error.h"

/*
 * Gives every allocation of the traces, and every block in use that is older than its trace, the
 * key `category` with what the shipped rules say of it. The profiler writes the same key. A file
 * with so many sets of event keys that there is no room for one more stays as it is. Errors:
 * MT_NOMEM, MT_LIMIT.
 */
enum mt_status mt_view_keep_categories(struct mt_view *v, struct mt_error *err) MT_NODISCARD;

#endif
