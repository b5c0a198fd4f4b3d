/* SPDX-License-Identifier: MIT */
/* The trust banner in words: what is so, and what it means for the figures below. */
#include <inttypes.h>

#include "print/trust_text.h"
#include "heap/sums/account.h"
#include "print/labels.h"

struct saying {
    struct mt_buf *b;
    const struct mt_report *r;
    const struct mt_snapshot *s;
    const struct mt_trust_fact *fact;
    bool one; /* of what is counted */
};

static void say_before(const struct saying *x)
{
    mt_buf_printf(x->b, "%s allocation%s (%s) of device %" PRId32, mt_count_text(x->fact->count).s,
                  x->one ? "" : "s", mt_report_size(x->r, x->fact->bytes).s, x->fact->device);
}

static void say_starts_late(const struct saying *x)
{
    say_before(x);
    mt_buf_text(x->b, x->one
                          ? " was alive before the first event; where it came from was not recorded"
                          : " were alive before the first event; where they came from was not "
                            "recorded");
}

static void say_ring(const struct saying *x)
{
    mt_buf_printf(x->b, "the recording overflowed and kept the last %s events",
                  mt_count_text(x->fact->first).s);
    if (x->fact->count == 0) {
        mt_buf_printf(x->b, " of device %" PRId32 "; what came before them is not in the file",
                      x->fact->device);
        return;
    }
    mt_buf_text(x->b, "; ");
    say_before(x);
    mt_buf_printf(x->b, " %s older (record with a larger max_entries to see more)",
                  x->one ? "is" : "are");
}

static void say_no_history(const struct saying *x)
{
    mt_buf_printf(x->b,
                  "no events: the history was not recorded, only the state at the dump is known "
                  "(%s switches it on)",
                  mt_history_switch(x->s));
}

static void say_salvaged(const struct saying *x)
{
    mt_buf_printf(
        x->b, "the file is damaged at byte %" PRIu64 "; the figures are of what was whole before",
        x->fact->first);
    if (x->s->source.state_cut) {
        mt_buf_text(x->b, "; the list of segments lost its end: these sums are of a part, and how "
                          "much more there was is not known");
    } else if (x->s->source.followed) {
        mt_buf_text(x->b, "; the trace lost its end, and an out-of-memory event may have been in "
                          "it: the state is that after the last event that is left, counted from "
                          "an empty allocator (memtool segments --salvage: that of the dump)");
    } else if (x->s->source.trace_cut) {
        mt_buf_text(x->b, "; the trace lost its end, and this is the state of the dump, which is "
                          "later than the last event that is left");
    }
}

static void say_segments(const struct saying *x, const char *one, const char *many)
{
    mt_buf_printf(x->b, "%s segment%s (%s0x%" PRIx64 ") %s; the figures count blocks",
                  mt_count_text(x->fact->count).s, x->one ? "" : "s",
                  x->one ? "at " : "the first at ", x->fact->first, x->one ? one : many);
}

static void say_sums(const struct saying *x)
{
    say_segments(x, "has blocks that do not add up to its sizes",
                 "have blocks that do not add up to their sizes");
}

static void say_overlap(const struct saying *x)
{
    say_segments(x, "begins inside the one before", "begin inside the one before");
}

static void say_backwards(const struct saying *x)
{
    mt_buf_printf(x->b, "the times of device %" PRId32 " run backwards: trust the order, not when",
                  x->fact->device);
}

static void say_actions(const struct saying *x)
{
    mt_buf_printf(x->b, "%s event%s of a kind that memtool does not know; counted, not interpreted",
                  mt_count_text(x->fact->count).s, x->one ? "" : "s");
}

static void say_keys(const struct saying *x)
{
    mt_buf_printf(x->b, "%s value%s under keys that memtool does not know; kept, not used",
                  mt_count_text(x->fact->count).s, x->one ? "" : "s");
}

static void add_odd_value(const struct saying *x, const struct mt_odd *odd)
{
    struct mt_buf text = {0};
    mt_value_text(&text, x->s, &x->s->values[odd->value]);
    mt_text_safe(x->b, mt_buf_view(&text));
    x->b->failed |= text.failed;
    mt_buf_release(&text);
}

static void say_odd(const struct saying *x)
{
    enum { SHOWN = 3 };
    size_t shown = 0;
    mt_buf_printf(x->b, "%s value%s nothing that PyTorch writes there, taken as unknown and kept:",
                  mt_count_text(x->fact->count).s, x->one ? " is" : "s are");
    for (size_t i = 0; i < x->s->n_odd; i++) {
        const struct mt_odd *odd = &x->s->odd[i];
        if (mt_str_equal(mt_snapshot_str(x->s, odd->key), MT_STR("line"))) {
            continue;
        }
        if (shown == SHOWN && !x->r->verbose) {
            mt_buf_text(x->b, " ...");
            break;
        }
        mt_buf_printf(x->b, "%s %s ", shown++ ? "," : "", odd->record);
        mt_text_safe(x->b, mt_snapshot_str(x->s, odd->key));
        mt_buf_char(x->b, ' ');
        add_odd_value(x, odd);
    }
}

static void say_lines(const struct saying *x)
{
    mt_buf_printf(x->b, "the line of %s frame%s is not known: written as ",
                  mt_count_text(x->fact->count).s, x->one ? "" : "s");
    add_odd_value(x, &x->s->odd[x->fact->first]);
}

static void say_before_start(const struct saying *x)
{
    mt_buf_printf(x->b,
                  "%s of device %" PRId32 " was in use before the program took any: by other "
                  "processes%s",
                  mt_report_size(x->r, x->fact->bytes).s, x->fact->device,
                  x->fact->count ? "" : " and by its own context");
}

static void say_unseen(const struct saying *x)
{
    mt_buf_printf(x->b,
                  "device %" PRId32 " has %s less free than at the start, and %s of that was "
                  "not seen: code of kernels, other processes, calls that are not watched",
                  x->fact->device, mt_report_size(x->r, x->fact->first).s,
                  mt_report_size(x->r, x->fact->bytes).s);
}

static void say_free_unknown(const struct saying *x)
{
    mt_buf_printf(x->b,
                  "what device %" PRId32 " had free at the dump is not known: the driver did "
                  "not answer, or was gone already",
                  x->fact->device);
}

const char *mt_history_switch(const struct mt_snapshot *s)
{
    struct mt_recorded recorded;
    mt_recorded_find(&recorded, s);
    if (recorded.live) {
        return "MEMTOOL_RECORD=enabled:all in the environment, or memtool_record(),";
    }
    return recorded.watched  ? "memtool capture --mode record"
           : recorded.cached ? "memtool capture --mode cache"
                             : "torch.cuda.memory._record_memory_history()";
}

/* Words that are always the same, or who finds them. */
static const struct {
    const char *text;
    void (*say)(const struct saying *x);
} SAYINGS[MT_TRUST_COUNT] = {
    [MT_TRUST_SALVAGED] = {NULL, say_salvaged},
    [MT_TRUST_ASYNC_BACKEND] = {"the backend is cudaMallocAsync: most of PyTorch's figures stay "
                                "zero there",
                                NULL},
    [MT_TRUST_NO_HISTORY] = {NULL, say_no_history},
    [MT_TRUST_STATE_ONLY] = {"one event only: the history kept the state, not the trace "
                             "(enabled=\"state\"); there is no timeline",
                             NULL},
    [MT_TRUST_RING_OVERFLOW] = {NULL, say_ring},
    [MT_TRUST_STARTS_LATE] = {NULL, say_starts_late},
    [MT_TRUST_NO_FRAMES] = {"no call stacks were recorded: nothing can be said about who "
                            "allocated",
                            NULL},
    [MT_TRUST_NO_TIMES] = {"events have no times (PyTorch 2.1 and older): order is known, not when",
                           NULL},
    [MT_TRUST_TIMES_BACKWARDS] = {NULL, say_backwards},
    [MT_TRUST_SUMS] = {NULL, say_sums},
    [MT_TRUST_OVERLAP] = {NULL, say_overlap},
    [MT_TRUST_UNKNOWN_ACTIONS] = {NULL, say_actions},
    [MT_TRUST_UNKNOWN_KEYS] = {NULL, say_keys},
    [MT_TRUST_UNKNOWN_LINES] = {NULL, say_lines},
    [MT_TRUST_ODD_VALUES] = {NULL, say_odd},
    [MT_TRUST_UNLIMITED] = {"max_split_size is written as a number that means unlimited", NULL},
    [MT_TRUST_LIBRARIES_UNSEEN] =
        {"no lookup of the driver's functions was watched: what libraries "
         "with a CUDA runtime of their own took (NCCL) is not here",
         NULL},
    [MT_TRUST_USED_BEFORE] = {NULL, say_before_start},
    [MT_TRUST_UNSEEN] = {NULL, say_unseen},
    [MT_TRUST_FREE_UNKNOWN] = {NULL, say_free_unknown},
    [MT_TRUST_WATCHED] = {"recorded from outside: imported memory and the memory of graphs' own "
                          "nodes are not here, arrays count as their elements",
                          NULL},
};

void mt_trust_text(struct mt_buf *b, const struct mt_report *r, const struct mt_snapshot *s,
                   const struct mt_trust_fact *fact)
{
    struct saying x = {b, r, s, fact, fact->count == 1};
    if (SAYINGS[fact->id].say) {
        SAYINGS[fact->id].say(&x);
    } else {
        mt_buf_text(b, SAYINGS[fact->id].text);
    }
}

enum mt_status mt_report_trust(const struct mt_report *r, const struct mt_snapshot *s,
                               const struct mt_trust *trust, struct mt_error *err)
{
    for (size_t i = 0; i < trust->facts.n; i++) {
        const struct mt_trust_fact *fact = &trust->facts.v[i];
        if (!mt_trust_limits(fact->id) && r->verbose < 1) {
            continue;
        }
        struct mt_buf b = {0};
        mt_trust_text(&b, r, s, fact);
        if (b.failed) {
            mt_buf_release(&b);
            return mt_fail_nomem(err);
        }
        mt_report_line(r, 2, "%snote:%s %s", mt_color_begin(r, MT_COLOR_WARN), mt_color_end(r),
                       mt_buf_view(&b).p);
        mt_buf_release(&b);
    }
    return MT_OK;
}
