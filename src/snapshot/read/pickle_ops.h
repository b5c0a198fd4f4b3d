/* SPDX-License-Identifier: MIT */
/* The opcodes of pickles by name, for those who read them and those who write them. */
#ifndef MEMTOOL_SNAPSHOT_READ_PICKLE_OPS_H
#define MEMTOOL_SNAPSHOT_READ_PICKLE_OPS_H

enum mt_pickle_op {
#define OP(code, name, operand, protocol) MT_OP_##name = code,
#include "snapshot/read/pickle_ops.def"
#undef OP
};

#endif
