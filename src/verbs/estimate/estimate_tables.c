/* SPDX-License-Identifier: MIT */
/* Tables of estimate: a model's tensors, the usual sizes, the largest models of a card. */
#include "verbs/estimate/print.h"
#include "print/report_json.h"

#include <inttypes.h>

#include "support/mem.h"

/* ---- tensors ---- */

/* A row: tensors of the same name in all layers, where their shape is the same. */
struct row {
    const struct mt_part *first;
    uint64_t n, elements, bytes;
};

static bool same_row(const struct mt_part *a, const struct mt_part *b)
{
    bool same = a->layer != MT_NO_LAYER && b->layer != MT_NO_LAYER && a->count == b->count &&
                a->n_dims == b->n_dims && mt_str_equal(a->where, b->where) &&
                mt_str_equal(a->name, b->name);
    for (size_t i = 0; same && i < a->n_dims; i++) {
        same = a->dims[i] == b->dims[i];
    }
    return same;
}

static void print_row(struct mt_table *t, const struct mt_model *m, const struct row *row)
{
    const struct mt_part *p = row->first;
    struct mt_buf name = {0}, shape = {0};
    mt_part_name(&name, p, true);
    for (size_t i = 0; i < p->n_dims; i++) {
        mt_buf_printf(&shape, "%s%" PRIu64, i ? " x " : "", p->dims[i]);
    }
    mt_table_buf(t, &name);
    mt_table_buf(t, &shape);
    mt_table_count(t, row->n);
    mt_table_count(t, row->elements);
    mt_table_size(t, row->bytes);
    mt_table_cell(t, "%s",
                  mt_part_quantized(m, p)     ? m->quant.method
                  : p->kind == MT_PART_BUFFER ? "fp32, no parameter"
                                              : mt_dtype_name(m->dtype));
    mt_buf_release(&name);
    mt_buf_release(&shape);
}

enum { ROWS_MOST = 4096 };

static size_t find_row(struct row *rows, size_t n, const struct mt_part *p)
{
    for (size_t i = n; i-- > 0;) {
        if (same_row(rows[i].first, p)) {
            return i;
        }
    }
    return n;
}

static size_t gather(struct row *rows, const struct mt_model *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->parts.n; i++) {
        const struct mt_part *p = &m->parts.v[i];
        size_t at = find_row(rows, n, p);
        if (at == n && n == ROWS_MOST) {
            break;
        }
        rows[at] = at == n ? (struct row){.first = p} : rows[at];
        n += at == n;
        rows[at].n += p->count;
        rows[at].elements = mt_part_elements(p) + rows[at].elements;
        rows[at].bytes += mt_part_bytes(m, p);
    }
    return n;
}

enum mt_status mt_report_tensors(const struct mt_report *r, const struct mt_model *m,
                                 struct mt_error *err)
{
    struct row *rows = mt_mem_zalloc(ROWS_MOST, sizeof *rows);
    struct mt_table *t = mt_table_new();
    if (!t || !rows) {
        mt_table_free(t);
        mt_mem_free(rows);
        return mt_fail_nomem(err);
    }
    mt_table_column(t, "TENSOR", MT_LEFT);
    mt_table_column(t, "SHAPE", MT_LEFT);
    mt_table_column(t, "COUNT", MT_RIGHT);
    mt_table_column(t, "PARAMETERS", MT_RIGHT);
    mt_table_column(t, "SIZE", MT_RIGHT);
    mt_table_column(t, "STORED AS", MT_LEFT);
    mt_table_names(t, "tensor,shape,count,parameters,bytes,stored_as");
    size_t n = gather(rows, m);
    for (size_t i = 0; i < n; i++) {
        print_row(t, m, &rows[i]);
    }
    enum mt_status status = mt_table_print(t, r, 0, err);
    mt_table_free(t);
    mt_mem_free(rows);
    fputc('\n', r->out);
    return status;
}

/* ---- the largest models of a card ---- */

static enum mt_status ways_json(const struct mt_report *r, uint64_t card, const struct mt_way *ways,
                                struct mt_error *err)
{
    struct mt_json_out json;
    struct mt_out root = mt_report_json(&json, r, "estimate_card/1", false);
    mt_out_u64(root, "card_bytes", card);
    struct mt_out rows = mt_out_array(root, "ways");
    for (size_t i = 0; i < MT_WAYS; i++) {
        struct mt_out o = mt_out_object(rows, NULL);
        mt_out_text(o, "what", ways[i].what);
        mt_out_f64(o, "bytes_per_parameter", ways[i].bytes);
        mt_out_u64(o, "params", ways[i].params);
    }
    return mt_report_json_end(root, err);
}

enum mt_status mt_report_ways(const struct mt_report *r, uint64_t card, struct mt_error *err)
{
    struct mt_way ways[MT_WAYS];
    mt_ways_find(ways, card);
    if (r->json) {
        return ways_json(r, card, ways, err);
    }
    struct mt_table *t = mt_table_new();
    if (!t) {
        return mt_fail_nomem(err);
    }
    mt_table_column(t, "TO", MT_LEFT);
    mt_table_column(t, "B/PARAMETER", MT_RIGHT);
    mt_table_column(t, "LARGEST MODEL", MT_RIGHT);
    mt_table_names(t, "to,bytes_per_parameter,parameters");
    for (size_t i = 0; i < MT_WAYS; i++) {
        mt_table_cell(t, "%s", ways[i].what);
        mt_table_cell(t, "%.4g", ways[i].bytes);
        mt_table_cell(t, r->separator ? "%.0f" : "%.1f billion",
                      r->separator ? (double)ways[i].params : (double)ways[i].params / 1e9);
    }
    enum mt_status status = mt_table_print(t, r, 0, err);
    mt_table_free(t);
    if (!r->separator) {
        fputc('\n', r->out);
        mt_report_prose(r, 2,
                        "Weights, gradients and optimizer in nine tenths of %s; activations or the "
                        "KV cache need room too, which a shape tells (--config, --batch, --seq).",
                        mt_report_size(r, card).s);
    }
    return status;
}

/* ---- the usual sizes ---- */

/* Bytes a parameter: in tables of this kind sizes are decimal, as the parameters are. */
static const struct {
    const char *name;
    unsigned weights, gradients, optimizer;
    const char *what;
} accounts[] = {
    {"mixed", 2, 2, 12, "bf16 weights and gradients; fp32 copy and two moments"},
    {"fp32", 4, 4, 12,
     "counted by some: fp32 weights, gradients, copy and two moments (AdamW in fp32 takes 16)"},
};

static const unsigned usual_billions[] = {7, 13, 70};

static enum mt_status table_json(const struct mt_report *r, struct mt_error *err)
{
    struct mt_json_out json;
    struct mt_out root = mt_report_json(&json, r, "estimate_table/1", false);
    struct mt_out rows = mt_out_array(root, "rows");
    for (size_t i = 0; i < MT_COUNT(usual_billions) * MT_COUNT(accounts); i++) {
        uint64_t params = usual_billions[i / MT_COUNT(accounts)] * UINT64_C(1000000000);
        size_t a = i % MT_COUNT(accounts);
        struct mt_out o = mt_out_object(rows, NULL);
        mt_out_u64(o, "params", params);
        mt_out_text(o, "account", accounts[a].name);
        mt_out_u64(o, "weights_bytes", params * accounts[a].weights);
        mt_out_u64(o, "gradients_bytes", params * accounts[a].gradients);
        mt_out_u64(o, "optimizer_bytes", params * accounts[a].optimizer);
        mt_out_u64(o, "total_bytes",
                   params * (accounts[a].weights + accounts[a].gradients + accounts[a].optimizer));
    }
    return mt_report_json_end(root, err);
}

#define ZEROS "000000000" /* a billion, in digits */

static void table_row(struct mt_table *t, bool csv, unsigned billions, size_t account)
{
    unsigned weights = accounts[account].weights, gradients = accounts[account].gradients,
             optimizer = accounts[account].optimizer;
    mt_table_cell(t, csv ? "%u" ZEROS : "%u billion", billions);
    mt_table_cell(t, "%s", accounts[account].name);
    const unsigned gb[] = {weights, gradients, optimizer, weights + gradients + optimizer};
    for (size_t i = 0; i < MT_COUNT(gb); i++) {
        mt_table_cell(t, csv ? "%u" ZEROS : "%u GB", billions * gb[i]);
    }
    mt_table_cell(t, "%u", weights + gradients + optimizer);
}

enum mt_status mt_report_estimate_table(const struct mt_report *r, struct mt_error *err)
{
    if (r->json) {
        return table_json(r, err);
    }
    struct mt_table *t = mt_table_new();
    if (!t) {
        return mt_fail_nomem(err);
    }
    mt_table_column(t, "PARAMETERS", MT_RIGHT);
    mt_table_column(t, "ACCOUNT", MT_LEFT);
    mt_table_column(t, "WEIGHTS", MT_RIGHT);
    mt_table_column(t, "GRADIENTS", MT_RIGHT);
    mt_table_column(t, "OPTIMIZER", MT_RIGHT);
    mt_table_column(t, "STATES", MT_RIGHT);
    mt_table_column(t, "B/PARAMETER", MT_RIGHT);
    mt_table_names(t, "parameters,account,weights_bytes,gradients_bytes,optimizer_bytes,"
                      "states_bytes,bytes_per_parameter");
    for (size_t a = 0; a < MT_COUNT(accounts); a++) {
        for (size_t i = 0; i < MT_COUNT(usual_billions); i++) {
            table_row(t, r->separator != 0, usual_billions[i], a);
        }
    }
    enum mt_status status = mt_table_print(t, r, 0, err);
    mt_table_free(t);
    if (!r->separator) {
        fputc('\n', r->out);
        mt_report_line(
            r, 2, "GB are 10^9 bytes. Training with Adam, without activations, before sharding:");
        for (size_t a = 0; a < MT_COUNT(accounts); a++) {
            mt_report_line(r, 9, "  %-6s %s", accounts[a].name, accounts[a].what);
        }
    }
    return status;
}
