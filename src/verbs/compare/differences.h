/* SPDX-License-Identifier: MIT */
/* In what two runs differ besides their memory: what explains a change before any stack does. */
#ifndef MEMTOOL_VERBS_COMPARE_DIFFERENCES_H
#define MEMTOOL_VERBS_COMPARE_DIFFERENCES_H

#include "snapshot/model/model.h"
#include "support/error.h"
#include "support/vec.h"

struct mt_difference {
    struct mt_buf what;          /* "settings.expandable_segments", "pytorch", "program", "trace" */
    struct mt_buf before, after; /* from the files: not safe for terminals */
};

struct mt_differences {
    MT_VEC(struct mt_difference) v;
};

/*
 * The values of allocator_settings that differ, in the order of the first file; the releases that
 * can have written them, where they have none in common; the programs (the Python file that most
 * events come from at their outermost); how many events were recorded in what time. Only what is
 * known of both and differs is listed. Errors: MT_NOMEM.
 * Release it also after a failure.
 */
enum mt_status mt_differences_find(struct mt_differences *d, const struct mt_snapshot *before,
                                   const struct mt_snapshot *after, struct mt_error *err)
    MT_NODISCARD;
void mt_differences_release(struct mt_differences *d);

#endif
