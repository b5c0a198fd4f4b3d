/* SPDX-License-Identifier: MIT */
/*
 * Events as each writer spells them, read whole, where they are taken in one go, and in small
 * pieces, where the plain loop reads them opcode by opcode: both must give the same model.
 */
#include <stdio.h>
#include <string.h>

#include "snapshot/read/read.h"

#include "snapshot/read/pickle_ops.h"
#include "same_model.h"
#include "unit.h"

enum writer { PYTHON4, PYTHON2, CPP };
enum { EVENTS = 2000, FRAMES = 40, STREAMS = 3 };

struct file {
    enum writer writer;
    bool pools;
    struct mt_buf out;
    uint32_t stored; /* memo entries */
    uint32_t keys[16], actions[3], frames[FRAMES], list;
};

static void op(struct file *f, uint8_t code)
{
    mt_buf_add(&f->out, &code, 1);
}

static void bytes(struct file *f, uint64_t v, size_t n)
{
    mt_buf_add(&f->out, &v, n); /* tests run on little-endian hosts */
}

/* Stores the top of the stack. */
static uint32_t put(struct file *f)
{
    if (f->writer == PYTHON4) {
        op(f, MT_OP_MEMOIZE);
    } else {
        op(f, f->stored < 256 ? MT_OP_BINPUT : MT_OP_LONG_BINPUT);
        bytes(f, f->stored, f->stored < 256 ? 1 : 4);
    }
    return f->stored++;
}

static void get(struct file *f, uint32_t index)
{
    op(f, index < 256 ? MT_OP_BINGET : MT_OP_LONG_BINGET);
    bytes(f, index, index < 256 ? 1 : 4);
}

static void integer(struct file *f, uint64_t v)
{
    bool small = v < 256;
    unsigned n = f->writer == CPP ? 8 : v < UINT64_C(1) << 39 ? 5 : v < UINT64_C(1) << 47 ? 6 : 7;
    op(f, small ? MT_OP_BININT1 : v < 65536 ? MT_OP_BININT2 : MT_OP_LONG1);
    if (v >= 65536) {
        bytes(f, n, 1);
    }
    bytes(f, v, small ? 1 : v < 65536 ? 2 : n);
}

static uint32_t text(struct file *f, const char *s)
{
    bool is_short = f->writer == PYTHON4;
    op(f, is_short ? MT_OP_SHORT_BINUNICODE : MT_OP_BINUNICODE);
    bytes(f, strlen(s), is_short ? 1 : 4);
    mt_buf_add(&f->out, s, strlen(s));
    return put(f);
}

/* A key or action: itself the first time, its name in the memo (+ 1 in *at) from then on. */
static void word(struct file *f, uint32_t *at, const char *s)
{
    if (*at) {
        get(f, *at - 1);
    } else {
        *at = text(f, s) + 1;
    }
}

static void frame(struct file *f, unsigned i)
{
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    uint32_t *at = &f->frames[i % FRAMES];
    if (*at) {
        get(f, *at - 1);
        return;
    }
    op(f, MT_OP_EMPTY_DICT);
    *at = f->writer == CPP ? 0 : put(f) + 1;
    op(f, MT_OP_MARK);
    word(f, &f->keys[10], "name");
    text(f, names[i % 5]);
    word(f, &f->keys[11], "filename");
    text(f, "f.py");
    word(f, &f->keys[12], "line");
    integer(f, i % FRAMES);
    op(f, MT_OP_SETITEMS);
    *at = f->writer == CPP ? put(f) + 1 : *at;
}

/* Lists repeat as those of a training loop do, but for some; every seventh is shared with the event
 * before. */
static void frames(struct file *f, unsigned i)
{
    unsigned n = i % 5 == 0 ? 0 : i % 11 == 0 ? 1 + i % 60 : 1 + i % 5;
    if (i % 7 == 0 && f->list) {
        get(f, f->list - 1);
        return;
    }
    op(f, MT_OP_EMPTY_LIST);
    f->list = f->writer == CPP ? 0 : put(f) + 1;
    bool bare = f->writer != CPP && n < 2;
    if (!bare) {
        op(f, MT_OP_MARK);
    }
    for (unsigned j = 0; j < n; j++) {
        frame(f, i % 5 + j + (i % 13 == 0));
    }
    if (!bare || n == 1) {
        op(f, bare ? MT_OP_APPEND : MT_OP_APPENDS);
    }
    f->list = f->writer == CPP ? put(f) + 1 : f->list;
}

static void event(struct file *f, unsigned i)
{
    static const char *const actions[] = {"alloc", "free_requested", "free_completed"};
    op(f, MT_OP_EMPTY_DICT);
    if (f->writer != CPP) {
        put(f);
    }
    op(f, MT_OP_MARK);
    word(f, &f->keys[0], "action");
    word(f, &f->actions[i % 3], actions[i % 3]);
    word(f, &f->keys[1], "addr");
    integer(f, i % 100 == 3 ? i : UINT64_C(0x7f5912345600) + 512 * i);
    word(f, &f->keys[2], "size");
    integer(f, 3000 * (i % 5) + i % 3);
    word(f, &f->keys[3], "stream");
    integer(f, i / 4 % STREAMS ? UINT64_C(0x5d8000000000) + i / 4 % STREAMS : 0);
    if (f->writer != CPP) {
        word(f, &f->keys[4], "time_us");
        integer(f, UINT64_C(1795960905518189) + i);
    }
    word(f, &f->keys[5], "compile_context");
    text(f, i % 50 == 9 ? "0/1" : "N/A");
    word(f, &f->keys[6], "user_metadata");
    word(f, &f->keys[7], "");
    if (f->writer == CPP) {
        word(f, &f->keys[4], "time_us");
        integer(f, UINT64_C(1795960905518189) + i);
    }
    if (f->pools) {
        word(f, &f->keys[8], "pool_id");
        integer(f, i % 40 < 20);
        integer(f, 0);
        op(f, MT_OP_TUPLE2);
        if (f->writer != CPP) {
            put(f);
        }
    }
    if (i % 30 != 4) {
        word(f, &f->keys[9], "frames");
        frames(f, i);
    }
    op(f, MT_OP_SETITEMS);
    if (f->writer == CPP) {
        put(f);
    }
}

static void write_file(struct file *f)
{
    op(f, MT_OP_PROTO);
    op(f, f->writer == PYTHON4 ? 4 : 2);
    op(f, MT_OP_EMPTY_DICT);
    op(f, MT_OP_MARK);
    text(f, "segments");
    op(f, MT_OP_EMPTY_LIST);
    text(f, "device_traces");
    op(f, MT_OP_EMPTY_LIST);
    op(f, MT_OP_MARK);
    op(f, MT_OP_EMPTY_LIST);
    op(f, MT_OP_MARK);
    for (unsigned i = 0; i < EVENTS; i++) {
        event(f, i);
    }
    op(f, MT_OP_APPENDS);
    op(f, MT_OP_APPENDS);
    op(f, MT_OP_SETITEMS);
    op(f, MT_OP_STOP);
}

static void read_in_pieces(const struct file *f, size_t piece, struct mt_snapshot *s)
{
    struct mt_read_options o = {0};
    struct mt_error err;
    enum mt_status status = mt_snapshot_read_memory(f->out.p, f->out.n, piece, &o, s, &err);
    ck_assert_msg(status == MT_OK, "writer %d, pieces of %zu: %s", (int)f->writer, piece, err.text);
}

static void assert_same(const struct mt_snapshot *a, const struct mt_snapshot *b, int writer)
{
    const char *difference = same_model(a, b);
    ck_assert_msg(!difference, "writer %d: %s differs", writer, difference);
}

START_TEST(every_writer_reads_the_same_whole_and_in_pieces)
{
    for (int pools = 0; pools < 2; pools++) {
        struct mt_snapshot whole[3];
        for (int writer = PYTHON4; writer <= CPP; writer++) {
            struct file f = {.writer = (enum writer)writer, .pools = pools};
            struct mt_snapshot pieces;
            write_file(&f);
            ck_assert(!f.out.failed);
            read_in_pieces(&f, 0, &whole[writer]);
            read_in_pieces(&f, 7, &pieces);
            ck_assert_uint_eq(pieces.n_events, EVENTS);
            assert_same(&whole[writer], &pieces, writer);
            assert_same(&whole[PYTHON4], &whole[writer], writer);
            mt_snapshot_release(&pieces);
            mt_buf_release(&f.out);
        }
        for (int writer = PYTHON4; writer <= CPP; writer++) {
            mt_snapshot_release(&whole[writer]);
        }
    }
}
END_TEST

static void plain(struct file *f, const char *s)
{
    op(f, MT_OP_BINUNICODE);
    bytes(f, strlen(s), 4);
    mt_buf_add(&f->out, s, strlen(s));
}

static void open_frame(struct file *f, const char *name)
{
    op(f, MT_OP_EMPTY_DICT);
    op(f, MT_OP_BINPUT);
    bytes(f, 0, 1);
    op(f, MT_OP_MARK);
    plain(f, "name");
    plain(f, name);
    plain(f, "filename");
    plain(f, "f.py");
    plain(f, "line");
    integer(f, 1);
}

static void open_event(struct file *f)
{
    op(f, MT_OP_EMPTY_DICT);
    op(f, MT_OP_MARK);
    plain(f, "action");
    plain(f, "alloc");
    for (const char *const *key = (const char *const[]){"addr", "size", "stream", NULL}; *key;
         key++) {
        plain(f, *key);
        integer(f, 0);
    }
    plain(f, "frames");
    op(f, MT_OP_EMPTY_LIST);
    op(f, MT_OP_MARK);
}

static void close_event(struct file *f)
{
    op(f, MT_OP_APPENDS);
    op(f, MT_OP_SETITEMS);
}

/* A dictionary is stored as 0, and inside of it another one: from then on that is what 0 means. */
START_TEST(what_was_stored_last_is_what_counts)
{
    struct file f = {.writer = PYTHON2};
    mt_buf_text(&f.out, "\x80\x02}(");
    plain(&f, "segments");
    op(&f, MT_OP_EMPTY_LIST);
    plain(&f, "device_traces");
    mt_buf_text(&f.out, "](](");
    open_event(&f);
    open_frame(&f, "outer");
    plain(&f, "x");
    open_frame(&f, "inner");
    mt_buf_text(&f.out, "uu");
    close_event(&f);
    open_event(&f);
    get(&f, 0);
    close_event(&f);
    mt_buf_text(&f.out, "eeu.");
    struct mt_snapshot s;
    read_in_pieces(&f, 0, &s);
    ck_assert_uint_eq(s.n_events, 2);
    const struct mt_stack *stack = &s.stacks[s.events[1].stack];
    ck_assert_uint_eq(stack->n, 1);
    const struct mt_frame *frame = &s.frames[s.stack_frames[stack->first]];
    ck_assert(mt_str_equal(mt_snapshot_str(&s, frame->name), MT_STR("inner")));
    mt_snapshot_release(&s);
    mt_buf_release(&f.out);
}
END_TEST

UNIT_MAIN("pickle_events", every_writer_reads_the_same_whole_and_in_pieces,
          what_was_stored_last_is_what_counts)
