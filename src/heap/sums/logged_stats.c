/* SPDX-License-Identifier: MIT */
/*
 * memory_stats() as people keep it: JSON, a printed dictionary or OrderedDict of any Python,
 * pprint, alone or in a log. All of these write a key in quotes, ':' or ',' behind it, and a
 * number, which may be a string or stand in the parentheses of its type; so one reader of such
 * pairs serves them all. Loops over the items print the keys without quotes, one a line.
 * memory_stats_as_nested_dict() writes a dictionary behind a key: its keys are those that it stands
 * in and its own, with points between them. A dictionary ends where one of its keys comes again.
 * Dictionaries of several devices or ranks lie behind keys that name them.
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
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == ':';
}

/* Behind what stands before a number: "np.int64(", "tensor(", a quote. */
static size_t skip_type(struct mt_str s, size_t at)
{
    size_t end = at;
    while (end < s.n && is_key_char(s.p[end])) {
        end++;
    }
    bool call = end > at && end < s.n && s.p[end] == '(';
    bool quote = at < s.n && (s.p[at] == '"' || s.p[at] == '\'');
    return call ? end + 1 : at + quote;
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
    at = skip_type(s, at);
    out->negative = at < s.n && s.p[at] == '-';
    at += out->negative;
    size_t first = at;
    while (at < s.n && s.p[at] >= '0' && s.p[at] <= '9') {
        at++;
    }
    out->length = at;
    return at > first && mt_u64_parse((struct mt_str){s.p + first, at - first}, &out->value);
}

/* Digits with ',' or '_' between groups of three into *value; their length, 0: none. */
static size_t grouped_number(struct mt_str s, uint64_t *value)
{
    char digits[24];
    size_t n = 0, at = 0;
    for (; at < s.n && n < sizeof digits; at++) {
        bool digit = s.p[at] >= '0' && s.p[at] <= '9';
        bool group = (s.p[at] == ',' || s.p[at] == '_') && at + 3 < s.n && s.p[at + 1] >= '0' &&
                     s.p[at + 1] <= '9';
        if (digit) {
            digits[n++] = s.p[at];
        } else if (!group || !n) {
            break;
        }
    }
    return n && mt_u64_parse((struct mt_str){digits, n}, value) ? at : 0;
}

/* "allocated_bytes.all.current: 1,073,741,824" at s.p[0]; nothing but its own end may follow the
 * number: "1.5 GiB" is in a unit. */
static bool read_bare(struct mt_str s, struct pair *out)
{
    size_t end = 0;
    while (end < s.n && end < MT_LOGGED_KEY && is_key_char(s.p[end]) && s.p[end] != ':') {
        end++;
    }
    size_t at = skip_blanks(s, end);
    if (at < s.n && strchr(":=|", s.p[at]) && s.p[at]) {
        at = skip_blanks(s, at + 1);
    }
    size_t digits = grouped_number((struct mt_str){s.p + at, s.n - at}, &out->value);
    size_t behind = skip_blanks(s, at + digits);
    *out = (struct pair){
        .key = {s.p, end}, .value = out->value, .length = at + digits, .opens = false};
    return at > end && digits > 0 && (behind >= s.n || strchr("\r,;|)", s.p[behind]) != NULL);
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
    int32_t rank; /* whose lines it takes */
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

/* The number that a key ends in, "cuda:1", "rank_3", "0", behind one of the words; -1: it is none.
 */
static int32_t number_of_key(struct mt_str key, const char *const *words, size_t n_words)
{
    uint64_t n = 0;
    for (size_t i = 0; i < n_words; i++) {
        struct mt_str word = mt_str_from(words[i]);
        size_t at = mt_str_starts(key, word) ? word.n : key.n;
        at += at < key.n && word.n && strchr(":_.", key.p[at]) != NULL;
        if (at < key.n && mt_u64_parse((struct mt_str){key.p + at, key.n - at}, &n) && n < 1024) {
            return (int32_t)n;
        }
    }
    return -1;
}

/* The device and the rank that the keys before those of memory_stats() name. */
static void name_place(const struct walk *w, struct mt_logged_table *t)
{
    static const char *const DEVICES[] = {"cuda", "gpu", "device", "xpu", "hip", "npu", ""};
    static const char *const RANKS[] = {"rank", "local_rank", "global_rank"};
    for (size_t d = 0; d < w->depth && w->begins[d] < w->base; d++) {
        size_t end = d + 1 < w->depth ? w->begins[d + 1] : w->path_n;
        struct mt_str key = {w->path + w->begins[d], end - w->begins[d] - 1};
        int32_t device = number_of_key(key, DEVICES, MT_COUNT(DEVICES));
        int32_t rank = number_of_key(key, RANKS, MT_COUNT(RANKS));
        t->device = device >= 0 ? (uint32_t)device : t->device;
        t->rank = rank >= 0 ? rank : t->rank;
    }
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
        struct mt_str before = {line.p + w->from, line.n - w->from};
        w->table = (struct mt_logged_table){.line = number,
                                            .kind = MT_LOGGED_STATS,
                                            .rank = w->rank,
                                            .step = mt_logged_step(before),
                                            .device = mt_logged_device(before)};
        name_place(w, &w->table);
        w->from = line.n;
        w->n_cells = 0;
        w->open = true;
    }
    *find_cell(w, &w->table, key) = (struct mt_logged_value){true, p->value, 1};
    w->n_cells++;
    return true;
}

/* "{0: {" and ", 1: {": the numbers of devices. The length up to the brace, 0: it is none. */
static size_t enter_number(struct walk *w, struct mt_str line, size_t i)
{
    size_t before = i, end = i;
    while (before > 0 && (line.p[before - 1] == ' ' || line.p[before - 1] == '\t')) {
        before--;
    }
    if (before == 0 || !strchr("{,", line.p[before - 1]) || !line.p[before - 1]) {
        return 0;
    }
    while (end < line.n && line.p[end] >= '0' && line.p[end] <= '9') {
        end++;
    }
    size_t colon = skip_blanks(line, end), brace = skip_blanks(line, colon + 1);
    if (colon >= line.n || line.p[colon] != ':' || brace >= line.n) {
        return 0;
    }
    struct mt_str behind = {line.p + brace, line.n - brace};
    if (!mt_str_starts(behind, MT_STR("{")) && !mt_str_starts(behind, MT_STR("OrderedDict("))) {
        return 0;
    }
    enter(w, (struct mt_str){line.p + i, end - i}, behind);
    return brace - i;
}

/* Keys without quotes; only those of the allocator itself. The length that was read, 0: none. */
static size_t take_bare(struct walk *w, struct mt_logged *out, struct mt_str line, size_t i,
                        size_t number, bool *ok)
{
    struct mt_logged_table probe = {0};
    struct pair p;
    bool begins = line.p[i] >= 'a' && line.p[i] <= 'z' &&
                  (i == 0 || strchr(" \t,;|(", line.p[i - 1]) != NULL);
    if (!begins || !read_bare((struct mt_str){line.p + i, line.n - i}, &p) ||
        !cell_of(&probe, p.key)) {
        return 0;
    }
    *ok = take_pair(w, out, &p, (struct mt_str){line.p, i}, number);
    return p.length;
}

static bool read_stats_line(struct walk *w, struct mt_logged *out, struct mt_str line,
                            size_t number, bool bare)
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
        } else {
            size_t n = c >= '0' && c <= '9' ? enter_number(w, line, i)
                       : bare               ? take_bare(w, out, line, i, number, &ok)
                                            : 0;
            i += n ? n - 1 : 0;
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
        if (all->of.v[i].rank == rank) {
            return &all->of.v[i];
        }
    }
    struct walk fresh = {.rank = rank};
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
        bool bare = mt_str_find(line, MT_STR(".all.")) != SIZE_MAX ||
                    mt_str_find(line, MT_STR("num_")) != SIZE_MAX;
        if (n && (bare || memchr(line.p, '"', n) || memchr(line.p, '\'', n) ||
                  memchr(line.p, '}', n) || memchr(line.p, ']', n))) {
            int32_t rank = mt_logged_rank(line);
            struct walk *w = walk_of(&all, rank < 0 ? last : rank);
            ok = w && read_stats_line(w, out, line, number, bare);
            last = ok && w->open ? w->rank : -1; /* pprint: lines that name none follow */
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
