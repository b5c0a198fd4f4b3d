/* SPDX-License-Identifier: MIT */
/* Cards by the memory that CUDA reports, which is less than they are sold with. */
#ifndef MEMTOOL_VERBS_ESTIMATE_CARDS_H
#define MEMTOOL_VERBS_ESTIMATE_CARDS_H

#include <stddef.h>
#include <stdint.h>

#include "support/error.h"
#include "support/str.h"
#include "support/units.h"

struct mt_card {
    const char *name;
    uint64_t bytes; /* as PyTorch prints for "total capacity" */
};

/* From the smallest to the largest, MT_CARDS_N of them. */
extern const struct mt_card MT_CARDS[];
extern const size_t MT_CARDS_N;

/* By name in either case ("H100"); NULL when it is not known. */
const struct mt_card *mt_card_find(struct mt_str name);

/* What the CUDA context of a process takes, about; measured on an H200: 750 to 769 MiB. */
#define MT_CARD_CONTEXT (768 * MT_MIB)

/* An option's text: a size or a name; the field is a uint64_t in bytes. Errors: MT_USAGE. */
enum mt_status mt_card_arg(void *field, const char *text, struct mt_error *err) MT_NODISCARD;

#endif
