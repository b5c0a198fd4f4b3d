/* SPDX-License-Identifier: MIT */
/* The dump that TensorFlow's BFC allocator prints of its pool: every piece, in use or free. */
#ifndef MEMTOOL_TRIAGE_CARD_LOG_CHUNKS_H
#define MEMTOOL_TRIAGE_CARD_LOG_CHUNKS_H

#include <stdbool.h>
#include <stdint.h>

#include "support/str.h"

/* Of the last dump; sizes in bytes. */
struct mt_chunks {
    const char *file; /* of the log, borrowed; NULL: no dump was seen */
    uint64_t free_chunks, free_bytes, largest_free;
    uint64_t most_size, most_count, most_total; /* the size whose pieces in use hold most */
    bool done; /* its last line was seen: what follows is another dump */
};

/* Takes a squeezed line, if it is one of a dump. */
void mt_chunks_take(struct mt_chunks *c, const char *file, struct mt_str line);

#endif
