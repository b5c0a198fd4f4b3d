/* SPDX-License-Identifier: MIT */
/*
 * The pools of segments that were given back before the end, where events name no pools: of graphs
 * and MemPools that were destroyed. They begin in the default pool. Where a replay leaves the
 * recording, that tells something: a request that would be served from segment P, and was served
 * from A, shows that A and P are of different pools; a segment that empty_cache leaves alone,
 * though nothing of it is in use, is of a private pool that is still held. With what was learnt the
 * replay begins again, until it is exact or teaches nothing new. Which private pool is which has no
 * name; a new one is taken where those seen last on the stream are ruled out.
 */
#include "verbs/simulate/sim.h"

#define MOST_ROUNDS 256
#define MOST_STEPS 16000000 /* rounds times steps of the program */

struct apart {
    uint32_t a, b; /* regions of different pools */
};

struct infer {
    struct mt_sim *sim;
    struct regions regions;
    MT_VEC(struct apart) apart;
    bool *held;       /* by region: not of the default pool */
    size_t first_own; /* pools from here on were made up */
    bool learnt;
    struct mt_error *err;
};

/* ---- giving pools ---- */

static bool conflicts(const struct infer *x, uint32_t region, uint16_t pool)
{
    for (size_t i = 0; i < x->apart.n; i++) {
        const struct apart *p = &x->apart.v[i];
        uint32_t other = p->a == region ? p->b : p->b == region ? p->a : NEVER;
        const struct region *g = other != NEVER ? &x->regions.all.v[other] : NULL;
        if (g && (other < region || g->known) && g->pool == pool) {
            return true;
        }
    }
    return pool == 0 && x->held[region];
}

/* The pool used last on the stream that is not ruled out, else one of its own. */
static enum mt_status private_pool(struct infer *x, uint32_t region, uint16_t *pool)
{
    const struct region *all = x->regions.all.v;
    for (uint32_t i = region; i-- > 0;) {
        if (all[i].pool != 0 && all[i].stream == all[region].stream &&
            !conflicts(x, region, all[i].pool)) {
            *pool = all[i].pool;
            return MT_OK;
        }
    }
    for (size_t p = x->first_own; p < x->sim->pools.n; p++) {
        if (!conflicts(x, region, (uint16_t)p)) {
            *pool = (uint16_t)p;
            return MT_OK;
        }
    }
    struct mt_pool_id id = {INT64_MIN + (int64_t)x->sim->pools.n, 0};
    *pool = (uint16_t)x->sim->pools.n;
    return x->sim->pools.n < UINT16_MAX && mt_vec_push(&x->sim->pools, id) ? MT_OK
                                                                           : mt_fail_nomem(x->err);
}

static enum mt_status give_pools(struct infer *x)
{
    for (uint32_t i = 0; i < x->regions.all.n; i++) {
        struct region *g = &x->regions.all.v[i];
        if (!g->known) {
            g->pool = 0;
            MT_TRY(conflicts(x, i, 0) ? private_pool(x, i, &g->pool) : MT_OK);
        }
    }
    return MT_OK;
}

/* ---- learning ---- */

static enum mt_status learn_apart(struct infer *x, uint32_t a, uint32_t b)
{
    const struct region *all = x->regions.all.v;
    if (a == b || (all[a].known && all[b].known)) {
        return MT_OK;
    }
    for (size_t i = 0; i < x->apart.n; i++) {
        const struct apart *p = &x->apart.v[i];
        if ((p->a == a && p->b == b) || (p->a == b && p->b == a)) {
            return MT_OK;
        }
    }
    x->learnt = true;
    return mt_vec_push(&x->apart, ((struct apart){a, b})) ? MT_OK : mt_fail_nomem(x->err);
}

static void learn_held(struct infer *x, uint32_t region)
{
    if (!x->regions.all.v[region].known && !x->held[region]) {
        x->held[region] = x->learnt = true;
    }
}

/* The region that an address lies in at an event, else the last one that lay there. */
static uint32_t region_of(const struct infer *x, size_t event, uint64_t addr)
{
    uint32_t best = NEVER;
    for (uint32_t i = 0; i < x->regions.all.n && x->regions.all.v[i].from <= event; i++) {
        const struct region *g = &x->regions.all.v[i];
        if (addr >= g->low && addr < g->high) {
            best = i;
        }
    }
    return best;
}

/* A segment was released that the recording keeps. */
static enum mt_status learn_release(struct infer *x, const struct leave *l)
{
    const struct mt_sim *sim = x->sim;
    uint32_t kept = region_of(x, l->event, l->extra);
    if (kept == NEVER) {
        return MT_OK;
    }
    const struct region *all = x->regions.all.v;
    if (all[kept].pool == 0 && !all[kept].known) {
        learn_held(x, kept);
        return MT_OK;
    }
    for (size_t e = l->event; e < sim->n && is_release(&sim->events[e]); e++) {
        uint32_t gone = region_of(x, e, sim->events[e].addr);
        if (gone != NEVER && all[kept].pool == 0) {
            learn_held(x, gone); /* the default pool was not released at all */
        } else if (gone != NEVER && all[gone].pool == all[kept].pool) {
            MT_TRY(learn_apart(x, gone, kept));
        }
    }
    return MT_OK;
}

/* A request was served from another segment than in the recording. */
static enum mt_status learn_served(struct infer *x, const struct leave *l)
{
    uint32_t real = region_of(x, l->event, x->sim->events[l->event].addr);
    uint32_t replayed = l->addr ? region_of(x, l->event, l->addr) : NEVER;
    if (real == NEVER || replayed == NEVER) {
        return MT_OK;
    }
    if (x->regions.all.v[replayed].to < l->event) {
        learn_held(x, replayed); /* the recording released it, and it alone */
        return MT_OK;
    }
    return learn_apart(x, real, replayed);
}

static enum mt_status learn(struct infer *x)
{
    const struct leave *l = &x->sim->leave;
    x->learnt = false;
    return !l->is ? MT_OK : l->extra ? learn_release(x, l) : learn_served(x, l);
}

/* ---- rounds ---- */

static enum mt_status rounds(struct infer *x, struct mt_sim_run *run, mt_sim_replayer *replay)
{
    for (size_t i = 0; i < MOST_ROUNDS && i * x->sim->ops.n <= MOST_STEPS; i++) {
        MT_TRY(learn(x));
        if (!x->learnt) {
            break;
        }
        MT_TRY(give_pools(x));
        mt_sim_undecide(x->sim);
        MT_TRY(mt_regions_assign(&x->regions, x->sim, x->err));
        mt_sim_run_release(run);
        MT_TRY(replay(x->sim, run, x->err));
        if (mt_sim_is_exact(run)) {
            return MT_OK;
        }
    }
    /* Nothing that holds was found: all as before. */
    x->apart.n = 0;
    for (size_t i = 0; i < x->regions.all.n; i++) {
        x->held[i] = false;
    }
    MT_TRY(give_pools(x));
    mt_sim_undecide(x->sim);
    MT_TRY(mt_regions_assign(&x->regions, x->sim, x->err));
    mt_sim_run_release(run);
    return replay(x->sim, run, x->err);
}

enum mt_status mt_sim_infer_pools(struct mt_sim *sim, struct mt_sim_run *run,
                                  mt_sim_replayer *replay, struct mt_error *err)
{
    struct infer x = {
        .sim = sim, .regions = {.sim = sim, .err = err}, .first_own = sim->pools.n, .err = err};
    if (sim->snapshot->columns[MT_COLUMN_POOL] || sim->pools.n == 0) {
        return MT_OK;
    }
    enum mt_status status = mt_regions_find(&x.regions);
    x.held = mt_mem_zalloc(x.regions.all.n + 1, sizeof *x.held);
    if (status == MT_OK && !x.held) {
        status = mt_fail_nomem(err);
    }
    if (status == MT_OK && x.regions.all.n < UINT16_MAX) {
        status = rounds(&x, run, replay);
    }
    mt_regions_release(&x.regions);
    mt_vec_release(&x.apart);
    mt_mem_free(x.held);
    return status;
}
