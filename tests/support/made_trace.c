/* SPDX-License-Identifier: MIT */
/* See made_trace.h. */
#include "made_trace.h"

#include <check.h>

#include "torch/keys.h"

void made_begin(struct made *m)
{
    *m = (struct made){.b = mt_builder_new(1)};
    ck_assert_ptr_nonnull(m->b);
}

uint32_t made_stack(struct made *m, const char *name, int line)
{
    struct mt_frame f = {.name = mt_builder_cstr(m->b, name),
                         .filename = mt_builder_cstr(m->b, "/home/me/train.py"),
                         .line = line};
    uint32_t frame = mt_builder_frame(m->b, &f);
    return mt_builder_stack(m->b, &frame, 1);
}

void made_event(struct made *m, enum mt_action action, uint64_t addr, uint64_t size, uint32_t stack)
{
    struct mt_event e = {.addr = action == MT_ACTION_OOM ? addr : MADE_BASE + addr,
                         .size = size,
                         .time_us = 1000000 + 1000 * (int64_t)m->n++,
                         .stack = stack,
                         .action = (uint8_t)action};
    ck_assert(mt_builder_event(m->b, &e));
}

void made_segment(struct made *m, uint64_t addr, bool expandable, const struct made_block *blocks,
                  size_t n)
{
    uint64_t total = 0;
    for (size_t i = 0; i < n; i++) {
        struct mt_block b = {.addr = MADE_BASE + addr + total,
                             .size = blocks[i].size,
                             .requested = blocks[i].requested,
                             .stack = blocks[i].stack,
                             .state = (uint8_t)blocks[i].state,
                             .present =
                                 1u << MT_BLOCK_KEY_requested_size | 1u << MT_BLOCK_KEY_address};
        ck_assert(mt_builder_block(m->b, &b));
        total += b.size;
    }
    struct mt_segment s = {.addr = MADE_BASE + addr,
                           .total_size = total,
                           .first_block = (uint32_t)(mt_builder_n_blocks(m->b) - n),
                           .n_blocks = (uint32_t)n,
                           .expandable = expandable,
                           .kind = total <= 2 * MADE_MIB ? MT_POOL_SMALL : MT_POOL_LARGE};
    ck_assert(mt_builder_segment(m->b, &s, false));
}

void made_finish(struct made *m)
{
    struct mt_error err;
    ck_assert(mt_builder_trace(m->b, 0, mt_builder_n_events(m->b), false));
    ck_assert_int_eq(mt_builder_finish(m->b, &m->s, &err), MT_OK);
    ck_assert_int_eq(mt_replay_init(&m->r, &m->s, 0, &err), MT_OK);
}

void made_release(struct made *m)
{
    mt_replay_release(&m->r);
    mt_snapshot_release(&m->s);
}
