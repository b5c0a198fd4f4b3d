/* SPDX-License-Identifier: MIT */
/*
 * Reserved memory under other settings, beside what was recorded: the run of a what-if becomes
 * steps over the events of the recording, which its events are found in by their times.
 */
#include "heap/walk/replay.h"
#include "support/vec.h"
#include "verbs/plots/page/page_blob.h"
#include "verbs/plots/page/page_parts.h"
#include "verbs/simulate/simulate.h"

enum { UNIT = 512, FAR = 4096 }; /* bytes of a step's unit; events within which one is looked for */

struct words {
    MT_VEC(uint32_t) v;
    bool failed;
};

static void put(struct words *w, uint32_t word)
{
    w->failed |= !mt_vec_push(&w->v, word);
}

static bool same(const struct mt_event *a, const struct mt_event *b)
{
    return a->action == b->action && a->size == b->size && a->time_us == b->time_us;
}

/* The recorded event, `from` or behind it, that an event of the run is; `from` where none is. */
static size_t recorded_as(const struct mt_replay *r, size_t from, const struct mt_event *e)
{
    for (size_t i = from; i < r->n && i - from < FAR && r->events[i].time_us <= e->time_us; i++) {
        if (same(&r->events[i], e)) {
            return i;
        }
    }
    while (from < r->n && r->events[from].time_us < e->time_us) {
        from++;
    }
    return from < r->n ? from : r->n - 1;
}

/* Event, reserved bytes in units: where they change. */
static enum mt_status put_steps(struct words *w, const struct mt_replay *recorded,
                                const struct mt_snapshot *run, struct mt_error *err)
{
    struct mt_replay r;
    struct mt_step at;
    size_t event = 0;
    MT_TRY(mt_replay_init(&r, run, recorded->device, err));
    uint64_t reserved = r.start_reserved;
    put(w, 0);
    put(w, (uint32_t)(reserved / UNIT));
    mt_replay_begin(&r, &at);
    while (mt_replay_next(&r, &at)) {
        event = recorded_as(recorded, event, at.event);
        if (at.reserved_bytes != reserved) {
            reserved = at.reserved_bytes;
            put(w, (uint32_t)event);
            put(w, (uint32_t)(reserved / UNIT));
        }
    }
    mt_replay_release(&r);
    return MT_OK;
}

/* How many words follow, refusals, whether the replay of the recording is exact; the steps. */
static enum mt_status put_run(struct words *w, struct mt_sim *sim, const struct mt_replay *r,
                              const struct mt_page_whatif *x, bool exact, struct mt_error *err)
{
    struct mt_sim_run run = {0};
    struct mt_sim_output output = {0};
    size_t head = w->v.n;
    enum mt_status status =
        mt_sim_what_if(sim, &x->settings, mt_str_from(x->conf), &run, &output, err);
    put(w, 0);
    put(w, (uint32_t)(run.n_ooms < UINT32_MAX ? run.n_ooms : UINT32_MAX));
    put(w, exact);
    if (status == MT_OK) {
        status = put_steps(w, r, &output.view.s, err);
        mt_view_release(&output.view);
    }
    if (status == MT_OK && !w->failed) {
        w->v.v[head] = (uint32_t)(w->v.n - head - 3);
    }
    mt_sim_run_release(&run);
    return status;
}

static enum mt_status put_runs(struct words *w, struct mt_sim *sim, const struct mt_replay *r,
                               const struct mt_page_options *o, struct mt_error *err)
{
    struct mt_sim_run recorded = {0};
    enum mt_status status = mt_sim_replay(sim, &recorded, NULL, err);
    for (size_t i = 0; status == MT_OK && i < o->n_whatifs; i++) {
        status = put_run(w, sim, r, &o->whatifs[i], recorded.exact, err);
    }
    mt_sim_run_release(&recorded);
    return status;
}

enum mt_status mt_page_whatifs(FILE *out, const struct mt_replay *r,
                               const struct mt_page_options *o, size_t index, struct mt_error *err)
{
    const struct mt_sim_options options = {.release = o->whatif_release};
    struct mt_sim *sim = NULL;
    struct words w = {.failed = false};
    char id[48];
    enum mt_status status = MT_OK;
    if (o->n_whatifs && r->n) {
        status = mt_sim_load(r->snapshot, r->device, &options, &sim, err);
    }
    if (status == MT_OK && sim && mt_sim_events(sim)) {
        status = put_runs(&w, sim, r, o, err);
    }
    mt_sim_free(sim);
    if (status == MT_OK) {
        snprintf(id, sizeof id, "d%zu-whatif", index);
        status = w.failed ? mt_fail_nomem(err) : mt_page_blob(out, id, w.v.v, w.v.n, 4, err);
    }
    mt_vec_release(&w.v);
    return status;
}
