/* SPDX-License-Identifier: MIT */
/*
 * Printing: what every report shares. A report is a function that takes results and a
 * `struct mt_report *` and writes text or, with `json`, one JSON object. Reports are
 * the print.c of src/verbs/<verb>/; they compute nothing.
 */
#ifndef MEMTOOL_PRINT_REPORT_H
#define MEMTOOL_PRINT_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "heap/stacks/frames.h"
#include "snapshot/model/model.h"
#include "support/error.h"
#include "support/units.h"

/* How to print; made by cli/ from the options that all verbs share. */
struct mt_report {
    FILE *out;
    bool json;
    char separator; /* 0: tables as aligned text; ',' or '\t': as CSV or TSV, numbers unformatted */
    bool color;
    struct mt_size_format size;
    size_t limit;            /* rows of a table, 0 = all */
    int width;               /* columns of the terminal; 0 = do not cut lines (not a terminal) */
    int verbose;             /* -v, -vv ... */
    bool full_path;          /* whole file names in frames */
    bool all_frames;         /* do not fold internal frames */
    int stack_lines;         /* lines of each stack: 1 = the first user frame, 0 = all */
    const char *file;        /* name of the input as the user gave it */
    const char *const *lost; /* *lost: mt_source_lost of the file read last; NULL: nobody asks */
    const char *at; /* the moment that is shown, where the user chose one; JSON names it as `at` */
};

/* ---- text ---- */

/* The four colours of memtool; each also says in words what it means. */
enum mt_color {
    MT_COLOR_NONE,
    MT_COLOR_BAD,
    MT_COLOR_GOOD,
    MT_COLOR_WARN,
    MT_COLOR_HEAD,
    MT_COLOR_DIM
};

/* Escape sequence to begin a colour, or "" when r->color is off; mt_color_end likewise. */
const char *mt_color_begin(const struct mt_report *r, enum mt_color c);
const char *mt_color_end(const struct mt_report *r);

/* r->size as text. */
struct mt_size_text mt_report_size(const struct mt_report *r, uint64_t bytes);
struct mt_size_text mt_report_delta(const struct mt_report *r, int64_t bytes);

/* Appends s with control characters, bidirectional overrides and broken UTF-8 made visible
 * (\x1b, \u202e, \xff): safe for every terminal. */
void mt_text_safe(struct mt_buf *b, struct mt_str s);

/* The same for the first MT_ASKED_BYTES of s (model.h), with "..." where there is more. */
void mt_text_limited(struct mt_buf *b, struct mt_str s);

/* Prints text from outside, such as a file's name, made safe; takes no memory. */
void mt_text_put(const struct mt_report *r, const char *text);

/* Columns that valid, safe UTF-8 text takes on a terminal (wcwidth). */
int mt_text_width(const char *s);

/* How many bytes of valid, safe text make a line of at most `room` columns: whole words between
 * blanks, numbers with their units, at least one. *next is the word that the line behind it begins
 * with, "" at the end. */
size_t mt_text_line(const char *text, int room, const char **next);

/* Prints such lines, at most `width` columns long: the first from `column`, where the cursor
 * stands, the others from `indent`. No newline at the end. */
void mt_text_print_wrapped(FILE *out, const char *text, int column, int indent, int width);

/* Prints a line of valid, safe text, printf-like, without a newline in it; on a terminal that is
 * too narrow it goes on behind `indent` blanks. */
void mt_report_line(const struct mt_report *r, int indent, const char *format, ...) MT_PRINTF(3, 4);

/* The same for sentences, which are broken before column 100 wherever they are printed. */
void mt_report_prose(const struct mt_report *r, int indent, const char *format, ...)
    MT_PRINTF(3, 4);

/* Prints lines of valid, safe text; on a terminal each goes on a little behind its own indent. */
void mt_report_lines(const struct mt_report *r, const char *text);

/* A sentence put together from figures and fixed words, which takes no memory: what does not fit is
 * left out, and text from outside has no place in it. */
struct mt_sentence {
    char text[1024];
    size_t n;
};
void mt_sentence_add(struct mt_sentence *s, const char *format, ...) MT_PRINTF(2, 3);

/* Prints valid, safe text in `width` columns at most; what is cut off becomes "…". */
void mt_text_print_cut(FILE *out, const char *text, int width);

/* A table: columns are added first, then cells row by row; printing aligns them. */
struct mt_table;
enum mt_align { MT_LEFT, MT_RIGHT };
struct mt_table *mt_table_new(void) MT_NODISCARD;
void mt_table_free(struct mt_table *t);
void mt_table_column(struct mt_table *t, const char *title, enum mt_align align);
/* What the columns are called in CSV, in their order and separated by commas: lower_snake_case,
 * sizes *_bytes, shares from 0 to 1 *_share. An empty name leaves its column out. `names` must
 * outlive the table; without it the titles are respelled. */
void mt_table_names(struct mt_table *t, const char *names);
/* The last column holds sentences: on a terminal they are wrapped, not cut. */
void mt_table_wrap(struct mt_table *t);
/* The next cell, printf-like; text from input must have passed mt_text_safe. The last column is cut
 * to the terminal's width when it is MT_LEFT; rows that are wider still go on in another line. */
void mt_table_cell(struct mt_table *t, const char *format, ...) MT_PRINTF(2, 3);
/* The text of a buffer; one that failed makes the table fail. */
void mt_table_buf(struct mt_table *t, const struct mt_buf *b);
/* The same of a text that from its byte `from` on is the name of a stack: where the table has the
 * same name for another, the frame at which they differ is printed behind it (not in CSV). */
void mt_table_stack(struct mt_table *t, const struct mt_buf *b, size_t from,
                    const struct mt_snapshot *s, uint32_t stack);
/* The same in a colour. */
void mt_table_cell_color(struct mt_table *t, enum mt_color c, const char *format, ...)
    MT_PRINTF(3, 4);
/* Cells of numbers: formatted for people in text, plain digits in CSV. */
void mt_table_size(struct mt_table *t, uint64_t bytes);
void mt_table_delta(struct mt_table *t, int64_t bytes);
void mt_table_count(struct mt_table *t, uint64_t n);
/* A rule before the next row (for TOTAL). */
void mt_table_rule(struct mt_table *t);
/* Prints with `indent` blanks in front (not in CSV, which has titles and rows but no rules or
 * colours, and a ' before text that a spreadsheet would take for a formula); MT_NOMEM when a cell
 * could not be kept, MT_OUTPUT never (cli/ checks the stream at the end). */
enum mt_status mt_table_print(struct mt_table *t, const struct mt_report *r, int indent,
                              struct mt_error *err) MT_NODISCARD;

/* One field of a CSV line, quoted where needed; for listings that are printed as they come. */
void mt_csv_text(const struct mt_report *r, const char *text);

/* ---- stacks ---- */

/* "train.py:42 forward" of the frame that tells most (heap/stacks/frames.h; with r->all_frames the
 * innermost; MT_NO_STACK for stack 0), safe for terminals, appended to b. */
void mt_stack_label(struct mt_buf *b, const struct mt_snapshot *s, uint32_t stack,
                    const struct mt_report *r);

/* "train.py:42 forward", safe for terminals, appended to b; MT_NO_STACK for frame 0. */
void mt_frame_label(struct mt_buf *b, const struct mt_snapshot *s, uint32_t frame,
                    const struct mt_report *r);

/* The same, and behind it in brackets the library function that allocated: two lines of a model
 * that call layer_norm and linear are told apart. Without frames it says why: for blocks of one
 * age, of any, and (long) for those allocated while the recording ran. */
void mt_stack_label_aged(struct mt_buf *b, const struct mt_snapshot *s, uint32_t stack,
                         const struct mt_report *r, enum mt_stackless age);
void mt_stack_label_inner(struct mt_buf *b, const struct mt_snapshot *s, uint32_t stack,
                          const struct mt_report *r);
void mt_stack_label_long(struct mt_buf *b, const struct mt_snapshot *s, uint32_t stack,
                         const struct mt_report *r);

/* The stack as lines of their own, innermost first, `indent` blanks before each and a newline
 * behind; r->stack_lines of them (0: all), runs of internal frames folded into one line that says
 * how many unless r->all_frames. */
void mt_stack_lines(struct mt_buf *b, const struct mt_snapshot *s, uint32_t stack,
                    const struct mt_report *r, int indent);

/* ", of fwd.py:3 forward": the call that memory of a backward pass belongs to; nothing where the
 * file does not tell. The labels above, but mt_stack_label, end with it, and mt_stack_lines with
 * its lines. */
void mt_stack_label_forward(struct mt_buf *b, const struct mt_snapshot *s, uint32_t stack);

#endif
