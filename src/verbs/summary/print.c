/* SPDX-License-Identifier: MIT */
/*
 * memory_summary() as PyTorch prints it: 77 columns, the unit of a cell chosen by its column's
 * value for all pools. What a snapshot does not determine is blank, and a line below says why.
 */
#include <inttypes.h>
#include <stdio.h>

#include "verbs/summary/print.h"
#include "print/report_json.h"

enum { WIDTH = 75, CELL = 10 };

static void print_rule(const struct mt_report *r, char c)
{
    char line[WIDTH + 1];
    memset(line, c, WIDTH);
    line[WIDTH] = '\0';
    fprintf(r->out, "|%s|\n", line);
}

/* A plain counter of the head, blank when it is not known. */
static struct mt_summary_cell plain(bool known, uint64_t n)
{
    struct mt_summary_cell c = {""};
    if (known) {
        snprintf(c.s, sizeof c.s, "%" PRIu64, n);
    }
    return c;
}

static void print_head(const struct mt_report *r, int device, struct mt_summary_cell ooms,
                       struct mt_summary_cell retries)
{
    print_rule(r, '=');
    fprintf(r->out, "| %-16s PyTorch CUDA memory summary, device ID %-17d |\n", "", device);
    print_rule(r, '-');
    fprintf(r->out, "|  %-9s CUDA OOMs: %-12s | %-6s cudaMalloc retries: %-8s  |\n", "", ooms.s, "",
            retries.s);
    print_rule(r, '=');
    fputs("|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n",
          r->out);
}

static const char *slot_label(enum mt_stat_kind k, int slot)
{
    static const char *const POOLS[] = {
        [MT_SLOT_LARGE] = "      from large pool", [MT_SLOT_SMALL] = "      from small pool"};
    return slot == MT_SLOT_ALL ? mt_stat_label(k) : POOLS[slot];
}

static void print_device(const struct mt_report *r, const struct mt_summary *d)
{
    print_head(r, d->device, plain(d->ooms_known, d->ooms), plain(d->retries_known, d->retries));
    for (int k = 0; k < MT_STAT_COUNT; k++) {
        enum mt_stat_kind kind = (enum mt_stat_kind)k;
        print_rule(r, '-');
        for (int slot = 0; slot < (mt_stat_has_pools(kind) ? MT_SLOT_COUNT : 1); slot++) {
            fprintf(r->out, "| %-21s |", slot_label(kind, slot));
            for (int c = 0; c < MT_STAT_COLUMN_COUNT; c++) {
                struct mt_summary_cell cell = {""};
                if (c == MT_STAT_COLUMN_CURRENT || d->proved) {
                    cell = mt_summary_cell(d->stats[k][slot].v[c], d->stats[k][MT_SLOT_ALL].v[c],
                                           mt_stat_is_bytes(kind));
                }
                fprintf(r->out, " %*s |", CELL, cell.s);
            }
            fputc('\n', r->out);
        }
    }
    print_rule(r, '=');
}

void mt_report_summary_text(const struct mt_report *r, const struct mt_summary *devices, size_t n)
{
    bool blank = false;
    for (size_t i = 0; i < n; i++) {
        print_device(r, &devices[i]);
        blank |= !devices[i].proved;
    }
    if (!n) {
        fputs("No device has segments or events.\n", r->out);
    }
    if (blank) {
        mt_report_prose(r, 0,
                        "Blank: not known. Peaks and totals count from the start of the process, "
                        "and the trace of this file does not reach back to it.");
    }
}

/* ---- JSON ---- */

static void put_stats(struct mt_out o, const struct mt_summary *d)
{
    static const char *const SLOT[] = {
        [MT_SLOT_ALL] = ".all", [MT_SLOT_LARGE] = ".large_pool", [MT_SLOT_SMALL] = ".small_pool"};
    static const char *const COLUMN[] = {"current", "peak", "allocated", "freed"};
    for (int k = 0; k < MT_STAT_COUNT; k++) {
        bool pools = mt_stat_has_pools((enum mt_stat_kind)k);
        for (int slot = 0; slot < (pools ? MT_SLOT_COUNT : 1); slot++) {
            for (int c = 0; c < MT_STAT_COLUMN_COUNT; c++) {
                char key[64];
                snprintf(key, sizeof key, "%s%s.%s", mt_stat_key((enum mt_stat_kind)k),
                         pools ? SLOT[slot] : "", COLUMN[c]);
                mt_out_known(o, key, c == MT_STAT_COLUMN_CURRENT || d->proved,
                             d->stats[k][slot].v[c]);
            }
        }
    }
    mt_out_known(o, "num_ooms", d->ooms_known, d->ooms);
    mt_out_known(o, "num_alloc_retries", d->retries_known, d->retries);
}

enum mt_status mt_report_summary_json(const struct mt_report *r, const struct mt_summary *devices,
                                      size_t n, bool one_line, struct mt_error *err)
{
    struct mt_json_out json;
    struct mt_out root = mt_report_json(&json, r, "summary/1", one_line);
    struct mt_out list = mt_out_array(root, "devices");
    for (size_t i = 0; i < n; i++) {
        struct mt_out o = mt_out_object(list, NULL);
        mt_out_i64(o, "device", devices[i].device);
        mt_out_bool(o, "complete", devices[i].proved);
        put_stats(mt_out_object(o, "counters"), &devices[i]);
    }
    return mt_report_json_end(root, err);
}
