/* SPDX-License-Identifier: MIT */
/*
 * Bytes become a recording, mostly a wrong one: events in any order, segments that do not fit them,
 * pools, streams, expandable ranges. Whatever it says, it must be replayed or refused in peace, and
 * a written run must be readable as a recording again.
 */
#include <stdint.h>
#include <stdlib.h>

#include "snapshot/model/builder.h"
#include "torch/keys.h"
#include "verbs/simulate/simulate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BASE UINT64_C(0x7f0000000000)

static void demand(bool ok)
{
    if (!ok) {
        abort();
    }
}

static uint64_t size_of(uint8_t x)
{
    static const uint64_t base[] = {0,          512,        3000,        600000,
                                    2 * MT_MIB, 4 * MT_MIB, 20 * MT_MIB, UINT64_MAX / 2};
    return base[x & 7] + (uint64_t)(x >> 5) * 20 * MT_MIB;
}

static uint64_t addr_of(uint8_t x)
{
    return (x & 0x80) && (x & 0x40)
               ? UINT64_MAX - x
               : BASE + (uint64_t)(x & 7) * 512 + (uint64_t)(x >> 3) * 2 * MT_MIB;
}

static void add_event(struct mt_builder *b, const uint8_t *p, size_t shape)
{
    struct mt_event e = {.addr = addr_of(p[1]),
                         .size = size_of(p[2]),
                         .time_us = MT_NO_TIME,
                         .stream = p[3] & 1,
                         .action = (uint8_t)(p[0] % MT_ACTION_COUNT),
                         .shape = (uint8_t)shape};
    demand(mt_builder_event(b, &e));
}

static void add_segment(struct mt_builder *b, const uint8_t *p)
{
    size_t first = mt_builder_n_blocks(b);
    uint64_t total = 0;
    for (unsigned i = 0; i < (p[0] & 3u) + 1; i++) {
        struct mt_block block = {.addr = addr_of(p[1]) + total,
                                 .size = i == (p[0] & 3u) ? size_of(p[2]) : 512u * (1u + i),
                                 .requested = p[3],
                                 .state = (uint8_t)((p[0] >> (2 + i)) % 3),
                                 .present = 0xffff};
        total += block.size;
        demand(mt_builder_block(b, &block));
    }
    struct mt_segment s = {.addr = addr_of(p[1]),
                           .total_size = total,
                           .pool = {p[3] >> 7, 0},
                           .first_block = (uint32_t)first,
                           .n_blocks = (uint32_t)(mt_builder_n_blocks(b) - first),
                           .stream = p[3] & 1,
                           .kind = (p[3] >> 1) & 1,
                           .expandable = (p[3] >> 2) & 1,
                           .present = 0xffff};
    demand(mt_builder_segment(b, &s, false));
}

static struct mt_snapshot make(const uint8_t *data, size_t size)
{
    struct mt_error err;
    struct mt_snapshot s;
    struct mt_builder *b = mt_builder_new(1);
    demand(b != NULL && mt_builder_stream(b, 7, false) == 1);
    size_t shape = mt_builder_event_shape(b, 0x1f, 0), n = size / 4;
    size_t n_segments = n ? data[0] % 4u : 0;
    for (size_t i = 0; i < n; i++) {
        if (i + n_segments >= n) {
            add_segment(b, data + 4 * i);
        } else {
            add_event(b, data + 4 * i, shape);
        }
    }
    demand(mt_builder_trace(b, 0, mt_builder_n_events(b), false));
    demand(mt_builder_finish(b, &s, &err) == MT_OK);
    return s;
}

static const char *const CONFS[] = {"", "expandable_segments:True",
                                    "max_split_size_mb:21,garbage_collection_threshold:0.5",
                                    "roundup_power2_divisions:[1:2,>:8]"};

static void simulate(const struct mt_snapshot *s, const struct mt_sim_options *o, uint8_t choice,
                     int depth)
{
    struct mt_error err;
    struct mt_sim *sim;
    struct mt_sim_run run;
    struct mt_sim_output output;
    enum mt_status status = mt_sim_load(s, 0, o, &sim, &err);
    demand(status == MT_OK || status == MT_LIMIT);
    if (status != MT_OK || mt_sim_events(sim) == 0) {
        mt_sim_free(status == MT_OK ? sim : NULL);
        return;
    }
    demand(mt_sim_replay(sim, &run, NULL, &err) == MT_OK);
    mt_sim_run_release(&run);
    const char *text = CONFS[choice % MT_COUNT(CONFS)];
    struct mt_conf conf;
    mt_conf_parse(mt_str_from(text), 211, &conf);
    demand(mt_sim_what_if(sim, &conf.settings, mt_str_from(text), &run, &output, &err) == MT_OK);
    mt_sim_run_release(&run);
    if (depth == 0) {
        simulate(&output.view.s, o, (uint8_t)(choice >> 2), 1);
    }
    mt_view_release(&output.view);
    mt_sim_free(sim);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 6 || size > 4096) {
        return 0;
    }
    struct mt_sim_options o = {.has_limit = data[0] & 1,
                               .limit = (uint64_t)data[0] * MT_MIB,
                               .has_capacity = data[0] & 2,
                               .capacity = (uint64_t)data[0] * 2 * MT_MIB};
    struct mt_snapshot s = make(data + 2, size - 2);
    simulate(&s, &o, data[1], 0);
    mt_snapshot_release(&s);
    return 0;
}
