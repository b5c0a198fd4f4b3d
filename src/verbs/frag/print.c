/* SPDX-License-Identifier: MIT */
/* frag as text: how bad, what it is lost to, who pins it, where it comes from, what to do. */
#include <inttypes.h>

#include "verbs/frag/print.h"
#include "heap/walk/query.h"
#include "print/driver_report.h"
#include "print/labels.h"
#include "verbs/frag/print_behind.h"
#include "snapshot/model/settings.h"
#include "support/checked.h"

enum { BAR = 24, FEW_SOURCES = 2 /* stacks a source, without -v */ };

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

/* Most of what is not allocated can be given back whole: a cache, not fragmentation. */
static bool is_mostly_cached(const struct mt_frag *f)
{
    return f->class != MT_FRAG_NORMAL && f->empty_cache >= (f->reserved - f->allocated) / 2;
}

/* ---- headline ---- */

/* What the cache has, and who can have it given back. */
static void print_cache(const struct mt_report *r, const struct mt_frag *f,
                        const struct mt_recorded *recorded)
{
    const char *call = mt_empty_cache_of(recorded);
    struct mt_size_text bytes = mt_report_size(r, f->empty_cache);
    if (recorded->watched) {
        mt_report_line(r, 4, "  the driver's own allocations were recorded: %s",
                       recorded->plain ? "there is no cache"
                                       : "what PyTorch has cached inside them is not known");
        return;
    }
    mt_report_line(r, 4, "  the largest request that fits without new memory: %s",
                   mt_report_size(r, f->largest_hole).s);
    if (call) {
        mt_report_line(r, 4, "  %s would give back %s", call, bytes.s);
    } else {
        mt_report_line(r, 4, "  the cache gives back by itself, before a request fails: %s",
                       bytes.s);
    }
}

static void print_head(const struct mt_report *r, const struct mt_frag *f,
                       const struct mt_recorded *recorded)
{
    static const char *const CLASS[] = {"normal", "work on it", "act"};
    static const enum mt_color COLOR[] = {MT_COLOR_GOOD, MT_COLOR_WARN, MT_COLOR_BAD};
    bool cached = is_mostly_cached(f);
    bool at_the_end = f->at == MT_AT_END && f->n_events && f->events_done == f->n_events;
    enum mt_color color = cached ? MT_COLOR_WARN : COLOR[f->class];
    mt_report_line(
        r, 2, "%sDevice %" PRId32 "%s: %s of %s reserved are not allocated%s, %.1f %%: %s%s%s",
        mt_color_begin(r, MT_COLOR_HEAD), f->device, at_the_end ? " at the end" : "",
        mt_report_size(r, f->reserved - f->allocated).s, mt_report_size(r, f->reserved).s,
        mt_color_end(r), 100 * f->fragmentation, mt_color_begin(r, color),
        cached ? "mostly cached, not cut up" : CLASS[f->class], mt_color_end(r));
    if (f->events_done < f->n_events || f->at != MT_AT_END) {
        mt_report_line(r, 4, "  after event %s of %s",
                       f->events_done ? mt_count_text(f->events_done - 1).s : "(none)",
                       mt_count_text(f->n_events).s);
    }
    if (f->failed_request) {
        mt_report_line(r, 4, "  the request that failed: %s",
                       mt_report_size(r, f->failed_request).s);
    }
    print_cache(r, f, recorded);
}

static bool lists_segments(const struct mt_snapshot *s, int32_t device)
{
    size_t i = 0;
    while (i < s->n_segments && s->segments[i].device != device) {
        i++;
    }
    return i < s->n_segments;
}

/* Without segments it is not known what is free inside of them. */
static void print_no_segments(const struct mt_report *r, const struct mt_frag_result *x)
{
    mt_report_line(r, 2, "%sDevice %" PRId32 ": the file lists no segments%s: %s",
                   mt_color_begin(r, MT_COLOR_HEAD), x->frag.device, mt_color_end(r),
                   x->traced || !x->frag.n_events ? "fragmentation is unknown"
                                                  : "nothing is reserved");
    if (x->traced) {
        mt_report_line(r, 4, "  reserved %s, by the trace: %s",
                       x->frag.at == MT_AT_END ? "at the end" : "then",
                       mt_report_size(r, x->traced).s);
    }
}

/* How little the whole recording could do with. */
static void print_ideal(const struct mt_report *r, const struct mt_frag_result *d)
{
    const struct mt_packing *x = &d->ideal;
    struct mt_sentence s = {0};
    if (!d->frag.n_events || !x->alive || d->part == MT_FRAG_AFTER_UNWINDING) {
        return;
    }
    mt_sentence_add(&s, "  at its peak the recording needs at least %s, what is alive at once",
                    mt_report_size(r, x->alive).s);
    if (x->known && x->packed > x->alive) {
        mt_sentence_add(&s, "; the best packing found takes %s", mt_report_size(r, x->packed).s);
    }
    mt_report_line(r, 4, "%s", s.text);
}

/* ---- causes ---- */

static void add_cause(struct mt_table *t, const struct mt_frag *f, uint64_t bytes, const char *text)
{
    char bar[BAR * 3 + 1] = "";
    size_t n = (size_t)(share(bytes, f->reserved - f->allocated) * BAR + 0.5);
    for (size_t i = 0; i < n && i < BAR; i++) {
        memcpy(bar + 3 * i, "█", 4);
    }
    if (!bytes) {
        return;
    }
    mt_table_size(t, bytes);
    mt_table_cell(t, "%.1f %%", 100 * share(bytes, f->reserved - f->allocated));
    mt_table_cell(t, "%s", text);
    mt_table_cell(t, "%s", bar);
}

static enum mt_status print_causes(const struct mt_report *r, const struct mt_frag *f,
                                   struct mt_error *err)
{
    struct mt_table *t = mt_table_new();
    char others[40];
    if (!t) {
        return mt_fail_nomem(err);
    }
    mt_table_column(t, "LOST", MT_RIGHT);
    mt_table_column(t, "%", MT_RIGHT);
    mt_table_column(t, "TO", MT_LEFT);
    mt_table_column(t, "", MT_LEFT);
    add_cause(t, f, f->holes - f->free_pages, "holes beside live blocks");
    add_cause(t, f, f->free_pages, "free pages of expandable segments");
    add_cause(t, f, f->idle_segments, "wholly free segments");
    snprintf(others, sizeof others, "streams other than stream %u", (unsigned)f->main_stream);
    add_cause(t, f, f->other_stream, others);
    add_cause(t, f, f->private_pool, "private pools (CUDA graphs, MemPool)");
    add_cause(t, f, f->pending, "frees that wait for other streams");
    mt_table_rule(t);
    mt_table_size(t, f->reserved - f->allocated);
    mt_table_cell(t, "%s", "");
    mt_table_cell_color(t, MT_COLOR_HEAD, "TOTAL");
    mt_table_cell(t, "%s", "");
    fputc('\n', r->out);
    enum mt_status status = mt_table_print(t, r, 0, err);
    mt_table_free(t);
    if (status == MT_OK && f->rounding) {
        mt_report_line(r, 2, "Inside allocated memory, rounding takes another %s.",
                       mt_report_size(r, f->rounding).s);
    }
    return status;
}

/* ---- pools ---- */

static enum mt_status print_pools(const struct mt_report *r, const struct mt_snapshot *s,
                                  const struct mt_frag *f, struct mt_error *err)
{
    struct mt_table *t = mt_table_new();
    struct mt_buf b = {0};
    if (!t) {
        return mt_fail_nomem(err);
    }
    static const char *const TITLES[] = {"FREE", "LARGEST HOLE", "RESERVED", "SEGMENTS"};
    for (size_t i = 0; i < MT_COUNT(TITLES); i++) {
        mt_table_column(t, TITLES[i], MT_RIGHT);
    }
    mt_table_column(t, "POOL", MT_LEFT);
    for (size_t i = 0; i < f->pools.n && (!r->limit || i < r->limit); i++) {
        const struct mt_frag_pool *p = &f->pools.v[i];
        mt_table_size(t, p->free);
        mt_table_size(t, p->largest_hole);
        mt_table_size(t, p->reserved);
        mt_table_count(t, p->segments);
        mt_buf_reset(&b);
        mt_buf_text(&b, p->kind == MT_POOL_SMALL ? "small, " : "large, ");
        if (p->pool.a || p->pool.b) {
            mt_pool_label(&b, p->pool);
            mt_buf_text(&b, ", ");
        }
        mt_stream_label(&b, s, p->stream);
        mt_table_buf(t, &b);
    }
    fputc('\n', r->out);
    enum mt_status status = b.failed ? mt_fail_nomem(err) : mt_table_print(t, r, 0, err);
    mt_buf_release(&b);
    mt_table_free(t);
    return status;
}

/* ---- pins ---- */

static void add_pin_total(struct mt_table *t, const struct mt_frag *f, size_t shown)
{
    struct mt_frag_pin all = {0};
    struct mt_frag_pin rest = {0};
    for (size_t i = 0; i < f->pins.n; i++) {
        struct mt_frag_pin *to = i < shown ? &all : &rest;
        to->free_held += f->pins.v[i].free_held;
        to->live_bytes += f->pins.v[i].live_bytes;
    }
    if (shown < f->pins.n) {
        mt_table_size(t, rest.free_held);
        mt_table_size(t, rest.live_bytes);
        mt_table_cell(t, "%s", "");
        mt_table_cell_color(t, MT_COLOR_DIM, "[%zu other%s]", f->pins.n - shown,
                            f->pins.n - shown == 1 ? "" : "s");
    }
    mt_table_rule(t);
    mt_table_size(t, all.free_held + rest.free_held);
    mt_table_size(t, all.live_bytes + rest.live_bytes);
    mt_table_cell(t, "%s", "");
    mt_table_cell_color(t, MT_COLOR_HEAD, "TOTAL");
}

static struct mt_table *new_pins(const struct mt_report *r)
{
    struct mt_table *t = mt_table_new();
    if (t && r->separator) {
        mt_table_column(t, "DEVICE", MT_RIGHT);
    }
    if (t) {
        mt_table_column(t, "HOLDS FREE", MT_RIGHT);
        mt_table_column(t, "WITH LIVE", MT_RIGHT);
        mt_table_column(t, "SEGMENTS", MT_RIGHT);
        mt_table_column(t, "PINNED BY", MT_LEFT);
        mt_table_names(t, "device,free_held_bytes,live_bytes,segments,stack");
    }
    return t;
}

/* How many rows; they are there, the total is not. */
static size_t add_pins(struct mt_table *t, const struct mt_report *r, const struct mt_snapshot *s,
                       const struct mt_frag *f)
{
    struct mt_buf b = {0};
    size_t shown = r->limit && r->limit < f->pins.n ? r->limit : f->pins.n;
    shown = !r->verbose && r->limit && shown > 10 ? 10 : shown;
    for (size_t i = 0; i < shown; i++) {
        if (r->separator) {
            mt_table_cell(t, "%" PRId32, f->device);
        }
        mt_table_size(t, f->pins.v[i].free_held);
        mt_table_size(t, f->pins.v[i].live_bytes);
        mt_table_count(t, f->pins.v[i].segments);
        mt_buf_reset(&b);
        mt_stack_label_aged(&b, s, f->pins.v[i].stack, r, f->stackless);
        mt_table_stack(t, &b, 0, s, f->pins.v[i].stack);
    }
    mt_buf_release(&b);
    return shown;
}

static enum mt_status print_pins(const struct mt_report *r, const struct mt_snapshot *s,
                                 const struct mt_frag *f, struct mt_error *err)
{
    struct mt_table *t = new_pins(r);
    if (!t) {
        return mt_fail_nomem(err);
    }
    add_pin_total(t, f, add_pins(t, r, s, f));
    fputc('\n', r->out);
    enum mt_status status = mt_table_print(t, r, 0, err);
    mt_table_free(t);
    return status;
}

/* The rows that one would sort, of all devices: who pins what. */
static enum mt_status print_csv(const struct mt_report *r, const struct mt_snapshot *s,
                                const struct mt_frag_result *devices, size_t n,
                                struct mt_error *err)
{
    struct mt_table *t = new_pins(r);
    if (!t) {
        return mt_fail_nomem(err);
    }
    for (size_t i = 0; i < n; i++) {
        if (devices[i].part != MT_FRAG_AFTER_UNWINDING) {
            (void)add_pins(t, r, s, &devices[i].frag);
        }
    }
    enum mt_status status = mt_table_print(t, r, 0, err);
    mt_table_free(t);
    return status;
}

/* ---- sources ---- */

static void add_source(struct mt_buf *b, const struct mt_report *r, const struct mt_snapshot *s,
                       const struct mt_recorded *recorded, const struct mt_frag_source *x)
{
    mt_buf_reset(b);
    switch (x->kind) {
    case MT_FRAG_SOURCE_MANY_SIZES:
        mt_buf_printf(b,
                      "%s different sizes up to %s in %s allocations: ", mt_count_text(x->sizes).s,
                      mt_report_size(r, x->bytes).s, mt_count_text(x->count).s);
        break;
    case MT_FRAG_SOURCE_REGAINED:
        mt_buf_printf(b, "%s %s (%s) were given back to the driver and taken again, about %s",
                      mt_count_text(x->count).s, recorded->watched ? "allocations" : "segments",
                      mt_report_size(r, x->bytes).s, mt_duration_text((int64_t)x->cost_us).s);
        break;
    case MT_FRAG_SOURCE_OVER_STEP:
        mt_buf_printf(b, "%s allocations lie just above a step and lose %s together: ",
                      mt_count_text(x->count).s, mt_report_size(r, x->bytes).s);
        break;
    case MT_FRAG_SOURCE_SPLITS:
        mt_buf_printf(b, "%s large blocks were split, %s cut off: ", mt_count_text(x->count).s,
                      mt_report_size(r, x->bytes).s);
        break;
    default:
        mt_buf_printf(b, "%s times blocks of up to %s sizes became free at once: ",
                      mt_count_text(x->count).s, mt_count_text(x->sizes).s);
        break;
    }
    if (x->kind != MT_FRAG_SOURCE_REGAINED) {
        mt_stack_label_long(b, s, x->stack, r);
    } else if (x->stack) {
        mt_buf_text(b, ": ");
        mt_stack_label_long(b, s, x->stack, r);
    }
    mt_report_line(r, 6, "  %s", mt_buf_view(b).p);
}

/* Every training run splits blocks and asks for several sizes: that is worth a word only where much
 * is not allocated, and behind a large cache that is whole it is sizes that hardly come twice.
 * Segments given back in the loop cost time in any case. */
static bool is_worth_a_word(const struct mt_report *r, const struct mt_frag *f,
                            const struct mt_frag_source *x)
{
    bool changing = x->kind == MT_FRAG_SOURCE_MANY_SIZES && x->sizes >= x->count / 2;
    return r->verbose || x->kind == MT_FRAG_SOURCE_REGAINED ||
           (f->class != MT_FRAG_NORMAL && (changing || !is_mostly_cached(f)));
}

static enum mt_status print_sources(const struct mt_report *r, const struct mt_snapshot *s,
                                    const struct mt_frag *f, const struct mt_frag_sources *x,
                                    struct mt_error *err)
{
    struct mt_buf b = {0};
    struct mt_recorded recorded;
    mt_recorded_find(&recorded, s);
    size_t of_kind = 0;
    bool any = false;
    for (size_t i = 0; i < x->list.n; i++) {
        const struct mt_frag_source *one = &x->list.v[i];
        if (!is_worth_a_word(r, f, one)) {
            continue;
        }
        fputs(any ? "" : "\nWhere it comes from:\n", r->out);
        any = true;
        if (of_kind++ < FEW_SOURCES || r->verbose) {
            add_source(&b, r, s, &recorded, one);
        }
        if (i + 1 == x->list.n || x->list.v[i + 1].kind != one->kind) {
            mt_report_prose(r, 6, "    Fix: %s.", mt_frag_source_fix(one->kind, &recorded));
            of_kind = 0;
        }
    }
    bool failed = b.failed;
    mt_buf_release(&b);
    return failed ? mt_fail_nomem(err) : MT_OK;
}

/* Of a few calls there is nothing to say. */
static enum mt_status print_driver(const struct mt_report *r, const struct mt_snapshot *s,
                                   const struct mt_frag_result *x, struct mt_error *err)
{
    if (!r->verbose && !mt_driver_price_in_loop(&x->driver)) {
        return MT_OK;
    }
    fputc('\n', r->out);
    return mt_report_driver_price(r, s, &x->driver, "for memory", x->span_us, err);
}

/* ---- what to do ---- */

/* Free memory was hardly cut up: what stood in the way of the request, from what the driver had. */
static void print_failure(const struct mt_report *r, const struct mt_frag *f,
                          const struct mt_recorded *recorded)
{
    uint64_t need = recorded->watched ? f->failed_request : f->failed_need;
    bool full = need > f->failed_free && need <= mt_add_sat(f->failed_free, f->reserved);
    static const char normal[] = "Under 20 % is normal: not why the request failed";
    struct mt_size_text had = mt_report_size(r, f->failed_free);
    if (need <= f->failed_free) {
        mt_report_prose(r, 0,
                        "%s. The card had %s free, more than was asked for: a limit of the "
                        "process, or what else the card was asked for then.",
                        normal, had.s);
    } else if (!full) {
        mt_report_prose(r, 0,
                        "%s. It asked for more than the %s that the card had free and all that is "
                        "reserved here together.",
                        normal, had.s);
    } else if (f->failed_request <= f->failed_free) {
        mt_report_prose(r, 0,
                        "%s, memory itself was full: %s takes a segment of %s, the card had %s "
                        "free.",
                        normal, mt_report_size(r, f->failed_request).s, mt_report_size(r, need).s,
                        had.s);
    } else {
        mt_report_prose(r, 0, "%s, memory itself was full: %s was asked for, the card had %s free.",
                        normal, mt_report_size(r, f->failed_request).s, had.s);
    }
    mt_report_prose(r, 0, "Next: %s",
                    full ? "memtool peak --at oom, memtool leaks" : "memtool triage");
}

/* What to do about holes. */
static const char *advice(const struct mt_frag *f, bool expandable)
{
    return f->class == MT_FRAG_NORMAL ? "Under 20 % is normal: fragmentation needs no cure here."
           : f->class == MT_FRAG_WORK_ON_IT
               ? "20 to 40 %: work on the pattern. Preallocate and reuse buffers, round batch and "
                 "sequence to a few sizes."
           : expandable ? "Above 40 %: act. expandable_segments is on already: let go of what "
                          "pins the holes above, use fewer different sizes, then checkpointing."
                        : "Above 40 %: act. memtool simulate shows whether "
                          "expandable_segments:True helps here; else let go of what pins the "
                          "holes above. The lasting cure is fewer different sizes.";
}

static void print_advice(const struct mt_report *r, const struct mt_snapshot *s,
                         const struct mt_frag *f, const struct mt_recorded *recorded)
{
    fputc('\n', r->out);
    if (is_mostly_cached(f)) {
        const char *call = mt_empty_cache_of(recorded);
        mt_report_prose(r, 0,
                        "Most of it lies in %s, which serve any request of "
                        "their size and which %s gives back%s: a cache, not fragmentation.",
                        f->free_pages > f->idle_segments ? "free pages" : "wholly free segments",
                        call ? call : "the cache", call ? "" : " before a request fails");
        if (f->at == MT_AT_END) {
            mt_report_prose(r, 0, "If a request failed, look at --at oom, else at --at peak.");
        }
    } else if (f->class == MT_FRAG_NORMAL && f->failed_request &&
               f->failed_free != MT_FREE_UNKNOWN) {
        print_failure(r, f, recorded);
    } else {
        mt_report_prose(r, 0, "%s", advice(f, mt_settings_rules(s).settings.expandable_segments));
    }
}

static enum mt_status print_device(const struct mt_report *r, const struct mt_snapshot *s,
                                   const struct mt_frag_result *x,
                                   const struct mt_recorded *recorded, struct mt_error *err)
{
    const struct mt_frag *f = &x->frag;
    bool listed = f->reserved || lists_segments(s, f->device);
    if (listed) {
        print_head(r, f, recorded);
    } else {
        print_no_segments(r, x);
    }
    print_ideal(r, x);
    if (x->part == MT_FRAG_AFTER_UNWINDING) {
        mt_report_line(r, 4, "  at the end, after the unwinding; --at end shows all of it");
        return MT_OK;
    }
    if (f->reserved > f->allocated) {
        MT_TRY(print_causes(r, f, err));
    }
    if (f->pools.n) {
        MT_TRY(print_pools(r, s, f, err));
    }
    if (f->pins.n) {
        MT_TRY(print_pins(r, s, f, err));
    }
    MT_TRY(print_sources(r, s, f, &x->sources, err));
    MT_TRY(mt_report_frag_behind(r, s, x, err));
    MT_TRY(print_driver(r, s, x, err));
    if (listed) {
        print_advice(r, s, f, recorded);
    }
    return MT_OK;
}

enum mt_status mt_report_frag_text(const struct mt_report *r, const struct mt_snapshot *s,
                                   const struct mt_frag_result *devices, size_t n,
                                   struct mt_error *err)
{
    if (r->separator) {
        return print_csv(r, s, devices, n, err);
    }
    struct mt_recorded recorded;
    mt_recorded_find(&recorded, s);
    for (size_t i = 0; i < n; i++) {
        fputs(i ? "\n" : "", r->out);
        MT_TRY(print_device(r, s, &devices[i], &recorded, err));
    }
    if (!n) {
        fputs("No device has segments or events.\n", r->out);
    }
    return MT_OK;
}
