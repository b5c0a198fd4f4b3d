/* SPDX-License-Identifier: MIT */
/*
 * Walks the model in the order in which PyTorch writes it: known keys in the order of keys.h, each
 * only where its presence bit is set, then the unknown keys of the record. What the walk emits is
 * therefore equal, as a Python object, to what was read.
 *
 * The words that memtool knows are numbered in one table, so that a writer can look up in an array
 * whether it has written one before.
 */
#include "snapshot/write/document.h"
#include "torch/keys.h"
#include "support/vec.h"

/* Unknown values are walked by recursion; files nest 3 or 4 deep, readers stop at 1,000. */
#define DEPTH_MAX 2000

struct walk {
    const struct mt_snapshot *s;
    const struct mt_document_ops *ops;
    void *writer;
    struct mt_sink *sink;
    unsigned depth;
    MT_VEC(uint32_t) extras; /* of the records that are open, to be written backwards */
};

/* ---- words ---- */

static const struct mt_str words[] = {
#define X(name, type, since, use) MT_STR_INIT(#name),
    MT_EVENT_KEYS(X) MT_SEGMENT_KEYS(X) MT_BLOCK_KEYS(X) MT_HISTORY_KEYS(X) MT_FRAME_KEYS(X)
        MT_ANNOTATION_KEYS(X) MT_TOP_KEYS(X)
#undef X
#define X(name, word) MT_STR_INIT(word),
            MT_ACTION_MAP(X)
#undef X
                MT_STR_INIT("inactive"),
    MT_STR_INIT("active_allocated"),
    MT_STR_INIT("active_pending_free"),
    MT_STR_INIT(""), /* MT_BLOCK_OTHER has its own name */
    MT_STR_INIT("small"),
    MT_STR_INIT("large"),
};

enum {
    WORD_EVENT = 0,
    WORD_SEGMENT = WORD_EVENT + MT_EVENT_KEY_COUNT,
    WORD_BLOCK = WORD_SEGMENT + MT_SEGMENT_KEY_COUNT,
    WORD_HISTORY = WORD_BLOCK + MT_BLOCK_KEY_COUNT,
    WORD_FRAME = WORD_HISTORY + MT_HISTORY_KEY_COUNT,
    WORD_ANNOTATION = WORD_FRAME + MT_FRAME_KEY_COUNT,
    WORD_TOP = WORD_ANNOTATION + MT_ANNOTATION_KEY_COUNT,
    WORD_ACTION = WORD_TOP + MT_TOP_KEY_COUNT,
    WORD_STATE = WORD_ACTION + MT_ACTION_COUNT,
    WORD_POOL_KIND = WORD_STATE + MT_BLOCK_OTHER + 1,
    WORD_COUNT = WORD_POOL_KIND + MT_POOL_KIND_COUNT
};
_Static_assert(MT_COUNT(words) == WORD_COUNT, "each word has its number");

size_t mt_document_n_words(void)
{
    return WORD_COUNT;
}

struct mt_str mt_document_word(size_t word)
{
    return words[word];
}

/* ---- scalars ---- */

static void put_u64(const struct walk *w, uint64_t n)
{
    w->ops->integer(w->writer, n, false);
}

static void put_i64(const struct walk *w, int64_t n)
{
    w->ops->integer(w->writer, n < 0 ? 0 - (uint64_t)n : (uint64_t)n, n < 0);
}

/* An address or a stream: `negative` when its file wrote the 64 bits as a signed number. */
static void put_bits(const struct walk *w, uint64_t bits, bool negative)
{
    w->ops->integer(w->writer, negative ? 0 - bits : bits, negative);
}

static void put_stream(const struct walk *w, uint16_t index)
{
    put_bits(w, w->s->streams[index].handle, w->s->streams[index].negative);
}

static void put_word(const struct walk *w, size_t word)
{
    w->ops->word(w->writer, word);
}

/* A word of memtool's, or the file's own where `name` is set. */
static void put_name(const struct walk *w, uint32_t name, size_t word)
{
    if (name) {
        w->ops->string(w->writer, name);
    } else {
        put_word(w, word);
    }
}

static void put_pool(const struct walk *w, struct mt_pool_id id)
{
    w->ops->begin(w->writer, MT_DOCUMENT_TUPLE, 2, false);
    put_i64(w, id.a);
    put_i64(w, id.b);
    w->ops->end(w->writer);
}

static void begin_list(const struct walk *w, size_t n, bool rows)
{
    w->ops->begin(w->writer, MT_DOCUMENT_LIST, n, rows);
}

static void end(const struct walk *w)
{
    w->ops->end(w->writer);
}

/* ---- records ---- */

static void put_value(struct walk *w, uint32_t index);

static size_t count_keys(const struct walk *w, uint32_t present, size_t n_known, uint32_t extra)
{
    size_t n = 0;
    for (size_t k = 0; k < n_known; k++) {
        n += present >> k & 1;
    }
    for (; extra; extra = w->s->extras[extra].next) {
        n++;
    }
    return n;
}

static void begin_record(const struct walk *w, uint32_t present, size_t n_known, uint32_t extra)
{
    size_t n = count_keys(w, present, n_known, extra);
    w->ops->begin(w->writer, MT_DOCUMENT_DICT, n, false);
}

static void put_extra(struct walk *w, const struct mt_extra *e)
{
    if (e->key_value) {
        put_value(w, e->key_value);
    } else {
        w->ops->string(w->writer, e->key);
    }
    put_value(w, e->value);
}

/* The list begins with the last of the file. */
static void end_record(struct walk *w, uint32_t extra)
{
    size_t from = w->extras.n;
    for (; extra; extra = w->s->extras[extra].next) {
        if (!mt_vec_push(&w->extras, extra)) {
            mt_sink_fail(w->sink, MT_NOMEM, "out of memory");
            break;
        }
    }
    while (w->extras.n > from) {
        put_extra(w, &w->s->extras[w->extras.v[--w->extras.n]]);
    }
    end(w);
}

static void put_frame(struct walk *w, uint32_t id)
{
    if (w->ops->refer && w->ops->refer(w->writer, MT_SHARED_FRAME, id)) {
        return;
    }
    const struct mt_frame *f = &w->s->frames[id];
    if (w->ops->remember) {
        w->ops->remember(w->writer, MT_SHARED_FRAME, id);
    }
    begin_record(w, f->present, MT_FRAME_KEY_COUNT, f->extra);
    for (unsigned k = 0; k < MT_FRAME_KEY_COUNT; k++) {
        if (!(f->present >> k & 1)) {
            continue;
        }
        put_word(w, WORD_FRAME + k);
        switch ((enum mt_frame_key)k) {
        case MT_FRAME_KEY_name: w->ops->string(w->writer, f->name); break;
        case MT_FRAME_KEY_filename: w->ops->string(w->writer, f->filename); break;
        case MT_FRAME_KEY_line: put_i64(w, f->line); break;
        case MT_FRAME_KEY_COUNT: break;
        }
    }
    end_record(w, f->extra);
}

static void put_stack(struct walk *w, uint32_t id)
{
    const struct mt_stack *stack = &w->s->stacks[id];
    if (!id || stack->n == 0) {
        begin_list(w, 0, false);
        end(w);
        return;
    }
    if (w->ops->refer && w->ops->refer(w->writer, MT_SHARED_STACK, id)) {
        return;
    }
    if (w->ops->remember) {
        w->ops->remember(w->writer, MT_SHARED_STACK, id);
    }
    begin_list(w, stack->n, false);
    for (uint32_t i = 0; i < stack->n; i++) {
        put_frame(w, w->s->stack_frames[stack->first + i]);
    }
    end(w);
}

static void put_column(const struct walk *w, size_t index, enum mt_event_column column)
{
    w->ops->string(w->writer, mt_event_column_get(w->s, index, column));
}

static void put_event_key(struct walk *w, size_t index, unsigned key)
{
    const struct mt_event *e = &w->s->events[index];
    const struct mt_event_shape *shape = &w->s->event_shapes[e->shape];
    switch ((enum mt_event_key)key) {
    case MT_EVENT_KEY_action: put_name(w, shape->action_name, WORD_ACTION + e->action); break;
    case MT_EVENT_KEY_addr:
        put_bits(w, e->addr, (shape->present & MT_PRESENT_NEGATIVE_ADDR_EVENT) != 0);
        break;
    case MT_EVENT_KEY_device_free: put_u64(w, e->addr); break;
    case MT_EVENT_KEY_size: put_u64(w, e->size); break;
    case MT_EVENT_KEY_stream: put_stream(w, e->stream); break;
    case MT_EVENT_KEY_time_us: put_i64(w, e->time_us); break;
    case MT_EVENT_KEY_compile_context: put_column(w, index, MT_COLUMN_COMPILE_CONTEXT); break;
    case MT_EVENT_KEY_user_metadata: put_column(w, index, MT_COLUMN_USER_METADATA); break;
    case MT_EVENT_KEY_internal_metadata: put_column(w, index, MT_COLUMN_INTERNAL_METADATA); break;
    case MT_EVENT_KEY_pool_id:
        put_pool(w, w->s->pools[mt_event_column_get(w->s, index, MT_COLUMN_POOL)]);
        break;
    case MT_EVENT_KEY_frames: put_stack(w, e->stack); break;
    case MT_EVENT_KEY_category: put_column(w, index, MT_COLUMN_CATEGORY); break;
    case MT_EVENT_KEY_COUNT: break;
    }
}

static void put_event(struct walk *w, size_t index)
{
    uint32_t present = w->s->event_shapes[w->s->events[index].shape].present;
    uint32_t extra = mt_event_column_get(w->s, index, MT_COLUMN_EXTRA);
    begin_record(w, present, MT_EVENT_KEY_COUNT, extra);
    for (unsigned k = 0; k < MT_EVENT_KEY_COUNT; k++) {
        if (present >> k & 1) {
            put_word(w, WORD_EVENT + k);
            put_event_key(w, index, k);
        }
    }
    end_record(w, extra);
}

static void put_events(struct walk *w, size_t first, size_t n)
{
    begin_list(w, n, true);
    for (size_t i = 0; i < n && !mt_sink_failed(w->sink); i++) {
        put_event(w, first + i);
    }
    end(w);
}

static void put_history(struct walk *w, size_t index)
{
    const struct mt_history *h = &w->s->history[index];
    begin_record(w, h->present, MT_HISTORY_KEY_COUNT, h->extra);
    for (unsigned k = 0; k < MT_HISTORY_KEY_COUNT; k++) {
        if (!(h->present >> k & 1)) {
            continue;
        }
        put_word(w, WORD_HISTORY + k);
        switch ((enum mt_history_key)k) {
        case MT_HISTORY_KEY_addr:
            put_bits(w, h->addr, (h->present & MT_PRESENT_NEGATIVE_ADDR_HISTORY) != 0);
            break;
        case MT_HISTORY_KEY_real_size: put_u64(w, h->real_size); break;
        case MT_HISTORY_KEY_frames: put_stack(w, h->stack); break;
        case MT_HISTORY_KEY_COUNT: break;
        }
    }
    end_record(w, h->extra);
}

static void put_histories(struct walk *w, size_t first, size_t n)
{
    begin_list(w, n, false);
    for (size_t i = 0; i < n; i++) {
        put_history(w, first + i);
    }
    end(w);
}

static void put_block(struct walk *w, size_t index)
{
    const struct mt_block *b = &w->s->blocks[index];
    begin_record(w, b->present, MT_BLOCK_KEY_COUNT, b->extra);
    for (unsigned k = 0; k < MT_BLOCK_KEY_COUNT; k++) {
        if (!(b->present >> k & 1)) {
            continue;
        }
        put_word(w, WORD_BLOCK + k);
        switch ((enum mt_block_key)k) {
        case MT_BLOCK_KEY_address:
            put_bits(w, b->addr, (b->present & MT_PRESENT_NEGATIVE_ADDR_BLOCK) != 0);
            break;
        case MT_BLOCK_KEY_size: put_u64(w, b->size); break;
        case MT_BLOCK_KEY_requested_size: put_u64(w, b->requested); break;
        case MT_BLOCK_KEY_state: put_name(w, b->state_name, WORD_STATE + b->state); break;
        case MT_BLOCK_KEY_frames: put_stack(w, b->stack); break;
        case MT_BLOCK_KEY_history: put_histories(w, b->history_first, b->history_n); break;
        case MT_BLOCK_KEY_COUNT: break;
        }
    }
    end_record(w, b->extra);
}

static void put_blocks(struct walk *w, size_t first, size_t n)
{
    begin_list(w, n, true);
    for (size_t i = 0; i < n && !mt_sink_failed(w->sink); i++) {
        put_block(w, first + i);
    }
    end(w);
}

static void put_segment_key(struct walk *w, const struct mt_segment *g, unsigned key)
{
    switch ((enum mt_segment_key)key) {
    case MT_SEGMENT_KEY_device: put_i64(w, g->device); break;
    case MT_SEGMENT_KEY_address:
        put_bits(w, g->addr, (g->present & MT_PRESENT_NEGATIVE_ADDR_SEGMENT) != 0);
        break;
    case MT_SEGMENT_KEY_total_size: put_u64(w, g->total_size); break;
    case MT_SEGMENT_KEY_allocated_size: put_u64(w, g->allocated_size); break;
    case MT_SEGMENT_KEY_active_size: put_u64(w, g->active_size); break;
    case MT_SEGMENT_KEY_requested_size: put_u64(w, g->requested_size); break;
    case MT_SEGMENT_KEY_stream: put_stream(w, g->stream); break;
    case MT_SEGMENT_KEY_segment_type: put_name(w, g->type_name, WORD_POOL_KIND + g->kind); break;
    case MT_SEGMENT_KEY_segment_pool_id: put_pool(w, g->pool); break;
    case MT_SEGMENT_KEY_is_expandable: w->ops->boolean(w->writer, g->expandable); break;
    case MT_SEGMENT_KEY_frames: put_stack(w, g->stack); break;
    case MT_SEGMENT_KEY_blocks: put_blocks(w, g->first_block, g->n_blocks); break;
    case MT_SEGMENT_KEY_COUNT: break;
    }
}

static void put_segment(struct walk *w, const struct mt_segment *g)
{
    begin_record(w, g->present, MT_SEGMENT_KEY_COUNT, g->extra);
    for (unsigned k = 0; k < MT_SEGMENT_KEY_COUNT; k++) {
        if (g->present >> k & 1) {
            put_word(w, WORD_SEGMENT + k);
            put_segment_key(w, g, k);
        }
    }
    end_record(w, g->extra);
}

static void put_segments(struct walk *w, const struct mt_segment *segments, size_t n)
{
    begin_list(w, n, true);
    for (size_t i = 0; i < n && !mt_sink_failed(w->sink); i++) {
        put_segment(w, &segments[i]);
    }
    end(w);
}

static void put_annotation(struct walk *w, const struct mt_annotation *a)
{
    begin_record(w, a->present, MT_ANNOTATION_KEY_COUNT, a->extra);
    for (unsigned k = 0; k < MT_ANNOTATION_KEY_COUNT; k++) {
        if (!(a->present >> k & 1)) {
            continue;
        }
        put_word(w, WORD_ANNOTATION + k);
        switch ((enum mt_annotation_key)k) {
        case MT_ANNOTATION_KEY_stage: w->ops->string(w->writer, a->stage); break;
        case MT_ANNOTATION_KEY_name: w->ops->string(w->writer, a->name); break;
        case MT_ANNOTATION_KEY_device: put_i64(w, a->device); break;
        case MT_ANNOTATION_KEY_time_us: put_i64(w, a->time_us); break;
        case MT_ANNOTATION_KEY_COUNT: break;
        }
    }
    end_record(w, a->extra);
}

static void put_annotations(struct walk *w, size_t first, size_t n)
{
    begin_list(w, n, true);
    for (size_t i = 0; i < n && !mt_sink_failed(w->sink); i++) {
        put_annotation(w, &w->s->annotations[first + i]);
    }
    end(w);
}

/* ---- generic values ---- */

static void put_container(struct walk *w, const struct mt_value *v, enum mt_document_kind c)
{
    w->ops->begin(w->writer, c, v->n, false);
    size_t items = c == MT_DOCUMENT_DICT ? 2 * (size_t)v->n : v->n;
    for (size_t i = 0; i < items && !mt_sink_failed(w->sink); i++) {
        put_value(w, v->u.id + (uint32_t)i);
    }
    end(w);
}

/* Under a key that memtool does not know: a record itself, or a list of such. */
static void put_record(struct walk *w, const struct mt_value *v)
{
    switch ((enum mt_value_kind)v->kind) {
    case MT_VALUE_EVENTS: put_event(w, v->u.id); break;
    case MT_VALUE_SEGMENTS: put_segment(w, &w->s->other_segments[v->u.id]); break;
    case MT_VALUE_BLOCKS: put_block(w, v->u.id); break;
    case MT_VALUE_ANNOTATIONS: put_annotation(w, &w->s->annotations[v->u.id]); break;
    default: put_history(w, v->u.id); break;
    }
}

static void put_records(struct walk *w, const struct mt_value *v)
{
    switch ((enum mt_value_kind)v->kind) {
    case MT_VALUE_EVENTS: put_events(w, v->u.id, v->n); break;
    case MT_VALUE_SEGMENTS: put_segments(w, MT_PART(w->s->other_segments, v->u.id), v->n); break;
    case MT_VALUE_BLOCKS: put_blocks(w, v->u.id, v->n); break;
    case MT_VALUE_ANNOTATIONS: put_annotations(w, v->u.id, v->n); break;
    default: put_histories(w, v->u.id, v->n); break;
    }
}

static void put_kind(struct walk *w, const struct mt_value *v)
{
    switch ((enum mt_value_kind)v->kind) {
    case MT_VALUE_NONE: w->ops->none(w->writer); break;
    case MT_VALUE_BOOL: w->ops->boolean(w->writer, v->u.i != 0); break;
    case MT_VALUE_INT: put_i64(w, v->u.i); break;
    case MT_VALUE_BIG: w->ops->big(w->writer, mt_snapshot_str(w->s, v->u.id)); break;
    case MT_VALUE_FLOAT: w->ops->real(w->writer, v->u.f); break;
    case MT_VALUE_STR: w->ops->string(w->writer, v->u.id); break;
    case MT_VALUE_BYTES: w->ops->bytes(w->writer, v->u.id); break;
    case MT_VALUE_LIST: put_container(w, v, MT_DOCUMENT_LIST); break;
    case MT_VALUE_TUPLE: put_container(w, v, MT_DOCUMENT_TUPLE); break;
    case MT_VALUE_DICT: put_container(w, v, MT_DOCUMENT_DICT); break;
    case MT_VALUE_FRAME: put_frame(w, v->u.id); break;
    case MT_VALUE_STACK: put_stack(w, v->u.id); break;
    case MT_VALUE_EVENTS:
    case MT_VALUE_SEGMENTS:
    case MT_VALUE_BLOCKS:
    case MT_VALUE_ANNOTATIONS:
    case MT_VALUE_HISTORY: (v->single ? put_record : put_records)(w, v); break;
    }
}

static void put_value(struct walk *w, uint32_t index)
{
    if (w->depth >= DEPTH_MAX) {
        mt_sink_fail(w->sink, MT_LIMIT, "values are nested too deep to write (more than 2,000)");
        return;
    }
    if (mt_sink_failed(w->sink)) {
        return; /* lists that share their parts unfold to more than can be walked */
    }
    w->depth++;
    put_kind(w, &w->s->values[index]);
    w->depth--;
}

/* ---- the top ---- */

static void put_traces(struct walk *w, const struct mt_trace *traces, size_t n, bool flat)
{
    if (flat && n == 1) {
        put_events(w, traces[0].first, traces[0].n);
        return;
    }
    begin_list(w, n, false);
    for (size_t i = 0; i < n; i++) {
        put_events(w, traces[i].first, traces[i].n);
    }
    end(w);
}

static void put_top_key(struct walk *w, unsigned key)
{
    const struct mt_snapshot *s = w->s;
    switch ((enum mt_top_key)key) {
    case MT_TOP_KEY_segments: put_segments(w, s->segments, s->n_segments); break;
    case MT_TOP_KEY_device_traces: put_traces(w, s->traces, s->n_traces, false); break;
    case MT_TOP_KEY_allocator_settings: put_value(w, s->settings); break;
    case MT_TOP_KEY_memtool: put_value(w, s->own); break;
    case MT_TOP_KEY_external_annotations: put_annotations(w, 0, s->n_annotations); break;
    case MT_TOP_KEY_host_segments: put_segments(w, s->host_segments, s->n_host_segments); break;
    case MT_TOP_KEY_host_traces:
        put_traces(w, s->host_traces, s->n_host_traces, s->host_trace_is_flat);
        break;
    case MT_TOP_KEY_COUNT: break;
    }
}

static void put_top(struct walk *w)
{
    const struct mt_snapshot *s = w->s;
    begin_record(w, s->present, MT_TOP_KEY_COUNT, s->extra);
    for (unsigned k = 0; k < MT_TOP_KEY_COUNT; k++) {
        if (s->present >> k & 1) {
            put_word(w, WORD_TOP + k);
            put_top_key(w, k);
        }
    }
    end_record(w, s->extra);
}

void mt_document_walk(const struct mt_snapshot *s, const struct mt_document_ops *ops, void *writer,
                      struct mt_sink *sink)
{
    struct walk w = {.s = s, .ops = ops, .writer = writer, .sink = sink};
    if (s->source.bare_list) {
        put_segments(&w, s->segments, s->n_segments);
    } else {
        put_top(&w);
    }
    mt_vec_release(&w.extras);
}
