/* SPDX-License-Identifier: MIT */
/*
 * The counters of a device taken apart: small and large pool, private pools, streams. On a narrow
 * terminal the columns that can be told from the others, or matter least, are left out; CSV has all
 * of them, and the device in front.
 */
#include <inttypes.h>
#include <limits.h>

#include "print/labels.h"
#include "verbs/stats/print.h"
#include "verbs/stats/stats_sections.h"

/* Columns of the terminal that a figure asks for; IN_CSV: the text goes without it. */
enum { ALWAYS = 0, ROOMY = 96, WIDE = 132, IN_CSV = INT_MAX };

enum { FREE_BLOCKS = sizeof(struct mt_counters) }; /* no field: all blocks but the active ones */

struct part_column {
    const char *title;
    size_t offset; /* of a uint64_t in struct mt_counters, or FREE_BLOCKS */
    bool is_count;
    int least_width;
};

static const struct part_column COLUMNS[] = {
    {"RESERVED", offsetof(struct mt_counters, reserved), false, ALWAYS},
    {"ALLOCATED", offsetof(struct mt_counters, allocated), false, ALWAYS},
    {"REQUESTED", offsetof(struct mt_counters, requested), false, WIDE},
    {"FREE", offsetof(struct mt_counters, inactive), false, ALWAYS},
    {"NON-RELEASABLE", offsetof(struct mt_counters, inactive_split), false, WIDE},
    {"LARGEST FREE", offsetof(struct mt_counters, largest_free), false, ROOMY},
    {"SEGMENTS", offsetof(struct mt_counters, segments), true, ROOMY},
    {"BLOCKS IN USE", offsetof(struct mt_counters, allocated_blocks), true, MT_STATS_NARROW},
    {"FREE BLOCKS", FREE_BLOCKS, true, IN_CSV},
};

/* Those of stats --json, where it has them. */
#define IN_CSV_NAMES                                                                               \
    "device,part,reserved_bytes,allocated_bytes,requested_bytes,free_bytes,inactive_split_bytes,"  \
    "largest_free_block_bytes,segments,blocks_in_use,free_blocks"

struct parts {
    const struct mt_report *r;
    const struct mt_snapshot *s;
    struct mt_table *table;
    struct mt_buf label;
};

static bool has_column(const struct mt_report *r, const struct part_column *c)
{
    int width = r->separator ? IN_CSV : r->width ? r->width : WIDE;
    return width >= c->least_width;
}

static enum mt_status begin(struct parts *p, const struct mt_report *r, const struct mt_snapshot *s,
                            struct mt_error *err)
{
    *p = (struct parts){.r = r, .s = s, .table = mt_table_new()};
    if (!p->table) {
        return mt_fail_nomem(err);
    }
    if (r->separator) {
        mt_table_column(p->table, "DEVICE", MT_RIGHT);
    }
    mt_table_column(p->table, "OF WHICH", MT_LEFT);
    mt_table_names(p->table, IN_CSV_NAMES);
    for (size_t i = 0; i < MT_COUNT(COLUMNS); i++) {
        if (has_column(r, &COLUMNS[i])) {
            mt_table_column(p->table, COLUMNS[i].title, MT_RIGHT);
        }
    }
    return MT_OK;
}

static enum mt_status end(struct parts *p, int indent, struct mt_error *err)
{
    enum mt_status status = mt_table_print(p->table, p->r, indent, err);
    mt_buf_release(&p->label);
    mt_table_free(p->table);
    return status;
}

static uint64_t figure(const struct mt_counters *c, const struct part_column *column)
{
    uint64_t n;
    if (column->offset == FREE_BLOCKS) {
        return c->blocks - c->active_blocks;
    }
    memcpy(&n, (const char *)c + column->offset, sizeof n);
    return n;
}

/* A row under the label that was put together, which is emptied. */
static void row(struct parts *p, const struct mt_device_totals *d, const struct mt_counters *c)
{
    if (p->r->separator) {
        mt_table_cell(p->table, "%" PRId32, d->device);
    }
    mt_table_buf(p->table, &p->label);
    mt_buf_reset(&p->label);
    for (size_t i = 0; i < MT_COUNT(COLUMNS); i++) {
        uint64_t n = figure(c, &COLUMNS[i]);
        if (has_column(p->r, &COLUMNS[i])) {
            COLUMNS[i].is_count ? mt_table_count(p->table, n) : mt_table_size(p->table, n);
        }
    }
}

static void rows(struct parts *p, const struct mt_device_totals *d)
{
    static const char *const names[] = {"small pool", "large pool"};
    for (int k = 0; k < MT_POOL_KIND_COUNT; k++) {
        mt_buf_text(&p->label, names[k]);
        row(p, d, &d->pool[k]);
    }
    if (d->private_pools.n) {
        mt_table_rule(p->table);
    }
    for (size_t i = 0; i < d->private_pools.n; i++) {
        mt_pool_label(&p->label, d->private_pools.v[i].id);
        row(p, d, &d->private_pools.v[i].counters);
    }
    mt_table_rule(p->table);
    for (size_t i = 0; i < d->streams.n; i++) {
        mt_stream_label(&p->label, p->s, d->streams.v[i].stream);
        row(p, d, &d->streams.v[i].counters);
    }
}

enum mt_status mt_stats_parts(const struct mt_report *r, const struct mt_snapshot *s,
                              const struct mt_device_totals *d, struct mt_error *err)
{
    struct parts p;
    MT_TRY(begin(&p, r, s, err));
    rows(&p, d);
    mt_table_rule(p.table);
    mt_buf_text(&p.label, "TOTAL");
    row(&p, d, &d->all);
    fputc('\n', r->out);
    return end(&p, 2, err);
}

enum mt_status mt_report_stats_csv(const struct mt_report *r, const struct mt_snapshot *s,
                                   const struct mt_totals *t, struct mt_error *err)
{
    struct parts p;
    MT_TRY(begin(&p, r, s, err));
    for (size_t i = 0; i < t->devices.n; i++) {
        mt_buf_text(&p.label, "all");
        row(&p, &t->devices.v[i], &t->devices.v[i].all);
        rows(&p, &t->devices.v[i]);
    }
    return end(&p, 0, err);
}
