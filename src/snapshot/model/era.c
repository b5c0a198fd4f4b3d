/* SPDX-License-Identifier: MIT */
/*
 * A ladder of keys, oldest first, each with the release that began to write it. The highest key
 * that is there gives the oldest possible writer; the lowest one above it that would have to be
 * there gives the newest. Keys of trace entries prove nothing in a file without trace, nor those of
 * the top in one of which the end is lost.
 */
#include "snapshot/model/era.h"
#include "support/compiler.h"
#include "torch/keys.h"

enum place { TOP, EVENT, BLOCK, SETTING, PLACES };

struct rung {
    enum place place;
    unsigned key;
    const char *since;
    const char *before; /* the release before that */
    const char *why;
};

enum { RECORD_STREAM_REUSE }; /* of allocator_settings: graph_capture_record_stream_reuse */

static const struct rung LADDER[] = {
    {BLOCK, MT_BLOCK_KEY_address, "2.1", "2.0", "blocks with an address"},
    {EVENT, MT_EVENT_KEY_time_us, "2.2", "2.1", "time_us in the trace"},
    {TOP, MT_TOP_KEY_allocator_settings, "2.3", "2.2", "allocator_settings"},
    {TOP, MT_TOP_KEY_external_annotations, "2.5", "2.4", "external_annotations"},
    {EVENT, MT_EVENT_KEY_compile_context, "2.8", "2.7", "compile_context in the trace"},
    {SETTING, RECORD_STREAM_REUSE, "2.10", "2.9",
     "graph_capture_record_stream_reuse in allocator_settings"},
    {EVENT, MT_EVENT_KEY_user_metadata, "2.10", "2.9", "user_metadata in the trace"},
    {EVENT, MT_EVENT_KEY_pool_id, "2.12", "2.11", "pool_id in the trace"},
    {TOP, MT_TOP_KEY_host_segments, "2.14", "2.13", "host_segments"},
};

/* What the file has of each kind of key, and whether it has anything to have it on. */
struct keys {
    uint32_t present[PLACES];
    bool testable[PLACES];
};

static bool has_setting(const struct mt_snapshot *s, const char *key)
{
    return s->settings && mt_value_find(s, &s->values[s->settings], key) != NULL;
}

static struct keys collect(const struct mt_snapshot *s)
{
    struct keys k = {.present[TOP] = s->present,
                     .testable = {!s->source.bare_list && !s->source.salvaged, s->n_events > 0,
                                  s->n_blocks > 0, has_setting(s, "garbage_collection_threshold")}};
    for (size_t i = 0; i < s->n_event_shapes; i++) {
        k.present[EVENT] |= s->event_shapes[i].present;
    }
    for (size_t i = 0; i < s->n_blocks; i++) {
        k.present[BLOCK] |= s->blocks[i].present;
    }
    bool reuse = has_setting(s, "graph_capture_record_stream_reuse");
    k.present[SETTING] = (uint32_t)reuse << RECORD_STREAM_REUSE;
    return k;
}

/* A bare list of segments: 1.13 and older wrote no other, memory_snapshot() still gives one. */
static struct mt_era era_of_list(const struct keys *k)
{
    if (k->present[BLOCK] >> MT_BLOCK_KEY_address & 1) {
        return (struct mt_era){"2.1", NULL, "a list of segments, from memory_snapshot()", NULL,
                               false};
    }
    if (k->present[BLOCK] >> MT_BLOCK_KEY_requested_size & 1) {
        return (struct mt_era){"2.0", "2.0", "a list of segments with requested sizes", NULL,
                               false};
    }
    return (struct mt_era){"1.10", "1.13", "a list of segments without requested sizes", NULL,
                           false};
}

/* torch.xpu writes its settings under another name, and no marks at all. */
static bool is_xpu(const struct mt_snapshot *s)
{
    return has_setting(s, "PYTORCH_ALLOC_CONF") && !has_setting(s, "PYTORCH_CUDA_ALLOC_CONF") &&
           !(s->present >> MT_TOP_KEY_external_annotations & 1);
}

/* Up the ladder: `until` is what came before the lowest key that is missing above all that are
 * there, `lacks` one that is missing below. */
static struct mt_era climb(const struct keys *k)
{
    struct mt_era era = {"2.0", NULL, "segments and device_traces in one file", NULL, false};
    const char *missing = NULL;
    for (size_t i = 0; i < MT_COUNT(LADDER); i++) {
        const struct rung *r = &LADDER[i];
        if (k->present[r->place] >> r->key & 1) {
            era = (struct mt_era){r->since, NULL, r->why, missing, false};
        } else if (k->testable[r->place]) {
            era.until = era.until ? era.until : r->before;
            missing = missing ? missing : r->why;
        }
    }
    return era;
}

struct mt_era mt_era_find(const struct mt_snapshot *s)
{
    struct keys k = collect(s);
    if (s->source.bare_list) {
        return era_of_list(&k);
    }
    if (s->own) {
        return (struct mt_era){"2.5", NULL, "memtool's own recorder, which writes that form", NULL,
                               false};
    }
    if (is_xpu(s)) {
        return (struct mt_era){"2.3", NULL, "PYTORCH_ALLOC_CONF in allocator_settings", NULL, true};
    }
    return climb(&k);
}
