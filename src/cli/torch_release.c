/* SPDX-License-Identifier: MIT */
/* Which PyTorch release a snapshot's settings and allocator are taken to be of, and what is said of
 * releases that memtool does not know yet. */
#include "cli/frame.h"

void mt_cli_note_release(struct mt_cli *cli, const struct mt_common *common,
                         mt_torch_release release)
{
    if (release > MT_TORCH_NEWEST) {
        mt_cli_note(cli, common, "PyTorch %d.%d is newer than the newest known: taken as %d.%d",
                    release / 100, release % 100, MT_TORCH_NEWEST / 100, MT_TORCH_NEWEST % 100);
    }
}
