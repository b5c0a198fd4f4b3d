/* SPDX-License-Identifier: MIT */
/*
 * The card as a bar drawn to scale, with its legend: what each part is, in bytes and as a share of
 * the card. The cells always sum to the bar: what rounding leaves goes to the largest remainders.
 */
#include "verbs/triage/triage_bar.h"

enum { MOST_CELLS = 64, LEAST_CELLS = 32, BESIDE = 4 /* blanks and brackets */ };

static uint64_t get(const struct mt_incident *i, enum mt_oom_field f)
{
    return mt_oom_get(&i->numbers, f);
}

static bool has(const struct mt_incident *i, enum mt_oom_field f)
{
    return mt_oom_has(&i->numbers, f);
}

/* A snapshot of a program without PyTorch; logs of this framework have words of their own. */
static bool is_plain(const struct mt_incident *i)
{
    return strcmp(i->framework, "cuda") == 0 && strcmp(i->format, "snapshot") == 0;
}

const char *mt_triage_live_words(const struct mt_incident *i)
{
    static const struct {
        const char *framework, *words;
    } OTHERS[] = {
        {"cupy", "held by CuPy's pool"}, {"julia", "live arrays"}, {"jax", "live buffers"}};
    if (strcmp(i->backend, "tpu") == 0) {
        return "buffers of the program";
    }
    for (size_t k = 0; k < MT_COUNT(OTHERS); k++) {
        if (strcmp(i->framework, OTHERS[k].framework) == 0) {
            return OTHERS[k].words;
        }
    }
    return is_plain(i)                                         ? "the program and its libraries"
           : i->cache_counts || strcmp(i->backend, "mps") == 0 ? "PyTorch, its cache included"
                                                               : "live tensors";
}

static const char *outside_words(const struct mt_incident *i)
{
    return strcmp(i->backend, "mps") == 0 ? "other allocations"
           : is_plain(i)                  ? "its context and kernels"
                                          : "this process, outside PyTorch";
}

/* What no figure explains. */
static const char *rest_words(const struct mt_incident *i)
{
    if (i->whole_is_limit) {
        return "not used";
    }
    if (!has(i, MT_OOM_FREE)) {
        return "in use or free: not said";
    }
    if (has(i, MT_OOM_PROCESS) && !has(i, MT_OOM_UNALLOCATED)) { /* it breaks off there */
        return "this process, not said for what";
    }
    return !has(i, MT_OOM_ALLOCATED)            ? "in use, not said by whom"
           : strcmp(i->framework, "torch") == 0 ? "others, or outside PyTorch"
                                                : "others, or outside the allocator";
}

size_t mt_triage_parts(const struct mt_incident *i, struct mt_triage_part *parts)
{
    bool own = has(i, MT_OOM_PROCESS);
    size_t n = 0;
    parts[n++] = (struct mt_triage_part){'#', mt_triage_live_words(i), get(i, MT_OOM_ALLOCATED),
                                         has(i, MT_OOM_ALLOCATED)};
    parts[n++] = (struct mt_triage_part){'=', "reserved, unallocated", get(i, MT_OOM_UNALLOCATED),
                                         has(i, MT_OOM_UNALLOCATED)};
    parts[n++] = (struct mt_triage_part){'+', outside_words(i), get(i, MT_OOM_OUTSIDE),
                                         has(i, MT_OOM_OUTSIDE)};
    parts[n++] = (struct mt_triage_part){'o', "other processes", get(i, MT_OOM_OTHERS),
                                         own && has(i, MT_OOM_OTHERS)};
    parts[n++] = (struct mt_triage_part){'.', "free", get(i, MT_OOM_FREE), has(i, MT_OOM_FREE)};
    uint64_t seen = 0, total = get(i, MT_OOM_TOTAL);
    for (size_t p = 0; p < n; p++) {
        seen += parts[p].known ? parts[p].bytes : 0;
    }
    if (total > seen && total - seen > total / 200) {
        char mark = i->whole_is_limit ? '.' : '?';
        parts[n++] = (struct mt_triage_part){mark, rest_words(i), total - seen, true};
    }
    return n;
}

/* Cells of each part, so that they sum to the bar: the largest remainders get the cells left. */
static void share_cells(const struct mt_triage_part *parts, size_t n, uint64_t whole, int bar,
                        int *cells)
{
    double rest[MT_TRIAGE_PARTS] = {0};
    int used = 0;
    for (size_t i = 0; i < n; i++) {
        double exact = parts[i].known && whole ? bar * (double)parts[i].bytes / (double)whole : 0;
        cells[i] = (int)exact;
        rest[i] = exact - cells[i];
        used += cells[i];
    }
    while (used < bar) {
        size_t best = 0;
        for (size_t i = 1; i < n; i++) {
            best = rest[i] > rest[best] ? i : best;
        }
        if (rest[best] <= 0) {
            return;
        }
        cells[best]++;
        rest[best] = -1;
        used++;
    }
}

static void bar_line(struct mt_buf *out, const struct mt_report *r,
                     const struct mt_triage_part *parts, size_t n, int bar, const int *cells)
{
    static const char LIVE = '#';
    int printed = 0;
    mt_buf_text(out, "  [");
    for (size_t i = 0; i < n; i++) {
        enum mt_color color = parts[i].mark == LIVE  ? MT_COLOR_BAD
                              : parts[i].mark == '=' ? MT_COLOR_WARN
                              : parts[i].mark == '.' ? MT_COLOR_GOOD
                                                     : MT_COLOR_DIM;
        if (cells[i] <= 0) {
            continue;
        }
        mt_buf_text(out, mt_color_begin(r, color));
        for (int k = 0; k < cells[i] && printed < bar; k++, printed++) {
            mt_buf_char(out, parts[i].mark);
        }
        mt_buf_text(out, mt_color_end(r));
    }
    for (; printed < bar; printed++) {
        mt_buf_char(out, ' ');
    }
    mt_buf_text(out, "]");
}

int mt_triage_width(const struct mt_report *r)
{
    enum { LEAST = 24, MOST = 100 };
    return r->width <= 0 || r->width > MOST ? MOST : r->width < LEAST ? LEAST : r->width;
}

void mt_triage_figure(struct mt_buf *out, const struct mt_report *r, char mark, const char *words,
                      uint64_t bytes)
{
    enum { WORDS = 30, FIGURE = 12, EXACT = 15, ROOMY = 66 };
    struct mt_size_text size = mt_report_size(r, bytes);
    int column = FIGURE + (r->size.exact ? EXACT : 0);
    if (mt_triage_width(r) < ROOMY + column - FIGURE) {
        mt_buf_printf(out, "   %c %s\n       %s", mark, words, size.s);
    } else {
        mt_buf_printf(out, "   %c %-*s %*s", mark, WORDS, words, column, size.s);
    }
}

static void legend_line(struct mt_buf *out, const struct mt_report *r, char mark, const char *words,
                        uint64_t bytes, uint64_t total)
{
    double times = total ? (double)bytes / (double)total : 0;
    mt_triage_figure(out, r, mark, words, bytes);
    if (times >= 10) {
        mt_buf_printf(out, " %.0f x the card\n", times);
    } else {
        mt_buf_printf(out, " %6.1f %%\n", 100 * times);
    }
}

/* What stands behind the bar, or below it where that leaves too little of the bar. */
static void bar_and_words(struct mt_buf *out, const struct mt_report *r,
                          const struct mt_triage_part *parts, size_t n, uint64_t whole,
                          const char *words)
{
    int cells[MT_TRIAGE_PARTS];
    int room = mt_triage_width(r) - BESIDE, behind = room - 1 - mt_text_width(words);
    int bar = behind < LEAST_CELLS ? room : behind;
    bar = bar > MOST_CELLS ? MOST_CELLS : bar;
    share_cells(parts, n, whole, bar, cells);
    bar_line(out, r, parts, n, bar, cells);
    mt_buf_printf(out, behind < LEAST_CELLS ? "\n   %s\n" : " %s\n", words);
}

void mt_triage_bar(struct mt_buf *out, const struct mt_report *r, const struct mt_incident *i)
{
    struct mt_triage_part parts[MT_TRIAGE_PARTS];
    uint64_t total = get(i, MT_OOM_TOTAL), seen = 0;
    if (!has(i, MT_OOM_TOTAL) || total == 0) {
        return;
    }
    size_t n = mt_triage_parts(i, parts);
    for (size_t p = 0; p < n; p++) {
        seen += parts[p].known ? parts[p].bytes : 0;
    }
    struct mt_sentence words = {0};
    if (seen > total + total / 100) {
        mt_sentence_add(&words, "%s on a card of %s", mt_report_size(r, seen).s,
                        mt_report_size(r, total).s);
    } else {
        mt_sentence_add(&words, "%s %s", mt_report_size(r, total).s,
                        i->whole_is_limit ? "allowed" : "card");
    }
    bar_and_words(out, r, parts, n, seen > total ? seen : total, words.text);
    for (size_t p = 0; p < n; p++) {
        bool trifle = parts[p].bytes < total / 1000 && parts[p].mark != '.' && parts[p].mark != '#';
        if (parts[p].known && !trifle) {
            legend_line(out, r, parts[p].mark, parts[p].words, parts[p].bytes, total);
        }
    }
    if (has(i, MT_OOM_ALLOWED)) {
        legend_line(out, r, '|', "allowed to this process", get(i, MT_OOM_ALLOWED), total);
    }
    if (has(i, MT_OOM_REQUESTED)) {
        legend_line(out, r, '>', "asked for", get(i, MT_OOM_REQUESTED), total);
    }
}
