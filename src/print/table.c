/* SPDX-License-Identifier: MIT */
/*
 * Tables: cells are kept until the widths of all columns are known, then printed aligned. On a
 * terminal the last column is cut at its edge; rows that are wider still are folded, and text that
 * has a line of its own is wrapped. The same cells print as CSV, where numbers are plain digits and
 * nothing is cut or coloured.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "print/report.h"
#include "print/stack_apart.h"
#include "support/arena.h"
#include "support/mem.h"
#include "support/utf8.h"
#include "support/vec.h"

enum cell_kind { CELL_TEXT, CELL_SIZE, CELL_DELTA, CELL_COUNT };

struct cell {
    enum cell_kind kind;
    enum mt_color color;
    const char *text; /* CELL_TEXT; of the others once they are formatted */
    uint64_t number;  /* the others; a delta's two's complement */
    bool wraps;       /* as cells of a column that does */
};

struct column {
    const char *title;
    enum mt_align align;
    int width;
    bool below; /* begins one more line of each row: the terminal is too narrow; CSV: left out */
};

struct mt_table {
    struct mt_arena arena;
    MT_VEC(struct column) columns;
    MT_VEC(struct cell) cells;            /* row by row */
    MT_VEC(size_t) rules;                 /* rows that have a rule before them */
    MT_VEC(struct mt_named_stack) stacks; /* `row`: index of the cell */
    const char *names;                    /* of the columns in CSV, or NULL */
    bool wraps;                           /* the last column */
    bool failed;
};

struct mt_table *mt_table_new(void)
{
    return mt_mem_zalloc(1, sizeof(struct mt_table));
}

void mt_table_free(struct mt_table *t)
{
    if (!t) {
        return;
    }
    mt_arena_release(&t->arena);
    mt_vec_release(&t->columns);
    mt_vec_release(&t->cells);
    mt_vec_release(&t->rules);
    mt_vec_release(&t->stacks);
    mt_mem_free(t);
}

void mt_table_column(struct mt_table *t, const char *title, enum mt_align align)
{
    if (!mt_vec_push(&t->columns, ((struct column){title, align, 0, false}))) {
        t->failed = true;
    }
}

void mt_table_names(struct mt_table *t, const char *names)
{
    t->names = names;
}

void mt_table_wrap(struct mt_table *t)
{
    t->wraps = true;
}

static const char *keep(struct mt_table *t, struct mt_str s)
{
    const char *copy = mt_arena_copy(&t->arena, s.p, s.n).p;
    t->failed |= !copy;
    return copy ? copy : "";
}

static void add(struct mt_table *t, struct cell c)
{
    if (!mt_vec_push(&t->cells, c)) {
        t->failed = true;
    }
}

MT_PRINTF(3, 0)
static void add_format(struct mt_table *t, enum mt_color color, const char *format, va_list args)
{
    char small[256];
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(small, sizeof small, format, args);
    const char *text = "";
    if (n >= 0 && (size_t)n < sizeof small) {
        text = keep(t, (struct mt_str){small, (size_t)n});
    } else if (n >= 0) {
        char *large = mt_arena_alloc(&t->arena, (size_t)n + 1);
        if (large) {
            vsnprintf(large, (size_t)n + 1, format, again);
            text = large;
        }
        t->failed |= !large;
    }
    va_end(again);
    add(t, (struct cell){CELL_TEXT, color, text, 0, false});
}

void mt_table_cell(struct mt_table *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_format(t, MT_COLOR_NONE, format, args);
    va_end(args);
}

void mt_table_buf(struct mt_table *t, const struct mt_buf *b)
{
    t->failed |= b->failed;
    add(t, (struct cell){CELL_TEXT, MT_COLOR_NONE, keep(t, mt_buf_view(b)), 0, false});
}

void mt_table_stack(struct mt_table *t, const struct mt_buf *b, size_t from,
                    const struct mt_snapshot *s, uint32_t stack)
{
    mt_table_buf(t, b);
    if (!t->failed && stack && s->stacks[stack].n) { /* the last cell is this one */
        struct mt_named_stack row = {{s, stack}, t->cells.v[t->cells.n - 1].text, t->cells.n - 1};
        row.name += from < strlen(row.name) ? from : 0;
        t->failed |= !mt_vec_push(&t->stacks, row);
    }
}

void mt_table_cell_color(struct mt_table *t, enum mt_color c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_format(t, c, format, args);
    va_end(args);
}

void mt_table_size(struct mt_table *t, uint64_t bytes)
{
    add(t, (struct cell){CELL_SIZE, MT_COLOR_NONE, NULL, bytes, false});
}

void mt_table_delta(struct mt_table *t, int64_t bytes)
{
    enum mt_color c = bytes > 0 ? MT_COLOR_BAD : bytes < 0 ? MT_COLOR_GOOD : MT_COLOR_NONE;
    add(t, (struct cell){CELL_DELTA, c, NULL, (uint64_t)bytes, false});
}

void mt_table_count(struct mt_table *t, uint64_t n)
{
    add(t, (struct cell){CELL_COUNT, MT_COLOR_NONE, NULL, n, false});
}

void mt_table_rule(struct mt_table *t)
{
    size_t row = t->columns.n ? t->cells.n / t->columns.n : 0;
    if (!mt_vec_push(&t->rules, row)) {
        t->failed = true;
    }
}

/* ---- aligned text ---- */

static struct mt_size_text number_text(const struct mt_report *r, const struct cell *c)
{
    switch (c->kind) {
    case CELL_SIZE: return mt_report_size(r, c->number);
    case CELL_DELTA: return mt_report_delta(r, (int64_t)c->number);
    default: return mt_count_text(c->number);
    }
}

static void add_difference(void *table, size_t cell, const struct mt_buf *difference)
{
    struct mt_table *t = table;
    struct cell *c = &t->cells.v[cell];
    struct mt_buf b = {0};
    mt_buf_text(&b, c->text);
    mt_buf_str(&b, mt_buf_view(difference));
    c->text = keep(t, mt_buf_view(&b));
    c->wraps = true; /* what tells rows apart is never cut off */
    t->failed |= b.failed;
    mt_buf_release(&b);
}

/* Formats numbers and finds the width of each column. */
static void measure(struct mt_table *t, const struct mt_report *r)
{
    t->failed |= !mt_stacks_tell_apart(t->stacks.v, t->stacks.n, r, add_difference, t);
    for (size_t i = 0; i < t->columns.n; i++) {
        t->columns.v[i].width = mt_text_width(t->columns.v[i].title);
    }
    for (size_t i = 0; i < t->cells.n; i++) {
        struct cell *c = &t->cells.v[i];
        if (c->kind != CELL_TEXT) {
            struct mt_size_text text = number_text(r, c);
            c->text = keep(t, mt_str_from(text.s));
        }
        int width = mt_text_width(c->text);
        struct column *column = &t->columns.v[i % t->columns.n];
        column->width = width > column->width ? width : column->width;
    }
}

enum { BELOW = 4, LEAST = 20 }; /* the last column may be cut to so many */

/* Folds rows that are wider than the terminal between two columns. */
static void fold(struct mt_table *t, const struct mt_report *r, int indent)
{
    int used = indent;
    for (size_t i = 0; i < t->columns.n && r->width; i++) {
        struct column *c = &t->columns.v[i];
        bool cut = i + 1 == t->columns.n && c->align == MT_LEFT && c->width > LEAST;
        c->below = i > 0 && used + (cut ? LEAST : c->width) > r->width;
        used = (c->below ? indent + BELOW : used) + c->width + 2;
    }
}

void mt_text_print_cut(FILE *out, const char *text, int width)
{
    if (mt_text_width(text) <= width) {
        fputs(text, out);
        return;
    }
    struct mt_str rest = mt_str_from(text);
    int used = 0;
    while (rest.n) {
        uint32_t code;
        char one[5] = {0};
        size_t n = mt_utf8_decode(rest, &code);
        n = n ? n : 1;
        memcpy(one, rest.p, n);
        used += mt_text_width(one);
        if (used > width - 1) {
            break;
        }
        fputs(one, out);
        rest = (struct mt_str){rest.p + n, rest.n - n};
    }
    fputs("…", out);
}

static void print_padding(FILE *out, int n)
{
    fprintf(out, "%*s", n > 0 ? n : 0, "");
}

/* A line of the terminal that is being printed: blanks wait until text follows them. */
struct line {
    const struct mt_report *r;
    int blanks;
    bool wraps; /* text at its end goes on below itself */
};

static void put_blanks(struct line *l, int n)
{
    l->blanks += n > 0 ? n : 0;
}

static void put_end(struct line *l)
{
    l->blanks = 0;
    fputc('\n', l->r->out);
}

static void put_text(struct line *l, const char *text, enum mt_color color, int room)
{
    const struct mt_report *r = l->r;
    if (!*text) {
        return;
    }
    print_padding(r->out, l->blanks);
    l->blanks = 0;
    fputs(color == MT_COLOR_NONE ? "" : mt_color_begin(r, color), r->out);
    mt_text_print_cut(r->out, text, room);
    fputs(color == MT_COLOR_NONE ? "" : mt_color_end(r), r->out);
}

/* Text that has lines of its own goes on in more of them; only words that are too long are cut. */
static void put_words(struct line *l, const char *text, enum mt_color color, int indent)
{
    int room = l->r->width - indent;
    for (const char *next; *text; text = next) {
        char part[512];
        size_t n = mt_text_line(text, room, &next);
        snprintf(part, sizeof part, "%.*s", (int)n, text);
        put_text(l, n < sizeof part ? part : text, color, room);
        if (*next) {
            put_end(l);
            put_blanks(l, indent);
        }
    }
}

/* One cell from column `used` of the line on. */
static void put_cell(struct line *l, const struct column *column, const char *text,
                     enum mt_color color, bool last, int used)
{
    int padding = column->width - mt_text_width(text);
    bool ends = last && column->align == MT_LEFT && l->r->width && l->r->width - used > 8;
    if (column->align == MT_RIGHT) {
        put_blanks(l, padding);
    }
    if (ends && (column->below || l->wraps)) {
        put_words(l, text, color, used);
    } else {
        put_text(l, text, color, ends ? l->r->width - used : INT_MAX);
    }
    if (column->align == MT_LEFT) {
        put_blanks(l, padding);
    }
}

/* `row` NULL: the titles. */
static void print_row(const struct mt_table *t, const struct mt_report *r, const struct cell *row,
                      int indent)
{
    struct line line = {r, indent, false};
    int used = indent;
    size_t n = t->columns.n; /* the empty ones at the end have no line of their own */
    while (n > 1 && !(row ? row[n - 1].text : t->columns.v[n - 1].title)[0]) {
        n--;
    }
    for (size_t i = 0; i < n; i++) {
        const struct column *column = &t->columns.v[i];
        bool last = i + 1 == n || t->columns.v[i + 1].below;
        if (column->below) {
            put_end(&line);
            used = indent + BELOW;
            put_blanks(&line, used);
        }
        line.wraps = t->wraps || (row && row[i].wraps);
        put_cell(&line, column, row ? row[i].text : column->title,
                 row ? row[i].color : MT_COLOR_HEAD, last, used);
        put_blanks(&line, 2);
        used += column->width + 2;
    }
    put_end(&line);
}

static void print_rule(const struct mt_table *t, const struct mt_report *r, int indent)
{
    int width = -2;
    for (size_t i = 0; i < t->columns.n; i++) {
        width += t->columns.v[i].width + 2;
    }
    if (r->width && width > r->width - indent) {
        width = r->width - indent;
    }
    print_padding(r->out, indent);
    for (int i = 0; i < width; i++) {
        fputc('-', r->out);
    }
    fputc('\n', r->out);
}

static void print_text(struct mt_table *t, const struct mt_report *r, int indent)
{
    bool has_titles = false;
    size_t rule = 0;
    for (size_t i = 0; i < t->columns.n; i++) {
        has_titles |= t->columns.v[i].title[0] != '\0';
    }
    if (has_titles) {
        print_row(t, r, NULL, indent);
    }
    for (size_t i = 0; i + t->columns.n <= t->cells.n; i += t->columns.n) {
        for (; rule < t->rules.n && t->rules.v[rule] == i / t->columns.n; rule++) {
            print_rule(t, r, indent);
        }
        print_row(t, r, &t->cells.v[i], indent);
    }
}

/* ---- CSV (RFC 4180, lines end with a plain newline) ---- */

/* A spreadsheet runs a cell that begins with one of these, unless it is a number. */
static bool is_formula(const char *text)
{
    char *end;
    if (!*text || !strchr("=+-@", *text)) {
        return false;
    }
    strtod(text, &end);
    return end == text || (*end && strcmp(end, "%") != 0 && strcmp(end, " %") != 0);
}

void mt_csv_text(const struct mt_report *r, const char *text)
{
    const char special[] = {r->separator, '"', '\n', '\r', '\0'};
    const char *guard = is_formula(text) ? "'" : "";
    if (!strpbrk(text, special)) {
        fprintf(r->out, "%s%s", guard, text);
        return;
    }
    fprintf(r->out, "\"%s", guard);
    for (; *text; text++) {
        fputs(*text == '"' ? "\"\"" : (char[]){*text, '\0'}, r->out);
    }
    fputc('"', r->out);
}

/* A lone dash stands for what is not known. */
static void csv_cell(const struct mt_report *r, const struct cell *c)
{
    switch (c->kind) {
    case CELL_TEXT: mt_csv_text(r, strcmp(c->text, "-") == 0 ? "" : c->text); break;
    case CELL_DELTA: fprintf(r->out, "%" PRId64, (int64_t)c->number); break;
    default: fprintf(r->out, "%" PRIu64, c->number); break;
    }
}

/* The name of a column: the one it was given, else "LARGEST HOLE" as largest_hole. "": left out. */
static struct mt_buf csv_name(const struct mt_table *t, size_t column)
{
    const char *name = t->names;
    struct mt_buf b = {0};
    for (size_t i = 0; name && i < column; i++) {
        name = strchr(name, ',');
        name = name ? name + 1 : "";
    }
    size_t n = name ? strcspn(name, ",") : 0;
    mt_buf_add(&b, name ? name : "", n);
    for (const char *p = name ? "" : t->columns.v[column].title; *p; p++) {
        char c = *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : *p;
        bool word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        mt_buf_char(&b, word ? c : '_');
    }
    return b;
}

static void print_csv(struct mt_table *t, const struct mt_report *r)
{
    size_t shown = 0;
    for (size_t i = 0; i < t->columns.n; i++) {
        struct mt_buf name = csv_name(t, i);
        t->failed |= name.failed;
        t->columns.v[i].below = !name.n; /* not printed */
        if (name.n) {
            fprintf(r->out, "%.*s%s", shown++ ? 1 : 0, &r->separator, name.p);
        }
        mt_buf_release(&name);
    }
    fputc('\n', r->out);
    for (size_t i = 0; i < t->cells.n; i++) {
        size_t column = i % t->columns.n;
        shown = column ? shown : 0;
        if (!t->columns.v[column].below) {
            fprintf(r->out, "%.*s", shown++ ? 1 : 0, &r->separator);
            csv_cell(r, &t->cells.v[i]);
        }
        if (column + 1 == t->columns.n) {
            fputc('\n', r->out);
        }
    }
}

enum mt_status mt_table_print(struct mt_table *t, const struct mt_report *r, int indent,
                              struct mt_error *err)
{
    if (t->failed || t->columns.n == 0) {
        return t->failed ? mt_fail_nomem(err) : MT_OK;
    }
    if (r->separator) {
        print_csv(t, r);
        return t->failed ? mt_fail_nomem(err) : MT_OK;
    }
    measure(t, r);
    fold(t, r, indent);
    if (t->failed) {
        return mt_fail_nomem(err);
    }
    print_text(t, r, indent);
    return MT_OK;
}
