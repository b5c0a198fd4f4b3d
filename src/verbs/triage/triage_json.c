/* SPDX-License-Identifier: MIT */
/* A triage as JSON: triage/1. What a message does not print is null. */
#include "print/account_report.h"
#include "print/json_put.h"
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

static void put_i64_known(struct mt_put *p, cJSON *o, const char *key, int64_t n)
{
    n < 0 ? mt_put_null(p, o, key) : mt_put_i64(p, o, key, n);
}

static void put_numbers(struct mt_put *p, cJSON *o, const struct mt_incident *i)
{
    cJSON *numbers = mt_put_object(p, o, "numbers");
    for (unsigned f = 0; f < MT_OOM_FIELD_COUNT; f++) {
        mt_put_known(p, numbers, KEYS[f], mt_oom_has(&i->numbers, f), i->numbers.v[f]);
    }
    mt_put_known(p, numbers, "allowed_below_bytes", i->allowed_below > 0, i->allowed_below);
    cJSON *derived = mt_put_array(p, o, "derived");
    for (unsigned f = 0; f < MT_OOM_FIELD_COUNT; f++) {
        if (i->numbers.derived >> f & 1u) {
            mt_put_item(p, derived, NULL, mt_json_str_item(mt_str_from(KEYS[f])));
        }
    }
}

static void put_processes(struct mt_put *p, cJSON *o, const struct mt_incident *i)
{
    cJSON *list = mt_put_array(p, o, "processes");
    for (size_t n = 0; n < i->n_processes; n++) {
        cJSON *one = mt_put_object(p, list, NULL);
        mt_put_i64(p, one, "pid", i->processes[n].pid);
        mt_put_u64(p, one, "bytes", i->processes[n].bytes);
    }
    mt_put_text(p, o, "own_process", i->own_process);
}

static void put_incident(struct mt_put *p, cJSON *list, const struct mt_incident *i)
{
    cJSON *o = mt_put_object(p, list, NULL);
    i->line ? mt_put_u64(p, o, "line", i->line) : mt_put_null(p, o, "line");
    mt_put_text(p, o, "file", i->file[0] ? i->file : NULL);
    mt_put_text(p, o, "framework", i->framework);
    mt_put_text(p, o, "format", i->format);
    mt_put_text(p, o, "backend", i->backend[0] ? i->backend : NULL);
    mt_put_text(p, o, "kind", KINDS[i->kind]);
    put_i64_known(p, o, "rank", i->rank);
    put_i64_known(p, o, "device", i->device);
    mt_put_text(p, o, "verdict", mt_verdict_id(i->verdict));
    mt_put_text(p, o, "headline", i->headline);
    mt_put_bool(p, o, "recovered", i->recovered);
    mt_put_bool(p, o, "truncated", i->truncated);
    mt_put_u64(p, o, "repeats", i->repeats);
    put_i64_known(p, o, "step", i->step);
    mt_put_text(p, o, "phase", i->phase ? mt_phase_id(i->phase) : NULL);
    mt_put_text(p, o, "program", i->program[0] ? i->program : NULL);
    put_numbers(p, o, i);
    put_processes(p, o, i);
    mt_put_str(p, o, "text", i->text);
}

static void put_advice(struct mt_put *p, cJSON *o, const struct mt_triage_result *x)
{
    cJSON *list = mt_put_array(p, o, "advice");
    for (size_t n = 0; n < x->n_advice; n++) {
        const struct mt_advice *a = &x->advice[n];
        cJSON *one = mt_put_object(p, list, NULL);
        mt_put_text(p, one, "id", a->id);
        mt_put_str(p, one, "text", a->text);
        cJSON *commands = mt_put_array(p, one, "commands");
        for (size_t c = 0; c < a->n_commands; c++) {
            mt_put_item(p, commands, NULL, mt_json_str_item(a->commands[c]));
        }
        mt_put_bool(p, one, "applies", a->applies);
        mt_put_str(p, one, "why", a->why);
    }
}

static void put_series(struct mt_put *p, cJSON *o, const struct mt_triage_result *x)
{
    static const char *const SERIES[MT_SERIES_KIND_COUNT] = {"used", "peak", "reserved", "free"};
    cJSON *list = mt_put_array(p, o, "series");
    for (size_t n = 0; n < x->n_series; n++) {
        const struct mt_series *s = &x->series[n];
        cJSON *one = mt_put_object(p, list, NULL);
        mt_put_text(p, one, "file", s->file);
        mt_put_text(p, one, "kind", SERIES[s->kind]);
        mt_put_u64(p, one, "samples", s->samples);
        mt_put_u64(p, one, "first_line", s->first_line);
        mt_put_u64(p, one, "last_line", s->last_line);
        mt_put_u64(p, one, "first_bytes", s->first);
        mt_put_u64(p, one, "last_bytes", s->last);
        mt_put_u64(p, one, "max_bytes", s->max);
        mt_put_i64(p, one, "bytes_per_step", (int64_t)s->bytes_per_step);
        mt_put_bool(p, one, "leak", s->is_leak);
    }
}

static void put_tables(struct mt_put *p, cJSON *o, const struct mt_triage_result *x)
{
    static const char *const ROWS[MT_SUMMARY_ROW_COUNT] = {"allocated", "active", "requested",
                                                           "reserved", "non_releasable"};
    cJSON *list = mt_put_array(p, o, "memory_summaries");
    for (size_t n = 0; n < x->n_tables; n++) {
        const struct mt_summary_table *t = &x->tables[n];
        cJSON *one = mt_put_object(p, list, NULL);
        mt_put_text(p, one, "file", t->file);
        mt_put_u64(p, one, "line", t->line);
        put_i64_known(p, one, "device", t->device);
        put_i64_known(p, one, "num_ooms", t->ooms);
        put_i64_known(p, one, "num_alloc_retries", t->retries);
        for (size_t row = 0; row < MT_SUMMARY_ROW_COUNT; row++) {
            if (t->present >> row & 1u) {
                cJSON *cells = mt_put_object(p, one, ROWS[row]);
                mt_put_u64(p, cells, "current_bytes", t->bytes[row][MT_SUMMARY_CURRENT]);
                mt_put_u64(p, cells, "peak_bytes", t->bytes[row][MT_SUMMARY_PEAK]);
            }
        }
    }
    cJSON *cards = mt_put_array(p, o, "cards");
    for (size_t n = 0; n < x->n_cards; n++) {
        cJSON *one = mt_put_object(p, cards, NULL);
        mt_put_text(p, one, "file", x->cards[n].file);
        mt_put_u64(p, one, "line", x->cards[n].line);
        mt_put_i64(p, one, "device", x->cards[n].device);
        mt_put_u64(p, one, "used_bytes", x->cards[n].used);
        mt_put_u64(p, one, "total_bytes", x->cards[n].total);
    }
}

static void put_shots(struct mt_put *p, cJSON *o, const struct mt_triage_result *x)
{
    cJSON *list = mt_put_array(p, o, "snapshots");
    for (size_t n = 0; n < x->n_shots; n++) {
        const struct mt_triage_shot *s = &x->shots[n];
        cJSON *one = mt_put_object(p, list, NULL);
        mt_put_text(p, one, "file", s->file);
        put_i64_known(p, one, "device", s->device);
        mt_put_bool(p, one, "belongs", s->belongs);
        mt_put_known(p, one, "requested_bytes", s->has_oom, s->requested);
        mt_put_u64(p, one, "largest_hole_bytes", s->largest_hole);
        mt_put_u64(p, one, "allocated_bytes", s->allocated);
        mt_put_u64(p, one, "reserved_bytes", s->reserved);
        mt_put_i64(p, one, "bytes_per_step", s->bytes_per_step);
        cJSON *trials = mt_put_array(p, one, "replays");
        for (size_t k = 0; k < s->n_trials; k++) {
            cJSON *trial = mt_put_object(p, trials, NULL);
            mt_put_text(p, trial, "conf", s->trials[k].conf);
            mt_put_text(p, trial, "verdict", s->trials[k].verdict);
        }
        cJSON *changes = mt_put_array(p, one, "changes");
        for (size_t k = 0; k < s->changes->list.n; k++) {
            mt_sim_put_cure(p, changes, s->snapshot, &s->changes->list.v[k], s->changes->reserved);
        }
        mt_account_json(p, one, s->account);
    }
}

enum mt_status mt_report_triage_json(const struct mt_report *r, const struct mt_triage_result *x,
                                     struct mt_error *err)
{
    struct mt_put p = {0};
    cJSON *o = mt_json_begin(r, "triage/1");
    mt_put_text(&p, o, "verdict", mt_verdict_id(x->verdict));
    cJSON *also = mt_put_array(&p, o, "also");
    for (size_t n = 0; n < x->n_also; n++) {
        mt_put_item(&p, also, NULL, mt_json_str_item(mt_str_from(mt_verdict_id(x->also[n]))));
    }
    mt_put_text(&p, o, "confidence", mt_confidence_id(x->confidence));
    mt_put_text(&p, o, "headline", x->headline);
    mt_put_known(&p, o, "cause", x->cause != SIZE_MAX, x->cause);
    cJSON *incidents = mt_put_array(&p, o, "incidents");
    for (size_t n = 0; n < x->n_incidents; n++) {
        put_incident(&p, incidents, &x->incidents[n]);
    }
    mt_put_u64(&p, o, "incidents_dropped", x->incidents_dropped);
    cJSON *evidence = mt_put_array(&p, o, "evidence");
    for (size_t n = 0; n < x->n_evidence; n++) {
        mt_put_item(&p, evidence, NULL, mt_json_str_item(x->evidence[n]));
    }
    put_advice(&p, o, x);
    put_series(&p, o, x);
    put_tables(&p, o, x);
    put_shots(&p, o, x);
    x->conf.n ? mt_put_str(&p, o, "alloc_conf", x->conf) : mt_put_null(&p, o, "alloc_conf");
    mt_put_u64(&p, o, "lines", x->lines);
    mt_put_u64(&p, o, "bytes_read", x->bytes);
    return mt_put_end(&p, r, o, false, err);
}
