/* SPDX-License-Identifier: MIT */
/*
 * Where written bytes go: a stream, through gzip when asked, in bounded memory. The first failure
 * sticks and later writes do nothing, so a writer checks once at the end (or now and then, with
 * mt_sink_failed, to stop early on a full disk).
 */
#ifndef MEMTOOL_SNAPSHOT_WRITE_SINK_H
#define MEMTOOL_SNAPSHOT_WRITE_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "support/error.h"
#include "support/json_out.h"
#include "support/str.h"

struct mt_sink;

/* Writes to `stream`, which the caller keeps and closes. NULL when out of memory; the caller frees
 * with mt_sink_free. */
struct mt_sink *mt_sink_new(FILE *stream, bool gzip) MT_NODISCARD;
void mt_sink_free(struct mt_sink *s);

void mt_sink_write(struct mt_sink *s, const void *p, size_t n);
void mt_sink_str(struct mt_sink *s, struct mt_str text);
void mt_sink_text(struct mt_sink *s, const char *nul_terminated);
void mt_sink_char(struct mt_sink *s, char c);
void mt_sink_i64(struct mt_sink *s, int64_t n);  /* in decimal */
void mt_sink_u64(struct mt_sink *s, uint64_t n); /* in decimal */

/* Makes *json write to the sink, as Python does. Its text reaches the sink at mt_json_flush at the
 * latest; mt_sink_json_end does that too, and hands on a lack of memory. */
void mt_sink_json(struct mt_sink *s, struct mt_json_out *json);
void mt_sink_json_end(struct mt_sink *s, struct mt_json_out *json);

/* One string or number of JSON by itself; where there are more, mt_sink_json is the way. */
void mt_sink_json_str(struct mt_sink *s, struct mt_str text);
void mt_sink_json_f64(struct mt_sink *s, double x);

/* At most `bytes` are taken, counted before gzip; 0 = no limit. The write that goes beyond fails
 * with MT_LIMIT. A few kilobytes of lists that name one another can unfold to more than any disk
 * holds. */
void mt_sink_limit(struct mt_sink *s, uint64_t bytes);

/* The error of a write beyond such a limit. */
enum mt_status mt_sink_over_limit(uint64_t bytes, struct mt_error *err);

bool mt_sink_failed(const struct mt_sink *s);

/* Marks the sink as failed for a reason of the writer's own; `why` (a literal) becomes the text of
 * the error that mt_sink_finish gives. */
void mt_sink_fail(struct mt_sink *s, enum mt_status code, const char *why);

/* Ends the gzip stream and hands every byte to the stream (not flushed). Errors: MT_OUTPUT,
 * MT_LIMIT, MT_NOMEM, and what mt_sink_fail was given. */
enum mt_status mt_sink_finish(struct mt_sink *s, struct mt_error *err) MT_NODISCARD;

struct mt_snapshot;

/* The setting when the option is not given: by what was read. */
#define MT_MAX_OUTPUT_AUTO UINT64_MAX

/* Bytes that may be written of a snapshot, 0: no limit. `asked` is the setting. Unless asked
 * otherwise, 256 times what was read and at least 256 MiB: JSON repeats the stacks that a pickle
 * shares, and recordings grow 8 to 40 times. */
uint64_t mt_max_output(uint64_t asked, const struct mt_snapshot *s);

/* Whether these events, each with its stack written out, take more than `most` bytes for names and
 * files alone: known before the first of them is written. most 0: never. */
struct mt_event;
bool mt_stacks_exceed(const struct mt_snapshot *s, const struct mt_event *events, size_t n,
                      uint64_t most);

#endif
