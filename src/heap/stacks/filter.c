/* SPDX-License-Identifier: MIT */
/*
 * Which segments, blocks and events the user wants to see. Everything cheap is compared on the
 * spot; regular expressions run once for each frame, and their outcome is kept for frames and
 * stacks, so that a filter over millions of events costs a byte lookup each.
 */
#include "heap/walk/annotation_cursor.h"
#include "heap/stacks/filter.h"

#include <inttypes.h>
#include <string.h>
#include <wchar.h>

#include "support/checked.h"
#include "torch/keys.h"
#include "support/mem.h"
#include "heap/walk/replay.h"

enum { UNKNOWN, YES, NO };

/* An expression is looked for in 55 MB of text a second, and the names of real files come to some
 * megabytes. */
enum { MAX_TEXT_MIB = 128 };

/* Of a frame: which of the two expressions it matches. */
enum { MATCHES = 1, MATCHES_NOT = 2 };

void mt_filter_init(struct mt_filter *f)
{
    memset(f, 0, sizeof *f);
    f->device = -1;
    f->size_max = UINT64_MAX;
    f->event_max = UINT64_MAX;
    f->time_min_us = INT64_MIN;
    f->time_max_us = INT64_MAX;
}

void mt_filter_release(struct mt_filter *f)
{
    if (f->has_frame) {
        regfree(&f->frame);
    }
    if (f->has_not_frame) {
        regfree(&f->not_frame);
    }
    if (f->has_label) {
        regfree(&f->label);
    }
    mt_filter_init(f);
}

static void say_option(struct mt_buf *b, const char *name, const char *value)
{
    mt_buf_printf(b, "%s--%s", b->n ? " " : "", name);
    if (value) {
        bool quoted = strpbrk(value, " #*?|()[]$'\"\\") != NULL;
        mt_buf_printf(b, quoted ? " '%s'" : " %s", value);
    }
}

void mt_filter_say(struct mt_buf *b, const struct mt_filter *f)
{
    static const char *const NAMES[] = {
#define X(id, name) name,
        MT_FILTER_VALUES(X)
#undef X
    };
    struct mt_buf words = {0};
    for (size_t i = 0; i < MT_COUNT(NAMES); i++) {
        if (f->said[i]) {
            say_option(&words, NAMES[i], f->said[i]);
        }
    }
    if (f->annotation) {
        say_option(&words, "annotation", f->annotation);
    }
    if (f->live_only || f->freed_only) {
        say_option(&words, f->live_only ? "live" : "freed", NULL);
    }
    mt_buf_str(b, mt_buf_view(&words));
    b->failed |= words.failed;
    mt_buf_release(&words);
}

bool mt_filter_is_open(const struct mt_filter *f)
{
    return f->device < 0 && !f->has_stream && f->pool == MT_POOL_ANY && f->size_min == 0 &&
           f->size_max == UINT64_MAX && f->event_min == 0 && f->event_max == UINT64_MAX &&
           !f->has_time && !f->annotation && !f->has_frame && !f->has_not_frame && !f->has_label &&
           !f->live_only && !f->freed_only;
}

/* ---- annotations ---- */

struct mark {
    struct mt_str name, stage;
    int32_t device;
    int64_t time_us;
};

/* START opens a span, END closes the innermost open one of its device. */
static bool add_mark(struct mt_filtered *f, const struct mark *m)
{
    struct mt_str wanted = mt_str_from(f->filter->annotation);
    bool named =
        mt_str_equal(m->name, wanted) || mt_str_equal(mt_annotation_plain(m->name), wanted);
    if (!named || m->time_us == MT_NO_TIME) {
        return true;
    }
    if (mt_str_equal(m->stage, MT_STR("START"))) {
        return mt_vec_push(&f->spans,
                           ((struct mt_annotation_span){m->device, m->time_us, INT64_MAX}));
    }
    for (size_t i = f->spans.n; i > 0; i--) {
        struct mt_annotation_span *span = &f->spans.v[i - 1];
        if (span->device == m->device && span->end_us == INT64_MAX) {
            span->end_us = m->time_us;
            return true;
        }
    }
    /* it began before the recording */
    return mt_vec_push(&f->spans, ((struct mt_annotation_span){m->device, INT64_MIN, m->time_us}));
}

static bool add_annotations(struct mt_filtered *f)
{
    const struct mt_snapshot *s = f->snapshot;
    for (size_t i = 0; i < s->n_annotations; i++) {
        const struct mt_annotation *a = &s->annotations[i];
        bool has_device = a->present & (1u << MT_ANNOTATION_KEY_device);
        struct mark m = {mt_snapshot_str(s, a->name), mt_snapshot_str(s, a->stage),
                         has_device ? a->device : -1, a->time_us};
        if (!add_mark(f, &m)) {
            return false;
        }
    }
    return true;
}

/* Nightly builds of 2024 put annotations into the trace: events with one frame whose name is the
 * stage and whose file is the annotation's name. */
static bool add_user_defined(struct mt_filtered *f, size_t device)
{
    const struct mt_snapshot *s = f->snapshot;
    const struct mt_trace *t = &s->traces[device];
    for (size_t i = t->first; i < t->first + t->n; i++) {
        const struct mt_event *e = &s->events[i];
        if (e->action != MT_ACTION_USER_DEFINED || s->stacks[e->stack].n == 0) {
            continue;
        }
        const struct mt_frame *frame = &s->frames[s->stack_frames[s->stacks[e->stack].first]];
        struct mark m = {mt_snapshot_str(s, frame->filename), mt_snapshot_str(s, frame->name),
                         (int32_t)device, e->time_us};
        if (!add_mark(f, &m)) {
            return false;
        }
    }
    return true;
}

static bool in_annotation(const struct mt_filtered *f, int32_t device, int64_t time_us)
{
    for (size_t i = 0; i < f->spans.n; i++) {
        const struct mt_annotation_span *span = &f->spans.v[i];
        if ((span->device < 0 || span->device == device) && time_us >= span->begin_us &&
            time_us <= span->end_us) {
            return time_us != MT_NO_TIME;
        }
    }
    return false;
}

/* ---- compiling ---- */

static int64_t first_time(const struct mt_snapshot *s, const struct mt_trace *t)
{
    for (size_t i = t->first; i < t->first + t->n; i++) {
        if (s->events[i].time_us != MT_NO_TIME) {
            return s->events[i].time_us;
        }
    }
    return MT_NO_TIME;
}

static bool init_times(struct mt_filtered *f)
{
    const struct mt_snapshot *s = f->snapshot;
    f->first_us = mt_mem_alloc(s->n_traces, sizeof *f->first_us);
    for (size_t d = 0; f->first_us && d < s->n_traces; d++) {
        f->first_us[d] = first_time(s, &s->traces[d]);
    }
    return f->first_us != NULL;
}

static bool init_spans(struct mt_filtered *f)
{
    bool ok = add_annotations(f);
    for (size_t d = 0; ok && d < f->snapshot->n_traces; d++) {
        ok = add_user_defined(f, d);
    }
    return ok;
}

static enum mt_status init_pools(struct mt_filtered *f, struct mt_error *err)
{
    for (size_t d = 0; d < f->snapshot->n_traces; d++) {
        if (!mt_vec_push(&f->pools, (struct mt_event_pools){0})) {
            return mt_fail_nomem(err);
        }
        MT_TRY(mt_event_pools_init(&f->pools.v[d], f->snapshot, (int32_t)d, err));
    }
    return MT_OK;
}

/* Whether an expression matches; false also when memory ran out, of which *ok tells. */
static bool matches(const regex_t *expression, const char *text, bool *ok)
{
    int found = regexec(expression, text, 0, NULL, 0);
    *ok &= found == 0 || found == REG_NOMATCH;
    return found == 0;
}

/* glibc's regexec calls it no match when it runs out of memory for its states; what it would have
 * needed for one is asked for once more. */
static bool has_memory_left(void)
{
    enum { STATE_BYTES = 4096 };
    void *p = mt_mem_alloc(STATE_BYTES, 1);
    mt_mem_free(p);
    return p != NULL;
}

/* What regexec would match with nothing, not even with '.', becomes '?': bytes that are no
 * characters, and NUL, where it would stop. */
static void mend_characters(struct mt_buf *b)
{
    mbstate_t state = {0};
    for (size_t i = 0; i < b->n;) {
        bool plain = b->p[i] > 0;
        size_t n = plain ? 1 : mbrlen(b->p + i, b->n - i, &state);
        if (n == 0 || n > b->n - i) {
            b->p[i] = '?';
            memset(&state, 0, sizeof state);
            n = 1;
        }
        i += n;
    }
}

/* "file:line name", of a long path the end and of a long name the beginning. */
static bool frame_text(const struct mt_snapshot *s, const struct mt_frame *frame, struct mt_buf *b)
{
    mt_buf_reset(b);
    mt_buf_str(b, mt_frame_path(s, frame));
    mt_buf_printf(b, ":%" PRId32 " ", frame->line);
    mt_buf_str(b, mt_frame_function(s, frame));
    if (!b->failed) {
        mend_characters(b);
    }
    return !b->failed;
}

/* All frames at once, where running out of memory can still be told. */
static enum mt_status match_frames(struct mt_filtered *f, struct mt_error *err)
{
    const struct mt_filter *filter = f->filter;
    const struct mt_snapshot *s = f->snapshot;
    struct mt_buf line = {0};
    size_t total = 0;
    bool ok = true;
    for (size_t i = 0; i < s->n_frames && ok && total >> 20 < MAX_TEXT_MIB; i++) {
        ok = frame_text(s, &s->frames[i], &line);
        total += line.n;
        if (ok && filter->has_frame && matches(&filter->frame, line.p, &ok)) {
            f->frame_verdict[i] |= MATCHES;
        }
        if (ok && filter->has_not_frame && matches(&filter->not_frame, line.p, &ok)) {
            f->frame_verdict[i] |= MATCHES_NOT;
        }
    }
    mt_buf_release(&line);
    if (ok && total >> 20 >= MAX_TEXT_MIB) {
        return mt_fail(
            err, MT_LIMIT, MT_NO_OFFSET,
            "the %zu frames of this file have more than %d MiB of names: too much to look "
            "for an expression in",
            s->n_frames - 1, MAX_TEXT_MIB);
    }
    return ok && has_memory_left() ? MT_OK : mt_fail_nomem(err);
}

static enum mt_status init_verdicts(struct mt_filtered *f, struct mt_error *err)
{
    f->frame_verdict = mt_mem_zalloc(f->snapshot->n_frames, 1);
    f->stack_verdict = mt_mem_zalloc(f->snapshot->n_stacks, 1);
    return f->frame_verdict && f->stack_verdict ? match_frames(f, err) : mt_fail_nomem(err);
}

/* ---- labels ---- */

static bool match_text(struct mt_filtered *f, uint32_t id)
{
    struct mt_buf text = {0};
    bool ok = true;
    if (f->text_verdict[id] != UNKNOWN) {
        return true;
    }
    mt_buf_str(&text, mt_str_head(mt_snapshot_str(f->snapshot, id), MT_ASKED_BYTES));
    mend_characters(&text);
    bool yes = id && !text.failed && text.n > 0 && matches(&f->filter->label, text.p, &ok);
    f->text_verdict[id] = yes ? YES : NO;
    ok &= !text.failed;
    mt_buf_release(&text);
    return ok;
}

static bool match_tensors(struct mt_filtered *f)
{
    uint32_t n;
    bool ok = true;
    const struct mt_value *tensors = mt_snapshot_tensors(f->snapshot, &n);
    for (uint32_t i = 0; ok && i < n; i++) {
        const struct mt_value *name = tensors[i].kind == MT_VALUE_DICT
                                          ? mt_value_find(f->snapshot, &tensors[i], "name")
                                          : NULL;
        ok = !name || name->kind != MT_VALUE_STR || match_text(f, name->u.id);
    }
    return ok;
}

/* All texts at once, where running out of memory can still be told. */
static enum mt_status init_labels(struct mt_filtered *f, struct mt_error *err)
{
    MT_TRY(mt_event_labels_init(&f->labels, f->snapshot, err));
    f->text_verdict = mt_mem_zalloc(f->snapshot->n_strings, 1);
    bool ok = f->text_verdict != NULL;
    for (size_t i = 0; ok && i < f->snapshot->n_events; i++) {
        ok = match_text(f, f->labels.text[i]) && match_text(f, mt_event_region(f->snapshot, i));
    }
    ok = ok && match_tensors(f);
    return ok && has_memory_left() ? MT_OK : mt_fail_nomem(err);
}

/* `alloc` is the event of an allocation, or MT_NO_ALLOC. */
static bool passes_label(const struct mt_filtered *f, uint32_t alloc)
{
    if (!f->text_verdict) {
        return true;
    }
    return alloc != MT_NO_ALLOC && (f->text_verdict[f->labels.text[alloc]] == YES ||
                                    f->text_verdict[mt_event_region(f->snapshot, alloc)] == YES);
}

/* Of what lives there at the end; it may be older than the trace. */
static bool place_passes_label(const struct mt_filtered *f, int32_t device, uint64_t addr)
{
    return passes_label(f, mt_event_labels_live(&f->labels, device, addr)) ||
           f->text_verdict[mt_event_labels_older(&f->labels, device, addr, true)] == YES;
}

static bool event_passes_label(const struct mt_filtered *f, int32_t device, size_t at)
{
    if (!f->text_verdict || passes_label(f, f->labels.alloc_of[at])) {
        return true;
    }
    const struct mt_event *e = &f->snapshot->events[at];
    bool of_older = f->labels.alloc_of[at] == MT_NO_ALLOC &&
                    (e->action == MT_ACTION_ANNOTATE || mt_event_kind(e) == MT_STEP_FREE ||
                     mt_event_kind(e) == MT_STEP_FREE_REQUESTED);
    return of_older &&
           f->text_verdict[mt_event_labels_older(&f->labels, device, e->addr, false)] == YES;
}

enum mt_status mt_filtered_init(struct mt_filtered *f, const struct mt_filter *filter,
                                const struct mt_snapshot *s, struct mt_error *err)
{
    *f = (struct mt_filtered){.filter = filter, .snapshot = s};
    if ((filter->has_time && !init_times(f)) || (filter->annotation && !init_spans(f))) {
        return mt_fail_nomem(err);
    }
    if (filter->has_frame || filter->has_not_frame) {
        MT_TRY(init_verdicts(f, err));
    }
    if (filter->has_label) {
        MT_TRY(init_labels(f, err));
    }
    return filter->pool == MT_POOL_ANY ? MT_OK : init_pools(f, err);
}

void mt_filtered_release(struct mt_filtered *f)
{
    for (size_t i = 0; i < f->pools.n; i++) {
        mt_event_pools_release(&f->pools.v[i]);
    }
    mt_vec_release(&f->pools);
    mt_vec_release(&f->spans);
    mt_mem_free(f->frame_verdict);
    mt_mem_free(f->stack_verdict);
    mt_mem_free(f->text_verdict);
    mt_event_labels_release(&f->labels);
    mt_mem_free(f->first_us);
    *f = (struct mt_filtered){0};
}

/* ---- stacks ---- */

bool mt_filtered_stack(struct mt_filtered *f, uint32_t stack)
{
    if (!f->stack_verdict) {
        return true;
    }
    if (stack == 0) {
        return !f->filter->has_frame;
    }
    if (f->stack_verdict[stack] == UNKNOWN) {
        const struct mt_stack *k = &f->snapshot->stacks[stack];
        unsigned char all = 0;
        for (uint32_t i = 0; i < k->n; i++) {
            all |= f->frame_verdict[f->snapshot->stack_frames[k->first + i]];
        }
        bool yes = (!f->filter->has_frame || (all & MATCHES)) && !(all & MATCHES_NOT);
        f->stack_verdict[stack] = yes ? YES : NO;
    }
    return f->stack_verdict[stack] == YES;
}

/* ---- segments and blocks ---- */

bool mt_filtered_device(const struct mt_filtered *f, int32_t device)
{
    return !f->filter || f->filter->device < 0 || f->filter->device == device;
}

static bool passes_stream(const struct mt_filtered *f, uint16_t stream)
{
    const struct mt_filter *filter = f->filter;
    if (!filter->has_stream) {
        return true;
    }
    return filter->stream_is_index ? filter->stream == stream
                                   : filter->stream == f->snapshot->streams[stream].handle;
}

static bool passes_pool(const struct mt_filter *f, struct mt_pool_id id, enum mt_pool_kind kind)
{
    bool is_private = id.a != 0 || id.b != 0;
    switch (f->pool) {
    case MT_POOL_ANY: return true;
    case MT_POOL_IS_SMALL: return kind == MT_POOL_SMALL;
    case MT_POOL_IS_LARGE: return kind == MT_POOL_LARGE;
    case MT_POOL_IS_DEFAULT: return !is_private;
    case MT_POOL_IS_PRIVATE: return is_private;
    case MT_POOL_IS_ID: return id.a == f->pool_id.a && id.b == f->pool_id.b;
    }
    return true;
}

static bool passes_size(const struct mt_filter *f, uint64_t size)
{
    return size >= f->size_min && size <= f->size_max;
}

bool mt_filtered_segment(const struct mt_filtered *f, const struct mt_segment *s)
{
    return !f->filter || (mt_filtered_device(f, s->device) && passes_stream(f, s->stream) &&
                          passes_pool(f->filter, s->pool, (enum mt_pool_kind)s->kind));
}

/* A block names its segment by the index in its own list, of device or of host segments. */
static const struct mt_segment *segment_of(const struct mt_snapshot *s, const struct mt_block *b)
{
    size_t index = (size_t)(b - s->blocks);
    const struct mt_segment *device = b->segment < s->n_segments ? &s->segments[b->segment] : NULL;
    bool holds =
        device && index >= device->first_block && index - device->first_block < device->n_blocks;
    if (holds || b->segment >= s->n_host_segments) {
        return device;
    }
    return &s->host_segments[b->segment];
}

bool mt_filtered_block(struct mt_filtered *f, const struct mt_block *b)
{
    if (!f->filter) {
        return true;
    }
    const struct mt_segment *segment = segment_of(f->snapshot, b);
    return (!segment || mt_filtered_segment(f, segment)) && passes_size(f->filter, b->size) &&
           mt_filtered_stack(f, b->stack) &&
           (!f->text_verdict || (segment && place_passes_label(f, segment->device, b->addr)));
}

/* ---- events ---- */

/* Pinned host memory is of no pool; its blocks are small and large by their size alone. */
static bool event_passes_pool(const struct mt_filtered *f, int32_t device, size_t index,
                              const struct mt_event *e)
{
    if (f->filter->pool == MT_POOL_ANY) {
        return true;
    }
    if (device < 0 || (size_t)device >= f->pools.n) {
        return passes_pool(f->filter, (struct mt_pool_id){0, 0},
                           mt_torch_is_small(e->size) ? MT_POOL_SMALL : MT_POOL_LARGE);
    }
    const struct mt_event_pools *pools = &f->pools.v[device];
    return passes_pool(f->filter, mt_event_pool_id(pools, index), mt_event_pool_kind(pools, index));
}

static bool passes_time(const struct mt_filtered *f, int32_t device, int64_t time_us)
{
    const struct mt_filter *filter = f->filter;
    if (!filter->has_time) {
        return true;
    }
    int64_t zero = 0;
    if (!filter->time_is_absolute) {
        const struct mt_snapshot *s = f->snapshot;
        struct mt_trace host = mt_device_trace(s, -1);
        zero = device < 0 ? first_time(s, &host) : f->first_us[device];
    }
    if (time_us == MT_NO_TIME || zero == MT_NO_TIME) {
        return false;
    }
    int64_t t;
    if (mt_sub_overflow(time_us, zero, &t)) {
        return false;
    }
    return t >= filter->time_min_us && t <= filter->time_max_us;
}

bool mt_filtered_event(struct mt_filtered *f, int32_t device, size_t index)
{
    const struct mt_filter *filter = f->filter;
    if (!filter) {
        return true;
    }
    size_t at = mt_device_trace(f->snapshot, device).first + index;
    const struct mt_event *e = &f->snapshot->events[at];
    return mt_filtered_device(f, device) && index >= filter->event_min &&
           index < filter->event_max && passes_size(filter, e->size) &&
           passes_stream(f, e->stream) && passes_time(f, device, e->time_us) &&
           (!filter->annotation || in_annotation(f, device, e->time_us)) &&
           mt_filtered_stack(f, e->stack) && event_passes_pool(f, device, index, e) &&
           event_passes_label(f, device, at);
}
