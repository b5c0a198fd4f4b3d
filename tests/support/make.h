/* SPDX-License-Identifier: MIT */
/*
 * Small snapshots made by hand, for tests of analyses. Every step fails the test when it cannot.
 *
 *     struct make m;
 *     make_begin(&m);
 *     uint32_t stack = make_stack(&m, "train.py", 12, "forward");
 *     make_event(&m, MT_ACTION_ALLOC, 0x1000, 512, stack);
 *     make_segment(&m, 0x1000, 0);
 *     make_block(&m, 512, MT_BLOCK_ALLOCATED, 512, stack);
 *     make_end(&m);                 // m.s is the snapshot
 *     make_free(&m);
 */
#ifndef MEMTOOL_TESTS_MAKE_H
#define MEMTOOL_TESTS_MAKE_H

#include "snapshot/model/builder.h"
#include "heap/stacks/filter.h"
#include "torch/keys.h"

struct make {
    struct mt_builder *b;
    struct mt_snapshot s;
    struct mt_segment segment; /* the one that blocks go to */
    bool open;
    size_t trace_first;
    size_t shape;
    int64_t time_us; /* of the next event; MT_NO_TIME: none */
    struct mt_filter everything;
    struct mt_filtered all; /* after make_end: lets everything through */
};

void make_begin(struct make *m);

/* A stack of one frame; and one of several, outermost first, from triples of file, line, name. */
uint32_t make_stack(struct make *m, const char *file, int32_t line, const char *name);
struct make_frame {
    const char *file;
    int32_t line;
    const char *name;
};
uint32_t make_stack_of(struct make *m, const struct make_frame *frames, size_t n);

/* The next event of the trace that make_trace ends (make_end ends the last one). */
void make_event(struct make *m, enum mt_action action, uint64_t addr, uint64_t size,
                uint32_t stack);
void make_trace(struct make *m);

/* Begins a segment of device 0, large pool; change m->segment before the first block. */
void make_segment(struct make *m, uint64_t addr, uint64_t stream);
void make_block(struct make *m, uint64_t size, enum mt_block_state state, uint64_t requested,
                uint32_t stack);

void make_end(struct make *m);
void make_free(struct make *m);

#endif
