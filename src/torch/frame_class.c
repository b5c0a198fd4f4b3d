/* SPDX-License-Identifier: MIT */
/* Paths and names as of PyTorch 2.0 to 2.11 and the newest releases of the libraries. */
#include "torch/frame_class.h"

#include <string.h>

#include "support/compiler.h"

/* Names that tell something in some file. Those of compiled frames are a part of the whole name. */
enum name {
    NAME_NONE,
    CALL_IMPL,
    WRAPPED_CALL_IMPL,
    DUNDER_CALL,
    FORWARD,
    ENGINE_RUN_BACKWARD,
    BACKWARD,
    GRAD,
    APPLY,
    UNPACK_HOOK,
    STEP,
    NAMES_PYTHON,
    SET_WORKSPACE = NAMES_PYTHON,
    GET_LT_WORKSPACE,
    GET_NEW_WORKSPACE,
    THREAD_MAIN,
    EVALUATE_FUNCTION,
    NAMES_WHOLE,
    CACHE = NAMES_WHOLE, /* a word in it tells */
    NAMES
};

static const char *const NAME[NAMES_WHOLE] = {
    [CALL_IMPL] = "_call_impl",
    [WRAPPED_CALL_IMPL] = "_wrapped_call_impl",
    [DUNDER_CALL] = "__call__",
    [FORWARD] = "forward",
    [ENGINE_RUN_BACKWARD] = "_engine_run_backward",
    [BACKWARD] = "backward",
    [GRAD] = "grad",
    [APPLY] = "apply",
    [UNPACK_HOOK] = "unpack_hook",
    [STEP] = "step",
    [SET_WORKSPACE] = "at::cuda::setWorkspaceForHandle",
    [GET_LT_WORKSPACE] = "at::cuda::getCUDABlasLtWorkspace",
    [GET_NEW_WORKSPACE] = "at::cuda::getNewWorkspace",
    [THREAD_MAIN] = "torch::autograd::Engine::thread_main",
    [EVALUATE_FUNCTION] = "torch::autograd::Engine::evaluate_function",
};

enum { MOST_NAMES = 3 };

/* A part of a path, what its lines are, and the names for which they are something else. */
struct file {
    const char *part;
    enum mt_frame_class class;
    enum mt_frame_class named;
    enum name names[MOST_NAMES];
};

/* The first that fits; what is special stands above what is general. */
static const struct file FILES[] = {
    {"", MT_FRAME_USER, MT_FRAME_STEP, {STEP}}, /* of none: kind 0 */
    {"torch/nn/modules/module.py",
     MT_FRAME_SETUP,
     MT_FRAME_CALL,
     {CALL_IMPL, WRAPPED_CALL_IMPL, DUNDER_CALL}},
    {"torch/nn/parameter.py", MT_FRAME_SETUP, MT_FRAME_SETUP, {0}},
    {"torch/nn/init.py", MT_FRAME_SETUP, MT_FRAME_SETUP, {0}},
    {"torch/nn/modules/container.py", MT_FRAME_CONTAINER, MT_FRAME_CONTAINER, {0}},
    {"torch/nn/modules/", MT_FRAME_TORCH, MT_FRAME_LAYER, {FORWARD}},
    {"torch/autograd/graph.py", MT_FRAME_TORCH, MT_FRAME_BACKWARD, {ENGINE_RUN_BACKWARD}},
    {"torch/autograd/__init__.py", MT_FRAME_TORCH, MT_FRAME_BACKWARD, {BACKWARD, GRAD}},
    {"torch/autograd/function.py", MT_FRAME_TORCH, MT_FRAME_FUNCTION, {APPLY}},
    {"torch/utils/checkpoint.py", MT_FRAME_TORCH, MT_FRAME_BACKWARD, {UNPACK_HOOK, BACKWARD}},
    {"torch/optim/", MT_FRAME_OPTIMIZER, MT_FRAME_OPTIMIZER, {0}},
    {"apex/optimizers/", MT_FRAME_OPTIMIZER, MT_FRAME_OPTIMIZER, {0}},
    {"bitsandbytes/optim/", MT_FRAME_OPTIMIZER, MT_FRAME_OPTIMIZER, {0}},
    {"transformer_engine/pytorch/optimizers/", MT_FRAME_OPTIMIZER, MT_FRAME_OPTIMIZER, {0}},
    {"megatron/core/optimizer/", MT_FRAME_OPTIMIZER, MT_FRAME_OPTIMIZER, {0}},
    {"deepspeed/ops/adam/", MT_FRAME_OPTIMIZER, MT_FRAME_OPTIMIZER, {0}},
    {"torchao/optim/", MT_FRAME_OPTIMIZER, MT_FRAME_OPTIMIZER, {0}},
    {"-packages/torch/", MT_FRAME_TORCH, MT_FRAME_TORCH, {0}},
    {"-packages/accelerate/", MT_FRAME_TORCH, MT_FRAME_TORCH, {0}},
    {"-packages/deepspeed/", MT_FRAME_TORCH, MT_FRAME_TORCH, {0}},
    {"-packages/functorch/", MT_FRAME_TORCH, MT_FRAME_TORCH, {0}},
    {"cache.py", MT_FRAME_USER, MT_FRAME_STEP, {STEP}},
    {"cache_utils.py", MT_FRAME_USER, MT_FRAME_STEP, {STEP}},
};
enum { FILE_CACHE = MT_COUNT(FILES) - 2 };

/* Two digits behind a sign at s[at], else 0. */
static unsigned kept_kind(struct mt_str s, size_t at, unsigned end)
{
    if (s.n < at + 3 || s.p[at] != MT_FRAME_KIND_SIGN || s.p[at + 1] < '0' || s.p[at + 1] > '9' ||
        s.p[at + 2] < '0' || s.p[at + 2] > '9') {
        return 0;
    }
    unsigned kind = (unsigned)(s.p[at + 1] - '0') * 10 + (unsigned)(s.p[at + 2] - '0');
    return kind < end ? kind : 0;
}

unsigned mt_frame_file_kind(struct mt_str file)
{
    unsigned kept = kept_kind(file, 0, MT_COUNT(FILES));
    for (unsigned i = 1; !kept && i < MT_COUNT(FILES); i++) {
        if (mt_path_contains(file, mt_str_from(FILES[i].part))) {
            return i;
        }
    }
    return kept;
}

static bool has_cache_word(struct mt_str name)
{
    static const char *const words[] = {"cache", "kv_", "_kv", "page", "past_key"};
    bool found = false;
    for (size_t i = 0; i < MT_COUNT(words); i++) {
        found |= mt_str_find(name, mt_str_from(words[i])) != SIZE_MAX;
    }
    return found;
}

unsigned mt_frame_name_kind(struct mt_str name)
{
    unsigned kept = name.n >= 3 ? kept_kind(name, name.n - 3, NAMES) : 0;
    for (unsigned i = 1; !kept && i < NAMES_WHOLE; i++) {
        struct mt_str known = mt_str_from(NAME[i]);
        if (i < NAMES_PYTHON ? mt_str_equal(name, known) : mt_str_starts(name, known)) {
            return i;
        }
    }
    return kept || !has_cache_word(name) ? kept : CACHE;
}

bool mt_frame_is_cache(unsigned file_kind, unsigned name_kind)
{
    return name_kind == CACHE || (file_kind >= FILE_CACHE && file_kind < MT_COUNT(FILES));
}

static enum mt_frame_class class_of_native(unsigned name_kind)
{
    switch (name_kind) {
    case SET_WORKSPACE:
    case GET_LT_WORKSPACE:
    case GET_NEW_WORKSPACE: return MT_FRAME_WORKSPACE;
    case THREAD_MAIN:
    case EVALUATE_FUNCTION: return MT_FRAME_BACKWARD;
    default: return MT_FRAME_NATIVE;
    }
}

enum mt_frame_class mt_frame_class(bool python, unsigned file_kind, unsigned name_kind)
{
    if (!python) {
        return class_of_native(name_kind);
    }
    const struct file *f = &FILES[file_kind < MT_COUNT(FILES) ? file_kind : 0];
    for (int i = 0; name_kind && i < MOST_NAMES; i++) {
        if ((unsigned)f->names[i] == name_kind) {
            return f->named;
        }
    }
    return f->class;
}

/* "c" and 51 digits of base 32 (torch/_inductor/codecache.py, code_hash). */
bool mt_frame_file_is_generated(struct mt_str file)
{
    static const char ALPHABET[] = "abcdefghijklmnopqrstuvwxyz234567";
    enum { DIGITS = 52 };
    struct mt_str name = mt_str_basename(file);
    bool is = name.n == DIGITS + 3 && name.p[0] == 'c' &&
              mt_str_equal(mt_str_tail(name, 3), MT_STR(".py"));
    for (size_t i = 0; is && i < DIGITS; i++) {
        is = memchr(ALPHABET, name.p[i], sizeof ALPHABET - 1) != NULL;
    }
    return is;
}
