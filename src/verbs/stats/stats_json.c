/* SPDX-License-Identifier: MIT */
/* stats/1: the totals as JSON. */
#include <inttypes.h>

#include "print/account_report.h"
#include "print/report_json.h"
#include "verbs/stats/print.h"

static void put_counters(struct mt_out o, const struct mt_source *source,
                         const struct mt_counters *c)
{
    bool pieces = mt_source_has_pieces(source), reserved = mt_source_has_reserved(source);
    mt_out_u64(o, "allocated_bytes", c->allocated);
    mt_out_known(o, "active_bytes", pieces, c->active);
    mt_out_known(o, "requested_bytes", pieces, c->requested);
    mt_out_known(o, "reserved_bytes", reserved, c->reserved);
    mt_out_known(o, "inactive_split_bytes", pieces, c->inactive_split);
    reserved ? mt_out_i64(o, "free_bytes", mt_counters_free(c)) : mt_out_null(o, "free_bytes");
    reserved ? mt_out_f64(o, "fragmentation", mt_counters_fragmentation(c))
             : mt_out_null(o, "fragmentation");
    mt_out_known(o, "largest_free_block_bytes", pieces, c->largest_free);
    mt_out_known(o, "segments", pieces, c->segments);
    mt_out_known(o, "blocks", pieces, c->blocks);
    mt_out_known(o, "allocated_blocks", pieces, c->allocated_blocks);
    mt_out_known(o, "active_blocks", pieces, c->active_blocks);
    mt_out_known(o, "inactive_split_blocks", pieces, c->inactive_split_blocks);
}

static void put_parts(struct mt_out o, const struct mt_snapshot *s,
                      const struct mt_device_totals *d)
{
    struct mt_out pools = mt_out_object(o, "pools");
    put_counters(mt_out_object(pools, "small"), &s->source, &d->pool[MT_POOL_SMALL]);
    put_counters(mt_out_object(pools, "large"), &s->source, &d->pool[MT_POOL_LARGE]);
    struct mt_out private_pools = mt_out_array(o, "private_pools");
    for (size_t i = 0; i < d->private_pools.n; i++) {
        struct mt_out one = mt_out_object(private_pools, NULL);
        struct mt_out id = mt_out_array(one, "id");
        mt_out_i64(id, NULL, d->private_pools.v[i].id.a);
        mt_out_i64(id, NULL, d->private_pools.v[i].id.b);
        put_counters(one, &s->source, &d->private_pools.v[i].counters);
    }
    struct mt_out streams = mt_out_array(o, "streams");
    for (size_t i = 0; i < d->streams.n; i++) {
        struct mt_out one = mt_out_object(streams, NULL);
        uint16_t stream = d->streams.v[i].stream;
        mt_out_addr(one, "stream", s->streams[stream].handle);
        put_counters(one, &s->source, &d->streams.v[i].counters);
    }
}

static const char *const ACTION_WORDS[] = {
#define X(name, word) word,
    MT_ACTION_MAP(X)
#undef X
};

/* Actions that memtool does not know, by their own names. Two event shapes may share a name, so the
 * first one speaks for all. */
static void put_other_actions(struct mt_out actions, const struct mt_snapshot *s,
                              const struct mt_trace_totals *t)
{
    for (size_t i = 0; i < s->n_event_shapes && i < 256; i++) {
        uint32_t name = s->event_shapes[i].action_name;
        uint64_t sum = 0;
        bool first = true;
        for (size_t k = 0; k < s->n_event_shapes && k < 256; k++) {
            bool alike = s->event_shapes[k].action_name == name;
            first &= !(alike && k < i && t->other_shapes[k]);
            sum += alike ? t->other_shapes[k] : 0;
        }
        if (t->other_shapes[i] && first) {
            struct mt_buf text = {0};
            mt_text_safe(&text, mt_snapshot_str(s, name));
            actions.json->text.failed |= text.failed;
            mt_out_u64(actions, mt_buf_view(&text).p, sum);
            mt_buf_release(&text);
        }
    }
}

static void put_trace(struct mt_out o, const struct mt_snapshot *s, const struct mt_trace_totals *t)
{
    struct mt_out trace = mt_out_object(o, "trace");
    mt_out_u64(trace, "events", t->events);
    struct mt_out actions = mt_out_object(trace, "actions");
    for (int a = 1; a < MT_ACTION_COUNT; a++) {
        mt_out_u64(actions, ACTION_WORDS[a], t->actions[a]);
    }
    put_other_actions(actions, s, t);
    t->events ? mt_out_bool(trace, "complete", t->complete) : mt_out_null(trace, "complete");
    mt_out_time(trace, "first_us", t->first_us);
    mt_out_time(trace, "last_us", t->last_us);
    mt_out_u64(trace, "preexisting_allocations", t->ghosts);
    mt_out_u64(trace, "preexisting_bytes", t->ghost_bytes);
}

static void put_activity(struct mt_out o, const struct mt_trace_totals *t)
{
    uint64_t allocs = t->hits + t->misses;
    struct mt_out cache = mt_out_object(o, "cache");
    mt_out_known(cache, "hits", t->events != 0, t->hits);
    mt_out_known(cache, "misses", t->events != 0, t->misses);
    allocs ? mt_out_f64(cache, "hit_rate", (double)t->hits / (double)allocs)
           : mt_out_null(cache, "hit_rate");
    mt_out_known(o, "splits", t->splits_known, t->splits);
    mt_out_known(o, "merges", t->splits_known, t->merges);
    const uint64_t *a = t->actions;
    bool proven = t->complete && t->whole;
    struct mt_out counters = mt_out_object(o, "counters");
    mt_out_known(counters, "num_ooms", proven, a[MT_ACTION_OOM]);
    mt_out_known(counters, "num_device_alloc", proven,
                 a[MT_ACTION_SEGMENT_ALLOC] + a[MT_ACTION_SEGMENT_MAP]);
    mt_out_known(counters, "num_device_free", proven,
                 a[MT_ACTION_SEGMENT_FREE] + a[MT_ACTION_SEGMENT_UNMAP]);
    mt_out_known(counters, "num_alloc_retries", t->retries_known, t->retries);
    mt_out_null(counters, "num_sync_all_streams"); /* leaves no event when nothing was freed */
}

static void put_sizes(struct mt_out o, const struct mt_device_totals *d)
{
    struct mt_out sizes = mt_out_array(o, "sizes");
    for (unsigned i = 0; i < MT_SIZE_CLASSES; i++) {
        const struct mt_size_class *k = &d->sizes[i];
        if (k->allocs || k->live_blocks) {
            struct mt_out one = mt_out_object(sizes, NULL);
            mt_out_u64(one, "from_bytes", i ? UINT64_C(1) << i : 0);
            mt_out_u64(one, "to_bytes", i < 63 ? UINT64_C(1) << (i + 1) : UINT64_MAX);
            mt_out_u64(one, "allocs", k->allocs);
            mt_out_u64(one, "live_blocks", k->live_blocks);
            mt_out_u64(one, "live_bytes", k->live_bytes);
        }
    }
    struct mt_out segments = mt_out_array(o, "segment_sizes");
    for (size_t i = 0; i < d->segment_sizes.n; i++) {
        const struct mt_segment_size_totals *k = &d->segment_sizes.v[i];
        struct mt_out one = mt_out_object(segments, NULL);
        mt_out_u64(one, "segment_bytes", k->size);
        mt_out_u64(one, "segments", k->segments);
        mt_out_u64(one, "allocated_bytes", k->allocated);
        mt_out_u64(one, "allocated_blocks", k->allocated_blocks);
    }
}

enum mt_status mt_report_stats_json(const struct mt_report *r, const struct mt_stats *x,
                                    bool one_line, struct mt_error *err)
{
    const struct mt_totals *t = x->totals;
    struct mt_json_out json;
    struct mt_out root = mt_report_json(&json, r, "stats/1", one_line);
    struct mt_out devices = mt_out_array(root, "devices");
    for (size_t i = 0; i < t->devices.n; i++) {
        const struct mt_device_totals *d = &t->devices.v[i];
        struct mt_out o = mt_out_object(devices, NULL);
        mt_out_i64(o, "device", d->device);
        put_counters(o, &x->snapshot->source, &d->all);
        if (!mt_source_has_pieces(&x->snapshot->source)) {
            put_trace(o, x->snapshot, &d->trace);
            continue;
        }
        mt_out_i64(o, "reserved_unallocated_bytes", (int64_t)(d->all.reserved - d->all.allocated));
        put_parts(o, x->snapshot, d);
        put_trace(o, x->snapshot, &d->trace);
        put_activity(o, &d->trace);
        put_sizes(o, d);
        mt_out_account(o, x->accounts ? mt_accounts_device(x->accounts, d->device) : NULL);
    }
    struct mt_out filter = mt_out_object(root, "left_out");
    mt_out_u64(filter, "segments", t->segments_left_out);
    mt_out_u64(filter, "blocks", t->blocks_left_out);
    mt_out_u64(filter, "events", t->events_left_out);
    return mt_report_json_end(root, err);
}
