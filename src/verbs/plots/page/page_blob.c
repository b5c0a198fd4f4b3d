/* SPDX-License-Identifier: MIT */
/* Shuffle, deflate, base64; the viewer's columns.js is the way back. */
#include "verbs/plots/page/page_blob.h"

#include <stdbool.h>
#include <stdint.h>

#include <zlib.h>

#include "support/mem.h"

enum { CHUNK = 3 * 16384 };

struct blob {
    z_stream z;
    FILE *out;
    unsigned char deflated[CHUNK];
    struct mt_error *err;
};

static void base64_triple(const unsigned char *p, size_t n, char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = (uint32_t)p[0] << 16 | (n > 1 ? (uint32_t)p[1] << 8 : 0) | (n > 2 ? p[2] : 0u);
    for (int i = 0; i < 4; i++) {
        text[i] = (size_t)i <= n ? digits[bits >> (18 - 6 * i) & 63] : '=';
    }
}

static enum mt_status put_base64(struct blob *b, size_t n)
{
    enum { TRIPLES = 1024 };
    for (size_t i = 0; i < n;) {
        char text[4 * TRIPLES];
        size_t filled = 0;
        for (; i < n && filled < sizeof text; i += 3, filled += 4) {
            base64_triple(b->deflated + i, n - i < 3 ? n - i : 3, text + filled);
        }
        if (fwrite(text, 1, filled, b->out) != filled) {
            return mt_fail(b->err, MT_OUTPUT, MT_NO_OFFSET, "cannot write the page: %s",
                           mt_stream_why(b->out));
        }
    }
    return MT_OK;
}

/* Deflates what z.next_in holds; full chunks are multiples of three, so base64 needs no padding
 * inside. */
static enum mt_status deflate_some(struct blob *b, int flush)
{
    for (;;) {
        int r = deflate(&b->z, flush);
        bool done = flush == Z_FINISH ? r == Z_STREAM_END : b->z.avail_in == 0;
        if (b->z.avail_out == 0 || (done && flush == Z_FINISH)) {
            MT_TRY(put_base64(b, CHUNK - b->z.avail_out));
            b->z.next_out = b->deflated;
            b->z.avail_out = CHUNK;
        }
        if (done) {
            return MT_OK;
        }
    }
}

static enum mt_status put_planes(struct blob *b, const unsigned char *items, size_t n, size_t width)
{
    enum { SLICE = 65536 };
    unsigned char *plane = mt_mem_alloc(SLICE, 1);
    if (!plane) {
        return mt_fail_nomem(b->err);
    }
    enum mt_status status = MT_OK;
    for (size_t byte = 0; byte < width && status == MT_OK; byte++) {
        for (size_t at = 0; at < n && status == MT_OK; at += SLICE) {
            size_t take = n - at < SLICE ? n - at : SLICE;
            for (size_t i = 0; i < take; i++) {
                plane[i] = items[(at + i) * width + byte];
            }
            b->z.next_in = plane;
            b->z.avail_in = (uInt)take;
            status = deflate_some(b, Z_NO_FLUSH);
        }
    }
    if (status == MT_OK) {
        status = deflate_some(b, Z_FINISH);
    }
    mt_mem_free(plane);
    return status;
}

enum mt_status mt_page_blob(FILE *out, const char *id, const void *items, size_t n, size_t width,
                            struct mt_error *err)
{
    struct blob *b = mt_mem_zalloc(1, sizeof *b);
    if (!b || deflateInit(&b->z, 6) != Z_OK) {
        mt_mem_free(b);
        return mt_fail_nomem(err);
    }
    b->out = out;
    b->err = err;
    b->z.next_out = b->deflated;
    b->z.avail_out = CHUNK;
    fprintf(out, "<script type=\"application/octet-stream\" id=\"%s\" data-width=\"%zu\">", id,
            width);
    enum mt_status status = put_planes(b, items, n, width);
    fputs("</script>\n", out);
    deflateEnd(&b->z);
    mt_mem_free(b);
    return status;
}

enum mt_status mt_page_file_blob(FILE *out, const char *name, size_t file, const void *items,
                                 size_t n, size_t width, struct mt_error *err)
{
    char id[48];
    if (file == 0) {
        return mt_page_blob(out, name, items, n, width, err);
    }
    snprintf(id, sizeof id, "%s%zu", name, file);
    return mt_page_blob(out, id, items, n, width, err);
}
