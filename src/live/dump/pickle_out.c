/* SPDX-License-Identifier: MIT */
/* The dozen opcodes of pickle protocol 4 that a snapshot needs; see memtool-snapshot(5). */
#include "live/dump/pickle_out.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum opcode {
    OP_MARK = '(',
    OP_STOP = '.',
    OP_BININT = 'J',
    OP_BININT1 = 'K',
    OP_BININT2 = 'M',
    OP_LONG1 = 0x8a,
    OP_BINFLOAT = 'G',
    OP_TRUE = 0x88,
    OP_FALSE = 0x89,
    OP_SHORT_UNICODE = 0x8c,
    OP_UNICODE = 'X',
    OP_EMPTY_DICT = '}',
    OP_SETITEMS = 'u',
    OP_EMPTY_LIST = ']',
    OP_APPENDS = 'e',
    OP_TUPLE2 = 0x86,
    OP_MEMOIZE = 0x94,
    OP_BINGET = 'h',
    OP_LONG_BINGET = 'j',
    OP_PROTO = 0x80
};

static void write_out(struct mt_pickle_out *o, const unsigned char *p, size_t n)
{
    while (n > 0 && !o->error) {
        ssize_t written = write(o->fd, p, n);
        if (written > 0) {
            p += written;
            n -= (size_t)written;
        } else if (written == 0 || errno != EINTR) {
            o->error = written == 0 ? EIO : errno;
        }
    }
}

static void flush(struct mt_pickle_out *o)
{
    write_out(o, o->buffer, o->n);
    o->n = 0;
}

/* Room for n bytes, n small. */
static unsigned char *room(struct mt_pickle_out *o, size_t n)
{
    if (o->n > sizeof o->buffer - n) {
        flush(o);
    }
    unsigned char *p = o->buffer + o->n;
    o->n += n;
    return p;
}

static void op(struct mt_pickle_out *o, enum opcode code)
{
    *room(o, 1) = (unsigned char)code;
}

static void little_endian(unsigned char *p, uint64_t v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        p[i] = (unsigned char)(v >> (8 * i));
    }
}

static void op_with(struct mt_pickle_out *o, enum opcode code, uint64_t v, size_t n)
{
    unsigned char *p = room(o, 1 + n);
    p[0] = (unsigned char)code;
    little_endian(p + 1, v, n);
}

void mt_pickle_begin(struct mt_pickle_out *o, int fd)
{
    o->fd = fd;
    o->error = 0;
    o->memo = 0;
    o->n = 0;
    op_with(o, OP_PROTO, 4, 1);
}

bool mt_pickle_end(struct mt_pickle_out *o)
{
    op(o, OP_STOP);
    flush(o);
    return o->error == 0;
}

void mt_pickle_uint(struct mt_pickle_out *o, uint64_t v)
{
    if (v <= 0xff) {
        op_with(o, OP_BININT1, v, 1);
    } else if (v <= 0xffff) {
        op_with(o, OP_BININT2, v, 2);
    } else if (v <= 0x7fffffff) {
        op_with(o, OP_BININT, v, 4);
    } else {
        size_t n = 4; /* as few bytes as hold it with a sign bit of 0 */
        while (n < 8 && v >> (8 * n - 1) != 0) {
            n++;
        }
        unsigned char *p = room(o, 11);
        size_t all = v >> 63 ? 9 : n;
        p[0] = OP_LONG1;
        p[1] = (unsigned char)all;
        little_endian(p + 2, v, 8);
        p[10] = 0;
        o->n -= 9 - all;
    }
}

void mt_pickle_int(struct mt_pickle_out *o, int64_t v)
{
    if (v >= 0) {
        mt_pickle_uint(o, (uint64_t)v);
    } else if (v >= INT32_MIN) {
        op_with(o, OP_BININT, (uint64_t)v, 4);
    } else {
        unsigned char *p = room(o, 10);
        p[0] = OP_LONG1;
        p[1] = 8;
        little_endian(p + 2, (uint64_t)v, 8);
    }
}

void mt_pickle_bool(struct mt_pickle_out *o, bool v)
{
    op(o, v ? OP_TRUE : OP_FALSE);
}

void mt_pickle_double(struct mt_pickle_out *o, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    unsigned char *p = room(o, 9);
    p[0] = OP_BINFLOAT;
    for (size_t i = 0; i < 8; i++) {
        p[1 + i] = (unsigned char)(bits >> (56 - 8 * i));
    }
}

void mt_pickle_str(struct mt_pickle_out *o, struct mt_str s)
{
    size_t n = s.n < UINT32_MAX ? s.n : UINT32_MAX;
    if (n <= 0xff) {
        op_with(o, OP_SHORT_UNICODE, n, 1);
    } else {
        op_with(o, OP_UNICODE, n, 4);
    }
    if (n <= 4096) {
        memcpy(room(o, n), s.p, n);
    } else {
        flush(o);
        write_out(o, (const unsigned char *)s.p, n);
    }
}

void mt_pickle_dict(struct mt_pickle_out *o)
{
    op(o, OP_EMPTY_DICT);
    op(o, OP_MARK);
}

void mt_pickle_dict_end(struct mt_pickle_out *o)
{
    op(o, OP_SETITEMS);
}

void mt_pickle_list(struct mt_pickle_out *o)
{
    op(o, OP_EMPTY_LIST);
    op(o, OP_MARK);
}

void mt_pickle_list_end(struct mt_pickle_out *o)
{
    op(o, OP_APPENDS);
}

void mt_pickle_pair(struct mt_pickle_out *o)
{
    op(o, OP_TUPLE2);
}

uint32_t mt_pickle_remember(struct mt_pickle_out *o)
{
    op(o, OP_MEMOIZE);
    return o->memo++;
}

void mt_pickle_get(struct mt_pickle_out *o, uint32_t number)
{
    if (number <= 0xff) {
        op_with(o, OP_BINGET, number, 1);
    } else {
        op_with(o, OP_LONG_BINGET, number, 4);
    }
}
