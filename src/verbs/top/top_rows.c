/* SPDX-License-Identifier: MIT */
/* What the figures of a process say: rates, and whether it grows. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/top/top.h"

bool mt_top_sample_parse(const char *line, struct mt_top_sample *s)
{
#define N " %" SCNu64
    return sscanf(line, "%d %" SCNd64 N N N N N N N N N N N " %95s %95[^\n]", &s->device,
                  &s->time_us, &s->live, &s->low, &s->reserved, &s->requests, &s->calls, &s->misses,
                  &s->retries, &s->ooms, &s->hole, &s->free, &s->total, s->uuid, s->name) == 15;
#undef N
}

void mt_top_row_put(struct mt_top_row *row, const struct mt_top_sample *s)
{
    if (row->n_kept == 0) {
        row->first = *s;
    } else if (s->time_us <= row->last.time_us) {
        return;
    } else {
        row->before = row->last;
        row->has_before = true;
    }
    row->last = *s;
    row->kept[row->n_kept % MT_TOP_KEPT].time_us = s->time_us;
    row->kept[row->n_kept % MT_TOP_KEPT].low = s->low;
    row->n_kept++;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

bool mt_top_growth(const struct mt_top_row *row, double *out)
{
    enum { PAIRS = MT_TOP_KEPT * (MT_TOP_KEPT - 1) / 2 };
    static const double ONE_IN_1000 = 3.09;
    size_t n = row->n_kept < MT_TOP_KEPT ? row->n_kept : MT_TOP_KEPT;
    size_t from = row->n_kept - n, pairs = 0;
    double slopes[PAIRS];
    long rising = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i + 1; j < n; j++) {
            size_t a = (from + i) % MT_TOP_KEPT, b = (from + j) % MT_TOP_KEPT;
            double seconds = (double)(row->kept[b].time_us - row->kept[a].time_us) / 1e6;
            double bytes = (double)row->kept[b].low - (double)row->kept[a].low;
            rising += (bytes > 0) - (bytes < 0);
            slopes[pairs++] = seconds > 0 ? bytes / seconds : 0;
        }
    }
    double deviation = sqrt((double)n * ((double)n - 1) * (2 * (double)n + 5) / 18);
    if (n < MT_TOP_LEAST || (double)rising < ONE_IN_1000 * deviation) {
        return false;
    }
    qsort(slopes, pairs, sizeof *slopes, compare_doubles);
    *out = slopes[pairs / 2];
    return *out > 0;
}

void mt_top_figures(const struct mt_top_row *row, struct mt_top_figures *out)
{
    *out = (struct mt_top_figures){0};
    const struct mt_top_sample *a = &row->before, *b = &row->last;
    if (row->has_before && b->time_us > a->time_us && b->calls >= a->calls) {
        out->has_rates = true;
        out->calls_per_s =
            (double)(b->calls - a->calls) / ((double)(b->time_us - a->time_us) / 1e6);
    }
    /* of the time that was watched: what came before is warm-up as a rule */
    uint64_t requests = b->requests - row->first.requests;
    uint64_t misses = b->misses - row->first.misses;
    if (row->n_kept > 1 && b->requests > row->first.requests && misses <= requests) {
        out->has_hits = true;
        out->hits = 1 - (double)misses / (double)requests;
    }
    out->has_growth = mt_top_growth(row, &out->growth);
    if (out->has_growth && b->total > 0 && b->reserved >= b->live) {
        out->has_full = true;
        out->full_in = ((double)b->free + (double)(b->reserved - b->live)) / out->growth;
    }
}
