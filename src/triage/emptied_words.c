/* SPDX-License-Identifier: MIT */
/* A cache that is emptied in the loop costs time, whatever else is wrong. */
#include "triage/triage_state.h"

#include "support/units.h"

void mt_shot_say_driver(struct mt_triage *t, const struct mt_shot *shot)
{
    const struct mt_driver_price *x = &shot->driver;
    struct mt_buf place = {0};
    if (!mt_driver_price_in_loop(x)) {
        return;
    }
    if (x->emptied_stack) {
        mt_buf_text(&place, " at ");
        mt_shot_label(t, shot, x->emptied_stack, &place);
    }
    uint64_t us = mt_driver_price_us(x, 2 * x->regained);
    double share = shot->span_us > 0 ? 100.0 * (double)us / (double)shot->span_us : 0;
    char of_time[40] = "";
    if (share > 0 && share <= 100) {
        (void)snprintf(of_time, sizeof of_time, ", %.0f %% of the trace's time", share);
    }
    t->no_memory |= place.failed;
    mt_evidence_add(t,
                    "Snapshot: the cache is emptied in the loop%s: %s went back to the driver and "
                    "came again, about %s%s.",
                    mt_buf_view(&place).p, mt_counted_text(x->regained, "segment").s,
                    mt_duration_text((int64_t)us).s, of_time);
    mt_buf_release(&place);
}
