/* SPDX-License-Identifier: MIT */
/*
 * Looking at the whole state: segments by address with their blocks, as a snapshot lists them. An
 * expandable segment shows one entry for each mapped run.
 */
#include <stdlib.h>

#include "allocator/core/alloc_core.h"

/* First block of a run: a cudaMalloc segment, or a mapped run of an expandable one. */
struct head {
    uint64_t addr;
    uint32_t block;
};

struct heads {
    MT_VEC(struct head) list;
};

static bool is_head(const struct mt_alloc *a, const struct block *b)
{
    return b->state != BLOCK_HOLE && (!b->prev || block_at(a, b->prev)->state == BLOCK_HOLE);
}

static bool gather(const struct mt_alloc *a, struct heads *h)
{
    for (size_t s = 1; s < a->segments.n; s++) {
        const struct segment *seg = &a->segments.v[s];
        for (uint32_t i = seg->used ? seg->first : 0; i; i = block_at(a, i)->next) {
            const struct block *b = block_at(a, i);
            struct head head = {b->addr, i};
            if (is_head(a, b) && !mt_vec_push(&h->list, head)) {
                return false;
            }
            if (!seg->expandable) {
                break;
            }
        }
    }
    return true;
}

static int by_addr(const void *x, const void *y)
{
    const struct head *l = x, *r = y;
    return (l->addr > r->addr) - (l->addr < r->addr);
}

static uint32_t next_in_run(const struct mt_alloc *a, const struct block *b)
{
    return b->next && block_at(a, b->next)->state != BLOCK_HOLE ? b->next : 0;
}

static bool visit_segment(const struct mt_alloc *a, uint32_t first,
                          const struct mt_alloc_visitor *v)
{
    const struct block *b = block_at(a, first);
    const struct bin *bin = bin_of(a, b);
    struct mt_alloc_segment_view s = {.addr = b->addr,
                                      .stream = bin->stream,
                                      .pool = a->pairs.v[bin->pair].id,
                                      .small = bin->small,
                                      .expandable = b->expandable,
                                      .stack = segment_of(a, b)->stack};
    for (uint32_t i = first; i; i = next_in_run(a, block_at(a, i))) {
        b = block_at(a, i);
        s.size += b->size;
        s.n_blocks++;
        if (b->state != BLOCK_FREE) {
            s.active += b->size;
            s.requested += b->requested;
            s.allocated += b->state == BLOCK_IN_USE ? b->size : 0;
        }
    }
    return !v->segment || v->segment(v->ctx, &s);
}

static enum mt_alloc_block_state shown_state(uint8_t state)
{
    return state == BLOCK_IN_USE    ? MT_ALLOC_IN_USE
           : state == BLOCK_PENDING ? MT_ALLOC_PENDING
                                    : MT_ALLOC_FREE;
}

static bool visit_blocks(const struct mt_alloc *a, uint32_t first, const struct mt_alloc_visitor *v)
{
    for (uint32_t i = first; i && v->block; i = next_in_run(a, block_at(a, i))) {
        const struct block *b = block_at(a, i);
        struct mt_alloc_block_view view = {b->addr, b->size, b->requested, b->stack,
                                           shown_state(b->state)};
        if (!v->block(v->ctx, &view)) {
            return false;
        }
    }
    return true;
}

enum mt_status mt_alloc_walk(const struct mt_alloc *a, const struct mt_alloc_visitor *v,
                             struct mt_error *err)
{
    struct heads h;
    memset(&h, 0, sizeof h);
    if (!gather(a, &h)) {
        mt_vec_release(&h.list);
        return mt_fail_nomem(err);
    }
    if (h.list.n) {
        qsort(h.list.v, h.list.n, sizeof *h.list.v, by_addr);
    }
    for (size_t i = 0; i < h.list.n; i++) {
        if (!visit_segment(a, h.list.v[i].block, v) || !visit_blocks(a, h.list.v[i].block, v)) {
            break;
        }
    }
    mt_vec_release(&h.list);
    return MT_OK;
}

uint64_t mt_alloc_largest_free(const struct mt_alloc *a)
{
    uint64_t largest = 0;
    mt_walked(a, WALK_POOL * a->bins.n);
    for (size_t i = 1; i < a->bins.n; i++) {
        uint32_t last = mt_free_set_last(a, a->bins.v[i]);
        if (last && block_at(a, last)->size > largest) {
            largest = block_at(a, last)->size;
        }
    }
    return largest;
}

void mt_alloc_block_get(const struct mt_alloc *a, mt_alloc_block block,
                        struct mt_alloc_block_info *out)
{
    const struct block *b = block_at(a, block.i);
    const struct bin *bin = bin_of(a, b);
    *out = (struct mt_alloc_block_info){.addr = b->addr,
                                        .size = b->size,
                                        .requested = b->requested,
                                        .stream = bin->stream,
                                        .stack = b->stack,
                                        .pending = b->state == BLOCK_PENDING,
                                        .pool = a->pairs.v[bin->pair].id};
}
