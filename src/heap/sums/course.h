/* SPDX-License-Identifier: MIT */
/*
 * How the memory of one process went over several moments: snapshots of it in the order of time, or
 * figures that it printed. What is alive at each, and which stacks hold more at the last than at
 * the first.
 */
#ifndef MEMTOOL_HEAP_SUMS_COURSE_H
#define MEMTOOL_HEAP_SUMS_COURSE_H

#include "snapshot/model/model.h"
#include "support/arena.h"
#include "support/error.h"
#include "support/hash.h"
#include "support/vec.h"

/* Moments below which nothing is said: of files, and of figures in one log. */
#define MT_COURSE_FILES 3
#define MT_COURSE_PRINTS 5

struct mt_filtered;
struct mt_logged;
struct mt_logged_table;

struct mt_course_point {
    const char *file; /* borrowed */
    size_t line;      /* in a log that has several; 0: the file is one moment */
    int64_t us;       /* of its last event, or MT_NO_TIME */
    int64_t step;     /* that the line names; -1 */
    uint64_t live, reserved;
    bool has_reserved;
};

/* Live memory of one stack, by the words that name it. */
struct mt_course_stack {
    struct mt_str name; /* safe for terminals */
    uint64_t first, last, count;
    size_t since;    /* the point from which on it only grew */
    uint64_t before; /* at the point before the last */
};

enum mt_course_verdict { MT_COURSE_UNKNOWN, MT_COURSE_NO_LEAK, MT_COURSE_LEAK };

struct mt_course {
    MT_VEC(struct mt_course_point) points; /* in the order of time */
    MT_VEC(struct mt_course_stack) stacks; /* most growth first, only what grew */
    int64_t live_step, reserved_step; /* between the first and the last, from point to point, or */
    bool by_step;                     /* by the steps that their lines name */
    size_t since;                     /* the point from which on live memory only grew */
    enum mt_course_verdict verdict;
    uint64_t threshold;
    size_t least;   /* points that a verdict needs */
    int32_t rank;   /* of a log that names several; -1 */
    int64_t device; /* of figures of one device; -1: of all */
    struct mt_arena arena;
    struct mt_intern names; /* of stacks; an id is an index in stacks + 1 */
};

void mt_course_init(struct mt_course *c, uint64_t hash_seed);
void mt_course_release(struct mt_course *c);

/* The words that name a stack of s. */
typedef void (*mt_course_label)(void *ctx, struct mt_buf *out, const struct mt_snapshot *s,
                                uint32_t stack);

/* Appends the state at the end of a snapshot; live memory is what passes f (NULL: all). Errors:
 * MT_NOMEM. */
enum mt_status mt_course_add_snapshot(struct mt_course *c, const struct mt_snapshot *s,
                                      struct mt_filtered *f, const char *file,
                                      mt_course_label label, void *ctx, struct mt_error *err)
    MT_NODISCARD;

/* Appends the last figures of a file, of all devices of one process. Errors: MT_FORMAT: there are
 * none, or they are of several ranks; MT_NOMEM. */
enum mt_status mt_course_add_logged(struct mt_course *c, const struct mt_logged *l,
                                    const char *file, struct mt_error *err) MT_NODISCARD;

/* Growth of more than `threshold` bytes from point to point, that is not over by the end, is a leak
 * where memory rises at most points and falls at few. */
void mt_course_conclude(struct mt_course *c, uint64_t threshold);

/* Of one log: the figures of each process and device, of the kind that it has most of, concluded.
 */
struct mt_courses {
    MT_VEC(struct mt_course) v; /* the worst first */
};

/* Errors: MT_NOMEM. Release it also after a failure. */
enum mt_status mt_courses_find(struct mt_courses *all, const struct mt_logged *l, const char *file,
                               uint64_t threshold, struct mt_error *err) MT_NODISCARD;
void mt_courses_release(struct mt_courses *all);

#endif
