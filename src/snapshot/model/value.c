/* SPDX-License-Identifier: MIT */
/* Looking into the generic values of a snapshot. */
#include "snapshot/model/model.h"

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
