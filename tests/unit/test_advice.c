/* SPDX-License-Identifier: MIT */
/*
 * Every row of advice, read by a machine: no number stands in a command where a formula belongs,
 * every formula exists, nothing of another vendor's or system's is named, and what is computed from
 * a setting in the log lies on the right side of it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "triage/triage.h"

#include "triage/advice/advice.h"

#include "unit.h"

/* ---- the words of the rows ---- */

/* Digits that are no figure of a job: types, names of formats, options without a size. */
static const char *const NAMES_WITH_DIGITS[] = {
    "fp8",
    "bfloat16",
    "float16",
    "float32",
    "int8",
    "load_in_4bit",
    "bnb_4bit",
    "q8_0",
    "q4_K_M",
    "Q4_K_M",
    "2**30",
    "[:10]",
    "[:3]",
    ">> 20",
    "-l 1",
    "[0]",
    "max_entries=200000",
    "-w",
    "i915",

    "BLOCKING=1",
    "LIMITS=1",
    "GPU_0",
    "-n -i",
    "mixed_float16",
    "-n 20",
    "_L0_",
    "1.0$]",
    "== 0",
};

static const char *named_digits(const char *at)
{
    for (size_t i = 0; i < MT_COUNT(NAMES_WITH_DIGITS); i++) {
        const char *name = NAMES_WITH_DIGITS[i];
        size_t digit = strcspn(name, "0123456789");
        for (size_t d = digit; name[d]; d++) {
            if (name[d] == *at && strncmp(at - d, name, strlen(name)) == 0) {
                return at - d + strlen(name);
            }
        }
    }
    return NULL;
}

START_TEST(no_literal_where_a_formula_belongs)
{
    char padded[1200];
    for (size_t i = 0; i < MT_ADVICE_ROWS_N; i++) {
        const char *command = MT_ADVICE_ROWS[i].command;
        if (!command) {
            continue;
        }
        (void)snprintf(padded, sizeof padded, "%40s%s", "", command);
        for (const char *c = padded; *c; c++) {
            if (*c >= '0' && *c <= '9') {
                const char *behind = named_digits(c);
                ck_assert_msg(behind != NULL, "%s: %s", MT_ADVICE_ROWS[i].id, c);
                c = behind - 1;
            }
        }
    }
}
END_TEST

static void formulas_exist(const struct mt_advice_row *row, const char *words)
{
    for (const char *c = words; c && (c = strchr(c, '$')) != NULL;) {
        size_t n = strspn(++c, "abcdefghijklmnopqrstuvwxyz_");
        bool mark = strchr("[]|$", *c) != NULL;
        ck_assert_msg(mark || mt_advice_place_exists((struct mt_str){c, n}), "%s: $%.*s", row->id,
                      (int)n, c);
        c += mark ? 1 : n;
    }
}

START_TEST(every_formula_exists)
{
    for (size_t i = 0; i < MT_ADVICE_ROWS_N; i++) {
        const struct mt_advice_row *row = &MT_ADVICE_ROWS[i];
        formulas_exist(row, row->text);
        formulas_exist(row, row->command);
        formulas_exist(row, row->why);
        ck_assert(row->when && row->verdicts && row->phases && row->who[0]);
    }
}
END_TEST

/* ---- what a log gets ---- */

static struct mt_triage *triage;
static struct mt_triage_result result;

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

static bool offers(const char *words)
{
    for (size_t i = 0; i < result.n_advice; i++) {
        const struct mt_advice *a = &result.advice[i];
        bool found = mt_str_find(a->text, mt_str_from(words)) != SIZE_MAX;
        for (size_t c = 0; c < a->n_commands; c++) {
            found |= mt_str_find(a->commands[c], mt_str_from(words)) != SIZE_MAX;
        }
        if (a->applies && found) {
            return true;
        }
    }
    return false;
}

#define OOM(backend)                                                                               \
    "torch.OutOfMemoryError: " backend " out of memory. Tried to allocate 4.00 GiB. GPU 0 has a "  \
    "total capacity of 79.11 GiB of which 1.20 GiB is free. Including non-PyTorch memory, this "   \
    "process has 77.90 GiB memory in use. Of the allocated memory 75.50 GiB is allocated by "      \
    "PyTorch, and 1.12 GiB is reserved by PyTorch but unallocated.\n"
#define HOLES                                                                                      \
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "   \
    "capacity of 79.11 GiB of which 1.20 GiB is free. Of the allocated memory 45.00 GiB is "       \
    "allocated by PyTorch, and 32.00 GiB is reserved by PyTorch but unallocated.\n"

/* A share and a count that the log prints are lowered, never raised. */
START_TEST(settings_move_the_right_way)
{
    run("vllm serve x --gpu-memory-utilization 0.7 --max-num-seqs 16 --max-model-len 4096\n" OOM(
        "CUDA"));
    ck_assert(offers("--gpu-memory-utilization 0.66   # now 0.7"));
    ck_assert(offers("--max-num-seqs 8   # now 16"));
    run("server_args=ServerArgs(mem_fraction_static=0.7, max_running_requests=16, "
        "chunked_prefill_size=2048)\nScheduler hit an exception:\n" OOM("CUDA"));
    ck_assert(offers("--mem-fraction-static 0.66   # now 0.7"));
    ck_assert(offers("--chunked-prefill-size 1024   # now 2048"));
    run("vllm serve x\n" OOM("CUDA"));
    ck_assert(offers("--gpu-memory-utilization SHARE   # below the one in force"));
}
END_TEST

/* The engine's own figure, not a share of a length. */
START_TEST(the_engines_own_figure)
{
    run("(EngineCore_0 pid=7) ValueError: To serve at least one request with the models's max seq "
        "len (1048576), (24.00 GiB KV cache is needed, which is larger than the available KV cache "
        "memory (9.97 GiB). Based on the available memory, the estimated maximum model length is "
        "435552. Try increasing `gpu_memory_utilization` or decreasing `max_model_len`.\n");
    ck_assert(offers("--max-model-len 435552"));
}
END_TEST

START_TEST(settings_in_force_are_kept)
{
    run("export PYTORCH_CUDA_ALLOC_CONF=garbage_collection_threshold:0.8\n" HOLES);
    ck_assert(offers("expandable_segments:True,garbage_collection_threshold:0.8"));
    run("export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n" HOLES);
    ck_assert(!offers("ALLOC_CONF="));
}
END_TEST

START_TEST(what_is_on_is_not_advised)
{
    run("  File \"train.py\", line 8, in training_step\n'gradient_checkpointing': True, "
        "'per_device_train_batch_size': 1\n" OOM("CUDA"));
    ck_assert(!offers("gradient_checkpointing_enable"));
    ck_assert(!offers("Halve the micro-batch"));
    ck_assert(offers("shorter sequences"));
}
END_TEST

/* Tools and variables of the device alone. */
START_TEST(nothing_of_another_vendor)
{
    static const struct {
        const char *backend, *never[4];
    } CASES[] = {
        {OOM("XPU"), {"nvidia-smi", "rocm-smi", "CUDA_VISIBLE", "NCCL"}},
        {OOM("HIP"), {"nvidia-smi", "xpu-smi", "PYTORCH_CUDA_ALLOC_CONF", "NCCL"}},
        {OOM("NPU"), {"nvidia-smi", "rocm-smi", "CUDA_VISIBLE", "NCCL"}},
        {"MPS backend out of memory (MPS allocated: 8.82 GB, other allocations: 200.00 MB, max "
         "allowed: 9.07 GB). Tried to allocate 256.00 MB on private pool.\n",
         {"nvidia-smi", "CUDA", "ulimit", "NCCL"}},
        {"  File \"C:\\Users\\x\\lib\\site-packages\\torch\\nn\\conv.py\", line 4\nRuntimeError: "
         "CUDA out of memory. Tried to allocate 294.00 MiB (GPU 0; 6.00 GiB total capacity; 118.62 "
         "MiB already allocated; 4.20 GiB free; 362.00 MiB reserved in total by PyTorch)\n",
         {"ulimit", "free -h", "grep", "export "}},
    };
    for (size_t i = 0; i < MT_COUNT(CASES); i++) {
        run(CASES[i].backend);
        for (size_t w = 0; w < 4; w++) {
            ck_assert_msg(!offers(CASES[i].never[w]), "case %zu: %s", i, CASES[i].never[w]);
        }
    }
}
END_TEST

/* Finished captures and settings that hold the word are no phase. */
START_TEST(phases)
{
    run("Graph capturing finished in 10 secs, took 0.65 GiB\nEstimated CUDA graph memory: 0.36 GiB "
        "total\n" OOM("CUDA"));
    ck_assert_int_eq(result.incidents[0].phase, MT_PHASE_NONE);
    run("Capturing CUDA graphs (decode, FULL):  42%|####  | 28/67\n" OOM("CUDA"));
    ck_assert_int_eq(result.incidents[0].phase, MT_PHASE_CAPTURE);
    run(OOM("CUDA") "  File \"/x/vllm/worker.py\", line 3, in execute_model\n");
    ck_assert_int_eq(result.incidents[0].phase, MT_PHASE_SERVING);
    ck_assert_str_eq(result.incidents[0].program, "");
    run("server_args=ServerArgs(cuda_graph_max_bs=8)\n" OOM("CUDA"));
    ck_assert_int_eq(result.incidents[0].phase, MT_PHASE_NONE);
}
END_TEST

/* A batch that was lowered and died again is not lowered once more. */
START_TEST(what_was_tried)
{
    run("train.py --batch_size 64\nloss: 1.2\n" OOM(
        "CUDA") "restart\ntrain.py --batch_size 32\nloss: 1.1\nstep 8990 loss: 1.0\n" HOLES);
    ck_assert(offers("lowered from 64 to 32") && !offers("Halve the micro-batch"));
    mt_triage_free(triage);
    triage = NULL;
}
END_TEST

UNIT_MAIN("advice", no_literal_where_a_formula_belongs, every_formula_exists,
          settings_move_the_right_way, the_engines_own_figure, settings_in_force_are_kept,
          what_is_on_is_not_advised, nothing_of_another_vendor, phases, what_was_tried)
