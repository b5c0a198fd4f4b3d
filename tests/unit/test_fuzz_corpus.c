/* SPDX-License-Identifier: MIT */
/*
 * The fuzz corpora reach everything that their readers know: each opcode, key, action, message,
 * setting, category and kind of operation stands in at least one input, so that the fuzzer has it
 * to change. What is new in a table fails here until an input has it.
 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "torch/alloc_conf.h"
#include "support/bytes.h"
#include "heap/stacks/categories.h"
#include "torch/keys.h"

#include "triage/log/log_formats.h"

#include "unit.h"

/* ---- inputs ---- */

/* The bytes of all inputs of a target that lie in its own folder, one behind the other, each ended
 * by a NUL that is not counted where the input is looked at alone. */
typedef void (*visit_input)(struct mt_str input, void *ctx);

static void visit_file(const char *path, visit_input visit, void *ctx)
{
    struct mt_buf text = {0};
    char piece[4096];
    size_t n;
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "%s", path);
    while ((n = fread(piece, 1, sizeof piece, f)) > 0) {
        mt_buf_add(&text, piece, n);
    }
    fclose(f);
    ck_assert(!text.failed);
    visit(mt_buf_view(&text), ctx);
    mt_buf_release(&text);
}

static void each_input(const char *target, visit_input visit, void *ctx)
{
    char folder[PATH_MAX];
    char path[PATH_MAX + 256];
    const char *testdata = getenv("TESTDATA");
    snprintf(folder, sizeof folder, "%s/../tests/fuzz/corpus/%s", testdata ? testdata : "testdata",
             target);
    DIR *d = opendir(folder);
    ck_assert_msg(d != NULL, "%s", folder);
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        if (e->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
            visit_file(path, visit, ctx);
        }
    }
    closedir(d);
}

static void join(struct mt_str input, void *ctx)
{
    mt_buf_str(ctx, input);
    mt_buf_char(ctx, '\0');
}

/* ---- pickles ---- */

enum operand { NONE, ONE, TWO, FOUR, EIGHT, COUNT1, COUNT4, COUNT8, LINE, LINES, REFUSED };

static const struct opcode {
    const char *name;
    uint8_t operand;
} OPCODES[256] = {
#define OP(code, name, operand, protocol) [code] = {#name, operand},
#include "snapshot/read/pickle_ops.def"
#undef OP
};

struct seen {
    bool opcodes[256];
    struct mt_buf strings; /* each between two newlines */
};

static void see_string(struct seen *seen, struct mt_str s)
{
    mt_buf_char(&seen->strings, '\n');
    mt_buf_str(&seen->strings, s);
    mt_buf_char(&seen->strings, '\n');
}

/* Length of the operand behind a counted or fixed opcode, its count included; SIZE_MAX: cut off. */
static size_t operand_bytes(enum operand o, struct mt_str rest)
{
    static const uint8_t WIDTHS[] = {
        [ONE] = 1, [TWO] = 2, [FOUR] = 4, [EIGHT] = 8, [COUNT1] = 1, [COUNT4] = 4, [COUNT8] = 8};
    size_t width = o < MT_COUNT(WIDTHS) ? WIDTHS[o] : 0;
    uint64_t count = 0;
    if (o == LINE || o == LINES) {
        size_t end = mt_str_find(rest, MT_STR("\n"));
        return end == SIZE_MAX ? end : end + 1;
    }
    if (rest.n < width) {
        return SIZE_MAX;
    }
    for (size_t i = width; o >= COUNT1 && o <= COUNT8 && i-- > 0;) {
        count = count << 8 | (uint8_t)rest.p[i];
    }
    return count > rest.n - width ? SIZE_MAX : width + (size_t)count;
}

static void scan_pickle(struct mt_str rest, void *ctx)
{
    struct seen *seen = ctx;
    while (rest.n) {
        const struct opcode *op = &OPCODES[(uint8_t)*rest.p];
        if (!op->name) {
            return;
        }
        seen->opcodes[(uint8_t)*rest.p] = true;
        rest.p++;
        rest.n--;
        for (int lines = op->operand == LINES ? 2 : 1; lines-- > 0;) {
            size_t n = operand_bytes((enum operand)op->operand, rest);
            if (op->operand == REFUSED || n == SIZE_MAX) {
                return; /* so does the reader */
            }
            size_t head = op->operand == COUNT1 ? 1 : op->operand == COUNT4 ? 4 : 0;
            see_string(seen, (struct mt_str){rest.p + head, n > head ? n - head : 0});
            rest.p += n;
            rest.n -= n;
        }
    }
}

static bool holds(struct mt_str text, const char *before, const char *word, const char *behind)
{
    char part[128];
    snprintf(part, sizeof part, "%s%s%s", before, word, behind);
    return mt_str_find(text, mt_str_from(part)) != SIZE_MAX;
}

/* Every word of the schema, between what stands around a string in this syntax. */
static void expect_words(struct mt_str text, const char *before, const char *behind)
{
    static const char *const WORDS[] = {
#define X(name, type, since, use) #name,
        MT_EVENT_KEYS(X) MT_SEGMENT_KEYS(X) MT_BLOCK_KEYS(X) MT_HISTORY_KEYS(X) MT_FRAME_KEYS(X)
            MT_ANNOTATION_KEYS(X) MT_TOP_KEYS(X)
#undef X
#define X(name, word) word,
                MT_ACTION_MAP(X)
#undef X
                    "active_allocated",
        "active_pending_free",
        "active_awaiting_free",
        "inactive",
        "small",
        "large",
        "START",
        "END"};
    for (size_t i = 0; i < MT_COUNT(WORDS); i++) {
        ck_assert_msg(!WORDS[i][0] || holds(text, before, WORDS[i], behind), "no input has '%s'",
                      WORDS[i]);
    }
}

START_TEST(every_opcode)
{
    struct seen seen = {0};
    each_input("pickle", scan_pickle, &seen);
    for (size_t i = 0; i < 256; i++) {
        ck_assert_msg(!OPCODES[i].name || seen.opcodes[i], "no input has %s", OPCODES[i].name);
    }
    mt_buf_release(&seen.strings);
}
END_TEST

START_TEST(every_key_in_pickle_and_json)
{
    struct seen seen = {0};
    struct mt_buf json = {0};
    each_input("pickle", scan_pickle, &seen);
    expect_words(mt_buf_view(&seen.strings), "\n", "\n");
    mt_buf_release(&seen.strings);
    each_input("json", join, &json);
    expect_words(mt_buf_view(&json), "\"", "\"");
    mt_buf_release(&json);
}
END_TEST

/* ---- text ---- */

/* Lower case and without blanks, as phrases are. */
static void squeeze(struct mt_str input, void *ctx)
{
    for (size_t i = 0; i < input.n; i++) {
        char c = input.p[i];
        if (c != ' ' && c != '\t') {
            mt_buf_char(ctx, c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c);
        }
    }
}

START_TEST(every_message)
{
    struct mt_buf text = {0};
    each_input("log", squeeze, &text);
    for (size_t i = 0; i < MT_LOG_FORMATS_N; i++) {
        ck_assert_msg(mt_str_find(mt_buf_view(&text), MT_LOG_FORMATS[i].phrase) != SIZE_MAX,
                      "no input has the message %s: %.*s", MT_LOG_FORMATS[i].id,
                      (int)MT_LOG_FORMATS[i].phrase.n, MT_LOG_FORMATS[i].phrase.p);
    }
    mt_buf_release(&text);
}
END_TEST

static void parse_conf(struct mt_str input, void *ctx)
{
    struct mt_conf conf;
    struct mt_str text = {input.p + 1, input.n - 1}; /* the first byte chooses the release */
    for (mt_torch_release release = MT_TORCH_OLDEST; release <= MT_TORCH_NEWEST; release++) {
        mt_conf_parse(text, release, &conf);
        *(uint32_t *)ctx |= conf.keys;
    }
}

START_TEST(every_setting)
{
    uint32_t keys = 0;
    each_input("conf", parse_conf, &keys);
    for (int k = 0; k < MT_CONF_KEY_COUNT; k++) {
        ck_assert_msg(keys >> k & 1u, "no input has %s", mt_conf_key_name((enum mt_conf_key)k));
    }
}
END_TEST

START_TEST(every_category_and_test)
{
    static const char *const TESTS[] = {"file", "name", "annotation"};
    struct mt_buf text = {0};
    each_input("rules", join, &text);
    for (int c = 0; c < MT_CATEGORY_COUNT; c++) {
        const char *word = mt_category_name((enum mt_category)c);
        ck_assert_msg(holds(mt_buf_view(&text), "", word, " "), "no input has '%s'", word);
    }
    for (size_t i = 0; i < MT_COUNT(TESTS); i++) {
        ck_assert_msg(holds(mt_buf_view(&text), " ", TESTS[i], " "), "no input has '%s'", TESTS[i]);
    }
    mt_buf_release(&text);
}
END_TEST

/* ---- operations ---- */

/* As fuzz_alloc reads them: four bytes of settings, then four for each operation. */
static void scan_operations(struct mt_str input, void *ctx)
{
    uint32_t *seen = ctx;
    for (size_t i = 4; i + 3 < input.n; i += 4) {
        uint8_t what = (uint8_t)input.p[i], x = (uint8_t)input.p[i + 1];
        *seen |= what % 8 == 7 ? 1u << (x >> 4 < 10 ? x >> 4 : 10) : 1u << 11;
    }
}

START_TEST(every_operation)
{
    uint32_t seen = 0;
    each_input("alloc", scan_operations, &seen);
    ck_assert_msg(seen == (1u << 12) - 1, "operations 0x%x of 0xfff", seen);
}
END_TEST

UNIT_MAIN("fuzz corpus", every_opcode, every_key_in_pickle_and_json, every_message, every_setting,
          every_category_and_test, every_operation)
