/* SPDX-License-Identifier: MIT */
/*
 * Opcodes with lines of text for operands: all of protocol 0, and GLOBAL, which kept its lines
 * until protocol 3. A line may be longer than the window; its end is then searched for once more
 * in each byte that comes in, and in no byte twice.
 */
#include <stdlib.h>
#include <string.h>

#include "snapshot/read/pickle_vm.h"
#include "snapshot/read/readers.h"
#include "support/units.h"
#include "support/utf8.h"

enum { MAX_LINE = (int)MT_MIB };

static enum mt_status read_line(struct mt_pickle *k, uint8_t code, size_t from, const uint8_t **p,
                                size_t *n)
{
    size_t have = from;
    for (;;) {
        size_t left = mt_input_left(k->in);
        const uint8_t *newline = left > have ? memchr(k->in->at + have, '\n', left - have) : NULL;
        if (newline) {
            *p = k->in->at + from;
            *n = (size_t)(newline - *p);
            return MT_OK;
        }
        have = left;
        if (left > MAX_LINE) {
            return mt_fail(k->m->err, MT_LIMIT, k->m->offset, "%s: a line of over %d bytes",
                           mt_pickle_op_name(code), MAX_LINE);
        }
        if (!mt_input_need(k->in, left + 1)) {
            return mt_pickle_ends_early(k, code, 1);
        }
    }
}

static int hex_digits(const uint8_t *p, size_t n, uint32_t *out)
{
    *out = 0;
    for (size_t i = 0; i < n; i++) {
        int d = p[i] >= '0' && p[i] <= '9'   ? p[i] - '0'
                : p[i] >= 'a' && p[i] <= 'f' ? p[i] - 'a' + 10
                : p[i] >= 'A' && p[i] <= 'F' ? p[i] - 'A' + 10
                                             : -1;
        if (d < 0) {
            return -1;
        }
        *out = *out << 4 | (uint32_t)d;
    }
    return 0;
}

/* "raw-unicode-escape": Latin-1 bytes, and \uXXXX or \UXXXXXXXX for the rest. */
static enum mt_status push_raw_unicode(struct mt_pickle *k, const uint8_t *p, size_t n)
{
    struct mt_buf text = {0};
    for (size_t i = 0; i < n;) {
        uint32_t c;
        size_t digits = p[i] == '\\' && i + 1 < n ? (p[i + 1] == 'u'   ? 4
                                                     : p[i + 1] == 'U' ? 8
                                                                       : 0)
                                                  : 0;
        if (digits && n - i >= 2 + digits && hex_digits(p + i + 2, digits, &c) == 0 &&
            c <= 0x10ffff) {
            i += 2 + digits;
        } else {
            c = p[i++];
        }
        mt_utf8_add(&text, c);
    }
    struct mt_str s = mt_buf_view(&text);
    enum mt_status status =
        text.failed ? mt_fail_nomem(k->m->err) : mt_machine_push_str(k->m, s.p, s.n);
    mt_buf_release(&text);
    return status;
}

/* A quoted string of Python 2, its escapes left alone. */
static enum mt_status push_quoted(struct mt_pickle *k, const uint8_t *p, size_t n)
{
    if (n < 2 || (p[0] != '\'' && p[0] != '"') || p[n - 1] != p[0]) {
        return mt_fail(k->m->err, MT_FORMAT, k->m->offset, "STRING without quotes");
    }
    return mt_machine_push_str(k->m, p + 1, n - 2);
}

static enum mt_status push_int_line(struct mt_pickle *k, const uint8_t *p, size_t n)
{
    if (n == 2 && p[0] == '0' && (p[1] == '0' || p[1] == '1')) {
        mt_word w = mt_word_make(MT_TAG_CONST, p[1] == '1' ? MT_CONST_TRUE : MT_CONST_FALSE);
        return mt_machine_push(k->m, w);
    }
    n -= n && p[n - 1] == 'L';
    enum mt_status status = MT_OK;
    if (!mt_push_decimal(k->m, p, n, &status)) {
        return mt_fail(k->m->err, MT_FORMAT, k->m->offset, "an integer that is none");
    }
    return status;
}

static enum mt_status push_float_line(struct mt_pickle *k, const uint8_t *p, size_t n)
{
    char text[64];
    if (n == 0 || n >= sizeof text) {
        return mt_fail(k->m->err, MT_FORMAT, k->m->offset, "a number that is none");
    }
    memcpy(text, p, n);
    text[n] = '\0';
    char *end;
    double x = strtod(text, &end);
    if (end != text + n) {
        return mt_fail(k->m->err, MT_FORMAT, k->m->offset, "a number that is none");
    }
    return mt_machine_push_float(k->m, x);
}

static enum mt_status memo_line(struct mt_pickle *k, uint8_t code, const uint8_t *p, size_t n)
{
    uint64_t index;
    if (!mt_u64_parse((struct mt_str){(const char *)p, n}, &index)) {
        return mt_fail(k->m->err, MT_FORMAT, k->m->offset, "%s: a memo index that is no number",
                       mt_pickle_op_name(code));
    }
    return code == MT_OP_PUT ? mt_machine_put(k->m, index) : mt_machine_get(k->m, index);
}

enum mt_status mt_pickle_line(struct mt_pickle *k, uint8_t code)
{
    const uint8_t *p = NULL;
    size_t n = 0;
    MT_TRY(read_line(k, code, 1, &p, &n));
    k->in->at = p + n + 1;
    switch (code) {
    case MT_OP_INT:
    case MT_OP_LONG: return push_int_line(k, p, n);
    case MT_OP_FLOAT: return push_float_line(k, p, n);
    case MT_OP_UNICODE: return push_raw_unicode(k, p, n);
    case MT_OP_STRING: return push_quoted(k, p, n);
    default: return memo_line(k, code, p, n);
    }
}

/* GLOBAL names a function; one is let through, since it gives back what it is given. */
enum mt_status mt_pickle_global(struct mt_pickle *k)
{
    const uint8_t *module = NULL;
    const uint8_t *symbol = NULL;
    size_t module_n = 0;
    size_t symbol_n = 0;
    MT_TRY(read_line(k, MT_OP_GLOBAL, 1, &module, &module_n));
    MT_TRY(read_line(k, MT_OP_GLOBAL, module_n + 2, &symbol, &symbol_n));
    module = k->in->at + 1; /* the window may have moved */
    struct mt_str m = {(const char *)module, module_n};
    struct mt_str s = {(const char *)symbol, symbol_n};
    k->in->at = symbol + symbol_n + 1;
    if (!mt_str_equal(m, MT_STR("torch.jit._pickle")) ||
        !mt_str_equal(s, MT_STR("restore_type_tag"))) {
        return mt_pickle_refuse(k, "GLOBAL", m, s);
    }
    mt_word w = mt_word_make(MT_TAG_CONST, MT_CONST_IDENTITY);
    return mt_machine_push(k->m, w);
}
