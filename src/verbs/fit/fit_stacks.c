/* SPDX-License-Identifier: MIT */
/* Which stacks a prediction rests on: those that grow fastest, and those whose sizes lie on no law.
 */
#include <stdlib.h>

#include "support/hash.h"

#include "verbs/fit/fit_core.h"

static int by_bytes(const void *x, const void *y)
{
    const struct mt_fit_stack *l = x, *r = y;
    return l->bytes != r->bytes ? (l->bytes < r->bytes) - (l->bytes > r->bytes)
                                : (l->stack > r->stack) - (l->stack < r->stack);
}

static int by_growth(const void *x, const void *y)
{
    const struct mt_fit_stack *l = x, *r = y;
    return l->per_unit != r->per_unit ? (l->per_unit < r->per_unit) - (l->per_unit > r->per_unit)
                                      : (l->stack > r->stack) - (l->stack < r->stack);
}

static void add_call(struct mt_fit_stack *row, const struct mt_fit *f, size_t call)
{
    uint64_t at = f->recordings[f->base].size;
    uint64_t now = f->calls[f->base].list.v[call].size;
    uint64_t next = mt_fit_size_of(f, call, at + 1, GUESS_MIDDLE);
    double growth = (double)next - (double)mt_fit_size_of(f, call, at, GUESS_MIDDLE);
    row->count++;
    row->bytes = now > row->bytes ? now : row->bytes;
    row->per_unit = growth > row->per_unit ? growth : row->per_unit;
}

/* Adds each call of one kind to the row of its stack. */
static enum mt_status gather(struct mt_fit *f, bool unknown, struct mt_error *err)
{
    struct mt_idmap rows = {0};
    enum mt_status status = MT_OK;
    const struct calls *c = &f->calls[f->base];
    for (size_t i = 0; status == MT_OK && i < c->list.n; i++) {
        enum mt_fit_law law = (enum mt_fit_law)f->laws[f->like[i]];
        if (law == MT_FIT_CONSTANT || (law >= MT_FIT_UNCONFIRMED) != unknown) {
            continue;
        }
        uint32_t stack = c->list.v[i].stack;
        const uint32_t *row = mt_idmap_find(&rows, stack);
        size_t at = unknown ? f->unknown.n : f->growing.n;
        struct mt_fit_stack made = {.stack = stack, .law = law, .alone = !mt_fit_is_shared(f, i)};
        if (row) {
            at = *row;
        } else if (!mt_idmap_put(&rows, stack, (uint32_t)at) ||
                   !(unknown ? mt_vec_push(&f->unknown, made) : mt_vec_push(&f->growing, made))) {
            status = mt_fail_nomem(err);
            break;
        }
        add_call(unknown ? &f->unknown.v[at] : &f->growing.v[at], f, i);
    }
    mt_idmap_release(&rows);
    return status;
}

enum mt_status mt_fit_list_stacks(struct mt_fit *f, struct mt_error *err)
{
    MT_TRY(gather(f, true, err));
    MT_TRY(gather(f, false, err));
    if (f->unknown.n) {
        qsort(f->unknown.v, f->unknown.n, sizeof *f->unknown.v, by_bytes);
    }
    if (f->growing.n) {
        qsort(f->growing.v, f->growing.n, sizeof *f->growing.v, by_growth);
    }
    return MT_OK;
}
