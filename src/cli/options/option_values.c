/* SPDX-License-Identifier: MIT */
/* From the text of one option to the field it fills: a function for each kind, with its errors. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/frame.h"
#include "cli/options/options.h"
#include "support/units.h"

#define HUGE_BOUND 1e15     /* an upper bound that nobody needs to be told of */
#define LEAST_MEMORY MT_MIB /* bytes; no device or process has less */

static bool has_bounds(const struct mt_option *o)
{
    return o->min < 0 || o->max > 0; /* both 0 (or anything odd) means none */
}

static bool in_bounds(const struct mt_option *o, double x)
{
    return !has_bounds(o) || (x >= o->min && x <= o->max);
}

/* `x` is what the text stands for, an infinity where no field holds it. */
static enum mt_status out_of_bounds(const struct mt_option *o, const char *text, double x,
                                    struct mt_error *err)
{
    if (!has_bounds(o)) {
        return mt_fail(err, MT_USAGE, MT_NO_OFFSET, "%.60s is not between 0 and %" PRIu64, text,
                       UINT64_MAX);
    }
    if (o->max >= HUGE_BOUND && x < o->min) {
        return mt_fail(err, MT_USAGE, MT_NO_OFFSET, "%.60s is less than %.16g", text, o->min);
    }
    return mt_fail(err, MT_USAGE, MT_NO_OFFSET, "%.60s is not between %.16g and %.16g", text,
                   o->min, o->max);
}

/* Whether the text is a number that mt_u64_parse refuses for its size alone. */
static bool is_too_large(const char *text)
{
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const char *digits = hex ? text + 2 : text;
    size_t n = strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789");
    return n > 0 && digits[n] == '\0';
}

static enum mt_status set_flag(const struct mt_option *o, void *field, const char *text,
                               struct mt_error *err)
{
    (void)o, (void)text, (void)err;
    *(bool *)field = true;
    return MT_OK;
}

static enum mt_status set_count(const struct mt_option *o, void *field, const char *text,
                                struct mt_error *err)
{
    (void)o, (void)text, (void)err;
    ++*(int *)field;
    return MT_OK;
}

static enum mt_status set_text(const struct mt_option *o, void *field, const char *text,
                               struct mt_error *err)
{
    (void)o, (void)err;
    *(const char **)field = text;
    return MT_OK;
}

static enum mt_status set_texts(const struct mt_option *o, void *field, const char *text,
                                struct mt_error *err)
{
    (void)o, (void)err;
    struct mt_texts *texts = field;
    texts->v = mt_cli_realloc(texts->v, texts->n + 1, sizeof *texts->v);
    texts->v[texts->n++] = text;
    return MT_OK;
}

static enum mt_status set_int(const struct mt_option *o, void *field, const char *text,
                              struct mt_error *err)
{
    bool negative = text[0] == '-';
    const char *digits = text + (negative || text[0] == '+');
    uint64_t n = UINT64_MAX;
    if (!mt_u64_parse(mt_str_from(digits), &n) && !is_too_large(digits)) {
        return mt_fail(err, MT_USAGE, MT_NO_OFFSET, "'%.60s' is not a whole number", text);
    }
    double x = negative ? -(double)n : (double)n;
    if (n > INT64_MAX || !in_bounds(o, x)) {
        return out_of_bounds(o, text, x, err);
    }
    *(int64_t *)field = negative ? -(int64_t)n : (int64_t)n;
    return MT_OK;
}

static enum mt_status set_u64(const struct mt_option *o, void *field, const char *text,
                              struct mt_error *err)
{
    uint64_t n = 0;
    bool fits = mt_u64_parse(mt_str_from(text), &n);
    if (!fits && !is_too_large(text)) {
        return mt_fail(err, MT_USAGE, MT_NO_OFFSET, "'%.60s' is not a whole number from 0", text);
    }
    if (!fits || !in_bounds(o, (double)n)) {
        return out_of_bounds(o, text, fits ? (double)n : HUGE_VAL, err);
    }
    *(uint64_t *)field = n;
    return MT_OK;
}

static enum mt_status set_number(const struct mt_option *o, void *field, const char *text,
                                 struct mt_error *err)
{
    char *end;
    double x = strtod(text, &end);
    bool written = strpbrk(text, "0123456789") != NULL; /* not "inf" */
    if (end == text || *end || isspace((unsigned char)*text) || isnan(x) || !written) {
        return mt_fail(err, MT_USAGE, MT_NO_OFFSET, "'%.60s' is not a number", text);
    }
    if (!in_bounds(o, x)) {
        return out_of_bounds(o, text, x, err);
    }
    *(double *)field = x;
    return MT_OK;
}

enum mt_status mt_size_arg(const char *text, bool memory, uint64_t *bytes, struct mt_error *err)
{
    size_t digits = strspn(text, "0123456789");
    bool plain = *text && !text[strspn(text, "0123456789.")];
    bool fraction = plain && strchr(text, '.');
    if (mt_size_parse(mt_str_from(text), bytes)) {
        if (!memory || !plain || *bytes == 0 || *bytes >= LEAST_MEMORY) {
            return MT_OK;
        }
        mt_fail(err, MT_USAGE, MT_NO_OFFSET, "%.40s without a unit is %.40s byte%s", text, text,
                *bytes == 1 ? "" : "s");
    } else if (digits > 1 && mt_size_parse(mt_str_from(text + digits - 1), bytes)) {
        return mt_fail(err, MT_USAGE, MT_NO_OFFSET, "%.60s is larger than %" PRIu64 " bytes", text,
                       UINT64_MAX); /* with one digit before the point it is a size */
    } else if (fraction) {
        mt_fail(err, MT_USAGE, MT_NO_OFFSET, "%.40s without a unit is a fraction of a byte", text);
    } else {
        return mt_fail(err, MT_USAGE, MT_NO_OFFSET, "'%.100s' is not a size such as %s", text,
                       memory ? "80GiB" : "512, 64M or 1.5GiB");
    }
    bool large = strcspn(text, ".") > 3; /* digits before the point: nobody has 1000 GiB */
    return large ? mt_hint(err, "give the unit: %.40sMiB", text)
                 : mt_hint(err, "give the unit: %.40sGiB or %.40sMiB", text, text);
}

static enum mt_status set_size(const struct mt_option *o, void *field, const char *text,
                               struct mt_error *err)
{
    uint64_t bytes;
    MT_TRY(mt_size_arg(text, o->memory, &bytes, err));
    if (!in_bounds(o, (double)bytes)) {
        struct mt_size_format f = {MT_UNIT_AUTO, false};
        if (o->max >= HUGE_BOUND) {
            return mt_fail(err, MT_USAGE, MT_NO_OFFSET, "%.60s is less than %s", text,
                           mt_size_text((uint64_t)o->min, f).s);
        }
        return mt_fail(err, MT_USAGE, MT_NO_OFFSET, "%.60s is not between %s and %s", text,
                       mt_size_text((uint64_t)o->min, f).s, mt_size_text((uint64_t)o->max, f).s);
    }
    *(uint64_t *)field = bytes;
    return MT_OK;
}

static enum mt_status set_choice(const struct mt_option *o, void *field, const char *text,
                                 struct mt_error *err)
{
    struct mt_buf all = {0};
    int i = 0;
    for (; o->choices[i]; i++) {
        if (strcmp(o->choices[i], text) == 0) {
            *(int *)field = i;
            mt_buf_release(&all);
            return MT_OK;
        }
        mt_buf_printf(&all, "%s%s", i ? ", " : "", o->choices[i]);
    }
    mt_fail(err, MT_USAGE, MT_NO_OFFSET, "'%s' is not one of: %s", text, all.failed ? "" : all.p);
    mt_buf_release(&all);
    return mt_hint_near(err, text, o->choices, (size_t)i);
}

static enum mt_status set_custom(const struct mt_option *o, void *field, const char *text,
                                 struct mt_error *err)
{
    return o->parse(field, text, err);
}

static enum mt_status (*const SETTERS[])(const struct mt_option *, void *, const char *,
                                         struct mt_error *) = {
    [MT_OPTION_FLAG] = set_flag,     [MT_OPTION_COUNT] = set_count, [MT_OPTION_TEXT] = set_text,
    [MT_OPTION_TEXTS] = set_texts,   [MT_OPTION_INT] = set_int,     [MT_OPTION_U64] = set_u64,
    [MT_OPTION_NUMBER] = set_number, [MT_OPTION_SIZE] = set_size,   [MT_OPTION_CHOICE] = set_choice,
    [MT_OPTION_CUSTOM] = set_custom,
};

enum mt_status mt_option_set_value(const struct mt_option_ref *ref, const char *text,
                                   struct mt_error *err)
{
    const struct mt_option *o = ref->option;
    return SETTERS[o->kind](o, (char *)ref->base + o->offset, text, err);
}

bool mt_option_has_arg(const struct mt_option *o)
{
    bool custom_flag = o->kind == MT_OPTION_CUSTOM && !o->arg;
    return o->kind != MT_OPTION_FLAG && o->kind != MT_OPTION_COUNT && !custom_flag;
}

void mt_option_arg_text(struct mt_buf *b, const struct mt_option *o)
{
    if (o->arg || !o->choices) {
        mt_buf_text(b, o->arg ? o->arg : "ARG");
        return;
    }
    for (int i = 0; o->choices[i]; i++) {
        mt_buf_printf(b, "%s%s", i ? "|" : "", o->choices[i]);
    }
}
