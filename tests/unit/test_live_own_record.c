/* SPDX-License-Identifier: MIT */
/* memtool's own key and the host's memory in snapshots, read back by memtool's own reader. */
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "torch/keys.h"
#include "snapshot/read/read.h"

#include "live/dump/dump.h"

static struct mt_error err;
static struct mt_dump *dump;
static struct mt_recorder *recorder;
static struct mt_snapshot s;
static char path[64];

static void setup(void)
{
    struct mt_record_settings settings;
    mt_record_settings_default(&settings);
    settings.stacks = MT_RECORD_STACKS_NONE;
    dump = mt_dump_new();
    ck_assert_int_eq(mt_recorder_new(&recorder, &err), MT_OK);
    mt_recorder_set(recorder, &settings);
    snprintf(path, sizeof path, "/tmp/memtool-own-%ld.pickle", (long)getpid());
}

static void teardown(void)
{
    (void)unlink(path);
    mt_dump_free(dump);
    mt_recorder_free(recorder);
    mt_snapshot_release(&s);
}

static void add(int device, uint64_t addr, uint64_t size)
{
    const struct mt_alloc_block_view block = {
        .addr = addr, .size = size, .requested = size, .state = MT_ALLOC_IN_USE};
    const struct mt_alloc_segment_view segment = {.addr = addr,
                                                  .size = size,
                                                  .allocated = size,
                                                  .active = size,
                                                  .requested = size,
                                                  .n_blocks = 1};
    ck_assert_int_eq(mt_dump_add_segment(dump, device, &segment, &block, &err), MT_OK);
    mt_recorder_event(recorder, device, MT_RECORD_ALLOC, addr, size, 0, 0);
}

static void write_and_read(void)
{
    const struct mt_read_options o = {0};
    ck_assert_int_eq(mt_dump_add_recorder(dump, recorder, 1, &err), MT_OK);
    ck_assert_int_eq(mt_dump_write(dump, NULL, MT_SNAPSHOT_EXIT, path, &err), MT_OK);
    enum mt_status status = mt_snapshot_read(path, &o, &s, &err);
    ck_assert_msg(status == MT_OK, "%s", err.text);
}

static const struct mt_value *at(const struct mt_value *list, uint32_t i)
{
    ck_assert(list && list->kind == MT_VALUE_LIST && i < list->n);
    return &s.values[list->u.id + i];
}

static const struct mt_value *under(const struct mt_value *dict, const char *key)
{
    return dict ? mt_value_find(&s, dict, key) : NULL;
}

static void is(const struct mt_value *dict, const char *key, int64_t n)
{
    const struct mt_value *v = under(dict, key);
    ck_assert_msg(v && v->kind == MT_VALUE_INT, "%s", key);
    ck_assert_int_eq(v->u.i, n);
}

START_TEST(host_apart)
{
    setup();
    add(0, 0x7000, 512);
    add(MT_RECORD_HOST, 0x9000, 4096);
    ck_assert_uint_eq(mt_dump_segment_bytes(dump, 0), 512);
    ck_assert_uint_eq(mt_dump_segment_bytes(dump, MT_RECORD_HOST), 4096);
    write_and_read();
    ck_assert_uint_eq(s.n_segments, 1);
    ck_assert_uint_eq(s.n_traces, 1);
    ck_assert_uint_eq(s.n_host_segments, 1);
    ck_assert_int_eq(s.host_segments[0].device, -1);
    ck_assert_uint_eq(s.host_segments[0].total_size, 4096);
    ck_assert_uint_eq(s.n_host_traces, 1);
    ck_assert(s.host_trace_is_flat);
    ck_assert_uint_eq(s.host_traces[0].n, 1);
    ck_assert_uint_eq(s.own, 0);
    teardown();
}
END_TEST

START_TEST(nothing_to_say)
{
    setup();
    add(0, 0x7000, 512);
    write_and_read();
    ck_assert_uint_eq(s.own, 0);
    ck_assert_uint_eq(s.n_host_traces, 0);
    ck_assert(!(s.present >> MT_TOP_KEY_host_segments & 1));
    teardown();
}
END_TEST

static void push_library(struct mt_own *own, int device, const char *library, uint64_t current,
                         uint64_t code)
{
    const struct mt_own_library l = {device, mt_str_from(library), .current = current,
                                     .peak = 2 * current, .code = code};
    ck_assert(mt_vec_push(&own->libraries, l));
}

START_TEST(figures)
{
    setup();
    struct mt_own own = {.mode = "record", .runtime_calls = 3, .lookups = 7};
    const struct mt_own_device device = {
        .device = 1, .total = {true, 1000}, .free_start = {true, 900}, .free_dump = {false, 77}};
    const struct mt_own_device host = {.device = MT_RECORD_HOST, .seen = {true, 50}};
    ck_assert(mt_vec_push(&own.devices, device) && mt_vec_push(&own.devices, host));
    push_library(&own, 1, "/lib/b.so", 10, 0);
    push_library(&own, MT_RECORD_HOST, "/lib/h.so", 50, 0);
    push_library(&own, 1, "", 4, 0);
    push_library(&own, 1, "/lib/a.so", 10, 0);
    push_library(&own, 1, "/lib/code.so", 0, 60);
    mt_dump_take_own(dump, &own);
    ck_assert_uint_eq(own.devices.n, 0);
    write_and_read();
    const struct mt_value *root = &s.values[s.own], *d = at(under(root, "devices"), 0);
    ck_assert_uint_eq(under(root, "devices")->n, 1);
    is(d, "device", 1);
    is(d, "free_start_bytes", 900);
    ck_assert_ptr_null(under(d, "free_dump_bytes")); /* not known: not there */
    is(d, "code_bytes", 60);
    static const char *const order[] = {"/lib/code.so", "/lib/a.so", "/lib/b.so", "??"};
    const struct mt_value *libraries = under(d, "libraries");
    ck_assert_uint_eq(libraries->n, MT_COUNT(order));
    for (uint32_t i = 0; i < MT_COUNT(order); i++) {
        const struct mt_value *name = under(at(libraries, i), "library");
        ck_assert(mt_str_equal(mt_snapshot_str(&s, name->u.id), mt_str_from(order[i])));
    }
    is(at(libraries, 1), "peak_bytes", 20);
    ck_assert_ptr_null(under(at(libraries, 1), "code_bytes"));
    is(under(root, "host"), "seen_bytes", 50);
    ck_assert_ptr_null(under(under(root, "host"), "device"));
    is(under(root, "doors"), "runtime_calls", 3);
    is(under(root, "doors"), "lookups", 7);
    teardown();
}
END_TEST

UNIT_MAIN("live: beside the allocations", host_apart, nothing_to_say, figures)
