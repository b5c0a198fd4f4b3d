/* SPDX-License-Identifier: MIT */
/*
 * memory_summary() rows have a label and four cells; each cell has a unit of its own, and KB, MB,
 * GB of releases up to 1.13 are powers of 1024 like the KiB, MiB, GiB of later ones. Of the rows
 * only the "all" lines are kept: the pools below them are parts.
 */
#include "triage/log/log_tables.h"
#include "triage/log/log_lines.h"
#include "triage/log/log_number.h"

void mt_tables_release(struct mt_tables *t)
{
    mt_vec_release(&t->summaries);
    mt_vec_release(&t->cards);
    mt_vec_release(&t->processes);
}

static struct mt_str from(struct mt_str s, size_t at)
{
    return (struct mt_str){s.p + at, s.n - at};
}

static int64_t integer_behind(struct mt_str s, struct mt_str phrase)
{
    size_t at = mt_str_find(s, phrase), length;
    return at == SIZE_MAX ? -1 : mt_log_integer_at(from(s, at + phrase.n), &length);
}

bool mt_tables_title(struct mt_tables *t, struct mt_str squeezed, uint64_t number)
{
    struct mt_summary_table table = {.file = t->file, .line = number, .ooms = -1, .retries = -1};
    if (t->summaries.n >= MT_LOG_TABLES) {
        return true;
    }
    table.device = integer_behind(squeezed, MT_STR("deviceid"));
    if (!mt_vec_push(&t->summaries, table)) {
        return false;
    }
    t->in_summary = true;
    t->rows_left = 64;
    return true;
}

static const struct mt_str ROWS[MT_SUMMARY_ROW_COUNT] = {
    [MT_SUMMARY_ALLOCATED] = MT_STR_INIT("allocatedmemory|"),
    [MT_SUMMARY_ACTIVE] = MT_STR_INIT("activememory|"),
    [MT_SUMMARY_REQUESTED] = MT_STR_INIT("requestedmemory|"),
    [MT_SUMMARY_RESERVED] = MT_STR_INIT("gpureservedmemory|"),
    [MT_SUMMARY_NON_RELEASABLE] = MT_STR_INIT("non-releasablememory|"),
};

static void read_cells(struct mt_summary_table *table, size_t row, struct mt_str cells)
{
    for (size_t column = 0; column < MT_SUMMARY_COLUMN_COUNT; column++) {
        struct mt_log_size size = mt_log_size_at(cells, 0);
        if (size.length == 0) {
            return;
        }
        table->bytes[row][column] = size.bytes;
        if (column == 0) {
            table->present |= 1u << row;
        }
        size_t bar = mt_str_find(cells, MT_STR("|"));
        cells = bar == SIZE_MAX ? from(cells, cells.n) : from(cells, bar + 1);
    }
}

bool mt_tables_row(struct mt_tables *t, struct mt_str clean)
{
    struct mt_summary_table *table = &t->summaries.v[t->summaries.n - 1];
    struct mt_buf tight = {0};
    if (t->rows_left-- == 0) {
        t->in_summary = false;
        return true;
    }
    mt_log_squeeze(&tight, clean);
    struct mt_str row = mt_buf_view(&tight);
    int64_t ooms = integer_behind(row, MT_STR("cudaooms:"));
    table->ooms = ooms >= 0 ? ooms : table->ooms;
    int64_t retries = integer_behind(row, MT_STR("cudamallocretries:"));
    table->retries = retries >= 0 ? retries : table->retries;
    for (size_t i = 0; i < MT_SUMMARY_ROW_COUNT; i++) {
        size_t at = mt_str_find(row, ROWS[i]);
        if (at != SIZE_MAX && at <= 1 && !(table->present >> i & 1u)) {
            read_cells(table, i, from(row, at + ROWS[i].n));
        }
    }
    bool whole = !tight.failed;
    mt_buf_release(&tight);
    return whole;
}

/* "15109mib/16160mib" anywhere in the line. */
static bool smi_use(struct mt_str line, struct mt_smi_card *card)
{
    for (size_t at = 0; at < line.n;) {
        size_t slash = mt_str_find(from(line, at), MT_STR("mib/"));
        if (slash == SIZE_MAX) {
            return false;
        }
        at += slash + 4;
        struct mt_log_size used = mt_log_size_before((struct mt_str){line.p, at - 1}, 0);
        struct mt_log_size total = mt_log_size_at(from(line, at), 0);
        if (used.length && total.length && total.has_unit && total.bytes > MT_GIB) {
            card->used = used.bytes;
            card->total = total.bytes;
            return true;
        }
    }
    return false;
}

/* "|0teslav100..." -> 0 */
static int64_t smi_name(struct mt_str before)
{
    size_t at = before.n && before.p[0] == '|' ? 1 : 0, length;
    int64_t device = mt_log_integer_at(from(before, at), &length);
    return length > 0 && length <= 2 ? device : -1;
}

/* How many cards this log has named. */
static int64_t cards_of(const struct mt_tables *t, const char *file)
{
    int64_t n = 0;
    for (size_t i = 0; i < t->cards.n; i++) {
        n += t->cards.v[i].file == file;
    }
    return n;
}

bool mt_tables_smi(struct mt_tables *t, struct mt_str squeezed, struct mt_str before,
                   uint64_t number)
{
    struct mt_smi_card card = {.file = t->file, .line = number};
    if (!smi_use(squeezed, &card) || t->cards.n >= MT_LOG_CARDS) {
        return true;
    }
    t->smi_left = MT_LOG_SMI_LINES;
    card.device = smi_name(before);
    if (card.device < 0) {
        card.device = cards_of(t, t->file);
    }
    return mt_vec_push(&t->cards, card);
}

/* The words of a row, without its bars. */
static size_t split_words(struct mt_str s, struct mt_str *words, size_t most)
{
    size_t n = 0;
    for (size_t at = 0; at < s.n && n < most;) {
        size_t end = at;
        while (end < s.n && s.p[end] != ' ' && s.p[end] != '|') {
            end++;
        }
        if (end > at) {
            words[n++] = (struct mt_str){s.p + at, end - at};
        }
        at = end + 1;
    }
    return n;
}

static bool is_type(struct mt_str w)
{
    return mt_str_equal(w, MT_STR("C")) || mt_str_equal(w, MT_STR("G")) ||
           mt_str_equal(w, MT_STR("C+G")) || mt_str_equal(w, MT_STR("M+C"));
}

bool mt_tables_process(struct mt_tables *t, struct mt_str clean, struct mt_arena *arena)
{
    struct mt_str words[10];
    struct mt_buf tight = {0};
    size_t n = split_words(clean, words, MT_COUNT(words)), type = 0, digits;
    while (type < n && !is_type(words[type])) {
        type++;
    }
    if (type < 2 || type + 2 >= n || t->processes.n >= MT_LOG_PROCESSES) {
        return true;
    }
    mt_log_squeeze(&tight, words[n - 1]);
    struct mt_log_size size = mt_log_size_at(mt_buf_view(&tight), 0);
    struct mt_smi_row row = {.file = t->file,
                             .device = mt_log_integer_at(words[0], &digits),
                             .pid = mt_log_integer_at(words[type - 1], &digits),
                             .compute = words[type].p[0] != 'G',
                             .bytes = size.bytes};
    bool whole = !tight.failed;
    mt_buf_release(&tight);
    if (!whole || size.length == 0 || row.device < 0 || row.pid <= 0) {
        return whole;
    }
    struct mt_str name = mt_arena_copy(arena, words[type + 1].p, words[type + 1].n);
    row.name = name.p;
    return name.p && mt_vec_push(&t->processes, row);
}
