/* SPDX-License-Identifier: MIT */
/*
 * Stream order: a block that other streams used waits, after its free, for an event in each of
 * them. Every stream has a queue; only its front is asked about, so a request costs one look for
 * each stream that has something waiting. Source: PyTorch c10/cuda/CUDACachingAllocator.cpp,
 * recordStream, insert_events, process_events, synchronize_and_free_events.
 */
#include <string.h>

#include "allocator/core/alloc_core.h"

static uint32_t use_take(struct mt_alloc *a)
{
    uint32_t u = a->spare_use;
    if (u) {
        a->spare_use = a->uses.v[u].next;
        return u;
    }
    struct use none = {0};
    if (a->uses.n >= UINT32_MAX || !mt_vec_push(&a->uses, none)) {
        return 0;
    }
    return (uint32_t)(a->uses.n - 1);
}

enum mt_status mt_alloc_record_stream(struct mt_alloc *a, mt_alloc_block block, uint64_t stream,
                                      struct mt_error *err)
{
    struct block *b = block_at(a, block.i);
    MT_ASSERT(b->state == BLOCK_IN_USE);
    if (!a->caps.has_events || stream == bin_of(a, b)->stream) {
        return MT_OK;
    }
    uint32_t n = 0;
    for (uint32_t u = b->uses; u; u = a->uses.v[u].next, n++) {
        if (a->uses.v[u].stream == stream) {
            return MT_OK;
        }
    }
    uint32_t u = n < UINT16_MAX ? use_take(a) : 0;
    if (u == 0) {
        return mt_fail_nomem(err);
    }
    a->uses.v[u] = (struct use){stream, b->uses};
    b->uses = u;
    return MT_OK;
}

static struct queue *queue_get(struct mt_alloc *a, uint64_t stream)
{
    for (size_t i = 0; i < a->queues.n; i++) {
        if (a->queues.v[i].stream == stream) {
            return &a->queues.v[i];
        }
    }
    struct queue none = {.stream = stream};
    return mt_vec_push(&a->queues, none) ? &a->queues.v[a->queues.n - 1] : NULL;
}

/* A queue that is never empty does not grow for ever: once half of it is done, the rest moves to
 * the front, which costs each entry one move. */
static void drop_done(struct queue *q)
{
    enum { WORTH_IT = 64 };
    size_t left = q->entries.n - q->head;
    if (q->head >= WORTH_IT && q->head >= left) {
        memmove(q->entries.v, q->entries.v + q->head, left * sizeof *q->entries.v);
        q->entries.n = left;
        q->head = 0;
    }
}

/* One event in one stream. */
static enum mt_status wait_for(struct mt_alloc *a, uint32_t i, uint64_t stream,
                               struct mt_error *err)
{
    struct queue *q = queue_get(a, stream);
    if (q) {
        drop_done(q);
    }
    if (!q || !mt_vec_reserve(&q->entries, q->entries.n + 1)) {
        return mt_fail_nomem(err);
    }
    struct waiting w = {0, i};
    MT_TRY(a->device.ops->event_record(a->device.ctx, stream, &w.event, err));
    q->entries.v[q->entries.n++] = w;
    a->n_waiting++;
    block_at(a, i)->events++;
    return MT_OK;
}

/* Moves the block from its list of uses into the queues. On an error the uses that are left stay.
 */
static enum mt_status insert_events(struct mt_alloc *a, uint32_t i, struct mt_error *err)
{
    struct block *b = block_at(a, i);
    while (b->uses) {
        uint32_t u = b->uses;
        MT_TRY(wait_for(a, i, a->uses.v[u].stream, err));
        b->uses = a->uses.v[u].next;
        a->uses.v[u].next = a->spare_use;
        a->spare_use = u;
    }
    return MT_OK;
}

static enum mt_status defer(struct mt_alloc *a, uint32_t i, struct mt_error *err)
{
    return mt_vec_push(&a->deferred, i) ? MT_OK : mt_fail_nomem(err);
}

enum mt_status mt_streams_wait(struct mt_alloc *a, uint32_t i, struct mt_error *err)
{
    /* During a capture no event may be recorded: it would become part of the graph. */
    if (a->n_captures > 0) {
        return defer(a, i, err);
    }
    enum mt_status status = insert_events(a, i, err);
    if (status != MT_OK && block_at(a, i)->uses) {
        struct mt_error second;
        (void)!defer(a, i, &second);
    }
    return status;
}

static enum mt_status insert_deferred(struct mt_alloc *a, struct mt_error *err)
{
    while (a->deferred.n > 0) {
        uint32_t i = a->deferred.v[a->deferred.n - 1];
        MT_TRY(insert_events(a, i, err));
        a->deferred.n--;
        if (block_at(a, i)->events == 0) {
            mt_block_complete(a, i);
        }
    }
    return MT_OK;
}

/* The event at the front of a queue is done. */
static void pop(struct mt_alloc *a, struct queue *q)
{
    struct waiting w = q->entries.v[q->head++];
    a->n_waiting--;
    if (q->head == q->entries.n) {
        q->head = q->entries.n = 0;
    }
    a->device.ops->event_free(a->device.ctx, w.event);
    struct block *b = block_at(a, w.block);
    if (--b->events == 0 && b->uses == 0) {
        mt_block_complete(a, w.block);
    }
}

enum mt_status mt_streams_process(struct mt_alloc *a, struct mt_error *err)
{
    MT_TRY(insert_deferred(a, err));
    for (size_t k = 0; a->n_waiting > 0 && k < a->queues.n; k++) {
        struct queue *q = &a->queues.v[k];
        while (q->head < q->entries.n) {
            bool done;
            MT_TRY(
                a->device.ops->event_done(a->device.ctx, q->entries.v[q->head].event, &done, err));
            if (!done) {
                break;
            }
            pop(a, q);
        }
    }
    return MT_OK;
}

enum mt_status mt_alloc_process_events(struct mt_alloc *a, struct mt_error *err)
{
    return a->n_captures == 0 ? mt_streams_process(a, err) : MT_OK;
}

enum mt_status mt_streams_sync(struct mt_alloc *a, struct mt_error *err)
{
    MT_TRY(insert_deferred(a, err));
    for (size_t k = 0; k < a->queues.n; k++) {
        struct queue *q = &a->queues.v[k];
        while (q->head < q->entries.n) {
            MT_TRY(a->device.ops->event_sync(a->device.ctx, q->entries.v[q->head].event, err));
            pop(a, q);
        }
    }
    while (a->hand_first) {
        mt_alloc_free_complete(a, (mt_alloc_block){a->hand_first});
    }
    return MT_OK;
}

void mt_streams_release(struct mt_alloc *a)
{
    for (size_t k = 0; k < a->queues.n; k++) {
        struct queue *q = &a->queues.v[k];
        for (; q->head < q->entries.n; q->head++) {
            a->device.ops->event_free(a->device.ctx, q->entries.v[q->head].event);
        }
        mt_vec_release(&q->entries);
    }
    mt_vec_release(&a->queues);
    mt_vec_release(&a->uses);
    mt_vec_release(&a->deferred);
}
