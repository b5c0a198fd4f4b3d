/* SPDX-License-Identifier: MIT */
/* Where a rank stands in its job: its stage of the pipeline, and whose device it is on. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "verbs/ranks/ranks.h"

/* ---- stages ---- */

static bool is_letter(char c)
{
    return (c | 32) >= 'a' && (c | 32) <= 'z';
}

/* The number behind a word of the name: "pp1", "stage_1", "PP-1"; -1: the word is not there. */
static int64_t number_behind(struct mt_str name, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n < name.n; i++) {
        bool begins = i == 0 || !is_letter(name.p[i - 1]);
        if (!begins || strncasecmp(name.p + i, word, n) != 0) {
            continue;
        }
        size_t at = i + n;
        at += strchr("_-.=", name.p[at]) != NULL ? 1 : 0;
        int64_t number = -1;
        for (; at < name.n && name.p[at] >= '0' && name.p[at] <= '9' && number < 100000; at++) {
            number = (number < 0 ? 0 : number * 10) + (name.p[at] - '0');
        }
        if (number >= 0) {
            return number;
        }
    }
    return -1;
}

static int64_t stage_of_name(struct mt_str file)
{
    static const char *const WORDS[] = {"pp", "pp_rank", "stage"};
    int64_t stage = -1;
    for (size_t i = 0; stage < 0 && i < MT_COUNT(WORDS); i++) {
        stage = number_behind(mt_str_basename(file), WORDS[i]);
    }
    return stage;
}

static bool place_by_names(struct mt_ranks *r)
{
    bool all = r->ranks.n > 0;
    for (size_t i = 0; i < r->ranks.n; i++) {
        all &= stage_of_name(r->ranks.v[i].file) >= 0;
    }
    for (size_t i = 0; all && i < r->ranks.n; i++) {
        r->ranks.v[i].stage = stage_of_name(r->ranks.v[i].file);
    }
    return all;
}

static int64_t world_of(const struct mt_ranks *r, int64_t world)
{
    for (size_t i = 0; i < r->ranks.n; i++) {
        int64_t n = r->ranks.v[i].rank + 1;
        world = n > world ? n : world;
    }
    for (size_t i = 0; i < r->lost.n; i++) {
        int64_t n = r->lost.v[i].rank + 1;
        world = n > world ? n : world;
    }
    return world;
}

const char *mt_ranks_place(struct mt_ranks *r, const struct mt_rank_grid *grid, int64_t world,
                           char *text, size_t size)
{
    const int64_t axes[] = {grid->pp, grid->tp, grid->dp};
    int64_t product = 1, known = 0;
    for (size_t i = 0; i < MT_COUNT(axes); i++) {
        known += axes[i] > 0;
        product *= axes[i] > 0 ? axes[i] : 1;
    }
    if (!grid->pp && place_by_names(r)) {
        return NULL;
    }
    world = known == MT_COUNT(axes) && !world ? product : world_of(r, world);
    if (world % product != 0 || world < world_of(r, 0)) {
        (void)snprintf(text, size,
                       "a grid of --pp %" PRId64 ", --tp %" PRId64 ", --dp %" PRId64
                       " does not divide %" PRId64 " ranks",
                       grid->pp ? grid->pp : 1, grid->tp ? grid->tp : 1, grid->dp ? grid->dp : 1,
                       world_of(r, world));
        return text;
    }
    int64_t pp = grid->pp ? grid->pp : grid->tp && grid->dp ? world / (grid->tp * grid->dp) : 0;
    for (size_t i = 0; pp > 0 && i < r->ranks.n; i++) {
        r->ranks.v[i].stage = r->ranks.v[i].rank / (world / pp);
    }
    return NULL;
}

/* ---- devices ---- */

/* The ranks of a node have its devices in turn: how many those are, as most ranks say it; 0: they
 * do not. */
static int64_t devices_of_node(const struct mt_ranks *r)
{
    enum { MOST = 16 };
    int64_t best = 0;
    size_t best_fits = 0;
    for (int64_t n = 2; n <= MOST; n++) {
        size_t fits = 0;
        for (size_t i = 0; i < r->ranks.n; i++) {
            fits += r->ranks.v[i].device >= 0 && r->ranks.v[i].rank % n == r->ranks.v[i].device;
        }
        if (fits > best_fits || (fits == best_fits && n <= (int64_t)r->ranks.n)) {
            best = n;
            best_fits = fits;
        }
    }
    bool most = r->ranks.n > 1 && best_fits * 4 >= r->ranks.n * 3;
    return most ? best : 0;
}

bool mt_ranks_shared_device(const struct mt_ranks *r, size_t index, size_t *other)
{
    const struct mt_rank *rank = &r->ranks.v[index];
    int64_t n = devices_of_node(r);
    if (n == 0 || rank->device < 0 || rank->rank % n == rank->device) {
        return false;
    }
    for (size_t i = 0; i < r->ranks.n; i++) {
        const struct mt_rank *x = &r->ranks.v[i];
        if (x->rank / n == rank->rank / n && x->rank % n == rank->device &&
            x->device == rank->device) {
            *other = i;
            return true;
        }
    }
    return false;
}
