/* SPDX-License-Identifier: MIT */
/*
 * The usual changes of a program, tried by a replay of the recording that ends out of memory. Only
 * those that serve the request are told: what the program would have asked for behind it is not
 * recorded.
 */
#include <inttypes.h>

#include "snapshot/model/settings.h"
#include "support/units.h"

#include "triage/triage_state.h"

/* A change costs a replay and more of its own: with more events a first look would take too long.
 */
#define CHANGED_EVENTS 200000
#define CHANGES_SAID 4

enum mt_status mt_shot_try_changes(struct mt_shot *shot, struct mt_error *err)
{
    struct mt_trace trace = mt_device_trace(shot->snapshot, shot->device);
    bool settled = shot->expandable || mt_shot_setting_serves(shot);
    struct mt_sim_patient patient = {.snapshot = shot->snapshot,
                                     .device = shot->device,
                                     .beside = settled ? "" : MT_SHOT_EXPANDABLE};
    if (!shot->exact || shot->account.recorded.plain || trace.n > CHANGED_EVENTS) {
        return MT_OK;
    }
    enum mt_status status = mt_sim_find_cures(&patient, &shot->changes, err);
    struct mt_sim_cures *c = &shot->changes;
    while (c->list.n > 0 && (status != MT_OK || c->verdict != MT_SIM_OUT_OF_MEMORY ||
                             c->list.v[c->list.n - 1].verdict == MT_SIM_OUT_OF_MEMORY)) {
        c->list.n--;
    }
    return status;
}

const char *mt_shot_change(struct mt_triage *t, const struct mt_shot *shot)
{
    struct mt_buf words = {0};
    if (shot->changes.list.n == 0) {
        return NULL;
    }
    mt_sim_cure_words(&words, shot->snapshot, &shot->changes.list.v[0]);
    struct mt_str copy = mt_arena_copy(&t->arena, words.n ? words.p : "", words.n);
    t->no_memory |= words.failed || !copy.p;
    mt_buf_release(&words);
    return copy.p;
}

void mt_shot_say_changes(struct mt_triage *t, const struct mt_shot *shot)
{
    const struct mt_sim_cures *c = &shot->changes;
    struct mt_buf line = {0};
    for (size_t i = 0; i < c->list.n && i < CHANGES_SAID; i++) {
        const struct mt_sim_cure *cure = &c->list.v[i];
        mt_buf_text(&line, i ? "; "
                             : "Snapshot: replayed, these changes of the program would have "
                               "served the request: ");
        mt_sim_cure_words(&line, shot->snapshot, cure);
        if (cure->reserved < c->reserved) {
            mt_buf_printf(&line, " (%s less)", mt_advice_size(c->reserved - cure->reserved).s);
        }
    }
    t->no_memory |= line.failed;
    if (line.n > 0 && !line.failed) {
        mt_evidence_add(t, "%s.", line.p);
    }
    mt_buf_release(&line);
}
