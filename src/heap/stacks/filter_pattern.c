/* SPDX-License-Identifier: MIT */
/*
 * Expressions of --frame. Each is compiled behind "^.*", so that regexec looks for it in one pass:
 * otherwise it begins anew at each byte of a text, which of "a.*b" in a name of a million times 'a'
 * is a million passes.
 *
 * What a regular expression would cost, found before it is compiled. glibc's regcomp writes bounded
 * repetitions out, so that nested ones multiply (three times {1,200}: 8 million parts, 4 GiB), it
 * recurses on groups, and its regexec takes exponential time with references back.
 */
#include "heap/stacks/filter.h"

#include <stdlib.h>
#include <string.h>

#include "support/checked.h"
#include "support/str.h"

enum { MAX_PARTS = 1000, MAX_GROUPS = 100 };

/* A group that is open: its parts so far, and those of what a repetition would repeat. */
struct group {
    uint64_t parts, last;
};

static void add_parts(struct group *g, uint64_t parts)
{
    g->parts = mt_add_sat(g->parts, parts);
    g->last = parts;
}

/* `times` copies of the last part instead of one; a few above the limit are as bad as more. */
static void repeat(struct group *g, uint64_t times)
{
    uint64_t least = times ? times : 1;
    uint64_t copies = mt_mul_overflow(g->last, least - 1, &copies) ? UINT64_MAX : copies;
    g->parts = mt_add_sat(g->parts, copies);
    g->last = mt_add_sat(g->last, copies);
}

/* Past a bracket expression, which is one part; a ']' right at its start is a member. */
static const char *skip_bracket(const char *p)
{
    p += *p == '^';
    p += *p == ']';
    while (*p && *p != ']') {
        const char *end = NULL;
        if (p[0] == '[' && p[1] && strchr(":.=", p[1])) {
            char close[] = {p[1], ']', '\0'};
            end = strstr(p + 2, close);
        }
        p = end ? end + 2 : p + 1;
    }
    return p + (*p == ']');
}

/* How often regcomp writes the part before "{M}", "{M,}" or "{M,N}" out; p is behind the '{'. */
static uint64_t copies_of(const char *p)
{
    char *end;
    uint64_t least = strtoul(p, &end, 10);
    if (*end != ',') {
        return least;
    }
    return end[1] >= '0' && end[1] <= '9' ? strtoul(end + 1, NULL, 10) : mt_add_sat(least, 1);
}

static enum mt_status too_large(const char *text, struct mt_error *err)
{
    return mt_fail(err, MT_USAGE, MT_NO_OFFSET,
                   "'%.80s' is too large a regular expression: written out, its repetitions have "
                   "more than %d parts, or its groups are nested more than %d deep",
                   text, MAX_PARTS, MAX_GROUPS);
}

static enum mt_status check_pattern(const char *text, struct mt_error *err)
{
    struct group groups[MAX_GROUPS + 1] = {{0}};
    size_t depth = 0;
    for (const char *p = text; *p;) {
        struct group *g = &groups[depth];
        char c = *p++;
        if (c == '\\' && *p >= '1' && *p <= '9') {
            return mt_fail(err, MT_USAGE, MT_NO_OFFSET,
                           "'%.80s' refers back to a group (\\%c): such an expression is not taken",
                           text, *p);
        } else if (c == '(' && depth == MAX_GROUPS) {
            return too_large(text, err);
        } else if (c == '(') {
            groups[++depth] = (struct group){1, 0};
        } else if (c == ')' && depth > 0) {
            add_parts(&groups[--depth], g->parts);
        } else if (c == '{' || c == '+') {
            repeat(g, c == '+' ? 2 : copies_of(p));
            p += c == '{' ? strspn(p, "0123456789,") : 0;
        } else if (!strchr("}*?|", c)) {
            p = c == '[' ? skip_bracket(p) : p + (c == '\\' && *p);
            add_parts(g, 1);
        }
        if (groups[depth].parts > MAX_PARTS) {
            return too_large(text, err);
        }
    }
    return MT_OK;
}

static enum mt_status compile(regex_t *regex, const char *text, const char *shown,
                              struct mt_error *err)
{
    int code = regcomp(regex, text, REG_EXTENDED | REG_NOSUB);
    if (code == REG_ESPACE) {
        return mt_fail_nomem(err);
    }
    if (code) {
        char why[120];
        regerror(code, regex, why, sizeof why);
        return mt_fail(err, MT_USAGE, MT_NO_OFFSET, "'%.80s' is not a regular expression: %s",
                       shown, why);
    }
    return MT_OK;
}

enum mt_status mt_filter_compile(regex_t *regex, const char *text, struct mt_error *err)
{
    struct mt_buf one_pass = {0};
    MT_TRY(check_pattern(text, err));
    MT_TRY(compile(regex, text, text, err)); /* as it stands: "a)(b" is none */
    regfree(regex);
    mt_buf_printf(&one_pass, "^.*(%s)", text);
    enum mt_status status =
        one_pass.failed ? mt_fail_nomem(err) : compile(regex, one_pass.p, text, err);
    mt_buf_release(&one_pass);
    return status;
}
