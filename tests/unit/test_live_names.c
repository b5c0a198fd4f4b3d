/* SPDX-License-Identifier: MIT */
/* No snapshot of a process overwrites another of a different moment. */
#include "unit.h"

#include "live/snapshot_names.h"

static void next(struct mt_snapshot_names *n, const char *path, enum mt_snapshot_why why,
                 const char *expected, bool is_new)
{
    char name[64];
    ck_assert(mt_snapshot_names_next(n, path, why, name, sizeof name));
    ck_assert_str_eq(name, expected);
    ck_assert_int_eq(mt_snapshot_names_add(n, why), is_new);
}

START_TEST(all_are_kept)
{
    struct mt_snapshot_names n = {0};
    next(&n, "run.pickle", MT_SNAPSHOT_SIGNAL, "run.pickle", true);
    next(&n, "run.pickle", MT_SNAPSHOT_SIGNAL, "run.signal.2.pickle", true);
    next(&n, "run.pickle", MT_SNAPSHOT_OOM, "run.oom.pickle", true);
    next(&n, "run.pickle", MT_SNAPSHOT_OOM, "run.oom.pickle", false);
    next(&n, "run.pickle", MT_SNAPSHOT_TERM, "run.term.pickle", true);
    next(&n, "run.pickle", MT_SNAPSHOT_SIGNAL, "run.signal.3.pickle", true);
    next(&n, "run.pickle", MT_SNAPSHOT_EXIT, "run.exit.pickle", true);
}
END_TEST

START_TEST(the_newest_of_those_that_come_by_themselves)
{
    struct mt_snapshot_names n = {0};
    next(&n, "run.pickle", MT_SNAPSHOT_CLOCK, "run.pickle", true);
    next(&n, "run.pickle", MT_SNAPSHOT_CLOCK, "run.pickle", false);
    next(&n, "run.pickle", MT_SNAPSHOT_OOM, "run.oom.pickle", true);
    next(&n, "run.pickle", MT_SNAPSHOT_CLOCK, "run.pickle", false);
    n = (struct mt_snapshot_names){0};
    next(&n, "run.pickle", MT_SNAPSHOT_OOM, "run.pickle", true);
    next(&n, "run.pickle", MT_SNAPSHOT_OOM, "run.pickle", false);
    next(&n, "run.pickle", MT_SNAPSHOT_EXIT, "run.exit.pickle", true);
}
END_TEST

START_TEST(suffixes)
{
    struct mt_snapshot_names n = {0};
    char small[12];
    next(&n, "a", MT_SNAPSHOT_OOM, "a", true);
    next(&n, "a", MT_SNAPSHOT_EXIT, "a.exit", true);
    next(&n, "a.b/c", MT_SNAPSHOT_EXIT, "a.b/c.exit.2", true);
    next(&n, "a.b/c-%r.pickle", MT_SNAPSHOT_TERM, "a.b/c-%r.term.pickle", true);
    ck_assert(mt_snapshot_names_next(&n, "a", MT_SNAPSHOT_SIGNAL, small, 9)); /* a.signal */
    ck_assert(!mt_snapshot_names_next(&n, "a", MT_SNAPSHOT_SIGNAL, small, 8));
}
END_TEST

UNIT_MAIN("names of snapshots", all_are_kept, the_newest_of_those_that_come_by_themselves, suffixes)
