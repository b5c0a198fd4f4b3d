/* SPDX-License-Identifier: MIT */
/* Memory over the steps of a training loop, from whatever it prints. */
#ifndef MEMTOOL_TRIAGE_LOG_LOG_STEPS_H
#define MEMTOOL_TRIAGE_LOG_LOG_STEPS_H

#include "support/vec.h"
#include "triage/triage.h"

/* A phrase in front of a number: "memory:", "maxmem:". */
struct mt_step_phrase {
    struct mt_str phrase;
    enum mt_series_kind kind;
    uint64_t unit; /* of a bare number */
    bool loose;    /* a word of many tables: counts only with a unit, or in a line with a step */
};
extern const struct mt_step_phrase MT_STEP_PHRASES[];
extern const size_t MT_STEP_PHRASES_N;

/* Samples kept of one series: when it is full, every second one goes. */
#define MT_STEP_SAMPLES 1024
/* Series kept: one a log, kind, origin and phrase; the rest is not looked at. */
#define MT_STEP_SERIES 32

struct mt_step_sample {
    int64_t step;
    uint64_t bytes;
};

struct mt_step_track {
    uint64_t origin;
    size_t phrase; /* index into MT_STEP_PHRASES */
    struct mt_series series;
    MT_VEC(struct mt_step_sample) samples;
    uint64_t stride; /* every so-many-th sample is kept */
    int64_t base;    /* added to printed steps, which begin anew each epoch */
    int64_t last_printed;
};

struct mt_steps {
    MT_VEC(struct mt_step_track) tracks;
    size_t column;      /* of memory in the rows that follow a header; 0: no header stands open */
    unsigned rows_left; /* lines after which it is over */
    uint64_t last_line; /* of the latest sample */
    const char *file;   /* name of the log that is read, borrowed */
    bool step_known;    /* `step` is what the line at hand tells, -1: none */
    int64_t step;
};

void mt_steps_release(struct mt_steps *s);

/* The squeezed line holds phrase `which` at `at`: takes the number behind it. `step_known` is false
 * when a line is new. False: no memory. */
bool mt_steps_take(struct mt_steps *s, struct mt_str line, size_t at, size_t which, uint64_t number,
                   uint64_t origin) MT_NODISCARD;

/* The column of memory that a header names ("Epoch GPU_mem box_loss"), SIZE_MAX: it is no header.
 */
size_t mt_steps_column(struct mt_str clean);

/* A line that may be a row below a header. False: no memory. */
bool mt_steps_row(struct mt_steps *s, struct mt_str clean, uint64_t number, uint64_t origin)
    MT_NODISCARD;

/* Allocated memory of one more memory_summary(). False: no memory. */
bool mt_steps_table(struct mt_steps *s, uint64_t bytes, uint64_t number, uint64_t origin)
    MT_NODISCARD;

/* The step that a squeezed line tells, -1 when it tells none. */
int64_t mt_step_number(struct mt_str line);

/* Slopes and verdicts of every track; call when the log is read. */
void mt_steps_finish(struct mt_steps *s);

/* Growth beyond which a rise that lasts is a leak: a mean of 1 MB a step. */
#define MT_LEAK_BYTES_PER_STEP 1e6

#endif
