/* SPDX-License-Identifier: MIT */
/*
 * Edits of the recorded program: what a change of the code would do to the order of requests and
 * frees. Activation checkpointing: what a call keeps for the backward pass goes at the call's end
 * and is made again, by the same requests, before the backward pass of that call begins; that is
 * before the requests that lead to the first free of what it kept. Source: PyTorch
 * torch/utils/checkpoint.py, _checkpoint_without_reentrant_generator (early stop: nothing is made
 * again behind the last tensor that was saved). Where the recording ends before that backward pass,
 * what is left of a call goes too, if the same stacks kept it in a call whose backward pass came.
 *
 * Under autocast weights are cast once in each forward pass and the copies kept until the pass
 * ends, whoever asked for them: a kept allocation of exactly half the size of something that is
 * never freed is taken for such a copy where others of its kind go in one burst when the pass ends.
 */
#include <stdlib.h>

#include "support/checked.h"
#include "support/hash.h"

#include "verbs/simulate/edits/sim_edit.h"

struct editor {
    struct rewrite r;
    struct mt_sim_edit *edit;
    struct edit_calls calls;
    struct mt_idmap lasting; /* size -> how many of what is never freed */
    uint32_t next_slot;
    bool
        *goes; /* by stack: its allocations were kept for a backward pass, and went with the call */
    bool *cast;                   /* by op: a copy of a weight that lasts until autocast ends */
    MT_VEC(uint32_t) freed;       /* of the row that is looked at */
    size_t burst_from, burst_end; /* behind that row, where autocast ends */
    bool has_burst;
};

static bool has_size(const struct editor *e, size_t op)
{
    const uint64_t *sizes = e->edit->sizes;
    bool any = true, found = false;
    for (size_t i = 0; i < MT_SIM_EDIT_SIZES; i++) {
        any &= sizes[i] == 0;
        found |= sizes[i] > 0 && sizes[i] == e->r.sizes[op];
    }
    return any || found;
}

static uint32_t stack_of(const struct editor *e, size_t op)
{
    return e->r.sim->events[e->r.sim->ops.v[op].event].stack;
}

static bool matches(const struct editor *e, size_t op)
{
    return e->r.sim->ops.v[op].kind == OP_ALLOC && has_size(e, op) &&
           e->edit->stacks[stack_of(e, op)];
}

static void count(struct editor *e, size_t op)
{
    e->edit->changed++;
    e->edit->bytes = mt_add_sat(e->edit->bytes, e->r.sizes[op]);
}

static bool count_size(struct mt_idmap *sizes, uint64_t size)
{
    const uint32_t *n = mt_idmap_find(sizes, size);
    return mt_idmap_put(sizes, size, n ? *n + 1 : 1);
}

/* ---- what is kept ---- */

/* Freed later than its call ends. */
static bool is_kept(const struct editor *e, const struct edit_call *c, size_t op)
{
    return matches(e, op) && e->r.free_of[op] != NEVER && e->r.free_of[op] > c->last;
}

/* The last allocation that outlives the call is its result. */
static size_t result_of(const struct editor *e, const struct edit_call *c)
{
    size_t op = c->last;
    while (op > c->first && !(matches(e, op) && e->r.free_of[op] > c->last)) {
        op--;
    }
    return op;
}

/* How many things of each size were made before the first call and are never freed. */
static enum mt_status find_lasting(struct editor *e)
{
    const struct mt_sim *sim = e->r.sim;
    size_t until = e->calls.list.n ? e->calls.list.v[0].first : 0;
    bool room = true;
    for (size_t i = 0; room && i < until; i++) {
        if (sim->ops.v[i].kind == OP_ALLOC && e->r.free_of[i] == NEVER) {
            room = count_size(&e->lasting, e->r.sizes[i]);
        }
    }
    for (size_t i = 0; room && i < sim->start.blocks.n; i++) {
        room = count_size(&e->lasting, sim->start.blocks.v[i].requested);
    }
    return room ? MT_OK : mt_fail_nomem(e->r.err);
}

/* How many weights it may be the copy of. */
static size_t originals(const struct editor *e, size_t op)
{
    const uint32_t *n = mt_idmap_find(&e->lasting, 2 * e->r.sizes[op]);
    return n ? *n : 0;
}

static int by_op(const void *x, const void *y)
{
    const uint32_t *l = x, *r = y;
    return (*l > *r) - (*l < *r);
}

/* Whether nothing but frees lies between two ops. */
static bool only_frees(const struct mt_sim *sim, size_t from, size_t to)
{
    while (from < to && sim->ops.v[from].kind == OP_FREE) {
        from++;
    }
    return from == to;
}

/* Where autocast ends behind a row: the first burst of frees that takes something from each of the
 * row's calls, one by one. The backward pass takes from one call after the other. */
static enum mt_status find_burst(struct editor *e, const struct edit_call *row, size_t calls)
{
    const struct mt_sim *sim = e->r.sim;
    e->freed.n = 0;
    for (size_t op = row->first; op <= row->run_end; op++) {
        uint32_t at = e->r.free_of[op];
        if (matches(e, op) && at != NEVER && at > row->run_end && originals(e, op) &&
            !mt_vec_push(&e->freed, at)) {
            return mt_fail_nomem(e->r.err);
        }
    }
    if (e->freed.n) {
        qsort(e->freed.v, e->freed.n, sizeof *e->freed.v, by_op);
    }
    e->has_burst = false;
    for (size_t i = 0, from = 0; i < e->freed.n && !e->has_burst; i++) {
        bool ends = i + 1 == e->freed.n || !only_frees(sim, e->freed.v[i], e->freed.v[i + 1]);
        if (ends && i + 1 - from >= (calls > 2 ? calls : 2)) {
            e->has_burst = true;
            e->burst_from = e->freed.v[from];
            e->burst_end = e->freed.v[i] + 1;
        }
        from = ends ? i + 1 : from;
    }
    return MT_OK;
}

static bool goes_in_burst(const struct editor *e, size_t op)
{
    return e->r.free_of[op] >= e->burst_from && e->r.free_of[op] < e->burst_end;
}

/* Marks the copies among what a call keeps. Where more of a size are kept than there are weights
 * for the calls of the row, those count that follow a copy of a bias. */
static enum mt_status mark_casts(struct editor *e, const struct edit_call *c, size_t calls)
{
    struct mt_idmap kept = {0};
    bool room = true, after_bias = false;
    for (size_t op = c->first; room && op <= c->last; op++) {
        if (is_kept(e, c, op) && originals(e, op)) {
            room = count_size(&kept, e->r.sizes[op]);
        }
    }
    for (size_t op = c->first; room && op <= c->last; op++) {
        if (!matches(e, op)) {
            continue;
        }
        const uint32_t *n = mt_idmap_find(&kept, e->r.sizes[op]);
        bool enough = n && *n * calls <= originals(e, op);
        e->cast[op] = is_kept(e, c, op) && n && (enough || after_bias);
        after_bias = is_kept(e, c, op) && goes_in_burst(e, op);
    }
    mt_idmap_release(&kept);
    return room ? MT_OK : mt_fail_nomem(e->r.err);
}

/* ---- recompute and offload ---- */

/* Where the backward pass of the call begins: before the requests that lead to the first free of
 * what it kept. NEVER: nothing of it is freed there. */
static size_t comes_back_at(const struct editor *e, const struct edit_call *c, size_t result)
{
    const struct mt_sim *sim = e->r.sim;
    size_t at = NEVER, after = e->has_burst ? e->burst_end : c->run_end;
    for (size_t op = c->first; op <= c->last; op++) {
        size_t freed = e->r.free_of[op];
        if (op != result && is_kept(e, c, op) && freed >= after && freed < at) {
            at = freed;
        }
    }
    while (at != NEVER && at > c->run_end + 1 && sim->ops.v[at - 1].kind == OP_ALLOC) {
        at--;
    }
    return at;
}

/* What the call keeps goes: copies of weights when autocast ends, the rest with the call. */
static enum mt_status drop_kept(struct editor *e, const struct edit_call *c, size_t result,
                                size_t back)
{
    for (size_t op = c->first; op <= c->last; op++) {
        size_t freed = e->r.free_of[op];
        if (op == result || !is_kept(e, c, op) || freed < back) {
            continue;
        }
        size_t at = e->cast[op] ? e->burst_end : c->last + 1;
        e->goes[stack_of(e, op)] |= !e->cast[op];
        MT_TRY(mt_rewrite_add(&e->r, at, op, OP_FREE, e->r.sim->ops.v[op].slot));
        count(e, op);
    }
    return MT_OK;
}

/* The last allocation that the backward pass wants. */
static size_t last_wanted(const struct editor *e, const struct edit_call *c, size_t result,
                          size_t back)
{
    size_t op = c->last;
    while (op > c->first && (op == result || !is_kept(e, c, op) || e->r.free_of[op] < back)) {
        op--;
    }
    return op;
}

/* An allocation of the second run; *slot is where its free finds it, NEVER: at the end. */
static enum mt_status make_again(struct editor *e, const struct edit_call *c, size_t op,
                                 size_t back, struct mt_idmap *slots)
{
    uint32_t own = e->r.sim->ops.v[op].slot, slot = own;
    bool stays = is_kept(e, c, op) && e->r.free_of[op] >= back;
    if (!stays) {
        slot = e->next_slot++;
        if (!mt_idmap_put(slots, own, slot)) {
            return mt_fail_nomem(e->r.err);
        }
    }
    return mt_rewrite_add(&e->r, back, op, OP_ALLOC, slot);
}

/* The free of something that the second run made for itself. */
static enum mt_status free_again(struct editor *e, size_t op, size_t back, struct mt_idmap *slots)
{
    uint32_t slot;
    if (!mt_idmap_remove(slots, e->r.sim->ops.v[op].slot, &slot)) {
        return MT_OK;
    }
    return mt_rewrite_add(&e->r, back, op, OP_FREE, slot);
}

/* What the second run still holds for itself goes at its end. */
static enum mt_status free_rest(struct editor *e, const struct edit_call *c, size_t back,
                                struct mt_idmap *slots)
{
    for (size_t op = c->first; op <= c->last; op++) {
        if (matches(e, op)) {
            MT_TRY(free_again(e, op, back, slots));
        }
    }
    return MT_OK;
}

static enum mt_status run_again(struct editor *e, const struct edit_call *c, size_t result,
                                size_t back)
{
    const struct mt_sim *sim = e->r.sim;
    struct mt_idmap slots = {0};
    bool whole = e->edit->kind == MT_SIM_RECOMPUTE;
    size_t last = last_wanted(e, c, result, back);
    enum mt_status status = MT_OK;
    for (size_t op = c->first; status == MT_OK && op <= last; op++) {
        bool kept = is_kept(e, c, op) && e->r.free_of[op] >= back;
        if (matches(e, op) && op != result && (whole || kept)) {
            status = make_again(e, c, op, back, &slots);
        } else if (whole &&
                   (sim->ops.v[op].kind == OP_FREE || sim->ops.v[op].kind == OP_FREE_COMPLETE)) {
            status = free_again(e, op, back, &slots);
        }
    }
    if (status == MT_OK) {
        status = free_rest(e, c, back, &slots);
    }
    mt_idmap_release(&slots);
    return status;
}

/* The last call goes on where a request of it was refused. */
static bool is_running(const struct editor *e, const struct edit_call *c)
{
    const struct mt_sim *sim = e->r.sim;
    bool refused = false;
    for (size_t op = c->last; c == &e->calls.list.v[e->calls.list.n - 1] && op < sim->ops.n; op++) {
        refused |= sim->ops.v[op].kind == OP_OOM && e->edit->stacks[stack_of(e, op)];
    }
    return refused;
}

/* The recording ends before the backward pass. */
static enum mt_status drop_left(struct editor *e, const struct edit_call *c, size_t result)
{
    bool some = false;
    if (!c->even || is_running(e, c)) {
        return MT_OK;
    }
    for (size_t op = c->first; op <= c->last; op++) {
        if (op == result || !matches(e, op) || e->r.free_of[op] != NEVER ||
            !e->goes[stack_of(e, op)]) {
            continue;
        }
        MT_TRY(mt_rewrite_add(&e->r, c->last + 1, op, OP_FREE, e->r.sim->ops.v[op].slot));
        count(e, op);
        some = true;
    }
    e->edit->calls += some;
    return MT_OK;
}

static enum mt_status edit_call(struct editor *e, const struct edit_call *c)
{
    size_t result = result_of(e, c);
    size_t back = comes_back_at(e, c, result);
    if (back == NEVER) {
        return drop_left(e, c, result);
    }
    e->edit->calls++;
    MT_TRY(drop_kept(e, c, result, back));
    return run_again(e, c, result, back);
}

/* ---- the others ---- */

static enum mt_status free_early(struct editor *e, const struct edit_call *c)
{
    size_t result = result_of(e, c);
    bool some = false;
    for (size_t op = c->first; op <= c->last; op++) {
        if (op == result || !is_kept(e, c, op)) {
            continue;
        }
        MT_TRY(mt_rewrite_add(&e->r, c->last + 1, op, OP_FREE, e->r.sim->ops.v[op].slot));
        mt_rewrite_drop_free(&e->r, op);
        count(e, op);
        some = true;
    }
    e->edit->calls += some;
    return MT_OK;
}

static void scale(struct editor *e, size_t op)
{
    double size = (double)e->r.sizes[op] * e->edit->factor;
    count(e, op);
    e->r.sizes[op] = size < 1 ? 1 : size > 0x1p59 ? (uint64_t)1 << 59 : (uint64_t)(size + 0.5);
}

static void drop(struct editor *e, size_t op)
{
    count(e, op);
    e->r.gone[op] = true;
    mt_rewrite_drop_free(&e->r, op);
}

/* Calls that follow each other. */
static enum mt_status edit_row(struct editor *e, const struct edit_call *row, size_t calls)
{
    MT_TRY(find_burst(e, row, calls));
    for (size_t i = 0; i < calls; i++) {
        if (e->edit->kind == MT_SIM_FREE_EARLY) {
            MT_TRY(free_early(e, &row[i]));
            continue;
        }
        MT_TRY(e->has_burst ? mark_casts(e, &row[i], calls) : MT_OK);
        MT_TRY(edit_call(e, &row[i]));
    }
    return MT_OK;
}

static enum mt_status edit_calls(struct editor *e)
{
    MT_TRY(mt_sim_find_calls(e->r.sim, e->edit->stacks, &e->calls, e->r.err));
    e->cast = mt_mem_zalloc(e->r.sim->ops.n + 1, sizeof *e->cast);
    e->goes = mt_mem_zalloc(e->r.sim->snapshot->n_stacks + 1, sizeof *e->goes);
    if (!e->cast || !e->goes) {
        return mt_fail_nomem(e->r.err);
    }
    MT_TRY(find_lasting(e));
    for (size_t i = 0, n; i < e->calls.list.n; i += n) {
        const struct edit_call *row = &e->calls.list.v[i];
        for (n = 1; i + n < e->calls.list.n && row[n].run_end == row->run_end; n++) {
        }
        MT_TRY(edit_row(e, row, n));
    }
    return MT_OK;
}

static enum mt_status edit_all(struct editor *e, struct mt_sim *sim)
{
    for (size_t i = 0; i < e->r.sim->ops.n; i++) {
        bool subject = matches(e, i);
        e->edit->allocations += subject;
        if (subject && e->edit->kind == MT_SIM_SCALE) {
            scale(e, i);
        } else if (subject && e->edit->kind == MT_SIM_DROP) {
            drop(e, i);
        }
    }
    bool of_calls = e->edit->kind != MT_SIM_SCALE && e->edit->kind != MT_SIM_DROP;
    MT_TRY(of_calls ? edit_calls(e) : MT_OK);
    return mt_rewrite_finish(&e->r, sim);
}

enum mt_status mt_sim_make_edit(struct mt_sim *sim, struct mt_sim_edit *edit, struct mt_error *err)
{
    struct editor e = {.edit = edit, .next_slot = sim->n_slots};
    edit->allocations = edit->calls = edit->changed = edit->bytes = 0;
    enum mt_status status = mt_rewrite_begin(&e.r, sim, err);
    if (status == MT_OK) {
        status = edit_all(&e, sim);
    }
    if (status == MT_OK) {
        sim->n_slots = e.next_slot;
    }
    mt_rewrite_release(&e.r);
    mt_vec_release(&e.calls.list);
    mt_idmap_release(&e.lasting);
    mt_vec_release(&e.freed);
    mt_mem_free(e.cast);
    mt_mem_free(e.goes);
    return status;
}
