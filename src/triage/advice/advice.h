/* SPDX-License-Identifier: MIT */
/*
 * What to do first. Every step is a row of advice_*.def: for whom, when, and the words, with
 * formulas for the figures in them:
 *
 *   STEP(id, who, phases, verdicts, when, text, command, why)
 *   HINT(id, who, phases, verdicts, when, text, why)     a popular hint that does not help here
 *
 * who       "*"; a program ("vllm"); a kind of program ("@training"); a framework with its own
 *           advice ("=jax"); "@torch": PyTorch whatever the program; "@plain": a program without
 *           PyTorch, as a snapshot shows it. Alternatives stand behind each other: "vllm sglang".
 * when      a condition of advice_when.c
 * words     $name is a formula of advice_places.c. $[ ... $] stands only where every formula in it
 *           has its figures; $[ ... $| ... $] has other words for where one lacks them. $$ is a
 *           dollar. A command has a line for each command.
 *
 * A number that depends on the job is a formula, never a digit in a row: a test reads them all.
 */
#ifndef MEMTOOL_TRIAGE_ADVICE_ADVICE_H
#define MEMTOOL_TRIAGE_ADVICE_ADVICE_H

#include "support/arena.h"
#include "support/units.h"
#include "support/vec.h"
#include "triage/log/log_notes.h"
#include "triage/rules/rules.h"

/* Steps that are worded at most. */
#define MT_ADVICE_STEPS 6

struct mt_advisor {
    struct mt_arena *arena;       /* borrowed; holds all texts */
    const struct mt_facts *facts; /* NULL: no event was found */
    enum mt_verdict verdict;
    bool plain;           /* the snapshot is of a program without PyTorch */
    const char *snapshot; /* file that was given, with --salvage if it needs it; or NULL */
    const struct mt_series *growth; /* without an event: step prints that show a leak, or NULL */
    bool end_missing;               /* of its trace */
    bool no_history;                /* it has no trace: only the state at the dump is known */
    MT_VEC(struct mt_advice) list;
    bool no_memory;
    struct mt_advice lost; /* takes the words of an entry that there was no memory for */
};

struct mt_advice_row {
    const char *id, *who;
    uint32_t phases, verdicts; /* bits 1 << enum mt_phase, enum mt_verdict */
    bool (*when)(const struct mt_advisor *a);
    const char *text, *command, *why; /* command NULL: none */
    bool applies;
};

extern const struct mt_advice_row MT_ADVICE_ROWS[];
extern const size_t MT_ADVICE_ROWS_N;

/* advice.c: everything for a->facts and a->verdict. */
void mt_advice_fill(struct mt_advisor *a);

/* The words of a row with its formulas filled in; false: one that must be known is not. */
bool mt_advice_expand(const struct mt_advisor *a, const char *words, struct mt_buf *out);

/* advice_places.c: the formula of `name`, appended. False: its figures are not known, or there is
 * no such formula. */
bool mt_advice_place(const struct mt_advisor *a, struct mt_str name, struct mt_buf *out);
bool mt_advice_place_exists(struct mt_str name);

/* Begins an entry; what follows fills it. For what a row cannot say. */
void mt_advise(struct mt_advisor *a, const char *id, bool applies);
void mt_advise_text(struct mt_advisor *a, const char *format, ...) MT_PRINTF(2, 3);
void mt_advise_command(struct mt_advisor *a, const char *format, ...) MT_PRINTF(2, 3);
void mt_advise_why(struct mt_advisor *a, const char *format, ...) MT_PRINTF(2, 3);

/* "1.50 GiB" */
struct mt_size_text mt_advice_size(uint64_t bytes);

/* advice_owners.c: how the library that holds most beside the allocator is made to take less.
 * False: the account names none that matters. */
bool mt_advice_owner(struct mt_advisor *a);

static inline bool mt_incident_is(const struct mt_incident *i, const char *framework)
{
    return strcmp(i->framework, framework) == 0;
}

/* A value that the log prints; NULL: none. */
static inline const struct mt_said_value *mt_advice_said(const struct mt_advisor *a,
                                                         enum mt_said which)
{
    const struct mt_notes *n = a->facts ? a->facts->notes : NULL;
    return n && n->said[which].known ? &n->said[which] : NULL;
}

/* The setting under which PyTorch's caching allocator reads its variable. */
static inline bool mt_facts_backend_is(const struct mt_facts *f, const char *backend)
{
    return strcmp(f->incident->backend, backend) == 0;
}

#endif
