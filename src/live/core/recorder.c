/* SPDX-License-Identifier: MIT */
/*
 * Rings of events. The hot way is: a probe for the stack, one 32-byte store for an event. Rings are
 * taken from the system whole and cleared, which costs address space only until events arrive.
 */
#include "live/core/recorder.h"

#include <string.h>

#include "support/mem.h"

#include "live/stacks/c_stack.h"
#include "support/utf8.h"

enum { LINE = 64, EVENTS_A_LINE = LINE / sizeof(struct mt_record_event) };

static uint32_t choose_how(const struct mt_recorder *r, const struct mt_record_settings *s)
{
    enum mt_record_stacks stacks = s->stacks;
    uint32_t how = MT_HOW_ON | s->max_frames << MT_HOW_FRAMES_SHIFT;
    if (stacks == MT_RECORD_STACKS_AUTO) {
        stacks = r->python.found ? MT_RECORD_STACKS_PYTHON : MT_RECORD_STACKS_C;
    }
    if (r->python.found && (stacks == MT_RECORD_STACKS_PYTHON || stacks == MT_RECORD_STACKS_ALL)) {
        how |= MT_HOW_PYTHON;
    }
    if (stacks == MT_RECORD_STACKS_C || stacks == MT_RECORD_STACKS_ALL) {
        how |= MT_HOW_C;
    }
    how |= s->free_stacks ? MT_HOW_FREES : 0;
    return how;
}

enum mt_status mt_recorder_new(struct mt_recorder **out, struct mt_error *err)
{
    struct mt_recorder *r = mt_mem_zalloc(1, sizeof *r);
    if (!r) {
        return mt_fail_nomem(err);
    }
    mt_record_settings_default(&r->settings);
    if (!mt_stack_table_init(&r->stacks) || !mt_vec_push(&r->streams, 0)) {
        mt_recorder_free(r);
        return mt_fail_nomem(err);
    }
    mt_python_find(&r->python);
    *out = r;
    return MT_OK;
}

static void release_rings(struct mt_recorder *r)
{
    for (int i = 0; i < MT_RECORD_RINGS; i++) {
        mt_mem_free(r->rings[i].memory);
        r->rings[i] = (struct mt_record_ring){0};
    }
}

enum mt_status mt_recorder_check(const struct mt_record_settings *s, struct mt_error *err)
{
    struct mt_record_event *v = mt_mem_zalloc(s->max_entries + EVENTS_A_LINE, sizeof *v);
    mt_mem_free(v); /* it was never written to, and has cost nothing */
    if (v || s->max_entries == 0) {
        return MT_OK;
    }
    return mt_fail(err, MT_NOMEM, MT_NO_OFFSET,
                   "max_entries is %llu, and %llu bytes for a ring of that length cannot be had",
                   (unsigned long long)s->max_entries,
                   (unsigned long long)(s->max_entries * sizeof *v));
}

void mt_recorder_prepare(const struct mt_recorder *r, const struct mt_record_settings *s)
{
    if (choose_how(r, s) & MT_HOW_C) {
        mt_c_stack_prepare();
    }
}

void mt_recorder_set(struct mt_recorder *r, const struct mt_record_settings *s)
{
    if (!s) {
        atomic_store_explicit(&r->how, 0, memory_order_relaxed);
        return;
    }
    if (s->max_entries != r->settings.max_entries) {
        release_rings(r);
    }
    r->settings = *s;
    uint32_t how = choose_how(r, s);
    mt_recorder_tick(r);
    atomic_store_explicit(&r->how, how, memory_order_relaxed);
}

void mt_recorder_free(struct mt_recorder *r)
{
    if (!r) {
        return;
    }
    release_rings(r);
    mt_mem_free(r->marks);
    mt_vec_release(&r->streams);
    mt_stack_table_release(&r->stacks);
    mt_mem_free(r);
}

/* ---- stacks ---- */

static void capture_with_c(const struct mt_recorder *r, uint32_t how, uint32_t max,
                           struct mt_raw_stack *out)
{
    if (how & MT_HOW_C) {
        mt_c_stack_capture(out, max);
    }
    if (how & MT_HOW_PYTHON) {
        /* both kinds: Python's have room of their own behind C's */
        uint32_t room = MT_RAW_FRAMES_MAX - out->n;
        mt_python_capture(&r->python, out, out->n + (max < room ? max : room));
    }
}

MT_HOT void mt_recorder_capture_how(const struct mt_recorder *r, uint32_t how,
                                    struct mt_raw_stack *out)
{
    uint32_t max = how >> MT_HOW_FRAMES_SHIFT;
    if (MT_LIKELY((how & (MT_HOW_PYTHON | MT_HOW_C)) == MT_HOW_PYTHON)) {
        mt_python_capture(&r->python, out, max);
    } else {
        capture_with_c(r, how, max, out);
    }
}

static bool is_interpreter(struct mt_str name)
{
    return mt_str_starts(name, MT_STR("_PyEval_EvalFrame")) ||
           mt_str_starts(name, MT_STR("PyEval_EvalFrame"));
}

static bool add_text(struct mt_stack_text *t, const struct mt_frame_text *text)
{
    struct mt_frame_text *f = &t->frames[t->n];
    *f = (struct mt_frame_text){.name = mt_arena_copy(&t->arena, text->name.p, text->name.n),
                                .filename =
                                    mt_arena_copy(&t->arena, text->filename.p, text->filename.n),
                                .line = text->line};
    if (!f->name.p || !f->filename.p) {
        return false;
    }
    t->n++;
    return true;
}

static void add_python(const struct mt_recorder *r, const struct mt_raw_stack *raw, uint32_t from,
                       struct mt_stack_text *t)
{
    for (uint32_t i = from; i < raw->n; i++) {
        mt_python_resolve(&r->python, &raw->frames[i], &t->frames[t->n++]);
    }
}

/* C frames come first in a capture, Python frames behind them. Python's are put where the
 * interpreter's loop first stands among C's, which is where they ran; further frames of the loop
 * say nothing and are left out. */
static bool add_all(const struct mt_recorder *r, const struct mt_raw_stack *raw, uint32_t n_c,
                    struct mt_stack_text *t)
{
    bool python_done = false, ours = true;
    for (uint32_t i = 0; i < n_c; i++) {
        struct mt_frame_text text;
        ours = ours && mt_c_stack_is_own(&raw->frames[i]);
        if (ours && i + 1 < n_c) {
            continue;
        }
        mt_c_stack_resolve(&raw->frames[i], &t->scratch, &text);
        bool loop = is_interpreter(text.name);
        if (loop && !python_done) {
            add_python(r, raw, n_c, t);
            python_done = true;
        }
        if (!loop && !add_text(t, &text)) {
            return false;
        }
    }
    if (!python_done) {
        add_python(r, raw, n_c, t);
    }
    return true;
}

struct mt_stack_text *mt_recorder_describe(struct mt_recorder *r, struct mt_raw_stack *raw)
{
    struct mt_stack_text *t = mt_mem_zalloc(1, sizeof *t);
    if (!t) {
        return NULL;
    }
    uint32_t n_c = 0;
    while (n_c < raw->n && raw->frames[n_c].at == MT_RAW_C_FRAME) {
        n_c++;
    }
    if (n_c < raw->n) {
        if (!mt_python_enter(&r->python, &t->gil)) {
            raw->n = n_c; /* the interpreter ended in between */
        } else {
            t->python = &r->python;
            mt_python_verify(&r->python, raw);
        }
    }
    if (!add_all(r, raw, n_c, t)) {
        mt_stack_text_free(t);
        return NULL;
    }
    return t;
}

void mt_stack_text_free(struct mt_stack_text *t)
{
    if (t) {
        if (t->python) {
            mt_python_leave(t->python, t->gil);
        }
        mt_arena_release(&t->arena);
        mt_mem_free(t);
    }
}

uint32_t mt_recorder_add_stack(struct mt_recorder *r, const struct mt_raw_stack *raw,
                               const struct mt_stack_text *text)
{
    size_t before = r->stacks.stacks.n;
    uint32_t id = mt_stack_table_add(&r->stacks, raw, text->frames, text->n);
    if (r->stacks.stacks.n > before) {
        for (uint32_t i = 0; i < raw->n; i++) {
            if (raw->frames[i].at != MT_RAW_C_FRAME) {
                r->python.incref((void *)raw->frames[i].code); /* for good: see python_stack.c */
            }
        }
    }
    return id;
}

/* ---- events ---- */

static bool know_stream(struct mt_recorder *r, uint64_t stream)
{
    if (stream != r->last_stream) {
        size_t i = 0;
        while (i < r->streams.n && r->streams.v[i] != stream) {
            i++;
        }
        if (i > UINT16_MAX || (i == r->streams.n && !mt_vec_push(&r->streams, stream))) {
            return false;
        }
        r->last_stream = stream;
        r->last_stream_index = (uint16_t)i;
    }
    return true;
}

/* In large pages where the system has them: else a new page stops the program every 128 events, on
 * average the dearest part of one. */
static bool ring_ready(struct mt_recorder *r, struct mt_record_ring *ring)
{
    uint64_t cap = r->settings.max_entries;
    if (!ring->v && cap > 0) {
        ring->memory = mt_mem_zalloc(cap + EVENTS_A_LINE, sizeof *ring->v);
        if (ring->memory) {
            mt_vec_expect_large(ring->memory, cap * sizeof *ring->v);
            ring->v = (void *)(((uintptr_t)ring->memory + LINE - 1) & ~(uintptr_t)(LINE - 1));
            ring->cap = cap;
        }
    }
    return ring->v != NULL;
}

bool mt_recorder_ready(struct mt_recorder *r, int device, uint64_t stream)
{
    return know_stream(r, stream) && ring_ready(r, &r->rings[device]);
}

void mt_recorder_event(struct mt_recorder *r, int device, enum mt_record_action action,
                       uint64_t addr, uint64_t size, uint64_t stream, uint32_t stack)
{
    if (device >= 0 && device < MT_RECORD_RINGS && mt_recorder_ready(r, device, stream)) {
        mt_recorder_append(r, device, action, addr, size, stack);
    }
}

void mt_recorder_mark(struct mt_recorder *r, int device, const char *name, bool end)
{
    if (!r->marks) {
        r->marks = mt_mem_zalloc(MT_RECORD_MARKS_MAX, sizeof *r->marks);
    }
    if (!r->marks) {
        return;
    }
    struct mt_record_mark *m = &r->marks[r->n_marks++ % MT_RECORD_MARKS_MAX];
    size_t n = strlen(name);
    n = n < sizeof m->name ? n : mt_utf8_cut(name, sizeof m->name - 1);
    *m = (struct mt_record_mark){.time_us = r->clock.now_us, .device = device, .end = end};
    memcpy(m->name, name, n);
}
