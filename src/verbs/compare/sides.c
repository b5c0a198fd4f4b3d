/* SPDX-License-Identifier: MIT */
/* The state of one file at a moment, as a list of what can be matched with another file's. */
#include "verbs/compare/sides.h"

#include "heap/walk/query.h"
#include "print/peak_label.h"
#include "support/checked.h"

static bool add(struct mt_compare_side *side, struct mt_diff_item item)
{
    side->live = mt_add_sat(side->live, item.bytes);
    side->count += item.count;
    return mt_vec_push(&side->items, item);
}

/* ---- at the end ---- */

static uint64_t reserved_at_end(const struct mt_compare_side *side, int32_t device)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < side->s->n_segments; i++) {
        const struct mt_segment *g = &side->s->segments[i];
        if (device == MT_ALL_DEVICES || g->device == device) {
            sum = mt_add_sat(sum, g->total_size);
        }
    }
    return sum;
}

static enum mt_status find_end(struct mt_compare_side *side, struct mt_filtered *f,
                               const struct mt_compare_options *o, struct mt_error *err)
{
    struct mt_stack_sums sums;
    enum mt_status status = mt_stack_sums_find(&sums, side->s, f, o->device, err);
    for (size_t i = 0; status == MT_OK && i < sums.rows.n; i++) {
        const struct mt_stack_sum *row = &sums.rows.v[i];
        struct mt_diff_item item = {.stack = row->stack, .bytes = row->bytes, .count = row->count};
        if (!add(side, item)) {
            status = mt_fail_nomem(err);
        }
    }
    side->reserved = reserved_at_end(side, o->device);
    mt_stack_sums_release(&sums);
    return status;
}

/* ---- at a moment of the trace ---- */

static bool add_row(struct mt_compare_side *side, const struct mt_peak *p,
                    const struct mt_peak_row *row, const struct mt_report *r, struct mt_buf *label)
{
    struct mt_diff_item item = {.stack = row->stack, .bytes = row->bytes, .count = row->count};
    if (p->by != MT_BY_STACK) {
        mt_buf_reset(label);
        mt_peak_row_label(label, r, side->s, p->by, row);
        item.name = mt_arena_copy(&side->text, label->p, label->n);
        if (label->failed || !item.name.p) {
            return false;
        }
    } else {
        item.stack = row->key;
    }
    return add(side, item);
}

static uint64_t most_reserved(const struct mt_replay *replay)
{
    struct mt_step at;
    mt_replay_begin(replay, &at);
    uint64_t most = at.reserved_bytes;
    while (mt_replay_next(replay, &at)) {
        most = at.reserved_bytes > most ? at.reserved_bytes : most;
    }
    return most;
}

static bool add_peak(struct mt_compare_side *side, const struct mt_peak *p,
                     const struct mt_replay *replay, const struct mt_report *r)
{
    struct mt_buf label = {0};
    struct mt_compare_moment m = {p->device, p->n_events,       p->events_done,       p->since_us,
                                  p->bytes,  p->reserved_bytes, most_reserved(replay)};
    bool ok = mt_vec_push(&side->moments, m);
    for (size_t i = 0; ok && i < p->rows.n; i++) {
        ok = add_row(side, p, &p->rows.v[i], r, &label);
    }
    side->reserved = mt_add_sat(side->reserved, p->at == MT_AT_PEAK ? m.reserved_peak : m.reserved);
    mt_buf_release(&label);
    return ok;
}

/* MT_NOT_FOUND when the device does not have the moment. */
static enum mt_status find_device(struct mt_compare_side *side, int32_t device,
                                  struct mt_filtered *f, const struct mt_compare_options *o,
                                  const struct mt_report *r, struct mt_error *err)
{
    struct mt_replay replay;
    struct mt_peak p;
    struct mt_peak_options look = {.at = o->at, .by = o->by, .rules = o->rules};
    MT_TRY(mt_replay_init(&replay, side->s, device, err));
    enum mt_status status = mt_peak_find(&p, side->s, &replay, f, &look, err);
    if (status == MT_OK && !add_peak(side, &p, &replay, r)) {
        status = mt_fail_nomem(err);
    }
    mt_peak_release(&p);
    mt_replay_release(&replay);
    return status;
}

static enum mt_status find_devices(struct mt_compare_side *side, struct mt_filtered *f,
                                   const struct mt_compare_options *o, const struct mt_report *r,
                                   const struct mt_devices *devices, struct mt_error *err)
{
    bool missing = false;
    struct mt_error last;
    for (size_t i = 0; i < devices->ids.n; i++) {
        int32_t device = devices->ids.v[i];
        if (o->device != MT_ALL_DEVICES && o->device != device) {
            continue;
        }
        enum mt_status status = find_device(side, device, f, o, r, &last);
        missing |= status == MT_NOT_FOUND;
        if (status != MT_OK) {
            *err = last;
        }
        if (status != MT_OK && status != MT_NOT_FOUND) {
            return status;
        }
    }
    return missing && !side->moments.n ? MT_NOT_FOUND : MT_OK;
}

enum mt_status mt_compare_side_find(struct mt_compare_side *side, struct mt_filtered *f,
                                    const struct mt_compare_options *o, const struct mt_report *r,
                                    struct mt_error *err)
{
    struct mt_devices devices = {0};
    if (mt_compare_is_of_dump(o)) {
        return find_end(side, f, o, err);
    }
    enum mt_status status = mt_devices_find(&devices, side->s, false, err);
    if (status == MT_OK) {
        status = find_devices(side, f, o, r, &devices, err);
    }
    mt_devices_release(&devices);
    return status;
}

void mt_compare_side_release(struct mt_compare_side *side)
{
    mt_vec_release(&side->items);
    mt_vec_release(&side->moments);
    mt_arena_release(&side->text);
}
