/* SPDX-License-Identifier: MIT */
/*
 * Pickle, protocol 2 to 5, as CPython's pickler would write it: MARK ... SETITEMS and APPENDS in
 * batches of 1,000, containers memoized before their content, protocol 4 and 5 in frames of about
 * 64 KiB. Only what can be referred to again is memoized (strings, frames, stacks), which saves a
 * byte or more for every event and block and the reader a memo of millions of entries.
 *
 * The memo is three arrays by id, and one for the words of document.c, that hold the memo index
 * + 1.
 */
#include "snapshot/write/write.h"

#include <string.h>

#include "support/mem.h"
#include "support/utf8.h"
#include "support/vec.h"

#include "snapshot/write/document.h"
#include "snapshot/read/pickle_ops.h"
#include "snapshot/write/writers.h"

#define BATCH 1000
/* CPython's pickle: _FRAME_SIZE_TARGET and _FRAME_SIZE_MIN of Lib/pickle.py. */
#define FRAME_TARGET 65536
#define FRAME_MIN 4
/* More decimal digits than this are refused: the conversion takes time with their square. */
#define BIG_DIGITS_MAX 100000

/* A container that is being written. */
struct level {
    enum mt_document_kind kind;
    size_t n; /* items, or twice the pairs */
    size_t i; /* items written */
};

struct pickle {
    const struct mt_snapshot *s;
    struct mt_sink *sink;
    int protocol;
    struct mt_buf frame; /* of protocol 4 and 5: not yet written */
    MT_VEC(struct level) levels;
    uint32_t memo_n;
    uint32_t *words, *strings, *shared[2]; /* memo index + 1, 0 = not written yet */
    uint32_t *remember;                    /* slot of the next container, or NULL */
};

/* ---- bytes and frames ---- */

static void flush_frame(struct pickle *p)
{
    if (p->frame.failed) {
        mt_sink_fail(p->sink, MT_NOMEM, "out of memory");
    }
    if (p->frame.n >= FRAME_MIN) {
        unsigned char head[9] = {MT_OP_FRAME};
        for (size_t i = 0; i < 8; i++) {
            head[1 + i] = (unsigned char)((uint64_t)p->frame.n >> 8 * i);
        }
        mt_sink_write(p->sink, head, sizeof head);
    }
    mt_sink_str(p->sink, mt_buf_view(&p->frame));
    mt_buf_reset(&p->frame);
}

static void put(struct pickle *p, const void *bytes, size_t n)
{
    if (p->protocol < 4) {
        mt_sink_write(p->sink, bytes, n);
    } else {
        mt_buf_add(&p->frame, bytes, n);
    }
}

/* An opcode with `n` bytes of operand from the little-endian `operand`. A frame may only end
 * between opcodes, so this is where it does. */
static void put_op(struct pickle *p, int op, uint64_t operand, size_t n)
{
    if (p->frame.n >= FRAME_TARGET) {
        flush_frame(p);
    }
    unsigned char bytes[9] = {(unsigned char)op};
    for (size_t i = 0; i < n; i++) {
        bytes[1 + i] = (unsigned char)(operand >> 8 * i);
    }
    put(p, bytes, 1 + n);
}

/* Opcode and content; what is larger than a frame is written between frames. */
static void put_counted(struct pickle *p, int op, size_t length_bytes, struct mt_str content)
{
    if (p->protocol >= 4 && content.n >= FRAME_TARGET) {
        flush_frame(p);
        unsigned char head[9] = {(unsigned char)op};
        for (size_t i = 0; i < length_bytes; i++) {
            head[1 + i] = (unsigned char)((uint64_t)content.n >> 8 * i);
        }
        mt_sink_write(p->sink, head, 1 + length_bytes);
        mt_sink_str(p->sink, content);
        return;
    }
    put_op(p, op, content.n, length_bytes);
    put(p, content.p, content.n);
}

/* ---- batches: before and after every value ---- */

static size_t batch_length(const struct level *l)
{
    return l->kind == MT_DOCUMENT_DICT ? (size_t)2 * BATCH : BATCH;
}

static void before_value(struct pickle *p)
{
    if (p->levels.n == 0) {
        return;
    }
    const struct level *l = &p->levels.v[p->levels.n - 1];
    size_t single = l->kind == MT_DOCUMENT_DICT ? 2 : 1;
    if (l->kind == MT_DOCUMENT_TUPLE) {
        if (l->i == 0 && l->n > 3) {
            put_op(p, MT_OP_MARK, 0, 0);
        }
    } else if (l->i % batch_length(l) == 0 && l->n - l->i > single) {
        put_op(p, MT_OP_MARK, 0, 0);
    }
}

static void after_value(struct pickle *p)
{
    if (p->levels.n == 0) {
        return;
    }
    struct level *l = &p->levels.v[p->levels.n - 1];
    l->i++;
    if (l->kind == MT_DOCUMENT_TUPLE || (l->i < l->n && l->i % batch_length(l) != 0)) {
        return;
    }
    bool dict = l->kind == MT_DOCUMENT_DICT;
    bool alone = (l->i - 1) % batch_length(l) == (dict ? 1 : 0) && l->i == l->n;
    if (dict) {
        put_op(p, alone ? MT_OP_SETITEM : MT_OP_SETITEMS, 0, 0);
    } else {
        put_op(p, alone ? MT_OP_APPEND : MT_OP_APPENDS, 0, 0);
    }
}

/* ---- memo ---- */

static void memoize(struct pickle *p, uint32_t *slot)
{
    *slot = ++p->memo_n;
    uint32_t index = p->memo_n - 1;
    if (p->protocol >= 4) {
        put_op(p, MT_OP_MEMOIZE, 0, 0);
    } else if (index < 256) {
        put_op(p, MT_OP_BINPUT, index, 1);
    } else {
        put_op(p, MT_OP_LONG_BINPUT, index, 4);
    }
}

static bool refer_to(struct pickle *p, uint32_t slot)
{
    if (!slot) {
        return false;
    }
    before_value(p);
    if (slot - 1 < 256) {
        put_op(p, MT_OP_BINGET, slot - 1, 1);
    } else {
        put_op(p, MT_OP_LONG_BINGET, slot - 1, 4);
    }
    after_value(p);
    return true;
}

static bool pickle_refer(void *writer, enum mt_shared kind, uint32_t id)
{
    struct pickle *p = writer;
    return refer_to(p, p->shared[kind][id]);
}

static void pickle_remember(void *writer, enum mt_shared kind, uint32_t id)
{
    struct pickle *p = writer;
    p->remember = &p->shared[kind][id];
}

/* ---- scalars ---- */

static void put_simple(struct pickle *p, int op, uint64_t operand, size_t n)
{
    before_value(p);
    put_op(p, op, operand, n);
    after_value(p);
}

static void pickle_none(void *writer)
{
    put_simple(writer, MT_OP_NONE, 0, 0);
}

static void pickle_boolean(void *writer, bool b)
{
    put_simple(writer, b ? MT_OP_NEWTRUE : MT_OP_NEWFALSE, 0, 0);
}

/* Two's complement, little-endian, as few bytes as hold the sign too. */
static void put_long(struct pickle *p, const unsigned char *bytes, size_t n)
{
    while (n > 1 && ((bytes[n - 1] == 0 && bytes[n - 2] < 0x80) ||
                     (bytes[n - 1] == 0xff && bytes[n - 2] >= 0x80))) {
        n--;
    }
    before_value(p);
    put_counted(p, n < 256 ? MT_OP_LONG1 : MT_OP_LONG4, n < 256 ? 1 : 4,
                (struct mt_str){(const char *)bytes, n});
    after_value(p);
}

static void pickle_integer(void *writer, uint64_t magnitude, bool negative)
{
    struct pickle *p = writer;
    if (magnitude < 256 && !negative) {
        put_simple(p, MT_OP_BININT1, magnitude, 1);
    } else if (magnitude < 65536 && !negative) {
        put_simple(p, MT_OP_BININT2, magnitude, 2);
    } else if (magnitude <= (negative ? 0x80000000u : 0x7fffffffu)) {
        put_simple(p, MT_OP_BININT, negative ? 0 - magnitude : magnitude, 4);
    } else {
        uint64_t bits = negative ? 0 - magnitude : magnitude;
        unsigned char bytes[9];
        for (size_t i = 0; i < 8; i++) {
            bytes[i] = (unsigned char)(bits >> 8 * i);
        }
        bytes[8] = negative ? 0xff : 0;
        put_long(p, bytes, sizeof bytes);
    }
}

/* Decimal digits to little-endian bytes: multiply by 10^9 and add, limb by limb. */
static size_t decimal_to_limbs(const char *digits, size_t n, uint32_t *limbs)
{
    size_t used = 0;
    for (size_t at = 0; at < n;) {
        uint64_t carry = 0, scale = 1;
        for (size_t piece = (n - at) % 9 ? (n - at) % 9 : 9; piece > 0; piece--) {
            carry = carry * 10 + (uint64_t)(digits[at++] - '0');
            scale *= 10;
        }
        for (size_t i = 0; i < used; i++) {
            carry += limbs[i] * scale;
            limbs[i] = (uint32_t)carry;
            carry >>= 32;
        }
        if (carry) {
            limbs[used++] = (uint32_t)carry;
        }
    }
    return used;
}

static void put_big(struct pickle *p, struct mt_str digits, bool negative)
{
    size_t room = digits.n / 9 + 1;
    uint32_t *limbs = mt_mem_alloc(room, sizeof *limbs);
    unsigned char *bytes = mt_mem_alloc(4 * room + 1, 1);
    if (limbs && bytes) {
        size_t used = decimal_to_limbs(digits.p, digits.n, limbs);
        unsigned carry = 1;
        bytes[4 * used] = 0;
        for (size_t i = 0; i < 4 * used; i++) {
            bytes[i] = (unsigned char)(limbs[i / 4] >> 8 * (i % 4));
        }
        for (size_t i = 0; negative && i <= 4 * used; i++) {
            carry += (unsigned char)~bytes[i];
            bytes[i] = (unsigned char)carry;
            carry >>= 8;
        }
        put_long(p, bytes, 4 * used + 1);
    } else {
        mt_sink_fail(p->sink, MT_NOMEM, "out of memory");
    }
    mt_mem_free(limbs);
    mt_mem_free(bytes);
}

static void pickle_big(void *writer, struct mt_str digits)
{
    struct pickle *p = writer;
    bool negative = digits.n > 0 && digits.p[0] == '-';
    digits.p += negative;
    digits.n -= negative;
    if (digits.n > BIG_DIGITS_MAX) {
        mt_sink_fail(p->sink, MT_LIMIT, "an integer of more than 100,000 digits");
        return;
    }
    put_big(p, digits, negative);
}

static void pickle_real(void *writer, double x)
{
    uint64_t bits, operand = 0;
    memcpy(&bits, &x, sizeof bits);
    for (size_t i = 0; i < 8; i++) {
        operand |= (bits >> 8 * i & 0xff) << (56 - 8 * i); /* BINFLOAT is big-endian */
    }
    put_simple(writer, MT_OP_BINFLOAT, operand, 8);
}

static void put_unicode(struct pickle *p, struct mt_str text)
{
    if (p->protocol >= 4 && text.n < 256) {
        put_counted(p, MT_OP_SHORT_BINUNICODE, 1, text);
    } else if (text.n <= UINT32_MAX) {
        put_counted(p, MT_OP_BINUNICODE, 4, text);
    } else if (p->protocol >= 4) {
        put_counted(p, MT_OP_BINUNICODE8, 8, text);
    } else {
        mt_sink_fail(p->sink, MT_UNSUPPORTED, "a text beyond 4 GiB needs pickle protocol 4");
    }
}

/* Text with bytes that are no UTF-8, which Python would not load: as surrogates (utf8.h). */
static void put_escaped(struct pickle *p, struct mt_str text)
{
    struct mt_buf b = {0};
    while (text.n) {
        uint32_t code;
        size_t n = mt_utf8_decode_any(text, &code);
        mt_utf8_add(&b, code);
        text = (struct mt_str){text.p + n, text.n - n};
    }
    if (b.failed) {
        mt_sink_fail(p->sink, MT_NOMEM, "out of memory");
    } else {
        put_unicode(p, mt_buf_view(&b));
    }
    mt_buf_release(&b);
}

static void put_text(struct pickle *p, struct mt_str text, uint32_t *slot)
{
    if (refer_to(p, *slot)) {
        return;
    }
    before_value(p);
    if (mt_utf8_is_python(text)) {
        put_unicode(p, text);
    } else {
        put_escaped(p, text);
    }
    memoize(p, slot);
    after_value(p);
}

static void pickle_word(void *writer, size_t word)
{
    struct pickle *p = writer;
    put_text(p, mt_document_word(word), &p->words[word]);
}

static void pickle_string(void *writer, uint32_t id)
{
    struct pickle *p = writer;
    put_text(p, mt_snapshot_str(p->s, id), &p->strings[id]);
}

/* Protocol 2 has no bytes: Python writes a call there, which memtool never does. */
static void pickle_bytes(void *writer, uint32_t id)
{
    struct pickle *p = writer;
    struct mt_str content = mt_snapshot_str(p->s, id);
    if (p->protocol < 3 || content.n > UINT32_MAX) {
        mt_sink_fail(p->sink, MT_UNSUPPORTED, "raw bytes cannot be written in pickle protocol 2");
        return;
    }
    before_value(p);
    put_counted(p, content.n < 256 ? MT_OP_SHORT_BINBYTES : MT_OP_BINBYTES, content.n < 256 ? 1 : 4,
                content);
    after_value(p);
}

/* ---- containers ---- */

static void pickle_begin(void *writer, enum mt_document_kind c, size_t n, bool rows)
{
    struct pickle *p = writer;
    (void)rows;
    before_value(p);
    if (c != MT_DOCUMENT_TUPLE) {
        put_op(p, c == MT_DOCUMENT_LIST ? MT_OP_EMPTY_LIST : MT_OP_EMPTY_DICT, 0, 0);
        if (p->remember) {
            memoize(p, p->remember);
        }
    }
    p->remember = NULL;
    struct level l = {c, c == MT_DOCUMENT_DICT ? 2 * n : n, 0};
    if (!mt_vec_push(&p->levels, l)) {
        mt_sink_fail(p->sink, MT_NOMEM, "out of memory");
    }
}

static void pickle_end(void *writer)
{
    struct pickle *p = writer;
    if (p->levels.n == 0) {
        return; /* only after a failed begin */
    }
    struct level l = p->levels.v[--p->levels.n];
    if (l.kind == MT_DOCUMENT_TUPLE) {
        int op = l.n == 0   ? MT_OP_EMPTY_TUPLE
                 : l.n <= 3 ? MT_OP_TUPLE1 + (int)l.n - 1
                            : MT_OP_TUPLE;
        put_op(p, op, 0, 0);
    }
    after_value(p);
}

static const struct mt_document_ops pickle_ops = {
    pickle_none,   pickle_boolean, pickle_integer, pickle_big, pickle_real,  pickle_word,
    pickle_string, pickle_bytes,   pickle_begin,   pickle_end, pickle_refer, pickle_remember};

static bool make_memo(struct pickle *p)
{
    const struct mt_snapshot *s = p->s;
    p->words = mt_mem_zalloc(mt_document_n_words(), sizeof(uint32_t));
    p->strings = mt_mem_zalloc(s->n_strings, sizeof(uint32_t));
    p->shared[MT_SHARED_FRAME] = mt_mem_zalloc(s->n_frames, sizeof(uint32_t));
    p->shared[MT_SHARED_STACK] = mt_mem_zalloc(s->n_stacks, sizeof(uint32_t));
    return p->words && p->strings && p->shared[0] && p->shared[1];
}

void mt_pickle_write(const struct mt_snapshot *s, int protocol, struct mt_sink *sink)
{
    struct pickle p = {.s = s, .sink = sink, .protocol = protocol};
    if (make_memo(&p)) {
        const unsigned char head[2] = {MT_OP_PROTO, (unsigned char)protocol};
        mt_sink_write(sink, head, sizeof head);
        mt_document_walk(s, &pickle_ops, &p, sink);
        put_op(&p, MT_OP_STOP, 0, 0);
        flush_frame(&p);
    } else {
        mt_sink_fail(sink, MT_NOMEM, "out of memory");
    }
    mt_mem_free(p.words);
    mt_mem_free(p.strings);
    mt_mem_free(p.shared[0]);
    mt_mem_free(p.shared[1]);
    mt_vec_release(&p.levels);
    mt_buf_release(&p.frame);
}
