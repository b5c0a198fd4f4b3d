/* SPDX-License-Identifier: MIT */
/* Budgets: is the memory of a run within what was allowed? For CI. */
#ifndef MEMTOOL_VERBS_CHECK_BUDGET_H
#define MEMTOOL_VERBS_CHECK_BUDGET_H

#include "heap/findings/leaks.h"
#include "heap/stacks/filter.h"
#include "snapshot/model/model.h"
#include "support/error.h"

/* What a run is measured by: the worst over its devices. */
struct mt_budget_facts {
    uint64_t peak;      /* requested bytes at the highest point */
    uint64_t reserved;  /* bytes of segments at the highest point */
    uint64_t allocated; /* block bytes at the end */
    double frag;        /* share of reserved that is neither allocated nor releasable at the end */
    uint64_t ooms;
    uint64_t device_calls; /* segments taken from the driver and given back, of all devices */
    enum mt_leak_verdict leak;
    int64_t bytes_per_step; /* of the device that leaks most */
    bool by_prints;         /* from one print to the next, which name no steps */
    bool has_steps;         /* what follows is known: some step comes after warm-up, or all do */
    double hits;            /* share of requests that the cache served in them */
    uint64_t driver_calls;  /* for memory, in the step that has most */
    unsigned missing;       /* bits 1 << enum mt_budget_rule: what the file does not tell */
};

/* name in JSON and JUnit, the option */
#define MT_BUDGET_RULES(X)                                                                         \
    X(MAX_PEAK, "max_peak", "--max-peak")                                                          \
    X(MAX_RESERVED, "max_reserved", "--max-reserved")                                              \
    X(MAX_FRAG, "max_frag", "--max-frag")                                                          \
    X(MAX_GROWTH, "max_growth", "--max-growth")                                                    \
    X(MIN_HITS, "min_hits", "--min-hits")                                                          \
    X(MAX_DRIVER_CALLS, "max_driver_calls", "--max-driver-calls")                                  \
    X(HISTORY, "history", "--history")                                                             \
    X(NO_OOM, "no_oom", "--no-oom")                                                                \
    X(NO_LEAKS, "no_leaks", "--no-leaks")

/* What `rules` (bits 1 << enum mt_budget_rule) ask for: O(events log events) with leaks or steps,
 * else O(events). Errors: MT_NOMEM, MT_LIMIT. */
enum mt_status mt_budget_measure(struct mt_budget_facts *out, const struct mt_snapshot *s,
                                 struct mt_filtered *f, unsigned rules, struct mt_error *err)
    MT_NODISCARD;

struct mt_logged;

/* The same of figures that a program printed: of the last of each process and device, and of growth
 * from one to the next. Errors: MT_NOMEM. */
enum mt_status mt_budget_measure_logged(struct mt_budget_facts *out, const struct mt_logged *l,
                                        struct mt_error *err) MT_NODISCARD;

enum mt_budget_rule {
#define X(id, name, option) MT_BUDGET_##id,
    MT_BUDGET_RULES(X)
#undef X
        MT_BUDGET_RULE_COUNT
};

struct mt_budget {
    unsigned rules; /* bits 1 << enum mt_budget_rule */
    uint64_t max_peak, max_reserved;
    double max_frag, min_hits;
    int64_t max_driver_calls;
    bool growth_is_share; /* max_growth is a share of the base's peak, else bytes */
    double max_growth;
    uint64_t base_peak;     /* of the file to compare with */
    bool knows_history;     /* HISTORY: there is an entry to compare with */
    uint64_t history_limit; /* the highest peak that it allows */
    bool unknown_breaks;    /* a rule that cannot be decided counts as broken */
};

struct mt_budget_result {
    enum mt_budget_rule rule;
    bool is_ratio;   /* limit and found are shares, else in bytes or counts */
    bool is_signed;  /* found may be negative: growth */
    bool is_unknown; /* found says nothing: no verdict on leaks, no steps, or: */
    bool is_missing; /* the file does not tell it */
    bool by_prints;  /* growth from print to print */
    bool ok;
    double limit_ratio, found_ratio;
    uint64_t limit;
    int64_t found_signed;
    uint64_t found;
};

/* Applies the rules in their order; returns how many results[] were filled in. */
size_t mt_budget_check(const struct mt_budget *b, const struct mt_budget_facts *f,
                       struct mt_budget_result results[MT_BUDGET_RULE_COUNT]);

/* "max_peak" and so on; "--max-peak". */
const char *mt_budget_rule_name(enum mt_budget_rule rule);
const char *mt_budget_rule_option(enum mt_budget_rule rule);

#endif
