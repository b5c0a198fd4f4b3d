/* SPDX-License-Identifier: MIT */
/* Which PyTorch release a snapshot's settings and allocator are taken to be of, and what is said of
 * releases that memtool does not know yet. */
#include <memtool/era.h>

#include "frame.h"

/* 0 where the text is none. */
static mt_torch_release parse(const char *text)
{
    mt_torch_release release;
    return text && mt_torch_release_parse(mt_str_from(text), &release) ? release : 0;
}

mt_torch_release mt_cli_release_of(const struct mt_snapshot *s, mt_torch_release wanted)
{
    struct mt_era era = mt_era_find(s);
    mt_torch_release from = parse(era.from), until = parse(era.until);
    mt_torch_release release = until && wanted > until ? until : wanted;
    release = release < from ? from : release;
    release = release < MT_TORCH_OLDEST ? MT_TORCH_OLDEST : release;
    return release > MT_TORCH_NEWEST ? MT_TORCH_NEWEST : release;
}

void mt_cli_note_release(struct mt_cli *cli, const struct mt_common *common,
                         mt_torch_release release)
{
    if (release > MT_TORCH_NEWEST) {
        mt_cli_note(cli, common, "PyTorch %d.%d is newer than the newest known: taken as %d.%d",
                    release / 100, release % 100, MT_TORCH_NEWEST / 100, MT_TORCH_NEWEST % 100);
    }
}
