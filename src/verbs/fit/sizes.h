/* SPDX-License-Identifier: MIT */
/* The sizes of recordings that nobody gave: names of files, or annotations, that differ in one
 * number. */
#ifndef MEMTOOL_VERBS_FIT_SIZES_H
#define MEMTOOL_VERBS_FIT_SIZES_H

#include "snapshot/model/model.h"
#include "support/error.h"

#define MT_FIT_MOST_SIZE 1000000000000 /* 10^12 */

/* Whether the n texts are the same but for one number each, and these differ; sizes gets them. */
bool mt_fit_sizes_in(const struct mt_str *texts, size_t n, uint64_t *sizes);

/* Names of files without their folders. */
bool mt_fit_sizes_of_names(char *const *files, size_t n, uint64_t *sizes);

/*
 * An annotation whose number is one and the same within each recording and differs between them,
 * as "batch 4" does and "step 4" does not. *found is false where there is none, or several that
 * disagree. Errors: MT_NOMEM.
 */
enum mt_status mt_fit_sizes_of_annotations(const struct mt_snapshot *snapshots, size_t n,
                                           uint64_t *sizes, bool *found, struct mt_error *err)
    MT_NODISCARD;

#endif
