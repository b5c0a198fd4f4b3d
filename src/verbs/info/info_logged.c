/* SPDX-License-Identifier: MIT */
/* info of figures that a program printed: which they are, of whom, and what can be asked. */
#include <inttypes.h>

#include "cli/logged_input.h"
#include "heap/sums/logged.h"
#include "print/report_json.h"
#include "print/labels.h"
#include "verbs/info/print.h"

static const char *const KINDS[] = {"tables", "trainer_lines", "memory_stats"};

static const struct mt_logged_value *current(const struct mt_logged_table *t, enum mt_stat_kind k)
{
    return &t->cells[k][MT_SLOT_ALL][MT_STAT_COLUMN_CURRENT];
}

static size_t count_kind(const struct mt_logged *l, size_t kind)
{
    size_t n = 0;
    for (size_t i = 0; i < l->tables.n; i++) {
        n += l->tables.v[i].kind == kind;
    }
    return n;
}

/* Growth shows from one to the next; what one tells alone, stats prints. */
static void add_next(struct mt_buf *b, const struct mt_report *r, const struct mt_logged *l)
{
    mt_buf_printf(b, "memtool %s ", l->tables.n > 2 ? "leaks" : "stats");
    mt_text_safe(b, mt_str_from(r->file));
}

/* ---- text ---- */

static void print_devices(const struct mt_report *r, const struct mt_logged *l)
{
    for (size_t i = 0; i < l->tables.n; i++) {
        const struct mt_logged_table *t = &l->tables.v[i];
        const struct mt_logged_value *reserved = current(t, MT_STAT_RESERVED_BYTES);
        if (!mt_logged_is_last(l, i)) {
            continue;
        }
        fprintf(r->out, "  device %-3" PRIu32 " %s allocated", t->device,
                mt_report_size(r, mt_logged_bytes(current(t, MT_STAT_ALLOCATED_BYTES))).s);
        if (reserved->present) {
            fprintf(r->out, " of %s reserved", mt_report_size(r, mt_logged_bytes(reserved)).s);
        }
        fprintf(r->out, t->rank >= 0 ? ", rank %" PRId32 : "", t->rank);
        fprintf(r->out, ", by line %zu, the last of it\n", t->line);
    }
}

static enum mt_status text(const struct mt_report *r, const struct mt_logged *l,
                           struct mt_error *err)
{
    struct mt_buf b = {0};
    fputs(mt_color_begin(r, MT_COLOR_HEAD), r->out);
    mt_text_put(r, r->file);
    fprintf(r->out, "%s\n", mt_color_end(r));
    mt_logged_count_text(&b, l);
    mt_report_line(r, 13, "  figures    %s", mt_buf_view(&b).p);
    mt_report_line(r, 13, "  written by a program that printed what PyTorch's allocator counts");
    print_devices(r, l);
    mt_report_line(r, 13,
                   "  holds      sums of the allocator at those moments; no requests, no "
                   "stacks, no segments, no blocks");
    mt_report_line(r, 13, "  answers    %s", MT_LOGGED_VERBS);
    bool failed = b.failed;
    mt_buf_reset(&b);
    add_next(&b, r, l);
    fprintf(r->out, "\nnext: %s\n", mt_buf_view(&b).p);
    failed |= b.failed;
    mt_buf_release(&b);
    return failed ? mt_fail_nomem(err) : MT_OK;
}

/* ---- JSON ---- */

static void put_device(struct mt_out list, const struct mt_logged_table *t)
{
    const struct mt_logged_value *allocated = current(t, MT_STAT_ALLOCATED_BYTES);
    const struct mt_logged_value *reserved = current(t, MT_STAT_RESERVED_BYTES);
    struct mt_out o = mt_out_object(list, NULL);
    mt_out_u64(o, "device", t->device);
    mt_out_known(o, "rank", t->rank >= 0, (uint64_t)t->rank);
    mt_out_u64(o, "line", t->line);
    mt_out_known(o, "allocated_bytes", allocated->present, mt_logged_bytes(allocated));
    mt_out_known(o, "reserved_bytes", reserved->present, mt_logged_bytes(reserved));
    mt_out_known(o, "ooms", t->ooms.present, t->ooms.value);
}

static enum mt_status json(const struct mt_report *r, const struct mt_logged *l, bool one_line,
                           struct mt_error *err)
{
    struct mt_json_out json;
    struct mt_buf b = {0};
    struct mt_out root = mt_report_json(&json, r, "info/1", one_line);
    mt_out_text(root, "format", "text");
    mt_out_text(root, "told", "printed_figures");
    struct mt_out figures = mt_out_object(root, "figures");
    for (size_t kind = 0; kind < MT_COUNT(KINDS); kind++) {
        mt_out_u64(figures, KINDS[kind], count_kind(l, kind));
    }
    struct mt_out devices = mt_out_array(root, "devices");
    for (size_t i = 0; i < l->tables.n; i++) {
        if (mt_logged_is_last(l, i)) {
            put_device(devices, &l->tables.v[i]);
        }
    }
    mt_out_null(root, "events");
    mt_out_text(root, "answers", MT_LOGGED_VERBS);
    add_next(&b, r, l);
    mt_out_buf(root, "next", &b);
    mt_buf_release(&b);
    return mt_report_json_end(root, err);
}

enum mt_status mt_report_info_logged(const struct mt_report *r, const struct mt_logged *l,
                                     bool one_line, struct mt_error *err)
{
    return r->json ? json(r, l, one_line, err) : text(r, l, err);
}
