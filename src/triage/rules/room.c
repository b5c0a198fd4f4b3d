/* SPDX-License-Identifier: MIT */
/*
 * What the figures of a message say about room. They are printed with two digits, so a sum that
 * comes close to the request counts as reaching it. A log gives the size of the segment; a snapshot
 * that of the request, and the segment that PyTorch takes for it under the recording's settings.
 */
#include "triage/rules/room.h"

#include <stdio.h>

#include "support/checked.h"
#include "support/units.h"

static bool is_snapshot(const struct mt_incident *i)
{
    return strcmp(i->format, "snapshot") == 0;
}

static uint64_t need_of(const struct mt_incident *i)
{
    bool cached = i->segment > 0 && !i->cache_counts;
    return cached ? i->segment : mt_oom_get(&i->numbers, MT_OOM_REQUESTED);
}

static uint64_t beyond(uint64_t need, uint64_t room)
{
    return need > room ? need - room : 0;
}

/* What lacks to the limit; 0 where none is known, or where it is the card's own size. */
static uint64_t over_limit(const struct mt_incident *i, uint64_t need)
{
    const struct mt_oom_numbers *n = &i->numbers;
    uint64_t held = mt_oom_get(n, MT_OOM_RESERVED), live = mt_oom_get(n, MT_OOM_ALLOCATED);
    uint64_t allowed = mt_oom_get(n, MT_OOM_ALLOWED), total = mt_oom_get(n, MT_OOM_TOTAL);
    if (i->whole_is_limit && !mt_oom_has(n, MT_OOM_FREE) && mt_oom_has(n, MT_OOM_ALLOCATED)) {
        return beyond(mt_add_sat(mt_add_sat(live, mt_oom_get(n, MT_OOM_OUTSIDE)), need), total);
    }
    if (allowed == 0 || (total > 0 && (double)allowed >= 0.995 * (double)total)) {
        return 0;
    }
    return beyond(mt_add_sat(held > live ? held : live, need), allowed);
}

/* Each of the figures that are added may be off by half its last digit. */
static bool reaches(uint64_t holes, const struct mt_room *r)
{
    return holes >= r->missing ||
           (r->rounded && holes >= r->missing / 2 && holes + MT_GIB / 100 >= r->missing);
}

struct mt_room mt_room_of(const struct mt_incident *i)
{
    const struct mt_oom_numbers *n = &i->numbers;
    struct mt_room r = {.need = need_of(i)};
    bool free_known = mt_oom_has(n, MT_OOM_FREE);
    if (!mt_oom_has(n, MT_OOM_REQUESTED)) {
        return r;
    }
    uint64_t card = free_known ? beyond(r.need, n->v[MT_OOM_FREE]) : 0;
    uint64_t limit = over_limit(i, r.need);
    r.known = free_known || limit > 0;
    r.by_limit = limit > card;
    r.missing = r.by_limit ? limit : card;
    bool exact = free_known && n->v[MT_OOM_FREE] == 0 && !r.by_limit; /* all of it is missing */
    r.rounded = !is_snapshot(i) && !exact &&
                (r.need > MT_GIB || r.by_limit || mt_oom_get(n, MT_OOM_FREE) > MT_GIB);
    r.holes = mt_oom_get(n, MT_OOM_UNALLOCATED);
    if (r.known && r.missing == 0) {
        r.kind = MT_ROOM_FREE;
    } else if (r.known && mt_oom_has(n, MT_OOM_UNALLOCATED) && !i->cache_counts) {
        r.kind = r.holes > 0 && reaches(r.holes, &r) ? MT_ROOM_SCATTERED : MT_ROOM_SHORT;
    }
    return r;
}

uint64_t mt_room_spare(const struct mt_room *r)
{
    return beyond(r->holes, r->missing);
}

struct mt_size_text mt_room_text(const struct mt_room *r, uint64_t bytes)
{
    struct mt_size_text text = mt_size_text(bytes, (struct mt_size_format){0});
    if (r->rounded && bytes < 8 * MT_MIB) {
        (void)snprintf(text.s, sizeof text.s, "a few MiB");
    } else if (r->rounded && bytes < MT_GIB) {
        (void)snprintf(text.s, sizeof text.s, "about %.0f MiB", (double)bytes / (double)MT_MIB);
    } else if (r->rounded) {
        (void)snprintf(text.s, sizeof text.s, "about %.2f GiB", (double)bytes / (double)MT_GIB);
    }
    return text;
}
