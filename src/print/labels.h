/* SPDX-License-Identifier: MIT */
/* Names of devices, streams and pools, the same in every report. */
#ifndef MEMTOOL_PRINT_LABELS_H
#define MEMTOOL_PRINT_LABELS_H

#include "heap/findings/period.h"
#include "snapshot/model/model.h"
#include "support/units.h"

/* "Device 0"; "Pinned host memory" for -1. */
struct mt_size_text mt_device_label(int32_t device);

/* "stream 1 (0x55d0c0de)", "stream 0"; the number is what --stream takes. */
void mt_stream_label(struct mt_buf *b, const struct mt_snapshot *s, uint16_t stream);

/* "pool 2,0 (CUDA graph)", "pool 0,1 (MemPool)"; "" for the default pool. */
void mt_pool_label(struct mt_buf *b, struct mt_pool_id id);

struct mt_logged; /* heap/sums/logged.h */

/* "3 tables of memory_summary() and 2 lines of memory that a trainer printed"; "" for none. */
void mt_logged_count_text(struct mt_buf *b, const struct mt_logged *l);

struct mt_report; /* print/report.h */

/* "each begins at train.py:30 main", appended; "it begins with step" of one; nothing where the
 * rounds are not known by anything. */
void mt_period_begin_text(struct mt_buf *b, const struct mt_report *r, const struct mt_snapshot *s,
                          const struct mt_periods *p);

/* "step", or "round" where they may be layers. */
const char *mt_period_word(const struct mt_periods *p);

/* "without call stacks": why rounds may be layers (may_be_layers). */
const char *mt_period_doubt(const struct mt_periods *p);

/* What switches the history on for the writer of this file, to be put before "switches it on". */
const char *mt_history_switch(const struct mt_snapshot *s);

#endif
