/* SPDX-License-Identifier: MIT */
/* The two syntaxes. Both drive a machine until its stack holds the whole value, and no further. */
#ifndef MEMTOOL_SNAPSHOT_READ_READERS_H
#define MEMTOOL_SNAPSHOT_READ_READERS_H

#include "snapshot/read/input.h"
#include "snapshot/schema/machine.h"

/* Reads a pickle up to and with STOP; what follows is not looked at. Fills protocol and cpp_writer
 * of *source. Errors: MT_FORMAT, MT_UNSUPPORTED (an opcode that would run code), MT_LIMIT,
 * MT_NOMEM, MT_IO. */
enum mt_status mt_pickle_read(struct mt_input *in, struct mt_machine *m, struct mt_source *source)
    MT_NODISCARD;

/* Reads one JSON value; only white space and NULs may follow. */
enum mt_status mt_json_read(struct mt_input *in, struct mt_machine *m) MT_NODISCARD;

/* Pushes the integer whose decimal digits (with an optional minus) are p[0 .. n). False: not an
 * integer; then nothing was pushed. Errors through *status. */
bool mt_push_decimal(struct mt_machine *m, const uint8_t *p, size_t n, enum mt_status *status);

/* Pushes a two's-complement little-endian integer of n bytes. Errors: MT_LIMIT beyond 1024 bytes.
 */
enum mt_status mt_push_long(struct mt_machine *m, const uint8_t *p, size_t n) MT_NODISCARD;

/* The input stopped before `what` was whole: the source's failure, or MT_FORMAT with the offset. */
enum mt_status mt_input_ends(struct mt_input *in, struct mt_machine *m, const char *what);

/* What the top value of a JSON file that is no snapshot is: MT_TOLD_ALL when nothing known. */
enum mt_told mt_profile_kind(const struct mt_builder *b, const struct mt_value *top);
/* Puts it into b. Errors: MT_FORMAT (no memory events), MT_LIMIT, MT_NOMEM. */
enum mt_status mt_profile_read(struct mt_builder *b, const struct mt_value *top, enum mt_told kind,
                               struct mt_error *err) MT_NODISCARD;

/* Whether a file that begins so is RMM's log. */
bool mt_rmm_is(struct mt_str head);
/* Reads it to its end. Errors: MT_LIMIT, MT_NOMEM, MT_IO. */
enum mt_status mt_rmm_read(struct mt_input *in, struct mt_builder *b, uint64_t max_events,
                           struct mt_error *err) MT_NODISCARD;

#endif
