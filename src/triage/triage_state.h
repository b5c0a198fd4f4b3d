/* SPDX-License-Identifier: MIT */
/* The inside of a triage, for the files that fill its evidence. */
#ifndef MT_TRIAGE_TRIAGE_STATE_H
#define MT_TRIAGE_TRIAGE_STATE_H

#include "advice.h"
#include "log.h"
#include "rules.h"

struct mt_triage {
    struct mt_triage_options options;
    struct mt_arena arena;
    struct mt_log log;
    struct mt_facts facts;
    struct mt_advisor advisor;
    MT_VEC(struct mt_str) evidence;
    MT_VEC(struct mt_series) series;
    const char *snapshot_file; /* NULL: none was given */
    bool snapshot_leaks, snapshot_expandable;
    bool no_memory;
};

/* evidence.c: each adds sentences to t->evidence. */
void mt_evidence_add(struct mt_triage *t, const char *format, ...) MT_PRINTF(2, 3);
void mt_evidence_rule(struct mt_triage *t, const struct mt_rule *rule);
void mt_evidence_lookalike(struct mt_triage *t, const struct mt_incident *i);
void mt_evidence_nothing(struct mt_triage *t);
/* What stands around: contradictions, the moment, repetitions, tables, settings. */
void mt_evidence_around(struct mt_triage *t, const struct mt_triage_result *r);

#endif
