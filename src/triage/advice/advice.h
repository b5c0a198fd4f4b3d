/* SPDX-License-Identifier: MIT */
/* What to do first: one list of advice per verdict, worded with the numbers of the incident. */
#ifndef MEMTOOL_TRIAGE_ADVICE_ADVICE_H
#define MEMTOOL_TRIAGE_ADVICE_ADVICE_H

#include "support/arena.h"
#include "support/units.h"
#include "support/vec.h"
#include "triage/rules/rules.h"

struct mt_advisor {
    struct mt_arena *arena; /* borrowed; holds all texts */
    const struct mt_facts *facts;
    enum mt_verdict verdict;
    bool plain;           /* the snapshot is of a program without PyTorch */
    const char *snapshot; /* file that was given, with --salvage if it needs it; or NULL */
    bool end_missing;     /* of its trace */
    bool no_history;      /* it has no trace: only the state at the dump is known */
    MT_VEC(struct mt_advice) list;
    bool no_memory;
    struct mt_advice lost; /* takes the words of an entry that there was no memory for */
};

/* Begins an entry; what follows fills it. `applies` false: a popular hint that does not help. */
void mt_advise(struct mt_advisor *a, const char *id, bool applies);
void mt_advise_text(struct mt_advisor *a, const char *format, ...) MT_PRINTF(2, 3);
void mt_advise_command(struct mt_advisor *a, const char *format, ...) MT_PRINTF(2, 3);
void mt_advise_why(struct mt_advisor *a, const char *format, ...) MT_PRINTF(2, 3);

/* "1.50 GiB" */
struct mt_size_text mt_advice_size(uint64_t bytes);

static inline bool mt_incident_is(const struct mt_incident *i, const char *framework)
{
    return strcmp(i->framework, framework) == 0;
}

static inline bool mt_program_is(const struct mt_incident *i, const char *program)
{
    return strcmp(i->program, program) == 0;
}

/* Weights are being read then: no batch, no context and no cache of requests is there yet. */
static inline bool mt_incident_loads(const struct mt_incident *i)
{
    return strcmp(i->phase, "loading the model") == 0;
}

/* advice.c: everything for a->facts and a->verdict. */
void mt_advice_fill(struct mt_advisor *a);

/* advice_torch.c: the verdicts of PyTorch programs; recipes and hints. */
void mt_advice_torch(struct mt_advisor *a);
void mt_advice_torch_hints(struct mt_advisor *a);
void mt_advice_record(struct mt_advisor *a);
/* advice_holes.c: the settings against fragmentation. */
void mt_advice_fragmentation(struct mt_advisor *a);
/* Where holes would make up for what is missing, though they are not the main matter: one more
 * step, behind the first. */
void mt_advice_holes(struct mt_advisor *a);
/* Where a setting does not help: why. */
void mt_advice_holes_hint(struct mt_advisor *a);
/* Releases up to 1.9 read no settings. */
bool mt_incident_has_no_settings(const struct mt_incident *i);
/* advice_jobs.c: less memory for training and serving jobs. False: no program of its list. */
bool mt_advice_server(struct mt_advisor *a);
void mt_advice_training(struct mt_advisor *a);
/* advice_cuda.c: programs without PyTorch, as a snapshot shows them. */
void mt_advice_cuda(struct mt_advisor *a);
/* advice_owners.c: how the library that holds most beside the allocator is made to take less.
 * False: the account names none that matters. */
bool mt_advice_owner(struct mt_advisor *a);
/* advice_frameworks.c: JAX, TensorFlow, ggml, CuPy ... False: not one of its list. */
bool mt_advice_framework(struct mt_advisor *a);
/* advice_host.c: look-alikes, and logs without an event (facts == NULL). */
void mt_advice_host(struct mt_advisor *a, enum mt_incident_kind kind);

#endif
