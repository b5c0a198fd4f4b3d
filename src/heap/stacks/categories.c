/* SPDX-License-Identifier: MIT */
/*
 * Rules and how they are applied. A rule speaks of one frame, and the first rule that fits any
 * frame of a stack wins; so each frame is matched once, to the first rule that fits it, and a stack
 * takes the least of its frames. The rules of a file are few and the frames thousands, against
 * millions of events. Frames of one file stand together, so that its path is searched once.
 * What lifetimes and sizes say besides stands in category_evidence.c.
 */
#include "heap/stacks/categories.h"

#include <inttypes.h>
#include <stdlib.h>

#include "support/mem.h"
#include "support/vec.h"

#include "heap/walk/annotation_cursor.h"
#include "heap/findings/counting.h"
#include "heap/stacks/category_evidence.h"

static const char *const WORDS[MT_CATEGORY_COUNT] = {
#define X(name, word) [MT_CATEGORY_##name] = word,
    MT_CATEGORY_MAP(X)
#undef X
};

const char *mt_category_name(enum mt_category c)
{
    return WORDS[c];
}

enum mt_category mt_category_parse(struct mt_str word)
{
    int c = 0;
    while (c < MT_CATEGORY_COUNT && !mt_str_equal(word, mt_str_from(WORDS[c]))) {
        c++;
    }
    return (enum mt_category)c;
}

const char *mt_sureness_name(enum mt_sureness s)
{
    static const char *const NAMES[MT_SURE_COUNT] = {"low", "medium", "high"};
    return NAMES[s];
}

struct mt_str mt_category_told(enum mt_category c, enum mt_sureness s)
{
    static const char *const TOLD[MT_CATEGORY_COUNT][MT_SURE_COUNT] = {
#define X(name, word) [MT_CATEGORY_##name] = {word "~low", word "~medium", word},
        MT_CATEGORY_MAP(X)
#undef X
    };
    return mt_str_from(TOLD[c][s]);
}

bool mt_category_read(struct mt_str word, enum mt_category *c, enum mt_sureness *s)
{
    for (int k = 0; k < MT_CATEGORY_COUNT * MT_SURE_COUNT; k++) {
        *c = (enum mt_category)(k / MT_SURE_COUNT);
        *s = (enum mt_sureness)(k % MT_SURE_COUNT);
        if (mt_str_equal(word, mt_category_told(*c, *s))) {
            return true;
        }
    }
    return false;
}

enum mt_sureness mt_sureness_of(const uint64_t bytes[MT_SURE_COUNT])
{
    uint64_t all = 0, reached = 0;
    for (int k = 0; k < MT_SURE_COUNT; k++) {
        all += bytes[k];
    }
    int level = MT_SURE_HIGH;
    for (reached = bytes[level]; level > MT_SURE_LOW && reached < all - all / 10;) {
        reached += bytes[--level];
    }
    return (enum mt_sureness)level;
}

/* ---- rules ---- */

enum test { TEST_FILE, TEST_NAME, TEST_ANNOTATION, TEST_COUNT };
static const char *const TESTS[TEST_COUNT] = {"file", "name", "annotation"};

struct rule {
    enum mt_category category;
    struct mt_str tests[TEST_COUNT]; /* .n = 0: not asked for */
};

struct mt_rules {
    char *text; /* of the user's rules, which point into it */
    MT_VEC(struct rule) list;
    size_t own; /* the first so many are the user's */
};

void mt_rules_free(struct mt_rules *r)
{
    if (r) {
        mt_vec_release(&r->list);
        mt_mem_free(r->text);
        mt_mem_free(r);
    }
}

/* The next word of a line, which is cut; "" at its end. */
static struct mt_str next_word(struct mt_str *line)
{
    while (line->n && (*line->p == ' ' || *line->p == '\t' || *line->p == '\r')) {
        line->p++;
        line->n--;
    }
    size_t n = 0;
    while (n < line->n && line->p[n] != ' ' && line->p[n] != '\t' && line->p[n] != '\r') {
        n++;
    }
    struct mt_str word = {line->p, n};
    line->p += n;
    line->n -= n;
    return word;
}

/* An annotation's name may hold blanks: it is the rest of the line. */
static struct mt_str rest_of_line(struct mt_str line)
{
    while (line.n && (*line.p == ' ' || *line.p == '\t')) {
        line.p++;
        line.n--;
    }
    while (line.n && (line.p[line.n - 1] == ' ' || line.p[line.n - 1] == '\t' ||
                      line.p[line.n - 1] == '\r')) {
        line.n--;
    }
    return line;
}

static enum mt_status parse_tests(struct mt_str line, size_t number, struct rule *out,
                                  struct mt_error *err)
{
    bool any = false;
    for (struct mt_str word = next_word(&line); word.n; word = next_word(&line)) {
        int t = 0;
        while (t < TEST_COUNT && !mt_str_equal(word, mt_str_from(TESTS[t]))) {
            t++;
        }
        if (t == TEST_COUNT) {
            return mt_fail(err, MT_FORMAT, MT_NO_OFFSET,
                           "rule in line %zu: '%.*s' is not one of: file, name, annotation", number,
                           (int)(word.n < 60 ? word.n : 60), word.p);
        }
        out->tests[t] = t == TEST_ANNOTATION ? rest_of_line(line) : next_word(&line);
        if (t == TEST_ANNOTATION) {
            line.n = 0;
        }
        any |= out->tests[t].n > 0;
    }
    if (!any) {
        return mt_fail(err, MT_FORMAT, MT_NO_OFFSET,
                       "rule in line %zu: nothing to compare with (file, name or annotation)",
                       number);
    }
    return MT_OK;
}

static enum mt_status parse_line(struct mt_rules *r, struct mt_str line, size_t number,
                                 struct mt_error *err)
{
    struct mt_str word = next_word(&line);
    if (word.n == 0 || word.p[0] == '#') {
        return MT_OK;
    }
    struct rule rule = {.category = mt_category_parse(word)};
    if (rule.category == MT_CATEGORY_COUNT) {
        mt_fail(err, MT_FORMAT, MT_NO_OFFSET, "rule in line %zu: '%.*s' is not a category", number,
                (int)(word.n < 60 ? word.n : 60), word.p);
        return mt_hint(err, "categories: unknown input temporary activation gradient "
                            "autograd_detail parameter optimizer_state kv_cache workspace buffer");
    }
    MT_TRY(parse_tests(line, number, &rule, err));
    return mt_vec_push(&r->list, rule) ? MT_OK : mt_fail_nomem(err);
}

static enum mt_status parse_rules(struct mt_rules *r, struct mt_str text, struct mt_error *err)
{
    for (size_t number = 1; text.n; number++) {
        size_t end = mt_str_find(text, MT_STR("\n"));
        size_t n = end == SIZE_MAX ? text.n : end;
        MT_TRY(parse_line(r, (struct mt_str){text.p, n}, number, err));
        size_t skip = n < text.n ? n + 1 : n;
        text.p += skip;
        text.n -= skip;
    }
    return MT_OK;
}

enum mt_status mt_rules_new(struct mt_str text, struct mt_rules **out, struct mt_error *err)
{
    struct mt_rules *r = mt_mem_zalloc(1, sizeof *r);
    if (!r) {
        return mt_fail_nomem(err);
    }
    r->text = mt_mem_alloc(text.n + 1, 1);
    enum mt_status status = r->text ? MT_OK : mt_fail_nomem(err);
    if (status == MT_OK && text.n) {
        memcpy(r->text, text.p, text.n);
        status = parse_rules(r, (struct mt_str){r->text, text.n}, err);
    }
    r->own = r->list.n;
    for (size_t i = 0; status == MT_OK && MT_CATEGORY_RULES[i]; i++) {
        status = parse_line(r, mt_str_from(MT_CATEGORY_RULES[i]), i + 1, err);
    }
    if (status != MT_OK) {
        mt_rules_free(r);
        return status;
    }
    *out = r;
    return MT_OK;
}

/* ---- matching ---- */

/* A C++ frame has its arguments behind the name: "at::native::add(at::Tensor const&)". */
static bool name_is(struct mt_str name, struct mt_str wanted)
{
    return mt_str_starts(name, wanted) && (name.n == wanted.n || name.p[wanted.n] == '(');
}

struct frame_list {
    uint64_t *v;
    size_t n, cap;
};

/* The frames of one file, which asks the rules once, for all its frames. */
struct file_rules {
    const struct mt_rules *rules;
    bool *fits; /* by rule: it is of frames, and its file is this one, or any */
};

static void ask_file(struct file_rules *x, struct mt_str file)
{
    for (size_t i = 0; i < x->rules->list.n; i++) {
        const struct mt_str *t = x->rules->list.v[i].tests;
        x->fits[i] =
            !t[TEST_ANNOTATION].n && (!t[TEST_FILE].n || mt_path_contains(file, t[TEST_FILE]));
    }
}

/* Index of the first rule for a frame of that file, or the number of rules. */
static size_t rule_of_name(const struct file_rules *x, struct mt_str name)
{
    size_t i = 0;
    while (i < x->rules->list.n &&
           !(x->fits[i] && (!x->rules->list.v[i].tests[TEST_NAME].n ||
                            name_is(name, x->rules->list.v[i].tests[TEST_NAME])))) {
        i++;
    }
    return i;
}

/* Of a long name the beginning is asked, as of a function. */
static size_t rule_of_annotation(const struct mt_rules *r, struct mt_str name)
{
    size_t i = 0;
    name = mt_str_head(name, MT_ASKED_BYTES);
    while (i < r->list.n && (!r->list.v[i].tests[TEST_ANNOTATION].n ||
                             mt_str_find(name, r->list.v[i].tests[TEST_ANNOTATION]) == SIZE_MAX)) {
        i++;
    }
    return i;
}

static unsigned char category_of_rule(const struct mt_rules *r, size_t rule)
{
    return rule < r->list.n ? (unsigned char)r->list.v[rule].category : MT_CATEGORY_UNKNOWN;
}

/* The category of a stack by the rules of its frames. */
static void sort_stack(struct mt_categories *c, const struct mt_rules *r,
                       const struct mt_snapshot *s, uint32_t stack, const uint32_t *of_frame)
{
    uint32_t first = UINT32_MAX;
    for (uint32_t k = 0; k < s->stacks[stack].n; k++) {
        uint32_t rule = of_frame[s->stack_frames[s->stacks[stack].first + k]];
        first = rule < first ? rule : first;
    }
    c->stacks[stack] = category_of_rule(r, first);
    c->fixed[stack] = first < r->own;
}

/* The frames of the stacks that are named, each once, by file: file id << 32 | frame. */
static bool frames_by_file(const struct mt_snapshot *s, const unsigned char *named,
                           struct frame_list *out)
{
    unsigned char *seen = mt_mem_zalloc(s->n_frames, 1);
    bool ok = seen != NULL;
    for (size_t i = 1; ok && i < s->n_stacks; i++) {
        for (uint32_t k = 0; ok && named[i] && k < s->stacks[i].n; k++) {
            uint32_t frame = s->stack_frames[s->stacks[i].first + k];
            uint64_t key = (uint64_t)s->frames[frame].filename << 32 | frame;
            ok = seen[frame] || mt_vec_push(out, key);
            seen[frame] = 1;
        }
    }
    if (out->n) {
        qsort(out->v, out->n, sizeof *out->v, mt_compare_u64);
    }
    mt_mem_free(seen);
    return ok;
}

/* The rule of each of these frames. */
static bool match_frames(const struct mt_rules *rules, const struct mt_snapshot *s,
                         const struct frame_list *frames, uint32_t *of_frame)
{
    struct file_rules x = {rules, mt_mem_zalloc(rules->list.n, sizeof *x.fits)};
    for (size_t i = 0; x.fits && i < frames->n; i++) {
        const struct mt_frame *f = &s->frames[(uint32_t)frames->v[i]];
        if (i == 0 || frames->v[i] >> 32 != frames->v[i - 1] >> 32) {
            ask_file(&x, mt_frame_path(s, f));
        }
        of_frame[(uint32_t)frames->v[i]] = (uint32_t)rule_of_name(&x, mt_frame_function(s, f));
    }
    bool ok = x.fits != NULL;
    mt_mem_free(x.fits);
    return ok;
}

/* Of the stacks that this trace names: others may be those of ten thousand devices. */
static bool sort_stacks(struct mt_categories *c, const struct mt_rules *rules,
                        const struct mt_replay *r)
{
    const struct mt_snapshot *s = r->snapshot;
    size_t n = s->n_stacks ? s->n_stacks : 1;
    uint32_t *of_frame = mt_mem_zalloc(s->n_frames ? s->n_frames : 1, sizeof *of_frame);
    unsigned char *named = mt_mem_zalloc(n, 1);
    struct frame_list frames = {0};
    c->stacks = mt_mem_zalloc(n, 1);
    c->fixed = mt_mem_zalloc(n, sizeof *c->fixed);
    bool ok = of_frame && named && c->stacks && c->fixed;
    for (size_t i = 0; ok && i < r->n; i++) {
        named[r->events[i].stack] = 1;
    }
    for (size_t i = 0; ok && i < r->ghosts.n; i++) {
        named[r->ghosts.v[i].stack] = 1;
    }
    ok = ok && frames_by_file(s, named, &frames) && match_frames(rules, s, &frames, of_frame);
    for (size_t i = 1; ok && i < s->n_stacks; i++) {
        if (named[i]) {
            sort_stack(c, rules, s, (uint32_t)i, of_frame);
        }
    }
    mt_vec_release(&frames);
    mt_mem_free(of_frame);
    mt_mem_free(named);
    return ok;
}

/* ---- events ---- */

struct sorter {
    struct mt_categories *c;
    const struct mt_rules *rules;
    const struct mt_snapshot *s;
    struct mt_annotation_cursor at;
    unsigned char around; /* category of the annotations that are open */
    bool has_stacks;      /* some allocation of the trace has frames */
};

/* Of the annotations, those alone that say a category are looked at. */
static bool says_category(const void *context, uint32_t name)
{
    const struct sorter *x = context;
    return rule_of_annotation(x->rules, mt_snapshot_str(x->s, name)) < x->rules->list.n;
}

static void look_around(struct sorter *x, int64_t time_us)
{
    if (mt_annotation_cursor_move(&x->at, time_us)) {
        uint32_t name = mt_annotation_cursor_name(&x->at);
        size_t rule = name ? rule_of_annotation(x->rules, mt_snapshot_str(x->s, name)) : SIZE_MAX;
        x->around = category_of_rule(x->rules, rule);
    }
}

static bool has_frames(const struct mt_snapshot *s, uint32_t stack)
{
    return stack && s->stacks[stack].n > 0;
}

/* The first guess, before lifetimes. */
static unsigned char guess(const struct sorter *x, size_t global, const struct mt_event *e,
                           unsigned char *sure)
{
    *sure = MT_SURE_HIGH;
    uint32_t word = mt_event_column_get(x->s, global, MT_COLUMN_CATEGORY);
    enum mt_category told;
    enum mt_sureness how;
    if (word && mt_category_read(mt_snapshot_str(x->s, word), &told, &how)) {
        *sure = (unsigned char)how;
        return (unsigned char)told;
    }
    if (x->c->stacks[e->stack]) {
        return x->c->stacks[e->stack];
    }
    *sure = MT_SURE_MEDIUM;
    if (x->around) {
        return x->around;
    }
    /* Autograd's own thread: no Python frames, in a trace that has them elsewhere. */
    return x->has_stacks && !has_frames(x->s, e->stack) ? MT_CATEGORY_GRADIENT
                                                        : MT_CATEGORY_UNKNOWN;
}

static void sort_events(struct sorter *x)
{
    const struct mt_replay *r = x->c->replay;
    size_t base = (size_t)(r->events - x->s->events);
    for (size_t i = 0; i < r->n && !x->has_stacks; i++) {
        x->has_stacks = mt_event_allocates(&r->events[i]) && has_frames(x->s, r->events[i].stack);
    }
    for (size_t i = 0; i < r->n; i++) {
        if (mt_event_allocates(&r->events[i])) {
            look_around(x, r->events[i].time_us);
            x->c->events[i] = guess(x, base + i, &r->events[i], &x->c->events_sure[i]);
        }
    }
}

/* By its block's key `category` (mt_view_keep_categories), else by its stack. */
static enum mt_category guess_ghost(const struct mt_categories *c, const struct mt_ghost *g,
                                    unsigned char *sure)
{
    *sure = MT_SURE_HIGH;
    const struct mt_snapshot *s = c->replay->snapshot;
    uint32_t extra = g->block != MT_NEVER ? s->blocks[g->block].extra : 0;
    for (; extra; extra = s->extras[extra].next) {
        const struct mt_value *v = &s->values[s->extras[extra].value];
        if (v->kind == MT_VALUE_STR &&
            mt_str_equal(mt_snapshot_str(s, s->extras[extra].key), MT_STR("category"))) {
            enum mt_category told;
            enum mt_sureness how;
            bool reads = mt_category_read(mt_snapshot_str(s, v->u.id), &told, &how);
            *sure = (unsigned char)(reads ? how : MT_SURE_HIGH);
            return reads ? told : MT_CATEGORY_UNKNOWN;
        }
    }
    return (enum mt_category)c->stacks[g->stack];
}

enum mt_status mt_categories_find(struct mt_categories *c, const struct mt_rules *rules,
                                  const struct mt_replay *r, struct mt_error *err)
{
    *c = (struct mt_categories){.replay = r};
    struct sorter x = {.c = c, .rules = rules, .s = r->snapshot};
    c->events = mt_mem_zalloc(r->n ? r->n : 1, 1);
    c->ghosts = mt_mem_zalloc(r->ghosts.n ? r->ghosts.n : 1, 1);
    c->events_sure = mt_mem_zalloc(r->n ? r->n : 1, 1);
    c->ghosts_sure = mt_mem_zalloc(r->ghosts.n ? r->ghosts.n : 1, 1);
    if (!c->events || !c->ghosts || !c->events_sure || !c->ghosts_sure ||
        !sort_stacks(c, rules, r)) {
        return mt_fail_nomem(err);
    }
    for (size_t i = 0; i < r->ghosts.n; i++) {
        c->ghosts[i] = (unsigned char)guess_ghost(c, &r->ghosts.v[i], &c->ghosts_sure[i]);
    }
    enum mt_status status =
        mt_annotation_cursor_init(&x.at, r->snapshot, r->device, says_category, &x, err);
    if (status == MT_OK) {
        sort_events(&x);
    }
    mt_annotation_cursor_release(&x.at);
    bool told = x.s->columns[MT_COLUMN_CATEGORY] != NULL;
    return status == MT_OK && !told ? mt_categories_weigh(c, err) : status;
}

enum mt_category mt_category_of_ghost(const struct mt_categories *c, const struct mt_ghost *g)
{
    return (enum mt_category)c->ghosts[g - c->replay->ghosts.v];
}

enum mt_sureness mt_sureness_of_ghost(const struct mt_categories *c, const struct mt_ghost *g)
{
    return (enum mt_sureness)c->ghosts_sure[g - c->replay->ghosts.v];
}

void mt_categories_release(struct mt_categories *c)
{
    mt_mem_free(c->stacks);
    mt_mem_free(c->fixed);
    mt_mem_free(c->events);
    mt_mem_free(c->ghosts);
    mt_mem_free(c->events_sure);
    mt_mem_free(c->ghosts_sure);
    *c = (struct mt_categories){0};
}
