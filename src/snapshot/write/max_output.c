/* SPDX-License-Identifier: MIT */
#include "snapshot/write/sink.h"

#include "snapshot/model/model.h"
#include "support/checked.h"
#include "support/mem.h"
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

static uint64_t stack_bytes(const struct mt_snapshot *s, const struct mt_stack *stack)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < stack->n; i++) {
        const struct mt_frame *f = &s->frames[s->stack_frames[stack->first + i]];
        bytes = mt_add_sat(bytes, mt_snapshot_str(s, f->name).n);
        bytes = mt_add_sat(bytes, mt_snapshot_str(s, f->filename).n);
    }
    return bytes;
}

bool mt_stacks_exceed(const struct mt_snapshot *s, const struct mt_event *events, size_t n,
                      uint64_t most)
{
    uint64_t *of = most ? mt_mem_alloc(s->n_stacks ? s->n_stacks : 1, sizeof *of) : NULL;
    uint64_t bytes = 0;
    if (!of) { /* the limit is met while it is written */
        return false;
    }
    for (size_t i = 0; i < s->n_stacks; i++) {
        of[i] = stack_bytes(s, &s->stacks[i]);
    }
    for (size_t i = 0; i < n && bytes <= most; i++) {
        bytes = mt_add_sat(bytes, of[events[i].stack]);
    }
    mt_mem_free(of);
    return bytes > most;
}
