/* SPDX-License-Identifier: MIT */
/*
 * pprof's profile.proto, encoded by hand: a handful of messages with numbers and a string table.
 * The four figures have the names of Go's heap profile, so that `pprof` shows them without options:
 * alloc_* is what the trace handed out, inuse_* what is alive at the moment.
 *
 * A frame becomes a location and a function of the same number; only frames and strings that a
 * sample refers to are written.
 */
#include "heap/stacks/frames.h"
#include "print/report.h"
#include "verbs/convert/exporters.h"

/* Field numbers of github.com/google/pprof/proto/profile.proto. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING_TABLE = 6,
    PROFILE_DEFAULT_SAMPLE_TYPE = 14,
    VALUE_TYPE_TYPE = 1,
    VALUE_TYPE_UNIT = 2,
    SAMPLE_LOCATION = 1,
    SAMPLE_VALUE = 2,
    SAMPLE_LABEL = 3,
    LABEL_KEY = 1,
    LABEL_NUM = 3,
    LOCATION_ID = 1,
    LOCATION_LINE = 4,
    LINE_FUNCTION = 1,
    LINE_LINE = 2,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_FILENAME = 4
};

enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

/* Strings that every profile has; their index in its string table is their place here. */
enum {
    TEXT_EMPTY,
    TEXT_ALLOC_OBJECTS,
    TEXT_COUNT,
    TEXT_ALLOC_SPACE,
    TEXT_BYTES,
    TEXT_INUSE_OBJECTS,
    TEXT_INUSE_SPACE,
    TEXT_DEVICE,
    TEXT_NO_STACK,
    TEXTS
};
static const char *const texts[] = {
    [TEXT_EMPTY] = "",
    [TEXT_ALLOC_OBJECTS] = "alloc_objects",
    [TEXT_COUNT] = "count",
    [TEXT_ALLOC_SPACE] = "alloc_space",
    [TEXT_BYTES] = "bytes",
    [TEXT_INUSE_OBJECTS] = "inuse_objects",
    [TEXT_INUSE_SPACE] = "inuse_space",
    [TEXT_DEVICE] = "device",
    [TEXT_NO_STACK] = MT_NO_STACK,
};

struct pprof {
    struct mt_exporter *x;
    struct mt_buf message, inner; /* scratch */
    uint32_t *strings;            /* by string id: place in the profile's table, 0 = not in it */
    uint32_t n_strings;
    bool *frames; /* by frame id: written; id 0 stands for MT_NO_STACK */
};

static void put_varint(struct mt_buf *b, uint64_t n)
{
    for (; n >= 0x80; n >>= 7) {
        mt_buf_char(b, (char)(unsigned char)(n | 0x80));
    }
    mt_buf_char(b, (char)n);
}

static void put_number(struct mt_buf *b, unsigned field, uint64_t n)
{
    put_varint(b, field << 3 | WIRE_VARINT);
    put_varint(b, n);
}

static void put_bytes(struct mt_buf *b, unsigned field, struct mt_str bytes)
{
    put_varint(b, field << 3 | WIRE_BYTES);
    put_varint(b, bytes.n);
    mt_buf_str(b, bytes);
}

/* Writes p->message as a field of the profile and empties it. */
static void end_message(struct pprof *p, unsigned field)
{
    struct mt_buf head = {0};
    put_varint(&head, field << 3 | WIRE_BYTES);
    put_varint(&head, p->message.n);
    if (head.failed || p->message.failed || p->inner.failed) {
        mt_sink_fail(p->x->sink, MT_NOMEM, "out of memory");
    }
    mt_sink_str(p->x->sink, mt_buf_view(&head));
    mt_sink_str(p->x->sink, mt_buf_view(&p->message));
    mt_buf_release(&head);
    mt_buf_reset(&p->message);
}

static void write_string(struct pprof *p, struct mt_str text)
{
    mt_text_safe(&p->message, text);
    end_message(p, PROFILE_STRING_TABLE);
}

/* The place of a model string in the table; it is written there the first time. */
static uint32_t string_index(struct pprof *p, uint32_t id)
{
    if (!p->strings[id]) {
        struct mt_buf held = p->message; /* the message under way must wait */
        p->message = (struct mt_buf){0};
        write_string(p, mt_snapshot_str(p->x->s, id));
        mt_buf_release(&p->message);
        p->message = held;
        p->strings[id] = p->n_strings++;
    }
    return p->strings[id];
}

static void write_sample_type(struct pprof *p, unsigned type, unsigned unit)
{
    put_number(&p->message, VALUE_TYPE_TYPE, type);
    put_number(&p->message, VALUE_TYPE_UNIT, unit);
    end_message(p, PROFILE_SAMPLE_TYPE);
}

static void write_head(struct pprof *p)
{
    write_sample_type(p, TEXT_ALLOC_OBJECTS, TEXT_COUNT);
    write_sample_type(p, TEXT_ALLOC_SPACE, TEXT_BYTES);
    write_sample_type(p, TEXT_INUSE_OBJECTS, TEXT_COUNT);
    write_sample_type(p, TEXT_INUSE_SPACE, TEXT_BYTES);
    for (size_t i = 0; i < TEXTS; i++) {
        write_string(p, mt_str_from(texts[i]));
    }
    p->n_strings = TEXTS;
}

/* Location and function ids are frame id + 1: 0 is not allowed. */
static void write_frame(struct pprof *p, uint32_t id)
{
    if (p->frames[id]) {
        return;
    }
    p->frames[id] = true;
    const struct mt_frame *f = &p->x->s->frames[id];
    put_number(&p->message, FUNCTION_ID, (uint64_t)id + 1);
    put_number(&p->message, FUNCTION_NAME, id ? string_index(p, f->name) : TEXT_NO_STACK);
    put_number(&p->message, FUNCTION_FILENAME, id ? string_index(p, f->filename) : TEXT_EMPTY);
    end_message(p, PROFILE_FUNCTION);
    mt_buf_reset(&p->inner);
    put_number(&p->inner, LINE_FUNCTION, (uint64_t)id + 1);
    put_number(&p->inner, LINE_LINE, id ? (uint64_t)(int64_t)f->line : 0);
    put_number(&p->message, LOCATION_ID, (uint64_t)id + 1);
    put_bytes(&p->message, LOCATION_LINE, mt_buf_view(&p->inner));
    end_message(p, PROFILE_LOCATION);
}

static void write_sample(struct pprof *p, const struct mt_profile_row *row, int32_t device)
{
    const struct mt_stack *stack = &p->x->s->stacks[row->stack];
    const uint32_t *frames = MT_PART(p->x->s->stack_frames, stack->first);
    static const uint32_t none[1] = {0};
    uint32_t n = stack->n ? stack->n : 1;
    frames = stack->n ? frames : none;
    for (uint32_t i = 0; i < n; i++) {
        write_frame(p, frames[i]);
    }
    mt_buf_reset(&p->inner);
    for (uint32_t i = 0; i < n; i++) { /* innermost first, as pprof has it */
        put_varint(&p->inner, (uint64_t)frames[i] + 1);
    }
    put_bytes(&p->message, SAMPLE_LOCATION, mt_buf_view(&p->inner));
    mt_buf_reset(&p->inner);
    put_varint(&p->inner, row->alloc_count);
    put_varint(&p->inner, row->alloc_bytes);
    put_varint(&p->inner, row->live_count);
    put_varint(&p->inner, row->live_bytes);
    put_bytes(&p->message, SAMPLE_VALUE, mt_buf_view(&p->inner));
    mt_buf_reset(&p->inner);
    put_number(&p->inner, LABEL_KEY, TEXT_DEVICE);
    put_number(&p->inner, LABEL_NUM, (uint64_t)(int64_t)device);
    put_bytes(&p->message, SAMPLE_LABEL, mt_buf_view(&p->inner));
    end_message(p, PROFILE_SAMPLE);
}

static enum mt_status write_samples(struct pprof *p, struct mt_error *err)
{
    for (size_t d = 0; d < p->x->devices.ids.n; d++) {
        struct mt_profile profile;
        enum mt_status status = mt_exporter_profile(p->x, d, &profile, err);
        for (size_t i = 0; status == MT_OK && i < profile.rows.n; i++) {
            write_sample(p, &profile.rows.v[i], p->x->devices.ids.v[d]);
        }
        mt_profile_release(&profile);
        MT_TRY(status);
    }
    return MT_OK;
}

enum mt_status mt_export_pprof(struct mt_exporter *x, struct mt_error *err)
{
    struct pprof p = {.x = x};
    enum mt_status status = MT_OK;
    p.strings = mt_mem_zalloc(x->s->n_strings, sizeof *p.strings);
    p.frames = mt_mem_zalloc(x->s->n_frames, sizeof *p.frames);
    if (p.strings && p.frames) {
        write_head(&p);
        status = write_samples(&p, err);
        mt_buf_reset(&p.message);
        put_number(&p.message, PROFILE_DEFAULT_SAMPLE_TYPE, TEXT_INUSE_SPACE);
        mt_sink_str(x->sink, mt_buf_view(&p.message));
    } else {
        status = mt_fail_nomem(err);
    }
    mt_mem_free(p.strings);
    mt_mem_free(p.frames);
    mt_buf_release(&p.message);
    mt_buf_release(&p.inner);
    return status;
}
