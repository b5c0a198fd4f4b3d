/* SPDX-License-Identifier: MIT */
/*
 * The conditions and evidence sentences of rules.def. Each condition is a few comparisons of the
 * figures that the message printed; a figure that is not known makes a condition that needs it
 * fail. Thresholds stand in the table, not here.
 */
#include "rules.h"

#include <memtool/checked.h>
#include <memtool/units.h>

#define GIB (1ull << 30)

enum {
#define THRESHOLD(name, value, what) THRESHOLD_##name,
#define RULE(id, verdict, confidence, role, holds, say)
#include "rules.def"
#undef THRESHOLD
#undef RULE
    THRESHOLD_COUNT
};

static const double THRESHOLDS[THRESHOLD_COUNT] = {
#define THRESHOLD(name, value, what) [THRESHOLD_##name] = value,
#define RULE(id, verdict, confidence, role, holds, say)
#include "rules.def"
#undef THRESHOLD
#undef RULE
};
#define T(name) (THRESHOLDS[THRESHOLD_##name])

static bool known(const struct mt_facts *f, enum mt_oom_field a)
{
    return mt_facts_has(f, a);
}

static bool known2(const struct mt_facts *f, enum mt_oom_field a, enum mt_oom_field b)
{
    return known(f, a) && known(f, b);
}

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
    uint64_t seen = mt_add_sat(f->free, f->reserved);
    if (strcmp(incident->format, "snapshot") == 0 && known(f, MT_OOM_FREE)) {
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

static bool is_kind_oversize(const struct mt_facts *f)
{
    return f->incident->kind == MT_KIND_OVERSIZE;
}

static bool is_kind_limit(const struct mt_facts *f)
{
    return f->incident->kind == MT_KIND_LIMIT;
}

static bool is_kind_library(const struct mt_facts *f)
{
    return f->incident->kind == MT_KIND_LIBRARY;
}

static bool always(const struct mt_facts *f)
{
    (void)f;
    return true;
}

static bool request_beyond_card(const struct mt_facts *f)
{
    return known2(f, MT_OOM_REQUESTED, MT_OOM_TOTAL) && f->total > 0 && f->requested > f->total;
}

static bool request_beyond_limit(const struct mt_facts *f)
{
    return known2(f, MT_OOM_REQUESTED, MT_OOM_ALLOWED) && f->allowed > 0 &&
           f->requested > f->allowed;
}

/* Half a card at once, and not even the whole cache given back would make room for it. */
static bool request_half_card(const struct mt_facts *f)
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

static bool request_any_card(const struct mt_facts *f)
{
    return known(f, MT_OOM_REQUESTED) && !known(f, MT_OOM_TOTAL) &&
           (double)f->requested >= T(ANY_CARD_GIB) * (double)GIB;
}

/* A limit is no limit where it lies at the card's own size. */
static bool limit_is_real(const struct mt_facts *f)
{
    return known(f, MT_OOM_ALLOWED) &&
           (!known(f, MT_OOM_TOTAL) || (double)f->allowed < 0.995 * (double)f->total);
}

static bool limit_reached(const struct mt_facts *f)
{
    uint64_t held = f->reserved > f->allocated ? f->reserved : f->allocated;
    return limit_is_real(f) && known2(f, MT_OOM_FREE, MT_OOM_REQUESTED) &&
           f->free >= f->requested &&
           (double)mt_add_sat(held, f->requested) >= T(LIMIT_NEAR) * (double)f->allowed;
}

static bool limit_near(const struct mt_facts *f)
{
    uint64_t held = f->reserved > f->allocated ? f->reserved : f->allocated;
    return limit_is_real(f) && !known(f, MT_OOM_FREE) &&
           (double)mt_add_sat(held, f->requested) >= T(LIMIT_NEAR) * (double)f->allowed;
}

/* TensorFlow takes an odd number of bytes from the card by default; a limit that is a round number
 * of MiB was set by someone. */
static bool framework_limit(const struct mt_facts *f)
{
    return strcmp(f->incident->framework, "tensorflow") == 0 && known(f, MT_OOM_TOTAL) &&
           f->total > 0 && f->total % (128u << 20) == 0;
}

static bool free_exceeds(const struct mt_facts *f)
{
    return known2(f, MT_OOM_FREE, MT_OOM_REQUESTED) && known(f, MT_OOM_TOTAL) &&
           !limit_reached(f) && (double)f->free >= T(FREE_FACTOR) * (double)f->requested &&
           (double)f->free - (double)f->requested >= T(FREE_SHARE) * (double)f->total &&
           live_share(f) < T(NEAR_CARD);
}

/* The free figure is not printed (XPU, MPS), but nothing that is fills the card. */
static bool free_implied(const struct mt_facts *f)
{
    uint64_t held = f->reserved > f->allocated ? f->reserved : f->allocated;
    held = mt_add_sat(held, f->outside);
    return !known(f, MT_OOM_FREE) && known2(f, MT_OOM_TOTAL, MT_OOM_REQUESTED) &&
           known(f, MT_OOM_ALLOCATED) && !limit_near(f) && f->total > held &&
           (double)(f->total - held) >= T(FREE_FACTOR) * (double)f->requested &&
           (double)(f->total - held) - (double)f->requested >= 5 * T(FREE_SHARE) * (double)f->total;
}

static bool leak_printed(const struct mt_facts *f)
{
    return f->leak != NULL;
}

static bool leak_recorded(const struct mt_facts *f)
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

static bool knows_holes(const struct mt_facts *f)
{
    return known2(f, MT_OOM_UNALLOCATED, MT_OOM_REQUESTED) && known(f, MT_OOM_RESERVED);
}

static bool holes_decide(const struct mt_facts *f)
{
    return knows_holes(f) && fits(f->requested, f->unallocated) &&
           holes_share(f) >= T(HOLES_DECIDE);
}

static bool holes_high(const struct mt_facts *f)
{
    return holes_decide(f) && holes_share(f) >= T(HOLES_HIGH);
}

static bool holes_and_free(const struct mt_facts *f)
{
    return knows_holes(f) && f->free < f->requested &&
           fits(f->requested, mt_add_sat(f->free, f->unallocated)) &&
           holes_share(f) >= T(HOLES_HIGH) && f->unallocated >= f->requested / 4;
}

static bool others_main(const struct mt_facts *f)
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

static bool others_also(const struct mt_facts *f)
{
    return known2(f, MT_OOM_OTHERS, MT_OOM_TOTAL) && is_short(f) &&
           mt_share(f->others, f->total) >= T(OTHERS_ALSO) &&
           (double)f->others >= T(ALSO_GIB) * (double)GIB;
}

static bool unexplained_also(const struct mt_facts *f)
{
    return f->knows_unexplained && f->incident->n_processes == 0 && is_short(f) &&
           (double)f->unexplained >= T(CONTEXT_GIB) * (double)GIB &&
           mt_share(f->unexplained, f->total) >= T(UNSEEN_ALSO);
}

static bool unexplained_main(const struct mt_facts *f)
{
    return unexplained_also(f) && mt_share(f->unexplained, f->total) >= T(UNSEEN_MAIN) &&
           (double)f->unexplained >= T(UNSEEN_GIB) * (double)GIB && live_share(f) < T(LIKELY_CARD);
}

static uint64_t listed(const struct mt_facts *f)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < f->incident->n_processes; i++) {
        sum = mt_add_sat(sum, f->incident->processes[i].bytes);
    }
    return sum;
}

/* The message breaks off before our own figures, but names several processes. */
static bool processes_listed(const struct mt_facts *f)
{
    return !known(f, MT_OOM_ALLOCATED) && !known(f, MT_OOM_PROCESS) &&
           f->incident->n_processes >= 2 && known(f, MT_OOM_TOTAL) &&
           mt_share(listed(f), f->total) >= T(HALF_CARD);
}

static bool outside_also(const struct mt_facts *f)
{
    return known2(f, MT_OOM_OUTSIDE, MT_OOM_TOTAL) &&
           (double)f->outside >= T(CONTEXT_GIB) * (double)GIB &&
           mt_share(f->outside, f->total) >= T(OTHERS_ALSO);
}

static bool outside_main(const struct mt_facts *f)
{
    return outside_also(f) && mt_share(f->outside, f->total) >= T(OTHERS_MAIN) &&
           live_share(f) < T(LIKELY_CARD);
}

static bool live_near(const struct mt_facts *f)
{
    return knows_live(f) && live_share(f) >= T(NEAR_CARD);
}

static bool live_likely(const struct mt_facts *f)
{
    return knows_live(f) && live_share(f) >= T(LIKELY_CARD);
}

static bool live_and_request(const struct mt_facts *f)
{
    return knows_live(f) && known(f, MT_OOM_REQUESTED) &&
           mt_add_sat(f->allocated, f->requested) > f->total;
}

/* The card's size is not printed, but what is live and what is free make up most of it. */
static bool live_share_of_known(const struct mt_facts *f)
{
    return known2(f, MT_OOM_ALLOCATED, MT_OOM_FREE) && !known(f, MT_OOM_TOTAL) &&
           mt_share(f->allocated, mt_add_sat(f->allocated, f->free)) >= T(LIKELY_CARD);
}

static bool card_full(const struct mt_facts *f)
{
    return known2(f, MT_OOM_TOTAL, MT_OOM_FREE) && known(f, MT_OOM_REQUESTED) &&
           !known(f, MT_OOM_ALLOCATED) && f->free < f->requested;
}

static bool fallback_holes(const struct mt_facts *f)
{
    return knows_holes(f) && knows_live(f) && f->free < f->requested &&
           fits(f->requested, mt_add_sat(f->free, f->unallocated)) &&
           f->unallocated > f->unexplained && holes_share(f) >= T(HOLES_SEEN);
}

static bool fallback_live(const struct mt_facts *f)
{
    return knows_live(f) && known2(f, MT_OOM_FREE, MT_OOM_REQUESTED);
}

/* ---- evidence ---- */

static struct mt_size_text text(uint64_t bytes)
{
    return mt_size_text(bytes, (struct mt_size_format){.unit = MT_UNIT_AUTO});
}

static double per_cent(uint64_t part, uint64_t whole)
{
    return 100.0 * mt_share(part, whole);
}

static void say_oversize_kind(const struct mt_facts *f, struct mt_buf *out)
{
    if (known(f, MT_OOM_REQUESTED)) {
        mt_buf_printf(out, "One buffer of %s is above the largest that the device allows.",
                      text(f->requested).s);
        return;
    }
    mt_buf_text(out, "The size asked for is beyond any device: it comes from a wrong shape or a "
                     "negative number, not from need.");
}

static void say_request_card(const struct mt_facts *f, struct mt_buf *out)
{
    mt_buf_printf(out, "One request of %s is %.1f times the whole card (%s).", text(f->requested).s,
                  mt_share(f->requested, f->total), text(f->total).s);
}

static void say_request_limit(const struct mt_facts *f, struct mt_buf *out)
{
    mt_buf_printf(out, "One request of %s is above everything this process may take (%s).",
                  text(f->requested).s, text(f->allowed).s);
}

static void say_request_half(const struct mt_facts *f, struct mt_buf *out)
{
    mt_buf_printf(out, "One request of %s is %.0f %% of the card", text(f->requested).s,
                  per_cent(f->requested, f->total));
    if (known(f, MT_OOM_FREE)) {
        mt_buf_printf(out, ", and free memory together with PyTorch's whole cache is only %s.",
                      text(mt_add_sat(f->free, f->unallocated)).s);
    } else {
        mt_buf_printf(out, ", with %s live already.", text(f->allocated).s);
    }
}

static void say_request_any(const struct mt_facts *f, struct mt_buf *out)
{
    mt_buf_printf(out, "One buffer of %s: hardly any single card holds that.",
                  text(f->requested).s);
}

static void say_kind_limit(const struct mt_facts *f, struct mt_buf *out)
{
    mt_buf_printf(out, "The message says that a %s was reached, not that the card was full.",
                  strcmp(f->incident->framework, "rmm") == 0 ? "memory pool's maximum size"
                                                             : "limit of this process");
}

static void say_limit(const struct mt_facts *f, struct mt_buf *out)
{
    uint64_t held = f->reserved > f->allocated ? f->reserved : f->allocated;
    mt_buf_printf(out, "This process may take %s and holds %s; %s more would go beyond it.",
                  text(f->allowed).s, text(held).s, text(f->requested).s);
    if (f->free > f->requested) {
        mt_buf_printf(out, " The card still had %s free.", text(f->free).s);
    }
}

static void say_framework_limit(const struct mt_facts *f, struct mt_buf *out)
{
    mt_buf_printf(out,
                  "TensorFlow was allowed exactly %s, a round number that someone set, and used "
                  "%s of it.",
                  text(f->total).s, text(f->allocated).s);
}

static void say_free_exceeds(const struct mt_facts *f, struct mt_buf *out)
{
    mt_buf_printf(out, "%s was asked for while %s of %s was free.", text(f->requested).s,
                  text(f->free).s, text(f->total).s);
}

static void say_free_implied(const struct mt_facts *f, struct mt_buf *out)
{
    mt_buf_printf(out,
                  "PyTorch held only %s of %s and asked for %s more; how much was free is not "
                  "printed.",
                  text(f->reserved > f->allocated ? f->reserved : f->allocated).s, text(f->total).s,
                  text(f->requested).s);
}

static void say_leak_printed(const struct mt_facts *f, struct mt_buf *out)
{
    const struct mt_series *s = f->leak;
    mt_buf_printf(out,
                  "Memory rises by %s a step: from %s at step %lld (line %llu) to %s at step %lld.",
                  text((uint64_t)s->bytes_per_step).s, text(s->first).s, (long long)s->first_step,
                  (unsigned long long)s->first_line, text(s->last).s, (long long)s->last_step);
}

static void say_leak_recorded(const struct mt_facts *f, struct mt_buf *out)
{
    mt_buf_printf(out, "The snapshot shows live memory growing by %s a step, most of it from %s.",
                  text(f->growth).s, f->growing);
}

static void say_holes(const struct mt_facts *f, struct mt_buf *out)
{
    mt_buf_printf(out,
                  "%s of the %s that PyTorch had reserved was unallocated (%.0f %%), more than the "
                  "%s asked for: no single hole was large enough.",
                  text(f->unallocated).s, text(f->reserved).s,
                  per_cent(f->unallocated, f->reserved), text(f->requested).s);
}

static void say_holes_and_free(const struct mt_facts *f, struct mt_buf *out)
{
    mt_buf_printf(out,
                  "%s free and %s reserved but unallocated (%.0f %% of reserved) would together "
                  "hold the %s asked for, but not in one piece.",
                  text(f->free).s, text(f->unallocated).s, per_cent(f->unallocated, f->reserved),
                  text(f->requested).s);
}

static void say_others(const struct mt_facts *f, struct mt_buf *out)
{
    mt_buf_printf(out, "Other processes hold %s, %.0f %% of the card.", text(f->others).s,
                  per_cent(f->others, f->total));
}

static void say_unexplained(const struct mt_facts *f, struct mt_buf *out)
{
    mt_buf_printf(out,
                  "%s of the card (%.0f %%) is in use outside PyTorch's allocator: other processes "
                  "or this one's CUDA context and libraries (the message does not say which; a "
                  "context takes 0.5 to 1 GiB).",
                  text(f->unexplained).s, per_cent(f->unexplained, f->total));
}

static void say_processes(const struct mt_facts *f, struct mt_buf *out)
{
    mt_buf_printf(out,
                  "The message names %zu processes with %s together; it breaks off before this "
                  "process's own figures.",
                  f->incident->n_processes, text(listed(f)).s);
}

static void say_outside(const struct mt_facts *f, struct mt_buf *out)
{
    bool mps = strcmp(f->incident->backend, "mps") == 0;
    mt_buf_printf(out,
                  mps ? "%s (%.0f %%) of what may be used is held by other allocations than "
                        "PyTorch's on this Mac."
                      : "%s (%.0f %% of the card) of this process lies outside PyTorch's "
                        "allocator: CUDA context, NCCL, cuBLAS/cuDNN workspaces, other libraries.",
                  text(f->outside).s, per_cent(f->outside, f->total));
}

static void say_live(const struct mt_facts *f, struct mt_buf *out)
{
    mt_buf_printf(out, "Live tensors take %s, %.0f %% of the %s.", text(f->allocated).s,
                  per_cent(f->allocated, f->total), text(f->total).s);
    if (known(f, MT_OOM_FREE) && f->requested > f->free) {
        mt_buf_printf(out, " At least %s more is needed.", text(f->requested - f->free).s);
    }
}

static void say_live_and_request(const struct mt_facts *f, struct mt_buf *out)
{
    mt_buf_printf(out, "Live tensors (%s) and this request (%s) together exceed the card (%s).",
                  text(f->allocated).s, text(f->requested).s, text(f->total).s);
}

static void say_live_known(const struct mt_facts *f, struct mt_buf *out)
{
    mt_buf_printf(out, "%s is allocated and only %s free; %s was asked for.", text(f->allocated).s,
                  text(f->free).s, text(f->requested).s);
}

static void say_card_full(const struct mt_facts *f, struct mt_buf *out)
{
    mt_buf_printf(out,
                  "The card is full (%s of %s free), but the message breaks off before it says who "
                  "holds the memory.",
                  text(f->free).s, text(f->total).s);
}

static void say_library(const struct mt_facts *f, struct mt_buf *out)
{
    mt_buf_printf(out,
                  "%s allocates past PyTorch's allocator and found the card full: PyTorch's cache "
                  "may hold what it needed.",
                  strcmp(f->incident->format, "nccl") == 0 ? "NCCL" : "A CUDA library");
}

static void say_no_numbers(const struct mt_facts *f, struct mt_buf *out)
{
    if (known(f, MT_OOM_REQUESTED)) {
        mt_buf_printf(out,
                      "Only the size asked for is printed (%s); how full the card was, and with "
                      "what, is not.",
                      text(f->requested).s);
    } else {
        mt_buf_text(out, "The message holds no figures: neither the card's size nor what was in "
                         "use.");
    }
}

/* ---- the table ---- */

const struct mt_rule MT_RULES[] = {
#define THRESHOLD(name, value, what)
#define RULE(id, verdict, confidence, role, holds, say)                                            \
    {id, MT_VERDICT_##verdict, MT_CONFIDENCE_##confidence, MT_RULE_##role, holds, say},
#include "rules.def"
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
