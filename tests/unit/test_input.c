/* SPDX-License-Identifier: MIT */
/* The cursor over bytes: windows, growth, limits, and the layers that unpack. */
#include <stdlib.h>

#include <zlib.h>

#include "snapshot/read/input.h"

#include "unit.h"

static unsigned char byte_at(size_t i)
{
    return (unsigned char)(i * 31 + i / 256);
}

static unsigned char *make_bytes(size_t n)
{
    unsigned char *p = malloc(n ? n : 1);
    ck_assert_ptr_nonnull(p);
    for (size_t i = 0; i < n; i++) {
        p[i] = byte_at(i);
    }
    return p;
}

static void open_memory(struct mt_input *in, const void *p, size_t n, size_t chunk, uint64_t max)
{
    struct mt_error err;
    struct mt_byte_source *source = mt_source_memory(p, n, chunk);
    ck_assert_ptr_nonnull(source);
    ck_assert_int_eq(mt_input_init(in, source, max, &err), MT_OK);
}

/* Takes the input in steps of every kind and compares each byte. */
static void drain(struct mt_input *in, const unsigned char *p, size_t n)
{
    size_t at = 0;
    for (size_t step = 1; at < n; step = step * 3 % 1009 + 1) {
        size_t want = step < n - at ? step : n - at;
        ck_assert(mt_input_need(in, want));
        ck_assert_uint_eq(mt_input_offset(in), at);
        ck_assert(memcmp(in->at, p + at, want) == 0);
        in->at += want;
        at += want;
    }
    ck_assert(!mt_input_need(in, 1));
    ck_assert_int_eq(in->failure.code, MT_OK);
}

START_TEST(bytes_arrive_in_order)
{
    const size_t sizes[] = {0, 1, 16, MT_INPUT_WINDOW - 1, MT_INPUT_WINDOW, 700000};
    for (size_t i = 0; i < MT_COUNT(sizes); i++) {
        unsigned char *p = make_bytes(sizes[i]);
        for (size_t chunk = 0; chunk < 32; chunk += 7) {
            struct mt_input in;
            open_memory(&in, p, sizes[i], chunk, 0);
            drain(&in, p, sizes[i]);
            mt_input_release(&in);
        }
        free(p);
    }
}
END_TEST

START_TEST(one_item_may_be_larger_than_the_window)
{
    size_t n = 3 * MT_INPUT_WINDOW + 5;
    unsigned char *p = make_bytes(n);
    struct mt_input in;
    open_memory(&in, p, n, 1000, 0);
    ck_assert(mt_input_need(&in, n));
    ck_assert_mem_eq(in.at, p, n);
    ck_assert(!mt_input_need(&in, n + 1));
    ck_assert_uint_eq(mt_input_left(&in), n); /* nothing was lost by asking */
    mt_input_release(&in);
    free(p);
}
END_TEST

/* A length that a hostile file names costs no more memory than the bytes that come. */
START_TEST(asking_for_everything_costs_nothing)
{
    unsigned char p[100] = {0};
    struct mt_input in;
    open_memory(&in, p, sizeof p, 0, 0);
    ck_assert(!mt_input_need(&in, SIZE_MAX / 4));
    ck_assert_uint_le(in.cap, MT_INPUT_WINDOW);
    mt_input_release(&in);
}
END_TEST

START_TEST(the_limit_holds_at_its_value)
{
    unsigned char *p = make_bytes(5000);
    for (uint64_t max = 4999; max <= 5000; max++) {
        struct mt_input in;
        open_memory(&in, p, 5000, 0, max);
        ck_assert_int_eq(mt_input_need(&in, 5000), max == 5000);
        ck_assert_int_eq(in.failure.code, max == 5000 ? MT_OK : MT_LIMIT);
        mt_input_release(&in);
    }
    free(p);
}
END_TEST

static unsigned char *gzip(const unsigned char *p, size_t n, size_t *packed)
{
    z_stream z = {0};
    ck_assert_int_eq(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    size_t room = deflateBound(&z, n) + 64;
    unsigned char *out = malloc(2 * room);
    ck_assert_ptr_nonnull(out);
    z.next_in = (Bytef *)(uintptr_t)p;
    z.avail_in = (uInt)n;
    z.next_out = out;
    z.avail_out = (uInt)room;
    ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    *packed = room - z.avail_out;
    deflateEnd(&z);
    return out;
}

/* Two members behind each other, and rubbish behind them, as gzip takes it. */
START_TEST(gzip_of_several_members)
{
    size_t n = 300000;
    size_t packed;
    unsigned char *p = make_bytes(n);
    unsigned char *first = gzip(p, 100000, &packed);
    size_t more;
    unsigned char *second = gzip(p + 100000, n - 100000, &more);
    unsigned char *all = malloc(packed + more + 3);
    ck_assert_ptr_nonnull(all);
    memcpy(all, first, packed);
    memcpy(all + packed, second, more);
    memcpy(all + packed + more, "end", 3);
    for (size_t chunk = 0; chunk < 5; chunk++) {
        struct mt_input below;
        struct mt_input in;
        struct mt_error err;
        open_memory(&below, all, packed + more + 3, chunk, 0);
        struct mt_byte_source *source = mt_source_gzip(&below, MT_DAMAGED_REFUSE, &err);
        ck_assert_ptr_nonnull(source);
        ck_assert_int_eq(mt_input_init(&in, source, 0, &err), MT_OK);
        drain(&in, p, n);
        mt_input_release(&in);
    }
    free(all);
    free(first);
    free(second);
    free(p);
}
END_TEST

UNIT_MAIN("input", bytes_arrive_in_order, one_item_may_be_larger_than_the_window,
          asking_for_everything_costs_nothing, the_limit_holds_at_its_value,
          gzip_of_several_members)
