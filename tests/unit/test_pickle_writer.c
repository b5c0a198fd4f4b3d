/* SPDX-License-Identifier: MIT */
/* Pickle and JSON written from built snapshots, against bytes that CPython's own pickler gives or
 * that its unpickler reads. */
#include <stdlib.h>
#include <string.h>

#include "snapshot/model/builder.h"
#include "torch/keys.h"
#include "snapshot/write/write.h"

#include "unit.h"

static struct mt_builder *b;

static void begin(void)
{
    b = mt_builder_new(1);
    ck_assert_ptr_nonnull(b);
}

static uint32_t str(const char *s)
{
    uint32_t id = mt_builder_cstr(b, s);
    ck_assert_uint_ne(id, 0);
    return id;
}

/* {"x": value} at the top and nothing else. */
static void top_value(struct mt_value v)
{
    struct mt_value key = {.kind = MT_VALUE_STR, .u.id = str("x")};
    mt_builder_top(b, 0, 0, mt_builder_extra(b, 0, &key, &v));
}

static char *write_out(int protocol, enum mt_status want, size_t *n)
{
    struct mt_snapshot s;
    struct mt_error err;
    ck_assert_int_eq(mt_builder_finish(b, &s, &err), MT_OK);
    struct mt_write_options o = {protocol ? MT_WRITE_PICKLE : MT_WRITE_JSON, protocol, false, 0};
    FILE *f = tmpfile();
    ck_assert_int_eq(mt_snapshot_write(&s, &o, f, &err), want);
    mt_snapshot_release(&s);
    fflush(f);
    *n = (size_t)ftell(f);
    char *text = malloc(*n + 1);
    rewind(f);
    ck_assert_uint_eq(fread(text, 1, *n, f), *n);
    text[*n] = '\0';
    fclose(f);
    return text;
}

static void expect_pickle(int protocol, const void *want, size_t n_want)
{
    size_t n;
    char *got = write_out(protocol, MT_OK, &n);
    ck_assert_uint_eq(n, n_want);
    ck_assert_mem_eq(got, want, n_want);
    free(got);
}

#define EXPECT_PICKLE(protocol, literal) expect_pickle(protocol, literal, sizeof(literal) - 1)

static void expect_json(const char *want)
{
    size_t n;
    char *got = write_out(0, MT_OK, &n);
    ck_assert_str_eq(got, want);
    free(got);
}

/* ---- integers: the operand that Python chooses ---- */

static const struct {
    int64_t i;
    struct mt_str opcode;
} integers[] = {
    {0, MT_STR_INIT("K\x00")},
    {255, MT_STR_INIT("K\xff")},
    {256, MT_STR_INIT("M\x00\x01")},
    {65535, MT_STR_INIT("M\xff\xff")},
    {65536, MT_STR_INIT("J\x00\x00\x01\x00")},
    {INT32_MAX, MT_STR_INIT("J\xff\xff\xff\x7f")},
    {-1, MT_STR_INIT("J\xff\xff\xff\xff")},
    {INT32_MIN, MT_STR_INIT("J\x00\x00\x00\x80")},
    {(int64_t)INT32_MAX + 1, MT_STR_INIT("\x8a\x05\x00\x00\x00\x80\x00")},
    {(int64_t)INT32_MIN - 1, MT_STR_INIT("\x8a\x05\xff\xff\xff\x7f\xff")},
    {INT64_MAX, MT_STR_INIT("\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f")},
    {INT64_MIN, MT_STR_INIT("\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80")},
};

START_TEST(integer_opcodes)
{
    begin();
    top_value((struct mt_value){.kind = MT_VALUE_INT, .u.i = integers[_i].i});
    char want[64] = "\x80\x02}X\x01\x00\x00\x00xq\x00";
    size_t n = 11;
    memcpy(want + n, integers[_i].opcode.p, integers[_i].opcode.n);
    n += integers[_i].opcode.n;
    memcpy(want + n, "s.", 2);
    expect_pickle(2, want, n + 2);
}
END_TEST

static const struct {
    const char *digits;
    struct mt_str opcode;
} bigs[] = {
    {"18446744073709551615", MT_STR_INIT("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00")},
    {"1208925819614629174706176", /* 2^80 */
     MT_STR_INIT("\x8a\x0b\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01")},
    {"-9223372036854775809", MT_STR_INIT("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\x7f\xff")},
    {"-1208925819614629174706176",
     MT_STR_INIT("\x8a\x0b\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff")},
};

START_TEST(big_integers)
{
    begin();
    top_value((struct mt_value){.kind = MT_VALUE_BIG, .u.id = str(bigs[_i].digits)});
    char want[64] = "\x80\x02}X\x01\x00\x00\x00xq\x00";
    size_t n = 11;
    memcpy(want + n, bigs[_i].opcode.p, bigs[_i].opcode.n);
    n += bigs[_i].opcode.n;
    memcpy(want + n, "s.", 2);
    expect_pickle(2, want, n + 2);
}
END_TEST

/* 10^700 needs 291 bytes: LONG4. */
START_TEST(long4)
{
    char digits[702] = "1";
    memset(digits + 1, '0', 700);
    begin();
    top_value((struct mt_value){.kind = MT_VALUE_BIG, .u.id = str(digits)});
    size_t n;
    char *got = write_out(2, MT_OK, &n);
    ck_assert_mem_eq(got + 11, "\x8b\x23\x01\x00\x00\x00\x00\x00\x00", 9);
    ck_assert_uint_eq(n, 11 + 5 + 0x123 + 2);
    free(got);
}
END_TEST

START_TEST(too_many_digits)
{
    char *digits = malloc(100002);
    memset(digits, '7', 100001);
    digits[100001] = '\0';
    begin();
    top_value((struct mt_value){.kind = MT_VALUE_BIG, .u.id = str(digits)});
    size_t n;
    free(write_out(4, MT_LIMIT, &n));
    free(digits);
}
END_TEST

/* ---- values ---- */

START_TEST(real_is_big_endian)
{
    begin();
    top_value((struct mt_value){.kind = MT_VALUE_FLOAT, .u.f = 0.8});
    EXPECT_PICKLE(2, "\x80\x02}X\x01\x00\x00\x00xq\x00G?\xe9\x99\x99\x99\x99\x99\x9as.");
}
END_TEST

START_TEST(bytes_need_protocol_3)
{
    begin();
    top_value((struct mt_value){.kind = MT_VALUE_BYTES, .u.id = str("\xff")});
    EXPECT_PICKLE(3, "\x80\x03}X\x01\x00\x00\x00xq\x00"
                     "C\x01\xffs.");
    begin();
    top_value((struct mt_value){.kind = MT_VALUE_BYTES, .u.id = str("\xff")});
    size_t n;
    free(write_out(2, MT_UNSUPPORTED, &n));
}
END_TEST

static struct mt_value container(enum mt_value_kind kind, const struct mt_value *v, uint32_t n)
{
    size_t items = kind == MT_VALUE_DICT ? 2 * (size_t)n : n;
    return (struct mt_value){.kind = (uint8_t)kind, .n = n, .u.id = mt_builder_values(b, v, items)};
}

START_TEST(tuples)
{
    static const struct mt_value v[4] = {{.kind = MT_VALUE_NONE},
                                         {.kind = MT_VALUE_BOOL, .u.i = 1},
                                         {.kind = MT_VALUE_BOOL},
                                         {.kind = MT_VALUE_INT, .u.i = 7}};
    static const struct mt_str pickles[] = {
        MT_STR_INIT("\x80\x02}X\x01\x00\x00\x00xq\x00)s."),
        MT_STR_INIT("\x80\x02}X\x01\x00\x00\x00xq\x00N\x85s."),
        MT_STR_INIT("\x80\x02}X\x01\x00\x00\x00xq\x00N\x88\x86s."),
        MT_STR_INIT("\x80\x02}X\x01\x00\x00\x00xq\x00N\x88\x89\x87s."),
        MT_STR_INIT("\x80\x02}X\x01\x00\x00\x00xq\x00(N\x88\x89K\x07ts."),
    };
    begin();
    top_value(container(MT_VALUE_TUPLE, v, (uint32_t)_i));
    expect_pickle(2, pickles[_i].p, pickles[_i].n);
}
END_TEST

/* n items: where MARK, APPEND and APPENDS fall. */
static void expect_batches(uint32_t n, size_t marks, size_t append, size_t appends)
{
    static struct mt_value v[2001];
    begin();
    for (uint32_t i = 0; i < n; i++) {
        v[i] = (struct mt_value){.kind = MT_VALUE_NONE};
    }
    top_value(container(MT_VALUE_LIST, v, n));
    size_t length, count[256] = {0};
    char *got = write_out(2, MT_OK, &length);
    for (size_t i = 11; i < length; i++) {
        count[(unsigned char)got[i]]++;
    }
    ck_assert_uint_eq(count['N'], n);
    ck_assert_uint_eq(count['('], marks);
    ck_assert_uint_eq(count['a'], append);
    ck_assert_uint_eq(count['e'], appends);
    free(got);
}

START_TEST(batches_of_1000)
{
    expect_batches(0, 0, 0, 0);
    expect_batches(1, 0, 1, 0);
    expect_batches(2, 1, 0, 1);
    expect_batches(1000, 1, 0, 1);
    expect_batches(1001, 1, 1, 1);
    expect_batches(1002, 2, 0, 2);
    expect_batches(2001, 2, 1, 2);
}
END_TEST

START_TEST(json_values)
{
    begin();
    struct mt_value list[3] = {{.kind = MT_VALUE_FLOAT, .u.f = 1.0},
                               {.kind = MT_VALUE_BIG, .u.id = str("1208925819614629174706176")},
                               {.kind = MT_VALUE_STR, .u.id = str("\xed\xa0\x80")}};
    struct mt_value pairs[8] = {{.kind = MT_VALUE_INT, .u.i = -1},
                                container(MT_VALUE_LIST, list, 3),
                                {.kind = MT_VALUE_NONE},
                                container(MT_VALUE_TUPLE, NULL, 0),
                                {.kind = MT_VALUE_BOOL, .u.i = 1},
                                {.kind = MT_VALUE_NONE},
                                {.kind = MT_VALUE_STR, .u.id = str("k")},
                                container(MT_VALUE_DICT, NULL, 0)};
    top_value(container(MT_VALUE_DICT, pairs, 4));
    expect_json("{\"x\":{\"-1\":[1.0,1208925819614629174706176,\"\\ud800\"],\"null\":[],"
                "\"true\":null,\"k\":{}}}\n");
}
END_TEST

START_TEST(json_refuses_a_tuple_as_key)
{
    begin();
    struct mt_value pair[2] = {container(MT_VALUE_TUPLE, NULL, 0), {.kind = MT_VALUE_NONE}};
    top_value(container(MT_VALUE_DICT, pair, 1));
    size_t n;
    free(write_out(0, MT_UNSUPPORTED, &n));
}
END_TEST

START_TEST(too_deep)
{
    begin();
    struct mt_value v = {.kind = MT_VALUE_NONE};
    for (int i = 0; i < 2100; i++) {
        v = container(MT_VALUE_LIST, &v, 1);
    }
    top_value(v);
    size_t n;
    free(write_out(_i == 0 ? 0 : 4, MT_LIMIT, &n));
}
END_TEST

/* ---- a whole snapshot ---- */

#define ALL(count) ((1u << (count)) - 1)

static uint32_t frame(const char *name, const char *file, int line)
{
    struct mt_frame f = {str(name), str(file), line, 0, ALL(MT_FRAME_KEY_COUNT)};
    return mt_builder_frame(b, &f);
}

static void add_events(uint32_t stack)
{
    uint32_t base = 1u << MT_EVENT_KEY_action | 1u << MT_EVENT_KEY_size |
                    1u << MT_EVENT_KEY_stream | 1u << MT_EVENT_KEY_time_us;
    uint32_t usual = base | 1u << MT_EVENT_KEY_addr | 1u << MT_EVENT_KEY_compile_context |
                     1u << MT_EVENT_KEY_pool_id | 1u << MT_EVENT_KEY_frames;
    size_t alloc = mt_builder_event_shape(b, usual, 0);
    size_t odd = mt_builder_event_shape(b, usual | MT_PRESENT_NEGATIVE_ADDR_EVENT,
                                        str("workspace_snapshot"));
    size_t oom = mt_builder_event_shape(b, base | 1u << MT_EVENT_KEY_device_free, 0);
    size_t stream = mt_builder_stream(b, UINT64_C(0xffff000000000000), true);
    struct mt_event e[3] = {
        {0x7f0000000000, 1000, 1700000000000000, stack, 0, MT_ACTION_ALLOC, (uint8_t)alloc},
        {UINT64_MAX, 5, 1700000000000001, stack, (uint16_t)stream, MT_ACTION_OTHER, (uint8_t)odd},
        {4096, 1 << 20, 1700000000000002, 0, 0, MT_ACTION_OOM, (uint8_t)oom}};
    for (size_t i = 0; i < 3; i++) {
        ck_assert(mt_builder_event(b, &e[i]));
    }
    size_t pool = mt_builder_pool(b, (struct mt_pool_id){0, 3});
    ck_assert(mt_builder_event_column(b, 1, MT_COLUMN_POOL, (uint32_t)pool));
    ck_assert(mt_builder_event_column(b, 1, MT_COLUMN_COMPILE_CONTEXT, str("0/1")));
    ck_assert(mt_builder_trace(b, 0, 3, false) && mt_builder_trace(b, 3, 0, false));
}

static void add_segment(uint32_t stack)
{
    struct mt_block block = {.addr = UINT64_C(1) << 63,
                             .size = 2 << 20,
                             .requested = 77, /* stale */
                             .stack = mt_builder_stack(b, NULL, 0),
                             .present = ALL(MT_BLOCK_KEY_history)};
    struct mt_segment g = {.addr = UINT64_C(1) << 63,
                           .total_size = 2 << 20,
                           .pool = {2, 0},
                           .stack = stack,
                           .n_blocks = 1,
                           .type_name = str("huge"),
                           .expandable = true,
                           .present = ALL(MT_SEGMENT_KEY_COUNT)};
    ck_assert(mt_builder_block(b, &block) && mt_builder_segment(b, &g, false));
}

static void build_whole(void)
{
    begin();
    uint32_t frames[2] = {frame("f", "a.py", 3), frame("<module>", "a.py", 9)};
    uint32_t stack = mt_builder_stack(b, frames, 2);
    add_events(stack);
    add_segment(stack);
    struct mt_annotation a = {str("step"), str("START"), 0, -5, 0, ALL(MT_ANNOTATION_KEY_COUNT)};
    ck_assert(mt_builder_annotation(b, &a));
    mt_builder_top(b,
                   1u << MT_TOP_KEY_segments | 1u << MT_TOP_KEY_device_traces |
                       1u << MT_TOP_KEY_external_annotations,
                   0, 0);
}

#define STACK                                                                                      \
    "[{\"name\":\"f\",\"filename\":\"a.py\",\"line\":3},"                                          \
    "{\"name\":\"<module>\",\"filename\":\"a.py\",\"line\":9}]"

START_TEST(whole_json)
{
    build_whole();
    expect_json(
        "{\"segments\":[\n"
        "{\"device\":0,\"address\":9223372036854775808,\"total_size\":2097152,"
        "\"allocated_size\":0,\"active_size\":0,\"requested_size\":0,\"stream\":0,"
        "\"segment_type\":\"huge\",\"segment_pool_id\":[2,0],\"is_expandable\":true,"
        "\"frames\":" STACK ",\"blocks\":[\n"
        "{\"address\":9223372036854775808,\"size\":2097152,\"requested_size\":77,"
        "\"state\":\"inactive\",\"frames\":[]}]}],"
        "\"device_traces\":[[\n"
        "{\"action\":\"alloc\",\"addr\":139637976727552,\"size\":1000,\"stream\":0,"
        "\"time_us\":1700000000000000,\"compile_context\":\"N/A\",\"pool_id\":[0,0],"
        "\"frames\":" STACK "},\n"
        "{\"action\":\"workspace_snapshot\",\"addr\":-1,\"size\":5,\"stream\":-281474976710656,"
        "\"time_us\":1700000000000001,\"compile_context\":\"0/1\",\"pool_id\":[0,3],"
        "\"frames\":" STACK "},\n"
        "{\"action\":\"oom\",\"device_free\":4096,\"size\":1048576,\"stream\":0,"
        "\"time_us\":1700000000000002}],[]],"
        "\"external_annotations\":[\n"
        "{\"stage\":\"START\",\"name\":\"step\",\"device\":0,\"time_us\":-5}]}\n");
}
END_TEST

static size_t occurrences(const char *p, size_t n, const char *part)
{
    size_t k = strlen(part), found = 0;
    for (size_t i = 0; i + k <= n; i++) {
        found += memcmp(p + i, part, k) == 0;
    }
    return found;
}

/* Names, frames and stacks stand in the pickle once; with FRAME from protocol 4 on. */
START_TEST(whole_pickle_shares)
{
    build_whole();
    size_t n;
    char *got = write_out(_i, MT_OK, &n);
    ck_assert_uint_eq(occurrences(got, n, "a.py"), 1);
    ck_assert_uint_eq(occurrences(got, n, "<module>"), 1);
    ck_assert_uint_eq(occurrences(got, n, "filename"), 1);
    ck_assert_uint_eq((unsigned char)got[1], (unsigned)_i);
    ck_assert_int_eq((unsigned char)got[2] == 0x95, _i >= 4);
    if (_i >= 4) {
        uint64_t length = 0;
        memcpy(&length, got + 3, 8);
        ck_assert_uint_eq(length, n - 11);
    }
    ck_assert_int_eq(got[n - 1], '.');
    free(got);
}
END_TEST

START_TEST(bare_list)
{
    begin();
    add_segment(0);
    struct mt_source source = {.format = MT_FORMAT_PICKLE, .protocol = 2, .bare_list = true};
    mt_builder_source(b, &source);
    size_t n;
    char *got = write_out(0, MT_OK, &n);
    ck_assert_mem_eq(got, "[\n{\"device\":0", 13);
    ck_assert_str_eq(got + n - 4, "]}]\n");
    free(got);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("pickle_writer");
    tcase_add_loop_test(t, integer_opcodes, 0, (int)MT_COUNT(integers));
    tcase_add_loop_test(t, big_integers, 0, (int)MT_COUNT(bigs));
    tcase_add_test(t, long4);
    tcase_add_test(t, too_many_digits);
    tcase_add_test(t, real_is_big_endian);
    tcase_add_test(t, bytes_need_protocol_3);
    tcase_add_loop_test(t, tuples, 0, 5);
    tcase_add_test(t, batches_of_1000);
    tcase_add_test(t, json_values);
    tcase_add_test(t, json_refuses_a_tuple_as_key);
    tcase_add_loop_test(t, too_deep, 0, 2);
    tcase_add_test(t, whole_json);
    tcase_add_loop_test(t, whole_pickle_shares, 2, 6);
    tcase_add_test(t, bare_list);
    return unit_run_cases("pickle_writer", t);
}
