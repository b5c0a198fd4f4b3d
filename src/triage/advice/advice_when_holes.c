/* SPDX-License-Identifier: MIT */
/* When advice about holes in the cache applies, and when a popular hint does not help. */
#include "triage/advice/advice_when_parts.h"

/* ---- holes ---- */

static bool era_is(const struct mt_facts *f, const char *prefix)
{
    return strncmp(f->incident->format, prefix, strlen(prefix)) == 0;
}

bool mt_facts_has_no_settings(const struct mt_facts *f)
{
    return era_is(f, "torch-1.0") || era_is(f, "torch-1.4") || era_is(f, "torch-0");
}

/* Windows has no virtual memory of the kind that they need. */
bool mt_facts_may_expand(const struct mt_facts *f)
{
    bool windows = f->notes && f->notes->said[MT_SAID_WINDOWS].known;
    bool native = mt_facts_backend_is(f, "cuda") || mt_facts_backend_is(f, "hip") ||
                  mt_facts_backend_is(f, "npu");
    return native && !windows && !f->incident->spilled && !mt_facts_has_no_settings(f) &&
           (!era_is(f, "torch-1.1") || era_is(f, "torch-1.13-2.4")) &&
           strcmp(f->incident->format, "cudaMallocAsync") != 0;
}

bool mt_if_before_torch_2_1(const struct mt_advisor *a)
{
    return mt_facts_has_no_settings(a->facts) || era_is(a->facts, "torch-1.10") ||
           era_is(a->facts, "torch-1.13-2.0");
}

static bool spent(const struct mt_facts *f)
{
    return f->expandable_on || f->expandable_fails;
}

bool mt_if_pools_large(const struct mt_advisor *a)
{
    uint64_t bytes = mt_oom_get(a->facts->numbers, MT_OOM_PRIVATE_POOLS);
    return bytes > 0 && bytes >= a->facts->room.missing && bytes >= MT_GIB;
}

IF(replays_fail, a->facts->replays_fail &&mt_if_holes_matter(a))

bool mt_if_holes_matter(const struct mt_advisor *a)
{
    return a->verdict == MT_VERDICT_FRAGMENTATION ||
           mt_rules_holds(a->facts, MT_VERDICT_FRAGMENTATION);
}

IF(replay_serves, a->facts->expandable_serves && !spent(a->facts) && mt_facts_may_expand(a->facts))
IF(other_replay_serves, a->facts->serving_conf &&spent(a->facts))
IF(change_serves, a->facts->change != NULL)
IF(only_change_serves, a->facts->change && !a->facts->serving_conf && !a->facts->expandable_serves)

bool mt_if_may_expand_for_holes(const struct mt_advisor *a)
{
    const struct mt_facts *f = a->facts;
    bool limit = a->verdict == MT_VERDICT_PER_PROCESS_LIMIT;
    return mt_facts_may_expand(f) && !spent(f) && !f->replays_fail &&
           (!limit || f->room.kind == MT_ROOM_SCATTERED);
}

IF(expandable_already, a->facts->expandable_on && !a->facts->replays_fail)

/* Where segments expand, blocks are cut whatever the limit says; and what is set is not set again.
 */
bool mt_if_may_split(const struct mt_advisor *a)
{
    const struct mt_facts *f = a->facts;
    bool set =
        mt_str_find(f->conf, MT_STR("max_split_size_mb")) != SIZE_MAX || said(a, MT_SAID_SPLIT_SET);
    return !mt_facts_may_expand(f) && !mt_facts_has_no_settings(f) && !set && !f->expandable_on &&
           is_native(a) && strcmp(f->incident->format, "cudaMallocAsync") != 0 &&
           !f->replays_fail && f->requested > 0;
}

IF(is_old, mt_facts_has_no_settings(a->facts))
IF(plain_may_expand, !spent(a->facts))

/* They would make up for what is missing, though they are not the main matter. */
bool mt_if_holes_would_do(const struct mt_advisor *a)
{
    const struct mt_facts *f = a->facts;
    return incident(a)->phase != MT_PHASE_LOADING && incident(a)->phase != MT_PHASE_CAPTURE &&
           f->room.kind == MT_ROOM_SCATTERED && mt_incident_is(f->incident, "torch") &&
           mt_facts_may_expand(f) && !spent(f) && !f->replays_fail && !mt_facts_holder(f);
}

/* ---- hints that do not help ---- */

bool mt_if_hints(const struct mt_advisor *a)
{
    return mt_facts_has(a->facts, MT_OOM_REQUESTED) && mt_if_not_mps(a) && !is_backend(a, "hpu") &&
           mt_incident_is(incident(a), "torch");
}

IF(hints_of_free, mt_if_hints(a) && !mt_if_xpu_large(a))
IF(hints_with_live, mt_if_hints(a) && mt_facts_has(a->facts, MT_OOM_ALLOCATED))

static bool hints_of_cache(const struct mt_advisor *a)
{
    return mt_if_hints(a) && strcmp(incident(a)->format, "torch-fraction") != 0 &&
           !mt_facts_watched(a->facts) && strcmp(incident(a)->format, "cudaMallocAsync") != 0;
}

IF(hint_expandable_on, hints_of_cache(a) && a->facts->expandable_on)

bool mt_if_hint_expandable_failed(const struct mt_advisor *a)
{
    return hints_of_cache(a) && !a->facts->expandable_on && a->facts->expandable_fails;
}

/* The figures rule the popular setting out. */
bool mt_if_hint_holes(const struct mt_advisor *a)
{
    const struct mt_facts *f = a->facts;
    return hints_of_cache(a) && !spent(f) && !mt_rules_holds(f, MT_VERDICT_FRAGMENTATION) &&
           !mt_facts_has_no_settings(f) && mt_facts_has(f, MT_OOM_UNALLOCATED);
}

/* The message itself recommends it, and prints nothing that would show whether it helps. */
bool mt_if_hint_standard(const struct mt_advisor *a)
{
    return hints_of_cache(a) && !spent(a->facts) && a->facts->incident->expandable_hint &&
           !mt_facts_has(a->facts, MT_OOM_UNALLOCATED);
}

IF(hint_holes_short, mt_if_hint_holes(a) && a->facts->room.kind == MT_ROOM_SHORT)

bool mt_if_hint_holes_unknown(const struct mt_advisor *a)
{
    return mt_if_hint_holes(a) && a->facts->room.kind == MT_ROOM_UNKNOWN &&
           a->facts->unallocated < a->facts->requested;
}

/* PyTorch gives nothing back while a graph is captured. */
IF(hint_empty_cache, hints_of_cache(a) && incident(a)->phase != MT_PHASE_CAPTURE)
