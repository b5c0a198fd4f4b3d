/* SPDX-License-Identifier: MIT */
/*
 * Makes snapshots: the readers, the simulator's recorder and the tests all build through this face.
 * Interns strings, frames and stacks. Ids are valid at once and stay valid in the finished
 * snapshot.
 *
 * Every function that returns an id returns 0 (and every bool function false) only when memory or
 * the id space ran out; the builder then stays valid for mt_builder_free.
 */
#ifndef MEMTOOL_SNAPSHOT_MODEL_BUILDER_H
#define MEMTOOL_SNAPSHOT_MODEL_BUILDER_H

#include "snapshot/model/model.h"
#include "support/error.h"

struct mt_builder;

/* `seed` for the hash tables. NULL when out of memory. Caller frees with mt_builder_free or hands
 * it over with mt_builder_finish. */
struct mt_builder *mt_builder_new(uint64_t seed) MT_NODISCARD;
void mt_builder_free(struct mt_builder *b);

uint32_t mt_builder_str(struct mt_builder *b, const void *p, size_t n) MT_NODISCARD;
uint32_t mt_builder_cstr(struct mt_builder *b, const char *s) MT_NODISCARD;

/* The bytes of a string id; they live as long as the builder, then as the snapshot. */
struct mt_str mt_builder_get_str(const struct mt_builder *b, uint32_t id);

/* Equal frames get the same id. */
uint32_t mt_builder_frame(struct mt_builder *b, const struct mt_frame *f) MT_NODISCARD;

/* Equal lists of frame ids get the same id; innermost first; n may be 0 (then the id is that of the
 * empty stack, which is not "none"). */
uint32_t mt_builder_stack(struct mt_builder *b, const uint32_t *frames, size_t n) MT_NODISCARD;

/* The index of a stream in the snapshot; SIZE_MAX when there are more than 65,535. */
size_t mt_builder_stream(struct mt_builder *b, uint64_t handle, bool negative) MT_NODISCARD;

/* The index of a pool, SIZE_MAX when out of memory. */
size_t mt_builder_pool(struct mt_builder *b, struct mt_pool_id id) MT_NODISCARD;

/* The index of a set of event keys; SIZE_MAX when there are more than 255 or memory is out. */
size_t mt_builder_event_shape(struct mt_builder *b, uint32_t present, uint32_t action_name)
    MT_NODISCARD;

/* Whether all 255 are taken: tells the one reason from the other. */
bool mt_builder_shapes_full(const struct mt_builder *b);

/* Appends; e->shape and e->stream must be indexes that this builder gave. Events of one trace must
 * be appended one after the other. */
bool mt_builder_event(struct mt_builder *b, const struct mt_event *e) MT_NODISCARD;
/* Room for so many events is set aside, since that many are expected; a guess that is too high
 * costs no memory. False when there is none. */
bool mt_builder_expect_events(struct mt_builder *b, size_t n) MT_NODISCARD;
size_t mt_builder_n_events(const struct mt_builder *b);

/* Sets a rare column of event `index`. */
bool mt_builder_event_column(struct mt_builder *b, size_t index, enum mt_event_column column,
                             uint32_t value) MT_NODISCARD;
/* What the column holds where nothing was set. */
uint32_t mt_builder_column_default(const struct mt_builder *b, enum mt_event_column column);

/* The next device's trace is the events [first, first + n), which must be there when the books are
 * closed. `host`: it goes to host_traces. */
bool mt_builder_trace(struct mt_builder *b, size_t first, size_t n, bool host) MT_NODISCARD;

/* Appends a segment; s->first_block and n_blocks must name blocks already appended with
 * mt_builder_block. `host`: it goes to host_segments. */
bool mt_builder_segment(struct mt_builder *b, const struct mt_segment *s, bool host) MT_NODISCARD;
/* Appends one to other_segments. */
bool mt_builder_other_segment(struct mt_builder *b, const struct mt_segment *s) MT_NODISCARD;
bool mt_builder_block(struct mt_builder *b, const struct mt_block *block) MT_NODISCARD;
size_t mt_builder_n_blocks(const struct mt_builder *b);
bool mt_builder_history(struct mt_builder *b, const struct mt_history *h) MT_NODISCARD;
size_t mt_builder_n_history(const struct mt_builder *b);
bool mt_builder_annotation(struct mt_builder *b, const struct mt_annotation *a) MT_NODISCARD;
size_t mt_builder_n_annotations(const struct mt_builder *b);

/* Appends n values in one run; returns the index of the first, 0 when out of memory. */
uint32_t mt_builder_values(struct mt_builder *b, const struct mt_value *v, size_t n) MT_NODISCARD;

/* A value that mt_builder_values placed. */
struct mt_value mt_builder_get_value(const struct mt_builder *b, uint32_t index);

/* Puts {key: value} in front of the list `head` and returns the new head. Equal lists get the same
 * id. */
uint32_t mt_builder_extra(struct mt_builder *b, uint32_t head, const struct mt_value *key,
                          const struct mt_value *value) MT_NODISCARD;

/* n more values under unknown keys. */
void mt_builder_count_unknown(struct mt_builder *b, uint64_t n);

/* One more odd value of `key`, a string id; `record` lives for ever. */
bool mt_builder_odd(struct mt_builder *b, const char *record, uint32_t key,
                    const struct mt_value *value) MT_NODISCARD;

/* Top-level facts: `present` bits, settings, unknown keys, source. */
void mt_builder_top(struct mt_builder *b, uint32_t present, uint32_t settings, uint32_t extra);
/* The value of memtool's own key; its `present` bit comes by mt_builder_top. */
void mt_builder_own(struct mt_builder *b, uint32_t value);
/* host_traces was one flat list, not a list of lists. */
void mt_builder_flat_host_trace(struct mt_builder *b);
void mt_builder_source(struct mt_builder *b, const struct mt_source *source);

/* How much may be copied when the books are closed: `records` in all, and events until there are
 * `events`. Without a call: as much as there is room for. */
void mt_builder_limit(struct mt_builder *b, uint64_t records, uint64_t events);

/*
 * Closes the books: fills in what old files leave out (block addresses, requested sizes from the
 * history), copies records that more than one owner names, gives every block its segment, and hands
 * the memory over to *out, which the caller frees with mt_snapshot_release. b must not be used
 * afterwards, whatever is returned. Errors: MT_NOMEM, MT_LIMIT (too much to copy).
 */
enum mt_status mt_builder_finish(struct mt_builder *b, struct mt_snapshot *out,
                                 struct mt_error *err) MT_NODISCARD;

#endif
