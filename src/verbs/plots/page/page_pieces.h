/* SPDX-License-Identifier: MIT */
/*
 * Reserved memory over a trace, as pieces: an address range that one segment or one mapping held
 * from one event to another. The viewer's picture of any moment is the pieces that were there then.
 */
#ifndef MEMTOOL_VERBS_PLOTS_PAGE_PAGE_PIECES_H
#define MEMTOOL_VERBS_PLOTS_PAGE_PAGE_PIECES_H

#include "snapshot/model/model.h"
#include "support/error.h"
#include "support/vec.h"

struct mt_page_piece {
    uint64_t addr, size;
    uint32_t from; /* the first event after which it is there; 0 also for what is older */
    uint32_t to;   /* the event that took it away, UINT32_MAX: there at the end */
    uint32_t stack;
    uint32_t pool; /* index into mt_snapshot.pools */
    uint16_t stream;
    uint8_t large, expandable;
};

struct mt_page_pieces {
    MT_VEC(struct mt_page_piece) v;
};

/* The pieces of one device; release with mt_vec_release(&p->v), also after a failure. Errors:
 * MT_NOMEM. */
enum mt_status mt_page_pieces_find(struct mt_page_pieces *p, const struct mt_snapshot *s,
                                   int32_t device, struct mt_error *err) MT_NODISCARD;

#endif
