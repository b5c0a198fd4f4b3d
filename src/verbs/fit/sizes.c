/* SPDX-License-Identifier: MIT */
#include "verbs/fit/sizes.h"

#include <string.h>

#include "support/hash.h"
#include "verbs/fit/fit.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The number at *at, which it moves behind it; above the most: 0. */
static uint64_t number_at(struct mt_str s, size_t *at)
{
    uint64_t value = 0;
    for (; *at < s.n && is_digit(s.p[*at]); ++*at) {
        value = value > MT_FIT_MOST_SIZE ? value : value * 10 + (uint64_t)(s.p[*at] - '0');
    }
    return value > MT_FIT_MOST_SIZE ? 0 : value;
}

/* The k-th number of a text, 0-based; false: there are fewer. */
static bool number_of(struct mt_str s, size_t k, uint64_t *value)
{
    for (size_t at = 0; at < s.n;) {
        if (!is_digit(s.p[at])) {
            at++;
            continue;
        }
        *value = number_at(s, &at);
        if (k-- == 0) {
            return true;
        }
    }
    return false;
}

/* The same but for numbers. */
static bool same_words(struct mt_str a, struct mt_str b)
{
    size_t i = 0, k = 0;
    while (i < a.n && k < b.n) {
        if (is_digit(a.p[i]) && is_digit(b.p[k])) {
            number_at(a, &i);
            number_at(b, &k);
        } else if (a.p[i++] != b.p[k++]) {
            return false;
        }
    }
    return i == a.n && k == b.n;
}

static bool all_differ(const uint64_t *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++) {
            if (x[i] == x[k]) {
                return false;
            }
        }
    }
    return true;
}

/* *changes: the k-th numbers are not all one. */
static bool numbers_of(const struct mt_str *texts, size_t n, size_t k, uint64_t *out, bool *changes)
{
    *changes = false;
    for (size_t i = 0; i < n; i++) {
        if (!number_of(texts[i], k, &out[i])) {
            return false;
        }
        *changes |= out[i] != out[0];
    }
    return true;
}

bool mt_fit_sizes_in(const struct mt_str *texts, size_t n, uint64_t *sizes)
{
    uint64_t numbers[MT_FIT_RECORDINGS];
    size_t changing = 0;
    bool changes;
    if (n < 2 || n > MT_FIT_RECORDINGS) {
        return false;
    }
    for (size_t i = 1; i < n; i++) {
        if (!same_words(texts[0], texts[i])) {
            return false;
        }
    }
    for (size_t k = 0; numbers_of(texts, n, k, numbers, &changes); k++) {
        if (changes) {
            changing++;
            memcpy(sizes, numbers, n * sizeof *sizes);
        }
    }
    bool some = changing == 1 && all_differ(sizes, n);
    for (size_t i = 0; some && i < n; i++) {
        some = sizes[i] > 0;
    }
    return some;
}

bool mt_fit_sizes_of_names(char *const *files, size_t n, uint64_t *sizes)
{
    struct mt_str names[MT_FIT_RECORDINGS];
    for (size_t i = 0; i < n && i < MT_FIT_RECORDINGS; i++) {
        names[i] = mt_str_basename(mt_str_from(files[i]));
    }
    return mt_fit_sizes_in(names, n, sizes);
}

/* ---- annotations ---- */

/* The one text of these words in a recording; false: none, or with several numbers. */
static bool only_text(const struct mt_snapshot *s, struct mt_str words, struct mt_str *out)
{
    bool found = false;
    for (size_t i = 0; i < s->n_annotations; i++) {
        struct mt_str name = s->strings[s->annotations[i].name];
        if (!same_words(name, words)) {
            continue;
        }
        if (found && !mt_str_equal(name, *out)) {
            return false;
        }
        *out = name;
        found = true;
    }
    return found;
}

static bool sizes_of_words(const struct mt_snapshot *snapshots, size_t n, struct mt_str words,
                           uint64_t *sizes)
{
    struct mt_str texts[MT_FIT_RECORDINGS];
    for (size_t i = 0; i < n; i++) {
        if (!only_text(&snapshots[i], words, &texts[i])) {
            return false;
        }
    }
    return mt_fit_sizes_in(texts, n, sizes);
}

/* Names with a number that are tried: more differ, and are no sizes. */
#define MOST_TRIED 256

enum mt_status mt_fit_sizes_of_annotations(const struct mt_snapshot *snapshots, size_t n,
                                           uint64_t *sizes, bool *found, struct mt_error *err)
{
    const struct mt_snapshot *first = &snapshots[0];
    struct mt_idmap tried = {0};
    bool room = true, agree = true;
    *found = false;
    for (size_t i = 0; room && agree && i < first->n_annotations && tried.n < MOST_TRIED; i++) {
        uint32_t id = first->annotations[i].name;
        uint64_t numbers[MT_FIT_RECORDINGS];
        if (mt_idmap_find(&tried, id)) {
            continue;
        }
        room = mt_idmap_put(&tried, id, 1);
        if (room && sizes_of_words(snapshots, n, first->strings[id], numbers)) {
            agree = !*found || memcmp(numbers, sizes, n * sizeof *sizes) == 0;
            memcpy(sizes, numbers, n * sizeof *sizes);
            *found = true;
        }
    }
    mt_idmap_release(&tried);
    *found &= agree;
    return room ? MT_OK : mt_fail_nomem(err);
}
