/* SPDX-License-Identifier: MIT */
/* Sizes out of the replay of blocks. Where an event does not fit it, the size stays unknown. */
#include "heap/walk/block_sizes.h"

#include "heap/walk/block_replay.h"
#include "heap/walk/replay.h"
#include "support/mem.h"

static void note_size(void *ctx, const struct mt_block_change *c)
{
    struct mt_block_sizes *sizes = ctx;
    if (c->kind == MT_BLOCK_CHANGE_HAND_OUT) {
        sizes->of_event[c->event] = c->size;
    }
}

enum mt_status mt_block_sizes_find(struct mt_block_sizes *sizes, const struct mt_snapshot *s,
                                   size_t device, struct mt_error *err)
{
    *sizes = (struct mt_block_sizes){.n = mt_device_trace(s, (int32_t)device).n};
    MT_TRY(mt_state_at(s, device, 0, &sizes->start, err));
    sizes->of_event = mt_mem_zalloc(sizes->n ? sizes->n : 1, sizeof *sizes->of_event);
    enum mt_status status = sizes->of_event
                                ? mt_block_replay_from(s, &sizes->start, note_size, sizes, err)
                                : mt_fail_nomem(err);
    if (status != MT_OK) {
        mt_block_sizes_release(sizes);
    }
    return status;
}

void mt_block_sizes_release(struct mt_block_sizes *sizes)
{
    mt_mem_free(sizes->of_event);
    mt_state_release(&sizes->start);
    *sizes = (struct mt_block_sizes){.of_event = NULL};
}

uint64_t mt_block_sizes_older(const struct mt_block_sizes *sizes, uint64_t addr)
{
    size_t low = 0, high = sizes->start.n_blocks;
    const struct mt_block *blocks = sizes->start.blocks;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (blocks[middle].addr < addr) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool found = low < sizes->start.n_blocks && blocks[low].addr == addr &&
                 blocks[low].state != MT_BLOCK_INACTIVE;
    return found ? blocks[low].size : 0;
}
