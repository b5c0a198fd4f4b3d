/* SPDX-License-Identifier: MIT */
/*
 * What torch.profiler writes, as a snapshot (told_events.h). A trace for Chrome or Perfetto has an
 * event "[memory]" for each request and free, with the sums then; the Python functions and
 * operators that were open on its thread are its stack, the ranges of record_function its
 * annotations. A memory timeline has sizes by category: as events (raw), or as sums, whose changes
 * become events; neither has addresses, so those are made up.
 *
 * The JSON was read to generic values already, since it is no snapshot by its keys.
 */
#include "snapshot/read/readers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/read/told_events.h"
#include "support/units.h"

/* ---- values ---- */

static struct mt_value item(const struct mt_builder *b, const struct mt_value *list, uint32_t i)
{
    return mt_builder_get_value(b, list->u.id + i);
}

static bool is_list(const struct mt_value *v)
{
    return v->kind == MT_VALUE_LIST || v->kind == MT_VALUE_TUPLE;
}

static double number(const struct mt_value *v)
{
    return v->kind == MT_VALUE_INT ? (double)v->u.i : v->kind == MT_VALUE_FLOAT ? v->u.f : 0;
}

/* 0 for what is negative or no integer. */
static uint64_t count(const struct mt_value *v)
{
    return v->kind == MT_VALUE_INT && v->u.i > 0 ? (uint64_t)v->u.i : 0;
}

static struct mt_str text(const struct mt_builder *b, const struct mt_value *v)
{
    return v->kind == MT_VALUE_STR ? mt_builder_get_str(b, v->u.id) : MT_STR("");
}

/* ---- traces ---- */

enum moment_kind { MOMENT_SPAN, MOMENT_MEMORY };

/* An event that matters, in the order of time. */
struct moment {
    double begin, end; /* microseconds */
    int64_t thread;
    uint32_t order;
    uint32_t name; /* string id */
    uint8_t kind;
    bool range;     /* of record_function */
    uint32_t stack; /* MEMORY */
    int64_t bytes;  /* MEMORY: negative is a free */
    uint64_t addr, allocated, reserved;
    int64_t device;
};

struct profile {
    struct mt_builder *b;
    MT_VEC(struct moment) moments;
    MT_VEC(uint32_t) open;   /* spans of all threads that have not ended, indexes of moments */
    MT_VEC(uint32_t) frames; /* scratch */
    double base_us;          /* what times count from, since the epoch */
    bool bare;               /* a memory event has no address or no sums */
};

/* The wanted keys of an event or of its "args" into v, those it lacks stay NONE. */
static void take_keys(const struct mt_builder *b, const struct mt_value *dict,
                      const char *const *keys, size_t n, struct mt_value *v)
{
    for (size_t k = 0; k < n; k++) {
        v[k] = (struct mt_value){.kind = MT_VALUE_NONE};
    }
    for (uint32_t i = 0; dict->kind == MT_VALUE_DICT && i < dict->n; i++) {
        struct mt_value key = item(b, dict, 2 * i);
        struct mt_str name = text(b, &key);
        for (size_t k = 0; k < n; k++) {
            if (mt_str_equal(name, mt_str_from(keys[k]))) {
                v[k] = item(b, dict, 2 * i + 1);
            }
        }
    }
}

static bool take_memory(struct profile *p, struct moment *m, const struct mt_value *args)
{
    enum { BYTES, ADDR, DEVICE, TYPE, ALLOCATED, RESERVED, N };
    static const char *const KEYS[N] = {
        "Bytes", "Addr", "Device Id", "Device Type", "Total Allocated", "Total Reserved"};
    struct mt_value v[N];
    take_keys(p->b, args, KEYS, N, v);
    if (v[BYTES].kind != MT_VALUE_INT || v[DEVICE].kind != MT_VALUE_INT || v[DEVICE].u.i < 0 ||
        v[BYTES].u.i == 0 || v[BYTES].u.i == INT64_MIN ||
        (v[TYPE].kind == MT_VALUE_INT && v[TYPE].u.i == 0)) {
        return true; /* of the host, or nothing */
    }
    p->bare |= v[ADDR].kind != MT_VALUE_INT || v[RESERVED].kind != MT_VALUE_INT;
    m->kind = MOMENT_MEMORY;
    m->bytes = v[BYTES].u.i;
    m->addr = count(&v[ADDR]);
    m->device = v[DEVICE].u.i;
    m->allocated = count(&v[ALLOCATED]);
    m->reserved = count(&v[RESERVED]);
    return mt_vec_push(&p->moments, *m);
}

static bool take_event(struct profile *p, const struct mt_value *event)
{
    enum { PH, CAT, NAME, PID, TID, TS, DUR, ARGS, N };
    static const char *const KEYS[N] = {"ph", "cat", "name", "pid", "tid", "ts", "dur", "args"};
    struct mt_value v[N];
    take_keys(p->b, event, KEYS, N, v);
    double begin = number(&v[TS]);
    struct moment m = {.begin = begin,
                       .end = begin + number(&v[DUR]),
                       .thread = v[TID].kind == MT_VALUE_INT ? v[TID].u.i : 0,
                       .order = (uint32_t)p->moments.n,
                       .name = v[NAME].kind == MT_VALUE_STR ? v[NAME].u.id : 0};
    if (mt_str_equal(text(p->b, &v[NAME]), MT_STR("[memory]"))) {
        return take_memory(p, &m, &v[ARGS]);
    }
    struct mt_str cat = text(p->b, &v[CAT]);
    m.range = mt_str_equal(cat, MT_STR("user_annotation"));
    bool span = m.range || mt_str_equal(cat, MT_STR("python_function")) ||
                mt_str_equal(cat, MT_STR("cpu_op"));
    bool whole = mt_str_equal(text(p->b, &v[PH]), MT_STR("X"));
    return !span || !whole || !m.name || mt_vec_push(&p->moments, m);
}

/* Spans before what happens in them, the longer ones first. */
static int by_time(const void *a, const void *b)
{
    const struct moment *x = a, *y = b;
    if (x->begin < y->begin || x->begin > y->begin) {
        return x->begin < y->begin ? -1 : 1;
    }
    if (x->kind != y->kind) {
        return x->kind - y->kind;
    }
    if (x->end < y->end || x->end > y->end) {
        return x->end > y->end ? -1 : 1;
    }
    return (x->order > y->order) - (x->order < y->order);
}

/* "train.py(12): forward" as a frame, or an operator. */
static uint32_t frame_of(struct profile *p, uint32_t name)
{
    struct mt_str s = mt_builder_get_str(p->b, name);
    struct mt_frame f = {.name = name, .present = (1u << MT_FRAME_KEY_COUNT) - 1};
    size_t open = mt_str_find(s, MT_STR("(")), close = mt_str_find(s, MT_STR("): "));
    uint64_t line = 0;
    if (close != SIZE_MAX && open < close &&
        mt_u64_parse((struct mt_str){s.p + open + 1, close - open - 1}, &line) &&
        line <= INT32_MAX) {
        f.filename = mt_builder_str(p->b, s.p, open);
        f.name = mt_builder_str(p->b, s.p + close + 3, s.n - close - 3);
        f.line = (int32_t)line;
    } else {
        f.filename = mt_builder_str(p->b, "", 0);
    }
    return f.filename && f.name ? mt_builder_frame(p->b, &f) : 0;
}

/* The spans of its thread that are open at a request; those that have ended are dropped. */
static bool find_stack(struct profile *p, struct moment *m)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->open.n; i++) {
        const struct moment *span = &p->moments.v[p->open.v[i]];
        if (span->end >= m->begin) {
            p->open.v[kept++] = p->open.v[i];
        }
    }
    p->open.n = kept;
    p->frames.n = 0;
    for (size_t i = p->open.n; i-- > 0;) {
        const struct moment *span = &p->moments.v[p->open.v[i]];
        if (span->thread == m->thread && !span->range) {
            uint32_t frame = frame_of(p, span->name);
            if (!frame || !mt_vec_push(&p->frames, frame)) {
                return false;
            }
        }
    }
    m->stack = p->frames.n ? mt_builder_stack(p->b, p->frames.v, p->frames.n) : 0;
    return p->frames.n == 0 || m->stack;
}

static bool find_stacks(struct profile *p)
{
    bool ok = true;
    for (size_t i = 0; ok && i < p->moments.n; i++) {
        struct moment *m = &p->moments.v[i];
        ok = m->kind == MOMENT_MEMORY ? find_stack(p, m) : mt_vec_push(&p->open, (uint32_t)i);
    }
    return ok;
}

static int64_t time_us(const struct profile *p, double us)
{
    double t = p->base_us + us;
    return fabs(t) < 9e18 ? (int64_t)t : MT_NO_TIME;
}

static bool add_marks(struct profile *p)
{
    uint32_t start = mt_builder_cstr(p->b, "START"), stop = mt_builder_cstr(p->b, "END");
    bool ok = start && stop;
    for (size_t i = 0; ok && i < p->moments.n; i++) {
        const struct moment *m = &p->moments.v[i];
        struct mt_annotation a = {.name = m->name,
                                  .stage = start,
                                  .time_us = time_us(p, m->begin),
                                  .present = (1u << MT_ANNOTATION_KEY_COUNT) - 1};
        struct mt_annotation b = a;
        b.stage = stop;
        b.time_us = time_us(p, m->end);
        ok = !m->range || (mt_builder_annotation(p->b, &a) && mt_builder_annotation(p->b, &b));
    }
    return ok;
}

static bool tell(struct profile *p, struct mt_told_events *told)
{
    for (size_t i = 0; i < p->moments.n; i++) {
        const struct moment *m = &p->moments.v[i];
        bool frees = m->bytes < 0;
        struct mt_told_event e = {.time_us = time_us(p, m->begin),
                                  .addr = m->addr,
                                  .size = (uint64_t)(frees ? -m->bytes : m->bytes),
                                  .allocated = m->allocated,
                                  .reserved = m->reserved,
                                  .device =
                                      m->device > INT32_MAX ? INT32_MAX - 1 : (int32_t)m->device,
                                  .stack = m->stack,
                                  .action = frees ? MT_ACTION_FREE_COMPLETED : MT_ACTION_ALLOC};
        if (m->kind == MOMENT_MEMORY && !mt_vec_push(&told->v, e)) {
            return false;
        }
    }
    return true;
}

static enum mt_status read_trace(struct mt_builder *b, const struct mt_value *top,
                                 struct mt_error *err)
{
    static const char *const KEYS[] = {"traceEvents", "baseTimeNanoseconds"};
    struct mt_value v[2];
    struct profile p = {.b = b};
    struct mt_told_events told = {.sums = true};
    take_keys(b, top, KEYS, 2, v);
    p.base_us = number(&v[1]) / 1000;
    bool ok = true;
    for (uint32_t i = 0; ok && is_list(&v[0]) && i < v[0].n; i++) {
        struct mt_value event = item(b, &v[0], i);
        ok = take_event(&p, &event);
    }
    if (p.moments.n) {
        qsort(p.moments.v, p.moments.n, sizeof *p.moments.v, by_time);
    }
    ok = ok && find_stacks(&p) && add_marks(&p) && tell(&p, &told);
    enum mt_status status = ok ? MT_OK : mt_fail_nomem(err);
    if (status == MT_OK && told.v.n == 0) {
        status = mt_fail(err, MT_FORMAT, MT_NO_OFFSET,
                         "a trace without memory events of a GPU (torch.profiler writes them with "
                         "profile_memory=True)");
    }
    if (status == MT_OK && p.bare) {
        status = mt_fail(err, MT_FORMAT, MT_NO_OFFSET,
                         "a trace whose memory events have no addresses or no sums, as of old "
                         "releases: they do not tell what is alive");
    }
    status = status == MT_OK ? mt_told_build(b, &told, err) : status;
    mt_vec_release(&p.moments);
    mt_vec_release(&p.open);
    mt_vec_release(&p.frames);
    mt_vec_release(&told.v);
    return status;
}

/* ---- timelines ---- */

/* In the order of torch/profiler/_memory_profiler.py, _CATEGORY_TO_INDEX. */
static const char *const CATEGORIES[] = {"parameter",       "optimizer_state", "input",
                                         "temporary",       "activation",      "gradient",
                                         "autograd_detail", "unknown"};

enum { N_CATEGORIES = MT_COUNT(CATEGORIES) };

struct timeline {
    struct mt_builder *b;
    uint32_t names[N_CATEGORIES];
    struct mt_told_events told;
    /* What is alive of each category, indexes into told; the last is freed first. */
    MT_VEC(uint32_t) alive[N_CATEGORIES];
    uint64_t next_addr;
};

static bool take(struct timeline *t, size_t c, int64_t us, uint64_t size)
{
    struct mt_told_event e = {.time_us = us,
                              .addr = t->next_addr,
                              .size = size,
                              .category = t->names[c],
                              .action = MT_ACTION_ALLOC};
    t->next_addr += size + 512;
    return size == 0 ||
           (mt_vec_push(&t->alive[c], (uint32_t)t->told.v.n) && mt_vec_push(&t->told.v, e));
}

/* Ends `size` bytes of a category: of that size if there is one, else the last ones; what is left
 * of the last lives on. */
static bool give(struct timeline *t, size_t c, int64_t us, uint64_t size)
{
    while (size > 0 && t->alive[c].n > 0) {
        size_t at = t->alive[c].n - 1;
        for (size_t i = t->alive[c].n; i-- > 0;) {
            if (t->told.v.v[t->alive[c].v[i]].size == size) {
                at = i;
                break;
            }
        }
        struct mt_told_event e = t->told.v.v[t->alive[c].v[at]];
        memmove(t->alive[c].v + at, t->alive[c].v + at + 1,
                (t->alive[c].n - at - 1) * sizeof *t->alive[c].v);
        t->alive[c].n--;
        uint64_t rest = e.size > size ? e.size - size : 0;
        size = e.size > size ? 0 : size - e.size;
        e.time_us = us;
        e.action = MT_ACTION_FREE_COMPLETED;
        if (!mt_vec_push(&t->told.v, e) || !take(t, c, us, rest)) {
            return false;
        }
    }
    return true;
}

/* [time in ns or -1, action, bytes, category]: actions 1 to 4 or their names. */
static bool read_raw_row(struct timeline *t, const struct mt_value *row, int64_t *us)
{
    if (!is_list(row) || row->n < 4) {
        return true;
    }
    struct mt_value when = item(t->b, row, 0), what = item(t->b, row, 1);
    struct mt_value bytes = item(t->b, row, 2), category = item(t->b, row, 3);
    uint64_t c = count(&category);
    c = c < N_CATEGORIES ? c : N_CATEGORIES - 1;
    uint64_t size = bytes.kind == MT_VALUE_INT
                        ? (uint64_t)(bytes.u.i < 0 ? -(bytes.u.i + 1) : bytes.u.i) + (bytes.u.i < 0)
                        : 0;
    struct mt_str word = text(t->b, &what);
    bool begins = count(&what) == 1 || count(&what) == 2 ||
                  mt_str_equal(word, MT_STR("preexisting")) || mt_str_equal(word, MT_STR("create"));
    bool ends = count(&what) == 4 || mt_str_equal(word, MT_STR("destroy"));
    if (when.kind == MT_VALUE_INT && when.u.i >= 0) {
        *us = when.u.i / 1000;
    }
    return begins ? take(t, c, *us, size) : !ends || give(t, c, *us, size);
}

/* The first time that is told: what was there before has it too. */
static int64_t first_time(const struct timeline *t, const struct mt_value *rows)
{
    for (uint32_t i = 0; i < rows->n; i++) {
        struct mt_value row = item(t->b, rows, i);
        struct mt_value when = is_list(&row) && row.n ? item(t->b, &row, 0) : row;
        if (when.kind == MT_VALUE_INT && when.u.i >= 0) {
            return when.u.i / 1000;
        }
    }
    return 0;
}

static bool read_raw(struct timeline *t, const struct mt_value *rows)
{
    int64_t us = first_time(t, rows);
    bool ok = true;
    for (uint32_t i = 0; ok && i < rows->n; i++) {
        struct mt_value row = item(t->b, rows, i);
        ok = read_raw_row(t, &row, &us);
    }
    return ok;
}

/* [[times in us], [sums of each category]]; newer releases put a 0 before the categories. */
static bool read_sums(struct timeline *t, const struct mt_value *times, const struct mt_value *rows)
{
    uint64_t now[N_CATEGORIES] = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < rows->n && i < times->n; i++) {
        struct mt_value row = item(t->b, rows, i), when = item(t->b, times, i);
        uint32_t skip = row.n > N_CATEGORIES;
        for (uint32_t c = 0; ok && is_list(&row) && c < N_CATEGORIES && c + skip < row.n; c++) {
            struct mt_value sum = item(t->b, &row, c + skip);
            uint64_t bytes = count(&sum);
            int64_t us = when.kind == MT_VALUE_INT ? when.u.i : MT_NO_TIME;
            ok = bytes >= now[c] ? take(t, c, us, bytes - now[c]) : give(t, c, us, now[c] - bytes);
            now[c] = bytes;
        }
    }
    return ok;
}

static enum mt_status read_timeline(struct mt_builder *b, const struct mt_value *top, bool raw,
                                    struct mt_error *err)
{
    struct timeline t = {.b = b, .next_addr = 512};
    bool ok = true;
    for (size_t c = 0; c < N_CATEGORIES; c++) {
        t.names[c] = mt_builder_cstr(b, CATEGORIES[c]);
        ok = ok && t.names[c];
    }
    if (ok && raw) {
        ok = read_raw(&t, top);
    } else if (ok) {
        struct mt_value times = item(b, top, 0), rows = item(b, top, 1);
        ok = read_sums(&t, &times, &rows);
    }
    enum mt_status status = ok ? mt_told_build(b, &t.told, err) : mt_fail_nomem(err);
    for (size_t c = 0; c < N_CATEGORIES; c++) {
        mt_vec_release(&t.alive[c]);
    }
    mt_vec_release(&t.told.v);
    return status;
}

/* ---- which it is ---- */

static bool is_row(const struct mt_builder *b, const struct mt_value *v, uint32_t least)
{
    if (!is_list(v) || v->n < least) {
        return false;
    }
    struct mt_value first = item(b, v, 0);
    return first.kind == MT_VALUE_INT;
}

static bool has_trace_events(const struct mt_builder *b, const struct mt_value *top)
{
    static const char *const KEY[] = {"traceEvents"};
    struct mt_value v;
    take_keys(b, top, KEY, 1, &v);
    return is_list(&v);
}

enum mt_told mt_profile_kind(const struct mt_builder *b, const struct mt_value *top)
{
    if (top->kind == MT_VALUE_DICT) {
        return has_trace_events(b, top) ? MT_TOLD_TRACE : MT_TOLD_ALL;
    }
    if (!is_list(top) || top->n == 0) {
        return MT_TOLD_ALL;
    }
    struct mt_value first = item(b, top, 0);
    if (top->n == 2 && is_row(b, &first, 1)) {
        struct mt_value rows = item(b, top, 1);
        struct mt_value row = is_list(&rows) && rows.n ? item(b, &rows, 0) : rows;
        if (is_row(b, &row, 7) && rows.n == first.n) {
            return MT_TOLD_SUMS;
        }
    }
    return is_row(b, &first, 4) && first.n == 4 ? MT_TOLD_TIMELINE : MT_TOLD_ALL;
}

enum mt_status mt_profile_read(struct mt_builder *b, const struct mt_value *top, enum mt_told kind,
                               struct mt_error *err)
{
    return kind == MT_TOLD_TRACE ? read_trace(b, top, err)
                                 : read_timeline(b, top, kind == MT_TOLD_TIMELINE, err);
}
