/* SPDX-License-Identifier: MIT */
#include "snapshot/write/sink.h"

#include "snapshot/model/model.h"
#include "support/checked.h"
#include "support/units.h"

enum { TIMES = 256 };
static const uint64_t LEAST = 256 * MT_MIB;

uint64_t mt_max_output(uint64_t asked, const struct mt_snapshot *s)
{
    uint64_t bytes;
    if (asked != MT_MAX_OUTPUT_AUTO) {
        return asked;
    }
    if (mt_mul_overflow(s->source.bytes, TIMES, &bytes)) {
        return 0;
    }
    return bytes < LEAST ? LEAST : bytes;
}
