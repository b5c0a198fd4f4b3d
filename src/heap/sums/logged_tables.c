/* SPDX-License-Identifier: MIT */
/*
 * Tables of memory_summary() out of logs. Whatever a logger put before the lines is skipped: of
 * each line only what stands between its last six '|' is looked at, so a prefix may hold some of
 * its own. Old tables (PyTorch up to 1.13) say KB where new ones say KiB; both are 1024.
 */
#include "heap/sums/logged.h"

#include <stdlib.h>
#include <string.h>

#include "support/units.h"

#include "heap/sums/logged_parts.h"

enum { CELLS = 5, LONGEST_TABLE = 120 /* lines, with others between them */ };

void mt_logged_release(struct mt_logged *l)
{
    mt_vec_release(&l->tables);
    mt_vec_release(&l->others);
}

uint64_t mt_logged_bytes(const struct mt_logged_value *v)
{
    return v->present ? v->value * v->unit : 0;
}

static struct mt_str trim(struct mt_str s)
{
    while (s.n && (*s.p == ' ' || *s.p == '\t')) {
        s.p++;
        s.n--;
    }
    while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t' || s.p[s.n - 1] == '\r')) {
        s.n--;
    }
    return s;
}

/* What follows `key` in the line; false when it is not there. */
static bool behind(struct mt_str line, struct mt_str key, struct mt_str *rest)
{
    size_t at = mt_str_find(line, key);
    if (at == SIZE_MAX) {
        return false;
    }
    *rest = (struct mt_str){line.p + at + key.n, line.n - at - key.n};
    return true;
}

static struct mt_logged_value number_in(struct mt_str s)
{
    s = trim(s);
    size_t n = 0;
    while (n < s.n && s.p[n] >= '0' && s.p[n] <= '9') {
        n++;
    }
    struct mt_logged_value v = {.unit = 1};
    v.present = n > 0 && mt_u64_parse((struct mt_str){s.p, n}, &v.value);
    return v;
}

/* "290777 KiB", "78", "1500 K". */
static struct mt_logged_value value_of(struct mt_str cell)
{
    static const struct {
        struct mt_str word;
        uint64_t unit;
    } UNITS[] = {
        {MT_STR_INIT(""), 1},
        {MT_STR_INIT("B"), 1},
        {MT_STR_INIT("KiB"), MT_KIB},
        {MT_STR_INIT("KB"), MT_KIB},
        {MT_STR_INIT("MiB"), MT_MIB},
        {MT_STR_INIT("MB"), MT_MIB},
        {MT_STR_INIT("GiB"), MT_GIB},
        {MT_STR_INIT("GB"), MT_GIB},
        {MT_STR_INIT("TiB"), UINT64_C(1) << 40},
        {MT_STR_INIT("TB"), UINT64_C(1) << 40},
        {MT_STR_INIT("K"), 1000},
        {MT_STR_INIT("M"), 1000000},
    };
    struct mt_logged_value v = number_in(cell);
    struct mt_str text = trim(cell);
    size_t digits = 0;
    while (digits < text.n && text.p[digits] >= '0' && text.p[digits] <= '9') {
        digits++;
    }
    struct mt_str word = trim((struct mt_str){text.p + digits, text.n - digits});
    for (size_t i = 0; i < MT_COUNT(UNITS); i++) {
        if (mt_str_equal(word, UNITS[i].word)) {
            v.unit = UNITS[i].unit;
            v.present = v.present && v.value <= UINT64_MAX / v.unit;
            return v;
        }
    }
    v.present = false;
    return v;
}

/* The five cells between the last six '|' of a line. */
static bool split_row(struct mt_str line, struct mt_str cells[CELLS])
{
    size_t end = line.n;
    while (end && line.p[end - 1] != '|') {
        end--;
    }
    for (int i = CELLS; i-- > 0;) {
        if (!end) {
            return false;
        }
        size_t stop = end - 1;
        size_t start = stop;
        while (start && line.p[start - 1] != '|') {
            start--;
        }
        cells[i] = trim((struct mt_str){line.p + start, stop - start});
        end = start;
    }
    return end > 0;
}

/* A table that is being read; each rank has its own. */
struct reading {
    struct mt_logged_table table;
    bool open;   /* a title was seen */
    size_t left; /* lines until we give up */
    int kind;    /* of the last row, -1: none yet */
    size_t n_rows;
};

static void read_row(struct reading *x, struct mt_str cells[CELLS])
{
    enum mt_stat_slot slot = MT_SLOT_ALL;
    if (mt_str_equal(cells[0], MT_STR("from large pool"))) {
        slot = MT_SLOT_LARGE;
    } else if (mt_str_equal(cells[0], MT_STR("from small pool"))) {
        slot = MT_SLOT_SMALL;
    } else {
        int k = 0;
        while (k < MT_STAT_COUNT &&
               !mt_str_equal(cells[0], mt_str_from(mt_stat_label((enum mt_stat_kind)k)))) {
            k++;
        }
        x->kind = k < MT_STAT_COUNT ? k : -1;
    }
    if (x->kind < 0) {
        return;
    }
    for (int c = 0; c < MT_STAT_COLUMN_COUNT; c++) {
        x->table.cells[x->kind][slot][c] = value_of(cells[c + 1]);
    }
    x->n_rows++;
}

static bool close_table(struct mt_logged *out, struct reading *x)
{
    bool keep = x->open && x->n_rows > 0;
    x->open = false;
    return !keep || mt_vec_push(&out->tables, x->table);
}

/* ---- ranks ---- */

enum { MOST_RANKS = 4096, LONGEST_PREFIX = 200 };

/* What torchrun puts before the lines of a rank: "[default3]:". */
static int32_t launcher_rank(struct mt_str line)
{
    static const struct mt_str ROLE = MT_STR_INIT("[default");
    uint64_t n = 0;
    size_t end = ROLE.n;
    while (mt_str_starts(line, ROLE) && end < line.n && line.p[end] >= '0' && line.p[end] <= '9') {
        end++;
    }
    bool number = end > ROLE.n && end < line.n && line.p[end] == ']' &&
                  mt_u64_parse((struct mt_str){line.p + ROLE.n, end - ROLE.n}, &n);
    return number && n < MOST_RANKS ? (int32_t)n : -1;
}

/* The number right behind a word of lower case, "rank 3", "[Rank=3]"; -1: none. */
static int32_t number_named(struct mt_str line, struct mt_str word)
{
    line.n = line.n < LONGEST_PREFIX ? line.n : LONGEST_PREFIX;
    for (size_t i = 0; i + word.n < line.n; i++) {
        size_t at = 0;
        uint64_t n = 0;
        while (at < word.n && (line.p[i + at] | 32) == word.p[at]) {
            at++;
        }
        if (at < word.n || (i > 0 && (line.p[i - 1] | 32) >= 'a' && (line.p[i - 1] | 32) <= 'z')) {
            continue;
        }
        for (at += i; at < line.n && strchr(" =:#_", line.p[at]) && line.p[at];) {
            at++;
        }
        size_t digits = at;
        while (digits < line.n && line.p[digits] >= '0' && line.p[digits] <= '9') {
            digits++;
        }
        if (mt_u64_parse((struct mt_str){line.p + at, digits - at}, &n) && n < MOST_RANKS) {
            return (int32_t)n;
        }
    }
    return -1;
}

int32_t mt_logged_rank(struct mt_str line)
{
    int32_t rank = number_named(line, MT_STR("rank"));
    return rank >= 0 ? rank : launcher_rank(line);
}

uint32_t mt_logged_device(struct mt_str line)
{
    static const struct mt_str WORDS[] = {MT_STR_INIT("cuda"), MT_STR_INIT("gpu"),
                                          MT_STR_INIT("device"), MT_STR_INIT("xpu")};
    for (size_t i = 0; i < MT_COUNT(WORDS); i++) {
        int32_t device = number_named(line, WORDS[i]);
        if (device >= 0 && device < 1024) {
            return (uint32_t)device;
        }
    }
    return 0;
}

/* ---- steps ---- */

/* A number from *at on, which moves behind it; -1: there is none. */
static int64_t take_number(struct mt_str line, size_t *at)
{
    uint64_t n = 0;
    size_t from = *at;
    while (*at < line.n && line.p[*at] >= '0' && line.p[*at] <= '9') {
        (*at)++;
    }
    bool ok = mt_u64_parse((struct mt_str){line.p + from, *at - from}, &n) && n < INT64_MAX;
    return ok ? (int64_t)n : -1;
}

/* The number that ends right before `at`, over one blank; -1: none. */
static int64_t number_before(struct mt_str line, size_t at)
{
    size_t end = at > 0 && line.p[at - 1] == ' ' ? at - 1 : at, from = end;
    while (from > 0 && line.p[from - 1] >= '0' && line.p[from - 1] <= '9') {
        from--;
    }
    bool whole = from == 0 || strchr(" (=:[", line.p[from - 1]) != NULL;
    return whole ? take_number((struct mt_str){line.p, end}, &from) : -1;
}

int64_t mt_logged_step(struct mt_str line)
{
    static const struct mt_str WORDS[] = {MT_STR_INIT("iteration"), MT_STR_INIT("step"),
                                          MT_STR_INIT("iter")};
    for (size_t i = 0; i < MT_COUNT(WORDS); i++) {
        size_t at = mt_str_find(line, WORDS[i]), behind = at + WORDS[i].n;
        if (at == SIZE_MAX) {
            continue;
        }
        while (behind < line.n && line.p[behind] && strchr("s\"': =", line.p[behind])) {
            behind++;
        }
        int64_t n = take_number(line, &behind);
        n = n < 0 ? number_before(line, at) : n;
        if (n >= 0) {
            return n;
        }
    }
    return -1;
}

struct readings {
    MT_VEC(struct reading) of; /* one a rank that was met */
};

/* The reading of a rank, closed where it is new; NULL when out of memory. */
static struct reading *reading_of(struct readings *all, int32_t rank)
{
    for (size_t i = 0; i < all->of.n; i++) {
        if (all->of.v[i].table.rank == rank) {
            return &all->of.v[i];
        }
    }
    struct reading fresh = {.table.rank = rank};
    return mt_vec_push(&all->of, fresh) ? &all->of.v[all->of.n - 1] : NULL;
}

/* ---- lines of trainers ---- */

/* The decimal number behind `key`, in `unit` unless one of its own follows. */
static struct mt_logged_value decimal_behind(struct mt_str line, struct mt_str key,
                                             const char *unit)
{
    struct mt_logged_value v = {.unit = 1};
    struct mt_str rest;
    char text[40];
    if (!behind(line, key, &rest)) {
        return v;
    }
    rest = trim(rest);
    size_t n = 0;
    while (n < rest.n && n < 24 && ((rest.p[n] >= '0' && rest.p[n] <= '9') || rest.p[n] == '.')) {
        text[n] = rest.p[n];
        n++;
    }
    memcpy(text + n, unit, strlen(unit) + 1);
    v.present = n > 0 && mt_size_parse(mt_str_from(text), &v.value);
    return v;
}

static const struct trainer {
    struct mt_str sign;    /* in the line */
    struct mt_str keys[4]; /* allocated, its peak, reserved, its peak */
    const char *unit;
} TRAINERS[] = {
    {MT_STR_INIT("memory (MB) |"),
     {MT_STR_INIT("| allocated:"), MT_STR_INIT("| max allocated:"), MT_STR_INIT("| reserved:"),
      MT_STR_INIT("| max reserved:")},
     "MB"},
    {MT_STR_INIT("Max_MA "),
     {MT_STR_INIT("MA "), MT_STR_INIT("Max_MA "), MT_STR_INIT("CA "), MT_STR_INIT("Max_CA ")},
     "GB"},
    {MT_STR_INIT("memory allocated "),
     {MT_STR_INIT("allocated "), MT_STR_INIT(" max "), MT_STR_INIT("reserved "), MT_STR_INIT("\n")},
     "B"},
};

static bool read_step(struct mt_logged *out, struct mt_str line, size_t number)
{
    struct mt_str rest;
    for (size_t i = 0; i < MT_COUNT(TRAINERS); i++) {
        const struct trainer *x = &TRAINERS[i];
        if (!behind(line, x->sign, &rest)) {
            continue;
        }
        struct mt_logged_table t = {.line = number,
                                    .kind = MT_LOGGED_STEP,
                                    .rank = mt_logged_rank(line),
                                    .step = mt_logged_step(line)};
        struct mt_logged_value *allocated = t.cells[MT_STAT_ALLOCATED_BYTES][MT_SLOT_ALL];
        struct mt_logged_value *reserved = t.cells[MT_STAT_RESERVED_BYTES][MT_SLOT_ALL];
        allocated[MT_STAT_COLUMN_CURRENT] = decimal_behind(line, x->keys[0], x->unit);
        allocated[MT_STAT_COLUMN_PEAK] = decimal_behind(line, x->keys[1], x->unit);
        reserved[MT_STAT_COLUMN_CURRENT] = decimal_behind(line, x->keys[2], x->unit);
        reserved[MT_STAT_COLUMN_PEAK] = decimal_behind(line, x->keys[3], x->unit);
        return !allocated[MT_STAT_COLUMN_CURRENT].present || mt_vec_push(&out->tables, t);
    }
    return true;
}

static bool read_title(struct mt_logged *out, struct reading *x, struct mt_str behind_title,
                       size_t number)
{
    bool ok = close_table(out, x);
    struct mt_logged_value device = number_in(behind_title);
    *x = (struct reading){.open = true,
                          .left = LONGEST_TABLE,
                          .kind = -1,
                          .table = {.rank = x->table.rank, .step = -1}};
    x->table.line = number;
    x->table.device = device.present && device.value < 1024 ? (uint32_t)device.value : 0;
    return ok;
}

static bool read_line(struct mt_logged *out, struct readings *all, struct mt_str line,
                      size_t number)
{
    struct mt_str rest;
    struct mt_str cells[CELLS];
    bool title = behind(line, MT_STR("PyTorch CUDA memory summary, device ID"), &rest);
    struct reading *x = title || all->of.n ? reading_of(all, mt_logged_rank(line)) : NULL;
    if (title) {
        return x && read_title(out, x, rest, number);
    }
    if (!x || !x->open) {
        return read_step(out, line, number);
    }
    if (behind(line, MT_STR("CUDA OOMs:"), &rest)) {
        x->table.ooms = number_in(rest);
    }
    if (behind(line, MT_STR("cudaMalloc retries:"), &rest)) {
        x->table.retries = number_in(rest);
    }
    if (split_row(line, cells)) {
        read_row(x, cells);
    } else if (!read_step(out, line, number)) {
        return false;
    }
    return --x->left > 0 || close_table(out, x);
}

/* ---- the odd one ---- */

static int compare_i64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

bool mt_logged_same_place(const struct mt_logged_table *a, const struct mt_logged_table *b)
{
    return a->device == b->device && a->rank == b->rank;
}

bool mt_logged_is_last(const struct mt_logged *l, size_t i)
{
    for (size_t k = i + 1; k < l->tables.n; k++) {
        if (mt_logged_same_place(&l->tables.v[k], &l->tables.v[i])) {
            return false;
        }
    }
    return true;
}

/* Figures that a program prints again and again at the same moment of its loop. */
static bool is_of_series(const struct mt_logged_table *a, const struct mt_logged_table *b)
{
    return mt_logged_same_place(a, b) && a->kind == b->kind;
}

/* Far below the ends of int64_t, so that differences of differences fit. */
static int64_t allocated_in(const struct mt_logged_table *t)
{
    uint64_t n =
        mt_logged_bytes(&t->cells[MT_STAT_ALLOCATED_BYTES][MT_SLOT_ALL][MT_STAT_COLUMN_CURRENT]);
    return n > INT64_MAX / 4 ? INT64_MAX / 4 : (int64_t)n;
}

static double magnitude(int64_t x)
{
    return x < 0 ? -(double)x : (double)x;
}

/*
 * Marks the first table of a device whose change of allocated memory is not like the others': more
 * than 5 % of what was allocated and more than three times the usual distance from the usual change
 * (medians, so that the odd one does not hide itself).
 */
static enum mt_status mark_odd(struct mt_logged *l, const struct mt_logged_table *first,
                               struct mt_error *err)
{
    struct mt_logged_table place = *first;
    MT_VEC(size_t) at = {0};
    MT_VEC(int64_t) changes = {0};
    MT_VEC(int64_t) sorted = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < l->tables.n; i++) {
        if (is_of_series(&l->tables.v[i], &place)) {
            int64_t change =
                at.n ? allocated_in(&l->tables.v[i]) - allocated_in(&l->tables.v[at.v[at.n - 1]])
                     : 0;
            ok = (!at.n || (mt_vec_push(&changes, change) && mt_vec_push(&sorted, change))) &&
                 mt_vec_push(&at, i);
        }
    }
    if (ok && changes.n >= 3) {
        qsort(sorted.v, sorted.n, sizeof *sorted.v, compare_i64);
        int64_t usual = sorted.v[sorted.n / 2];
        for (size_t i = 0; i < changes.n; i++) {
            int64_t off = changes.v[i] - usual;
            sorted.v[i] = off < 0 ? -off : off;
        }
        qsort(sorted.v, sorted.n, sizeof *sorted.v, compare_i64);
        double distance = 3 * magnitude(sorted.v[sorted.n / 2]);
        for (size_t i = 0; i < changes.n; i++) {
            double off = magnitude(changes.v[i] - usual);
            if (off > distance && off > 0.05 * magnitude(allocated_in(&l->tables.v[at.v[i]]))) {
                l->tables.v[at.v[i + 1]].odd = true;
                break;
            }
        }
    }
    mt_vec_release(&at);
    mt_vec_release(&changes);
    mt_vec_release(&sorted);
    return ok ? MT_OK : mt_fail_nomem(err);
}

static bool is_first_of_series(const struct mt_logged *l, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (is_of_series(&l->tables.v[k], &l->tables.v[i])) {
            return false;
        }
    }
    return true;
}

/* A line in which the ends of lines are written out, as loggers of JSON do, is several. */
static bool read_whole_line(struct mt_logged *out, struct readings *all, struct mt_str line,
                            size_t number)
{
    static const struct mt_str END = MT_STR_INIT("\\n"), TITLE = MT_STR_INIT("CUDA memory summary");
    bool ok = true, written = mt_str_find(line, TITLE) != SIZE_MAX;
    size_t n = written ? mt_str_find(line, END) : SIZE_MAX;
    for (; ok && n != SIZE_MAX; n = mt_str_find(line, END)) {
        ok = read_line(out, all, (struct mt_str){line.p, n}, number);
        line.p += n + END.n;
        line.n -= n + END.n;
    }
    return ok && read_line(out, all, line, number);
}

static bool read_lines(struct mt_logged *out, struct mt_str log)
{
    struct readings all = {0};
    bool ok = true;
    for (size_t number = 1; ok && log.n; number++) {
        const char *newline = memchr(log.p, '\n', log.n);
        size_t n = newline ? (size_t)(newline - log.p) : log.n;
        ok = read_whole_line(out, &all, (struct mt_str){log.p, n}, number);
        size_t skip = newline ? n + 1 : n;
        log.p += skip;
        log.n -= skip;
    }
    for (size_t i = 0; i < all.of.n; i++) {
        ok = ok && close_table(out, &all.of.v[i]);
    }
    mt_vec_release(&all.of);
    return ok;
}

/* Where one rank alone is named, what names none is of the same. */
static void forget_only_rank(struct mt_logged *out)
{
    int32_t rank = -1;
    for (size_t i = 0; i < out->tables.n; i++) {
        int32_t one = out->tables.v[i].rank;
        if (rank >= 0 && one >= 0 && one != rank) {
            return;
        }
        rank = one >= 0 ? one : rank;
    }
    for (size_t i = 0; i < out->tables.n; i++) {
        out->tables.v[i].rank = -1;
    }
}

static int by_line(const void *a, const void *b)
{
    const struct mt_logged_table *x = a, *y = b;
    return x->line != y->line ? (x->line > y->line) - (x->line < y->line)
                              : (x->rank > y->rank) - (x->rank < y->rank);
}

enum mt_status mt_logged_find(struct mt_logged *out, struct mt_str log, struct mt_error *err)
{
    *out = (struct mt_logged){0};
    if (!read_lines(out, log) || !mt_logged_stats(out, log)) {
        return mt_fail_nomem(err);
    }
    forget_only_rank(out);
    if (out->tables.n > 1) {
        qsort(out->tables.v, out->tables.n, sizeof *out->tables.v, by_line);
    }
    for (size_t i = 0; i < out->tables.n; i++) {
        if (is_first_of_series(out, i)) {
            MT_TRY(mark_odd(out, &out->tables.v[i], err));
        }
    }
    return MT_OK;
}
