/* SPDX-License-Identifier: MIT */
/*
 * Where fragmentation comes from, as far as a trace shows it. Every source has a line below which
 * it is not worth a word; the lines are in bytes or events that a person would call many, and only
 * the strongest stacks of each source are kept.
 *
 * Only the large pool matters here: small requests share segments of 2 MiB, and what they lose is
 * little. Splits are known where a replay of the blocks proves itself.
 */
#include "heap/findings/frag.h"

#include <stdlib.h>

#include "heap/findings/driver_price.h"
#include "support/hash.h"
#include "support/mem.h"
#include "heap/walk/query.h"
#include "snapshot/model/settings.h"
#include "support/units.h"

#include "heap/walk/block_replay.h"

enum {
    KEPT = 5,        /* stacks of one source */
    MANY_SIZES = 8,  /* different sizes of one stack */
    FEW_SPLITS = 16, /* of large blocks by one stack */
    BURST = 8,       /* frees in a row */
    BURST_SIZES = 5, /* different large sizes among them */
    FEW_BURSTS = 3   /* fewer are the end of a phase */
};

static const struct {
    const char *id, *fix;
} WORDS[MT_FRAG_SOURCE_COUNT] = {
#define X(name, id, fix) {id, fix},
    MT_FRAG_SOURCE_MAP(X)
#undef X
};

const char *mt_frag_source_id(enum mt_frag_source_kind kind)
{
    return WORDS[kind].id;
}

/* Memory that went back to the driver and was taken again. */
static const char *regained_fix(const struct mt_recorded *r)
{
    if (r->watched && r->plain) {
        return "keep the buffers from step to step, or let a cache keep them: memtool capture "
               "--mode cache tries one";
    }
    if (r->cached) {
        return "leave room on the card for memory that passes the cache by: for such a request "
               "the cache gives back what is idle, and the loop takes it again";
    }
    return r->live && !r->torch && !r->python
               ? "call memtool_empty_cache() less often, best only between phases: the loop takes "
                 "back what it gives"
               : "call torch.cuda.empty_cache() less often, best only between phases: the loop "
                 "takes back what it gives";
}

const char *mt_frag_source_fix(enum mt_frag_source_kind kind, const struct mt_recorded *r)
{
    return kind == MT_FRAG_SOURCE_REGAINED ? regained_fix(r) : WORDS[kind].fix;
}

struct per_stack {
    uint64_t sizes, allocs, largest; /* of large requests */
    uint64_t over, lost;             /* requests above a step, what they lose */
    uint64_t splits, cut;
    uint64_t bursts, burst_bytes, burst_sizes;
};

struct gather {
    const struct mt_snapshot *s;
    const struct mt_replay *r;
    struct mt_filtered *f;
    struct mt_torch_rules rules;
    struct per_stack *stacks; /* by stack id */
    struct mt_idmap seen;     /* hash of stack and size */
    /* the run of frees at hand */
    size_t run, run_sizes;
    uint64_t run_bytes, run_largest;
    uint32_t run_stack;
    uint64_t run_seen[BURST_SIZES * 8];
};

/* ---- sizes ---- */

/* What a request loses to the steps above it: to a division of a power of two where the settings
 * ask for it, to segments of whole 2 MiB from 10 MiB on. */
static uint64_t lost_above(const struct gather *g, uint64_t size)
{
    uint64_t rounded = mt_torch_round(&g->rules, size);
    if (!g->rules.settings.expandable_segments && rounded >= MT_TORCH_MIN_LARGE_ALLOC) {
        rounded = mt_torch_segment_size(&g->rules, rounded);
    }
    return rounded > size ? rounded - size : 0;
}

static bool look_at_alloc(struct gather *g, const struct mt_event *e)
{
    if (mt_torch_is_small(e->size) || e->size > UINT64_MAX / 4) {
        return true;
    }
    struct per_stack *p = &g->stacks[e->stack];
    uint64_t key = mt_hash_mix(e->stack, e->size);
    p->allocs++;
    p->largest = e->size > p->largest ? e->size : p->largest;
    uint64_t lost = lost_above(g, e->size);
    if (lost >= MT_MIB && lost >= e->size / 10) {
        p->over++;
        p->lost += lost;
    }
    if (mt_idmap_find(&g->seen, key)) {
        return true;
    }
    p->sizes++;
    return mt_idmap_put(&g->seen, key, 1);
}

/* ---- many sizes freed at once ---- */

static void end_run(struct gather *g)
{
    if (g->run >= BURST && g->run_sizes >= BURST_SIZES) {
        struct per_stack *p = &g->stacks[g->run_stack];
        p->bursts++;
        p->burst_bytes += g->run_bytes;
        p->burst_sizes = g->run_sizes > p->burst_sizes ? g->run_sizes : p->burst_sizes;
    }
    g->run = g->run_sizes = 0;
    g->run_bytes = g->run_largest = 0;
}

static void look_at_free(struct gather *g, const struct mt_step *at)
{
    uint64_t size = at->event->size;
    if (at->alloc == MT_NEVER || mt_torch_is_small(size)) {
        return;
    }
    g->run++;
    g->run_bytes += size;
    if (size > g->run_largest) {
        g->run_largest = size;
        g->run_stack = g->r->events[at->alloc].stack;
    }
    for (size_t i = 0; i < g->run_sizes; i++) {
        if (g->run_seen[i] == size) {
            return;
        }
    }
    if (g->run_sizes < MT_COUNT(g->run_seen)) {
        g->run_seen[g->run_sizes++] = size;
    }
}

/* ---- splits ---- */

static void count_split(void *ctx, const struct mt_block_change *c)
{
    struct gather *g = ctx;
    if (c->kind == MT_BLOCK_CHANGE_HAND_OUT && c->rest && !c->small) {
        struct per_stack *p = &g->stacks[g->r->events[c->event].stack];
        p->splits++;
        p->cut += c->rest;
    }
}

static enum mt_status look_at_splits(struct gather *g, struct mt_error *err)
{
    bool proved = false;
    if (g->r->start_reserved == 0) {
        MT_TRY(mt_block_replay(g->s, g->r->device, count_split, g, &proved, err));
    }
    for (size_t i = 0; !proved && i < g->s->n_stacks; i++) {
        g->stacks[i].splits = 0;
    }
    return MT_OK;
}

/* ---- all ---- */

static bool look_at_step(struct gather *g, const struct mt_step *at)
{
    switch (at->kind) {
    case MT_STEP_ALLOC:
        end_run(g);
        return (g->f && !mt_filtered_event(g->f, g->r->device, at->index)) ||
               look_at_alloc(g, at->event);
    case MT_STEP_FREE: look_at_free(g, at); return true;
    default: return true;
    }
}

/* What a stack has of a source; count 0 when it is not worth a word. */
static struct mt_frag_source of_stack(enum mt_frag_source_kind kind, uint32_t stack,
                                      const struct per_stack *p)
{
    struct mt_frag_source x = {.kind = kind, .stack = stack};
    switch (kind) {
    case MT_FRAG_SOURCE_MANY_SIZES:
        x.count = p->sizes >= MANY_SIZES ? p->allocs : 0;
        x.bytes = p->largest;
        x.sizes = p->sizes;
        break;
    case MT_FRAG_SOURCE_OVER_STEP:
        x.count = p->lost >= 8 * MT_MIB ? p->over : 0;
        x.bytes = p->lost;
        break;
    case MT_FRAG_SOURCE_SPLITS:
        x.count = p->splits >= FEW_SPLITS ? p->splits : 0;
        x.bytes = p->cut;
        break;
    case MT_FRAG_SOURCE_MIXED_FREES:
        x.count = p->bursts >= FEW_BURSTS ? p->bursts : 0;
        x.bytes = p->burst_bytes;
        x.sizes = p->burst_sizes;
        break;
    default: break;
    }
    return x;
}

/* How strong: the sizes of MANY_SIZES, the bytes lost, else the number. */
static uint64_t strength(const struct mt_frag_source *x)
{
    return x->kind == MT_FRAG_SOURCE_MANY_SIZES  ? x->sizes
           : x->kind == MT_FRAG_SOURCE_OVER_STEP ? x->bytes
                                                 : x->count;
}

static int compare_sources(const void *a, const void *b)
{
    const struct mt_frag_source *x = a;
    const struct mt_frag_source *y = b;
    if (strength(x) != strength(y)) {
        return strength(x) < strength(y) ? 1 : -1;
    }
    return (x->stack > y->stack) - (x->stack < y->stack);
}

/* The strongest stacks of a source, appended. */
static bool add_strongest(struct gather *g, enum mt_frag_source_kind kind,
                          struct mt_frag_sources *out)
{
    size_t first = out->list.n;
    for (uint32_t stack = 0; stack < g->s->n_stacks; stack++) {
        struct mt_frag_source x = of_stack(kind, stack, &g->stacks[stack]);
        if (x.count && !mt_vec_push(&out->list, x)) {
            return false;
        }
    }
    size_t n = out->list.n - first;
    if (n) {
        qsort(&out->list.v[first], n, sizeof *out->list.v, compare_sources);
    }
    out->list.n = first + (n < KEPT ? n : KEPT);
    return true;
}

static enum mt_status add_regained(const struct gather *g, struct mt_frag_sources *out,
                                   struct mt_error *err)
{
    struct mt_driver_price price;
    enum mt_status status = mt_driver_price_find(&price, g->r, 0, g->r->n, err);
    struct mt_frag_source x = {.kind = MT_FRAG_SOURCE_REGAINED,
                               .stack = price.emptied_stack,
                               .count = price.regained,
                               .bytes = price.regained_bytes,
                               .cost_us = mt_driver_price_us(&price, 2 * price.regained)};
    if (status == MT_OK && mt_driver_price_in_loop(&price) && !mt_vec_push(&out->list, x)) {
        status = mt_fail_nomem(err);
    }
    mt_driver_price_release(&price);
    return status;
}

static enum mt_status find(struct gather *g, struct mt_frag_sources *out, struct mt_error *err)
{
    struct mt_step at;
    g->stacks = mt_mem_zalloc(g->s->n_stacks ? g->s->n_stacks : 1, sizeof *g->stacks);
    bool ok = g->stacks != NULL;
    mt_replay_begin(g->r, &at);
    while (ok && mt_replay_next(g->r, &at)) {
        ok = look_at_step(g, &at);
    }
    if (!ok) {
        return mt_fail_nomem(err);
    }
    end_run(g);
    MT_TRY(look_at_splits(g, err));
    for (int kind = 0; ok && kind < MT_FRAG_SOURCE_COUNT; kind++) {
        if (kind == MT_FRAG_SOURCE_REGAINED) {
            MT_TRY(add_regained(g, out, err));
        } else {
            ok = add_strongest(g, (enum mt_frag_source_kind)kind, out);
        }
    }
    return ok ? MT_OK : mt_fail_nomem(err);
}

enum mt_status mt_frag_sources_find(struct mt_frag_sources *out, const struct mt_snapshot *s,
                                    const struct mt_replay *r, struct mt_filtered *f,
                                    struct mt_error *err)
{
    *out = (struct mt_frag_sources){0};
    struct gather g = {.s = s, .r = r, .f = f, .rules = mt_settings_rules(s)};
    enum mt_status status = find(&g, out, err);
    mt_mem_free(g.stacks);
    mt_idmap_release(&g.seen);
    return status;
}

void mt_frag_sources_release(struct mt_frag_sources *x)
{
    mt_vec_release(&x->list);
}
