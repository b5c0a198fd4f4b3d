/* SPDX-License-Identifier: MIT */
/* The names of the settings, since when PyTorch knows them, and which one a misspelt word means. */
#include "torch/conf_keys.h"

#define X(id, name, since, until) [MT_CONF_##id] = {name, since, until},
const struct mt_conf_key_row MT_CONF_KEYS[MT_CONF_KEY_COUNT] = {MT_CONF_KEY_MAP(X)};
#undef X

const char *mt_conf_key_name(enum mt_conf_key key)
{
    return MT_CONF_KEYS[key].name;
}

mt_torch_release mt_conf_key_since(enum mt_conf_key key)
{
    return MT_CONF_KEYS[key].since;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Levenshtein over two rows; words above 63 bytes are near to nothing. */
static size_t distance(struct mt_str a, struct mt_str b)
{
    size_t row[64];
    if (a.n > 63 || b.n > 63) {
        return SIZE_MAX;
    }
    for (size_t j = 0; j <= b.n; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= a.n; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            char x = a.p[i - 1];
            x = (char)(x >= 'A' && x <= 'Z' ? x - 'A' + 'a' : x);
            size_t change = corner + (x != b.p[j - 1]);
            corner = row[j];
            row[j] = least(change, least(row[j], row[j - 1]) + 1);
        }
    }
    return row[b.n];
}

enum mt_conf_key mt_conf_key_nearest(struct mt_str word)
{
    size_t best = word.n / 2 + 1;
    enum mt_conf_key nearest = MT_CONF_KEY_COUNT;
    for (size_t k = 0; k < MT_CONF_KEY_COUNT; k++) {
        size_t d = distance(word, mt_str_from(MT_CONF_KEYS[k].name));
        if (d < best) {
            best = d;
            nearest = (enum mt_conf_key)k;
        }
    }
    return nearest;
}
