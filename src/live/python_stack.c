/* SPDX-License-Identifier: MIT */
/*
 * Walking CPython's frames. A frame is kept as (code object, offset of its instruction): reading
 * these costs a few nanoseconds a frame, while a line number means decoding the line table and is
 * left until a stack turns out to be new. Interned code objects keep a reference for good, so that
 * an address never comes to mean another function.
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
}

bool mt_python_ready(const struct mt_python *py)
{
    return py->found && py->is_initialized() && py->gil_check() && py->thread_state();
}

void mt_python_capture(const struct mt_python *py, struct mt_raw_stack *out, uint32_t max)
{
    if (!mt_python_ready(py)) {
        return;
    }
    void *frame = py->get_frame(py->thread_state());
    while (frame && out->n < max) {
        void *code = py->frame_code(frame);
        int at = py->frame_lasti ? py->frame_lasti(frame) : py->frame_line(frame);
        mt_raw_stack_push(out, (uintptr_t)code, at < 0 ? 0 : at);
        py->decref(code); /* the frame holds it */
        void *back = py->frame_back(frame);
        py->decref(frame);
        frame = back;
    }
    if (frame) {
        py->decref(frame);
    }
}

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
