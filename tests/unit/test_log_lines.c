/* SPDX-License-Identifier: MIT */
/* Lines as logs have them: what is taken away, what names the writer, what is left. */
#include "triage/log/log_lines.h"

#include <stdio.h>

#include "unit.h"

static struct mt_log_line line;

static const struct mt_log_line *set(const char *raw)
{
    line.may_be_labelled = true;
    mt_log_line_set(&line, mt_str_from(raw));
    ck_assert(!line.text.failed && !line.tight.failed);
    return &line;
}

/* raw, what is left of it squeezed, rank, whether the prefix names the writer */
static const struct {
    const char *raw, *squeezed;
    int rank;
    bool origin;
} CASES[] = {
    {"Tried to allocate 2.00 GiB", "triedtoallocate2.00gib", -1, false},
    {"[rank3]: CUDA out", "cudaout", 3, true},
    {"[Rank 7] a b", "ab", 7, true},
    {"[local_rank: 2] a b", "ab", 2, true},
    {"[node 4 rank 13] a b", "ab", 13, true},
    {"[TP1] a b", "ab", 1, true},
    {"[DP0 TP1] a b", "ab", 0, true},
    {"[default5]:a b", "ab", 5, true},
    {"[VllmWorker-3] a b", "ab", 3, true},
    {"[1,3] a b", "ab", 3, true}, /* mpirun: job 1, rank 3 */
    {"(Worker pid=206994, rank=3) a b", "ab", 3, true},
    {"(RayWorkerWrapper pid=206994) ERROR 03-27 10:29:13 [worker_base.py:620] a b", "ab", -1, true},
    {"[gpu_worker:620] a b", "ab", -1, false}, /* lines of sources are no ranks */
    {"[tp_worker.py:86] a b", "ab", -1, false},
    {"[rank_utils.py:12] a b", "ab", -1, false},
    {"2024-11-20 14:37:16 [rank12]: a b", "ab", 12, true},
    {"[TP1] Scheduler hit", "schedulerhit", 1, true},
    {"(VllmWorkerProcess pid=2421) ERROR 10-14 12:32:47 multiproc.py:233] torch", "torch", -1,
     true},
    {"(RayWorkerWrapper pid=9, ip=192.0.2.7) x", "x", -1, true},
    {"ERROR 04-01 23:46:56 [engine.py:160] torch.X", "torch.x", -1, false},
    {"node13: ret = input", "ret=input", -1, true},
    {"deep-seek-1  | ggml: a", "ggml:a", -1, true},
    {"node0:3063028:3066152 [3] include/alloc.h:178 NCCL", "include/alloc.h:178nccl", 3, true},
    {"W0227 17:39:41.936000 293814 api.py:766] Closing", "closing", -1, false},
    {"1.06.520.077 E ggml_x", "ggml_x", -1, false},
    {"2025-01-17T01:27:13.751046 - Got an OOM", "gotanoom", -1, false},
    {"> # | * text", "text", -1, false},
    {"E       RuntimeError: x", "runtimeerror:x", -1, false},
    {"RuntimeError: CUDA", "runtimeerror:cuda", -1, false},
    {"[CUDA] out of memory", "[cuda]outofmemory", -1, false},
    {"\033[0;31mCUDA\033[0m error", "cudaerror", -1, false},
    {"[0;31mCUDA[0m error", "cudaerror", -1, false}, /* the ESC was lost */
    {"\\u001b[31mCUDA\\u001b[0m \\\"x\\\"", "cuda\"x\"", -1, false},
    {"<td>a &gt;&gt; b</td><br/>", "a>>b", -1, false},
    {"a < b and c", "a<bandc", -1, false},
    {"a\\nb\\tc\rd", "abcd", -1, false},
    {"`CUDA` **out** caf\xc3\xa9 \xff", "cudaoutcaf", -1, false},
    {"79.10 GiB of which", "79.10gibofwhich", -1, false},
    {"[rank0]: 79.10 GiB of which", "79.10gibofwhich", 0, true}, /* a wrapped rest is no time */
    {"2025-01-01 10:00:00 4096 bytes", "4096bytes", -1, false},
    {"12: step(batch)", "step(batch)", 12, true},
    {"2025-02-03 04:05:06,789 - __main__ - ERROR - x", "x", -1, false},
    {"", "", -1, false},
    {"\033[", "", -1, false},
    {"[", "[", -1, false},
    {"<a", "<a", -1, false},
};

START_TEST(prefixes_and_marks)
{
    for (size_t i = 0; i < MT_COUNT(CASES); i++) {
        const struct mt_log_line *l = set(CASES[i].raw);
        ck_assert_text(l->squeezed, CASES[i].squeezed);
        ck_assert_msg(l->rank == CASES[i].rank, "%s: rank %d", CASES[i].raw, (int)l->rank);
        ck_assert_msg((l->origin != 0) == CASES[i].origin, "%s: origin", CASES[i].raw);
    }
    mt_log_line_release(&line);
}
END_TEST

START_TEST(writers_are_told_apart)
{
    uint64_t rank0 = set("2024-11-20 14:37:16 [rank0]: a")->origin;
    ck_assert(set("2024-11-20 14:37:18 [rank0]: b")->origin == rank0);
    ck_assert(set("2024-11-20 14:37:16 [rank1]: a")->origin != rank0);
    ck_assert(set("node1: [rank0]: a")->origin != set("node2: [rank0]: a")->origin);
    mt_log_line_release(&line);
}
END_TEST

START_TEST(a_line_of_any_length)
{
    static char raw[3 * MT_LOG_LINE_MAX];
    memset(raw, 'x', sizeof raw);
    mt_log_line_set(&line, (struct mt_str){raw, sizeof raw});
    ck_assert_uint_eq(line.squeezed.n, MT_LOG_LINE_MAX);
    mt_log_line_release(&line);
}
END_TEST

/* Blanks, control bytes, bytes beyond ASCII and Markdown's marks go; letters become small. */
START_TEST(every_byte_squeezed)
{
    for (int c = 0; c < 256; c++) {
        char byte = (char)c;
        struct mt_buf out = {0};
        mt_log_squeeze(&out, (struct mt_str){&byte, 1});
        bool goes = c <= ' ' || c >= 0x7f || c == '`' || c == '*';
        ck_assert_uint_eq(out.n, !goes);
        if (!goes) {
            ck_assert_int_eq(out.p[0], c >= 'A' && c <= 'Z' ? c + 32 : c);
        }
        mt_buf_release(&out);
    }
}
END_TEST

/* Whatever is cleaned away is seen at each of the places that are looked at eight at a time. */
START_TEST(odd_bytes_at_every_place)
{
    static const char *const odd[] = {"\x1b[31m", "[0m", "<b>",    "\r",
                                      "\t",       "\\n", "&nbsp;", "\x01"};
    for (size_t i = 0; i < MT_COUNT(odd); i++) {
        for (size_t at = 0; at < 20; at++) {
            char text[64] = "";
            snprintf(text, sizeof text, "%.*s%s%s", (int)at, "abcdefghijklmnopqrstuvwxyz", odd[i],
                     &"abcdefghijklmnopqrstuvwxyz"[at]);
            ck_assert_text(set(text)->squeezed, "abcdefghijklmnopqrstuvwxyz");
            mt_log_line_release(&line);
        }
    }
}
END_TEST

UNIT_MAIN("log_lines", prefixes_and_marks, writers_are_told_apart, a_line_of_any_length,
          every_byte_squeezed, odd_bytes_at_every_place)
