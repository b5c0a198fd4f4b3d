/* SPDX-License-Identifier: MIT */
/*
 * A report of rows, described once: each column has a title, a name in CSV, a key in JSON, what
 * kind it is, and where its value lies in the row. Text, CSV and JSON are printed from that
 * description, so that they cannot differ. In text, the rows beyond the limit are added up as "[n
 * others]", and all as TOTAL.
 */
#ifndef MEMTOOL_PRINT_ROWS_H
#define MEMTOOL_PRINT_ROWS_H

#include <stddef.h>

#include "print/report_json.h"

struct mt_rows;

enum mt_row_kind {
    MT_ROW_SIZE,  /* a uint64_t of bytes; sums are added */
    MT_ROW_MOST,  /* the same; of several rows the largest */
    MT_ROW_COUNT, /* a uint64_t without a unit; sums are added */
    MT_ROW_ID,    /* an int32_t such as a device; sums have none */
    MT_ROW_SHARE, /* of the uint64_t at `at`: its part of the one at `of`, or of mt_rows.whole */
    MT_ROW_TEXT,  /* what `text` appends; sums have none */
    MT_ROW_STACK, /* the same; what it appends is a label of the stack whose uint32_t is at `at` */
};

struct mt_row_column {
    const char *title; /* NULL: not in tables */
    const char *csv;   /* NULL: not in CSV */
    const char *json;  /* NULL: not in JSON, but for what `put` writes */
    enum mt_row_kind kind;
    size_t at, of; /* offsets into the row; `of` 0: mt_rows.whole */
    bool csv_only; /* a text has a table for each value of it */
    bool right;    /* a MT_ROW_TEXT that is aligned as numbers are */
    /* Appends the text of a cell; returns where the label of the stack begins in b. */
    size_t (*text)(struct mt_buf *b, const struct mt_rows *x, const void *row);
    /* Keys of JSON that are no number of the row. */
    void (*put)(struct mt_out o, const struct mt_rows *x, const void *row);
};

struct mt_rows {
    const struct mt_report *r;
    const struct mt_snapshot *s;
    const struct mt_row_column *columns;
    size_t n_columns;
    const void *rows; /* n of them, `size` bytes each, at most MT_ROW_BYTES */
    size_t n, size;
    uint64_t whole;       /* of shares */
    const void *ctx;      /* of the report's functions */
    uint64_t hidden;      /* bit i: column i is left out of the text */
    size_t named;         /* the column in which sums have their name */
    const char *of_total; /* behind TOTAL, or NULL */
};

enum { MT_ROW_BYTES = 128 };

/* Rows that are shown: all of them, or the report's limit. */
size_t mt_rows_shown(const struct mt_rows *x);

/* As a table with its sums; in CSV without them. `indent` as in mt_table_print. */
enum mt_status mt_rows_print(const struct mt_rows *x, int indent, struct mt_error *err)
    MT_NODISCARD;

/* Several lists of the same columns as one table of CSV. */
enum mt_status mt_rows_csv(const struct mt_rows *lists, size_t n, struct mt_error *err)
    MT_NODISCARD;

/* The rows that are shown, as an array. */
void mt_out_row_list(struct mt_out o, const char *key, const struct mt_rows *x);

#endif
