/* SPDX-License-Identifier: MIT */
/*
 * Cards by the memory that CUDA reports. Source: what PyTorch printed as "total capacity" in
 * published out-of-memory messages (the least where they differ by driver or ECC); h200: measured,
 * cudaMemGetInfo under driver 580.
 */
#include "verbs/estimate/cards.h"

#include <string.h>

#include "cli/command.h"
#include "support/units.h"

#define CARD(name, mib)                                                                            \
    {                                                                                              \
        name, (uint64_t)(mib)*MT_MIB                                                               \
    }

/* MiB */
const struct mt_card MT_CARDS[] = {
    CARD("rtx2080ti", 11182), CARD("rtx3060", 11939),  CARD("t4", 14909),
    CARD("v100", 16148),      CARD("l4", 22487),       CARD("a10", 22487),
    CARD("rtx4090", 24207),   CARD("rtx3090", 24217),  CARD("rtx5090", 32112),
    CARD("v100-32", 32491),   CARD("a100-40", 40437),  CARD("l40s", 45465),
    CARD("a6000", 48670),     CARD("h100", 80998),     CARD("a100-80", 81049),
    CARD("a100", 81049),      CARD("h100-nvl", 95334), CARD("h200", 143155),
    CARD("b200", 182640),     CARD("mi300x", 196588),  CARD("mi355x", 294891),
};
const size_t MT_CARDS_N = sizeof MT_CARDS / sizeof MT_CARDS[0];

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

const struct mt_card *mt_card_find(struct mt_str name)
{
    for (size_t i = 0; i < MT_CARDS_N; i++) {
        const char *known = MT_CARDS[i].name;
        size_t k = 0;
        while (k < name.n && known[k] && lower(name.p[k]) == known[k]) {
            k++;
        }
        if (k == name.n && !known[k]) {
            return &MT_CARDS[i];
        }
    }
    return NULL;
}

#define LEAST_CARD MT_MIB /* bytes */

enum mt_status mt_card_arg(void *field, const char *text, struct mt_error *err)
{
    uint64_t *card = field;
    const struct mt_card *known = mt_card_find(mt_str_from(text));
    if (known) {
        *card = known->bytes;
        return MT_OK;
    }
    if (mt_size_parse(mt_str_from(text), card) && *card >= LEAST_CARD) {
        return MT_OK;
    }
    if (*text && !text[strspn(text, "0123456789.")] && strspn(text, "0.") < strlen(text)) {
        return mt_size_arg(text, true, card, err);
    }
    mt_fail(err, MT_USAGE, MT_NO_OFFSET, "'%.60s' is neither a size such as 80GiB nor a known card",
            text);
    struct mt_buf names = {0};
    for (size_t i = 0; i < MT_CARDS_N; i++) {
        mt_buf_printf(&names, " %s", MT_CARDS[i].name);
    }
    (void)mt_hint(err, "known:%s", names.failed ? "" : names.p);
    mt_buf_release(&names);
    return err->code;
}
