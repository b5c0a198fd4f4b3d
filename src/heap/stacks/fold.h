/* SPDX-License-Identifier: MIT */
/*
 * Memory of the final segments by call stack: as the lines that PyTorch's viewer feeds to
 * flamegraph.pl, as sums per stack, and as the tree that a flame graph draws.
 */
#ifndef MEMTOOL_HEAP_STACKS_FOLD_H
#define MEMTOOL_HEAP_STACKS_FOLD_H

#include "heap/stacks/filter.h"
#include "snapshot/model/model.h"
#include "support/arena.h"
#include "support/error.h"
#include "support/vec.h"

/* ---- lines ---- */

enum mt_fold_what {
    MT_FOLD_STACK,      /* requested bytes of a block with frames */
    MT_FOLD_NO_FRAMES,  /* of a block without: "<non-python>" */
    MT_FOLD_NO_CONTEXT, /* a history entry that was recorded without: "<no-context>" */
    MT_FOLD_GAPS        /* block size beyond what was requested: "<gaps>"; may be negative in free
                           blocks, whose requested size is that of their last owner */
};

struct mt_fold_line {
    const struct mt_segment *segment;
    const struct mt_block *block;
    enum mt_fold_what what;
    uint32_t stack; /* with MT_FOLD_STACK */
    int64_t bytes;
};

/* Called for each line in the order of the file; false stops. */
typedef bool (*mt_fold_visit)(void *ctx, const struct mt_fold_line *line);

/* Every line that `_memory_viz.py segments` (or `memory`, which only has a shorter prefix) writes
 * for the device segments that pass `f` (NULL:
 * all). Returns false when visit stopped it. */
bool mt_fold_each(const struct mt_snapshot *s, struct mt_filtered *f, mt_fold_visit visit,
                  void *ctx);

/* The same for one segment. */
bool mt_fold_segment(const struct mt_snapshot *s, const struct mt_segment *segment,
                     struct mt_filtered *f, mt_fold_visit visit, void *ctx);

/* Whether PyTorch's viewer leaves this frame out of stacks: noise of the interpreter and of
 * dispatch, by substring (`_frame_filter` in torch/cuda/_memory_viz.py, read in 2.6). */
bool mt_fold_hides(const struct mt_snapshot *s, const struct mt_frame *frame);

/* ---- sums per stack ---- */

struct mt_stack_sum {
    uint32_t stack;     /* 0: no stack */
    uint64_t bytes;     /* block sizes of active blocks */
    uint64_t requested; /* requested bytes of the same */
    uint64_t largest;   /* size of the largest block */
    uint64_t count;     /* blocks */
    uint64_t pending;   /* of bytes, in state active_pending_free */
};

struct mt_stack_sums {
    MT_VEC(struct mt_stack_sum) rows; /* most bytes first, then by stack id */
    uint64_t bytes, requested, count; /* of all rows */
    uint64_t largest;
};

/* Active blocks that pass `f` (NULL: all), of one device or (device -2) all but pinned memory, by
 * stack. O(blocks + stacks). Errors: MT_NOMEM. Release it also after a failure. */
enum mt_status mt_stack_sums_find(struct mt_stack_sums *t, const struct mt_snapshot *s,
                                  struct mt_filtered *f, int32_t device, struct mt_error *err)
    MT_NODISCARD;
void mt_stack_sums_release(struct mt_stack_sums *t);

enum mt_stack_sort { MT_STACKS_BY_BYTES, MT_STACKS_BY_COUNT, MT_STACKS_BY_LARGEST };
/* Another order of the rows: most first (`reverse`: least), then by stack id. */
void mt_stack_sums_sort(struct mt_stack_sums *t, enum mt_stack_sort sort, bool reverse);
#define MT_ALL_DEVICES (-2)

/* ---- the tree of a flame graph ---- */

enum mt_flame_by {
    MT_FLAME_MEMORY,  /* stream; state; frames */
    MT_FLAME_SEGMENTS /* stream; segment; state; frames */
};

struct mt_flame_node {
    struct mt_str label; /* NUL-terminated, as in the file: not safe for terminals or XML */
    uint64_t bytes;      /* of the node and all below it */
    uint64_t count;      /* blocks */
    int64_t change;      /* of a comparison: bytes after minus before; else 0 */
    uint32_t parent;     /* index of a node */
    uint32_t first_child;
    uint32_t next;    /* sibling; 0 = none (node 0 is the root) */
    uint32_t frame;   /* id of the frame it shows, or 0 */
    uint32_t name_at; /* where in the label its function begins */
    uint32_t depth;   /* root 0 */
};

/* Siblings are in the order of their labels (flamegraph.pl does the same, so that equal programs
 * give like pictures). A node's bytes are at least the sum of its children's; the rest is its own.
 * Free blocks stand as one node "inactive" a stream or segment. */
struct mt_flame {
    MT_VEC(struct mt_flame_node) nodes; /* [0] is the root, "all" */
    uint32_t depth;                     /* of the deepest node */
    struct mt_arena text;               /* holds the labels */
};

/* Blocks that pass `f` (NULL: all). Errors: MT_NOMEM. Release it also after a failure. */
enum mt_status mt_flame_build(struct mt_flame *t, const struct mt_snapshot *s,
                              struct mt_filtered *f, enum mt_flame_by by, struct mt_error *err)
    MT_NODISCARD;

/* Bytes of one stack, for trees of something else than blocks. */
struct mt_flame_item {
    const struct mt_snapshot *snapshot; /* of the stack */
    uint32_t stack;
    uint64_t bytes, count;
    int64_t change;
};

/* Stacks only, outermost frame first; stack 0 is "<no stack>". Equal frames of different snapshots
 * share a node. Items of one snapshot should stand together. Errors: MT_NOMEM. Release it also
 * after a failure. */
enum mt_status mt_flame_build_items(struct mt_flame *t, const struct mt_flame_item *items, size_t n,
                                    struct mt_error *err) MT_NODISCARD;
void mt_flame_release(struct mt_flame *t);

#endif
