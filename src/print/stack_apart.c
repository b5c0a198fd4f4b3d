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

/* What is said of a stack of the group, whose rows have the name. */
struct told {
    struct mt_stack_of of;
    const char *name;
    struct mt_buf words;
};

/* Whether the name ends with the function that the text ends with: "train.py:76 main (step)". */
static bool ends_alike(struct mt_str name, struct mt_str text, size_t function)
{
    return function && text.n > function && name.n >= function + 2 && name.p[name.n - 1] == ')' &&
           name.p[name.n - function - 2] == '(' && text.p[text.n - function - 1] == ' ' &&
           memcmp(name.p + name.n - 1 - function, text.p + text.n - function, function) == 0;
}

/* The frame, without its function where the name of the rows has it. */
static void describe(struct told *x, const struct mt_stack_difference *d, const struct mt_report *r)
{
    const struct mt_snapshot *s = x->of.s;
    const struct mt_stack *k = &s->stacks[x->of.stack];
    struct mt_buf *b = &x->words;
    if (d->frame < k->n) {
        uint32_t frame = s->stack_frames[k->first + d->frame];
        size_t function = mt_frame_function(s, &s->frames[frame]).n;
        mt_buf_text(b, ", differs at ");
        mt_frame_label(b, s, frame, r);
        if (ends_alike(mt_str_from(x->name), mt_buf_view(b), function)) {
            b->n -= function + 1;
            b->p[b->n] = '\0';
        }
    }
}

static int compare_words(const void *a, const void *b)
{
    const struct told *x = *(struct told *const *)a, *y = *(struct told *const *)b;
    return mt_str_compare(mt_buf_view(&x->words), mt_buf_view(&y->words));
}

/* Those of which the same is said: their depths tell them apart, if anything does. */
static void add_depths(struct told **sorted, size_t n)
{
    qsort(sorted, n, sizeof *sorted, compare_words);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && compare_words(&sorted[i], &sorted[end]) == 0;) {
            end++;
        }
        for (size_t k = i; end - i > 1 && k < end; k++) {
            const struct mt_stack_of *of = &sorted[k]->of;
            mt_buf_printf(&sorted[k]->words, ", %u frames deep",
                          (unsigned)of->s->stacks[of->stack].n);
        }
    }
}

static bool describe_all(struct told *told, size_t n, const struct mt_report *r)
{
    struct mt_stack_of *of = mt_mem_zalloc(n, sizeof *of);
    struct mt_stack_difference *differ = mt_mem_zalloc(n, sizeof *differ);
    struct told **sorted = mt_mem_zalloc(n, sizeof *sorted);
    for (size_t i = 0; of && i < n; i++) {
        of[i] = told[i].of;
    }
    bool ok = of && differ && sorted && mt_stack_differences(of, n, differ);
    for (size_t i = 0; ok && i < n; i++) {
        describe(&told[i], &differ[i], r);
        sorted[i] = &told[i];
    }
    if (ok) {
        add_depths(sorted, n);
    }
    mt_mem_free(sorted);
    mt_mem_free(differ);
    mt_mem_free(of);
    return ok;
}

/* The rows of one name; those of the same stack are one. */
static bool tell_group(const struct mt_named_stack *rows, size_t n, const struct mt_report *r,
                       mt_apart_fn *say, void *arg)
{
    struct told *told = mt_mem_zalloc(n, sizeof *told);
    size_t stacks = 0;
    for (size_t i = 0; told && i < n; i++) {
        if (i == 0 || compare_stacks(&rows[i].of, &rows[i - 1].of) != 0) {
            told[stacks].name = rows[i].name;
            told[stacks++].of = rows[i].of;
        }
    }
    bool ok = told && (stacks < 2 || describe_all(told, stacks, r));
    for (size_t i = 0, at = 0; ok && stacks > 1 && i < n; i++) {
        at += compare_stacks(&rows[i].of, &told[at].of) != 0;
        say(arg, rows[i].row, &told[at].words);
    }
    for (size_t i = 0; i < stacks; i++) {
        ok &= !told[i].words.failed;
        mt_buf_release(&told[i].words);
    }
    mt_mem_free(told);
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
