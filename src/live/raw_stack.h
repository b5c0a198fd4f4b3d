/* SPDX-License-Identifier: MIT */
/*
 * A call stack as it is caught, before anybody asks what it means: places in code, innermost first,
 * and a hash of them. Catching takes no lock and no memory. The recorder looks the hash up; only a
 * stack that it has not seen before is turned into names and lines.
 */
#ifndef LIVE_RAW_STACK_H
#define LIVE_RAW_STACK_H

#include <stdint.h>

#include <memtool/str.h>

enum { MT_RAW_FRAMES_MAX = 128 };

/* `at` of a C frame; Python frames have the offset of an instruction, or a line, from 0 up. */
enum { MT_RAW_C_FRAME = -1 };

struct mt_raw_frame {
    uintptr_t code; /* Python: the code object; C: the address of the instruction */
    int64_t at;
};

struct mt_raw_stack {
    uint64_t hash;
    uint32_t n;
    struct mt_raw_frame frames[MT_RAW_FRAMES_MAX]; /* [0, n) are set */
};

/* What a frame means. The bytes are borrowed; how long they live, the resolver says. */
struct mt_frame_text {
    struct mt_str name, filename;
    int32_t line;
};

static inline void mt_raw_stack_reset(struct mt_raw_stack *s)
{
    s->n = 0;
    s->hash = 0;
}

/* Short, for it is paid for every frame of every stack; stacks are compared in full behind it. */
static inline uint64_t mt_raw_frame_hash(uint64_t hash, const struct mt_raw_frame *f)
{
    hash = ((hash ^ f->code) + (uint64_t)f->at) * 0x9e3779b97f4a7c15u;
    return hash >> 29 | hash << 35;
}

/* The caller keeps n below MT_RAW_FRAMES_MAX. */
static inline void mt_raw_stack_push(struct mt_raw_stack *s, uintptr_t code, int64_t at)
{
    s->frames[s->n] = (struct mt_raw_frame){code, at};
    s->hash = mt_raw_frame_hash(s->hash, &s->frames[s->n++]);
}

#endif
