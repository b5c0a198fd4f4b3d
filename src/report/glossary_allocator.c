/* SPDX-License-Identifier: MIT */
/* Topics about the caching allocator: its parts, the way of a request and of a free, its settings.
 * Facts as of PyTorch 2.11 (c10/cuda/CUDACachingAllocator.cpp); costs measured on an H200. */
#include "glossary.h"

static const char *const allocation_text[] = {
    "   request (bytes)",
    "      |",
    "      v",
    "   round up to 512 B            (or to steps between powers of two: rounding)",
    "      |",
    "      v",
    "   choose the pool              up to 1 MiB small, more large; a private pool",
    "      |                         while its graph or MemPool is in use",
    "      v",
    "   best fit: the smallest free block of the same stream that is large enough",
    "      |",
    "      |-- found ----> split off what is left over (small pool: from 512 B,",
    "      |               large pool: more than 1 MiB) ------------> done: a hit",
    "      v",
    "   cudaMalloc a segment         2 MiB for small requests, 20 MiB for requests",
    "      |                         below 10 MiB, else rounded up to 2 MiB",
    "      |-- got it ---> split -----------------------------------> done: a miss",
    "      v",
    "   release the cache            first large segments (with max_split_size),",
    "      |                         then all that are wholly free",
    "      v",
    "   cudaMalloc again             a retry: num_alloc_retries counts these",
    "      |",
    "      |-- got it ----------------------------------------------> done",
    "      v",
    "   OutOfMemoryError",
    "",
    "The cache costs about half a microsecond, the driver a hundred times as",
    "much. After it has released its cache the allocator does not search it",
    "again: it asks the driver.",
    NULL};

static const char *const allocation_see[] = {"free",       "rounding", "pool", "segment",
                                             "cudamalloc", "retry",    "oom",  NULL};

static const char *const free_text[] = {
    "   del tensor, or its last reference goes         event free_requested",
    "      |",
    "      v",
    "   used on another stream? --- yes ---> pending free: waits until that",
    "   (record_stream)                      stream has passed",
    "      | no                                 |",
    "      |  <---------------------------------'",
    "      v",
    "   back in the cache                              event free_completed",
    "      |",
    "      v",
    "   merge with free neighbours in the same segment",
    "",
    "      |AAAA|freed|    |BB|    becomes    |AAAA|         |BB|",
    "",
    "Nothing goes back to the driver here. Segments that are wholly free go back",
    "when a request cannot be met otherwise, by empty_cache, or by garbage",
    "collection.",
    NULL};

static const char *const free_see[] = {"pending-free", "split-merge", "empty_cache", "allocation",
                                       NULL};

static const char *const segment_text[] = {
    "What one cudaMalloc gave: 2 MiB for small requests, 20 MiB for those below",
    "10 MiB, else the request rounded up to a multiple of 2 MiB. A segment",
    "belongs to one pool and one stream and is cut into blocks. Only a segment",
    "that is wholly free can go back to the driver.",
    "",
    "   |<---------------------- segment, 20 MiB ---------------------->|",
    "   | block A, 6 MiB |  free 2 MiB  | block B, 9 MiB  | free 3 MiB  |",
    "",
    "With expandable segments one segment is a range of addresses that grows and",
    "shrinks by pages.",
    NULL};

static const char *const segment_see[] = {"block", "pool", "expandable-segment", "cudamalloc",
                                          NULL};

static const char *const block_text[] = {
    "Blocks tile their segment without gaps. A block is allocated (a tensor owns",
    "it), pending (freed, but another stream may still use it) or inactive (free,",
    "in the cache). A block may only be given to the stream that it was made for.", NULL};

static const char *const block_see[] = {"segment", "split-merge", "pending-free", "stream", NULL};

static const char *const split_merge_text[] = {
    "A free block that is larger than the request is cut: the request takes the",
    "low end, the rest stays free. In the small pool any rest from 512 bytes on",
    "is cut off, in the large pool only one above 1 MiB; a smaller rest stays",
    "with the block as slack. A block that becomes free is joined with free",
    "neighbours.",
    "",
    "   before           |           free 10 MiB            |",
    "   request 4 MiB    |AAAAAAAAAAAAAA|    free 6 MiB     |",
    "",
    "Blocks of max_split_size and more are not cut, so that large requests find",
    "them whole.",
    NULL};

static const char *const split_merge_see[] = {"block", "fragmentation", "max_split_size_mb", NULL};

static const char *const rounding_text[] = {
    "The native allocator rounds each request up to a multiple of 512 bytes; it",
    "does not round to powers of two, as is often said.",
    "roundup_power2_divisions:N rounds to one of N steps between powers of two:",
    "fewer distinct sizes, so more hits, for some memory lost in each block.",
    "",
    "   1,200,000 B  ->  1,200,128 B   by default: 2,344 x 512",
    "                ->  1,310,720 B   with roundup_power2_divisions:4",
    NULL};

static const char *const rounding_see[] = {"requested", "allocation", "fragmentation", NULL};

static const char *const pool_text[] = {
    "Requests up to 1 MiB come from the small pool, whose segments are 2 MiB; all",
    "others from the large pool. A small tensor can so never pin a large segment.",
    "Each stream has its own blocks in each pool, and a private pool is a pair of", "its own.",
    NULL};

static const char *const pool_see[] = {"private-pool", "segment", "stream", NULL};

static const char *const private_pool_text[] = {
    "A CUDA graph replays with fixed addresses, so its memory is kept in a pool",
    "of its own while the graph lives, used or not: that is by design and no",
    "leak. PyTorch names pools by a pair: (0, 0) default, (n, 0) graph capture,",
    "(0, n) torch.cuda.MemPool. Graphs that never run at the same time can share",
    "a pool (torch.cuda.graph_pool_handle).",
    NULL};

static const char *const private_pool_see[] = {"pool", "reserved", NULL};

static const char *const expandable_segment_text[] = {
    "With expandable_segments:True the allocator reserves a large range of",
    "addresses and maps memory into it page by page (2 MiB small, 20 MiB large).",
    "",
    "   cudaMalloc:   |AA  free 12 MiB  |    |BB  free 14 MiB  |",
    "                 a request of 24 MiB fits into neither hole",
    "",
    "   expandable:   |AA|BB|    free 26 MiB    |  not mapped  ...",
    "                 a request of 24 MiB fits  ^ and here it grows",
    "",
    "It is the first thing to try against fragmentation. It belongs to the native",
    "backend, is written with a capital True, and changes when memory goes back",
    "to the driver: on a card that jobs share, test it first.",
    NULL};

static const char *const expandable_segment_see[] = {"fragmentation", "segment", "conf", NULL};

static const char *const stream_text[] = {
    "A block is handed out only to the stream it was made for, because work on",
    "one stream is in order and so a block can be used again without waiting.",
    "Memory that is free on one stream is of no use to another: side streams for",
    "copies or communication hold cache of their own. A tensor used on a second",
    "stream must be marked with record_stream, and its block then waits after the",
    "free (see pending-free).",
    NULL};

static const char *const stream_see[] = {"pending-free", "pool", "fragmentation", NULL};

static const char *const pending_free_text[] = {
    "record_stream(s) makes a freed block wait for what stream s had queued by",
    "then. Until that is done and a later allocation notices it, the block counts",
    "as active and cannot be used again. A CPU that runs far ahead of the GPU",
    "piles up such blocks. memtool leaks --pending lists where.", NULL};

static const char *const pending_free_see[] = {"active", "stream", "free", NULL};

static const char *const cache_hit_text[] = {
    "A hit takes a free block from the cache (about 0.5 us); a miss calls",
    "cudaMalloc (about 65 us). After warm-up nearly all requests should hit: a",
    "rate under 90 % is worth a look, under 80 % a warning. empty_cache in the",
    "loop, or sizes that differ in every step, turn hits into misses.", NULL};

static const char *const cache_hit_see[] = {"cudamalloc", "empty_cache", "allocation", NULL};

static const char *const retry_text[] = {
    "num_alloc_retries counts how often the allocator had to give back its whole",
    "cache and ask the driver a second time. Each time the next steps must fill",
    "the cache again. Above 0 means that the run was at the edge of the card,",
    "even if it never died.", NULL};

static const char *const retry_see[] = {"allocation", "oom", "cache-hit", NULL};

static const char *const cudamalloc_text[] = {
    "cudaMalloc maps pages on the device and in the driver's tables: about 65 us",
    "as measured on an H200, against 0.5 us for a block from the cache. cudaFree",
    "waits until the device is idle, since a kernel that runs could still use the",
    "memory: the queue that keeps the GPU busy runs empty, which costs far more",
    "than the call itself. That is why PyTorch caches, and why a burst of device",
    "calls in the middle of training shows as slow steps.",
    NULL};

static const char *const cudamalloc_see[] = {"cache-hit", "empty_cache", "allocation", NULL};

static const char *const backend_text[] = {
    "   native            PyTorch's own caching allocator, the default. Snapshots,",
    "                     statistics, expandable segments and all settings work.",
    "   cudaMallocAsync   the driver's stream-ordered pool, chosen with",
    "                     backend:cudaMallocAsync. Most statistics stay zero,",
    "                     most settings do not apply, a snapshot shows little.",
    "",
    "Native is right in nearly every case. cudaMallocAsync is worth a try where",
    "several libraries in one process allocate on the same device and should",
    "share one pool. To analyse memory, record with the native backend.",
    NULL};

static const char *const backend_see[] = {"conf", "expandable-segment", "recording", NULL};

static const char *const conf_text[] = {
    "   PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True,max_split_size_mb:512",
    "",
    "Read once, when the process makes its first CUDA allocation: put it into the",
    "shell or the job script that starts Python, not behind the import of a",
    "framework that has already used the card. Keys with commas between, booleans",
    "as True and False with a capital. memtool conf checks a string, memtool",
    "simulate tells what it would have done.",
    NULL};

static const char *const conf_see[] = {"expandable-segment", "max_split_size_mb",
                                       "garbage_collection_threshold", "rounding", NULL};

static const char *const max_split_size_mb_text[] = {
    "Keeps large blocks whole for large requests, at the price of memory left",
    "idle in them and of more driver calls: it can cost speed. A last resort",
    "against fragmentation where expandable segments cannot be used. Unlimited by",
    "default; the value is in MiB and must be above 20 (from PyTorch 2.9 on 20 is",
    "allowed).",
    NULL};

static const char *const max_split_size_mb_see[] = {"split-merge", "fragmentation", "conf", NULL};

static const char *const garbage_collection_threshold_text[] = {
    "With a memory fraction set, the allocator frees old unused segments once use",
    "passes this share of the limit, before the driver refuses. Off by default",
    "(0, not 1.0), and without a fraction it does nothing. Freeing may wait for",
    "the device, so step times can jitter. Native backend only.", NULL};

static const char *const garbage_collection_threshold_see[] = {"fraction", "empty_cache",
                                                               "cudamalloc", NULL};

static const char *const fraction_text[] = {
    "torch.cuda.set_per_process_memory_fraction(f) limits what PyTorch may",
    "reserve to the share f of the card. An out-of-memory error with much memory",
    "free on the device can come from it: newer messages then say how much is", "allowed.", NULL};

static const char *const fraction_see[] = {"oom", "garbage_collection_threshold", NULL};

static const char *const empty_cache_text[] = {
    "Gives segments that are wholly free back to the driver; memory of live",
    "tensors and holes beside them stay.",
    "",
    "   |AAAA|    free    |   stays: A lives in it",
    "   |       free      |   goes back to the driver",
    "",
    "Right between phases, before another model or process needs the card. In the",
    "training loop it spoils reuse and costs device calls. It never helps when",
    "the live memory itself is too much, and helps a little against",
    "fragmentation, where expandable segments do better.",
    NULL};

static const char *const empty_cache_see[] = {"cudamalloc", "cache-hit", "inactive_split",
                                              "caught-oom", NULL};

const struct mt_topic mt_glossary_allocator[] = {
    {"allocation",
     {"malloc", "alloc", "way of an allocation", "request", NULL},
     "the way of a request, from rounding to out-of-memory",
     allocation_text,
     allocation_see},
    {"free",
     {"way of a free", "del", "free_requested", "free_completed", NULL},
     "the way of a block from del to the cache",
     free_text,
     free_see},
    {"segment",
     {"segment_alloc", "segment_free", "reservation", NULL},
     "one reservation from the driver",
     segment_text,
     segment_see},
    {"block",
     {"blocks", NULL},
     "a piece of a segment: one tensor's memory, or a hole",
     block_text,
     block_see},
    {"split-merge",
     {"merge", "split", "splitting", "merging", NULL},
     "cutting blocks up, and joining free neighbours",
     split_merge_text,
     split_merge_see},
    {"rounding",
     {"round up", "roundup_power2_divisions", NULL},
     "how far requests are rounded up",
     rounding_text,
     rounding_see},
    {"pool",
     {"small pool", "large pool", "small", "large", NULL},
     "small and large requests live apart",
     pool_text,
     pool_see},
    {"private-pool",
     {"private pools", "mempool", "graph pool", "cuda graphs", NULL},
     "memory set apart for CUDA graphs or a MemPool",
     private_pool_text,
     private_pool_see},
    {"expandable-segment",
     {"expandable_segments", "expandable segments", NULL},
     "segments that grow and shrink by pages",
     expandable_segment_text,
     expandable_segment_see},
    {"stream",
     {"streams", "record_stream", NULL},
     "each CUDA stream has its own free blocks",
     stream_text,
     stream_see},
    {"pending-free",
     {"active_pending_free", "active_awaiting_free", "pending", NULL},
     "freed, but another stream may still use it",
     pending_free_text,
     pending_free_see},
    {"cache-hit",
     {"cache", "hit", "miss", "hit rate", NULL},
     "a request served without the driver",
     cache_hit_text,
     cache_hit_see},
    {"retry",
     {"num_alloc_retries", "alloc retries", NULL},
     "cudaMalloc failed, the cache was released, and again",
     retry_text,
     retry_see},
    {"cudamalloc",
     {"cudafree", "cudamalloc and cudafree", "driver calls", NULL},
     "what the calls to the driver cost, and why",
     cudamalloc_text,
     cudamalloc_see},
    {"backend",
     {"cudamallocasync", "native", "cuda_malloc_async", NULL},
     "native or cudaMallocAsync, and when to choose which",
     backend_text,
     backend_see},
    {"conf",
     {"pytorch_cuda_alloc_conf", "pytorch_alloc_conf", "settings", NULL},
     "where the allocator takes its settings from",
     conf_text,
     conf_see},
    {"max_split_size_mb",
     {"max_split_size", NULL},
     "blocks above this size are never cut",
     max_split_size_mb_text,
     max_split_size_mb_see},
    {"garbage_collection_threshold",
     {"gc", "garbage collection", NULL},
     "give cached memory back early",
     garbage_collection_threshold_text,
     garbage_collection_threshold_see},
    {"fraction",
     {"set_per_process_memory_fraction", "limit", "memory fraction", NULL},
     "a limit below the size of the card",
     fraction_text,
     fraction_see},
    {"empty_cache",
     {"torch.cuda.empty_cache", NULL},
     "what it gives back, and when it helps",
     empty_cache_text,
     empty_cache_see},
};
_Static_assert(MT_COUNT(mt_glossary_allocator) == GLOSSARY_ALLOCATOR_N,
               "glossary.h states how many");
