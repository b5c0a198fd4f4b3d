/* SPDX-License-Identifier: MIT */
/*
 * Which frame of a call stack tells a person most, and what it is called. Every verb, picture and
 * page asks here, so that all name the same line.
 */
#ifndef MEMTOOL_FRAMES_H
#define MEMTOOL_FRAMES_H

#include <memtool/model.h>
#include <memtool/str.h>

/* A frame that says little to the user: PyTorch's, Python's or C++ internals. */
bool mt_frame_is_internal(const struct mt_snapshot *s, const struct mt_frame *f);

/* Whether the frame's file says where: it is neither empty nor "??". */
bool mt_frame_has_file(const struct mt_snapshot *s, const struct mt_frame *f);

/* Whether any frame of the file is a line of Python: one of a program of C has none. O(frames). */
bool mt_frames_have_python(const struct mt_snapshot *s);

/*
 * Position in the stack (0: innermost) of the frame that stands for it: the innermost of the
 * user's. Without one it is the operator, the outermost compiled frame of PyTorch's that names one
 * ("at::_ops::zeros_like::call"), else the innermost frame. 0 for stack 0 and without frames.
 * O(frames).
 */
uint32_t mt_stack_telling_frame(const struct mt_snapshot *s, uint32_t stack);

/* The same as a frame's id; 0 without frames. */
uint32_t mt_stack_telling_frame_id(const struct mt_snapshot *s, uint32_t stack);

/*
 * Appends a function's name for people: of C++ the qualified name without arguments, whether it is
 * given as it is written or as the linker knows it (_ZN2at4_ops10zeros_like4callERKNS_6TensorE:
 * "at::_ops::zeros_like::call"), else the name as it is. Not made safe for terminals.
 */
void mt_name_short(struct mt_buf *b, struct mt_str name);

#endif
