/* SPDX-License-Identifier: MIT */
/* Topics about snapshots, what stands in them, and how to make them. */
#include "glossary.h"

static const char *const snapshot_text[] = {
    "   torch.cuda.memory._dump_snapshot(\"snap.pickle\")",
    "",
    "writes a pickle with all segments and blocks of this moment and, if history",
    "was recorded, the events that led there: each allocation and free with its",
    "call stack. It holds sizes, addresses and names of files and functions, no",
    "contents of tensors. memtool convert --anonymize replaces the names.",
    NULL};

static const char *const snapshot_see[] = {"recording", "event", "ring", "segment", NULL};

static const char *const recording_text[] = {
    "   m = torch.cuda.memory",
    "   m._record_memory_history(max_entries=1000000, stacks=\"python\")",
    "   ...  a few steps  ...",
    "   m._dump_snapshot(\"snap.pickle\")",
    "   m._record_memory_history(enabled=None)",
    "",
    "The history is unlimited by default and lies in host memory: give",
    "max_entries in production. C++ stacks (stacks=\"all\") make the dump about a",
    "hundred times slower. One rank is enough where ranks are alike.",
    NULL};

static const char *const recording_see[] = {"snapshot", "ring", "ranks", NULL};

static const char *const ring_text[] = {
    "The history is a ring: with more than max_entries events the oldest are",
    "lost, and nothing in the file says so. memtool notices it by memory that is",
    "freed or alive without having been allocated in the trace, and says how much",
    "was alive before the first event.",
    "",
    "   lost   | events in the file                      | state at the dump",
    "   .......| ...free of X, which no event allocated  | blocks",
    NULL};

static const char *const ring_see[] = {"recording", "event", "peak", NULL};

static const char *const event_text[] = {
    "   alloc             a block was handed out; its size is the request",
    "   free_requested    the program dropped it",
    "   free_completed    it is back in the cache",
    "   segment_alloc     cudaMalloc; segment_free is cudaFree",
    "   segment_map       pages mapped into an expandable segment; segment_unmap",
    "   snapshot          a snapshot was taken (seen in the next one)",
    "   oom               out of memory; tells what the device had free",
    "",
    "An event is named by its index in the trace of its device, from 0: --events",
    "100:200.",
    NULL};

static const char *const event_see[] = {"snapshot", "allocation", "free", NULL};

static const char *const stack_text[] = {
    "Innermost call first. memtool names a stack by its first frame in your own",
    "code and folds those of PyTorch, Python and C++ (--all-frames shows them,",
    "--stack N prints more lines). Memory that autograd's threads allocate has no", "Python frame.",
    NULL};

static const char *const stack_see[] = {"event", "category", NULL};

static const char *const category_text[] = {
    "parameter, gradient, optimizer_state, activation, temporary, input,",
    "autograd_detail, kv_cache, and unknown where no rule fits. A snapshot does",
    "not say what a tensor is for: memtool guesses from stacks and annotations,",
    "and prints how much it could not tell. A profiler knows more about single",
    "operators.",
    NULL};

static const char *const category_see[] = {"stack", "profiler", NULL};

static const char *const annotation_text[] = {
    "A name that the program gave a stretch of time, with",
    "torch.profiler.record_function or NVTX: \"## step 3 ##\", \"forward\". Newer",
    "recordings hold them. --annotation NAME keeps their events, --by annotation",
    "sums up by them, leaks takes them for steps, and plots draw them as bands.", NULL};

static const char *const annotation_see[] = {"event", "recording", "profiler", NULL};

static const char *const what_if_text[] = {
    "memtool simulate serves the recorded requests once more, under other",
    "settings or limits.",
    "",
    "   fits            every request was served, also the one that failed",
    "   out_of_memory   it failed again, or earlier",
    "   unknown         the request that failed is served, but the recording ends",
    "                   there: what the program did next is not known",
    "",
    "First the recording itself is replayed as it was; how exactly that met it",
    "tells how far the rest is to be trusted.",
    NULL};

static const char *const what_if_see[] = {"conf", "fragmentation", "cache-hit", NULL};

static const char *const profiler_text[] = {
    "A profiler with profile_memory=True tells what each operator took and gave",
    "back: right for odd allocations. A snapshot tells who is alive: right for",
    "the peak and for leaks. The profiler's memory timeline needs record_shapes,",
    "profile_memory and with_stack switched on together.", NULL};

static const char *const profiler_see[] = {"category", "snapshot", NULL};

static const char *const ranks_text[] = {
    "Ranks that do the same work look alike: one file is enough, and one that",
    "differs is the finding (memtool ranks). The last stage of a pipeline holds",
    "the output layer and the loss and is expected to be the fullest.", NULL};

static const char *const ranks_see[] = {"recording", "context", NULL};

static const char *const estimate_text[] = {
    "memtool estimate adds up model states, activations or KV cache, workspaces,",
    "fragmentation and the CUDA context, each with its formula. It is arithmetic:",
    "the snapshot is the truth (--against compares the two).", NULL};

static const char *const estimate_see[] = {"model-states", "activations", NULL};

const struct mt_topic mt_glossary_files[] = {
    {"snapshot",
     {"dump", "_dump_snapshot", "pickle", NULL},
     "what a memory snapshot holds",
     snapshot_text,
     snapshot_see},
    {"recording",
     {"record_memory_history", "_record_memory_history", "history", "capture", NULL},
     "how to record, and what it costs",
     recording_text,
     recording_see},
    {"ring",
     {"ring overflow", "ghost", "ghosts", "preexisting", "max_entries", NULL},
     "a history that lost its beginning",
     ring_text,
     ring_see},
    {"event",
     {"events", "trace", "action", "actions", NULL},
     "one entry of the recorded history",
     event_text,
     event_see},
    {"stack",
     {"frame", "frames", "call stack", NULL},
     "where in the program memory was allocated",
     stack_text,
     stack_see},
    {"category",
     {"categories", "parameter", "gradient", "optimizer_state", "temporary", NULL},
     "what memory is for: a guess from call stacks",
     category_text,
     category_see},
    {"annotation",
     {"record_function", "nvtx", "user_metadata", "range", NULL},
     "names that the program gave to stretches of time",
     annotation_text,
     annotation_see},
    {"what-if",
     {"simulate", "replay", "fits", "unknown", "out_of_memory", "fidelity", NULL},
     "what a replay under other settings tells",
     what_if_text,
     what_if_see},
    {"profiler",
     {"profile_memory", "torch.profiler", NULL},
     "profiler or snapshot: which for what",
     profiler_text,
     profiler_see},
    {"ranks",
     {"rank", "distributed", "pipeline", NULL},
     "which rank to look at",
     ranks_text,
     ranks_see},
    {"estimate", {"arithmetic", NULL}, "what should a model need?", estimate_text, estimate_see},
};
_Static_assert(MT_COUNT(mt_glossary_files) == GLOSSARY_FILES_N, "glossary.h states how many");
