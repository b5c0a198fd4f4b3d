/* SPDX-License-Identifier: MIT */
/*
 * The calls of a function whose frame matches. Allocations that match and follow each other are a
 * row: one call, or several, as the blocks of a model. Where the row's stacks repeat, each period
 * is a call. A row that does not repeat exactly, because its first call also allocates a workspace,
 * is cut where the rows that do repeat are: after as many occurrences of the last stack as a period
 * has. The last row may break off within a call: it is cut as the rows that repeat are where it
 * begins as they do.
 */
#include "support/hash.h"

#include "verbs/simulate/edits/sim_edit.h"

struct row {
    size_t first, n; /* of finder.allocs */
    size_t period;   /* allocations of a call; 0: does not repeat */
};

struct finder {
    const struct mt_sim *sim;
    MT_VEC(uint32_t) allocs; /* ops that match, in order */
    MT_VEC(struct row) rows;
    MT_VEC(uint32_t) failure; /* of the row that is looked at: its longest border, by length */
    struct edit_calls *out;
    struct mt_error *err;
};

static uint32_t stack_of(const struct finder *f, size_t alloc)
{
    const struct mt_sim *sim = f->sim;
    return sim->events[sim->ops.v[f->allocs.v[alloc]].event].stack;
}

static enum mt_status find_rows(struct finder *f, const bool *stacks)
{
    const struct mt_sim *sim = f->sim;
    bool in = false;
    for (size_t i = 0; i < sim->ops.n; i++) {
        const struct op *op = &sim->ops.v[i];
        if (op->kind != OP_ALLOC) {
            continue;
        }
        bool matches = stacks[sim->events[op->event].stack];
        struct row fresh = {f->allocs.n, 0, 0};
        if (matches &&
            ((!in && !mt_vec_push(&f->rows, fresh)) || !mt_vec_push(&f->allocs, (uint32_t)i))) {
            return mt_fail_nomem(f->err);
        }
        in = matches;
        if (in) {
            f->rows.v[f->rows.n - 1].n++;
        }
    }
    return MT_OK;
}

/* The shortest period that divides the row, from its borders (Knuth, Morris and Pratt). */
static enum mt_status find_period(struct finder *f, struct row *row)
{
    if (!mt_vec_reserve(&f->failure, row->n + 1)) {
        return mt_fail_nomem(f->err);
    }
    uint32_t *border = f->failure.v, k = 0;
    border[0] = border[1] = 0;
    for (size_t i = 1; i < row->n; i++) {
        while (k > 0 && stack_of(f, row->first + i) != stack_of(f, row->first + k)) {
            k = border[k];
        }
        k += stack_of(f, row->first + i) == stack_of(f, row->first + k);
        border[i + 1] = k;
    }
    size_t period = row->n - k;
    row->period = row->n % period == 0 && period < row->n ? period : 0;
    return MT_OK;
}

static size_t count_of_last(const struct finder *f, const struct row *row, size_t from, size_t n)
{
    uint32_t last = stack_of(f, row->first + row->n - 1);
    size_t count = 0;
    for (size_t i = from; i < from + n; i++) {
        count += stack_of(f, i) == last;
    }
    return count;
}

static enum mt_status add_call(struct finder *f, size_t from, size_t n, const struct row *row)
{
    struct edit_call c = {f->allocs.v[from], f->allocs.v[from + n - 1],
                          f->allocs.v[row->first + row->n - 1], false};
    return mt_vec_push(&f->out->list, c) ? MT_OK : mt_fail_nomem(f->err);
}

/* Cuts after each `count`-th occurrence of the last stack; 0: one call. */
static enum mt_status cut_row(struct finder *f, const struct row *row, size_t count)
{
    uint32_t last = stack_of(f, row->first + row->n - 1);
    size_t from = row->first, end = row->first + row->n, seen = 0;
    bool even = count > 0 && count_of_last(f, row, row->first, row->n) % count == 0;
    for (size_t i = row->first; i < end; i++) {
        seen += stack_of(f, i) == last;
        if (i + 1 == end || (even && seen == count)) {
            MT_TRY(add_call(f, from, i + 1 - from, row));
            from = i + 1;
            seen = 0;
        }
    }
    return MT_OK;
}

/* Whether the row runs as one that repeats, up to where it breaks off. */
static bool breaks_off(const struct finder *f, const struct row *row, const struct row *model)
{
    bool same = model && row->period == 0 && row == &f->rows.v[f->rows.n - 1];
    for (size_t i = 0; same && i < row->n; i++) {
        same = stack_of(f, row->first + i) == stack_of(f, model->first + i % model->period);
    }
    return same;
}

static enum mt_status cut_even(struct finder *f, const struct row *row, size_t period)
{
    for (size_t i = 0; i < row->n; i += period) {
        MT_TRY(add_call(f, row->first + i, row->n - i < period ? row->n - i : period, row));
        f->out->list.v[f->out->list.n - 1].even = true;
    }
    return MT_OK;
}

static enum mt_status cut_rows(struct finder *f)
{
    const struct row *model = NULL;
    size_t count = 0;
    for (size_t i = 0; i < f->rows.n; i++) {
        struct row *row = &f->rows.v[i];
        MT_TRY(find_period(f, row));
        if (row->period && !count) {
            count = count_of_last(f, row, row->first, row->period);
        }
        model = row->period ? row : model;
    }
    for (size_t i = 0; i < f->rows.n; i++) {
        const struct row *row = &f->rows.v[i];
        bool even = row->period || breaks_off(f, row, model);
        MT_TRY(even ? cut_even(f, row, row->period ? row->period : model->period)
                    : cut_row(f, row, count));
    }
    return MT_OK;
}

enum mt_status mt_sim_find_calls(const struct mt_sim *sim, const bool *stacks,
                                 struct edit_calls *out, struct mt_error *err)
{
    struct finder f = {.sim = sim, .out = out, .err = err};
    enum mt_status status = find_rows(&f, stacks);
    if (status == MT_OK) {
        status = cut_rows(&f);
    }
    mt_vec_release(&f.allocs);
    mt_vec_release(&f.rows);
    mt_vec_release(&f.failure);
    return status;
}
