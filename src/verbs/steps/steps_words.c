/* SPDX-License-Identifier: MIT */
#include "verbs/steps/steps_words.h"
#include "print/labels.h"
#include "support/units.h"

struct mt_size_text mt_steps_counted(const struct mt_trace_steps *x)
{
    bool pass = x->periods.passes.n == 1 && x->rows.n == 1;
    if (pass) {
        return (struct mt_size_text){"1 pass of the model"};
    }
    return mt_counted_text(x->rows.n, x->periods.may_be_layers ? "round" : "step");
}

void mt_steps_say_begin(struct mt_buf *b, const struct mt_report *r, const struct mt_snapshot *s,
                        const struct mt_trace_steps *x)
{
    const struct mt_periods *p = &x->periods;
    if (p->source == MT_PERIOD_OPTION) {
        mt_buf_text(b, ", as given with --period");
    } else if (p->name) {
        mt_buf_text(b, p->bounds.n > 1 ? ", each begins with " : ", it begins with ");
        mt_text_safe(b, mt_snapshot_str(s, p->name));
    } else if (p->bounds.n > 1) {
        mt_buf_text(b, ", each begins at ");
        mt_stack_label_long(b, s, p->stack, r);
    }
}

void mt_steps_note(struct mt_sentence *b, const struct mt_trace_steps *x, size_t i)
{
    static const char *const WORDS[] = {"peak", "requests", "driver calls", "time"};
    const struct mt_step_row *row = &x->rows.v[i];
    for (size_t k = 0; k < MT_COUNT(WORDS); k++) {
        if (row->odd & 1u << k) {
            mt_sentence_add(b, "%s%s", b->n ? ", " : "odd: ", WORDS[k]);
        }
    }
    if (row->warm_up) {
        mt_sentence_add(b, "%swarm-up", b->n ? "; " : "");
    }
    if (i >= x->whole && x->rows.n > 1) {
        mt_sentence_add(b, "%sto the end of the trace", b->n ? "; " : "");
    }
}
