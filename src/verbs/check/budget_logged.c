/* SPDX-License-Identifier: MIT */
/* Budgets of a run that is known by the figures that it printed. */
#include "heap/sums/course.h"
#include "heap/sums/logged.h"
#include "verbs/check/budget.h"

/* What PyTorch counts of each process and device; the worst of them is the run's. */
static void take_most(uint64_t *most, unsigned *missing, enum mt_budget_rule rule,
                      const struct mt_logged_value *v)
{
    uint64_t bytes = mt_logged_bytes(v);
    *missing |= v->present ? 0 : 1u << rule;
    *most = bytes > *most ? bytes : *most;
}

static void take_last(struct mt_budget_facts *out, const struct mt_logged_table *t)
{
    const struct mt_logged_value *requested = t->cells[MT_STAT_REQUESTED_BYTES][MT_SLOT_ALL];
    const struct mt_logged_value *reserved = t->cells[MT_STAT_RESERVED_BYTES][MT_SLOT_ALL];
    const struct mt_logged_value *allocated = t->cells[MT_STAT_ALLOCATED_BYTES][MT_SLOT_ALL];
    uint64_t live = mt_logged_bytes(&allocated[MT_STAT_COLUMN_CURRENT]);
    take_most(&out->peak, &out->missing, MT_BUDGET_MAX_PEAK, &requested[MT_STAT_COLUMN_PEAK]);
    take_most(&out->reserved, &out->missing, MT_BUDGET_MAX_RESERVED,
              &reserved[MT_STAT_COLUMN_PEAK]);
    out->allocated = live > out->allocated ? live : out->allocated;
    out->missing |= t->ooms.present ? 0 : 1u << MT_BUDGET_NO_OOM;
    out->ooms += t->ooms.present ? t->ooms.value : 0;
}

static enum mt_status take_growth(struct mt_budget_facts *out, const struct mt_logged *l,
                                  struct mt_error *err)
{
    static const enum mt_leak_verdict VERDICT[] = {[MT_COURSE_UNKNOWN] = MT_LEAK_UNKNOWN,
                                                   [MT_COURSE_NO_LEAK] = MT_LEAK_NO,
                                                   [MT_COURSE_LEAK] = MT_LEAK_YES};
    struct mt_courses all;
    enum mt_status status = mt_courses_find(&all, l, "", MT_LEAK_THRESHOLD, err);
    if (status == MT_OK && all.v.n) {
        out->leak = VERDICT[all.v.v[0].verdict];
        out->bytes_per_step = all.v.v[0].live_step;
        out->by_prints = !all.v.v[0].by_step;
    }
    mt_courses_release(&all);
    return status;
}

enum mt_status mt_budget_measure_logged(struct mt_budget_facts *out, const struct mt_logged *l,
                                        struct mt_error *err)
{
    *out = (struct mt_budget_facts){.missing = 1u << MT_BUDGET_MAX_FRAG};
    for (size_t i = 0; i < l->tables.n; i++) {
        if (mt_logged_is_last(l, i)) {
            take_last(out, &l->tables.v[i]);
        }
    }
    if (out->missing >> MT_BUDGET_MAX_PEAK & 1) {
        out->missing |= 1u << MT_BUDGET_MAX_GROWTH | 1u << MT_BUDGET_HISTORY;
    }
    return take_growth(out, l, err);
}
