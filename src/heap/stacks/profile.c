/* SPDX-License-Identifier: MIT */
/* Sums per stack over a paired trace: no live map is needed, since the pairing tells for each
 * allocation whether it ends before the moment. */
#include "heap/stacks/profile.h"

#include <stdlib.h>

#include "support/checked.h"

static void add_live(struct mt_profile_row *row, uint64_t bytes)
{
    row->live_bytes = mt_add_sat(row->live_bytes, bytes);
    row->live_count++;
}

/* A recorded empty stack says as much as none. */
static struct mt_profile_row *row_of(struct mt_profile_row *by_stack, const struct mt_replay *r,
                                     uint32_t stack)
{
    return &by_stack[r->snapshot->stacks[stack].n ? stack : 0];
}

static bool ended(uint32_t at, size_t events_done)
{
    return at != MT_NEVER && at < events_done;
}

static void sum_allocs(struct mt_profile_row *by_stack, const struct mt_replay *r,
                       struct mt_filtered *f, size_t done)
{
    for (size_t i = 0; i < r->n; i++) {
        const struct mt_event *e = &r->events[i];
        if (mt_event_kind(e) != MT_STEP_ALLOC || (f && !mt_filtered_event(f, r->device, i))) {
            continue;
        }
        struct mt_profile_row *row = row_of(by_stack, r, e->stack);
        row->alloc_bytes = mt_add_sat(row->alloc_bytes, e->size);
        row->alloc_count++;
        if (i < done && !ended(r->partner[i], done)) {
            add_live(row, e->size);
        }
    }
}

static bool ghost_passes(struct mt_filtered *f, const struct mt_replay *r, const struct mt_ghost *g)
{
    if (!f) {
        return true;
    }
    return g->block != MT_NEVER ? mt_filtered_block(f, &r->snapshot->blocks[g->block])
                                : mt_filtered_device(f, r->device) && mt_filtered_stack(f, 0);
}

static void sum_ghosts(struct mt_profile_row *by_stack, const struct mt_replay *r,
                       struct mt_filtered *f, size_t done)
{
    for (size_t i = 0; i < r->ghosts.n; i++) {
        const struct mt_ghost *g = &r->ghosts.v[i];
        if (!ended(g->freed, done) && ghost_passes(f, r, g)) {
            add_live(row_of(by_stack, r, g->stack), g->size);
        }
    }
}

static int compare_rows(const void *a, const void *b)
{
    const struct mt_profile_row *x = a, *y = b;
    if (x->live_bytes != y->live_bytes) {
        return x->live_bytes < y->live_bytes ? 1 : -1;
    }
    if (x->alloc_bytes != y->alloc_bytes) {
        return x->alloc_bytes < y->alloc_bytes ? 1 : -1;
    }
    return (x->stack > y->stack) - (x->stack < y->stack);
}

static bool gather(struct mt_profile *p, struct mt_profile_row *by_stack, size_t n_stacks)
{
    for (size_t i = 0; i < n_stacks; i++) {
        struct mt_profile_row *row = &by_stack[i];
        row->stack = (uint32_t)i;
        if (row->live_count == 0 && row->alloc_count == 0) {
            continue;
        }
        if (!mt_vec_push(&p->rows, *row)) {
            return false;
        }
        p->live_bytes = mt_add_sat(p->live_bytes, row->live_bytes);
        p->alloc_bytes = mt_add_sat(p->alloc_bytes, row->alloc_bytes);
        p->live_count += row->live_count;
        p->alloc_count += row->alloc_count;
    }
    if (p->rows.n) {
        qsort(p->rows.v, p->rows.n, sizeof *p->rows.v, compare_rows);
    }
    return true;
}

enum mt_status mt_profile_find(struct mt_profile *p, const struct mt_replay *r,
                               struct mt_filtered *f, const struct mt_moment *at,
                               struct mt_error *err)
{
    *p = (struct mt_profile){0};
    MT_TRY(mt_moment_find(at, r, &p->events_done, err));
    struct mt_profile_row *by_stack = mt_mem_zalloc(r->snapshot->n_stacks, sizeof *by_stack);
    if (!by_stack) {
        return mt_fail_nomem(err);
    }
    sum_allocs(by_stack, r, f, p->events_done);
    sum_ghosts(by_stack, r, f, p->events_done);
    bool ok = gather(p, by_stack, r->snapshot->n_stacks);
    mt_mem_free(by_stack);
    return ok ? MT_OK : mt_fail_nomem(err);
}

void mt_profile_release(struct mt_profile *p)
{
    mt_vec_release(&p->rows);
}
