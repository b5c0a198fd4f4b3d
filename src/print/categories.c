/* SPDX-License-Identifier: MIT */
#include "print/categories.h"

const char *mt_category_sure_word(enum mt_category c, const uint64_t sure[MT_SURE_COUNT])
{
    uint64_t all = 0;
    for (int k = 0; k < MT_SURE_COUNT; k++) {
        all += sure[k];
    }
    return all && c != MT_CATEGORY_UNKNOWN ? mt_sureness_name(mt_sureness_of(sure)) : NULL;
}

enum mt_category mt_category_next(bool done[MT_CATEGORY_COUNT],
                                  const uint64_t bytes[MT_CATEGORY_COUNT])
{
    int best = MT_CATEGORY_COUNT;
    for (int c = 0; c < MT_CATEGORY_COUNT; c++) {
        bool more = best == MT_CATEGORY_COUNT || bytes[c] > bytes[best];
        best = c != MT_CATEGORY_UNKNOWN && !done[c] && bytes[c] && more ? c : best;
    }
    if (best == MT_CATEGORY_COUNT && !done[MT_CATEGORY_UNKNOWN] && bytes[MT_CATEGORY_UNKNOWN]) {
        best = MT_CATEGORY_UNKNOWN;
    }
    if (best < MT_CATEGORY_COUNT) {
        done[best] = true;
    }
    return (enum mt_category)best;
}

void mt_put_categories(struct mt_put *p, cJSON *o, const uint64_t bytes[MT_CATEGORY_COUNT],
                       const uint64_t sure[MT_CATEGORY_COUNT][MT_SURE_COUNT])
{
    cJSON *categories = mt_put_object(p, o, "categories");
    for (int c = 0; c < MT_CATEGORY_COUNT; c++) {
        char key[40];
        (void)snprintf(key, sizeof key, "%s_bytes", mt_category_name((enum mt_category)c));
        mt_put_u64(p, categories, key, bytes[c]);
    }
    cJSON *confidence = mt_put_object(p, o, "confidence");
    for (int c = 0; c < MT_CATEGORY_COUNT; c++) {
        if (c != MT_CATEGORY_UNKNOWN) {
            mt_put_text(p, confidence, mt_category_name((enum mt_category)c),
                        mt_category_sure_word((enum mt_category)c, sure[c]));
        }
    }
}
