/* SPDX-License-Identifier: MIT */
/*
 * Where room for the request was, as far as the figures tell. A new segment needs its bytes free on
 * the card and below the process's limit: what lacks there is missing. What the allocator has
 * reserved but not allocated lies in holes between live blocks: it could serve only where it can be
 * put together, so it is compared with what is missing and not with the whole request.
 */
#ifndef MEMTOOL_TRIAGE_RULES_ROOM_H
#define MEMTOOL_TRIAGE_RULES_ROOM_H

#include "support/units.h"
#include "triage/triage.h"

enum mt_room_kind {
    MT_ROOM_UNKNOWN,   /* a figure that is needed is not printed */
    MT_ROOM_SHORT,     /* all holes together do not make up for what is missing */
    MT_ROOM_SCATTERED, /* they would, in one piece */
    MT_ROOM_FREE       /* nothing is missing: as much is free as was asked for, or more */
};

struct mt_room {
    enum mt_room_kind kind;
    uint64_t need;    /* bytes of the segment that was asked from the driver */
    bool known;       /* `missing` is */
    uint64_t missing; /* bytes, on the card or to the limit, whichever lacks more */
    bool by_limit;    /* it is the limit's */
    bool rounded;     /* figures of GiB with two digits: `missing` is told only roughly */
    uint64_t holes;   /* bytes; valid when kind is SHORT or SCATTERED */
};

struct mt_room mt_room_of(const struct mt_incident *i);

/* What is left of the holes once they have made up for what is missing; 0: nothing. */
uint64_t mt_room_spare(const struct mt_room *r);

/* "184.32 MiB"; "about 184 MiB" where the figures that it comes from are printed in GiB. */
struct mt_size_text mt_room_text(const struct mt_room *r, uint64_t bytes);

static inline struct mt_size_text mt_room_missing(const struct mt_room *r)
{
    return mt_room_text(r, r->missing);
}

#endif
