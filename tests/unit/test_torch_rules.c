/* SPDX-License-Identifier: MIT */
/* The rules of sizes, by vectors known from PyTorch, and against the allocator at work. */
#include "allocator/core/allocator.h"
#include "torch/torch_rules.h"

#include "unit.h"

static struct mt_error err;

static struct mt_torch_rules rules_of(const char *conf, mt_torch_release release)
{
    struct mt_conf parsed;
    mt_conf_parse(mt_str_from(conf), release, &parsed);
    ck_assert_msg(parsed.valid, "%s", parsed.error);
    return mt_torch_rules_of(&parsed.settings, release);
}

START_TEST(rounding)
{
    struct mt_torch_rules plain = rules_of("", 211);
    ck_assert_uint_eq(mt_torch_round(&plain, 1), 512);
    ck_assert_uint_eq(mt_torch_round(&plain, 512), 512);
    ck_assert_uint_eq(mt_torch_round(&plain, 513), 1024);
    ck_assert_uint_eq(mt_torch_round(&plain, UINT64_MAX), UINT64_MAX);
    struct mt_torch_rules quarters = rules_of("roundup_power2_divisions:4", 211);
    ck_assert_uint_eq(mt_torch_round(&quarters, 1), 512);
    ck_assert_uint_eq(mt_torch_round(&quarters, 1200), 1536); /* below 512 * 4: plain */
    ck_assert_uint_eq(mt_torch_round(&quarters, 5000000), 5242880);
    ck_assert_uint_eq(mt_torch_round(&quarters, 4 * MT_MIB), 4 * MT_MIB);
    struct mt_torch_rules one = rules_of("roundup_power2_divisions:[2:1,4:4]", 211);
    ck_assert_uint_eq(mt_torch_round(&one, 3 * MT_MIB + 1), 3 * MT_MIB + 512);
    struct mt_torch_rules bypass =
        rules_of("roundup_power2_divisions:4,roundup_bypass_threshold_mb:4", 113);
    ck_assert_uint_eq(mt_torch_round(&bypass, 5000000), 5000192);
}
END_TEST

/* The same request before and after a release that changed what becomes of it. */
START_TEST(rounding_by_release)
{
    struct mt_torch_rules old = rules_of("roundup_power2_divisions:1", 203);
    struct mt_torch_rules new = rules_of("roundup_power2_divisions:1", 204);
    ck_assert_uint_eq(mt_torch_round(&old, 5000000), 5000000);
    ck_assert_uint_eq(mt_torch_round(&new, 5000000), 5000192);
    ck_assert(!mt_torch_rounding_is_plain(&old));
    ck_assert(mt_torch_rounding_is_plain(&new));
}
END_TEST

START_TEST(segments)
{
    struct mt_torch_rules plain = rules_of("", 211);
    const uint64_t cases[][2] = {{1, 2 * MT_MIB},
                                 {MT_MIB, 2 * MT_MIB},
                                 {MT_MIB + 1, 20 * MT_MIB},
                                 {10 * MT_MIB - 512, 20 * MT_MIB},
                                 {10 * MT_MIB, 10 * MT_MIB},
                                 {10 * MT_MIB + 1, 12 * MT_MIB},
                                 {125 * MT_MIB, 126 * MT_MIB},
                                 {UINT64_MAX, UINT64_MAX}};
    for (size_t i = 0; i < MT_COUNT(cases); i++) {
        ck_assert_uint_eq(mt_torch_segment_for(&plain, cases[i][0]), cases[i][1]);
    }
    struct mt_torch_rules halves = rules_of("roundup_power2_divisions:[64:2,128:0]", 211);
    ck_assert_uint_eq(mt_torch_segment_for(&halves, 97 * MT_MIB), 128 * MT_MIB);
    struct mt_torch_rules large = rules_of("large_segment_size_mb:64", 211);
    ck_assert_uint_eq(mt_torch_segment_for(&large, 5 * MT_MIB), 64 * MT_MIB);
    ck_assert_uint_eq(mt_torch_page_size(&large, false), 64 * MT_MIB);
    ck_assert_uint_eq(mt_torch_page_size(&large, true), 2 * MT_MIB);
}
END_TEST

START_TEST(splits)
{
    struct mt_torch_rules plain = rules_of("", 211);
    ck_assert(!mt_torch_splits(&plain, true, 512, 1023));
    ck_assert(mt_torch_splits(&plain, true, 512, 1024));
    ck_assert(!mt_torch_splits(&plain, false, 2 * MT_MIB, 3 * MT_MIB));
    ck_assert(mt_torch_splits(&plain, false, 2 * MT_MIB, 3 * MT_MIB + 512));
    struct mt_torch_rules bound = rules_of("max_split_size_mb:32", 211);
    ck_assert(!mt_torch_splits(&bound, false, 32 * MT_MIB, 50 * MT_MIB));
}
END_TEST

/* ---- against the allocator ---- */

static uint64_t seed;

static uint64_t random_below(uint64_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 24) % n;
}

/* Any magnitude up to a few GiB, and the sizes around the bounds of the rules. */
static uint64_t random_size(void)
{
    static const uint64_t bounds[] = {512,         MT_MIB,      2 * MT_MIB,
                                      10 * MT_MIB, 20 * MT_MIB, 64 * MT_MIB};
    if (random_below(3) == 0) {
        return bounds[random_below(MT_COUNT(bounds))] + random_below(1023) - 511;
    }
    return 1 + random_below((uint64_t)1 << (1 + random_below(32)));
}

static struct mt_alloc_settings random_settings(mt_torch_release release)
{
    struct mt_alloc_settings s;
    mt_alloc_settings_default(&s);
    s.expandable_segments = random_below(3) == 0;
    if (random_below(2)) {
        s.max_split_size = (20 + random_below(200)) * MT_MIB;
    }
    if (random_below(2)) {
        s.max_non_split_rounding = (20 + random_below(100)) * MT_MIB;
    }
    if (release >= 211 && random_below(2)) {
        s.large_segment_size = (11 + random_below(90)) * MT_MIB;
    }
    for (size_t i = 0; random_below(2) && i < MT_ALLOC_INTERVALS; i++) {
        s.roundup_power2_divisions[i] = random_below(2) << random_below(5);
    }
    if (release < 200 && random_below(2)) {
        s.roundup_bypass_threshold = random_below(64) * MT_MIB;
    }
    return s;
}

/* What the allocator took of the device, and as what. */
struct seen {
    uint64_t segment, mapped;
};

static void on_event(void *ctx, const struct mt_alloc_event *e)
{
    struct seen *seen = ctx;
    seen->segment += e->kind == MT_ALLOC_EVENT_SEGMENT_ALLOC ? e->size : 0;
    seen->mapped += e->kind == MT_ALLOC_EVENT_SEGMENT_MAP ? e->size : 0;
}

static uint64_t block_size(const struct mt_alloc *a, mt_alloc_block b)
{
    struct mt_alloc_block_info info;
    mt_alloc_block_get(a, b, &info);
    return info.size;
}

/* The bytes of the block that serves a rounded size out of one of `has`. */
static uint64_t served(const struct mt_torch_rules *t, uint64_t size, uint64_t has)
{
    bool split = mt_torch_splits(t, mt_torch_is_small(size), size, has);
    return split ? size : has;
}

/* A request of an empty allocator: what it takes of the device, and the block it gets. */
static void ask(struct mt_alloc *a, const struct mt_torch_rules *t, struct seen *seen)
{
    uint64_t request = random_size(), size = mt_torch_round(t, request);
    bool small = mt_torch_is_small(size), expandable = t->settings.expandable_segments;
    struct mt_alloc_request r = {.size = request};
    mt_alloc_block b;
    *seen = (struct seen){0, 0};
    ck_assert_int_eq(mt_alloc_allocate(a, &r, NULL, &b, &err), MT_OK);
    uint64_t page = mt_torch_page_size(t, small);
    uint64_t took = expandable ? mt_torch_round_up(size, page) : mt_torch_segment_size(t, size);
    ck_assert_uint_eq(expandable ? seen->mapped : seen->segment, took);
    ck_assert_uint_eq(expandable ? seen->segment : seen->mapped, 0);
    ck_assert_uint_eq(block_size(a, b), served(t, size, took));
    enum mt_alloc_stat_slot slot = small ? MT_SLOT_SMALL : MT_SLOT_LARGE;
    ck_assert_int_eq(mt_alloc_stat(a, MT_STAT_ALLOCATION, slot).current, 1);
    ck_assert_int_eq(mt_torch_grant_is_small(took), small);
    ck_assert(!expandable || mt_torch_range_is_small(t, took) == small);
    ck_assert_int_eq(mt_alloc_free(a, b, 0, &err), MT_OK);
    ck_assert_int_eq(mt_alloc_empty_cache(a, &err), MT_OK);
}

enum { ALLOCATORS = 1000, QUESTIONS = 100 };

START_TEST(allocator_agrees)
{
    static const mt_torch_release releases[] = {113, 200, 203, 204, 206, 211, 212, 213};
    for (int i = 0; i < ALLOCATORS; i++) {
        mt_torch_release release = releases[random_below(MT_COUNT(releases))];
        struct seen seen;
        struct mt_device_sim *sim = mt_device_sim_new(
            &(struct mt_device_sim_options){.total = 80 * MT_GIB, .capacity = 80 * MT_GIB});
        struct mt_alloc_options o = {.settings = random_settings(release),
                                     .release = release,
                                     .device = mt_device_sim_device(sim),
                                     .observer = {on_event, &seen}};
        struct mt_torch_rules t = mt_torch_rules_of(&o.settings, release);
        struct mt_alloc *a;
        ck_assert_int_eq(mt_alloc_new(&o, &a, &err), MT_OK);
        for (int k = 0; k < QUESTIONS; k++) {
            ask(a, &t, &seen);
        }
        mt_alloc_delete(a);
        mt_device_sim_free(sim);
    }
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("all");
    tcase_add_test(t, rounding);
    tcase_add_test(t, rounding_by_release);
    tcase_add_test(t, segments);
    tcase_add_test(t, splits);
    tcase_add_test(t, allocator_agrees);
    tcase_set_timeout(t, 60);
    return unit_run_cases("torch_rules", t);
}
