/* SPDX-License-Identifier: MIT */
/*
 * Words of two tables are looked for in one pass over the raw text. A clue adds its weight to its
 * program; behind the words of a setting its value is read, where one stands there:
 * "--max-model-len 4096", "max_model_len=4096", "'max_model_len': 4096". A sentence that only names
 * the setting has none and counts for nothing.
 */
#include "triage/log/log_notes.h"

#include <stdlib.h>

#include "support/units.h"

#include "triage/log/log_lines.h"
#include "triage/log/log_number.h"

/* A sum of weights from which a program is known; one count of a word is at most this often. */
enum { KNOWN_FROM = 4, COUNTED_MOST = 3, VALUE_BYTES = 64 };

enum said_kind { NUMBER, SIZE, BYTES, FLAG, TEXT, BEFORE };

static const struct {
    const char *id, *words;
    enum mt_program_kind kind;
} PROGRAMS[MT_PROGRAM_COUNT] = {
#define PROGRAM(name, id, words, kind) {id, words, MT_PROGRAM_KIND_##kind},
#define CLUE(name, weight, words)
#include "triage/log/programs.def"
#undef PROGRAM
#undef CLUE
};

static const struct {
    unsigned program, weight;
} CLUES[] = {
#define PROGRAM(name, id, words, kind)
#define CLUE(name, weight, words) {MT_PROGRAM_##name, weight},
#include "triage/log/programs.def"
#undef PROGRAM
#undef CLUE
};

static const enum said_kind KINDS[MT_SAID_COUNT] = {
#define SAID(name, kind) kind,
#define WORDS(name, words)
#include "triage/log/said.def"
#undef SAID
#undef WORDS
};

/* The value that each of the words behind the clues introduces. */
static const enum mt_said VALUES[] = {
#define SAID(name, kind)
#define WORDS(name, words) MT_SAID_##name,
#include "triage/log/said.def"
#undef SAID
#undef WORDS
};

const struct mt_str MT_NOTE_WORDS[] = {
#define PROGRAM(name, id, words, kind)
#define CLUE(name, weight, words) MT_STR_INIT(words),
#include "triage/log/programs.def"
#undef PROGRAM
#undef CLUE
#define SAID(name, kind)
#define WORDS(name, words) MT_STR_INIT(words),
#include "triage/log/said.def"
#undef SAID
#undef WORDS
};
const size_t MT_NOTE_WORDS_N = MT_COUNT(MT_NOTE_WORDS);

_Static_assert(MT_COUNT(CLUES) <= sizeof((struct mt_notes *)0)->seen, "a counter for each clue");

const char *mt_program_id(enum mt_program p)
{
    return PROGRAMS[p].id;
}

const char *mt_program_words(enum mt_program p)
{
    return PROGRAMS[p].words;
}

enum mt_program_kind mt_program_kind(enum mt_program p)
{
    return PROGRAMS[p].kind;
}

/* ---- values ---- */

static void keep(struct mt_said_value *v, double value)
{
    v->first = v->known ? v->first : value;
    v->last = value;
    v->known = true;
}

/* The bytes behind the words, squeezed, without what stands between a name and its value. */
static struct mt_str value_text(struct mt_str rest, char *room)
{
    size_t n = 0;
    bool begun = false;
    for (size_t i = 0; i < rest.n && i < VALUE_BYTES && n < VALUE_BYTES; i++) {
        char c = rest.p[i];
        bool leader = c == '.' && i + 1 < rest.n && (rest.p[i + 1] == '.' || rest.p[i + 1] == ' ');
        if (!begun && (leader || strchr(" \t\"':=(\\[,", c))) {
            continue; /* "steps ...... 4", too */
        }
        if (c == '\n' && begun) {
            break;
        }
        begun = true;
        if (c != ' ' && c != '\t') {
            room[n++] = c >= 'A' && c <= 'Z' ? (char)(c | 32) : c;
        }
    }
    struct mt_str text = {room, n};
    if (mt_str_starts(text, MT_STR("\nsize:"))) {
        text = (struct mt_str){room + 6, n - 6};
    }
    return text;
}

static void keep_number(struct mt_said_value *v, struct mt_str text)
{
    char padded[VALUE_BYTES + 1] = "0";
    if (text.n > 1 && text.n < VALUE_BYTES && text.p[0] == '.') { /* ".50" */
        memcpy(padded + 1, text.p, text.n);
        text = (struct mt_str){padded, text.n + 1};
    }
    struct mt_log_size whole = mt_log_size_at(text, MT_LOG_B); /* thousands, and no overflow */
    if (whole.length == 0 || whole.bytes >= MT_LOG_NONSENSE) {
        return;
    }
    double value = (double)whole.bytes;
    if (whole.has_fraction) {
        char digits[VALUE_BYTES + 1];
        memcpy(digits, text.p, text.n);
        digits[text.n] = '\0';
        value = strtod(digits, NULL);
    }
    keep(v, value);
}

static void keep_text(struct mt_said_value *v, struct mt_str rest)
{
    size_t n = 0;
    while (n < rest.n && n + 1 < sizeof v->text && rest.p[n] != '"' && rest.p[n] != '\n') {
        n++;
    }
    if (!v->known) {
        memcpy(v->text, rest.p, n);
        v->text[n] = '\0';
        keep(v, 1);
    }
}

/* The words begin with the unit of a number that stands in front of them. */
static void keep_before(struct mt_said_value *v, struct mt_str text, size_t at)
{
    char room[VALUE_BYTES];
    size_t end = at, n = 0;
    while (end > 0 && text.p[end - 1] == ' ') {
        end--;
    }
    size_t begin = end;
    while (begin > 0 && end - begin < 16 && strchr("0123456789.,", text.p[begin - 1])) {
        begin--;
    }
    memcpy(room, text.p + begin, end - begin);
    n = end - begin;
    memcpy(room + n, "mib", 3);
    struct mt_log_size size = mt_log_size_at((struct mt_str){room, n + 3}, MT_UNIT_NONE_ALLOWED);
    if (n > 0 && size.length == n + 3 && size.bytes < MT_LOG_NONSENSE) {
        keep(v, (double)size.bytes);
    }
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* A longer name that ends in these words is another setting: eval_batch_size. */
static bool begins_name(struct mt_str text, size_t at)
{
    bool dashed = at > 1 && text.p[at - 1] == '-' && is_word(text.p[at - 2]);
    return !is_word(text.p[at]) || at == 0 || (!is_word(text.p[at - 1]) && !dashed);
}

static void take_value(struct mt_notes *n, enum mt_said which, struct mt_str text, size_t at,
                       size_t length)
{
    char room[VALUE_BYTES];
    struct mt_said_value *v = &n->said[which];
    struct mt_str rest = {text.p + at + length, text.n - at - length};
    struct mt_str value = value_text(rest, room);
    struct mt_log_size size;
    if (!begins_name(text, at)) {
        return;
    }
    switch (KINDS[which]) {
    case FLAG: keep(v, 1); break;
    case TEXT: keep_text(v, rest); break;
    case BEFORE: keep_before(v, text, at); break;
    case NUMBER: keep_number(v, value); break;
    case SIZE:
    case BYTES:
        size = mt_log_size_at(value, KINDS[which] == BYTES ? MT_LOG_B : MT_UNIT_NONE_ALLOWED);
        if (size.length > 0 && size.bytes < MT_LOG_NONSENSE) {
            keep(v, (double)size.bytes);
        }
        break;
    }
}

/* The value whose words are also a clue's, MT_SAID_COUNT: none. */
static enum mt_said value_of_clue(size_t clue)
{
    for (size_t i = 0; i < MT_COUNT(VALUES); i++) {
        if (mt_str_equal(MT_NOTE_WORDS[clue], MT_NOTE_WORDS[MT_COUNT(CLUES) + i])) {
            return VALUES[i];
        }
    }
    return MT_SAID_COUNT;
}

static void take_clue(struct mt_notes *n, size_t which)
{
    if (n->seen[which] < COUNTED_MOST) {
        n->seen[which]++;
        n->weight[CLUES[which].program] += CLUES[which].weight;
    }
}

void mt_notes_take(struct mt_notes *n, const struct mt_multi *words, struct mt_str text)
{
    struct mt_multi_hit hit;
    for (size_t at = 0; mt_multi_find(words, text, at, &hit); at = hit.at + 1) {
        bool clue = hit.which < MT_COUNT(CLUES);
        enum mt_said value = clue ? value_of_clue(hit.which) : VALUES[hit.which - MT_COUNT(CLUES)];
        if (clue) {
            take_clue(n, hit.which);
        }
        if (value < MT_SAID_COUNT) {
            take_value(n, value, text, hit.at, MT_NOTE_WORDS[hit.which].n);
        }
    }
}

/* ---- the program ---- */

/* Triton's error is that of the compiler of kernels, which has no program of its own. */
static bool is_framework_of(const char *framework, enum mt_program p)
{
    bool ggml = p == MT_PROGRAM_LLAMA && strcmp(framework, "ggml") == 0;
    return ggml || (p != MT_PROGRAM_TRITON && strcmp(PROGRAMS[p].id, framework) == 0);
}

/* Where the words of any training are the most, a trainer that is named is it all the same. */
static enum mt_program trainer_of(const struct mt_notes *n)
{
    enum mt_program best = MT_PROGRAM_TRAINING;
    for (unsigned p = 1; p < MT_PROGRAM_COUNT; p++) {
        bool named = mt_program_kind((enum mt_program)p) == MT_PROGRAM_KIND_TRAINING &&
                     p != MT_PROGRAM_TRAINING && n->weight[p] >= KNOWN_FROM;
        if (named && (best == MT_PROGRAM_TRAINING || n->weight[p] > n->weight[best])) {
            best = (enum mt_program)p;
        }
    }
    return best;
}

enum mt_program mt_notes_program(const struct mt_notes *n, const char *framework)
{
    enum mt_program best = MT_PROGRAM_UNKNOWN;
    unsigned most = KNOWN_FROM - 1;
    for (unsigned p = 1; p < MT_PROGRAM_COUNT; p++) {
        unsigned weight = n->weight[p];
        weight += is_framework_of(framework, (enum mt_program)p) ? KNOWN_FROM : 0;
        if (weight > most) {
            most = weight;
            best = (enum mt_program)p;
        }
    }
    return best == MT_PROGRAM_TRAINING ? trainer_of(n) : best;
}
