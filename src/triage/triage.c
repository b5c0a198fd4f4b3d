/* SPDX-License-Identifier: MIT */
/*
 * Ties the three steps together: what the log reader found becomes facts about one incident, the
 * rules give the verdict, and the advice is worded. Everything handed out lives in the arena of the
 * triage.
 */
#include "triage/triage_state.h"

#include <inttypes.h>

#include "support/mem.h"

static const struct {
    const char *id, *text;
} VERDICTS[MT_VERDICT_COUNT] = {
#define X(name, id, text) {id, text},
    MT_VERDICT_MAP(X)
#undef X
};

const char *mt_verdict_id(enum mt_verdict v)
{
    return VERDICTS[v].id;
}

const char *mt_verdict_text(enum mt_verdict v)
{
    return VERDICTS[v].text;
}

static const struct {
    const char *id, *words;
} PHASES[MT_PHASE_COUNT] = {
#define X(name, id, words) {id, words},
    MT_PHASE_MAP(X)
#undef X
};

const char *mt_phase_id(enum mt_phase p)
{
    return PHASES[p].id;
}

const char *mt_phase_words(enum mt_phase p)
{
    return PHASES[p].words;
}

const char *mt_confidence_id(enum mt_confidence c)
{
    static const char *const IDS[] = {"low", "medium", "high"};
    return IDS[c];
}

struct mt_triage *mt_triage_new(const struct mt_triage_options *o)
{
    struct mt_triage *t = mt_mem_zalloc(1, sizeof *t);
    struct mt_error err;
    if (!t) {
        return NULL;
    }
    t->options = *o;
    if (mt_log_init(&t->log, &t->arena, &err) != MT_OK) {
        mt_triage_free(t);
        return NULL;
    }
    return t;
}

void mt_triage_free(struct mt_triage *t)
{
    if (!t) {
        return;
    }
    mt_log_release(&t->log);
    mt_shots_release(t);
    mt_vec_release(&t->shown);
    mt_vec_release(&t->evidence);
    mt_vec_release(&t->advisor.list);
    mt_vec_release(&t->series);
    mt_arena_release(&t->arena);
    mt_mem_free(t);
}

void mt_triage_name(struct mt_triage *t, const char *file)
{
    t->log.file = t->log.steps.file = t->log.tables.file = file ? file : "";
}

void *mt_triage_space(struct mt_triage *t, size_t *n)
{
    return mt_log_space(&t->log, n);
}

enum mt_status mt_triage_commit(struct mt_triage *t, size_t n, struct mt_error *err)
{
    return mt_log_commit(&t->log, n, err);
}

enum mt_status mt_triage_end(struct mt_triage *t, struct mt_error *err)
{
    return mt_log_end(&t->log, err);
}

enum mt_status mt_triage_feed(struct mt_triage *t, const void *p, size_t n, struct mt_error *err)
{
    for (size_t at = 0; at < n;) {
        size_t room;
        void *space = mt_triage_space(t, &room);
        room = room < n - at ? room : n - at;
        memcpy(space, (const char *)p + at, room);
        MT_TRY(mt_triage_commit(t, room, err));
        at += room;
    }
    return MT_OK;
}

/* ---- choosing the cause ---- */

static bool has_figures(const struct mt_incident *i)
{
    return mt_oom_has(&i->numbers, MT_OOM_ALLOCATED) || mt_oom_has(&i->numbers, MT_OOM_TOTAL);
}

/* The lower the better: an event that ended the program before one that it survived, one with
 * figures before one without, an out-of-memory before a look-alike. */
static int rank_of(const struct mt_incident *i)
{
    if (!mt_kind_is_oom(i->kind)) {
        return 8;
    }
    if (i->kind == MT_KIND_SOFT) {
        return 6;
    }
    return (i->recovered ? 2 : 0) + (has_figures(i) ? 0 : 1);
}

static size_t choose_cause(const struct mt_incident *list, size_t n)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        if (best == SIZE_MAX || rank_of(&list[i]) < rank_of(&list[best])) {
            best = i;
        }
    }
    return best;
}

/* ---- verdicts ---- */

/* These say themselves that nothing failed; of other attempts the caller may die. */
static bool is_harmless(const struct mt_incident *i)
{
    static const char *const FORMATS[] = {"bfc-soft", "triton-soft", "comfyui-soft"};
    bool harmless = false;
    for (size_t f = 0; f < MT_COUNT(FORMATS); f++) {
        harmless |= strcmp(i->format, FORMATS[f]) == 0;
    }
    return harmless;
}

static void judge(struct mt_triage *t, struct mt_incident *i)
{
    struct mt_facts f;
    i->verdict = MT_VERDICT_NOT_OOM;
    i->headline = i->kind == MT_KIND_UNSURE
                      ? "The status does not say that GPU memory ran out, nor that it did not."
                  : i->kind == MT_KIND_HOST_RAM && i->doubtful
                      ? "This is probably not a GPU out-of-memory event."
                      : mt_verdict_text(MT_VERDICT_NOT_OOM);
    if (!mt_kind_is_oom(i->kind) || (i->kind == MT_KIND_SOFT && is_harmless(i))) {
        return;
    }
    mt_triage_gather(t, &f, i);
    const struct mt_rule *rule = mt_rules_primary(&f);
    i->verdict = rule->verdict;
    i->headline = mt_facts_headline(&f, rule);
}

static void add_also(struct mt_triage_result *out, enum mt_verdict v)
{
    if (v == out->verdict || v == MT_VERDICT_NO_NUMBERS) {
        return;
    }
    for (size_t i = 0; i < out->n_also; i++) {
        if (out->also[i] == v) {
            return;
        }
    }
    out->also[out->n_also++] = v;
}

/* A rule of lower precedence that falls back on what is left says nothing beside another. */
static bool is_fallback(const struct mt_rule *rule)
{
    return rule->confidence == MT_CONFIDENCE_LOW && rule->role == MT_RULE_PRIMARY;
}

static void apply_rules(struct mt_triage *t, struct mt_triage_result *out)
{
    const struct mt_rule *primary = mt_rules_primary(&t->facts);
    out->verdict = primary->verdict;
    out->confidence = primary->confidence;
    out->headline = mt_facts_headline(&t->facts, primary);
    if (t->facts.incident->truncated && out->confidence == MT_CONFIDENCE_HIGH &&
        primary->verdict != MT_VERDICT_OVERSIZED_REQUEST) {
        out->confidence = MT_CONFIDENCE_MEDIUM;
    }
    mt_evidence_rule(t, primary);
    mt_evidence_shots(t, primary->verdict);
    for (size_t i = 0; i < MT_RULES_N; i++) {
        const struct mt_rule *rule = &MT_RULES[i];
        size_t before = out->n_also;
        if (rule == primary || is_fallback(rule) || !rule->holds(&t->facts)) {
            continue;
        }
        add_also(out, rule->verdict);
        if (out->n_also > before) {
            mt_evidence_rule(t, rule);
        }
    }
}

/* ---- snapshots ---- */

static enum mt_status look_at_shots(struct mt_triage *t, struct mt_error *err)
{
    for (size_t i = 0; i < t->shots.n; i++) {
        MT_TRY(mt_shot_look(t, &t->shots.v[i], err));
    }
    return MT_OK;
}

/* The snapshot that tells about the event: without one in a log, the first that recorded one. */
static void match_shots(struct mt_triage *t, const struct mt_incident *cause)
{
    t->shot = NULL;
    for (size_t i = 0; i < t->shots.n; i++) {
        struct mt_shot *shot = &t->shots.v[i];
        shot->belongs = shot->device >= 0 && (!cause || mt_shot_belongs(shot, cause));
        if (shot->belongs && (!t->shot || (shot->oom && !t->shot->oom))) {
            t->shot = shot;
        }
    }
}

static const char *trial_id(const struct mt_shot_trial *trial)
{
    static const char *const IDS[] = {[MT_SIM_FITS] = "fits",
                                      [MT_SIM_OUT_OF_MEMORY] = "out_of_memory",
                                      [MT_SIM_UNKNOWN] = "unknown"};
    return IDS[trial->verdict];
}

static void show_shots(struct mt_triage *t)
{
    t->shown.n = 0;
    for (size_t i = 0; i < t->shots.n; i++) {
        const struct mt_shot *s = &t->shots.v[i];
        struct mt_triage_shot shown = {.file = s->file,
                                       .device = s->device,
                                       .belongs = s->belongs,
                                       .has_oom = s->oom != NULL,
                                       .requested = s->oom ? s->oom->size : 0,
                                       .largest_hole = s->frag.largest_hole,
                                       .allocated = s->frag.allocated,
                                       .reserved = s->frag.reserved,
                                       .bytes_per_step =
                                           mt_shot_leaks(s) ? s->leaks.bytes_per_step : 0,
                                       .n_trials = s->n_trials,
                                       .snapshot = s->snapshot,
                                       .changes = &s->changes,
                                       .account = s->device >= 0 ? &s->account : NULL};
        for (size_t k = 0; k < s->n_trials; k++) {
            shown.trials[k] = (struct mt_triage_trial){s->trials[k].conf, trial_id(&s->trials[k])};
        }
        t->no_memory |= !mt_vec_push(&t->shown, shown);
    }
}

static void decide_event(struct mt_triage *t, struct mt_triage_result *out)
{
    const struct mt_incident *cause = &t->log.incidents.list.v[out->cause];
    match_shots(t, cause);
    t->advisor.snapshot = t->shot ? t->shot->argument : t->advisor.snapshot;
    mt_triage_gather(t, &t->facts, cause);
    t->advisor.facts = &t->facts;
    if (cause->verdict == MT_VERDICT_NOT_OOM) {
        out->verdict = MT_VERDICT_NOT_OOM;
        bool unsure = cause->kind == MT_KIND_UNSURE || cause->doubtful;
        out->confidence = unsure ? MT_CONFIDENCE_MEDIUM : MT_CONFIDENCE_HIGH;
        out->headline = cause->headline;
        mt_evidence_lookalike(t, cause);
    } else {
        apply_rules(t, out);
        t->log.incidents.list.v[out->cause].verdict = out->verdict;
        t->log.incidents.list.v[out->cause].headline = out->headline;
    }
}

static void decide_unknown(struct mt_triage_result *out, const char *headline)
{
    out->verdict = MT_VERDICT_UNKNOWN;
    out->confidence = MT_CONFIDENCE_HIGH;
    out->headline = headline;
}

/* `file` NULL: in any. */
static bool is_said(const struct mt_triage *t, enum mt_said what, const char *file)
{
    bool said = false;
    for (size_t i = 0; i < t->log.notes.n; i++) {
        const struct mt_notes *n = &t->log.notes.v[i];
        said |= n->said[what].known && (!file || n->file == file);
    }
    return said;
}

/* The file is no log but a profiler's trace, whose numbers are no step prints. */
static bool is_trace(const struct mt_triage *t, const char *file)
{
    return is_said(t, MT_SAID_TRACE, file);
}

static void decide_nothing(struct mt_triage *t, struct mt_triage_result *out)
{
    out->verdict = MT_VERDICT_NOT_OOM;
    out->confidence = MT_CONFIDENCE_MEDIUM;
    t->advisor.facts = NULL;
    t->advisor.growth = NULL;
    for (size_t i = 0; i < t->series.n && !t->advisor.growth; i++) {
        t->advisor.growth = t->series.v[i].is_leak ? &t->series.v[i] : NULL;
    }
    match_shots(t, NULL);
    t->advisor.plain = t->shot && t->shot->account.recorded.plain;
    out->headline = t->advisor.growth
                        ? "No sign of a GPU out-of-memory error was found, but memory "
                          "grows step after step."
                        : "No sign of a GPU out-of-memory error was found.";
    if (t->log.lines > 0 && mt_evidence_nothing(t)) {
        decide_unknown(out, "An out-of-memory event was counted, but no message of it is here.");
    }
    if (is_said(t, MT_SAID_RMM_FAILURE, NULL)) {
        decide_unknown(out, "An allocation failed, as RMM's log tells; no message of it is here.");
        mt_evidence_add(t, "memtool peak and memtool trace of that log tell what was alive then.");
    }
    if (is_trace(t, NULL)) {
        mt_evidence_add(t, "The file is a profiler's trace, not a log: memtool info tells what it "
                           "holds.");
    }
    if (t->shot) {
        t->advisor.no_history = t->shot->snapshot->n_events <= t->shot->snapshot->n_traces;
        if (t->advisor.no_history && t->log.lines == 0) {
            decide_unknown(out, "The snapshot has no history, so it cannot show whether memory ran "
                                "out.");
        }
        if (t->shot->snapshot->source.trace_cut) {
            t->advisor.end_missing = true;
            out->confidence = MT_CONFIDENCE_LOW;
            out->headline =
                "What is left of the snapshot holds no GPU out-of-memory error, but its "
                "end is missing.";
            mt_evidence_add(t,
                            "The end of %s is missing (damaged at byte %" PRIu64
                            "): an out-of-memory event may have been in it.",
                            t->shot->file, t->shot->snapshot->source.damage_offset);
        }
        mt_evidence_shots(t, MT_VERDICT_NOT_OOM);
    }
}

static bool collect_series(struct mt_triage *t)
{
    t->series.n = 0;
    for (size_t i = 0; i < t->log.steps.tracks.n; i++) {
        if (!is_trace(t, t->log.steps.tracks.v[i].series.file) &&
            !mt_vec_push(&t->series, t->log.steps.tracks.v[i].series)) {
            return false;
        }
    }
    return true;
}

/* Without an out-of-memory event in a log, that of a snapshot is the event, or that it leaks. */
static bool add_recorded(struct mt_triage *t)
{
    struct mt_incidents *l = &t->log.incidents;
    for (size_t i = 0; i < l->list.n; i++) {
        if (mt_kind_is_oom(l->list.v[i].kind) && l->list.v[i].kind != MT_KIND_SOFT) {
            return true;
        }
    }
    for (size_t i = 0; i < t->shots.n; i++) {
        const struct mt_shot *shot = &t->shots.v[i];
        if (shot->oom || (l->list.n == 0 && shot->device >= 0 && mt_shot_leaks(shot))) {
            return mt_vec_push(&l->list, mt_shot_incident(shot));
        }
    }
    return true;
}

static void hand_out(struct mt_triage *t, struct mt_triage_result *out)
{
    out->incidents = t->log.incidents.list.v;
    out->n_incidents = t->log.incidents.list.n;
    out->incidents_dropped = t->log.incidents.dropped;
    out->evidence = t->evidence.v;
    out->n_evidence = t->evidence.n;
    out->rules_said = t->rules_said;
    out->why = t->evidence.n ? t->evidence.v[0] : MT_STR("");
    out->advice = t->advisor.list.v;
    out->n_advice = t->advisor.list.n;
    out->series = t->series.v;
    out->n_series = t->series.n;
    out->tables = t->log.tables.summaries.v;
    out->n_tables = t->log.tables.summaries.n;
    out->cards = t->log.tables.cards.v;
    out->n_cards = t->log.tables.cards.n;
    out->conf = mt_triage_conf(t, out->cause == SIZE_MAX ? NULL : &out->incidents[out->cause]);
    out->lines = t->log.lines;
    out->shots = t->shown.v;
    out->n_shots = t->shown.n;
    out->bytes = t->log.bytes;
}

enum mt_status mt_triage_decide(struct mt_triage *t, struct mt_triage_result *out,
                                struct mt_error *err)
{
    struct mt_incidents *incidents = &t->log.incidents;
    *out = (struct mt_triage_result){.cause = SIZE_MAX,
                                     .headline = mt_verdict_text(MT_VERDICT_NOT_OOM)};
    t->evidence.n = 0;
    t->rules_said = 0;
    t->advisor.list.n = 0;
    t->advisor.end_missing = t->advisor.no_history = false;
    t->advisor.arena = &t->arena;
    t->advisor.snapshot = t->shots.n > 0 ? t->shots.v[0].argument : NULL;
    if (!collect_series(t)) {
        return mt_fail_nomem(err);
    }
    MT_TRY(look_at_shots(t, err));
    if (!add_recorded(t)) {
        return mt_fail_nomem(err);
    }
    for (size_t i = 0; i < incidents->list.n; i++) {
        mt_triage_fill_from_cards(t, &incidents->list.v[i]);
        mt_triage_name_program(t, &incidents->list.v[i]);
        judge(t, &incidents->list.v[i]);
    }
    out->cause = choose_cause(incidents->list.v, incidents->list.n);
    if (out->cause == SIZE_MAX) {
        decide_nothing(t, out);
    } else {
        decide_event(t, out);
    }
    show_shots(t);
    mt_evidence_around(t, out);
    t->advisor.verdict = out->verdict;
    mt_advice_fill(&t->advisor);
    hand_out(t, out);
    return t->no_memory || t->advisor.no_memory ? mt_fail_nomem(err) : MT_OK;
}
