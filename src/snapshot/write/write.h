/* SPDX-License-Identifier: MIT */
/*
 * Writing snapshots: pickle (protocol 2 to 5) and JSON, gzip around either. Nothing is lost on the
 * way: unknown keys, stale sizes of free blocks and absent keys come back as they were; pool ids
 * are tuples in a pickle and lists in JSON, as Python would have them.
 */
#ifndef MEMTOOL_SNAPSHOT_WRITE_WRITE_H
#define MEMTOOL_SNAPSHOT_WRITE_WRITE_H

#include <stdio.h>

#include "snapshot/model/model.h"
#include "support/error.h"

/* What Python 3.8 to 3.13 write, and the only one besides 2 that PyTorch's web viewer opens. */
#define MT_PICKLE_PROTOCOL 4

enum mt_write_format { MT_WRITE_PICKLE, MT_WRITE_JSON };

struct mt_write_options {
    enum mt_write_format format;
    int protocol; /* of the pickle, 2 to 5 */
    bool gzip;
    uint64_t max_bytes; /* before gzip, 0 = no limit */
};

/*
 * Streams s to `stream`; memory is a few words for each distinct string, frame and stack, whatever
 * the number of events. Equal stacks and frames are written once in a pickle and referred to, as
 * PyTorch does; JSON has no such means and repeats them.
 *
 * Errors: MT_OUTPUT (the stream failed), MT_NOMEM, MT_LIMIT (max_bytes reached, unknown values
 * nested deeper than 2,000, an integer of more than 100,000 digits), MT_UNSUPPORTED (raw bytes in a
 * pickle of protocol 2; a dictionary key that JSON has no form for).
 */
enum mt_status mt_snapshot_write(const struct mt_snapshot *s, const struct mt_write_options *o,
                                 FILE *stream, struct mt_error *err) MT_NODISCARD;

#endif
