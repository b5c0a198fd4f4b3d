/* SPDX-License-Identifier: MIT */
/* Files beside snapshots that tell requests and frees: traces and timelines of torch.profiler, the
 * log of RMM. */
#include <stdio.h>
#include <string.h>

#include "heap/walk/replay.h"
#include "snapshot/read/read.h"
#include "unit.h"

static enum mt_status read_text(const char *text, struct mt_snapshot *s, struct mt_error *err)
{
    struct mt_read_options o = {0};
    return mt_snapshot_read_memory(text, strlen(text), 7, &o, s, err);
}

static struct mt_snapshot snapshot_of(const char *text, enum mt_told told)
{
    struct mt_snapshot s;
    struct mt_error err;
    enum mt_status status = read_text(text, &s, &err);
    ck_assert_msg(status == MT_OK, "%s", err.text);
    ck_assert_int_eq(s.source.told, told);
    return s;
}

static uint64_t live_of(const struct mt_snapshot *s)
{
    uint64_t live = 0;
    for (size_t i = 0; i < s->n_blocks; i++) {
        live += s->blocks[i].state != MT_BLOCK_INACTIVE ? s->blocks[i].size : 0;
    }
    return live;
}

static uint64_t reserved_of(const struct mt_snapshot *s)
{
    uint64_t reserved = 0;
    for (size_t i = 0; i < s->n_segments; i++) {
        reserved += s->segments[i].total_size;
    }
    return reserved;
}

#define MEMORY(ts, bytes, addr, allocated, reserved)                                               \
    "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":5,\"ts\":" #ts                          \
    ",\"args\":{\"Bytes\":" #bytes ",\"Addr\":" #addr                                              \
    ",\"Device Id\":0,\"Device Type\":1,\"Total Allocated\":" #allocated                           \
    ",\"Total Reserved\":" #reserved "}}"
#define SPAN(cat, name, tid, ts, dur)                                                              \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":1,\"tid\":" #tid              \
    ",\"ts\":" #ts ",\"dur\":" #dur "}"

/* Order in the file is not that of time; spans of another thread are no part of the stack; what was
 * there before the trace is the difference to the sums. */
START_TEST(a_trace)
{
    struct mt_snapshot s = snapshot_of(
        "{\"baseTimeNanoseconds\":1700000000000000000,\"traceEvents\":[" MEMORY(
            20, -4000, 9000, 1000,
            8000) "," SPAN("python_function", "train.py(12): forward", 5, 5,
                           10) "," SPAN("cpu_op", "aten::mm", 5, 6,
                                        5) "," SPAN("cpu_op", "aten::other", 6, 0,
                                                    50) "," SPAN("user_annotation",
                                                                 "ProfilerStep#3", 5, 0,
                                                                 40) "," MEMORY(8, 4000, 9000, 5000,
                                                                                8000) "]}",
        MT_TOLD_TRACE);
    ck_assert_uint_eq(s.traces[0].n, 2);
    const struct mt_event *a = &s.events[0], *b = &s.events[1];
    ck_assert(a->action == MT_ACTION_ALLOC && b->action == MT_ACTION_FREE_COMPLETED);
    ck_assert_int_eq(b->time_us - a->time_us, 12);
    ck_assert_uint_eq(s.stacks[a->stack].n, 2);
    const struct mt_frame *inner = &s.frames[s.stack_frames[s.stacks[a->stack].first]];
    const struct mt_frame *outer = inner;
    outer = &s.frames[s.stack_frames[s.stacks[a->stack].first + 1]];
    ck_assert(mt_str_equal(mt_snapshot_str(&s, inner->name), MT_STR("aten::mm")));
    ck_assert(mt_str_equal(mt_snapshot_str(&s, outer->filename), MT_STR("train.py")));
    ck_assert_int_eq(outer->line, 12);
    ck_assert_uint_eq(live_of(&s), 1000);
    ck_assert_uint_eq(reserved_of(&s), 8000);
    ck_assert_uint_eq(s.n_annotations, 2);
    mt_snapshot_release(&s);
}
END_TEST

START_TEST(a_trace_without_memory)
{
    struct mt_snapshot s;
    struct mt_error err;
    ck_assert_int_eq(read_text("{\"traceEvents\":[]}", &s, &err), MT_FORMAT);
    ck_assert(strstr(err.text, "profile_memory=True") != NULL);
    ck_assert_int_eq(read_text("{\"traceEvents\":[{\"name\":\"[memory]\",\"args\":{\"Bytes\":1,"
                               "\"Device Id\":-1}}]}",
                               &s, &err),
                     MT_FORMAT); /* of the host */
}
END_TEST

/* Sums by category: their changes are the events; the peak is the largest sum. */
START_TEST(a_timeline)
{
    struct mt_snapshot s = snapshot_of(
        "[[1,2,3],[[0,10,0,0,0,0,0,0,0],[0,10,20,0,0,0,0,0,0],[0,4,0,0,0,0,0,0,0]]]", MT_TOLD_SUMS);
    struct mt_replay r;
    struct mt_error err;
    ck_assert_uint_eq(live_of(&s), 4);
    ck_assert_int_eq(mt_replay_init(&r, &s, 0, &err), MT_OK);
    struct mt_step at;
    uint64_t peak = 0;
    for (mt_replay_begin(&r, &at); mt_replay_next(&r, &at);) {
        peak = at.live_bytes > peak ? at.live_bytes : peak;
    }
    ck_assert_uint_eq(peak, 30);
    mt_replay_release(&r);
    mt_snapshot_release(&s);
}
END_TEST

START_TEST(a_raw_timeline)
{
    struct mt_snapshot s = snapshot_of("[[-1,\"preexisting\",100,0],[5000,\"create\",50,4],"
                                       "[6000,\"increment_version\",50,4],[9000,\"destroy\",50,4]]",
                                       MT_TOLD_TIMELINE);
    ck_assert_uint_eq(s.traces[0].n, 3);
    ck_assert_int_eq(s.events[0].time_us, 5); /* what was there before has the first time told */
    ck_assert_uint_eq(live_of(&s), 100);
    mt_snapshot_release(&s);
}
END_TEST

START_TEST(a_log_of_rmm)
{
    struct mt_snapshot s = snapshot_of("Thread,Time,Action,Pointer,Size,Stream\r\n"
                                       "1,23:59:59:999999,allocate,0x10,100,0x0\r\n"
                                       "1,00:00:00:000004,allocate,0x200,50,0x7\r\n"
                                       "no line of it\r\n"
                                       "1,00:00:00:000005,allocate failure,(nil),1000,0x0\r\n"
                                       "1,00:00:01:000000,free,0x10,100,0x0\r\n",
                                       MT_TOLD_RMM);
    ck_assert_uint_eq(s.traces[0].n, 4);
    ck_assert_int_eq(s.events[1].time_us - s.events[0].time_us, 5); /* over midnight */
    ck_assert_int_eq(s.events[2].action, MT_ACTION_OOM);
    ck_assert_uint_eq(live_of(&s), 50);
    mt_snapshot_release(&s);
}
END_TEST

/* Values that no profiler writes: read as far as they mean something, never a crash. */
START_TEST(odd_values)
{
    static const char *const TEXTS[] = {
        "{\"traceEvents\":[{\"name\":\"[memory]\",\"ts\":1e400,\"args\":{\"Bytes\":-"
        "9223372036854775808,"
        "\"Device Id\":0}}]}",
        "{\"traceEvents\":[{\"name\":\"[memory]\",\"args\":{\"Bytes\":1,\"Device Id\":99999999}}]}",
        "{\"traceEvents\":{}}",
        "[[1,2],[[0,0,0,0,0,0,0,18446744073709551615],[0,0,0,0,0,0,0,1]]]",
        "[[1,\"create\",-1,99],[2,\"destroy\",9223372036854775807,99]]",
        "[[1],[7]]",
        "1,10:00:00:000001,allocate,0xffffffffffffffff,18446744073709551615,0x0\n"
        "1,10:00:00:000002,free,0xffffffffffffffff,1,0x0\n",
    };
    for (size_t i = 0; i < MT_COUNT(TEXTS); i++) {
        struct mt_snapshot s;
        struct mt_error err;
        if (read_text(TEXTS[i], &s, &err) == MT_OK) {
            ck_assert(mt_snapshot_check(&s) == NULL);
            mt_snapshot_release(&s);
        }
    }
}
END_TEST

UNIT_MAIN("told", a_trace, a_trace_without_memory, a_timeline, a_raw_timeline, a_log_of_rmm,
          odd_values)
