/* SPDX-License-Identifier: MIT */
/* Pieces of reserved memory: cut where mappings meet, and at every event as much as is reserved. */
#include <stdlib.h>

#include "snapshot/read/read.h"
#include "heap/walk/replay.h"

#include "verbs/plots/page/page_pieces.h"

#include "same_model.h"
#include "unit.h"

static struct mt_snapshot read_file(const char *name)
{
    struct mt_read_options o = {0};
    struct mt_snapshot s;
    struct mt_error err;
    size_t n;
    unsigned char *p = read_testdata(name, &n);
    ck_assert_int_eq(mt_snapshot_read_memory(p, n, 0, &o, &s, &err), MT_OK);
    free(p);
    return s;
}

static uint64_t bytes_at(const struct mt_page_pieces *p, size_t event)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < p->v.n; i++) {
        if (p->v.v[i].from <= event && event < p->v.v[i].to) {
            bytes += p->v.v[i].size;
        }
    }
    return bytes;
}

/* The pieces at each event add up to what the replay says is reserved. */
START_TEST(pieces_add_up)
{
    static const char *const names[] = {
        "good/graphs.pickle",       "good/streams.pickle",
        "good/true_oom.pickle",     "good/transformer.pickle.gz",
        "good/frag_oom.pickle",     "good/expandable_transformer.pickle.gz",
        "good/context_ring3.pickle"};
    for (size_t f = 0; f < MT_COUNT(names); f++) {
        struct mt_snapshot s = read_file(names[f]);
        struct mt_page_pieces p = {0};
        struct mt_replay r;
        struct mt_step at;
        struct mt_error err;
        ck_assert_int_eq(mt_page_pieces_find(&p, &s, 0, &err), MT_OK);
        ck_assert_int_eq(mt_replay_init(&r, &s, 0, &err), MT_OK);
        mt_replay_begin(&r, &at);
        while (mt_replay_next(&r, &at)) {
            if (at.index % 37 == 0 || at.index + 1 == r.n) {
                ck_assert_msg(bytes_at(&p, at.index) == at.reserved_bytes,
                              "%s, event %zu: %llu of %llu bytes", names[f], at.index,
                              (unsigned long long)bytes_at(&p, at.index),
                              (unsigned long long)at.reserved_bytes);
            }
        }
        mt_replay_release(&r);
        mt_vec_release(&p.v);
        mt_snapshot_release(&s);
    }
}
END_TEST

/* Pages of the small pool stay its own where one unmapping takes several. */
START_TEST(pools_of_unmapped_pages)
{
    struct mt_snapshot s = read_file("good/small_pool_unmap.pickle");
    struct mt_page_pieces p = {0};
    struct mt_error err;
    ck_assert_int_eq(mt_page_pieces_find(&p, &s, 0, &err), MT_OK);
    ck_assert_uint_eq(p.v.n, 3);
    for (size_t i = 0; i < p.v.n; i++) {
        ck_assert(!p.v.v[i].large);
    }
    mt_vec_release(&p.v);
    mt_snapshot_release(&s);
}
END_TEST

UNIT_MAIN("page_pieces", pieces_add_up, pools_of_unmapped_pages)
