/* SPDX-License-Identifier: MIT */
/*
 * Rows of one name: behind each stands the frame at which its stack differs from the others, as in
 * the legends of pictures (heap/stacks/frames.h finds it for both).
 */
#include "print/stack_apart.h"

#include <stdlib.h>
#include <string.h>

#include "support/mem.h"

static int compare_stacks(const struct mt_stack_of *a, const struct mt_stack_of *b)
{
    return a->s != b->s ? ((uintptr_t)a->s < (uintptr_t)b->s ? -1 : 1)
                        : (a->stack > b->stack) - (a->stack < b->stack);
}

static int compare_rows(const void *a, const void *b)
{
    const struct mt_named_stack *x = a, *y = b;
    int names = strcmp(x->name, y->name);
    return names ? names : compare_stacks(&x->of, &y->of);
}

static void describe(struct mt_buf *b, const struct mt_stack_of *x,
                     const struct mt_stack_difference *d, const struct mt_report *r)
{
    const struct mt_stack *k = &x->s->stacks[x->stack];
    mt_buf_reset(b);
    if (d->frame < k->n) {
        mt_buf_text(b, ", differs at ");
        mt_frame_label(b, x->s, x->s->stack_frames[k->first + d->frame], r);
    }
    if (!d->alone) {
        mt_buf_printf(b, ", %u frames deep", (unsigned)k->n);
    }
}

/* The rows of one name; those of the same stack are one. */
static bool tell_group(const struct mt_named_stack *rows, size_t n, const struct mt_report *r,
                       mt_apart_fn *say, void *arg)
{
    struct mt_stack_of *of = mt_mem_zalloc(n, sizeof *of);
    struct mt_stack_difference *differ = mt_mem_zalloc(n, sizeof *differ);
    struct mt_buf b = {0};
    size_t stacks = 0;
    for (size_t i = 0; of && i < n; i++) {
        if (i == 0 || compare_stacks(&rows[i].of, &rows[i - 1].of) != 0) {
            of[stacks++] = rows[i].of;
        }
    }
    bool ok = of && differ && (stacks < 2 || mt_stack_differences(of, stacks, differ));
    for (size_t i = 0, at = 0; ok && stacks > 1 && i < n; i++) {
        at += compare_stacks(&rows[i].of, &of[at]) != 0;
        describe(&b, &of[at], &differ[at], r);
        say(arg, rows[i].row, &b);
    }
    ok &= !b.failed;
    mt_buf_release(&b);
    mt_mem_free(differ);
    mt_mem_free(of);
    return ok;
}

bool mt_stacks_tell_apart(struct mt_named_stack *rows, size_t n, const struct mt_report *r,
                          mt_apart_fn *say, void *arg)
{
    if (n > 1) {
        qsort(rows, n, sizeof *rows, compare_rows);
    }
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && strcmp(rows[end].name, rows[i].name) == 0;) {
            end++;
        }
        if (end - i > 1 && !tell_group(rows + i, end - i, r, say, arg)) {
            return false;
        }
    }
    return true;
}
