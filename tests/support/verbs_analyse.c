/* SPDX-License-Identifier: MIT */
/* The analyses of peak, leaks, steps, frag and summary over a snapshot that may say anything. */
#include "heap/findings/frag.h"
#include "heap/findings/leaks.h"
#include "heap/findings/peak.h"
#include "heap/findings/steps.h"
#include "heap/walk/query.h"
#include "verbs/summary/summary.h"

#include "verbs.h"

/* `choice` chooses the moment and the grouping. */
static void analyse(const struct mt_snapshot *s, int32_t device, const struct mt_rules *rules,
                    unsigned choice)
{
    struct mt_error err;
    struct mt_replay r;
    if (mt_replay_init(&r, s, device, &err) != MT_OK) {
        return;
    }
    struct mt_moment at = {
        .kind = (enum mt_moment_kind)(choice % 6), .event = choice, .time_us = 1};
    struct mt_peak_options po = {
        .at = at, .by = (enum mt_peak_by)(choice % (MT_BY_CATEGORY + 1)), .rules = rules};
    struct mt_peak peak;
    (void)!mt_peak_find(&peak, s, &r, NULL, &po, &err);
    mt_peak_release(&peak);
    struct mt_leak_options lo = {.threshold = MT_LEAK_THRESHOLD, .capacity = 1 << 30};
    lo.period.events = choice % 3 ? 0 : 1 + choice % 7;
    struct mt_leaks leaks;
    (void)!mt_leaks_find(&leaks, s, &r, NULL, &lo, &err);
    mt_leaks_release(&leaks);
    struct mt_trace_steps steps;
    (void)!mt_trace_steps_find(&steps, &r, rules, &lo.period, &err);
    mt_trace_steps_release(&steps);
    struct mt_lifetimes lives;
    (void)!mt_lifetimes_find(&lives, &r, NULL, 10, &err);
    mt_lifetimes_release(&lives);
    struct mt_frag frag;
    (void)!mt_frag_find(&frag, s, &r, NULL, &at, &err);
    mt_frag_release(&frag);
    struct mt_frag_sources sources;
    (void)!mt_frag_sources_find(&sources, s, &r, NULL, &err);
    mt_frag_sources_release(&sources);
    struct mt_summary summary;
    struct mt_totals totals;
    struct mt_filter open;
    mt_filter_init(&open);
    struct mt_filtered all = {.filter = &open, .snapshot = s};
    if (mt_totals_find(&totals, s, &all, 0, &err) == MT_OK) {
        (void)!mt_summary_find(&summary, s, &totals, device, &err);
    }
    mt_totals_release(&totals);
    mt_replay_release(&r);
}

void verbs_analyse(const struct mt_snapshot *s, unsigned choice)
{
    struct mt_error err;
    struct mt_rules *rules = NULL;
    struct mt_devices devices = {0};
    if (mt_rules_new(MT_STR(""), &rules, &err) == MT_OK &&
        mt_devices_find(&devices, s, false, &err) == MT_OK) {
        for (size_t i = 0; i < devices.ids.n; i++) {
            analyse(s, devices.ids.v[i], rules, choice);
        }
    }
    mt_devices_release(&devices);
    mt_rules_free(rules);
}
