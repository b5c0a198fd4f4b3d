/* SPDX-License-Identifier: MIT */
/* Topics about amounts of memory: what the byte counters count. */
#include "glossary.h"

static const char *const allocated_text[] = {
    "The sizes of all blocks in state active_allocated: what tensors own, rounded",
    "up to the allocator's steps. PyTorch prints it as \"allocated by PyTorch\" and",
    "as torch.cuda.memory_allocated().",
    "",
    "   reserved -----------------------------------------------------------.",
    "   |  active ----------------------------------------.                 |",
    "   |  |  allocated -----------------.  pending       |  free in cache  |",
    "   |  |  |  requested -----.  slack |  ------------  |                 |",
    "   |  |  |#################|........|~~~~~~~~~~~~~~~~|                 |",
    "   '--'--'-----------------'--------'----------------'-----------------'",
    "",
    "Allocated near the size of the card means that the model itself does not",
    "fit. Reserved far above allocated means memory in the cache that could not",
    "be used.",
    NULL};

static const char *const allocated_see[] = {"requested", "active", "reserved", "fragmentation",
                                            NULL};

static const char *const requested_text[] = {
    "What tensors asked for. The allocator rounds each request up to a multiple",
    "of 512 bytes, and leaves a rest that is not worth splitting with its block,",
    "so allocated is always a little more. The peak of requested memory is the",
    "figure that memtool's peak, check and ranks speak of: it depends on the",
    "program alone, not on the allocator's settings.",
    NULL};

static const char *const requested_see[] = {"allocated", "rounding", "peak", NULL};

static const char *const active_text[] = {
    "Blocks in any state but inactive: those that tensors own, and those that",
    "were freed but may still be in use by another stream (see pending-free).",
    "Active memory cannot be handed out again.", NULL};

static const char *const active_see[] = {"allocated", "pending-free", NULL};

static const char *const reserved_text[] = {
    "What the allocator got from cudaMalloc and has not given back, used or not.",
    "nvidia-smi shows reserved memory plus the CUDA context, never what tensors",
    "use. A high figure is no fault in itself: the cache is what makes allocation",
    "fast. It matters when another process needs the card, or when free memory",
    "inside it lies in the wrong places (see fragmentation).",
    NULL};

static const char *const reserved_see[] = {"allocated", "segment", "nvidia-smi", "empty_cache",
                                           NULL};

static const char *const inactive_split_text[] = {
    "Free blocks in segments that hold more than one block, without expandable",
    "segments: memory that empty_cache cannot give back, because a neighbour in",
    "the same segment is alive. stats and memory_summary print it as",
    "non-releasable.",
    "",
    "   segment   |AAAA|    |BBBBBBBB|      |CC|        |",
    "                   ^^^^          ^^^^^^    ^^^^^^^^",
    "                   inactive split: 18 of 32",
    "",
    "Large inactive_split with an out-of-memory means fragmentation: memtool frag",
    "tells who pins the segments.",
    NULL};

static const char *const inactive_split_see[] = {"fragmentation", "segment", "block", "empty_cache",
                                                 NULL};

static const char *const peak_text[] = {
    "Peak figures of PyTorch run from the start of the process unless they are",
    "reset (torch.cuda.reset_peak_memory_stats): measure one step after a reset.",
    "In training the peak lies at the end of the forward part and the start of",
    "the backward part, where all activations are alive: that moment is the one",
    "to look at, not the end of the step.",
    "",
    "              .  peak: end of forward, start of backward",
    "             /|\\",
    "            / | \\",
    "           /  |  \\",
    "   -------'   |   '-------   weights and states stay",
    "    forward   |   backward   optimizer",
    "   -----------+------------------------------> time",
    NULL};

static const char *const peak_see[] = {"requested", "activations", "recording", NULL};

static const char *const nvidia_smi_text[] = {
    "nvidia-smi counts for each process what the driver gave it: reserved memory,",
    "the CUDA context (0.5 to 1 GiB), and what NCCL, cuBLAS, cuDNN and other",
    "libraries took past PyTorch. It counts all processes on the card,",
    "memory_stats() only its own: memory used on the device minus reserved is",
    "theirs. A worker too many, or a process left over from yesterday, doubles",
    "the use without a trace in PyTorch.",
    NULL};

static const char *const nvidia_smi_see[] = {"reserved", "context", "workers", NULL};

static const char *const context_text[] = {
    "Each process that touches a device gets a context there: 0.5 to 1 GiB,",
    "depending on the driver and the kernels loaded. It is not PyTorch's and",
    "stays while the process lives. Eight ranks that all touch device 0 first put",
    "eight contexts there: choose the device before the first CUDA call",
    "(torch.cuda.set_device), or show each process its own card only",
    "(CUDA_VISIBLE_DEVICES).",
    NULL};

static const char *const context_see[] = {"nvidia-smi", "workers", "ranks", NULL};

static const char *const pinned_text[] = {
    "Host memory that cannot be paged out, so that the card copies from it at",
    "full speed and while the program goes on (pin_memory=True, .pin_memory()).",
    "It is RAM, not GPU memory; too much of it starves the host. Where a report",
    "says that a stack pins free memory, another thing is meant: see pin.", NULL};

static const char *const pinned_see[] = {"workers", "pin", "not_oom", NULL};

const struct mt_topic mt_glossary_memory[] = {
    {"allocated",
     {"allocated_bytes", "allocated memory", NULL},
     "memory in blocks that tensors own now",
     allocated_text,
     allocated_see},
    {"requested",
     {"requested_bytes", NULL},
     "the bytes that were asked for, before rounding",
     requested_text,
     requested_see},
    {"active",
     {"active_bytes", NULL},
     "allocated memory, and memory that waits to be freed",
     active_text,
     active_see},
    {"reserved",
     {"reserved_bytes", "cached", NULL},
     "memory taken from the driver: all segments",
     reserved_text,
     reserved_see},
    {"inactive_split",
     {"inactive_split_bytes", "non-releasable", "non-releasable memory", NULL},
     "free pieces of segments that are partly in use",
     inactive_split_text,
     inactive_split_see},
    {"peak",
     {"high-water mark", "max_memory_allocated", NULL},
     "the highest point of memory over time",
     peak_text,
     peak_see},
    {"nvidia-smi",
     {"device memory", "outside", NULL},
     "what it shows, and what it does not",
     nvidia_smi_text,
     nvidia_smi_see},
    {"context",
     {"CUDA context", NULL},
     "what CUDA itself takes on a card, for each process",
     context_text,
     context_see},
    {"pinned",
     {"pinned memory", "pin_memory", "page-locked", "host memory", NULL},
     "host memory that the card reads directly",
     pinned_text,
     pinned_see},
};
_Static_assert(MT_COUNT(mt_glossary_memory) == GLOSSARY_MEMORY_N, "glossary.h states how many");
