/* SPDX-License-Identifier: MIT */
/*
 * Step prints. Each trainer prints memory in its own words; what they share is a phrase, a number
 * and, somewhere in the line, a step. The samples of each phrase become one series, thinned so that
 * a log of any length takes the same memory, and at the end a robust slope: the median of the
 * slopes between samples half a run apart, so that a warm-up or one large batch does not make a
 * leak. A leak is a slope above the line, in most of the pairs, that has not stopped by the end.
 */
#include "triage/log/log_steps.h"

#include <stdlib.h>

#include "triage/log/log_lines.h"
#include "triage/log/log_number.h"

/* "mem 4.12GB", with nothing in between: the phrase takes the figure's first digit along. */
#define DIGIT(d)                                                                                   \
    {                                                                                              \
        MT_STR_INIT("mem" d), MT_SERIES_USED, MT_MIB, true                                         \
    }

const struct mt_step_phrase MT_STEP_PHRASES[] = {
    {MT_STR_INIT("maxmemoryallocated"), MT_SERIES_PEAK, MT_MIB, false},
    {MT_STR_INIT("max_memory_allocated"), MT_SERIES_PEAK, MT_MIB, false},
    {MT_STR_INIT("max_memory_reserved"), MT_SERIES_RESERVED, MT_MIB, false},
    {MT_STR_INIT("memory_allocated"), MT_SERIES_USED, MT_MIB, false},
    {MT_STR_INIT("memoryallocated"), MT_SERIES_USED, MT_MIB, false},
    {MT_STR_INIT("memory_reserved"), MT_SERIES_RESERVED, MT_MIB, false},
    {MT_STR_INIT("memoryreserved"), MT_SERIES_RESERVED, MT_MIB, false},
    {MT_STR_INIT("|maxallocated"), MT_SERIES_PEAK, MT_MIB, false},
    {MT_STR_INIT("|allocated"), MT_SERIES_USED, MT_MIB, false},
    {MT_STR_INIT("|reserved"), MT_SERIES_RESERVED, MT_MIB, false},
    {MT_STR_INIT("max_ma"), MT_SERIES_PEAK, MT_GIB, false},
    {MT_STR_INIT("max_ca"), MT_SERIES_RESERVED, MT_GIB, false},
    {MT_STR_INIT("gpumemoryallocated"), MT_SERIES_USED, MT_MIB, false},
    {MT_STR_INIT("gpumemoryusage"), MT_SERIES_USED, MT_MIB, false},
    {MT_STR_INIT("gpumemoryused"), MT_SERIES_USED, MT_MIB, false},
    {MT_STR_INIT("gpumemory"), MT_SERIES_USED, MT_MIB, false},
    {MT_STR_INIT("memoryusage"), MT_SERIES_USED, MT_MIB, false},
    {MT_STR_INIT("memoryused"), MT_SERIES_USED, MT_MIB, false},
    {MT_STR_INIT("gpu_memory"), MT_SERIES_USED, MT_MIB, false},
    {MT_STR_INIT("peakmemory"), MT_SERIES_PEAK, MT_MIB, false},
    {MT_STR_INIT("peak_memory"), MT_SERIES_PEAK, MT_MIB, false},
    {MT_STR_INIT("maxmemory"), MT_SERIES_PEAK, MT_MIB, false},
    {MT_STR_INIT("max_memory"), MT_SERIES_PEAK, MT_MIB, false},
    {MT_STR_INIT("maxmem"), MT_SERIES_PEAK, MT_MIB, false},
    {MT_STR_INIT("peakmem"), MT_SERIES_PEAK, MT_MIB, false},
    {MT_STR_INIT("max_mem_active"), MT_SERIES_PEAK, MT_GIB, false},
    {MT_STR_INIT("max_active"), MT_SERIES_PEAK, MT_GIB, false},
    {MT_STR_INIT("device_mem_reserved"), MT_SERIES_RESERVED, MT_GIB, false},
    {MT_STR_INIT("device_reserved"), MT_SERIES_RESERVED, MT_GIB, false},
    {MT_STR_INIT("gpumem"), MT_SERIES_USED, MT_MIB, false},
    {MT_STR_INIT("gpu_mem"), MT_SERIES_USED, MT_MIB, false},
    {MT_STR_INIT("cudamem"), MT_SERIES_USED, MT_MIB, false},
    {MT_STR_INIT("memusage"), MT_SERIES_USED, MT_MIB, false},
    {MT_STR_INIT("mem_usage"), MT_SERIES_USED, MT_MIB, false},
    {MT_STR_INIT("memory"), MT_SERIES_USED, MT_MIB, false},
    {MT_STR_INIT("freegpuram"), MT_SERIES_FREE, MT_MIB, false},
    {MT_STR_INIT("freegpumemory"), MT_SERIES_FREE, MT_MIB, false},
    {MT_STR_INIT("gpumemoryfree"), MT_SERIES_FREE, MT_MIB, false},
    {MT_STR_INIT("availmem"), MT_SERIES_FREE, MT_GIB, false},
    {MT_STR_INIT("gb_free"), MT_SERIES_FREE, MT_GIB, false},
    {MT_STR_INIT("allocated"), MT_SERIES_USED, MT_MIB, true},
    {MT_STR_INIT("reserved"), MT_SERIES_RESERVED, MT_MIB, true},
    {MT_STR_INIT("cached"), MT_SERIES_RESERVED, MT_MIB, true},
    {MT_STR_INIT("after:"), MT_SERIES_USED, MT_LOG_B, true},
    {MT_STR_INIT("mem="), MT_SERIES_USED, MT_MIB, true},
    {MT_STR_INIT(",mem"), MT_SERIES_USED, MT_MIB, true},
    {MT_STR_INIT("mem:"), MT_SERIES_USED, MT_MIB, true},
    DIGIT("0"),
    DIGIT("1"),
    DIGIT("2"),
    DIGIT("3"),
    DIGIT("4"),
    DIGIT("5"),
    DIGIT("6"),
    DIGIT("7"),
    DIGIT("8"),
    DIGIT("9"),
    {MT_STR_INIT("vram"), MT_SERIES_USED, MT_MIB, true},
};
#undef DIGIT
const size_t MT_STEP_PHRASES_N = MT_COUNT(MT_STEP_PHRASES);

void mt_steps_release(struct mt_steps *s)
{
    for (size_t i = 0; i < s->tracks.n; i++) {
        mt_vec_release(&s->tracks.v[i].samples);
    }
    mt_vec_release(&s->tracks);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static struct mt_str from(struct mt_str s, size_t at)
{
    return (struct mt_str){s.p + at, s.n - at};
}

/* What tqdm writes behind the count: "101/7393[01:01<1:14:01". */
static bool is_bar(struct mt_str line, size_t slash)
{
    while (++slash < line.n && is_digit(line.p[slash])) {
    }
    return slash < line.n && line.p[slash] == '[';
}

/* "275/1266" -> 275, of a progress bar before any other; a date's "2022/03" is not one, for months
 * have two digits and the total must not be below the step. */
static int64_t fraction_step(struct mt_str line)
{
    int64_t first = -1;
    for (size_t i = 1; i + 1 < line.n; i++) {
        if (line.p[i] != '/' || !is_digit(line.p[i - 1]) || !is_digit(line.p[i + 1])) {
            continue;
        }
        size_t at = i, length;
        while (at > 0 && is_digit(line.p[at - 1])) {
            at--;
        }
        int64_t step = mt_log_integer_at(from(line, at), &length);
        int64_t total = mt_log_integer_at(from(line, i + 1), &length);
        if (step >= 0 && total >= step &&
            (at == 0 || (line.p[at - 1] != '.' && line.p[at - 1] != '/'))) {
            if (is_bar(line, i)) {
                return step;
            }
            first = first < 0 ? step : first;
        }
    }
    return first;
}

int64_t mt_step_number(struct mt_str line)
{
    static const struct mt_str WORDS[] = {MT_STR_INIT("step"), MT_STR_INIT("iteration"),
                                          MT_STR_INIT("iter"), MT_STR_INIT("after"),
                                          MT_STR_INIT("batch")};
    for (size_t i = 0; i < MT_COUNT(WORDS); i++) {
        size_t at = mt_str_find(line, WORDS[i]);
        if (at == SIZE_MAX) {
            continue;
        }
        at += WORDS[i].n;
        while (at < line.n && strchr(":=[(#\"'", line.p[at])) {
            at++;
        }
        size_t length;
        int64_t step = mt_log_integer_at(from(line, at), &length);
        if (step >= 0 && length < 12) {
            return step;
        }
    }
    return fraction_step(line);
}

/* A bare number above this, taken as MiB, would be beyond any card: a TiB. */
#define BARE_BYTES_FROM MT_MIB

/* "memoryallocated183562240": PyTorch's functions count bytes, and so many are no other unit. */
static bool is_bare_bytes(const struct mt_log_size *size, uint64_t unit)
{
    return !size->has_fraction && size->bytes / unit >= BARE_BYTES_FROM;
}

/* The number behind a phrase: "memory(mb):5432", "'memory/x(gib)':12.3", "maxmem:5345". */
static struct mt_log_size value_behind(struct mt_str rest, struct mt_str phrase, uint64_t unit)
{
    size_t at = 0;
    static const struct {
        struct mt_str note;
        uint64_t unit;
    } NOTES[] = {{MT_STR_INIT("(gib)"), MT_GIB}, {MT_STR_INIT("(gb)"), MT_GIB},
                 {MT_STR_INIT("(mib)"), MT_MIB}, {MT_STR_INIT("(mb)"), MT_MIB},
                 {MT_STR_INIT("_gb"), MT_GIB},   {MT_STR_INIT("_mb"), MT_MIB},
                 {MT_STR_INIT("[gb]"), MT_GIB},  {MT_STR_INIT("[mb]"), MT_MIB}};
    bool separated = false;
    for (size_t i = 0; i < MT_COUNT(NOTES); i++) {
        if (rest.n > 0 && rest.p[0] == NOTES[i].note.p[0] && mt_str_starts(rest, NOTES[i].note)) {
            at = NOTES[i].note.n;
            unit = NOTES[i].unit;
            separated = true;
            break;
        }
    }
    while (at < rest.n && at < 12 && strchr(":='\"~", rest.p[at])) {
        separated |= rest.p[at] == ':' || rest.p[at] == '=';
        at++;
    }
    struct mt_log_size size = mt_log_size_at(from(rest, at), unit);
    bool bytes = mt_str_ends(phrase, MT_STR("allocated")) && is_bare_bytes(&size, unit);
    return separated || size.has_unit || bytes ? size : (struct mt_log_size){0};
}

/* Of series that stand in a column, and of tables: indexes behind all phrases. */
#define COLUMN_PHRASE MT_COUNT(MT_STEP_PHRASES)
#define TABLE_PHRASE (COLUMN_PHRASE + 1)
#define STATS_PHRASE (COLUMN_PHRASE + 2)

/* "mem" and any digit are one print, whatever its figures begin with. */
static size_t print_of(size_t phrase)
{
    size_t first = phrase;
    for (size_t i = 0; phrase < MT_STEP_PHRASES_N && i < phrase && first == phrase; i++) {
        struct mt_str a = MT_STEP_PHRASES[i].phrase, b = MT_STEP_PHRASES[phrase].phrase;
        bool same = a.n == b.n && memcmp(a.p, b.p, a.n - 1) == 0;
        first = same && is_digit(a.p[a.n - 1]) && is_digit(b.p[b.n - 1]) ? i : first;
    }
    return first;
}

static struct mt_step_track *track_of(struct mt_steps *s, size_t phrase, uint64_t origin)
{
    phrase = print_of(phrase);
    for (size_t i = 0; i < s->tracks.n; i++) {
        const struct mt_step_track *t = &s->tracks.v[i];
        if (t->phrase == phrase && t->origin == origin && t->series.file == s->file) {
            return &s->tracks.v[i];
        }
    }
    struct mt_step_track fresh = {.origin = origin, .phrase = phrase, .stride = 1};
    fresh.series.file = s->file;
    fresh.series.kind = phrase < MT_STEP_PHRASES_N ? MT_STEP_PHRASES[phrase].kind : MT_SERIES_USED;
    fresh.series.epochs = phrase == COLUMN_PHRASE;
    fresh.last_printed = -1;
    if (s->tracks.n >= MT_STEP_SERIES || !mt_vec_push(&s->tracks, fresh)) {
        return NULL;
    }
    return &s->tracks.v[s->tracks.n - 1];
}

/* Steps in one run of counting, though each epoch prints them anew from nought. */
static int64_t running_step(struct mt_step_track *t, int64_t printed)
{
    if (printed < 0) {
        return (int64_t)t->series.samples;
    }
    if (printed < t->last_printed) {
        t->base += t->last_printed + 1;
    }
    t->last_printed = printed;
    return t->base + printed;
}

static bool keep_sample(struct mt_step_track *t, struct mt_step_sample sample)
{
    if ((t->series.samples - 1) % t->stride != 0) {
        return true;
    }
    if (t->samples.n == MT_STEP_SAMPLES) {
        for (size_t i = 0; i < MT_STEP_SAMPLES / 2; i++) {
            t->samples.v[i] = t->samples.v[2 * i];
        }
        t->samples.n = MT_STEP_SAMPLES / 2;
        t->stride *= 2;
    }
    return mt_vec_push(&t->samples, sample);
}

static void note_sample(struct mt_series *s, struct mt_step_sample sample, uint64_t number)
{
    if (s->samples == 0) {
        s->first = s->min = s->max = s->last = sample.bytes;
        s->first_line = number;
        s->first_step = sample.step;
    }
    if (sample.bytes > s->last && sample.bytes - s->last > s->jump) {
        s->jump = sample.bytes - s->last;
        s->jump_step = sample.step;
    }
    s->min = sample.bytes < s->min ? sample.bytes : s->min;
    s->max = sample.bytes > s->max ? sample.bytes : s->max;
    s->last = sample.bytes;
    s->last_line = number;
    s->last_step = sample.step;
    s->samples++;
}

/* One more sample of a series; false: no memory. */
static bool add_sample(struct mt_steps *s, size_t which, int64_t step, uint64_t bytes,
                       uint64_t number, uint64_t origin)
{
    struct mt_step_track *t = track_of(s, which, origin);
    if (!t) {
        return s->tracks.n >= MT_STEP_SERIES;
    }
    struct mt_step_sample sample = {running_step(t, step), bytes};
    note_sample(&t->series, sample, number);
    s->last_line = number;
    return keep_sample(t, sample);
}

static bool is_key(char c)
{
    return (c >= 'a' && c <= 'z') || is_digit(c) || c == '_' || c == '.';
}

/* The key in quotes that the byte at `at` stands in; empty: in none. One is shorter than LONGEST to
 * either side, and a line may be all letters. */
static struct mt_str key_around(struct mt_str line, size_t at)
{
    enum { LONGEST = 128 };
    size_t begin = at, end = at;
    while (begin > 0 && at - begin < LONGEST && is_key(line.p[begin - 1])) {
        begin--;
    }
    while (end < line.n && end - at < LONGEST && is_key(line.p[end])) {
        end++;
    }
    bool quoted = begin > 0 && end < line.n && line.p[begin - 1] == line.p[end] &&
                  (line.p[end] == '"' || line.p[end] == '\'');
    return quoted ? (struct mt_str){line.p + begin, end - begin} : MT_STR("");
}

/* Looked for once a line, which may hold thousands of figures. */
static int64_t step_of(struct mt_steps *s, struct mt_str line)
{
    s->step = s->step_known ? s->step : mt_step_number(line);
    s->step_known = true;
    return s->step;
}

/* Keys of memory_stats() are no prints of their own: of all that such a line holds, memory in use
 * counts. */
static bool take_stats(struct mt_steps *s, struct mt_str line, struct mt_str key, uint64_t number,
                       uint64_t origin)
{
    size_t behind = (size_t)(key.p - line.p) + key.n + 1, length;
    while (behind < line.n && (line.p[behind] == ':' || line.p[behind] == ',')) {
        behind++;
    }
    int64_t bytes = mt_log_integer_at(from(line, behind), &length);
    return !mt_str_equal(key, MT_STR("allocated_bytes.all.current")) || bytes < 0 ||
           add_sample(s, STATS_PHRASE, step_of(s, line), (uint64_t)bytes, number, origin);
}

bool mt_steps_take(struct mt_steps *s, struct mt_str line, size_t at, size_t which, uint64_t number,
                   uint64_t origin)
{
    const struct mt_step_phrase *phrase = &MT_STEP_PHRASES[which];
    struct mt_str key = key_around(line, at);
    if (mt_str_find(key, MT_STR(".")) != SIZE_MAX) {
        return take_stats(s, line, key, number, origin);
    }
    size_t behind = at + phrase->phrase.n;
    behind -= is_digit(line.p[behind - 1]) ? 1 : 0;
    struct mt_log_size size = value_behind(from(line, behind), phrase->phrase, phrase->unit);
    if (size.length == 0 || size.bytes >= MT_LOG_NONSENSE) {
        return true;
    }
    if (!size.has_unit && is_bare_bytes(&size, MT_MIB)) {
        size.bytes /= phrase->unit;
    }
    if (!size.has_unit && size.has_fraction && size.bytes < 200 * MT_MIB) {
        size.bytes = size.bytes * 1024; /* "memory: 12.3" is meant in GiB */
    }
    int64_t step = step_of(s, line);
    if (phrase->loose && step < 0 && !size.has_unit) {
        return true; /* a key of some table */
    }
    return add_sample(s, which, step, size.bytes, number, origin);
}

bool mt_steps_table(struct mt_steps *s, uint64_t bytes, uint64_t number, uint64_t origin)
{
    return add_sample(s, TABLE_PHRASE, -1, bytes, number, origin);
}

/* "Epoch GPU_mem box_loss": the column that holds memory; SIZE_MAX: none. */
size_t mt_steps_column(struct mt_str clean)
{
    size_t column = 0;
    for (size_t at = 0; at < clean.n; column++) {
        size_t end = at;
        while (end < clean.n && clean.p[end] != ' ') {
            end++;
        }
        struct mt_str word = {clean.p + at, end - at};
        if (mt_str_equal(word, MT_STR("GPU_mem")) || mt_str_equal(word, MT_STR("gpu_mem"))) {
            return column > 0 ? column : SIZE_MAX;
        }
        while (end < clean.n && clean.p[end] == ' ') {
            end++;
        }
        at = end;
    }
    return SIZE_MAX;
}

/* "5/100  20.5G  1.332 ...": the last such row of a line, for a progress bar writes many. */
bool mt_steps_row(struct mt_steps *s, struct mt_str clean, uint64_t number, uint64_t origin)
{
    struct mt_buf tight = {0};
    struct mt_str word = {clean.p, 0};
    size_t column = 0, length = 0;
    int64_t step = -1;
    bool whole = true;
    for (size_t at = 0; at < clean.n && column <= s->column; column++) {
        while (at < clean.n && clean.p[at] == ' ') {
            at++;
        }
        word = (struct mt_str){clean.p + at, 0};
        while (at < clean.n && clean.p[at] != ' ') {
            at++;
            word.n++;
        }
        if (column == 0) {
            step = mt_log_integer_at(word, &length);
        }
    }
    bool counted = step >= 0 && length < word.n + 12 && memchr(clean.p, '/', clean.n);
    mt_log_squeeze(&tight, word);
    struct mt_log_size size = mt_log_size_at(mt_buf_view(&tight), 0);
    struct mt_step_track *t = counted && size.length == tight.n && size.length > 0
                                  ? track_of(s, COLUMN_PHRASE, origin)
                                  : NULL;
    whole = !tight.failed;
    mt_buf_release(&tight);
    if (!t || size.bytes >= MT_LOG_NONSENSE) {
        return whole;
    }
    if (t->samples.n > 0 && t->last_printed == step) { /* the same epoch, later */
        t->samples.v[t->samples.n - 1].bytes = size.bytes;
        t->series.last = size.bytes;
        t->series.max = size.bytes > t->series.max ? size.bytes : t->series.max;
        return whole;
    }
    return add_sample(s, COLUMN_PHRASE, step, size.bytes, number, origin) && whole;
}

static int compare_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Growth of a pair of samples, in bytes a step; memory that is free falls where use grows. */
static double pair_slope(const struct mt_step_track *t, const struct mt_step_sample *a,
                         const struct mt_step_sample *b)
{
    double steps = b->step > a->step ? (double)(b->step - a->step) : 1.0;
    double rise = (double)b->bytes - (double)a->bytes;
    return (t->series.kind == MT_SERIES_FREE ? -rise : rise) / steps;
}

static double mean_of(const struct mt_step_sample *v, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)v[i].bytes;
    }
    return n ? sum / (double)n : 0;
}

/* Still rising at the end: the last fifth lies above the fifth before it. */
static bool rises_to_the_end(const struct mt_step_track *t)
{
    size_t n = t->samples.n, fifth = n / 5 ? n / 5 : 1;
    double last = mean_of(t->samples.v + n - fifth, fifth);
    double before = mean_of(t->samples.v + n - 2 * fifth, fifth);
    return t->series.kind == MT_SERIES_FREE ? last < before : last > before;
}

/* Four or five prints, an epoch apart perhaps: a leak when each is higher than the one before by
 * about as much. */
static bool few_but_steady(struct mt_step_track *t)
{
    struct mt_series *s = &t->series;
    uint64_t span = s->max - s->min;
    if (t->samples.n < 4 || s->kind == MT_SERIES_RESERVED) {
        return false;
    }
    for (size_t i = 1; i < t->samples.n; i++) {
        double rise = (double)t->samples.v[i].bytes - (double)t->samples.v[i - 1].bytes;
        rise = s->kind == MT_SERIES_FREE ? -rise : rise;
        if (rise < MT_LEAK_BYTES_PER_STEP || rise > 0.6 * (double)span) {
            return false;
        }
    }
    s->bytes_per_step = pair_slope(t, &t->samples.v[0], &t->samples.v[t->samples.n - 1]);
    s->rising = 1;
    return span > s->max / 20;
}

static void finish_track(struct mt_step_track *t)
{
    double slopes[MT_STEP_SAMPLES];
    struct mt_series *s = &t->series;
    size_t skip = t->samples.n / 10, n = t->samples.n - skip, half = n / 2, rising = 0;
    if (t->samples.n < 6) {
        s->is_leak = few_but_steady(t);
        return;
    }
    for (size_t i = 0; i + half < n; i++) {
        const struct mt_step_sample *a = &t->samples.v[skip + i];
        slopes[i] = pair_slope(t, a, a + half);
        rising += slopes[i] > 0;
    }
    size_t pairs = n - half;
    qsort(slopes, pairs, sizeof slopes[0], compare_double);
    s->bytes_per_step = slopes[pairs / 2];
    s->rising = (double)rising / (double)pairs;
    uint64_t span = s->max - s->min;
    bool spread = s->jump < span / 2 || s->kind == MT_SERIES_FREE; /* not one step up */
    bool marked = span > s->max / 20 || (n >= 10 && s->rising >= 0.99 && s->jump < span / 4);
    s->is_leak = s->kind != MT_SERIES_RESERVED && s->bytes_per_step > MT_LEAK_BYTES_PER_STEP &&
                 s->rising >= 0.8 && spread && rises_to_the_end(t) && marked;
}

void mt_steps_finish(struct mt_steps *s)
{
    for (size_t i = 0; i < s->tracks.n; i++) {
        finish_track(&s->tracks.v[i]);
    }
}
