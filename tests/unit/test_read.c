/* SPDX-License-Identifier: MIT */
/* Whole files through the reader: every container and dialect, in pieces of every size, cut
 * anywhere. */
#include <stdio.h>
#include <stdlib.h>

#include "torch/keys.h"
#include "snapshot/read/read.h"

#include "same_model.h"
#include "unit.h"

static struct mt_snapshot read_file(const char *name, size_t chunk)
{
    struct mt_read_options o = {0};
    struct mt_snapshot s;
    struct mt_error err;
    size_t n;
    unsigned char *p = read_testdata(name, &n);
    enum mt_status status = mt_snapshot_read_memory(p, n, chunk, &o, &s, &err);
    free(p);
    ck_assert_msg(status == MT_OK, "%s in pieces of %zu: %s", name, chunk, err.text);
    return s;
}

static void assert_same(const char *a, const char *b)
{
    struct mt_snapshot x = read_file(a, 0);
    struct mt_snapshot y = read_file(b, 0);
    const char *difference = same_model(&x, &y);
    ck_assert_msg(difference == NULL, "%s and %s differ: %s", a, b, difference);
    mt_snapshot_release(&x);
    mt_snapshot_release(&y);
}

START_TEST(every_container_gives_the_same_model)
{
    static const char *const names[] = {
        "protocol1.pickle",     "protocol2.pickle", "protocol3.pickle", "protocol5.pickle",
        "plain.json.gz",        "pickle.gz",        "page.html",        "torch_save.pt",
        "trailing_nuls.pickle", "protocol0.pickle"};
    for (size_t i = 0; i < MT_COUNT(names); i++) {
        char path[64];
        snprintf(path, sizeof path, "good/%s", names[i]);
        assert_same("good/graphs.pickle", path);
    }
}
END_TEST

START_TEST(pieces_of_any_size_give_the_same_model)
{
    static const char *const names[] = {
        "good/graphs.pickle", "good/protocol0.pickle",   "good/plain.json.gz",     "good/page.html",
        "good/torch_save.pt", "good/newest_keys.pickle", "good/cpp_dump.pickle.gz"};
    for (size_t i = 0; i < MT_COUNT(names); i++) {
        struct mt_snapshot whole = read_file(names[i], 0);
        for (size_t chunk = 1; chunk < 32; chunk++) {
            struct mt_snapshot pieces = read_file(names[i], chunk);
            const char *difference = same_model(&whole, &pieces);
            ck_assert_msg(!difference, "%s in pieces of %zu: %s", names[i], chunk, difference);
            mt_snapshot_release(&pieces);
        }
        mt_snapshot_release(&whole);
    }
}
END_TEST

START_TEST(fields_of_a_real_file)
{
    struct mt_snapshot s = read_file("good/true_oom.pickle", 0);
    ck_assert_uint_eq(s.n_events, 47);
    ck_assert_uint_eq(s.n_segments, 23);
    ck_assert_uint_eq(s.n_traces, 1);
    ck_assert_int_eq(s.source.protocol, 4);
    ck_assert(!s.source.cpp_writer);
    const struct mt_event *oom = &s.events[s.traces[0].first + s.traces[0].n - 1];
    while (oom->action != MT_ACTION_OOM) {
        oom--;
    }
    ck_assert(s.event_shapes[oom->shape].present >> MT_EVENT_KEY_device_free & 1);
    ck_assert(!(s.event_shapes[oom->shape].present >> MT_EVENT_KEY_addr & 1));
    ck_assert_uint_gt(oom->size, 0);
    ck_assert(s.settings != 0);
    ck_assert_int_eq(s.values[s.settings].kind, MT_VALUE_DICT);
    mt_snapshot_release(&s);
}
END_TEST

START_TEST(cpp_writer_is_told_by_its_integers)
{
    struct mt_snapshot s = read_file("good/cpp_dump.pickle.gz", 0);
    ck_assert(s.source.cpp_writer);
    ck_assert_int_eq(s.source.protocol, 2);
    ck_assert_uint_eq(s.n_events, 1381);
    mt_snapshot_release(&s);
}
END_TEST

START_TEST(several_devices_have_a_trace_each)
{
    struct mt_snapshot s = read_file("good/two_devices.pickle", 0);
    ck_assert_uint_eq(s.n_traces, 3);
    size_t n = 0;
    for (size_t d = 0; d < s.n_traces; d++) {
        ck_assert(s.traces[d].n == 0 || s.traces[d].first == n);
        n += s.traces[d].n;
    }
    ck_assert_uint_eq(n, s.n_events);
    mt_snapshot_release(&s);
}
END_TEST

START_TEST(history_fills_blocks_of_old_files)
{
    struct mt_snapshot s = read_file("good/torch20_history_blocks.pickle.gz", 0);
    uint64_t at = 0;
    for (size_t i = 0; i < s.n_blocks; i++) {
        const struct mt_block *b = &s.blocks[i];
        const struct mt_segment *segment = &s.segments[b->segment];
        at = i == segment->first_block ? segment->addr : at;
        ck_assert_uint_eq(b->addr, at);
        at += b->size;
        if (b->state == MT_BLOCK_ALLOCATED && b->history_n) {
            ck_assert_uint_gt(b->stack, 0);
        }
    }
    ck_assert_uint_gt(s.n_history, 0);
    mt_snapshot_release(&s);
}
END_TEST

START_TEST(newest_keys_are_kept)
{
    struct mt_snapshot s = read_file("good/newest_keys.pickle", 0);
    ck_assert_uint_eq(s.n_host_segments, 1);
    ck_assert_uint_eq(s.n_host_traces, 1);
    ck_assert(s.host_trace_is_flat);
    ck_assert_text(mt_snapshot_str(&s, s.extras[s.extra].key), "x_top");
    ck_assert_ptr_nonnull(s.columns[MT_COLUMN_EXTRA]);
    bool annotated = false;
    for (size_t i = 0; i < s.n_events; i++) {
        annotated |= s.events[i].action == MT_ACTION_ANNOTATE;
    }
    ck_assert(annotated);
    mt_snapshot_release(&s);
}
END_TEST

START_TEST(addresses_above_the_sign_bit)
{
    struct mt_snapshot s = read_file("good/high_addresses.pickle", 0);
    ck_assert_uint_gt(s.segments[0].addr, (uint64_t)INT64_MAX);
    ck_assert_uint_gt(s.events[0].addr, (uint64_t)INT64_MAX);
    mt_snapshot_release(&s);
}
END_TEST

START_TEST(aliases_and_unknown_actions)
{
    struct mt_snapshot s = read_file("good/aliases.pickle", 0);
    bool pending = false;
    bool other = false;
    for (size_t i = 0; i < s.n_blocks; i++) {
        pending |= s.blocks[i].state == MT_BLOCK_PENDING && s.blocks[i].state_name != 0;
    }
    for (size_t i = 0; i < s.n_events; i++) {
        other |= s.events[i].action == MT_ACTION_OTHER &&
                 s.event_shapes[s.events[i].shape].action_name != 0;
    }
    ck_assert(pending && other);
    mt_snapshot_release(&s);
}
END_TEST

/* A file that ends at any byte is an error, and with salvage gives a model that is whole in itself.
 */
START_TEST(cut_anywhere)
{
    size_t n;
    unsigned char *p = read_testdata("good/graphs.pickle", &n);
    size_t most = 0;
    for (size_t cut = 0; cut < n; cut += cut < 400 ? 1 : 7) {
        struct mt_read_options o = {0};
        struct mt_snapshot s;
        struct mt_error err;
        ck_assert_int_ne(mt_snapshot_read_memory(p, cut, 0, &o, &s, &err), MT_OK);
        ck_assert_uint_gt(strlen(err.text), 0);
        o.salvage = true;
        if (mt_snapshot_read_memory(p, cut, 0, &o, &s, &err) == MT_OK) {
            ck_assert(s.source.salvaged);
            ck_assert_uint_le(s.source.damage_offset, cut);
            ck_assert_uint_ge(s.n_events, most);
            most = s.n_events;
            mt_snapshot_release(&s);
        }
    }
    ck_assert_uint_gt(most, 40);
    free(p);
}
END_TEST

/* The user_metadata of the only event of a JSON snapshot in which it is spelled so. */
static void assert_text(const char *spelled, const char *expected)
{
    char json[512];
    struct mt_read_options o = {0};
    struct mt_snapshot s;
    struct mt_error err;
    int n = snprintf(json, sizeof json,
                     "{\"segments\": [], \"device_traces\": [[{\"action\": \"alloc\", \"addr\": 1, "
                     "\"size\": 1, \"stream\": 0, \"user_metadata\": \"%s\", \"frames\": []}]]}",
                     spelled);
    for (size_t chunk = 0; chunk < 3; chunk++) {
        ck_assert_int_eq(mt_snapshot_read_memory(json, (size_t)n, chunk, &o, &s, &err), MT_OK);
        uint32_t id = mt_event_column_get(&s, 0, MT_COLUMN_USER_METADATA);
        ck_assert_msg(mt_str_equal(mt_snapshot_str(&s, id), mt_str_from(expected)), "%s", spelled);
        mt_snapshot_release(&s);
    }
}

/* Quotes and backslashes end a run of plain bytes at each place of the eight. */
START_TEST(strings_of_json_end_where_they_end)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    for (int n = 0; n <= 26; n++) {
        char spelled[64], expected[64];
        snprintf(spelled, sizeof spelled, "%.*s", n, letters);
        assert_text(spelled, spelled);
        snprintf(spelled, sizeof spelled, "%.*s\\\"%s", n, letters, letters + n);
        snprintf(expected, sizeof expected, "%.*s\"%s", n, letters, letters + n);
        assert_text(spelled, expected);
        snprintf(spelled, sizeof spelled, "%.*s\\\\", n, letters);
        snprintf(expected, sizeof expected, "%.*s\\", n, letters);
        assert_text(spelled, expected);
    }
}
END_TEST

/* Texts met lately are told apart also where their ends are alike. */
START_TEST(strings_with_the_same_ends)
{
    static const char json[] =
        "{\"segments\": [], \"device_traces\": [[{\"action\": \"alloc\", \"addr\": 1, \"size\": 1, "
        "\"stream\": 0, \"frames\": ["
        "{\"name\": \"aaaaaaaa1bbbbbbbb\", \"filename\": \"abcxyz\", \"line\": 1},"
        "{\"name\": \"aaaaaaaa2bbbbbbbb\", \"filename\": \"abcdxyz\", \"line\": 1},"
        "{\"name\": \"aaaaaaaa1bbbbbbbb\", \"filename\": \"abqxyz\", \"line\": 1},"
        "{\"name\": \"aba\", \"filename\": \"aca\", \"line\": 1}]}]]}";
    static const char *const names[] = {"aaaaaaaa1bbbbbbbb", "aaaaaaaa2bbbbbbbb",
                                        "aaaaaaaa1bbbbbbbb", "aba"};
    static const char *const files[] = {"abcxyz", "abcdxyz", "abqxyz", "aca"};
    struct mt_read_options o = {0};
    struct mt_snapshot s;
    struct mt_error err;
    ck_assert_int_eq(mt_snapshot_read_memory(json, sizeof json - 1, 0, &o, &s, &err), MT_OK);
    const struct mt_stack *stack = &s.stacks[s.events[0].stack];
    ck_assert_uint_eq(stack->n, 4);
    for (uint32_t i = 0; i < stack->n; i++) {
        const struct mt_frame *f = &s.frames[s.stack_frames[stack->first + i]];
        ck_assert(mt_str_equal(mt_snapshot_str(&s, f->name), mt_str_from(names[i])));
        ck_assert(mt_str_equal(mt_snapshot_str(&s, f->filename), mt_str_from(files[i])));
    }
    mt_snapshot_release(&s);
}
END_TEST

UNIT_MAIN("read", every_container_gives_the_same_model, pieces_of_any_size_give_the_same_model,
          fields_of_a_real_file, cpp_writer_is_told_by_its_integers,
          several_devices_have_a_trace_each, history_fills_blocks_of_old_files,
          newest_keys_are_kept, addresses_above_the_sign_bit, aliases_and_unknown_actions,
          cut_anywhere, strings_of_json_end_where_they_end, strings_with_the_same_ends)
