/* SPDX-License-Identifier: MIT */
/*
 * Calls that are worth computing again hold much at the peak of what is asked for, and repeat, as
 * the blocks of a model do. Logits are the largest requests of a function of the loss: they are
 * told by their size, since half of them have no stack (the backward pass), and only where nothing
 * that lasts, such as a weight, has that size too. Evaluation is told by the names of functions.
 */
#include "verbs/simulate/edits/sim_subjects.h"

#include <stdlib.h>
#include <string.h>

#include "heap/stacks/frames.h"
#include "support/checked.h"
#include "torch/frame_class.h"

#define MOST_FRAMES 32    /* the heaviest frames that are looked at */
#define MOST_RECOMPUTED 4 /* and tried */
#define LEAST_SHARE 20    /* logits below a twentieth of the peak bring little */

struct weight {
    uint32_t frame;
    uint64_t bytes; /* alive at the peak below it */
};

struct finder {
    const struct mt_sim *sim;
    struct mt_sim_subjects *out;
    struct rewrite ops; /* who frees what, and sizes */
    uint64_t *by_stack; /* bytes alive at the peak */
    uint64_t peak;
    struct weight *frames; /* by frame id, then the heaviest first */
    struct mt_error *err;
};

static const struct mt_snapshot *snapshot(const struct finder *f)
{
    return f->sim->snapshot;
}

static uint32_t stack_of(const struct finder *f, size_t op)
{
    return f->sim->events[f->sim->ops.v[op].event].stack;
}

static bool allocates(const struct finder *f, size_t op)
{
    return f->sim->ops.v[op].kind == OP_ALLOC;
}

/* ---- the peak ---- */

static size_t find_peak(struct finder *f)
{
    size_t n = f->sim->ops.n, at = 0;
    int64_t live = 0, most = 0;
    int64_t *change = mt_mem_zalloc(n + 1, sizeof *change);
    if (!change) {
        return SIZE_MAX;
    }
    for (size_t i = 0; i < n; i++) {
        if (allocates(f, i)) {
            change[i] += (int64_t)f->ops.sizes[i];
            if (f->ops.free_of[i] != NEVER) {
                change[f->ops.free_of[i]] -= (int64_t)f->ops.sizes[i];
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        live += change[i];
        at = live > most ? i : at;
        most = live > most ? live : most;
    }
    mt_mem_free(change);
    f->peak = (uint64_t)most;
    return at;
}

static void weigh_stacks(struct finder *f, size_t peak)
{
    for (size_t i = 0; i <= peak && i < f->sim->ops.n; i++) {
        uint32_t freed = allocates(f, i) ? f->ops.free_of[i] : 0;
        if (allocates(f, i) && freed != NEVER && freed > peak) {
            f->by_stack[stack_of(f, i)] += f->ops.sizes[i];
        }
    }
}

/* ---- calls that repeat ---- */

static enum mt_frame_class class_of(const struct mt_snapshot *s, uint32_t frame)
{
    const struct mt_frame *f = &s->frames[frame];
    unsigned file = mt_frame_file_kind(mt_snapshot_str(s, f->filename));
    unsigned name = mt_frame_name_kind(mt_snapshot_str(s, f->name));
    return mt_frame_class(mt_frame_is_python(s, f), file, name);
}

/* No part of a forward pass. */
static bool is_elsewhere(const struct mt_snapshot *s, uint32_t stack)
{
    const struct mt_stack *list = &s->stacks[stack];
    for (uint32_t i = 0; i < list->n; i++) {
        enum mt_frame_class class = class_of(s, s->stack_frames[list->first + i]);
        if (class == MT_FRAME_STEP || class == MT_FRAME_BACKWARD || class == MT_FRAME_OPTIMIZER ||
            class == MT_FRAME_SETUP) {
            return true;
        }
    }
    return false;
}

static bool has_frame(const struct mt_snapshot *s, uint32_t stack, uint32_t frame)
{
    const struct mt_stack *list = &s->stacks[stack];
    for (uint32_t i = 0; stack && i < list->n; i++) {
        if (s->stack_frames[list->first + i] == frame) {
            return true;
        }
    }
    return false;
}

static int heavier(const void *x, const void *y)
{
    const struct weight *l = x, *r = y;
    return l->bytes != r->bytes ? (l->bytes < r->bytes) - (l->bytes > r->bytes)
                                : (l->frame > r->frame) - (l->frame < r->frame);
}

static void weigh_frames(struct finder *f)
{
    const struct mt_snapshot *s = snapshot(f);
    for (uint32_t i = 0; i < s->n_frames; i++) {
        f->frames[i].frame = i;
    }
    for (uint32_t k = 1; k < s->n_stacks; k++) {
        const struct mt_stack *list = &s->stacks[k];
        for (uint32_t i = 0; f->by_stack[k] && i < list->n; i++) {
            struct weight *w = &f->frames[s->stack_frames[list->first + i]];
            w->bytes = mt_add_sat(w->bytes, f->by_stack[k]);
        }
    }
    if (s->n_frames) {
        qsort(f->frames, s->n_frames, sizeof *f->frames, heavier);
    }
}

static enum mt_status add_subject(struct finder *f, enum mt_sim_cure_kind kind, uint32_t frame,
                                  bool *stacks, const uint64_t *sizes)
{
    struct mt_sim_subject x = {.kind = kind, .frame = frame, .stacks = stacks};
    if (f->out->n == MT_SIM_SUBJECTS) {
        mt_mem_free(stacks);
        return MT_OK;
    }
    if (sizes) {
        memcpy(x.sizes, sizes, sizeof x.sizes);
    }
    f->out->v[f->out->n++] = x;
    return MT_OK;
}

static bool *no_stacks(const struct finder *f)
{
    return mt_mem_zalloc(snapshot(f)->n_stacks + 1, sizeof(bool));
}

/* *repeats: two calls and more follow each other. */
static enum mt_status do_calls_repeat(struct finder *f, const bool *stacks, bool *repeats)
{
    struct edit_calls calls = {0};
    enum mt_status status = mt_sim_find_calls(f->sim, stacks, &calls, f->err);
    *repeats = false;
    for (size_t i = 1; status == MT_OK && i < calls.list.n; i++) {
        *repeats |= calls.list.v[i].run_end == calls.list.v[i - 1].run_end;
    }
    mt_vec_release(&calls.list);
    return status;
}

static enum mt_status try_frame(struct finder *f, uint32_t frame, bool *added)
{
    const struct mt_snapshot *s = snapshot(f);
    bool *stacks = no_stacks(f);
    if (!stacks) {
        return mt_fail_nomem(f->err);
    }
    bool forward = true;
    for (uint32_t k = 1; forward && k < s->n_stacks; k++) {
        stacks[k] = has_frame(s, k, frame);
        forward = !stacks[k] || !is_elsewhere(s, k);
    }
    enum mt_status status = forward ? do_calls_repeat(f, stacks, added) : MT_OK;
    if (status == MT_OK && *added) {
        return add_subject(f, MT_SIM_CURE_RECOMPUTE, frame, stacks, NULL);
    }
    mt_mem_free(stacks);
    return status;
}

static enum mt_status find_repeated(struct finder *f)
{
    size_t looked = 0, tried = 0;
    for (size_t i = 0; i < snapshot(f)->n_frames && looked < MOST_FRAMES; i++) {
        bool added = false;
        if (f->frames[i].bytes == 0 || tried == MOST_RECOMPUTED) {
            break;
        }
        if (class_of(snapshot(f), f->frames[i].frame) == MT_FRAME_USER) {
            MT_TRY(try_frame(f, f->frames[i].frame, &added));
            looked++;
            tried += added;
        }
    }
    return MT_OK;
}

/* ---- logits and evaluation ---- */

typedef bool frame_test(struct mt_str name);

static bool is_loss(struct mt_str name)
{
    return mt_str_find(name, MT_STR("cross_entropy")) != SIZE_MAX ||
           mt_str_find(name, MT_STR("nll_loss")) != SIZE_MAX ||
           mt_str_find(name, MT_STR("log_softmax")) != SIZE_MAX;
}

static bool is_evaluation(struct mt_str name)
{
    static const char *const words[] = {"evaluate", "evaluation", "eval", "validate", "validation"};
    for (size_t i = 0; i < MT_COUNT(words); i++) {
        if (mt_str_starts(name, mt_str_from(words[i]))) {
            return true;
        }
    }
    return false;
}

/* Marks stacks with such a frame; *frame is the innermost of the first. */
static size_t mark(const struct finder *f, frame_test *test, bool *stacks, uint32_t *frame)
{
    const struct mt_snapshot *s = snapshot(f);
    size_t n = 0;
    for (uint32_t k = 1; k < s->n_stacks; k++) {
        const struct mt_stack *list = &s->stacks[k];
        for (uint32_t i = 0; i < list->n && !stacks[k]; i++) {
            uint32_t id = s->stack_frames[list->first + i];
            stacks[k] = test(mt_snapshot_str(s, s->frames[id].name));
            *frame = stacks[k] && n == 0 ? id : *frame;
        }
        n += stacks[k];
    }
    return n;
}

/* Whether something of one of these sizes is never freed. */
static bool lasts(const struct finder *f, const uint64_t *sizes)
{
    for (size_t i = 0; i < f->sim->ops.n; i++) {
        if (!allocates(f, i) || f->ops.free_of[i] != NEVER) {
            continue;
        }
        for (size_t k = 0; k < MT_SIM_EDIT_SIZES; k++) {
            if (f->ops.sizes[i] == sizes[k]) {
                return true;
            }
        }
    }
    return false;
}

static enum mt_status find_logits(struct finder *f)
{
    bool *stacks = no_stacks(f);
    uint32_t frame = 0;
    uint64_t largest = 0;
    if (!stacks) {
        return mt_fail_nomem(f->err);
    }
    mark(f, is_loss, stacks, &frame);
    for (size_t i = 0; i < f->sim->ops.n; i++) {
        bool counts = allocates(f, i) && stacks[stack_of(f, i)];
        largest = counts && f->ops.sizes[i] > largest ? f->ops.sizes[i] : largest;
    }
    uint64_t sizes[MT_SIM_EDIT_SIZES] = {largest, largest / 2, largest / 4};
    if (largest < f->peak / LEAST_SHARE || lasts(f, sizes)) {
        mt_mem_free(stacks);
        return MT_OK;
    }
    memset(stacks, true, snapshot(f)->n_stacks);
    return add_subject(f, MT_SIM_CURE_LOGITS, 0, stacks, sizes);
}

static enum mt_status find_evaluation(struct finder *f)
{
    bool *stacks = no_stacks(f);
    uint32_t frame = 0;
    if (!stacks) {
        return mt_fail_nomem(f->err);
    }
    if (mark(f, is_evaluation, stacks, &frame) == 0) {
        mt_mem_free(stacks);
        return MT_OK;
    }
    return add_subject(f, MT_SIM_CURE_EVALUATION, frame, stacks, NULL);
}

static enum mt_status find_all(struct finder *f)
{
    const struct mt_snapshot *s = snapshot(f);
    f->by_stack = mt_mem_zalloc(s->n_stacks + 1, sizeof *f->by_stack);
    f->frames = mt_mem_zalloc(s->n_frames + 1, sizeof *f->frames);
    size_t peak = f->by_stack && f->frames ? find_peak(f) : SIZE_MAX;
    if (peak == SIZE_MAX) {
        return mt_fail_nomem(f->err);
    }
    weigh_stacks(f, peak);
    weigh_frames(f);
    MT_TRY(find_logits(f));
    MT_TRY(find_evaluation(f));
    return find_repeated(f);
}

enum mt_status mt_sim_find_subjects(const struct mt_sim *sim, struct mt_sim_subjects *out,
                                    struct mt_error *err)
{
    struct finder f = {.sim = sim, .out = out, .err = err};
    out->n = 0;
    enum mt_status status = mt_rewrite_begin(&f.ops, sim, err);
    if (status == MT_OK) {
        status = find_all(&f);
    }
    mt_rewrite_release(&f.ops);
    mt_mem_free(f.by_stack);
    mt_mem_free(f.frames);
    return status;
}

void mt_sim_subjects_release(struct mt_sim_subjects *s)
{
    for (size_t i = 0; i < s->n; i++) {
        mt_mem_free(s->v[i].stacks);
    }
    s->n = 0;
}
