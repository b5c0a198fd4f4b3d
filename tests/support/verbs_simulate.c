/* SPDX-License-Identifier: MIT */
/* Replays of a snapshot that may say anything; a run that is written must be a snapshot again. */
#include "heap/walk/query.h"
#include "verbs/simulate/simulate.h"

#include "verbs.h"

static const char *const CONFS[] = {"", "expandable_segments:True",
                                    "max_split_size_mb:21,garbage_collection_threshold:0.5",
                                    "roundup_power2_divisions:[1:2,>:8]"};

static void what_if(struct mt_sim *sim, unsigned choice)
{
    struct mt_error err;
    struct mt_sim_run run = {0};
    struct mt_sim_output output;
    struct mt_conf conf;
    const char *text = CONFS[choice % MT_COUNT(CONFS)];
    mt_conf_parse(mt_str_from(text), 211, &conf);
    bool written = choice & 16;
    if (mt_sim_what_if(sim, &conf.settings, mt_str_from(text), &run, written ? &output : NULL,
                       &err) == MT_OK &&
        written) {
        MT_ASSERT(mt_snapshot_check(&output.view.s) == NULL);
        verbs_write(&output.view.s, choice);
        mt_view_release(&output.view);
    }
    mt_sim_run_release(&run);
}

static void simulate(const struct mt_snapshot *s, int32_t device, unsigned choice)
{
    struct mt_error err;
    struct mt_sim *sim;
    struct mt_sim_run run = {0};
    struct mt_sim_options o = {.has_limit = choice & 32,
                               .limit = 64 * MT_MIB,
                               .has_capacity = true,
                               .capacity = 1024 * MT_MIB};
    if (mt_sim_load(s, device, &o, &sim, &err) != MT_OK) {
        return;
    }
    if (mt_sim_events(sim) > 0) {
        enum mt_status status = mt_sim_replay(sim, &run, NULL, &err);
        mt_sim_run_release(&run);
        if (status == MT_OK) {
            what_if(sim, choice);
        }
    }
    mt_sim_free(sim);
}

void verbs_simulate(const struct mt_snapshot *s, unsigned choice)
{
    struct mt_error err;
    struct mt_devices devices = {0};
    if (mt_devices_find(&devices, s, false, &err) == MT_OK) {
        for (size_t i = 0; i < devices.ids.n; i++) {
            simulate(s, devices.ids.v[i], choice);
        }
    }
    mt_devices_release(&devices);
}
