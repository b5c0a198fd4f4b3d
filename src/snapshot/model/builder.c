/* SPDX-License-Identifier: MIT */
/*
 * The builder: vectors that grow, and one string table each for strings, frames, stacks and pools.
 * A frame is interned as the bytes of its struct and a stack as the bytes of its frame ids, so that
 * all share one table and one collision rule. Finishing drops the tables and keeps the vectors.
 */
#include "snapshot/model/builder.h"

#include <stdlib.h>
#include <string.h>

#include "support/checked.h"
#include "support/hash.h"
#include "torch/keys.h"
#include "support/vec.h"

#include "snapshot/model/builder_parts.h"

_Static_assert(sizeof(struct mt_frame) == 5 * sizeof(uint32_t),
               "frames are interned by their bytes");

enum { MAX_STREAMS = UINT16_MAX, MAX_SHAPES = UINT8_MAX };

/* Slot 0 of everything that has a "none"; the default stream and pool; the column defaults. */
static bool prepare(struct mt_builder *b)
{
    b->column_defaults[MT_COLUMN_COMPILE_CONTEXT] = mt_builder_cstr(b, "N/A");
    b->column_defaults[MT_COLUMN_USER_METADATA] = mt_builder_cstr(b, "");
    return b->column_defaults[MT_COLUMN_COMPILE_CONTEXT] &&
           b->column_defaults[MT_COLUMN_USER_METADATA] &&
           mt_vec_push(&b->frames, (struct mt_frame){0}) &&
           mt_vec_push(&b->stacks, (struct mt_stack){0}) &&
           mt_vec_push(&b->values, (struct mt_value){.kind = MT_VALUE_NONE}) &&
           mt_vec_push(&b->extras, (struct mt_extra){0}) && mt_builder_stream(b, 0, false) == 0 &&
           mt_builder_pool(b, (struct mt_pool_id){0, 0}) == 0;
}

struct mt_builder *mt_builder_new(uint64_t seed)
{
    struct mt_builder *b = mt_mem_zalloc(1, sizeof *b);
    if (!b) {
        return NULL;
    }
    mt_intern_init(&b->strings, &b->arena, seed);
    mt_intern_init(&b->frame_bytes, &b->arena, seed);
    mt_intern_init(&b->stack_bytes, &b->arena, seed);
    mt_intern_init(&b->pool_bytes, &b->arena, seed);
    mt_intern_init(&b->extra_bytes, &b->arena, seed);
    b->stream_index[0].seed = b->stream_index[1].seed = seed;
    b->max_copies = b->max_events = UINT32_MAX;
    b->source = (struct mt_source){.protocol = -1, .damage_offset = MT_NO_OFFSET};
    if (!prepare(b)) {
        mt_builder_free(b);
        return NULL;
    }
    return b;
}

static void drop_tables(struct mt_builder *b)
{
    mt_intern_release(&b->frame_bytes);
    mt_intern_release(&b->stack_bytes);
    mt_intern_release(&b->pool_bytes);
    mt_intern_release(&b->extra_bytes);
    mt_idmap_release(&b->stream_index[0]);
    mt_idmap_release(&b->stream_index[1]);
    mt_mem_free(b->strings.slots);
    b->strings.slots = NULL;
    b->strings.mask = 0;
}

void mt_builder_free(struct mt_builder *b)
{
    if (!b) {
        return;
    }
    drop_tables(b);
    mt_intern_release(&b->strings);
    mt_vec_release(&b->events);
    for (int c = 0; c < MT_COLUMN_COUNT; c++) {
        mt_vec_release(&b->columns[c]);
    }
    mt_vec_release(&b->shapes);
    mt_vec_release(&b->traces);
    mt_vec_release(&b->host_traces);
    mt_vec_release(&b->segments);
    mt_vec_release(&b->segment_next);
    mt_vec_release(&b->device_firsts);
    mt_vec_release(&b->host_segments);
    mt_vec_release(&b->other_segments);
    mt_vec_release(&b->blocks);
    mt_vec_release(&b->history);
    mt_vec_release(&b->frames);
    mt_vec_release(&b->stacks);
    mt_vec_release(&b->stack_frames);
    mt_vec_release(&b->streams);
    mt_vec_release(&b->pools);
    mt_vec_release(&b->annotations);
    mt_vec_release(&b->values);
    mt_vec_release(&b->extras);
    mt_vec_release(&b->odd);
    mt_arena_release(&b->arena);
    mt_mem_free(b);
}

/* ---- strings, frames, stacks ---- */

uint32_t mt_builder_str(struct mt_builder *b, const void *p, size_t n)
{
    return mt_intern_put(&b->strings, p, n);
}

uint32_t mt_builder_cstr(struct mt_builder *b, const char *s)
{
    return mt_intern_put(&b->strings, s, strlen(s));
}

struct mt_str mt_builder_get_str(const struct mt_builder *b, uint32_t id)
{
    return mt_intern_get(&b->strings, id);
}

uint32_t mt_builder_frame(struct mt_builder *b, const struct mt_frame *f)
{
    uint32_t id = mt_intern_put(&b->frame_bytes, f, sizeof *f);
    if (id == b->frames.n && !mt_vec_push(&b->frames, *f)) {
        return 0;
    }
    return id < b->frames.n ? id : 0;
}

static bool append_stack(struct mt_builder *b, const uint32_t *frames, size_t n)
{
    if (n > UINT32_MAX - b->stack_frames.n ||
        !mt_vec_reserve(&b->stack_frames, b->stack_frames.n + n) ||
        !mt_vec_push(&b->stacks, ((struct mt_stack){(uint32_t)b->stack_frames.n, (uint32_t)n}))) {
        return false;
    }
    if (n) {
        memcpy(b->stack_frames.v + b->stack_frames.n, frames, n * sizeof *frames);
    }
    b->stack_frames.n += n;
    return true;
}

uint32_t mt_builder_stack(struct mt_builder *b, const uint32_t *frames, size_t n)
{
    uint32_t id = mt_intern_put(&b->stack_bytes, n ? (const void *)frames : "", n * sizeof *frames);
    if (id == b->stacks.n && !append_stack(b, frames, n)) {
        return 0;
    }
    return id < b->stacks.n ? id : 0;
}

/* ---- streams, pools, shapes ---- */

size_t mt_builder_stream(struct mt_builder *b, uint64_t handle, bool negative)
{
    struct mt_idmap *known = &b->stream_index[negative];
    size_t index = b->streams.n;
    const uint32_t *place = mt_idmap_find(known, handle);
    if (place) {
        return *place;
    }
    if (index >= MAX_STREAMS || !mt_idmap_put(known, handle, (uint32_t)index)) {
        return SIZE_MAX;
    }
    if (!mt_vec_push(&b->streams, ((struct mt_stream){handle, negative}))) {
        mt_idmap_remove(known, handle, NULL);
        return SIZE_MAX;
    }
    return index;
}

size_t mt_builder_pool(struct mt_builder *b, struct mt_pool_id id)
{
    size_t place = mt_intern_put(&b->pool_bytes, &id, sizeof id);
    if (place > b->pools.n && !mt_vec_push(&b->pools, id)) {
        return SIZE_MAX;
    }
    return place > 0 && place <= b->pools.n ? place - 1 : SIZE_MAX;
}

size_t mt_builder_event_shape(struct mt_builder *b, uint32_t present, uint32_t action_name)
{
    for (size_t i = 0; i < b->shapes.n; i++) {
        if (b->shapes.v[i].present == present && b->shapes.v[i].action_name == action_name) {
            return i;
        }
    }
    struct mt_event_shape shape = {present, action_name};
    return b->shapes.n < MAX_SHAPES && mt_vec_push(&b->shapes, shape) ? b->shapes.n - 1 : SIZE_MAX;
}

bool mt_builder_shapes_full(const struct mt_builder *b)
{
    return b->shapes.n >= MAX_SHAPES;
}

/* ---- events ---- */

static bool extend_columns(struct mt_builder *b)
{
    for (int c = 0; c < MT_COLUMN_COUNT; c++) {
        if ((b->columns_used >> c & 1) && !mt_vec_push(&b->columns[c], b->column_defaults[c])) {
            return false;
        }
    }
    return true;
}

bool mt_builder_event(struct mt_builder *b, const struct mt_event *e)
{
    if (b->events.n >= UINT32_MAX || !mt_vec_push(&b->events, *e)) {
        return false;
    }
    return b->columns_used == 0 || extend_columns(b);
}

bool mt_builder_expect_events(struct mt_builder *b, size_t n)
{
    if (!mt_vec_reserve(&b->events, n)) {
        return false;
    }
    mt_vec_expect_large(b->events.v, b->events.cap * sizeof *b->events.v);
    return true;
}

size_t mt_builder_n_events(const struct mt_builder *b)
{
    return b->events.n;
}

bool mt_builder_event_column(struct mt_builder *b, size_t index, enum mt_event_column column,
                             uint32_t value)
{
    if (!(b->columns_used >> column & 1)) {
        if (value == b->column_defaults[column]) {
            return true;
        }
        if (!mt_vec_reserve(&b->columns[column], b->events.n)) {
            return false;
        }
        for (size_t i = 0; i < b->events.n; i++) {
            b->columns[column].v[i] = b->column_defaults[column];
        }
        b->columns[column].n = b->events.n;
        b->columns_used |= 1u << column;
    }
    b->columns[column].v[index] = value;
    return true;
}

uint32_t mt_builder_column_default(const struct mt_builder *b, enum mt_event_column column)
{
    return b->column_defaults[column];
}

bool mt_builder_trace(struct mt_builder *b, size_t first, size_t n, bool host)
{
    struct mt_trace t = {first, n};
    return host ? mt_vec_push(&b->host_traces, t) : mt_vec_push(&b->traces, t);
}

/* ---- segments, blocks and the rest ---- */

bool mt_builder_segment(struct mt_builder *b, const struct mt_segment *s, bool host)
{
    return host ? mt_vec_push(&b->host_segments, *s) : mt_vec_push(&b->segments, *s);
}

bool mt_builder_other_segment(struct mt_builder *b, const struct mt_segment *s)
{
    return mt_vec_push(&b->other_segments, *s);
}

bool mt_builder_block(struct mt_builder *b, const struct mt_block *block)
{
    return b->blocks.n < UINT32_MAX && mt_vec_push(&b->blocks, *block);
}

size_t mt_builder_n_blocks(const struct mt_builder *b)
{
    return b->blocks.n;
}

bool mt_builder_history(struct mt_builder *b, const struct mt_history *h)
{
    return b->history.n < UINT32_MAX && mt_vec_push(&b->history, *h);
}

size_t mt_builder_n_history(const struct mt_builder *b)
{
    return b->history.n;
}

bool mt_builder_annotation(struct mt_builder *b, const struct mt_annotation *a)
{
    return b->annotations.n < UINT32_MAX && mt_vec_push(&b->annotations, *a);
}

size_t mt_builder_n_annotations(const struct mt_builder *b)
{
    return b->annotations.n;
}

uint32_t mt_builder_values(struct mt_builder *b, const struct mt_value *v, size_t n)
{
    size_t first = b->values.n;
    if (n > UINT32_MAX - first || !mt_vec_reserve(&b->values, first + n)) {
        return 0;
    }
    if (n) {
        memcpy(b->values.v + first, v, n * sizeof *v);
    }
    b->values.n += n;
    return (uint32_t)first;
}

struct mt_value mt_builder_get_value(const struct mt_builder *b, uint32_t index)
{
    return b->values.v[index];
}

/* The bytes by which a value is the same as another. */
struct value_bytes {
    uint64_t content;
    uint32_t n, kind;
};

static struct value_bytes value_bytes(const struct mt_value *v)
{
    struct value_bytes bytes = {.n = v->n, .kind = (uint32_t)v->kind << 1 | v->single};
    bool wide = v->kind == MT_VALUE_BOOL || v->kind == MT_VALUE_INT || v->kind == MT_VALUE_FLOAT;
    bytes.content = wide ? (uint64_t)v->u.i : v->u.id;
    return bytes;
}

static bool add_extra(struct mt_builder *b, uint32_t head, const struct mt_value *key,
                      const struct mt_value *value)
{
    bool is_text = key->kind == MT_VALUE_STR;
    struct mt_extra e = {.key = is_text ? key->u.id : 0, .next = head};
    e.value = mt_builder_values(b, value, 1);
    e.key_value = is_text ? 0 : mt_builder_values(b, key, 1);
    return e.value && (is_text || e.key_value) && mt_vec_push(&b->extras, e);
}

uint32_t mt_builder_extra(struct mt_builder *b, uint32_t head, const struct mt_value *key,
                          const struct mt_value *value)
{
    struct {
        struct value_bytes key, value;
        uint64_t head;
    } bytes = {value_bytes(key), value_bytes(value), head};
    uint32_t id = mt_intern_put(&b->extra_bytes, &bytes, sizeof bytes);
    if (id == b->extras.n && !add_extra(b, head, key, value)) {
        return 0;
    }
    return id < b->extras.n ? id : 0;
}

void mt_builder_count_unknown(struct mt_builder *b, uint64_t n)
{
    b->n_unknown += n;
}

bool mt_builder_odd(struct mt_builder *b, const char *record, uint32_t key,
                    const struct mt_value *value)
{
    for (size_t i = 0; i < b->odd.n; i++) {
        if (b->odd.v[i].key == key && strcmp(b->odd.v[i].record, record) == 0) {
            b->odd.v[i].n++;
            return true;
        }
    }
    uint32_t index = mt_builder_values(b, value, 1);
    return index && mt_vec_push(&b->odd, ((struct mt_odd){record, key, index, 1}));
}

void mt_builder_top(struct mt_builder *b, uint32_t present, uint32_t settings, uint32_t extra)
{
    b->present = present;
    b->settings = settings;
    b->extra = extra;
}

void mt_builder_own(struct mt_builder *b, uint32_t value)
{
    b->own = value;
}

void mt_builder_flat_host_trace(struct mt_builder *b)
{
    b->host_trace_is_flat = true;
}

void mt_builder_source(struct mt_builder *b, const struct mt_source *source)
{
    b->source = *source;
}

void mt_builder_limit(struct mt_builder *b, uint64_t records, uint64_t events)
{
    b->max_copies = records;
    b->max_events = events;
}

/* ---- finishing ---- */

/* The history entry of the tensor that lives in an active block (PyTorch <= 2.0 writes the request
 * and the stack only there): the newest one that begins where the block begins. */
static const struct mt_history *living(const struct mt_builder *b, const struct mt_block *block)
{
    for (uint32_t i = 0; i < block->history_n; i++) {
        const struct mt_history *h = &b->history.v[block->history_first + i];
        bool has_addr = h->present >> MT_HISTORY_KEY_addr & 1;
        if (!has_addr || h->addr == block->addr) {
            return h;
        }
    }
    return NULL;
}

static void complete_block(struct mt_builder *b, struct mt_block *block, uint64_t running_addr)
{
    if (!(block->present >> MT_BLOCK_KEY_address & 1)) {
        block->addr = running_addr;
    }
    if (block->state == MT_BLOCK_INACTIVE) {
        return;
    }
    const struct mt_history *h = living(b, block);
    if (!(block->present >> MT_BLOCK_KEY_requested_size & 1)) {
        block->requested = h ? h->real_size : block->size;
    }
    if (h && !block->stack) {
        block->stack = h->stack;
    }
}

static void complete_segments(struct mt_builder *b, const struct mt_segment *segments, size_t n)
{
    for (size_t s = 0; s < n; s++) {
        uint64_t addr = segments[s].addr;
        for (uint32_t i = 0; i < segments[s].n_blocks; i++) {
            struct mt_block *block = &b->blocks.v[segments[s].first_block + i];
            block->segment = (uint32_t)s;
            complete_block(b, block, addr);
            addr = block->addr + block->size;
        }
    }
}

/* Links the segments of each device, from the last to the first. */
static bool link_segments(struct mt_builder *b, struct mt_idmap *first)
{
    size_t n = b->segments.n;
    if (!mt_vec_reserve(&b->segment_next, n)) {
        return false;
    }
    for (size_t i = n; i-- > 0;) {
        uint32_t device = (uint32_t)b->segments.v[i].device;
        const uint32_t *next = mt_idmap_find(first, device);
        b->segment_next.v[i] = next ? *next : (uint32_t)n;
        if (!mt_idmap_put(first, device, (uint32_t)i)) {
            return false;
        }
    }
    b->segment_next.n = n;
    return mt_vec_reserve(&b->device_firsts, first->n);
}

static int by_device(const void *a, const void *b)
{
    const struct mt_device_first *x = a, *y = b;
    return (x->device > y->device) - (x->device < y->device);
}

static bool list_devices(struct mt_builder *b, const struct mt_idmap *first)
{
    for (size_t i = 0; i < b->segments.n; i++) {
        struct mt_device_first one = {b->segments.v[i].device, (uint32_t)i};
        const uint32_t *place = mt_idmap_find(first, (uint32_t)one.device);
        if (*place == i && !mt_vec_push(&b->device_firsts, one)) {
            return false;
        }
    }
    qsort(b->device_firsts.v, b->device_firsts.n, sizeof *b->device_firsts.v, by_device);
    return true;
}

/* With few devices a walk past all segments is as good. */
static bool find_devices(struct mt_builder *b)
{
    enum { MANY = 64 };
    struct mt_idmap first = {.seed = b->strings.seed};
    uint32_t seen = 0; /* a negative number is a large one */
    for (size_t i = 0; i < b->segments.n && seen < MANY; i++) {
        uint32_t device = (uint32_t)b->segments.v[i].device;
        seen = device > seen ? device : seen;
    }
    if (seen < MANY || b->segments.n >= UINT32_MAX) {
        return true;
    }
    bool ok = link_segments(b, &first) && list_devices(b, &first);
    mt_idmap_release(&first);
    return ok;
}

static void hand_over(struct mt_builder *b, struct mt_snapshot *out)
{
    *out = (struct mt_snapshot){
        .events = b->events.v,
        .n_events = b->events.n,
        .event_shapes = b->shapes.v,
        .n_event_shapes = b->shapes.n,
        .traces = b->traces.v,
        .n_traces = b->traces.n,
        .host_traces = b->host_traces.v,
        .n_host_traces = b->host_traces.n,
        .host_trace_is_flat = b->host_trace_is_flat,
        .segments = b->segments.v,
        .n_segments = b->segments.n,
        .segment_next = b->segment_next.v,
        .device_firsts = b->device_firsts.v,
        .n_device_firsts = b->device_firsts.n,
        .host_segments = b->host_segments.v,
        .n_host_segments = b->host_segments.n,
        .other_segments = b->other_segments.v,
        .n_other_segments = b->other_segments.n,
        .blocks = b->blocks.v,
        .n_blocks = b->blocks.n,
        .history = b->history.v,
        .n_history = b->history.n,
        .frames = b->frames.v,
        .n_frames = b->frames.n,
        .stacks = b->stacks.v,
        .n_stacks = b->stacks.n,
        .stack_frames = b->stack_frames.v,
        .n_stack_frames = b->stack_frames.n,
        .streams = b->streams.v,
        .n_streams = b->streams.n,
        .pools = b->pools.v,
        .n_pools = b->pools.n,
        .annotations = b->annotations.v,
        .n_annotations = b->annotations.n,
        .strings = b->strings.strings.v,
        .n_strings = b->strings.strings.n,
        .values = b->values.v,
        .n_values = b->values.n,
        .extras = b->extras.v,
        .n_extras = b->extras.n,
        .n_unknown = b->n_unknown,
        .odd = b->odd.v,
        .n_odd = b->odd.n,
        .settings = b->settings,
        .own = b->own,
        .extra = b->extra,
        .present = b->present,
        .source = b->source,
        .owner = b,
    };
    for (int c = 0; c < MT_COLUMN_COUNT; c++) {
        out->columns[c] = b->columns_used >> c & 1 ? b->columns[c].v : NULL;
        out->column_defaults[c] = b->column_defaults[c];
    }
}

enum mt_status mt_builder_finish(struct mt_builder *b, struct mt_snapshot *out,
                                 struct mt_error *err)
{
    enum mt_status status = mt_builder_own_records(b, err);
    if (status != MT_OK) {
        mt_builder_free(b);
        return status;
    }
    complete_segments(b, b->segments.v, b->segments.n);
    complete_segments(b, b->host_segments.v, b->host_segments.n);
    drop_tables(b);
    if (!find_devices(b)) {
        mt_builder_free(b);
        return mt_fail_nomem(err);
    }
    hand_over(b, out);
    return MT_OK;
}

void mt_snapshot_release(struct mt_snapshot *s)
{
    mt_builder_free(s->owner);
    *s = (struct mt_snapshot){0};
}

void *mt_snapshot_alloc(struct mt_snapshot *s, size_t count, size_t size)
{
    size_t bytes;
    return mt_mul_overflow(count, size, &bytes) ? NULL : mt_arena_alloc(&s->owner->arena, bytes);
}
