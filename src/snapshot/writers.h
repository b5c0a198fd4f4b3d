/* SPDX-License-Identifier: MIT */
/* The two syntaxes behind mt_snapshot_write. Failures stay in the sink. */
#ifndef MT_SNAPSHOT_WRITERS_H
#define MT_SNAPSHOT_WRITERS_H

#include <memtool/model.h>
#include <memtool/sink.h>

/* `protocol` is 2 to 5. */
void mt_pickle_write(const struct mt_snapshot *s, int protocol, struct mt_sink *sink);

/* One line for each event, segment, block and annotation, a newline at the end. */
void mt_json_write(const struct mt_snapshot *s, struct mt_sink *sink);

#endif
