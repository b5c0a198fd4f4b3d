/* SPDX-License-Identifier: MIT */
/* Topics about running out of memory, and what fills it. */
#include "glossary.h"

static const char *const oom_text[] = {
    "The driver refused a segment, and releasing the cache did not help. The",
    "message names the size asked from the driver and the sums at that moment;",
    "the tensor that asked is often not the one that filled the card.",
    "",
    "   total  =  allocated + free in the cache + outside PyTorch + free",
    "",
    "   allocated near total       the model does not fit: smaller batch, shorter",
    "                              sequences, checkpointing, sharding",
    "   much free in the cache     fragmentation: expandable segments",
    "   much outside               other processes, contexts, NCCL",
    "   more free than asked       a limit, the driver or host memory",
    "",
    "memtool triage reads the log and tells which; memtool peak --at oom lists",
    "who held the memory.",
    NULL};

static const char *const oom_see[] = {"fragmentation", "leak",  "fraction",
                                      "nvidia-smi",    "retry", NULL};

static const char *const fragmentation_text[] = {
    "Reserved memory that is not allocated: 1 - allocated / reserved. Under 20 %",
    "is normal, 20 to 40 % is worth work on the pattern of allocations (fewer",
    "sizes, buffers made once), above 40 % act.",
    "",
    "   |AA|  3  |BB|  3  |CC|  3  |DD|  3  |     12 free, a request of 4 fails",
    "",
    "Causes: holes beside live blocks, whole segments of another stream or pool,",
    "memory pending. A change of the pattern (batch and sequence lengths rounded",
    "to a few sizes) is the lasting cure, expandable_segments:True the quick one.",
    "memtool frag splits it by cause and names who pins each segment.",
    NULL};

static const char *const fragmentation_see[] = {"expandable-segment", "inactive_split",
                                                "split-merge", "stream", NULL};

static const char *const pin_text[] = {
    "A live block keeps its whole segment: the free memory beside it cannot go",
    "back to the driver and serves only requests that fit into its holes. memtool",
    "frag and triage name the stacks whose blocks hold most free memory this way.",
    "",
    "   |A|            free              |   1 live byte may pin 20 MiB",
    "",
    "The cure is to allocate what lives long first, or in one buffer.",
    NULL};

static const char *const pin_see[] = {"fragmentation", "inactive_split", "empty_cache", NULL};

static const char *const leak_text[] = {
    "Tensors that stay alive from step to step: kept in a list, a loss or metric",
    "that keeps its graph (use .item() or .detach()), a cache without a bound.",
    "The peak rises by the same amount in each step; a mean of more than 1 MB a",
    "step is a leak to memtool. Reserved memory that rises while live memory",
    "stays flat is no leak but a growing cache. Longer inputs and warm-up are",
    "none either. Three of 5 GB hide better than one of 15: look at the growth by",
    "stack (memtool leaks).",
    NULL};

static const char *const leak_see[] = {"peak", "reserved", "caught-oom", NULL};

static const char *const caught_oom_text[] = {
    "An exception keeps its traceback, and the traceback keeps all tensors of the",
    "frames that failed alive. So leave the except block first, then:",
    "",
    "   del everything of the failed step",
    "   gc.collect()",
    "   torch.cuda.empty_cache()        last: it returns only what is free",
    "",
    "In the popular order, empty_cache first, less is freed.",
    NULL};

static const char *const caught_oom_see[] = {"empty_cache", "oom", NULL};

static const char *const activations_text[] = {
    "Each layer keeps its inputs until the backward part has used them, so",
    "activations grow with batch, sequence and depth, and are highest where the",
    "forward part ends. Activation checkpointing saves half to four fifths of",
    "them and computes the rest again. Gradient accumulation over smaller",
    "micro-batches keeps the effective batch and adds no gradient memory. memtool",
    "estimate gives a first figure.",
    NULL};

static const char *const activations_see[] = {"peak", "no_grad", "model-states", NULL};

static const char *const no_grad_text[] = {
    "torch.no_grad keeps no activations for a backward part and makes no",
    "gradients, but the largest moment of the forward part stays. An evaluation",
    "with a doubled batch, or one that collects its outputs on the GPU, can be", "what dies.",
    NULL};

static const char *const no_grad_see[] = {"activations", "peak", NULL};

static const char *const model_states_text[] = {
    "Mixed precision with Adam: bf16 weight 2 + bf16 gradient 2 + fp32 copy 4 +",
    "two moments 8 = 16 bytes a parameter, 112 GB for 7 billion. ZeRO and FSDP",
    "divide by the data-parallel ranks: stage 1 the optimizer, 2 gradients too, 3",
    "weights too.",
    "",
    "   GB a device, 7 billion, 8 ranks   weights   gradients   optimizer    sum",
    "   not divided                            14          14          84    112",
    "   stage 1                                14          14        10.5   38.5",
    "   stage 2                                14        1.75        10.5  26.25",
    "   stage 3                              1.75        1.75        10.5     14",
    NULL};

static const char *const model_states_see[] = {"activations", "estimate", NULL};

static const char *const workers_text[] = {
    "A DataLoader worker that makes CUDA tensors holds a context and memory of",
    "its own: keep batches on the host, pinned, and move them in the main",
    "process. Batches fetched ahead to the GPU, buffers for logging and outputs",
    "kept with their graph are the usual small thieves. Memory in one process's",
    "cache is lost to all others on the card.",
    NULL};

static const char *const workers_see[] = {"context", "nvidia-smi", NULL};

const struct mt_topic mt_glossary_trouble[] = {
    {"oom",
     {"out of memory", "outofmemoryerror", "cuda out of memory", NULL},
     "what happened when CUDA is out of memory",
     oom_text,
     oom_see},
    {"fragmentation",
     {"frag", "unallocated", "holes", "unused", "idle segment", NULL},
     "free memory that cannot be used",
     fragmentation_text,
     fragmentation_see},
    {"pin",
     {"pinned by", "holds free", NULL},
     "a live block that keeps free memory in place",
     pin_text,
     pin_see},
    {"leak",
     {"memory leak", "growth", "slope", "a step", NULL},
     "live memory that rises step after step",
     leak_text,
     leak_see},
    {"caught-oom",
     {"recover", "except", NULL},
     "after an out-of-memory error that was caught",
     caught_oom_text,
     caught_oom_see},
    {"activations",
     {"activation", "activation memory", NULL},
     "what the forward part keeps for the backward part",
     activations_text,
     activations_see},
    {"no_grad",
     {"torch.no_grad", "evaluation", "inference_mode", NULL},
     "what no_grad saves, and what it does not",
     no_grad_text,
     no_grad_see},
    {"model-states",
     {"optimizer states", "zero", "fsdp", NULL},
     "weights, gradients and optimizer: bytes a parameter",
     model_states_text,
     model_states_see},
    {"workers",
     {"dataloader", "prefetch", "several processes", NULL},
     "processes and batches that hold memory unseen",
     workers_text,
     workers_see},
};
_Static_assert(MT_COUNT(mt_glossary_trouble) == GLOSSARY_TROUBLE_N, "glossary.h states how many");
