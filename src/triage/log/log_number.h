/* SPDX-License-Identifier: MIT */
/* Sizes in squeezed text: "1.50gib", "12,345bytes", "896mb". */
#ifndef MEMTOOL_TRIAGE_LOG_LOG_NUMBER_H
#define MEMTOOL_TRIAGE_LOG_LOG_NUMBER_H

#include "support/str.h"
#include "support/units.h"

/* What a number without a unit means. */
#define MT_UNIT_NONE_ALLOWED 0 /* not a size then */
#define MT_LOG_B 1ull

/* PyTorch prints 17179869184.00 GiB for "no value" (2^64 bytes). Sizes from here on are none. */
#define MT_LOG_NONSENSE (1ull << 60)

struct mt_log_size {
    size_t length;  /* bytes of text read; 0: no size here */
    uint64_t bytes; /* MT_LOG_NONSENSE or more: not a real size */
    bool has_unit;
    bool has_fraction;
};

/* Reads a size at the start of s. `unit` is what a bare number is multiplied by, 0: bare numbers
 * are refused. All units are powers of 1024: PyTorch's MB and MPS's GB are, too. */
struct mt_log_size mt_log_size_at(struct mt_str s, uint64_t unit);

/* The size that ends exactly at the end of s. */
struct mt_log_size mt_log_size_before(struct mt_str s, uint64_t unit);

/* An integer at the start of s; -1 when there is none or it does not fit. *length: its digits. */
int64_t mt_log_integer_at(struct mt_str s, size_t *length);

#endif
