/* SPDX-License-Identifier: MIT */
/* From the numbers of one incident and what stands around it to a verdict. */
#ifndef MEMTOOL_TRIAGE_RULES_RULES_H
#define MEMTOOL_TRIAGE_RULES_RULES_H

#include "triage/card/log_chunks.h"
#include "triage/log/log_notes.h"
#include "triage/rules/room.h"
#include "triage/triage.h"

/* Facts about an incident that the rules weigh. Sizes in bytes, 0 where not known; `has` tells. */
struct mt_facts {
    const struct mt_incident *incident;
    const struct mt_oom_numbers *numbers;
    uint64_t total, free, requested, allocated, reserved, unallocated, allowed;
    uint64_t others, outside;
    uint64_t unexplained; /* total - free - reserved where no process list splits it */
    bool knows_unexplained;
    struct mt_room room;
    const struct mt_series *leak; /* a series that shows one, or NULL */
    const char *growing;          /* "most of it from ..." of a snapshot, or NULL */
    uint64_t growth;              /* of live memory, bytes a step */
    const struct mt_notes *notes; /* of the event's log, or NULL */
    enum mt_program program;
    size_t ranks_here; /* of this log that failed on the device of the event; 0: not known */
    size_t attempts;   /* events of this log that ended something */
    const struct mt_smi_row *holders; /* processes of a table of nvidia-smi in the log */
    size_t n_holders;
    const struct mt_smi_card *cards; /* cards of such a table */
    size_t n_cards;
    const char *holder;    /* the line that holds most in the snapshot, in words; or NULL */
    uint64_t holder_bytes; /* that it holds */
    double holder_share;   /* of what is live there, 0 to 1 */
    struct mt_str conf;
    bool expandable_on;
    bool expandable_fails;    /* a replay with it failed as well */
    bool expandable_serves;   /* a replay with it served the request */
    bool replays_fail;        /* every setting that was replayed failed as well */
    const char *asker;        /* the line that asked for the memory, in words, or NULL */
    bool asker_is_line;       /* of source, not a place in a library */
    const char *pin;          /* the stack that pins most free memory, in words, or NULL */
    const char *serving_conf; /* another setting whose replay did, or NULL */
    const char *change;       /* of the program, in words, whose replay did, or NULL */
    uint64_t change_peak;     /* reserved with it, bytes */
    uint64_t unchanged_peak;  /* and without, were there no limit */
    uint64_t device_used;     /* as nvidia-smi says; 0: not known */
    const struct mt_summary_table *table; /* or NULL */
    const struct mt_chunks *chunks;       /* the dump of the allocator's pool, or NULL */
    const struct mt_account *account;     /* of the snapshot of this event, or NULL */
};

enum mt_rule_role {
    MT_RULE_PRIMARY, /* may be the verdict */
    MT_RULE_ALSO     /* stands beside another verdict only */
};

struct mt_rule {
    const char *id;
    enum mt_verdict verdict;
    enum mt_confidence confidence;
    enum mt_rule_role role;
    bool (*holds)(const struct mt_facts *f);
    void (*say)(const struct mt_facts *f, struct mt_buf *out); /* its evidence, a sentence */
};

/* In the order of precedence. */
extern const struct mt_rule MT_RULES[];
extern const size_t MT_RULES_N;

/* Takes the numbers of an incident over. */
void mt_facts_init(struct mt_facts *f, const struct mt_incident *incident);

/* What happened, in a sentence that claims no more than the figures do. */
const char *mt_facts_headline(const struct mt_facts *f, const struct mt_rule *rule);

/* The first rule that holds and may be a verdict; always one. */
const struct mt_rule *mt_rules_primary(const struct mt_facts *f);

/* Whether any rule of this verdict holds, leaving out those that only catch what is left. */
bool mt_rules_holds(const struct mt_facts *f, enum mt_verdict v);

static inline bool mt_facts_has(const struct mt_facts *f, enum mt_oom_field field)
{
    return mt_oom_has(f->numbers, field);
}

/* The event stands in a snapshot of a program that runs without PyTorch. */
static inline bool mt_facts_plain(const struct mt_facts *f)
{
    return strcmp(f->incident->format, "snapshot") == 0 &&
           strcmp(f->incident->framework, "cuda") == 0;
}

/* As the snapshot tells, memtool's own allocator served the program. */
static inline bool mt_facts_memtools(const struct mt_facts *f)
{
    return f->account && (f->account->recorded.cached || f->account->recorded.live);
}

/* The event stands in a snapshot of a process whose every allocation was watched. */
static inline bool mt_facts_watched(const struct mt_facts *f)
{
    return strcmp(f->incident->format, "snapshot") == 0 && f->account &&
           f->account->recorded.watched;
}

/* 0 to 1; 0 when the whole is 0. */
static inline double mt_share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0.0;
}

#endif
