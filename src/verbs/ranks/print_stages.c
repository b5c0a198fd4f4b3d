/* SPDX-License-Identifier: MIT */
/* The stages of a pipeline beside one another. */
#include <inttypes.h>

#include "verbs/ranks/print.h"

static void stage_row(struct mt_table *t, const struct mt_ranks_result *x, size_t i)
{
    const struct mt_rank_stage *stage = &x->stages.v[i];
    bool last = i + 1 == x->stages.n;
    mt_table_cell(t, "%" PRId64, stage->stage);
    mt_table_count(t, stage->ranks);
    if (stage->peak.n) {
        mt_table_size(t, stage->peak.min);
        mt_table_size(t, stage->peak.median);
        mt_table_size(t, stage->peak.max);
    } else {
        for (int k = 0; k < 3; k++) {
            mt_table_cell(t, "-");
        }
    }
    mt_table_cell_color(t, stage->odd ? MT_COLOR_BAD : MT_COLOR_NONE, "%s",
                        stage->odd ? "odd: more than the stage before it"
                        : last     ? "the last: output layer and loss"
                                   : "");
}

enum mt_status mt_report_stages(const struct mt_report *r, const struct mt_ranks_result *x,
                                struct mt_error *err)
{
    static const char *const TITLES[] = {"STAGE", "RANKS", "MIN", "MEDIAN", "MAX", ""};
    bool odd = false;
    if (!x->stages.n) {
        return MT_OK;
    }
    struct mt_table *t = mt_table_new();
    if (!t) {
        return mt_fail_nomem(err);
    }
    for (size_t i = 0; i < MT_COUNT(TITLES); i++) {
        mt_table_column(t, TITLES[i], TITLES[i][0] ? MT_RIGHT : MT_LEFT);
    }
    for (size_t i = 0; i < x->stages.n; i++) {
        stage_row(t, x, i);
        odd |= x->stages.v[i].odd;
    }
    fputc('\n', r->out);
    enum mt_status status = mt_table_print(t, r, 2, err);
    mt_table_free(t);
    if (status == MT_OK && odd) {
        mt_report_line(r, 2, "  Mostly memory falls from stage to stage, as later ones keep fewer");
        mt_report_line(r, 2, "  micro-batches. An odd stage may have more or larger layers.");
    }
    return status;
}
