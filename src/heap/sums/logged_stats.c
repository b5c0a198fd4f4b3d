/* SPDX-License-Identifier: MIT */
/*
 * memory_stats() as people keep it: JSON, a printed dictionary or OrderedDict of any Python,
 * pprint, alone or in a log. All of these write a key in quotes, ':' or ',' behind it, and a
 * number; so one reader of such pairs serves them all. A dictionary ends where one of its keys
 * comes again.
 */
#include "heap/sums/logged.h"

#include <string.h>

#include "support/units.h"

#include "heap/sums/logged_parts.h"

static const struct {
    const char *key, *label;
    bool bytes, pools;
} STATS[MT_STAT_COUNT] = {
#define X(name, key, label, bytes, pools) {key, label, bytes, pools},
    MT_STAT_MAP(X)
#undef X
};

const char *mt_stat_key(enum mt_stat_kind k)
{
    return STATS[k].key;
}

const char *mt_stat_label(enum mt_stat_kind k)
{
    return STATS[k].label;
}

bool mt_stat_is_bytes(enum mt_stat_kind k)
{
    return STATS[k].bytes;
}

bool mt_stat_has_pools(enum mt_stat_kind k)
{
    return STATS[k].pools;
}

enum { LONGEST_KEY = 96 };

/* A key in quotes and its number; p is behind the opening quote. */
struct pair {
    struct mt_str key;
    uint64_t value;
    bool negative;
    size_t length; /* from the opening quote to behind the number */
};

static size_t skip_blanks(struct mt_str s, size_t at)
{
    while (at < s.n && (s.p[at] == ' ' || s.p[at] == '\t')) {
        at++;
    }
    return at;
}

static bool is_key_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

/* The pair whose opening quote is at s.p[0]. */
static bool read_pair(struct mt_str s, struct pair *out)
{
    size_t end = 1;
    while (end < s.n && end < LONGEST_KEY && is_key_char(s.p[end])) {
        end++;
    }
    if (end < 2 || end >= s.n || s.p[end] != s.p[0]) {
        return false;
    }
    out->key = (struct mt_str){s.p + 1, end - 1};
    size_t at = skip_blanks(s, end + 1);
    if (at >= s.n || (s.p[at] != ':' && s.p[at] != ',')) {
        return false;
    }
    at = skip_blanks(s, at + 1);
    out->negative = at < s.n && s.p[at] == '-';
    at += out->negative;
    size_t first = at;
    while (at < s.n && s.p[at] >= '0' && s.p[at] <= '9') {
        at++;
    }
    out->length = at;
    return at > first && mt_u64_parse((struct mt_str){s.p + first, at - first}, &out->value);
}

/* ---- which figure it is ---- */

static int word_index(struct mt_str s, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (mt_str_equal(s, mt_str_from(words[i]))) {
            return (int)i;
        }
    }
    return -1;
}

/* Cuts what stands behind the last '.' off *s. */
static struct mt_str cut_last(struct mt_str *s)
{
    size_t dot = s->n;
    while (dot > 0 && s->p[dot - 1] != '.') {
        dot--;
    }
    struct mt_str last = {s->p + dot, s->n - dot};
    s->n = dot > 0 ? dot - 1 : 0;
    return last;
}

/* The cell that a key names, "allocated_bytes.all.current"; NULL: none. */
static struct mt_logged_value *cell_of(struct mt_logged_table *t, struct mt_str key)
{
    static const char *const COLUMNS[] = {"current", "peak", "allocated", "freed"};
    static const char *const SLOTS[] = {
        [MT_SLOT_ALL] = "all", [MT_SLOT_LARGE] = "large_pool", [MT_SLOT_SMALL] = "small_pool"};
    if (mt_str_equal(key, MT_STR("num_ooms"))) {
        return &t->ooms;
    }
    if (mt_str_equal(key, MT_STR("num_alloc_retries"))) {
        return &t->retries;
    }
    int column = word_index(cut_last(&key), COLUMNS, MT_COUNT(COLUMNS));
    for (int k = 0; column >= 0 && k < MT_STAT_COUNT; k++) {
        struct mt_str name = mt_str_from(mt_stat_key((enum mt_stat_kind)k));
        struct mt_str rest = key;
        int slot = MT_SLOT_ALL;
        if (mt_stat_has_pools((enum mt_stat_kind)k)) {
            slot = word_index(cut_last(&rest), SLOTS, MT_COUNT(SLOTS));
        }
        if (slot >= 0 && mt_str_equal(rest, name)) {
            return &t->cells[k][slot][column];
        }
    }
    return NULL;
}

/* ---- the walk ---- */

struct walk {
    struct mt_logged *out;
    struct mt_logged_table table;
    bool open;
    size_t n_cells;
};

static bool close_stats(struct walk *w)
{
    bool keep = w->open && w->n_cells > 1; /* one pair alone may be anything */
    w->open = false;
    return !keep || mt_vec_push(&w->out->tables, w->table);
}

static bool take_pair(struct walk *w, const struct pair *p, struct mt_str line, size_t number)
{
    struct mt_logged_table probe = {0};
    if (p->negative || !cell_of(&probe, p->key)) {
        return true;
    }
    if (w->open && cell_of(&w->table, p->key)->present && !close_stats(w)) {
        return false;
    }
    if (!w->open) {
        w->table = (struct mt_logged_table){
            .line = number, .kind = MT_LOGGED_STATS, .rank = mt_logged_rank(line)};
        w->n_cells = 0;
        w->open = true;
    }
    *cell_of(&w->table, p->key) = (struct mt_logged_value){true, p->value, 1};
    w->n_cells++;
    return true;
}

static bool read_stats_line(struct walk *w, struct mt_str line, size_t number)
{
    bool ok = true;
    for (size_t i = 0; ok && i < line.n; i++) {
        struct pair p;
        bool quote = line.p[i] == '"' || line.p[i] == '\'';
        if (quote && read_pair((struct mt_str){line.p + i, line.n - i}, &p)) {
            ok = take_pair(w, &p, (struct mt_str){line.p, i}, number);
            i += p.length - 1;
        }
    }
    return ok;
}

bool mt_logged_stats(struct mt_logged *out, struct mt_str log)
{
    struct walk w = {.out = out};
    bool ok = true;
    for (size_t number = 1; ok && log.n; number++) {
        const char *newline = memchr(log.p, '\n', log.n);
        size_t n = newline ? (size_t)(newline - log.p) : log.n;
        ok = read_stats_line(&w, (struct mt_str){log.p, n}, number);
        size_t skip = newline ? n + 1 : n;
        log.p += skip;
        log.n -= skip;
    }
    return ok && close_stats(&w);
}
