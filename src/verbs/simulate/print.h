/* SPDX-License-Identifier: MIT */
/* simulate as text, JSON and CSV. */
#ifndef MEMTOOL_VERBS_SIMULATE_PRINT_H
#define MEMTOOL_VERBS_SIMULATE_PRINT_H

#include "print/report.h"
#include "verbs/simulate/simulate.h"

/* The runs of one device, the recorded one first; all borrowed. */
struct mt_sim_result {
    int32_t device;
    const struct mt_sim *sim;
    const struct mt_sim_run *runs;
    size_t n_runs;
    const struct mt_packing *ideal;  /* of the recorded program, then of the edited one */
    const struct mt_sim_edit *edits; /* of the program, made before all runs but the first */
    size_t n_edits;
    size_t tried;         /* settings that a search went through; 0: none */
    bool tried_all;       /* all combinations of all values */
    bool chosen;          /* the settings were chosen by memtool, not by the user */
    const char *variable; /* that the recorded program reads its settings from */
    bool watched;         /* no allocator: the events are the driver's own */
};

/* Of a file without events: that, and what still can be asked. */
void mt_report_simulate_nothing(const struct mt_report *r, const struct mt_snapshot *s);

/* simulate/1: the runs of all devices. Errors: MT_NOMEM. */
enum mt_status mt_report_simulate_json(const struct mt_report *r, const struct mt_sim_result *v,
                                       size_t n, struct mt_error *err) MT_NODISCARD;
enum mt_status mt_report_simulate_text(const struct mt_report *r, const struct mt_sim_result *v,
                                       size_t n, struct mt_error *err) MT_NODISCARD;
/* One row a run. */
enum mt_status mt_report_simulate_csv(const struct mt_report *r, const struct mt_sim_result *v,
                                      size_t n, struct mt_error *err) MT_NODISCARD;

/* "recompute", "offload", "free-early", "scale", "drop": as the options are called. */
const char *mt_sim_edit_word(enum mt_sim_edit_kind kind);

/* Of the program that a run is of. */
static inline const struct mt_packing *mt_sim_ideal_of(const struct mt_sim_result *v,
                                                       const struct mt_sim_run *run)
{
    return &v->ideal[!run->recorded && v->n_edits > 0];
}

#endif
