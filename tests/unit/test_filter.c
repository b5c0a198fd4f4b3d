/* SPDX-License-Identifier: MIT */
/* Each filter alone over one small snapshot with two devices, three streams and a private pool. */
#include "snapshot/model/builder.h"
#include "heap/stacks/filter.h"
#include "torch/keys.h"

#include "unit.h"

#define BASE UINT64_C(0x7f0000000000)
#define MIB UINT64_C(1048576)

static struct mt_snapshot s;

static uint32_t stack_of(struct mt_builder *b, const char *file, const char *name)
{
    struct mt_frame f = {
        .filename = mt_builder_cstr(b, file), .name = mt_builder_cstr(b, name), .line = 7};
    uint32_t id = mt_builder_frame(b, &f);
    return mt_builder_stack(b, &id, 1);
}

static void event(struct mt_builder *b, enum mt_action action, uint64_t addr, uint64_t size,
                  int64_t time_us, size_t stream, uint32_t stack)
{
    struct mt_event e = {addr, size, time_us, stack, (uint16_t)stream, (uint8_t)action, 0};
    ck_assert(mt_builder_event(b, &e));
}

static void segment(struct mt_builder *b, int32_t device, uint64_t addr, uint64_t size,
                    struct mt_pool_id pool, size_t stream, uint32_t stack)
{
    struct mt_block block = {
        .addr = addr, .size = size, .state = MT_BLOCK_ALLOCATED, .stack = stack};
    struct mt_segment seg = {.addr = addr,
                             .total_size = size,
                             .pool = pool,
                             .device = device,
                             .first_block = (uint32_t)mt_builder_n_blocks(b),
                             .n_blocks = 1,
                             .stream = (uint16_t)stream,
                             .kind = size > 2 * MIB ? MT_POOL_LARGE : MT_POOL_SMALL};
    ck_assert(mt_builder_block(b, &block));
    ck_assert(mt_builder_segment(b, &seg, false));
}

static void annotate(struct mt_builder *b, const char *name, const char *stage, int64_t time_us)
{
    struct mt_annotation a = {.name = mt_builder_cstr(b, name),
                              .stage = mt_builder_cstr(b, stage),
                              .time_us = time_us,
                              .present = 1u << MT_ANNOTATION_KEY_device};
    ck_assert(mt_builder_annotation(b, &a));
}

/* Device 0: events 0..4 at 1000, 1100, ... us; device 1: one event without a time. */
static void build(void)
{
    struct mt_error err;
    struct mt_builder *b = mt_builder_new(1);
    uint32_t model = stack_of(b, "/me/model.py", "forward");
    uint32_t optim = stack_of(b, "/me/optim.py", "step");
    size_t side = mt_builder_stream(b, 0x55d0, false);
    ck_assert_uint_ne(mt_builder_event_shape(b, 0, 0), SIZE_MAX);
    event(b, MT_ACTION_SEGMENT_ALLOC, BASE, 2 * MIB, 1000, 0, 0);
    event(b, MT_ACTION_ALLOC, BASE, 512, 1100, 0, model);
    event(b, MT_ACTION_ALLOC, BASE + 64 * MIB, 8 * MIB, 1200, side, optim);
    event(b, MT_ACTION_FREE_COMPLETED, BASE + 64 * MIB, 8 * MIB, 1300, side, optim);
    event(b, MT_ACTION_ALLOC, BASE + 999 * MIB, 2 * MIB, 1400, 0, model);
    event(b, MT_ACTION_ALLOC, BASE, 512, MT_NO_TIME, 0, model);
    ck_assert(mt_builder_trace(b, 0, 5, false) && mt_builder_trace(b, 5, 1, false));
    segment(b, 0, BASE, 2 * MIB, (struct mt_pool_id){0, 0}, 0, model);
    segment(b, 0, BASE + 64 * MIB, 20 * MIB, (struct mt_pool_id){2, 0}, side, optim);
    segment(b, 1, BASE, 2 * MIB, (struct mt_pool_id){0, 0}, 0, 0);
    annotate(b, "step", "START", 1150);
    annotate(b, "other", "START", 1160);
    annotate(b, "step", "END", 1250);
    annotate(b, "step", "START", 1350);
    ck_assert_int_eq(mt_builder_finish(b, &s, &err), MT_OK);
}

/* The events of device 0 that pass, as bits; bit 5 is the one of device 1. */
static unsigned events(const struct mt_filter *filter)
{
    struct mt_filtered f;
    struct mt_error err;
    unsigned bits = 0;
    ck_assert_int_eq(mt_filtered_init(&f, filter, &s, &err), MT_OK);
    for (size_t i = 0; i < 5; i++) {
        bits |= (unsigned)mt_filtered_event(&f, 0, i) << i;
    }
    bits |= (unsigned)mt_filtered_event(&f, 1, 0) << 5;
    mt_filtered_release(&f);
    return bits;
}

/* The blocks (one a segment) that pass, as bits. */
static unsigned blocks(const struct mt_filter *filter)
{
    struct mt_filtered f;
    struct mt_error err;
    unsigned bits = 0;
    ck_assert_int_eq(mt_filtered_init(&f, filter, &s, &err), MT_OK);
    for (size_t i = 0; i < s.n_blocks; i++) {
        bits |= (unsigned)mt_filtered_block(&f, &s.blocks[i]) << i;
    }
    mt_filtered_release(&f);
    return bits;
}

static struct mt_filter f;
static struct mt_error err;
static void begin(void)
{
    build();
    mt_filter_init(&f);
}
static void end(unsigned want_events, unsigned want_blocks)
{
    ck_assert_uint_eq(events(&f), want_events);
    ck_assert_uint_eq(blocks(&f), want_blocks);
    mt_filter_release(&f);
    mt_snapshot_release(&s);
}

START_TEST(open_filter)
{
    begin();
    ck_assert(mt_filter_is_open(&f));
    end(0x3f, 7);
}
END_TEST

START_TEST(device)
{
    begin();
    f.device = 1;
    ck_assert(!mt_filter_is_open(&f));
    end(0x20, 4);
}
END_TEST

START_TEST(stream)
{
    begin();
    f.has_stream = true;
    f.stream = 0x55d0;
    end(0x0c, 2);
    begin();
    f.has_stream = f.stream_is_index = true;
    f.stream = 1;
    end(0x0c, 2);
    begin();
    f.has_stream = true; /* the default stream by its handle */
    end(0x33, 5);
}
END_TEST

START_TEST(pool)
{
    begin();
    f.pool = MT_POOL_IS_PRIVATE;
    end(0x0c, 2);
    begin();
    f.pool = MT_POOL_IS_ID;
    f.pool_id = (struct mt_pool_id){2, 0};
    end(0x0c, 2);
    begin();
    f.pool = MT_POOL_IS_DEFAULT; /* event 4 lies in no segment of the end: default */
    end(0x33, 5);
    begin();
    f.pool = MT_POOL_IS_LARGE; /* event 4 by its size */
    end(0x1c, 2);
    begin();
    f.pool = MT_POOL_IS_SMALL;
    end(0x23, 5);
}
END_TEST

START_TEST(size)
{
    begin();
    f.size_min = 512;
    f.size_max = 2 * MIB;
    end(0x33, 5);
    begin();
    f.size_min = 513;
    end(0x1d, 7);
}
END_TEST

START_TEST(event_range)
{
    begin();
    f.event_min = 1;
    f.event_max = 3;
    end(0x06, 7);
}
END_TEST

START_TEST(time_range)
{
    begin();
    f.has_time = true;
    f.time_min_us = 100; /* since 1000; both ends inside */
    f.time_max_us = 200;
    end(0x06, 7);
    begin();
    f.has_time = f.time_is_absolute = true;
    f.time_min_us = 1300;
    end(0x18, 7); /* the event without a time matches no time */
}
END_TEST

START_TEST(annotation)
{
    begin();
    f.annotation = "step"; /* 1150 to 1250, and from 1350 on */
    end(0x14, 7);
    begin();
    f.annotation = "none";
    end(0, 7);
}
END_TEST

START_TEST(frames)
{
    begin();
    ck_assert_int_eq(mt_filter_compile(&f.frame, "model\\.py:7 forward$", &err), MT_OK);
    f.has_frame = true;
    end(0x32, 1);
    begin();
    ck_assert_int_eq(mt_filter_compile(&f.not_frame, "model", &err), MT_OK);
    f.has_not_frame = true;
    end(0x0d, 6);
}
END_TEST

static bool found_in(const char *expression, const char *text)
{
    regex_t r;
    ck_assert_int_eq(mt_filter_compile(&r, expression, &err), MT_OK);
    bool found = regexec(&r, text, 0, NULL, 0) == 0;
    regfree(&r);
    return found;
}

/* What stands before an expression, so that it takes one pass, changes nothing that it means. */
START_TEST(expressions)
{
    regex_t r;
    ck_assert(found_in("^/a", "/a/b.py:1 f") && !found_in("^/b", "/a/b.py:1 f"));
    ck_assert(found_in("f$", "/a/b.py:1 f") && !found_in("b$", "/a/b.py:1 f"));
    ck_assert(found_in("x|f", "/a/b.py:1 f") && found_in("^x|b", "/a/b.py:1 f"));
    ck_assert(found_in("", "") && !found_in("x|y", "f"));
    ck_assert_int_eq(mt_filter_compile(&r, "a)(b", &err), MT_USAGE);
    ck_assert_int_eq(mt_filter_compile(&r, "(a", &err), MT_USAGE);
}
END_TEST

UNIT_MAIN("filter", open_filter, device, stream, pool, size, event_range, time_range, annotation,
          frames, expressions)
