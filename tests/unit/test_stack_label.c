/* SPDX-License-Identifier: MIT */
/* Which frames are the user's, and how a stack is named by them. */
#include "snapshot/model/builder.h"
#include "heap/stacks/frames.h"
#include <cjson/cJSON.h>

#include "print/report_json.h"
#include "torch/keys.h"

#include "unit.h"

static const struct {
    const char *file, *name;
    bool internal;
} FRAMES[] = {
    {"/home/me/train.py", "forward", false},
    {"/home/me/train.py", "on_train_start", false},
    {"<ipython-input-3-abc>", "<module>", false},
    {"/usr/lib/python3/site-packages/torch/nn/functional.py", "linear", true},
    {"D:\\Dev\\.venv\\Lib\\site-packages\\torch\\nn\\modules\\module.py", "_call_impl", true},
    {"/opt/conda/lib/python3.9/site-packages/torchvision/models/resnet.py", "forward", false},
    {"/opt/conda/lib/python3.9/site-packages/transformers/generation/utils.py", "_sample", false},
    {"/opt/conda/lib/python3.9/runpy.py", "_run_code", true},
    {"<frozen importlib._bootstrap>", "_call_with_frames_removed", true},
    {"??", "at::_ops::mm::call(at::Tensor const&, at::Tensor const&)", true},
    {"", "main", true},
    {"Functions.cpp", "torch::autograd::generated::AddmmBackward0::apply(...)", true},
    {"/usr/local/src/conda/python-3.12.2/Objects/call.c", "PyCFunction_Call", true},
    {"./csu/../csu/libc-start.c", "__libc_start_main_impl", true},
    {"/home/me/ext/kernel.cu", "my::attention(at::Tensor const&)", false},
    {"/home/me/ext/kernel.cu", "void at::native::launch<float>(int)", true},
    {"/pytorch/torch/csrc/autograd/engine.cpp", "evaluate_function", true},
};

static struct mt_snapshot s;
static uint32_t user_stack, internal_stack, nameless_stack;

/* Frame i of FRAMES has id i + 1. */
static void build(void)
{
    struct mt_error err;
    struct mt_builder *b = mt_builder_new(1);
    for (size_t i = 0; i < MT_COUNT(FRAMES); i++) {
        struct mt_frame f = {.name = mt_builder_cstr(b, FRAMES[i].name),
                             .filename = mt_builder_cstr(b, FRAMES[i].file),
                             .line = (int32_t)i + 10,
                             .present = (1u << MT_FRAME_KEY_COUNT) - 1};
        ck_assert_uint_eq(mt_builder_frame(b, &f), i + 1);
    }
    struct mt_frame unknown = {.filename = mt_builder_cstr(b, "??")};
    uint32_t nameless[] = {mt_builder_frame(b, &unknown)};
    user_stack = mt_builder_stack(b, (uint32_t[]){10, 4, 1, 8, 13}, 5);
    internal_stack = mt_builder_stack(b, (uint32_t[]){10, 12}, 2);
    nameless_stack = mt_builder_stack(b, nameless, 1);
    ck_assert_int_eq(mt_builder_finish(b, &s, &err), MT_OK);
}

START_TEST(internal_frames)
{
    build();
    for (size_t i = 0; i < MT_COUNT(FRAMES); i++) {
        ck_assert_msg(mt_frame_is_internal(&s, &s.frames[i + 1]) == FRAMES[i].internal, "%s %s",
                      FRAMES[i].file, FRAMES[i].name);
    }
    mt_snapshot_release(&s);
}
END_TEST

static void check_label(uint32_t stack, struct mt_report r, const char *want)
{
    struct mt_buf b = {0};
    mt_stack_label(&b, &s, stack, &r);
    ck_assert_str_eq(b.p, want);
    mt_buf_release(&b);
}

START_TEST(labels)
{
    build();
    check_label(user_stack, (struct mt_report){0}, "train.py:10 forward");
    check_label(user_stack, (struct mt_report){.full_path = true}, "/home/me/train.py:10 forward");
    check_label(user_stack, (struct mt_report){.all_frames = true}, "at::_ops::mm::call");
    check_label(internal_stack, (struct mt_report){0}, "AddmmBackward0 (backward)");
    check_label(nameless_stack, (struct mt_report){0}, "(unknown frame)");
    check_label(0, (struct mt_report){0}, "(no stack)");
    mt_snapshot_release(&s);
}
END_TEST

static void check_lines(struct mt_report r, const char *want)
{
    struct mt_buf b = {0};
    mt_stack_lines(&b, &s, user_stack, &r, 2);
    ck_assert_str_eq(b.p, want);
    mt_buf_release(&b);
}

START_TEST(lines)
{
    build();
    check_lines((struct mt_report){0}, "  (2 internal frames)\n  train.py:10 forward\n"
                                       "  (2 internal frames)\n");
    check_lines((struct mt_report){.stack_lines = 1},
                "  (2 internal frames)\n  train.py:10 forward\n");
    check_lines((struct mt_report){.stack_lines = 2, .all_frames = true},
                "  at::_ops::mm::call\n"
                "  functional.py:13 linear\n");
    mt_snapshot_release(&s);
}
END_TEST

START_TEST(as_json)
{
    build();
    for (int none = 0; none <= 1; none++) {
        struct mt_json_out json = {0};
        struct mt_out o = mt_out_object(mt_out_here(&json), NULL);
        mt_out_frames(o, &s, none ? 0 : user_stack);
        mt_out_end(o);
        cJSON *back = cJSON_Parse(json.text.p);
        const cJSON *frames = cJSON_GetObjectItem(back, "frames");
        ck_assert_int_eq(cJSON_GetArraySize(frames), none ? 0 : 5);
        char *text = none ? NULL : cJSON_PrintUnformatted(cJSON_GetArrayItem(frames, 2));
        if (text) {
            ck_assert_str_eq(
                text, "{\"name\":\"forward\",\"filename\":\"/home/me/train.py\",\"line\":10}");
        }
        cJSON_free(text);
        cJSON_Delete(back);
        mt_buf_release(&json.text);
    }
    mt_snapshot_release(&s);
}
END_TEST

/* Compiled frames alone, as memtool's capture records them in a program of Python. */
START_TEST(the_operator_under_the_interpreter)
{
    static const struct {
        const char *file, *name;
    } ROWS[] = {
        {"/v/lib/python3.12/site-packages/torch/lib/libc10_cuda.so", "+0x2f4cb"},
        {"/v/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so",
         "_ZN2at6detail10empty_cudaEN3c108ArrayRefIlEE"},
        {"/v/lib/python3.12/site-packages/torch/lib/libtorch_cpu.so",
         "_ZN2at4_ops10zeros_like4callERKNS_6TensorE"},
        {"/v/lib/python3.12/site-packages/torch/lib/libtorch_python.so", "+0x4fad90"},
        {"/v/bin/python3", "+0x18216f"},
        {"/v/bin/python3", "_PyObject_MakeTpCall"},
        {"/home/me/python3_jobs", "run"},
    };
    struct mt_error err;
    struct mt_builder *b = mt_builder_new(1);
    for (size_t i = 0; i < MT_COUNT(ROWS); i++) {
        struct mt_frame f = {.name = mt_builder_cstr(b, ROWS[i].name),
                             .filename = mt_builder_cstr(b, ROWS[i].file)};
        ck_assert_uint_eq(mt_builder_frame(b, &f), i + 1);
    }
    uint32_t operator_stack = mt_builder_stack(b, (uint32_t[]){1, 2, 3, 4, 5, 6}, 6);
    uint32_t bare_stack = mt_builder_stack(b, (uint32_t[]){1, 5, 6}, 3);
    uint32_t own_stack = mt_builder_stack(b, (uint32_t[]){1, 2, 7, 5}, 4);
    ck_assert_int_eq(mt_builder_finish(b, &s, &err), MT_OK);
    check_label(operator_stack, (struct mt_report){0},
                "libtorch_cpu.so at::_ops::zeros_like::call");
    ck_assert_uint_eq(mt_stack_telling_frame_id(&s, operator_stack), 3);
    check_label(bare_stack, (struct mt_report){0}, "python3 +0x18216f");
    check_label(own_stack, (struct mt_report){0}, "python3_jobs run");
    mt_snapshot_release(&s);
}
END_TEST

UNIT_MAIN("stack_label", internal_frames, labels, lines, as_json,
          the_operator_under_the_interpreter)
