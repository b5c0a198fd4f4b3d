/* SPDX-License-Identifier: MIT */
/*
 * Chrome's trace event format, which ui.perfetto.dev and chrome://tracing open: counters of live
 * and reserved bytes, annotations and the largest allocations as slices, out-of-memory as marks.
 * Each device is a process. Times are those of the file, so that the trace can be laid beside one
 * of torch.profiler.
 *
 * A long trace is thinned: of every run of events the highest point and the last one stay.
 */
#include "verbs/convert/exporters.h"

#include <inttypes.h>
#include <stdlib.h>

#include "print/report.h"
#include "support/hash.h"
#include "support/utf8.h"

struct mark {
    uint32_t name; /* string id */
    bool start;
    int64_t time_us;
};

struct slice {
    uint32_t name; /* string id */
    int64_t from_us, to_us;
    bool open;
    uint32_t before; /* the one of this name that was open when this began, + 1 */
};

struct tracing {
    struct mt_exporter *x;
    struct mt_replay replay;
    int32_t device;
    bool timed;
    MT_VEC(struct slice) slices;
    struct mt_idmap last; /* name -> the last slice that is open, + 1 */
};

/* ---- one event of the format ---- */

static int64_t time_of(const struct tracing *t, size_t index)
{
    return t->timed ? t->replay.events[index].time_us : (int64_t)index;
}

/* {"ph":PH,"pid":N,"ts":T,"name": - the name follows. */
static void begin_event(const struct tracing *t, const char *ph, int64_t ts)
{
    struct mt_sink *sink = t->x->sink;
    mt_sink_text(sink, ",\n{\"ph\":\"");
    mt_sink_text(sink, ph);
    mt_sink_text(sink, "\",\"pid\":");
    mt_sink_i64(sink, (int64_t)t->device + 1); /* process 0 is the kernel's idle task */
    mt_sink_text(sink, ",\"tid\":1,\"ts\":");
    mt_sink_i64(sink, ts);
    mt_sink_text(sink, ",\"name\":");
}

static void put_arg(const struct tracing *t, const char *before, uint64_t n, const char *after)
{
    mt_sink_text(t->x->sink, before);
    mt_sink_u64(t->x->sink, n);
    mt_sink_text(t->x->sink, after);
}

static void name_process(const struct tracing *t)
{
    begin_event(t, "M", 0);
    put_arg(t, "\"process_name\",\"args\":{\"name\":\"device ", (uint64_t)t->device, "\"}}");
    begin_event(t, "M", 0);
    mt_sink_text(t->x->sink, "\"thread_name\",\"args\":{\"name\":\"annotations\"}}");
}

/* ---- counters ---- */

static void put_point(const struct tracing *t, const struct mt_step *at)
{
    int64_t ts = time_of(t, at->index);
    begin_event(t, "C", ts);
    put_arg(t, "\"live bytes\",\"args\":{\"bytes\":", at->live_bytes, "}}");
    begin_event(t, "C", ts);
    put_arg(t, "\"reserved bytes\",\"args\":{\"bytes\":", at->reserved_bytes, "}}");
}

static void put_counters(struct tracing *t)
{
    uint64_t limit = t->x->o->max_samples;
    size_t run = limit && t->replay.n > limit ? 1 + 2 * t->replay.n / (size_t)limit : 1;
    struct mt_step at, highest = {0};
    size_t in_run = 0, points = 0, seen = 0;
    for (mt_replay_begin(&t->replay, &at); mt_replay_next(&t->replay, &at);) {
        if (!mt_filtered_event(t->x->o->filtered, t->device, at.index)) {
            continue;
        }
        seen++;
        highest = in_run == 0 || at.live_bytes > highest.live_bytes ? at : highest;
        if (++in_run == run) {
            if (highest.index != at.index) {
                put_point(t, &highest);
                points++;
            }
            put_point(t, &at);
            points++;
            in_run = 0;
        }
    }
    if (in_run > 0) {
        put_point(t, &highest);
        points++;
    }
    t->x->result->points_left_out += seen - points;
}

/* ---- annotations ---- */

static bool add_mark(struct tracing *t, const struct mark *m)
{
    uint32_t *found = mt_idmap_find(&t->last, m->name);
    uint32_t open = found ? *found : 0;
    if (m->start) {
        struct slice slice = {m->name, m->time_us, m->time_us, true, open};
        return mt_vec_push(&t->slices, slice) &&
               mt_idmap_put(&t->last, m->name, (uint32_t)t->slices.n);
    }
    if (open) {
        struct slice *slice = &t->slices.v[open - 1];
        slice->to_us = m->time_us;
        slice->open = false;
        *found = slice->before;
    }
    return true; /* an END without START began before the recording */
}

static bool is_start(const struct tracing *t, uint32_t stage)
{
    return mt_str_equal(mt_snapshot_str(t->x->s, stage), MT_STR("START"));
}

static bool gather_annotations(struct tracing *t)
{
    const struct mt_snapshot *s = t->x->s;
    for (size_t i = 0; i < s->n_annotations; i++) {
        const struct mt_annotation *a = &s->annotations[i];
        struct mark m = {a->name, is_start(t, a->stage), a->time_us};
        if (a->device == t->device && a->time_us != MT_NO_TIME && t->timed && !add_mark(t, &m)) {
            return false;
        }
    }
    for (size_t i = 0; i < t->replay.n; i++) {
        const struct mt_event *e = &t->replay.events[i];
        const struct mt_stack *stack = &s->stacks[e->stack];
        if (e->action != MT_ACTION_USER_DEFINED || stack->n == 0) {
            continue;
        }
        const struct mt_frame *f = &s->frames[s->stack_frames[stack->first]];
        struct mark m = {f->filename, is_start(t, f->name), time_of(t, i)};
        if (!add_mark(t, &m)) {
            return false;
        }
    }
    return true;
}

/* A name as a slice has it: its first 1,024 bytes, as in tables, since each slice writes it again.
 */
static struct mt_str shown_name(const struct tracing *t, uint32_t id)
{
    enum { SHOWN = 1024 };
    struct mt_str name = mt_snapshot_str(t->x->s, id);
    return name.n > SHOWN ? (struct mt_str){name.p, mt_utf8_cut(name.p, SHOWN)} : name;
}

static void put_annotations(const struct tracing *t)
{
    struct mt_sink *sink = t->x->sink;
    int64_t end = t->replay.n ? time_of(t, t->replay.n - 1) : 0;
    for (size_t i = 0; i < t->slices.n; i++) {
        const struct slice *slice = &t->slices.v[i];
        int64_t to = slice->open && end > slice->from_us ? end : slice->to_us;
        begin_event(t, "X", slice->from_us);
        mt_sink_json_str(sink, shown_name(t, slice->name));
        mt_sink_text(sink, ",\"cat\":\"annotation\",\"dur\":");
        mt_sink_i64(sink, to > slice->from_us ? to - slice->from_us : 0);
        mt_sink_char(sink, '}');
    }
}

/* ---- allocations and out-of-memory ---- */

struct sized {
    uint64_t size;
    uint32_t index;
};

static int larger_first(const void *a, const void *b)
{
    const struct sized *x = a, *y = b;
    return x->size != y->size ? (x->size < y->size ? 1 : -1)
                              : (x->index > y->index) - (x->index < y->index);
}

static int by_index(const void *a, const void *b)
{
    const struct sized *x = a, *y = b;
    return (x->index > y->index) - (x->index < y->index);
}

static void put_alloc(struct tracing *t, uint32_t index)
{
    static const struct mt_report plain = {.stack_lines = 1};
    struct mt_sink *sink = t->x->sink;
    const struct mt_event *e = &t->replay.events[index];
    uint32_t end = t->replay.partner[index];
    size_t last = end != MT_NEVER ? end : t->replay.n - 1;
    mt_buf_reset(&t->x->text);
    mt_stack_label(&t->x->text, t->x->s, e->stack, &plain);
    for (int half = 0; half < 2; half++) {
        begin_event(t, half ? "e" : "b", time_of(t, half ? last : index));
        mt_sink_json_str(sink, mt_buf_view(&t->x->text));
        put_arg(t, ",\"cat\":\"allocation\",\"id\":\"", index,
                half ? "\"}" : "\",\"args\":{\"bytes\":");
        if (!half) {
            put_arg(t, "", e->size, "}}");
        }
    }
}

static bool put_allocs(struct tracing *t)
{
    MT_VEC(struct sized) list = {0};
    bool ok = true;
    for (size_t i = 0; i < t->replay.n && ok; i++) {
        if (mt_event_kind(&t->replay.events[i]) == MT_STEP_ALLOC &&
            mt_filtered_event(t->x->o->filtered, t->device, i)) {
            ok = mt_vec_push(&list, ((struct sized){t->replay.events[i].size, (uint32_t)i}));
        }
    }
    size_t limit = t->x->o->max_samples ? (size_t)t->x->o->max_samples : list.n;
    if (ok && list.n > limit) {
        qsort(list.v, list.n, sizeof *list.v, larger_first);
        t->x->result->slices_left_out += list.n - limit;
        list.n = limit;
        qsort(list.v, list.n, sizeof *list.v, by_index);
    }
    for (size_t i = 0; ok && i < list.n && !mt_sink_failed(t->x->sink); i++) {
        put_alloc(t, list.v[i].index);
    }
    mt_vec_release(&list);
    return ok;
}

static void put_ooms(const struct tracing *t)
{
    for (size_t i = 0; i < t->replay.n; i++) {
        const struct mt_event *e = &t->replay.events[i];
        if (e->action == MT_ACTION_OOM && mt_filtered_event(t->x->o->filtered, t->device, i)) {
            begin_event(t, "i", time_of(t, i));
            put_arg(t, "\"out of memory\",\"s\":\"p\",\"args\":{\"requested_bytes\":", e->size, "");
            if (e->addr != MT_FREE_UNKNOWN) {
                put_arg(t, ",\"device_free_bytes\":", e->addr, "");
            }
            mt_sink_text(t->x->sink, "}}");
        }
    }
}

/* ---- all together ---- */

static bool all_timed(const struct mt_replay *r)
{
    for (size_t i = 0; i < r->n; i++) {
        if (r->events[i].time_us == MT_NO_TIME) {
            return false;
        }
    }
    return true;
}

static bool put_device(struct tracing *t)
{
    t->timed = all_timed(&t->replay);
    t->x->result->no_times |= !t->timed;
    name_process(t);
    put_counters(t);
    put_ooms(t);
    bool ok = gather_annotations(t);
    put_annotations(t);
    return ok && put_allocs(t);
}

enum mt_status mt_export_perfetto(struct mt_exporter *x, struct mt_error *err)
{
    /* An array may not begin with a comma: its first event names the program. */
    mt_sink_text(x->sink, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
                          "{\"ph\":\"M\",\"pid\":0,\"tid\":0,\"ts\":0,\"name\":\"process_name\","
                          "\"args\":{\"name\":\"memtool\"}}");
    for (size_t d = 0; d < x->devices.ids.n; d++) {
        struct tracing t = {.x = x, .device = x->devices.ids.v[d]};
        MT_TRY(mt_replay_init(&t.replay, x->s, t.device, err));
        bool ok = put_device(&t);
        mt_replay_release(&t.replay);
        mt_vec_release(&t.slices);
        mt_idmap_release(&t.last);
        if (!ok) {
            return mt_fail_nomem(err);
        }
    }
    mt_sink_text(x->sink, "]}\n");
    return MT_OK;
}
