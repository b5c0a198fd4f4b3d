/* SPDX-License-Identifier: MIT */
/* Each cure is tried on a program of its own, since edits add up. */
#include "verbs/simulate/cures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "print/report.h"
#include "torch/alloc_conf.h"
#include "verbs/simulate/edits/sim_subjects.h"

#define PIECES 8

const char *mt_sim_cure_id(enum mt_sim_cure_kind kind)
{
    static const char *const ids[MT_SIM_CURE_KINDS] = {"settings", "logits_in_pieces",
                                                       "evaluation_batch", "recompute"};
    return ids[kind];
}

/* "model.py:33 forward" */
static void add_frame(struct mt_buf *b, const struct mt_snapshot *s, uint32_t frame)
{
    const struct mt_frame *f = &s->frames[frame];
    mt_text_safe(b, mt_str_basename(mt_snapshot_str(s, f->filename)));
    mt_buf_printf(b, ":%d ", (int)f->line);
    mt_text_safe(b, mt_snapshot_str(s, f->name));
}

void mt_sim_cure_words(struct mt_buf *b, const struct mt_snapshot *s,
                       const struct mt_sim_cure *cure)
{
    switch (cure->kind) {
    case MT_SIM_CURE_LOGITS: mt_buf_printf(b, "the loss in %d pieces", PIECES); break;
    case MT_SIM_CURE_EVALUATION:
        mt_buf_printf(b, "half the batch in ");
        add_frame(b, s, cure->frame);
        break;
    case MT_SIM_CURE_RECOMPUTE:
        mt_buf_printf(b, "checkpoint the %llu calls at ", (unsigned long long)cure->calls);
        add_frame(b, s, cure->frame);
        break;
    default: break;
    }
    if (cure->conf[0]) {
        mt_buf_printf(b, "%s", cure->kind == MT_SIM_CURE_SETTINGS ? "" : ", and ");
        mt_text_safe(b, mt_str_from(cure->conf));
    }
}

struct ward {
    const struct mt_sim_patient *patient;
    struct mt_sim_cures *out;
    struct mt_sim_subjects subjects;
    char best[sizeof((struct mt_sim_cure *)0)->conf]; /* settings that reserve least */
    struct mt_error *err;
};

/* The program as the patient has it, replayed. */
static enum mt_status admit(const struct ward *w, struct mt_sim **out)
{
    const struct mt_sim_patient *p = w->patient;
    struct mt_sim_run run = {0};
    MT_TRY(mt_sim_load(p->snapshot, p->device, &p->options, out, w->err));
    enum mt_status status = mt_sim_replay(*out, &run, NULL, w->err);
    mt_sim_run_release(&run);
    if (status == MT_OK && p->sizes) {
        status = mt_sim_keep_sizes(*out, p->sizes, w->err);
    }
    if (p->limit || p->capacity) {
        mt_sim_set_bounds(*out, p->limit, p->capacity);
    }
    if (status != MT_OK) {
        mt_sim_free(*out);
        *out = NULL;
    }
    return status;
}

static enum mt_status keep(struct ward *w, const struct mt_sim_cure *cure)
{
    bool better = cure->reserved < w->out->reserved ||
                  (cure->verdict == MT_SIM_FITS && w->out->verdict != MT_SIM_FITS);
    for (size_t i = 0; i < w->out->list.n; i++) {
        const struct mt_sim_cure *x = &w->out->list.v[i];
        better &= x->kind != cure->kind || x->reserved != cure->reserved ||
                  x->calls != cure->calls || strcmp(x->conf, cure->conf) != 0;
    }
    return !better || mt_vec_push(&w->out->list, *cure) ? MT_OK : mt_fail_nomem(w->err);
}

/* What would be reserved if there were no bounds. */
static enum mt_status find_need(struct ward *w, struct mt_sim *sim,
                                const struct mt_alloc_settings *settings, uint64_t *reserved)
{
    const struct mt_sim_bound limit = sim->run_limit, capacity = sim->run_capacity;
    struct mt_sim_run run = {0};
    mt_sim_set_bounds(sim, 0, 0);
    enum mt_status status = mt_sim_what_if(sim, settings, MT_STR(""), &run, NULL, w->err);
    *reserved = run.peak.reserved;
    mt_sim_run_release(&run);
    sim->run_limit = limit;
    sim->run_capacity = capacity;
    return status;
}

static enum mt_status run_cure(struct ward *w, struct mt_sim *sim, const char *conf,
                               struct mt_sim_cure *cure)
{
    struct mt_conf parsed = {.settings = *mt_sim_settings(sim)};
    struct mt_sim_run run = {0};
    if (conf[0]) {
        mt_conf_parse(mt_str_from(conf), mt_sim_release(sim), &parsed);
    }
    enum mt_status status =
        mt_sim_what_if(sim, &parsed.settings, mt_str_from(conf), &run, NULL, w->err);
    memcpy(cure->conf, conf, strlen(conf) + 1);
    cure->reserved = run.peak.reserved;
    cure->verdict = run.verdict;
    cure->device_calls = run.stats.num_device_alloc + run.stats.num_device_free;
    mt_sim_run_release(&run);
    if (status == MT_OK && cure->verdict == MT_SIM_OUT_OF_MEMORY) {
        status = find_need(w, sim, &parsed.settings, &cure->reserved);
    }
    return status;
}

/* ---- settings ---- */

static enum mt_status try_settings(struct ward *w, struct mt_sim *sim)
{
    struct mt_sim_search found;
    if (w->patient->beside) {
        (void)snprintf(w->best, sizeof w->best, "%s", w->patient->beside);
        return MT_OK;
    }
    enum mt_status status = mt_sim_search(sim, &found, w->err);
    for (size_t i = 0; status == MT_OK && i < found.n; i++) {
        const struct mt_sim_run *run = &found.best[i].run;
        struct mt_sim_cure cure = {.kind = MT_SIM_CURE_SETTINGS};
        if (i == 0) {
            memcpy(w->best, run->conf, sizeof w->best);
        }
        if (run->conf[0] && (i == 0 || run->verdict == MT_SIM_FITS)) {
            status = run_cure(w, sim, run->conf, &cure);
            status = status == MT_OK ? keep(w, &cure) : status;
        }
    }
    mt_sim_search_release(&found);
    return status;
}

/* ---- changes of the program ---- */

static enum mt_status try_edit(struct ward *w, const struct mt_sim_subject *subject,
                               const char *conf)
{
    static const struct {
        enum mt_sim_edit_kind kind;
        double factor;
    } edits[MT_SIM_CURE_KINDS] = {[MT_SIM_CURE_LOGITS] = {MT_SIM_SCALE, 1.0 / PIECES},
                                  [MT_SIM_CURE_EVALUATION] = {MT_SIM_SCALE, 0.5},
                                  [MT_SIM_CURE_RECOMPUTE] = {MT_SIM_RECOMPUTE, 1}};
    struct mt_sim *sim;
    struct mt_sim_cure cure = {
        .kind = subject->kind, .frame = subject->frame, .size = subject->sizes[0]};
    struct mt_sim_edit edit = {.kind = edits[subject->kind].kind,
                               .factor = edits[subject->kind].factor,
                               .stacks = subject->stacks,
                               .pattern = ""};
    memcpy(edit.sizes, subject->sizes, sizeof edit.sizes);
    MT_TRY(admit(w, &sim));
    enum mt_status status = mt_sim_make_edit(sim, &edit, w->err);
    if (status == MT_OK && edit.changed) {
        status = run_cure(w, sim, conf, &cure);
        cure.calls = edit.calls;
        if (status == MT_OK) {
            status = keep(w, &cure);
        }
    }
    mt_sim_free(sim);
    return status;
}

static bool some_suffice(const struct mt_sim_cures *c)
{
    bool suffices = c->verdict != MT_SIM_OUT_OF_MEMORY;
    for (size_t i = 0; i < c->list.n; i++) {
        suffices |= c->list.v[i].verdict != MT_SIM_OUT_OF_MEMORY;
    }
    return suffices;
}

static enum mt_status try_all(struct ward *w)
{
    for (size_t i = 0; i < w->subjects.n; i++) {
        MT_TRY(try_edit(w, &w->subjects.v[i], ""));
    }
    bool enough = some_suffice(w->out);
    for (size_t i = 0; !enough && w->best[0] && i < w->subjects.n; i++) {
        MT_TRY(try_edit(w, &w->subjects.v[i], w->best));
    }
    return MT_OK;
}

static int by_cost(const void *x, const void *y)
{
    const struct mt_sim_cure *l = x, *r = y;
    static const int rank[] = {[MT_SIM_FITS] = 0, [MT_SIM_UNKNOWN] = 1, [MT_SIM_OUT_OF_MEMORY] = 2};
    if (l->verdict != r->verdict) {
        return rank[l->verdict] - rank[r->verdict];
    }
    if (l->verdict != MT_SIM_OUT_OF_MEMORY && l->kind != r->kind) {
        return (l->kind > r->kind) - (l->kind < r->kind);
    }
    return (l->reserved > r->reserved) - (l->reserved < r->reserved);
}

enum mt_status mt_sim_find_cures(const struct mt_sim_patient *p, struct mt_sim_cures *out,
                                 struct mt_error *err)
{
    struct ward w = {.patient = p, .out = out, .err = err};
    struct mt_sim *sim;
    struct mt_sim_cure as_is;
    *out = (struct mt_sim_cures){.reserved = 0};
    MT_TRY(admit(&w, &sim));
    enum mt_status status = run_cure(&w, sim, "", &as_is);
    if (status == MT_OK) {
        out->reserved = as_is.reserved;
        out->verdict = as_is.verdict;
        status = try_settings(&w, sim);
    }
    if (status == MT_OK) {
        status = mt_sim_find_subjects(sim, &w.subjects, err);
    }
    mt_sim_free(sim);
    if (status == MT_OK) {
        status = try_all(&w);
    }
    mt_sim_subjects_release(&w.subjects);
    if (out->list.n) {
        qsort(out->list.v, out->list.n, sizeof *out->list.v, by_cost);
    }
    return status;
}

void mt_sim_cures_release(struct mt_sim_cures *c)
{
    mt_vec_release(&c->list);
}
