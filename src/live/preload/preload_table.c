/* SPDX-License-Identifier: MIT */
/* Allocations in slots with a map from the address; pages and mappings, of which there are at most
 * some thousands, in arrays. */
#include "live/preload/preload_table.h"

#include <stdlib.h>

#include "support/mem.h"

#include "live/preload/preload.h"

bool mt_preload_table_put(struct mt_preload_table *t, const struct mt_preload_held *h)
{
    const uint32_t *there = mt_idmap_find(&t->by_addr, h->addr);
    if (there) {
        t->held.v[*there] = *h;
        return true;
    }
    uint32_t slot = (uint32_t)t->held.n;
    if (t->empty.n > 0) {
        slot = t->empty.v[t->empty.n - 1];
    } else if (!mt_vec_push(&t->held, (struct mt_preload_held){0})) {
        return false;
    }
    /* room for its number when it is free again, so that taking it out cannot fail */
    if (!mt_vec_reserve(&t->empty, t->held.n) || !mt_idmap_put(&t->by_addr, h->addr, slot)) {
        if (slot + 1 == t->held.n && t->empty.n == 0) {
            t->held.n--;
        }
        return false;
    }
    t->empty.n -= t->empty.n > 0;
    t->held.v[slot] = *h;
    return true;
}

bool mt_preload_table_take(struct mt_preload_table *t, uint64_t addr, struct mt_preload_held *out)
{
    uint32_t slot;
    if (!mt_idmap_remove(&t->by_addr, addr, &slot)) {
        return false;
    }
    *out = t->held.v[slot];
    t->held.v[slot] = (struct mt_preload_held){0};
    t->empty.v[t->empty.n++] = slot;
    return true;
}

/* ---- physical memory ---- */

uint64_t mt_preload_table_page(struct mt_preload_table *t, uint64_t handle, uint64_t size)
{
    const struct mt_preload_page page = {
        .addr = MT_PRELOAD_PAGES + t->next_page, .handle = handle, .handles = 1};
    if (!mt_vec_push(&t->pages, page)) {
        return 0;
    }
    if (!mt_idmap_put(&t->by_handle, handle, (uint32_t)(t->pages.n - 1))) {
        t->pages.n--;
        return 0;
    }
    t->next_page += size;
    return page.addr;
}

static struct mt_preload_page *page_of(struct mt_preload_table *t, uint64_t handle)
{
    const uint32_t *i = mt_idmap_find(&t->by_handle, handle);
    return i ? &t->pages.v[*i] : NULL;
}

/* The page's address when nothing holds it any more. */
static uint64_t end_unheld(struct mt_preload_table *t, struct mt_preload_page *page)
{
    if (page->handles > 0 || page->mappings > 0) {
        return 0;
    }
    const uint32_t *i = mt_idmap_find(&t->by_handle, page->handle);
    if (i && &t->pages.v[*i] == page) { /* the driver may have given the number out again */
        mt_idmap_remove(&t->by_handle, page->handle, NULL);
    }
    return page->addr;
}

void mt_preload_table_retain(struct mt_preload_table *t, uint64_t handle)
{
    struct mt_preload_page *page = page_of(t, handle);
    if (page) {
        page->handles++;
    }
}

uint64_t mt_preload_table_release(struct mt_preload_table *t, uint64_t handle)
{
    struct mt_preload_page *page = page_of(t, handle);
    if (!page || page->handles == 0) {
        return 0;
    }
    page->handles--;
    return end_unheld(t, page);
}

void mt_preload_table_map(struct mt_preload_table *t, uint64_t addr, uint64_t handle)
{
    struct mt_preload_page *page = page_of(t, handle);
    if (!page) {
        return;
    }
    const struct mt_preload_mapping mapping = {addr, (uint32_t)(page - t->pages.v)};
    if (mt_vec_push(&t->mappings, mapping)) {
        page->mappings++;
    }
}

bool mt_preload_table_unmap(struct mt_preload_table *t, uint64_t addr, uint64_t size,
                            uint64_t *gone)
{
    for (size_t i = 0; i < t->mappings.n; i++) {
        const struct mt_preload_mapping m = t->mappings.v[i];
        if (m.addr >= addr && m.addr - addr < size) {
            t->mappings.v[i] = t->mappings.v[--t->mappings.n];
            t->pages.v[m.page].mappings--;
            *gone = end_unheld(t, &t->pages.v[m.page]);
            return true;
        }
    }
    return false;
}

/* ---- the snapshot ---- */

static int by_place(const void *a, const void *b)
{
    const struct mt_preload_held *x = a, *y = b;
    if (x->device != y->device) {
        return x->device < y->device ? -1 : 1;
    }
    return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static enum mt_status dump_held(const struct mt_preload_held *h, struct mt_dump *d,
                                struct mt_error *err)
{
    const struct mt_alloc_block_view block = {.addr = h->addr,
                                              .size = h->size,
                                              .requested = h->size,
                                              .stack = h->stack,
                                              .state = MT_ALLOC_IN_USE};
    const struct mt_alloc_segment_view segment = {.small = h->device == MT_RECORD_HOST,
                                                  .addr = h->addr,
                                                  .size = h->size,
                                                  .stream = h->stream,
                                                  .allocated = h->size,
                                                  .active = h->size,
                                                  .requested = h->size,
                                                  .stack = h->stack,
                                                  .n_blocks = 1};
    return mt_dump_add_segment(d, h->device, &segment, &block, err);
}

enum mt_status mt_preload_table_dump(const struct mt_preload_table *t, struct mt_dump *d,
                                     struct mt_error *err)
{
    enum mt_status status = MT_OK;
    size_t n = 0;
    struct mt_preload_held *sorted = mt_mem_alloc(t->held.n + 1, sizeof *sorted);
    if (!sorted) {
        return mt_fail_nomem(err);
    }
    for (size_t i = 0; i < t->held.n; i++) {
        if (t->held.v[i].addr != 0) {
            sorted[n++] = t->held.v[i];
        }
    }
    qsort(sorted, n, sizeof *sorted, by_place);
    for (size_t i = 0; status == MT_OK && i < n; i++) {
        status = dump_held(&sorted[i], d, err);
    }
    mt_mem_free(sorted);
    return status;
}
