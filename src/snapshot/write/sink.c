/* SPDX-License-Identifier: MIT */
/*
 * A buffer in front of a stream, with deflate in between when gzip was asked for. One buffer of 64
 * KiB takes the bytes; when full it goes to the stream, or through zlib and then to the stream. The
 * first failure sticks.
 */
#include "snapshot/write/sink.h"

#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "support/mem.h"
#include "support/units.h"

#define SINK_BUFFER 65536
/* windowBits of zlib: 15 is the largest window, + 16 asks for a gzip header. */
#define SINK_WINDOW_GZIP (15 + 16)
/* Level 6 is zlib's own balance; on a 171 MB snapshot level 9 takes three times as long for 4 %
 * less. */
#define SINK_LEVEL 6

struct mt_sink {
    FILE *stream;
    bool gzip;
    enum mt_status status;
    const char *why; /* of the failure; a literal */
    size_t n;
    uint64_t taken, limit; /* bytes handed on, before gzip; limit 0: any number */
    z_stream z;
    unsigned char bytes[SINK_BUFFER];
    unsigned char packed[SINK_BUFFER];
};

struct mt_sink *mt_sink_new(FILE *stream, bool gzip)
{
    struct mt_sink *s = mt_mem_alloc(1, sizeof *s);
    if (!s) {
        return NULL;
    }
    s->stream = stream;
    s->gzip = gzip;
    s->status = MT_OK;
    s->why = NULL;
    s->n = 0;
    s->taken = 0;
    s->limit = 0;
    memset(&s->z, 0, sizeof s->z);
    if (gzip && deflateInit2(&s->z, SINK_LEVEL, Z_DEFLATED, SINK_WINDOW_GZIP, 8,
                             Z_DEFAULT_STRATEGY) != Z_OK) {
        mt_mem_free(s);
        return NULL;
    }
    return s;
}

void mt_sink_free(struct mt_sink *s)
{
    if (s && s->gzip) {
        deflateEnd(&s->z);
    }
    mt_mem_free(s);
}

static void put_raw(struct mt_sink *s, const void *p, size_t n)
{
    if (s->status == MT_OK && fwrite(p, 1, n, s->stream) != n) {
        mt_sink_fail(s, MT_OUTPUT, "cannot write");
    }
}

static void put_deflated(struct mt_sink *s, int flush)
{
    s->z.next_in = s->bytes;
    s->z.avail_in = (uInt)s->n;
    do {
        s->z.next_out = s->packed;
        s->z.avail_out = SINK_BUFFER;
        if (deflate(&s->z, flush) == Z_STREAM_ERROR) {
            mt_sink_fail(s, MT_INTERNAL, "zlib lost its state");
        }
        put_raw(s, s->packed, SINK_BUFFER - s->z.avail_out);
    } while (s->z.avail_out == 0 && s->status == MT_OK);
}

static void empty_buffer(struct mt_sink *s, int flush)
{
    s->taken += s->n;
    if (s->limit && s->taken > s->limit) {
        mt_sink_fail(s, MT_LIMIT, NULL);
    } else if (s->gzip) {
        put_deflated(s, flush);
    } else {
        put_raw(s, s->bytes, s->n);
    }
    s->n = 0;
}

void mt_sink_write(struct mt_sink *s, const void *p, size_t n)
{
    const unsigned char *at = p;
    while (n > 0 && s->status == MT_OK) {
        size_t piece = SINK_BUFFER - s->n < n ? SINK_BUFFER - s->n : n;
        memcpy(s->bytes + s->n, at, piece);
        s->n += piece;
        at += piece;
        n -= piece;
        if (s->n == SINK_BUFFER) {
            empty_buffer(s, Z_NO_FLUSH);
        }
    }
}

void mt_sink_str(struct mt_sink *s, struct mt_str text)
{
    mt_sink_write(s, text.p, text.n);
}

void mt_sink_text(struct mt_sink *s, const char *nul_terminated)
{
    mt_sink_write(s, nul_terminated, strlen(nul_terminated));
}

void mt_sink_char(struct mt_sink *s, char c)
{
    if (s->n + 1 < SINK_BUFFER) {
        s->bytes[s->n++] = (unsigned char)c;
    } else {
        mt_sink_write(s, &c, 1);
    }
}

void mt_sink_u64(struct mt_sink *s, uint64_t n)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    mt_sink_write(s, digits + at, sizeof digits - at);
}

void mt_sink_i64(struct mt_sink *s, int64_t n)
{
    if (n < 0) {
        mt_sink_char(s, '-');
    }
    mt_sink_u64(s, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
}

/* ---- JSON text ---- */

static void drain(void *sink, const void *p, size_t n)
{
    mt_sink_write(sink, p, n);
}

void mt_sink_json(struct mt_sink *s, struct mt_json_out *json)
{
    *json = (struct mt_json_out){.drain = drain, .to = s, .python = true};
}

void mt_sink_json_end(struct mt_sink *s, struct mt_json_out *json)
{
    mt_json_flush(json);
    if (json->text.failed) {
        mt_sink_fail(s, MT_NOMEM, "out of memory");
    }
    mt_buf_release(&json->text);
}

void mt_sink_json_str(struct mt_sink *s, struct mt_str text)
{
    struct mt_json_out json;
    mt_sink_json(s, &json);
    mt_out_str(mt_out_here(&json), NULL, text);
    mt_sink_json_end(s, &json);
}

void mt_sink_json_f64(struct mt_sink *s, double x)
{
    struct mt_json_out json;
    mt_sink_json(s, &json);
    mt_out_f64(mt_out_here(&json), NULL, x);
    mt_sink_json_end(s, &json);
}

/* ---- the end ---- */

void mt_sink_limit(struct mt_sink *s, uint64_t bytes)
{
    s->limit = bytes;
}

bool mt_sink_failed(const struct mt_sink *s)
{
    return s->status != MT_OK;
}

void mt_sink_fail(struct mt_sink *s, enum mt_status code, const char *why)
{
    if (s->status == MT_OK) {
        s->status = code;
        s->why = why;
    }
}

enum mt_status mt_sink_over_limit(uint64_t bytes, struct mt_error *err)
{
    mt_fail(err, MT_LIMIT, MT_NO_OFFSET, "the output would be larger than %s",
            mt_size_text(bytes, (struct mt_size_format){MT_UNIT_AUTO, false}).s);
    return mt_hint(err, "a small file can unfold to any size; raise the limit with "
                        "--max-output SIZE if you trust it");
}

enum mt_status mt_sink_finish(struct mt_sink *s, struct mt_error *err)
{
    if (s->status == MT_OK) {
        empty_buffer(s, Z_FINISH);
    }
    if (s->status == MT_LIMIT && !s->why) {
        return mt_sink_over_limit(s->limit, err);
    }
    if (s->status == MT_OUTPUT) {
        return mt_fail(err, MT_OUTPUT, MT_NO_OFFSET, "%s: %s", s->why, mt_stream_why(s->stream));
    }
    return s->status == MT_OK ? MT_OK : mt_fail(err, s->status, MT_NO_OFFSET, "%s", s->why);
}
