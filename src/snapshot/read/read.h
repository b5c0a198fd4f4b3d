/* SPDX-License-Identifier: MIT */
/* Reading and writing snapshot files: pickle of every protocol and era, JSON, gzip, zip, HTML. */
#ifndef MEMTOOL_SNAPSHOT_READ_READ_H
#define MEMTOOL_SNAPSHOT_READ_READ_H

#include <stdio.h>

#include "snapshot/model/model.h"
#include "support/error.h"

struct mt_read_options {
    uint64_t max_input; /* unpacked bytes, 0 = no limit */
    uint32_t max_depth; /* nesting, 0 = the default of 1000 */
    /* Events, each as often as a list with it is named; as many blocks and entries of history may
     * be copied for lists that are named again, and as many values, lists and dictionaries be no
     * records. 0 = a million events and one more for each byte of the file as it lies there
     * (packed), 65,536 copies and one more for each 16 bytes read, a million lists and dictionaries
     * and one more for each 64 bytes. */
    uint64_t max_events;
    bool salvage; /* keep what was whole before a damage */
    uint64_t hash_seed;
    /* Called about every MiB with unpacked bytes read and (0 when unknown) the file's size and
     * position in it; may be NULL. */
    void (*progress)(void *ctx, uint64_t unpacked, uint64_t at, uint64_t file_size);
    void *progress_ctx;
};

/*
 * Reads a file; "-" is standard input. On MT_OK the caller frees *out with mt_snapshot_release.
 * With `salvage`, damaged input gives MT_OK, and out->source.salvaged, damage and damage_offset say
 * what. Errors: MT_IO (cannot open, read), MT_FORMAT (damaged, not a snapshot), MT_UNSUPPORTED
 * (zstd, xz, a pickle that would run code), MT_LIMIT, MT_NOMEM; the offset counts in the unpacked
 * pickle or JSON.
 */
enum mt_status mt_snapshot_read(const char *path, const struct mt_read_options *o,
                                struct mt_snapshot *out, struct mt_error *err) MT_NODISCARD;

/* The same from memory, handed to the reader in pieces of at most `chunk` bytes (0 = whole). */
enum mt_status mt_snapshot_read_memory(const void *p, size_t n, size_t chunk,
                                       const struct mt_read_options *o, struct mt_snapshot *out,
                                       struct mt_error *err) MT_NODISCARD;

/* Whether the head of a file that is no snapshot reads as text of people or programs, and not as
 * the beginning of JSON, a page or a pickle: "[rank0]: step 1" and "(Engine pid=7) INFO" do. */
bool mt_text_is_log(struct mt_str head);

#endif
