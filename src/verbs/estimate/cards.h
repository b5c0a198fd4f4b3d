/* SPDX-License-Identifier: MIT */
/* Cards by the memory that CUDA reports, which is less than they are sold with. */
#ifndef MEMTOOL_VERBS_ESTIMATE_CARDS_H
#define MEMTOOL_VERBS_ESTIMATE_CARDS_H

#include <stddef.h>
#include <stdint.h>

#include "support/str.h"

struct mt_card {
    const char *name;
    uint64_t bytes; /* as PyTorch prints for "total capacity" */
};

/* From the smallest to the largest, MT_CARDS_N of them. */
extern const struct mt_card MT_CARDS[];
extern const size_t MT_CARDS_N;

/* By name in either case ("H100"); NULL when it is not known. */
const struct mt_card *mt_card_find(struct mt_str name);

#endif
