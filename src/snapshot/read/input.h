/* SPDX-License-Identifier: MIT */
/*
 * A bounded cursor over bytes that come from anywhere. The readers see a window of contiguous
 * bytes; this is the only place that knows how to get more, and the only one that checks "enough
 * left".
 *
 * Files are read, not mapped: a mapped file that shrinks while it is read kills the process, pipes
 * and gzip need the window anyway, and reading 171 MB through a 256 KiB window costs under 40 ms.
 */
#ifndef MEMTOOL_SNAPSHOT_READ_INPUT_H
#define MEMTOOL_SNAPSHOT_READ_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/error.h"

struct mt_input;

/* Where bytes come from; one layer over another (gzip over a file). */
struct mt_byte_source {
    /* Up to n bytes (n > 0) into p; *got = 0 means the end. Errors: MT_IO, MT_FORMAT, MT_NOMEM. */
    enum mt_status (*read)(struct mt_byte_source *self, uint8_t *p, size_t n, size_t *got,
                           struct mt_error *err);
    void (*close)(struct mt_byte_source *self); /* frees self and what lies below it */
    /* Where the source does not know the end of its content: `in`, which reads from it, stands
     * there, and what follows proves the content. NULL: reading on to the end does. */
    enum mt_status (*prove)(struct mt_byte_source *self, struct mt_input *in, struct mt_error *err);
};

enum {
    MT_INPUT_WINDOW = 256 * 1024,
    MT_INPUT_ITEM = 67108864, /* bytes that may be contiguous, 64 MiB: the longest string */
    MT_INPUT_PAD =
        16 /* zero bytes that may be read behind `end`: operands are decoded before the check */
};

struct mt_input {
    const uint8_t *at;  /* next byte */
    const uint8_t *end; /* behind the window's last byte */
    uint64_t base;      /* offset of the window's first byte */
    uint8_t *window;
    size_t cap;                    /* bytes of the window, without the padding */
    struct mt_byte_source *source; /* owned */
    bool at_end;                   /* the source has no more */
    uint64_t max;                  /* MT_LIMIT beyond so many bytes, 0 = none */
    struct mt_error failure;       /* code MT_OK unless the source failed */
    void (*progress)(void *ctx, uint64_t unpacked);
    void *progress_ctx;
};

/* Takes the source over, also on failure. Errors: MT_NOMEM. */
enum mt_status mt_input_init(struct mt_input *in, struct mt_byte_source *source, uint64_t max,
                             struct mt_error *err) MT_NODISCARD;
void mt_input_release(struct mt_input *in);

/* Makes at least n bytes contiguous at in->at. False when the input ends before (in->failure.code
 * is MT_OK), when it cannot be read or n is above MT_INPUT_ITEM (in->failure says why). Memory is
 * at most twice the bytes read. */
bool mt_input_fill(struct mt_input *in, size_t n);

static inline size_t mt_input_left(const struct mt_input *in)
{
    return (size_t)(in->end - in->at);
}

static inline bool mt_input_need(struct mt_input *in, size_t n)
{
    return MT_LIKELY(mt_input_left(in) >= n) || mt_input_fill(in, n);
}

/* Offset of the next byte. */
static inline uint64_t mt_input_offset(const struct mt_input *in)
{
    return in->base + (uint64_t)(in->at - in->window);
}

/* ---- sources ---- */

/* A file descriptor, closed with the source when `owned`. NULL: out of memory (fd is not closed).
 */
struct mt_byte_source *mt_source_fd(int fd, bool owned, uint64_t *position) MT_NODISCARD;

/* Memory, in pieces of at most `chunk` bytes (0 = whole). The bytes are borrowed. */
struct mt_byte_source *mt_source_memory(const void *p, size_t n, size_t chunk) MT_NODISCARD;

/*
 * Deflate makes at most 1032 bytes of one. Snapshots reach 15 (pickle) to 100 (JSON, whose stacks
 * are written out for each event), logs less: what is far above that and large is a bomb.
 */
enum { MT_BOMB_RATIO = 200, MT_BOMB_MIB = 64 };
static inline bool mt_is_bomb(uint64_t packed, uint64_t unpacked)
{
    return unpacked >> 20 >= MT_BOMB_MIB && unpacked / MT_BOMB_RATIO > packed;
}

/* What a gzip source does with bytes in front of a damage that it has unpacked in one go. */
enum mt_damaged {
    MT_DAMAGED_REFUSE, /* a snapshot whose checksum is wrong must not be read as if it were right */
    MT_DAMAGED_GIVE    /* they are handed out, and the next read fails */
};

/* The layers below take over the input, also on failure; it stands at the first byte of the
 * wrapper. NULL: *err says why. */
struct mt_byte_source *mt_source_gzip(struct mt_input *below, enum mt_damaged damaged,
                                      struct mt_error *err) MT_NODISCARD;
struct mt_byte_source *mt_source_zip(struct mt_input *below, struct mt_error *err) MT_NODISCARD;
struct mt_byte_source *mt_source_html(struct mt_input *below, struct mt_error *err) MT_NODISCARD;

#endif
