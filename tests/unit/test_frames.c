/* SPDX-License-Identifier: MIT */
/* Which frame stands for a stack, and what functions are called. */
#include "snapshot/model/builder.h"
#include "heap/stacks/frames.h"

#include "unit.h"

enum { MOST = 8 };

struct line {
    const char *file, *name;
};

/* Stacks, innermost frame first, and the function that names them. */
static const struct {
    struct line lines[MOST];
    const char *telling;
} STACKS[] = {
    {{{"functional.py", "linear"}}, "linear"},
    {{{"/x/site-packages/torch/nn/functional.py", "linear"}, {"/me/train.py", "forward"}},
     "forward"},
    /* autograd's threads, as PyTorch records them with stacks of C++ */
    {{{"??", "torch::unwind::unwind()"},
      {"CUDACachingAllocator.cpp", "c10::cuda::CUDACachingAllocator::Native::malloc(long)"},
      {"??", "at::detail::empty_cuda(c10::ArrayRef<long>)"},
      {"??", "at::_ops::mm::call(at::Tensor const&, at::Tensor const&)"},
      {"Functions.cpp", "torch::autograd::generated::MmBackward0::apply(int)"},
      {"??", "__clone"}},
     "torch::autograd::generated::MmBackward0::apply(int)"},
    {{{"??", "at::_ops::bmm::call(at::Tensor const&)"},
      {"Functions.cpp",
       "torch::autograd::generated::BmmBackward0::apply(std::vector<at::Tensor>&&)"},
      {"??", "torch::autograd::Engine::thread_main(int)"},
      {"thread48.o", "execute_native_thread_routine"},
      {"??", "start_thread"}},
     "torch::autograd::generated::BmmBackward0::apply(std::vector<at::Tensor>&&)"},
    /* conda names the source of the C++ library */
    {{{"x.cpp", "torch::autograd::AccumulateGrad::apply(int)"},
      {"/conda/libstdc++-v3/src/c++11/thread.cc", "execute_native_thread_routine"}},
     "torch::autograd::AccumulateGrad::apply(int)"},
    /* Python inside of the backward pass is the user's line */
    {{{"/me/op.py", "backward"}, {"??", "torch::autograd::PyNode::apply(int)"}}, "backward"},
    /* packages that wrap operators */
    {{{"/x/site-packages/einops/_backends.py", "einsum"}, {"/me/model.py", "forward"}}, "forward"},
    /* the same as memtool's capture records it */
    {{{"/x/site-packages/torch/lib/libc10_cuda.so", "+0x2f4cb"},
      {"/x/site-packages/torch/lib/libtorch_cpu.so", "_ZN2at4_ops3sum4callERKNS_6TensorE"},
      {"/x/site-packages/torch/lib/libtorch_cpu.so", "+0x4b7e4"},
      {"/lib/libstdc++.so.6", "+0xecdb4"},
      {"/lib/libc.so.6", "+0x9caa4"}},
     "_ZN2at4_ops3sum4callERKNS_6TensorE"},
    /* a program between PyTorch and the interpreter that started it */
    {{{"/x/site-packages/torch/lib/libtorch_cpu.so", "_ZN2at4_ops3sum4callERKNS_6TensorE"},
      {"/lib/libstdc++.so.6", "+0xecdb4"},
      {"/me/libpipeline.so", "run"},
      {"/x/bin/python3", "Py_RunMain"}},
     "run"},
    /* nothing but the interpreter has a name */
    {{{"/x/bin/libpython3.12.so.1.0", "_PyEval_EvalFrameDefault"}, {"/lib/libc.so.6", "+0x2a1ca"}},
     "_PyEval_EvalFrameDefault"},
    {{{"??", "+0x1"}, {"", ""}}, "+0x1"},
};

static uint32_t add_stack(struct mt_builder *b, const struct line *lines)
{
    uint32_t frames[MOST], n = 0;
    for (; n < MOST && lines[n].name; n++) {
        struct mt_frame f = {.name = mt_builder_cstr(b, lines[n].name),
                             .filename = mt_builder_cstr(b, lines[n].file)};
        frames[n] = mt_builder_frame(b, &f);
    }
    return mt_builder_stack(b, frames, n);
}

START_TEST(frames_that_tell)
{
    struct mt_snapshot s;
    struct mt_error err;
    struct mt_builder *b = mt_builder_new(1);
    uint32_t ids[MT_COUNT(STACKS)];
    for (size_t i = 0; i < MT_COUNT(STACKS); i++) {
        ids[i] = add_stack(b, STACKS[i].lines);
    }
    ck_assert_int_eq(mt_builder_finish(b, &s, &err), MT_OK);
    for (size_t i = 0; i < MT_COUNT(STACKS); i++) {
        uint32_t frame = mt_stack_telling_frame_id(&s, ids[i]);
        ck_assert_uint_ne(frame, 0);
        ck_assert_text(mt_snapshot_str(&s, s.frames[frame].name), STACKS[i].telling);
        ck_assert_uint_eq(
            frame, s.stack_frames[s.stacks[ids[i]].first + mt_stack_telling_frame(&s, ids[i])]);
    }
    ck_assert_uint_eq(mt_stack_telling_frame_id(&s, 0), 0);
    ck_assert_uint_eq(mt_stack_telling_frame(&s, 0), 0);
    mt_snapshot_release(&s);
}
END_TEST

START_TEST(short_names)
{
    static const char *const NAMES[][2] = {
        {"forward", "forward"},
        {"<lambda>", "<lambda>"},
        {"main(int, char**)", "main(int, char**)"},
        {"_ZN2at4_ops10zeros_like4callERKNS_6TensorE", "at::_ops::zeros_like::call"},
        {"_ZNK3c1010TensorImpl5sizesEv", "c10::TensorImpl::sizes"},
        {"_ZN2at6native7foreachIfNS0_4SqrtEEEvv", "at::native::foreach"},
        {"_Z6kernelPfi", "kernel"},
        {"_ZN99at", "_ZN99at"},
        {"_ZN", "_ZN"},
        {"_Z", "_Z"},
        {"_ZN18446744073709551617x", "_ZN18446744073709551617x"},
        {"at::_ops::mm::call(at::Tensor const&, at::Tensor const&)", "at::_ops::mm::call"},
        {"void at::native::launch<float, std::function<void (int)>>(int)",
         "void at::native::launch"},
        {"at::(anonymous namespace)::wrapper(f::g) const", "at::(anonymous namespace)::wrapper"},
        {"my::impl(my::A) [clone .isra.0]", "my::impl"},
        {"my::A::operator()(int)", "my::A::operator()"},
        {"my::A::operator<(my::A const&)", "my::A::operator<"},
        {"my::A::operator->()", "my::A::operator->"},
        {"my::co_operator<int>::run(int)", "my::co_operator::run"},
        {"torch::autograd::generated::MmBackward0::apply(int)", "MmBackward0 (backward)"},
        {"torch::autograd::CppNode<my::Fn>::apply(int)", "CppNode<my::Fn> (backward)"},
        {"_ZN5torch8autograd9generated11MmBackward05applyEOSt6vector", "MmBackward0 (backward)"},
        {"torch::autograd::Node::operator()(int)", "torch::autograd::Node::operator()"},
        {"torch::autograd::::apply", "torch::autograd::::apply"},
        {"(a::b)", "(a::b)"},
        {"a::b)", "a::b)"},
        {"a::b<c", "a::b"},
    };
    for (size_t i = 0; i < MT_COUNT(NAMES); i++) {
        struct mt_buf b = {0};
        mt_name_short(&b, mt_str_from(NAMES[i][0]));
        ck_assert_text(mt_buf_view(&b), NAMES[i][1]);
        mt_buf_release(&b);
    }
}
END_TEST

UNIT_MAIN("frames", frames_that_tell, short_names)
