/* SPDX-License-Identifier: MIT */
/* The verdicts that triage prints, one topic each; those of fragmentation and leaks stand among the
 * troubles. What to do first is triage's own to say: it knows the figures. */
#include "glossary.h"

static const char *const verdict_text[] = {
    "   not_enough             live memory itself fills the card",
    "   fragmentation          enough was left, in pieces that are too small",
    "   leak                   memory rises step after step",
    "   other_process          others hold the card",
    "   non_pytorch            this process holds much outside the allocator",
    "   oversized_request      one request that no tuning can serve",
    "   per_process_limit      a limit below the card's size was reached",
    "   free_exceeds_request   more was free than was asked for",
    "   no_numbers             the message holds no usable figures",
    "   not_oom                no lack of GPU memory",
    "",
    "Confidence is high where the figures leave no other reading, medium where",
    "one is likely, low where figures are missing. Verdicts behind \"also\" hold",
    "beside the first.",
    NULL};

static const char *const verdict_see[] = {"oom", "not_enough", "fragmentation", NULL};

static const char *const not_enough_text[] = {
    "Live tensors take most of the card (three quarters or more), and what is",
    "left cannot hold the request. In this order: a smaller micro-batch with",
    "gradient accumulation, or shorter sequences; activation checkpointing;",
    "sharded model states (FSDP, ZeRO); optimizer states on the host; a larger",
    "card or more of them.",
    "",
    "   asked 1.88   free 1.70   missing 0.18   in holes 0.27   (GiB)",
    "",
    "A new segment lacks only what is not free. Where the holes in the cache",
    "would make up for that, expandable segments are worth a try; where they are",
    "smaller, no setting helps.",
    NULL};

static const char *const not_enough_see[] = {"activations", "model-states", "fragmentation",
                                             "verdict", NULL};

static const char *const oversized_request_text[] = {
    "One allocation is larger than the card, than the process's limit, or than",
    "half the card and all that could be made free. Mostly a shape is wrong: an N",
    "by N matrix, a dimension too large, a negative number. If the size is meant,",
    "work in pieces or with an operator that never builds the whole (fused",
    "attention, a loss in chunks).",
    NULL};

static const char *const oversized_request_see[] = {"verdict", "requested", NULL};

static const char *const no_numbers_text[] = {
    "The message says that memory ran out and little else: no size of the card,",
    "nothing of what was in use. Messages of CUDA libraries and of the driver are",
    "like that, and logs that were cut off. Some statuses, such as cuDNN's",
    "NOT_INITIALIZED, have causes other than memory, too: then triage says",
    "\"probably\". A snapshot or the full message tells more.",
    NULL};

static const char *const no_numbers_see[] = {"verdict", "recording", "nvidia-smi", NULL};

static const char *const other_process_text[] = {
    "Other processes hold so much of the card (a fifth or more) that this one's",
    "tensors are not the matter. Left over from an earlier run, a notebook, a",
    "worker too many, a neighbour on a shared card: nvidia-smi names them. Older",
    "messages do not split what lies outside the allocator; then it may also be",
    "this process's own context and libraries.",
    NULL};

static const char *const other_process_see[] = {"nvidia-smi", "workers", "context", "verdict",
                                                NULL};

static const char *const non_pytorch_text[] = {
    "Much of this process's memory was not taken by PyTorch's allocator: CUDA",
    "context and kernels (0.5 to 1 GiB), NCCL's buffers, workspaces of cuBLAS and",
    "cuDNN, another framework in the same process (JAX and TensorFlow take most",
    "of a card when they start). No setting of the allocator reaches it. memtool",
    "capture --mode record watches every call of the driver and tells who it is.",
    NULL};

static const char *const non_pytorch_see[] = {"context", "nvidia-smi", "verdict", NULL};

static const char *const per_process_limit_text[] = {
    "The process had reached a limit that someone set (a memory fraction, a",
    "pool's maximum), while the card still had memory. The allocator counts what",
    "it has reserved, so holes count as well. A snapshot does not hold the limit:",
    "memtool infers from what was served and refused between which two sizes it",
    "must lie, and says so.",
    NULL};

static const char *const per_process_limit_see[] = {"fraction", "reserved", "verdict", NULL};

static const char *const free_exceeds_request_text[] = {
    "The card had clearly more free than was asked for, and no limit is printed.",
    "The figure is read after the failure, so another process or thread may have",
    "let go since; or the driver lacked something else: host memory, address",
    "space, the right to one allocation of that size. A smaller batch does not",
    "help.",
    NULL};

static const char *const free_exceeds_request_see[] = {"oom", "fraction", "verdict", NULL};

static const char *const not_oom_text[] = {
    "What looks like running out of GPU memory and is not: the host's memory",
    "(RAM), a process killed by the kernel or the cluster, /dev/shm, a full disk,",
    "the on-chip memory of one kernel, another GPU error, a server that refused",
    "its own settings. Also the answer where a log holds no such message.", NULL};

static const char *const not_oom_see[] = {"oom", "pinned", "verdict", NULL};

const struct mt_topic mt_glossary_verdicts[] = {
    {"verdict",
     {"verdicts", "confidence", "triage", "also", NULL},
     "the words in which triage answers",
     verdict_text,
     verdict_see},
    {"not_enough",
     {"not enough memory", "does not fit", "too large", NULL},
     "the job itself fills the card",
     not_enough_text,
     not_enough_see},
    {"oversized_request",
     {"oversized", "one request", NULL},
     "one allocation that no card or limit can serve",
     oversized_request_text,
     oversized_request_see},
    {"no_numbers",
     {"no figures", NULL},
     "out of memory, and nothing said about it",
     no_numbers_text,
     no_numbers_see},
    {"other_process",
     {"other processes", "others", "neighbour", NULL},
     "the card is held by somebody else",
     other_process_text,
     other_process_see},
    {"non_pytorch",
     {"outside pytorch", "outside the allocator", "nccl", NULL},
     "this process, but not its tensors",
     non_pytorch_text,
     non_pytorch_see},
    {"per_process_limit",
     {"limit reached", "inferred limit", "allowed", NULL},
     "a limit was reached, not the card's end",
     per_process_limit_text,
     per_process_limit_see},
    {"free_exceeds_request",
     {"more free than asked", NULL},
     "memory was free, and the driver said no",
     free_exceeds_request_text,
     free_exceeds_request_see},
    {"not_oom",
     {"look-alike", "sigkill", NULL},
     "it was not the GPU's memory that ran out",
     not_oom_text,
     not_oom_see},
};
_Static_assert(MT_COUNT(mt_glossary_verdicts) == GLOSSARY_VERDICTS_N, "glossary.h states how many");
