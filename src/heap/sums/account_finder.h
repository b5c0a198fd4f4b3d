/* SPDX-License-Identifier: MIT */
/*
 * An account while it is made, for the files that find its parts: the trace's (account_trace.c),
 * the card's own figures and what is left over (account_card.c). Functions that return bool return
 * false when memory ran out.
 */
#ifndef MEMTOOL_HEAP_SUMS_ACCOUNT_FINDER_H
#define MEMTOOL_HEAP_SUMS_ACCOUNT_FINDER_H

#include "heap/sums/account.h"
#include "support/hash.h"
#include "support/vec.h"

/* An owner while the trace is walked: bytes and allocations since its start, and what they were at
 * the moment that was asked for. */
struct mt_tally {
    int64_t net, highest, then;
    int64_t n, n_then;
};

struct mt_account_finder {
    struct mt_account *a;
    const struct mt_snapshot *s;
    const struct mt_value *own; /* the watcher's figures of this device, or NULL */
    bool by_caller;             /* memory was watched, all or what passed a cache by */
    struct mt_intern names;
    struct mt_idmap by_name;       /* kind and name -> row */
    struct mt_idmap by_stack;      /* -> row */
    uint32_t last_stack, last_row; /* UINT32_MAX: none yet */
    struct mt_idmap held;          /* address -> row, while the trace is walked */
    MT_VEC(struct mt_tally) tallies;
    struct mt_tally all;
    bool wild; /* the trace's sizes do not add up in 63 bits */
};

/* The row of the owner of a stack, made when new; UINT32_MAX: no memory. */
uint32_t mt_account_row(struct mt_account_finder *f, uint32_t stack);

/* Counts bytes to a row, and to what is seen. */
void mt_account_add_bytes(struct mt_account *a, struct mt_owner *row, uint64_t bytes);

/* The row of something that is known as a sum alone; none when it is 0. */
bool mt_account_add_sum(struct mt_account_finder *f, enum mt_owner_kind kind, struct mt_str name,
                        uint64_t bytes);

/* ---- account_trace.c ---- */

/* Rows from segments; what the trace added to each, and `then` after so many events. */
bool mt_account_segments(struct mt_account_finder *f);
bool mt_account_walk(struct mt_account_finder *f, size_t after);

/* Peaks of all rows, once segments and trace are known. */
void mt_account_peaks(struct mt_account_finder *f);

/* Rows as they were at the moment that was asked for; as they are where the trace does not tell. */
void mt_account_go_back(struct mt_account_finder *f);

/* ---- account_card.c ---- */

void mt_account_figures_find(struct mt_account_finder *f, const struct mt_account_figures *given);

/* *any: processes of this card were listed. */
bool mt_account_processes(struct mt_account_finder *f, const struct mt_smi *smi, bool *any);

/* The last row, that makes the sum what the card reports. */
bool mt_account_rest(struct mt_account_finder *f, bool processes);

#endif
