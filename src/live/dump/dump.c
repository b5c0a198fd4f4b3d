/* SPDX-License-Identifier: MIT */
/*
 * The snapshot file, in the schema that PyTorch 2.5 and later write (see memtool-snapshot(5)):
 * segments, device_traces, allocator_settings, external_annotations, and host_segments and
 * host_traces of 2.14 where pinned memory was recorded. Stacks, frames and strings
 * are written once and remembered, which is what keeps such files small. memtool's own reader,
 * PyTorch's viewer and its command line open them.
 *
 * It does not go through the snapshot builder: that would hold a second copy of every event, with
 * tables, in a process that may be short of memory, and the library would grow by the readers.
 */
#include "live/core/quiet_write.h"
#include "live/dump/dump.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/mem.h"
#include "support/vec.h"

#include "live/dump/pickle_out.h"
#include "live/dump/whole_file.h"

struct segment {
    struct mt_alloc_segment_view view;
    int device;
    size_t first_block;
};

struct trace {
    struct mt_record_event *v;
    size_t n;
};

static const uint32_t not_written = UINT32_MAX;

/* Keys and words that come again and again; written once, then by number. */
#define WORD_MAP(X)                                                                                \
    X(DEVICE, "device")                                                                            \
    X(ADDRESS, "address")                                                                          \
    X(TOTAL_SIZE, "total_size")                                                                    \
    X(ALLOCATED_SIZE, "allocated_size")                                                            \
    X(ACTIVE_SIZE, "active_size")                                                                  \
    X(REQUESTED_SIZE, "requested_size")                                                            \
    X(STREAM, "stream")                                                                            \
    X(SEGMENT_TYPE, "segment_type")                                                                \
    X(SEGMENT_POOL_ID, "segment_pool_id")                                                          \
    X(IS_EXPANDABLE, "is_expandable")                                                              \
    X(FRAMES, "frames")                                                                            \
    X(BLOCKS, "blocks")                                                                            \
    X(SIZE, "size")                                                                                \
    X(STATE, "state")                                                                              \
    X(NAME, "name")                                                                                \
    X(FILENAME, "filename")                                                                        \
    X(LINE, "line")                                                                                \
    X(ACTION, "action")                                                                            \
    X(ADDR, "addr")                                                                                \
    X(DEVICE_FREE, "device_free")                                                                  \
    X(TIME_US, "time_us")                                                                          \
    X(STAGE, "stage")                                                                              \
    X(START, "START")                                                                              \
    X(END, "END")                                                                                  \
    X(SMALL, "small")                                                                              \
    X(LARGE, "large")                                                                              \
    X(INACTIVE, "inactive")                                                                        \
    X(ACTIVE_ALLOCATED, "active_allocated")                                                        \
    X(ACTIVE_PENDING, "active_pending_free")                                                       \
    X(ALLOC, "alloc")                                                                              \
    X(FREE_REQUESTED, "free_requested")                                                            \
    X(FREE_COMPLETED, "free_completed")                                                            \
    X(SEGMENT_ALLOC, "segment_alloc")                                                              \
    X(SEGMENT_FREE, "segment_free")                                                                \
    X(SEGMENT_MAP, "segment_map")                                                                  \
    X(SEGMENT_UNMAP, "segment_unmap")                                                              \
    X(OOM, "oom")                                                                                  \
    X(SNAPSHOT, "snapshot")

enum word {
#define X(id, text) WORD_##id,
    WORD_MAP(X)
#undef X
        WORD_COUNT
};

static const struct mt_str word_texts[] = {
#define X(id, text) MT_STR_INIT(text),
    WORD_MAP(X)
#undef X
};

static const enum word action_words[MT_RECORD_ACTION_COUNT] = {
    [MT_RECORD_ALLOC] = WORD_ALLOC,
    [MT_RECORD_FREE_REQUESTED] = WORD_FREE_REQUESTED,
    [MT_RECORD_FREE_COMPLETED] = WORD_FREE_COMPLETED,
    [MT_RECORD_SEGMENT_ALLOC] = WORD_SEGMENT_ALLOC,
    [MT_RECORD_SEGMENT_FREE] = WORD_SEGMENT_FREE,
    [MT_RECORD_SEGMENT_MAP] = WORD_SEGMENT_MAP,
    [MT_RECORD_SEGMENT_UNMAP] = WORD_SEGMENT_UNMAP,
    [MT_RECORD_OOM] = WORD_OOM,
    [MT_RECORD_SNAPSHOT] = WORD_SNAPSHOT,
};

static const enum word state_words[] = {
    [MT_ALLOC_FREE] = WORD_INACTIVE,
    [MT_ALLOC_IN_USE] = WORD_ACTIVE_ALLOCATED,
    [MT_ALLOC_PENDING] = WORD_ACTIVE_PENDING,
};

struct mt_dump {
    MT_VEC(struct segment) segments;
    MT_VEC(struct mt_alloc_block_view) blocks;
    int device;     /* of the walk that is running */
    bool no_memory; /* it was stopped for want of it */
    struct trace traces[MT_RECORD_DEVICES_MAX];
    int n_traces;
    struct trace host_trace;
    MT_VEC(uint64_t) streams;
    MT_VEC(struct mt_str) strings; /* the bytes lie in the recorder's arena, which only grows */
    MT_VEC(struct mt_live_frame) frames;
    MT_VEC(struct mt_live_stack) stacks;
    MT_VEC(uint32_t) members;
    MT_VEC(struct mt_record_mark) marks;
    const struct mt_alloc_settings *settings;
    const char *conf;
    struct mt_own own;
    /* while writing: numbers in the pickle's memo */
    uint32_t words[WORD_COUNT];
    uint32_t *string_numbers, *frame_numbers, *stack_numbers;
    struct mt_pickle_out out;
};

struct mt_dump *mt_dump_new(void)
{
    return mt_mem_zalloc(1, sizeof(struct mt_dump));
}

void mt_dump_free(struct mt_dump *d)
{
    if (!d) {
        return;
    }
    for (int i = 0; i < d->n_traces; i++) {
        mt_mem_free(d->traces[i].v);
    }
    mt_mem_free(d->host_trace.v);
    mt_own_release(&d->own);
    mt_vec_release(&d->segments);
    mt_vec_release(&d->blocks);
    mt_vec_release(&d->streams);
    mt_vec_release(&d->strings);
    mt_vec_release(&d->frames);
    mt_vec_release(&d->stacks);
    mt_vec_release(&d->members);
    mt_vec_release(&d->marks);
    mt_mem_free(d->string_numbers);
    mt_mem_free(d->frame_numbers);
    mt_mem_free(d->stack_numbers);
    mt_mem_free(d);
}

/* ---- copying, with the lock ---- */

static bool copy_segment(void *ctx, const struct mt_alloc_segment_view *view)
{
    struct mt_dump *d = ctx;
    const struct segment s = {*view, d->device, d->blocks.n};
    d->no_memory = !mt_vec_push(&d->segments, s);
    return !d->no_memory;
}

static bool copy_block(void *ctx, const struct mt_alloc_block_view *view)
{
    struct mt_dump *d = ctx;
    d->no_memory = !mt_vec_push(&d->blocks, *view);
    return !d->no_memory;
}

enum mt_status mt_dump_add_device(struct mt_dump *d, int device, const struct mt_alloc *a,
                                  struct mt_error *err)
{
    const struct mt_alloc_visitor visitor = {copy_segment, copy_block, d};
    d->device = device;
    d->no_memory = false;
    enum mt_status status = mt_alloc_walk(a, &visitor, err);
    return status == MT_OK && d->no_memory ? mt_fail_nomem(err) : status;
}

enum mt_status mt_dump_add_segment(struct mt_dump *d, int device,
                                   const struct mt_alloc_segment_view *segment,
                                   const struct mt_alloc_block_view *block, struct mt_error *err)
{
    d->device = device;
    return copy_segment(d, segment) && copy_block(d, block) ? MT_OK : mt_fail_nomem(err);
}

static int by_place(const void *a, const void *b)
{
    const struct segment *x = a, *y = b;
    if (x->device != y->device) {
        return x->device < y->device ? -1 : 1;
    }
    return x->view.addr < y->view.addr ? -1 : x->view.addr > y->view.addr;
}

void mt_dump_sort(struct mt_dump *d)
{
    if (d->segments.n > 0) {
        qsort(d->segments.v, d->segments.n, sizeof *d->segments.v, by_place);
    }
}

static bool copy_trace(struct trace *t, const struct mt_record_ring *ring)
{
    *t = (struct trace){0};
    t->n = (size_t)(ring->full ? ring->cap : ring->next);
    if (t->n == 0) {
        return true;
    }
    t->v = mt_mem_alloc(t->n, sizeof *t->v);
    if (!t->v) {
        t->n = 0;
        return false;
    }
    size_t oldest = ring->full ? (size_t)ring->next : 0;
    memcpy(t->v, ring->v + oldest, (t->n - oldest) * sizeof *t->v);
    memcpy(t->v + (t->n - oldest), ring->v, oldest * sizeof *t->v);
    return true;
}

static bool copy_marks(struct mt_dump *d, const struct mt_recorder *r)
{
    uint64_t n = r->n_marks < MT_RECORD_MARKS_MAX ? r->n_marks : MT_RECORD_MARKS_MAX;
    bool fits = mt_vec_reserve(&d->marks, (size_t)n);
    for (uint64_t i = r->n_marks - n; fits && i < r->n_marks; i++) {
        d->marks.v[d->marks.n++] = r->marks[i % MT_RECORD_MARKS_MAX];
    }
    return fits;
}

/* Copies a vector of the same type. */
#define COPY(to, from)                                                                             \
    (mt_vec_reserve(&(to), (from).n)                                                               \
         ? ((void)((from).n && memcpy((to).v, (from).v, (from).n * sizeof *(to).v)),               \
            (to).n = (from).n, true)                                                               \
         : false)

enum mt_status mt_dump_add_recorder(struct mt_dump *d, const struct mt_recorder *r, int n_devices,
                                    struct mt_error *err)
{
    const struct mt_stack_table *t = &r->stacks;
    bool done = COPY(d->streams, r->streams) && COPY(d->strings, t->strings.strings) &&
                COPY(d->frames, t->frames) && COPY(d->stacks, t->stacks) &&
                COPY(d->members, t->members) && copy_marks(d, r);
    for (int i = 0; done && i < n_devices && i < MT_RECORD_DEVICES_MAX; i++) {
        done = copy_trace(&d->traces[d->n_traces++], &r->rings[i]);
    }
    done = done && copy_trace(&d->host_trace, &r->rings[MT_RECORD_HOST]);
    return done ? MT_OK : mt_fail_nomem(err);
}

void mt_dump_take_own(struct mt_dump *d, struct mt_own *own)
{
    mt_own_release(&d->own);
    d->own = *own;
    *own = (struct mt_own){0};
}

uint64_t mt_dump_segment_bytes(const struct mt_dump *d, int device)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < d->segments.n; i++) {
        bytes += d->segments.v[i].device == device ? d->segments.v[i].view.size : 0;
    }
    return bytes;
}

void mt_dump_set_settings(struct mt_dump *d, const struct mt_alloc_settings *s, const char *conf)
{
    d->settings = s;
    d->conf = conf;
}

/* ---- words, frames, stacks ---- */

static void put_word(struct mt_dump *d, enum word word)
{
    if (d->words[word] != not_written) {
        mt_pickle_get(&d->out, d->words[word]);
        return;
    }
    mt_pickle_str(&d->out, word_texts[word]);
    d->words[word] = mt_pickle_remember(&d->out);
}

static void put_uint(struct mt_dump *d, enum word key, uint64_t value)
{
    put_word(d, key);
    mt_pickle_uint(&d->out, value);
}

static void put_string(struct mt_dump *d, uint32_t id)
{
    if (id >= d->strings.n) { /* a string that found no memory */
        mt_pickle_str(&d->out, MT_STR(""));
    } else if (d->string_numbers[id] != not_written) {
        mt_pickle_get(&d->out, d->string_numbers[id]);
    } else {
        mt_pickle_str(&d->out, d->strings.v[id]);
        d->string_numbers[id] = mt_pickle_remember(&d->out);
    }
}

static void put_frame(struct mt_dump *d, uint32_t id)
{
    if (d->frame_numbers[id] != not_written) {
        mt_pickle_get(&d->out, d->frame_numbers[id]);
        return;
    }
    const struct mt_live_frame *f = &d->frames.v[id];
    mt_pickle_dict(&d->out);
    put_word(d, WORD_NAME);
    put_string(d, f->name);
    put_word(d, WORD_FILENAME);
    put_string(d, f->filename);
    put_word(d, WORD_LINE);
    mt_pickle_int(&d->out, f->line);
    mt_pickle_dict_end(&d->out);
    d->frame_numbers[id] = mt_pickle_remember(&d->out);
}

/* The frames of a stack; an empty list for none. */
static void put_frames(struct mt_dump *d, uint32_t stack)
{
    put_word(d, WORD_FRAMES);
    if (stack < d->stacks.n && d->stack_numbers[stack] != not_written) {
        mt_pickle_get(&d->out, d->stack_numbers[stack]);
        return;
    }
    mt_pickle_list(&d->out);
    if (stack < d->stacks.n) {
        const struct mt_live_stack *s = &d->stacks.v[stack];
        for (uint32_t i = 0; i < s->n; i++) {
            put_frame(d, d->members.v[s->first + i]);
        }
    }
    mt_pickle_list_end(&d->out);
    if (stack < d->stacks.n) {
        d->stack_numbers[stack] = mt_pickle_remember(&d->out);
    }
}

/* ---- the parts of a snapshot ---- */

static void put_block(struct mt_dump *d, const struct mt_alloc_block_view *b)
{
    mt_pickle_dict(&d->out);
    put_uint(d, WORD_ADDRESS, b->addr);
    put_uint(d, WORD_SIZE, b->size);
    put_uint(d, WORD_REQUESTED_SIZE, b->requested);
    put_word(d, WORD_STATE);
    put_word(d, state_words[b->state]);
    put_frames(d, b->stack);
    mt_pickle_dict_end(&d->out);
}

static void put_segment(struct mt_dump *d, const struct segment *s)
{
    const struct mt_alloc_segment_view *v = &s->view;
    mt_pickle_dict(&d->out);
    put_word(d, WORD_DEVICE);
    mt_pickle_int(&d->out, s->device == MT_RECORD_HOST ? -1 : s->device);
    put_uint(d, WORD_ADDRESS, v->addr);
    put_uint(d, WORD_TOTAL_SIZE, v->size);
    put_uint(d, WORD_ALLOCATED_SIZE, v->allocated);
    put_uint(d, WORD_ACTIVE_SIZE, v->active);
    put_uint(d, WORD_REQUESTED_SIZE, v->requested);
    put_uint(d, WORD_STREAM, v->stream);
    put_word(d, WORD_SEGMENT_TYPE);
    put_word(d, v->small ? WORD_SMALL : WORD_LARGE);
    put_word(d, WORD_SEGMENT_POOL_ID);
    mt_pickle_int(&d->out, v->pool.a);
    mt_pickle_int(&d->out, v->pool.b);
    mt_pickle_pair(&d->out);
    put_word(d, WORD_IS_EXPANDABLE);
    mt_pickle_bool(&d->out, v->expandable);
    put_frames(d, v->stack);
    put_word(d, WORD_BLOCKS);
    mt_pickle_list(&d->out);
    for (size_t i = 0; i < v->n_blocks; i++) {
        put_block(d, &d->blocks.v[s->first_block + i]);
    }
    mt_pickle_list_end(&d->out);
    mt_pickle_dict_end(&d->out);
}

static void put_event(struct mt_dump *d, const struct mt_record_event *e)
{
    mt_pickle_dict(&d->out);
    put_word(d, WORD_ACTION);
    put_word(d, action_words[e->action]);
    put_uint(d, e->action == MT_RECORD_OOM ? WORD_DEVICE_FREE : WORD_ADDR, e->addr);
    put_uint(d, WORD_SIZE, e->size);
    put_uint(d, WORD_STREAM, e->stream < d->streams.n ? d->streams.v[e->stream] : 0);
    put_word(d, WORD_TIME_US);
    mt_pickle_int(&d->out, e->time_us);
    if (e->stack) {
        put_frames(d, e->stack);
    }
    mt_pickle_dict_end(&d->out);
}

static void put_trace(struct mt_dump *d, const struct trace *t)
{
    mt_pickle_list(&d->out);
    for (size_t i = 0; i < t->n; i++) {
        put_event(d, &t->v[i]);
    }
    mt_pickle_list_end(&d->out);
}

static void put_traces(struct mt_dump *d)
{
    mt_pickle_str(&d->out, MT_STR("device_traces"));
    mt_pickle_list(&d->out);
    for (int i = 0; i < d->n_traces; i++) {
        put_trace(d, &d->traces[i]);
    }
    mt_pickle_list_end(&d->out);
}

static void put_segments(struct mt_dump *d, const char *key, bool host)
{
    mt_pickle_str(&d->out, mt_str_from(key));
    mt_pickle_list(&d->out);
    for (size_t i = 0; i < d->segments.n; i++) {
        if ((d->segments.v[i].device == MT_RECORD_HOST) == host) {
            put_segment(d, &d->segments.v[i]);
        }
    }
    mt_pickle_list_end(&d->out);
}

static void put_flag(struct mt_dump *d, const char *key, bool value)
{
    mt_pickle_str(&d->out, mt_str_from(key));
    mt_pickle_bool(&d->out, value);
}

static void put_settings(struct mt_dump *d)
{
    const struct mt_alloc_settings *s = d->settings;
    struct mt_pickle_out *o = &d->out;
    mt_pickle_str(o, MT_STR("allocator_settings"));
    mt_pickle_dict(o);
    mt_pickle_str(o, MT_STR("PYTORCH_CUDA_ALLOC_CONF"));
    mt_pickle_str(o, mt_str_from(d->conf ? d->conf : ""));
    mt_pickle_str(o, MT_STR("max_split_size"));
    mt_pickle_int(o, s->max_split_size > INT64_MAX ? -1 : (int64_t)s->max_split_size);
    mt_pickle_str(o, MT_STR("garbage_collection_threshold"));
    mt_pickle_double(o, s->garbage_collection_threshold);
    put_flag(d, "expandable_segments", s->expandable_segments);
    mt_pickle_str(o, MT_STR("pinned_num_register_threads"));
    mt_pickle_uint(o, s->pinned_num_register_threads);
    put_flag(d, "release_lock_on_cudamalloc", s->release_lock_on_cudamalloc);
    put_flag(d, "pinned_use_cuda_host_register", s->pinned_use_cuda_host_register);
    put_flag(d, "graph_capture_record_stream_reuse", s->graph_capture_record_stream_reuse);
    mt_pickle_str(o, MT_STR("roundup_power2_divisions"));
    mt_pickle_dict(o);
    for (int i = 0; i < MT_ALLOC_INTERVALS; i++) {
        char mebibytes[16];
        snprintf(mebibytes, sizeof mebibytes, "%d", 1 << i);
        mt_pickle_str(o, mt_str_from(mebibytes));
        mt_pickle_uint(o, s->roundup_power2_divisions[i]);
    }
    mt_pickle_dict_end(o);
    mt_pickle_dict_end(o);
}

static void put_marks(struct mt_dump *d)
{
    mt_pickle_str(&d->out, MT_STR("external_annotations"));
    mt_pickle_list(&d->out);
    for (size_t i = 0; i < d->marks.n; i++) {
        const struct mt_record_mark *m = &d->marks.v[i];
        mt_pickle_dict(&d->out);
        put_word(d, WORD_STAGE);
        put_word(d, m->end ? WORD_END : WORD_START);
        put_word(d, WORD_NAME);
        mt_pickle_str(&d->out, mt_str_from(m->name));
        put_word(d, WORD_DEVICE);
        mt_pickle_int(&d->out, m->device);
        put_word(d, WORD_TIME_US);
        mt_pickle_int(&d->out, m->time_us);
        mt_pickle_dict_end(&d->out);
    }
    mt_pickle_list_end(&d->out);
}

static void put_snapshot(struct mt_dump *d)
{
    mt_pickle_dict(&d->out);
    put_segments(d, "segments", false);
    put_traces(d);
    if (d->settings) {
        put_settings(d);
    }
    put_marks(d);
    if (d->host_trace.n > 0) {
        put_segments(d, "host_segments", true);
        mt_pickle_str(&d->out, MT_STR("host_traces"));
        put_trace(d, &d->host_trace);
    }
    if (d->own.mode) {
        mt_pickle_str(&d->out, MT_STR("memtool"));
        mt_own_put(&d->own, &d->out);
    }
    mt_pickle_dict_end(&d->out);
}

/* ---- the file ---- */

static uint32_t *numbers_new(size_t n)
{
    uint32_t *numbers = mt_mem_alloc(n, sizeof *numbers);
    if (numbers) {
        memset(numbers, 0xff, n * sizeof *numbers); /* not_written */
    }
    return numbers;
}

static bool prepare_numbers(struct mt_dump *d)
{
    mt_mem_free(d->string_numbers);
    mt_mem_free(d->frame_numbers);
    mt_mem_free(d->stack_numbers);
    d->string_numbers = numbers_new(d->strings.n);
    d->frame_numbers = numbers_new(d->frames.n);
    d->stack_numbers = numbers_new(d->stacks.n);
    memset(d->words, 0xff, sizeof d->words);
    return d->string_numbers && d->frame_numbers && d->stack_numbers;
}

static enum mt_status failed(struct mt_error *err, const char *what, const char *path, int error)
{
    return mt_fail(err, MT_OUTPUT, MT_NO_OFFSET, "cannot %s %.150s: %s", what, path,
                   error == MT_WHOLE_NO_FILE ? "it is not a regular file" : strerror(error));
}

static enum mt_status write_file(struct mt_dump *d, struct mt_snapshot_names *names,
                                 enum mt_snapshot_why why, char *path, struct mt_error *err)
{
    struct mt_whole_file file;
    int error = mt_whole_file_open(&file, path, names != NULL);
    if (error != 0) {
        return failed(err, "create", path, error);
    }
    mt_pickle_begin(&d->out, file.fd);
    put_snapshot(d);
    if (!mt_pickle_end(&d->out)) {
        mt_whole_file_abandon(&file);
        return failed(err, "write", path, d->out.error);
    }
    error = names ? mt_snapshot_names_place(names, why, &file, path, MT_RECORD_PATH_MAX)
                  : mt_whole_file_commit(&file, path);
    return error == 0 ? MT_OK : failed(err, "write", path, error);
}

enum mt_status mt_dump_write(struct mt_dump *d, struct mt_snapshot_names *names,
                             enum mt_snapshot_why why, char *path, struct mt_error *err)
{
    struct mt_quiet quiet;
    if (!prepare_numbers(d)) {
        return mt_fail_nomem(err);
    }
    mt_quiet_begin(&quiet);
    enum mt_status status = write_file(d, names, why, path, err);
    mt_quiet_end(&quiet);
    return status;
}
