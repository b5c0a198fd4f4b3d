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

/* ---- facts ---- */

bool mt_triage_speaks_of(const struct mt_triage *t, const char *file, const struct mt_incident *i)
{
    const struct mt_incidents *l = &t->log.incidents;
    for (size_t n = 0; n < l->list.n && file != i->file; n++) {
        if (l->list.v[n].file == file) {
            return false;
        }
    }
    return true;
}

static const struct mt_series *leak_of(const struct mt_triage *t,
                                       const struct mt_incident *incident)
{
    for (size_t i = 0; i < t->series.n; i++) {
        if (t->series.v[i].is_leak && mt_triage_speaks_of(t, t->series.v[i].file, incident)) {
            return &t->series.v[i];
        }
    }
    return NULL;
}

static const struct mt_summary_table *table_of(const struct mt_triage *t,
                                               const struct mt_incident *incident)
{
    int64_t device = incident->device;
    const struct mt_tables *tables = &t->log.tables;
    for (size_t i = tables->summaries.n; i-- > 0;) {
        const struct mt_summary_table *table = &tables->summaries.v[i];
        if ((device < 0 || table->device < 0 || table->device == device) &&
            mt_triage_speaks_of(t, table->file, incident)) {
            return table;
        }
    }
    return NULL;
}

/* Where the message tells no figures, nvidia-smi in the same log may. */
static void fill_from_cards(const struct mt_triage *t, struct mt_incident *i)
{
    const struct mt_tables *tables = &t->log.tables;
    for (size_t c = 0; c < tables->cards.n; c++) {
        const struct mt_smi_card *card = &tables->cards.v[c];
        bool same = i->device == card->device || (i->device < 0 && tables->cards.n == 1);
        if (same && mt_triage_speaks_of(t, card->file, i) &&
            !mt_oom_has(&i->numbers, MT_OOM_TOTAL)) {
            mt_oom_set(&i->numbers, MT_OOM_TOTAL, card->total);
            i->numbers.derived |= 1u << MT_OOM_TOTAL;
        }
    }
}

/* The settings that a log shows; without an event those of any. */
static struct mt_str conf_of(const struct mt_triage *t, const struct mt_incident *incident)
{
    struct mt_str conf = MT_STR("");
    for (size_t i = 0; i < t->log.confs.n; i++) {
        const struct mt_log_conf *c = &t->log.confs.v[i];
        if (!incident || mt_triage_speaks_of(t, c->file, incident)) {
            conf = c->text;
        }
        if (incident && c->file == incident->file) {
            break;
        }
    }
    return conf;
}

/* A setting other than expandable segments whose replay served the request, or NULL. */
static const char *serving_conf(const struct mt_shot *shot)
{
    for (size_t i = 0; i < shot->n_trials; i++) {
        if (shot->trials[i].verdict != MT_SIM_OUT_OF_MEMORY &&
            strcmp(shot->trials[i].conf, MT_SHOT_EXPANDABLE) != 0) {
            return shot->trials[i].conf;
        }
    }
    return NULL;
}

/* What the user said that the card has in use, or nvidia-smi did. */
static uint64_t used_on(const struct mt_triage *t, int64_t device)
{
    const struct mt_smi *smi = t->options.smi;
    bool one = smi && smi->gpus.n == 1, fits = device >= 0 && device <= INT32_MAX;
    const struct mt_smi_gpu *gpu =
        smi && (one || fits) ? mt_smi_gpu_find(smi, fits ? (int32_t)device : 0) : NULL;
    bool known = t->options.device_used == 0 && gpu && gpu->used_known;
    return known ? gpu->used : t->options.device_used;
}

/* Events of the incident's log that were not survived. */
static size_t attempts_of(const struct mt_triage *t, const struct mt_incident *i)
{
    size_t n = 0;
    for (size_t k = 0; k < t->log.incidents.list.n; k++) {
        const struct mt_incident *one = &t->log.incidents.list.v[k];
        n += one->file == i->file && mt_kind_is_oom(one->kind) && one->kind != MT_KIND_SOFT &&
                     !one->recovered
                 ? 1 + one->repeats
                 : 0;
    }
    return n;
}

static void gather_facts(struct mt_triage *t, struct mt_facts *f, const struct mt_incident *i)
{
    mt_facts_init(f, i);
    f->leak = leak_of(t, i);
    f->growing = t->shot && mt_shot_leaks(t->shot) ? mt_shot_growing(t, t->shot) : NULL;
    f->growth = f->growing ? (uint64_t)t->shot->leaks.bytes_per_step : 0;
    f->growing_share = f->growing ? mt_shot_growing_share(t->shot) : 0;
    f->holder = t->shot ? mt_shot_holder(t, t->shot, &f->holder_bytes, &f->holder_share) : NULL;
    f->notes = mt_triage_notes(t, i);
    f->program = f->notes ? mt_notes_program(f->notes, i->framework) : MT_PROGRAM_UNKNOWN;
    if (f->program == MT_PROGRAM_UNKNOWN && t->shot && mt_shot_trains(t->shot)) {
        f->program = MT_PROGRAM_TRAINING;
    }
    f->attempts = attempts_of(t, i);
    f->holders = t->log.tables.processes.v;
    f->n_holders = t->log.tables.processes.n;
    f->cards = t->log.tables.cards.v;
    f->n_cards = t->log.tables.cards.n;
    f->conf = conf_of(t, i);
    f->expandable_on = mt_str_find(f->conf, MT_STR("expandable_segments:True")) != SIZE_MAX ||
                       (t->shot && t->shot->expandable);
    const struct mt_shot_trial *trial = t->shot ? mt_shot_expandable(t->shot) : NULL;
    f->expandable_fails = trial && trial->verdict == MT_SIM_OUT_OF_MEMORY;
    f->expandable_serves = trial && !f->expandable_fails;
    f->serving_conf = t->shot ? serving_conf(t->shot) : NULL;
    f->replays_fail = t->shot && t->shot->n_trials > 0 && f->expandable_fails && !f->serving_conf;
    f->asker = t->shot ? mt_shot_asker(t, t->shot) : NULL;
    f->asker_is_line = f->asker && mt_shot_asker_is_line(t->shot);
    f->pin = t->shot ? mt_shot_pin(t, t->shot) : NULL;
    f->device_used = used_on(t, i->device);
    f->account = t->shot ? &t->shot->account : NULL;
    f->table = table_of(t, i);
    if (f->device_used && !mt_facts_has(f, MT_OOM_FREE) && f->total > f->device_used) {
        f->free = f->total - f->device_used;
    }
}

/* ---- the program ---- */

const char *mt_triage_program_words(const char *id)
{
    for (unsigned p = 0; p < MT_PROGRAM_COUNT; p++) {
        if (strcmp(mt_program_id((enum mt_program)p), id) == 0) {
            return mt_program_words((enum mt_program)p);
        }
    }
    return "";
}

const struct mt_notes *mt_triage_notes(const struct mt_triage *t, const struct mt_incident *i)
{
    const struct mt_notes *found = NULL;
    for (size_t n = 0; n < t->log.notes.n; n++) {
        const struct mt_notes *notes = &t->log.notes.v[n];
        if (notes->file == i->file || (!found && mt_triage_speaks_of(t, notes->file, i))) {
            found = notes;
        }
    }
    return found;
}

/* The log's program, and the framework that it proves where a library of two prints the message. */
static void name_program(const struct mt_triage *t, struct mt_incident *i)
{
    const struct mt_notes *notes = mt_triage_notes(t, i);
    enum mt_program p = notes ? mt_notes_program(notes, i->framework) : MT_PROGRAM_UNKNOWN;
    i->program = p ? mt_program_id(p) : "";
    if (p == MT_PROGRAM_JAX && strcmp(i->framework, "tensorflow") == 0) {
        i->framework = "jax"; /* both use XLA's allocator */
    }
}

/* ---- verdicts ---- */

/* These say themselves that nothing failed; of other attempts the caller may die. */
static bool is_harmless(const struct mt_incident *i)
{
    return strcmp(i->format, "bfc-soft") == 0 || strcmp(i->format, "triton-soft") == 0;
}

static void judge(struct mt_triage *t, struct mt_incident *i)
{
    struct mt_facts f;
    i->verdict = MT_VERDICT_NOT_OOM;
    i->headline = mt_verdict_text(MT_VERDICT_NOT_OOM);
    if (!mt_kind_is_oom(i->kind) || (i->kind == MT_KIND_SOFT && is_harmless(i))) {
        return;
    }
    gather_facts(t, &f, i);
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
    gather_facts(t, &t->facts, cause);
    t->advisor.facts = &t->facts;
    if (cause->verdict == MT_VERDICT_NOT_OOM) {
        out->verdict = MT_VERDICT_NOT_OOM;
        out->confidence = MT_CONFIDENCE_HIGH;
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

static void decide_nothing(struct mt_triage *t, struct mt_triage_result *out)
{
    out->verdict = MT_VERDICT_NOT_OOM;
    out->confidence = MT_CONFIDENCE_MEDIUM;
    t->advisor.facts = NULL;
    match_shots(t, NULL);
    t->advisor.plain = t->shot && t->shot->account.recorded.plain;
    out->headline = "No sign of a GPU out-of-memory error was found.";
    if (t->log.lines > 0 && mt_evidence_nothing(t)) {
        decide_unknown(out, "An out-of-memory event was counted, but no message of it is here.");
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
        if (!mt_vec_push(&t->series, t->log.steps.tracks.v[i].series)) {
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
    out->conf = conf_of(t, out->cause == SIZE_MAX ? NULL : &out->incidents[out->cause]);
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
        fill_from_cards(t, &incidents->list.v[i]);
        name_program(t, &incidents->list.v[i]);
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
