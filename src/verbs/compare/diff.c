/* SPDX-License-Identifier: MIT */
/*
 * Matching by content. The strings of both snapshots go into one table, so that a frame becomes
 * three numbers that mean the same in both; a stack is the list of them, interned once with line
 * numbers and, for what found no partner, once without. Several stacks may be alike without line
 * numbers (two calls in one function): those are paired in the order of their lines, and where one
 * file has more of them, those that are farther off stay alone. What is left is paired where the
 * program's own frames and the innermost function are the same on the way, and in one stack of each
 * file alone: DDP calls a model through other frames than FSDP does.
 */
#include "verbs/compare/diff.h"

#include <stdlib.h>

#include "heap/stacks/frames.h"
#include "support/arena.h"
#include "support/checked.h"
#include "support/hash.h"
#include "torch/frame_class.h"

const char *mt_diff_status_word(enum mt_diff_status s)
{
    static const char *const words[] = {"same", "changed", "new", "gone"};
    return words[s];
}

struct side {
    const struct mt_snapshot *s;
    const struct mt_compare_side *from;
    MT_VEC(uint32_t) common; /* string id -> id in the table of both; 0 = not yet */
};

struct matcher {
    struct mt_diff *d;
    struct side side[2]; /* before, after */
    struct mt_arena arena;
    struct mt_intern strings;
    struct mt_intern keys;  /* stacks as bytes */
    struct mt_idmap row_of; /* key of a stack with lines -> row */
    struct mt_buf scratch;
};

/* ---- keys ---- */

static uint32_t common_string(struct matcher *m, struct side *side, uint32_t id)
{
    if (!side->common.v[id]) {
        struct mt_str text = mt_snapshot_str(side->s, id);
        side->common.v[id] = mt_intern_put(&m->strings, text.p, text.n);
    }
    return side->common.v[id];
}

/* What of a stack must be the same: all, all but the lines, or the frames of the program itself,
 * with their lines, and the innermost function. */
enum likeness { EXACT = 'L', NO_LINES = 'N', OWN_FRAMES = 'O' };

/* What torch.compile generates is called otherwise whenever it is. */
static uint32_t common_file(struct matcher *m, struct side *side, const struct mt_frame *f,
                            enum likeness what)
{
    static const char GENERATED[] = "(generated)";
    return what == NO_LINES && mt_frame_file_is_generated(mt_snapshot_str(side->s, f->filename))
               ? mt_intern_put(&m->strings, GENERATED, sizeof GENERATED - 1)
               : common_string(m, side, f->filename);
}

/* The id of a stack's content; 0 when out of memory. Never that of another content: the bytes are
 * compared. */
static uint32_t stack_key(struct matcher *m, struct side *side, uint32_t stack, enum likeness what)
{
    const struct mt_stack *frames = &side->s->stacks[stack];
    mt_buf_reset(&m->scratch);
    mt_buf_char(&m->scratch, (char)what);
    for (uint32_t i = 0; i < frames->n; i++) {
        const struct mt_frame *f = &side->s->frames[side->s->stack_frames[frames->first + i]];
        bool own = what != OWN_FRAMES || !mt_frame_is_internal(side->s, f);
        if (!own && i > 0) {
            continue;
        }
        uint32_t words[3] = {common_string(m, side, f->name), common_file(m, side, f, what),
                             what == NO_LINES || !own ? 0 : (uint32_t)f->line};
        if (!words[0] || !words[1]) {
            return 0;
        }
        mt_buf_add(&m->scratch, words, sizeof words);
    }
    return m->scratch.failed ? 0 : mt_intern_put(&m->keys, m->scratch.p, m->scratch.n);
}

/* ---- rows ---- */

static void row_add(struct mt_diff_row *row, const struct mt_diff_item *sum, bool after)
{
    uint64_t *bytes = after ? &row->after : &row->before;
    uint64_t *count = after ? &row->after_count : &row->before_count;
    uint32_t *stack = after ? &row->after_stack : &row->before_stack;
    *bytes = mt_add_sat(*bytes, sum->bytes);
    *stack = *count ? *stack : sum->stack;
    *count += sum->count;
    row->name = row->name.p ? row->name : sum->name;
}

/* 0 when out of memory. */
static uint32_t item_key(struct matcher *m, struct side *side, const struct mt_diff_item *item)
{
    if (!item->name.p) {
        return stack_key(m, side, item->stack, EXACT);
    }
    mt_buf_reset(&m->scratch);
    mt_buf_char(&m->scratch, 'T');
    mt_buf_add(&m->scratch, item->name.p, item->name.n);
    return m->scratch.failed ? 0 : mt_intern_put(&m->keys, m->scratch.p, m->scratch.n);
}

static bool add_exact(struct matcher *m, bool after)
{
    struct side *side = &m->side[after];
    for (size_t i = 0; i < side->from->items.n; i++) {
        const struct mt_diff_item *sum = &side->from->items.v[i];
        uint32_t key = item_key(m, side, sum);
        uint32_t *found = mt_idmap_find(&m->row_of, key);
        uint32_t at = found ? *found : (uint32_t)m->d->rows.n;
        struct mt_diff_row empty = {0};
        if (!key ||
            (!found && (!mt_vec_push(&m->d->rows, empty) || !mt_idmap_put(&m->row_of, key, at)))) {
            return false;
        }
        row_add(&m->d->rows.v[at], sum, after);
    }
    return true;
}

/* ---- rows that moved ---- */

struct lonely {
    uint32_t key; /* without lines */
    uint32_t row;
    const struct side *side;
    uint32_t stack;
    bool after;
};

static const struct mt_frame *frame_of(const struct lonely *x, uint32_t frame)
{
    const struct mt_snapshot *s = x->side->s;
    return &s->frames[s->stack_frames[s->stacks[x->stack].first + frame]];
}

static int32_t line_of(const struct lonely *x, uint32_t frame)
{
    return frame_of(x, frame)->line;
}

/* Stacks that are alike without lines: are their files called the same too? */
static enum mt_diff_match match_of(const struct lonely *x, const struct lonely *y)
{
    bool same = true;
    for (uint32_t i = 0; i < x->side->s->stacks[x->stack].n && same; i++) {
        same = mt_str_equal(mt_snapshot_str(x->side->s, frame_of(x, i)->filename),
                            mt_snapshot_str(y->side->s, frame_of(y, i)->filename));
    }
    return same ? MT_DIFF_MOVED : MT_DIFF_GENERATED;
}

/* Lines between two stacks that are alike without them. */
static uint64_t distance(const struct lonely *x, const struct lonely *y)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < x->side->s->stacks[x->stack].n; i++) {
        int64_t d = (int64_t)line_of(x, i) - line_of(y, i);
        sum += (uint64_t)(d < 0 ? -d : d);
    }
    return sum;
}

static int by_lines(const struct lonely *x, const struct lonely *y)
{
    const struct mt_stack *a = &x->side->s->stacks[x->stack], *b = &y->side->s->stacks[y->stack];
    for (uint32_t i = 0; i < a->n && i < b->n; i++) {
        int32_t la = line_of(x, i), lb = line_of(y, i);
        if (la != lb) {
            return la < lb ? -1 : 1;
        }
    }
    return x->row < y->row ? -1 : x->row > y->row;
}

/* By key, then before and after, then by line numbers. */
static int by_key(const void *a, const void *b)
{
    const struct lonely *x = a, *y = b;
    if (x->key != y->key) {
        return x->key < y->key ? -1 : 1;
    }
    return x->after != y->after ? x->after - y->after : by_lines(x, y);
}

static void join_rows(struct mt_diff *d, const struct lonely *before, const struct lonely *after,
                      enum mt_diff_match match)
{
    struct mt_diff_row *to = &d->rows.v[before->row], *from = &d->rows.v[after->row];
    to->after = from->after;
    to->after_count = from->after_count;
    to->after_stack = from->after_stack;
    to->match = match;
    from->after_count = 0; /* an empty row: dropped at the end */
    from->after = 0;
}

/* Pairs a list of stacks before with one after, in the order of their lines. The longer list may
 * leave one alone where its next is nearer. */
static void pair_alike(struct mt_diff *d, const struct lonely *before, size_t nb,
                       const struct lonely *after, size_t na)
{
    for (size_t i = 0, k = 0; i < nb && k < na;) {
        uint64_t here = distance(&before[i], &after[k]);
        if (nb - i > na - k && distance(&before[i + 1], &after[k]) < here) {
            i++;
        } else if (na - k > nb - i && distance(&before[i], &after[k + 1]) < here) {
            k++;
        } else {
            join_rows(d, &before[i], &after[k], match_of(&before[i], &after[k]));
            i++;
            k++;
        }
    }
}

static void pair_lonely(struct mt_diff *d, struct lonely *list, size_t n)
{
    for (size_t first = 0, end; first < n; first = end) {
        size_t split = first;
        for (end = first; end < n && list[end].key == list[first].key; end++) {
            split += !list[end].after;
        }
        pair_alike(d, &list[first], split - first, &list[split], end - split);
    }
}

/* What has one partner alone: of several nothing tells which is which. */
static void pair_single(struct mt_diff *d, struct lonely *list, size_t n)
{
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && list[end].key == list[first].key; end++) {
        }
        if (end - first == 2 && !list[first].after && list[first + 1].after) {
            join_rows(d, &list[first], &list[first + 1], MT_DIFF_REROUTED);
        }
    }
}

static bool has_own_frame(const struct mt_snapshot *s, uint32_t stack)
{
    const struct mt_stack *frames = &s->stacks[stack];
    for (uint32_t i = 0; i < frames->n; i++) {
        if (!mt_frame_is_internal(s, &s->frames[s->stack_frames[frames->first + i]])) {
            return true;
        }
    }
    return false;
}

static bool add_alike(struct matcher *m, enum likeness what)
{
    struct mt_diff *d = m->d;
    MT_VEC(struct lonely) list = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < d->rows.n; i++) {
        const struct mt_diff_row *row = &d->rows.v[i];
        if (row->name.p || (row->before_count && row->after_count)) {
            continue;
        }
        bool after = row->after_count != 0;
        uint32_t stack = after ? row->after_stack : row->before_stack;
        if (what == OWN_FRAMES && !has_own_frame(m->side[after].s, stack)) {
            continue;
        }
        struct lonely one = {stack_key(m, &m->side[after], stack, what), (uint32_t)i,
                             &m->side[after], stack, after};
        ok = one.key && mt_vec_push(&list, one);
    }
    if (ok && list.n) {
        qsort(list.v, list.n, sizeof *list.v, by_key);
        (what == OWN_FRAMES ? pair_single : pair_lonely)(d, list.v, list.n);
    }
    mt_vec_release(&list);
    return ok;
}

/* ---- order and sums ---- */

static uint64_t magnitude(const struct mt_diff_row *r)
{
    return r->after > r->before ? r->after - r->before : r->before - r->after;
}

static int by_change(const void *a, const void *b)
{
    const struct mt_diff_row *x = a, *y = b;
    uint64_t keys[][2] = {
        {magnitude(y), magnitude(x)},
        {y->after, x->after},
        {x->before_stack, y->before_stack},
        {x->after_stack, y->after_stack},
    };
    for (size_t i = 0; i < MT_COUNT(keys); i++) {
        if (keys[i][0] != keys[i][1]) {
            return keys[i][0] < keys[i][1] ? -1 : 1;
        }
    }
    return mt_str_compare(x->name, y->name);
}

static enum mt_diff_status row_status(const struct mt_diff_row *r)
{
    if (!r->before_count) {
        return MT_DIFF_NEW;
    }
    if (!r->after_count) {
        return MT_DIFF_GONE;
    }
    return r->before == r->after && r->before_count == r->after_count ? MT_DIFF_SAME
                                                                      : MT_DIFF_CHANGED;
}

static void finish_rows(struct mt_diff *d)
{
    size_t n = 0;
    for (size_t i = 0; i < d->rows.n; i++) {
        struct mt_diff_row row = d->rows.v[i];
        if (!row.before_count && !row.after_count) {
            continue;
        }
        row.status = row_status(&row);
        d->by_status[row.status]++;
        d->before = mt_add_sat(d->before, row.before);
        d->after = mt_add_sat(d->after, row.after);
        d->before_count += row.before_count;
        d->after_count += row.after_count;
        d->rows.v[n++] = row;
    }
    d->rows.n = n;
    if (n) {
        qsort(d->rows.v, n, sizeof *d->rows.v, by_change);
    }
}

static bool side_init(struct side *side)
{
    size_t n = side->s->n_strings ? side->s->n_strings : 1;
    if (!mt_vec_reserve(&side->common, n)) {
        return false;
    }
    memset(side->common.v, 0, n * sizeof *side->common.v);
    return true;
}

static bool match(struct matcher *m)
{
    for (int i = 0; i < 2; i++) {
        if (!side_init(&m->side[i]) || !add_exact(m, i == 1)) {
            return false;
        }
    }
    if (!add_alike(m, NO_LINES) || !add_alike(m, OWN_FRAMES)) {
        return false;
    }
    finish_rows(m->d);
    return true;
}

enum mt_status mt_diff_find(struct mt_diff *d, const struct mt_compare_side *before,
                            const struct mt_compare_side *after, struct mt_error *err)
{
    *d = (struct mt_diff){0};
    struct matcher m = {.d = d,
                        .side = {{.s = before->s, .from = before}, {.s = after->s, .from = after}}};
    mt_intern_init(&m.strings, &m.arena, 0);
    mt_intern_init(&m.keys, &m.arena, 0);
    bool ok = match(&m);
    for (int i = 0; i < 2; i++) {
        mt_vec_release(&m.side[i].common);
    }
    mt_intern_release(&m.strings);
    mt_intern_release(&m.keys);
    mt_idmap_release(&m.row_of);
    mt_buf_release(&m.scratch);
    mt_arena_release(&m.arena);
    return ok ? MT_OK : mt_fail_nomem(err);
}

void mt_diff_release(struct mt_diff *d)
{
    mt_vec_release(&d->rows);
}

/* ---- segments ---- */

struct keyed {
    int32_t device;
    uint64_t addr, size;
};

static int by_place(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    if (x->device != y->device) {
        return x->device < y->device ? -1 : 1;
    }
    if (x->addr != y->addr) {
        return x->addr < y->addr ? -1 : 1;
    }
    return x->size < y->size ? -1 : x->size > y->size;
}

static struct keyed segment_place(const struct mt_segment *s)
{
    return (struct keyed){s->device, s->addr, s->total_size};
}

/* Calls push for the segments of `mine` that `other` does not have. */
static bool only_in(const struct mt_snapshot *mine, const struct mt_snapshot *other,
                    struct mt_segment_diff *d, bool after)
{
    struct keyed *sorted = mt_mem_alloc(other->n_segments ? other->n_segments : 1, sizeof *sorted);
    bool ok = sorted != NULL;
    for (size_t i = 0; ok && i < other->n_segments; i++) {
        sorted[i] = segment_place(&other->segments[i]);
    }
    if (ok) {
        qsort(sorted, other->n_segments, sizeof *sorted, by_place);
    }
    for (size_t i = 0; ok && i < mine->n_segments; i++) {
        struct keyed key = segment_place(&mine->segments[i]);
        if (!bsearch(&key, sorted, other->n_segments, sizeof *sorted, by_place)) {
            ok = after ? mt_vec_push(&d->only_after, (uint32_t)i)
                       : mt_vec_push(&d->only_before, (uint32_t)i);
        }
    }
    mt_mem_free(sorted);
    return ok;
}

enum mt_status mt_segment_diff_find(struct mt_segment_diff *d, const struct mt_snapshot *before,
                                    const struct mt_snapshot *after, struct mt_error *err)
{
    *d = (struct mt_segment_diff){0};
    if (!only_in(before, after, d, false) || !only_in(after, before, d, true)) {
        return mt_fail_nomem(err);
    }
    return MT_OK;
}

void mt_segment_diff_release(struct mt_segment_diff *d)
{
    mt_vec_release(&d->only_before);
    mt_vec_release(&d->only_after);
}
