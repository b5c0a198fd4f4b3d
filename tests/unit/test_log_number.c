/* SPDX-License-Identifier: MIT */
/* Sizes in squeezed text. */
#include "triage/log/log_number.h"

#include "unit.h"

static const struct {
    const char *text;
    uint64_t unit;
    size_t length;
    uint64_t bytes;
} AT[] = {
    {"12.50mib(gpu0", 0, 8, 13107200},
    {"10.92gibtotal", 0, 8, 11725260718u},
    {"1024bytesis", 0, 9, 1024},
    {"0bytesfree", 0, 6, 0},
    {"195.50kib", 0, 9, 200192},
    {"7.43gb,", 0, 6, 7977901752u},
    {"10.76g(", 0, 6, 11553462026u},
    {"20.13gof", 0, 0, 0}, /* a lone letter that runs into a word is no unit */
    {"25,600,000bytes", 0, 15, 25600000},
    {"1,2", MT_LOG_B, 1, 1}, /* no thousands */
    {"3.621826gb", 0, 10, 3888906055u},
    {"6291456bytes.", MT_LOG_B, 12, 6291456},
    {"6291456", MT_LOG_B, 7, 6291456},
    {"6291456", 0, 0, 0},
    {"31.44/47", MT_GIB, 5, 33758442946u},
    {"2.ab", MT_LOG_B, 1, 2},
    {"gib", 0, 0, 0},
    {"", MT_LOG_B, 0, 0},
};

START_TEST(reading)
{
    for (size_t i = 0; i < MT_COUNT(AT); i++) {
        struct mt_log_size s = mt_log_size_at(mt_str_from(AT[i].text), AT[i].unit);
        ck_assert_msg(s.length == AT[i].length && s.bytes == AT[i].bytes, "%s: %zu, %llu",
                      AT[i].text, s.length, (unsigned long long)s.bytes);
    }
}
END_TEST

START_TEST(not_a_value)
{
    struct mt_log_size s = mt_log_size_at(MT_STR("17179869184.00gib"), 0);
    ck_assert(s.length > 0 && s.bytes >= MT_LOG_NONSENSE);
    s = mt_log_size_at(MT_STR("99999999999999999999999bytes"), 0);
    ck_assert(s.length > 0 && s.bytes >= MT_LOG_NONSENSE);
}
END_TEST

START_TEST(backwards)
{
    ck_assert_uint_eq(mt_log_size_before(MT_STR("(gpu0;7.79gib"), 0).bytes, 8364448808u + 0u);
    ck_assert_uint_eq(mt_log_size_before(MT_STR("x1.00kib"), 0).bytes, 1024);
    ck_assert_uint_eq(mt_log_size_before(MT_STR("1,2.00gib"), 0).bytes, 2ull << 30);
    ck_assert_uint_eq(mt_log_size_before(MT_STR("gib"), 0).length, 0);
    ck_assert_uint_eq(mt_log_size_before(MT_STR(""), 0).length, 0);
}
END_TEST

UNIT_MAIN("log_number", reading, not_a_value, backwards)
