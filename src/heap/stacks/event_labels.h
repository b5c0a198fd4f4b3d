/* SPDX-License-Identifier: MIT */
/*
 * What a program itself said about an allocation: the text set at the time (user_metadata), or a
 * later annotation of its memory (action annotate), which goes before, or the name of the tensor
 * that lies there at the dump (memtool_tensors, of capture --tensors), which goes before both; the
 * region of torch.compile that it belongs to (compile_context); the node of a compiled graph
 * (fx_node_name of a frame) or of the backward pass; the forward pass that the memory of a backward
 * pass belongs to.
 */
#ifndef MEMTOOL_HEAP_STACKS_EVENT_LABELS_H
#define MEMTOOL_HEAP_STACKS_EVENT_LABELS_H

#include "snapshot/model/model.h"
#include "support/error.h"
#include "support/hash.h"

#define MT_NO_ALLOC UINT32_MAX

struct mt_event_labels {
    const struct mt_snapshot *snapshot; /* borrowed */
    /* By index in mt_snapshot.events: the alloc that an alloc or a free is of, MT_NO_ALLOC for
     * others; and of an alloc its text, a string id, 0: none. An annotation of what is older than
     * the trace has its own text. */
    uint32_t *alloc_of, *text;
    struct mt_idmap live;    /* what is alive at the end: device and address -> alloc */
    struct mt_idmap tensors; /* device and address -> name, a string id */
    struct mt_idmap older;   /* the same of annotations of what is older than the trace */
};

/* Linear, 8 bytes an event. Errors: MT_NOMEM. Release it also after a failure. */
enum mt_status mt_event_labels_init(struct mt_event_labels *l, const struct mt_snapshot *s,
                                    struct mt_error *err) MT_NODISCARD;
void mt_event_labels_release(struct mt_event_labels *l);

/* The alloc of what lives at an address of a device at the end; MT_NO_ALLOC. */
uint32_t mt_event_labels_live(const struct mt_event_labels *l, int32_t device, uint64_t addr);

/* The string id of the name of the tensor there, 0: none. */
uint32_t mt_event_labels_tensor(const struct mt_event_labels *l, int32_t device, uint64_t addr);

/* The string id of the label of what is older than the trace, 0: none. `lives_on`: it is there at
 * the end. */
uint32_t mt_event_labels_older(const struct mt_event_labels *l, int32_t device, uint64_t addr,
                               bool lives_on);

/* memtool_tensors, a list of *n; NULL: the file has none. */
const struct mt_value *mt_snapshot_tensors(const struct mt_snapshot *s, uint32_t *n);

/* The string id of the region, "Torch-Compiled Region: 0/0"; 0: none. */
uint32_t mt_event_region(const struct mt_snapshot *s, size_t event);

/* The string id of the label of an allocation that names a module, "module GPT.blocks.0.attn", or
 * an optimizer; 0: none. */
uint32_t mt_event_module(const struct mt_snapshot *s, size_t event);
/* Such a label without the word in front. */
struct mt_str mt_module_text(struct mt_str label);
/* Whether any allocation has one. Linear. */
bool mt_snapshot_has_modules(const struct mt_snapshot *s);

/* The frame that names the node of a stack: the innermost with fx_node_name, else that of the
 * backward pass; 0: none. O(frames). */
uint32_t mt_stack_node(const struct mt_snapshot *s, uint32_t stack);

/* "mm_3 (aten.mm), orig.py:7 forward" of such a frame, or "MmBackward0 (backward)". Not made safe
 * for terminals. */
void mt_node_text(struct mt_buf *b, const struct mt_snapshot *s, uint32_t frame);

/* The lines of the forward pass that an event names, the innermost call last, as a LIST of strings;
 * NULL: none. */
const struct mt_value *mt_event_forward(const struct mt_snapshot *s, size_t event);

/* The same of a stack: of the first event or block that has it, or NULL; *several: others of that
 * stack belong to other calls. O(events + blocks) in files that tell of forward passes. */
const struct mt_value *mt_stack_forward(const struct mt_snapshot *s, uint32_t stack, bool *several);

/* "fwd.py:3 forward" of a line that Python's traceback prints; false for any other. */
bool mt_traceback_place(struct mt_buf *b, struct mt_str line);

#endif
