/* SPDX-License-Identifier: MIT */
/*
 * Python stacks of the running thread, through symbols that the interpreter exports (CPython 3.9
 * and later). Nothing is linked: in a process without Python nothing is found, and all is quiet.
 */
#ifndef LIVE_PYTHON_STACK_H
#define LIVE_PYTHON_STACK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "raw_stack.h"

/* Where the interpreter keeps its frames, in the releases whose layout is known. Bytes from the
 * start of PyFrameObject (f_frame) and of _PyInterpreterFrame (the rest). */
struct mt_python_layout {
    int release; /* 0x030c: 3.12 */
    uint16_t f_frame, code, previous, instruction, owner;
    int8_t not_python; /* owner of frames that hold no Python code; -1: there are none */
};

/* The interpreter's functions; all zero when there is no interpreter. */
struct mt_python {
    bool found;
    bool state_is_own; /* thread_state() is NULL unless this thread holds the GIL */
    const struct mt_python_layout *layout; /* NULL: by the functions alone */
    _Atomic intptr_t code_start; /* bytes from a code object to its instructions; 0: not known yet,
                                    -1: the layout has proved wrong */
    int (*is_initialized)(void);
    int (*gil_check)(void);
    void *(*thread_state)(void);
    void *(*get_frame)(void *thread_state);
    void *(*frame_code)(void *frame);
    void *(*frame_back)(void *frame);
    int (*frame_lasti)(void *frame); /* NULL before 3.11 */
    int (*frame_line)(void *frame);
    int (*code_line)(void *code, int lasti);
    void *(*get_attribute)(void *object, const char *name);
    const char *(*utf8)(void *unicode, ptrdiff_t *n);
    void (*error_fetch)(void **type, void **value, void **trace);
    void (*error_restore)(void *type, void *value, void *trace);
    void (*incref)(void *object);
    void (*decref)(void *object);
};

/* Looks for the interpreter among what the process has loaded. */
void mt_python_find(struct mt_python *py);

/* Whether this thread may look at its Python stack now: it holds the GIL, and the interpreter is
 * neither starting nor gone. */
bool mt_python_ready(const struct mt_python *py);

/* Appends this thread's frames, at most `max` in all; nothing when it is not ready. The code
 * objects are alive as long as the caller neither returns into Python nor lets go of the GIL. */
void mt_python_capture(const struct mt_python *py, struct mt_raw_stack *out, uint32_t max);

/* For a stack seen for the first time, right after its capture: whether the interpreter's own
 * functions give the same frames. When not, `stack` is made right, and captures go by the functions
 * from now on. */
void mt_python_verify(struct mt_python *py, struct mt_raw_stack *stack);

/* What a frame means. Only right after the capture, in the same thread; must not be called with a
 * lock that a free of memory takes, for Python may run anything. The bytes live as long as the code
 * object. */
void mt_python_resolve(const struct mt_python *py, const struct mt_raw_frame *f,
                       struct mt_frame_text *out);

#endif
