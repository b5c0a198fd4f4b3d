/* SPDX-License-Identifier: MIT */
/*
 * Text that is packed with gzip, once or several times, unpacked as it is read: the layers of the
 * snapshot reader under a face of their own. What was read of the file to tell its kind is handed
 * in and comes first.
 */
#include "snapshot/read/unpacked.h"

#include <errno.h>
#include <string.h>

#include "support/mem.h"

#include "snapshot/read/input.h"

/* ---- a stream whose first bytes were read before ---- */

struct stream_source {
    struct mt_byte_source face;
    const uint8_t *begun;
    size_t left;      /* of `begun` */
    FILE *rest;       /* or NULL: nothing follows */
    uint64_t *packed; /* bytes so far */
};

static enum mt_status stream_read(struct mt_byte_source *self, uint8_t *p, size_t n, size_t *got,
                                  struct mt_error *err)
{
    struct stream_source *s = (struct stream_source *)self;
    if (s->left > 0) {
        *got = s->left < n ? s->left : n;
        memcpy(p, s->begun, *got);
        s->begun += *got;
        s->left -= *got;
        *s->packed += *got;
        return MT_OK;
    }
    *got = s->rest ? fread(p, 1, n, s->rest) : 0;
    *s->packed += *got;
    if (*got == 0 && s->rest && ferror(s->rest)) {
        return mt_fail(err, MT_IO, MT_NO_OFFSET, "cannot read: %s", strerror(errno));
    }
    return MT_OK;
}

static void stream_close(struct mt_byte_source *self)
{
    mt_mem_free(self);
}

/* ---- unpacked ---- */

/* A log that was packed when it was rotated may have been packed again on its way. */
enum { MAX_LAYERS = 4 };

struct mt_unpacked {
    struct mt_input in;        /* unpacked */
    uint64_t packed, unpacked; /* bytes so far; layer by layer a bomb may look harmless */
};

bool mt_is_gzip(const void *p, size_t n)
{
    return n > 1 && memcmp(p, "\x1f\x8b", 2) == 0;
}

/* Takes one layer off u->in. */
static enum mt_status unwrap(struct mt_unpacked *u, struct mt_error *err)
{
    struct mt_byte_source *s = mt_source_gzip(&u->in, MT_DAMAGED_GIVE, err);
    return s ? mt_input_init(&u->in, s, 0, err) : err->code;
}

static enum mt_status open_layers(struct mt_unpacked *u, const struct stream_source *stream,
                                  struct mt_error *err)
{
    struct stream_source *s = mt_mem_alloc(1, sizeof *s);
    if (!s) {
        return mt_fail_nomem(err);
    }
    *s = *stream;
    MT_TRY(mt_input_init(&u->in, &s->face, 0, err));
    MT_TRY(unwrap(u, err));
    for (int i = 1; i < MAX_LAYERS && mt_input_need(&u->in, 2); i++) {
        if (!mt_is_gzip(u->in.at, mt_input_left(&u->in))) {
            break;
        }
        MT_TRY(unwrap(u, err));
    }
    return MT_OK; /* what failed while it was looked at fails again when it is read */
}

struct mt_unpacked *mt_unpacked_new(const void *begun, size_t n, FILE *rest, struct mt_error *err)
{
    struct mt_unpacked *u = mt_mem_zalloc(1, sizeof *u);
    if (!u) {
        mt_fail_nomem(err);
        return NULL;
    }
    struct stream_source s = {{stream_read, stream_close, NULL}, begun, n, rest, &u->packed};
    if (open_layers(u, &s, err) != MT_OK) {
        mt_unpacked_free(u);
        return NULL;
    }
    return u;
}

void mt_unpacked_free(struct mt_unpacked *u)
{
    if (u) {
        mt_input_release(&u->in);
        mt_mem_free(u);
    }
}

/* The reader's words are about snapshots. */
static enum mt_status refuse_bomb(struct mt_error *err)
{
    mt_fail(err, MT_LIMIT, MT_NO_OFFSET, "it unpacks to far more than any log would: a bomb?");
    return mt_hint(err, "if you trust it: gzip -dc FILE | memtool VERB -");
}

enum mt_status mt_unpacked_read(struct mt_unpacked *u, void *p, size_t n, size_t *got,
                                struct mt_error *err)
{
    *got = 0;
    if (!mt_input_need(&u->in, 1)) {
        enum mt_status status = u->in.failure.code;
        if (status == MT_OK) {
            return MT_OK; /* the end */
        }
        *err = u->in.failure;
        return status == MT_LIMIT ? refuse_bomb(err) : status;
    }
    size_t left = mt_input_left(&u->in);
    *got = left < n ? left : n;
    memcpy(p, u->in.at, *got);
    u->in.at += *got;
    u->unpacked += *got;
    return mt_is_bomb(u->packed, u->unpacked) ? refuse_bomb(err) : MT_OK;
}

enum mt_status mt_unpacked_head(const void *p, size_t n, void *out, size_t room, size_t *total,
                                struct mt_error *err)
{
    struct mt_unpacked *u = mt_unpacked_new(p, n, NULL, err);
    enum mt_status status = u ? MT_OK : err->code;
    size_t got = 1;
    *total = 0;
    while (status == MT_OK && got > 0 && *total < room) {
        status = mt_unpacked_read(u, (uint8_t *)out + *total, room - *total, &got, err);
        *total += got;
    }
    mt_unpacked_free(u);
    return status == MT_NOMEM ? status : MT_OK;
}
