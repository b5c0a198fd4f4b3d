/* SPDX-License-Identifier: MIT */
/*
 * Loading a recording for simulation, and its two kinds of run. The first is over the recorded
 * addresses and measures how exactly the replay matches; what-ifs go over a simulated device whose
 * addresses lie beyond all recorded ones.
 */
#include "verbs/simulate/sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Where nothing bounds a run, the device is as large as the numbers allow. */
#define BOUNDLESS ((uint64_t)1 << 45)
/* mt_alloc_options.walks: a second of a machine of today. Of 133 recordings, each with no
 * option, three kinds of limits and settings, and --search, the one that takes the most (--search
 * over 19,000 events of a job that fills its limit again and again) takes 24 % of it; one of 2
 * million events with a limit 5.0 %. */
#define LEAST_WALKS 80000000u
#define WALKS_AN_EVENT 200u

/* ---- loading ---- */

static void find_events(struct mt_sim *sim)
{
    const struct mt_snapshot *s = sim->snapshot;
    if (sim->device >= 0 && (size_t)sim->device < s->n_traces) {
        const struct mt_trace *t = &s->traces[sim->device];
        sim->events = MT_PART(s->events, t->first);
        sim->n = t->n;
    }
}

static uint64_t most_walks(const struct mt_sim *sim)
{
    return LEAST_WALKS + WALKS_AN_EVENT * (uint64_t)sim->n;
}

enum mt_status mt_sim_load(const struct mt_snapshot *s, int32_t device,
                           const struct mt_sim_options *o, struct mt_sim **out,
                           struct mt_error *err)
{
    struct mt_sim *sim = mt_mem_zalloc(1, sizeof *sim);
    if (!sim) {
        return mt_fail_nomem(err);
    }
    sim->snapshot = s;
    sim->device = device;
    sim->options = *o;
    sim->release = o->release ? o->release : 211;
    struct mt_settings settings;
    mt_settings_get(s, sim->release, &settings);
    sim->rules = settings.rules;
    sim->conf = settings.conf.p ? settings.conf : MT_STR("");
    find_events(sim);
    sim->walks = most_walks(sim);
    enum mt_status status = MT_OK;
    struct leftovers left;
    memset(&left, 0, sizeof left);
    if (sim->n >= UINT32_MAX) {
        status = mt_fail(err, MT_LIMIT, MT_NO_OFFSET, "%zu events are too many to replay", sim->n);
    }
    if (status == MT_OK && sim->n > 0) {
        status = mt_sim_list_pools(sim, err);
    }
    if (status == MT_OK && sim->n > 0) {
        status = mt_sim_make_program(sim, &left, err);
        if (status == MT_OK && !sim->complete) {
            status = mt_sim_rebuild(sim, &left, err);
        }
        if (status == MT_OK) {
            status = mt_sim_assign_pools(sim, err);
        }
    }
    mt_vec_release(&left.ghosts);
    mt_vec_release(&left.segments);
    if (status != MT_OK) {
        mt_sim_free(sim);
        return status;
    }
    mt_sim_infer_bounds(sim);
    *out = sim;
    return MT_OK;
}

void mt_sim_free(struct mt_sim *sim)
{
    if (sim) {
        mt_vec_release(&sim->ops);
        mt_vec_release(&sim->pools);
        mt_vec_release(&sim->pool_ends);
        mt_vec_release(&sim->edited);
        mt_vec_release(&sim->releases);
        mt_vec_release(&sim->start.segments);
        mt_vec_release(&sim->start.blocks);
        mt_vec_release(&sim->start.slots);
        mt_mem_free(sim);
    }
}

size_t mt_sim_events(const struct mt_sim *sim)
{
    return sim->n;
}

bool mt_sim_is_complete(const struct mt_sim *sim)
{
    return sim->complete;
}

size_t mt_sim_ghosts(const struct mt_sim *sim, size_t *unsure)
{
    *unsure = sim->n_unsure;
    return sim->n_ghosts;
}

const struct mt_sim_bound *mt_sim_limit(const struct mt_sim *sim)
{
    return &sim->run_limit;
}

const struct mt_sim_bound *mt_sim_capacity(const struct mt_sim *sim)
{
    return &sim->run_capacity;
}

uint32_t mt_sim_stack_of(const struct mt_sim *sim, uint32_t event)
{
    return event < sim->n ? sim->events[event].stack : 0;
}

size_t mt_sim_calls(const struct mt_sim *sim)
{
    return sim->n_calls;
}

void mt_sim_set_sizes(struct mt_sim *sim, const uint64_t *sizes)
{
    sim->sizes = sizes;
}

enum mt_status mt_sim_keep_sizes(struct mt_sim *sim, const uint64_t *sizes, struct mt_error *err)
{
    sim->edited.n = 0;
    if (!mt_vec_reserve(&sim->edited, sim->n_calls + 1)) {
        return mt_fail_nomem(err);
    }
    memcpy(sim->edited.v, sizes, sim->n_calls * sizeof *sizes);
    sim->edited.n = sim->n_calls;
    sim->sizes = sim->edited.v;
    return MT_OK;
}

static struct mt_sim_bound given_bound(uint64_t bytes)
{
    return (struct mt_sim_bound){.known = bytes > 0, .given = bytes > 0, .bytes = bytes};
}

void mt_sim_set_bounds(struct mt_sim *sim, uint64_t limit, uint64_t capacity)
{
    sim->run_limit = given_bound(limit);
    sim->run_capacity = given_bound(capacity);
}

const struct mt_alloc_settings *mt_sim_settings(const struct mt_sim *sim)
{
    return &sim->rules.settings;
}

struct mt_str mt_sim_conf(const struct mt_sim *sim)
{
    return sim->conf;
}

mt_torch_release mt_sim_release(const struct mt_sim *sim)
{
    return sim->release;
}

/* ---- runs ---- */

static void begin_run(struct mt_sim_run *run, struct mt_str conf, bool recorded)
{
    *run = (struct mt_sim_run){.recorded = recorded};
    size_t n = conf.n < sizeof run->conf - 1 ? conf.n : sizeof run->conf - 1;
    if (n > 0) { /* else conf.p may be NULL */
        memcpy(run->conf, conf.p, n);
    }
}

void mt_sim_run_release(struct mt_sim_run *r)
{
    mt_vec_release(&r->ooms);
}

/* A refusal that is served now leads to another run where the program goes on behind it: what it
 * then asks for is not the recorded rest. Where nothing is asked for any more, all that was
 * recorded fits. */
static void judge(struct mt_sim_run *r)
{
    const struct mt_sim_assumptions *a = &r->assumed;
    bool goes_on = a->ooms_served > 0 && a->requests_after > 0;
    bool unaccounted = a->frees_ignored > 0 && a->last_free_ignored > r->allocated_peak_event;
    r->verdict = r->n_ooms > 0            ? MT_SIM_OUT_OF_MEMORY
                 : goes_on || unaccounted ? MT_SIM_UNKNOWN
                                          : MT_SIM_FITS;
}

static void count_recorded(const struct mt_sim *sim, struct mt_sim_fidelity *f)
{
    for (size_t i = 0; i < sim->n; i++) {
        const struct mt_event *e = &sim->events[i];
        f->device_events_recorded += is_segment_event(e);
        f->placements_recorded += e->action == MT_ACTION_ALLOC;
    }
}

static enum mt_status too_much_work(const struct mt_sim *sim, struct mt_error *err)
{
    return mt_hint(err,
                   "the limit is %" PRIu64 " looks at pools and blocks, which no option lifts; "
                   "--no-what-if takes less work",
                   most_walks(sim));
}

/* Runs over `o`, keeping the run when there is an output. */
static enum mt_status run_over(struct machine *m, struct mt_sim *sim,
                               const struct mt_alloc_options *o, struct mt_sim_run *run,
                               struct mt_sim_output *output, struct mt_error *err)
{
    struct sim_recorder recorder = {.sim = sim};
    struct recorded_device *recorded = m->recorded;
    struct learner *learner = m->learner;
    if (output) {
        MT_TRY(mt_sim_recorder_init(&recorder, sim, output, err));
    }
    enum mt_status status = mt_sim_machine_init(m, sim, o, run, output ? &recorder : NULL, err);
    m->recorded = recorded;
    m->learner = learner;
    if (status == MT_OK) {
        status = mt_sim_machine_run(m, err);
    }
    if (status == MT_LIMIT && sim->walks == 0) {
        status = too_much_work(sim, err);
    }
    if (status == MT_OK && output) {
        status = mt_sim_recorder_finish(&recorder, m->alloc, output, err);
    } else if (output) {
        mt_view_release(&output->view);
    }
    mt_sim_recorder_release(&recorder);
    return status;
}

/* ---- the recorded settings ---- */

static enum mt_status replay_once(struct mt_sim *sim, struct mt_sim_run *run,
                                  struct mt_sim_output *output, struct mt_error *err)
{
    struct recorded_device device = {.sim = sim, .invented = (uint64_t)1 << 60};
    struct mt_alloc_options o = {.settings = sim->rules.settings,
                                 .release = sim->release,
                                 .device = mt_recorded_device(&device)};
    o.has_allowed = sim->limit.known;
    o.allowed = sim->limit.bytes;
    struct mt_sim_fidelity *f = &run->fidelity;
    begin_run(run, sim->conf, true);
    sim->leave = (struct leave){.is = false};
    run->limit = sim->limit;
    run->capacity = sim->capacity;
    count_recorded(sim, f);
    struct machine m = {.recorded = &device};
    enum mt_status status = run_over(&m, sim, &o, run, output, err);
    if (status == MT_OK) {
        f->device_events_matched = device.matched;
        f->device_events_made = device.made;
        status = mt_sim_compare_layout(sim, m.alloc, &f->final_layout_match, err);
        if (status != MT_OK && output) {
            mt_view_release(&output->view);
        }
    }
    judge(run);
    mt_sim_machine_release(&m);
    mt_vec_release(&device.reserved);
    return status;
}

/* With garbage collection and no limit given, a replay of its own finds the limit first. */
static enum mt_status learn_limit(struct mt_sim *sim, struct mt_error *err)
{
    struct recorded_device device = {.sim = sim, .invented = (uint64_t)1 << 60};
    struct mt_alloc_options o = {.settings = sim->rules.settings,
                                 .release = sim->release,
                                 .device = mt_recorded_device(&device),
                                 .has_allowed = true,
                                 .allowed = UINT64_MAX};
    struct learner learner = {sim->limit.least, UINT64_MAX};
    struct machine m = {.recorded = &device, .learner = &learner};
    struct mt_sim_run run;
    begin_run(&run, sim->conf, true);
    enum mt_status status = run_over(&m, sim, &o, &run, NULL, err);
    mt_sim_machine_release(&m);
    mt_sim_run_release(&run);
    mt_vec_release(&device.reserved);
    sim->learnt = learner;
    mt_sim_infer_bounds(sim);
    return status;
}

void mt_sim_undecide(struct mt_sim *sim)
{
    for (size_t i = 0; i < sim->releases.n; i++) {
        struct op *op = &sim->ops.v[sim->releases.v[i].op];
        op->kind = OP_RELEASE;
        op->slot = sim->releases.v[i].n;
    }
    mt_sim_infer_bounds(sim);
}

bool mt_sim_is_exact(const struct mt_sim_run *run)
{
    const struct mt_sim_fidelity *f = &run->fidelity;
    return f->device_events_matched == f->device_events_recorded &&
           f->device_events_made == f->device_events_recorded &&
           f->placements_matched == f->placements_recorded && f->final_layout_match;
}

/* A replay, and where its releases taught something about the bounds, another with that knowledge.
 */
static enum mt_status replay_and_learn(struct mt_sim *sim, struct mt_sim_run *run,
                                       struct mt_error *err)
{
    mt_sim_undecide(sim);
    MT_TRY(replay_once(sim, run, NULL, err));
    bool known = sim->limit.known;
    mt_sim_infer_bounds(sim); /* it is known now which releases were requests' */
    if (mt_sim_is_exact(run) || known == sim->limit.known) {
        return MT_OK;
    }
    mt_sim_run_release(run);
    return replay_once(sim, run, NULL, err);
}

enum mt_status mt_sim_replay(struct mt_sim *sim, struct mt_sim_run *run,
                             struct mt_sim_output *output, struct mt_error *err)
{
    begin_run(run, sim->conf, true);
    if (sim->rules.settings.garbage_collection_threshold > 0.0 && !sim->limit.given) {
        MT_TRY(learn_limit(sim, err));
    }
    MT_TRY(replay_and_learn(sim, run, err));
    uint64_t matched = run->fidelity.placements_matched;
    if (!mt_sim_is_exact(run) && !sim->limit.given) {
        /* Perhaps the device was full where a limit was assumed. */
        sim->released_by_device = true;
        mt_sim_run_release(run);
        MT_TRY(replay_and_learn(sim, run, err));
        if (run->fidelity.placements_matched < matched) {
            sim->released_by_device = false;
            mt_sim_run_release(run);
            MT_TRY(replay_and_learn(sim, run, err));
        }
    }
    if (!mt_sim_is_exact(run) && !sim->options.watched) {
        MT_TRY(mt_sim_infer_pools(sim, run, replay_and_learn, err));
    }
    if (output) {
        mt_sim_run_release(run);
        MT_TRY(replay_once(sim, run, output, err));
    }
    run->exact = mt_sim_is_exact(run);
    if (!run->exact && !sim->options.watched) {
        MT_TRY(mt_sim_trace_figures(sim, run, err));
        judge(run);
    }
    return MT_OK;
}

/* ---- other settings ---- */

static uint64_t address_above_all(const struct mt_sim *sim)
{
    uint64_t top = 0;
    for (size_t i = 0; i < sim->start.segments.n; i++) {
        const struct mt_alloc_restore_segment *s = &sim->start.segments.v[i];
        uint64_t end = s->size < UINT64_MAX - s->addr ? s->addr + s->size : UINT64_MAX;
        top = end > top ? end : top;
    }
    return top < (uint64_t)1 << 56 ? top : 0;
}

enum mt_status mt_sim_what_if(struct mt_sim *sim, const struct mt_alloc_settings *settings,
                              struct mt_str conf, struct mt_sim_run *run,
                              struct mt_sim_output *output, struct mt_error *err)
{
    begin_run(run, conf, false);
    run->limit = sim->run_limit;
    run->capacity = sim->run_capacity;
    uint64_t capacity = sim->run_capacity.known ? sim->run_capacity.bytes : BOUNDLESS;
    struct mt_device_sim *device =
        mt_device_sim_new(&(struct mt_device_sim_options){.order = sim->order,
                                                          .total = capacity,
                                                          .held = sim->start.reserved,
                                                          .above = address_above_all(sim)});
    if (!device) {
        return mt_fail_nomem(err);
    }
    struct mt_alloc_options o = {.settings = *settings,
                                 .release = sim->release,
                                 .device = mt_device_sim_device(device),
                                 .has_allowed = sim->run_limit.known,
                                 .allowed = sim->run_limit.bytes};
    struct machine m = {.recorded = NULL};
    enum mt_status status = run_over(&m, sim, &o, run, output, err);
    if (status == MT_OK && output) {
        status = mt_sim_output_settings(&output->view, settings, conf, sim->release, err);
        if (status != MT_OK) {
            mt_view_release(&output->view);
        }
    }
    judge(run);
    mt_sim_machine_release(&m);
    mt_device_sim_free(device);
    return status;
}

static bool grew(const struct mt_sim_run *run)
{
    return run->peak.reserved > run->reserved_before + run->reserved_before / 50;
}

bool mt_sim_run_grows(const struct mt_sim_run *run, const struct mt_sim_run *recorded)
{
    return !run->recorded && !recorded->of_trace && !run->assumed.ooms_served && grew(run) &&
           !grew(recorded);
}

int mt_sim_run_compare(const struct mt_sim_run *x, const struct mt_sim_run *y)
{
    static const int rank[] = {[MT_SIM_FITS] = 0, [MT_SIM_UNKNOWN] = 1, [MT_SIM_OUT_OF_MEMORY] = 2};
    if (x->verdict != y->verdict) {
        return rank[x->verdict] - rank[y->verdict];
    }
    if (x->peak.reserved != y->peak.reserved) {
        return x->peak.reserved < y->peak.reserved ? -1 : 1;
    }
    uint64_t a = x->stats.num_device_alloc + x->stats.num_device_free;
    uint64_t b = y->stats.num_device_alloc + y->stats.num_device_free;
    return (a > b) - (a < b);
}
