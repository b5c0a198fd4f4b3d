/* SPDX-License-Identifier: MIT */
/*
 * PyTorch's memory_stats() and memory_summary() from a snapshot, and the tables of memory_summary()
 * out of logs. Names, order and layout are those of torch/cuda/memory.py (read in 1.13, 2.6 and
 * 2.11).
 */
#ifndef MEMTOOL_VERBS_SUMMARY_SUMMARY_H
#define MEMTOOL_VERBS_SUMMARY_SUMMARY_H

#include "heap/sums/logged.h"
#include "heap/sums/totals.h"
#include "snapshot/model/model.h"
#include "support/error.h"
#include "support/vec.h"

/* ---- from a snapshot ---- */

struct mt_summary {
    int32_t device;
    /* `current` is what the segments say. The other columns are of value only when `proved`: the
     * trace begins with nothing and a replay of its blocks ended in the layout of the file. They
     * count from the start of the process; a reset of the peak in between leaves no trace. */
    struct mt_stat stats[MT_STAT_COUNT][MT_SLOT_COUNT];
    bool proved;
    bool ooms_known, retries_known;
    uint64_t ooms, retries;
};

/* Of one device of `t`, which is of the whole file. Errors: MT_NOMEM. O(events + blocks). */
enum mt_status mt_summary_find(struct mt_summary *out, const struct mt_snapshot *s,
                               const struct mt_totals *t, int32_t device, struct mt_error *err)
    MT_NODISCARD;

/* A cell as PyTorch prints it, 10 characters: `pref` (the value of the row for all pools) chooses
 * the unit. */
struct mt_summary_cell {
    char s[32];
};
struct mt_summary_cell mt_summary_cell(uint64_t value, uint64_t pref, bool bytes);

#endif
