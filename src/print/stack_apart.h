/* SPDX-License-Identifier: MIT */
/* Rows of one name. */
#ifndef MEMTOOL_PRINT_STACK_APART_H
#define MEMTOOL_PRINT_STACK_APART_H

#include "heap/stacks/frames.h"
#include "print/report.h"

/* A row of a table that is called by its stack. */
struct mt_named_stack {
    struct mt_stack_of of;
    const char *name; /* borrowed */
    size_t row;       /* the caller's */
};

/* Called for a row whose name is that of another stack too, with what tells it apart:
 * ", differs at model.py:20 forward". */
typedef void mt_apart_fn(void *arg, size_t row, const struct mt_buf *difference);

/* Sorts the rows and calls `say` for each that needs it. False when out of memory. */
bool mt_stacks_tell_apart(struct mt_named_stack *rows, size_t n, const struct mt_report *r,
                          mt_apart_fn *say, void *arg) MT_NODISCARD;

#endif
