/* SPDX-License-Identifier: MIT */
/*
 * memory_stats() as people keep it: JSON, a printed dictionary or OrderedDict of any Python,
 * pprint, alone or in a log. All of these write a key in quotes, ':' or ',' behind it, and a
 * number; so one reader of such pairs serves them all. memory_stats_as_nested_dict() writes a
 * dictionary behind a key: its keys are those that it stands in and its own, with points between
 * them. A dictionary ends where one of its keys comes again.
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

/* A key in quotes, and its number or what opens a dictionary behind it. */
struct pair {
    struct mt_str key;
    uint64_t value;
    bool negative, opens;
    size_t length; /* from the opening quote to behind the number or the key */
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
    while (end < s.n && end < MT_LOGGED_KEY && is_key_char(s.p[end])) {
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
    struct mt_str rest = {s.p + at, s.n - at};
    out->opens = mt_str_starts(rest, MT_STR("{")) || mt_str_starts(rest, MT_STR("OrderedDict("));
    if (out->opens) {
        out->length = at;
        return true;
    }
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

enum { DEEPEST = 4 };

struct walk {
    struct mt_logged *out;
    struct mt_logged_table table;
    bool open;
    size_t n_cells;
    /* Keys whose dictionaries are open, with a point behind each, and what closes them. */
    char path[MT_LOGGED_KEY];
    size_t path_n, begins[DEEPEST], depth;
    char closes[DEEPEST];
    size_t base; /* how much of the path stands before the keys of memory_stats() */
    size_t from; /* of a line: where what stands before the next table begins */
};

/* "allocated_bytes": {"all": {"current": 1; OrderedDict([('all', 1 */
static void enter(struct walk *w, struct mt_str key, struct mt_str behind)
{
    if (w->depth < DEEPEST && w->path_n + key.n + 1 < sizeof w->path) {
        bool list = mt_str_starts(behind, MT_STR("OrderedDict(["));
        w->closes[w->depth] = list ? ']' : '}';
        w->begins[w->depth++] = w->path_n;
        memcpy(w->path + w->path_n, key.p, key.n);
        w->path_n += key.n;
        w->path[w->path_n++] = '.';
    }
}

/* ']' of what a launcher puts before a line closes nothing. */
static void leave(struct walk *w, char c)
{
    if (w->depth && w->closes[w->depth - 1] == c) {
        w->path_n = w->begins[--w->depth];
    }
}

/* The cell of a key with the keys of the dictionaries that it stands in, as many of them as it
 * takes: the figures may themselves lie in one. `text` is the longest form, in all. */
static struct mt_logged_value *find_cell(struct walk *w, struct mt_logged_table *t,
                                         struct mt_str text)
{
    struct mt_logged_value *v = NULL;
    for (size_t d = 0; !v && d <= w->depth; d++) {
        size_t base = d < w->depth ? w->begins[d] : w->path_n;
        v = cell_of(t, (struct mt_str){text.p + base, text.n - base});
        w->base = v ? base : w->base;
    }
    return v;
}

static bool close_stats(struct walk *w, struct mt_logged *out)
{
    bool keep = w->open && w->n_cells > 1; /* one pair alone may be anything */
    w->open = false;
    return !keep || mt_vec_push(&out->tables, w->table);
}

/* Figures that releases and patches add: "num_device_alloc", "module_bytes.layers.0.current",
 * "reserved_bytes_by_private_pools.0_2.all.current". */
static bool take_other(struct walk *w, struct mt_logged *out, struct mt_str key, uint64_t value)
{
    struct mt_logged_other o = {.value = value};
    bool counts = mt_str_starts(key, MT_STR("num_")) || mt_str_ends(key, MT_STR(".current"));
    bool next = !w->table.n_others || w->table.first_other + w->table.n_others == out->others.n;
    if (!w->open || !counts || !next || key.n >= sizeof o.key) {
        return true;
    }
    memcpy(o.key, key.p, key.n);
    w->table.first_other = w->table.n_others ? w->table.first_other : out->others.n;
    w->table.n_others++;
    return mt_vec_push(&out->others, o);
}

static bool take_pair(struct walk *w, struct mt_logged *out, const struct pair *p,
                      struct mt_str line, size_t number)
{
    struct mt_logged_table probe = {0};
    char text[2 * MT_LOGGED_KEY];
    memcpy(text, w->path, w->path_n);
    memcpy(text + w->path_n, p->key.p, p->key.n);
    struct mt_str key = {text, w->path_n + p->key.n};
    if (p->negative || !find_cell(w, &probe, key)) {
        size_t base = w->base < w->path_n ? w->base : w->path_n;
        key = (struct mt_str){key.p + base, key.n - base};
        return p->negative || take_other(w, out, key, p->value);
    }
    if (w->open && find_cell(w, &w->table, key)->present && !close_stats(w, out)) {
        return false;
    }
    if (!w->open) {
        w->table = (struct mt_logged_table){
            .line = number,
            .kind = MT_LOGGED_STATS,
            .rank = w->table.rank,
            .step = mt_logged_step((struct mt_str){line.p + w->from, line.n - w->from})};
        w->from = line.n;
        w->n_cells = 0;
        w->open = true;
    }
    *find_cell(w, &w->table, key) = (struct mt_logged_value){true, p->value, 1};
    w->n_cells++;
    return true;
}

static bool read_stats_line(struct walk *w, struct mt_logged *out, struct mt_str line,
                            size_t number)
{
    bool ok = true;
    w->from = 0;
    for (size_t i = 0; ok && i < line.n; i++) {
        struct pair p;
        char c = line.p[i];
        leave(w, c);
        w->from = c == '}' && w->from ? i + 1 : w->from; /* what ended tells no step of the next */
        if ((c == '"' || c == '\'') && read_pair((struct mt_str){line.p + i, line.n - i}, &p)) {
            if (p.opens) {
                enter(w, p.key, (struct mt_str){line.p + i + p.length, line.n - i - p.length});
            } else {
                ok = take_pair(w, out, &p, (struct mt_str){line.p, i}, number);
            }
            i += p.length - 1;
        }
    }
    return ok;
}

struct walks {
    MT_VEC(struct walk) of; /* one a rank that was met */
};

/* NULL when out of memory. */
static struct walk *walk_of(struct walks *all, int32_t rank)
{
    for (size_t i = 0; i < all->of.n; i++) {
        if (all->of.v[i].table.rank == rank) {
            return &all->of.v[i];
        }
    }
    struct walk fresh = {.table.rank = rank};
    return mt_vec_push(&all->of, fresh) ? &all->of.v[all->of.n - 1] : NULL;
}

bool mt_logged_stats(struct mt_logged *out, struct mt_str log)
{
    struct walks all = {0};
    bool ok = true;
    int32_t last = -1;
    for (size_t number = 1; ok && log.n; number++) {
        const char *newline = memchr(log.p, '\n', log.n);
        size_t n = newline ? (size_t)(newline - log.p) : log.n;
        struct mt_str line = {log.p, n};
        if (n && (memchr(line.p, '"', n) || memchr(line.p, '\'', n) || memchr(line.p, '}', n) ||
                  memchr(line.p, ']', n))) {
            int32_t rank = mt_logged_rank(line);
            struct walk *w = walk_of(&all, rank < 0 ? last : rank);
            ok = w && read_stats_line(w, out, line, number);
            last = ok && w->open ? w->table.rank : -1; /* pprint: lines that name none follow */
        }
        size_t skip = newline ? n + 1 : n;
        log.p += skip;
        log.n -= skip;
    }
    for (size_t i = 0; i < all.of.n; i++) {
        ok = ok && close_stats(&all.of.v[i], out);
    }
    mt_vec_release(&all.of);
    return ok;
}
