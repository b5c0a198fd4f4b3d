/* SPDX-License-Identifier: MIT */
/* Who holds memory at one moment of a trace, grouped as one likes. */
#ifndef MEMTOOL_HEAP_FINDINGS_PEAK_H
#define MEMTOOL_HEAP_FINDINGS_PEAK_H

#include "heap/stacks/categories.h"
#include "heap/stacks/filter.h"
#include "heap/walk/moment.h"
#include "snapshot/model/model.h"
#include "support/error.h"
#include "support/vec.h"

enum mt_peak_by {
    MT_BY_STACK,
    MT_BY_FILE,       /* of the frame that tells most (heap/stacks/frames.h) */
    MT_BY_LINE,       /* its file, line and function */
    MT_BY_FUNCTION,   /* its function, whatever the file */
    MT_BY_FOLDER,     /* the folder of its file */
    MT_BY_ANNOTATION, /* innermost one that was open at the allocation */
    MT_BY_STREAM,
    MT_BY_POOL,
    MT_BY_CATEGORY,
    MT_BY_LABEL,  /* what the program said of it (event_labels.h) */
    MT_BY_REGION, /* of torch.compile */
    MT_BY_NODE,   /* of a compiled graph, else of the backward pass */
    MT_BY_MODULE  /* nn.Module that it was made for (event_labels.h) */
};

struct mt_peak_options {
    struct mt_moment at;
    enum mt_peak_by by;
    const struct mt_rules *rules;           /* NULL: all categories are unknown, in less time */
    const struct mt_categories *categories; /* not NULL: found already */
};

/* Requested bytes alive at the moment. */
struct mt_peak_row {
    uint64_t bytes;
    uint64_t count;
    uint64_t largest;     /* of one allocation */
    uint64_t preexisting; /* of bytes: older than the trace */
    uint64_t by_category[MT_CATEGORY_COUNT];
    /* What the row stands for: a stack id, a frame id (FILE, LINE, FUNCTION, FOLDER; 0: none), a
     * string id (ANNOTATION, LABEL, REGION, MODULE; 0: none), the frame that names a node (0:
     * none), an index of streams, a pool key, a category. */
    uint32_t key;
    uint32_t stack; /* of the largest allocation in it */
    uint32_t event; /* that allocated it: index in mt_snapshot.events + 1; 0: older */
};

/* A pool key: twice the index in mt_snapshot.pools, plus enum mt_pool_kind. */
#define MT_POOL_KEY(pool, kind) ((uint32_t)(pool) << 1 | (uint32_t)(kind))

struct mt_peak {
    int32_t device;
    enum mt_peak_by by;
    enum mt_moment_kind at;
    size_t n_events;    /* of the trace */
    size_t events_done; /* how many had happened; the event is events_done - 1 */
    int64_t time_us;    /* of that event, MT_NO_TIME without */
    int64_t since_us;   /* since the first event, MT_NO_TIME without */
    uint64_t bytes;     /* requested bytes alive: the sum of the rows */
    uint64_t count;
    uint64_t preexisting_bytes; /* alive before the first event, whether or not at the moment */
    uint64_t reserved_bytes;    /* of the device at the moment, whatever the filter */
    uint64_t by_category[MT_CATEGORY_COUNT];
    uint64_t sure[MT_CATEGORY_COUNT][MT_SURE_COUNT]; /* the same by what it is known from */
    MT_VEC(struct mt_peak_row) rows;                 /* most bytes first */
    uint64_t left_out; /* allocations alive at the moment that the filter hides */
};

/*
 * Looks at the trace of r. `f`: only what passes counts, for the peak too; NULL: all. Memory counts
 * from its alloc to its free_completed, and what is older than the trace counts with the stack of
 * its block. Errors: MT_NOT_FOUND (no such moment, no
 * names of modules), MT_NOMEM. Release it also after a failure.
 */
enum mt_status mt_peak_find(struct mt_peak *out, const struct mt_snapshot *s,
                            const struct mt_replay *r, struct mt_filtered *f,
                            const struct mt_peak_options *o, struct mt_error *err) MT_NODISCARD;
void mt_peak_release(struct mt_peak *p);

/* The category with most bytes. */
enum mt_category mt_peak_row_category(const struct mt_peak_row *row);
/* Its name, where nine tenths are of it, else "mixed". */
const char *mt_peak_row_word(const struct mt_peak_row *row);

#endif
