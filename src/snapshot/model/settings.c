/* SPDX-License-Identifier: MIT */
/* allocator_settings as values that the rules understand. */
#include "snapshot/model/settings.h"

#include <stdio.h>

#include "snapshot/model/era.h"

/* 0 where the text is none. */
static mt_torch_release parse_release(const char *text)
{
    mt_torch_release release;
    return text && mt_torch_release_parse(mt_str_from(text), &release) ? release : 0;
}

static mt_torch_release named_release(const struct mt_snapshot *s)
{
    const struct mt_value *v =
        s->settings ? mt_value_find(s, &s->values[s->settings], MT_SETTINGS_RELEASE_KEY) : NULL;
    mt_torch_release release;
    bool named = v && v->kind == MT_VALUE_STR &&
                 mt_torch_release_parse(mt_snapshot_str(s, v->u.id), &release);
    return named ? release : 0;
}

mt_torch_release mt_settings_release(const struct mt_snapshot *s, mt_torch_release wanted)
{
    mt_torch_release named = named_release(s);
    if (named) {
        return named;
    }
    struct mt_era era = mt_era_find(s);
    mt_torch_release from = parse_release(era.from), until = parse_release(era.until);
    mt_torch_release release = until && wanted > until ? until : wanted;
    release = release < from ? from : release;
    release = release < MT_TORCH_OLDEST ? MT_TORCH_OLDEST : release;
    return release > MT_TORCH_NEWEST ? MT_TORCH_NEWEST : release;
}

static bool is_unlimited(const struct mt_snapshot *s, const struct mt_value *v)
{
    return (v->kind == MT_VALUE_INT && v->u.i == -1) ||
           (v->kind == MT_VALUE_BIG &&
            mt_str_equal(mt_snapshot_str(s, v->u.id), MT_STR("18446744073709551615")));
}

static void read_max_split(const struct mt_snapshot *s, const struct mt_value *v,
                           struct mt_settings *out, struct mt_alloc_settings *settings)
{
    out->max_split_size_is_unlimited = v && is_unlimited(s, v);
    if (out->max_split_size_is_unlimited) {
        settings->max_split_size = UINT64_MAX;
    } else if (v && v->kind == MT_VALUE_INT && v->u.i > 0) {
        settings->max_split_size = (uint64_t)v->u.i;
    }
}

/* {"1": 0, "2": 4, ...}: the key is the start of the interval in MiB. */
static void read_divisions(const struct mt_snapshot *s, const struct mt_value *v,
                           struct mt_alloc_settings *settings)
{
    for (unsigned i = 0; v && i < MT_ALLOC_INTERVALS; i++) {
        char key[16];
        snprintf(key, sizeof key, "%lu", 1ul << i);
        const struct mt_value *n = mt_value_find(s, v, key);
        if (n && n->kind == MT_VALUE_INT && n->u.i >= 0) {
            settings->roundup_power2_divisions[i] = (uint64_t)n->u.i;
        }
    }
}

static void read_numbers(const struct mt_snapshot *s, const struct mt_value *dict,
                         struct mt_settings *out, struct mt_alloc_settings *settings)
{
    read_max_split(s, mt_value_find(s, dict, "max_split_size"), out, settings);
    const struct mt_value *v = mt_value_find(s, dict, "garbage_collection_threshold");
    if (v && v->kind == MT_VALUE_FLOAT && v->u.f >= 0.0 && v->u.f < 1.0) {
        settings->garbage_collection_threshold = v->u.f;
    }
    v = mt_value_find(s, dict, "expandable_segments");
    if (v && v->kind == MT_VALUE_BOOL) {
        settings->expandable_segments = v->u.i != 0;
    }
    read_divisions(s, mt_value_find(s, dict, "roundup_power2_divisions"), settings);
}

void mt_settings_get(const struct mt_snapshot *s, mt_torch_release release, struct mt_settings *out)
{
    struct mt_alloc_settings settings;
    *out = (struct mt_settings){
        .present = s->settings != 0,
        .release = release ? release : mt_settings_release(s, MT_TORCH_MEMTOOL),
    };
    mt_alloc_settings_default(&settings);
    if (s->settings) {
        const struct mt_value *dict = &s->values[s->settings];
        const struct mt_value *v = mt_value_find(s, dict, "PYTORCH_CUDA_ALLOC_CONF");
        v = v ? v : mt_value_find(s, dict, "PYTORCH_ALLOC_CONF");
        if (v && v->kind == MT_VALUE_STR) {
            struct mt_conf conf;
            out->conf = mt_snapshot_str(s, v->u.id);
            mt_conf_parse_recorded(out->conf, out->release, &conf);
            settings = conf.settings;
        }
        read_numbers(s, dict, out, &settings);
    }
    out->rules = mt_torch_rules_of(&settings, out->release);
}

struct mt_torch_rules mt_settings_rules(const struct mt_snapshot *s)
{
    struct mt_settings settings;
    mt_settings_get(s, 0, &settings);
    return settings.rules;
}

bool mt_settings_overflowed(const struct mt_snapshot *s, size_t events)
{
    const struct mt_value *dict = s->settings ? &s->values[s->settings] : NULL;
    const struct mt_value *v = dict ? mt_value_find(s, dict, "trace_alloc_overflowed") : NULL;
    const struct mt_value *most = dict ? mt_value_find(s, dict, "trace_alloc_max_entries") : NULL;
    bool short_of_it =
        most && most->kind == MT_VALUE_INT && most->u.i > 0 && events < (uint64_t)most->u.i;
    return v && v->kind == MT_VALUE_BOOL && v->u.i && events > 0 && !short_of_it;
}
