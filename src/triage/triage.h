/* SPDX-License-Identifier: MIT */
/*
 * From what a person has after an out-of-memory error - a log, a snapshot, or both - to a verdict,
 * the reason, and what to do first.
 *
 *   log -> lines -> messages -> incidents (with numbers) -> verdict, evidence, advice
 *
 * A log is pushed in pieces of any size and read in bounded memory. Numbers that a message does not
 * print stay unknown: every number has a presence bit.
 */
#ifndef MEMTOOL_TRIAGE_TRIAGE_H
#define MEMTOOL_TRIAGE_TRIAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "heap/findings/peak.h"
#include "heap/sums/account.h"
#include "snapshot/model/model.h"
#include "support/error.h"
#include "support/str.h"

/* ---- numbers ---- */

/* field, JSON key, words for people */
#define MT_OOM_FIELD_MAP(X)                                                                        \
    X(TOTAL, "total_bytes", "the card holds")                                                      \
    X(FREE, "free_bytes", "free on the card")                                                      \
    X(REQUESTED, "requested_bytes", "requested")                                                   \
    X(PROCESS, "process_bytes", "this process")                                                    \
    X(ALLOCATED, "allocated_bytes", "live tensors")                                                \
    X(RESERVED, "reserved_bytes", "reserved by the allocator")                                     \
    X(UNALLOCATED, "reserved_unallocated_bytes", "reserved but unallocated")                       \
    X(PRIVATE_POOLS, "private_pools_bytes", "in private pools (CUDA graphs)")                      \
    X(ALLOWED, "allowed_bytes", "the limit set for this process")                                  \
    X(OTHERS, "other_processes_bytes", "other processes")                                          \
    X(OUTSIDE, "outside_bytes", "this process, outside the allocator")

enum mt_oom_field {
#define X(name, key, words) MT_OOM_##name,
    MT_OOM_FIELD_MAP(X)
#undef X
        MT_OOM_FIELD_COUNT
};

struct mt_oom_numbers {
    uint64_t v[MT_OOM_FIELD_COUNT]; /* bytes */
    uint32_t present;               /* bits 1 << enum mt_oom_field */
    uint32_t derived;               /* those of `present` that were computed, not printed */
};

static inline bool mt_oom_has(const struct mt_oom_numbers *n, enum mt_oom_field f)
{
    return (n->present >> f & 1u) != 0;
}

/* 0 when not known. */
static inline uint64_t mt_oom_get(const struct mt_oom_numbers *n, enum mt_oom_field f)
{
    return mt_oom_has(n, f) ? n->v[f] : 0;
}

static inline void mt_oom_set(struct mt_oom_numbers *n, enum mt_oom_field f, uint64_t bytes)
{
    n->v[f] = bytes;
    n->present |= 1u << f;
}

/* ---- verdicts ---- */

/* id (pinned: design of triage/1), one line for people */
#define MT_VERDICT_MAP(X)                                                                          \
    X(NOT_OOM, "not_oom", "This is not a GPU out-of-memory event.")                                \
    X(NO_NUMBERS, "no_numbers",                                                                    \
      "The GPU ran out of memory, but the log does not say how the memory was used.")              \
    X(OVERSIZED_REQUEST, "oversized_request",                                                      \
      "One single allocation asked for more than this card can give.")                             \
    X(PER_PROCESS_LIMIT, "per_process_limit",                                                      \
      "A limit set for this process was reached; the card itself was not full.")                   \
    X(FREE_EXCEEDS_REQUEST, "free_exceeds_request",                                                \
      "More memory was free than was asked for: the card was not full.")                           \
    X(FRAGMENTATION, "fragmentation",                                                              \
      "Enough memory was reserved, but in pieces that the request did not fit into.")              \
    X(LEAK, "leak", "Memory grows step after step: something is kept that should be let go.")      \
    X(OTHER_PROCESS, "other_process", "Something else on the card holds the memory.")              \
    X(NON_PYTORCH, "non_pytorch",                                                                  \
      "Much of this process's memory lies outside the framework's allocator.")                     \
    X(NOT_ENOUGH, "not_enough", "The job needs more memory than the card has.")                    \
    X(UNKNOWN, "unknown", "Nothing here can show whether memory ran out.")

enum mt_verdict {
#define X(name, id, text) MT_VERDICT_##name,
    MT_VERDICT_MAP(X)
#undef X
        MT_VERDICT_COUNT
};

const char *mt_verdict_id(enum mt_verdict v);
const char *mt_verdict_text(enum mt_verdict v);

enum mt_confidence { MT_CONFIDENCE_LOW, MT_CONFIDENCE_MEDIUM, MT_CONFIDENCE_HIGH };
const char *mt_confidence_id(enum mt_confidence c);

/* Words for the program of an incident ("vLLM"), "" where the id is none. */
const char *mt_triage_program_words(const char *id);

/* What a program was doing: its id in JSON, and words that follow "It happened". */
#define MT_PHASE_MAP(X)                                                                            \
    X(NONE, "", "")                                                                                \
    X(LOADING, "loading the model", "while loading the model")                                     \
    X(CONTEXT, "creating the context", "while creating the context")                               \
    X(PROFILING, "the memory profiling run", "in the memory profiling run")                        \
    X(WARM_UP, "the warm-up", "in the warm-up after the start")                                    \
    X(CAPTURE, "capturing CUDA graphs", "while capturing CUDA graphs")                             \
    X(SERVING, "serving requests", "while serving requests")                                       \
    X(GENERATION, "generation", "in generation")                                                   \
    X(DECODING, "decoding the image", "while decoding the image")                                  \
    X(FORWARD, "the forward pass", "in the forward pass")                                          \
    X(BACKWARD, "the backward pass", "in the backward pass")                                       \
    X(OPTIMIZER, "the optimizer step", "in the optimizer step")                                    \
    X(EVALUATION, "evaluation", "in evaluation")

enum mt_phase {
#define X(name, id, words) MT_PHASE_##name,
    MT_PHASE_MAP(X)
#undef X
        MT_PHASE_COUNT
};

/* "" of MT_PHASE_NONE. */
const char *mt_phase_id(enum mt_phase p);
const char *mt_phase_words(enum mt_phase p);

/* What the innermost lines of the traceback in front of a message build. */
enum mt_cause {
    MT_CAUSE_NONE,
    MT_CAUSE_ATTENTION, /* the scores of every pair of tokens */
    MT_CAUSE_LOGITS     /* tokens x vocabulary */
};

/* What kind of event a message reports. */
enum mt_incident_kind {
    MT_KIND_OOM,      /* a GPU allocation failed */
    MT_KIND_LIBRARY,  /* a GPU library (cuBLAS, NCCL ...) could not get memory */
    MT_KIND_LIMIT,    /* a pool or a limit was exhausted, not the card */
    MT_KIND_OVERSIZE, /* beyond any device */
    MT_KIND_SOFT,     /* an attempt that the caller calls harmless */
    MT_KIND_BUDGET,   /* a server's check before it allocates: its own setting is too large */
    MT_KIND_POOL,     /* a server's own pool of KV cache, used up by running requests */
    MT_KIND_CONFLICT, /* settings of the allocator that exclude each other, or its own assertion */
    MT_KIND_HOST_RAM, /* from here on: look-alikes */
    MT_KIND_KILLED,   /* by the kernel or the cluster */
    MT_KIND_SHM,      /* /dev/shm */
    MT_KIND_DISK,
    MT_KIND_ON_CHIP, /* shared memory and registers of one GPU core */
    MT_KIND_DEVICE,  /* another GPU error */
    MT_KIND_FEATURE, /* something that the installed software cannot do */
    MT_KIND_UNSURE,  /* a status that names no memory */
    MT_KIND_COUNT
};

static inline bool mt_kind_is_oom(enum mt_incident_kind k)
{
    return k <= MT_KIND_SOFT;
}

/* ---- what a log says ---- */

#define MT_INCIDENT_PROCESSES 8

struct mt_process_use {
    int64_t pid;
    uint64_t bytes;
};

/* One event, merged from all its lines; strings live as long as the triage. */
struct mt_incident {
    const char *file;   /* as given to mt_triage_name or mt_triage_snapshot; "" */
    uint64_t line;      /* of the first line, from 1 */
    uint64_t last_line; /* of the latest repetition */
    uint32_t repeats;   /* how often the same message was printed again */
    enum mt_incident_kind kind;
    const char *format;    /* id of the format: "torch-2.5+", "jax", ... */
    const char *framework; /* "torch", "jax", ... */
    const char *backend;   /* "cuda", "hip", "xpu", "npu", "mps", "" */
    int64_t rank;          /* -1: not known */
    int64_t device;        /* -1: not known */
    bool recovered;        /* the program went on */
    bool truncated;        /* the message breaks off */
    bool doubtful;         /* a status that has causes other than memory, too */
    bool spilled;          /* allocated exceeds the card: the driver pages to host memory */
    uint64_t
        allowed_below;    /* the limit is inferred: at least "allowed", below this; 0: as printed */
    bool whole_is_limit;  /* "total" is what the framework may take, not the size of the card */
    bool cache_counts;    /* "allocated" is all that the allocator reserved: no less is known */
    bool expandable_hint; /* the message itself recommends expandable_segments */
    uint64_t segment;     /* bytes asked of the driver for the request, from a snapshot of PyTorch;
                             0: what was requested is that */
    uint64_t origin;      /* hash of the line's prefix, 0: none */
    struct mt_oom_numbers numbers;
    struct mt_process_use processes[MT_INCIDENT_PROCESSES];
    size_t n_processes;
    const char *own_process; /* "printed", "inferred" or NULL */
    int64_t step;            /* of the last step print before it, -1: none */
    enum mt_phase phase;     /* what the program was doing */
    enum mt_cause cause;     /* what it was building */
    const char *place;       /* "sim.py:52 (pairwise)": its own code, by the traceback; "" */
    const char *program;     /* "vllm", "deepspeed", ... or "" */
    struct mt_str text;      /* the message's first line, cleaned; raw bytes of the input */
    enum mt_verdict verdict;
    const char *headline; /* what happened, in a sentence that the figures bear; static */
};

/* Memory over the steps, from the prints of a training loop. */
enum mt_series_kind {
    MT_SERIES_USED,
    MT_SERIES_PEAK,
    MT_SERIES_RESERVED,
    MT_SERIES_FREE,
    MT_SERIES_KIND_COUNT
};

struct mt_series {
    const char *file; /* of the log, as given */
    enum mt_series_kind kind;
    uint64_t samples; /* all that were seen */
    uint64_t first_line, last_line;
    int64_t first_step, last_step;
    uint64_t first, last, min, max; /* bytes */
    int64_t jump_step;              /* step of the largest single rise */
    uint64_t jump;                  /* its bytes */
    double bytes_per_step; /* robust slope after the warm-up; of FREE with its sign turned */
    double rising;         /* share of pairs half a run apart in which it rose */
    bool is_leak;
    bool epochs; /* its steps are epochs; then it is of reserved memory, as Ultralytics prints it */
};

/* Rows of a memory_summary() table. */
enum mt_summary_row {
    MT_SUMMARY_ALLOCATED,
    MT_SUMMARY_ACTIVE,
    MT_SUMMARY_REQUESTED,
    MT_SUMMARY_RESERVED,
    MT_SUMMARY_NON_RELEASABLE,
    MT_SUMMARY_ROW_COUNT
};
enum mt_summary_column {
    MT_SUMMARY_CURRENT,
    MT_SUMMARY_PEAK,
    MT_SUMMARY_TOTAL_ALLOCATED,
    MT_SUMMARY_TOTAL_FREED,
    MT_SUMMARY_COLUMN_COUNT
};

struct mt_summary_table {
    const char *file; /* of the log, as given */
    uint64_t line;
    int64_t device;
    int64_t ooms, retries; /* -1: not printed */
    uint64_t bytes[MT_SUMMARY_ROW_COUNT][MT_SUMMARY_COLUMN_COUNT];
    uint32_t present; /* bits 1 << enum mt_summary_row */
};

/* One card of an nvidia-smi table. */
struct mt_smi_card {
    const char *file; /* of the log, as given */
    uint64_t line;
    int64_t device;
    uint64_t used, total; /* bytes */
};

/* A process of an nvidia-smi table in a log. */
struct mt_smi_row {
    const char *file; /* of the log, as given */
    int64_t device, pid;
    bool compute; /* "C", or "C+G" */
    uint64_t bytes;
    const char *name; /* as printed; in the arena of the triage */
};

/* ---- advice ---- */

#define MT_ADVICE_COMMANDS 4

struct mt_advice {
    const char *id;
    struct mt_str text; /* what to do, and what it would bring here */
    struct mt_str commands[MT_ADVICE_COMMANDS];
    size_t n_commands;
    bool applies;      /* false: a popular hint that does not help here */
    struct mt_str why; /* why it helps, or why it does not */
};

/* ---- the whole ---- */

struct mt_triage;
struct mt_sim_cures;

struct mt_triage_options {
    uint64_t device_used;     /* bytes used on the whole card as nvidia-smi says; 0: not known */
    const struct mt_smi *smi; /* what else it printed, or NULL; borrowed */
    /* Words for a call stack of a snapshot, and for all stacks of a line; either may be NULL. ctx
     * as given. */
    void (*stack_label)(void *ctx, struct mt_buf *out, const struct mt_snapshot *s, uint32_t stack);
    void (*line_label)(void *ctx, struct mt_buf *out, const struct mt_snapshot *s,
                       const struct mt_peak_row *row);
    void *ctx;
};

/* What was seen in a snapshot; borrowed. */
struct mt_triage_shot {
    const char *file;
    int32_t device; /* -1: empty */
    bool belongs;   /* to the event of the log */
    bool has_oom;
    uint64_t requested, largest_hole, allocated, reserved;
    int64_t bytes_per_step; /* of live memory; 0: no growth was found */
    /* Replays under other settings: "fits", "out_of_memory", "unknown" (the request was served). */
    struct mt_triage_trial {
        const char *conf, *verdict;
    } trials[4];
    size_t n_trials;
    const struct mt_snapshot *snapshot;
    const struct mt_sim_cures *changes; /* of the program, whose replay served the request */
    const struct mt_account *account; /* of that device, at its out-of-memory event; NULL: empty */
};

/* What came out; owned by the triage and valid until it is freed or fed again. */
struct mt_triage_result {
    enum mt_verdict verdict;
    enum mt_verdict also[MT_VERDICT_COUNT];
    size_t n_also;
    enum mt_confidence confidence;
    const struct mt_incident *incidents;
    size_t n_incidents;
    uint64_t incidents_dropped; /* beyond the number that is kept */
    size_t cause; /* index of the incident that the verdict is about, SIZE_MAX: none */
    const struct mt_str *evidence;
    size_t n_evidence;
    uint64_t
        rules_said; /* bits 1 << i: evidence[i] is the reason of a verdict, main or beside it */
    const struct mt_advice *advice;
    size_t n_advice;
    const char *headline; /* that of the cause, or what was looked for in vain */
    struct mt_str why;    /* one or two sentences */
    const struct mt_series *series;
    size_t n_series;
    const struct mt_summary_table *tables;
    size_t n_tables;
    const struct mt_smi_card *cards;
    size_t n_cards;
    const struct mt_triage_shot *shots;
    size_t n_shots;
    struct mt_str conf; /* PYTORCH_CUDA_ALLOC_CONF in force there, "" when not seen */
    uint64_t lines, bytes;
};

/* NULL when out of memory. Caller frees with mt_triage_free. */
struct mt_triage *mt_triage_new(const struct mt_triage_options *o) MT_NODISCARD;
void mt_triage_free(struct mt_triage *t);

/* Names the log that is fed next; NULL is "". The name must outlive the triage. */
void mt_triage_name(struct mt_triage *t, const char *file);

/* Room for the next bytes of the log: read into it, then commit what was read. *n is at least 1. */
void *mt_triage_space(struct mt_triage *t, size_t *n);
/* Errors: MT_NOMEM, MT_FORMAT (binary, not a log; found in the first bytes only). */
enum mt_status mt_triage_commit(struct mt_triage *t, size_t n, struct mt_error *err) MT_NODISCARD;
/* The end of one log; another may follow. Errors: as above. */
enum mt_status mt_triage_end(struct mt_triage *t, struct mt_error *err) MT_NODISCARD;

/* space + commit for bytes that lie somewhere already. */
enum mt_status mt_triage_feed(struct mt_triage *t, const void *p, size_t n, struct mt_error *err)
    MT_NODISCARD;

/* Adds what a snapshot shows (borrowed until mt_triage_decide has returned). Errors: MT_NOMEM. */
enum mt_status mt_triage_snapshot(struct mt_triage *t, const struct mt_snapshot *s,
                                  const char *file, struct mt_error *err) MT_NODISCARD;

/* Weighs everything that was fed. Errors: MT_NOMEM. */
enum mt_status mt_triage_decide(struct mt_triage *t, struct mt_triage_result *out,
                                struct mt_error *err) MT_NODISCARD;

#endif
