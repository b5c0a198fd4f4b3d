/* SPDX-License-Identifier: MIT */
/*
 * A pickle being read, for the files that read its kinds of opcodes. Each function takes opcodes
 * off the input and drives the machine; those that fail say at which byte.
 */
#ifndef MEMTOOL_SNAPSHOT_READ_PICKLE_VM_H
#define MEMTOOL_SNAPSHOT_READ_PICKLE_VM_H

#include "snapshot/read/input.h"
#include "snapshot/read/pickle_ops.h"
#include "snapshot/read/read.h"
#include "snapshot/schema/machine.h"

struct mt_pickle {
    struct mt_input *in; /* at the opcode whose offset is m->offset, or behind its operand */
    struct mt_machine *m;
    struct mt_source *source;
    bool stopped; /* STOP was read */
};

/* "BINGET"; "?" for a byte that is no opcode. */
const char *mt_pickle_op_name(uint8_t code);

/* `need` bytes of the opcode's operand are missing: the source's failure, or MT_FORMAT. */
enum mt_status mt_pickle_ends_early(struct mt_pickle *k, uint8_t code, uint64_t need);

/* MT_UNSUPPORTED: opcode `name` would call module.symbol (empty: unnamed). */
enum mt_status mt_pickle_refuse(struct mt_pickle *k, const char *name, struct mt_str module,
                                struct mt_str symbol);

/* ---- pickle_lines.c ---- */

/* An opcode whose operand is one line of text. Errors: MT_FORMAT, MT_LIMIT, MT_NOMEM. */
enum mt_status mt_pickle_line(struct mt_pickle *k, uint8_t code) MT_NODISCARD;

/* GLOBAL, with two lines. Errors: MT_UNSUPPORTED for all functions but the one that gives back what
 * it is given, and those of mt_pickle_line. */
enum mt_status mt_pickle_global(struct mt_pickle *k) MT_NODISCARD;

/* ---- pickle_trace_ops.c ---- */

/* Reads opcodes of which a trace consists, as many as there are in a row and in the window, of
 * which at least MT_INPUT_PAD bytes are left. An opcode that it stops at has changed nothing. When
 * memory ran out in the middle of one, m->torn says so. */
void mt_pickle_trace_ops(struct mt_pickle *k);

#endif
