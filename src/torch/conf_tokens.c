/* SPDX-License-Identifier: MIT */
/*
 * Tokens as PyTorch cuts them: at commas, colons and brackets, while blanks vanish wherever they
 * stand, in the midst of a word too. Numbers may carry junk behind their digits.
 */
#include "torch/conf_tokens.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- errors ---- */

bool mt_conf_complain(struct mt_conf_parser *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(p->out->error, sizeof p->out->error, format, args);
    va_end(args);
    return false;
}

bool mt_conf_expected(struct mt_conf_parser *p, const char *token)
{
    if (p->release < 209) {
        return mt_conf_complain(p, "Error parsing CachingAllocator settings, expected %s", token);
    }
    p->out->dies = true;
    return mt_conf_complain(p, "Expected '%s' at index %zu in ConfigTokenizer but got '%s'", token,
                            p->index, p->word);
}

/* ---- tokens ---- */

static bool is_blank(const struct mt_conf_parser *p, char c)
{
    return c == ' ' || (p->release >= 209 && (c == '\t' || (c >= '\n' && c <= '\r')));
}

static bool is_mark(char c)
{
    return c == ',' || c == ':' || c == '[' || c == ']';
}

/* Reads the token at `at` into word (empty at the end of the text); returns where the next begins.
 */
static size_t scan(const struct mt_conf_parser *p, size_t at, char word[MT_CONF_WORD_MAX])
{
    size_t n = 0;
    for (; at < p->text.n; at++) {
        char c = p->text.p[at];
        if (is_blank(p, c)) {
            p->out->has_space = true;
            continue;
        }
        if (is_mark(c)) {
            if (n == 0) {
                word[n++] = c;
                at++;
            }
            break;
        }
        if (n < MT_CONF_WORD_MAX - 1) {
            word[n++] = c == '\0' ? '?' : c;
        }
    }
    word[n] = '\0';
    return at;
}

void mt_conf_advance(struct mt_conf_parser *p)
{
    p->at = scan(p, p->at, p->word);
    p->index++;
}

bool mt_conf_is(const struct mt_conf_parser *p, const char *word)
{
    return strcmp(p->word, word) == 0;
}

bool mt_conf_next_is(const struct mt_conf_parser *p, const char *word)
{
    char next[MT_CONF_WORD_MAX];
    scan(p, p->at, next);
    return strcmp(next, word) == 0;
}

bool mt_conf_take(struct mt_conf_parser *p, const char *token)
{
    mt_conf_advance(p);
    return mt_conf_is(p, token) || mt_conf_expected(p, token);
}

bool mt_conf_take_value(struct mt_conf_parser *p)
{
    if (!mt_conf_take(p, ":")) {
        return false;
    }
    mt_conf_advance(p);
    return p->word[0] != '\0' || mt_conf_expected(p, "value");
}

/* ---- words as values ---- */

bool mt_conf_number(struct mt_conf_parser *p, uint64_t *out)
{
    const char *digits = p->word + (p->word[0] == '-' || p->word[0] == '+');
    bool narrow = p->release < 209;
    if (digits[0] < '0' || digits[0] > '9') {
        return mt_conf_complain(p, "%s", narrow ? "stoi" : "stoull");
    }
    char *end;
    errno = 0;
    if (narrow) {
        long long n = strtoll(p->word, &end, 10);
        if (errno || n > INT32_MAX || n < INT32_MIN) {
            return mt_conf_complain(p, "stoi");
        }
        *out = (uint64_t)n;
    } else {
        *out = strtoull(p->word, &end, 10);
        if (errno) {
            return mt_conf_complain(p, "stoull");
        }
    }
    p->out->junk_after_number |= *end != '\0';
    return true;
}

bool mt_conf_fraction(struct mt_conf_parser *p, double *out)
{
    char *end;
    errno = 0;
    *out = strtod(p->word, &end);
    if (end == p->word || errno) {
        return mt_conf_complain(p, "stod");
    }
    p->out->junk_after_number |= *end != '\0';
    return true;
}

bool mt_conf_boolean(struct mt_conf_parser *p, enum mt_conf_key key, bool *out)
{
    *out = mt_conf_is(p, "True");
    if (*out || mt_conf_is(p, "False")) {
        return true;
    }
    if (p->release < 209) {
        return mt_conf_complain(p, "Expected a single True/False argument for %s",
                                mt_conf_key_name(key));
    }
    return mt_conf_complain(
        p, "Expected 'True' or 'False' at index %zu in ConfigTokenizer but got '%s'", p->index,
        p->word);
}
