/* SPDX-License-Identifier: MIT */
#include "print/rows.h"

#include <inttypes.h>

#include "print/figures.h"
#include "support/checked.h"

static uint64_t number_at(const void *row, size_t at)
{
    uint64_t n;
    memcpy(&n, (const char *)row + at, sizeof n);
    return n;
}

static int32_t id_at(const void *row, size_t at)
{
    int32_t n;
    memcpy(&n, (const char *)row + at, sizeof n);
    return n;
}

static const void *row_at(const struct mt_rows *x, size_t i)
{
    return (const char *)x->rows + i * x->size;
}

size_t mt_rows_shown(const struct mt_rows *x)
{
    return x->r->limit && x->n > x->r->limit ? x->r->limit : x->n;
}

/* ---- tables ---- */

static bool is_shown(const struct mt_rows *x, size_t i)
{
    const struct mt_row_column *c = &x->columns[i];
    return x->r->separator ? c->csv != NULL : c->title && !c->csv_only && !(x->hidden >> i & 1);
}

static void text_cell(struct mt_table *t, const struct mt_rows *x, const struct mt_row_column *c,
                      const void *row, struct mt_buf *b)
{
    mt_buf_reset(b);
    size_t from = c->text(b, x, row);
    if (c->kind == MT_ROW_STACK) {
        mt_table_stack(t, b, from, x->s, (uint32_t)id_at(row, c->at));
    } else {
        mt_table_buf(t, b);
    }
}

/* `name`: of a row of sums; NULL: a row of its own. */
static void row_cells(struct mt_table *t, const struct mt_rows *x, const void *row,
                      const char *name, struct mt_buf *b)
{
    for (size_t i = 0; i < x->n_columns; i++) {
        const struct mt_row_column *c = &x->columns[i];
        if (!is_shown(x, i)) {
            continue;
        }
        if (name && (i == x->named || c->kind >= MT_ROW_TEXT || c->kind == MT_ROW_ID)) {
            mt_table_cell(t, "%s", i == x->named ? name : "");
            continue;
        }
        uint64_t whole = c->of ? number_at(row, c->of) : x->whole;
        switch (c->kind) {
        case MT_ROW_SIZE:
        case MT_ROW_MOST: mt_table_size(t, number_at(row, c->at)); break;
        case MT_ROW_COUNT: mt_table_count(t, number_at(row, c->at)); break;
        case MT_ROW_ID: mt_table_cell(t, "%" PRId32, id_at(row, c->at)); break;
        case MT_ROW_SHARE:
            mt_table_cell(t, "%s", mt_share_text(x->r, number_at(row, c->at), whole).s);
            break;
        case MT_ROW_TEXT:
        case MT_ROW_STACK: text_cell(t, x, c, row, b); break;
        }
    }
}

/* Adds up the rows from `from` on. */
static void add_up(const struct mt_rows *x, size_t from, char sum[MT_ROW_BYTES])
{
    memset(sum, 0, MT_ROW_BYTES);
    for (size_t k = 0; k < x->n_columns; k++) {
        const struct mt_row_column *c = &x->columns[k];
        uint64_t n = 0;
        for (size_t i = from; i < x->n && c->kind <= MT_ROW_COUNT; i++) {
            uint64_t one = number_at(row_at(x, i), c->at);
            n = c->kind != MT_ROW_MOST ? mt_add_sat(n, one) : one > n ? one : n;
        }
        if (c->kind <= MT_ROW_COUNT) {
            memcpy(sum + c->at, &n, sizeof n);
        }
    }
}

static void add_sums(struct mt_table *t, const struct mt_rows *x, struct mt_buf *b)
{
    char sum[MT_ROW_BYTES], name[64];
    size_t shown = mt_rows_shown(x), n = x->n - shown;
    if (n) {
        add_up(x, shown, sum);
        snprintf(name, sizeof name, n == 1 ? "[%zu other]" : "[%zu others]", n);
        row_cells(t, x, sum, name, b);
    }
    add_up(x, 0, sum);
    snprintf(name, sizeof name, "TOTAL%s", x->of_total ? x->of_total : "");
    mt_table_rule(t);
    row_cells(t, x, sum, name, b);
}

static void add_columns(struct mt_table *t, const struct mt_rows *x, struct mt_buf *names)
{
    for (size_t i = 0; i < x->n_columns; i++) {
        const struct mt_row_column *c = &x->columns[i];
        if (is_shown(x, i)) {
            bool left = c->kind >= MT_ROW_TEXT && !c->right;
            mt_table_column(t, c->title, left ? MT_LEFT : MT_RIGHT);
            mt_buf_printf(names, "%s%s", names->n ? "," : "", c->csv ? c->csv : "");
        }
    }
    mt_table_names(t, mt_buf_view(names).p);
}

static enum mt_status print_lists(const struct mt_rows *lists, size_t n, int indent,
                                  struct mt_error *err)
{
    const struct mt_report *r = lists->r;
    struct mt_table *t = mt_table_new();
    struct mt_buf b = {0}, names = {0};
    if (!t) {
        return mt_fail_nomem(err);
    }
    add_columns(t, lists, &names);
    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; i < mt_rows_shown(&lists[k]); i++) {
            row_cells(t, &lists[k], row_at(&lists[k], i), NULL, &b);
        }
    }
    if (!r->separator) {
        add_sums(t, lists, &b);
    }
    enum mt_status status =
        b.failed || names.failed ? mt_fail_nomem(err) : mt_table_print(t, r, indent, err);
    mt_buf_release(&b);
    mt_buf_release(&names);
    mt_table_free(t);
    return status;
}

enum mt_status mt_rows_print(const struct mt_rows *x, int indent, struct mt_error *err)
{
    return print_lists(x, 1, indent, err);
}

enum mt_status mt_rows_csv(const struct mt_rows *lists, size_t n, struct mt_error *err)
{
    return print_lists(lists, n, 0, err);
}

/* ---- JSON ---- */

static void put_row(struct mt_out o, const struct mt_rows *x, const void *row)
{
    for (size_t i = 0; i < x->n_columns; i++) {
        const struct mt_row_column *c = &x->columns[i];
        if (c->put) {
            c->put(o, x, row);
        } else if (c->json && c->kind == MT_ROW_ID) {
            mt_out_i64(o, c->json, id_at(row, c->at));
        } else if (c->json) {
            mt_out_u64(o, c->json, number_at(row, c->at));
        }
    }
}

void mt_out_row_list(struct mt_out o, const char *key, const struct mt_rows *x)
{
    struct mt_out list = mt_out_array(o, key);
    for (size_t i = 0; i < mt_rows_shown(x); i++) {
        put_row(mt_out_object(list, NULL), x, row_at(x, i));
    }
}
