/* SPDX-License-Identifier: MIT */
/*
 * The free blocks of one pool and stream in PyTorch's order: by size, then by address (from 2.13 on
 * by the age of the segment first). PyTorch keeps one std::set; here eight size classes for each
 * doubling, a bitmap of those that hold something, and in each class a treap whose priorities are a
 * seeded hash of the block's index. A best fit looks into one class, then takes the smallest of the
 * next class that is not empty: the trees stay a few nodes deep, and with everything in one class
 * the treap keeps O(log n). Against a single red-black tree over all sizes this saves most of the
 * cache misses of the descent. Nodes are the blocks themselves; nothing is allocated.
 *
 * The unmapped ranges of expandable segments stand in one more treap by address.
 */
#include "allocator/core/alloc_core.h"

/* ---- order ---- */

/* Addresses are unique on a true device; the index keeps order where a recording contradicts
 * itself.
 */
struct key {
    uint64_t size, age, addr;
    uint32_t index;
};

static struct key hole_key(uint64_t addr, uint32_t index)
{
    return (struct key){0, 0, addr, index};
}

static struct key key_of(const struct mt_alloc *a, uint32_t i)
{
    const struct block *b = block_at(a, i);
    uint64_t age = a->rules.policy->oldest_segment_first ? segment_of(a, b)->counter : 0;
    return (struct key){b->size, age, b->addr, i};
}

static inline bool before(const struct mt_alloc *a, uint32_t i, const struct key *k)
{
    const struct block *b = block_at(a, i);
    if (b->state != BLOCK_HOLE) {
        if (b->size != k->size) {
            return b->size < k->size;
        }
        if (a->rules.policy->oldest_segment_first && segment_of(a, b)->counter != k->age) {
            return segment_of(a, b)->counter < k->age;
        }
    }
    return b->addr != k->addr ? b->addr < k->addr : i < k->index;
}

/* Whoever writes a file chooses sizes and addresses in the order of the indexes, but does not know
 * where the allocator lies: nobody can make a list of the tree. */
static uint32_t priority(const struct mt_alloc *a, uint32_t i)
{
    return (uint32_t)(mt_hash_mix((uint64_t)(uintptr_t)a, i) >> 16);
}

/* ---- the treap ---- */

static void tree_insert(struct mt_alloc *a, uint32_t *link, uint32_t i, const struct key *k)
{
    uint32_t p = priority(a, i);
    while (*link && priority(a, *link) >= p) {
        struct block *at = block_at(a, *link);
        link = before(a, *link, k) ? &at->right : &at->left;
    }
    /* What stood here is cut in two by the new key. */
    uint32_t rest = *link;
    struct block *b = block_at(a, i);
    uint32_t *low = &b->left, *high = &b->right;
    while (rest) {
        struct block *at = block_at(a, rest);
        if (before(a, rest, k)) {
            *low = rest;
            low = &at->right;
            rest = at->right;
        } else {
            *high = rest;
            high = &at->left;
            rest = at->left;
        }
    }
    *low = *high = 0;
    *link = i;
}

static void tree_erase(struct mt_alloc *a, uint32_t *link, uint32_t i, const struct key *k)
{
    while (*link != i) {
        struct block *at = block_at(a, *link);
        MT_ASSERT(*link != 0);
        link = before(a, *link, k) ? &at->right : &at->left;
    }
    uint32_t low = block_at(a, i)->left, high = block_at(a, i)->right;
    while (low && high) {
        if (priority(a, low) > priority(a, high)) {
            *link = low;
            link = &block_at(a, low)->right;
            low = *link;
        } else {
            *link = high;
            link = &block_at(a, high)->left;
            high = *link;
        }
    }
    *link = low ? low : high;
    block_at(a, i)->left = block_at(a, i)->right = 0;
}

/* The first node that is not before k, or 0. */
static uint32_t tree_from(const struct mt_alloc *a, uint32_t root, const struct key *k)
{
    uint32_t found = 0;
    while (root) {
        const struct block *at = block_at(a, root);
        if (before(a, root, k)) {
            root = at->right;
        } else {
            found = root;
            root = at->left;
        }
    }
    return found;
}

/* The last node that is before k, or 0. */
static uint32_t tree_until(const struct mt_alloc *a, uint32_t root, const struct key *k)
{
    uint32_t found = 0;
    while (root) {
        const struct block *at = block_at(a, root);
        if (before(a, root, k)) {
            found = root;
            root = at->right;
        } else {
            root = at->left;
        }
    }
    return found;
}

/* ---- size classes ---- */

/* The last class before c that holds something, or CLASS_COUNT. */
static unsigned class_until(const struct bin *bin, unsigned c)
{
    for (unsigned w = (c + 63) / 64; w-- > 0;) {
        uint64_t word = bin->used[w];
        if (c < (w + 1) * 64) {
            word &= ((uint64_t)1 << (c % 64)) - 1;
        }
        if (word) {
            return w * 64 + 63u - (unsigned)__builtin_clzll(word);
        }
    }
    return CLASS_COUNT;
}

static uint32_t leftmost(const struct mt_alloc *a, uint32_t i)
{
    for (uint32_t l; i && (l = block_at(a, i)->left) != 0;) {
        i = l;
    }
    return i;
}

static uint32_t rightmost(const struct mt_alloc *a, uint32_t i)
{
    for (uint32_t r; i && (r = block_at(a, i)->right) != 0;) {
        i = r;
    }
    return i;
}

MT_HOT void mt_free_set_insert_among(struct mt_alloc *a, uint32_t i)
{
    struct block *b = block_at(a, i);
    struct key k = key_of(a, i);
    tree_insert(a, &bin_of(a, b)->roots[class_of(b->size)], i, &k);
}

MT_HOT void mt_free_set_erase_among(struct mt_alloc *a, uint32_t i)
{
    struct block *b = block_at(a, i);
    struct bin *bin = bin_of(a, b);
    unsigned c = class_of(b->size);
    struct key k = key_of(a, i);
    tree_erase(a, &bin->roots[c], i, &k);
    if (bin->roots[c] == 0) {
        bin->used[c / 64] &= ~((uint64_t)1 << (c % 64));
    }
}

static uint32_t first_from(const struct mt_alloc *a, const struct bin *bin, const struct key *k)
{
    unsigned c = class_of(k->size);
    uint32_t found = bin->roots[c] ? tree_from(a, bin->roots[c], k) : 0;
    if (found == 0 && (c = class_from(bin, c + 1)) < CLASS_COUNT) {
        found = leftmost(a, bin->roots[c]);
    }
    return found;
}

MT_HOT uint32_t mt_free_set_fit_among(const struct mt_alloc *a, const struct bin *bin,
                                      uint64_t size)
{
    struct key k = {size, 0, 0, 0};
    return first_from(a, bin, &k);
}

uint32_t mt_free_set_next(const struct mt_alloc *a, uint32_t i)
{
    const struct block *b = block_at(a, i);
    struct key k = key_of(a, i);
    k.index++;
    return first_from(a, bin_of(a, b), &k);
}

uint32_t mt_free_set_prev(const struct mt_alloc *a, uint32_t i)
{
    const struct block *b = block_at(a, i);
    const struct bin *bin = bin_of(a, b);
    struct key k = key_of(a, i);
    unsigned c = class_of(b->size);
    uint32_t found = tree_until(a, bin->roots[c], &k);
    if (found == 0 && (c = class_until(bin, c)) < CLASS_COUNT) {
        found = rightmost(a, bin->roots[c]);
    }
    return found;
}

uint32_t mt_free_set_last(const struct mt_alloc *a, const struct bin *bin)
{
    unsigned c = class_until(bin, CLASS_COUNT);
    return c < CLASS_COUNT ? rightmost(a, bin->roots[c]) : 0;
}

/* ---- holes ---- */

void mt_holes_insert(struct mt_alloc *a, uint32_t i)
{
    struct block *b = block_at(a, i);
    struct key k = hole_key(b->addr, i);
    b->left = b->right = 0;
    tree_insert(a, &bin_of(a, b)->holes, i, &k);
}

void mt_holes_erase(struct mt_alloc *a, uint32_t i)
{
    struct block *b = block_at(a, i);
    struct key k = hole_key(b->addr, i);
    tree_erase(a, &bin_of(a, b)->holes, i, &k);
}

uint32_t mt_holes_from(const struct mt_alloc *a, const struct bin *bin, uint64_t addr)
{
    struct key k = hole_key(addr, 0);
    return tree_from(a, bin->holes, &k);
}

/* ---- proof ---- */

/* In order without recursion: the next node by key, from the root each time. */
static enum mt_status check_tree(const struct mt_alloc *a, uint32_t bin, uint32_t root,
                                 uint8_t state, unsigned c, size_t *n, struct mt_error *err)
{
    struct key k = {0, 0, 0, 0};
    for (uint32_t i = leftmost(a, root); i; i = tree_from(a, root, &k)) {
        const struct block *b = block_at(a, i);
        if (b->state != state || b->bin != bin) {
            return mt_fail(err, MT_INTERNAL, MT_NO_OFFSET,
                           "block 0x%llx stands in a set that is not its own",
                           (unsigned long long)b->addr);
        }
        if (state == BLOCK_FREE && class_of(b->size) != c) {
            return mt_fail(err, MT_INTERNAL, MT_NO_OFFSET, "block 0x%llx stands in class %u",
                           (unsigned long long)b->addr, c);
        }
        k = state == BLOCK_HOLE ? hole_key(b->addr, i) : key_of(a, i);
        k.index++;
        (*n)++;
    }
    return MT_OK;
}

enum mt_status mt_free_set_check(const struct mt_alloc *a, uint32_t index, size_t *n_free,
                                 size_t *n_holes, struct mt_error *err)
{
    const struct bin *bin = a->bins.v[index];
    for (unsigned c = 0; c < CLASS_COUNT; c++) {
        bool marked = (bin->used[c / 64] >> (c % 64)) & 1;
        if (marked != (bin->roots[c] != 0)) {
            return mt_fail(err, MT_INTERNAL, MT_NO_OFFSET, "class %u is marked wrongly", c);
        }
        MT_TRY(check_tree(a, index, bin->roots[c], BLOCK_FREE, c, n_free, err));
    }
    return check_tree(a, index, bin->holes, BLOCK_HOLE, 0, n_holes, err);
}
