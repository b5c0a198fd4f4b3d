/* SPDX-License-Identifier: MIT */
/*
 * What triage says of a log, word for word where a word decides: for each kind of sentence that was
 * wrong once, a log, what must be said of it and what must not.
 */
#include <stdio.h>

#include "triage/triage.h"

#include "unit.h"

static struct mt_triage *triage;
static struct mt_triage_result result;
static struct mt_buf said;

static void run(const char *log)
{
    struct mt_triage_options options = {0};
    struct mt_error err;
    mt_triage_free(triage);
    triage = mt_triage_new(&options);
    ck_assert_ptr_nonnull(triage);
    mt_triage_name(triage, "x.log");
    ck_assert_int_eq(mt_triage_feed(triage, log, strlen(log), &err), MT_OK);
    ck_assert_int_eq(mt_triage_end(triage, &err), MT_OK);
    ck_assert_int_eq(mt_triage_decide(triage, &result, &err), MT_OK);
}

/* Headline, reasons, steps with commands, and what does not help. */
static void collect(void)
{
    mt_buf_reset(&said);
    mt_buf_printf(&said, "%s %s %s\n", mt_verdict_id(result.verdict),
                  mt_confidence_id(result.confidence), result.headline);
    for (size_t i = 0; i < result.n_evidence; i++) {
        mt_buf_str(&said, result.evidence[i]);
        mt_buf_char(&said, '\n');
    }
    for (size_t i = 0; i < result.n_advice; i++) {
        const struct mt_advice *a = &result.advice[i];
        mt_buf_text(&said, a->applies ? "STEP " : "NOT ");
        mt_buf_str(&said, a->text);
        mt_buf_char(&said, ' ');
        mt_buf_str(&said, a->why);
        for (size_t c = 0; c < a->n_commands; c++) {
            mt_buf_text(&said, "\n  ");
            mt_buf_str(&said, a->commands[c]);
        }
        mt_buf_char(&said, '\n');
    }
    ck_assert(!said.failed);
}

struct words {
    const char *log, *with[4], *without[4];
};

static void check(const struct words *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        run(cases[i].log);
        collect();
        for (size_t w = 0; w < 4; w++) {
            const char *with = cases[i].with[w], *without = cases[i].without[w];
            ck_assert_msg(!with || mt_str_find(mt_buf_view(&said), mt_str_from(with)) != SIZE_MAX,
                          "case %zu lacks '%s':\n%s", i, with, said.p);
            ck_assert_msg(!without ||
                              mt_str_find(mt_buf_view(&said), mt_str_from(without)) == SIZE_MAX,
                          "case %zu has '%s':\n%s", i, without, said.p);
        }
    }
    mt_triage_free(triage);
    triage = NULL;
    mt_buf_release(&said);
}

#define OLD(backend)                                                                               \
    "RuntimeError: " backend " out of memory. Tried to allocate 22.00 MiB (" backend               \
    " 0; 60.97 GiB total capacity; 10.24 GiB already allocated; 19.52 MiB free; 10.65 GiB "        \
    "reserved in total by PyTorch)\n"

/* A context of CUDA is on NVIDIA's cards alone; who fills a card is said only where it is known. */
START_TEST(whose_memory)
{
    static const struct words CASES[] = {
        {OLD("NPU"), {"this one's context and libraries"}, {"CUDA", "Something else"}},
        {OLD("GPU"), {"Much of the card is held outside PyTorch's allocator"}, {"Something else"}},
        {"RuntimeError: HIP out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity "
         "of 60.00 GiB of which 1.00 GiB is free. Including non-PyTorch memory, this process has "
         "59.00 GiB memory in use. Of the allocated memory 52.00 GiB is allocated by PyTorch, and "
         "1.00 GiB is reserved by PyTorch but unallocated.\n",
         {"HIP context, RCCL"},
         {"CUDA context", "NCCL, cuBLAS"}},
        {"MPS backend out of memory (MPS allocated: 7.43 GB, other allocations: 24.46 GB, max "
         "allowed: 32.00 GB). Tried to allocate 129.21 MB on private pool.\n",
         {"in this process"},
         {"Close other programs", "this Mac"}},
    };
    check(CASES, MT_COUNT(CASES));
}
END_TEST

/* Who killed a process decides where its limit stands. */
START_TEST(who_killed_it)
{
    static const struct words CASES[] = {
        {"python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n"
         "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,global_oom,task=python\n"
         "Out of memory: Killed process 7899 (python) total-vm:26184840kB, anon-rss:15370088kB\n",
         {"The kernel killed", "it held 14.66 GiB", "free -h"},
         {"dmesg", "sacct", "kubectl", "DataLoader"}},
        {"slurmstepd: error: Detected 1 oom_kill event in StepId=88231.0.\n",
         {"Slurm says", "sacct"},
         {"dmesg", "kubectl"}},
        {"    Last State:     Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n",
         {"container was killed", "kubectl describe pod"},
         {"dmesg", "sacct"}},
        {"Killed\n", {"dmesg", "sacct"}, {"The kernel killed"}},
    };
    check(CASES, MT_COUNT(CASES));
}
END_TEST

/* Statuses that name no memory, and steps that fit the program. */
START_TEST(look_alikes)
{
    static const struct words CASES[] = {
        {"RuntimeError: level_zero backend failed with error: 40 "
         "(UR_RESULT_ERROR_OUT_OF_RESOURCES)\n",
         {"not_oom medium", "nor that it did not"},
         {"not a lack of memory", "python PROGRAM.py"}},
        {"cudaMallocAsync does not yet support checkPoolLiveAllocations. If you need it, please "
         "file an issue\n",
         {"backend:native"},
         {"LAUNCH_BLOCKING"}},
        {"RuntimeError: CUDA error: CUDA-capable device(s) is/are busy or unavailable\n",
         {"echo CUDA_VISIBLE_DEVICES=$CUDA_VISIBLE_DEVICES"},
         {"LAUNCH_BLOCKING"}},
        {"numpy.core._exceptions._ArrayMemoryError: Unable to allocate 58.0 GiB for an array with "
         "shape (176351, 176460) and data type uint16\n",
         {"mmap_mode"},
         {"DataLoader"}},
        {"onnxruntime/core/framework/bfc_arena.cc:376 void* onnxruntime::BFCArena::AllocateRaw"
         "Internal(size_t, bool) Failed to allocate memory for requested buffer of size "
         "411041792\n",
         {"probably not", "not_oom medium"},
         {"DataLoader"}},
        {"MemoryError: std::bad_alloc: RMM failure at:pool_memory_resource.hpp:179: Maximum pool "
         "size exceeded\n",
         {"per_process_limit medium", "or the driver refused"},
         {"high"}},
    };
    check(CASES, MT_COUNT(CASES));
}
END_TEST

/* Prose, names of tests and traces of a profiler tell of no event and of no steps. */
START_TEST(no_event)
{
    static const struct words CASES[] = {
        {"**Q: I get `torch.OutOfMemoryError: CUDA out of memory`. What can I do?**\n"
         "A: Set `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`.\n"
         "If the kernel log says \"Out of memory: Killed process 12 (python)\", RAM ran out.\n"
         "Pods that show OOMKilled need more. | `killed.log` | a look-alike |\n",
         {"No out-of-memory message was found"},
         {"settings in force"}},
        {"* Docs: explain \"CUDA out of memory. Tried to allocate ...\" messages\n",
         {"No out-of-memory message was found"},
         {NULL}},
        {"tests/test_oom.py::test_oomkilled_pod_restarts PASSED   [ 50%]\n",
         {"No out-of-memory message was found"},
         {NULL}},
        {"`killed.log` | a look-alike: the kernel killed a worker |\n",
         {"No out-of-memory message was found"},
         {NULL}},
        {"{\"schemaVersion\": 1, \"traceEvents\": [\n"
         "{\"step\": 1, \"allocated\": 1000000}\n{\"step\": 2, \"allocated\": 2000000}\n"
         "{\"step\": 3, \"allocated\": 3000000}\n{\"step\": 4, \"allocated\": 4000000}\n"
         "{\"step\": 5, \"allocated\": 5000000}\n{\"step\": 6, \"allocated\": 6000000}\n",
         {"a profiler's trace"},
         {"tep prints", "what is kept"}},
    };
    check(CASES, MT_COUNT(CASES));
}
END_TEST

/* Figures that stand in other words, or in another part of the message. */
START_TEST(figures_beside)
{
    static const struct words CASES[] = {
        {"xla/tsl/framework/bfc_allocator.cc:501] Allocator (GPU_0_bfc) ran out of memory trying "
         "to "
         "allocate 24.00GiB (rounded to 25769803776)requested by op\n"
         "bfc_allocator.cc:1117] Stats: \nLimit:                     63669305344\n"
         "InUse:                     35766337536\nMaxInUse:                  36000000000\n"
         "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to "
         "allocate 25769803776 bytes.\n",
         {"33.31 GiB"},
         {"PyTorch", "Only the size asked for"}},
        {"what():  Kokkos failed to allocate memory for label \"n\".  Allocation of size 22.4 G "
         "failed, likely due to insufficient memory.  The Cuda allocation returned the error code "
         "\"cudaErrorMemoryAllocation\".)\n",
         {"22.40 GiB"},
         {"The message holds no figures: "}},
        {"[config.py] train_micro_batch_size_per_gpu  8\n[config.py] gradient_accumulation_steps "
         ".. "
         "4\ndeepspeed train.py, in training_step\ntorch.OutOfMemoryError: CUDA out of memory. "
         "Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.20 GiB is "
         "free. Of the allocated memory 76.50 GiB is allocated by PyTorch, and 0.12 GiB is "
         "reserved "
         "by PyTorch but unallocated.\n",
         {"\"train_micro_batch_size_per_gpu\": 4, \"gradient_accumulation_steps\": 8"},
         {NULL}},
        {"time=1 level=INFO source=server.go:405 msg=\"starting\" cmd=\"ollama runner --ctx-size "
         "8192 --parallel 4\"\nggml_backend_cuda_buffer_type_alloc_buffer: allocating 1088.45 MiB "
         "on device 0: cudaMalloc failed: out of memory\n",
         {"OLLAMA_CONTEXT_LENGTH=1024"},
         {"LENGTH=4096"}},
        {"cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 17,179,869,184 bytes "
         "(allocated "
         "so far: 8,592,031,744 bytes, limit set to: 10,000,000,000 bytes).\n",
         {"more than this process may take", "set_limit"},
         {"nvidia-smi", "this card"}},
        {"torch.OutOfMemoryError: XPU out of memory. Tried to allocate 512.00 MiB. GPU 0 has a "
         "total "
         "capacity of 16.50 GiB. Of the allocated memory 16.50 GiB is allocated by PyTorch, and 0 "
         "bytes is reserved by PyTorch but unallocated.\n",
         {"100 %"},
         {"Only  is"}},
    };
    check(CASES, MT_COUNT(CASES));
}
END_TEST

/* A pass of the warm-up runs the profiling run's functions, with the KV cache in place. */
START_TEST(warm_up_is_not_profiling)
{
    static const struct words CASES[] = {
        {"INFO gpu_model_runner.py:3118] Graph capturing finished in 23 secs, took 2.28 GiB\n"
         "vllm serve x\n  File \"/x/vllm/gpu_model_runner.py\", line 9, in _dummy_sampler_run\n"
         "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n",
         {"in the warm-up", "Leave more outside"},
         {"no KV cache yet"}},
        {"vllm serve x\n  File \"/x/vllm/worker.py\", line 9, in profile_run\n"
         "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n",
         {"no KV cache yet"},
         {"Leave more outside"}},
        {"vllm serve x\nRuntimeError: CUDA out of memory occurred when warming up sampler with "
         "1024 "
         "dummy requests. Please try lowering `max_num_seqs` or `gpu_memory_utilization`.\n",
         {"--max-num-seqs 512   # now 1024"},
         {NULL}},
    };
    check(CASES, MT_COUNT(CASES));
}
END_TEST

#define OOM_SHORT                                                                                  \
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "   \
    "capacity of 79.11 GiB of which 1.20 GiB is free. Of the allocated memory 77.50 GiB is "       \
    "allocated by PyTorch, and 0.12 GiB is reserved by PyTorch but unallocated.\n"
#define FULL                                                                                       \
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total "   \
    "capacity of 39.39 GiB of which 512.00 MiB is free. Including non-PyTorch memory, this "       \
    "process has 38.45 GiB memory in use. Of the allocated memory 27.90 GiB is allocated by "      \
    "PyTorch, and 9.50 GiB is reserved by PyTorch but unallocated.\n"
#define OF_RANK(rank, pid)                                                                         \
    "[rank" rank "]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU " \
    "0 has a total capacity of 39.39 GiB of which 512.00 MiB is free. Process " pid                \
    " has 19.40 GiB memory in use. Including non-PyTorch memory, this process has 19.45 GiB "      \
    "memory in use. Of the allocated memory 18.90 GiB is allocated by PyTorch, and 12.00 MiB is "  \
    "reserved by PyTorch but unallocated.\n"

/* Settings go where the program is given them; what is named is there in its release. */
START_TEST(where_and_when)
{
    static const struct words CASES[] = {
        {"(RayTrainWorker pid=12031, ip=10.0.0.7) loss.backward()\n" FULL,
         {"ray.init(runtime_env={'env_vars': {'PYTORCH_CUDA_ALLOC_CONF': "
          "'expandable_segments:True'"},
         {"export "}},
        {"<ipython-input-7> in <cell line: 3>()\n" FULL,
         {"os.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'expandable_segments:True'   # first cell"},
         {"export "}},
        {"  File \"train.py\", line 8, in training_step\n    loss.backward()\nRuntimeError: cuda "
         "runtime error (2) : out of memory at /pytorch/torch/lib/THC/generic/THCStorage.cu:58\n",
         {"checkpoint(block, x)   # each block", "DeepSpeed's ZeRO"},
         {"use_reentrant", "fully_shard", "memory_summary", "_record_memory_history"}},
        {"RuntimeError: CUDA out of memory. Tried to allocate 77.40 GiB (GPU 0; 38.61 GiB total "
         "capacity; 13.21 GiB already allocated; 8.81 GiB free; 26.90 GiB reserved in total by "
         "PyTorch)\n",
         {"x.split(ROWS)"},
         {"scaled_dot_product", "_record_memory_history"}},
    };
    check(CASES, MT_COUNT(CASES));
}
END_TEST

/* Ranks on one card are not left over from an earlier run. */
START_TEST(ranks_on_one_card)
{
    static const struct words CASES[] = {
        {OF_RANK("1", "5001") OF_RANK("0", "5002"),
         {"at least 2 ranks of this log are on device 0", "LOCAL_RANK"},
         {"left over"}},
        {OF_RANK("1", "5001"), {"left over"}, {"LOCAL_RANK"}},
    };
    check(CASES, MT_COUNT(CASES));
}
END_TEST

/* Options of the program, and none of another. */
START_TEST(of_this_program)
{
    static const struct words CASES[] = {
        {"Launching Web UI with arguments: --medvram\nstable-diffusion-webui\n" FULL,
         {"Tiled VAE"},
         {"VAE Decode (Tiled)"}},
        {"ComfyUI\ngot prompt\nMPS backend out of memory (MPS allocated: 16.91 GB, other "
         "allocations: 2.77 MB, max allowed: 18.13 GB). Tried to allocate 1.28 GB on private "
         "pool.\n",
         {"VAE Decode (Tiled)"},
         {"--lowvram"}},
        {"[zephyr] could not reserve 3.5 GiB of VRAM for weights (free: 1.2 GiB, total: 22.5 "
         "GiB)\n",
         {"Give the program less"},
         {"torch"}},
        {"Ultralytics 8.0\nengine/trainer: batch=280, imgsz=480\ntorch.OutOfMemoryError: CUDA out "
         "of memory. Tried to allocate 1.00 GiB.\n",
         {"yolo train batch=140"},
         {"nbs keeps"}},
        {"Epoch 1, step 340, loss: 0.3\nRuntimeError: cuDNN error: CUDNN_STATUS_INTERNAL_ERROR\n",
         {"STEP See first whether the card fills up"},
         {NULL}},
    };
    check(CASES, MT_COUNT(CASES));
}
END_TEST

/* The line of its own code, and what its innermost lines build; a word further up is neither. */
START_TEST(where_it_stood)
{
    static const struct words CASES[] = {
        {"Traceback (most recent call last):\n  File \"/w/sim.py\", line 52, in pairwise\n"
         "    d = torch.cdist(x, y)\n  File "
         "\"/x/lib/python3.11/site-packages/torch/functional.py\", "
         "line 1336, in cdist\n    return _VF.cdist(x1, x2, p, None)\n"
         "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 GiB. GPU 0 has a "
         "total "
         "capacity of 39.15 GiB of which 10.00 GiB is free.\n",
         {"its own code stood at sim.py:52 (pairwise)", "Look at sim.py:52 (pairwise) and print"},
         {"functional.py"}},
        {"Traceback (most recent call last):\n  File \"/w/train.py\", line 9, in <module>\n"
         "    trainer.train()\n  File \"/x/site-packages/transformers/models/llama/m.py\", line "
         "192, "
         "in eager_attention_forward\n    attn_weights = softmax(attn_weights)\n" OOM_SHORT,
         {"attn_implementation='sdpa'", "stood at train.py:9."},
         {"logits"}},
        {"  File \"/w/train.py\", line 9, in f\n    logits = model(ids).logits.float()\n" OOM_SHORT,
         {"lm_head(part)"},
         {"pairs of tokens"}},
        {"  File \"/w/train.py\", line 9, in f\n    logits = model(ids)\n  File \"/w/m.py\", line "
         "3, in "
         "forward\n    x = self.conv(x)\n    y = self.norm(x)\n    z = y + x\n" OOM_SHORT,
         {"m.py:3 (forward)"},
         {"vocabulary"}},
        {"[rank0]:   File \"/w/a.py\", line 1, in zero\n[rank1]:   File \"/w/b.py\", line 2, in "
         "one\n"
         "[rank0]: " OOM_SHORT,
         {"a.py:1 (zero)"},
         {"b.py"}},
    };
    check(CASES, MT_COUNT(CASES));
}
END_TEST

/* What stood on the card before counts; what lies outside of a limit stays outside. */
START_TEST(before_it_failed)
{
    static const struct words CASES[] = {
        {"llama_model_load_from_file_impl: using device CUDA0 (NVIDIA GeForce RTX 3060) - 11233 "
         "MiB "
         "free\nload_tensors:        CUDA0 model buffer size =  7605.33 MiB\nllama_context: n_ctx "
         "        = 131072\nggml_backend_cuda_buffer_type_alloc_buffer: allocating 16384.00 MiB on "
         "device 0: cudaMalloc failed: out of memory\nllama_init_from_model: failed to allocate "
         "buffer for kv cache\n",
         {"10.97 GiB was free on the card, of which the weights took 7.43 GiB",
          "-c 19456 -ctk q8_0 -ctv q8_0   # 131072 now"},
         {"how full the card was"}},
        {"|   0  NVIDIA GeForce RTX 4080 ...  WDDM  |   00000000:01:00.0  On |    N/A |\n"
         "| 30%   51C    P2        90W /  320W |    3012MiB /  16376MiB |     12%      Default |\n"
         "  File \"C:\\Users\\me\\app\\run.py\", line 8, in <module>\n"
         "RuntimeError: CUDA error: out of memory\n",
         {"2.94 GiB of 15.99 GiB was in use", "commit limit"},
         {"ulimit"}},
        {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 250.00 MiB. GPU 0 has a "
         "total "
         "capacity of 79.19 GiB of which 2.07 GiB is free. Including non-PyTorch memory, this "
         "process "
         "has 77.11 GiB memory in use. 75.23 GiB allowed; Of the allocated memory 74.23 GiB is "
         "allocated by PyTorch, and 943.54 MiB is reserved by PyTorch but unallocated.\n",
         {"set_per_process_memory_fraction(0.97)"},
         {"(0.98)"}},
    };
    check(CASES, MT_COUNT(CASES));
}
END_TEST

/* One print is one series, whatever digit its figures begin with. */
START_TEST(one_series)
{
    static const struct words CASES[] = {
        {"step 10 mem 5012MiB\nstep 20 mem 5312MiB\nstep 30 mem 5612MiB\nstep 40 mem 5912MiB\n"
         "step 50 mem 6212MiB\nstep 60 mem 6512MiB\nstep 70 mem 6812MiB\nRuntimeError: CUDA error: "
         "out "
         "of memory\n",
         {"to 6.65 GiB at step 70"},
         {NULL}},
    };
    check(CASES, MT_COUNT(CASES));
}
END_TEST

/* What the log says happened, and no more. */
START_TEST(as_the_log_tells)
{
    static const struct words CASES[] = {
        {"Fra:1 Mem:512M | Scene, ViewLayer | Updating Geometry BVH\n"
         "Error: System is out of GPU and shared host memory\n",
         {"no_numbers", "Simplify the scene"},
         {"host's memory"}},
        {"Warning  OOMKilled container vllm in pod vllm-0: container exceeded memory limit 64Gi\n",
         {"The container was killed"},
         {"Slurm"}},
        {"  File \"/x/text_generation_server/utils/weights.py\", line 150, in get_tensor\n" FULL,
         {"loading the model", "--quantize"},
         {"prefill"}},
        {"  image = pipe(\"cat\", height=1536)\n  File "
         "\"/x/site-packages/diffusers/models/attention_"
         "processor.py\", line 3, in __call__\nRuntimeError: Invalid buffer size: 19.53 GiB\n",
         {"larger than the device allows", "enable_attention_slicing"},
         {"this card", "cpu_offload"}},
        {"train.service: Failed with result 'oom-kill'.\n",
         {"The kernel killed"},
         {"Slurm", "sacct"}},
        {"jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Error allocating device "
         "buffer: "
         "Attempting to allocate 4.00G. That was not possible. There are 2.51G free.; "
         "(0x0x0_HBM0)\n",
         {"jax.checkpoint"},
         {"compiler's list", "PREALLOCATE", "TF_GPU"}},
        {"load_tensors: offloaded 33/33 layers to GPU\nggml_metal_graph_compute: command buffer 1 "
         "failed with status 5\nerror: Insufficient Memory "
         "(00000008:kIOGPUCommandBufferCallbackError"
         "OutOfMemory)\n",
         {"smaller quantization"},
         {"while the weights were read", "tensor-split"}},
        {"{'loss': 2.1, 'epoch': 0.1}\n" FULL
         "Decreasing batch size to: 4.\n{'loss': 2.0, 'epoch': "
         "0.2}\n",
         {"went on"},
         {"Halve the micro-batch"}},
    };
    check(CASES, MT_COUNT(CASES));
}
END_TEST

/* NCCL serves several frameworks. */
START_TEST(whose_nccl)
{
    static const char NCCL[] = "node0:30:33 [3] include/alloc.h:178 NCCL WARN Cuda failure 'out of "
                               "memory'\n";
    static const char TORCH[] =
        "File \"/x/torch/distributed/c.py\", line 3, in all_reduce\n"
        "node0:30:33 [3] include/alloc.h:178 NCCL WARN Cuda failure 'out of "
        "memory'\n";
    const struct words CASES[] = {
        {NCCL, {"the framework's allocator", "NCCL_BUFFSIZE"}, {"PyTorch", "torch."}},
        {TORCH, {"PyTorch's allocator", "set_per_process_memory_fraction"}, {NULL}},
    };
    check(CASES, MT_COUNT(CASES));
}
END_TEST

UNIT_MAIN("triage words", whose_nccl, one_series, as_the_log_tells, before_it_failed,
          where_it_stood, where_and_when, ranks_on_one_card, of_this_program, whose_memory,
          who_killed_it, look_alikes, no_event, figures_beside, warm_up_is_not_profiling)
