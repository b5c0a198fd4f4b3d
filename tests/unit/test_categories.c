/* SPDX-License-Identifier: MIT */
/* Rules: their language, which one wins, and what lifetimes make of the backward part. */
#include "heap/stacks/categories.h"

#include "make.h"
#include "unit.h"

static struct mt_rules *rules_of(const char *text)
{
    struct mt_rules *r = NULL;
    struct mt_error err;
    ck_assert_int_eq(mt_rules_new(mt_str_from(text), &r, &err), MT_OK);
    return r;
}

static enum mt_category category_of(const char *rules, const char *file, const char *name)
{
    struct make m;
    make_begin(&m);
    struct make_frame frames[] = {{"/home/me/train.py", 3, "main"}, {file, 1, name}};
    uint32_t stack = make_stack_of(&m, frames, 2);
    make_event(&m, MT_ACTION_ALLOC, 0x1000, 512, stack);
    make_event(&m, MT_ACTION_FREE_COMPLETED, 0x1000, 512, 0); /* else it outlives its step */
    make_end(&m);
    struct mt_replay r;
    struct mt_error err;
    struct mt_categories c;
    struct mt_rules *list = rules_of(rules);
    ck_assert_int_eq(mt_replay_init(&r, &m.s, 0, &err), MT_OK);
    ck_assert_int_eq(mt_categories_find(&c, list, &r, &err), MT_OK);
    enum mt_category found = (enum mt_category)c.events[0];
    ck_assert_int_eq(found, c.stacks[stack]);
    mt_categories_release(&c);
    mt_replay_release(&r);
    mt_rules_free(list);
    make_free(&m);
    return found;
}

START_TEST(shipped_rules)
{
    static const struct {
        const char *file, *name;
        enum mt_category want;
    } CASES[] = {
        {"/x/site-packages/torch/optim/adam.py", "_init_group", MT_CATEGORY_OPTIMIZER_STATE},
        {"/x/site-packages/torch/optim/adam.py", "_multi_tensor_adam", MT_CATEGORY_TEMPORARY},
        {"/x/site-packages/torch/nn/modules/linear.py", "forward", MT_CATEGORY_ACTIVATION},
        {"/x/site-packages/torch/nn/modules/module.py", "_apply", MT_CATEGORY_PARAMETER},
        {"C:\\py\\torch\\nn\\modules\\module.py", "_apply", MT_CATEGORY_PARAMETER},
        {"/x/torch/utils/data/dataloader.py", "__next__", MT_CATEGORY_INPUT},
        {"/x/torch/distributed/fsdp/_flat_param.py", "unshard", MT_CATEGORY_PARAMETER},
        {"/x/megatron/core/optimizer/optimizer.py", "__init__", MT_CATEGORY_OPTIMIZER_STATE},
        {"/x/transformers/modeling_utils.py", "from_pretrained", MT_CATEGORY_PARAMETER},
        {"/x/vllm/worker/gpu_model_runner.py", "initialize_kv_cache", MT_CATEGORY_KV_CACHE},
        {"/x/vllm/worker/cache_engine.py", "_allocate_kv_cache", MT_CATEGORY_KV_CACHE},
        {"/x/sglang/srt/mem_cache/memory_pool.py", "_create_buffers", MT_CATEGORY_KV_CACHE},
        {"/x/site-packages/transformers/cache_utils.py", "update", MT_CATEGORY_KV_CACHE},
        {"/home/me/serve.py", "allocate_kv_cache", MT_CATEGORY_KV_CACHE},
        {"/x/vllm/worker/gpu_model_runner.py", "_prepare_inputs", MT_CATEGORY_INPUT},
        {"/home/me/model.py", "forward", MT_CATEGORY_UNKNOWN},
    };
    for (size_t i = 0; i < MT_COUNT(CASES); i++) {
        ck_assert_msg(category_of("", CASES[i].file, CASES[i].name) == CASES[i].want, "%s %s",
                      CASES[i].file, CASES[i].name);
    }
}
END_TEST

START_TEST(own_rules_go_first)
{
    const char *file = "/x/site-packages/torch/optim/adam.py";
    ck_assert_int_eq(category_of("input file torch/optim/\n", file, "step"), MT_CATEGORY_INPUT);
    ck_assert_int_eq(category_of("# nothing\n\n  \t\n", file, "step"), MT_CATEGORY_TEMPORARY);
    ck_assert_int_eq(category_of("gradient name ste", file, "step"), MT_CATEGORY_TEMPORARY);
    ck_assert_int_eq(category_of("gradient name step\r\n", file, "step"), MT_CATEGORY_GRADIENT);
    ck_assert_int_eq(category_of("gradient file adam.py name main\n", file, "step"),
                     MT_CATEGORY_TEMPORARY); /* both must be true of one frame */
    ck_assert_int_eq(category_of("gradient name at::empty\n", "??", "at::empty(int)"),
                     MT_CATEGORY_GRADIENT); /* a C++ name without its arguments */
}
END_TEST

START_TEST(bad_rules)
{
    static const struct {
        const char *text, *error;
    } CASES[] = {
        {"weights file x\n", "rule in line 1: 'weights' is not a category"},
        {"input file x\n# fine\ninput path x\n",
         "rule in line 3: 'path' is not one of: file, name, annotation"},
        {"input\n", "rule in line 1: nothing to compare with (file, name or annotation)"},
        {"input name", "rule in line 1: nothing to compare with (file, name or annotation)"},
    };
    for (size_t i = 0; i < MT_COUNT(CASES); i++) {
        struct mt_rules *r = NULL;
        struct mt_error err;
        ck_assert_int_eq(mt_rules_new(mt_str_from(CASES[i].text), &r, &err), MT_FORMAT);
        ck_assert_str_eq(err.text, CASES[i].error);
        ck_assert_ptr_null(r);
    }
}
END_TEST

/* Forward scratch and activation, backward scratch and gradient, then the optimizer. */
START_TEST(lifetimes_decide)
{
    struct make m;
    make_begin(&m);
    uint32_t forward = make_stack(&m, "/x/torch/nn/modules/linear.py", 1, "forward");
    uint32_t backward = mt_builder_stack(m.b, NULL, 0);
    uint32_t step = make_stack(&m, "/x/torch/optim/sgd.py", 1, "step");
    make_event(&m, MT_ACTION_ALLOC, 0x1000, 512, forward);          /* 0: freed before backward */
    make_event(&m, MT_ACTION_ALLOC, 0x2000, 512, forward);          /* 1: an activation */
    make_event(&m, MT_ACTION_FREE_COMPLETED, 0x1000, 512, forward); /* 2 */
    make_event(&m, MT_ACTION_ALLOC, 0x3000, 512, backward);         /* 3: scratch */
    make_event(&m, MT_ACTION_ALLOC, 0x4000, 512, backward);         /* 4: a gradient */
    make_event(&m, MT_ACTION_FREE_COMPLETED, 0x3000, 512, 0);       /* 5 */
    make_event(&m, MT_ACTION_FREE_COMPLETED, 0x2000, 512, 0);       /* 6 */
    make_event(&m, MT_ACTION_ALLOC, 0x5000, 512, step);             /* 7 */
    make_event(&m, MT_ACTION_FREE_COMPLETED, 0x5000, 512, 0);       /* 8 */
    make_end(&m);
    struct mt_replay r;
    struct mt_error err;
    struct mt_categories c;
    struct mt_rules *rules = rules_of("");
    ck_assert_int_eq(mt_replay_init(&r, &m.s, 0, &err), MT_OK);
    ck_assert_int_eq(mt_categories_find(&c, rules, &r, &err), MT_OK);
    static const struct {
        size_t event;
        enum mt_category want;
    } WANT[] = {{0, MT_CATEGORY_TEMPORARY},
                {1, MT_CATEGORY_ACTIVATION},
                {3, MT_CATEGORY_TEMPORARY},
                {4, MT_CATEGORY_GRADIENT},
                {7, MT_CATEGORY_TEMPORARY}};
    for (size_t i = 0; i < MT_COUNT(WANT); i++) {
        ck_assert_int_eq(c.events[WANT[i].event], WANT[i].want);
    }
    mt_categories_release(&c);
    mt_replay_release(&r);
    mt_rules_free(rules);
    make_free(&m);
}
END_TEST

/* A training step after step: what each allocation is, by what is around it. */
struct want {
    uint64_t size;
    uint32_t stack;
    bool freed; /* at the end of its step */
    enum mt_category want;
};

/* Three steps; the rows with `once` are of the first alone. */
static void check_steps(struct make *m, const struct want *once, size_t n_once,
                        const struct want *each, size_t n_each)
{
    enum { MOST = 64 };
    uint64_t addr = 0x100000, gone[MOST];
    enum mt_category want[MOST];
    size_t events[MOST], n = 0, count = 0;
    for (int step = 0; step < 3; step++) {
        size_t n_gone = 0, from = step ? n_once : 0;
        for (size_t k = from; k < n_once + n_each; k++) {
            const struct want *w = k < n_once ? &once[k] : &each[k - n_once];
            events[n] = count++;
            want[n++] = w->want;
            make_event(m, MT_ACTION_ALLOC, addr, w->size, w->stack);
            gone[n_gone] = addr;
            n_gone += w->freed;
            addr += 1 << 20 << 8;
        }
        for (size_t k = 0; k < n_gone; k++, count++) {
            make_event(m, MT_ACTION_FREE_COMPLETED, gone[k], 512, 0);
        }
    }
    make_end(m);
    struct mt_replay r;
    struct mt_error err;
    struct mt_categories c;
    struct mt_rules *rules = rules_of("");
    ck_assert_int_eq(mt_replay_init(&r, &m->s, 0, &err), MT_OK);
    ck_assert_int_eq(mt_categories_find(&c, rules, &r, &err), MT_OK);
    for (size_t i = 0; i < n; i++) {
        ck_assert_msg(c.events[events[i]] == want[i], "event %zu: %s, not %s", events[i],
                      mt_category_name((enum mt_category)c.events[events[i]]),
                      mt_category_name(want[i]));
    }
    mt_categories_release(&c);
    mt_replay_release(&r);
    mt_rules_free(rules);
    make_free(m);
}

static uint32_t model_stack(struct make *m)
{
    struct make_frame frames[] = {{"/home/me/train.py", 6, "main"},
                                  {"/x/torch/nn/modules/module.py", 1790, "_call_impl"},
                                  {"/home/me/model.py", 9, "forward"},
                                  {"/x/torch/nn/modules/module.py", 1790, "_call_impl"},
                                  {"/x/torch/nn/modules/linear.py", 134, "forward"}};
    return make_stack_of(m, frames, MT_COUNT(frames));
}

/* Workspaces by their size, SGD's momentum by its life, inputs by their place. */
START_TEST(evidence_of_a_step)
{
    struct make m;
    make_begin(&m);
    uint32_t forward = model_stack(&m), backward = mt_builder_stack(m.b, NULL, 0);
    uint32_t setup = make_stack(&m, "/x/torch/nn/modules/module.py", 1, "_apply");
    uint32_t sgd = make_stack(&m, "/x/torch/optim/sgd.py", 455, "_multi_tensor_sgd");
    uint32_t input = make_stack(&m, "/home/me/train.py", 5, "main");
    const uint64_t mib = 1 << 20;
    const struct want once[] = {
        {7 * mib, setup, false, MT_CATEGORY_PARAMETER},
        {32 * mib, forward, false, MT_CATEGORY_WORKSPACE},
        {mib, forward, false, MT_CATEGORY_WORKSPACE},
        {32 * mib, backward, false, MT_CATEGORY_WORKSPACE},
        {7 * mib, sgd, false, MT_CATEGORY_OPTIMIZER_STATE},
    };
    const struct want each[] = {
        {3 * mib, input, true, MT_CATEGORY_INPUT},
        {32 * mib, forward, true, MT_CATEGORY_ACTIVATION},
        {7 * mib, backward, true, MT_CATEGORY_GRADIENT},
        {7 * mib, sgd, true, MT_CATEGORY_TEMPORARY},
    };
    check_steps(&m, once, MT_COUNT(once), each, MT_COUNT(each));
}
END_TEST

/* An optimizer that works in place allocates nothing: what outlives the backward pass and has the
 * size of a parameter is a gradient, once a parameter. */
START_TEST(gradients_before_nothing)
{
    struct make m;
    make_begin(&m);
    uint32_t forward = model_stack(&m), backward = mt_builder_stack(m.b, NULL, 0);
    uint32_t setup = make_stack(&m, "/x/torch/nn/modules/module.py", 1, "_apply");
    const struct want once[] = {
        {5120, setup, false, MT_CATEGORY_PARAMETER},
        {7168, setup, false, MT_CATEGORY_PARAMETER},
    };
    const struct want each[] = {
        {4096, forward, true, MT_CATEGORY_ACTIVATION},
        {6144, backward, true, MT_CATEGORY_TEMPORARY},
        {7168, backward, true, MT_CATEGORY_TEMPORARY},
        {7168, backward, true, MT_CATEGORY_GRADIENT},
        {5120, backward, true, MT_CATEGORY_GRADIENT},
    };
    check_steps(&m, once, MT_COUNT(once), each, MT_COUNT(each));
}
END_TEST

/* No stack says what functions of the user's make; their sizes are those of the gradients. */
START_TEST(evidence_of_sizes)
{
    struct make m;
    make_begin(&m);
    uint32_t forward = model_stack(&m), backward = mt_builder_stack(m.b, NULL, 0);
    uint32_t make_weights = make_stack(&m, "/home/me/train.py", 2, "weights");
    uint32_t update = make_stack(&m, "/home/me/train.py", 40, "update");
    uint32_t log = make_stack(&m, "/home/me/log.py", 4, "remember");
    const struct want once[] = {
        {5120, make_weights, false, MT_CATEGORY_PARAMETER},
        {7168, make_weights, false, MT_CATEGORY_PARAMETER},
    };
    const struct want each[] = {
        {4096, forward, true, MT_CATEGORY_ACTIVATION},
        {5120, backward, true, MT_CATEGORY_GRADIENT},
        {7168, backward, true, MT_CATEGORY_GRADIENT},
        {9216, log, false, MT_CATEGORY_UNKNOWN},
        {5120, update, false, MT_CATEGORY_OPTIMIZER_STATE},
        {7168, update, false, MT_CATEGORY_OPTIMIZER_STATE},
    };
    check_steps(&m, once, MT_COUNT(once), each, MT_COUNT(each));
}
END_TEST

/* Parameters and both moments are older than the trace: three of each gradient's size. */
START_TEST(older_memory_by_sizes)
{
    struct make m;
    make_begin(&m);
    uint32_t forward = model_stack(&m), backward = mt_builder_stack(m.b, NULL, 0);
    make_event(&m, MT_ACTION_ALLOC, 0x1000, 512, forward);
    make_event(&m, MT_ACTION_ALLOC, 0x2000, 4096, backward);
    make_event(&m, MT_ACTION_FREE_COMPLETED, 0x1000, 512, 0);
    for (uint64_t i = 0; i < 4; i++) {
        make_event(&m, MT_ACTION_FREE_COMPLETED, 0x10000 + 0x1000 * i, 4096, 0);
    }
    make_event(&m, MT_ACTION_FREE_COMPLETED, 0x80000, 6144, 0);
    make_end(&m);
    struct mt_replay r;
    struct mt_error err;
    struct mt_categories c;
    struct mt_rules *rules = rules_of("");
    ck_assert_int_eq(mt_replay_init(&r, &m.s, 0, &err), MT_OK);
    ck_assert_int_eq(mt_categories_find(&c, rules, &r, &err), MT_OK);
    static const enum mt_category WANT[] = {MT_CATEGORY_PARAMETER, MT_CATEGORY_OPTIMIZER_STATE,
                                            MT_CATEGORY_OPTIMIZER_STATE, MT_CATEGORY_UNKNOWN,
                                            MT_CATEGORY_UNKNOWN};
    ck_assert_uint_eq(r.ghosts.n, MT_COUNT(WANT));
    for (size_t i = 0; i < MT_COUNT(WANT); i++) {
        ck_assert_int_eq(mt_category_of_ghost(&c, &r.ghosts.v[i]), WANT[i]);
        if (WANT[i] != MT_CATEGORY_UNKNOWN) {
            ck_assert_int_eq(mt_sureness_of_ghost(&c, &r.ghosts.v[i]),
                             WANT[i] == MT_CATEGORY_PARAMETER ? MT_SURE_MEDIUM : MT_SURE_LOW);
        }
    }
    mt_categories_release(&c);
    mt_replay_release(&r);
    mt_rules_free(rules);
    make_free(&m);
}
END_TEST

START_TEST(words)
{
    for (int i = 0; i < MT_CATEGORY_COUNT; i++) {
        enum mt_category c = (enum mt_category)i;
        ck_assert_int_eq(mt_category_parse(mt_str_from(mt_category_name(c))), c);
    }
    ck_assert_int_eq(mt_category_parse(MT_STR("weights")), MT_CATEGORY_COUNT);
}
END_TEST

START_TEST(confidence)
{
    enum mt_category c;
    enum mt_sureness sure;
    ck_assert(mt_category_read(MT_STR("gradient~medium"), &c, &sure));
    ck_assert_int_eq(c, MT_CATEGORY_GRADIENT);
    ck_assert_int_eq(sure, MT_SURE_MEDIUM);
    ck_assert(mt_category_read(MT_STR("buffer"), &c, &sure));
    ck_assert_int_eq(sure, MT_SURE_HIGH);
    ck_assert(!mt_category_read(MT_STR("gradient~none"), &c, &sure));
    ck_assert_int_eq(mt_sureness_of((uint64_t[]){9, 1, 90}), MT_SURE_HIGH);
    ck_assert_int_eq(mt_sureness_of((uint64_t[]){9, 11, 80}), MT_SURE_MEDIUM);
    ck_assert_int_eq(mt_sureness_of((uint64_t[]){11, 9, 80}), MT_SURE_LOW);
}
END_TEST

UNIT_MAIN("categories", shipped_rules, own_rules_go_first, bad_rules, lifetimes_decide,
          evidence_of_a_step, gradients_before_nothing, evidence_of_sizes, older_memory_by_sizes,
          words, confidence)
