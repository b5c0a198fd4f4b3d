/* SPDX-License-Identifier: MIT */
/* Labels of allocations, joined to them by the address that they name. */
#include "heap/stacks/event_labels.h"

#include <string.h>

#include "heap/stacks/frames.h"
#include "support/mem.h"
#include "torch/keys.h"

static uint64_t place_of(int32_t device, uint64_t addr)
{
    return mt_hash_mix(addr, (uint32_t)device);
}

static uint32_t told_text(const struct mt_snapshot *s, size_t event)
{
    uint32_t id = mt_event_column_get(s, event, MT_COLUMN_USER_METADATA);
    return id == s->column_defaults[MT_COLUMN_USER_METADATA] ? 0 : id;
}

/* An annotation where nothing was allocated in the trace is of what is older. */
static bool annotate(struct mt_event_labels *l, uint64_t place, size_t event, uint32_t text)
{
    uint32_t alloc = l->alloc_of[event];
    if (text && alloc != MT_NO_ALLOC) {
        l->text[alloc] = text;
    } else if (text) {
        l->text[event] = text;
        return mt_idmap_put(&l->older, place, text);
    }
    return true;
}

static bool follow(struct mt_event_labels *l, int32_t device, size_t event)
{
    const struct mt_event *e = &l->snapshot->events[event];
    uint64_t place = place_of(device, e->addr);
    const uint32_t *alive = mt_idmap_find(&l->live, place);
    uint32_t alloc = alive ? *alive : MT_NO_ALLOC;
    switch (e->action) {
    case MT_ACTION_ALLOC:
        l->alloc_of[event] = (uint32_t)event;
        l->text[event] = told_text(l->snapshot, event);
        return mt_idmap_put(&l->live, place, (uint32_t)event);
    case MT_ACTION_ANNOTATE:
        l->alloc_of[event] = alloc;
        return annotate(l, place, event, told_text(l->snapshot, event));
    case MT_ACTION_FREE:
    case MT_ACTION_FREE_COMPLETED: (void)mt_idmap_remove(&l->live, place, NULL); /* fallthrough */
    case MT_ACTION_FREE_REQUESTED: l->alloc_of[event] = alloc; return true;
    default: return true;
    }
}

/* ---- tensors ---- */

const struct mt_value *mt_snapshot_tensors(const struct mt_snapshot *s, uint32_t *n)
{
    const struct mt_value *v = s->extra ? mt_extra_find(s, s->extra, MT_TENSORS_KEY) : NULL;
    bool list = v && v->kind == MT_VALUE_LIST;
    *n = list ? v->n : 0;
    return list ? &s->values[v->u.id] : NULL;
}

static bool get_number(const struct mt_snapshot *s, const struct mt_value *dict, const char *key,
                       uint64_t *out)
{
    const struct mt_value *v = mt_value_find(s, dict, key);
    bool is = v && v->kind == MT_VALUE_INT && v->u.i >= 0;
    *out = is ? (uint64_t)v->u.i : 0;
    return is;
}

static bool put_tensor(struct mt_event_labels *l, const struct mt_value *tensor)
{
    const struct mt_snapshot *s = l->snapshot;
    uint64_t device, addr;
    if (tensor->kind != MT_VALUE_DICT || !get_number(s, tensor, "device", &device) ||
        !get_number(s, tensor, "address", &addr) || device > INT32_MAX) {
        return true;
    }
    const struct mt_value *name = mt_value_find(s, tensor, "name");
    if (!name || name->kind != MT_VALUE_STR) {
        return true;
    }
    uint64_t place = place_of((int32_t)device, addr);
    const uint32_t *alloc = mt_idmap_find(&l->live, place);
    if (alloc) {
        l->text[*alloc] = name->u.id;
    }
    return mt_idmap_put(&l->tensors, place, name->u.id);
}

static bool put_tensors(struct mt_event_labels *l)
{
    uint32_t n;
    bool ok = true;
    const struct mt_value *tensors = mt_snapshot_tensors(l->snapshot, &n);
    for (uint32_t i = 0; ok && i < n; i++) {
        ok = put_tensor(l, &tensors[i]);
    }
    return ok;
}

uint32_t mt_event_labels_tensor(const struct mt_event_labels *l, int32_t device, uint64_t addr)
{
    const uint32_t *name = mt_idmap_find(&l->tensors, place_of(device, addr));
    return name ? *name : 0;
}

uint32_t mt_event_labels_older(const struct mt_event_labels *l, int32_t device, uint64_t addr,
                               bool lives_on)
{
    uint32_t tensor = lives_on ? mt_event_labels_tensor(l, device, addr) : 0;
    const uint32_t *label = mt_idmap_find(&l->older, place_of(device, addr));
    return tensor ? tensor : label ? *label : 0;
}

static bool follow_trace(struct mt_event_labels *l, int32_t device, const struct mt_trace *t)
{
    bool ok = true;
    for (size_t i = 0; ok && i < t->n; i++) {
        ok = follow(l, device, t->first + i);
    }
    return ok;
}

enum mt_status mt_event_labels_init(struct mt_event_labels *l, const struct mt_snapshot *s,
                                    struct mt_error *err)
{
    size_t n = s->n_events ? s->n_events : 1;
    *l = (struct mt_event_labels){.snapshot = s};
    l->alloc_of = mt_mem_alloc(n, sizeof *l->alloc_of);
    l->text = mt_mem_zalloc(n, sizeof *l->text);
    bool ok = l->alloc_of && l->text;
    if (ok) {
        memset(l->alloc_of, 0xff, n * sizeof *l->alloc_of);
    }
    for (size_t d = 0; ok && d < s->n_traces; d++) {
        ok = follow_trace(l, (int32_t)d, &s->traces[d]);
    }
    for (size_t h = 0; ok && h < s->n_host_traces; h++) {
        ok = follow_trace(l, -1, &s->host_traces[h]);
    }
    return ok && put_tensors(l) ? MT_OK : mt_fail_nomem(err);
}

void mt_event_labels_release(struct mt_event_labels *l)
{
    mt_mem_free(l->alloc_of);
    mt_mem_free(l->text);
    mt_idmap_release(&l->live);
    mt_idmap_release(&l->tensors);
    mt_idmap_release(&l->older);
    *l = (struct mt_event_labels){0};
}

uint32_t mt_event_labels_live(const struct mt_event_labels *l, int32_t device, uint64_t addr)
{
    const uint32_t *alive = mt_idmap_find(&l->live, place_of(device, addr));
    return alive ? *alive : MT_NO_ALLOC;
}

uint32_t mt_event_region(const struct mt_snapshot *s, size_t event)
{
    uint32_t id = mt_event_column_get(s, event, MT_COLUMN_COMPILE_CONTEXT);
    return id == s->column_defaults[MT_COLUMN_COMPILE_CONTEXT] ? 0 : id;
}

/* ---- modules ---- */

uint32_t mt_event_module(const struct mt_snapshot *s, size_t event)
{
    uint32_t id = told_text(s, event);
    struct mt_str text = mt_snapshot_str(s, id);
    return id && (mt_str_starts(text, MT_STR(MT_MODULE_PREFIX)) ||
                  mt_str_starts(text, MT_STR(MT_OPTIMIZER_PREFIX)))
               ? id
               : 0;
}

struct mt_str mt_module_text(struct mt_str label)
{
    size_t n = mt_str_starts(label, MT_STR(MT_MODULE_PREFIX)) ? strlen(MT_MODULE_PREFIX) : 0;
    return (struct mt_str){label.p + n, label.n - n};
}

bool mt_snapshot_has_modules(const struct mt_snapshot *s)
{
    uint32_t seen = 0;
    for (size_t i = 0; i < s->n_events; i++) {
        uint32_t id = told_text(s, i);
        if (id != seen && mt_event_module(s, i)) {
            return true;
        }
        seen = id;
    }
    return false;
}

/* ---- nodes ---- */

static struct mt_str extra_text(const struct mt_snapshot *s, uint32_t frame, const char *key)
{
    uint32_t extra = s->frames[frame].extra;
    const struct mt_value *v = extra ? mt_extra_find(s, extra, key) : NULL;
    return v && v->kind == MT_VALUE_STR ? mt_snapshot_str(s, v->u.id) : MT_STR("");
}

uint32_t mt_stack_node(const struct mt_snapshot *s, uint32_t stack)
{
    const struct mt_stack *k = &s->stacks[stack];
    for (uint32_t i = 0; i < k->n; i++) {
        uint32_t frame = s->stack_frames[k->first + i];
        if (extra_text(s, frame, "fx_node_name").n > 0) {
            return frame;
        }
    }
    return mt_stack_backward_node(s, stack);
}

void mt_node_text(struct mt_buf *b, const struct mt_snapshot *s, uint32_t frame)
{
    struct mt_str name = extra_text(s, frame, "fx_node_name");
    struct mt_str target = extra_text(s, frame, "fx_node_target");
    if (name.n == 0) {
        mt_name_short(b, mt_snapshot_str(s, s->frames[frame].name));
        return;
    }
    mt_buf_str(b, name);
    if (target.n) {
        mt_buf_text(b, " (");
        mt_buf_str(b, target);
        mt_buf_char(b, ')');
    }
    struct mt_buf place = {0};
    if (mt_traceback_place(&place, extra_text(s, frame, "fx_original_trace"))) {
        mt_buf_text(b, ", ");
        mt_buf_str(b, mt_buf_view(&place));
    }
    b->failed |= place.failed;
    mt_buf_release(&place);
}

/* ---- the forward pass ---- */

static const struct mt_value *forward_in(const struct mt_snapshot *s, uint32_t extra)
{
    const struct mt_value *v = extra ? mt_extra_find(s, extra, "forward_frames") : NULL;
    return v && v->kind == MT_VALUE_LIST && v->n > 0 ? v : NULL;
}

const struct mt_value *mt_event_forward(const struct mt_snapshot *s, size_t event)
{
    return forward_in(s, mt_event_column_get(s, event, MT_COLUMN_EXTRA));
}

/* The innermost call of two passes is the same. */
static bool same_call(const struct mt_snapshot *s, const struct mt_value *a,
                      const struct mt_value *b)
{
    const struct mt_value *x = &s->values[a->u.id + a->n - 1];
    const struct mt_value *y = &s->values[b->u.id + b->n - 1];
    return x->kind == MT_VALUE_STR && y->kind == MT_VALUE_STR && x->u.id == y->u.id;
}

static void take_forward(const struct mt_snapshot *s, const struct mt_value *v,
                         const struct mt_value **first, bool *several)
{
    *several |= v && *first && !same_call(s, v, *first);
    *first = *first ? *first : v;
}

const struct mt_value *mt_stack_forward(const struct mt_snapshot *s, uint32_t stack, bool *several)
{
    const struct mt_value *first = NULL;
    *several = false;
    for (size_t i = 0; stack && s->columns[MT_COLUMN_EXTRA] && i < s->n_events; i++) {
        if (s->events[i].stack == stack && s->events[i].action == MT_ACTION_ALLOC) {
            take_forward(s, mt_event_forward(s, i), &first, several);
        }
    }
    for (size_t i = 0; stack && i < s->n_blocks; i++) {
        if (s->blocks[i].stack == stack && s->blocks[i].extra) {
            take_forward(s, forward_in(s, s->blocks[i].extra), &first, several);
        }
    }
    return first;
}

/* What stands between `begin` and the next `end`. */
static bool between(struct mt_str s, struct mt_str begin, const char *ends, struct mt_str *out)
{
    size_t at = mt_str_find(s, begin);
    if (at == SIZE_MAX) {
        return false;
    }
    at += begin.n;
    size_t end = at;
    while (end < s.n && !strchr(ends, s.p[end])) {
        end++;
    }
    *out = (struct mt_str){s.p + at, end - at};
    return end > at;
}

bool mt_traceback_place(struct mt_buf *b, struct mt_str line)
{
    struct mt_str file, number, name;
    if (!between(line, MT_STR("File \""), "\"\n", &file) ||
        !between(line, MT_STR(", line "), ",\n ", &number)) {
        return false;
    }
    mt_buf_str(b, mt_str_basename(file));
    mt_buf_char(b, ':');
    mt_buf_str(b, number);
    if (between(line, MT_STR(", in "), "\n", &name)) {
        mt_buf_char(b, ' ');
        mt_buf_str(b, name);
    }
    return true;
}
