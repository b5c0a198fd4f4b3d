/* SPDX-License-Identifier: MIT */
/*
 * The page map. A block is drawn with its requested bytes from where it begins, so slack at its end
 * shows as empty; PyTorch's viewer does the same (`segsum` in torch/cuda/_memory_viz.py, read in
 * 2.6). Filled shares are kept as bytes, not as fractions, so that a full page is exactly full.
 */
#include "verbs/stats/page_map.h"

#include <stdlib.h>

#include "support/checked.h"
#include "snapshot/model/device_segments.h"

struct drawing {
    uint64_t page, pages;
    char *out;
    uint64_t *filled; /* bytes of each page that blocks take */
};

static void draw_block(struct drawing *d, uint64_t start, uint64_t size, char letter)
{
    uint64_t end = start + size;
    for (uint64_t i = start / d->page; i < d->pages && i * d->page < end; i++) {
        uint64_t from = i * d->page, to = from + d->page;
        from = start > from ? start : from;
        to = end < to ? end : to;
        d->filled[i] += to - from;
        if (d->out[i] == ' ') {
            d->out[i] = letter;
        } else {
            uint64_t tenths = d->filled[i] / (d->page / 10);
            d->out[i] = tenths >= 10 ? '*' : (char)('0' + tenths);
        }
    }
}

void mt_page_map_fill(const struct mt_snapshot *s, const struct mt_segment *segment, uint64_t page,
                      char *out, uint64_t *touched)
{
    struct drawing d = {page, mt_page_count(segment->total_size, page), out, touched};
    unsigned nth = 0;
    for (uint64_t i = 0; i < d.pages; i++) {
        out[i] = ' ';
        touched[i] = 0;
    }
    for (uint32_t i = 0; i < segment->n_blocks; i++) {
        const struct mt_block *b = &s->blocks[segment->first_block + i];
        uint64_t offset = b->addr - segment->addr;
        if (b->state != MT_BLOCK_ALLOCATED) {
            continue;
        }
        if (offset < segment->total_size && b->requested <= segment->total_size - offset) {
            draw_block(&d, offset, b->requested, (char)('a' + nth % 26));
        }
        nth++;
    }
}

static int more_first(uint64_t a, uint64_t b)
{
    return a > b ? -1 : a < b;
}

static int by_size(const void *a, const void *b)
{
    const struct mt_page_row *x = a, *y = b;
    int order = more_first(x->size, y->size);
    order = order ? order : more_first(x->allocated, y->allocated);
    order = order ? order : more_first(x->pending, y->pending);
    order = order ? order : more_first(y->stream, x->stream);
    return order ? order : more_first(y->segment, x->segment);
}

enum mt_status mt_page_rows_find(struct mt_page_rows *p, const struct mt_snapshot *s,
                                 const struct mt_filtered *f, int32_t device, struct mt_error *err)
{
    *p = (struct mt_page_rows){0};
    struct mt_device_segments walk = mt_device_segments(s, device);
    for (const struct mt_segment *segment; (segment = mt_device_segments_next(&walk)) != NULL;) {
        if (segment->total_size < MT_PAGE_SIZE || !mt_filtered_segment(f, segment)) {
            continue;
        }
        struct mt_page_row row = {.segment = (uint32_t)(segment - s->segments),
                                  .stream = segment->stream,
                                  .size = segment->total_size};
        for (uint32_t k = 0; k < segment->n_blocks; k++) {
            const struct mt_block *b = &s->blocks[segment->first_block + k];
            row.allocated += b->state == MT_BLOCK_ALLOCATED ? b->size : 0;
            row.pending +=
                b->state != MT_BLOCK_ALLOCATED && b->state != MT_BLOCK_INACTIVE ? b->size : 0;
        }
        uint64_t active = mt_add_sat(row.allocated, row.pending);
        row.free = row.size > active ? row.size - active : 0;
        if (!mt_vec_push(&p->rows, row)) {
            return mt_fail_nomem(err);
        }
    }
    if (p->rows.n) {
        qsort(p->rows.v, p->rows.n, sizeof *p->rows.v, by_size);
    }
    return MT_OK;
}

void mt_page_rows_release(struct mt_page_rows *p)
{
    mt_vec_release(&p->rows);
}
