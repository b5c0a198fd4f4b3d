/* SPDX-License-Identifier: MIT */
/* The ways to find steps that period.c chooses from. Private to analysis/. */
#ifndef MEMTOOL_HEAP_FINDINGS_PERIOD_WAYS_H
#define MEMTOOL_HEAP_FINDINGS_PERIOD_WAYS_H

#include "heap/findings/period.h"

#include "heap/stacks/stack_roles.h"

/* Appends a bound unless it is not behind the last. False: no memory. */
bool mt_periods_add(struct mt_periods *p, size_t event) MT_NODISCARD;

/* The first event not before `time_us`. */
size_t mt_event_at_time(const struct mt_replay *r, int64_t time_us);

/* ---- annotations ---- */

/* Names with every run of digits as one '#', and how often each starts on the device. */
struct mt_period_names;

enum { MT_RANK_STEP = 3, MT_RANK_OPTIMIZER = 4 }; /* of mt_step_name_rank */

/* NULL when out of memory. */
struct mt_period_names *mt_period_names_new(const struct mt_replay *r);
void mt_period_names_free(struct mt_period_names *n);

/* The name that marks the steps best, or 0: the surest, of equals the most frequent. One that only
 * may be a step's counts from MT_PERIODS_NEEDED + 1 times on. */
uint32_t mt_period_names_best(const struct mt_period_names *n);
int mt_period_name_rank(const struct mt_period_names *n, uint32_t id);
size_t mt_period_name_count(const struct mt_period_names *n, uint32_t id);

/* Whether annotation `index` starts on this device and has that name. */
bool mt_period_name_is(const struct mt_period_names *n, size_t index, uint32_t id);

/* Bounds where annotations of that name start, but not at the first event. False: no memory. */
bool mt_period_names_bounds(struct mt_periods *p, const struct mt_period_names *n,
                            const struct mt_replay *r, uint32_t id) MT_NODISCARD;

/* The same for the name that a user means. Errors: MT_NOMEM, MT_NOT_FOUND. */
enum mt_status mt_period_names_wanted(struct mt_periods *p, struct mt_period_names *n,
                                      const struct mt_replay *r, const char *wanted,
                                      struct mt_error *err) MT_NODISCARD;

/* ---- the order of allocations ---- */

/*
 * What repeats most regularly in the events [from, to): bounds where it comes, and its stack; none
 * where nothing does. `with_size`: a stack with each size of its own is looked for. What optimizers
 * and the making of a model allocate is passed over: they run over parameters. Errors: MT_NOMEM.
 */
enum mt_status mt_period_by_order(struct mt_periods *p, const struct mt_stack_roles *roles,
                                  size_t from, size_t to, bool with_size, struct mt_error *err)
    MT_NODISCARD;

#endif
