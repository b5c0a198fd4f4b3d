/* SPDX-License-Identifier: MIT */
/* Snapshots by hand, through the public builder. */
#include "make.h"

#include "unit.h"

void make_begin(struct make *m)
{
    *m = (struct make){.b = mt_builder_new(1), .time_us = MT_NO_TIME};
    ck_assert_ptr_nonnull(m->b);
    m->shape = mt_builder_event_shape(m->b, (1u << MT_EVENT_KEY_COUNT) - 1, 0);
    ck_assert_uint_ne(m->shape, SIZE_MAX);
}

uint32_t make_stack_of(struct make *m, const struct make_frame *frames, size_t n)
{
    uint32_t ids[64];
    ck_assert_uint_le(n, MT_COUNT(ids));
    for (size_t i = 0; i < n; i++) {
        const struct make_frame *f = &frames[n - 1 - i];
        struct mt_frame frame = {.name = mt_builder_cstr(m->b, f->name),
                                 .filename = mt_builder_cstr(m->b, f->file),
                                 .line = f->line,
                                 .present = (1u << MT_FRAME_KEY_COUNT) - 1};
        ids[i] = mt_builder_frame(m->b, &frame);
        ck_assert_uint_ne(ids[i], 0);
    }
    uint32_t stack = mt_builder_stack(m->b, ids, n);
    ck_assert_uint_ne(stack, 0);
    return stack;
}

uint32_t make_stack(struct make *m, const char *file, int32_t line, const char *name)
{
    struct make_frame one = {file, line, name};
    return make_stack_of(m, &one, 1);
}

void make_event(struct make *m, enum mt_action action, uint64_t addr, uint64_t size, uint32_t stack)
{
    struct mt_event e = {.addr = addr,
                         .size = size,
                         .time_us = m->time_us,
                         .stack = stack,
                         .action = (uint8_t)action,
                         .shape = (uint8_t)m->shape};
    ck_assert(mt_builder_event(m->b, &e));
    m->time_us += m->time_us != MT_NO_TIME;
}

void make_trace(struct make *m)
{
    size_t n = mt_builder_n_events(m->b);
    ck_assert(mt_builder_trace(m->b, m->trace_first, n - m->trace_first, false));
    m->trace_first = n;
}

static void close_segment(struct make *m)
{
    if (m->open) {
        m->segment.n_blocks = (uint32_t)(mt_builder_n_blocks(m->b) - m->segment.first_block);
        ck_assert(mt_builder_segment(m->b, &m->segment, false));
        m->open = false;
    }
}

void make_segment(struct make *m, uint64_t addr, uint64_t stream)
{
    close_segment(m);
    m->segment = (struct mt_segment){.addr = addr,
                                     .kind = MT_POOL_LARGE,
                                     .stream = (uint16_t)mt_builder_stream(m->b, stream, false),
                                     .first_block = (uint32_t)mt_builder_n_blocks(m->b),
                                     .present = (1u << MT_SEGMENT_KEY_COUNT) - 1};
    m->open = true;
}

void make_block(struct make *m, uint64_t size, enum mt_block_state state, uint64_t requested,
                uint32_t stack)
{
    struct mt_segment *g = &m->segment;
    struct mt_block b = {.addr = g->addr + g->total_size,
                         .size = size,
                         .requested = requested,
                         .stack = stack,
                         .state = (uint8_t)state,
                         .present = (1u << MT_BLOCK_KEY_address) | (1u << MT_BLOCK_KEY_size) |
                                    (1u << MT_BLOCK_KEY_requested_size) |
                                    (1u << MT_BLOCK_KEY_state) | (1u << MT_BLOCK_KEY_frames)};
    ck_assert(mt_builder_block(m->b, &b));
    g->total_size += size;
    g->allocated_size += state == MT_BLOCK_ALLOCATED ? size : 0;
    g->active_size += state != MT_BLOCK_INACTIVE ? size : 0;
    g->requested_size += state != MT_BLOCK_INACTIVE ? requested : 0;
}

void make_end(struct make *m)
{
    struct mt_error err;
    close_segment(m);
    make_trace(m);
    mt_builder_top(m->b, (1u << MT_TOP_KEY_segments) | (1u << MT_TOP_KEY_device_traces), 0, 0);
    ck_assert_int_eq(mt_builder_finish(m->b, &m->s, &err), MT_OK);
    m->b = NULL;
    mt_filter_init(&m->everything);
    ck_assert_int_eq(mt_filtered_init(&m->all, &m->everything, &m->s, &err), MT_OK);
}

void make_free(struct make *m)
{
    mt_filtered_release(&m->all);
    mt_filter_release(&m->everything);
    mt_snapshot_release(&m->s);
}
