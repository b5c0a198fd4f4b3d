/* SPDX-License-Identifier: MIT */
/* Where room for a request was: the cache against what is missing, limits, segments, rounding. */
#include "triage/rules/room.h"

#include "unit.h"

#define MIB ((uint64_t)1 << 20)
#define NO UINT64_MAX

/* Sizes in MiB; NO: not printed. */
struct room_case {
    enum mt_room_kind kind;
    uint64_t free, requested, allocated, unallocated, allowed;
    const char *missing;
};

static void put(struct mt_incident *i, enum mt_oom_field f, uint64_t mib)
{
    if (mib != NO) {
        mt_oom_set(&i->numbers, f, mib * MIB);
    }
}

static struct mt_incident incident_of(const struct room_case *c, const char *format)
{
    struct mt_incident i = {.format = format, .framework = "torch", .backend = "cuda"};
    put(&i, MT_OOM_FREE, c->free);
    put(&i, MT_OOM_REQUESTED, c->requested);
    put(&i, MT_OOM_ALLOCATED, c->allocated);
    put(&i, MT_OOM_UNALLOCATED, c->unallocated);
    put(&i, MT_OOM_ALLOWED, c->allowed);
    put(&i, MT_OOM_RESERVED,
        c->allocated == NO ? NO : c->allocated + (c->unallocated == NO ? 0 : c->unallocated));
    put(&i, MT_OOM_TOTAL, 80000);
    return i;
}

START_TEST(by_figures)
{
    static const struct room_case CASES[] = {
        {MT_ROOM_SCATTERED, 1741, 1925, 22170, 280, NO, "about 184 MiB"},
        {MT_ROOM_SCATTERED, 18, 20, 15206, 278, NO, "2.00 MiB"},
        {MT_ROOM_SHORT, 321, 572, 36905, 250, NO, "251.00 MiB"},
        {MT_ROOM_SCATTERED, 1700, 1925, 22170, 218, NO, "about 225 MiB"}, /* by rounding */
        {MT_ROOM_SHORT, 1700, 1925, 22170, 200, NO, "about 225 MiB"},
        {MT_ROOM_SHORT, 0, 192, 3000, 0, NO, "192.00 MiB"},
        {MT_ROOM_FREE, 4301, 4291, 40806, 41, NO, "a few MiB"},
        {MT_ROOM_UNKNOWN, 98, 640, 14000, NO, NO, "542.00 MiB"},
        {MT_ROOM_UNKNOWN, NO, 640, 14000, 900, NO, "0 B"},
        {MT_ROOM_SCATTERED, 30000, 1536, 36864, 3277, 40581, "about 1.07 GiB"}, /* to the limit */
        {MT_ROOM_SHORT, 30000, 1536, 39864, 277, 40581, "about 1.07 GiB"},
        {MT_ROOM_FREE, 30000, 1536, 36864, 3277, 80000, "a few MiB"}, /* no limit at all */
    };
    for (size_t c = 0; c < MT_COUNT(CASES); c++) {
        struct mt_incident i = incident_of(&CASES[c], "torch-2.5+");
        struct mt_room r = mt_room_of(&i);
        ck_assert_msg(r.kind == CASES[c].kind, "case %zu: %d", c, (int)r.kind);
        ck_assert_str_eq(mt_room_missing(&r).s, CASES[c].missing);
    }
}
END_TEST

/* A snapshot tells the request; what is needed is the segment for it. */
START_TEST(segments)
{
    struct room_case c = {MT_ROOM_SCATTERED, 12, 5, 100, 30, NO, ""};
    struct mt_incident i = incident_of(&c, "snapshot");
    i.segment = 20 * MIB;
    struct mt_room r = mt_room_of(&i);
    ck_assert_uint_eq(r.need, 20 * MIB);
    ck_assert_uint_eq(r.missing, 8 * MIB);
    ck_assert_int_eq(r.kind, MT_ROOM_SCATTERED);
    ck_assert_uint_eq(mt_room_spare(&r), 22 * MIB);
    i.cache_counts = true; /* the driver's calls were recorded: no segments, and no holes */
    r = mt_room_of(&i);
    ck_assert_uint_eq(r.need, 5 * MIB);
    ck_assert_int_eq(r.kind, MT_ROOM_FREE);
}
END_TEST

UNIT_MAIN("room", by_figures, segments)
