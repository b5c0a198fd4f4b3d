/* SPDX-License-Identifier: MIT */
/*
 * Wrappers around a pickle or JSON text, each a byte source over the input below it: gzip (any
 * number of members), the zip that torch.save writes, and the page of PyTorch's trace_plot with the
 * pickle in base64. All of them stream, so they work on pipes and in bounded memory.
 *
 * The zip is walked entry by entry from the front, by local headers. The zip libraries want to seek
 * to the directory at the end, which a pipe cannot; torch.save puts data.pkl first, so nothing is
 * lost.
 */
#include <inttypes.h>
#include <string.h>

#include <zlib.h>

#include "snapshot/read/input.h"
#include "support/mem.h"
#include "support/str.h"

static enum mt_status below_failed(const struct mt_input *below, struct mt_error *err,
                                   const char *what)
{
    if (below->failure.code != MT_OK) {
        *err = below->failure;
        return err->code;
    }
    uint64_t at = mt_input_offset(below) + mt_input_left(below);
    return mt_fail(err, MT_FORMAT, at, "%s ends early at byte %" PRIu64 " of the file", what, at);
}

/* ---- deflate: gzip and compressed zip entries ---- */

struct inflate_source {
    struct mt_byte_source face;
    struct mt_input below;
    z_stream z;
    uint64_t packed, unpacked; /* bytes so far */
    bool members;              /* gzip: another member may follow */
    bool zip;                  /* an entry: `expected` is its checksum, or stands behind it */
    bool behind;
    uint32_t sum, expected;
    bool done;
    bool gives;             /* MT_DAMAGED_GIVE */
    struct mt_error damage; /* found behind what was given; code MT_OK: none */
};

static void inflate_close(struct mt_byte_source *self)
{
    struct inflate_source *s = (struct inflate_source *)self;
    inflateEnd(&s->z);
    mt_input_release(&s->below);
    mt_mem_free(s);
}

/* A gzip member ended: is there another one? Zeros and rubbish behind the last are ignored, as gzip
 * does. */
static bool next_member(struct inflate_source *s)
{
    if (!s->members || !mt_input_need(&s->below, 2) || s->below.at[0] != 0x1f ||
        s->below.at[1] != 0x8b) {
        return false;
    }
    return inflateReset(&s->z) == Z_OK;
}

static uint64_t le(const uint8_t *p, unsigned n)
{
    uint64_t v = 0;
    for (unsigned i = n; i-- > 0;) {
        v = v << 8 | p[i];
    }
    return v;
}

static enum mt_status wrong_sum(struct mt_error *err)
{
    return mt_fail(err, MT_FORMAT, MT_NO_OFFSET,
                   "damaged zip: the bytes of data.pkl do not give its checksum");
}

/* A descriptor behind an entry: a signature, which may be missing, and the checksum. */
enum { ZIP_DESCRIPTOR = 8 };
static bool is_descriptor_of(const uint8_t *p, uint32_t sum)
{
    return (uint32_t)le(memcmp(p, "PK\7\10", 4) == 0 ? p + 4 : p, 4) == sum;
}

/* The entry has ended, and `sum` is that of all of it. */
static enum mt_status prove_entry(struct inflate_source *s, struct mt_error *err)
{
    if (!s->behind) {
        return s->sum == s->expected ? MT_OK : wrong_sum(err);
    }
    if (!mt_input_need(&s->below, ZIP_DESCRIPTOR)) {
        return below_failed(&s->below, err, "the zip");
    }
    return is_descriptor_of(s->below.at, s->sum) ? MT_OK : wrong_sum(err);
}

static enum mt_status inflate_some(struct inflate_source *s, struct mt_error *err)
{
    if (!mt_input_need(&s->below, 1)) {
        return below_failed(&s->below, err, "the compressed data");
    }
    size_t left = mt_input_left(&s->below);
    s->z.next_in =
        (Bytef *)(uintptr_t)s->below.at; /* zlib's type is not const; it does not write */
    s->z.avail_in = (uInt)left;
    Bytef *from = s->z.next_out;
    int r = inflate(&s->z, Z_NO_FLUSH);
    if (s->zip) {
        s->sum = (uint32_t)crc32(s->sum, from, (uInt)(s->z.next_out - from));
    }
    s->below.at += left - s->z.avail_in;
    s->packed += left - s->z.avail_in;
    if (r == Z_STREAM_END) {
        s->done = !next_member(s);
        return s->zip ? prove_entry(s, err) : MT_OK;
    }
    if (r == Z_MEM_ERROR) {
        return mt_fail_nomem(err);
    }
    if (r != Z_OK && r != Z_BUF_ERROR) {
        uint64_t at = mt_input_offset(&s->below);
        return mt_fail(err, MT_FORMAT, at,
                       "damaged compressed data near byte %" PRIu64 " of the file: %s", at,
                       s->z.msg ? s->z.msg : "not deflate");
    }
    return MT_OK;
}

static enum mt_status refuse_bomb(struct mt_error *err)
{
    mt_fail(err, MT_LIMIT, MT_NO_OFFSET,
            "it unpacks to more than %d times its size; no snapshot does that", MT_BOMB_RATIO);
    return mt_hint(err, "if you trust it: gzip -dc FILE | memtool VERB --max-input SIZE -");
}

static enum mt_status inflate_read(struct mt_byte_source *self, uint8_t *p, size_t n, size_t *got,
                                   struct mt_error *err)
{
    struct inflate_source *s = (struct inflate_source *)self;
    uInt room = n < (1u << 30) ? (uInt)n : 1u << 30;
    s->z.next_out = p;
    s->z.avail_out = room;
    enum mt_status status = s->damage.code;
    while (status == MT_OK && s->z.avail_out == room && !s->done) {
        status = inflate_some(s, &s->damage);
    }
    if (status != MT_OK && (!s->gives || s->z.avail_out == room)) {
        *err = s->damage;
        return status;
    }
    *got = room - s->z.avail_out;
    s->unpacked += *got;
    return mt_is_bomb(s->packed, s->unpacked) ? refuse_bomb(err) : MT_OK;
}

static struct mt_byte_source *inflate_new(struct mt_input *below, int window_bits, bool members,
                                          struct mt_error *err)
{
    struct inflate_source *s = mt_mem_zalloc(1, sizeof *s);
    if (!s || inflateInit2(&s->z, window_bits) != Z_OK) {
        mt_mem_free(s);
        mt_input_release(below);
        mt_fail_nomem(err);
        return NULL;
    }
    s->face = (struct mt_byte_source){inflate_read, inflate_close, NULL};
    s->below = *below;
    s->members = members;
    *below = (struct mt_input){0};
    return &s->face;
}

struct mt_byte_source *mt_source_gzip(struct mt_input *below, enum mt_damaged damaged,
                                      struct mt_error *err)
{
    struct mt_byte_source *face = inflate_new(below, 15 + 16, true, err);
    if (face) {
        ((struct inflate_source *)face)->gives = damaged == MT_DAMAGED_GIVE;
    }
    return face;
}

/* ---- plain bytes: stored zip entries ---- */

struct stored_source {
    struct mt_byte_source face;
    struct mt_input below;
    uint64_t left; /* bytes */
    bool sized;    /* else `left` says nothing: the pickle knows its own end */
    uint32_t sum;  /* of what was given */
    uint32_t expected;
};

static void stored_close(struct mt_byte_source *self)
{
    struct stored_source *s = (struct stored_source *)self;
    mt_input_release(&s->below);
    mt_mem_free(s);
}

static enum mt_status stored_read(struct mt_byte_source *self, uint8_t *p, size_t n, size_t *got,
                                  struct mt_error *err)
{
    struct stored_source *s = (struct stored_source *)self;
    *got = 0;
    if (s->sized && s->left == 0) {
        return s->sum == s->expected ? MT_OK : wrong_sum(err);
    }
    if (!mt_input_need(&s->below, 1)) {
        return !s->sized && s->below.failure.code == MT_OK
                   ? MT_OK
                   : below_failed(&s->below, err, "the zip entry");
    }
    size_t take = mt_input_left(&s->below);
    take = take < n ? take : n;
    take = s->sized && take > s->left ? (size_t)s->left : take;
    memcpy(p, s->below.at, take);
    s->below.at += take;
    s->left -= s->sized ? take : 0;
    s->sum = (uint32_t)crc32_z(s->sum, p, take);
    *got = take;
    return MT_OK;
}

/* Of an entry without a size: the sum of what was given is that of the pickle, which stands behind
 * it, and of what `in` has not taken yet. */
static enum mt_status stored_prove(struct mt_byte_source *self, struct mt_input *in,
                                   struct mt_error *err)
{
    struct stored_source *s = (struct stored_source *)self;
    if (!mt_input_need(in, ZIP_DESCRIPTOR)) {
        return below_failed(in, err, "the zip");
    }
    size_t n = mt_input_left(in);
    uint32_t rest = (uint32_t)crc32_z(0, in->at, n);
    const uint8_t *p = memcmp(in->at, "PK\7\10", 4) == 0 ? in->at + 4 : in->at;
    uint32_t all = (uint32_t)crc32_combine((uLong)le(p, 4), rest, (z_off_t)n);
    return all == s->sum ? MT_OK : wrong_sum(err);
}

/* ---- zip ---- */

enum { ZIP_HEADER = 30, ZIP_STORED = 0, ZIP_DEFLATED = 8, ZIP_ZIP64 = 1 };
enum { ZIP_ENCRYPTED = 1, ZIP_SIZES_BEHIND = 8 }; /* flags */

struct zip_entry {
    uint64_t at; /* offset of its header */
    unsigned flags, method;
    uint64_t packed; /* bytes */
    bool sized;      /* else `packed` says nothing */
    uint32_t sum;    /* CRC-32 of the unpacked bytes, unless ZIP_SIZES_BEHIND */
    bool is_pickle;  /* its name ends in data.pkl */
};

/*
 * The packed size from the zip64 record (PKWARE's APPNOTE.TXT 6.3.10, 4.5.3): unpacked and packed
 * size in this order, each only where the header's own has all bits set. The same paragraph wants
 * both in a local header, so a record that has room for both has both. False: no such record, or
 * one that is too short.
 */
static bool zip64_packed(const uint8_t *extra, size_t n, bool unpacked_too, uint64_t *packed)
{
    size_t i = 0;
    while (n - i >= 4) {
        size_t size = (size_t)le(extra + i + 2, 2);
        if (size > n - i - 4) {
            return false;
        }
        if (le(extra + i, 2) == ZIP_ZIP64) {
            size_t before = unpacked_too || size >= 16 ? 8 : 0;
            if (size < before + 8) {
                return false;
            }
            *packed = le(extra + i + 4 + before, 8);
            return true;
        }
        i += 4 + size;
    }
    return false;
}

/* The entry of a whole local header at p. */
static void zip_entry_of(struct zip_entry *e, const uint8_t *p, size_t name, size_t extra)
{
    struct mt_str n = {(const char *)p + ZIP_HEADER, name};
    e->flags = (unsigned)le(p + 6, 2);
    e->method = (unsigned)le(p + 8, 2);
    e->sum = (uint32_t)le(p + 14, 4);
    e->packed = le(p + 18, 4);
    e->sized = !(e->flags & ZIP_SIZES_BEHIND);
    if (e->sized && e->packed == UINT32_MAX) {
        e->sized =
            zip64_packed(p + ZIP_HEADER + name, extra, le(p + 22, 4) == UINT32_MAX, &e->packed);
    }
    e->is_pickle = mt_str_equal(mt_str_basename(n), MT_STR("data.pkl"));
}

/* Reads a local header, where there is one, and stands behind it. */
static enum mt_status zip_header(struct mt_input *in, struct zip_entry *e, bool *found,
                                 struct mt_error *err)
{
    *found = mt_input_need(in, 4) && memcmp(in->at, "PK\3\4", 4) == 0;
    if (!*found) {
        *err = in->failure; /* of what lies below, if it has one */
        return err->code;
    }
    e->at = mt_input_offset(in);
    if (!mt_input_need(in, ZIP_HEADER)) {
        return below_failed(in, err, "the zip's entry");
    }
    size_t name = (size_t)le(in->at + 26, 2);
    size_t extra = (size_t)le(in->at + 28, 2);
    if (!mt_input_need(in, ZIP_HEADER + name + extra)) {
        return below_failed(in, err, "the zip's entry");
    }
    zip_entry_of(e, in->at, name, extra);
    in->at += ZIP_HEADER + name + extra;
    return MT_OK;
}

static enum mt_status no_pickle(struct mt_error *err)
{
    mt_fail(err, MT_FORMAT, MT_NO_OFFSET,
            "not a memory snapshot (a zip without a readable data.pkl)");
    return mt_hint(err, "unpack it, and give memtool the snapshot inside");
}

/* Stands behind an entry that is not the pickle. */
static enum mt_status zip_skip(struct mt_input *in, const struct zip_entry *e, struct mt_error *err)
{
    if (!e->sized && e->flags & ZIP_SIZES_BEHIND) {
        return no_pickle(err);
    }
    if (!e->sized) {
        return mt_fail(err, MT_FORMAT, e->at,
                       "damaged zip: no zip64 record has the size of the entry at byte %" PRIu64,
                       e->at);
    }
    for (uint64_t n = e->packed; n > 0;) {
        if (!mt_input_need(in, 1)) {
            return below_failed(in, err, "the zip");
        }
        uint64_t left = mt_input_left(in);
        uint64_t take = left < n ? left : n;
        in->at += take;
        n -= take;
    }
    return MT_OK;
}

/* The input is taken over. */
static struct mt_byte_source *zip_stored(struct mt_input *below, const struct zip_entry *e,
                                         struct mt_error *err)
{
    struct stored_source *s = mt_mem_alloc(1, sizeof *s);
    if (!s) {
        mt_input_release(below);
        mt_fail_nomem(err);
        return NULL;
    }
    *s = (struct stored_source){.face = {stored_read, stored_close, e->sized ? NULL : stored_prove},
                                .below = *below,
                                .left = e->packed,
                                .sized = e->sized,
                                .expected = e->sum};
    *below = (struct mt_input){0};
    return &s->face;
}

/* Stands behind the header of the first entry that is the pickle. */
static enum mt_status zip_find_pickle(struct mt_input *in, struct zip_entry *e,
                                      struct mt_error *err)
{
    bool found;
    MT_TRY(zip_header(in, e, &found, err));
    while (found && !e->is_pickle) {
        MT_TRY(zip_skip(in, e, err));
        MT_TRY(zip_header(in, e, &found, err));
    }
    bool readable = found && !(e->flags & ZIP_ENCRYPTED) &&
                    (e->method == ZIP_STORED || e->method == ZIP_DEFLATED);
    return readable ? MT_OK : no_pickle(err);
}

struct mt_byte_source *mt_source_zip(struct mt_input *below, struct mt_error *err)
{
    struct zip_entry e;
    if (zip_find_pickle(below, &e, err) != MT_OK) {
        mt_input_release(below);
        return NULL;
    }
    if (e.method == ZIP_STORED) {
        return zip_stored(below, &e, err);
    }
    struct mt_byte_source *face = inflate_new(below, -15, false, err);
    if (face) {
        struct inflate_source *s = (struct inflate_source *)face;
        s->zip = true;
        s->gives = true; /* who reads to the end meets the wrong sum */
        s->behind = e.flags & ZIP_SIZES_BEHIND;
        s->expected = e.sum;
    }
    return face;
}

/* ---- HTML ---- */

/*
 * The page holds the pickle as one base64 string literal. It is found by its length: the first run
 * of more than MIN_RUN base64 characters behind a quote. Padding with NULs is the writer's habit.
 */
enum { MIN_RUN = 64 };

struct base64_source {
    struct mt_byte_source face;
    struct mt_input below;
    uint32_t bits;
    unsigned n_bits;
    bool done;
};

static int base64_value(uint8_t c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

static void base64_close(struct mt_byte_source *self)
{
    struct base64_source *s = (struct base64_source *)self;
    mt_input_release(&s->below);
    mt_mem_free(s);
}

static enum mt_status base64_read(struct mt_byte_source *self, uint8_t *p, size_t n, size_t *got,
                                  struct mt_error *err)
{
    struct base64_source *s = (struct base64_source *)self;
    *got = 0;
    while (*got < n && !s->done) {
        if (!mt_input_need(&s->below, 1)) {
            return below_failed(&s->below, err, "the page");
        }
        int v = base64_value(*s->below.at);
        if (v < 0) {
            s->done = true;
            break;
        }
        s->below.at++;
        s->bits = s->bits << 6 | (uint32_t)v;
        s->n_bits += 6;
        if (s->n_bits >= 8) {
            s->n_bits -= 8;
            p[(*got)++] = (uint8_t)(s->bits >> s->n_bits);
        }
    }
    return MT_OK;
}

/* Stands at the first character of the literal. */
static bool find_base64(struct mt_input *in)
{
    while (mt_input_need(in, MIN_RUN + 1)) {
        const uint8_t *quote = memchr(in->at, '"', mt_input_left(in) - MIN_RUN);
        if (!quote) {
            in->at = in->end - MIN_RUN;
            continue;
        }
        in->at = quote + 1;
        unsigned run = 0;
        while (run < MIN_RUN && base64_value(in->at[run]) >= 0) {
            run++;
        }
        if (run == MIN_RUN) {
            return true;
        }
    }
    return false;
}

struct mt_byte_source *mt_source_html(struct mt_input *below, struct mt_error *err)
{
    struct base64_source *s = NULL;
    if (!find_base64(below)) {
        if (below->failure.code != MT_OK) {
            *err = below->failure;
        } else {
            mt_fail(err, MT_FORMAT, MT_NO_OFFSET,
                    "not a memory snapshot (HTML without a snapshot in it)");
            mt_hint(err,
                    "PyTorch's own pages carry their snapshot and are read as they are; a page "
                    "that memtool made holds none: give the file it was made from");
        }
    } else if (!(s = mt_mem_zalloc(1, sizeof *s))) {
        mt_fail_nomem(err);
    }
    if (!s) {
        mt_input_release(below);
        return NULL;
    }
    s->face = (struct mt_byte_source){base64_read, base64_close, NULL};
    s->below = *below;
    *below = (struct mt_input){0};
    return &s->face;
}
