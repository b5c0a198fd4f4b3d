/* SPDX-License-Identifier: MIT */
/* Names of streams and pools, the same in every report. */
#include <inttypes.h>
#include <stdio.h>

#include "heap/sums/logged.h"
#include "print/labels.h"
#include "print/report.h"

struct mt_size_text mt_device_label(int32_t device)
{
    struct mt_size_text text = {"Pinned host memory"};
    if (device >= 0) {
        snprintf(text.s, sizeof text.s, "Device %" PRId32, device);
    }
    return text;
}

void mt_stream_label(struct mt_buf *b, const struct mt_snapshot *s, uint16_t stream)
{
    mt_buf_printf(b, "stream %u", (unsigned)stream);
    if (s->streams[stream].handle) {
        mt_buf_printf(b, " (0x%" PRIx64 ")", s->streams[stream].handle);
    }
}

void mt_pool_label(struct mt_buf *b, struct mt_pool_id id)
{
    if (id.a == 0 && id.b == 0) {
        return;
    }
    const char *kind = id.b == 0 ? " (CUDA graph)" : id.a == 0 ? " (MemPool)" : "";
    mt_buf_printf(b, "pool %" PRId64 ",%" PRId64 "%s", id.a, id.b, kind);
}

void mt_logged_count_text(struct mt_buf *b, const struct mt_logged *l)
{
    static const char *const ONE[] = {"table", "line", "memory_stats()"};
    static const char *const MANY[] = {"tables", "lines", "memory_stats()"};
    static const char *const BEHIND[] = {" of memory_summary()",
                                         " of memory that a trainer printed", ""};
    for (size_t kind = 0; kind < MT_COUNT(ONE); kind++) {
        size_t n = 0;
        for (size_t i = 0; i < l->tables.n; i++) {
            n += l->tables.v[i].kind == kind;
        }
        if (n) {
            mt_buf_printf(b, "%s%zu %s%s", b->n ? " and " : "", n, n == 1 ? ONE[kind] : MANY[kind],
                          BEHIND[kind]);
        }
    }
}

static bool has_digit(struct mt_str s)
{
    size_t i = 0;
    while (i < s.n && (s.p[i] < '0' || s.p[i] > '9')) {
        i++;
    }
    return i < s.n;
}

void mt_period_begin_text(struct mt_buf *b, const struct mt_report *r, const struct mt_snapshot *s,
                          const struct mt_periods *p)
{
    bool several = p->bounds.n > 1, option = p->source == MT_PERIOD_OPTION;
    if (p->name) {
        struct mt_str name = mt_snapshot_str(s, p->name);
        mt_buf_text(b, several ? "each begins with " : "it begins with ");
        mt_buf_text(b, several && has_digit(name) ? "an annotation such as " : "");
        mt_text_safe(b, name);
    } else if (several && !option) {
        mt_buf_text(b, "each begins at ");
        mt_stack_label_long(b, s, p->stack, r);
    }
    mt_buf_text(b, !option ? "" : p->name ? ", as given with --period" : "as given with --period");
}

const char *mt_period_word(const struct mt_periods *p)
{
    return p->may_be_layers ? "round" : "step";
}

const char *mt_period_doubt(const struct mt_periods *p)
{
    return p->learns      ? "without a forward and a backward pass in each"
           : p->of_frames ? "without a backward pass or an annotation"
                          : "without call stacks";
}
