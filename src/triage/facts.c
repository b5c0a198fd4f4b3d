/* SPDX-License-Identifier: MIT */
/*
 * What the rules and the advice weigh about one incident, gathered from the message, the rest of
 * its log, the snapshot that belongs to it and what the user said of the card.
 */
#include "triage/triage_state.h"

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

static const struct mt_chunks *chunks_of(const struct mt_triage *t, const struct mt_incident *i)
{
    const struct mt_chunks *c = &t->log.chunks;
    bool pool = strcmp(i->framework, "tensorflow") == 0 || strcmp(i->framework, "jax") == 0;
    return pool && c->file && mt_triage_speaks_of(t, c->file, i) ? c : NULL;
}

/* Where the message tells no figures, nvidia-smi in the same log may. */
void mt_triage_fill_from_cards(const struct mt_triage *t, struct mt_incident *i)
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
struct mt_str mt_triage_conf(const struct mt_triage *t, const struct mt_incident *incident)
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

/* Ranks that failed on one device, and of which each sees the others' memory: of several nodes a
 * device has the same number, but nobody else's memory. */
static size_t ranks_on_device(const struct mt_triage *t, const struct mt_incident *i)
{
    const struct mt_incidents *l = &t->log.incidents;
    uint64_t others = mt_oom_get(&i->numbers, MT_OOM_OTHERS);
    size_t n = 1;
    for (size_t k = 0; k < l->list.n; k++) {
        const struct mt_incident *one = &l->list.v[k];
        uint64_t held = mt_oom_get(&one->numbers, MT_OOM_PROCESS);
        n += one->file == i->file && mt_kind_is_oom(one->kind) && one->rank >= 0 &&
             one->rank != i->rank && one->device == i->device && held > 0 &&
             others >= held - held / 5;
    }
    return i->rank >= 0 && i->device >= 0 && n > 1 ? n : 0;
}

void mt_triage_gather(struct mt_triage *t, struct mt_facts *f, const struct mt_incident *i)
{
    mt_facts_init(f, i);
    f->leak = leak_of(t, i);
    f->growing = t->shot && mt_shot_leaks(t->shot) ? mt_shot_growing(t, t->shot) : NULL;
    f->growth = f->growing ? (uint64_t)t->shot->leaks.bytes_per_step : 0;
    f->holder = t->shot ? mt_shot_holder(t, t->shot, &f->holder_bytes, &f->holder_share) : NULL;
    f->notes = mt_triage_notes(t, i);
    f->program = f->notes ? mt_notes_program(f->notes, i->framework) : MT_PROGRAM_UNKNOWN;
    if (f->program == MT_PROGRAM_UNKNOWN && t->shot && mt_shot_trains(t->shot)) {
        f->program = MT_PROGRAM_TRAINING;
    }
    f->attempts = attempts_of(t, i);
    f->ranks_here = ranks_on_device(t, i);
    f->holders = t->log.tables.processes.v;
    f->n_holders = t->log.tables.processes.n;
    f->cards = t->log.tables.cards.v;
    f->n_cards = t->log.tables.cards.n;
    f->conf = mt_triage_conf(t, i);
    f->expandable_on = mt_str_find(f->conf, MT_STR("expandable_segments:True")) != SIZE_MAX ||
                       (t->shot && t->shot->expandable);
    const struct mt_shot_trial *trial = t->shot ? mt_shot_expandable(t->shot) : NULL;
    f->expandable_fails = trial && trial->verdict == MT_SIM_OUT_OF_MEMORY;
    f->expandable_serves = trial && !f->expandable_fails;
    f->serving_conf = t->shot ? serving_conf(t->shot) : NULL;
    f->replays_fail = t->shot && t->shot->n_trials > 0 && f->expandable_fails && !f->serving_conf;
    f->change = t->shot ? mt_shot_change(t, t->shot) : NULL;
    f->change_peak = f->change ? t->shot->changes.list.v[0].reserved : 0;
    f->unchanged_peak = t->shot ? t->shot->changes.reserved : 0;
    f->asker = t->shot ? mt_shot_asker(t, t->shot) : NULL;
    f->asker_is_line = f->asker && mt_shot_asker_is_line(t->shot);
    f->pin = t->shot ? mt_shot_pin(t, t->shot) : NULL;
    f->device_used = used_on(t, i->device);
    f->account = t->shot ? &t->shot->account : NULL;
    f->table = table_of(t, i);
    f->chunks = chunks_of(t, i);
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
void mt_triage_name_program(const struct mt_triage *t, struct mt_incident *i)
{
    const struct mt_notes *notes = mt_triage_notes(t, i);
    enum mt_program p = notes ? mt_notes_program(notes, i->framework) : MT_PROGRAM_UNKNOWN;
    i->program = p ? mt_program_id(p) : "";
    if (p == MT_PROGRAM_JAX && strcmp(i->framework, "tensorflow") == 0) {
        i->framework = "jax"; /* both use XLA's allocator */
    }
    if (i->kind == MT_KIND_HOST_RAM && strcmp(i->format, "ort-host") == 0 && notes &&
        notes->said[MT_SAID_GPU_PROVIDER].known) {
        i->kind = MT_KIND_OOM; /* an arena of the provider that the program asked for */
        i->format = "ort";
        i->backend = "cuda";
        i->doubtful = true;
    }
    bool library = i->kind == MT_KIND_LIBRARY && strcmp(i->framework, "torch") == 0;
    if (library && (p == MT_PROGRAM_JAX || p == MT_PROGRAM_TENSORFLOW)) {
        i->framework = mt_program_id(p); /* cuDNN and its kin serve all */
    }
}
