/* SPDX-License-Identifier: MIT */
/*
 * Pickle protocols 0 to 5. A loop over opcodes that drives the machine; operands of fixed size are
 * decoded before the check that they were there, which is safe because the window is followed by
 * MT_INPUT_PAD zero bytes. The loop keeps at least a whole opcode with its operand in the window.
 *
 * The order of the switch does not matter (the compiler makes a table); what matters is that the
 * opcodes of which a trace consists rarely come here: pickle_trace_ops.c reads them in a row.
 */
#include "snapshot/read/pickle_vm.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "support/bytes.h"

#include "snapshot/read/readers.h"

#define OP(code, name, operand, protocol) [code] = #name,
static const char *const NAMES[256] = {
#include "snapshot/read/pickle_ops.def"
};
#undef OP

enum operand {
    OPERAND_NONE,
    OPERAND_ONE,
    OPERAND_TWO,
    OPERAND_FOUR,
    OPERAND_EIGHT,
    OPERAND_COUNT1,
    OPERAND_COUNT4,
    OPERAND_COUNT8,
    OPERAND_LINE,
    OPERAND_LINES,
    OPERAND_REFUSED
};

/* Bytes behind the opcode that are always there (for counted operands, those of the count). */
static const uint8_t OPERAND_BYTES[] = {0, 1, 2, 4, 8, 1, 4, 8, 0, 0, 0};

#define OP(code, name, operand, protocol) [code] = OPERAND_##operand,
static const uint8_t OPERANDS[256] = {
#include "snapshot/read/pickle_ops.def"
};
#undef OP

enum { MAX_PROTOCOL = 5 };

static uint64_t little_endian(const uint8_t *p, unsigned n)
{
    uint64_t v = 0;
    for (unsigned i = n; i-- > 0;) {
        v = v << 8 | p[i];
    }
    return v;
}

const char *mt_pickle_op_name(uint8_t code)
{
    return NAMES[code] ? NAMES[code] : "?";
}

enum mt_status mt_pickle_ends_early(struct mt_pickle *k, uint8_t code, uint64_t need)
{
    char what[80];
    snprintf(what, sizeof what, "opcode %s at byte %" PRIu64 " needs %" PRIu64 " more byte%s",
             mt_pickle_op_name(code), k->m->offset, need, need == 1 ? "" : "s");
    return mt_input_ends(k->in, k->m, what);
}

/* ---- counted operands: strings, bytes, long integers ---- */

static enum mt_status counted(struct mt_pickle *k, uint8_t code, const uint8_t **p, size_t *n)
{
    uint64_t count = little_endian(k->in->at + 1, OPERAND_BYTES[OPERANDS[code]]);
    size_t head = 1u + OPERAND_BYTES[OPERANDS[code]];
    bool is_signed = code == MT_OP_LONG4 || code == MT_OP_BINSTRING;
    if (is_signed && count > INT32_MAX) {
        return mt_fail(k->m->err, MT_FORMAT, k->m->offset, "%s: negative length",
                       mt_pickle_op_name(code));
    }
    if (count > SIZE_MAX / 4 || !mt_input_need(k->in, head + (size_t)count)) {
        return mt_pickle_ends_early(k, code, head + count - mt_input_left(k->in));
    }
    *p = k->in->at + head;
    *n = (size_t)count;
    k->in->at += head + *n;
    return MT_OK;
}

static enum mt_status push_str(struct mt_pickle *k, uint8_t code)
{
    const uint8_t *p = NULL;
    size_t n = 0;
    MT_TRY(counted(k, code, &p, &n));
    return mt_machine_push_str(k->m, p, n);
}

static enum mt_status push_bytes(struct mt_pickle *k, uint8_t code)
{
    const uint8_t *p = NULL;
    size_t n = 0;
    MT_TRY(counted(k, code, &p, &n));
    return mt_machine_push_raw(k->m, p, n, true);
}

static enum mt_status push_long(struct mt_pickle *k, uint8_t code)
{
    const uint8_t *p = NULL;
    size_t n = 0;
    MT_TRY(counted(k, code, &p, &n));
    /* only the C++ writer pads integers to eight bytes */
    k->source->cpp_writer |= n == 8 && (p[6] & 0x80 ? p[7] == 0xff : p[7] == 0);
    return mt_push_long(k->m, p, n);
}

enum mt_status mt_pickle_refuse(struct mt_pickle *k, const char *name, struct mt_str module,
                                struct mt_str symbol)
{
    struct mt_buf text = {0};
    mt_buf_printf(&text, "%s", name);
    if (module.n) {
        mt_buf_printf(&text, " %.*s.%.*s", (int)(module.n < 60 ? module.n : 60), module.p,
                      (int)(symbol.n < 60 ? symbol.n : 60), symbol.p);
    }
    mt_fail(k->m->err, MT_UNSUPPORTED, k->m->offset,
            "the pickle would run code: opcode %s at byte %" PRIu64, text.p ? text.p : name,
            k->m->offset);
    mt_buf_release(&text);
    return mt_hint(k->m->err, "a memory snapshot holds data only; nothing of it was carried out");
}

/* ---- containers ---- */

static enum mt_status push_const(struct mt_pickle *k, enum mt_const c)
{
    return mt_machine_push(k->m, mt_word_make(MT_TAG_CONST, c));
}

/* LIST, DICT, FROZENSET: the container is made after its items. */
static enum mt_status wrap_items(struct mt_pickle *k, enum mt_tag fresh)
{
    struct mt_machine *m = k->m;
    size_t at = 0;
    MT_TRY(mt_machine_pop_mark(m, &at));
    MT_TRY(mt_machine_push(k->m, 0));
    memmove(m->stack.v + at + 1, m->stack.v + at, (m->stack.n - 1 - at) * sizeof(mt_word));
    m->stack.v[at] = mt_word_make(fresh, 0);
    return fresh == MT_TAG_FRESH_DICT ? mt_machine_set(m, at + 1, true)
                                      : mt_machine_append(m, at + 1);
}

static enum mt_status append_items(struct mt_pickle *k)
{
    size_t at = 0;
    MT_TRY(mt_machine_pop_mark(k->m, &at));
    return mt_machine_append(k->m, at);
}

static enum mt_status set_items(struct mt_pickle *k)
{
    size_t at = 0;
    MT_TRY(mt_machine_pop_mark(k->m, &at));
    return mt_machine_set(k->m, at, true);
}

static enum mt_status set_item(struct mt_pickle *k)
{
    size_t n = k->m->stack.n;
    return n < 2 ? mt_machine_pop(k->m) : mt_machine_set(k->m, n - 2, false);
}

static enum mt_status append_item(struct mt_pickle *k)
{
    size_t n = k->m->stack.n;
    return n < 1 ? mt_machine_pop(k->m) : mt_machine_append(k->m, n - 1);
}

static enum mt_status tuple_of(struct mt_pickle *k, size_t n)
{
    size_t have = k->m->stack.n;
    return have < n ? mt_machine_tuple(k->m, SIZE_MAX) : mt_machine_tuple(k->m, have - n);
}

static enum mt_status tuple_items(struct mt_pickle *k)
{
    size_t at = 0;
    MT_TRY(mt_machine_pop_mark(k->m, &at));
    return mt_machine_tuple(k->m, at);
}

static enum mt_status pop_mark(struct mt_pickle *k)
{
    size_t at = 0;
    MT_TRY(mt_machine_pop_mark(k->m, &at));
    k->m->stack.n = at;
    return MT_OK;
}

static enum mt_status pop(struct mt_pickle *k)
{
    bool at_mark = k->m->marks.n && k->m->stack.n == k->m->fence;
    return at_mark ? pop_mark(k) : mt_machine_pop(k->m);
}

static enum mt_status protocol(struct mt_pickle *k, uint8_t version)
{
    if (version > MAX_PROTOCOL) {
        return mt_fail(k->m->err, MT_UNSUPPORTED, k->m->offset,
                       "pickle protocol %u (0 to %d are known)", version, MAX_PROTOCOL);
    }
    k->source->protocol = version;
    return MT_OK;
}

static enum mt_status big_endian_float(struct mt_pickle *k, const uint8_t *p)
{
    uint64_t bits = 0;
    for (int i = 0; i < 8; i++) {
        bits = bits << 8 | p[i];
    }
    double x;
    memcpy(&x, &bits, sizeof x);
    return mt_machine_push_float(k->m, x);
}

/* ---- the loop ---- */

/* Opcodes without operand, with a fixed one, or with a line. `p` is the operand. */
static enum mt_status step(struct mt_pickle *k, uint8_t code, const uint8_t *p)
{
    struct mt_machine *m = k->m;
    switch (code) {
    case MT_OP_MARK: return mt_machine_mark(m);
    case MT_OP_BINGET: return mt_machine_get(m, p[0]);
    case MT_OP_LONG_BINGET: return mt_machine_get(m, mt_load32(p));
    case MT_OP_BININT: return mt_machine_push(k->m, mt_word_from_int((int32_t)mt_load32(p)));
    case MT_OP_BININT1: return mt_machine_push(k->m, mt_word_from_int(p[0]));
    case MT_OP_BININT2: return mt_machine_push(k->m, mt_word_from_int(mt_load16(p)));
    case MT_OP_MEMOIZE: return mt_machine_put(m, m->memo.packed.n);
    case MT_OP_EMPTY_DICT: return mt_machine_push(k->m, mt_word_make(MT_TAG_FRESH_DICT, 0));
    case MT_OP_SETITEMS: return set_items(k);
    case MT_OP_EMPTY_SET:
    case MT_OP_EMPTY_LIST: return mt_machine_push(k->m, mt_word_make(MT_TAG_FRESH_LIST, 0));
    case MT_OP_ADDITEMS:
    case MT_OP_APPENDS: return append_items(k);
    case MT_OP_APPEND: return append_item(k);
    case MT_OP_SETITEM: return set_item(k);
    case MT_OP_BINPUT: return mt_machine_put(m, p[0]);
    case MT_OP_LONG_BINPUT: return mt_machine_put(m, mt_load32(p));
    case MT_OP_NONE: return push_const(k, MT_CONST_NONE);
    case MT_OP_NEWTRUE: return push_const(k, MT_CONST_TRUE);
    case MT_OP_NEWFALSE: return push_const(k, MT_CONST_FALSE);
    case MT_OP_EMPTY_TUPLE: return tuple_of(k, 0);
    case MT_OP_TUPLE1: return tuple_of(k, 1);
    case MT_OP_TUPLE2: return tuple_of(k, 2);
    case MT_OP_TUPLE3: return tuple_of(k, 3);
    case MT_OP_TUPLE: return tuple_items(k);
    case MT_OP_FROZENSET:
    case MT_OP_LIST: return wrap_items(k, MT_TAG_FRESH_LIST);
    case MT_OP_DICT: return wrap_items(k, MT_TAG_FRESH_DICT);
    case MT_OP_BINFLOAT: return big_endian_float(k, p);
    case MT_OP_POP: return pop(k);
    case MT_OP_POP_MARK: return pop_mark(k);
    case MT_OP_DUP: return mt_machine_dup(m);
    case MT_OP_PROTO: return protocol(k, p[0]);
    case MT_OP_FRAME: return MT_OK; /* its length is a hint for readers that fetch ahead */
    case MT_OP_REDUCE: return mt_machine_identity(m);
    case MT_OP_STOP: k->stopped = true; return MT_OK;
    default:
        return mt_fail(m->err, MT_FORMAT, m->offset,
                       "unknown pickle opcode 0x%02x at byte %" PRIu64, code, m->offset);
    }
}

static enum mt_status variable_step(struct mt_pickle *k, uint8_t code)
{
    switch (code) {
    case MT_OP_SHORT_BINUNICODE:
    case MT_OP_BINUNICODE:
    case MT_OP_BINUNICODE8:
    case MT_OP_SHORT_BINSTRING:
    case MT_OP_BINSTRING: return push_str(k, code);
    case MT_OP_SHORT_BINBYTES:
    case MT_OP_BINBYTES:
    case MT_OP_BINBYTES8:
    case MT_OP_BYTEARRAY8: return push_bytes(k, code);
    case MT_OP_LONG1:
    case MT_OP_LONG4: return push_long(k, code);
    case MT_OP_GLOBAL: return mt_pickle_global(k);
    default:
        if (OPERANDS[code] == OPERAND_REFUSED) {
            return mt_pickle_refuse(k, mt_pickle_op_name(code), (struct mt_str){0},
                                    (struct mt_str){0});
        }
        return mt_pickle_line(k, code);
    }
}

static enum mt_status one_op(struct mt_pickle *k)
{
    struct mt_input *in = k->in;
    k->m->offset = mt_input_offset(in);
    if (MT_UNLIKELY(mt_input_left(in) < 10) && !mt_input_need(in, 10) && mt_input_left(in) == 0) {
        return mt_input_ends(in, k->m, "the STOP opcode is missing");
    }
    uint8_t code = in->at[0];
    uint8_t operand = OPERANDS[code];
    size_t size = 1u + OPERAND_BYTES[operand];
    if (MT_UNLIKELY(size > mt_input_left(in))) {
        return mt_pickle_ends_early(k, code, size - mt_input_left(in));
    }
    if (operand >= OPERAND_COUNT1) {
        return variable_step(k, code);
    }
    const uint8_t *p = in->at + 1;
    in->at += size;
    return step(k, code, p);
}

enum mt_status mt_pickle_read(struct mt_input *in, struct mt_machine *m, struct mt_source *source)
{
    struct mt_pickle k = {in, m, source, false};
    source->protocol = 0;
    while (!k.stopped) {
        if (MT_LIKELY(mt_input_left(in) >= MT_INPUT_PAD)) {
            mt_pickle_trace_ops(&k);
            if (MT_UNLIKELY(m->torn)) {
                return mt_fail_nomem(m->err);
            }
        }
        MT_TRY(one_op(&k));
    }
    if (m->marks.n || m->stack.n == 0) {
        return mt_fail(m->err, MT_FORMAT, m->offset, "the pickle stops with open containers");
    }
    m->stack.v[0] = m->stack.v[m->stack.n - 1];
    m->stack.n = 1;
    return MT_OK;
}
