/* SPDX-License-Identifier: MIT */
/*
 * Runs the program over an allocator, step by step. Everything that depends on whether the device
 * is the recorded one stands in the few places that ask for m->recorded.
 */
#include "verbs/simulate/sim.h"

static struct mt_alloc_request request_of(const struct machine *m, const struct op *op)
{
    const struct mt_sim *sim = m->sim;
    const struct mt_event *e = &sim->events[op->event];
    struct mt_alloc_request r = {
        .size = e->size, .stream = stream_handle(sim, e), .stack = op->event + 1};
    if (sim->sizes && !m->recorded && op->kind == OP_ALLOC) {
        r.size = sim->sizes[m->call];
    }
    if (op->pool != 0) {
        r.has_pool = true;
        r.pool = pool_id(sim, op->pool);
    }
    return r;
}

/* ---- what the allocator reports ---- */

/* A release waited for a pending free: its slot is empty before the recording says so. */
static void drop_pending(struct machine *m, mt_alloc_block block)
{
    uint32_t slot;
    if (mt_idmap_remove(&m->pending, block.i, &slot)) {
        m->slots[slot].i = 0;
    }
}

/* The recorded event that this one stands for: its time and stack go into a written run. */
static size_t stands_for(const struct machine *m, const struct mt_alloc_event *e)
{
    bool of_device =
        e->kind >= MT_ALLOC_EVENT_SEGMENT_ALLOC && e->kind <= MT_ALLOC_EVENT_SEGMENT_UNMAP;
    bool known = of_device && m->recorded && m->recorded->answered != SIZE_MAX;
    return known ? m->recorded->answered : m->now;
}

static void on_event(void *ctx, const struct mt_alloc_event *e)
{
    struct machine *m = ctx;
    if (e->kind == MT_ALLOC_EVENT_FREE_COMPLETED && !m->completing) {
        drop_pending(m, e->block);
    }
    if (m->recorder) {
        mt_sim_recorder_event(m->recorder, e, stands_for(m, e));
    }
}

/* ---- requests ---- */

static void note_peak(struct machine *m, uint32_t event)
{
    const struct mt_alloc *a = m->alloc;
    const struct mt_alloc_stat reserved = mt_alloc_stat(a, MT_STAT_RESERVED_BYTES, MT_SLOT_ALL);
    const struct mt_alloc_stat allocated = mt_alloc_stat(a, MT_STAT_ALLOCATED_BYTES, MT_SLOT_ALL);
    bool again = reserved.current == m->reserved_peak &&
                 (uint64_t)allocated.current > m->run->peak.allocated;
    if (reserved.peak > m->reserved_peak || again) {
        m->reserved_peak = reserved.peak;
        m->run->peak = (struct mt_sim_peak){
            event, (uint64_t)reserved.current, (uint64_t)allocated.current,
            (uint64_t)mt_alloc_stat(a, MT_STAT_REQUESTED_BYTES, MT_SLOT_ALL).current};
    }
    if (allocated.peak > m->allocated_peak) {
        m->allocated_peak = allocated.peak;
        m->run->allocated_peak_event = event;
    }
}

static enum mt_status note_oom(struct machine *m, const struct op *op, struct mt_error *err)
{
    m->run->n_ooms++;
    if (m->run->ooms.n >= MT_SIM_OOMS) {
        return MT_OK; /* before the walk over all pools, which is long where streams are many */
    }
    struct mt_sim_oom oom = {op->event, m->sim->events[op->event].size,
                             mt_alloc_largest_free(m->alloc)};
    return mt_vec_push(&m->run->ooms, oom) ? MT_OK : mt_fail_nomem(err);
}

/* ---- private pools ---- */

/* The program's own hold on a pool: without one, the next release takes the pool's free segments.
 */
static enum mt_status hold_pool(struct machine *m, uint16_t pool, struct mt_error *err)
{
    if (pool == 0 || m->in_use[pool]) {
        return MT_OK;
    }
    m->in_use[pool] = true;
    MT_TRY(mt_alloc_pool_begin(m->alloc, pool_id(m->sim, pool), false, NULL, NULL, err));
    mt_alloc_pool_end(m->alloc, pool_id(m->sim, pool));
    return MT_OK;
}

static void end_pool(struct machine *m, uint16_t pool)
{
    if (m->in_use[pool]) {
        m->in_use[pool] = false;
        mt_alloc_pool_release(m->alloc, pool_id(m->sim, pool));
    }
}

/* Those that ended with an op before this one. */
static void end_pools(struct machine *m, size_t op)
{
    const struct mt_sim *sim = m->sim;
    for (; m->pool_end < sim->pool_ends.n && sim->pool_ends.v[m->pool_end].op < op; m->pool_end++) {
        end_pool(m, sim->pool_ends.v[m->pool_end].pool);
    }
}

/* Serves op's request; *block is 0 when it was refused. */
static enum mt_status serve(struct machine *m, const struct op *op, mt_alloc_block *block,
                            uint64_t *addr, struct mt_error *err)
{
    struct mt_alloc_request r = request_of(m, op);
    block->i = 0;
    m->run->requests++;
    m->run->assumed.requests_after += m->run->assumed.ooms_served > 0;
    if (r.size == 0) {
        return MT_OK; /* PyTorch never asks for nothing: a damaged file */
    }
    MT_TRY(hold_pool(m, op->pool, err));
    if (m->recorded) {
        mt_recorded_device_begin(m->recorded, op->event);
    }
    if (m->learner) {
        mt_sim_learn(m, op, &r);
    }
    enum mt_status status = mt_alloc_allocate(m->alloc, &r, addr, block, err);
    if (m->recorded) {
        mt_recorded_device_end(m->recorded, op->event);
    }
    note_peak(m, op->event);
    return status == MT_DEVICE_OOM ? note_oom(m, op, err) : status;
}

/* The first request whose answer or calls are not those of the recording. */
static void note_leaving(struct machine *m, uint32_t event, bool same, uint64_t addr)
{
    if (!m->run->leaves && (!same || m->recorded->made != m->recorded->matched)) {
        m->run->leaves = true;
        m->run->leaves_event = event;
        m->sim->leave = (struct leave){true, event, addr, m->recorded->extra};
    }
}

static enum mt_status do_alloc(struct machine *m, const struct op *op, struct mt_error *err)
{
    uint64_t addr = 0;
    mt_alloc_block block;
    MT_TRY(serve(m, op, &block, &addr, err));
    m->slots[op->slot] = block;
    m->call++;
    if (m->recorded) {
        bool same = block.i != 0 && addr == m->sim->events[op->event].addr;
        m->run->fidelity.placements_matched += same;
        note_leaving(m, op->event, same, block.i ? addr : 0);
    }
    return MT_OK;
}

static enum mt_status free_at_once(struct machine *m, mt_alloc_block block, const struct op *op,
                                   struct mt_error *err)
{
    m->completing = true;
    enum mt_status status = mt_alloc_free(m->alloc, block, op->event + 1, err);
    m->completing = false;
    return status;
}

static enum mt_status do_oom(struct machine *m, const struct op *op, struct mt_error *err)
{
    mt_alloc_block block;
    MT_TRY(serve(m, op, &block, NULL, err));
    if (block.i == 0) {
        return MT_OK;
    }
    m->run->assumed.ooms_served++;
    m->run->assumed.last_event = op->event;
    return free_at_once(m, block, op, err);
}

/* ---- frees ---- */

static enum mt_status do_free(struct machine *m, const struct op *op, struct mt_error *err)
{
    mt_alloc_block block = m->slots[op->slot];
    m->slots[op->slot].i = 0;
    return free_at_once(m, block, op, err);
}

static enum mt_status do_free_request(struct machine *m, const struct op *op, struct mt_error *err)
{
    mt_alloc_block block = m->slots[op->slot];
    if (!mt_idmap_put(&m->pending, block.i, op->slot)) {
        return mt_fail_nomem(err);
    }
    mt_alloc_free_request(m->alloc, block, op->event + 1);
    return MT_OK;
}

static void do_free_complete(struct machine *m, const struct op *op)
{
    mt_alloc_block block = m->slots[op->slot];
    drop_pending(m, block);
    m->completing = true;
    mt_alloc_free_complete(m->alloc, block);
    m->completing = false;
}

/* Damaged recordings request a free twice, or complete one that was never requested. */
static enum mt_status do_any_free(struct machine *m, const struct op *op, struct mt_error *err)
{
    mt_alloc_block block = m->slots[op->slot];
    if (block.i == 0) {
        /* Refused in this run; or completed early, which needs no assumption. */
        if (op->kind != OP_FREE_COMPLETE) {
            m->run->assumed.frees_ignored++;
            m->run->assumed.last_free_ignored = m->run->assumed.last_event = op->event;
        }
        return MT_OK;
    }
    bool pending = mt_idmap_find(&m->pending, block.i) != NULL;
    if (op->kind == OP_FREE_REQUEST) {
        return pending ? MT_OK : do_free_request(m, op, err);
    }
    if (pending) {
        do_free_complete(m, op);
        return MT_OK;
    }
    return do_free(m, op, err);
}

/* ---- empty_cache ---- */

/* The private pools that end with this op, in the order in which the recording releases them: that
 * of a hash table in PyTorch. `alone`: it is one call for each. */
static enum mt_status empty_pools(struct machine *m, size_t index, bool alone, struct mt_error *err)
{
    const struct mt_sim *sim = m->sim;
    for (; m->pool_end < sim->pool_ends.n && sim->pool_ends.v[m->pool_end].op <= index;
         m->pool_end++) {
        uint16_t pool = sim->pool_ends.v[m->pool_end].pool;
        end_pool(m, pool);
        MT_TRY(mt_alloc_pool_empty(m->alloc, pool_id(sim, pool), alone, err));
    }
    return MT_OK;
}

static enum mt_status empty_cache(struct machine *m, size_t index, const struct op *op,
                                  struct mt_error *err)
{
    m->run->empty_caches++;
    if (m->recorded) {
        mt_recorded_device_begin(m->recorded, op->event + op->slot);
    }
    enum mt_status status = op->pool ? MT_OK : mt_alloc_empty_cache(m->alloc, err);
    if (status == MT_OK) {
        status = empty_pools(m, index, op->pool != 0, err);
    }
    if (m->recorded) {
        note_leaving(m, op->event, true, 0);
    }
    return status;
}

/* The replay decides what the releases were, for itself and for all later runs. */
static enum mt_status do_release(struct machine *m, size_t index, struct mt_error *err)
{
    struct op *op = &m->sim->ops.v[index];
    struct op decided = *op;
    uint32_t n = m->recorded ? mt_sim_is_empty_cache(m, index) : 0;
    decided.kind = n ? OP_EMPTY_CACHE : OP_NOTHING;
    decided.slot = n;
    if (!m->learner) {
        *op = decided;
    }
    return n ? empty_cache(m, index, &decided, err) : MT_OK;
}

static enum mt_status step(struct machine *m, size_t index, struct mt_error *err)
{
    const struct op *op = &m->sim->ops.v[index];
    m->now = op->event;
    end_pools(m, index);
    switch (op->kind) {
    case OP_ALLOC: return do_alloc(m, op, err);
    case OP_FREE:
    case OP_FREE_REQUEST:
    case OP_FREE_COMPLETE: return do_any_free(m, op, err);
    case OP_OOM: return do_oom(m, op, err);
    case OP_RELEASE: return do_release(m, index, err);
    case OP_EMPTY_CACHE: return empty_cache(m, index, op, err);
    case OP_COPY:
        if (m->recorder) {
            mt_sim_recorder_copy(m->recorder, op->event);
        }
        return MT_OK;
    default: return MT_OK;
    }
}

/* ---- life ---- */

/* What was there before the first event. A segment that does not fit together is left out: its
 * blocks are then unknown, and their frees are ignored. */
static enum mt_status restore(struct machine *m, struct mt_error *err)
{
    const struct start *s = &m->sim->start;
    mt_alloc_block *handles = mt_mem_alloc(s->blocks.n, sizeof *handles);
    enum mt_status status = handles ? MT_OK : mt_fail_nomem(err);
    size_t at = 0;
    for (size_t i = 0; status == MT_OK && i < s->segments.n; i++) {
        struct mt_alloc_restore_segment segment = s->segments.v[i];
        segment.blocks = s->blocks.v + at;
        status = mt_alloc_restore(m->alloc, &segment, handles, err);
        for (size_t k = 0; status == MT_OK && k < segment.n_blocks; k++) {
            uint32_t slot = s->slots.v[at + k];
            if (slot == NEVER) {
                continue;
            }
            m->slots[slot] = handles[k];
            if (segment.blocks[k].state == MT_ALLOC_PENDING &&
                !mt_idmap_put(&m->pending, handles[k].i, slot)) {
                status = mt_fail_nomem(err);
            }
        }
        status = status == MT_FORMAT ? MT_OK : status;
        if (status == MT_OK) {
            struct mt_pool_id pool = {segment.pool.a, segment.pool.b};
            status = hold_pool(m, mt_sim_pool_index(m->sim, pool), err);
        }
        at += segment.n_blocks;
    }
    mt_mem_free(handles);
    mt_alloc_reset_accumulated(m->alloc);
    return status;
}

enum mt_status mt_sim_machine_init(struct machine *m, struct mt_sim *sim,
                                   const struct mt_alloc_options *o, struct mt_sim_run *run,
                                   struct sim_recorder *recorder, struct mt_error *err)
{
    struct mt_alloc_options options = *o;
    options.walks = &sim->walks;
    *m = (struct machine){.sim = sim, .run = run, .recorder = recorder};
    if (sim->has_pending || recorder) {
        options.observer = (struct mt_alloc_observer){on_event, m};
    }
    m->slots = mt_mem_zalloc(sim->n_slots, sizeof *m->slots);
    m->in_use = mt_mem_zalloc(sim->pools.n, sizeof *m->in_use);
    if (!m->slots || !m->in_use) {
        return mt_fail_nomem(err);
    }
    return mt_alloc_new(&options, &m->alloc, err);
}

enum mt_status mt_sim_machine_run(struct machine *m, struct mt_error *err)
{
    MT_TRY(restore(m, err));
    note_peak(m, 0);
    size_t n = m->sim->ops.n;
    for (size_t i = 0; i < n; i++) {
        MT_TRY(step(m, i, err));
        if (i == n / 3 * 2) {
            m->run->reserved_before = (uint64_t)m->reserved_peak;
        }
    }
    m->run->stats = mt_alloc_stats(m->alloc);
    return MT_OK;
}

void mt_sim_machine_release(struct machine *m)
{
    mt_alloc_delete(m->alloc);
    mt_mem_free(m->slots);
    mt_mem_free(m->in_use);
    mt_idmap_release(&m->pending);
}
