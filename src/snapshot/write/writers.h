/* SPDX-License-Identifier: MIT */
/* The two syntaxes behind mt_snapshot_write. Failures stay in the sink. */
#ifndef MEMTOOL_SNAPSHOT_WRITE_WRITERS_H
#define MEMTOOL_SNAPSHOT_WRITE_WRITERS_H

#include "snapshot/model/model.h"
#include "snapshot/write/sink.h"

/* `protocol` is 2 to 5. */
void mt_pickle_write(const struct mt_snapshot *s, int protocol, struct mt_sink *sink);

/* One line for each event, segment, block and annotation, a newline at the end. */
void mt_json_write(const struct mt_snapshot *s, struct mt_sink *sink);

#endif
