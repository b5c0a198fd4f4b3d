/* SPDX-License-Identifier: MIT */
/*
 * Many ranks of one job side by side: which one is odd, and what only it holds. A rank is known by
 * a snapshot or by the JSON that stats, peak and leaks printed for one; only a few figures and its
 * stacks at the peak are kept, so a thousand ranks fit into little memory.
 */
#ifndef MEMTOOL_VERBS_RANKS_RANKS_H
#define MEMTOOL_VERBS_RANKS_RANKS_H

#include "heap/stacks/filter.h"
#include "snapshot/model/builder.h"
#include "snapshot/model/model.h"
#include "support/arena.h"
#include "support/error.h"
#include "support/hash.h"
#include "support/vec.h"

/* The figures that are compared. name in JSON, heading */
#define MT_RANK_FIGURE_MAP(X)                                                                      \
    X(PEAK, "peak_requested_bytes", "PEAK")                                                        \
    X(RESERVED, "reserved_bytes", "RESERVED")                                                      \
    X(ALLOCATED, "allocated_bytes", "ALLOCATED")                                                   \
    X(OOMS, "ooms", "OOMS")

enum mt_rank_figure {
#define X(id, name, heading) MT_RANK_##id,
    MT_RANK_FIGURE_MAP(X)
#undef X
        MT_RANK_FIGURE_COUNT
};

/* Memory of one call stack at the rank's peak. */
struct mt_rank_stack {
    uint32_t stack; /* id in mt_ranks.names, 0: none recorded */
    uint64_t bytes; /* requested */
    uint64_t count;
};

/* What a rank's device had in use over its recording, in equal parts of its time, without times of
 * its events. */
#define MT_RANK_COLUMNS 240
struct mt_rank_curve {
    bool timed;
    int64_t first_us, last_us;      /* of its events; valid when timed */
    uint64_t most[MT_RANK_COLUMNS]; /* requested bytes, the most of each part */
    uint64_t peak;
};

struct mt_rank {
    int64_t rank;
    int64_t stage;  /* of a pipeline, -1: not known */
    int32_t device; /* that most of its memory is on, -1: none */
    struct mt_str file;
    unsigned results; /* bits of the verbs whose results were read */
    unsigned known;   /* bits 1 << enum mt_rank_figure */
    uint64_t figure[MT_RANK_FIGURE_COUNT];
    bool knows_stacks;
    MT_VEC(struct mt_rank_stack) stacks; /* ascending by id, each once, when compared */
    size_t n_sorted;                     /* so many of them are that already */
    uint64_t other_bytes;                /* of the peak, in stacks that a result left out */
    bool knows_growth;
    int64_t bytes_per_step; /* what leaks found; 0: nothing rises */
    bool knows_outside;
    uint64_t outside_bytes; /* used on its device at an OOM, but not reserved by this process */
    int64_t first_oom_us; /* when it first ran out of memory, MT_NO_TIME: it did not, or no times */
    bool knows_headroom;
    int64_t headroom_bytes; /* least over its devices: their memory less the most that it reserved
                               and, where that is known, what others held at an OOM */
    int32_t second_device;  /* holds less than its own device but more than nothing; -1: none */
    uint64_t second_bytes;  /* reserved there */
    struct mt_rank_curve *curve; /* of the device with the highest peak; NULL: not asked for, or no
                                    trace */
};

/* A rank whose file cannot be read. */
struct mt_rank_lost {
    int64_t rank; /* from the name of the file, -1: it tells none */
    struct mt_str file;
};

/* Numbers from .. to that no file has. */
struct mt_rank_gap {
    int64_t from, to;
};

/* A dump of a rank that has a better one. */
struct mt_rank_spare {
    int64_t rank;
    struct mt_str file, instead;
};

struct mt_ranks {
    struct mt_builder *table; /* of all stacks; NULL once compared */
    struct mt_snapshot names; /* its frames and stacks, after mt_ranks_compare */
    struct mt_arena arena;    /* file names */
    MT_VEC(struct mt_rank) ranks;
    MT_VEC(struct mt_rank_lost) lost;
    MT_VEC(struct mt_rank_gap) gaps;     /* ascending; after mt_ranks_find_gaps */
    MT_VEC(struct mt_rank_spare) spares; /* after mt_ranks_drop_spares */
    MT_VEC(uint32_t) scratch;
    struct mt_idmap rank_of; /* hash of a file's name -> the rank of that name seen first */
    bool hashes_coincide;    /* of two names: rank_of does not tell */
    struct mt_idmap
        string_of; /* of the snapshot that is being added: its string id -> the table's */
};

/* Errors: MT_NOMEM. Release it also after a failure. */
enum mt_status mt_ranks_init(struct mt_ranks *r, uint64_t seed, struct mt_error *err) MT_NODISCARD;
void mt_ranks_release(struct mt_ranks *r);
void mt_rank_release(struct mt_rank *rank);

/* The index of the rank of this file, added when new; SIZE_MAX when out of memory. */
size_t mt_ranks_of_file(struct mt_ranks *r, struct mt_str file) MT_NODISCARD;

/* Adds `bytes` and `count` to a stack of a rank. `stack` is an id of mt_builder_stack on r->table.
 * False when out of memory. */
bool mt_rank_add_stack(struct mt_ranks *r, size_t index, uint32_t stack, uint64_t bytes,
                       uint64_t count) MT_NODISCARD;

/* Brings the stacks of a rank in order; mt_ranks_compare does so itself. */
void mt_rank_sort_stacks(struct mt_rank *rank);

struct mt_rank_read_options {
    struct mt_filtered *filtered; /* made for this snapshot */
    int32_t device;               /* only this one, -1: all of the file */
    uint64_t capacity;            /* of the device, 0: not known */
    bool curves;                  /* memory over time is wanted too */
};
/* Fills in rank `index` from a snapshot: figures, stacks at the peak, growth. Errors: MT_NOMEM,
 * MT_LIMIT. */
enum mt_status mt_rank_read_snapshot(struct mt_ranks *r, size_t index, const struct mt_snapshot *s,
                                     const struct mt_rank_read_options *o, struct mt_error *err)
    MT_NODISCARD;

/*
 * Takes over what was read into other ranks, which are done for then: release them. A rank that is
 * there already has the figures added. Errors: MT_NOMEM, MT_LIMIT.
 */
enum mt_status mt_ranks_merge(struct mt_ranks *to, struct mt_ranks *from, struct mt_error *err)
    MT_NODISCARD;

/* The number behind "rank" in a file name or, weaker, its last number; -1 without. *weak tells
 * which. */
int64_t mt_rank_number(struct mt_str path, bool *weak);

/* ---- the grid ---- */

/* How many ranks the job has along each axis, 0: not said. Pipeline stages are the outermost axis,
 * as in Megatron-LM, DeepSpeed and torchtitan: stage = rank / (ranks / pp). */
struct mt_rank_grid {
    int64_t pp, tp, dp;
};

/* Gives each rank its stage: that of its name ("pp1", "stage_1"), where all names have one, else by
 * the grid and the number of ranks, `world` or the highest one. NULL, or what does not go together:
 * "--pp 3 does not divide 8 ranks". */
const char *mt_ranks_place(struct mt_ranks *r, const struct mt_rank_grid *grid, int64_t world,
                           char *text, size_t size) MT_NODISCARD;

/* Whether a rank is on the device of another one of its node, *other, where three in four ranks at
 * least have the device that their number says. */
bool mt_ranks_shared_device(const struct mt_ranks *r, size_t index, size_t *other);

/* ---- is the job whole ---- */

/* Notes that a file of a rank cannot be read. False when out of memory. */
bool mt_ranks_lose(struct mt_ranks *r, struct mt_str file) MT_NODISCARD;

/*
 * Finds the numbers that are missing among the ranks, which have theirs, and the lost ones: within
 * [0, world) where `world` is given, else between the least and the highest, and from 0 on where
 * fewer are missing in front than are there (the files of one node alone begin higher). O(n log n).
 * False when out of memory.
 */
bool mt_ranks_find_gaps(struct mt_ranks *r, int64_t world) MT_NODISCARD;

/*
 * memtool capture writes several dumps of a process: rank1.pickle, rank1.exit.pickle. Of files that
 * differ by such a word alone one is kept, the one with an out-of-memory event, else the highest
 * peak; the others become spares. False when out of memory.
 */
bool mt_ranks_drop_spares(struct mt_ranks *r) MT_NODISCARD;

/* Index of the rank that ran out of memory first, SIZE_MAX where none is known to have, or two at
 * once; *next: of the next one, or SIZE_MAX. Clocks of several machines may differ by more than the
 * ranks do. */
size_t mt_ranks_first_oom(const struct mt_ranks *r, size_t *next);

/* ---- comparing ---- */

struct mt_rank_range {
    uint64_t min, max;
    uint64_t median; /* of an even number the mean of the two in the middle */
    uint64_t lower;  /* of an even number the lower of the two: what odd ranks are told by */
    size_t n;        /* ranks that know the figure; 0: nothing above is valid */
};

/* A stack whose memory differs from that of the other ranks. */
struct mt_rank_excess {
    uint32_t stack;
    uint64_t bytes, count;               /* of the odd rank */
    uint64_t median_bytes, median_count; /* of all ranks */
};

/* Why a rank is odd; several at once. */
enum mt_rank_oddity {
    MT_ODD_HIGH = 1,          /* its peak is well above the median */
    MT_ODD_LOW = 2,           /* or well below */
    MT_ODD_RESERVED = 4,      /* it reserves well more, and its peak is not odd or not known */
    MT_ODD_GROWS = 8,         /* rises step after step, where most do not */
    MT_ODD_OOM = 16,          /* ran out of memory, where most did not */
    MT_ODD_OUTSIDE = 32,      /* much on its device is not its own */
    MT_ODD_TWO_DEVICES = 64,  /* holds memory on a device beside its own */
    MT_ODD_UNEXPLAINED = 128, /* more memory without a stack than the others */
    MT_ODD_SHARES = 256 /* is on the device of another rank, where most have one of their own */
};

struct mt_rank_outlier {
    size_t index;  /* of the rank */
    unsigned odd;  /* enum mt_rank_oddity */
    int64_t delta; /* peak - median, of its stage where stages are known */
    size_t shares; /* with MT_ODD_SHARES: index of the other rank */
    /* Where the difference at the peak comes from: the same allocations larger, more allocations of
     * the same stacks, stacks that most ranks do not have. Bytes, 0 where it does not rise. Memory
     * without a stack is in none of them. */
    uint64_t larger, more, alone;
    double factor;   /* with `larger`: the size of stacks with the usual number of allocations, over
                      the median   (0: there are none) */
    bool last_stage; /* the last rank, and its excess is that of a loss or output layer */
    uint64_t outside_median, unexplained, unexplained_median;
    uint64_t reserved_delta;              /* with MT_ODD_RESERVED: above the median */
    MT_VEC(struct mt_rank_excess) stacks; /* that hold more than the median, most first */
};

/* A stack over all ranks. */
struct mt_rank_common {
    uint32_t stack;
    uint64_t min, median, max; /* bytes; 0 for ranks that do not have it */
    size_t ranks;              /* that have it */
    size_t max_index;          /* who has most */
};

/* A stage of a pipeline. */
struct mt_rank_stage {
    int64_t stage;
    size_t ranks;
    struct mt_rank_range peak;
    /* Its median is above that of the stage before it by more than the threshold, and it is not the
     * last one: with the usual schedules an earlier stage keeps no fewer micro-batches. */
    bool odd;
};

struct mt_ranks_result {
    struct mt_rank_range figure[MT_RANK_FIGURE_COUNT];
    MT_VEC(struct mt_rank_stage) stages;     /* ascending; none: no grid is known */
    MT_VEC(struct mt_rank_outlier) outliers; /* highest peak first */
    MT_VEC(struct mt_rank_common) stacks;    /* widest spread first, then most bytes */
};

/*
 * Sorts the ranks by number and compares them. A rank is odd when its peak differs from the median
 * by more than `threshold` (a share of the median) and by more than three times the usual spread
 * (1.4826 x the median deviation). What is odd is told by the lower of the two in the middle of an
 * even number, so that two ranks in four do not hide each other. Where all ranks have a stage, a
 * rank is compared with those of its stage, and stages with each other. O(all stacks of all ranks).
 * Errors: MT_NOMEM. Release the result also after a failure.
 */
enum mt_status mt_ranks_compare(struct mt_ranks *r, double threshold, struct mt_ranks_result *out,
                                struct mt_error *err) MT_NODISCARD;
void mt_ranks_result_release(struct mt_ranks_result *x);

#endif
