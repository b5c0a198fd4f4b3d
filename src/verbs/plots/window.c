/* SPDX-License-Identifier: MIT */
/* The events that --events and --time leave. */
#include "verbs/plots/plots.h"

static int64_t add_clamped(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (b > 0 ? INT64_MAX : INT64_MIN) : sum;
}

void mt_plot_window(const struct mt_filter *f, const struct mt_replay *r, size_t *first,
                    size_t *last)
{
    *first = f->event_min > r->n ? r->n : (size_t)f->event_min;
    *last = f->event_max > r->n ? r->n : (size_t)f->event_max;
    if (!f->has_time || r->n == 0) {
        return;
    }
    int64_t base = f->time_is_absolute ? 0 : r->events[0].time_us;
    size_t lo = mt_timeline_event_at(r, add_clamped(base, f->time_min_us));
    int64_t end = add_clamped(add_clamped(base, f->time_max_us), 1);
    size_t hi = mt_timeline_event_at(r, end);
    *first = lo > *first ? lo : *first;
    *last = hi < *last ? hi : *last;
}
