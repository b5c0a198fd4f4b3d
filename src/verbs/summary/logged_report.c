/* SPDX-License-Identifier: MIT */
/* Tables of memory_summary() found in logs: one row a table, or two logs side by side. */
#include <inttypes.h>

#include "print/report_json.h"
#include "print/labels.h"
#include "verbs/summary/print.h"

static const struct mt_logged_value *cell(const struct mt_logged_table *t, enum mt_stat_kind k,
                                          enum mt_stat_column c)
{
    return &t->cells[k][MT_SLOT_ALL][c];
}

static int64_t difference(const struct mt_logged_value *after, const struct mt_logged_value *before)
{
    return (int64_t)(mt_logged_bytes(after) - mt_logged_bytes(before));
}

static void add_value(struct mt_table *t, const struct mt_logged_value *v, bool bytes)
{
    if (!v->present) {
        mt_table_cell(t, "%s", "");
    } else if (bytes) {
        mt_table_size(t, mt_logged_bytes(v));
    } else {
        mt_table_count(t, mt_logged_bytes(v));
    }
}

static void add_change(struct mt_table *t, const struct mt_logged_value *after,
                       const struct mt_logged_value *before)
{
    if (before && after->present && before->present) {
        mt_table_delta(t, difference(after, before));
    } else {
        mt_table_cell(t, "%s", "");
    }
}

/* The table before this one of the same device, or NULL. */
static const struct mt_logged_table *one_before(const struct mt_logged *l, size_t i)
{
    for (size_t k = i; k-- > 0;) {
        if (mt_logged_same_place(&l->tables.v[k], &l->tables.v[i])) {
            return &l->tables.v[k];
        }
    }
    return NULL;
}

static void add_columns(struct mt_table *t, const char *const *titles, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        mt_table_column(t, titles[i], titles[i][0] ? MT_RIGHT : MT_LEFT);
    }
}

static void add_table(struct mt_table *t, const struct mt_logged *l, size_t i, bool ranks)
{
    const struct mt_logged_table *x = &l->tables.v[i];
    const struct mt_logged_table *b = one_before(l, i);
    mt_table_count(t, x->line);
    if (ranks) {
        mt_table_cell(t, x->rank < 0 ? "" : "%" PRId32, x->rank);
    }
    mt_table_cell(t, "%" PRIu32, x->device);
    static const enum mt_stat_kind KINDS[] = {MT_STAT_ALLOCATED_BYTES, MT_STAT_RESERVED_BYTES};
    for (size_t k = 0; k < MT_COUNT(KINDS); k++) {
        const struct mt_logged_value *now = cell(x, KINDS[k], MT_STAT_COLUMN_CURRENT);
        add_value(t, now, true);
        add_change(t, now, b ? cell(b, KINDS[k], MT_STAT_COLUMN_CURRENT) : NULL);
    }
    add_value(t, cell(x, MT_STAT_ALLOCATED_BYTES, MT_STAT_COLUMN_PEAK), true);
    add_value(t, &x->retries, false);
    add_value(t, &x->ooms, false);
    mt_table_cell_color(t, x->odd ? MT_COLOR_BAD : MT_COLOR_NONE, "%s",
                        x->odd ? "<- first odd one" : "");
}

static bool has_ranks(const struct mt_logged *l)
{
    for (size_t i = 0; i < l->tables.n; i++) {
        if (l->tables.v[i].rank >= 0) {
            return true;
        }
    }
    return false;
}

static void print_head(const struct mt_report *r, const struct mt_logged *l)
{
    struct mt_buf b = {0};
    mt_logged_count_text(&b, l);
    fprintf(r->out, "%s in the log\n\n", b.n ? mt_buf_view(&b).p : "No table of memory_summary()");
    mt_buf_release(&b);
}

enum mt_status mt_report_logged_text(const struct mt_report *r, const struct mt_logged *l,
                                     struct mt_error *err)
{
    static const char *const TITLES[] = {"LINE",    "RANK",     "DEVICE", "ALLOCATED",
                                         "CHANGE",  "RESERVED", "CHANGE", "PEAK",
                                         "RETRIES", "OOMS",     ""};
    struct mt_table *t = mt_table_new();
    bool ranks = has_ranks(l);
    if (!t) {
        return mt_fail_nomem(err);
    }
    if (!r->separator) {
        print_head(r, l);
    }
    add_columns(t, TITLES, 1);
    add_columns(t, TITLES + 1 + !ranks, MT_COUNT(TITLES) - 1 - !ranks);
    mt_table_names(t, ranks ? "line,rank,device,allocated_bytes,allocated_change_bytes,"
                              "reserved_bytes,reserved_change_bytes,peak_bytes,retries,ooms,"
                            : "line,device,allocated_bytes,allocated_change_bytes,"
                              "reserved_bytes,reserved_change_bytes,peak_bytes,retries,ooms,");
    for (size_t i = 0; i < l->tables.n; i++) {
        add_table(t, l, i, ranks);
    }
    enum mt_status status = mt_table_print(t, r, 0, err);
    mt_table_free(t);
    return status;
}

/* ---- two logs ---- */

/* The next table of a device from *at on, which moves behind it; NULL when there is none. */
static const struct mt_logged_table *next_of(const struct mt_logged *l, uint32_t device, size_t *at)
{
    while (*at < l->tables.n) {
        const struct mt_logged_table *t = &l->tables.v[(*at)++];
        if (t->device == device) {
            return t;
        }
    }
    return NULL;
}

/* Tables of one log that the other has no counterpart of. */
static void print_alone(const struct mt_report *r, size_t first, size_t second)
{
    struct mt_sentence b = {0};
    if (first) {
        mt_sentence_add(&b, "%zu table%s of the first log%s", first, first == 1 ? "" : "s",
                        second ? " and " : "");
    }
    if (second) {
        mt_sentence_add(&b, "%zu table%s of the second log", second, second == 1 ? "" : "s");
    }
    fputc('\n', r->out);
    mt_report_line(r, 2, "%s %s no counterpart", b.text, first + second == 1 ? "has" : "have");
}

static void add_pair(struct mt_table *t, const struct mt_logged_table *a,
                     const struct mt_logged_table *b)
{
    mt_table_count(t, a->line);
    mt_table_count(t, b->line);
    mt_table_cell(t, "%" PRIu32, a->device);
    static const struct {
        enum mt_stat_kind kind;
        enum mt_stat_column column;
    } SHOWN[] = {{MT_STAT_ALLOCATED_BYTES, MT_STAT_COLUMN_CURRENT},
                 {MT_STAT_ALLOCATED_BYTES, MT_STAT_COLUMN_PEAK},
                 {MT_STAT_RESERVED_BYTES, MT_STAT_COLUMN_CURRENT}};
    for (size_t i = 0; i < MT_COUNT(SHOWN); i++) {
        const struct mt_logged_value *after = cell(b, SHOWN[i].kind, SHOWN[i].column);
        add_value(t, after, true);
        add_change(t, after, cell(a, SHOWN[i].kind, SHOWN[i].column));
    }
}

enum mt_status mt_report_logged_pair_text(const struct mt_report *r, const struct mt_logged *a,
                                          const struct mt_logged *b, struct mt_error *err)
{
    static const char *const TITLES[] = {"LINE", "LINE",   "DEVICE",   "ALLOCATED", "CHANGE",
                                         "PEAK", "CHANGE", "RESERVED", "CHANGE"};
    struct mt_table *t = mt_table_new();
    if (!t) {
        return mt_fail_nomem(err);
    }
    add_columns(t, TITLES, MT_COUNT(TITLES));
    mt_table_names(t, "first_line,second_line,device,allocated_bytes,allocated_change_bytes,"
                      "peak_bytes,peak_change_bytes,reserved_bytes,reserved_change_bytes");
    size_t alone = 0;
    size_t at[1024] = {0}; /* by device: how far its tables of b are used */
    for (size_t i = 0; i < a->tables.n; i++) {
        const struct mt_logged_table *x = &a->tables.v[i];
        const struct mt_logged_table *y = next_of(b, x->device, &at[x->device]);
        if (y) {
            add_pair(t, x, y);
        } else {
            alone++;
        }
    }
    if (!r->separator) {
        fputs("The second log against the first, table by table:\n\n", r->out);
    }
    enum mt_status status = mt_table_print(t, r, 0, err);
    mt_table_free(t);
    size_t more = b->tables.n + alone - a->tables.n;
    if (!r->separator && (alone || more)) {
        print_alone(r, alone, more);
    }
    return status;
}

/* ---- JSON ---- */

static void put_table(struct mt_out list, const struct mt_logged_table *t)
{
    static const char *const COLUMN[] = {"current", "peak", "allocated", "freed"};
    static const char *const KINDS[] = {"table", "trainer", "stats"};
    struct mt_out o = mt_out_object(list, NULL);
    mt_out_u64(o, "line", t->line);
    mt_out_text(o, "kind", KINDS[t->kind]);
    mt_out_known(o, "rank", t->rank >= 0, (uint64_t)t->rank);
    mt_out_u64(o, "device", t->device);
    mt_out_bool(o, "odd", t->odd);
    struct mt_out counters = mt_out_object(o, "counters");
    for (int k = 0; k < MT_STAT_COUNT; k++) {
        for (int c = 0; c < MT_STAT_COLUMN_COUNT; c++) {
            char key[64];
            snprintf(key, sizeof key, "%s%s.%s", mt_stat_key((enum mt_stat_kind)k),
                     mt_stat_has_pools((enum mt_stat_kind)k) ? ".all" : "", COLUMN[c]);
            const struct mt_logged_value *v = &t->cells[k][MT_SLOT_ALL][c];
            mt_out_known(counters, key, v->present, mt_logged_bytes(v));
        }
    }
    mt_out_known(counters, "num_ooms", t->ooms.present, t->ooms.value);
    mt_out_known(counters, "num_alloc_retries", t->retries.present, t->retries.value);
}

enum mt_status mt_report_logged_json(const struct mt_report *r, const struct mt_logged *l,
                                     bool one_line, struct mt_error *err)
{
    struct mt_json_out json;
    struct mt_out root = mt_report_json(&json, r, "summary/1", one_line);
    struct mt_out list = mt_out_array(root, "tables");
    for (size_t i = 0; i < l->tables.n; i++) {
        put_table(list, &l->tables.v[i]);
    }
    return mt_report_json_end(root, err);
}
