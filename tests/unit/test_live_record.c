/* SPDX-License-Identifier: MIT */
/* Recording: settings, rings, stacks, and snapshots read back by memtool's own reader. */
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "heap/sums/account.h"
#include "torch/alloc_conf.h"
#include "snapshot/read/read.h"

#include "fake_cuda/fake_cuda.h"
#include "live/core/live.h"
#include "live/dump/whole_file.h"

static struct mt_error err;

/* ---- settings ---- */

static enum mt_status parse(struct mt_record_settings *s, const char *text)
{
    mt_record_settings_default(s);
    return mt_record_settings_parse(s, mt_str_from(text), &err);
}

START_TEST(settings)
{
    struct mt_record_settings s;
    ck_assert_int_eq(parse(&s, ""), MT_OK);
    ck_assert_uint_eq(s.max_entries, 1000000);
    ck_assert(s.on_oom && !s.at_exit && s.free_stacks);
    ck_assert_str_eq(s.path, "memtool-%p.pickle");
    ck_assert_int_eq(parse(&s, "max_entries:10,context:alloc,stacks:c,max_frames:128,dump:/a:b/%r,"
                               "on_oom:False,at_exit:True,signal:SIGUSR2,every:60,"),
                     MT_OK);
    ck_assert_uint_eq(s.max_entries, 10);
    ck_assert(!s.on_oom && s.at_exit && !s.free_stacks);
    ck_assert_int_eq(s.stacks, MT_RECORD_STACKS_C);
    ck_assert_uint_eq(s.max_frames, 128);
    ck_assert_str_eq(s.path, "/a:b/%r");
    ck_assert_int_eq(s.signal, SIGUSR2);
    ck_assert_uint_eq(s.every_s, 60);
    ck_assert_int_eq(parse(&s, "enabled:state"), MT_OK);
    ck_assert_uint_eq(s.max_entries, 0);
}
END_TEST

START_TEST(bad_settings)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"max_entries:0", "max_entries is \"0\", allowed is 1 to 1073741824"},
        {"max_entries:1073741825", "max_entries is \"1073741825\", allowed is 1 to 1073741824"},
        {"max_frames:129", "max_frames is \"129\", allowed is 1 to 128"},
        {"on_oom:true", "on_oom is \"true\", allowed is True or False"},
        {"signal:KILL", "signal is \"KILL\", allowed is a signal's name or number, but none of a "
                        "fault, KILL or STOP"},
        {"signal:11", "signal is \"11\", allowed is a signal's name or number, but none of a "
                      "fault, KILL or STOP"},
        {"every:0", "every is \"0\", allowed is 1 to 1000000 seconds"},
        {"dump:", "dump is \"\", allowed is a path of 1 to 1023 bytes"},
        {"stacks", "stacks is \"\", allowed is auto, python, c, all or none"},
        {"entries:5", "there is no setting \"entries\""},
        {"\x1b[31m\xff:5", "there is no setting \"\\x1b[31m\\xff\""},
        {"every:\n", "every is \"\\x0a\", allowed is 1 to 1000000 seconds"},
    };
    for (size_t i = 0; i < MT_COUNT(cases); i++) {
        struct mt_record_settings s;
        ck_assert_int_eq(parse(&s, cases[i].text), MT_USAGE);
        ck_assert_str_eq(err.text, cases[i].message);
    }
}
END_TEST

START_TEST(paths)
{
    char out[32];
    struct mt_record_settings s;
    ck_assert(mt_record_path("a-%p-%r.pickle", 123, "7", out, sizeof out));
    ck_assert_str_eq(out, "a-123-7.pickle");
    ck_assert(mt_record_path("100%%-%x%", 1, "0", out, sizeof out));
    ck_assert_str_eq(out, "100%-%x%");
    ck_assert(mt_record_path("a%,b%%p", 1, "0", out, sizeof out));
    ck_assert_str_eq(out, "a,b%p");
    ck_assert_int_eq(parse(&s, "dump:a%,b%%,every:7"), MT_OK);
    ck_assert_str_eq(s.path, "a%,b%%");
    ck_assert_uint_eq(s.every_s, 7);
    ck_assert(mt_record_path("0123456789012345678901234567890", 1, "0", out, sizeof out));
    ck_assert(!mt_record_path("01234567890123456789012345678901", 1, "0", out, sizeof out));
    ck_assert(!mt_record_path("", 1, "0", out, sizeof out));
}
END_TEST

START_TEST(ranks_are_numbers)
{
    static const char *const none[] = {"../x", "", "-1", "1\n", "/", "1234567890", "0x1", "1 "};
    char out[32];
    for (size_t i = 0; i < MT_COUNT(none); i++) {
        ck_assert(!mt_record_rank_check(none[i], &err));
        ck_assert(mt_record_path("a/%r", 1, none[i], out, sizeof out));
        ck_assert_str_eq(out, "a/0");
    }
    ck_assert(!mt_record_rank_check("\x1b", &err));
    ck_assert_str_eq(err.text, "RANK is \"\\x1b\", which is no number: %r in a name is 0");
    ck_assert(mt_record_rank_check("999999999", &err));
}
END_TEST

/* ---- stacks ---- */

static void raw(struct mt_raw_stack *s, uintptr_t first, uint32_t n)
{
    mt_raw_stack_reset(s);
    for (uint32_t i = 0; i < n; i++) {
        mt_raw_stack_push(s, first + i, MT_RAW_C_FRAME);
    }
}

START_TEST(stacks_are_kept_once)
{
    enum { N = 5000 };
    struct mt_stack_table t;
    struct mt_raw_stack s;
    char name[16];
    ck_assert(mt_stack_table_init(&t));
    for (uintptr_t i = 1; i <= N; i++) {
        snprintf(name, sizeof name, "f%u", (unsigned)(i % 100));
        const struct mt_frame_text texts[2] = {{mt_str_from(name), MT_STR("a.py"), 3},
                                               {MT_STR("main"), MT_STR("a.py"), (int32_t)i}};
        raw(&s, i * 1000, 1 + (uint32_t)i % 5);
        ck_assert_uint_eq(mt_stack_table_find(&t, &s), 0);
        ck_assert_uint_eq(mt_stack_table_add(&t, &s, texts, 2), i);
        ck_assert_uint_eq(mt_stack_table_add(&t, &s, texts, 2), i);
    }
    raw(&s, 77000, 1 + 77 % 5);
    ck_assert_uint_eq(mt_stack_table_find(&t, &s), 77);
    ck_assert_uint_eq(t.stacks.n, N + 1);
    ck_assert_uint_eq(t.frames.n, N + 100 + 1);
    const struct mt_live_stack *stack = &t.stacks.v[77];
    const struct mt_live_frame *frame = &t.frames.v[t.members.v[stack->first]];
    ck_assert_text(mt_intern_get(&t.strings, frame->name), "f77");
    ck_assert_int_eq(t.frames.v[t.members.v[stack->first + 1]].line, 77);
    mt_stack_table_release(&t);
}
END_TEST

/* As alike as stacks of one program are: three functions on a grid of 16 bytes, few instructions,
 * one frame that differs; every order and depth. */
static void alike(struct mt_raw_stack *s, uint32_t number)
{
    mt_raw_stack_reset(s);
    for (uint32_t left = number, i = 0; left > 0; left /= 12, i++) {
        uint32_t digit = left % 12;
        mt_raw_stack_push(s, 0x7f0000001000 + 16 * (digit % 3), 2 * (int64_t)(digit / 3));
    }
}

START_TEST(keys_tell_like_stacks_apart)
{
    enum { N = 300000, LOW = 1 << 16 };
    static bool seen[LOW];
    struct mt_stack_table t;
    struct mt_raw_stack s;
    unsigned buckets = 0;
    ck_assert(mt_stack_table_init(&t));
    for (uint32_t i = 1; i <= N; i++) {
        alike(&s, i);
        ck_assert_uint_eq(mt_stack_table_add(&t, &s, NULL, 0), i);
        if (i <= LOW) {
            buckets += !seen[s.key.hash % LOW];
            seen[s.key.hash % LOW] = true;
        }
    }
    /* N random numbers leave 1/e of N buckets empty */
    ck_assert_uint_gt(buckets, LOW * 62 / 100);
    ck_assert_uint_lt(buckets, LOW * 64 / 100 + 1);
    for (uint32_t i = 7; i <= N; i += 7) {
        alike(&s, i);
        ck_assert_uint_eq(mt_stack_table_find(&t, &s), i);
    }
    mt_stack_table_release(&t);
}
END_TEST

START_TEST(a_full_table_takes_no_stack_more)
{
    struct mt_stack_table t;
    struct mt_raw_stack s;
    ck_assert(mt_stack_table_init(&t));
    uintptr_t i = 1;
    size_t wrong = 0; /* a million checks would take seconds */
    for (; !mt_stack_table_full(&t); i++) {
        raw(&s, i * 16, 1);
        wrong += mt_stack_table_add(&t, &s, NULL, 0) != i;
    }
    ck_assert_uint_eq(wrong, 0);
    raw(&s, i * 16, 1);
    ck_assert_uint_eq(mt_stack_table_add(&t, &s, NULL, 0), 0);
    raw(&s, 16, 1);
    ck_assert_uint_eq(mt_stack_table_add(&t, &s, NULL, 0), 1);
    mt_stack_table_release(&t);
}
END_TEST

START_TEST(an_event_lies_in_one_cache_line)
{
    struct mt_recorder *r;
    struct mt_record_settings s;
    mt_record_settings_default(&s);
    s.max_entries = 1000;
    ck_assert_int_eq(mt_recorder_new(&r, &err), MT_OK);
    mt_recorder_set(r, &s);
    for (uint64_t i = 0; i < 1500; i++) {
        mt_recorder_event(r, 0, MT_RECORD_ALLOC, i, 512, 0, 0);
    }
    ck_assert_uint_eq((uintptr_t)r->rings[0].v % 64, 0);
    ck_assert_uint_eq(r->rings[0].next, 500);
    ck_assert_uint_eq(r->rings[0].v[499].addr, 1499);
    ck_assert_uint_eq(r->rings[0].v[999].addr, 999);
    mt_recorder_free(r);
}
END_TEST

/* ---- snapshots ---- */

static struct mt_live *live;
static char path[64];

static void open_live(uint64_t entries)
{
    const struct mt_live_options o = {.conf = "max_split_size_mb:64", .rank = "3"};
    struct mt_record_settings s;
    fake_cuda_reset(2, 4096 * MT_MIB);
    ck_assert_msg(mt_live_new(&o, &live, &err) == MT_OK, "%s", err.text);
    mt_record_settings_default(&s);
    s.stacks = MT_RECORD_STACKS_C;
    s.max_entries = entries;
    snprintf(path, sizeof path, "/tmp/memtool-record-%ld.pickle", (long)getpid());
    mt_live_record(live, entries ? &s : NULL);
}

static uint64_t take(uint64_t size, int device)
{
    struct mt_live_refusal refusal;
    return mt_live_allocate(live, size, device, 0, &refusal);
}

static void read_back(struct mt_snapshot *s)
{
    const struct mt_read_options o = {0};
    char name[64];
    ck_assert_msg(mt_live_dump(live, path, name, sizeof name, &err) == MT_OK, "%s", err.text);
    ck_assert_str_eq(name, path);
    ck_assert_msg(mt_snapshot_read(path, &o, s, &err) == MT_OK, "%s", err.text);
    (void)unlink(path);
}

START_TEST(a_snapshot_says_what_was)
{
    struct mt_snapshot s;
    open_live(1000);
    mt_live_mark(live, 0, "step", false);
    uint64_t a = take(1000, 0), b = take(5 * MT_MIB, 0), c = take(100, 1);
    ck_assert_int_eq(mt_live_record_stream(live, b, 0xffffffffffffff00u, &err), MT_OK);
    fake_cuda_hold_events(true);
    ck_assert_int_eq(mt_live_release(live, b, 0, &err), MT_OK);
    ck_assert_int_eq(mt_live_release(live, a, 0, &err), MT_OK);
    mt_live_mark(live, 0, "step", true);
    read_back(&s);
    struct mt_recorded recorded;
    mt_recorded_find(&recorded, &s);
    ck_assert(recorded.live && !recorded.watched);
    ck_assert_str_eq(recorded.mode, "allocator");
    ck_assert_uint_eq(s.n_segments, 3);
    ck_assert_uint_eq(s.n_traces, 2);
    ck_assert_uint_eq(s.traces[0].n, 7); /* segment, alloc, segment, alloc, free, free, completed */
    ck_assert_uint_eq(s.traces[1].n, 2);
    static const enum mt_action actions[] = {
        MT_ACTION_SEGMENT_ALLOC,  MT_ACTION_ALLOC,          MT_ACTION_SEGMENT_ALLOC,
        MT_ACTION_ALLOC,          MT_ACTION_FREE_REQUESTED, MT_ACTION_FREE_REQUESTED,
        MT_ACTION_FREE_COMPLETED, MT_ACTION_SEGMENT_ALLOC,  MT_ACTION_ALLOC};
    for (size_t i = 0; i < MT_COUNT(actions); i++) {
        ck_assert_int_eq(s.events[i].action, actions[i]);
        ck_assert_uint_gt(s.stacks[s.events[i].stack].n, 0);
        ck_assert_int_gt(s.events[i].time_us, 1600000000000000);
    }
    ck_assert_uint_eq(s.events[3].size, 5 * MT_MIB);
    ck_assert_uint_eq(s.events[3].addr, b);
    ck_assert_uint_eq(s.events[8].addr, c);
    bool pending = false;
    for (size_t i = 0; i < s.n_blocks; i++) {
        pending |= s.blocks[i].addr == b && s.blocks[i].state == MT_BLOCK_PENDING;
    }
    ck_assert(pending);
    ck_assert_uint_eq(s.n_annotations, 2);
    ck_assert_text(mt_snapshot_str(&s, s.annotations[1].name), "step");
    ck_assert_text(mt_snapshot_str(&s, s.annotations[1].stage), "END");
    mt_snapshot_release(&s);
    read_back(&s); /* the snapshot before has left a mark */
    ck_assert_uint_eq(s.traces[0].n, 8);
    ck_assert_int_eq(s.events[7].action, MT_ACTION_SNAPSHOT);
    mt_snapshot_release(&s);
    mt_live_free(live);
}
END_TEST

START_TEST(a_full_ring_keeps_the_last)
{
    struct mt_snapshot s;
    open_live(100);
    for (int i = 0; i < 500; i++) {
        ck_assert_int_eq(mt_live_release(live, take((uint64_t)i + 1, 0), 0, &err), MT_OK);
    }
    read_back(&s);
    ck_assert_uint_eq(s.traces[0].n, 100);
    ck_assert_uint_eq(s.events[99].size, 500);
    ck_assert_int_eq(s.events[99].action, MT_ACTION_FREE_COMPLETED);
    ck_assert_uint_eq(s.events[0].size, 467);
    for (size_t i = 1; i < 100; i++) {
        ck_assert_uint_ge(s.events[i].size, s.events[i - 1].size);
    }
    mt_snapshot_release(&s);
    mt_live_free(live);
}
END_TEST

START_TEST(without_recording_there_is_the_state)
{
    struct mt_snapshot s;
    open_live(0);
    (void)take(1000, 1);
    mt_live_mark(live, 0, "nobody records", false);
    read_back(&s);
    ck_assert_uint_eq(s.n_segments, 1);
    ck_assert_int_eq(s.segments[0].device, 1);
    ck_assert_uint_eq(s.n_events, 0);
    ck_assert_uint_eq(s.n_annotations, 0);
    mt_snapshot_release(&s);
    mt_live_free(live);
}
END_TEST

START_TEST(a_dump_that_fails_leaves_nothing)
{
    open_live(10);
    (void)take(1000, 0);
    ck_assert_int_eq(mt_live_dump(live, "/nonexistent/x.pickle", NULL, 0, &err), MT_OUTPUT);
    ck_assert_str_eq(err.text, "cannot create /nonexistent/x.pickle: No such file or directory");
    ck_assert_int_eq(mt_live_dump(live, "/dev/full/x", NULL, 0, &err), MT_OUTPUT);
    ck_assert_int_eq(mt_live_dump(live, "/tmp", NULL, 0, &err), MT_OUTPUT);
    mt_live_free(live);
}
END_TEST

START_TEST(long_names_of_marks_are_cut)
{
    struct mt_snapshot s;
    open_live(10);
    (void)take(1000, 0);
    mt_live_mark(live, 0, "0123456789012345678901234567890123456789012345678\xc3\xa4", false);
    read_back(&s);
    ck_assert_text(mt_snapshot_str(&s, s.annotations[0].name),
                   "0123456789012345678901234567890123456789012345678");
    mt_snapshot_release(&s);
    mt_live_free(live);
}
END_TEST

START_TEST(a_file_is_whole_or_not_there)
{
    struct mt_whole_file f;
    char text[8] = "";
    snprintf(path, sizeof path, "/tmp/memtool-whole-%ld", (long)getpid());
    ck_assert_int_eq(mt_whole_file_open(&f, path, false), 0);
    ck_assert_int_eq(write(f.fd, "new", 3), 3);
    ck_assert_int_ne(access(path, F_OK), 0);
    mt_whole_file_abandon(&f);
    ck_assert_int_ne(access(path, F_OK), 0);
    for (int i = 0; i < 2; i++) { /* the second replaces the first */
        ck_assert_int_eq(mt_whole_file_open(&f, path, false), 0);
        ck_assert_int_eq(write(f.fd, i ? "two" : "one", 3), 3);
        ck_assert_int_eq(mt_whole_file_commit(&f, path), 0);
    }
    int fd = open(path, O_RDONLY);
    ck_assert_int_eq(read(fd, text, sizeof text), 3);
    ck_assert_str_eq(text, "two");
    close(fd);
    ck_assert_int_ne(access(f.partial, F_OK), 0);
    (void)unlink(path);
}
END_TEST

UNIT_MAIN("live recording", settings, bad_settings, paths, ranks_are_numbers, stacks_are_kept_once,
          keys_tell_like_stacks_apart, a_full_table_takes_no_stack_more,
          an_event_lies_in_one_cache_line, a_snapshot_says_what_was, a_full_ring_keeps_the_last,
          without_recording_there_is_the_state, a_dump_that_fails_leaves_nothing,
          long_names_of_marks_are_cut, a_file_is_whole_or_not_there)
