/* SPDX-License-Identifier: MIT */
/* The trust banner in words: what is so, and what it means for the figures below. */
#include <inttypes.h>

#include <memtool/report_verbs.h>

static void before_text(struct mt_buf *b, const struct mt_report *r,
                        const struct mt_trust_fact *fact)
{
    mt_buf_printf(b, "%s allocation%s (%s) of device %" PRId32, mt_count_text(fact->count).s,
                  fact->count == 1 ? "" : "s", mt_report_size(r, fact->bytes).s, fact->device);
}

static void starts_late_text(struct mt_buf *b, const struct mt_report *r,
                             const struct mt_trust_fact *fact)
{
    before_text(b, r, fact);
    mt_buf_text(b, fact->count == 1
                       ? " was alive before the first event; where it came from was not recorded"
                       : " were alive before the first event; where they came from was not "
                         "recorded");
}

static void ring_text(struct mt_buf *b, const struct mt_report *r, const struct mt_trust_fact *fact)
{
    mt_buf_printf(b, "the recording overflowed and kept the last %s events; ",
                  mt_count_text(fact->first).s);
    before_text(b, r, fact);
    mt_buf_printf(b, " %s older (record with a larger max_entries to see more)",
                  fact->count == 1 ? "is" : "are");
}

static void salvaged_text(struct mt_buf *b, const struct mt_snapshot *s,
                          const struct mt_trust_fact *fact)
{
    mt_buf_printf(
        b, "the file is damaged at byte %" PRIu64 "; this is what was whole before: ", fact->first);
    mt_text_safe(b, mt_str_from(s->source.damage));
}

static void segments_text(struct mt_buf *b, const struct mt_trust_fact *fact, const char *one,
                          const char *many)
{
    bool single = fact->count == 1;
    mt_buf_printf(b, "%s segment%s (%s0x%" PRIx64 ") %s; the figures count blocks",
                  mt_count_text(fact->count).s, single ? "" : "s", single ? "at " : "the first at ",
                  fact->first, single ? one : many);
}

void mt_trust_text(struct mt_buf *b, const struct mt_report *r, const struct mt_snapshot *s,
                   const struct mt_trust_fact *fact)
{
    switch (fact->id) {
    case MT_TRUST_SALVAGED: salvaged_text(b, s, fact); break;
    case MT_TRUST_ASYNC_BACKEND:
        mt_buf_text(b, "the backend is cudaMallocAsync: most of PyTorch's figures stay zero there");
        break;
    case MT_TRUST_NO_HISTORY:
        mt_buf_text(b, "no events: the history was not recorded, only the state at the dump is "
                       "known (torch.cuda.memory._record_memory_history() switches it on)");
        break;
    case MT_TRUST_STATE_ONLY:
        mt_buf_text(b, "one event only: the history kept the state, not the trace "
                       "(enabled=\"state\"); there is no timeline");
        break;
    case MT_TRUST_RING_OVERFLOW: ring_text(b, r, fact); break;
    case MT_TRUST_STARTS_LATE: starts_late_text(b, r, fact); break;
    case MT_TRUST_NO_FRAMES:
        mt_buf_text(b, "no call stacks were recorded: nothing can be said about who allocated");
        break;
    case MT_TRUST_NO_TIMES:
        mt_buf_text(b, "events have no times (PyTorch 2.1 and older): order is known, not when");
        break;
    case MT_TRUST_SUMS:
        segments_text(b, fact, "has blocks that do not add up to its sizes",
                      "have blocks that do not add up to their sizes");
        break;
    case MT_TRUST_OVERLAP:
        segments_text(b, fact, "begins inside the one before", "begin inside the one before");
        break;
    case MT_TRUST_TIMES_BACKWARDS:
        mt_buf_printf(b, "the times of device %" PRId32 " run backwards: trust the order, not when",
                      fact->device);
        break;
    case MT_TRUST_UNKNOWN_ACTIONS:
        mt_buf_printf(b,
                      "%s event%s of a kind that memtool does not know; counted, not interpreted",
                      mt_count_text(fact->count).s, fact->count == 1 ? "" : "s");
        break;
    case MT_TRUST_UNKNOWN_KEYS:
        mt_buf_printf(b, "%s value%s under keys that memtool does not know; skipped",
                      mt_count_text(fact->count).s, fact->count == 1 ? "" : "s");
        break;
    case MT_TRUST_UNLIMITED:
        mt_buf_text(b, "max_split_size is written as a number that means unlimited");
        break;
    case MT_TRUST_COUNT: break;
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
        fprintf(r->out, "%snote:%s %s\n", mt_color_begin(r, MT_COLOR_WARN), mt_color_end(r),
                mt_buf_view(&b).p);
        mt_buf_release(&b);
    }
    return MT_OK;
}
