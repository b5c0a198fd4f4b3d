/* SPDX-License-Identifier: MIT */
/*
 * The inside of the allocator, shared by its files. Everything is linked by 32-bit indexes: blocks
 * live in a slab of chunks that never move, so pointers to blocks stay good while others are made.
 *
 *   block    64 bytes, one cache line: a piece of a segment
 *   segment  one cudaMalloc, or one address reservation of an expandable segment
 *   bin      the free blocks of one (pool, stream): size classes with a small tree in each
 *   pool     the bins of one kind (small or large) in one pair, by stream
 *   pair     a small and a large pool under one id; pair 0 is the default
 */
#ifndef MEMTOOL_ALLOCATOR_CORE_ALLOC_CORE_H
#define MEMTOOL_ALLOCATOR_CORE_ALLOC_CORE_H

#include "allocator/core/alloc_counts.h"
#include "allocator/core/allocator.h"
#include "support/hash.h"
#include "support/vec.h"
#include "torch/torch_rules.h"

enum block_state { BLOCK_UNUSED, BLOCK_FREE, BLOCK_IN_USE, BLOCK_PENDING, BLOCK_HOLE };

struct block {
    uint64_t addr, size, requested;
    /* prev, next: neighbours in the segment, 0 = none; left, right: of the free set or the holes,
     * or of the list of frees completed by hand. Side by side, both of a pair would be looked at
     * with one load, which waits when only one of them was just stored. */
    uint32_t prev, left, next, right;
    uint32_t stack; /* of the allocation; 0 when free */
    uint32_t bin;
    uint32_t segment;
    uint32_t gc_base;    /* the pool's call count when it became free */
    uint32_t uses;       /* list of other streams, 0 = none */
    uint16_t events;     /* not yet done */
    uint8_t state;       /* enum block_state */
    bool expandable : 1; /* as its segment */
    bool by_hand : 1;    /* pending until mt_alloc_free_complete */
};
_Static_assert(sizeof(struct block) == 64, "a block is one cache line");

#define CHUNK_BITS 10
#define CHUNK_BLOCKS (1u << CHUNK_BITS)

struct segment {
    uint64_t base, size; /* expandable: of the reservation */
    uint64_t page;       /* expandable: bytes mapped at a time */
    uint64_t counter;    /* rises with every segment made (order of free blocks from 2.13 on) */
    uint32_t first;      /* block at the lowest address; next free slot when unused */
    uint32_t stack;
    uint32_t bin;
    bool expandable, used;
};

#define CLASS_SHIFT 3 /* eight size classes for each doubling */
#define CLASS_COUNT (64u << CLASS_SHIFT)

struct bin {
    uint64_t stream;
    uint32_t pair;
    bool small;
    struct tally *tally; /* of the small pools or of the large ones */
    uint32_t holes;      /* root of the unmapped ranges, by address */
    uint64_t used[CLASS_COUNT / 64];
    uint32_t roots[CLASS_COUNT];
};

struct pool {
    MT_VEC(uint32_t) bins; /* by stream handle */
    uint32_t last;         /* the bin found last, 0 = none */
    uint32_t calls;        /* of the free-block search, while garbage collection is on */
};

struct pair {
    struct mt_alloc_pool_id id;
    struct pool pools[2]; /* [small] */
    int64_t users;        /* of a private pool */
    int64_t segments;     /* and reservations; a private pool without users or segments ends */
    bool alive;
};

/* A stream that used a block beside its own. */
struct use {
    uint64_t stream;
    uint32_t next;
};

struct waiting {
    uint64_t event;
    uint32_t block;
};
/* The frees that wait for one stream, oldest first: entries[head .. n). */
struct queue {
    uint64_t stream;
    size_t head;
    MT_VEC(struct waiting) entries;
};

struct capture {
    struct mt_alloc_pool_id id;
    bool capture;
    bool (*filter)(void *ctx, uint64_t stream);
    void *filter_ctx;
};

/* Blocks in use by address: open addressing over block indexes, the address is in the block. */
struct addr_table {
    uint32_t *slots; /* 0 = empty */
    uint32_t n, mask;
    unsigned shift;
};

struct mt_alloc {
    struct mt_torch_rules rules;
    struct mt_device device;
    struct mt_device_caps caps;
    struct mt_alloc_observer observer;
    bool has_allowed, find_by_addr;
    bool gc_on, gc_ever; /* now; at any time: then free blocks have an age */
    bool short_way;      /* the settings need none of the steps that mt_alloc_serve leaves out */
    uint64_t allowed;
    uint64_t total;  /* bytes held from the device */
    uint64_t *walks; /* mt_alloc_options */

    struct block **chunks;
    size_t n_chunks, cap_chunks;
    uint32_t spare;   /* list of unused blocks through `next` */
    uint32_t n_spare; /* how many */

    MT_VEC(struct segment) segments; /* slot 0 is unused */
    uint32_t spare_segment;
    uint64_t segment_counter;
    MT_VEC(struct bin *) bins; /* slot 0 is NULL */
    MT_VEC(struct pair) pairs;
    uint32_t last_pair;
    uint32_t dead_pair;        /* no pair before it can be used again */
    struct mt_idmap pair_at;   /* hash of the id of a private pool -> its pair */
    bool pair_hashes_coincide; /* two living pools once had one hash: pair_at does not tell */
    struct bin *recent[2];     /* [small]: of the default pools, used last; NULL: none yet */
    struct addr_table by_addr;

    MT_VEC(struct use) uses; /* slot 0 is unused */
    uint32_t spare_use;
    MT_VEC(struct queue) queues;
    size_t n_waiting; /* entries in all queues */
    MT_VEC(uint32_t) deferred;
    MT_VEC(struct capture) captures;
    size_t n_captures; /* of them, graph captures */
    uint32_t hand_first, hand_last;
    MT_VEC(uint32_t) scratch; /* of release */

    uint32_t stack; /* of the call that is running */
    struct counts counts;
    struct mt_alloc_stats stats; /* all but stat[][], which mt_alloc_stats makes of `counts` */
    struct mt_alloc_oom oom;
};

static inline struct block *block_at(const struct mt_alloc *a, uint32_t i)
{
    return &a->chunks[i >> CHUNK_BITS][i & (CHUNK_BLOCKS - 1)];
}

static inline struct bin *bin_of(const struct mt_alloc *a, const struct block *b)
{
    return a->bins.v[b->bin];
}

static inline struct segment *segment_of(const struct mt_alloc *a, const struct block *b)
{
    return &a->segments.v[b->segment];
}

static inline bool is_split(const struct block *b)
{
    return b->prev != 0 || b->next != 0;
}

static inline struct pool *pool_of(const struct mt_alloc *a, const struct bin *bin)
{
    return &a->pairs.v[bin->pair].pools[bin->small];
}

/* ---- alloc_blocks.c: the slab and segments; alloc_blocks.h: taking, cutting, merging ---- */

/* Makes sure that n blocks can be taken without memory. */
bool mt_blocks_reserve(struct mt_alloc *a, uint32_t n) MT_NODISCARD;
/* A segment slot, with used set; 0 when out of memory. */
uint32_t mt_segment_take(struct mt_alloc *a) MT_NODISCARD;
void mt_segment_give(struct mt_alloc *a, uint32_t i);

/* ---- free_set.c ---- */

/* The size class; rises with the size. 8 is added so that the sizes below the first doubling need
 * no case. */
static inline unsigned class_of(uint64_t size)
{
    size += 1u << CLASS_SHIFT;
    unsigned lg = 63u ^ (unsigned)__builtin_clzll(size);
    return ((lg - 1) << CLASS_SHIFT) + (unsigned)(size >> (lg - CLASS_SHIFT));
}

/* The first class from c on that holds something, or CLASS_COUNT. */
static inline unsigned class_from(const struct bin *bin, unsigned c)
{
    if (c >= CLASS_COUNT) {
        return CLASS_COUNT;
    }
    uint64_t word = bin->used[c / 64] & (~(uint64_t)0 << (c % 64));
    for (unsigned w = c / 64;;) {
        if (word) {
            return w * 64 + (unsigned)__builtin_ctzll(word);
        }
        if (++w == CLASS_COUNT / 64) {
            return CLASS_COUNT;
        }
        word = bin->used[w];
    }
}

void mt_free_set_insert_among(struct mt_alloc *a, uint32_t i);
void mt_free_set_erase_among(struct mt_alloc *a, uint32_t i);

/* Block i, which is of this bin. Most classes are empty or hold one block: no call then. */
static inline void mt_free_set_insert(struct mt_alloc *a, struct bin *bin, uint32_t i)
{
    struct block *b = block_at(a, i);
    unsigned c = class_of(b->size);
    if (bin->roots[c] != 0) {
        mt_free_set_insert_among(a, i);
        return;
    }
    b->left = b->right = 0;
    bin->roots[c] = i;
    bin->used[c / 64] |= (uint64_t)1 << (c % 64);
}

static inline void mt_free_set_erase(struct mt_alloc *a, struct bin *bin, uint32_t i)
{
    const struct block *b = block_at(a, i);
    unsigned c = class_of(b->size);
    if (bin->roots[c] != i || (b->left | b->right) != 0) {
        mt_free_set_erase_among(a, i);
        return;
    }
    bin->roots[c] = 0;
    bin->used[c / 64] &= ~((uint64_t)1 << (c % 64));
}

/* The first free block of at least `size` bytes in PyTorch's order, 0 = none. */
uint32_t mt_free_set_fit_among(const struct mt_alloc *a, const struct bin *bin, uint64_t size);
/* The class of the size is empty or holds one block that is large enough: no call then. */
static inline uint32_t mt_free_set_fit(const struct mt_alloc *a, const struct bin *bin,
                                       uint64_t size)
{
    unsigned c = class_of(size);
    uint32_t i = bin->roots[c];
    if (i != 0) {
        const struct block *b = block_at(a, i);
        if ((b->left | b->right) == 0 && b->size >= size) {
            return i;
        }
    } else {
        c = class_from(bin, c + 1);
        i = c < CLASS_COUNT ? bin->roots[c] : 0;
        if (i == 0 || block_at(a, i)->left == 0) {
            return i;
        }
    }
    return mt_free_set_fit_among(a, bin, size);
}
/* The neighbours in that order. */
uint32_t mt_free_set_next(const struct mt_alloc *a, uint32_t i);
uint32_t mt_free_set_prev(const struct mt_alloc *a, uint32_t i);
uint32_t mt_free_set_last(const struct mt_alloc *a, const struct bin *bin);
/* Unmapped ranges, by address. */
void mt_holes_insert(struct mt_alloc *a, uint32_t i);
void mt_holes_erase(struct mt_alloc *a, uint32_t i);
uint32_t mt_holes_from(const struct mt_alloc *a, const struct bin *bin, uint64_t addr);
/* Proves order and shape of one bin; counts its members. */
enum mt_status mt_free_set_check(const struct mt_alloc *a, uint32_t bin, size_t *n_free,
                                 size_t *n_holes, struct mt_error *err);

/* ---- addr_table.c ---- */

/* Where the search for an address begins: blocks lie at multiples of 512. */
static inline uint32_t addr_home(const struct addr_table *t, uint64_t addr)
{
    return (uint32_t)(((addr >> 9) * 0x9e3779b97f4a7c15u) >> t->shift);
}

bool mt_addr_table_grow(struct mt_alloc *a) MT_NODISCARD;
/* For one more. */
static inline bool mt_addr_table_has_room(const struct mt_alloc *a)
{
    return a->by_addr.n < a->by_addr.mask / 2;
}
/* Room for one more; false when out of memory. */
static inline bool mt_addr_table_reserve(struct mt_alloc *a)
{
    return mt_addr_table_has_room(a) || mt_addr_table_grow(a);
}
static inline void addr_place(struct mt_alloc *a, uint32_t i)
{
    struct addr_table *t = &a->by_addr;
    uint32_t at = addr_home(t, block_at(a, i)->addr);
    while (t->slots[at]) {
        at = (at + 1) & t->mask;
    }
    t->slots[at] = i;
}
/* Adds a block; room must have been reserved. */
static inline void mt_addr_table_put(struct mt_alloc *a, uint32_t i)
{
    addr_place(a, i);
    a->by_addr.n++;
}
void mt_addr_table_remove(struct mt_alloc *a, uint32_t i);
/* The slot that holds this address, or the empty one where the search ends. */
static inline uint32_t mt_addr_table_slot(const struct mt_alloc *a, uint64_t addr)
{
    const struct addr_table *t = &a->by_addr;
    uint32_t at = addr_home(t, addr);
    while (t->slots[at] && block_at(a, t->slots[at])->addr != addr) {
        at = (at + 1) & t->mask;
    }
    return at;
}
/* Empties a slot and moves back what stands behind it. */
void mt_addr_table_close(struct mt_alloc *a, uint32_t slot);
static inline void mt_addr_table_clear(struct mt_alloc *a, uint32_t slot)
{
    struct addr_table *t = &a->by_addr;
    if (t->slots[(slot + 1) & t->mask] != 0) {
        mt_addr_table_close(a, slot);
        return;
    }
    t->slots[slot] = 0;
    t->n--;
}

/* ---- alloc_pools.c ---- */

/* The pair of `id`, made when there is none; UINT32_MAX when out of memory. */
uint32_t mt_pair_get(struct mt_alloc *a, struct mt_alloc_pool_id id);
/* The same, or UINT32_MAX when there is none. */
uint32_t mt_pair_find(const struct mt_alloc *a, struct mt_alloc_pool_id id);
/* A private pool is over, its place free for another. */
void mt_pair_end(struct mt_alloc *a, uint32_t pair);
/* The bin of (pair, small, stream), made when there is none; 0 when out of memory. */
uint32_t mt_bin_get(struct mt_alloc *a, uint32_t pair, bool small, uint64_t stream);
uint32_t mt_bin_find(const struct mt_alloc *a, uint32_t pair, bool small, uint64_t stream);
/* The pool that a request goes to. */
struct mt_alloc_pool_id mt_route(const struct mt_alloc *a, const struct mt_alloc_request *r);

/* ---- alloc_stats.c; alloc_counts.h: what requests and frees count ---- */

static inline void stat_up(struct mt_alloc_stat *s, int64_t n)
{
    s->current += n;
    s->allocated += n;
    if (s->current > s->peak) {
        s->peak = s->current;
    }
}

static inline void stat_down(struct mt_alloc_stat *s, int64_t n)
{
    s->current -= n;
    s->freed += n;
}

/* ---- alloc_observe.c ---- */

/* For somebody who listens; use mt_observe_block. */
void mt_tell_of_block(struct mt_alloc *a, enum mt_alloc_event_kind kind, const struct bin *bin,
                      uint32_t i, const struct block *b, uint32_t stack);
/* Of block i, which is `b` and of this bin: its users have both at hand. */
static inline void mt_observe_block(struct mt_alloc *a, enum mt_alloc_event_kind kind,
                                    const struct bin *bin, uint32_t i, const struct block *b,
                                    uint32_t stack)
{
    if (a->observer.on_event) {
        mt_tell_of_block(a, kind, bin, i, b, stack);
    }
}
void mt_observe_range(struct mt_alloc *a, enum mt_alloc_event_kind kind, uint32_t segment,
                      uint64_t addr, uint64_t size);

/* ---- alloc_expand.c ---- */

/* A free mapped block of at least `size` bytes, taken out of the free set; 0 with MT_OK never.
 * MT_DEVICE_OOM when the device has no room, or an error. */
enum mt_status mt_expand_allocate(struct mt_alloc *a, uint32_t bin, uint64_t size, uint32_t *out,
                                  struct mt_error *err) MT_NODISCARD;
/* Gives the whole pages of a free mapped block back to the device. */
enum mt_status mt_expand_unmap(struct mt_alloc *a, uint32_t i, struct mt_error *err) MT_NODISCARD;
static inline uint64_t page_size(const struct mt_alloc *a, const struct bin *bin)
{
    return mt_torch_page_size(&a->rules, bin->small);
}

/* ---- alloc_release.c ---- */

/* n blocks were looked at in a walk over all; mt_walk_on: whether there may be more. A pool is
 * often out of the cache, and counts as WALK_POOL blocks. */
enum { WALK_POOL = 8 };
static inline void mt_walked(const struct mt_alloc *a, size_t n)
{
    if (a->walks) {
        *a->walks -= *a->walks < n ? *a->walks : n;
    }
}
enum mt_status mt_walk_on(const struct mt_alloc *a, size_t n, struct mt_error *err) MT_NODISCARD;
enum mt_status mt_release_cached(struct mt_alloc *a, struct mt_error *err) MT_NODISCARD;
/* *enough: whether as much was freed as the request needs. */
enum mt_status mt_release_available(struct mt_alloc *a, const struct bin *bin, uint64_t size,
                                    bool *enough, struct mt_error *err) MT_NODISCARD;
enum mt_status mt_collect_garbage(struct mt_alloc *a, struct mt_error *err) MT_NODISCARD;

/* ---- alloc_free.c ---- */

/* A pending or just freed block becomes free and merges. */
void mt_block_complete(struct mt_alloc *a, uint32_t i);
/* A restored block waits for mt_alloc_free_complete. */
void mt_block_make_pending(struct mt_alloc *a, uint32_t i);

/* ---- alloc_streams.c ---- */

/* Queues a pending block behind the work of the streams that used it. */
enum mt_status mt_streams_wait(struct mt_alloc *a, uint32_t i, struct mt_error *err) MT_NODISCARD;
enum mt_status mt_streams_process(struct mt_alloc *a, struct mt_error *err) MT_NODISCARD;
/* Waits for everything that is pending, and completes it. */
enum mt_status mt_streams_sync(struct mt_alloc *a, struct mt_error *err) MT_NODISCARD;
void mt_streams_release(struct mt_alloc *a);

#endif
