/* SPDX-License-Identifier: MIT */
/*
 * What a program would reserve at a size that was never run. Recordings of one program at several
 * sizes (of the batch, the sequence ...) are aligned call by call; each allocation's size is put on
 * a law of the size (constant, linear, quadratic); the list of the recording with the largest size
 * is given the sizes of the laws and replayed.
 *
 *   mt_fit_new       recordings -> calls with laws
 *   mt_fit_predict   one size, one setting -> peaks
 *   mt_fit_largest   the largest size that a limit allows
 *
 * What cannot be known is said: a call whose size lies on no law makes a range, and too much of it
 * makes no prediction.
 */
#ifndef MEMTOOL_FIT_H
#define MEMTOOL_FIT_H

#include "support/error.h"
#include "snapshot/model/model.h"
#include "verbs/simulate/cures.h"
#include "verbs/simulate/simulate.h"
#include "support/vec.h"

enum { MT_FIT_RECORDINGS = 16 }; /* more are refused */

/* A recording at a size; `snapshot` is borrowed and must outlive the fit. */
struct mt_fit_input {
    const struct mt_snapshot *snapshot;
    uint64_t size; /* at least 1, each once */
};

enum mt_fit_law {
    MT_FIT_CONSTANT,
    MT_FIT_LINEAR,
    MT_FIT_QUADRATIC,
    MT_FIT_STEPS,       /* a line within one hundredth: rounded inside a library */
    MT_FIT_UNCONFIRMED, /* a line through two recordings, not in proportion, that no third confirms
                         */
    MT_FIT_UNKNOWN,     /* no law: chosen by a library, or seen in one recording alone */
    MT_FIT_LAWS
};

/* How a recording stands to the one whose calls are replayed (the base). */
struct mt_fit_recording {
    uint64_t size;
    int32_t device;
    size_t calls;
    size_t aligned;               /* of the base's calls; all of them: the same path */
    bool same_path;               /* the same calls in the same order */
    bool used;                    /* its sizes are points of the laws */
    uint64_t reserved, requested; /* bytes, peaks of its replay */
    bool exact;                   /* that replay is */
    uint64_t ooms;                /* requests that were refused */
    bool complete;                /* nothing was there before its first event */
};

/* Allocations of one stack that grow, or whose law is not known. */
struct mt_fit_stack {
    uint32_t stack; /* of the base */
    enum mt_fit_law law;
    uint64_t count;
    bool alone;      /* no other recording has its first call */
    double per_unit; /* bytes that its largest call grows by a unit of size, at the base's size */
    uint64_t bytes;  /* of its largest call in the base */
};

struct mt_fit;

/*
 * Aligns the recordings (2 to MT_FIT_RECORDINGS, of the device with the most events, or `device`).
 * Errors: MT_NOMEM; MT_USAGE (sizes); MT_NOT_FOUND (no events); MT_LIMIT. Caller frees.
 */
enum mt_status mt_fit_new(const struct mt_fit_input *inputs, size_t n, int32_t device,
                          mt_torch_release release, struct mt_fit **out, struct mt_error *err)
    MT_NODISCARD;
void mt_fit_free(struct mt_fit *f);

const struct mt_fit_recording *mt_fit_recordings(const struct mt_fit *f, size_t *n);
size_t mt_fit_base(const struct mt_fit *f); /* index of the recording whose calls are replayed */
/* How many calls have each law. */
const size_t *mt_fit_laws(const struct mt_fit *f);
struct mt_str mt_fit_conf(const struct mt_fit *f); /* the recorded settings */
/* The call at which most is in use in the base; 0: not known. */
uint32_t mt_fit_peak_stack(const struct mt_fit *f);
/* Stacks of calls without a law, the largest first; then those that grow fastest. Borrowed. */
const struct mt_fit_stack *mt_fit_unknown(const struct mt_fit *f, size_t *n);
const struct mt_fit_stack *mt_fit_growing(const struct mt_fit *f, size_t *n);

struct mt_fit_run {
    uint64_t size;
    bool known;                   /* else only the range is */
    uint64_t reserved, requested; /* bytes, peaks */
    uint64_t low, high;           /* bytes, of the reserved peak */
    enum mt_sim_verdict verdict;  /* under the limit; UNKNOWN: a library's choice decides */
    uint32_t peak_stack;          /* of the base: the call at which most is in use */
    uint64_t refused;             /* bytes of the first request that is refused; 0: none */
    uint32_t refused_stack;       /* of the base */
};

/* Larger recordings on other paths that are no points of the laws reserved from *low to *high times
 * what is predicted for them. */
void mt_fit_off(const struct mt_fit *f, double *low, double *high);

/* The settings of a prediction; NULL: the recorded ones. Limits in bytes, 0: none. */
struct mt_fit_question {
    const struct mt_alloc_settings *settings;
    uint64_t limit, capacity;
};

/* Errors: MT_NOMEM. */
enum mt_status mt_fit_predict(struct mt_fit *f, uint64_t size, const struct mt_fit_question *q,
                              struct mt_fit_run *out, struct mt_error *err) MT_NODISCARD;

/*
 * The largest size that fits under every placement, in *fits (size 0: not even 1 does), and the
 * next one, which does not (size 0: the search ended at a size 65,536 times the base's). The
 * verdict of both is UNKNOWN where a library's choice decides. Errors: MT_NOMEM.
 */
enum mt_status mt_fit_largest(struct mt_fit *f, const struct mt_fit_question *q,
                              struct mt_fit_run *fits, struct mt_fit_run *next,
                              struct mt_error *err) MT_NODISCARD;

/* The usual cures for a size under the bounds of a question, by replay. Errors: as
 * mt_sim_find_cures; release the cures all the same. */
enum mt_status mt_fit_find_cures(struct mt_fit *f, uint64_t size, const struct mt_fit_question *q,
                                 struct mt_sim_cures *out, struct mt_error *err) MT_NODISCARD;

#endif
