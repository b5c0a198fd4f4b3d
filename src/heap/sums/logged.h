/* SPDX-License-Identifier: MIT */
/*
 * Figures of the allocator that programs print: the names of memory_stats(), its tables and
 * dictionaries out of logs, and lines of trainers. Names, order and layout are those of
 * torch/cuda/memory.py (read in 1.13, 2.6 and 2.11).
 */
#ifndef MEMTOOL_LOGGED_H
#define MEMTOOL_LOGGED_H

#include "support/error.h"
#include "support/str.h"
#include "support/vec.h"

/* name, key of memory_stats(), label of the table, bytes or a number, has rows for both pools */
#define MT_STAT_MAP(X)                                                                             \
    X(ALLOCATED_BYTES, "allocated_bytes", "Allocated memory", true, true)                          \
    X(ACTIVE_BYTES, "active_bytes", "Active memory", true, true)                                   \
    X(REQUESTED_BYTES, "requested_bytes", "Requested memory", true, true)                          \
    X(RESERVED_BYTES, "reserved_bytes", "GPU reserved memory", true, true)                         \
    X(INACTIVE_SPLIT_BYTES, "inactive_split_bytes", "Non-releasable memory", true, true)           \
    X(ALLOCATION, "allocation", "Allocations", false, true)                                        \
    X(ACTIVE, "active", "Active allocs", false, true)                                              \
    X(SEGMENT, "segment", "GPU reserved segments", false, true)                                    \
    X(INACTIVE_SPLIT, "inactive_split", "Non-releasable allocs", false, true)                      \
    X(OVERSIZE_ALLOCATIONS, "oversize_allocations", "Oversize allocations", false, false)          \
    X(OVERSIZE_SEGMENTS, "oversize_segments", "Oversize GPU segments", false, false)

enum mt_stat_kind {
#define X(name, key, label, bytes, pools) MT_STAT_##name,
    MT_STAT_MAP(X)
#undef X
        MT_STAT_COUNT
};

const char *mt_stat_key(enum mt_stat_kind k);
const char *mt_stat_label(enum mt_stat_kind k);
bool mt_stat_is_bytes(enum mt_stat_kind k);
bool mt_stat_has_pools(enum mt_stat_kind k);

enum mt_stat_slot { MT_SLOT_ALL, MT_SLOT_LARGE, MT_SLOT_SMALL, MT_SLOT_COUNT };
enum mt_stat_column {
    MT_STAT_COLUMN_CURRENT,
    MT_STAT_COLUMN_PEAK,
    MT_STAT_COLUMN_TOTAL_ALLOC,
    MT_STAT_COLUMN_TOTAL_FREED,
    MT_STAT_COLUMN_COUNT
};

struct mt_stat {
    uint64_t v[MT_STAT_COLUMN_COUNT];
};

/* ---- out of a log ---- */

struct mt_logged_value {
    bool present;
    uint64_t value; /* as printed, in `unit` */
    uint64_t unit;  /* bytes (1, 1024 ...) or a number (1, 1000, 10^6): the value lies in [value,
                       value + 1) units */
};

enum mt_logged_kind {
    MT_LOGGED_TABLE, /* of memory_summary() */
    MT_LOGGED_STEP,  /* a line that a trainer prints: Megatron's "memory (MB) | allocated: ...",
                        DeepSpeed's "MA 1.2 GB Max_MA ...", "memory allocated 1 reserved 2" */
    MT_LOGGED_STATS  /* memory_stats(), printed or as JSON */
};

struct mt_logged_table {
    size_t line; /* of its title in the log, from 1 */
    enum mt_logged_kind kind;
    int32_t rank; /* that its line names, where the log has several; -1: none */
    int64_t step; /* that its line names, "after 10 iterations", "step 10"; -1: none */
    uint32_t device;
    struct mt_logged_value ooms, retries;
    struct mt_logged_value cells[MT_STAT_COUNT][MT_SLOT_COUNT][MT_STAT_COLUMN_COUNT];
    bool odd; /* the first whose allocated memory breaks with the tables before it */
    size_t first_other, n_others; /* in mt_logged.others */
};

#define MT_LOGGED_KEY 96

/* A figure of memory_stats() that stands in no table: of a module, of a private pool, a count. */
struct mt_logged_other {
    char key[MT_LOGGED_KEY]; /* with 0 behind it; letters, digits, '_' and '.' only */
    uint64_t value;
};

struct mt_logged {
    MT_VEC(struct mt_logged_table) tables; /* in the order of the log */
    MT_VEC(struct mt_logged_other) others;
};

/* Finds every table in `log`, whatever stands before its lines, every memory_stats(), and the lines
 * of memory that trainers print. A table without rows is left out. Tables of several ranks may
 * stand one in another. Errors: MT_NOMEM. Release it also after a failure. */
enum mt_status mt_logged_find(struct mt_logged *out, struct mt_str log, struct mt_error *err)
    MT_NODISCARD;
void mt_logged_release(struct mt_logged *l);

/* value * unit. */
uint64_t mt_logged_bytes(const struct mt_logged_value *v);

/* Whether both are of one process and device, so that one can be compared with the other. */
bool mt_logged_same_place(const struct mt_logged_table *a, const struct mt_logged_table *b);

/* Whether no later table is of the same place. */
bool mt_logged_is_last(const struct mt_logged *l, size_t i);

#endif
