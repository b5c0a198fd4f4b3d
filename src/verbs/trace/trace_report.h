/* SPDX-License-Identifier: MIT */
/* The state of a trace listing, and the three ways to print one event of it. */
#ifndef MEMTOOL_VERBS_TRACE_TRACE_REPORT_H
#define MEMTOOL_VERBS_TRACE_TRACE_REPORT_H

#include "heap/stacks/names.h"
#include "support/arena.h"
#include "support/json_out.h"
#include "verbs/trace/print.h"

struct mt_listing {
    const struct mt_report *r;
    struct mt_trace_listing *l;
    const struct mt_snapshot *s;
    struct mt_alloc_names allocs;
    struct mt_segment_names segments;
    struct mt_arena arena;
    struct mt_str *labels; /* by stack id; .p NULL: not made yet */
    struct mt_buf scratch;
    struct mt_buf line; /* scratch of the text */
    struct mt_json_out json;
    size_t more;      /* lines beyond the limit */
    size_t left_out;  /* events that the filter removed */
    int64_t first_us; /* MT_NO_TIME: no times */
    bool fuses;       /* a free_requested and its free_completed are one line */
    bool failed;      /* memory ran out */
    bool over;        /* more JSON than l->max_bytes */
};

/* What an event is about, looked up before its names are given back. */
struct mt_named {
    uint32_t alloc;            /* name, or MT_NO_NAME */
    uint32_t segment;          /* name of the segment it lies in, or MT_NO_NAME */
    uint64_t offset;           /* in that segment */
    bool at_once;              /* a free_requested whose free_completed comes next */
    const struct mt_step *now; /* totals after the event, after both when they are one line */
};

const char *mt_listing_label(struct mt_listing *x, uint32_t stack);

/* Titles of the columns; then a line an event. */
void mt_listing_text_head(const struct mt_listing *x);
void mt_listing_text_event(struct mt_listing *x, const struct mt_step *at,
                           const struct mt_named *named);
void mt_listing_csv_event(struct mt_listing *x, const struct mt_step *at,
                          const struct mt_named *named);
void mt_listing_json_event(struct mt_listing *x, const struct mt_step *at,
                           const struct mt_named *named);
/* "free_requested", or the file's own word for an unknown action, safe. Into x->scratch. */
const char *mt_listing_action(struct mt_listing *x, const struct mt_event *e);

#endif
