/* SPDX-License-Identifier: MIT */
/*
 * The allocations of a recording, each with a key of its stack that is the same in other processes:
 * functions, lines and the names of files without their folders. Code that torch.compile generates
 * has new names and lines in each process: there only the function counts.
 */
#include "support/hash.h"

#include "verbs/fit/fit_core.h"

static struct mt_str without_folders(struct mt_str path)
{
    size_t at = path.n;
    while (at > 0 && path.p[at - 1] != '/' && path.p[at - 1] != '\\') {
        at--;
    }
    return (struct mt_str){path.p + at, path.n - at};
}

static bool is_generated(struct mt_str path)
{
    return mt_str_find(path, MT_STR("torchinductor")) != SIZE_MAX ||
           mt_str_starts(path, MT_STR("<"));
}

static uint64_t frame_key(const struct mt_snapshot *s, const struct mt_frame *f)
{
    struct mt_str path = mt_snapshot_str(s, f->filename), name = mt_snapshot_str(s, f->name);
    uint64_t key = mt_hash_bytes(name.p, name.n, 1);
    if (is_generated(path)) {
        return key;
    }
    struct mt_str file = without_folders(path);
    uint64_t line = f->line > 0 ? (uint64_t)f->line : 0;
    return mt_hash_mix(mt_hash_bytes(file.p, file.n, key), line);
}

static uint64_t stack_key(const struct mt_snapshot *s, uint32_t stack)
{
    const struct mt_stack *list = &s->stacks[stack];
    uint64_t key = list->n;
    for (uint32_t i = 0; stack && i < list->n; i++) {
        key = mt_hash_mix(frame_key(s, &s->frames[s->stack_frames[list->first + i]]), key);
    }
    return key;
}

/* Keys of all stacks, each made once. */
static uint64_t *stack_keys(const struct mt_snapshot *s)
{
    uint64_t *keys = mt_mem_zalloc(s->n_stacks + 1, sizeof *keys);
    for (uint32_t i = 1; keys && i < s->n_stacks; i++) {
        keys[i] = stack_key(s, i);
    }
    return keys;
}

enum mt_status mt_fit_list_calls(const struct mt_snapshot *s, int32_t device, struct calls *out,
                                 struct mt_error *err)
{
    const struct mt_trace *t = &s->traces[device];
    uint64_t *keys = stack_keys(s);
    enum mt_status status = keys ? MT_OK : mt_fail_nomem(err);
    for (size_t i = 0; status == MT_OK && i < t->n; i++) {
        const struct mt_event *e = &s->events[t->first + i];
        if (e->action != MT_ACTION_ALLOC) {
            continue;
        }
        uint64_t key = mt_hash_mix(keys[e->stack], 0);
        struct call c = {key, e->size, e->stack};
        out->path = mt_hash_mix(key, out->path);
        status = mt_vec_push(&out->list, c) ? MT_OK : mt_fail_nomem(err);
    }
    mt_mem_free(keys);
    return status;
}
