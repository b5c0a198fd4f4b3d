/* SPDX-License-Identifier: MIT */
/*
 * Where free memory lies. Each free block is counted under one cause, so that the causes and the
 * pending blocks sum to reserved - allocated: private pools first (nobody else may use them), then
 * other streams, then wholly free segments, and what is left are holes beside live blocks.
 *
 * empty_cache gives back wholly free segments of the default pools on all streams, and of an
 * expandable segment the whole pages inside free blocks (mt_block_releasable).
 */
#include "heap/findings/frag.h"

#include <stdlib.h>

#include "snapshot/model/device_segments.h"
#include "support/hash.h"
#include "support/mem.h"
#include "heap/walk/query.h"
#include "snapshot/model/settings.h"
#include "heap/walk/state.h"

struct looker {
    const struct mt_snapshot *s;
    /* Of the moment: the file's own at the end, so that every figure is that of stats. */
    const struct mt_segment *segments;
    size_t n_segments;
    const struct mt_block *blocks;
    struct mt_filtered *f;
    struct mt_torch_rules rules;
    struct mt_frag *out;
    struct mt_idmap pins;     /* stack -> index */
    struct mt_idmap pools;    /* hash of stream, kind and id -> index */
    MT_VEC(uint32_t) present; /* pins of the segment at hand */
    MT_VEC(size_t) seen;      /* by pin: 1 + the last segment that it was found in */
};

static bool is_private(const struct mt_segment *g)
{
    return g->pool.a != 0 || g->pool.b != 0;
}

static bool passes(const struct looker *x, const struct mt_segment *g)
{
    return !x->f || mt_filtered_segment(x->f, g);
}

/* Of the snapshot, or of its state at a moment. */
static struct mt_device_segments segments_of(const struct looker *x)
{
    struct mt_device_segments walk = mt_device_segments(x->s, x->out->device);
    if (x->segments != x->s->segments) {
        walk = (struct mt_device_segments){
            .s = x->s, .list = x->segments, .n = x->n_segments, .device = x->out->device};
    }
    return walk;
}

/* The stream with most reserved memory; the first of equals. */
static enum mt_status find_main_stream(const struct looker *x, struct mt_error *err)
{
    uint64_t *reserved = mt_mem_zalloc(x->s->n_streams, sizeof *reserved);
    if (!reserved) {
        return mt_fail_nomem(err);
    }
    struct mt_device_segments walk = segments_of(x);
    for (const struct mt_segment *g; (g = mt_device_segments_next(&walk)) != NULL;) {
        if (passes(x, g) && !is_private(g)) {
            reserved[g->stream] += g->total_size;
        }
    }
    size_t best = 0;
    for (size_t i = 1; i < x->s->n_streams; i++) {
        best = reserved[i] > reserved[best] ? i : best;
    }
    x->out->main_stream = (uint16_t)best;
    mt_mem_free(reserved);
    return MT_OK;
}

/* ---- one segment ---- */

struct content {
    uint64_t free, live, largest_hole, pages;
};

static void count_block(struct looker *x, const struct mt_segment *g, const struct mt_block *b,
                        struct content *c)
{
    switch (b->state) {
    case MT_BLOCK_INACTIVE:
        c->free += b->size;
        c->largest_hole = b->size > c->largest_hole ? b->size : c->largest_hole;
        c->pages += g->expandable ? mt_block_releasable(&x->rules, g, b) : 0;
        x->out->inactive_split += !g->expandable && g->n_blocks > 1 ? b->size : 0;
        return;
    case MT_BLOCK_ALLOCATED:
        x->out->allocated += b->size;
        x->out->rounding += b->size > b->requested ? b->size - b->requested : 0;
        break;
    default: x->out->pending += b->size; break;
    }
    c->live += b->size;
}

static struct mt_frag_pool *pool_of(struct looker *x, const struct mt_segment *g)
{
    uint64_t key = mt_hash_mix((uint64_t)g->pool.a, (uint64_t)g->pool.b);
    key = mt_hash_mix(key, (uint64_t)g->stream << 1 | g->kind);
    const uint32_t *found = mt_idmap_find(&x->pools, key);
    if (found) {
        return &x->out->pools.v[*found];
    }
    struct mt_frag_pool fresh = {
        .stream = g->stream, .pool = g->pool, .kind = (enum mt_pool_kind)g->kind};
    bool ok = mt_vec_push(&x->out->pools, fresh) &&
              mt_idmap_put(&x->pools, key, (uint32_t)x->out->pools.n - 1);
    return ok ? &x->out->pools.v[x->out->pools.n - 1] : NULL;
}

static void count_cause(struct mt_frag *out, const struct mt_segment *g, const struct content *c)
{
    if (is_private(g)) {
        out->private_pool += c->free;
    } else if (g->stream != out->main_stream) {
        out->other_stream += c->free;
    } else if (!c->live) {
        out->idle_segments += c->free;
    } else {
        out->holes += c->free;
        out->free_pages += c->pages;
    }
    if (!is_private(g)) {
        out->empty_cache += g->expandable ? c->pages : c->live ? 0 : g->total_size;
    }
}

/* ---- pins ---- */

static bool pin_of(struct looker *x, uint32_t stack, uint32_t *index)
{
    const uint32_t *found = mt_idmap_find(&x->pins, stack);
    if (found) {
        *index = *found;
        return true;
    }
    struct mt_frag_pin fresh = {.stack = stack};
    *index = (uint32_t)x->out->pins.n;
    return mt_vec_push(&x->out->pins, fresh) && mt_vec_push(&x->seen, 0) &&
           mt_idmap_put(&x->pins, stack, *index);
}

static bool collect_pins(struct looker *x, const struct mt_segment *g)
{
    size_t mark = 1 + (size_t)(g - x->segments);
    x->present.n = 0;
    for (uint32_t i = 0; i < g->n_blocks; i++) {
        const struct mt_block *b = &x->blocks[g->first_block + i];
        uint32_t pin;
        if (b->state == MT_BLOCK_INACTIVE) {
            continue;
        }
        if (!pin_of(x, b->stack, &pin)) {
            return false;
        }
        if (x->seen.v[pin] != mark && !mt_vec_push(&x->present, pin)) {
            return false;
        }
        x->seen.v[pin] = mark;
        x->out->pins.v[pin].live_bytes += b->size;
    }
    return true;
}

/* Shares the segment's free bytes that cannot be given back among the stacks in it; what does not
 * divide goes to the first. */
static bool share_free(struct looker *x, const struct mt_segment *g, const struct content *c)
{
    uint64_t held = c->free - (c->pages < c->free ? c->pages : c->free);
    if (!c->live || !held) {
        return true;
    }
    if (!collect_pins(x, g)) {
        return false;
    }
    uint64_t n = x->present.n;
    for (size_t i = 0; i < n; i++) {
        struct mt_frag_pin *pin = &x->out->pins.v[x->present.v[i]];
        pin->free_held += held / n + (i ? 0 : held % n);
        pin->alone += n == 1 ? held : 0;
        pin->segments++;
    }
    return true;
}

/* ---- all ---- */

static bool look_at_segment(struct looker *x, const struct mt_segment *g)
{
    struct content c = {0};
    for (uint32_t i = 0; i < g->n_blocks; i++) {
        count_block(x, g, &x->blocks[g->first_block + i], &c);
    }
    struct mt_frag_pool *pool = pool_of(x, g);
    if (!pool) {
        return false;
    }
    pool->reserved += g->total_size;
    pool->free += c.free;
    pool->segments++;
    pool->largest_hole = c.largest_hole > pool->largest_hole ? c.largest_hole : pool->largest_hole;
    x->out->reserved += g->total_size;
    x->out->largest_hole =
        c.largest_hole > x->out->largest_hole ? c.largest_hole : x->out->largest_hole;
    count_cause(x->out, g, &c);
    return share_free(x, g, &c);
}

static int compare_pools(const void *a, const void *b)
{
    const struct mt_frag_pool *x = a;
    const struct mt_frag_pool *y = b;
    if (x->free != y->free) {
        return x->free < y->free ? 1 : -1;
    }
    if (x->reserved != y->reserved) {
        return x->reserved < y->reserved ? 1 : -1;
    }
    return x->stream != y->stream ? x->stream - y->stream : (int)x->kind - (int)y->kind;
}

static int compare_pins(const void *a, const void *b)
{
    const struct mt_frag_pin *x = a;
    const struct mt_frag_pin *y = b;
    if (x->free_held != y->free_held) {
        return x->free_held < y->free_held ? 1 : -1;
    }
    return (x->stack > y->stack) - (x->stack < y->stack);
}

enum mt_frag_class mt_frag_class_of(uint64_t reserved, uint64_t allocated)
{
    /* Not from 1 - allocated / reserved: 1 - 80 / 100 is less than 0.2 in floating point. */
    uint64_t lost = reserved > allocated ? reserved - allocated : 0;
    double share = reserved ? 100.0 * (double)lost / (double)reserved : 0;
    return share < 20 ? MT_FRAG_NORMAL : share <= 40 ? MT_FRAG_WORK_ON_IT : MT_FRAG_ACT;
}

static void conclude(struct mt_frag *out)
{
    if (out->pools.n) {
        qsort(out->pools.v, out->pools.n, sizeof *out->pools.v, compare_pools);
    }
    if (out->pins.n) {
        qsort(out->pins.v, out->pins.n, sizeof *out->pins.v, compare_pins);
    }
    out->fragmentation = out->reserved ? 1 - (double)out->allocated / (double)out->reserved : 0;
    out->class = mt_frag_class_of(out->reserved, out->allocated);
}

static enum mt_status look(struct looker *x, struct mt_error *err)
{
    MT_TRY(find_main_stream(x, err));
    struct mt_device_segments walk = segments_of(x);
    for (const struct mt_segment *g; (g = mt_device_segments_next(&walk)) != NULL;) {
        if (passes(x, g) && !look_at_segment(x, g)) {
            return mt_fail_nomem(err);
        }
    }
    conclude(x->out);
    return MT_OK;
}

enum mt_status mt_frag_find(struct mt_frag *out, const struct mt_snapshot *s,
                            const struct mt_replay *r, struct mt_filtered *f,
                            const struct mt_moment *at, struct mt_error *err)
{
    *out = (struct mt_frag){
        .device = r->device, .at = at->kind, .n_events = r->n, .stackless = mt_replay_stackless(r)};
    MT_TRY(mt_moment_find(at, r, &out->events_done, err));
    const struct mt_event *last = out->events_done ? &r->events[out->events_done - 1] : NULL;
    bool failed = last && last->action == MT_ACTION_OOM;
    struct mt_state st = {0};
    struct looker x = {.s = s,
                       .segments = s->segments,
                       .n_segments = s->n_segments,
                       .blocks = s->blocks,
                       .f = f,
                       .rules = mt_settings_rules(s),
                       .out = out};
    out->failed_request = failed ? last->size : 0;
    out->failed_need = failed ? mt_torch_segment_for(&x.rules, last->size) : 0;
    out->failed_free = failed ? last->addr : 0;
    if (out->events_done < r->n) {
        MT_TRY(mt_state_at(s, (size_t)r->device, out->events_done, &st, err));
        x.segments = st.segments;
        x.n_segments = st.n_segments;
        x.blocks = st.blocks;
    }
    enum mt_status status = look(&x, err);
    mt_idmap_release(&x.pins);
    mt_idmap_release(&x.pools);
    mt_vec_release(&x.present);
    mt_vec_release(&x.seen);
    mt_state_release(&st);
    return status;
}

void mt_frag_release(struct mt_frag *f)
{
    mt_vec_release(&f->pools);
    mt_vec_release(&f->pins);
    *f = (struct mt_frag){0};
}
