/* SPDX-License-Identifier: MIT */
/* Whole logs: several events, tables, settings in force, what was survived, snapshots left out. */
#include <stdio.h>

#include "triage/triage.h"

#include "unit.h"

static struct mt_triage *triage;
static struct mt_triage_result result;

static void run_with(const char *log, uint64_t device_used)
{
    struct mt_triage_options options = {.device_used = device_used};
    struct mt_error err;
    mt_triage_free(triage);
    triage = mt_triage_new(&options);
    ck_assert_ptr_nonnull(triage);
    mt_triage_name(triage, "x.log");
    ck_assert_int_eq(mt_triage_feed(triage, log, strlen(log), &err), MT_OK);
    ck_assert_int_eq(mt_triage_end(triage, &err), MT_OK);
    ck_assert_int_eq(mt_triage_decide(triage, &result, &err), MT_OK);
}

static void run(const char *log)
{
    run_with(log, 0);
}

static bool says(const char *words)
{
    for (size_t i = 0; i < result.n_evidence; i++) {
        if (mt_str_find(result.evidence[i], mt_str_from(words)) != SIZE_MAX) {
            return true;
        }
    }
    return false;
}

static const struct mt_advice *advice(const char *id)
{
    for (size_t i = 0; i < result.n_advice; i++) {
        if (strcmp(result.advice[i].id, id) == 0) {
            return &result.advice[i];
        }
    }
    return NULL;
}

#define OOM(gpu, n, a)                                                                             \
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate " n " GiB. GPU " gpu            \
    " has a total capacity of 79.10 GiB of which 98.00 MiB is free. Of the allocated memory " a    \
    " GiB is allocated by PyTorch, and 765.81 MiB is reserved by PyTorch but unallocated.\n"

START_TEST(repetitions_are_one)
{
    run(OOM("0", "1.00", "76.00") "the above exception\n" OOM("0", "1.00", "76.00"));
    ck_assert_uint_eq(result.n_incidents, 1);
    ck_assert_uint_eq(result.incidents[0].repeats, 1);
    run(OOM("0", "1.00", "76.00") OOM("1", "1.00", "76.00") OOM("0", "2.00", "76.00"));
    ck_assert_uint_eq(result.n_incidents, 3);
    ck_assert_uint_eq(result.cause, 0);
}
END_TEST

START_TEST(what_was_survived_is_no_crash)
{
    run(OOM("0", "1.00", "76.00") "WARNING: skipping batch\n\n\n" OOM("0", "3.00", "70.00"));
    ck_assert_uint_eq(result.n_incidents, 2);
    ck_assert(result.incidents[0].recovered && !result.incidents[1].recovered);
    ck_assert_uint_eq(result.cause, 1);
    ck_assert_uint_eq(result.incidents[1].line, 5);
}
END_TEST

START_TEST(a_look_alike_beside_an_event)
{
    run("failed (exitcode: -9) local_rank: 0\n\n" OOM("0", "1.00", "76.00"));
    ck_assert_int_eq(result.verdict, MT_VERDICT_NOT_ENOUGH);
    ck_assert_uint_eq(result.n_incidents, 2);
    ck_assert_uint_eq(result.cause, 1);
}
END_TEST

START_TEST(settings_in_force)
{
    run("export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n" OOM("0", "1.00", "76.00"));
    ck_assert_text(result.conf, "expandable_segments:True");
    ck_assert(says("settings in force"));
    ck_assert(!advice("expandable_segments")->applies);
    run("os.environ[\"PYTORCH_CUDA_ALLOC_CONF\"] = \"max_split_size_mb:128\"\n"
        "'PYTORCH_HIP_ALLOC_CONF': 'garbage_collection_threshold:0.8'\n");
    ck_assert_text(result.conf, "garbage_collection_threshold:0.8");
    run("try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.\n"
        "See documentation for PYTORCH_CUDA_ALLOC_CONF\n");
    ck_assert_uint_eq(result.conf.n, 0);
}
END_TEST

START_TEST(summary_tables)
{
    run("2024-01-01 00:00:00 |  PyTorch CUDA memory summary, device ID 3  |\n"
        "|            CUDA OOMs: 1            |        cudaMalloc retries: 7         |\n"
        "|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n"
        "| Allocated memory      |    1062 MB |    4877 MB |   89299 MB |   88237 MB |\r\n"
        "|       from large pool |    1048 MB |    4865 MB |   89263 MB |   88215 MB |\n"
        "| GPU reserved memory   |      12 GiB |   12420 MiB |   16924 MiB |      0 B  |\n");
    ck_assert_uint_eq(result.n_tables, 1);
    const struct mt_summary_table *t = result.tables;
    ck_assert_int_eq(t->device, 3);
    ck_assert_int_eq(t->ooms, 1);
    ck_assert_int_eq(t->retries, 7);
    ck_assert_uint_eq(t->bytes[MT_SUMMARY_ALLOCATED][MT_SUMMARY_CURRENT], 1062ull << 20);
    ck_assert_uint_eq(t->bytes[MT_SUMMARY_ALLOCATED][MT_SUMMARY_TOTAL_FREED], 88237ull << 20);
    ck_assert_uint_eq(t->bytes[MT_SUMMARY_RESERVED][MT_SUMMARY_CURRENT], 12ull << 30);
    ck_assert_uint_eq(t->bytes[MT_SUMMARY_RESERVED][MT_SUMMARY_TOTAL_FREED], 0);
    ck_assert(!(t->present >> MT_SUMMARY_ACTIVE & 1u));
}
END_TEST

START_TEST(nvidia_smi)
{
    run("|   0  Tesla V100-SXM2...  On   | 00000000:00:1E.0 Off |                    0 |\n"
        "| N/A   34C    P0    57W / 300W |  15109MiB / 16160MiB |      0%      Default |\n"
        "|   1  Tesla V100-SXM2...  On   | 00000000:00:1F.0 Off |                    0 |\n"
        "| N/A   34C    P0    57W / 300W |     12MiB / 16160MiB |      0%      Default |\n"
        "RuntimeError: CUDA error: out of memory\n");
    ck_assert_uint_eq(result.n_cards, 2);
    ck_assert_int_eq(result.cards[1].device, 1);
    ck_assert_uint_eq(result.cards[0].used, 15109ull << 20);
    ck_assert_uint_eq(result.cards[1].total, 16160ull << 20);
}
END_TEST

START_TEST(device_used_is_reconciled)
{
    run_with(OOM("0", "1.00", "76.00"), 79ull << 30);
    ck_assert(says("2.25 GiB is the CUDA context"));
}
END_TEST

START_TEST(when_it_happened)
{
    run("step 41: loss 2\nstep 42: loss 2\n  File \"a.py\", line 3, in evaluate\n"
        "  File \"b.py\", line 9, in forward\n" OOM("0", "1.00", "76.00"));
    ck_assert_int_eq(result.incidents[0].step, 42);
    ck_assert_str_eq(mt_phase_id(result.incidents[0].phase), "evaluation");
    ck_assert_ptr_nonnull(advice("evaluate_without_graph"));
    run("(EngineCore_0 pid=7) " OOM("0", "1.00", "76.00"));
    ck_assert_str_eq(result.incidents[0].program, "vllm");
}
END_TEST

/* A message of 2.5 with its own figures: GiB of the card, MiB free, asked for, live, in holes. */
#define FIGURES(card, free, n, a, u)                                                               \
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate " n ". GPU 0 has a total "      \
    "capacity of " card " of which " free " is free. Of the allocated memory " a " is allocated "  \
    "by PyTorch, and " u " is reserved by PyTorch but unallocated. If reserved but unallocated "   \
    "memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid\n"

/* The cache is weighed against what is missing, not against the whole request. */
START_TEST(holes_that_would_do_are_worth_a_try)
{
    run(FIGURES("23.98 GiB", "1.70 GiB", "1.88 GiB", "21.65 GiB", "279.78 MiB"));
    ck_assert_int_eq(result.verdict, MT_VERDICT_NOT_ENOUGH);
    ck_assert_int_eq(result.confidence, MT_CONFIDENCE_MEDIUM);
    ck_assert(advice("expandable_segments")->applies);
    ck_assert_str_eq(result.advice[0].id, "expandable_segments");
    ck_assert(mt_str_find(result.advice[0].why, MT_STR("about 184 MiB is missing")) != SIZE_MAX);
    run("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n" FIGURES(
        "23.98 GiB", "1.70 GiB", "1.88 GiB", "21.65 GiB", "279.78 MiB"));
    ck_assert(!advice("expandable_segments")->applies);
    run(FIGURES("31.73 GiB", "1.66 GiB", "3.45 GiB", "29.35 GiB", "376.65 MiB"));
    ck_assert_int_eq(result.confidence, MT_CONFIDENCE_HIGH);
    ck_assert(!advice("expandable_segments")->applies);
    ck_assert(mt_str_find(advice("expandable_segments")->why,
                          MT_STR("about 1.79 GiB is missing")) != SIZE_MAX);
}
END_TEST

/* Free by a hair: the card counts as full, and why is said; free by far is a contradiction. */
START_TEST(as_much_free_as_asked_for)
{
    run(FIGURES("44.40 GiB", "4.20 GiB", "4.19 GiB", "39.85 GiB", "40.98 MiB"));
    ck_assert_int_eq(result.verdict, MT_VERDICT_NOT_ENOUGH);
    ck_assert(says("4.20 GiB was free and 4.19 GiB asked for: the driver cannot"));
    ck_assert(!says("More is free"));
    ck_assert_uint_eq(result.rules_said, 3);
    run(FIGURES("22.37 GiB", "3.56 MiB", "2.00 MiB", "15.87 GiB", "787.74 MiB"));
    ck_assert_int_eq(result.verdict, MT_VERDICT_OTHER_PROCESS);
    ck_assert(says("3.56 MiB was free") && !says("More is free"));
    run(FIGURES("22.37 GiB", "4.00 GiB", "2.00 MiB", "15.87 GiB", "787.74 MiB"));
    ck_assert(says("More is free") && !says("cannot give out"));
}
END_TEST

START_TEST(a_segment_is_not_the_tensor)
{
    run(FIGURES("15.48 GiB", "17.75 MiB", "20.00 MiB", "14.85 GiB", "278.23 MiB"));
    ck_assert(says("segment that PyTorch takes for a tensor of more than 1 and less than 10 MiB"));
    run(FIGURES("15.48 GiB", "17.75 MiB", "22.00 MiB", "14.85 GiB", "278.23 MiB"));
    ck_assert(!says("segment that PyTorch takes"));
}
END_TEST

/* Statuses with other causes: what may be is not said to be. */
START_TEST(a_status_proves_little)
{
    static const char *const STATUSES[] = {
        "cuDNN error: CUDNN_STATUS_NOT_INITIALIZED", "cuDNN error: CUDNN_STATUS_INTERNAL_ERROR",
        "CUDA error: CUBLAS_STATUS_NOT_INITIALIZED", "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES"};
    for (size_t i = 0; i < MT_COUNT(STATUSES); i++) {
        char log[100];
        (void)snprintf(log, sizeof log, "RuntimeError: %s\n", STATUSES[i]);
        run(log);
        ck_assert_int_eq(result.verdict, MT_VERDICT_NO_NUMBERS);
        ck_assert_ptr_nonnull(strstr(result.headline, "probably"));
        ck_assert(says("gives it too") && !says("and found the card full"));
    }
    run("RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED\n");
    ck_assert_ptr_null(strstr(result.headline, "probably"));
    ck_assert(!says("gives it too"));
}
END_TEST

/* While weights are loaded there is no context, no batch and no cache of requests to make smaller.
 */
START_TEST(weights_are_not_the_context)
{
    static const char failed[] =
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 144817.04 MiB on device 0: "
        "cudaMalloc failed: out of memory\n";
    char log[400];
    (void)snprintf(log, sizeof log, "load_tensors: loading model tensors\n%s", failed);
    run(log);
    ck_assert_str_eq(mt_phase_id(result.incidents[0].phase), "loading the model");
    ck_assert_ptr_null(advice("shorter_context"));
    ck_assert_ptr_nonnull(advice("smaller_model"));
    (void)snprintf(log, sizeof log, "load_tensors: done\nllama_context: n_ctx = 50176\n%s", failed);
    run(log);
    ck_assert_str_eq(mt_phase_id(result.incidents[0].phase), "creating the context");
    ck_assert(says("while creating the context"));
    ck_assert_ptr_nonnull(advice("shorter_context"));
    run("(EngineCore_0 pid=7)   File \"/vllm/model.py\", line 8, in load_model\n(EngineCore_0 "
        "pid=7) " OOM("0", "1.00", "76.00"));
    ck_assert_ptr_null(advice("shorter"));
    ck_assert_ptr_null(advice("less_budget"));
    ck_assert_ptr_nonnull(advice("more_cards"));
}
END_TEST

static void feed(const char *file, const char *log)
{
    struct mt_error err;
    mt_triage_name(triage, file);
    ck_assert_int_eq(mt_triage_feed(triage, log, strlen(log), &err), MT_OK);
    ck_assert_int_eq(mt_triage_end(triage, &err), MT_OK);
}

/* Step prints, settings and counts of one log are not said of the event of another. */
START_TEST(logs_are_kept_apart)
{
    struct mt_triage_options options = {0};
    struct mt_error err;
    struct mt_buf rising = {0};
    mt_buf_text(&rising, "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n");
    for (int i = 0; i < 40; i++) {
        mt_buf_printf(&rising, "step %d: memory: %d MiB\n", i, 1000 + 100 * i);
    }
    mt_triage_free(triage);
    triage = mt_triage_new(&options);
    feed("flat.log", OOM("0", "1.00", "76.00"));
    mt_buf_text(&rising, OOM("0", "2.00", "75.00"));
    feed("rising.log", rising.p);
    ck_assert_int_eq(mt_triage_decide(triage, &result, &err), MT_OK);
    ck_assert_uint_eq(result.n_incidents, 2);
    ck_assert_int_eq(result.incidents[0].verdict, MT_VERDICT_NOT_ENOUGH);
    ck_assert_int_eq(result.incidents[1].verdict, MT_VERDICT_LEAK);
    ck_assert_uint_eq(result.cause, 0);
    ck_assert_uint_eq(result.conf.n, 0);
    ck_assert(!says("out-of-memory events in this log"));
    ck_assert(!says("settings in force"));
    mt_buf_release(&rising);
    /* a log without an event goes with that of another */
    mt_triage_free(triage);
    triage = mt_triage_new(&options);
    feed("flat.log", OOM("0", "1.00", "76.00"));
    feed("env.log", "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n");
    ck_assert_int_eq(mt_triage_decide(triage, &result, &err), MT_OK);
    ck_assert_text(result.conf, "expandable_segments:True");
}
END_TEST

START_TEST(never_batch_advice_where_memory_is_free)
{
    run("RuntimeError: CUDA out of memory. Tried to allocate 12.50 MiB (GPU 0; 10.92 GiB total "
        "capacity; 8.57 MiB already allocated; 9.28 GiB free; 4.68 MiB cached)\n");
    ck_assert_int_eq(result.verdict, MT_VERDICT_FREE_EXCEEDS_REQUEST);
    ck_assert(!advice("smaller_batch")->applies);
    ck_assert_ptr_null(advice("smaller_micro_batch"));
}
END_TEST

START_TEST(contradictions_are_said)
{
    run("RuntimeError: CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 8.00 GiB total "
        "capacity; 17.20 GiB already allocated; 0 bytes free; 19.15 GiB reserved in total by "
        "PyTorch)\n");
    ck_assert(result.incidents[0].spilled);
    ck_assert(says("host memory"));
    run("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total "
        "capacity of 8.00 GiB of which 0 bytes is free. Including non-PyTorch memory, this process "
        "has 17179869184.00 GiB memory in use. Of the allocated memory 7.50 GiB is allocated by "
        "PyTorch, and 10.00 MiB is reserved by PyTorch but unallocated.\n");
    ck_assert(!mt_oom_has(&result.incidents[0].numbers, MT_OOM_PROCESS));
}
END_TEST

START_TEST(what_a_message_tells_is_not_denied)
{
    run("Out of memory allocating 25,600,000 bytes (allocated so far: 3,635,267,072 bytes).\n");
    ck_assert_int_eq(result.verdict, MT_VERDICT_NO_NUMBERS);
    ck_assert(says("what the program held (3.39 GiB)") && !says("Only the size"));
    ck_assert_uint_eq(result.rules_said, 1);
}
END_TEST

START_TEST(a_log_after_a_binary_one)
{
    struct mt_triage_options options = {0};
    struct mt_error err;
    struct mt_triage *t = mt_triage_new(&options);
    const char *log = OOM("0", "1.00", "76.00");
    ck_assert_int_eq(mt_triage_feed(t, "\1\2\3\4\5\6\0\0\0", 9, &err), MT_FORMAT);
    ck_assert_int_eq(mt_triage_feed(t, log, strlen(log), &err), MT_OK);
    ck_assert_int_eq(mt_triage_end(t, &err), MT_OK);
    ck_assert_int_eq(mt_triage_decide(t, &result, &err), MT_OK);
    ck_assert_uint_eq(result.n_incidents, 1);
    mt_triage_free(t);
}
END_TEST

START_TEST(ten_thousand_events)
{
    struct mt_buf log = {0};
    for (int i = 0; i < 10000; i++) {
        mt_buf_printf(&log,
                      "RuntimeError: CUDA out of memory. Tried to allocate %d.00 MiB (GPU 0; "
                      "7.79 GiB total capacity; 6.64 GiB already allocated; 21.00 MiB free; "
                      "150.86 MiB cached)\nskipping batch\n",
                      30 + i);
    }
    run(log.p);
    ck_assert_uint_eq(result.n_incidents, 256);
    ck_assert_uint_eq(result.incidents_dropped, 10000 - 256);
    mt_buf_release(&log);
}
END_TEST

START_TEST(binary_is_refused)
{
    struct mt_triage_options options = {0};
    struct mt_error err;
    struct mt_triage *t = mt_triage_new(&options);
    ck_assert_int_eq(mt_triage_feed(t, "\1\2\3\4\5\6\0\0\0", 9, &err), MT_FORMAT);
    mt_triage_free(t);
}
END_TEST

UNIT_MAIN("triage", as_much_free_as_asked_for, weights_are_not_the_context, logs_are_kept_apart,
          holes_that_would_do_are_worth_a_try, a_segment_is_not_the_tensor, a_status_proves_little,
          repetitions_are_one, what_was_survived_is_no_crash, a_look_alike_beside_an_event,
          settings_in_force, summary_tables, nvidia_smi, device_used_is_reconciled,
          when_it_happened, never_batch_advice_where_memory_is_free, contradictions_are_said,
          ten_thousand_events, binary_is_refused, what_a_message_tells_is_not_denied,
          a_log_after_a_binary_one)
