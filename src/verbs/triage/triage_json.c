/* SPDX-License-Identifier: MIT */
/* A triage as JSON: triage/1. What a message does not print is null. */
#include "print/account_report.h"
#include "print/report_json.h"
#include "verbs/simulate/cures_json.h"
#include "verbs/triage/print.h"

static const char *const KEYS[MT_OOM_FIELD_COUNT] = {
#define X(name, key, words) key,
    MT_OOM_FIELD_MAP(X)
#undef X
};

static const char *const KINDS[MT_KIND_COUNT] = {
    [MT_KIND_OOM] = "oom",           [MT_KIND_LIBRARY] = "library",   [MT_KIND_LIMIT] = "limit",
    [MT_KIND_OVERSIZE] = "oversize", [MT_KIND_SOFT] = "soft",         [MT_KIND_BUDGET] = "budget",
    [MT_KIND_HOST_RAM] = "host_ram", [MT_KIND_KILLED] = "killed",     [MT_KIND_SHM] = "shm",
    [MT_KIND_POOL] = "pool",         [MT_KIND_CONFLICT] = "conflict", [MT_KIND_DISK] = "disk",
    [MT_KIND_ON_CHIP] = "on_chip",   [MT_KIND_DEVICE] = "device",     [MT_KIND_FEATURE] = "device",
    [MT_KIND_UNSURE] = "device",
};

static void put_i64_known(struct mt_out o, const char *key, int64_t n)
{
    n < 0 ? mt_out_null(o, key) : mt_out_i64(o, key, n);
}

static void put_numbers(struct mt_out o, const struct mt_incident *i)
{
    struct mt_out numbers = mt_out_object(o, "numbers");
    for (unsigned f = 0; f < MT_OOM_FIELD_COUNT; f++) {
        mt_out_known(numbers, KEYS[f], mt_oom_has(&i->numbers, f), i->numbers.v[f]);
    }
    mt_out_known(numbers, "allowed_below_bytes", i->allowed_below > 0, i->allowed_below);
    struct mt_out derived = mt_out_array(o, "derived");
    for (unsigned f = 0; f < MT_OOM_FIELD_COUNT; f++) {
        if (i->numbers.derived >> f & 1u) {
            mt_out_str(derived, NULL, mt_str_from(KEYS[f]));
        }
    }
}

static void put_processes(struct mt_out o, const struct mt_incident *i)
{
    struct mt_out list = mt_out_array(o, "processes");
    for (size_t n = 0; n < i->n_processes; n++) {
        struct mt_out one = mt_out_object(list, NULL);
        mt_out_i64(one, "pid", i->processes[n].pid);
        mt_out_u64(one, "bytes", i->processes[n].bytes);
    }
    mt_out_text(o, "own_process", i->own_process);
}

static void put_incident(struct mt_out list, const struct mt_incident *i)
{
    struct mt_out o = mt_out_object(list, NULL);
    i->line ? mt_out_u64(o, "line", i->line) : mt_out_null(o, "line");
    mt_out_text(o, "file", i->file[0] ? i->file : NULL);
    mt_out_text(o, "framework", i->framework);
    mt_out_text(o, "format", i->format);
    mt_out_text(o, "backend", i->backend[0] ? i->backend : NULL);
    mt_out_text(o, "kind", KINDS[i->kind]);
    put_i64_known(o, "rank", i->rank);
    put_i64_known(o, "device", i->device);
    mt_out_text(o, "verdict", mt_verdict_id(i->verdict));
    mt_out_text(o, "headline", i->headline);
    mt_out_bool(o, "recovered", i->recovered);
    mt_out_bool(o, "truncated", i->truncated);
    mt_out_u64(o, "repeats", i->repeats);
    put_i64_known(o, "step", i->step);
    mt_out_text(o, "phase", i->phase ? mt_phase_id(i->phase) : NULL);
    mt_out_text(o, "program", i->program[0] ? i->program : NULL);
    put_numbers(o, i);
    put_processes(o, i);
    mt_out_str(o, "text", i->text);
}

static void put_advice(struct mt_out o, const struct mt_triage_result *x)
{
    struct mt_out list = mt_out_array(o, "advice");
    for (size_t n = 0; n < x->n_advice; n++) {
        const struct mt_advice *a = &x->advice[n];
        struct mt_out one = mt_out_object(list, NULL);
        mt_out_text(one, "id", a->id);
        mt_out_str(one, "text", a->text);
        struct mt_out commands = mt_out_array(one, "commands");
        for (size_t c = 0; c < a->n_commands; c++) {
            mt_out_str(commands, NULL, a->commands[c]);
        }
        mt_out_bool(one, "applies", a->applies);
        mt_out_str(one, "why", a->why);
    }
}

static void put_series(struct mt_out o, const struct mt_triage_result *x)
{
    static const char *const SERIES[MT_SERIES_KIND_COUNT] = {"used", "peak", "reserved", "free"};
    struct mt_out list = mt_out_array(o, "series");
    for (size_t n = 0; n < x->n_series; n++) {
        const struct mt_series *s = &x->series[n];
        struct mt_out one = mt_out_object(list, NULL);
        mt_out_text(one, "file", s->file);
        mt_out_text(one, "kind", SERIES[s->kind]);
        mt_out_u64(one, "samples", s->samples);
        mt_out_u64(one, "first_line", s->first_line);
        mt_out_u64(one, "last_line", s->last_line);
        mt_out_u64(one, "first_bytes", s->first);
        mt_out_u64(one, "last_bytes", s->last);
        mt_out_u64(one, "max_bytes", s->max);
        mt_out_i64(one, "bytes_per_step", (int64_t)s->bytes_per_step);
        mt_out_bool(one, "leak", s->is_leak);
    }
}

static void put_tables(struct mt_out o, const struct mt_triage_result *x)
{
    static const char *const ROWS[MT_SUMMARY_ROW_COUNT] = {"allocated", "active", "requested",
                                                           "reserved", "non_releasable"};
    struct mt_out list = mt_out_array(o, "memory_summaries");
    for (size_t n = 0; n < x->n_tables; n++) {
        const struct mt_summary_table *t = &x->tables[n];
        struct mt_out one = mt_out_object(list, NULL);
        mt_out_text(one, "file", t->file);
        mt_out_u64(one, "line", t->line);
        put_i64_known(one, "device", t->device);
        put_i64_known(one, "num_ooms", t->ooms);
        put_i64_known(one, "num_alloc_retries", t->retries);
        for (size_t row = 0; row < MT_SUMMARY_ROW_COUNT; row++) {
            if (t->present >> row & 1u) {
                struct mt_out cells = mt_out_object(one, ROWS[row]);
                mt_out_u64(cells, "current_bytes", t->bytes[row][MT_SUMMARY_CURRENT]);
                mt_out_u64(cells, "peak_bytes", t->bytes[row][MT_SUMMARY_PEAK]);
            }
        }
    }
    struct mt_out cards = mt_out_array(o, "cards");
    for (size_t n = 0; n < x->n_cards; n++) {
        struct mt_out one = mt_out_object(cards, NULL);
        mt_out_text(one, "file", x->cards[n].file);
        mt_out_u64(one, "line", x->cards[n].line);
        mt_out_i64(one, "device", x->cards[n].device);
        mt_out_u64(one, "used_bytes", x->cards[n].used);
        mt_out_u64(one, "total_bytes", x->cards[n].total);
    }
}

static void put_shots(struct mt_out o, const struct mt_triage_result *x)
{
    struct mt_out list = mt_out_array(o, "snapshots");
    for (size_t n = 0; n < x->n_shots; n++) {
        const struct mt_triage_shot *s = &x->shots[n];
        struct mt_out one = mt_out_object(list, NULL);
        mt_out_text(one, "file", s->file);
        put_i64_known(one, "device", s->device);
        mt_out_bool(one, "belongs", s->belongs);
        mt_out_known(one, "requested_bytes", s->has_oom, s->requested);
        mt_out_u64(one, "largest_hole_bytes", s->largest_hole);
        mt_out_u64(one, "allocated_bytes", s->allocated);
        mt_out_u64(one, "reserved_bytes", s->reserved);
        mt_out_i64(one, "bytes_per_step", s->bytes_per_step);
        struct mt_out trials = mt_out_array(one, "replays");
        for (size_t k = 0; k < s->n_trials; k++) {
            struct mt_out trial = mt_out_object(trials, NULL);
            mt_out_text(trial, "conf", s->trials[k].conf);
            mt_out_text(trial, "verdict", s->trials[k].verdict);
        }
        struct mt_out changes = mt_out_array(one, "changes");
        for (size_t k = 0; k < s->changes->list.n; k++) {
            mt_sim_put_cure(changes, s->snapshot, &s->changes->list.v[k], s->changes->reserved);
        }
        mt_out_account(one, s->account);
    }
}

enum mt_status mt_report_triage_json(const struct mt_report *r, const struct mt_triage_result *x,
                                     struct mt_error *err)
{
    struct mt_json_out json;
    struct mt_out o = mt_report_json(&json, r, "triage/1", false);
    mt_out_text(o, "verdict", mt_verdict_id(x->verdict));
    struct mt_out also = mt_out_array(o, "also");
    for (size_t n = 0; n < x->n_also; n++) {
        mt_out_str(also, NULL, mt_str_from(mt_verdict_id(x->also[n])));
    }
    mt_out_text(o, "confidence", mt_confidence_id(x->confidence));
    mt_out_text(o, "headline", x->headline);
    mt_out_known(o, "cause", x->cause != SIZE_MAX, x->cause);
    struct mt_out incidents = mt_out_array(o, "incidents");
    for (size_t n = 0; n < x->n_incidents; n++) {
        put_incident(incidents, &x->incidents[n]);
    }
    mt_out_u64(o, "incidents_dropped", x->incidents_dropped);
    struct mt_out evidence = mt_out_array(o, "evidence");
    for (size_t n = 0; n < x->n_evidence; n++) {
        mt_out_str(evidence, NULL, x->evidence[n]);
    }
    put_advice(o, x);
    put_series(o, x);
    put_tables(o, x);
    put_shots(o, x);
    x->conf.n ? mt_out_str(o, "alloc_conf", x->conf) : mt_out_null(o, "alloc_conf");
    mt_out_u64(o, "lines", x->lines);
    mt_out_u64(o, "bytes_read", x->bytes);
    return mt_report_json_end(o, err);
}
