/* SPDX-License-Identifier: MIT */
/*
 * PyTorch's counters from a snapshot. What is there now follows from the segments. Peaks and totals
 * are sums over the whole life of the process: a trace that begins with nothing tells all of it,
 * but only after a replay of the blocks, since events give requests, not block sizes. The replay
 * proves itself by ending in the file's own layout; without that proof the columns stay blank.
 *
 * When and by how much each counter moves is c10/cuda/CUDACachingAllocator.cpp's (read in 2.6, all
 * verified on recordings of 2.11): inactive_split moves by one net amount per call.
 */
#include "verbs/summary/summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "snapshot/model/device_segments.h"
#include "heap/walk/query.h"
#include "snapshot/model/settings.h"
#include "heap/sums/totals.h"

#include "heap/walk/block_replay.h"

/* ---- counting ---- */

struct counting {
    struct mt_stat stats[MT_STAT_COUNT][MT_SLOT_COUNT];
    uint64_t max_split_size;
};

static void move_one(struct mt_stat *s, uint64_t up, uint64_t down)
{
    s->v[MT_STAT_COLUMN_CURRENT] += up - down;
    s->v[MT_STAT_COLUMN_TOTAL_ALLOC] += up;
    s->v[MT_STAT_COLUMN_TOTAL_FREED] += down;
    if (s->v[MT_STAT_COLUMN_CURRENT] > s->v[MT_STAT_COLUMN_PEAK] && up) {
        s->v[MT_STAT_COLUMN_PEAK] = s->v[MT_STAT_COLUMN_CURRENT];
    }
}

static void move(struct counting *x, enum mt_stat_kind k, bool small, uint64_t up, uint64_t down)
{
    move_one(&x->stats[k][MT_SLOT_ALL], up, down);
    if (mt_stat_has_pools((enum mt_stat_kind)k)) {
        move_one(&x->stats[k][small ? MT_SLOT_SMALL : MT_SLOT_LARGE], up, down);
    }
}

static void on_segment(struct counting *x, const struct mt_block_change *c, bool back)
{
    uint64_t one = c->expandable ? 0 : 1;
    uint64_t over = !c->expandable && c->size >= x->max_split_size ? 1 : 0;
    move(x, MT_STAT_RESERVED_BYTES, c->small, back ? 0 : c->size, back ? c->size : 0);
    move(x, MT_STAT_SEGMENT, c->small, back ? 0 : one, back ? one : 0);
    move(x, MT_STAT_OVERSIZE_SEGMENTS, c->small, back ? 0 : over, back ? over : 0);
}

static void on_hand_out(struct counting *x, const struct mt_block_change *c)
{
    if (!c->expandable && c->rest && !c->was_split) {
        move(x, MT_STAT_INACTIVE_SPLIT_BYTES, c->small, c->rest, 0);
        move(x, MT_STAT_INACTIVE_SPLIT, c->small, 1, 0);
    } else if (!c->expandable && c->was_split) {
        move(x, MT_STAT_INACTIVE_SPLIT_BYTES, c->small, 0, c->size);
        move(x, MT_STAT_INACTIVE_SPLIT, c->small, 0, c->rest ? 0 : 1);
    }
    move(x, MT_STAT_ALLOCATED_BYTES, c->small, c->size, 0);
    move(x, MT_STAT_ALLOCATION, c->small, 1, 0);
    move(x, MT_STAT_ACTIVE_BYTES, c->small, c->size, 0);
    move(x, MT_STAT_ACTIVE, c->small, 1, 0);
    move(x, MT_STAT_REQUESTED_BYTES, c->small, c->requested, 0);
    move(x, MT_STAT_OVERSIZE_ALLOCATIONS, c->small, c->size >= x->max_split_size, 0);
}

static void on_drop(struct counting *x, const struct mt_block_change *c)
{
    move(x, MT_STAT_ALLOCATED_BYTES, c->small, 0, c->size);
    move(x, MT_STAT_ALLOCATION, c->small, 0, 1);
    move(x, MT_STAT_OVERSIZE_ALLOCATIONS, c->small, 0, c->size >= x->max_split_size);
}

/* Up when `gain` is the larger, else down, by the difference. */
static void move_net(struct counting *x, enum mt_stat_kind k, bool small, uint64_t gain,
                     uint64_t loss)
{
    move(x, k, small, gain > loss ? gain - loss : 0, loss > gain ? loss - gain : 0);
}

static void on_free(struct counting *x, const struct mt_block_change *c)
{
    move(x, MT_STAT_ACTIVE_BYTES, c->small, 0, c->size);
    move(x, MT_STAT_ACTIVE, c->small, 0, 1);
    move(x, MT_STAT_REQUESTED_BYTES, c->small, 0, c->requested);
    if (!c->expandable) {
        uint64_t merged = c->is_split ? c->size + c->swallowed_bytes : 0;
        move_net(x, MT_STAT_INACTIVE_SPLIT_BYTES, c->small, merged, c->swallowed_bytes);
        move_net(x, MT_STAT_INACTIVE_SPLIT, c->small, c->is_split, c->swallowed);
    }
}

static void count_change(void *ctx, const struct mt_block_change *c)
{
    struct counting *x = ctx;
    switch (c->kind) {
    case MT_BLOCK_CHANGE_SEGMENT: on_segment(x, c, false); break;
    case MT_BLOCK_CHANGE_RELEASE: on_segment(x, c, true); break;
    case MT_BLOCK_CHANGE_HAND_OUT: on_hand_out(x, c); break;
    case MT_BLOCK_CHANGE_DROP: on_drop(x, c); break;
    case MT_BLOCK_CHANGE_FREE: on_free(x, c); break;
    }
}

/* ---- what is there now ---- */

static void put_current(struct mt_summary *out, const struct mt_counters *c, enum mt_stat_slot slot)
{
    const struct {
        enum mt_stat_kind kind;
        uint64_t value;
    } values[] = {
        {MT_STAT_ALLOCATED_BYTES, c->allocated},
        {MT_STAT_ACTIVE_BYTES, c->active},
        {MT_STAT_REQUESTED_BYTES, c->requested},
        {MT_STAT_RESERVED_BYTES, c->reserved},
        {MT_STAT_INACTIVE_SPLIT_BYTES, c->inactive_split},
        {MT_STAT_ALLOCATION, c->allocated_blocks},
        {MT_STAT_ACTIVE, c->active_blocks},
        {MT_STAT_INACTIVE_SPLIT, c->inactive_split_blocks},
    };
    for (size_t i = 0; i < MT_COUNT(values); i++) {
        out->stats[values[i].kind][slot].v[MT_STAT_COLUMN_CURRENT] = values[i].value;
    }
}

/* Expandable segments are no segments to PyTorch's counter; oversize goes by max_split_size. */
static void count_segments(struct mt_summary *out, const struct mt_snapshot *s, uint64_t max_split)
{
    struct mt_device_segments walk = mt_device_segments(s, out->device);
    for (const struct mt_segment *g; (g = mt_device_segments_next(&walk)) != NULL;) {
        uint64_t one = g->expandable ? 0 : 1;
        enum mt_stat_slot slot = g->kind == MT_POOL_SMALL ? MT_SLOT_SMALL : MT_SLOT_LARGE;
        out->stats[MT_STAT_SEGMENT][MT_SLOT_ALL].v[MT_STAT_COLUMN_CURRENT] += one;
        out->stats[MT_STAT_SEGMENT][slot].v[MT_STAT_COLUMN_CURRENT] += one;
        out->stats[MT_STAT_OVERSIZE_SEGMENTS][MT_SLOT_ALL].v[MT_STAT_COLUMN_CURRENT] +=
            g->total_size >= max_split ? one : 0;
        for (uint32_t k = 0; k < g->n_blocks; k++) {
            const struct mt_block *b = &s->blocks[g->first_block + k];
            out->stats[MT_STAT_OVERSIZE_ALLOCATIONS][MT_SLOT_ALL].v[MT_STAT_COLUMN_CURRENT] +=
                b->state == MT_BLOCK_ALLOCATED && b->size >= max_split;
        }
    }
}

static bool same_current(const struct mt_summary *a, const struct counting *b)
{
    for (int k = 0; k < MT_STAT_COUNT; k++) {
        for (int slot = 0; slot < MT_SLOT_COUNT; slot++) {
            if (a->stats[k][slot].v[MT_STAT_COLUMN_CURRENT] !=
                b->stats[k][slot].v[MT_STAT_COLUMN_CURRENT]) {
                return false;
            }
        }
    }
    return true;
}

static enum mt_status prove(struct mt_summary *out, const struct mt_snapshot *s, uint64_t max_split,
                            struct mt_error *err)
{
    struct counting x = {.max_split_size = max_split};
    bool proved;
    MT_TRY(mt_block_replay(s, out->device, count_change, &x, &proved, err));
    out->proved = proved && same_current(out, &x);
    if (out->proved) {
        memcpy(out->stats, x.stats, sizeof out->stats);
    }
    return MT_OK;
}

enum mt_status mt_summary_find(struct mt_summary *out, const struct mt_snapshot *s,
                               const struct mt_totals *t, int32_t device, struct mt_error *err)
{
    *out = (struct mt_summary){.device = device};
    const struct mt_device_totals *d = mt_totals_device(t, device);
    uint64_t max_split = mt_settings_rules(s).settings.max_split_size;
    if (!d) {
        return MT_OK;
    }
    put_current(out, &d->all, MT_SLOT_ALL);
    put_current(out, &d->pool[MT_POOL_SMALL], MT_SLOT_SMALL);
    put_current(out, &d->pool[MT_POOL_LARGE], MT_SLOT_LARGE);
    count_segments(out, s, max_split);
    out->ooms_known = d->trace.complete;
    out->ooms = d->trace.actions[MT_ACTION_OOM];
    out->retries_known = d->trace.retries_known;
    out->retries = d->trace.retries;
    return d->trace.complete ? prove(out, s, max_split, err) : MT_OK;
}

/* ---- cells ---- */

struct mt_summary_cell mt_summary_cell(uint64_t value, uint64_t pref, bool bytes)
{
    static const char *const SIZES[] = {"B  ", "KiB", "MiB", "GiB", "TiB", "PiB"};
    static const char *const COUNTS[] = {" ", "K", "M"};
    /* PyTorch moves on to the next unit at 768 of the one before (750 for counts). */
    double p = (double)pref;
    double limit = bytes ? 768.0 * 1024 : 750.0 * 1000;
    double step = bytes ? 1024 : 1000;
    size_t n = bytes ? MT_COUNT(SIZES) : MT_COUNT(COUNTS);
    size_t unit = 0;
    while (unit + 1 < n && p >= limit) {
        unit++;
        p /= step;
        value /= (uint64_t)step;
    }
    struct mt_summary_cell cell;
    if (bytes) {
        snprintf(cell.s, sizeof cell.s, "%6" PRIu64 " %s", value, SIZES[unit]);
    } else {
        snprintf(cell.s, sizeof cell.s, "%7" PRIu64 " %s ", value, COUNTS[unit]);
    }
    return cell;
}
