/* SPDX-License-Identifier: MIT */
/* model.safetensors.index.json: the bytes of the files, and tensors in them that a count of the
 * model's parameters does not have. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "verbs/estimate/model/parts.h"

static bool has(const char *name, const char *part)
{
    return strstr(name, part) != NULL;
}

/* "model.layers.61.mlp...": whether its layer lies behind the last. */
static bool behind_last(const struct mt_model *m, const char *name)
{
    const char *at = strstr(name, "layers.");
    char *end;
    unsigned long layer = at ? strtoul(at + strlen("layers."), &end, 10) : 0;
    return m->layers && layer >= m->layers;
}

static void note(struct mt_model *m, const char *name)
{
    if (behind_last(m, name) || strncmp(name, "mtp.", 4) == 0) {
        m->extra[MT_EXTRA_LAYERS]++;
    } else if (m->tied && strcmp(name, "lm_head.weight") == 0) {
        m->extra[MT_EXTRA_HEAD]++;
    } else if (has(name, "rotary_emb.inv_freq")) {
        m->extra[MT_EXTRA_ROTARY]++;
    } else if (has(name, "masked_bias") || has(name, ".attn.bias")) {
        m->extra[MT_EXTRA_MASKS]++;
    }
}

static const cJSON *item_of(const cJSON *object, const char *name)
{
    return cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, name) : NULL;
}

enum mt_status mt_model_read_index(struct mt_model *m, struct mt_str index, struct mt_error *err)
{
    cJSON *root = cJSON_ParseWithLength(index.p, index.n);
    const cJSON *size = item_of(item_of(root, "metadata"), "total_size");
    const cJSON *map = item_of(root, "weight_map");
    bool good = cJSON_IsNumber(size) && size->valuedouble >= 1 && size->valuedouble < 9e15 &&
                size->valuedouble == floor(size->valuedouble);
    m->stored = good ? (uint64_t)size->valuedouble : 0;
    for (const cJSON *c = cJSON_IsObject(map) ? map->child : NULL; c; c = c->next) {
        note(m, c->string);
    }
    cJSON_Delete(root);
    return good ? MT_OK
                : mt_fail(err, MT_FORMAT, MT_NO_OFFSET, "no metadata.total_size in the index");
}
