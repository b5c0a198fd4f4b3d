/* SPDX-License-Identifier: MIT */
/* What a snapshot adds to a triage. */
#include <memtool/query.h>

#include "triage_state.h"

enum mt_status mt_triage_snapshot(struct mt_triage *t, const struct mt_snapshot *s,
                                  const char *file, struct mt_error *err)
{
    (void)err;
    struct mt_settings settings;
    mt_settings_get(s, &settings);
    t->snapshot_file = file;
    t->snapshot_expandable = settings.expandable_segments;
    return MT_OK;
}
