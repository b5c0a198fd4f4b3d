/* SPDX-License-Identifier: MIT */
/* Splits and merges of blocks, counted from a replay of the blocks. */
#include "heap/sums/totals.h"
#include "heap/walk/block_replay.h"

struct count {
    uint64_t splits, merges;
};

static void count_change(void *ctx, const struct mt_block_change *c)
{
    struct count *n = ctx;
    n->splits += c->kind == MT_BLOCK_CHANGE_HAND_OUT && c->rest > 0;
    n->merges += c->kind == MT_BLOCK_CHANGE_FREE ? c->swallowed : 0;
}

enum mt_status mt_count_splits(const struct mt_snapshot *s, int32_t device, bool *known,
                               uint64_t *splits, uint64_t *merges, struct mt_error *err)
{
    struct count n = {0};
    *known = false;
    *splits = *merges = 0;
    MT_TRY(mt_block_replay(s, device, count_change, &n, known, err));
    if (*known) {
        *splits = n.splits;
        *merges = n.merges;
    }
    return MT_OK;
}
