/* SPDX-License-Identifier: MIT */
#include "verbs/steps/steps_words.h"
#include "print/labels.h"
#include "support/units.h"

void mt_steps_count(struct mt_buf *b, const struct mt_trace_steps *x)
{
    bool pass = x->periods.passes.n == 1 && x->rows.n == 1;
    mt_buf_text(b, pass ? "1 pass of the model"
                        : mt_counted_text(x->rows.n, mt_period_word(&x->periods)).s);
    if (x->whole && x->whole < x->rows.n) {
        mt_buf_printf(b, ", %s of them whole", mt_count_text(x->whole).s);
    }
}

void mt_steps_say_begin(struct mt_buf *b, const struct mt_report *r, const struct mt_snapshot *s,
                        const struct mt_trace_steps *x)
{
    struct mt_buf begin = {0};
    mt_period_begin_text(&begin, r, s, &x->periods);
    mt_buf_text(b, begin.n ? ", " : "");
    mt_buf_str(b, mt_buf_view(&begin));
    b->failed |= begin.failed;
    mt_buf_release(&begin);
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
    if (row->phases[MT_PHASE_EVALUATION].requests) {
        mt_sentence_add(b, "%sevaluation", b->n ? "; " : "");
    }
    if (row->warm_up) {
        mt_sentence_add(b, "%swarm-up", b->n ? "; " : "");
    }
    if (i >= x->whole && x->rows.n > 1) {
        mt_sentence_add(b, "%sto the end of the trace", b->n ? "; " : "");
    }
}
