/* SPDX-License-Identifier: MIT */
/* stats/1: the totals as JSON. */
#include <inttypes.h>

#include "print/account_report.h"
#include "print/json_put.h"
#include "verbs/stats/print.h"

static void put_counters(struct mt_put *p, cJSON *o, const struct mt_source *source,
                         const struct mt_counters *c)
{
    bool pieces = mt_source_has_pieces(source), reserved = mt_source_has_reserved(source);
    mt_put_u64(p, o, "allocated_bytes", c->allocated);
    mt_put_known(p, o, "active_bytes", pieces, c->active);
    mt_put_known(p, o, "requested_bytes", pieces, c->requested);
    mt_put_known(p, o, "reserved_bytes", reserved, c->reserved);
    mt_put_known(p, o, "inactive_split_bytes", pieces, c->inactive_split);
    reserved ? mt_put_i64(p, o, "free_bytes", mt_counters_free(c))
             : mt_put_null(p, o, "free_bytes");
    reserved ? mt_put_ratio(p, o, "fragmentation", mt_counters_fragmentation(c))
             : mt_put_null(p, o, "fragmentation");
    mt_put_known(p, o, "largest_free_block_bytes", pieces, c->largest_free);
    mt_put_known(p, o, "segments", pieces, c->segments);
    mt_put_known(p, o, "blocks", pieces, c->blocks);
    mt_put_known(p, o, "allocated_blocks", pieces, c->allocated_blocks);
    mt_put_known(p, o, "active_blocks", pieces, c->active_blocks);
    mt_put_known(p, o, "inactive_split_blocks", pieces, c->inactive_split_blocks);
}

static void put_parts(struct mt_put *p, cJSON *o, const struct mt_snapshot *s,
                      const struct mt_device_totals *d)
{
    cJSON *pools = mt_put_object(p, o, "pools");
    put_counters(p, mt_put_object(p, pools, "small"), &s->source, &d->pool[MT_POOL_SMALL]);
    put_counters(p, mt_put_object(p, pools, "large"), &s->source, &d->pool[MT_POOL_LARGE]);
    cJSON *private_pools = mt_put_array(p, o, "private_pools");
    for (size_t i = 0; i < d->private_pools.n; i++) {
        cJSON *one = mt_put_object(p, private_pools, NULL);
        cJSON *id = mt_put_array(p, one, "id");
        int64_t numbers[2] = {d->private_pools.v[i].id.a, d->private_pools.v[i].id.b};
        for (int k = 0; k < 2; k++) {
            char text[24];
            snprintf(text, sizeof text, "%" PRId64, numbers[k]);
            mt_put_item(p, id, NULL, cJSON_CreateRaw(text));
        }
        put_counters(p, one, &s->source, &d->private_pools.v[i].counters);
    }
    cJSON *streams = mt_put_array(p, o, "streams");
    for (size_t i = 0; i < d->streams.n; i++) {
        cJSON *one = mt_put_object(p, streams, NULL);
        uint16_t stream = d->streams.v[i].stream;
        mt_put_addr(p, one, "stream", s->streams[stream].handle);
        put_counters(p, one, &s->source, &d->streams.v[i].counters);
    }
}

static const char *const ACTION_WORDS[] = {
#define X(name, word) word,
    MT_ACTION_MAP(X)
#undef X
};

/* Actions that memtool does not know, by their own names. Two event shapes may share a name, so the
 * first one speaks for all. */
static void put_other_actions(struct mt_put *p, cJSON *actions, const struct mt_snapshot *s,
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
            p->failed |= text.failed;
            mt_put_u64(p, actions, text.failed ? "?" : mt_buf_view(&text).p, sum);
            mt_buf_release(&text);
        }
    }
}

static void put_trace(struct mt_put *p, cJSON *o, const struct mt_snapshot *s,
                      const struct mt_trace_totals *t)
{
    cJSON *trace = mt_put_object(p, o, "trace");
    mt_put_u64(p, trace, "events", t->events);
    cJSON *actions = mt_put_object(p, trace, "actions");
    for (int a = 1; a < MT_ACTION_COUNT; a++) {
        mt_put_u64(p, actions, ACTION_WORDS[a], t->actions[a]);
    }
    put_other_actions(p, actions, s, t);
    t->events ? mt_put_bool(p, trace, "complete", t->complete) : mt_put_null(p, trace, "complete");
    mt_put_time(p, trace, "first_us", t->first_us);
    mt_put_time(p, trace, "last_us", t->last_us);
    mt_put_u64(p, trace, "preexisting_allocations", t->ghosts);
    mt_put_u64(p, trace, "preexisting_bytes", t->ghost_bytes);
}

static void put_activity(struct mt_put *p, cJSON *o, const struct mt_trace_totals *t)
{
    uint64_t allocs = t->hits + t->misses;
    cJSON *cache = mt_put_object(p, o, "cache");
    mt_put_known(p, cache, "hits", t->events != 0, t->hits);
    mt_put_known(p, cache, "misses", t->events != 0, t->misses);
    allocs ? mt_put_ratio(p, cache, "hit_rate", (double)t->hits / (double)allocs)
           : mt_put_null(p, cache, "hit_rate");
    mt_put_known(p, o, "splits", t->splits_known, t->splits);
    mt_put_known(p, o, "merges", t->splits_known, t->merges);
    const uint64_t *a = t->actions;
    bool proven = t->complete && t->whole;
    cJSON *counters = mt_put_object(p, o, "counters");
    mt_put_known(p, counters, "num_ooms", proven, a[MT_ACTION_OOM]);
    mt_put_known(p, counters, "num_device_alloc", proven,
                 a[MT_ACTION_SEGMENT_ALLOC] + a[MT_ACTION_SEGMENT_MAP]);
    mt_put_known(p, counters, "num_device_free", proven,
                 a[MT_ACTION_SEGMENT_FREE] + a[MT_ACTION_SEGMENT_UNMAP]);
    mt_put_known(p, counters, "num_alloc_retries", t->retries_known, t->retries);
    mt_put_null(p, counters, "num_sync_all_streams"); /* leaves no event when nothing was freed */
}

static void put_sizes(struct mt_put *p, cJSON *o, const struct mt_device_totals *d)
{
    cJSON *sizes = mt_put_array(p, o, "sizes");
    for (unsigned i = 0; i < MT_SIZE_CLASSES; i++) {
        const struct mt_size_class *k = &d->sizes[i];
        if (k->allocs || k->live_blocks) {
            cJSON *one = mt_put_object(p, sizes, NULL);
            mt_put_u64(p, one, "from_bytes", i ? UINT64_C(1) << i : 0);
            mt_put_u64(p, one, "to_bytes", i < 63 ? UINT64_C(1) << (i + 1) : UINT64_MAX);
            mt_put_u64(p, one, "allocs", k->allocs);
            mt_put_u64(p, one, "live_blocks", k->live_blocks);
            mt_put_u64(p, one, "live_bytes", k->live_bytes);
        }
    }
    cJSON *segments = mt_put_array(p, o, "segment_sizes");
    for (size_t i = 0; i < d->segment_sizes.n; i++) {
        const struct mt_segment_size_totals *k = &d->segment_sizes.v[i];
        cJSON *one = mt_put_object(p, segments, NULL);
        mt_put_u64(p, one, "segment_bytes", k->size);
        mt_put_u64(p, one, "segments", k->segments);
        mt_put_u64(p, one, "allocated_bytes", k->allocated);
        mt_put_u64(p, one, "allocated_blocks", k->allocated_blocks);
    }
}

enum mt_status mt_report_stats_json(const struct mt_report *r, const struct mt_stats *x,
                                    bool one_line, struct mt_error *err)
{
    const struct mt_totals *t = x->totals;
    struct mt_put p = {0};
    cJSON *root = mt_json_begin(r, "stats/1");
    cJSON *devices = mt_put_array(&p, root, "devices");
    for (size_t i = 0; i < t->devices.n; i++) {
        const struct mt_device_totals *d = &t->devices.v[i];
        cJSON *o = mt_put_object(&p, devices, NULL);
        mt_put_i64(&p, o, "device", d->device);
        put_counters(&p, o, &x->snapshot->source, &d->all);
        if (!mt_source_has_pieces(&x->snapshot->source)) {
            put_trace(&p, o, x->snapshot, &d->trace);
            continue;
        }
        mt_put_i64(&p, o, "reserved_unallocated_bytes",
                   (int64_t)(d->all.reserved - d->all.allocated));
        put_parts(&p, o, x->snapshot, d);
        put_trace(&p, o, x->snapshot, &d->trace);
        put_activity(&p, o, &d->trace);
        put_sizes(&p, o, d);
        mt_account_json(&p, o, x->accounts ? mt_accounts_device(x->accounts, d->device) : NULL);
    }
    cJSON *filter = mt_put_object(&p, root, "left_out");
    mt_put_u64(&p, filter, "segments", t->segments_left_out);
    mt_put_u64(&p, filter, "blocks", t->blocks_left_out);
    mt_put_u64(&p, filter, "events", t->events_left_out);
    return mt_put_end(&p, r, root, one_line, err);
}
