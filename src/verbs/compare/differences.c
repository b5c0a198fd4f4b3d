/* SPDX-License-Identifier: MIT */
/* Each fact becomes a text of either file; texts that are equal are no difference. */
#include "verbs/compare/differences.h"

#include <inttypes.h>

#include "heap/stacks/frames.h"
#include "snapshot/model/era.h"
#include "support/checked.h"
#include "support/units.h"
#include "torch/alloc_conf.h"

/* Takes both texts over when they differ, and lets go of them otherwise. */
static bool add(struct mt_differences *d, struct mt_str what, struct mt_buf *before,
                struct mt_buf *after)
{
    struct mt_difference one = {.before = *before, .after = *after};
    bool failed = before->failed || after->failed;
    *before = *after = (struct mt_buf){0};
    bool differ = !mt_str_equal(mt_buf_view(&one.before), mt_buf_view(&one.after));
    if (differ && !failed) {
        mt_buf_str(&one.what, what);
        failed = one.what.failed || !mt_vec_push(&d->v, one);
    }
    if (!differ || failed) {
        mt_buf_release(&one.what);
        mt_buf_release(&one.before);
        mt_buf_release(&one.after);
    }
    return !failed;
}

/* ---- settings ---- */

/* Lists and the like are passed over: PyTorch's settings are numbers, words and None. */
static bool value_text(struct mt_buf *b, const struct mt_snapshot *s, const struct mt_value *v)
{
    switch (v->kind) {
    case MT_VALUE_NONE: mt_buf_text(b, "None"); return true;
    case MT_VALUE_BOOL: mt_buf_text(b, v->u.i ? "True" : "False"); return true;
    case MT_VALUE_INT: mt_buf_printf(b, "%" PRId64, v->u.i); return true;
    case MT_VALUE_FLOAT: mt_buf_printf(b, "%g", v->u.f); return true;
    case MT_VALUE_BIG:
    case MT_VALUE_STR: mt_buf_str(b, mt_snapshot_str(s, v->u.id)); return true;
    default: return false;
    }
}

/* The value of `key` there, NULL where it has none. */
static const struct mt_value *value_of(const struct mt_snapshot *s, struct mt_str key)
{
    const struct mt_value *dict = &s->values[s->settings];
    for (uint32_t i = 0; dict->kind == MT_VALUE_DICT && i < dict->n; i++) {
        const struct mt_value *k = &s->values[dict->u.id + 2 * i];
        if (k->kind == MT_VALUE_STR && mt_str_equal(mt_snapshot_str(s, k->u.id), key)) {
            return k + 1;
        }
    }
    return NULL;
}

/* A setting that only one file names is one of another release, and no known difference. */
static bool add_settings(struct mt_differences *d, const struct mt_snapshot *before,
                         const struct mt_snapshot *after)
{
    const struct mt_value *dict = &before->values[before->settings];
    bool ok = true;
    for (uint32_t i = 0; ok && dict->kind == MT_VALUE_DICT && i < dict->n; i++) {
        const struct mt_value *key = &before->values[dict->u.id + 2 * i];
        struct mt_buf name = {0}, x = {0}, y = {0};
        if (key->kind != MT_VALUE_STR) {
            continue;
        }
        struct mt_str word = mt_snapshot_str(before, key->u.id);
        const struct mt_value *other = value_of(after, word);
        mt_buf_text(&name, "settings.");
        mt_buf_str(&name, word);
        ok = !name.failed;
        if (ok && other && value_text(&x, before, key + 1) && value_text(&y, after, other)) {
            ok = add(d, mt_buf_view(&name), &x, &y);
        }
        mt_buf_release(&name);
        mt_buf_release(&x);
        mt_buf_release(&y);
    }
    return ok;
}

/* ---- the rest ---- */

/* Both have to be known. */
static bool is_before(const char *a, const char *b)
{
    mt_torch_release x, y;
    return a && b && mt_torch_release_parse(mt_str_from(a), &x) &&
           mt_torch_release_parse(mt_str_from(b), &y) && x < y;
}

/* A file tells the releases that can have written it: only those that have none in common are known
 * to differ. */
static bool releases_differ(const struct mt_era *a, const struct mt_era *b)
{
    return is_before(a->until, b->from) || is_before(b->until, a->from);
}

static void release_text(struct mt_buf *b, struct mt_era era)
{
    mt_buf_printf(b, "%s%s%s", era.from, era.until ? " to " : " or newer",
                  era.until ? era.until : "");
}

/* Of what stands at the outside of a stack, the runner's own frames are "<frozen runpy>". */
static uint32_t outermost_file(const struct mt_snapshot *s, uint32_t stack)
{
    const struct mt_stack *frames = &s->stacks[stack];
    for (uint32_t i = frames->n; i-- > 0;) {
        const struct mt_frame *f = &s->frames[s->stack_frames[frames->first + i]];
        struct mt_str file = mt_snapshot_str(s, f->filename);
        if (mt_frame_is_python(s, f) && file.n && file.p[0] != '<') {
            return f->filename;
        }
    }
    return 0;
}

/* The file that most events come from at their outermost; 0: no stack has one. O(events + strings);
 * SIZE_MAX when out of memory. */
static size_t program(const struct mt_snapshot *s)
{
    size_t n = s->n_strings ? s->n_strings : 1, best = 0;
    uint64_t *count = mt_mem_zalloc(n, sizeof *count);
    uint32_t *file = mt_mem_zalloc(s->n_stacks ? s->n_stacks : 1, sizeof *file);
    if (!count || !file) {
        mt_mem_free(count);
        mt_mem_free(file);
        return SIZE_MAX;
    }
    for (size_t i = 1; i < s->n_stacks; i++) {
        file[i] = outermost_file(s, (uint32_t)i);
    }
    for (size_t i = 0; i < s->n_events; i++) {
        count[file[s->events[i].stack]]++;
    }
    for (size_t i = 1; i < n; i++) {
        best = count[i] > (best ? count[best] : 0) ? i : best;
    }
    mt_mem_free(count);
    mt_mem_free(file);
    return best;
}

static bool program_text(struct mt_buf *b, const struct mt_snapshot *s)
{
    size_t file = program(s);
    if (file != SIZE_MAX) {
        mt_buf_str(b, mt_snapshot_str(s, (uint32_t)file));
    }
    return file != SIZE_MAX;
}

static void trace_text(struct mt_buf *b, const struct mt_snapshot *s)
{
    int64_t first = MT_NO_TIME, last = MT_NO_TIME;
    for (size_t i = 0; i < s->n_events; i++) {
        int64_t us = s->events[i].time_us;
        first = us != MT_NO_TIME && (first == MT_NO_TIME || us < first) ? us : first;
        last = us != MT_NO_TIME && (last == MT_NO_TIME || us > last) ? us : last;
    }
    mt_buf_text(b, mt_counted_text(s->n_events, "event").s);
    if (first != MT_NO_TIME) {
        mt_buf_printf(b, " in %s", mt_duration_text(mt_time_between(first, last)).s);
    }
}

enum mt_status mt_differences_find(struct mt_differences *d, const struct mt_snapshot *before,
                                   const struct mt_snapshot *after, struct mt_error *err)
{
    struct mt_buf x = {0}, y = {0};
    *d = (struct mt_differences){0};
    bool ok = add_settings(d, before, after);
    struct mt_era old = mt_era_find(before), new = mt_era_find(after);
    if (ok && releases_differ(&old, &new)) {
        release_text(&x, old);
        release_text(&y, new);
        ok = add(d, MT_STR("pytorch"), &x, &y);
    }
    ok = ok && program_text(&x, before) && program_text(&y, after);
    if (ok && x.n && y.n) {
        ok = add(d, MT_STR("program"), &x, &y);
    }
    mt_buf_reset(&x);
    mt_buf_reset(&y);
    if (ok) {
        trace_text(&x, before);
        trace_text(&y, after);
        ok = add(d, MT_STR("trace"), &x, &y);
    }
    mt_buf_release(&x);
    mt_buf_release(&y);
    return ok ? MT_OK : mt_fail_nomem(err);
}

void mt_differences_release(struct mt_differences *d)
{
    for (size_t i = 0; i < d->v.n; i++) {
        mt_buf_release(&d->v.v[i].what);
        mt_buf_release(&d->v.v[i].before);
        mt_buf_release(&d->v.v[i].after);
    }
    mt_vec_release(&d->v);
}
