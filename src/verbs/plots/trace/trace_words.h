/* SPDX-License-Identifier: MIT */
/* What a timeline says in words, the same in every kind of picture. Input text in it is not made
 * safe here. */
#ifndef MEMTOOL_VERBS_PLOTS_TRACE_TRACE_WORDS_H
#define MEMTOOL_VERBS_PLOTS_TRACE_TRACE_WORDS_H

#include "draw/label.h"
#include "verbs/plots/plots.h"

/* "Memory over time", "Reserved memory over time". */
const char *mt_trace_title(const struct mt_trace_panel *p);

/* Whether a part is drawn: its most is no peak of the device. */
bool mt_trace_is_part(const struct mt_trace_panel *p);

/* "peak 1.93 GiB at event 22,797 (4.85 s) · reserved up to 1.97 GiB · 22,825 events in 4.90 s", or
 * why there is no peak to speak of. Of a part: "only --live · at most 65.00 MiB of it alive at
 * ...". */
void mt_trace_say_peak(struct mt_buf *b, const struct mt_trace_panel *p, struct mt_size_format f);

/* "more than was ever reserved: ..." where figures cannot be right; false, and nothing said, where
 * they can. */
bool mt_trace_say_doubt(struct mt_buf *b, const struct mt_trace_panel *p);

/* "Held at the peak", "Held then" of a part, "Alive all the time". */
const char *mt_trace_legend_title(const struct mt_trace_panel *p);

/* What memory does from step to step: "Grows by 62.50 MiB a step from train.py:58 forward · 24
 * steps"; false, and nothing said, where the trace does not tell. */
bool mt_trace_say_growth(struct mt_buf *b, const struct mt_plot_style *style,
                         const struct mt_trace_panel *p, struct mt_size_format f);

/* The last out-of-memory event; what was free in the cache then; who refused it. There must be one.
 */
void mt_trace_say_oom(struct mt_buf *b, const struct mt_trace_panel *p, struct mt_size_format f);
void mt_trace_say_why(struct mt_buf *b, const struct mt_trace_panel *p, struct mt_size_format f);
void mt_trace_say_refusal(struct mt_buf *b, const struct mt_trace_panel *p,
                          struct mt_size_format f);

/* "process limit (inferred): at least 1.97 GiB, below 2.07 GiB", "capacity (--capacity) 80.00 GiB",
 * and its bytes: of a limit the upper end, 0 when nothing is known. */
void mt_trace_say_capacity(struct mt_buf *b, const struct mt_trace_panel *p,
                           struct mt_size_format f);
uint64_t mt_trace_bound(const struct mt_trace_panel *p);

/* The largest free block that the request of an out-of-memory event could have been cut from, if it
 * had been large enough: of its stream and pool. */
uint64_t mt_oom_hole(const struct mt_state *st, const struct mt_event *oom);

/* "On the device: 1.29 GiB was free, so the device refused it", or a limit of the process. */
void mt_oom_say_refusal(struct mt_buf *b, const struct mt_snapshot *s, const struct mt_event *oom,
                        struct mt_size_format f);

/* Whether a band has a row in the legend. */
static inline bool mt_trace_has_row(const struct mt_timeline *t, const struct mt_timeline_band *b)
{
    return mt_timeline_has_row(t, b->at_peak, b->max);
}

/* A band's name in the legend. */
void mt_trace_label(struct mt_label *l, const struct mt_plot_style *style,
                    const struct mt_trace_panel *p, const struct mt_timeline_band *band);

/* The largest number of bytes that panels draw to scale: peaks, reserved memory, and capacities and
 * requests that are not out of all proportion. */
double mt_trace_scale(const struct mt_trace_panel *panels, size_t n);

/* What a timeline has at most: 64 stacks, the older and the others. */
#define MT_TRACE_BANDS 66

#endif
