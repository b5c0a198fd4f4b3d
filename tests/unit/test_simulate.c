/* SPDX-License-Identifier: MIT */
/*
 * Replays against what PyTorch did: real recordings must come out to the byte, counters included;
 * what a run writes must replay exactly under its own settings; a recording that is cut must still
 * be understood.
 */
#include "unit.h"

#include <stdio.h>

#include <cjson/cJSON.h>

#include "snapshot/read/read.h"
#include "verbs/simulate/simulate.h"

#define GIB (1024 * MT_MIB)

static struct mt_error err;

static struct mt_snapshot load(const char *name)
{
    char path[256];
    struct mt_snapshot s;
    struct mt_read_options o = {.hash_seed = 1};
    snprintf(path, sizeof path, "testdata/%s", name);
    ck_assert_msg(mt_snapshot_read(path, &o, &s, &err) == MT_OK, "%s: %s", path, err.text);
    return s;
}

static struct mt_sim *open_sim(const struct mt_snapshot *s, uint64_t limit)
{
    struct mt_sim *sim;
    struct mt_sim_options o = {.has_limit = limit > 0, .limit = limit};
    ck_assert_int_eq(mt_sim_load(s, 0, &o, &sim, &err), MT_OK);
    ck_assert_uint_gt(mt_sim_events(sim), 0);
    return sim;
}

static bool is_exact(const struct mt_sim_run *r)
{
    const struct mt_sim_fidelity *f = &r->fidelity;
    return f->device_events_matched == f->device_events_recorded &&
           f->device_events_made == f->device_events_recorded &&
           f->placements_matched == f->placements_recorded && f->final_layout_match;
}

static struct mt_sim_run replay(struct mt_sim *sim)
{
    struct mt_sim_run run;
    ck_assert_int_eq(mt_sim_replay(sim, &run, NULL, &err), MT_OK);
    return run;
}

/* ---- real recordings ---- */

static const struct {
    const char *name;
    uint64_t limit;
} REAL[] = {{"good/graphs.pickle", 0},
            {"good/plain.json.gz", 0},
            {"good/streams.pickle", 0},
            {"good/transformer.pickle.gz", 0},
            {"good/expandable_transformer.pickle.gz", 0},
            {"good/frag_oom.pickle", 0},
            {"good/frag_oom.pickle", 2 * GIB},
            {"good/true_oom.pickle", 0},
            {"good/nonpytorch_oom.pickle", 0},
            {"good/leak.pickle.gz", 0},
            {"good/mlp.pickle.gz", 0},
            {"good/pinned.pickle", 0},
            {"good/context_ring3.pickle", 0},
            {"good/cpp_dump.pickle.gz", 0},
            {"simulate/churn_splitgc.pickle.gz", 3 * GIB},
            {"simulate/churn_splitgc.pickle.gz", 0},
            {"simulate/churn_expandable.pickle.gz", 3 * GIB},
            {"simulate/churn_expandable.pickle.gz", 0},
            {"simulate/graphs_shared.pickle.gz", 0},
            {"simulate/graphs_own_expandable.pickle.gz", 0},
            {"simulate/destroy_pools.pickle.gz", 0},
            {"simulate/mempool_pools.pickle.gz", 0}};

START_TEST(real_recordings_come_out_exactly)
{
    struct mt_snapshot s = load(REAL[_i].name);
    struct mt_sim *sim = open_sim(&s, REAL[_i].limit);
    struct mt_sim_run run = replay(sim);
    ck_assert_msg(is_exact(&run), "%s: %llu of %llu addresses", REAL[_i].name,
                  (unsigned long long)run.fidelity.placements_matched,
                  (unsigned long long)run.fidelity.placements_recorded);
    mt_sim_run_release(&run);
    mt_sim_free(sim);
    mt_snapshot_release(&s);
}
END_TEST

/* One file under another setting reserves at its peak what PyTorch reserved under that. */
START_TEST(pools_of_captures_come_out_under_other_settings)
{
    struct mt_snapshot s = load("simulate/graphs_shared.pickle.gz");
    struct mt_sim *sim = open_sim(&s, 0);
    struct mt_sim_run recorded = replay(sim), run;
    struct mt_alloc_settings expandable;
    mt_alloc_settings_default(&expandable);
    expandable.expandable_segments = true;
    ck_assert_int_eq(
        mt_sim_what_if(sim, &expandable, MT_STR("expandable_segments:True"), &run, NULL, &err),
        MT_OK);
    ck_assert_uint_eq(recorded.peak.reserved, 1161822208);
    ck_assert_uint_eq(run.peak.reserved, 1033895936);
    ck_assert_uint_eq(run.n_ooms, 0);
    mt_sim_run_release(&recorded);
    mt_sim_run_release(&run);
    mt_sim_free(sim);
    mt_snapshot_release(&s);
}
END_TEST

struct truth {
    const cJSON *stats;
    int compared;
};

static bool compare_counter(void *ctx, const char *name, int64_t value)
{
    struct truth *t = ctx;
    const cJSON *want = cJSON_GetObjectItemCaseSensitive(t->stats, name);
    ck_assert_msg(want && want->valuedouble == (double)value, "%s: %lld, PyTorch says %.0f", name,
                  (long long)value, want ? want->valuedouble : -1.0);
    t->compared++;
    return true;
}

static char *read_text(const char *path)
{
    FILE *f = fopen(path, "rb");
    static char text[65536];
    ck_assert_ptr_nonnull(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    text[n] = '\0';
    fclose(f);
    return text;
}

static void counters_equal(const char *snapshot, const char *stats)
{
    struct mt_snapshot s = load(snapshot);
    struct mt_sim *sim = open_sim(&s, 3 * GIB);
    struct mt_sim_run run = replay(sim);
    cJSON *json = cJSON_Parse(read_text(stats));
    struct truth t = {json, 0};
    ck_assert(mt_sim_is_complete(sim));
    ck_assert(mt_alloc_stats_each(&run.stats, compare_counter, &t));
    ck_assert_int_eq(t.compared, 121);
    cJSON_Delete(json);
    mt_sim_run_release(&run);
    mt_sim_free(sim);
    mt_snapshot_release(&s);
}

START_TEST(every_counter_is_pytorchs)
{
    counters_equal("simulate/churn_splitgc.pickle.gz",
                   "testdata/simulate/churn_splitgc.stats.json");
    counters_equal("simulate/churn_expandable.pickle.gz",
                   "testdata/simulate/churn_expandable.stats.json");
}
END_TEST

/* ---- what a run writes is a recording under its settings ---- */

static const char *const CONFS[] = {
    "",
    "expandable_segments:True",
    "max_split_size_mb:64",
    "max_split_size_mb:25,max_non_split_rounding_mb:60",
    "garbage_collection_threshold:0.5",
    "max_split_size_mb:32,garbage_collection_threshold:0.8",
    "roundup_power2_divisions:8",
    "roundup_power2_divisions:[1:4,256:2,>:1]",
};

static void replays_itself(const char *name, const char *conf, uint64_t limit)
{
    struct mt_snapshot s = load(name);
    struct mt_sim *sim = open_sim(&s, limit);
    struct mt_sim_run run = replay(sim), made, again;
    struct mt_sim_output output;
    struct mt_conf parsed;
    mt_conf_parse(mt_str_from(conf), 211, &parsed);
    ck_assert_int_eq(mt_sim_what_if(sim, &parsed.settings, mt_str_from(conf), &made, &output, &err),
                     MT_OK);
    struct mt_sim *second = open_sim(&output.view.s, limit);
    ck_assert_text(mt_sim_conf(second), conf);
    again = replay(second);
    ck_assert_msg(is_exact(&again), "%s under %s", name, conf);
    ck_assert_int_eq(again.stats.stat[MT_STAT_RESERVED_BYTES][0].peak,
                     made.stats.stat[MT_STAT_RESERVED_BYTES][0].peak);
    mt_sim_run_release(&run);
    mt_sim_run_release(&made);
    mt_sim_run_release(&again);
    mt_sim_free(second);
    mt_view_release(&output.view);
    mt_sim_free(sim);
    mt_snapshot_release(&s);
}

START_TEST(written_runs_replay_exactly)
{
    replays_itself("good/graphs.pickle", CONFS[_i], 0);
    replays_itself("good/streams.pickle", CONFS[_i], 0);
    replays_itself("good/transformer.pickle.gz", CONFS[_i], 600 * MT_MIB);
    replays_itself("good/frag_oom.pickle", CONFS[_i], 2 * GIB);
    replays_itself("simulate/churn_expandable.pickle.gz", CONFS[_i], 3 * GIB);
    replays_itself("simulate/churn_splitgc.pickle.gz", CONFS[_i], 2 * GIB);
}
END_TEST

/* ---- recordings that begin in the middle ---- */

/* Replays the last events of a recording; returns the share of addresses that match. */
static double match_from(const struct mt_snapshot *s, size_t from)
{
    struct mt_view v;
    mt_view_init(&v, s);
    struct mt_trace *t = mt_view_copy(&v, s->traces, s->n_traces, sizeof *t);
    t[0].first += from;
    t[0].n -= from;
    v.s.traces = t;
    struct mt_sim *sim = open_sim(&v.s, 0);
    struct mt_sim_run run = replay(sim);
    double share = run.fidelity.placements_recorded ? (double)run.fidelity.placements_matched /
                                                          (double)run.fidelity.placements_recorded
                                                    : 1.0;
    mt_sim_run_release(&run);
    mt_sim_free(sim);
    mt_view_release(&v);
    return share;
}

static void cut_everywhere(const char *name, size_t pieces, double all_least, double mean_least)
{
    struct mt_snapshot s = load(name);
    double sum = 0.0;
    for (size_t i = 1; i < pieces; i++) {
        double share = match_from(&s, s.traces[0].n * i / pieces);
        ck_assert_msg(share >= all_least, "%s cut at %zu of %zu: %g", name, i, pieces, share);
        sum += share;
    }
    ck_assert_msg(sum / (double)(pieces - 1) >= mean_least, "%s: %g of the addresses", name,
                  sum / (double)(pieces - 1));
    mt_snapshot_release(&s);
}

START_TEST(cut_recordings)
{
    cut_everywhere("good/expandable_transformer.pickle.gz", 40, 1.0, 1.0);
    cut_everywhere("good/transformer.pickle.gz", 40, 1.0, 1.0);
    cut_everywhere("good/streams.pickle", 40, 1.0, 1.0);
    cut_everywhere("good/leak.pickle.gz", 40, 0.2, 0.97);
    cut_everywhere("simulate/churn_expandable.pickle.gz", 40, 0.2, 0.97);
}
END_TEST

/* ---- verdicts and bounds ---- */

static struct mt_sim_run under(struct mt_sim *sim, const char *conf)
{
    struct mt_conf parsed;
    struct mt_sim_run run;
    mt_conf_parse(mt_str_from(conf), 211, &parsed);
    ck_assert(parsed.valid);
    ck_assert_int_eq(mt_sim_what_if(sim, &parsed.settings, mt_str_from(conf), &run, NULL, &err),
                     MT_OK);
    return run;
}

START_TEST(verdicts)
{
    struct mt_snapshot s = load("good/frag_oom.pickle");
    struct mt_sim *sim = open_sim(&s, 2 * GIB);
    struct mt_sim_run recorded = replay(sim);
    ck_assert_int_eq(recorded.verdict, MT_SIM_OUT_OF_MEMORY);
    ck_assert_uint_eq(recorded.n_ooms, 1);
    struct mt_sim_run run = under(sim, "expandable_segments:True");
    ck_assert_int_eq(run.stats.stat[MT_STAT_RESERVED_BYTES][0].peak, 1887436800);
    ck_assert_int_eq(run.verdict, MT_SIM_OUT_OF_MEMORY);
    ck_assert_int_lt(mt_sim_run_compare(&run, &recorded), 0);
    mt_sim_run_release(&run);
    mt_sim_free(sim);
    /* With more room than the recording proves, the request that failed is served. */
    sim = open_sim(&s, 4 * GIB);
    run = replay(sim);
    ck_assert(is_exact(&run));
    mt_sim_run_release(&run);
    run = under(sim, "");
    ck_assert_int_eq(run.verdict, MT_SIM_FITS); /* and nothing follows */
    ck_assert_uint_eq(run.assumed.ooms_served, 1);
    ck_assert_uint_eq(run.assumed.requests_after, 0);
    ck_assert_uint_eq(run.n_ooms, 0);
    mt_sim_run_release(&run);
    mt_sim_run_release(&recorded);
    mt_sim_free(sim);
    mt_snapshot_release(&s);
}
END_TEST

/* A program that catches the failure goes on: with the memory it would have done otherwise. */
START_TEST(served_in_the_middle)
{
    struct mt_snapshot s = load("simulate/churn_expandable.pickle.gz");
    struct mt_sim *sim = open_sim(&s, 10 * GIB);
    struct mt_sim_run recorded = replay(sim), run = under(sim, "");
    ck_assert_uint_gt(recorded.n_ooms, 0);
    ck_assert_uint_eq(run.n_ooms, 0);
    ck_assert_uint_eq(run.assumed.ooms_served, recorded.n_ooms);
    ck_assert_uint_gt(run.assumed.requests_after, 0);
    ck_assert_int_eq(run.verdict, MT_SIM_UNKNOWN);
    mt_sim_run_release(&run);
    mt_sim_run_release(&recorded);
    mt_sim_free(sim);
    mt_snapshot_release(&s);
}
END_TEST

START_TEST(refused_in_the_what_if)
{
    struct mt_snapshot s = load("good/transformer.pickle.gz");
    struct mt_sim *sim = open_sim(&s, 200 * MT_MIB); /* it needs 454 MiB */
    struct mt_sim_run run = replay(sim);
    ck_assert(is_exact(&run));
    mt_sim_run_release(&run);
    run = under(sim, "expandable_segments:True");
    ck_assert_int_eq(run.verdict, MT_SIM_OUT_OF_MEMORY);
    ck_assert_uint_gt(run.assumed.frees_ignored, 0);
    /* PyTorch compares the limit with the segment that would do, and then maps a page of 20 MiB. */
    ck_assert_int_le(run.stats.stat[MT_STAT_RESERVED_BYTES][0].peak, 220 * MT_MIB);
    mt_sim_run_release(&run);
    mt_sim_free(sim);
    mt_snapshot_release(&s);
}
END_TEST

START_TEST(bounds_are_inferred)
{
    struct mt_snapshot s = load("good/frag_oom.pickle");
    struct mt_sim *sim = open_sim(&s, 0);
    const struct mt_sim_bound *b = mt_sim_limit(sim);
    ck_assert(b->known && !b->given && b->has_below);
    ck_assert_uint_le(b->least, 2 * GIB);
    ck_assert_uint_gt(b->below, 2 * GIB);
    ck_assert(!mt_sim_capacity(sim)->known);
    mt_sim_free(sim);
    mt_snapshot_release(&s);
    s = load("good/true_oom.pickle");
    sim = open_sim(&s, 0);
    ck_assert(!mt_sim_limit(sim)->known);
    ck_assert(mt_sim_capacity(sim)->known);
    mt_sim_free(sim);
    mt_snapshot_release(&s);
}
END_TEST

START_TEST(candidates_fit_the_recording)
{
    struct mt_sim_candidate list[16];
    struct mt_snapshot s = load("simulate/churn_expandable.pickle.gz");
    struct mt_sim *sim = open_sim(&s, 3 * GIB);
    struct mt_sim_run run = replay(sim);
    size_t n = mt_sim_candidates(sim, &run, list, MT_COUNT(list));
    ck_assert_uint_ge(n, 4);
    for (size_t i = 0; i < n; i++) {
        struct mt_conf conf;
        mt_conf_parse(mt_str_from(list[i].conf), 211, &conf);
        ck_assert(conf.valid);
        ck_assert_str_ne(list[i].conf, "expandable_segments:True"); /* it has that */
    }
    ck_assert_uint_eq(mt_sim_candidates(sim, &run, list, 2), 2);
    mt_sim_run_release(&run);
    mt_sim_free(sim);
    mt_snapshot_release(&s);
}
END_TEST

/* Enough of them for threads. */
START_TEST(many_come_out_as_each_alone)
{
    static struct mt_sim_try tries[64];
    static const char *const texts[] = {"", "expandable_segments:True", "max_split_size_mb:64",
                                        "roundup_power2_divisions:4"};
    struct mt_snapshot s = load("demo/snap.pickle.gz");
    struct mt_sim *sim = open_sim(&s, 0);
    struct mt_sim_run recorded = replay(sim);
    struct mt_conf confs[MT_COUNT(texts)];
    for (size_t i = 0; i < MT_COUNT(tries); i++) {
        size_t k = i % MT_COUNT(texts);
        mt_conf_parse(mt_str_from(texts[k]), 211, &confs[k]);
        tries[i] = (struct mt_sim_try){.settings = &confs[k].settings,
                                       .conf = mt_str_from(texts[k]),
                                       .order = (enum mt_device_order)(i / 4 % MT_DEVICE_ORDERS)};
    }
    ck_assert_int_eq(mt_sim_try_all(sim, tries, MT_COUNT(tries), &err), MT_OK);
    for (size_t i = 0; i < MT_COUNT(tries); i++) {
        if (i < 8) {
            struct mt_sim_try alone = {
                .settings = tries[i].settings, .conf = tries[i].conf, .order = tries[i].order};
            ck_assert_int_eq(mt_sim_try_all(sim, &alone, 1, &err), MT_OK);
            ck_assert_uint_eq(tries[i].run.peak.reserved, alone.run.peak.reserved);
            ck_assert_uint_eq(tries[i].run.stats.num_device_alloc,
                              alone.run.stats.num_device_alloc);
            ck_assert_int_eq(tries[i].run.verdict, alone.run.verdict);
            ck_assert_str_eq(tries[i].run.conf, alone.run.conf);
            mt_sim_run_release(&alone.run);
        }
        mt_sim_run_release(&tries[i].run);
    }
    mt_sim_run_release(&recorded);
    mt_sim_free(sim);
    mt_snapshot_release(&s);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("simulate");
    tcase_add_loop_test(t, real_recordings_come_out_exactly, 0, (int)MT_COUNT(REAL));
    tcase_add_test(t, pools_of_captures_come_out_under_other_settings);
    tcase_add_test(t, every_counter_is_pytorchs);
    tcase_add_loop_test(t, written_runs_replay_exactly, 0, (int)MT_COUNT(CONFS));
    tcase_add_test(t, cut_recordings);
    tcase_add_test(t, verdicts);
    tcase_add_test(t, served_in_the_middle);
    tcase_add_test(t, refused_in_the_what_if);
    tcase_add_test(t, bounds_are_inferred);
    tcase_add_test(t, candidates_fit_the_recording);
    tcase_add_test(t, many_come_out_as_each_alone);
    tcase_set_timeout(t, 60);
    return unit_run_cases("simulate", t);
}
