/* SPDX-License-Identifier: MIT */
/*
 * What happened, in one sentence. The sentence of a verdict fits most of its events; where the
 * figures prove less (a job that would fit if its memory lay in one piece, a status that has other
 * causes too), it says less.
 */
#include "support/checked.h"
#include "triage/rules/rules_parts.h"

/* Live memory and the request are more than the card has beside this process's own overhead. */
static bool exceeds_card(const struct mt_facts *f)
{
    return mt_facts_has(f, MT_OOM_TOTAL) && mt_facts_has(f, MT_OOM_ALLOCATED) &&
           mt_facts_has(f, MT_OOM_REQUESTED) &&
           mt_add_sat(mt_add_sat(f->allocated, f->outside), f->requested) > f->total;
}

static const char *not_enough(const struct mt_facts *f)
{
    if (!mt_facts_has(f, MT_OOM_ALLOCATED)) {
        return "The card is full, but the message does not say with whose memory.";
    }
    if (f->room.kind == MT_ROOM_FREE || f->room.kind == MT_ROOM_SCATTERED) {
        return "The job takes most of the card, and what is left could not hold this request.";
    }
    if (f->incident->whole_is_limit) {
        return "The job needs more memory than the framework may take.";
    }
    bool alone = mt_facts_has(f, MT_OOM_TOTAL) && f->allocated > f->total;
    if (alone || exceeds_card(f)) {
        return mt_verdict_text(MT_VERDICT_NOT_ENOUGH);
    }
    return "The job needs more memory than is left for it on this card.";
}

static const char *fragmentation(const struct mt_facts *f, bool unsure)
{
    if (f->unallocated >= f->requested && !unsure) {
        return mt_verdict_text(MT_VERDICT_FRAGMENTATION);
    }
    return unsure ? "Enough memory was probably left, but in pieces that the request did not fit "
                    "into."
                  : "Enough memory was left, but in pieces that the request did not fit into.";
}

const char *mt_facts_headline(const struct mt_facts *f, const struct mt_rule *rule)
{
    bool unsure = rule->confidence == MT_CONFIDENCE_LOW;
    switch (rule->verdict) {
    case MT_VERDICT_NOT_ENOUGH: return not_enough(f);
    case MT_VERDICT_OVERSIZED_REQUEST:
        if (rule->holds == mt_when_is_kind_oversize && mt_facts_has(f, MT_OOM_REQUESTED)) {
            return "One single buffer is larger than the device allows.";
        }
        if (rule->holds == mt_when_request_beyond_limit) {
            return "One single allocation asked for more than this process may take.";
        }
        break;
    case MT_VERDICT_FRAGMENTATION: return fragmentation(f, unsure);
    case MT_VERDICT_FREE_EXCEEDS_REQUEST:
        if (unsure) {
            return "The card was probably not full: this process held little of it.";
        }
        break;
    case MT_VERDICT_PER_PROCESS_LIMIT:
        if (rule->say == mt_say_pool_or_driver) {
            return "A memory pool could not grow: at its own limit, or at the end of the card.";
        }
        if (!mt_facts_has(f, MT_OOM_FREE) && !f->device_used) {
            return "A limit was reached that is set for this process or its memory pool.";
        }
        break;
    case MT_VERDICT_OTHER_PROCESS:
        if (unsure) {
            return "Something else on the card probably holds the memory.";
        }
        if (!mt_facts_has(f, MT_OOM_OTHERS) && !mt_facts_plain(f)) {
            return "Much of the card is held outside PyTorch's allocator, by other processes or by "
                   "this one.";
        }
        break;
    case MT_VERDICT_NO_NUMBERS:
        if (f->incident->doubtful) {
            return "The GPU probably ran out of memory; the message alone does not prove it.";
        }
        break;
    default: break;
    }
    return mt_verdict_text(rule->verdict);
}
