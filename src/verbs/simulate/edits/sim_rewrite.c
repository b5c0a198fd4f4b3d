/* SPDX-License-Identifier: MIT */
/* A program with ops left out and others put in between. */
#include <stdlib.h>
#include <string.h>

#include "verbs/simulate/edits/sim_edit.h"

static bool frees(const struct op *op)
{
    return op->kind == OP_FREE || op->kind == OP_FREE_COMPLETE;
}

/* Which op frees each allocation, by the slot that they share. */
static enum mt_status find_frees(struct rewrite *r)
{
    const struct mt_sim *sim = r->sim;
    size_t n = (size_t)sim->n_slots + 1;
    uint32_t *owner = mt_mem_alloc(2 * n, sizeof *owner), *request = owner ? owner + n : NULL;
    if (!owner) {
        return mt_fail_nomem(r->err);
    }
    memset(owner, 0xff, 2 * n * sizeof *owner);
    for (size_t i = 0; i < sim->ops.n; i++) {
        const struct op *op = &sim->ops.v[i];
        r->free_of[i] = r->request_of[i] = NEVER;
        if (op->kind == OP_ALLOC) {
            owner[op->slot] = (uint32_t)i;
        } else if (op->kind == OP_FREE_REQUEST) {
            request[op->slot] = (uint32_t)i;
        } else if (frees(op) && owner[op->slot] != NEVER) {
            r->free_of[owner[op->slot]] = (uint32_t)i;
            r->request_of[i] = request[op->slot];
            owner[op->slot] = request[op->slot] = NEVER;
        }
    }
    mt_mem_free(owner);
    return MT_OK;
}

enum mt_status mt_rewrite_begin(struct rewrite *r, const struct mt_sim *sim, struct mt_error *err)
{
    size_t n = sim->ops.n, call = 0;
    *r = (struct rewrite){.sim = sim, .err = err};
    if (n >= NEVER) {
        return mt_fail(err, MT_LIMIT, MT_NO_OFFSET, "%zu steps are too many to edit", n);
    }
    r->free_of = mt_mem_alloc(n + 1, sizeof *r->free_of);
    r->request_of = mt_mem_alloc(n + 1, sizeof *r->request_of);
    r->sizes = mt_mem_zalloc(n + 1, sizeof *r->sizes);
    r->gone = mt_mem_zalloc(n + 1, sizeof *r->gone);
    if (!r->free_of || !r->request_of || !r->sizes || !r->gone) {
        return mt_fail_nomem(err);
    }
    for (size_t i = 0; i < n; i++) {
        if (sim->ops.v[i].kind == OP_ALLOC) {
            r->sizes[i] =
                sim->edited.n ? sim->edited.v[call] : sim->events[sim->ops.v[i].event].size;
            call++;
        }
    }
    return find_frees(r);
}

enum mt_status mt_rewrite_add(struct rewrite *r, size_t at, size_t like, enum op_kind kind,
                              uint32_t slot)
{
    struct op op = r->sim->ops.v[like];
    op.kind = (uint8_t)kind;
    op.slot = slot;
    struct insertion x = {at, r->added.n, op, r->sizes[like]};
    return mt_vec_push(&r->added, x) ? MT_OK : mt_fail_nomem(r->err);
}

void mt_rewrite_drop_free(struct rewrite *r, size_t op)
{
    uint32_t freed = r->free_of[op];
    if (freed != NEVER) {
        r->gone[freed] = true;
        if (r->request_of[freed] != NEVER) {
            r->gone[r->request_of[freed]] = true;
        }
    }
}

static int by_place(const void *x, const void *y)
{
    const struct insertion *l = x, *r = y;
    return l->at != r->at ? (l->at > r->at) - (l->at < r->at)
                          : (l->nth > r->nth) - (l->nth < r->nth);
}

struct product {
    MT_VEC(struct op) ops;
    MT_VEC(uint64_t) sizes;
};

static bool append(struct product *p, const struct op *op, uint64_t size)
{
    return mt_vec_push(&p->ops, *op) && (op->kind != OP_ALLOC || mt_vec_push(&p->sizes, size));
}

/* Old and new ops in order; pool_ends follow the op that they belong to. */
static bool merge(struct rewrite *r, struct mt_sim *sim, struct product *p)
{
    size_t next = 0, end = 0;
    bool room = true;
    for (size_t i = 0; room && i <= sim->ops.n; i++) {
        for (; room && next < r->added.n && r->added.v[next].at <= i; next++) {
            room = append(p, &r->added.v[next].op, r->added.v[next].size);
        }
        for (; end < sim->pool_ends.n && sim->pool_ends.v[end].op <= i; end++) {
            sim->pool_ends.v[end].op = p->ops.n;
        }
        if (room && i < sim->ops.n && !r->gone[i]) {
            room = append(p, &sim->ops.v[i], r->sizes[i]);
        }
    }
    return room;
}

enum mt_status mt_rewrite_finish(struct rewrite *r, struct mt_sim *sim)
{
    struct product p = {{0}, {0}};
    if (r->added.n) {
        qsort(r->added.v, r->added.n, sizeof *r->added.v, by_place);
    }
    if (!merge(r, sim, &p)) {
        mt_vec_release(&p.ops);
        mt_vec_release(&p.sizes);
        return mt_fail_nomem(r->err);
    }
    mt_vec_release(&sim->ops);
    mt_vec_release(&sim->edited);
    sim->ops.v = p.ops.v;
    sim->ops.n = p.ops.n;
    sim->ops.cap = p.ops.cap;
    sim->edited.v = p.sizes.v;
    sim->edited.n = p.sizes.n;
    sim->edited.cap = p.sizes.cap;
    sim->n_calls = sim->edited.n;
    sim->sizes = sim->edited.v;
    return MT_OK;
}

void mt_rewrite_release(struct rewrite *r)
{
    mt_mem_free(r->free_of);
    mt_mem_free(r->request_of);
    mt_mem_free(r->sizes);
    mt_mem_free(r->gone);
    mt_vec_release(&r->added);
}
