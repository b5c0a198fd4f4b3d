/* SPDX-License-Identifier: MIT */
/*
 * Bytes become a pickle whose lists stand in several places by the memo, with addresses that
 * overlap, sums that are wrong and times far apart. Whatever a reader lets through has one owner a
 * record, and no verb is hurt by it: each is called as a user calls it.
 *
 * Eight bytes choose what the keys at the top name, then eight make a list each, which goes into
 * the memo: what kind it is, and what it holds. A list names earlier ones.
 */
#include <string.h>

#include "snapshot/read/read.h"
#include "support/str.h"

#include "verbs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OP_BYTES = 8, MOST_OPS = 64 };
enum kind { FRAMES, EVENTS, HISTORY, BLOCKS, SEGMENTS, ANNOTATIONS, TRACES, GROWN, KINDS };

struct writer {
    struct mt_buf out;
    uint8_t kinds[MOST_OPS]; /* of the lists in the memo */
    unsigned n;
};

/* ---- pickle ---- */

static void op(struct writer *w, char byte)
{
    mt_buf_char(&w->out, byte);
}

static void put_bytes(struct writer *w, char code, uint64_t v, size_t n)
{
    op(w, code);
    for (size_t i = 0; i < n; i++) {
        op(w, (char)(v >> 8 * i));
    }
}

static void put_text(struct writer *w, const char *s)
{
    put_bytes(w, '\x8c', strlen(s), 1); /* SHORT_BINUNICODE */
    mt_buf_text(&w->out, s);
}

static void put_long(struct writer *w, const char *key, uint64_t v, bool negative)
{
    put_text(w, key);
    put_bytes(w, '\x8a', 9, 1); /* LONG1: 8 bytes and a sign */
    put_bytes(w, (char)v, v >> 8, 7);
    op(w, negative ? '\xff' : 0);
}

static void put_number(struct writer *w, const char *key, uint64_t v)
{
    put_long(w, key, v, false);
}

static void put_word(struct writer *w, const char *key, const char *word)
{
    put_text(w, key);
    put_text(w, word);
}

/* The list of the kind that `choice` says, an empty one where there is none. */
static void put_list(struct writer *w, enum kind kind, uint8_t choice)
{
    unsigned found = 0, slots[MOST_OPS] = {0};
    for (unsigned i = 0; i < w->n; i++) {
        slots[found] = i;
        found += w->kinds[i] == kind;
    }
    if (found) {
        put_bytes(w, 'h', slots[choice % found], 1); /* BINGET */
    } else {
        op(w, ']');
    }
}

static void put_named(struct writer *w, const char *key, enum kind kind, uint8_t choice)
{
    if (choice < 0xf0) { /* else without the key */
        put_text(w, key);
        put_list(w, kind, choice);
    }
}

/* ---- records, each of six bytes ---- */

static uint64_t size_of(uint8_t x)
{
    static const uint64_t base[] = {0,       512,     3000,     600000,
                                    1 << 21, 1 << 22, 20 << 20, UINT64_MAX / 4};
    return base[x & 7] + (uint64_t)(x >> 5) * 512;
}

static uint64_t addr_of(uint8_t x)
{
    return (x & 0xe0) == 0xe0 ? UINT64_MAX - x
                              : 0x7f0000000000 + (uint64_t)x * 512 * (x & 3 ? 1 : 4096);
}

/* Times as a clock has them; from 0xd0 on far ones, before the epoch too. */
static int64_t time_of(uint8_t x)
{
    static const int64_t FAR[] = {-1,
                                  -1700000000000000,
                                  INT64_MIN,
                                  INT64_MIN + 1,
                                  INT64_MIN / 2,
                                  INT64_MAX,
                                  INT64_MAX / 2,
                                  (int64_t)1 << 53,
                                  -((int64_t)1 << 62),
                                  (int64_t)1 << 62,
                                  0,
                                  1,
                                  4000000000000000000,
                                  -1000000,
                                  INT64_MAX - 1,
                                  1000000};
    return x < 0xd0   ? 1700000000000000 + (int64_t)x * 10
           : x < 0xf0 ? FAR[x & 15]
           : x & 1    ? INT64_MAX
                      : 1;
}

static void put_time(struct writer *w, uint8_t x)
{
    int64_t t = time_of(x);
    put_long(w, "time_us", (uint64_t)t, t < 0);
}

static const char *pick(const char *const *words, size_t n, uint8_t x)
{
    return words[x % n];
}
#define PICK(words, x) pick(words, MT_COUNT(words), x)

static const char *const NAMES[] = {"f", "## Step 1 ##", "all_reduce", "<b>", ""};
static const char *const ACTIONS[] = {"alloc",         "free_requested",    "free_completed",
                                      "segment_alloc", "segment_free",      "segment_map",
                                      "segment_unmap", "snapshot",          "oom",
                                      "user_defined",  "workspace_snapshot"};
static const char *const STATES[] = {"active_allocated", "active_pending_free", "inactive", "odd"};
static const char *const STAGES[] = {"START", "END"};

static void put_frame(struct writer *w, const uint8_t *p)
{
    put_word(w, "name", PICK(NAMES, p[0]));
    put_word(w, "filename", p[1] & 1 ? "/lib/libtorch.so" : "a.py");
    put_number(w, "line", p[2]);
}

static void put_event(struct writer *w, const uint8_t *p)
{
    put_word(w, "action", PICK(ACTIONS, p[0]));
    put_number(w, p[0] % MT_COUNT(ACTIONS) == 8 ? "device_free" : "addr", addr_of(p[1]));
    put_number(w, "size", size_of(p[2]));
    put_number(w, "stream", p[3] & 3);
    put_named(w, "frames", FRAMES, p[4]);
    if (p[3] & 4) {
        put_time(w, p[5]);
    }
    if (p[3] & 8) {
        put_word(w, "compile_context", PICK(NAMES, p[5]));
    }
}

static void put_history(struct writer *w, const uint8_t *p)
{
    put_number(w, "addr", addr_of(p[0]));
    put_number(w, "real_size", size_of(p[1]));
    put_named(w, "frames", FRAMES, p[2]);
}

static void put_block(struct writer *w, const uint8_t *p)
{
    put_number(w, "size", size_of(p[0]));
    put_number(w, "requested_size", size_of(p[1]));
    put_word(w, "state", PICK(STATES, p[2]));
    put_named(w, "history", HISTORY, p[3]);
    put_named(w, "frames", FRAMES, p[4]);
    if (p[5] & 1) {
        put_number(w, "address", addr_of(p[5]));
    }
}

static void put_segment(struct writer *w, const uint8_t *p)
{
    put_number(w, "device", p[0] & 0x80 ? 1000000 + p[0] : p[0] & 3);
    put_number(w, "address", addr_of(p[1]));
    put_number(w, "total_size", size_of(p[2]));
    put_number(w, "allocated_size", size_of(p[3]));
    put_number(w, "active_size", size_of((uint8_t)(p[3] >> 1)));
    put_number(w, "stream", p[5] & 1);
    put_word(w, "segment_type", p[5] & 2 ? "small" : "large");
    put_text(w, "is_expandable");
    op(w, p[5] & 4 ? '\x88' : '\x89');
    put_named(w, "frames", FRAMES, p[5]);
    put_named(w, "blocks", BLOCKS, p[4]);
}

static void put_annotation(struct writer *w, const uint8_t *p)
{
    put_word(w, "stage", PICK(STAGES, p[0]));
    put_word(w, "name", PICK(NAMES, p[1]));
    put_number(w, "device", p[2] & 3);
    put_time(w, p[3]);
}

static void (*const PUT[TRACES])(struct writer *w, const uint8_t *p) = {
    [FRAMES] = put_frame, [EVENTS] = put_event,     [HISTORY] = put_history,
    [BLOCKS] = put_block, [SEGMENTS] = put_segment, [ANNOTATIONS] = put_annotation,
};

/* ---- lists ---- */

static void put_records(struct writer *w, enum kind kind, const uint8_t *p)
{
    for (unsigned i = 0; i <= p[1] % 4u; i++) {
        uint8_t record[6];
        for (size_t k = 0; k < sizeof record; k++) {
            record[k] = (uint8_t)(p[2 + k] + i * (p[1] >> 2)); /* each record another */
        }
        if (kind == TRACES) {
            put_list(w, EVENTS, record[0]);
            continue;
        }
        op(w, '}');
        op(w, '(');
        PUT[kind](w, record);
        op(w, 'u');
    }
}

/* Makes a list, or lets one grow that was named already. */
static void put_op(struct writer *w, const uint8_t *p)
{
    enum kind kind = (enum kind)(p[0] % KINDS);
    bool grown = kind == GROWN;
    if (grown) {
        kind = (enum kind)((p[0] >> 3) % GROWN);
        put_list(w, kind, p[1]);
    } else {
        op(w, ']');
    }
    op(w, '(');
    put_records(w, kind, p);
    op(w, 'e');
    put_bytes(w, 'q', w->n, 1); /* BINPUT */
    w->kinds[w->n++] = (uint8_t)kind;
}

static void put_snapshot(struct writer *w, const uint8_t *top, const uint8_t *data, size_t size)
{
    bool kept = top[0] & 1; /* all lists stand under an unknown key as well */
    mt_buf_text(&w->out, "\x80\x04}(");
    put_text(w, "x");
    op(w, ']');
    op(w, '(');
    for (size_t at = 0; at + OP_BYTES <= size && w->n < MOST_OPS; at += OP_BYTES) {
        put_op(w, data + at);
        if (!kept) {
            op(w, '0'); /* POP */
        }
    }
    op(w, 'e');
    put_named(w, "segments", SEGMENTS, top[1]);
    put_named(w, "device_traces", TRACES, top[2]);
    put_named(w, "host_segments", SEGMENTS, top[3]);
    put_named(w, "host_traces", top[0] & 2 ? EVENTS : TRACES, top[4]);
    put_named(w, "external_annotations", ANNOTATIONS, top[5]);
    put_named(w, "y", (enum kind)(top[0] >> 2) % TRACES, top[6]);
    mt_buf_text(&w->out, "u.");
}

static void (*const DEEP[])(const struct mt_snapshot *s, unsigned choice) = {
    verbs_analyse, verbs_report, verbs_write, verbs_draw, verbs_simulate};

/* A fuzzer's run does some of it, so that it is short; a replay does all. */
static void use(const struct mt_snapshot *s, const struct writer *w, uint8_t choice)
{
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    DEEP[choice % MT_COUNT(DEEP)](s, choice);
    verbs_call(w->out.p, w->out.n, choice);
#else
    for (size_t i = 0; i < MT_COUNT(DEEP); i++) {
        DEEP[i](s, choice);
    }
    for (unsigned part = 0; part < VERBS_PARTS; part++) {
        verbs_call(w->out.p, w->out.n, part);
    }
#endif
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mt_read_options o = {.max_input = 1 << 24, .max_events = 1 << 12};
    struct writer w = {0};
    struct mt_snapshot s;
    struct mt_error err;
    if (size < OP_BYTES) {
        return 0;
    }
    put_snapshot(&w, data, data + OP_BYTES, size - OP_BYTES);
    if (!w.out.failed && mt_snapshot_read_memory(w.out.p, w.out.n, 0, &o, &s, &err) == MT_OK) {
        MT_ASSERT(mt_snapshot_check(&s) == NULL);
        use(&s, &w, data[7]);
        mt_snapshot_release(&s);
    }
    mt_buf_release(&w.out);
    return 0;
}
