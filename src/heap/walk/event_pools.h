/* SPDX-License-Identifier: MIT */
/*
 * The pool of each event of a device. From PyTorch 2.12 on the event says its private pool; before,
 * it is that of the segment that holds the address at that moment, and the default pool where none
 * does. Small or large goes by that segment too, else by the size.
 */
#ifndef MEMTOOL_HEAP_WALK_EVENT_POOLS_H
#define MEMTOOL_HEAP_WALK_EVENT_POOLS_H

#include "snapshot/model/model.h"
#include "support/error.h"
#include "support/vec.h"

struct mt_event_pools {
    MT_VEC(struct mt_pool_id) ids; /* [0] is the default pool */
    uint32_t *of;                  /* by index in the trace: 2 * index of ids + enum mt_pool_kind */
    size_t n;
};

/* O(events + segment events * segments). Errors: MT_NOMEM. Release it also after a failure. */
enum mt_status mt_event_pools_init(struct mt_event_pools *x, const struct mt_snapshot *s,
                                   int32_t device, struct mt_error *err) MT_NODISCARD;
void mt_event_pools_release(struct mt_event_pools *x);

static inline struct mt_pool_id mt_event_pool_id(const struct mt_event_pools *x, size_t index)
{
    return x->ids.v[x->of[index] >> 1];
}

static inline enum mt_pool_kind mt_event_pool_kind(const struct mt_event_pools *x, size_t index)
{
    return (enum mt_pool_kind)(x->of[index] & 1);
}

#endif
