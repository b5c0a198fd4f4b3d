/* SPDX-License-Identifier: MIT */
/* There and back: what is written, in every format, reads back as the same model. */
#include <stdlib.h>
#include <string.h>

#include "snapshot/model/builder.h"
#include "torch/keys.h"
#include "snapshot/read/read.h"
#include "snapshot/write/write.h"

#include "unit.h"

static char *write_out(const struct mt_snapshot *s, const struct mt_write_options *o, size_t *n)
{
    struct mt_error err;
    FILE *f = tmpfile();
    ck_assert_int_eq(mt_snapshot_write(s, o, f, &err), MT_OK);
    fflush(f);
    *n = (size_t)ftell(f);
    char *text = calloc(*n + 1, 1);
    rewind(f);
    ck_assert_uint_eq(fread(text, 1, *n, f), *n);
    fclose(f);
    return text;
}

static char *as_json(const struct mt_snapshot *s)
{
    static const struct mt_write_options o = {.format = MT_WRITE_JSON};
    size_t n;
    return write_out(s, &o, &n);
}

static void read_in(const char *p, size_t n, size_t chunk, struct mt_snapshot *s)
{
    static const struct mt_read_options o = {.hash_seed = 1};
    struct mt_error err = {0};
    enum mt_status status = mt_snapshot_read_memory(p, n, chunk, &o, s, &err);
    ck_assert_msg(status == MT_OK, "%s", err.text);
}

static const struct mt_write_options WAYS[] = {
    {MT_WRITE_PICKLE, 2, false, 0}, {MT_WRITE_PICKLE, 3, false, 0}, {MT_WRITE_PICKLE, 4, false, 0},
    {MT_WRITE_PICKLE, 5, false, 0}, {MT_WRITE_PICKLE, 4, true, 0},  {MT_WRITE_JSON, 0, false, 0},
    {MT_WRITE_JSON, 0, true, 0},
};

/* Writes s in every way, reads that whole and in crumbs, and compares as JSON. */
static void expect_round_trip(const struct mt_snapshot *s)
{
    char *want = as_json(s);
    for (size_t i = 0; i < 2 * MT_COUNT(WAYS); i++) {
        struct mt_snapshot back;
        size_t n;
        char *bytes = write_out(s, &WAYS[i / 2], &n);
        read_in(bytes, n, i % 2 ? 7 : 0, &back);
        char *got = as_json(&back);
        ck_assert_msg(strcmp(got, want) == 0, "way %zu\n%.3000s\n%.3000s", i / 2, want, got);
        free(got);
        free(bytes);
        mt_snapshot_release(&back);
    }
    free(want);
}

/* Every era and oddity, as the JSON that PyTorch's own objects give. */
static const char *const DOCUMENTS[] = {
    /* nothing */
    "{\"segments\":[],\"device_traces\":[]}",
    "[]",
    /* 1.10: a bare list, blocks without addresses, integers beyond 64 bits in unknown keys */
    "[{\"device\":1,\"address\":18446744073709551615,\"total_size\":2,\"allocated_size\":0,"
    "\"active_size\":0,\"stream\":0,\"segment_type\":\"small\",\"blocks\":[{\"size\":2,"
    "\"state\":\"inactive\"}],\"x\":[1208925819614629174706176,-1208925819614629174706176,1.5,"
    "null,true,{\"a\":[]},[[1,2],[]]]}]",
    /* 1.13 and 2.0: history */
    "{\"segments\":[{\"device\":0,\"address\":4096,\"total_size\":512,\"blocks\":[{\"size\":512,"
    "\"requested_size\":7,\"state\":\"active_allocated\",\"history\":[{\"addr\":4096,"
    "\"real_size\":7,\"frames\":[{\"name\":\"f\",\"filename\":\"a\",\"line\":1}]},"
    "{\"addr\":4096,\"real_size\":9,\"cpp_frames\":[\"x\"]}]}]}],\"device_traces\":[[]]}",
    /* 2.14: host memory, metadata, pools; a negative address; unknown words */
    "{\"segments\":[{\"device\":0,\"address\":-4096,\"total_size\":1,\"segment_type\":\"huge\","
    "\"segment_pool_id\":[0,3],\"is_expandable\":true,\"frames\":[],\"blocks\":[{\"address\":-4096,"
    "\"size\":1,\"requested_size\":99,\"state\":\"active_awaiting_free\",\"frames\":[]}]}],"
    "\"device_traces\":[[{\"action\":\"alloc\",\"addr\":-4096,\"size\":1,\"stream\":-1,"
    "\"time_us\":5,\"compile_context\":\"0/1\",\"user_metadata\":\"\\ud800\\u0000\","
    "\"internal_metadata\":\"mallocWithAddress\",\"pool_id\":[2,0],\"frames\":[{\"name\":\"f\","
    "\"filename\":\"a\",\"line\":-1,\"fx_node_op\":\"call\"}],\"category\":\"parameter\"},"
    "{\"action\":\"oom\",\"device_free\":1,\"size\":2,\"stream\":0},"
    "{\"action\":\"new_action\",\"addr\":1,\"x\":{\"deep\":[1,2.5,null,true]}}],[]],"
    "\"allocator_settings\":{\"PYTORCH_CUDA_ALLOC_CONF\":\"\",\"garbage_collection_threshold\":0.8,"
    "\"roundup_power2_divisions\":{\"1\":0}},"
    "\"external_annotations\":[{\"stage\":\"START\",\"name\":\"step\",\"device\":0,\"time_us\":1}],"
    "\"host_segments\":[{\"device\":-1,\"address\":1,\"total_size\":1,\"blocks\":[]}],"
    "\"host_traces\":[{\"action\":\"alloc\",\"addr\":1,\"size\":1,\"stream\":0}],\"x_top\":"
    "{\"one\":{\"device\":5,\"address\":9,\"total_size\":1,\"blocks\":[]},\"many\":[{\"device\":3,"
    "\"address\":5,\"total_size\":6,\"frames\":[{\"name\":\"g\",\"filename\":\"b\",\"line\":2}],"
    "\"blocks\":[{\"size\":6,\"state\":\"inactive\"}]},{\"device\":4,\"address\":7,\"total_size\":"
    "8,"
    "\"blocks\":[]}],\"event\":{\"action\":\"alloc\",\"addr\":2},\"text\":\"kept\"}}",
};

START_TEST(documents)
{
    struct mt_snapshot s;
    const char *text = DOCUMENTS[_i];
    read_in(text, strlen(text), 0, &s);
    char *again = as_json(&s);
    /* the same but for blanks between records: compare without them */
    size_t k = 0;
    for (size_t i = 0; again[i]; i++) {
        if (again[i] != '\n') {
            ck_assert_msg(again[i] == text[k], "at %zu: %.40s instead of %.40s", k, again + i,
                          text + k);
            k++;
        }
    }
    ck_assert_uint_eq(k, strlen(text));
    free(again);
    expect_round_trip(&s);
    mt_snapshot_release(&s);
}
END_TEST

/* More records than any batch: 1,000 in a pickle, 1,024 in the reader of JSON; many stacks, so that
 * memo indexes pass 256. */
START_TEST(many_events)
{
    struct mt_builder *b = mt_builder_new(1);
    struct mt_snapshot s;
    struct mt_error err;
    size_t shape = mt_builder_event_shape(
        b, 1u << MT_EVENT_KEY_action | 1u << MT_EVENT_KEY_addr | 1u << MT_EVENT_KEY_frames, 0);
    for (uint32_t i = 0; i < 5000; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%u", i % 400);
        struct mt_frame f = {mt_builder_cstr(b, name), mt_builder_cstr(b, "a.py"), (int32_t)i % 7,
                             0, (1u << MT_FRAME_KEY_COUNT) - 1};
        uint32_t frame = mt_builder_frame(b, &f);
        struct mt_event e = {.addr = i * UINT64_C(0x123456789),
                             .time_us = MT_NO_TIME,
                             .stack = mt_builder_stack(b, &frame, 1),
                             .action = MT_ACTION_ALLOC,
                             .shape = (uint8_t)shape};
        ck_assert(mt_builder_event(b, &e));
    }
    ck_assert(mt_builder_trace(b, 0, 5000, false));
    mt_builder_top(b, 1u << MT_TOP_KEY_segments | 1u << MT_TOP_KEY_device_traces, 0, 0);
    ck_assert_int_eq(mt_builder_finish(b, &s, &err), MT_OK);
    expect_round_trip(&s);
    mt_snapshot_release(&s);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("document");
    tcase_add_loop_test(t, documents, 0, (int)MT_COUNT(DOCUMENTS));
    tcase_add_test(t, many_events);
    return unit_run_cases("document", t);
}
