/* SPDX-License-Identifier: MIT */
/* The whole account of a card: owners by stack, peaks, the card's figures, and sums that add up. */
#include "heap/sums/account.h"
#include "snapshot/read/read.h"

#include "unit.h"

#define MIB (UINT64_C(1) << 20)

static struct mt_snapshot s;
static struct mt_account a;
static struct mt_error err;

/* Two libraries and the program; the trace has one allocation of NCCL more, freed again. */
#define FRAME(name, file) "[{\"name\":\"" name "\",\"filename\":\"" file "\",\"line\":0}]"
#define SEGMENT(addr, size, frames)                                                                \
    "{\"device\":0,\"address\":" addr ",\"total_size\":" size ",\"stream\":0,"                     \
    "\"segment_type\":\"large\",\"frames\":" frames ",\"blocks\":[{\"address\":" addr              \
    ",\"size\":" size ",\"state\":\"active_allocated\",\"frames\":[]}]}"
#define EVENT(action, addr, size, frames)                                                          \
    "{\"action\":\"" action "\",\"addr\":" addr ",\"size\":" size                                  \
    ",\"stream\":0,\"frames\":" frames "}"
#define NCCL FRAME("ncclInit", "/usr/lib/libnccl.so.2")
#define BLAS                                                                                       \
    "[{\"name\":\"cudaMalloc\",\"filename\":\"/lib/libcudart.so.13\",\"line\":0},"                 \
    "{\"name\":\"c\",\"filename\":\"/lib/libcublasLt.so.13\",\"line\":0}]"
#define PROGRAM FRAME("main", "./heat")
#define WATCHED(own)                                                                                                                                                           \
    "{\"segments\":[" SEGMENT("1048576", "4194304", NCCL) "," SEGMENT("16777216", "2097152", BLAS) "," SEGMENT("33554432", "8388608", PROGRAM) "],\"device_traces\":[[" EVENT( \
        "segment_alloc", "1048576", "4194304",                                                                                                                                 \
        NCCL) "," EVENT("segment_alloc", "90000000", "3145728",                                                                                                                \
                        NCCL) "," EVENT("segment_alloc", "16777216", "2097152",                                                                                                \
                                        BLAS) "," EVENT("segment_free", "90000000", "3145728",                                                                                 \
                                                        "[]") "," EVENT("segment_alloc",                                                                                       \
                                                                        "33554432", "8388608",                                                                                 \
                                                                        PROGRAM) "]],\"external_"                                                                              \
                                                                                 "annotations\":["                                                                             \
                                                                                 "]" own "}"
#define OWN(device) ",\"memtool\":{\"mode\":\"record\",\"devices\":[{\"device\":0," device "}]}"

static void look(const char *json, const struct mt_account_figures *given)
{
    struct mt_read_options o = {0};
    ck_assert_msg(mt_snapshot_read_memory(json, strlen(json), 0, &o, &s, &err) == MT_OK, "%s",
                  err.text);
    ck_assert_int_eq(mt_account_find(&a, &s, 0, given, &err), MT_OK);
    uint64_t sum = 0;
    for (size_t i = 0; i < a.rows.n; i++) {
        bool rest = a.rows.v[i].kind == MT_OWNER_UNEXPLAINED;
        ck_assert(!rest || i + 1 == a.rows.n);
        sum += rest ? 0 : a.rows.v[i].bytes;
        ck_assert(i == 0 || rest || a.rows.v[i - 1].bytes >= a.rows.v[i].bytes);
    }
    if (a.seen < UINT64_MAX) { /* else it is saturated */
        ck_assert_uint_eq(sum, a.seen);
    }
    uint64_t rest = mt_account_sum(&a, MT_OWNER_UNEXPLAINED);
    if (a.used_known && a.seen < UINT64_MAX) {
        ck_assert_uint_eq(a.over ? a.seen - rest : a.seen + rest, a.used);
    }
}

static void done(void)
{
    mt_account_release(&a);
    mt_snapshot_release(&s);
}

static const struct mt_owner *row(const char *name)
{
    for (size_t i = 0; i < a.rows.n; i++) {
        if (mt_str_equal(a.rows.v[i].name, mt_str_from(name))) {
            return &a.rows.v[i];
        }
    }
    ck_abort_msg("no row %s", name);
    return NULL;
}

START_TEST(by_library)
{
    look(WATCHED(",\"memtool\":{\"mode\":\"record\"}"), NULL);
    ck_assert(a.recorded.watched && a.recorded.plain && !a.recorded.python);
    ck_assert(!a.used_known && mt_account_is_whole(&a));
    ck_assert_uint_eq(a.rows.n, 3);
    ck_assert_int_eq(row("heat")->kind, MT_OWNER_PROGRAM);
    ck_assert_uint_eq(row("heat")->bytes, 8 * MIB);
    ck_assert_uint_eq(row("cuBLAS")->bytes, 2 * MIB); /* the runtime is passed through */
    ck_assert_uint_eq(row("NCCL")->bytes, 4 * MIB);
    ck_assert_uint_eq(row("NCCL")->count, 1);
    ck_assert_uint_eq(row("NCCL")->peak, 7 * MIB);
    ck_assert_uint_eq(a.seen, 14 * MIB);
    ck_assert_uint_eq(a.seen_peak, 14 * MIB);
    done();
}
END_TEST

START_TEST(given_figure)
{
    struct mt_account_figures given = {.used_known = true,
                                       .used = 20 * MIB,
                                       .total_known = true,
                                       .total = 80 * MIB,
                                       .source = "--device-used"};
    look(WATCHED(",\"memtool\":{\"mode\":\"record\"}"), &given);
    ck_assert_uint_eq(mt_account_sum(&a, MT_OWNER_UNEXPLAINED), 6 * MIB);
    ck_assert(!a.over);
    done();
    given.used = 10 * MIB; /* less than was seen */
    look(WATCHED(",\"memtool\":{\"mode\":\"record\"}"), &given);
    ck_assert(a.over);
    ck_assert_uint_eq(mt_account_sum(&a, MT_OWNER_UNEXPLAINED), 4 * MIB);
    done();
    given.used = 14 * MIB; /* exactly */
    look(WATCHED(",\"memtool\":{\"mode\":\"record\"}"), &given);
    ck_assert_uint_eq(a.rows.n, 3);
    done();
}
END_TEST

START_TEST(measured_by_the_watcher)
{
    look(WATCHED(OWN("\"total_bytes\":104857600,\"free_before_context_bytes\":94371840,"
                     "\"free_start_bytes\":83886080,\"free_dump_bytes\":62914560,"
                     "\"pool_reserved_bytes\":3145728,\"pool_used_bytes\":1048576,"
                     "\"libraries\":[{\"library\":\"/usr/lib/libnccl.so.2\",\"current_bytes\":"
                     "4194304,\"peak_bytes\":9437184,\"code_bytes\":2097152}]")),
         NULL);
    ck_assert_uint_eq(a.total, 100 * MIB);
    ck_assert_uint_eq(a.used, 40 * MIB);
    ck_assert_str_eq(a.source, "the snapshot");
    ck_assert_uint_eq(mt_account_sum(&a, MT_OWNER_BEFORE), 10 * MIB);
    ck_assert_uint_eq(mt_account_sum(&a, MT_OWNER_CONTEXT), 10 * MIB);
    ck_assert_uint_eq(mt_account_sum(&a, MT_OWNER_POOL), 2 * MIB);
    ck_assert_uint_eq(mt_account_sum(&a, MT_OWNER_CODE), 2 * MIB);
    ck_assert_uint_eq(row("NCCL")->peak, 9 * MIB); /* the trace knows of 7 */
    ck_assert_uint_eq(mt_account_sum(&a, MT_OWNER_UNEXPLAINED), 2 * MIB);
    done();
}
END_TEST

/* The library that the watcher counted went by the cache; all else is the cache's. */
START_TEST(by_the_cache)
{
    look(WATCHED(",\"memtool\":{\"mode\":\"cache\",\"devices\":[{\"device\":0,\"libraries\":["
                 "{\"library\":7},{\"library\":\"/usr/lib/libnccl.so.2\",\"current_bytes\":"
                 "4194304,\"peak_bytes\":9437184}]}]}"),
         NULL);
    ck_assert(!a.recorded.watched && a.recorded.cached);
    ck_assert_uint_eq(a.rows.n, 2);
    ck_assert_uint_eq(row("memtool's caching allocator")->bytes, 10 * MIB);
    ck_assert_uint_eq(row("memtool's caching allocator")->count, 2);
    ck_assert_uint_eq(row("NCCL")->bytes, 4 * MIB);
    ck_assert_uint_eq(row("NCCL")->peak, 9 * MIB);
    done();
    look(WATCHED(",\"memtool\":{\"mode\":\"cache\"}"), NULL); /* nothing passed by */
    ck_assert_uint_eq(a.rows.n, 1);
    ck_assert_uint_eq(row("memtool's caching allocator")->bytes, 14 * MIB);
    done();
}
END_TEST

/* Before the program took its own, with NCCL's third allocation still there. */
START_TEST(at_an_event)
{
    struct mt_account_figures given = {
        .after = 3, .free_known = true, .free = 60 * MIB, .total_known = true, .total = 80 * MIB};
    look(WATCHED(OWN("\"free_dump_bytes\":1,\"total_bytes\":2")), &given);
    ck_assert_uint_eq(row("NCCL")->bytes, 7 * MIB);
    ck_assert_uint_eq(row("NCCL")->count, 2);
    ck_assert_uint_eq(row("heat")->bytes, 0);
    ck_assert_uint_eq(a.seen, 9 * MIB);
    ck_assert_uint_eq(a.used, 20 * MIB);
    done();
    given.after = SIZE_MAX; /* beyond the trace: its end */
    look(WATCHED(",\"memtool\":{\"mode\":\"record\"}"), &given);
    ck_assert_uint_eq(a.seen, 14 * MIB);
    done();
}
END_TEST

START_TEST(hostile_figures)
{
    /* negative, not numbers, beyond 64 bits, free beyond the total, no list where one belongs */
    look(WATCHED(OWN("\"total_bytes\":-5,\"free_dump_bytes\":\"x\",\"libraries\":7,"
                     "\"pool_reserved_bytes\":99999999999999999999999")),
         NULL);
    ck_assert(!a.used_known && !a.total_known);
    ck_assert_uint_eq(a.rows.n, 3);
    done();
    look(WATCHED(OWN("\"total_bytes\":10,\"free_dump_bytes\":20,\"free_start_bytes\":30,"
                     "\"libraries\":[1,{\"library\":3},{\"library\":\"\"}]")),
         NULL);
    ck_assert(!a.used_known);
    done();
    look(WATCHED(",\"memtool\":[1,2]"), NULL);
    ck_assert(!a.recorded.watched);
    ck_assert_uint_eq(a.rows.n, 1);
    done();
    look(WATCHED(OWN("\"total_bytes\":9223372036854775807,\"free_start_bytes\":0,"
                     "\"free_dump_bytes\":0,\"pool_reserved_bytes\":9223372036854775807,"
                     "\"pool_used_bytes\":0")),
         NULL); /* sums saturate */
    ck_assert(a.used_known && a.over);
    done();
}
END_TEST

START_TEST(huge_segments)
{
    look("{\"segments\":[" SEGMENT("1048576", "18446744073709551615", NCCL) "," SEGMENT(
             "2097152", "18446744073709551615",
             BLAS) "],\"device_traces\":[[" EVENT("segment_alloc", "1048576",
                                                  "18446744073709551615",
                                                  NCCL) "]],\"memtool\":{\"mode\":\"record\"}}",
         NULL);
    ck_assert_uint_eq(a.seen, UINT64_MAX);
    ck_assert(!row("NCCL")->peak_known);
    done();
}
END_TEST

START_TEST(allocator_alone)
{
    struct mt_account_figures given = {.used_known = true, .used = 5 * MIB, .source = "x"};
    const char *json = "{\"segments\":[" SEGMENT(
        "1048576", "4194304",
        "[]") "],\"device_traces\":[[]],\"allocator_settings\":{},\"external_annotations\":[]}";
    look(json, NULL);
    ck_assert(!mt_account_is_whole(&a));
    ck_assert_uint_eq(a.rows.n, 1);
    ck_assert_text(a.rows.v[0].name, "PyTorch's caching allocator");
    ck_assert(!a.rows.v[0].peak_known);
    done();
    look(json, &given);
    ck_assert_text(a.rows.v[1].name,
                   "outside PyTorch's allocator: context, libraries, other processes");
    ck_assert_uint_eq(a.rows.v[1].bytes, 1 * MIB);
    done();
}
END_TEST

static const char SMI[] =
    "| NVIDIA-SMI 580.1   Driver Version: 580.1   CUDA Version: 13.0 |\n"
    "|   0  NVIDIA H200             On  | 00000000:19:00.0 Off |  0 |\n"
    "| N/A   34C    P0   114W / 700W |      60MiB / 143771MiB |      0%      Default |\n"
    "|    0   N/A  N/A      1234      C   python3                 30MiB |\n"
    "|    0   N/A  N/A      1235    C+G   /opt/x y                20MiB |\n";

START_TEST(processes)
{
    struct mt_smi smi;
    ck_assert_int_eq(mt_smi_read(&smi, mt_str_from(SMI), &err), MT_OK);
    struct mt_account_figures given = {.smi = &smi, .source = "nvidia-smi"};
    look(WATCHED(",\"memtool\":{\"mode\":\"record\"}"), &given);
    /* the smallest that holds what was seen is ours */
    ck_assert(a.own_is_inferred);
    ck_assert_uint_eq(mt_account_sum(&a, MT_OWNER_OUTSIDE), 6 * MIB);
    ck_assert_uint_eq(row("process 1234, python3")->bytes, 30 * MIB);
    ck_assert_uint_eq(mt_account_sum(&a, MT_OWNER_UNEXPLAINED), 10 * MIB);
    ck_assert_uint_eq(a.process, 20 * MIB);
    done();
    mt_smi_release(&smi);
}
END_TEST

START_TEST(shapes_of_nvidia_smi)
{
    static const char QUERY[] = "GPU 00000000:19:00.0\n    Product Name : NVIDIA H200\n"
                                "    FB Memory Usage\n        Total : 143771 MiB\n"
                                "        Used : 60 MiB\n        Free : 1 MiB\n"
                                "    BAR1 Memory Usage\n        Total : 7 MiB\n"
                                "    Processes\n        Process ID : 1234\n"
                                "            Name : python3\n"
                                "            Used GPU Memory : 30 MiB\n";
    static const char XML[] = "<?xml version=\"1.0\" ?>\n<gpu id=\"00000000:19:00.0\">\n"
                              "<fb_memory_usage>\n<total>143771 MiB</total>\n<used>60 MiB</used>\n"
                              "</fb_memory_usage>\n<bar1_memory_usage>\n<total>7 MiB</total>\n"
                              "</bar1_memory_usage>\n<process_info>\n<pid>1234</pid>\n"
                              "<process_name>python3</process_name>\n"
                              "<used_memory>30 MiB</used_memory>\n</process_info>\n</gpu>\n";
    static const char CSV[] =
        "index, memory.used [MiB], memory.total [MiB]\n0, 60 MiB, 143771 MiB\n"
        "\npid, process_name, used_gpu_memory [MiB]\n1234, python3, 30 MiB\n";
    static const char *const TEXTS[] = {SMI, QUERY, XML, CSV};
    for (size_t i = 0; i < MT_COUNT(TEXTS); i++) {
        struct mt_smi smi;
        ck_assert_int_eq(mt_smi_read(&smi, mt_str_from(TEXTS[i]), &err), MT_OK);
        ck_assert_uint_eq(smi.gpus.n, 1);
        ck_assert_uint_eq(smi.gpus.v[0].used, 60 * MIB);
        ck_assert_uint_eq(smi.gpus.v[0].total, 143771 * MIB);
        ck_assert(smi.processes.n >= 1);
        ck_assert_int_eq(smi.processes.v[0].pid, 1234);
        ck_assert_text(smi.processes.v[0].name, "python3");
        ck_assert_uint_eq(smi.processes.v[0].bytes, 30 * MIB);
        mt_smi_release(&smi);
    }
}
END_TEST

START_TEST(no_nvidia_smi)
{
    static const char *const TEXTS[] = {"",
                                        "hello\n",
                                        "|\n||||\n",
                                        "pid, used_memory\n1, N/A\n",
                                        "index, memory.used\n,,,,\n",
                                        "<gpu id=\n<a\n<\n"};
    for (size_t i = 0; i < MT_COUNT(TEXTS); i++) {
        struct mt_smi smi;
        ck_assert_int_eq(mt_smi_read(&smi, mt_str_from(TEXTS[i]), &err), MT_FORMAT);
        mt_smi_release(&smi);
    }
}
END_TEST

UNIT_MAIN("account", by_library, given_figure, measured_by_the_watcher, by_the_cache, at_an_event,
          hostile_figures, huge_segments, allocator_alone, processes, shapes_of_nvidia_smi,
          no_nvidia_smi)
