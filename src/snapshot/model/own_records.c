/* SPDX-License-Identifier: MIT */
/*
 * Who owns which records. In a pickle a list may be named again by the memo, so that two devices
 * have one trace, or two segments one list of blocks. Each owner gets records of its own, as in the
 * JSON of the same snapshot; so whoever walks over traces or segments meets each record once.
 */
#include <stdint.h>
#include <string.h>

#include "snapshot/model/builder_parts.h"
#include "snapshot/model/model.h"
#include "support/mem.h"
#include "support/units.h"

/* Empty when zeroed. */
struct owned {
    unsigned char *taken; /* one a record */
    size_t n;
};

static bool owned_init(struct owned *r, size_t n)
{
    *r = (struct owned){mt_mem_zalloc(n, 1), n};
    return r->taken != NULL || n == 0;
}

static void owned_release(struct owned *r)
{
    mt_mem_free(r->taken);
    *r = (struct owned){0};
}

/* Takes [first, first + n) when all of it is there and free, else changes nothing: false. */
static bool take(struct owned *r, size_t first, size_t n)
{
    if (n == 0) {
        return true;
    }
    if (first > r->n || n > r->n - first || memchr(r->taken + first, 1, n)) {
        return false;
    }
    memset(r->taken + first, 1, n);
    return true;
}

/* ---- one owner a record ---- */

/* Whether n records may be copied behind the `have` that there are. */
static enum mt_status may_copy(struct mt_builder *b, size_t have, size_t n, uint64_t max,
                               struct mt_error *err)
{
    MT_ASSERT(n <= have); /* a range names records that are there */
    if (n <= b->max_copies - b->copies && n <= max && have <= max - n) {
        b->copies += n;
        return MT_OK;
    }
    (void)mt_fail(err, MT_LIMIT, MT_NO_OFFSET,
                  "lists that stand in several places unfold to more than %s copies",
                  mt_count_text(b->max_copies).s);
    return mt_hint(err, "a small file can unfold to any number; raise the limit with "
                        "--max-events N if you trust it");
}

static bool copy_event(struct mt_builder *b, size_t from)
{
    struct mt_event e = b->events.v[from];
    size_t to = b->events.n;
    bool ok = mt_builder_event(b, &e);
    for (int c = 0; c < MT_COLUMN_COUNT && ok; c++) {
        if (b->columns_used >> c & 1) {
            b->columns[c].v[to] = b->columns[c].v[from];
        }
    }
    return ok;
}

static enum mt_status own_events(struct mt_builder *b, struct owned *owned, struct mt_trace *traces,
                                 size_t n, struct mt_error *err)
{
    for (size_t i = 0; i < n; i++) {
        struct mt_trace *t = &traces[i];
        if (take(owned, t->first, t->n)) {
            continue;
        }
        size_t to = b->events.n;
        MT_TRY(may_copy(b, to, t->n, b->max_events, err));
        for (size_t k = 0; k < t->n; k++) {
            if (!copy_event(b, t->first + k)) {
                return mt_fail_nomem(err);
            }
        }
        t->first = to;
    }
    return MT_OK;
}

static enum mt_status own_blocks(struct mt_builder *b, struct owned *owned,
                                 struct mt_segment *segments, size_t n, struct mt_error *err)
{
    for (size_t i = 0; i < n; i++) {
        struct mt_segment *g = &segments[i];
        if (take(owned, g->first_block, g->n_blocks)) {
            continue;
        }
        uint32_t to = (uint32_t)b->blocks.n;
        MT_TRY(may_copy(b, to, g->n_blocks, UINT32_MAX, err));
        for (uint32_t k = 0; k < g->n_blocks; k++) {
            struct mt_block one = b->blocks.v[g->first_block + k];
            if (!mt_builder_block(b, &one)) {
                return mt_fail_nomem(err);
            }
        }
        g->first_block = to;
    }
    return MT_OK;
}

static enum mt_status own_history(struct mt_builder *b, struct owned *owned, struct mt_error *err)
{
    for (size_t i = 0; i < b->blocks.n; i++) {
        struct mt_block *block = &b->blocks.v[i];
        if (take(owned, block->history_first, block->history_n)) {
            continue;
        }
        uint32_t to = (uint32_t)b->history.n;
        MT_TRY(may_copy(b, to, block->history_n, UINT32_MAX, err));
        for (uint32_t k = 0; k < block->history_n; k++) {
            struct mt_history one = b->history.v[block->history_first + k];
            if (!mt_builder_history(b, &one)) {
                return mt_fail_nomem(err);
            }
        }
        block->history_first = to;
    }
    return MT_OK;
}

/* History comes last, since a copied block has the history of the first. */
enum mt_status mt_builder_own_records(struct mt_builder *b, struct mt_error *err)
{
    struct owned events = {0}, blocks = {0}, history = {0};
    enum mt_status status = MT_NOMEM;
    if (owned_init(&events, b->events.n) && owned_init(&blocks, b->blocks.n) &&
        owned_init(&history, b->history.n)) {
        status = own_events(b, &events, b->traces.v, b->traces.n, err);
        status = status ? status : own_events(b, &events, b->host_traces.v, b->host_traces.n, err);
        status = status ? status : own_blocks(b, &blocks, b->segments.v, b->segments.n, err);
        status =
            status ? status : own_blocks(b, &blocks, b->host_segments.v, b->host_segments.n, err);
        status = status ? status : own_history(b, &history, err);
    } else {
        (void)mt_fail_nomem(err);
    }
    owned_release(&events);
    owned_release(&blocks);
    owned_release(&history);
    return status;
}

/* ---- the model's rule ---- */

static bool traces_apart(const struct mt_snapshot *s)
{
    struct owned r;
    bool ok = owned_init(&r, s->n_events);
    for (size_t i = 0; i < s->n_traces && ok; i++) {
        ok = take(&r, s->traces[i].first, s->traces[i].n);
    }
    for (size_t i = 0; i < s->n_host_traces && ok; i++) {
        ok = take(&r, s->host_traces[i].first, s->host_traces[i].n);
    }
    owned_release(&r);
    return ok;
}

static bool segments_apart(const struct mt_snapshot *s, struct owned *r,
                           const struct mt_segment *segments, size_t n)
{
    bool ok = true;
    for (size_t i = 0; i < n && ok; i++) {
        const struct mt_segment *g = &segments[i];
        ok = take(r, g->first_block, g->n_blocks);
        for (uint32_t k = 0; k < g->n_blocks && ok; k++) {
            ok = s->blocks[g->first_block + k].segment == i;
        }
    }
    return ok;
}

static bool blocks_apart(const struct mt_snapshot *s)
{
    struct owned r;
    bool ok = owned_init(&r, s->n_blocks) && segments_apart(s, &r, s->segments, s->n_segments) &&
              segments_apart(s, &r, s->host_segments, s->n_host_segments);
    owned_release(&r);
    return ok;
}

static bool history_apart(const struct mt_snapshot *s)
{
    struct owned r;
    bool ok = owned_init(&r, s->n_history);
    for (size_t i = 0; i < s->n_blocks && ok; i++) {
        ok = take(&r, s->blocks[i].history_first, s->blocks[i].history_n);
    }
    owned_release(&r);
    return ok;
}

const char *mt_snapshot_check(const struct mt_snapshot *s)
{
    if (!traces_apart(s)) {
        return "two traces share events, or name some that are not there";
    }
    if (!blocks_apart(s)) {
        return "two segments share blocks, or name some that are not there or another's";
    }
    return history_apart(s) ? NULL : "two blocks share history, or name some that is not there";
}

size_t mt_snapshot_n_traced(const struct mt_snapshot *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_traces; i++) {
        n += s->traces[i].n;
    }
    for (size_t i = 0; i < s->n_host_traces; i++) {
        n += s->host_traces[i].n;
    }
    return n;
}
