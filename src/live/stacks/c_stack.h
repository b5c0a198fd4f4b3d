/* SPDX-License-Identifier: MIT */
/* Stacks of C and C++ frames, by the unwinder of the C library. */
#ifndef MEMTOOL_LIVE_STACKS_C_STACK_H
#define MEMTOOL_LIVE_STACKS_C_STACK_H

#include <stdbool.h>

#include "live/stacks/raw_stack.h"

/* Makes the unwinder load what it needs; call it once before the first capture, because it takes
 * memory. */
void mt_c_stack_prepare(void);

/* This thread's frames, at most `max`, into an empty stack. A microsecond or two. */
void mt_c_stack_capture(struct mt_raw_stack *out, uint32_t max);

/* The text of one frame as long as the scratch lives. */
struct mt_c_frame_scratch {
    char name[512];
    char filename[512];
};

/* The function (C++ names in source form where libstdc++ is loaded; "+0x1f", the offset in the
 * object, where it exports no name) and the object's file. C frames have no line: 0. */
void mt_c_stack_resolve(const struct mt_raw_frame *f, struct mt_c_frame_scratch *scratch,
                        struct mt_frame_text *out);

/* Whether the frame lies in this library itself. */
bool mt_c_stack_is_own(const struct mt_raw_frame *f);

#endif
