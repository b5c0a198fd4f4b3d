/* SPDX-License-Identifier: MIT */
/* Looking into the generic values of a snapshot. */
#include "snapshot/model/model.h"

#include <inttypes.h>

const struct mt_value *mt_value_find(const struct mt_snapshot *s, const struct mt_value *dict,
                                     const char *key)
{
    if (dict->kind != MT_VALUE_DICT) {
        return NULL;
    }
    for (uint32_t i = 0; i < dict->n; i++) {
        const struct mt_value *k = &s->values[dict->u.id + 2 * i];
        if (k->kind == MT_VALUE_STR &&
            mt_str_equal(mt_snapshot_str(s, k->u.id), mt_str_from(key))) {
            return k + 1;
        }
    }
    return NULL;
}

const char *mt_source_lost(const struct mt_source *source)
{
    if (!source->salvaged) {
        return NULL;
    }
    return source->state_cut ? "segments" : source->trace_cut ? "trace" : "rest";
}

const struct mt_value *mt_extra_find(const struct mt_snapshot *s, uint32_t head, const char *key)
{
    for (; head; head = s->extras[head].next) {
        const struct mt_extra *e = &s->extras[head];
        if (!e->key_value && mt_str_equal(mt_snapshot_str(s, e->key), mt_str_from(key))) {
            return &s->values[e->value];
        }
    }
    return NULL;
}

void mt_value_text(struct mt_buf *b, const struct mt_snapshot *s, const struct mt_value *v)
{
    static const char *const names[] = {[MT_VALUE_NONE] = "None",
                                        [MT_VALUE_BYTES] = "bytes",
                                        [MT_VALUE_LIST] = "a list",
                                        [MT_VALUE_TUPLE] = "a tuple",
                                        [MT_VALUE_DICT] = "a dictionary",
                                        [MT_VALUE_FRAME] = "a frame",
                                        [MT_VALUE_STACK] = "a list of frames"};
    switch ((enum mt_value_kind)v->kind) {
    case MT_VALUE_BOOL: mt_buf_text(b, v->u.i ? "True" : "False"); break;
    case MT_VALUE_INT: mt_buf_printf(b, "%" PRId64, v->u.i); break;
    case MT_VALUE_BIG: mt_buf_str(b, mt_snapshot_str(s, v->u.id)); break;
    case MT_VALUE_FLOAT: mt_buf_printf(b, "%g", v->u.f); break;
    case MT_VALUE_STR:
        mt_buf_char(b, '"');
        mt_buf_str(b, mt_snapshot_str(s, v->u.id));
        mt_buf_char(b, '"');
        break;
    default: mt_buf_text(b, v->kind < MT_COUNT(names) ? names[v->kind] : "a list of records");
    }
}

void mt_frame_line_text(struct mt_buf *b, const struct mt_snapshot *s, const struct mt_frame *f)
{
    const struct mt_value *odd = f->extra ? mt_extra_find(s, f->extra, "line") : NULL;
    if (odd) {
        mt_value_text(b, s, odd);
    } else {
        mt_buf_printf(b, "%" PRId32, f->line);
    }
}
