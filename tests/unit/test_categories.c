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

START_TEST(words)
{
    for (int i = 0; i < MT_CATEGORY_COUNT; i++) {
        enum mt_category c = (enum mt_category)i;
        ck_assert_int_eq(mt_category_parse(mt_str_from(mt_category_name(c))), c);
    }
    ck_assert_int_eq(mt_category_parse(MT_STR("weights")), MT_CATEGORY_COUNT);
}
END_TEST

UNIT_MAIN("categories", shipped_rules, own_rules_go_first, bad_rules, lifetimes_decide, words)
