/* SPDX-License-Identifier: MIT */
/*
 * Of zlib only what writes the page: streams whose blocks are stored as they are, since they go no
 * further than the frame beside. What comes in is unpacked by the browser, so inflate refuses.
 */
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

struct internal_state {
    unsigned char pending[16]; /* headers on their way out */
    unsigned n, at;
    unsigned block; /* bytes of the block at hand that are still to come */
    uLong a, b;     /* of the checksum */
    int ended;
};

static void push(struct internal_state *s, unsigned byte)
{
    s->pending[s->n++] = (unsigned char)byte;
}

int deflateInit_(z_streamp z, int level, const char *version, int size)
{
    (void)level;
    (void)version;
    (void)size;
    z->state = calloc(1, sizeof *z->state);
    if (!z->state) {
        return Z_MEM_ERROR;
    }
    z->state->a = 1;
    push(z->state, 0x78);
    push(z->state, 0x01);
    return Z_OK;
}

int deflateInit2_(z_streamp z, int level, int method, int bits, int memory, int strategy,
                  const char *version, int size)
{
    (void)z;
    (void)level;
    (void)method;
    (void)bits;
    (void)memory;
    (void)strategy;
    (void)version;
    (void)size;
    return Z_STREAM_ERROR;
}

static void begin_block(struct internal_state *s, unsigned n, unsigned last)
{
    s->n = s->at = 0;
    s->block = n;
    push(s, last);
    push(s, n & 255);
    push(s, n >> 8);
    push(s, ~n & 255);
    push(s, ~n >> 8 & 255);
}

static void end(struct internal_state *s)
{
    begin_block(s, 0, 1);
    push(s, (unsigned)(s->b >> 8) & 255);
    push(s, (unsigned)s->b & 255);
    push(s, (unsigned)(s->a >> 8) & 255);
    push(s, (unsigned)s->a & 255);
    s->ended = 1;
}

static void copy(z_streamp z, struct internal_state *s)
{
    unsigned n = s->block < z->avail_out ? s->block : z->avail_out;
    memcpy(z->next_out, z->next_in, n);
    for (unsigned i = 0; i < n;) {
        unsigned until = n - i < 5552 ? n : i + 5552; /* so far the sums stay below 2^32 */
        for (; i < until; i++) {
            s->a += z->next_in[i];
            s->b += s->a;
        }
        s->a %= 65521;
        s->b %= 65521;
    }
    z->next_in += n;
    z->avail_in -= n;
    z->next_out += n;
    z->avail_out -= n;
    s->block -= n;
}

int deflate(z_streamp z, int flush)
{
    struct internal_state *s = z->state;
    while (z->avail_out > 0) {
        if (s->at < s->n) {
            *z->next_out++ = s->pending[s->at++];
            z->avail_out--;
        } else if (s->block > 0) {
            copy(z, s);
        } else if (z->avail_in > 0) {
            begin_block(s, z->avail_in < 65535 ? z->avail_in : 65535, 0);
        } else if (flush != Z_FINISH) {
            return Z_OK;
        } else if (s->ended) {
            return Z_STREAM_END;
        } else {
            end(s);
        }
    }
    return s->ended && s->at == s->n ? Z_STREAM_END : Z_OK;
}

int deflateEnd(z_streamp z)
{
    free(z->state);
    z->state = NULL;
    return Z_OK;
}

int inflateInit2_(z_streamp z, int bits, const char *version, int size)
{
    (void)z;
    (void)bits;
    (void)version;
    (void)size;
    return Z_STREAM_ERROR;
}

int inflate(z_streamp z, int flush)
{
    (void)z;
    (void)flush;
    return Z_STREAM_ERROR;
}

int inflateReset(z_streamp z)
{
    (void)z;
    return Z_STREAM_ERROR;
}

int inflateEnd(z_streamp z)
{
    (void)z;
    return Z_OK;
}
