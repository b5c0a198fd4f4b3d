/* SPDX-License-Identifier: MIT */
/* Is the job whole: which ranks cannot be read, which numbers no file has, who died first. */
#include <stdlib.h>

#include "snapshot/model/model.h"
#include "verbs/ranks/ranks.h"

bool mt_ranks_lose(struct mt_ranks *r, struct mt_str file)
{
    bool weak;
    struct mt_rank_lost lost = {mt_rank_number(file, &weak), {0}};
    lost.rank = weak ? -1 : lost.rank;
    lost.file = mt_arena_copy(&r->arena, file.p, file.n);
    return lost.file.p && mt_vec_push(&r->lost, lost);
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static bool add_gap(struct mt_ranks *r, int64_t from, int64_t to)
{
    struct mt_rank_gap gap = {from, to};
    return from > to || mt_vec_push(&r->gaps, gap);
}

/* `numbers` are sorted. */
static bool gaps_between(struct mt_ranks *r, const int64_t *numbers, size_t n, int64_t world)
{
    bool front = n && (world > 0 || numbers[0] < (int64_t)n);
    int64_t next = front || !n ? 0 : numbers[0];
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        ok = add_gap(r, next, numbers[i] - 1);
        next = numbers[i] + 1;
    }
    return ok && add_gap(r, next, world - 1);
}

bool mt_ranks_find_gaps(struct mt_ranks *r, int64_t world)
{
    size_t n = 0;
    int64_t *numbers = mt_mem_alloc(r->ranks.n + r->lost.n + 1, sizeof *numbers);
    if (!numbers) {
        return false;
    }
    for (size_t i = 0; i < r->ranks.n; i++) {
        numbers[n] = r->ranks.v[i].rank;
        n += numbers[n] >= 0;
    }
    for (size_t i = 0; i < r->lost.n; i++) {
        numbers[n] = r->lost.v[i].rank;
        n += numbers[n] >= 0;
    }
    if (n) {
        qsort(numbers, n, sizeof *numbers, ascending);
    }
    bool ok = gaps_between(r, numbers, n, world);
    mt_mem_free(numbers);
    return ok;
}

/* The name without the words that memtool capture adds before the suffix: "rank1" of
 * "rank1.exit.2.pickle"; with the folder. */
static struct mt_str stem_of(struct mt_str file)
{
    static const struct mt_str WORDS[] = {
        MT_STR_INIT("oom"),  MT_STR_INIT("signal"), MT_STR_INIT("term"),  MT_STR_INIT("crash"),
        MT_STR_INIT("exit"), MT_STR_INIT("gz"),     MT_STR_INIT("pickle")};
    for (;;) {
        size_t dot = file.n;
        while (dot > 0 && file.p[dot - 1] != '.' && file.p[dot - 1] != '/') {
            dot--;
        }
        if (dot == 0 || file.p[dot - 1] != '.') {
            return file;
        }
        struct mt_str word = {file.p + dot, file.n - dot};
        bool added = word.n == 1 && word.p[0] >= '2' && word.p[0] <= '9';
        for (size_t i = 0; i < MT_COUNT(WORDS) && !added; i++) {
            added = mt_str_equal(word, WORDS[i]);
        }
        if (!added) {
            return file;
        }
        file.n = dot - 1;
    }
}

static bool is_better(const struct mt_rank *a, const struct mt_rank *b)
{
    uint64_t ooms = a->figure[MT_RANK_OOMS], others = b->figure[MT_RANK_OOMS];
    if ((ooms > 0) != (others > 0)) {
        return ooms > 0;
    }
    if (a->figure[MT_RANK_PEAK] != b->figure[MT_RANK_PEAK]) {
        return a->figure[MT_RANK_PEAK] > b->figure[MT_RANK_PEAK];
    }
    return a->file.n < b->file.n;
}

/* The one of the first `n` ranks that is of the same process; NULL: none. */
static struct mt_rank *same_process(struct mt_ranks *r, size_t n, struct mt_str stem)
{
    for (size_t i = 0; i < n; i++) {
        if (mt_str_equal(stem_of(r->ranks.v[i].file), stem)) {
            return &r->ranks.v[i];
        }
    }
    return NULL;
}

bool mt_ranks_drop_spares(struct mt_ranks *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->ranks.n; i++) {
        struct mt_rank rank = r->ranks.v[i];
        struct mt_rank *kept = same_process(r, n, stem_of(rank.file));
        if (!kept) {
            r->ranks.v[n++] = rank;
            continue;
        }
        if (is_better(&rank, kept)) {
            struct mt_rank other = *kept;
            *kept = rank;
            rank = other;
        }
        struct mt_rank_spare spare = {rank.rank, rank.file, kept->file};
        mt_rank_release(&rank);
        if (!mt_vec_push(&r->spares, spare)) {
            r->ranks.n = n;
            return false;
        }
    }
    r->ranks.n = n;
    return true;
}

size_t mt_ranks_first_oom(const struct mt_ranks *r, size_t *next)
{
    size_t first = SIZE_MAX;
    *next = SIZE_MAX;
    for (size_t i = 0; i < r->ranks.n; i++) {
        int64_t us = r->ranks.v[i].first_oom_us;
        if (us == MT_NO_TIME) {
            continue;
        }
        if (first == SIZE_MAX || us < r->ranks.v[first].first_oom_us) {
            *next = first;
            first = i;
        } else if (*next == SIZE_MAX || us < r->ranks.v[*next].first_oom_us) {
            *next = i;
        }
    }
    bool tie =
        *next != SIZE_MAX && r->ranks.v[*next].first_oom_us == r->ranks.v[first].first_oom_us;
    return tie ? SIZE_MAX : first;
}
