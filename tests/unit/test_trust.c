/* SPDX-License-Identifier: MIT */
/* The facts of the trust banner, and which PyTorch wrote a file. */
#include "snapshot/model/era.h"
#include "heap/sums/trust.h"

#include "make.h"
#include "unit.h"

static struct make m;
static struct mt_totals totals;
static struct mt_trust trust;
static struct mt_error err;

static void look(void)
{
    make_end(&m);
    ck_assert_int_eq(mt_totals_find(&totals, &m.s, &m.all, 0, &err), MT_OK);
    ck_assert_int_eq(mt_trust_find(&trust, &m.s, &totals, &err), MT_OK);
}

static void done(void)
{
    mt_trust_release(&trust);
    mt_totals_release(&totals);
    make_free(&m);
}

static void clean_state(void)
{
    make_segment(&m, 4096, 0);
    make_block(&m, 512, MT_BLOCK_ALLOCATED, 500, make_stack(&m, "a.py", 1, "f"));
}

START_TEST(nothing_to_say)
{
    make_begin(&m);
    m.time_us = 1;
    make_event(&m, MT_ACTION_SEGMENT_ALLOC, 4096, 512, 0);
    make_event(&m, MT_ACTION_ALLOC, 4096, 500, make_stack(&m, "a.py", 1, "f"));
    clean_state();
    look();
    ck_assert_uint_eq(trust.facts.n, 0);
    done();
}
END_TEST

START_TEST(no_history_no_frames)
{
    make_begin(&m);
    make_segment(&m, 4096, 0);
    make_block(&m, 512, MT_BLOCK_ALLOCATED, 500, 0);
    look();
    ck_assert(mt_trust_has(&trust, MT_TRUST_NO_HISTORY));
    ck_assert(mt_trust_has(&trust, MT_TRUST_NO_FRAMES));
    ck_assert(!mt_trust_has(&trust, MT_TRUST_NO_TIMES));
    done();
}
END_TEST

START_TEST(state_only)
{
    make_begin(&m);
    make_event(&m, MT_ACTION_FREE_COMPLETED, 9000, 1, 0);
    clean_state();
    look();
    ck_assert(mt_trust_has(&trust, MT_TRUST_STATE_ONLY));
    ck_assert(!mt_trust_has(&trust, MT_TRUST_STARTS_LATE));
    done();
}
END_TEST

START_TEST(late_and_overflown)
{
    make_begin(&m);
    make_event(&m, MT_ACTION_ALLOC, 9000, 1, 0);
    make_event(&m, MT_ACTION_FREE_COMPLETED, 9000, 1, 0);
    clean_state();
    look();
    ck_assert(mt_trust_has(&trust, MT_TRUST_STARTS_LATE));
    ck_assert(mt_trust_has(&trust, MT_TRUST_NO_TIMES));
    ck_assert_uint_eq(trust.facts.v[0].count, 1);
    ck_assert_uint_eq(trust.facts.v[0].bytes, 500);
    done();
    make_begin(&m); /* the second half of a free comes first */
    make_event(&m, MT_ACTION_FREE_COMPLETED, 9000, 1, 0);
    make_event(&m, MT_ACTION_ALLOC, 9000, 1, 0);
    clean_state();
    look();
    ck_assert(mt_trust_has(&trust, MT_TRUST_RING_OVERFLOW));
    done();
    make_begin(&m); /* a round number of events */
    for (int i = 0; i < 500; i++) {
        make_event(&m, MT_ACTION_ALLOC, 9000, 1, 0);
        make_event(&m, MT_ACTION_FREE_COMPLETED, 9000, 1, 0);
    }
    clean_state();
    look();
    ck_assert(mt_trust_has(&trust, MT_TRUST_RING_OVERFLOW));
    done();
}
END_TEST

START_TEST(sums_and_overlap)
{
    make_begin(&m);
    clean_state();
    m.segment.active_size += 1;
    make_segment(&m, 4096 + 256, 0);
    make_block(&m, 512, MT_BLOCK_INACTIVE, 0, 0);
    look();
    ck_assert(mt_trust_has(&trust, MT_TRUST_SUMS));
    ck_assert(mt_trust_has(&trust, MT_TRUST_OVERLAP));
    ck_assert(mt_trust_limits(MT_TRUST_SUMS) && !mt_trust_limits(MT_TRUST_UNKNOWN_KEYS));
    ck_assert_str_eq(mt_trust_word(MT_TRUST_SUMS), "sums_do_not_add_up");
    done();
}
END_TEST

START_TEST(times_backwards)
{
    make_begin(&m);
    m.time_us = 9;
    make_event(&m, MT_ACTION_SEGMENT_ALLOC, 4096, 512, 0);
    m.time_us = 3;
    make_event(&m, MT_ACTION_ALLOC, 4096, 500, 0);
    clean_state();
    look();
    ck_assert(mt_trust_has(&trust, MT_TRUST_TIMES_BACKWARDS));
    done();
}
END_TEST

/* ---- era ---- */

/* ---- what a watcher found out ---- */

static uint32_t dict_of(struct mt_value *pairs, uint32_t n)
{
    struct mt_value dict = {.kind = MT_VALUE_DICT, .n = n};
    dict.u.id = mt_builder_values(m.b, pairs, 2 * (size_t)n);
    return mt_builder_values(m.b, &dict, 1);
}

static struct mt_value key(const char *name)
{
    return (struct mt_value){.kind = MT_VALUE_STR, .u.id = mt_builder_cstr(m.b, name)};
}

static struct mt_value number(int64_t n)
{
    return (struct mt_value){.kind = MT_VALUE_INT, .u.i = n};
}

static const int64_t mib = 1 << 20;

/* A device of 80,000 MiB, of which the context took 500. The figures are MiB; negative: absent. */
static void watched(int64_t before, int64_t dump, int64_t seen, int64_t code, int64_t lookups)
{
    make_begin(&m);
    m.time_us = 1;
    make_event(&m, MT_ACTION_SEGMENT_ALLOC, 4096, 512, 0);
    make_event(&m, MT_ACTION_ALLOC, 4096, 500, make_stack(&m, "a.py", 1, "f"));
    clean_state();
    struct mt_value device[] = {key("device"),
                                number(0),
                                key("total_bytes"),
                                number(80000 * mib),
                                key("free_start_bytes"),
                                number(((before < 0 ? 79500 : before) - 500) * mib),
                                key("seen_bytes"),
                                number(seen * mib),
                                key("code_bytes"),
                                number(code * mib),
                                key("free_dump_bytes"),
                                number(dump * mib),
                                key("free_before_context_bytes"),
                                number(before * mib)};
    uint32_t n = before < 0 ? 6 : 7;
    struct mt_value one = mt_builder_get_value(m.b, dict_of(device, dump < 0 ? 5 : n));
    struct mt_value list = {.kind = MT_VALUE_LIST, .n = 1, .u.id = mt_builder_values(m.b, &one, 1)};
    struct mt_value doors[] = {key("lookups"), number(lookups), key("driver_calls"), number(0)};
    struct mt_value by = mt_builder_get_value(m.b, dict_of(doors, 2));
    struct mt_value own[] = {key("devices"), list, key("doors"), by};
    mt_builder_own(m.b, dict_of(own, 2));
    look();
}

START_TEST(watched_and_whole)
{
    watched(79800, 78800, 480, 10, 3); /* 500 less, 10 not seen */
    ck_assert_uint_eq(trust.facts.n, 1);
    ck_assert_int_eq(trust.facts.v[0].id, MT_TRUST_WATCHED);
    ck_assert(!mt_trust_limits(MT_TRUST_WATCHED));
    done();
    watched(79800, 77301, 1936, 0, 3); /* just under 64 MiB not seen */
    ck_assert(!mt_trust_has(&trust, MT_TRUST_UNSEEN));
    done();
    watched(79800, 71300, 7601, 0, 3); /* more, but under a twentieth */
    ck_assert(!mt_trust_has(&trust, MT_TRUST_UNSEEN));
    done();
}
END_TEST

START_TEST(watched_with_gaps)
{
    watched(70000, 68500, 600, 200, 0);
    ck_assert(mt_trust_has(&trust, MT_TRUST_LIBRARIES_UNSEEN));
    ck_assert(mt_trust_has(&trust, MT_TRUST_USED_BEFORE));
    ck_assert(mt_trust_has(&trust, MT_TRUST_UNSEEN));
    ck_assert_uint_eq(trust.facts.v[1].bytes, (uint64_t)(10000 * mib));
    ck_assert_uint_eq(trust.facts.v[1].count, 1);
    ck_assert_uint_eq(trust.facts.v[2].first, (uint64_t)(1000 * mib));
    ck_assert_uint_eq(trust.facts.v[2].bytes, (uint64_t)(200 * mib));
    done();
    watched(79800, -1, 600, 0, 3);
    ck_assert(mt_trust_has(&trust, MT_TRUST_FREE_UNKNOWN));
    done();
    watched(-1, 78900, 100, 0, 3); /* 1,000 MiB at the start, the context among them */
    ck_assert(!mt_trust_has(&trust, MT_TRUST_USED_BEFORE));
    done();
}
END_TEST

static struct mt_era era_of(uint32_t top, uint32_t event, uint32_t block, bool list)
{
    struct make e;
    make_begin(&e);
    if (event) {
        struct mt_event one = {.shape = (uint8_t)mt_builder_event_shape(e.b, event, 0)};
        ck_assert(mt_builder_event(e.b, &one));
    }
    struct mt_block b = {.size = 512, .present = (uint16_t)(1u << MT_BLOCK_KEY_size | block)};
    struct mt_segment segment = {.total_size = 512, .n_blocks = 1};
    ck_assert(mt_builder_block(e.b, &b) && mt_builder_segment(e.b, &segment, false));
    mt_builder_top(e.b, top | 1u << MT_TOP_KEY_segments, 0, 0);
    struct mt_source source = {.bare_list = list};
    mt_builder_source(e.b, &source);
    struct mt_snapshot s;
    ck_assert_int_eq(mt_builder_finish(e.b, &s, &err), MT_OK);
    s.n_event_shapes = event ? s.n_event_shapes : 0; /* without the fixture's own shape */
    struct mt_snapshot view = s;
    struct mt_event_shape shapes[2] = {{event, 0}, {0, 0}};
    view.event_shapes = shapes;
    view.n_event_shapes = event ? 1 : 0;
    struct mt_era era = mt_era_find(&view);
    mt_snapshot_release(&s);
    return era;
}

START_TEST(eras)
{
    uint32_t addr = 1u << MT_BLOCK_KEY_address, action = 1u << MT_EVENT_KEY_action;
    uint32_t settings = 1u << MT_TOP_KEY_allocator_settings;
    struct mt_era e = era_of(0, 0, 0, true);
    ck_assert_str_eq(e.until, "1.13");
    e = era_of(0, action, 0, false);
    ck_assert_str_eq(e.from, "2.0");
    ck_assert_str_eq(e.until, "2.0");
    e = era_of(0, action, addr, false);
    ck_assert_str_eq(e.from, "2.1");
    ck_assert_str_eq(e.until, "2.1");
    e = era_of(settings, 0, addr, false); /* no trace: no upper rung to test but annotations */
    ck_assert_str_eq(e.from, "2.3");
    ck_assert_str_eq(e.until, "2.4");
    e = era_of(settings | 1u << MT_TOP_KEY_external_annotations,
               action | 1u << MT_EVENT_KEY_time_us | 1u << MT_EVENT_KEY_compile_context |
                   1u << MT_EVENT_KEY_user_metadata,
               addr, false);
    ck_assert_str_eq(e.from, "2.10");
    ck_assert_str_eq(e.until, "2.11");
    e = era_of(settings | 1u << MT_TOP_KEY_host_segments, 0, addr, false);
    ck_assert_str_eq(e.from, "2.14");
    ck_assert_ptr_null(e.until);
}
END_TEST

UNIT_MAIN("trust", watched_and_whole, watched_with_gaps, nothing_to_say, no_history_no_frames,
          state_only, late_and_overflown, sums_and_overlap, times_backwards, eras)
