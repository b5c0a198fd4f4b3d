/* SPDX-License-Identifier: MIT */
/* A snapshot from requests and frees that another program's file tells. */
#include "snapshot/read/told_events.h"

#include "support/hash.h"
#include "torch/keys.h"
#include "torch/torch_rules.h"

#define BIT(key) (1u << (key))

enum { MOST_DEVICES = 1024 };

/* Where segments lie that are known by their size alone: no driver gives such addresses. */
#define MADE_UP_ADDR (UINT64_C(1) << 60)

struct making {
    struct mt_builder *b;
    const struct mt_told_events *t;
    int32_t device;
    struct mt_idmap live; /* address -> index of the alloc */
    uint64_t live_bytes;
    uint64_t reserved; /* so far */
    size_t shapes[2];  /* of events without and with a category */
    const struct mt_told_event *last;
};

static bool add_event(struct making *x, const struct mt_event *e, uint32_t category)
{
    struct mt_event event = *e;
    event.shape = (uint8_t)x->shapes[category != 0];
    size_t index = mt_builder_n_events(x->b);
    return mt_builder_event(x->b, &event) &&
           (!category || mt_builder_event_column(x->b, index, MT_COLUMN_CATEGORY, category));
}

/* What the driver gave or took between two requests shows in the sum alone. */
static bool follow_reserved(struct making *x, const struct mt_told_event *e)
{
    bool grows = e->reserved > x->reserved;
    uint64_t change = grows ? e->reserved - x->reserved : x->reserved - e->reserved;
    struct mt_event segment = {.addr = MADE_UP_ADDR + (grows ? x->reserved : e->reserved),
                               .size = change,
                               .time_us = e->time_us,
                               .stack = grows ? e->stack : 0,
                               .action = grows ? MT_ACTION_SEGMENT_ALLOC : MT_ACTION_SEGMENT_FREE};
    x->reserved = e->reserved;
    return change == 0 || add_event(x, &segment, 0);
}

static bool follow_live(struct making *x, const struct mt_told_event *e, size_t index)
{
    uint32_t before = 0;
    if (mt_idmap_remove(&x->live, e->addr, &before)) {
        x->live_bytes -= x->t->v.v[before].size;
    }
    if (e->action != MT_ACTION_ALLOC) {
        return true;
    }
    x->live_bytes += e->size;
    return mt_idmap_put(&x->live, e->addr, (uint32_t)index);
}

static bool add_told(struct making *x, const struct mt_told_event *e, size_t index)
{
    size_t stream = mt_builder_stream(x->b, e->stream, false);
    bool oom = e->action == MT_ACTION_OOM;
    struct mt_event event = {.addr = oom ? MT_FREE_UNKNOWN : e->addr,
                             .size = e->size,
                             .time_us = e->time_us,
                             .stack = e->stack,
                             .stream = stream == SIZE_MAX ? 0 : (uint16_t)stream,
                             .action = e->action};
    x->last = e;
    return (!x->t->sums || follow_reserved(x, e)) && add_event(x, &event, e->category) &&
           (oom || follow_live(x, e, index));
}

/* ---- the state at the end ---- */

static bool add_segment(struct making *x, struct mt_block *blocks, uint32_t n)
{
    struct mt_segment g = {
        .addr = blocks[0].addr,
        .device = x->device,
        .first_block = (uint32_t)mt_builder_n_blocks(x->b),
        .n_blocks = n,
        .stack = blocks[0].stack,
        .present = BIT(MT_SEGMENT_KEY_device) | BIT(MT_SEGMENT_KEY_address) |
                   BIT(MT_SEGMENT_KEY_total_size) | BIT(MT_SEGMENT_KEY_blocks) |
                   BIT(MT_SEGMENT_KEY_segment_type),
    };
    for (uint32_t i = 0; i < n; i++) {
        g.total_size += blocks[i].size;
        blocks[i].present = BIT(MT_BLOCK_KEY_address) | BIT(MT_BLOCK_KEY_size) |
                            BIT(MT_BLOCK_KEY_requested_size) | BIT(MT_BLOCK_KEY_state) |
                            (blocks[i].stack ? BIT(MT_BLOCK_KEY_frames) : 0);
        if (!mt_builder_block(x->b, &blocks[i])) {
            return false;
        }
    }
    g.kind = mt_torch_is_small(g.total_size) ? MT_POOL_SMALL : MT_POOL_LARGE;
    return mt_builder_segment(x->b, &g, false);
}

static bool add_live(struct making *x)
{
    for (size_t i = 0; i < x->t->v.n; i++) {
        const struct mt_told_event *e = &x->t->v.v[i];
        const uint32_t *alive = mt_idmap_find(&x->live, e->addr);
        if (e->device != x->device || e->action != MT_ACTION_ALLOC || !alive || *alive != i) {
            continue;
        }
        struct mt_block block = {.addr = e->addr,
                                 .size = e->size,
                                 .requested = e->size,
                                 .stack = e->stack,
                                 .state = MT_BLOCK_ALLOCATED};
        if (!add_segment(x, &block, 1)) {
            return false;
        }
    }
    return true;
}

/* What is allocated beside those requests, and what is reserved beside that. */
static bool add_rest(struct making *x)
{
    const struct mt_told_event *e = x->last;
    uint64_t older = e->allocated > x->live_bytes ? e->allocated - x->live_bytes : 0;
    uint64_t used = x->live_bytes + older;
    uint64_t cached = e->reserved > used ? e->reserved - used : 0;
    struct mt_block blocks[2];
    uint32_t n = 0;
    if (older) {
        blocks[n++] = (struct mt_block){
            .addr = MADE_UP_ADDR, .size = older, .requested = older, .state = MT_BLOCK_ALLOCATED};
    }
    if (cached) {
        blocks[n++] = (struct mt_block){
            .addr = MADE_UP_ADDR + older, .size = cached, .state = MT_BLOCK_INACTIVE};
    }
    return n == 0 || add_segment(x, blocks, n);
}

static bool build_device(struct making *x)
{
    size_t first = mt_builder_n_events(x->b);
    bool ok = true, begun = false;
    for (size_t i = 0; ok && i < x->t->v.n; i++) {
        const struct mt_told_event *e = &x->t->v.v[i];
        if (e->device != x->device) {
            continue;
        }
        if (!begun) { /* from nothing, or from what was there before it */
            bool fresh = e->action == MT_ACTION_ALLOC && e->allocated == e->size;
            x->reserved = fresh ? 0 : e->reserved;
        }
        begun = true;
        ok = add_told(x, e, i);
    }
    ok = ok && mt_builder_trace(x->b, first, mt_builder_n_events(x->b) - first, false);
    return ok && (!begun || (add_live(x) && (!x->t->sums || add_rest(x))));
}

static bool find_shapes(struct making *x)
{
    uint32_t keys = BIT(MT_EVENT_KEY_action) | BIT(MT_EVENT_KEY_addr) | BIT(MT_EVENT_KEY_size) |
                    BIT(MT_EVENT_KEY_stream) | BIT(MT_EVENT_KEY_time_us) | BIT(MT_EVENT_KEY_frames);
    x->shapes[0] = mt_builder_event_shape(x->b, keys, 0);
    x->shapes[1] = mt_builder_event_shape(x->b, keys | BIT(MT_EVENT_KEY_category), 0);
    return x->shapes[0] != SIZE_MAX && x->shapes[1] != SIZE_MAX;
}

enum mt_status mt_told_build(struct mt_builder *b, const struct mt_told_events *t,
                             struct mt_error *err)
{
    struct making x = {.b = b, .t = t};
    int32_t devices = 1;
    for (size_t i = 0; i < t->v.n; i++) {
        devices = t->v.v[i].device >= devices ? t->v.v[i].device + 1 : devices;
        if (devices > MOST_DEVICES) {
            return mt_fail(err, MT_LIMIT, MT_NO_OFFSET, "more than 1,024 devices have events");
        }
    }
    bool ok = t->v.n < UINT32_MAX && find_shapes(&x);
    for (x.device = 0; ok && x.device < devices; x.device++) {
        x.live_bytes = x.reserved = 0;
        ok = build_device(&x);
        mt_idmap_release(&x.live);
    }
    mt_builder_top(b,
                   BIT(MT_TOP_KEY_segments) | BIT(MT_TOP_KEY_device_traces) |
                       BIT(MT_TOP_KEY_external_annotations),
                   0, 0);
    return ok ? MT_OK : mt_fail_nomem(err);
}
