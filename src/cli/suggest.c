/* SPDX-License-Identifier: MIT */
/* "Did you mean": the nearest of some names by edit distance (insert, delete, replace, swap). */
#include <string.h>

#include "cli/options/options.h"

enum { MAX_WORD = 40, MAX_EDITS = 2, SHORT_WORD = 4 };

static char fold(char c)
{
    return c == '_' ? '-' : c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Optimal string alignment distance; both words are at most MAX_WORD long. */
static size_t edit_distance(const char *a, size_t n, const char *b, size_t m)
{
    size_t d[MAX_WORD + 1][MAX_WORD + 1];
    for (size_t i = 0; i <= n; i++) {
        d[i][0] = i;
    }
    for (size_t j = 0; j <= m; j++) {
        d[0][j] = j;
    }
    for (size_t i = 1; i <= n; i++) {
        for (size_t j = 1; j <= m; j++) {
            size_t replace = d[i - 1][j - 1] + (fold(a[i - 1]) != fold(b[j - 1]));
            d[i][j] = least(replace, least(d[i - 1][j], d[i][j - 1]) + 1);
            if (i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) &&
                fold(a[i - 2]) == fold(b[j - 1])) {
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
            }
        }
    }
    return d[n][m];
}

const char *mt_suggest(const char *word, const char *const *names, size_t n)
{
    const char *best = NULL;
    size_t length = strlen(word);
    /* of four letters two others leave nothing that was meant */
    size_t best_distance = length <= SHORT_WORD ? 2 : MAX_EDITS + 1;
    for (size_t i = 0; length <= MAX_WORD && i < n; i++) {
        size_t m = names[i] ? strlen(names[i]) : 0;
        if (m == 0 || m > MAX_WORD) {
            continue;
        }
        size_t distance = edit_distance(word, length, names[i], m);
        /* two edits turn any two letters into any others: ask for something in common */
        if (distance < best_distance && distance < length && distance < m) {
            best = names[i];
            best_distance = distance;
        }
    }
    return best;
}

enum mt_status mt_hint_near(struct mt_error *err, const char *word, const char *const *names,
                            size_t n)
{
    const char *near = mt_suggest(word, names, n);
    return near ? mt_hint(err, "did you mean '%s'?", near) : err->code;
}
