/* SPDX-License-Identifier: MIT */
/* Values of memtool's own key, with the type that they should have or not at all. */
#include "heap/sums/own_key.h"
#include "heap/walk/query.h"

const struct mt_value *mt_own_key_find(const struct mt_snapshot *s)
{
    return s->own ? &s->values[s->own] : NULL;
}

const struct mt_value *mt_own_key_get(const struct mt_snapshot *s, const struct mt_value *dict,
                                      const char *key)
{
    return dict ? mt_value_find(s, dict, key) : NULL;
}

bool mt_own_key_bytes(const struct mt_snapshot *s, const struct mt_value *dict, const char *key,
                      uint64_t *out)
{
    const struct mt_value *v = mt_own_key_get(s, dict, key);
    bool known = v && v->kind == MT_VALUE_INT && v->u.i >= 0;
    *out = known ? (uint64_t)v->u.i : 0;
    return known;
}

const struct mt_value *mt_own_key_list(const struct mt_snapshot *s, const struct mt_value *dict,
                                       const char *key, uint32_t *n)
{
    const struct mt_value *v = mt_own_key_get(s, dict, key);
    bool list = v && (v->kind == MT_VALUE_LIST || v->kind == MT_VALUE_TUPLE);
    *n = list ? v->n : 0;
    return list ? &s->values[v->u.id] : NULL;
}

const struct mt_value *mt_own_key_device(const struct mt_snapshot *s, int32_t device)
{
    uint32_t n;
    const struct mt_value *list = mt_own_key_list(s, mt_own_key_find(s), "devices", &n);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t number;
        if (mt_own_key_bytes(s, &list[i], "device", &number) && number == (uint64_t)device) {
            return &list[i];
        }
    }
    return NULL;
}
