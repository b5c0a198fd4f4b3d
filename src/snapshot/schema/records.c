/* SPDX-License-Identifier: MIT */
/*
 * Dictionaries that become records of the allocator's state - segments, blocks, their history - and
 * those that state and trace refer to: frames and annotations.
 */
#include "snapshot/schema/records.h"
#include "snapshot/schema/fields.h"

/* ---- segments ---- */

static enum mt_status put_segment_type(struct mt_machine *m, struct mt_segment *s, mt_word w)
{
    uint32_t id = 0;
    MT_TRY(mt_field_str(m, "segment_type", w, &id));
    s->kind = id == m->schema.kinds[MT_POOL_SMALL] ? MT_POOL_SMALL : MT_POOL_LARGE;
    s->type_name = id == m->schema.kinds[s->kind] ? 0 : id;
    return MT_OK;
}

static enum mt_status put_segment(struct mt_machine *m, void *into, int key, mt_word w)
{
    struct mt_segment *s = into;
    bool negative = false;
    switch ((enum mt_segment_key)key) {
    case MT_SEGMENT_KEY_device: return mt_field_i32(m, "device", w, &s->device);
    case MT_SEGMENT_KEY_address:
        MT_TRY(mt_field_addr(m, "address", w, &s->addr, &negative));
        s->present |= negative ? MT_PRESENT_NEGATIVE_ADDR_SEGMENT : 0;
        return MT_OK;
    case MT_SEGMENT_KEY_total_size: return mt_field_size(m, "total_size", w, &s->total_size);
    case MT_SEGMENT_KEY_allocated_size:
        return mt_field_size(m, "allocated_size", w, &s->allocated_size);
    case MT_SEGMENT_KEY_active_size: return mt_field_size(m, "active_size", w, &s->active_size);
    case MT_SEGMENT_KEY_requested_size:
        return mt_field_size(m, "requested_size", w, &s->requested_size);
    case MT_SEGMENT_KEY_stream: return mt_field_stream(m, w, &s->stream);
    case MT_SEGMENT_KEY_segment_type: return put_segment_type(m, s, w);
    case MT_SEGMENT_KEY_segment_pool_id: return mt_field_pair(m, "segment_pool_id", w, &s->pool);
    case MT_SEGMENT_KEY_is_expandable: return mt_field_bool(m, "is_expandable", w, &s->expandable);
    case MT_SEGMENT_KEY_frames: return mt_field_stack(m, w, &s->stack);
    case MT_SEGMENT_KEY_blocks:
        return mt_field_range(m, "blocks", w, MT_TAG_BLOCK, "a list of blocks", &s->first_block,
                              &s->n_blocks);
    case MT_SEGMENT_KEY_COUNT: break;
    }
    return MT_OK;
}

enum mt_status mt_record_segment(struct mt_machine *m, const mt_word *pairs, size_t n, mt_word *out)
{
    struct mt_segment s = {0};
    struct mt_fields f = {MT_RECORD_SEGMENT, put_segment, &s, &s.extra, 0, 0};
    MT_TRY(mt_fields_put(m, &f, pairs, n));
    s.present |= f.present;
    *out = mt_word_make(MT_TAG_SEGMENT, m->schema.segments.n);
    return mt_vec_push(&m->schema.segments, s) ? MT_OK : mt_fail_nomem(m->err);
}

/* ---- blocks and their history ---- */

static enum mt_status put_state(struct mt_machine *m, struct mt_block *b, mt_word w)
{
    uint32_t id = 0;
    MT_TRY(mt_field_str(m, "state", w, &id));
    for (uint8_t i = 0; i < MT_COUNT(m->schema.states); i++) {
        if (m->schema.states[i] == id) {
            b->state = i;
            return MT_OK;
        }
    }
    /* the documentation's name of pending; no release wrote it, but files with it exist */
    bool alias = mt_str_equal(mt_builder_get_str(m->builder, id), MT_STR("active_awaiting_free"));
    b->state = alias ? MT_BLOCK_PENDING : MT_BLOCK_OTHER;
    b->state_name = id;
    return MT_OK;
}

static enum mt_status put_block(struct mt_machine *m, void *into, int key, mt_word w)
{
    struct mt_block *b = into;
    bool negative = false;
    switch ((enum mt_block_key)key) {
    case MT_BLOCK_KEY_address:
        MT_TRY(mt_field_addr(m, "address", w, &b->addr, &negative));
        b->present |= negative ? (uint16_t)MT_PRESENT_NEGATIVE_ADDR_BLOCK : 0;
        return MT_OK;
    case MT_BLOCK_KEY_size: return mt_field_size(m, "size", w, &b->size);
    case MT_BLOCK_KEY_requested_size: return mt_field_size(m, "requested_size", w, &b->requested);
    case MT_BLOCK_KEY_state: return put_state(m, b, w);
    case MT_BLOCK_KEY_frames: return mt_field_stack(m, w, &b->stack);
    case MT_BLOCK_KEY_history:
        return mt_field_range(m, "history", w, MT_TAG_HISTORY, "a list of history entries",
                              &b->history_first, &b->history_n);
    case MT_BLOCK_KEY_COUNT: break;
    }
    return MT_OK;
}

enum mt_status mt_record_block(struct mt_machine *m, const mt_word *pairs, size_t n, mt_word *out)
{
    struct mt_block b = {.state = MT_BLOCK_OTHER};
    struct mt_fields f = {MT_RECORD_BLOCK, put_block, &b, &b.extra, 0, 0};
    MT_TRY(mt_fields_put(m, &f, pairs, n));
    if ((f.odd >> MT_BLOCK_KEY_requested_size & 1) && b.state != MT_BLOCK_INACTIVE) {
        return mt_fail(m->err, MT_FORMAT, m->offset,
                       "requested_size: no number of bytes, in a block that is in use");
    }
    b.present |= (uint16_t)f.present;
    *out = mt_word_make(MT_TAG_BLOCK, mt_builder_n_blocks(m->builder));
    return mt_builder_block(m->builder, &b) ? MT_OK : mt_fail_nomem(m->err);
}

static enum mt_status put_history(struct mt_machine *m, void *into, int key, mt_word w)
{
    struct mt_history *h = into;
    bool negative = false;
    switch ((enum mt_history_key)key) {
    case MT_HISTORY_KEY_addr:
        MT_TRY(mt_field_addr(m, "addr", w, &h->addr, &negative));
        h->present |= negative ? MT_PRESENT_NEGATIVE_ADDR_HISTORY : 0;
        return MT_OK;
    case MT_HISTORY_KEY_real_size: return mt_field_size(m, "real_size", w, &h->real_size);
    case MT_HISTORY_KEY_frames: return mt_field_stack(m, w, &h->stack);
    case MT_HISTORY_KEY_COUNT: break;
    }
    return MT_OK;
}

enum mt_status mt_record_history(struct mt_machine *m, const mt_word *pairs, size_t n, mt_word *out)
{
    struct mt_history h = {0};
    struct mt_fields f = {MT_RECORD_HISTORY, put_history, &h, &h.extra, 0, 0};
    MT_TRY(mt_fields_put(m, &f, pairs, n));
    h.present |= f.present;
    *out = mt_word_make(MT_TAG_HISTORY, mt_builder_n_history(m->builder));
    return mt_builder_history(m->builder, &h) ? MT_OK : mt_fail_nomem(m->err);
}

/* ---- frames and annotations ---- */

static enum mt_status put_frame(struct mt_machine *m, void *into, int key, mt_word w)
{
    struct mt_frame *f = into;
    switch ((enum mt_frame_key)key) {
    case MT_FRAME_KEY_name: return mt_field_str(m, "name", w, &f->name);
    case MT_FRAME_KEY_filename: return mt_field_str(m, "filename", w, &f->filename);
    case MT_FRAME_KEY_line: return mt_field_i32(m, "line", w, &f->line);
    case MT_FRAME_KEY_COUNT: break;
    }
    return MT_OK;
}

enum mt_status mt_record_frame(struct mt_machine *m, const mt_word *pairs, size_t n, mt_word *out)
{
    struct mt_frame frame = {0};
    struct mt_fields f = {MT_RECORD_FRAME, put_frame, &frame, &frame.extra, 0, 0};
    MT_TRY(mt_fields_put(m, &f, pairs, n));
    frame.present = f.present;
    uint32_t id = mt_builder_frame(m->builder, &frame);
    *out = mt_word_make(MT_TAG_FRAME, id);
    return id ? MT_OK : mt_fail_nomem(m->err);
}

static enum mt_status put_annotation(struct mt_machine *m, void *into, int key, mt_word w)
{
    struct mt_annotation *a = into;
    switch ((enum mt_annotation_key)key) {
    case MT_ANNOTATION_KEY_stage: return mt_field_str(m, "stage", w, &a->stage);
    case MT_ANNOTATION_KEY_name: return mt_field_str(m, "name", w, &a->name);
    case MT_ANNOTATION_KEY_device: return mt_field_i32(m, "device", w, &a->device);
    case MT_ANNOTATION_KEY_time_us:
        return mt_field_i64(m, "time_us", w, INT64_MIN + 1, INT64_MAX, &a->time_us);
    case MT_ANNOTATION_KEY_COUNT: break;
    }
    return MT_OK;
}

enum mt_status mt_record_annotation(struct mt_machine *m, const mt_word *pairs, size_t n,
                                    mt_word *out)
{
    struct mt_annotation a = {.time_us = MT_NO_TIME};
    struct mt_fields f = {MT_RECORD_ANNOTATION, put_annotation, &a, &a.extra, 0, 0};
    MT_TRY(mt_fields_put(m, &f, pairs, n));
    a.present = f.present;
    *out = mt_word_make(MT_TAG_ANNOTATION, mt_builder_n_annotations(m->builder));
    return mt_builder_annotation(m->builder, &a) ? MT_OK : mt_fail_nomem(m->err);
}
