/* SPDX-License-Identifier: MIT */
/* What the conditions and the sentences of rules.def share. */
#ifndef MEMTOOL_TRIAGE_RULES_RULES_PARTS_H
#define MEMTOOL_TRIAGE_RULES_RULES_PARTS_H

#include "support/checked.h"
#include "support/units.h"
#include "triage/rules/rules.h"

/* Every condition and sentence of the table. */
#define THRESHOLD(name, value, what)
#define RULE(id, verdict, confidence, role, holds, say)                                            \
    bool mt_when_##holds(const struct mt_facts *f);                                                \
    void mt_say_##say(const struct mt_facts *f, struct mt_buf *out);
#include "triage/rules/rules.def"
#undef THRESHOLD
#undef RULE

static inline bool known(const struct mt_facts *f, enum mt_oom_field a)
{
    return mt_facts_has(f, a);
}

static inline bool known2(const struct mt_facts *f, enum mt_oom_field a, enum mt_oom_field b)
{
    return known(f, a) && known(f, b);
}

/* Bytes of all processes that the message lists. */
static inline uint64_t listed(const struct mt_facts *f)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < f->incident->n_processes; i++) {
        sum = mt_add_sat(sum, f->incident->processes[i].bytes);
    }
    return sum;
}

#endif
