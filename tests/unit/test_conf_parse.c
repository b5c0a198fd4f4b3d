/* SPDX-License-Identifier: MIT */
/* Settings strings and what each release makes of them; those of 2.11 were tried out. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "verbs/conf/conf_explain.h"

static struct mt_conf conf;

static void parse(const char *text, mt_torch_release release)
{
    mt_conf_parse(mt_str_from(text), release, &conf);
}

static void valid(const char *text, mt_torch_release release)
{
    parse(text, release);
    ck_assert_msg(conf.valid, "'%s' for %d: %s", text, release, conf.error);
}

static void refused(const char *text, mt_torch_release release, const char *error)
{
    parse(text, release);
    ck_assert_msg(!conf.valid, "'%s' for %d is accepted", text, release);
    ck_assert_str_eq(conf.error, error);
}

START_TEST(releases)
{
    mt_torch_release r;
    ck_assert(mt_torch_release_parse(MT_STR("2.11.0+cu130"), &r) && r == 211);
    ck_assert(mt_torch_release_parse(MT_STR("v1.13"), &r) && r == 113);
    ck_assert(mt_torch_release_parse(MT_STR("12.4"), &r) && r == 1204);
    ck_assert(!mt_torch_release_parse(MT_STR("2"), &r));
    ck_assert(!mt_torch_release_parse(MT_STR("2."), &r));
    ck_assert(!mt_torch_release_parse(MT_STR("2.6x"), &r));
    ck_assert(!mt_torch_release_parse(MT_STR(""), &r));
}
END_TEST

START_TEST(what_211_answers)
{
    valid("", 211);
    ck_assert_uint_eq(conf.settings.max_split_size, UINT64_MAX);
    valid("max_split_size_mb:20", 211);
    ck_assert_uint_eq(conf.settings.max_split_size, 20971520);
    refused("max_split_size_mb:19", 211,
            "CachingAllocator option max_split_size_mb too small, must be >= 20");
    valid("max_split_size_mb:-1", 211);
    ck_assert_int_eq((int64_t)conf.settings.max_split_size, -1048576);
    refused("max_split_size_mb:abc", 211, "stoull");
    refused("max_split_size_mb:1.5", 211,
            "CachingAllocator option max_split_size_mb too small, must be >= 20");
    valid("max_split_size_mb:128,", 211);
    ck_assert(conf.trailing_comma);
    valid("max_split_size_mb:128,max_split_size_mb:256", 211);
    ck_assert_uint_eq(conf.settings.max_split_size, 268435456);
    ck_assert_uint_eq(conf.repeated, 1u << MT_CONF_MAX_SPLIT_SIZE);
    refused("MAX_SPLIT_SIZE_MB:128", 211,
            "Unrecognized key 'MAX_SPLIT_SIZE_MB' in CUDA allocator config.");
    refused("garbage_collection_threshold:1", 211,
            "garbage_collect_threshold is invalid, set it in (0.0, 1.0)");
    refused("expandable_segments:1", 211,
            "Expected 'True' or 'False' at index 2 in ConfigTokenizer but got '1'");
    refused("roundup_power2_divisions:0", 211, "For roundups, the divisions has to be power of 2 ");
    refused("backend:foo", 211,
            "Unknown allocator backend, options are native and cudaMallocAsync");
    refused("pinned_num_register_threads:3", 211,
            "Number of register threads has to be power of 2, got 3");
    refused("per_process_memory_fraction:2", 211,
            "per_process_memory_fraction is invalid, set it in [0.0, 1.0]");
    refused("large_segment_size_mb:1", 211,
            "CachingAllocator option large_segment_size_mb must be > 10 MB");
    valid(" max_split_size_mb : 1 28 ", 211);
    ck_assert_uint_eq(conf.settings.max_split_size, 128 * MT_MIB);
    valid("max_split_size_mb:64MB", 211);
    ck_assert(conf.junk_after_number);
}
END_TEST

START_TEST(what_kills_the_process)
{
    static const char *const texts[] = {
        "expandable_segments", "roundup_power2_divisions:[256:1,512:2",
        "max_split_size_mb:128 garbage_collection_threshold:0.8", "max_split_size_mb:"};
    for (size_t i = 0; i < MT_COUNT(texts); i++) {
        parse(texts[i], 211);
        ck_assert_msg(!conf.valid && conf.dies, "%s", texts[i]);
    }
}
END_TEST

static void table(const char *text, mt_torch_release release, const uint64_t *want)
{
    valid(text, release);
    for (size_t i = 0; i < MT_ALLOC_INTERVALS; i++) {
        ck_assert_msg(conf.settings.roundup_power2_divisions[i] == want[i], "%s: interval %zu",
                      text, i);
    }
}

START_TEST(rounding_lists)
{
    const uint64_t later[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 8, 8, 8, 8, 8};
    const uint64_t before[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 8, 8, 8, 8, 8, 8};
    const uint64_t alone[] = {0, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8};
    const uint64_t turned[] = {2, 2, 2, 2, 2, 2, 2, 2, 1, 4, 4, 4, 4, 4, 4, 4};
    const uint64_t none[MT_ALLOC_INTERVALS] = {0};
    table("roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", 211, later);
    table("roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", 209, before);
    table("roundup_power2_divisions:[>:8]", 211, alone);
    table("roundup_power2_divisions:[512:2,256:1,>:4]", 211, turned);
    table("roundup_power2_divisions:[]", 211, none);
    refused("roundup_power2_divisions:[300:2]", 211,
            "For roundups, the intervals have to be power of 2 ");
    refused("roundup_power2_divisions:[256:3]", 211,
            "For roundups, the divisions has to be power of 2 or 0 to disable roundup ");
}
END_TEST

START_TEST(older_releases)
{
    refused("max_split_size_mb:20", 206,
            "CachingAllocator option max_split_size_mb too small, must be > 20");
    valid("max_split_size_mb:21", 206);
    refused("expandable_segments:True", 200,
            "Unrecognized CachingAllocator option: expandable_segments");
    refused("max_non_split_rounding_mb:64", 205,
            "Unrecognized CachingAllocator option: max_non_split_rounding_mb");
    refused("max_split_size_mb:99999999999", 206, "stoi");
    refused("roundup_power2_divisions:[256:1]", 113,
            "Error parsing CachingAllocator settings, expected key:value");
    valid("max_split_size_mb:64 garbage_collection_threshold:0.8", 113);
}
END_TEST

START_TEST(large_segment_comes_first)
{
    valid("max_split_size_mb:40,large_segment_size_mb:32", 211);
    ck_assert_uint_eq(conf.settings.large_segment_size, 32 * MT_MIB);
    ck_assert_uint_eq(conf.settings.max_non_split_rounding, 32 * MT_MIB);
    refused("max_split_size_mb:30,large_segment_size_mb:32", 211,
            "CachingAllocator option max_split_size_mb too small, must be >= 32");
}
END_TEST

START_TEST(hostile_text)
{
    char text[4096];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    parse(text, 211);
    ck_assert(!conf.valid);
    memset(text, '[', sizeof text - 1);
    parse(text, 211);
    ck_assert(!conf.valid);
    mt_conf_parse((struct mt_str){"max_split_size_mb:6\0004", 21}, 211, &conf);
    ck_assert(!conf.valid || conf.settings.max_split_size < 64 * MT_MIB);
}
END_TEST

/* ---- warnings, variables, texts ---- */

static bool warned(const char *text, mt_torch_release release, const char *id)
{
    struct mt_conf_origin origin = {0};
    struct mt_conf_warnings w;
    parse(text, release);
    mt_conf_warn(mt_str_from(text), &conf, release, &origin, &w);
    for (size_t i = 0; i < w.n; i++) {
        if (strcmp(w.v[i].id, id) == 0) {
            return true;
        }
    }
    return false;
}

START_TEST(warnings)
{
    ck_assert(warned("garbage_collection_threshold:0.8", 211, "gc_without_fraction"));
    ck_assert(!warned("garbage_collection_threshold:0.8,per_process_memory_fraction:0.5", 211,
                      "gc_without_fraction"));
    ck_assert(warned("backend:cudaMallocAsync,max_split_size_mb:64", 211, "ignored_by_async"));
    ck_assert(!warned("backend:cudaMallocAsync", 211, "ignored_by_async"));
    ck_assert(warned("max_split_size:128", 211, "did_you_mean"));
    ck_assert(warned("expandable_segments:True", 200, "not_in_this_release"));
    ck_assert(
        warned("expandable_segments:True,max_split_size_mb:64", 211, "expandable_with_max_split"));
    ck_assert(warned("roundup_power2_divisions:[256:1,>:8]", 211, "reads_differently"));
    ck_assert(warned("max_non_split_rounding_mb:64", 211, "rounding_without_max_split"));
    ck_assert(!warned("max_split_size_mb:64", 211, "refused_elsewhere"));
}
END_TEST

START_TEST(the_variable_that_wins)
{
    const char *values[MT_CONF_VARIABLE_COUNT] = {
        [MT_CONF_VARIABLE_CUDA] = "a:b", [MT_CONF_VARIABLE_ANY] = "c:d"};
    ck_assert_int_eq(mt_conf_variable_read(208, values), MT_CONF_VARIABLE_CUDA);
    ck_assert_int_eq(mt_conf_variable_read(210, values), MT_CONF_VARIABLE_ANY);
    ck_assert_int_eq(mt_conf_variable_read(212, values), MT_CONF_VARIABLE_CUDA);
    values[MT_CONF_VARIABLE_CUDA] = NULL;
    ck_assert_int_eq(mt_conf_variable_read(208, values), MT_CONF_VARIABLE_COUNT);
}
END_TEST

static void finds(const char *text, const char *want)
{
    struct mt_str found;
    enum mt_conf_variable v;
    bool some = mt_conf_find(mt_str_from(text), &found, &v);
    ck_assert_msg(some == (want != NULL), "%s", text);
    if (want) {
        ck_assert_msg(mt_str_equal(found, mt_str_from(want)), "%.*s", (int)found.n, found.p);
    }
}

START_TEST(settings_in_texts)
{
    finds("export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64\npython x.py",
          "max_split_size_mb:64");
    finds("env: {'PYTORCH_CUDA_ALLOC_CONF': 'expandable_segments:True', 'A': 'b'}",
          "expandable_segments:True");
    finds("os.environ[\"PYTORCH_ALLOC_CONF\"] = \"backend:native\"", "backend:native");
    finds(
        "If reserved memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True "
        "to avoid fragmentation.",
        NULL);
    finds("See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF", NULL);
    finds("MY_PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64", NULL);
}
END_TEST

static void pasted(const char *text, const char *variable, const char *want)
{
    struct mt_str found;
    const char *name;
    mt_conf_unassign(mt_str_from(text), &found, &name);
    ck_assert_msg(mt_str_equal(found, mt_str_from(want)), "%s: %.*s", text, (int)found.n, found.p);
    ck_assert_msg(name ? variable && strcmp(name, variable) == 0 : !variable, "%s", text);
}

START_TEST(settings_as_they_are_pasted)
{
    static const char CUDA[] = "PYTORCH_CUDA_ALLOC_CONF", M[] = "max_split_size_mb:128";
    pasted("max_split_size_mb:128", NULL, M);
    pasted("'max_split_size_mb:128'", NULL, "'max_split_size_mb:128'"); /* as PyTorch reads it */
    pasted("max_split_size_mb:128, backend:native", NULL, "max_split_size_mb:128, backend:native");
    pasted("PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128", CUDA, M);
    pasted("export PYTORCH_CUDA_ALLOC_CONF='max_split_size_mb:128';", CUDA, M);
    pasted("PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128 python train.py", CUDA, M);
    pasted("PYTORCH_CUDA_ALLOC_CONF: max_split_size_mb:128", CUDA, M);
    pasted("os.environ[\"PYTORCH_ALLOC_CONF\"] = \"max_split_size_mb:128\"", "PYTORCH_ALLOC_CONF",
           M);
    pasted("ENV PYTORCH_HIP_ALLOC_CONF max_split_size_mb:128", "PYTORCH_HIP_ALLOC_CONF", M);
    pasted("$env:PYTORCH_CUDA_ALLOC_CONF=\"max_split_size_mb:128\"", CUDA, M);
    pasted("MEMTOOL_ALLOC_CONF=max_split_size_mb:128", "MEMTOOL_ALLOC_CONF", M);
    pasted("PYTORCH_CUDA_ALLOC_CONF=a:1, b:[1:2, >:3] python", CUDA, "a:1, b:[1:2, >:3]");
    pasted("PYTORCH_CUDA_ALLOC_CONF=\"a:1 b:2\"", CUDA, "a:1 b:2");
    pasted("PYTORCH_CUDA_ALLOC_CONF=", CUDA, "");
    pasted("", NULL, "");
}
END_TEST

UNIT_MAIN("conf_parse", settings_as_they_are_pasted, releases, what_211_answers,
          what_kills_the_process, rounding_lists, older_releases, large_segment_comes_first,
          hostile_text, warnings, the_variable_that_wins, settings_in_texts)
