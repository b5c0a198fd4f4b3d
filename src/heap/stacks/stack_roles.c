/* SPDX-License-Identifier: MIT */
/*
 * Roles of stacks. Each frame is put into a class once, by its path and name; a stack is then read
 * from outside: what is met first decides, so that a layer inside a model's call is the model's,
 * and what a layer computes again during the backward pass is the backward pass's.
 *
 * A function called `step` is a hand-written optimizer's unless it calls a model or backward, as
 * the step of a trainer does; the functions that do are collected before, and without any of them
 * it says nothing.
 */
#include "heap/stacks/stack_roles.h"

#include "torch/frame_class.h"
#include "heap/stacks/frames.h"
#include "support/hash.h"
#include "support/mem.h"

/* A notebook's cell is a file "<ipython-input-3-...>". */
static bool is_line_of_python(const struct mt_snapshot *s, const struct mt_frame *f)
{
    return mt_frame_is_python(s, f) || mt_str_starts(mt_snapshot_str(s, f->filename), MT_STR("<"));
}

/* ---- reading a stack ---- */

struct reading {
    struct mt_stack_roles *out;
    const struct mt_snapshot *s;
    unsigned char *classes;       /* enum mt_frame_class + 1 by frame id; 0: not asked yet */
    unsigned char *files, *names; /* kinds + 1 by string id: many frames share a path */
    struct mt_idmap drivers;      /* functions that call a model or backward */
};

static uint32_t frame_at(const struct mt_snapshot *s, uint32_t stack, uint32_t from_outside)
{
    const struct mt_stack *k = &s->stacks[stack];
    return s->stack_frames[k->first + k->n - 1 - from_outside];
}

static enum mt_frame_class class_of(struct reading *x, uint32_t frame)
{
    const struct mt_frame *f = &x->s->frames[frame];
    unsigned char *file = &x->files[f->filename], *name = &x->names[f->name];
    if (*file == 0) {
        *file = (unsigned char)(1 + mt_frame_file_kind(mt_frame_path(x->s, f)));
    }
    if (*name == 0) {
        *name = (unsigned char)(1 + mt_frame_name_kind(mt_frame_function(x->s, f)));
    }
    return mt_frame_class(is_line_of_python(x->s, f), *file - 1u, *name - 1u);
}

static enum mt_frame_class class_at(struct reading *x, uint32_t stack, uint32_t from_outside)
{
    uint32_t frame = frame_at(x->s, stack, from_outside);
    if (x->classes[frame] == 0) {
        x->classes[frame] = (unsigned char)(1 + class_of(x, frame));
    }
    return (enum mt_frame_class)(x->classes[frame] - 1);
}

static uint64_t function_of(const struct mt_frame *f)
{
    return mt_hash_mix(f->name, f->filename);
}

/* The first class, from outside, that gives a role; `*at`: where. What an optimizer calls back is
 * not the optimizer's: trainers hand it the whole step as a closure. */
static enum mt_frame_class telling_class(struct reading *x, uint32_t stack, uint32_t *at)
{
    enum mt_frame_class found = MT_FRAME_USER;
    bool outermost = true; /* no line of Python yet */
    for (uint32_t k = 0; k < x->s->stacks[stack].n; k++) {
        enum mt_frame_class c = class_at(x, stack, k);
        c = c == MT_FRAME_FUNCTION && outermost ? MT_FRAME_BACKWARD : c;
        outermost = outermost && c == MT_FRAME_NATIVE;
        bool calls = c == MT_FRAME_CALL || c == MT_FRAME_BACKWARD;
        bool tells = calls || c == MT_FRAME_OPTIMIZER || c == MT_FRAME_SETUP;
        if (c == MT_FRAME_WORKSPACE) {
            return c;
        }
        if (found == MT_FRAME_USER ? tells : found == MT_FRAME_OPTIMIZER && calls) {
            found = c;
            *at = k;
        }
    }
    return found;
}

/* The line inside the module's call that begins at `at`: the first that is the model's own, or that
 * of a container or layer of PyTorch's. */
static void look_inside(struct reading *x, uint32_t stack, uint32_t at, struct mt_stack_role *role)
{
    uint32_t n = x->s->stacks[stack].n;
    role->inside = frame_at(x->s, stack, at);
    for (uint32_t k = at; k < n; k++) {
        enum mt_frame_class c = class_at(x, stack, k);
        if (c == MT_FRAME_USER || c == MT_FRAME_STEP || c == MT_FRAME_CONTAINER ||
            c == MT_FRAME_LAYER) {
            role->inside = frame_at(x->s, stack, k);
            role->leaf = c == MT_FRAME_LAYER;
            return;
        }
    }
}

static bool note_outer(struct reading *x, uint32_t stack, uint32_t at, struct mt_stack_role *role)
{
    bool ok = true;
    for (uint32_t k = 0; ok && k < at; k++) {
        uint32_t frame = frame_at(x->s, stack, k);
        if (class_at(x, stack, k) == MT_FRAME_NATIVE) {
            continue;
        }
        uint64_t function = function_of(&x->s->frames[frame]);
        role->path = mt_hash_mix(role->path, frame);
        role->site = mt_hash_mix(role->site, function);
        role->n_outer++;
        ok = mt_idmap_put(&x->drivers, function, 1);
    }
    return ok;
}

/* All but functions called `step`, which wait until all drivers are known. */
static bool read_stack(struct reading *x, uint32_t stack)
{
    struct mt_stack_role *role = &x->out->of[stack];
    uint32_t at = 0;
    switch (telling_class(x, stack, &at)) {
    case MT_FRAME_WORKSPACE: role->role = MT_ROLE_WORKSPACE; return true;
    case MT_FRAME_BACKWARD: role->role = MT_ROLE_BACKWARD; return note_outer(x, stack, at, role);
    case MT_FRAME_OPTIMIZER: role->role = MT_ROLE_OPTIMIZER; return true;
    case MT_FRAME_SETUP: role->role = MT_ROLE_SETUP; return true;
    case MT_FRAME_CALL: break;
    default: return true;
    }
    role->role = MT_ROLE_MODULE;
    look_inside(x, stack, at, role);
    bool ok = note_outer(x, stack, at, role);
    role->site = mt_hash_mix(role->site, function_of(&x->s->frames[role->inside])) | 1;
    return ok;
}

static void read_step(struct reading *x, uint32_t stack)
{
    struct mt_stack_role *role = &x->out->of[stack];
    for (uint32_t k = 0; role->role == MT_ROLE_OTHER && k < x->s->stacks[stack].n; k++) {
        uint64_t function = function_of(&x->s->frames[frame_at(x->s, stack, k)]);
        if (class_at(x, stack, k) == MT_FRAME_STEP && x->drivers.n &&
            !mt_idmap_find(&x->drivers, function)) {
            role->role = MT_ROLE_OPTIMIZER;
        }
    }
}

static bool read_all(struct reading *x, const struct mt_replay *r, unsigned char *named)
{
    bool ok = true;
    for (size_t i = 0; i < r->n; i++) {
        named[r->events[i].stack] |= mt_event_allocates(&r->events[i]);
    }
    for (size_t i = 0; i < r->ghosts.n; i++) {
        named[r->ghosts.v[i].stack] = 1;
    }
    for (uint32_t i = 1; ok && i < x->s->n_stacks; i++) {
        ok = !named[i] || read_stack(x, i);
    }
    for (uint32_t i = 1; ok && i < x->s->n_stacks; i++) {
        if (named[i]) {
            read_step(x, i);
        }
        for (uint32_t k = 0; named[i] && !x->out->has_frames && k < x->s->stacks[i].n; k++) {
            enum mt_frame_class c = class_at(x, i, k);
            x->out->has_frames = c != MT_FRAME_NATIVE && c != MT_FRAME_WORKSPACE;
        }
    }
    return ok;
}

enum mt_status mt_stack_roles_init(struct mt_stack_roles *x, const struct mt_replay *r,
                                   struct mt_error *err)
{
    const struct mt_snapshot *s = r->snapshot;
    size_t n = s->n_stacks ? s->n_stacks : 1;
    *x = (struct mt_stack_roles){.replay = r};
    struct reading reading = {.out = x, .s = s};
    reading.classes = mt_mem_zalloc(s->n_frames ? s->n_frames : 1, 1);
    reading.files = mt_mem_zalloc(s->n_strings ? s->n_strings : 1, 1);
    reading.names = mt_mem_zalloc(s->n_strings ? s->n_strings : 1, 1);
    unsigned char *named = mt_mem_zalloc(n, 1);
    x->of = mt_mem_zalloc(n, sizeof *x->of);
    bool ok = reading.classes && reading.files && reading.names && named && x->of &&
              read_all(&reading, r, named);
    mt_idmap_release(&reading.drivers);
    mt_mem_free(reading.classes);
    mt_mem_free(reading.files);
    mt_mem_free(reading.names);
    mt_mem_free(named);
    return ok ? MT_OK : mt_fail_nomem(err);
}

void mt_stack_roles_release(struct mt_stack_roles *x)
{
    mt_mem_free(x->of);
    *x = (struct mt_stack_roles){0};
}

enum mt_role mt_stack_role_of(const struct mt_stack_roles *x, uint32_t stack)
{
    bool bare = x->has_frames && (!stack || x->replay->snapshot->stacks[stack].n == 0);
    return bare ? MT_ROLE_BACKWARD : (enum mt_role)x->of[stack].role;
}

int mt_stack_order(const struct mt_snapshot *s, uint32_t a, uint32_t b, uint32_t depth)
{
    uint32_t n = s->stacks[a].n < s->stacks[b].n ? s->stacks[a].n : s->stacks[b].n;
    for (uint32_t k = 0, python = 0; k < n && python < depth; k++) {
        const struct mt_frame *x = &s->frames[frame_at(s, a, k)];
        const struct mt_frame *y = &s->frames[frame_at(s, b, k)];
        python += is_line_of_python(s, x);
        if (x->name != y->name || x->filename != y->filename) {
            return 0;
        }
        if (x->line != y->line) {
            return x->line < y->line ? -1 : 1;
        }
    }
    return 0;
}

bool mt_stack_leads(const struct mt_snapshot *s, uint32_t a, uint32_t b)
{
    uint32_t k = 0;
    while (k < s->stacks[a].n && k < s->stacks[b].n && frame_at(s, a, k) == frame_at(s, b, k)) {
        k++;
    }
    return k && k < s->stacks[b].n &&
           (k == s->stacks[a].n || !is_line_of_python(s, &s->frames[frame_at(s, a, k)]));
}
