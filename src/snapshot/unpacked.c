/* SPDX-License-Identifier: MIT */
/*
 * Text that is packed with gzip, unpacked as it is read: the layers of the snapshot reader under a
 * face of their own. What was read of the file to tell its kind is handed in and comes first.
 */
#include <memtool/unpacked.h>

#include <errno.h>
#include <string.h>

#include <memtool/mem.h>

#include "input.h"

/* ---- a stream whose first bytes were read before ---- */

struct stream_source {
    struct mt_byte_source face;
    const uint8_t *begun;
    size_t left; /* of `begun` */
    FILE *rest;  /* or NULL: nothing follows */
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
        return MT_OK;
    }
    *got = s->rest ? fread(p, 1, n, s->rest) : 0;
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

struct mt_unpacked {
    struct mt_byte_source *source;
};

bool mt_is_gzip(const void *p, size_t n)
{
    return n > 1 && memcmp(p, "\x1f\x8b", 2) == 0;
}

struct mt_unpacked *mt_unpacked_new(const void *begun, size_t n, FILE *rest, struct mt_error *err)
{
    struct mt_unpacked *u = mt_mem_zalloc(1, sizeof *u);
    struct stream_source *s = mt_mem_zalloc(1, sizeof *s);
    struct mt_input below;
    if (!u || !s) {
        mt_mem_free(u);
        mt_mem_free(s);
        mt_fail_nomem(err);
        return NULL;
    }
    *s = (struct stream_source){{stream_read, stream_close}, begun, n, rest};
    if (mt_input_init(&below, &s->face, 0, err) == MT_OK) {
        u->source = mt_source_gzip(&below, err);
    }
    if (!u->source) {
        mt_mem_free(u);
        return NULL;
    }
    return u;
}

void mt_unpacked_free(struct mt_unpacked *u)
{
    if (u) {
        u->source->close(u->source);
        mt_mem_free(u);
    }
}

enum mt_status mt_unpacked_read(struct mt_unpacked *u, void *p, size_t n, size_t *got,
                                struct mt_error *err)
{
    *got = 0;
    enum mt_status status = u->source->read(u->source, p, n, got, err);
    if (status == MT_LIMIT) { /* the reader's words are about snapshots */
        (void)mt_fail(err, MT_LIMIT, MT_NO_OFFSET,
                      "it unpacks to far more than any log would: a bomb?");
        (void)mt_hint(err, "if you trust it: gzip -dc FILE | memtool VERB -");
    }
    return status;
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
