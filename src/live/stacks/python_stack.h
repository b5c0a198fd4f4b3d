/* SPDX-License-Identifier: MIT */
/*
 * Python stacks of the running thread, through symbols that the interpreter exports (CPython 3.9
 * and later). Nothing is linked: in a process without Python nothing is found, and all is quiet.
 *
 * PyTorch lets go of the GIL before it allocates or frees, so most stacks are caught without it.
 * That is sound: the frames of a thread are changed by that thread alone, and it is in here.
 */
#ifndef MEMTOOL_LIVE_STACKS_PYTHON_STACK_H
#define MEMTOOL_LIVE_STACKS_PYTHON_STACK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "live/stacks/raw_stack.h"

/* Where the interpreter keeps its frames, in the releases whose layout is known: bytes from the
 * start of PyThreadState (current), of what that points to (cframe, or -1 when it is the frame
 * itself), of PyFrameObject (f_frame) and of _PyInterpreterFrame (the rest). */
struct mt_python_layout {
    int release; /* 0x030c: 3.12 */
    uint16_t current;
    int16_t cframe;
    uint16_t f_frame, code, previous, instruction, owner;
    int8_t not_python; /* owner of frames that hold no Python code; -1: there are none */
};

/* The interpreter's functions; all zero when there is no interpreter. What a direct walk reads
 * comes first, close together. */
struct mt_python {
    _Atomic intptr_t code_start; /* bytes from a code object to its instructions; 0: not known yet,
                                    -1: the layout has proved wrong */
    void *(*thread_state)(void); /* this thread's, whether or not it holds the GIL */
    struct mt_python_layout layout; /* release 0: by the functions alone */
    bool found;
    bool one_state; /* before 3.12: the functions of the GIL know one state of a thread, that of its
                       first interpreter */
    int (*is_initialized)(void);
    int (*gil_ensure)(void);
    void (*gil_release)(int state);
    void *(*current_state)(void); /* who holds the GIL, of all threads before 3.12 */
    void *(*first_interpreter)(void);
    void *(*next_interpreter)(void *interpreter);
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

/* Takes the GIL, for a thread that Python knows; *state is for mt_python_leave. False when there is
 * nothing to take: no interpreter, one that starts or ends, a thread of its own; and when the
 * thread may hold it for another interpreter. Must not be called with a lock that another thread
 * may want while it holds the GIL. */
bool mt_python_enter(const struct mt_python *py, int *state);

void mt_python_leave(const struct mt_python *py, int state);

/* Whether this thread holds the GIL. PyGILState_Check is no answer: once there was a second
 * interpreter, it always says yes. */
bool mt_python_holds_gil(const struct mt_python *py);

/* Appends this thread's frames, at most `max` in all; nothing in a thread that Python does not
 * know. Needs no GIL; takes it for a while where the layout is not known. The code objects are
 * alive as long as the caller does not return into Python. */
void mt_python_capture(const struct mt_python *py, struct mt_raw_stack *out, uint32_t max);

/* With the GIL, for a stack seen for the first time, right after its capture: whether the
 * interpreter's own functions give the same frames. When not, `stack` is made right, and captures
 * go by the functions from now on. */
void mt_python_verify(struct mt_python *py, struct mt_raw_stack *stack);

/* What a frame means. With the GIL, right after the capture, in the same thread; must not be called
 * with a lock that a free of memory takes, for Python may run anything. The bytes live as long as
 * the code object. */
void mt_python_resolve(const struct mt_python *py, const struct mt_raw_frame *f,
                       struct mt_frame_text *out);

#endif
