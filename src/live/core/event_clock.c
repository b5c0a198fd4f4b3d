/* SPDX-License-Identifier: MIT */
/* A counter whose rate is measured as it goes; where there is none, the system's clock. */
#include "live/core/event_clock.h"

#include <stdbool.h>
#include <time.h>

#include "support/compiler.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum { SPAN_US = 10000 };

static uint64_t counter_now(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#else
    return 0; /* then no rate is ever found */
#endif
}

static int64_t system_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* A pause of the program tells as much of the rate as work does, but a counter that ran back (on
 * another socket) or a system clock that was set tells nothing. */
void mt_event_clock_ask(struct mt_event_clock *c, uint64_t counter, int64_t us)
{
    uint64_t counts = counter - c->asked_at;
    int64_t passed = us - c->asked_us;
    bool known = c->asked_us != 0 && passed >= SPAN_US && passed < (int64_t)1 << 31 &&
                 counts < (uint64_t)1 << 62 && counts / 64 > (uint64_t)passed;
    if (c->asked_us == 0 || passed >= SPAN_US || passed < 0) {
        c->rate = known ? (uint64_t)(4294967296.0 * (double)passed / (double)counts) : 0;
        c->span = known ? (uint64_t)((double)counts * SPAN_US / (double)passed) : 0;
        c->asked_us = us;
        c->asked_at = counter;
    }
    c->now_us = us > c->now_us ? us : c->now_us;
}

int64_t mt_event_clock_at(struct mt_event_clock *c, uint64_t counter)
{
    int64_t us = c->asked_us + (int64_t)((counter - c->asked_at) * c->rate >> 32);
    c->now_us = us > c->now_us ? us : c->now_us;
    return c->now_us;
}

MT_HOT int64_t mt_event_clock_now(struct mt_event_clock *c)
{
    uint64_t counter = counter_now();
    if (MT_LIKELY(counter - c->asked_at < c->span)) {
        return mt_event_clock_at(c, counter);
    }
    mt_event_clock_ask(c, counter, system_us());
    return c->now_us;
}
