/* SPDX-License-Identifier: MIT */
/*
 * Walking CPython's frames. A frame is kept as (code object, offset of its instruction): reading
 * these costs a few nanoseconds a frame, while a line number means decoding the line table and is
 * left until a stack turns out to be new. Interned code objects keep a reference for good, so that
 * an address never comes to mean another function.
 *
 * The interpreter's functions make a frame object for every frame that they are asked about, which
 * costs more than all else here, slows the program's own calls and needs the GIL. So in the
 * releases whose layout is known the chain of frames is read directly. Each stack that is new is
 * compared with what the functions say; the first difference ends the direct way.
 */
#include "live/stacks/python_stack.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "support/compiler.h"

struct symbol {
    const char *name;
    size_t offset;
    bool required;
};

#define SYMBOL(member, name, required)                                                             \
    {                                                                                              \
        name, offsetof(struct mt_python, member), required                                         \
    }

static const struct symbol symbols[] = {
    SYMBOL(is_initialized, "Py_IsInitialized", true),
    SYMBOL(thread_state, "PyGILState_GetThisThreadState", true),
    SYMBOL(gil_ensure, "PyGILState_Ensure", true),
    SYMBOL(gil_release, "PyGILState_Release", true),
    SYMBOL(current_state, "_PyThreadState_UncheckedGet", false),
    SYMBOL(current_state, "PyThreadState_GetUnchecked", false), /* its name since 3.13 */
    SYMBOL(first_interpreter, "PyInterpreterState_Head", true),
    SYMBOL(next_interpreter, "PyInterpreterState_Next", true),
    SYMBOL(get_frame, "PyThreadState_GetFrame", true),
    SYMBOL(frame_code, "PyFrame_GetCode", true),
    SYMBOL(frame_back, "PyFrame_GetBack", true),
    SYMBOL(frame_lasti, "PyFrame_GetLasti", false),
    SYMBOL(frame_line, "PyFrame_GetLineNumber", true),
    SYMBOL(code_line, "PyCode_Addr2Line", true),
    SYMBOL(get_attribute, "PyObject_GetAttrString", true),
    SYMBOL(utf8, "PyUnicode_AsUTF8AndSize", true),
    SYMBOL(error_fetch, "PyErr_Fetch", true),
    SYMBOL(error_restore, "PyErr_Restore", true),
    SYMBOL(incref, "Py_IncRef", true),
    SYMBOL(decref, "Py_DecRef", true),
};

/* Include/cpython/pystate.h and Include/internal/pycore_frame.h of each release. Others go by the
 * functions. */
static const struct mt_python_layout layouts[] = {
    {0x030b, 56, 8, 24, 32, 48, 56, 69, -1},
    {0x030c, 56, 0, 24, 0, 8, 56, 70, 3},
    {0x030d, 72, -1, 24, 0, 8, 56, 70, 3},
};

static const struct mt_python_layout *find_layout(const unsigned long *version)
{
    /* a build without the GIL lays out its objects otherwise */
    if (!version || sizeof(void *) != 8 || dlsym(RTLD_DEFAULT, "_Py_MergeZeroLocalRefcount")) {
        return NULL;
    }
    for (size_t i = 0; i < MT_COUNT(layouts); i++) {
        if ((*version >> 16) == (unsigned long)layouts[i].release && (*version & 0xf0) == 0xf0) {
            return &layouts[i];
        }
    }
    return NULL;
}

void mt_python_find(struct mt_python *py)
{
    memset(py, 0, sizeof *py);
    for (size_t i = 0; i < MT_COUNT(symbols); i++) {
        const struct symbol *s = &symbols[i];
        void *function = dlsym(RTLD_DEFAULT, s->name);
        if (!function && s->required) {
            return;
        }
        if (function) {
            memcpy((char *)py + s->offset, &function, sizeof function);
        }
    }
    py->found = py->current_state != NULL;
    const unsigned long *version = dlsym(RTLD_DEFAULT, "Py_Version"); /* 3.11 and later */
    py->one_state = !version || *version < 0x030c0000;
    const struct mt_python_layout *layout = py->frame_lasti ? find_layout(version) : NULL;
    if (layout) {
        py->layout = *layout;
    }
}

static void *own_thread_state(const struct mt_python *py)
{
    return py->is_initialized() ? py->thread_state() : NULL;
}

bool mt_python_holds_gil(const struct mt_python *py)
{
    const void *current = py->current_state();
    return current && current == py->thread_state();
}

/* Whether this thread may hold the GIL for another interpreter than the one that the functions of
 * the GIL have for it: they would wait for what the thread itself holds. */
static bool may_hold_for_other(const struct mt_python *py)
{
    void *first = py->one_state ? py->first_interpreter() : NULL;
    return first && py->next_interpreter(first) && !mt_python_holds_gil(py);
}

bool mt_python_enter(const struct mt_python *py, int *state)
{
    if (!py->found || !own_thread_state(py) || may_hold_for_other(py)) {
        return false;
    }
    *state = py->gil_ensure();
    return true;
}

void mt_python_leave(const struct mt_python *py, int state)
{
    py->gil_release(state);
}

/* ---- by the interpreter's functions ---- */

static int place_in(const struct mt_python *py, void *frame)
{
    int at = py->frame_lasti ? py->frame_lasti(frame) : py->frame_line(frame);
    return at < 0 ? 0 : at;
}

/* Appends `frame`, whose reference it takes, and all behind it. */
static void walk_frames(const struct mt_python *py, void *frame, struct mt_raw_stack *out,
                        uint32_t max)
{
    while (frame && out->n < max) {
        void *code = py->frame_code(frame);
        mt_raw_stack_push(out, (uintptr_t)code, place_in(py, frame));
        py->decref(code); /* the frame holds it */
        void *back = py->frame_back(frame);
        py->decref(frame);
        frame = back;
    }
    if (frame) {
        py->decref(frame);
    }
}

/* ---- directly ---- */

static inline uintptr_t word_at(uintptr_t base, uint16_t offset)
{
    uintptr_t word;
    memcpy(&word, (const char *)base + offset, sizeof word);
    return word;
}

static inline bool holds_python(const struct mt_python_layout *l, uintptr_t frame)
{
    return *((const int8_t *)frame + l->owner) != l->not_python;
}

static uintptr_t current_frame(const struct mt_python_layout *l, const void *state)
{
    uintptr_t at = word_at((uintptr_t)state, l->current);
    return l->cframe >= 0 && at ? word_at(at, (uint16_t)l->cframe) : at;
}

/* All that the loop needs goes along in registers: through memory it would cost more than the
 * walk. */
static void walk_chain(const struct mt_python_layout *layout, intptr_t code_start, uintptr_t frame,
                       struct mt_raw_stack *out, uint32_t max)
{
    const struct mt_python_layout l = *layout;
    struct mt_raw_frame *to = &out->frames[out->n], *end = &out->frames[max];
    struct mt_raw_key key = out->key;
    for (; frame && to < end; frame = word_at(frame, l.previous)) {
        if (!holds_python(&l, frame)) {
            continue;
        }
        uintptr_t code = word_at(frame, l.code);
        intptr_t at = (intptr_t)(word_at(frame, l.instruction) - code) - code_start;
        const struct mt_raw_frame f = {code, at < 0 ? 0 : at};
        key = mt_raw_key_add(key, &f);
        *to++ = f;
    }
    out->key = key;
    out->n = (uint32_t)(to - out->frames);
}

static void capture_by_functions(const struct mt_python *py, struct mt_raw_stack *out, uint32_t max)
{
    int gil;
    if (mt_python_enter(py, &gil)) {
        walk_frames(py, py->get_frame(py->thread_state()), out, max);
        mt_python_leave(py, gil);
    }
}

MT_HOT void mt_python_capture(const struct mt_python *py, struct mt_raw_stack *out, uint32_t max)
{
    intptr_t code_start = atomic_load_explicit(&py->code_start, memory_order_relaxed);
    if (MT_UNLIKELY(code_start <= 0)) {
        capture_by_functions(py, out, max);
        return;
    }
    /* An interpreter that ends frees the states of other threads long before it forgets them. */
    const void *state = own_thread_state(py);
    if (state) {
        walk_chain(&py->layout, code_start, current_frame(&py->layout, state), out, max);
    }
}

/* Where instructions begin, by what the functions say of the topmost frame; -1 when that frame is
 * not where the layout has it, 0 when there is none to learn from. */
static intptr_t learn_code_start(const struct mt_python *py)
{
    const struct mt_python_layout *l = &py->layout;
    void *state = py->thread_state();
    void *frame = py->get_frame(state);
    if (!frame) {
        return 0;
    }
    uintptr_t inner = word_at((uintptr_t)frame, l->f_frame);
    uintptr_t top = current_frame(l, state);
    while (top && top != inner && !holds_python(l, top)) {
        top = word_at(top, l->previous);
    }
    void *code = py->frame_code(frame);
    intptr_t start = -1;
    if (inner && top == inner && word_at(inner, l->code) == (uintptr_t)code) {
        start =
            (intptr_t)(word_at(inner, l->instruction) - (uintptr_t)code) - py->frame_lasti(frame);
    }
    py->decref(code);
    py->decref(frame);
    return start > 0 && start < 1024 ? start : -1;
}

static bool same_frames(const struct mt_raw_frame *a, const struct mt_raw_frame *b, uint32_t n)
{
    return memcmp(a, b, n * sizeof *a) == 0;
}

/* The functions leave out a frame that is only being set up, when a collection of garbage that
 * frees memory falls into that moment: no fault of the layout. */
static bool being_set_up(const struct mt_raw_stack *stack, const struct mt_raw_stack *truth,
                         uint32_t n_c)
{
    uint32_t n = stack->n - n_c;
    return n > 0 && truth->n >= stack->n - 1 &&
           same_frames(&truth->frames[n_c], &stack->frames[n_c + 1], n - 1);
}

void mt_python_verify(struct mt_python *py, struct mt_raw_stack *stack)
{
    struct mt_raw_stack truth;
    intptr_t code_start = atomic_load_explicit(&py->code_start, memory_order_relaxed);
    if (py->layout.release == 0 || code_start < 0) {
        return;
    }
    if (code_start == 0) { /* this stack came by the functions */
        atomic_store_explicit(&py->code_start, learn_code_start(py), memory_order_relaxed);
        return;
    }
    mt_raw_stack_reset(&truth);
    uint32_t n = 0; /* C frames, if any, stand in front */
    for (; n < stack->n && stack->frames[n].at == MT_RAW_C_FRAME; n++) {
        mt_raw_stack_push(&truth, stack->frames[n].code, MT_RAW_C_FRAME);
    }
    walk_frames(py, py->get_frame(py->thread_state()), &truth, stack->n);
    if (truth.n != stack->n || !same_frames(truth.frames, stack->frames, truth.n)) {
        if (!being_set_up(stack, &truth, n)) {
            atomic_store_explicit(&py->code_start, -1, memory_order_relaxed);
        }
        *stack = truth;
    }
}

/* ---- in words ---- */

static struct mt_str attribute(const struct mt_python *py, void *code, const char *name)
{
    struct mt_str text = MT_STR("??");
    void *value = py->get_attribute(code, name);
    if (value) {
        ptrdiff_t n = 0;
        const char *p = py->utf8(value, &n);
        if (p) {
            text = (struct mt_str){p, (size_t)n};
        }
        py->decref(value); /* the code object holds the string, the string its UTF-8 form */
    }
    return text;
}

void mt_python_resolve(const struct mt_python *py, const struct mt_raw_frame *f,
                       struct mt_frame_text *out)
{
    void *type, *value, *trace;
    void *code = (void *)f->code;
    py->error_fetch(&type, &value, &trace); /* an exception may be on its way */
    out->name = attribute(py, code, "co_name");
    out->filename = attribute(py, code, "co_filename");
    out->line = py->frame_lasti ? py->code_line(code, (int)f->at) : (int32_t)f->at;
    py->error_restore(type, value, trace);
}
