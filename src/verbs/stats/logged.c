/* SPDX-License-Identifier: MIT */
/* stats of memory_stats() and memory_summary() as a program printed them: what was counted last. */
#include <inttypes.h>
#include <string.h>

#include "heap/sums/logged.h"
#include "verbs/stats/print.h"

#include "print/figures.h"
#include "print/report_json.h"

static const struct mt_logged_value *current(const struct mt_logged_table *t, enum mt_stat_kind k,
                                             int slot)
{
    return &t->cells[k][slot][MT_STAT_COLUMN_CURRENT];
}

/* ---- JSON ---- */

static const struct {
    const char *key;
    enum mt_stat_kind kind;
} COUNTERS[] = {
    {"allocated_bytes", MT_STAT_ALLOCATED_BYTES},
    {"active_bytes", MT_STAT_ACTIVE_BYTES},
    {"requested_bytes", MT_STAT_REQUESTED_BYTES},
    {"reserved_bytes", MT_STAT_RESERVED_BYTES},
    {"inactive_split_bytes", MT_STAT_INACTIVE_SPLIT_BYTES},
    {"segments", MT_STAT_SEGMENT},
    {"allocated_blocks", MT_STAT_ALLOCATION},
    {"active_blocks", MT_STAT_ACTIVE},
    {"inactive_split_blocks", MT_STAT_INACTIVE_SPLIT},
};

static void put_value(struct mt_out o, const char *key, const struct mt_logged_value *v)
{
    mt_out_known(o, key, v->present, mt_logged_bytes(v));
}

static void put_counters(struct mt_out o, const struct mt_logged_table *t, int slot)
{
    for (size_t i = 0; i < MT_COUNT(COUNTERS); i++) {
        put_value(o, COUNTERS[i].key, current(t, COUNTERS[i].kind, slot));
    }
    const struct mt_logged_value *reserved = current(t, MT_STAT_RESERVED_BYTES, slot);
    const struct mt_logged_value *active = current(t, MT_STAT_ACTIVE_BYTES, slot);
    bool known = reserved->present && active->present;
    known ? mt_out_i64(o, "free_bytes",
                       (int64_t)(mt_logged_bytes(reserved) - mt_logged_bytes(active)))
          : mt_out_null(o, "free_bytes");
    mt_out_null(o, "largest_free_block_bytes");
}

/* Counts beside the others; what releases and patches add by its own names. */
static void put_others(struct mt_out o, struct mt_out counters, const struct mt_logged *l,
                       const struct mt_logged_table *t)
{
    struct mt_out others = mt_out_object(o, "others");
    for (size_t i = 0; i < t->n_others; i++) {
        const struct mt_logged_other *x = &l->others.v[t->first_other + i];
        bool counts = strncmp(x->key, "num_", 4) == 0;
        mt_out_u64(counts ? counters : others, x->key, x->value);
    }
}

static void put_table(struct mt_out devices, const struct mt_logged *l,
                      const struct mt_logged_table *t)
{
    struct mt_out o = mt_out_object(devices, NULL);
    mt_out_u64(o, "device", t->device);
    mt_out_known(o, "rank", t->rank >= 0, (uint64_t)t->rank);
    mt_out_u64(o, "line", t->line);
    put_counters(o, t, MT_SLOT_ALL);
    put_value(o, "peak_allocated_bytes",
              &t->cells[MT_STAT_ALLOCATED_BYTES][MT_SLOT_ALL][MT_STAT_COLUMN_PEAK]);
    put_value(o, "peak_reserved_bytes",
              &t->cells[MT_STAT_RESERVED_BYTES][MT_SLOT_ALL][MT_STAT_COLUMN_PEAK]);
    struct mt_out pools = mt_out_object(o, "pools");
    put_counters(mt_out_object(pools, "small"), t, MT_SLOT_SMALL);
    put_counters(mt_out_object(pools, "large"), t, MT_SLOT_LARGE);
    struct mt_out counters = mt_out_object(o, "counters");
    put_value(counters, "num_ooms", &t->ooms);
    put_value(counters, "num_alloc_retries", &t->retries);
    put_others(o, counters, l, t);
}

enum mt_status mt_report_stats_logged_json(const struct mt_report *r, const struct mt_logged *l,
                                           bool one_line, struct mt_error *err)
{
    struct mt_json_out json;
    struct mt_out root = mt_report_json(&json, r, "stats/1", one_line);
    mt_out_text(root, "source", "printed");
    struct mt_out devices = mt_out_array(root, "devices");
    for (size_t i = 0; i < l->tables.n; i++) {
        if (mt_logged_is_last(l, i)) {
            put_table(devices, l, &l->tables.v[i]);
        }
    }
    return mt_report_json_end(root, err);
}

/* ---- text ---- */

static void add_size(struct mt_figures *f, const char *label, const struct mt_logged_table *t,
                     enum mt_stat_kind kind, enum mt_stat_column column, const char *key,
                     const char *note)
{
    const struct mt_logged_value *v = &t->cells[kind][MT_SLOT_ALL][column];
    uint64_t whole = mt_logged_bytes(current(t, MT_STAT_RESERVED_BYTES, MT_SLOT_ALL));
    if (v->present) {
        mt_figure_size(f, label, mt_logged_bytes(v), whole, key, "%s", note);
    }
}

/* "module_bytes.layers.0.activation 256.00 MiB": names of other releases and of patches. */
static void add_others(struct mt_figures *f, const struct mt_logged *l,
                       const struct mt_logged_table *t)
{
    uint64_t whole = mt_logged_bytes(current(t, MT_STAT_RESERVED_BYTES, MT_SLOT_ALL));
    for (size_t i = 0; i < t->n_others; i++) {
        const struct mt_logged_other *x = &l->others.v[t->first_other + i];
        struct mt_str name = mt_str_from(x->key);
        bool bytes = mt_str_find(name, MT_STR("bytes")) != SIZE_MAX;
        if (bytes && mt_str_ends(name, MT_STR(".current"))) {
            char label[MT_LOGGED_KEY];
            snprintf(label, sizeof label, "%.*s", (int)(name.n - strlen(".current")), x->key);
            mt_figure_size(f, label, x->value, whole, x->key, "%s", "");
        }
    }
}

static enum mt_status print_table(const struct mt_report *r, const struct mt_logged *l,
                                  const struct mt_logged_table *t, struct mt_error *err)
{
    struct mt_figures f;
    fprintf(r->out, "\nDevice %" PRIu32, t->device);
    fprintf(r->out, t->rank >= 0 ? " of rank %" PRId32 : "", t->rank);
    fprintf(r->out, ", line %zu\n", t->line);
    MT_TRY(mt_figures_begin(&f, r, err));
    add_size(&f, "reserved", t, MT_STAT_RESERVED_BYTES, MT_STAT_COLUMN_CURRENT,
             "reserved_bytes.all.current", "taken from the driver");
    add_size(&f, "allocated", t, MT_STAT_ALLOCATED_BYTES, MT_STAT_COLUMN_CURRENT,
             "allocated_bytes.all.current", "in use");
    add_size(&f, "  requested", t, MT_STAT_REQUESTED_BYTES, MT_STAT_COLUMN_CURRENT,
             "requested_bytes.all.current", "what was asked for; the rest is rounding");
    add_size(&f, "non-releasable", t, MT_STAT_INACTIVE_SPLIT_BYTES, MT_STAT_COLUMN_CURRENT,
             "inactive_split_bytes.all.current", "free beside live blocks in a segment");
    add_size(&f, "peak allocated", t, MT_STAT_ALLOCATED_BYTES, MT_STAT_COLUMN_PEAK,
             "allocated_bytes.all.peak", "since the start or the last reset");
    add_size(&f, "peak reserved", t, MT_STAT_RESERVED_BYTES, MT_STAT_COLUMN_PEAK,
             "reserved_bytes.all.peak", "since the start or the last reset");
    if (t->ooms.present) {
        mt_figure_count(&f, "out of memory", t->ooms.value, 0, "num_ooms", "%s", "");
    }
    if (t->retries.present) {
        mt_figure_count(&f, "retries", t->retries.value, 0, "num_alloc_retries", "%s",
                        "the cache was emptied to serve a request");
    }
    add_others(&f, l, t);
    return mt_figures_end(&f, err);
}

enum mt_status mt_report_stats_logged_text(const struct mt_report *r, const struct mt_logged *l,
                                           struct mt_error *err)
{
    fputs(mt_color_begin(r, MT_COLOR_HEAD), r->out);
    mt_text_put(r, r->file);
    fprintf(r->out, "%s\n", mt_color_end(r));
    mt_report_prose(r, 0,
                    "Figures that the program printed, the last of %zu; blocks and segments "
                    "are not in them.",
                    l->tables.n);
    for (size_t i = 0; i < l->tables.n; i++) {
        if (mt_logged_is_last(l, i)) {
            MT_TRY(print_table(r, l, &l->tables.v[i], err));
        }
    }
    return MT_OK;
}
