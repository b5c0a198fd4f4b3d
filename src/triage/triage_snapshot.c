/* SPDX-License-Identifier: MIT */
/*
 * What a snapshot adds to a triage: at its out-of-memory event (or its end) the largest hole that
 * the request could have used, who pins the segments, which stacks hold the memory, what grows from
 * step to step, and whether another setting would have let the request through. Only a snapshot of
 * the same failure may speak about a log: PyTorch records in its OOM event the request and what the
 * driver had free, and the message prints both.
 */
#include <inttypes.h>
#include <stdio.h>

#include "support/checked.h"
#include "snapshot/model/device_segments.h"
#include "heap/stacks/frames.h"
#include "heap/findings/peak.h"
#include "heap/walk/query.h"
#include "snapshot/model/settings.h"
#include "verbs/simulate/simulate.h" /* and through it the settings that it replays */
#include "support/units.h"

#include "triage/triage_state.h"

/* What a command needs in front of a file that is damaged. */
#define SALVAGE "--salvage "

/* Beyond this many events a what-if run takes too long for a first look (about 1 s a million). */
#define SIMULATED_EVENTS 2000000

enum mt_status mt_triage_snapshot(struct mt_triage *t, const struct mt_snapshot *s,
                                  const char *file, struct mt_error *err)
{
    struct mt_shot shot = {.snapshot = s, .file = file, .argument = file, .device = -1};
    if (s->source.salvaged) {
        char *argument = mt_arena_alloc(&t->arena, sizeof SALVAGE + strlen(file));
        if (!argument) {
            return mt_fail_nomem(err);
        }
        memcpy(argument, SALVAGE, sizeof SALVAGE - 1);
        memcpy(argument + sizeof SALVAGE - 1, file, strlen(file) + 1);
        shot.argument = argument;
    }
    return mt_vec_push(&t->shots, shot) ? MT_OK : mt_fail_nomem(err);
}

void mt_shots_release(struct mt_triage *t)
{
    for (size_t i = 0; i < t->shots.n; i++) {
        mt_frag_release(&t->shots.v[i].frag);
        mt_peak_release(&t->shots.v[i].peak);
        mt_leaks_release(&t->shots.v[i].leaks);
        mt_driver_price_release(&t->shots.v[i].driver);
        mt_account_release(&t->shots.v[i].account);
        mt_sim_cures_release(&t->shots.v[i].changes);
    }
    mt_vec_release(&t->shots);
}

/* ---- looking at one snapshot ---- */

/* The last out-of-memory event of a device's trace, or NULL. */
static const struct mt_event *last_oom(const struct mt_snapshot *s, int32_t device)
{
    struct mt_trace trace = mt_device_trace(s, device);
    for (size_t i = trace.n; i-- > 0;) {
        if (s->events[trace.first + i].action == MT_ACTION_OOM) {
            return &s->events[trace.first + i];
        }
    }
    return NULL;
}

static uint64_t reserved_on(const struct mt_snapshot *s, int32_t device)
{
    uint64_t sum = 0;
    struct mt_device_segments walk = mt_device_segments(s, device);
    for (const struct mt_segment *g; (g = mt_device_segments_next(&walk)) != NULL;) {
        sum += g->total_size;
    }
    return sum;
}

/* The device that failed, else the fullest. */
static enum mt_status choose_device(struct mt_shot *shot, struct mt_error *err)
{
    struct mt_devices devices = {0};
    uint64_t most = 0;
    enum mt_status status = mt_devices_find(&devices, shot->snapshot, false, err);
    for (size_t i = 0; status == MT_OK && i < devices.ids.n; i++) {
        int32_t device = devices.ids.v[i];
        const struct mt_event *oom = last_oom(shot->snapshot, device);
        uint64_t weight = reserved_on(shot->snapshot, device) + 1;
        weight = oom ? mt_add_sat(weight, UINT64_MAX / 2) : weight;
        if (weight > most) {
            most = weight;
            shot->device = device;
            shot->oom = oom;
        }
    }
    mt_devices_release(&devices);
    return status;
}

static enum mt_status holders(struct mt_shot *shot, const struct mt_replay *r,
                              struct mt_peak_options *o, struct mt_error *err)
{
    struct mt_rules *rules;
    MT_TRY(mt_rules_new((struct mt_str){NULL, 0}, &rules, err));
    o->rules = rules;
    enum mt_status status = mt_peak_find(&shot->peak, shot->snapshot, r, NULL, o, err);
    mt_rules_free(rules);
    return status;
}

static enum mt_status look(struct mt_triage *t, struct mt_shot *shot, const struct mt_replay *r,
                           struct mt_error *err)
{
    struct mt_moment at = {.kind = shot->oom ? MT_AT_OOM : MT_AT_END};
    /* One line may be reached by several ways; whoever reads it sees one line. */
    struct mt_peak_options peak = {.at = at,
                                   .by = t->options.line_label ? MT_BY_LINE : MT_BY_STACK};
    struct mt_leak_options leak = {.threshold = MT_LEAK_THRESHOLD};
    shot->rules = mt_settings_rules(shot->snapshot);
    shot->expandable = shot->rules.settings.expandable_segments;
    MT_TRY(mt_frag_find(&shot->frag, shot->snapshot, r, NULL, &at, err));
    MT_TRY(holders(shot, r, &peak, err));
    MT_TRY(mt_driver_price_find(&shot->driver, r, 0, r->n, err));
    shot->span_us = mt_replay_span_us(r);
    return mt_leaks_find(&shot->leaks, shot->snapshot, r, NULL, &leak, err);
}

/* One run under other settings; those that cannot be read are passed over. */
static enum mt_status try_conf(struct mt_shot *shot, struct mt_sim *sim, const char *conf,
                               struct mt_error *err)
{
    struct mt_sim_run run = {0};
    struct mt_conf parsed;
    mt_conf_parse(mt_str_from(conf), mt_sim_release(sim), &parsed);
    if (shot->n_trials == MT_SHOT_TRIALS || !parsed.valid) {
        return MT_OK;
    }
    enum mt_status status =
        mt_sim_what_if(sim, &parsed.settings, mt_str_from(conf), &run, NULL, err);
    if (status == MT_OK) {
        struct mt_shot_trial *trial = &shot->trials[shot->n_trials++];
        trial->verdict = run.verdict;
        (void)snprintf(trial->conf, sizeof trial->conf, "%s", conf);
    }
    mt_sim_run_release(&run);
    return status;
}

static enum mt_status what_if(struct mt_shot *shot, struct mt_sim *sim, struct mt_error *err)
{
    struct mt_sim_candidate candidates[MT_SHOT_TRIALS];
    struct mt_sim_run recorded = {0};
    enum mt_status status = mt_sim_replay(sim, &recorded, NULL, err);
    if (status == MT_OK) {
        const struct mt_sim_bound *limit = mt_sim_limit(sim);
        shot->limit = limit->known ? limit->bytes : 0;
        shot->limit_below = limit->known && !limit->given && limit->has_below ? limit->below : 0;
        shot->exact = recorded.exact;
    }
    bool tries = status == MT_OK && recorded.exact; /* else a what-if proves nothing */
    if (tries && !shot->expandable) {
        status = try_conf(shot, sim, MT_SHOT_EXPANDABLE, err);
    }
    size_t n = tries ? mt_sim_candidates(sim, &recorded, candidates, MT_SHOT_TRIALS) : 0;
    for (size_t i = 0; i < n && status == MT_OK; i++) {
        if (strcmp(candidates[i].conf, MT_SHOT_EXPANDABLE) != 0) {
            status = try_conf(shot, sim, candidates[i].conf, err);
        }
    }
    mt_sim_run_release(&recorded);
    return status;
}

/* A replay that cannot be made says nothing; only lack of memory is a failure of the triage. */
static enum mt_status simulate(struct mt_shot *shot, struct mt_error *err)
{
    struct mt_sim_options options = {0};
    struct mt_sim *sim = NULL;
    struct mt_trace trace = mt_device_trace(shot->snapshot, shot->device);
    if (!shot->oom || trace.n == 0 || trace.n > SIMULATED_EVENTS ||
        shot->account.recorded.watched) {
        return MT_OK; /* what was watched are calls of the driver, not requests to an allocator */
    }
    enum mt_status status = mt_sim_load(shot->snapshot, shot->device, &options, &sim, err);
    if (status == MT_OK && mt_sim_events(sim) > 0) {
        status = what_if(shot, sim, err);
    }
    mt_sim_free(sim);
    if (status == MT_OK) {
        status = mt_shot_try_changes(shot, err);
    }
    return status == MT_NOMEM ? status : MT_OK;
}

enum mt_status mt_shot_look(struct mt_triage *t, struct mt_shot *shot, struct mt_error *err)
{
    struct mt_replay replay;
    if (shot->looked) {
        return MT_OK;
    }
    MT_TRY(choose_device(shot, err));
    if (shot->device < 0) {
        return MT_OK; /* nothing recorded: no segments, no events */
    }
    MT_TRY(mt_shot_account(t, shot, err));
    MT_TRY(mt_replay_init(&replay, shot->snapshot, shot->device, err));
    enum mt_status status = look(t, shot, &replay, err);
    mt_replay_release(&replay);
    if (status == MT_OK) {
        status = simulate(shot, err);
    }
    shot->looked = status == MT_OK;
    return status;
}

bool mt_shot_leaks(const struct mt_shot *shot)
{
    return shot->leaks.verdict == MT_LEAK_YES;
}

const struct mt_shot_trial *mt_shot_expandable(const struct mt_shot *shot)
{
    bool tried = shot->n_trials > 0 && strcmp(shot->trials[0].conf, MT_SHOT_EXPANDABLE) == 0;
    return tried ? &shot->trials[0] : NULL;
}

bool mt_shot_setting_serves(const struct mt_shot *shot)
{
    bool serves = false;
    for (size_t i = 0; i < shot->n_trials; i++) {
        serves |= shot->trials[i].verdict != MT_SIM_OUT_OF_MEMORY;
    }
    return serves;
}

/* ---- does it belong to the log? ---- */

/* Printed with two digits. */
static bool prints_alike(uint64_t printed, uint64_t exact)
{
    uint64_t larger = printed > exact ? printed : exact;
    return larger - (printed > exact ? exact : printed) <= larger / 150 + 512;
}

bool mt_shot_belongs(const struct mt_shot *shot, const struct mt_incident *i)
{
    const struct mt_oom_numbers *n = &i->numbers;
    struct mt_trace trace = mt_device_trace(shot->snapshot, shot->device);
    bool any = false;
    for (size_t e = 0; e < trace.n; e++) {
        const struct mt_event *event = &shot->snapshot->events[trace.first + e];
        if (event->action != MT_ACTION_OOM) {
            continue;
        }
        any = true;
        if (mt_oom_has(n, MT_OOM_REQUESTED) &&
            (prints_alike(n->v[MT_OOM_REQUESTED],
                          mt_torch_segment_for(&shot->rules, event->size)) ||
             prints_alike(n->v[MT_OOM_REQUESTED], event->size)) &&
            (!mt_oom_has(n, MT_OOM_FREE) || prints_alike(n->v[MT_OOM_FREE], event->addr))) {
            return true;
        }
    }
    if (any || !mt_oom_has(n, MT_OOM_RESERVED)) {
        return false;
    }
    return prints_alike(n->v[MT_OOM_RESERVED], shot->frag.reserved);
}

/* ---- a snapshot without a log ---- */

struct mt_incident mt_shot_incident(const struct mt_shot *shot)
{
    struct mt_incident i = {.file = shot->file,
                            .kind = MT_KIND_OOM,
                            .format = "snapshot",
                            .framework = shot->account.recorded.plain ? "cuda" : "torch",
                            .backend = "cuda",
                            .rank = -1,
                            .device = shot->device,
                            .step = -1,
                            .phase = MT_PHASE_NONE,
                            .place = "",
                            .program = "",
                            .text = shot->oom ? MT_STR("the out-of-memory event of the trace")
                                              : MT_STR("no out-of-memory event in the trace")};
    if (shot->oom) {
        mt_oom_set(&i.numbers, MT_OOM_REQUESTED, shot->oom->size);
        i.segment =
            shot->account.recorded.plain ? 0 : mt_torch_segment_for(&shot->rules, shot->oom->size);
    }
    if (shot->oom && shot->oom->addr > 0) {
        mt_oom_set(&i.numbers, MT_OOM_FREE, shot->oom->addr);
    }
    mt_oom_set(&i.numbers, MT_OOM_ALLOCATED, shot->frag.allocated);
    mt_oom_set(&i.numbers, MT_OOM_RESERVED, shot->frag.reserved);
    if (shot->limit > 0) {
        mt_oom_set(&i.numbers, MT_OOM_ALLOWED, shot->limit);
        i.numbers.derived |= 1u << MT_OOM_ALLOWED;
        i.allowed_below = shot->limit_below;
    }
    mt_shot_figures(shot, &i);
    mt_log_fields_derive(&i);
    return i;
}

/* ---- evidence ---- */

static struct mt_size_text size(uint64_t bytes)
{
    return mt_size_text(bytes, (struct mt_size_format){.unit = MT_UNIT_AUTO});
}

void mt_shot_label(struct mt_triage *t, const struct mt_shot *shot, uint32_t stack,
                   struct mt_buf *out)
{
    if (t->options.stack_label) {
        t->options.stack_label(t->options.ctx, out, shot->snapshot, stack);
    } else {
        mt_buf_printf(out, "stack %" PRIu32, stack);
    }
}

/* The label of a stack, kept; NULL when out of memory. */
static const char *kept_label(struct mt_triage *t, const struct mt_shot *shot, uint32_t stack)
{
    struct mt_buf line = {0};
    mt_shot_label(t, shot, stack, &line);
    struct mt_str copy = mt_arena_copy(&t->arena, line.n ? line.p : "", line.n);
    t->no_memory |= line.failed || copy.p == NULL;
    mt_buf_release(&line);
    return copy.p;
}

const char *mt_shot_asker(struct mt_triage *t, const struct mt_shot *shot)
{
    uint32_t stack = shot->oom ? shot->oom->stack : 0;
    return stack && shot->snapshot->stacks[stack].n > 0 ? kept_label(t, shot, stack) : NULL;
}

const char *mt_shot_holder(struct mt_triage *t, const struct mt_shot *shot, uint64_t *bytes,
                           double *share)
{
    const struct mt_peak_row *row = shot->peak.rows.n ? &shot->peak.rows.v[0] : NULL;
    struct mt_buf line = {0};
    if (!row || !row->key || !t->options.line_label || shot->snapshot->frames[row->key].line == 0) {
        return NULL;
    }
    t->options.line_label(t->options.ctx, &line, shot->snapshot, row);
    struct mt_str copy = mt_arena_copy(&t->arena, line.p ? line.p : "", line.n);
    t->no_memory |= line.failed || !copy.p;
    mt_buf_release(&line);
    *bytes = row->bytes;
    *share = mt_share(row->bytes, shot->peak.bytes);
    return copy.p;
}

bool mt_shot_trains(const struct mt_shot *shot)
{
    for (size_t i = 0; i < shot->peak.rows.n; i++) {
        const uint64_t *bytes = shot->peak.rows.v[i].by_category;
        if (bytes[MT_CATEGORY_GRADIENT] > 0 || bytes[MT_CATEGORY_OPTIMIZER_STATE] > 0) {
            return true;
        }
    }
    return false;
}

bool mt_shot_asker_is_line(const struct mt_shot *shot)
{
    uint32_t stack = shot->oom ? shot->oom->stack : 0;
    uint32_t frame = stack ? mt_stack_telling_frame_id(shot->snapshot, stack) : 0;
    return frame && shot->snapshot->frames[frame].line > 0;
}

const char *mt_shot_pin(struct mt_triage *t, const struct mt_shot *shot)
{
    return shot->frag.pins.n ? kept_label(t, shot, shot->frag.pins.v[0].stack) : NULL;
}

/* The holes that the request could have used: of its stream and of its pool. */
static uint64_t usable_hole(const struct mt_shot *shot)
{
    enum mt_pool_kind kind = mt_torch_is_small(shot->oom->size) ? MT_POOL_SMALL : MT_POOL_LARGE;
    uint64_t largest = 0;
    for (size_t i = 0; i < shot->frag.pools.n; i++) {
        const struct mt_frag_pool *p = &shot->frag.pools.v[i];
        if (p->stream == shot->oom->stream && p->kind == kind && p->largest_hole > largest) {
            largest = p->largest_hole;
        }
    }
    return largest;
}

static void say_hole(struct mt_triage *t, const struct mt_shot *shot)
{
    bool cut = shot->snapshot->source.trace_cut;
    if (shot->oom && shot->account.recorded.watched) {
        return; /* each allocation is a segment of its own: there are no holes */
    }
    if (shot->oom) {
        mt_evidence_add(t,
                        "Snapshot: %s was wanted; the largest hole of that pool and stream was %s, "
                        "of %s free in the cache.",
                        size(shot->oom->size).s, size(usable_hole(shot)).s,
                        size(shot->frag.reserved > shot->frag.allocated
                                 ? shot->frag.reserved - shot->frag.allocated
                                 : 0)
                            .s);
    } else {
        char pending[120] = "";
        if (shot->frag.pending > 0) {
            (void)snprintf(pending, sizeof pending, " and %s freed but still in use by a stream,",
                           size(shot->frag.pending).s);
        }
        mt_evidence_add(t, "Snapshot: %s %s allocated%s of %s reserved; %s out-of-memory event.",
                        cut ? "after the last event that is left" : "at its end",
                        size(shot->frag.allocated).s, pending, size(shot->frag.reserved).s,
                        cut ? "what is left holds no" : "it holds no");
    }
}

/* Whether the rows that are named hold more than half. */
static bool holds_most(const struct mt_peak *p)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < p->rows.n && i < 3; i++) {
        bytes += p->rows.v[i].bytes;
    }
    return bytes > p->bytes / 2;
}

static void say_holders(struct mt_triage *t, const struct mt_shot *shot)
{
    struct mt_buf line = {0};
    for (size_t i = 0; i < shot->peak.rows.n && i < 3; i++) {
        const struct mt_peak_row *row = &shot->peak.rows.v[i];
        mt_buf_text(&line, i                         ? ", "
                           : holds_most(&shot->peak) ? "Snapshot: most is held by "
                                                     : "Snapshot: the largest are ");
        if (t->options.line_label) {
            t->options.line_label(t->options.ctx, &line, shot->snapshot, row);
        } else {
            mt_shot_label(t, shot, row->stack, &line);
        }
        mt_buf_printf(&line, " (%s, %.0f %%)", size(row->bytes).s,
                      100 * mt_share(row->bytes, shot->peak.bytes));
    }
    t->no_memory |= line.failed;
    if (line.n > 0 && !line.failed) {
        mt_evidence_add(t, "%s.", line.p);
    }
    mt_buf_release(&line);
}

/* What stands from `begin` on, a label, begins the line as well, behind "Snapshot: ". */
static bool is_repeated(const struct mt_buf *line, size_t begin)
{
    struct mt_str all = mt_buf_view(line), head = MT_STR("Snapshot: ");
    struct mt_str rest = {all.p + head.n, all.n - head.n};
    return begin < all.n && mt_str_starts(rest, (struct mt_str){all.p + begin, all.n - begin});
}

static void say_pins(struct mt_triage *t, const struct mt_shot *shot)
{
    struct mt_buf line = {0};
    uint64_t cached =
        shot->frag.reserved > shot->frag.allocated ? shot->frag.reserved - shot->frag.allocated : 0;
    if (shot->oom && cached < shot->oom->size / 2) {
        return;
    }
    for (size_t i = 0; i < shot->frag.pins.n && i < 2; i++) {
        const struct mt_frag_pin *pin = &shot->frag.pins.v[i];
        if (pin->free_held < cached / 10) {
            break;
        }
        size_t begin = line.n + 2;
        mt_buf_text(&line, i ? "; " : "Snapshot: ");
        mt_shot_label(t, shot, pin->stack, &line);
        if (i && is_repeated(&line, begin)) {
            mt_buf_text(&line, ", called from elsewhere,");
        }
        mt_buf_printf(&line, " pins %s of free memory with %s live", size(pin->free_held).s,
                      size(pin->live_bytes).s);
    }
    t->no_memory |= line.failed;
    if (line.n > 0 && !line.failed) {
        mt_evidence_add(t, "%s.", line.p);
    }
    mt_buf_release(&line);
}

/* The settings whose replay ended in one way, after `words`. */
static void say_trials(struct mt_triage *t, const struct mt_shot *shot, bool failed,
                       const char *words)
{
    struct mt_buf line = {0};
    for (size_t i = 0; i < shot->n_trials; i++) {
        if ((shot->trials[i].verdict == MT_SIM_OUT_OF_MEMORY) == failed) {
            mt_buf_text(&line, line.n ? ", " : words);
            mt_buf_text(&line,
                        shot->trials[i].conf[0] ? shot->trials[i].conf : "the default settings");
        }
    }
    t->no_memory |= line.failed;
    if (line.n > 0 && !line.failed) {
        mt_evidence_add(t, "%s%s.", line.p, shot->exact ? "" : " (the replay is not exact)");
    }
    mt_buf_release(&line);
}

static void say_what_if(struct mt_triage *t, const struct mt_shot *shot)
{
    say_trials(t, shot, false,
               "Snapshot: replayed, these settings would have served the request: ");
    say_trials(t, shot, true, "Snapshot: replayed, these would have failed as well: ");
    mt_shot_say_changes(t, shot);
}

static void say_shot(struct mt_triage *t, const struct mt_shot *shot, enum mt_verdict verdict)
{
    if (verdict == MT_VERDICT_FRAGMENTATION || verdict == MT_VERDICT_PER_PROCESS_LIMIT ||
        verdict == MT_VERDICT_NOT_OOM) {
        say_hole(t, shot);
        say_pins(t, shot);
        say_what_if(t, shot);
        say_holders(t, shot);
        return;
    }
    say_holders(t, shot);
    if (verdict != MT_VERDICT_OVERSIZED_REQUEST && verdict != MT_VERDICT_LEAK) {
        say_hole(t, shot);
        say_what_if(t, shot);
    }
}

void mt_evidence_shots(struct mt_triage *t, enum mt_verdict verdict)
{
    if (t->shot && t->facts.asker && verdict != MT_VERDICT_NOT_OOM) {
        mt_evidence_add(t, "Snapshot: the request came from %s.", t->facts.asker);
    }
    if (t->shot) {
        mt_evidence_account(t, &t->shot->account);
        say_shot(t, t->shot, verdict);
        mt_shot_say_driver(t, t->shot);
    }
    for (size_t i = 0; i < t->shots.n; i++) {
        const struct mt_shot *shot = &t->shots.v[i];
        if (shot->device < 0) {
            mt_evidence_add(t, "%s is empty: recording was off and nothing was reserved.",
                            shot->file);
        } else if (!shot->belongs) {
            mt_evidence_add(
                t,
                "%s is not of this event: no out-of-memory event in it has this request "
                "and this much free memory. It was left aside.",
                shot->file);
        }
    }
}
