/* SPDX-License-Identifier: MIT */
/* Fills in and sends the events of the trace. */
#include "allocator/core/alloc_core.h"

MT_HOT void mt_tell_of_block(struct mt_alloc *a, enum mt_alloc_event_kind kind,
                             const struct bin *bin, uint32_t i, const struct block *b,
                             uint32_t stack)
{
    a->observer.on_event(a->observer.ctx, &(struct mt_alloc_event){
                                              .kind = kind,
                                              .addr = b->addr,
                                              .size = b->requested,
                                              .stream = bin->stream,
                                              .stack = stack,
                                              .block = {i},
                                          });
}

void mt_observe_range(struct mt_alloc *a, enum mt_alloc_event_kind kind, uint32_t segment,
                      uint64_t addr, uint64_t size)
{
    if (!a->observer.on_event) {
        return;
    }
    const struct segment *s = &a->segments.v[segment];
    const struct bin *bin = a->bins.v[s->bin];
    a->observer.on_event(a->observer.ctx, &(struct mt_alloc_event){
                                              .kind = kind,
                                              .addr = addr,
                                              .size = size,
                                              .stream = bin->stream,
                                              .stack = a->stack ? a->stack : s->stack,
                                          });
}
