/* SPDX-License-Identifier: MIT */
/* The clock of events: what it says between two askings of the system, and when it asks. */
#include "unit.h"

#include <time.h>

#include "live/core/event_clock.h"

enum { COUNTS_A_US = 3000 };
static const int64_t START = 1700000000000000;

START_TEST(between_two_askings_the_counter_tells)
{
    struct mt_event_clock c = {0};
    const uint64_t at = 77;
    mt_event_clock_ask(&c, at, START);
    ck_assert_uint_eq(c.span, 0); /* one answer is no rate */
    mt_event_clock_ask(&c, at + 5000 * COUNTS_A_US, START + 5000);
    ck_assert_uint_eq(c.span, 0); /* too soon to be exact */
    ck_assert_int_eq(c.now_us, START + 5000);
    mt_event_clock_ask(&c, at + (uint64_t)20000 * COUNTS_A_US, START + 20000);
    ck_assert_uint_eq(c.span, (uint64_t)10000 * COUNTS_A_US);
    int64_t us = mt_event_clock_at(&c, at + (uint64_t)29000 * COUNTS_A_US);
    ck_assert_int_ge(us, START + 28999);
    ck_assert_int_le(us, START + 29000);
}
END_TEST

START_TEST(times_never_go_back)
{
    struct mt_event_clock c = {0};
    mt_event_clock_ask(&c, 0, START);
    mt_event_clock_ask(&c, (uint64_t)20000 * COUNTS_A_US, START + 20000);
    int64_t us = mt_event_clock_at(&c, (uint64_t)29000 * COUNTS_A_US);
    ck_assert_int_eq(mt_event_clock_at(&c, (uint64_t)28000 * COUNTS_A_US), us);
    mt_event_clock_ask(&c, (uint64_t)30000 * COUNTS_A_US,
                       START - 5); /* the system's was set back */
    ck_assert_int_eq(c.now_us, us);
    ck_assert_uint_eq(c.span, 0);
    mt_event_clock_ask(&c, 5, START + 60000); /* another processor's counter */
    ck_assert_uint_eq(c.span, 0);
    ck_assert_int_eq(c.now_us, START + 60000);
}
END_TEST

START_TEST(it_follows_the_system)
{
    struct mt_event_clock c = {0};
    for (int i = 0; i < 200; i++) {
        struct timespec now;
        int64_t us = mt_event_clock_now(&c);
        clock_gettime(CLOCK_REALTIME, &now);
        int64_t truth = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
        ck_assert_int_le(us, truth + 1000);
        ck_assert_int_ge(us, truth - 200000); /* this process may have been put off its core */
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
}
END_TEST

UNIT_MAIN("live clock", between_two_askings_the_counter_tells, times_never_go_back,
          it_follows_the_system)
