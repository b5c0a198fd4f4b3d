/* SPDX-License-Identifier: MIT */
/*
 * A call stack as it is caught, before anybody asks what it means: places in code, innermost first,
 * and a key made of them. Catching takes no lock and no memory. The recorder looks the key up; only
 * a stack that it has not seen before is turned into names and lines.
 */
#ifndef MEMTOOL_LIVE_STACKS_RAW_STACK_H
#define MEMTOOL_LIVE_STACKS_RAW_STACK_H

#include <stdint.h>

#include "support/str.h"

enum { MT_RAW_FRAMES_MAX = 128 };

/* `at` of a C frame; Python frames have the offset of an instruction, or a line, from 0 up. */
enum { MT_RAW_C_FRAME = -1 };

struct mt_raw_frame {
    uintptr_t code; /* Python: the code object; C: the address of the instruction */
    int64_t at;
};

/*
 * Stands for a stack wherever stacks are told apart. The places themselves are not compared: of a
 * deep stack that would fetch half a kilobyte, at a moment when the program has taken the cache for
 * its own work. Of the 128 bits 96 are kept: that two of a million stacks (the most there are)
 * share a key has a chance of 1 in 10^17.
 */
struct mt_raw_key {
    uint64_t hash, check;
};

struct mt_raw_stack {
    struct mt_raw_key key;
    uint32_t n;
    struct mt_raw_frame frames[MT_RAW_FRAMES_MAX]; /* [0, n) are set */
};

/* What a frame means. The bytes are borrowed; how long they live, the resolver says. */
struct mt_frame_text {
    struct mt_str name, filename;
    int32_t line;
};

/* Of no frames: digits of the golden ratio and of pi. */
static const struct mt_raw_key mt_raw_key_start = {0x9e3779b97f4a7c15u, 0x243f6a8885a308d3u};

static inline void mt_raw_stack_reset(struct mt_raw_stack *s)
{
    s->n = 0;
    s->key = mt_raw_key_start;
}

/* Paid for every frame of every stack: one multiplication, whole. Folding its halves keeps zeros at
 * the low end, which products gather, out of the next factor. */
static inline struct mt_raw_key mt_raw_key_add(struct mt_raw_key k, const struct mt_raw_frame *f)
{
    __extension__ typedef unsigned __int128 u128;
    u128 product = (u128)(k.hash ^ f->code) * (k.check ^ (uint64_t)f->at);
    uint64_t low = (uint64_t)product, high = (uint64_t)(product >> 64);
    return (struct mt_raw_key){low ^ high, high};
}

/* The caller keeps n below MT_RAW_FRAMES_MAX. */
static inline void mt_raw_stack_push(struct mt_raw_stack *s, uintptr_t code, int64_t at)
{
    s->frames[s->n] = (struct mt_raw_frame){code, at};
    s->key = mt_raw_key_add(s->key, &s->frames[s->n++]);
}

#endif
