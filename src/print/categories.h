/* SPDX-License-Identifier: MIT */
/* What memory is for, and how surely that is known, in words and as JSON. */
#ifndef MEMTOOL_PRINT_CATEGORIES_H
#define MEMTOOL_PRINT_CATEGORIES_H

#include "heap/stacks/categories.h"
#include "print/json_put.h"

/* "high" and so on; NULL: there are no such bytes, or the category is unknown. */
const char *mt_category_sure_word(enum mt_category c, const uint64_t sure[MT_SURE_COUNT]);

/* The next category to name: most bytes first, `unknown` last, those without bytes not at all.
 * `done`: which were; all false at first. MT_CATEGORY_COUNT: no more. */
enum mt_category mt_category_next(bool done[MT_CATEGORY_COUNT],
                                  const uint64_t bytes[MT_CATEGORY_COUNT]);

/* The keys `categories` and `confidence`. */
void mt_put_categories(struct mt_put *p, cJSON *o, const uint64_t bytes[MT_CATEGORY_COUNT],
                       const uint64_t sure[MT_CATEGORY_COUNT][MT_SURE_COUNT]);

#endif
