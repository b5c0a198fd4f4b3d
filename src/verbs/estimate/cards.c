/* SPDX-License-Identifier: MIT */
/*
 * Cards by the memory that CUDA reports. Source: what PyTorch printed as "total capacity" in
 * published out-of-memory messages (the least where they differ by driver or ECC); h200: measured,
 * cudaMemGetInfo under driver 580.
 */
#include "verbs/estimate/cards.h"

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
