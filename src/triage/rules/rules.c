/* SPDX-License-Identifier: MIT */
/*
 * The conditions of rules.def. Each is a few comparisons of the
 * figures that the message printed; a figure that is not known makes a condition that needs it
 * fail. Thresholds stand in the table, not here.
 */
#include "support/checked.h"
#include "support/units.h"
#include "triage/rules/rules_parts.h"

enum {
#define THRESHOLD(name, value, what) THRESHOLD_##name,
#define RULE(id, verdict, confidence, role, holds, say)
#include "triage/rules/rules.def"
#undef THRESHOLD
#undef RULE
    THRESHOLD_COUNT
};

static const double THRESHOLDS[THRESHOLD_COUNT] = {
#define THRESHOLD(name, value, what) [THRESHOLD_##name] = value,
#define RULE(id, verdict, confidence, role, holds, say)
#include "triage/rules/rules.def"
#undef THRESHOLD
#undef RULE
};
#define T(name) (THRESHOLDS[THRESHOLD_##name])

void mt_facts_init(struct mt_facts *f, const struct mt_incident *incident)
{
    const struct mt_oom_numbers *n = &incident->numbers;
    *f = (struct mt_facts){.incident = incident,
                           .numbers = n,
                           .total = mt_oom_get(n, MT_OOM_TOTAL),
                           .free = mt_oom_get(n, MT_OOM_FREE),
                           .requested = mt_oom_get(n, MT_OOM_REQUESTED),
                           .allocated = mt_oom_get(n, MT_OOM_ALLOCATED),
                           .reserved = mt_oom_get(n, MT_OOM_RESERVED),
                           .unallocated = mt_oom_get(n, MT_OOM_UNALLOCATED),
                           .allowed = mt_oom_get(n, MT_OOM_ALLOWED),
                           .others = mt_oom_get(n, MT_OOM_OTHERS),
                           .outside = mt_oom_get(n, MT_OOM_OUTSIDE)};
    f->room = mt_room_of(incident);
    uint64_t seen = mt_add_sat(f->free, f->reserved);
    if (strcmp(incident->format, "snapshot") == 0 && known(f, MT_OOM_FREE) &&
        !known(f, MT_OOM_TOTAL)) {
        f->total = seen; /* what this process could reach */
    }
    f->knows_unexplained = known2(f, MT_OOM_TOTAL, MT_OOM_FREE) && known(f, MT_OOM_RESERVED) &&
                           !known(f, MT_OOM_PROCESS);
    f->unexplained = f->knows_unexplained && f->total > seen ? f->total - seen : 0;
}

/* ---- conditions ---- */

static double live_share(const struct mt_facts *f)
{
    return mt_share(f->allocated, f->total);
}

static bool knows_live(const struct mt_facts *f)
{
    return known2(f, MT_OOM_ALLOCATED, MT_OOM_TOTAL) && f->total > 0;
}

bool mt_when_is_kind_oversize(const struct mt_facts *f)
{
    return f->incident->kind == MT_KIND_OVERSIZE;
}

bool mt_when_is_kind_limit(const struct mt_facts *f)
{
    return f->incident->kind == MT_KIND_LIMIT;
}

/* RMM words its own maximum and the driver's refusal alike. */
bool mt_when_rmm_unsaid_limit(const struct mt_facts *f)
{
    return mt_when_is_kind_limit(f) && strcmp(f->incident->framework, "rmm") == 0 &&
           !known(f, MT_OOM_ALLOWED);
}

bool mt_when_is_kind_library(const struct mt_facts *f)
{
    return f->incident->kind == MT_KIND_LIBRARY;
}

bool mt_when_always(const struct mt_facts *f)
{
    (void)f;
    return true;
}

bool mt_when_request_beyond_card(const struct mt_facts *f)
{
    return known2(f, MT_OOM_REQUESTED, MT_OOM_TOTAL) && f->total > 0 && f->requested > f->total &&
           !mt_when_limit_tiny(f);
}

bool mt_when_request_beyond_limit(const struct mt_facts *f)
{
    return known2(f, MT_OOM_REQUESTED, MT_OOM_ALLOWED) && f->allowed > 0 &&
           f->requested > f->allowed;
}

/* Half a card at once, and not even the whole cache given back would make room for it. */
bool mt_when_request_half_card(const struct mt_facts *f)
{
    uint64_t held = mt_add_sat(f->allocated, f->outside);
    uint64_t room = known(f, MT_OOM_FREE) ? mt_add_sat(f->free, f->unallocated)
                    : f->total > held     ? f->total - held
                                          : 0;
    return known2(f, MT_OOM_REQUESTED, MT_OOM_TOTAL) &&
           (known(f, MT_OOM_FREE) || known2(f, MT_OOM_ALLOCATED, MT_OOM_OUTSIDE)) &&
           (double)f->requested >= T(HALF_CARD) * (double)f->total && f->requested > room &&
           live_share(f) < T(NEAR_CARD);
}

bool mt_when_request_any_card(const struct mt_facts *f)
{
    return known(f, MT_OOM_REQUESTED) && !known(f, MT_OOM_TOTAL) &&
           (double)f->requested >= T(ANY_CARD_GIB) * (double)MT_GIB;
}

/* A limit is no limit where it lies at the card's own size. */
static bool limit_is_real(const struct mt_facts *f)
{
    return known(f, MT_OOM_ALLOWED) &&
           (!known(f, MT_OOM_TOTAL) || (double)f->allowed < 0.995 * (double)f->total);
}

bool mt_when_limit_reached(const struct mt_facts *f)
{
    uint64_t held = f->reserved > f->allocated ? f->reserved : f->allocated;
    return limit_is_real(f) && known2(f, MT_OOM_FREE, MT_OOM_REQUESTED) &&
           f->free >= f->requested &&
           (double)mt_add_sat(held, f->requested) >= T(LIMIT_NEAR) * (double)f->allowed;
}

bool mt_when_limit_near(const struct mt_facts *f)
{
    uint64_t held = f->reserved > f->allocated ? f->reserved : f->allocated;
    return limit_is_real(f) && !known(f, MT_OOM_FREE) &&
           (double)mt_add_sat(held, f->requested) >= T(LIMIT_NEAR) * (double)f->allowed;
}

/* TensorFlow takes an odd number of bytes from the card by default; a limit that is a round number
 * of MiB was set by someone. */
bool mt_when_framework_limit(const struct mt_facts *f)
{
    return strcmp(f->incident->framework, "tensorflow") == 0 && known(f, MT_OOM_TOTAL) &&
           f->total > 0 && f->total % ((128 * MT_MIB)) == 0;
}

/* So little can only be what others had left, or a limit that someone set. */
bool mt_when_limit_tiny(const struct mt_facts *f)
{
    return f->incident->whole_is_limit && known2(f, MT_OOM_TOTAL, MT_OOM_REQUESTED) &&
           (double)f->total < T(TINY_GIB) * (double)MT_GIB && f->requested > f->total / 2;
}

bool mt_when_free_exceeds(const struct mt_facts *f)
{
    uint64_t whole = known(f, MT_OOM_TOTAL) ? f->total : f->free;
    return known2(f, MT_OOM_FREE, MT_OOM_REQUESTED) && whole > 0 && !mt_when_limit_reached(f) &&
           (double)f->free >= T(FREE_FACTOR) * (double)f->requested &&
           (double)f->free - (double)f->requested >= T(FREE_SHARE) * (double)whole &&
           live_share(f) < T(NEAR_CARD);
}

/* The free figure is not printed (XPU, MPS), but nothing that is fills the card. */
bool mt_when_free_implied(const struct mt_facts *f)
{
    uint64_t held = f->reserved > f->allocated ? f->reserved : f->allocated;
    held = mt_add_sat(held, f->outside);
    return !known(f, MT_OOM_FREE) && known2(f, MT_OOM_TOTAL, MT_OOM_REQUESTED) &&
           known(f, MT_OOM_ALLOCATED) && !mt_when_limit_near(f) && f->total > held &&
           (double)(f->total - held) >= T(FREE_FACTOR) * (double)f->requested &&
           (double)(f->total - held) - (double)f->requested >= 5 * T(FREE_SHARE) * (double)f->total;
}

bool mt_when_leak_printed(const struct mt_facts *f)
{
    return f->leak != NULL;
}

bool mt_when_leak_by_epoch(const struct mt_facts *f)
{
    return f->leak && f->leak->epochs;
}

bool mt_when_leak_recorded(const struct mt_facts *f)
{
    return f->growing != NULL;
}

static double holes_share(const struct mt_facts *f)
{
    return mt_share(f->unallocated, f->reserved);
}

/* Sizes are printed with two digits: a request may seem a little larger than it is. */
static bool fits(uint64_t request, uint64_t room)
{
    return request <= mt_add_sat(room, room / 200);
}

/* Where the card has room and no limit is near, a new segment would have served: holes are not the
 * matter. */
static bool cannot_grow(const struct mt_facts *f)
{
    return !known(f, MT_OOM_FREE) || f->free < f->requested || mt_when_limit_reached(f);
}

/* Holes of a process that has little beside others that have most. */
static bool others_dwarf(const struct mt_facts *f)
{
    return known2(f, MT_OOM_OTHERS, MT_OOM_TOTAL) &&
           mt_share(f->others, f->total) >= T(HALF_CARD) && f->others / 2 > f->reserved;
}

static bool knows_holes(const struct mt_facts *f)
{
    return known2(f, MT_OOM_UNALLOCATED, MT_OOM_REQUESTED) && known(f, MT_OOM_RESERVED) &&
           !others_dwarf(f);
}

bool mt_when_holes_decide(const struct mt_facts *f)
{
    return knows_holes(f) && cannot_grow(f) && fits(f->requested, f->unallocated) &&
           holes_share(f) >= T(HOLES_DECIDE);
}

bool mt_when_holes_high(const struct mt_facts *f)
{
    return mt_when_holes_decide(f) && holes_share(f) >= T(HOLES_HIGH) && !f->expandable_on;
}

/* The pool's own dump: enough is free, no piece is large enough, and the pool cannot grow. */
bool mt_when_chunks_scattered(const struct mt_facts *f)
{
    const struct mt_chunks *c = f->chunks;
    return c && c->free_chunks > 0 && known2(f, MT_OOM_REQUESTED, MT_OOM_TOTAL) &&
           c->free_bytes >= f->requested && c->largest_free < f->requested &&
           (!known(f, MT_OOM_RESERVED) || f->total < mt_add_sat(f->reserved, f->requested));
}

bool mt_when_holes_and_free(const struct mt_facts *f)
{
    return knows_holes(f) && f->free < f->requested &&
           fits(f->requested, mt_add_sat(f->free, f->unallocated)) &&
           holes_share(f) >= T(HOLES_HIGH) && f->unallocated >= f->requested / 4;
}

bool mt_when_others_main(const struct mt_facts *f)
{
    return known2(f, MT_OOM_OTHERS, MT_OOM_TOTAL) &&
           mt_share(f->others, f->total) >= T(OTHERS_MAIN) && live_share(f) < T(LIKELY_CARD);
}

/* Others matter where the card is short; where more is free than was asked for they do not. */
static bool is_short(const struct mt_facts *f)
{
    return !known2(f, MT_OOM_FREE, MT_OOM_REQUESTED) || f->free < f->requested ||
           mt_share(f->free, f->total) < T(FREE_SHARE);
}

bool mt_when_others_also(const struct mt_facts *f)
{
    return known2(f, MT_OOM_OTHERS, MT_OOM_TOTAL) && is_short(f) &&
           mt_share(f->others, f->total) >= T(OTHERS_ALSO) &&
           (double)f->others >= T(ALSO_GIB) * (double)MT_GIB;
}

bool mt_when_unexplained_also(const struct mt_facts *f)
{
    return f->knows_unexplained && f->incident->n_processes == 0 && is_short(f) &&
           (double)f->unexplained >= T(CONTEXT_GIB) * (double)MT_GIB &&
           mt_share(f->unexplained, f->total) >= T(UNSEEN_ALSO);
}

bool mt_when_unexplained_main(const struct mt_facts *f)
{
    return mt_when_unexplained_also(f) && mt_share(f->unexplained, f->total) >= T(UNSEEN_MAIN) &&
           (double)f->unexplained >= T(UNSEEN_GIB) * (double)MT_GIB &&
           live_share(f) < T(LIKELY_CARD);
}

/* The message breaks off before our own figures, but names several processes. */
bool mt_when_processes_listed(const struct mt_facts *f)
{
    return !known(f, MT_OOM_ALLOCATED) && !known(f, MT_OOM_PROCESS) &&
           f->incident->n_processes >= 2 && known(f, MT_OOM_TOTAL) &&
           mt_share(listed(f), f->total) >= T(HALF_CARD);
}

bool mt_when_outside_also(const struct mt_facts *f)
{
    return known2(f, MT_OOM_OUTSIDE, MT_OOM_TOTAL) &&
           (double)f->outside >= T(CONTEXT_GIB) * (double)MT_GIB &&
           mt_share(f->outside, f->total) >= T(OTHERS_ALSO);
}

bool mt_when_outside_main(const struct mt_facts *f)
{
    return mt_when_outside_also(f) && mt_share(f->outside, f->total) >= T(OTHERS_MAIN) &&
           live_share(f) < T(LIKELY_CARD);
}

/* Where the holes would make up for what is missing, how they lie has a say in it as well. */
bool mt_when_live_near(const struct mt_facts *f)
{
    return !mt_when_chunks_scattered(f) && knows_live(f) && live_share(f) >= T(NEAR_CARD) &&
           f->room.kind != MT_ROOM_SCATTERED && f->room.kind != MT_ROOM_FREE;
}

/* Not where it would fit if the holes lay together. */
bool mt_when_live_likely(const struct mt_facts *f)
{
    uint64_t held = mt_add_sat(mt_add_sat(f->allocated, f->outside), f->requested);
    bool fits = (mt_when_holes_decide(f) || mt_when_chunks_scattered(f)) && held <= f->total;
    return knows_live(f) && live_share(f) >= T(LIKELY_CARD) && !fits;
}

bool mt_when_live_and_request(const struct mt_facts *f)
{
    return knows_live(f) && known(f, MT_OOM_REQUESTED) && !mt_when_limit_tiny(f) &&
           mt_add_sat(f->allocated, f->requested) > f->total;
}

/* The card's size is not printed, but what is live and what is free make up most of it. */
bool mt_when_live_share_of_known(const struct mt_facts *f)
{
    return known2(f, MT_OOM_ALLOCATED, MT_OOM_FREE) && !known(f, MT_OOM_TOTAL) &&
           mt_share(f->allocated, mt_add_sat(f->allocated, f->free)) >= T(LIKELY_CARD);
}

bool mt_when_card_full(const struct mt_facts *f)
{
    return known2(f, MT_OOM_REQUESTED, MT_OOM_FREE) && !known(f, MT_OOM_ALLOCATED) &&
           f->free < f->requested;
}

bool mt_when_fallback_holes(const struct mt_facts *f)
{
    return knows_holes(f) && knows_live(f) && f->free < f->requested &&
           fits(f->requested, mt_add_sat(f->free, f->unallocated)) &&
           f->unallocated > f->unexplained && holes_share(f) >= T(HOLES_SEEN);
}

bool mt_when_fallback_live(const struct mt_facts *f)
{
    return knows_live(f) && known2(f, MT_OOM_FREE, MT_OOM_REQUESTED);
}

/* ---- the table ---- */

const struct mt_rule MT_RULES[] = {
#define THRESHOLD(name, value, what)
#define RULE(id, verdict, confidence, role, holds, say)                                            \
    {                                                                                              \
        id,                                                                                        \
        MT_VERDICT_##verdict,                                                                      \
        MT_CONFIDENCE_##confidence,                                                                \
        MT_RULE_##role,                                                                            \
        mt_when_##holds,                                                                           \
        mt_say_##say},
#include "triage/rules/rules.def"
#undef THRESHOLD
#undef RULE
};
const size_t MT_RULES_N = MT_COUNT(MT_RULES);

const struct mt_rule *mt_rules_primary(const struct mt_facts *f)
{
    for (size_t i = 0; i < MT_RULES_N; i++) {
        if (MT_RULES[i].role == MT_RULE_PRIMARY && MT_RULES[i].holds(f)) {
            return &MT_RULES[i];
        }
    }
    return &MT_RULES[MT_RULES_N - 1];
}

bool mt_rules_holds(const struct mt_facts *f, enum mt_verdict v)
{
    for (size_t i = 0; i < MT_RULES_N; i++) {
        const struct mt_rule *rule = &MT_RULES[i];
        bool fallback = rule->confidence == MT_CONFIDENCE_LOW && rule->role == MT_RULE_PRIMARY;
        if (rule->verdict == v && !fallback && rule->holds(f)) {
            return true;
        }
    }
    return false;
}
