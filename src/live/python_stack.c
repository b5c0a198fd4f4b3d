/* SPDX-License-Identifier: MIT */
/*
 * Walking CPython's frames. A frame is kept as (code object, offset of its instruction): reading
 * these costs a few nanoseconds a frame, while a line number means decoding the line table and is
 * left until a stack turns out to be new. Interned code objects keep a reference for good, so that
 * an address never comes to mean another function.
 *
 * The interpreter's functions make a frame object for every frame that they are asked about, which
 * costs more than all else here and slows the program's own calls. So in the releases whose layout
 * is known only the topmost is asked for, and the chain behind it is read directly. Each stack that
 * is new is compared with what the functions say; the first difference ends the direct way.
 */
#include "python_stack.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include <memtool/compiler.h>

struct symbol {
    const char *name;
    const char *other; /* the name in other releases, or NULL */
    size_t offset;
    bool required;
};

#define SYMBOL(member, name, other, required)                                                      \
    {                                                                                              \
        name, other, offsetof(struct mt_python, member), required                                  \
    }

static const struct symbol symbols[] = {
    SYMBOL(is_initialized, "Py_IsInitialized", NULL, true),
    SYMBOL(gil_check, "PyGILState_Check", NULL, true),
    SYMBOL(thread_state, "PyThreadState_GetUnchecked", "_PyThreadState_UncheckedGet", true),
    SYMBOL(get_frame, "PyThreadState_GetFrame", NULL, true),
    SYMBOL(frame_code, "PyFrame_GetCode", NULL, true),
    SYMBOL(frame_back, "PyFrame_GetBack", NULL, true),
    SYMBOL(frame_lasti, "PyFrame_GetLasti", NULL, false),
    SYMBOL(frame_line, "PyFrame_GetLineNumber", NULL, true),
    SYMBOL(code_line, "PyCode_Addr2Line", NULL, true),
    SYMBOL(get_attribute, "PyObject_GetAttrString", NULL, true),
    SYMBOL(utf8, "PyUnicode_AsUTF8AndSize", NULL, true),
    SYMBOL(error_fetch, "PyErr_Fetch", NULL, true),
    SYMBOL(error_restore, "PyErr_Restore", NULL, true),
    SYMBOL(incref, "Py_IncRef", NULL, true),
    SYMBOL(decref, "Py_DecRef", NULL, true),
};

/* Include/internal/pycore_frame.h of each release. Others go by the functions. */
static const struct mt_python_layout layouts[] = {
    {0x030b, 24, 32, 48, 56, 69, -1},
    {0x030c, 24, 0, 8, 56, 70, 3},
    {0x030d, 24, 0, 8, 56, 70, 3},
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
        if (!function && s->other) {
            function = dlsym(RTLD_DEFAULT, s->other);
        }
        if (!function && s->required) {
            return;
        }
        memcpy((char *)py + s->offset, &function, sizeof function);
    }
    py->found = true;
    const unsigned long *version = dlsym(RTLD_DEFAULT, "Py_Version"); /* 3.11 and later */
    py->layout = py->frame_lasti ? find_layout(version) : NULL;
    py->state_is_own = version && *version >= 0x030c0000;
}

/* From 3.12 on the thread state is the thread's own, and there only while it holds the GIL; before,
 * it is that of whoever holds it. */
static void *own_thread_state(const struct mt_python *py)
{
    if (!py->state_is_own && (!py->is_initialized() || !py->gil_check())) {
        return NULL;
    }
    return py->thread_state();
}

bool mt_python_ready(const struct mt_python *py)
{
    return py->found && own_thread_state(py) != NULL;
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

static uintptr_t word_at(uintptr_t base, uint16_t offset)
{
    uintptr_t word;
    memcpy(&word, (const char *)base + offset, sizeof word);
    return word;
}

static void walk_chain(const struct mt_python *py, intptr_t code_start, uintptr_t frame,
                       struct mt_raw_stack *out, uint32_t max)
{
    const struct mt_python_layout *l = py->layout;
    for (; frame && out->n < max; frame = word_at(frame, l->previous)) {
        if (*((const int8_t *)frame + l->owner) == l->not_python) {
            continue;
        }
        uintptr_t code = word_at(frame, l->code);
        intptr_t at = (intptr_t)(word_at(frame, l->instruction) - code) - code_start;
        mt_raw_stack_push(out, code, at < 0 ? 0 : at);
    }
}

void mt_python_capture(const struct mt_python *py, struct mt_raw_stack *out, uint32_t max)
{
    void *state = py->found ? own_thread_state(py) : NULL;
    if (!state) {
        return;
    }
    void *frame = py->get_frame(state);
    intptr_t code_start = atomic_load_explicit(&py->code_start, memory_order_relaxed);
    if (code_start > 0 && frame) {
        walk_chain(py, code_start, word_at((uintptr_t)frame, py->layout->f_frame), out, max);
        py->decref(frame);
    } else {
        walk_frames(py, frame, out, max);
    }
}

/* Where instructions begin, by what the functions say of the topmost frame; -1 when that frame is
 * not where the layout has it. */
static intptr_t learn_code_start(const struct mt_python *py)
{
    void *frame = py->get_frame(py->thread_state());
    if (!frame) {
        return 0;
    }
    uintptr_t inner = word_at((uintptr_t)frame, py->layout->f_frame);
    void *code = py->frame_code(frame);
    intptr_t start = -1;
    if (inner && word_at(inner, py->layout->code) == (uintptr_t)code) {
        start = (intptr_t)(word_at(inner, py->layout->instruction) - (uintptr_t)code) -
                py->frame_lasti(frame);
    }
    py->decref(code);
    py->decref(frame);
    return start > 0 && start < 1024 ? start : -1;
}

void mt_python_verify(struct mt_python *py, struct mt_raw_stack *stack)
{
    struct mt_raw_stack truth;
    intptr_t code_start = atomic_load_explicit(&py->code_start, memory_order_relaxed);
    if (!py->layout || code_start < 0 || !mt_python_ready(py)) {
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
    walk_frames(py, py->get_frame(py->thread_state()), &truth,
                stack->n > n ? stack->n : MT_RAW_FRAMES_MAX);
    if (truth.n != stack->n ||
        memcmp(truth.frames, stack->frames, truth.n * sizeof truth.frames[0]) != 0) {
        atomic_store_explicit(&py->code_start, -1, memory_order_relaxed);
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
