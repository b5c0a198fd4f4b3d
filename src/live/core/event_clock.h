/* SPDX-License-Identifier: MIT */
/*
 * The time of events. Asking the system costs 25 to 40 ns, which is a tenth of what recording an
 * event may cost; so between two askings, at most 10 ms apart, the processor's counter is read,
 * at the rate that it had between the last two. Times never go back.
 */
#ifndef MEMTOOL_LIVE_CORE_EVENT_CLOCK_H
#define MEMTOOL_LIVE_CORE_EVENT_CLOCK_H

#include <stdint.h>

struct mt_event_clock { /* zeroed: not yet asked */
    int64_t now_us;     /* what was given last; since the Unix epoch */
    int64_t asked_us;   /* the system's answer */
    uint64_t asked_at;  /* the counter then */
    uint64_t span;      /* counts after which the system is asked again; 0: always */
    uint64_t rate;      /* microseconds a count, times 2^32 */
};

/* The time now, microseconds since the Unix epoch. */
int64_t mt_event_clock_now(struct mt_event_clock *c);

/* The same from a counter and an answer of the system, for tests. */
void mt_event_clock_ask(struct mt_event_clock *c, uint64_t counter, int64_t system_us);
int64_t mt_event_clock_at(struct mt_event_clock *c, uint64_t counter);

#endif
