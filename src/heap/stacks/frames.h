/* SPDX-License-Identifier: MIT */
/*
 * Which frame of a call stack tells a person most, and what it is called. Every verb, picture and
 * page asks here, so that all name the same line.
 */
#ifndef MEMTOOL_HEAP_STACKS_FRAMES_H
#define MEMTOOL_HEAP_STACKS_FRAMES_H

#include "snapshot/model/model.h"
#include "support/compiler.h"
#include "support/str.h"

/* A frame that says little to the user: PyTorch's, Python's or C++ internals. */
bool mt_frame_is_internal(const struct mt_snapshot *s, const struct mt_frame *f);

/* Whether the frame's file says where: it is neither empty nor "??", nor that of a node of the
 * backward pass, which is the same for many of them. */
bool mt_frame_has_file(const struct mt_snapshot *s, const struct mt_frame *f);

/* A line of Python. */
bool mt_frame_is_python(const struct mt_snapshot *s, const struct mt_frame *f);

/* Whether any frame of the file is a line of Python: one of a program of C has none. O(frames). */
bool mt_frames_have_python(const struct mt_snapshot *s);

/*
 * Position in the stack (0: innermost) of the frame that stands for it: the innermost of the
 * user's. Without one in Python it is the innermost node of the backward pass, else the operator,
 * the outermost compiled frame of PyTorch's that names one
 * ("at::_ops::zeros_like::call"), else the innermost frame. 0 for stack 0 and without frames.
 * O(frames).
 */
uint32_t mt_stack_telling_frame(const struct mt_snapshot *s, uint32_t stack);

/* The same as a frame's id; 0 without frames. */
uint32_t mt_stack_telling_frame_id(const struct mt_snapshot *s, uint32_t stack);

/* The frame id of the innermost node of the backward pass; 0: it has none. O(frames). */
uint32_t mt_stack_backward_node(const struct mt_snapshot *s, uint32_t stack);

/* Whether a frame of the stack is empty_cache() or emptyCache(), of PyTorch or of memtool.
 * O(frames). */
bool mt_stack_empties_cache(const struct mt_snapshot *s, uint32_t stack);

/* ---- what people read where there is no frame: the same in every report, picture and page ---- */

#define MT_NO_STACK "(no stack)"
#define MT_NO_FRAME_NAME "(unknown frame)"
#define MT_OLDER "older than the trace" /* allocated before the first event */

/* What is known of memory without frames: its age may be, in any case there is the file. */
enum mt_stackless { MT_STACKLESS_OLDER, MT_STACKLESS_RECORDED, MT_STACKLESS_ANY };

/* Why it has none, "not from Python, as in autograd's threads". Borrowed for good. O(frames). */
const char *mt_stackless_why(const struct mt_snapshot *s, enum mt_stackless age);

/* ---- stacks that are called the same ---- */

struct mt_stack_of {
    const struct mt_snapshot *s;
    uint32_t stack;
};

/* Where a stack differs from the others of its group. */
struct mt_stack_difference {
    uint32_t frame; /* position of the frame that fewest others have; the length: all have all */
    bool alone;     /* no other has it */
};

/*
 * Compares n different stacks, of one file or of several, and says of each where it differs;
 * frames are the same when name, file and line are. Lines of Python go before compiled frames.
 * False when out of memory. O(f log f) for f frames in all.
 */
bool mt_stack_differences(const struct mt_stack_of *group, size_t n,
                          struct mt_stack_difference *out) MT_NODISCARD;

/* Whether a function, as it is written or as the linker knows it, computes a node of the backward
 * pass: *node is "MmBackward0" of torch::autograd::generated::MmBackward0::apply(...). */
bool mt_name_backward(struct mt_str name, struct mt_str *node);

/*
 * Appends a function's name for people: "MmBackward0 (backward)" of such a node; of C++ the
 * qualified name without arguments, whether it is given as it is written or as the linker knows it
 * (_ZN2at4_ops10zeros_like4callERKNS_6TensorE: "at::_ops::zeros_like::call"), else the name as it
 * is. Not made safe for terminals.
 */
void mt_name_short(struct mt_buf *b, struct mt_str name);

#endif
