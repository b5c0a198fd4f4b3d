/* SPDX-License-Identifier: MIT */
/* The inside of a triage, for the files that fill its evidence. */
#ifndef MEMTOOL_TRIAGE_TRIAGE_STATE_H
#define MEMTOOL_TRIAGE_TRIAGE_STATE_H

#include "heap/findings/driver_price.h"
#include "heap/findings/frag.h"
#include "heap/findings/leaks.h"
#include "heap/findings/peak.h"
#include "heap/sums/account.h"
#include "snapshot/model/settings.h"
#include "triage/advice/advice.h"
#include "triage/log/log.h"
#include "triage/rules/rules.h"
#include "verbs/simulate/cures.h"
#include "verbs/simulate/simulate.h"

/* Settings that are replayed at most; expandable segments come first where they were not on. */
#define MT_SHOT_TRIALS 4
#define MT_SHOT_EXPANDABLE "expandable_segments:True"

struct mt_shot_trial {
    char conf[96];
    enum mt_sim_verdict verdict;
};

/* A snapshot that was given, and what was seen in it. */
struct mt_shot {
    const struct mt_snapshot *snapshot; /* borrowed */
    const char *file;
    const char *argument; /* of commands that read it: the file, with --salvage where it needs it */
    bool looked;
    int32_t device;             /* -1: nothing in it */
    const struct mt_event *oom; /* the last out-of-memory event, or NULL */
    struct mt_frag frag;        /* at that event, or at the end */
    struct mt_peak peak;
    struct mt_leaks leaks;
    struct mt_driver_price driver; /* of the whole trace */
    int64_t span_us;               /* of the trace; -1: no times */
    struct mt_account account;     /* at that event, or at the end */
    struct mt_torch_rules rules;   /* that it was recorded under */
    bool expandable;               /* recorded with expandable segments */
    uint64_t limit;                /* of the process, inferred by the replay: at least; 0: none */
    uint64_t limit_below;          /* below this; 0: not known */
    bool exact;                    /* the replay met the recording exactly */
    struct mt_shot_trial trials[MT_SHOT_TRIALS];
    size_t n_trials;
    struct mt_sim_cures changes; /* of the program, whose replay served the request; the cheapest
                                    first */
    bool belongs;                /* to the log's event; true without a log */
};

struct mt_triage {
    struct mt_triage_options options;
    MT_VEC(struct mt_shot) shots;
    MT_VEC(struct mt_triage_shot) shown;
    struct mt_arena arena;
    struct mt_log log;
    struct mt_facts facts;
    struct mt_advisor advisor;
    MT_VEC(struct mt_str) evidence;
    uint64_t rules_said; /* as in the result */
    MT_VEC(struct mt_series) series;
    const struct mt_shot *shot; /* the one that belongs to the event, or NULL */
    bool no_memory;
};

/* Whether what a log holds (step prints, tables, settings) may be said of an event: it is the
 * event's own log, or one without an event, given to go with it. */
bool mt_triage_speaks_of(const struct mt_triage *t, const char *file, const struct mt_incident *i);

/* facts.c: everything about an incident, into f. */
void mt_triage_gather(struct mt_triage *t, struct mt_facts *f, const struct mt_incident *i);
/* The settings that a log shows; without an event those of any. */
struct mt_str mt_triage_conf(const struct mt_triage *t, const struct mt_incident *incident);
/* Where the message tells no figures, nvidia-smi in the same log may. */
void mt_triage_fill_from_cards(const struct mt_triage *t, struct mt_incident *i);
/* The log's program, and the framework that it proves. */
void mt_triage_name_program(const struct mt_triage *t, struct mt_incident *i);
/* What the log of the event tells of its program, or NULL. */
const struct mt_notes *mt_triage_notes(const struct mt_triage *t, const struct mt_incident *i);

/* triage_snapshot.c */
void mt_shots_release(struct mt_triage *t);
enum mt_status mt_shot_look(struct mt_triage *t, struct mt_shot *shot, struct mt_error *err)
    MT_NODISCARD;
/* Live memory grows over steps that do something. */
bool mt_shot_leaks(const struct mt_shot *shot);
/* The replay with expandable segments, or NULL. */
const struct mt_shot_trial *mt_shot_expandable(const struct mt_shot *shot);
/* Whether a setting whose replay served the request was among those tried. */
bool mt_shot_setting_serves(const struct mt_shot *shot);
/* shot_changes.c: replays the recording with the usual changes of a program. */
enum mt_status mt_shot_try_changes(struct mt_shot *shot, struct mt_error *err) MT_NODISCARD;
/* The cheapest change in words, in the arena of the triage, NULL: none. */
const char *mt_shot_change(struct mt_triage *t, const struct mt_shot *shot);
/* Adds those that served the request, with what they bring. */
void mt_shot_say_changes(struct mt_triage *t, const struct mt_shot *shot);
bool mt_shot_belongs(const struct mt_shot *shot, const struct mt_incident *i);
/* The event of shot->oom, or the state without one, as an incident. */
struct mt_incident mt_shot_incident(const struct mt_shot *shot);
/* "train.py:42 forward", or the stack's number where nobody words it; appended. */
void mt_shot_label(struct mt_triage *t, const struct mt_shot *shot, uint32_t stack,
                   struct mt_buf *out);
/* growth_words.c: where the growth comes from, "most of it from train.py:42 forward"; in the arena.
 */
const char *mt_shot_growing(struct mt_triage *t, const struct mt_shot *shot);

/* Adds what emptying the cache in the loop costs, and where that is done. */
void mt_shot_say_driver(struct mt_triage *t, const struct mt_shot *shot);
/* Its share of the growth, 0 to 1. */
/* Gradients or the optimizer's state are among what it holds. */
bool mt_shot_trains(const struct mt_shot *shot);
/* The line of source that holds most, likewise; its bytes and its share of what is live; NULL:
 * none. */
const char *mt_shot_holder(struct mt_triage *t, const struct mt_shot *shot, uint64_t *bytes,
                           double *share);
/* The line whose request failed, likewise; NULL: not recorded. */
const char *mt_shot_asker(struct mt_triage *t, const struct mt_shot *shot);
/* Whether that is a line of source, not a place in a library. */
bool mt_shot_asker_is_line(const struct mt_shot *shot);
/* The stack that pins most free memory, likewise; NULL: nothing is pinned. */
const char *mt_shot_pin(struct mt_triage *t, const struct mt_shot *shot);
/* What the snapshots show, in the order that suits the verdict. */
void mt_evidence_shots(struct mt_triage *t, enum mt_verdict verdict);

/* triage_account.c: who holds the card. */
enum mt_status mt_shot_account(struct mt_triage *t, struct mt_shot *shot, struct mt_error *err)
    MT_NODISCARD;
/* What the account says of the event's figures; the others stay. */
void mt_shot_figures(const struct mt_shot *shot, struct mt_incident *i);
/* The account in a sentence. */
void mt_evidence_account(struct mt_triage *t, const struct mt_account *a);

/* triage_balance.c: whether several devices are filled alike. */
void mt_evidence_balance(struct mt_triage *t);

/* evidence.c: each adds sentences to t->evidence. */
void mt_evidence_add(struct mt_triage *t, const char *format, ...) MT_PRINTF(2, 3);
void mt_evidence_rule(struct mt_triage *t, const struct mt_rule *rule);
void mt_evidence_lookalike(struct mt_triage *t, const struct mt_incident *i);
/* Whether the log counts an event all the same. */
bool mt_evidence_nothing(struct mt_triage *t);
/* What stands around: contradictions, the moment, repetitions, tables, settings. */
void mt_evidence_around(struct mt_triage *t, const struct mt_triage_result *r);

#endif
