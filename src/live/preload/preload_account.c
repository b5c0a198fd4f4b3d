/* SPDX-License-Identifier: MIT */
/* There are some dozens of libraries and some thousands of stacks: the libraries are searched from
 * end to end, the stacks remember theirs. */
#include "live/preload/preload_account.h"
#include "support/str.h"

/* The runtime and the driver call for somebody else. */
static bool is_cuda(struct mt_str path)
{
    struct mt_str name = mt_str_basename(path);
    return mt_str_starts(name, MT_STR("libcudart.so")) || mt_str_starts(name, MT_STR("libcuda.so"));
}

/* The path of the first C frame (they have no line) behind CUDA's own; CUDA's when it stands
 * alone. */
static uint32_t path_of(const struct mt_stack_table *t, uint32_t stack)
{
    const struct mt_live_stack *s = &t->stacks.v[stack];
    uint32_t path = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        const struct mt_live_frame *f = &t->frames.v[t->members.v[s->first + i]];
        if (f->line != 0) {
            break;
        }
        path = path == 0 || !is_cuda(mt_intern_get(&t->strings, f->filename)) ? f->filename : path;
        if (!is_cuda(mt_intern_get(&t->strings, path))) {
            break;
        }
    }
    return path;
}

static uint32_t known_path_of(struct mt_preload_account *a, const struct mt_stack_table *t,
                              uint32_t stack)
{
    if (stack == 0 || stack >= t->stacks.n || !mt_vec_reserve(&a->of_stack, t->stacks.n)) {
        return 0;
    }
    while (a->of_stack.n < t->stacks.n) {
        a->of_stack.v[a->of_stack.n++] = 0;
    }
    if (a->of_stack.v[stack] == 0) {
        a->of_stack.v[stack] = path_of(t, stack) + 1;
    }
    return a->of_stack.v[stack] - 1;
}

static struct mt_preload_library *
library_of(struct mt_preload_account *a, const struct mt_stack_table *t, int device, uint32_t stack)
{
    const struct mt_preload_library fresh = {.path = known_path_of(a, t, stack), .device = device};
    for (size_t i = 0; i < a->libraries.n; i++) {
        struct mt_preload_library *l = &a->libraries.v[i];
        if (l->path == fresh.path && l->device == device) {
            return l;
        }
    }
    return mt_vec_push(&a->libraries, fresh) ? &a->libraries.v[a->libraries.n - 1] : NULL;
}

static void add(uint64_t *current, uint64_t *peak, uint64_t size)
{
    *current += size;
    *peak = *current > *peak ? *current : *peak;
}

/* What found no memory when it came is not there when it goes. */
static void sub(uint64_t *current, uint64_t size)
{
    *current -= size < *current ? size : *current;
}

static bool is_counted(int device)
{
    return device >= 0 && device < MT_RECORD_RINGS;
}

void mt_preload_account_add(struct mt_preload_account *a, const struct mt_stack_table *t,
                            int device, uint64_t size, uint32_t stack)
{
    if (!is_counted(device)) {
        return;
    }
    struct mt_preload_library *l = library_of(a, t, device, stack);
    add(&a->current[device], &a->peak[device], size);
    if (l) {
        add(&l->current, &l->peak, size);
    }
}

void mt_preload_account_sub(struct mt_preload_account *a, const struct mt_stack_table *t,
                            int device, uint64_t size, uint32_t stack)
{
    if (!is_counted(device)) {
        return;
    }
    struct mt_preload_library *l = library_of(a, t, device, stack);
    sub(&a->current[device], size);
    if (l) {
        sub(&l->current, size);
    }
}

void mt_preload_account_code(struct mt_preload_account *a, const struct mt_stack_table *t,
                             int device, int64_t size, uint32_t stack)
{
    struct mt_preload_library *l = is_counted(device) ? library_of(a, t, device, stack) : NULL;
    uint64_t all = size < 0 ? UINT64_C(0) - (uint64_t)size : (uint64_t)size;
    if (l && size < 0) {
        sub(&l->code, all);
    } else if (l) {
        l->code += all;
    }
}

enum mt_status mt_preload_account_copy(const struct mt_preload_account *a,
                                       const struct mt_stack_table *t, struct mt_own *own,
                                       struct mt_error *err)
{
    if (!mt_vec_reserve(&own->libraries, a->libraries.n)) {
        return mt_fail_nomem(err);
    }
    for (size_t i = 0; i < a->libraries.n; i++) {
        const struct mt_preload_library *l = &a->libraries.v[i];
        bool named = l->path < t->strings.strings.n; /* nothing has a name without stacks */
        const struct mt_own_library copy = {.device = l->device,
                                            .path = named ? mt_intern_get(&t->strings, l->path)
                                                          : MT_STR(""),
                                            .current = l->current,
                                            .peak = l->peak,
                                            .code = l->code};
        own->libraries.v[own->libraries.n++] = copy;
    }
    return MT_OK;
}
