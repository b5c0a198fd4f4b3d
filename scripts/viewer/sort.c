/* SPDX-License-Identifier: MIT */
/*
 * qsort by merging, as glibc does it: wasi-libc's smoothsort takes three times as long. Like that
 * of glibc it keeps the order of equal items.
 */
#include <stdlib.h>
#include <string.h>

enum { INSERTED = 8 }; /* runs of so many items are made by insertion */

struct sort {
    size_t size;
    int (*compare)(const void *, const void *);
    unsigned char *held; /* one item */
};

static void insert_all(const struct sort *s, unsigned char *items, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        size_t at = i;
        while (at > 0 && s->compare(items + (at - 1) * s->size, items + i * s->size) > 0) {
            at--;
        }
        if (at < i) {
            memcpy(s->held, items + i * s->size, s->size);
            memmove(items + (at + 1) * s->size, items + at * s->size, (i - at) * s->size);
            memcpy(items + at * s->size, s->held, s->size);
        }
    }
}

/* Two sorted runs of `from` become one of `to`. */
static void merge(const struct sort *s, const unsigned char *from, size_t n, size_t half,
                  unsigned char *to)
{
    const unsigned char *a = from, *a_end = from + half * s->size;
    const unsigned char *b = a_end, *b_end = from + n * s->size;
    while (a < a_end && b < b_end) {
        const unsigned char **least = s->compare(a, b) <= 0 ? &a : &b;
        memcpy(to, *least, s->size);
        *least += s->size;
        to += s->size;
    }
    memcpy(to, a, (size_t)(a_end - a));
    memcpy(to + (a_end - a), b, (size_t)(b_end - b));
}

void qsort(void *items, size_t n, size_t size, int (*compare)(const void *, const void *))
{
    if (n < 2 || size == 0) {
        return;
    }
    unsigned char *space = malloc((n + 1) * size);
    if (!space) {
        abort(); /* the page says that memory ran out */
    }
    struct sort s = {size, compare, space + n * size};
    unsigned char *from = items, *to = space;
    for (size_t i = 0; i < n; i += INSERTED) {
        insert_all(&s, from + i * size, n - i < INSERTED ? n - i : INSERTED);
    }
    for (size_t run = INSERTED; run < n; run *= 2) {
        for (size_t i = 0; i < n; i += 2 * run) {
            size_t part = n - i < 2 * run ? n - i : 2 * run;
            merge(&s, from + i * size, part, part < run ? part : run, to + i * size);
        }
        unsigned char *turned = from;
        from = to;
        to = turned;
    }
    if (from != items) {
        memcpy(items, from, n * size);
    }
    free(space);
}
