/* SPDX-License-Identifier: MIT */
/*
 * Who holds the card, as far as the snapshot tells: the figures of the event from the account's
 * rows. In a process that was watched every call of the driver is there, so what PyTorch's
 * allocator reserved is told from what NCCL and others took beside it; how much of the reserved
 * memory held tensors is not. Of a program without PyTorch, what it and its libraries allocated is
 * its live memory.
 */
#include "heap/walk/query.h"
#include "support/checked.h"
#include "support/units.h"
#include "triage/triage_state.h"

enum { OWNERS_SAID = 5 };

enum mt_status mt_shot_account(struct mt_triage *t, struct mt_shot *shot, struct mt_error *err)
{
    struct mt_trace trace = mt_device_trace(shot->snapshot, shot->device);
    const struct mt_smi *smi = t->options.smi;
    const struct mt_smi_gpu *gpu = smi ? mt_smi_gpu_find(smi, shot->device) : NULL;
    bool said = t->options.device_used > 0 || (gpu && gpu->used_known);
    struct mt_account_figures given = {
        .used_known = t->options.device_used > 0,
        .used = t->options.device_used,
        .smi = smi,
        .source = t->options.device_used > 0 ? "--device-used" : "nvidia-smi",
        .free_known = shot->oom && shot->oom->addr > 0 && !said, /* what the user says counts */
        .free = shot->oom ? shot->oom->addr : 0,
        .after = shot->oom ? (size_t)(shot->oom - shot->snapshot->events) - trace.first + 1 : 0};
    mt_account_release(&shot->account);
    MT_TRY(mt_account_find(&shot->account, shot->snapshot, shot->device, &given, err));
    uint64_t beyond = shot->account.beyond;
    if (beyond > 0 && shot->oom && shot->oom->addr > 0) { /* then what the event recorded */
        given.used_known = false;
        given.free_known = true;
        mt_account_release(&shot->account);
        MT_TRY(mt_account_find(&shot->account, shot->snapshot, shot->device, &given, err));
        shot->account.beyond = beyond;
    }
    return MT_OK;
}

static uint64_t sum_of(const struct mt_account *a, const enum mt_owner_kind *kinds, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum = mt_add_sat(sum, mt_account_sum(a, kinds[i]));
    }
    return sum;
}

void mt_shot_figures(const struct mt_shot *shot, struct mt_incident *i)
{
    static const enum mt_owner_kind ALL[] = {MT_OWNER_ALLOCATOR, MT_OWNER_PROGRAM, MT_OWNER_LIBRARY,
                                             MT_OWNER_UNKNOWN};
    const struct mt_account *a = &shot->account;
    if (a->total_known) {
        mt_oom_set(&i->numbers, MT_OOM_TOTAL, a->total);
    }
    if (a->recorded.watched) {
        uint64_t own = sum_of(a, ALL, a->recorded.plain ? MT_COUNT(ALL) : 1);
        mt_oom_set(&i->numbers, MT_OOM_ALLOCATED, own);
        mt_oom_set(&i->numbers, MT_OOM_RESERVED, own);
        i->cache_counts = !a->recorded.plain;
    }
    if (a->recorded.watched || a->own_is_inferred) {
        mt_oom_set(&i->numbers, MT_OOM_PROCESS, a->process);
        i->own_process = a->own_is_inferred ? "inferred" : "printed";
    }
    if (a->own_is_inferred ||
        a->own_is_missing) { /* what no list names is not known to be theirs */
        mt_oom_set(&i->numbers, MT_OOM_OTHERS, mt_account_sum(a, MT_OWNER_OTHER_PROCESS));
    } else if (a->recorded.watched && mt_account_sum(a, MT_OWNER_CONTEXT) > 0) {
        mt_oom_set(&i->numbers, MT_OOM_OTHERS, mt_account_sum(a, MT_OWNER_BEFORE));
    }
}

static void add_owner(struct mt_buf *line, const struct mt_owner *o, bool first)
{
    mt_buf_text(line, first ? "" : ", ");
    mt_buf_str(line, o->name);
    mt_buf_printf(line, " %s", mt_advice_size(o->bytes).s);
}

static void say_owners(struct mt_triage *t, const struct mt_account *a)
{
    struct mt_buf line = {0};
    size_t said = 0;
    if (!mt_account_is_whole(a) || a->rows.n < 2) {
        return; /* one owner is no division */
    }
    for (size_t i = 0; i < a->rows.n && said < OWNERS_SAID; i++) {
        const struct mt_owner *o = &a->rows.v[i];
        if (o->kind != MT_OWNER_UNEXPLAINED && o->bytes > 0) {
            add_owner(&line, o, said++ == 0);
        }
    }
    uint64_t rest = a->over ? 0 : mt_account_sum(a, MT_OWNER_UNEXPLAINED);
    if (rest > 0) {
        mt_buf_printf(&line, "%snot explained %s", said ? ", " : "", mt_advice_size(rest).s);
    }
    if (a->over) {
        mt_buf_printf(&line, " (%s more than the card reports: its figure is of another moment)",
                      mt_advice_size(mt_account_sum(a, MT_OWNER_UNEXPLAINED)).s);
    }
    t->no_memory |= line.failed;
    if (line.n > 0 && !line.failed) {
        mt_evidence_add(t, "Who holds the card: %s.", line.p);
    }
    mt_buf_release(&line);
}

/* Where what the user gave cannot be, or is of another moment than the event. */
static void say_doubts(struct mt_triage *t, const struct mt_account *a)
{
    const struct mt_event *oom = t->shot ? t->shot->oom : NULL;
    if (a->beyond > 0) {
        mt_evidence_add(t, "%s as in use is more than the card has (%s): it was left aside.",
                        mt_advice_size(a->beyond).s, mt_advice_size(a->total).s);
    } else if (a->used_known && a->total_known && oom && oom->addr > 0 && oom->addr <= a->total) {
        uint64_t then = a->total - oom->addr, used = a->used;
        uint64_t apart = then > used ? then - used : used - then;
        if (apart >= a->total / 50) {
            mt_evidence_add(t,
                            "%s is of another moment: when it failed, the driver had %s in use, "
                            "%s %s.",
                            a->source, mt_advice_size(then).s, mt_advice_size(apart).s,
                            then > used ? "more" : "less");
        }
    }
    if (a->own_is_missing) {
        mt_evidence_add(t,
                        "No process that nvidia-smi lists is large enough to be this one, which "
                        "holds at least %s: another card, another moment, or it had ended.",
                        mt_advice_size(a->process).s);
    }
}

void mt_evidence_account(struct mt_triage *t, const struct mt_account *a)
{
    say_owners(t, a);
    say_doubts(t, a);
}
