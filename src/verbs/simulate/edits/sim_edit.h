/* SPDX-License-Identifier: MIT */
/* The inside of an edit: the calls that a pattern names, and a program that is being rewritten. */
#ifndef MEMTOOL_SIM_EDIT_H
#define MEMTOOL_SIM_EDIT_H

#include "verbs/simulate/sim.h"

/* ---- sim_calls.c ---- */

/* One execution of a function: the allocations among ops[first .. last] that match. */
struct edit_call {
    size_t first, last; /* ops; both allocate */
    size_t run_end;     /* the last op of the row of calls that it is one of */
    bool even;          /* cut where the stacks of such calls repeat */
};

struct edit_calls {
    MT_VEC(struct edit_call) list;
};

enum mt_status mt_sim_find_calls(const struct mt_sim *sim, const bool *stacks,
                                 struct edit_calls *out, struct mt_error *err) MT_NODISCARD;

/* ---- sim_rewrite.c ---- */

/* An op that is put before op `at` of the old program; those of one place in the order in which
 * they were added. */
struct insertion {
    size_t at;
    size_t nth;
    struct op op;
    uint64_t size; /* of an allocation */
};

struct rewrite {
    const struct mt_sim *sim;
    uint32_t *free_of;    /* by op: that frees what it allocates, NEVER: none; only for OP_ALLOC */
    uint32_t *request_of; /* by op: of a completed free, that requested it; NEVER: none */
    uint64_t *sizes;      /* by op: of an allocation, in bytes */
    bool *gone;           /* by op: left out */
    MT_VEC(struct insertion) added;
    struct mt_error *err;
};

enum mt_status mt_rewrite_begin(struct rewrite *r, const struct mt_sim *sim, struct mt_error *err)
    MT_NODISCARD;
/* Adds a copy of op `like`, of this kind and slot, before op `at`. */
enum mt_status mt_rewrite_add(struct rewrite *r, size_t at, size_t like, enum op_kind kind,
                              uint32_t slot) MT_NODISCARD;
/* Leaves out what frees the allocation `op`. */
void mt_rewrite_drop_free(struct rewrite *r, size_t op);
/* Puts the new program in place; `sim` is the one that it began with. */
enum mt_status mt_rewrite_finish(struct rewrite *r, struct mt_sim *sim) MT_NODISCARD;
void mt_rewrite_release(struct rewrite *r);

#endif
