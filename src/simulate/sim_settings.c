/* SPDX-License-Identifier: MIT */
/*
 * The settings of the recording: its conf string first (it alone holds max_non_split_rounding_mb),
 * then what allocator_settings states in numbers.
 */
#include <stdio.h>

#include "sim.h"

/* {"1": 0, "2": 4, ...}: the key is the start of the interval in MiB. */
static void read_divisions(const struct mt_snapshot *s, const struct mt_value *v,
                           struct mt_alloc_settings *out)
{
    if (!v || v->kind != MT_VALUE_DICT) {
        return;
    }
    for (unsigned i = 0; i < MT_ALLOC_INTERVALS; i++) {
        char key[16];
        snprintf(key, sizeof key, "%lu", 1ul << i);
        const struct mt_value *n = mt_value_find(s, v, key);
        if (n && n->kind == MT_VALUE_INT && n->u.i >= 0) {
            out->roundup_power2_divisions[i] = (uint64_t)n->u.i;
        }
    }
}

static void read_settings(struct mt_sim *sim, struct mt_alloc_settings *out)
{
    const struct mt_snapshot *s = sim->snapshot;
    mt_alloc_settings_default(out);
    sim->conf = MT_STR("");
    if (s->settings == 0) {
        return;
    }
    const struct mt_value *dict = &s->values[s->settings];
    const struct mt_value *v = mt_value_find(s, dict, "PYTORCH_CUDA_ALLOC_CONF");
    if (v && v->kind == MT_VALUE_STR) {
        struct mt_conf conf;
        sim->conf = mt_snapshot_str(s, v->u.id);
        mt_conf_parse(sim->conf, sim->release, &conf);
        *out = conf.settings;
    }
    v = mt_value_find(s, dict, "max_split_size");
    if (v && v->kind == MT_VALUE_INT) {
        out->max_split_size = v->u.i == -1 ? UINT64_MAX : (uint64_t)v->u.i;
    }
    v = mt_value_find(s, dict, "garbage_collection_threshold");
    if (v && v->kind == MT_VALUE_FLOAT && v->u.f >= 0.0 && v->u.f < 1.0) {
        out->garbage_collection_threshold = v->u.f;
    }
    v = mt_value_find(s, dict, "expandable_segments");
    if (v && v->kind == MT_VALUE_BOOL) {
        out->expandable_segments = v->u.i != 0;
    }
    read_divisions(s, mt_value_find(s, dict, "roundup_power2_divisions"), out);
}

void mt_sim_read_settings(struct mt_sim *sim)
{
    struct mt_alloc_settings settings;
    read_settings(sim, &settings);
    sim->rules = mt_torch_rules_of(&settings, sim->release);
}
