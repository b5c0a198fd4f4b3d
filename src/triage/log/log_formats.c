/* SPDX-License-Identifier: MIT */
/*
 * The table of messages, and how one row is chosen when several phrases were found in one text (a
 * RESOURCE_EXHAUSTED that quotes CUDA_ERROR_OUT_OF_MEMORY): the first row of the table whose
 * conditions hold.
 */
#include "triage/log/log_formats.h"
#include "triage/log/log_general.h"
#include "triage/log/log_lines.h"

const struct mt_log_format MT_LOG_FORMATS[] = {
#define ROW(id, framework, backend, kind, phrase, group, needs, unless, where, maybe)              \
    {id,    framework, backend,          MT_KIND_##kind, MT_STR_INIT(phrase), MT_GROUP_##group,    \
     needs, unless,    MT_WHERE_##where, maybe},
#define FORMAT(id, framework, backend, kind, phrase, group, needs, unless, where)                  \
    ROW(id, framework, backend, kind, phrase, group, needs, unless, where, false)
#define MAYBE(id, framework, backend, kind, phrase, group, needs, unless, where)                   \
    ROW(id, framework, backend, kind, phrase, group, needs, unless, where, true)
#include "triage/log/log_formats.def"
#undef ROW
#undef FORMAT
#undef MAYBE
};
const size_t MT_LOG_FORMATS_N = MT_COUNT(MT_LOG_FORMATS);

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* What stands right in front of a message that someone raised or logged. */
static bool is_announced(struct mt_str before)
{
    static const struct mt_str MARKS[] = {
        MT_STR_INIT("error:"),  MT_STR_INIT("exception:"),      MT_STR_INIT("failed:"),
        MT_STR_INIT("what():"), MT_STR_INIT("warning:"),        MT_STR_INIT("fatal:"),
        MT_STR_INIT("reason:"), MT_STR_INIT("message\":\""),    MT_STR_INIT("error\":\""),
        MT_STR_INIT("error('"), MT_STR_INIT("error(\""),        MT_STR_INIT("msg=\""),
        MT_STR_INIT("error]"),  MT_STR_INIT("errormsg:"),       MT_STR_INIT("due to:"),
        MT_STR_INIT("error-"),  MT_STR_INIT("failedwitherror"), MT_STR_INIT("raised:"),
    };
    if (before.n == 0 || strchr("\"'([{!|", before.p[before.n - 1])) {
        return true;
    }
    for (size_t i = 0; i < MT_COUNT(MARKS); i++) {
        if (mt_str_ends(before, MARKS[i])) {
            return true;
        }
    }
    return false;
}

/* "Killed" alone, or with the pid that a shell puts before it ("12: 4711 Killed python train.py").
 */
static bool is_shells_killed(struct mt_str before, struct mt_str after)
{
    if (before.n == 0) {
        return after.n == 0 || mt_str_equal(after, MT_STR("."));
    }
    return before.p[before.n - 1] >= '0' && before.p[before.n - 1] <= '9' &&
           mt_str_find(before, MT_STR("line")) != SIZE_MAX;
}

/* A line of a program, a traceback's or a diff's, that would print the words: a placeholder where
 * the message has a figure, or a call that logs or raises right in front of them. */
static bool is_source(struct mt_str before, struct mt_str after)
{
    static const struct mt_str CALLS[] = {
        MT_STR_INIT("logger."), MT_STR_INIT("logging."), MT_STR_INIT("log."),
        MT_STR_INIT("print("),  MT_STR_INIT("printf("),  MT_STR_INIT("warnings.warn("),
        MT_STR_INIT("raise"),   MT_STR_INIT("throw"),    MT_STR_INIT("panic!("),
    };
    if (after.n > 0 && strchr("{%$", after.p[0])) {
        return true;
    }
    if (mt_str_starts(after, MT_STR("...")) && after.n > 3) {
        return true; /* a text about the message; cut short it ends there */
    }
    size_t near = before.n > 48 ? before.n - 48 : 0;
    struct mt_str here = {before.p + near, before.n - near};
    static const struct mt_str NAMES[] = {MT_STR_INIT("cuda"), MT_STR_INIT("hip"),
                                          MT_STR_INIT("xpu"), MT_STR_INIT("gpu")};
    for (size_t i = 0; i < MT_COUNT(NAMES); i++) {
        here.n -= mt_str_ends(here, NAMES[i]) ? NAMES[i].n : 0;
    }
    bool quoted = mt_str_ends(here, MT_STR("(\"")) || mt_str_ends(here, MT_STR("('")) ||
                  mt_str_ends(here, MT_STR("(f\"")) || mt_str_ends(here, MT_STR("(f'"));
    return quoted && mt_log_has_any(here, CALLS, MT_COUNT(CALLS));
}

bool mt_log_format_stands(const struct mt_log_format *f, struct mt_str line, size_t at)
{
    struct mt_str before = {line.p, at};
    struct mt_str after = {line.p + at + f->phrase.n, line.n - at - f->phrase.n};
    if (is_source(before, after)) {
        return false;
    }
    switch (f->where) {
    case MT_WHERE_SAID: return is_announced(before) && !mt_general_is_mood(line, at);
    case MT_WHERE_LINE: return is_shells_killed(before, after);
    case MT_WHERE_WORD:
        return (at == 0 || !is_word(line.p[at - 1])) &&
               (after.n == 0 || after.p[0] == ':' || after.p[0] == '(');
    case MT_WHERE_RAISED: return mt_general_is_raised(line, at, f->phrase.n);
    case MT_WHERE_TOLD: return mt_general_is_told(line, at, f->phrase.n);
    case MT_WHERE_CALM: return !mt_general_is_mood(line, at);
    case MT_WHERE_ANY: break;
    }
    return true;
}

static bool has(struct mt_str text, const char *phrase)
{
    return mt_str_find(text, mt_str_from(phrase)) != SIZE_MAX;
}

const struct mt_log_format *mt_log_format_choose(const struct mt_message *m)
{
    for (size_t i = 0; i < MT_LOG_FORMATS_N; i++) {
        const struct mt_log_format *f = &MT_LOG_FORMATS[i];
        bool hit = false;
        for (size_t h = 0; h < m->n_hits && !hit; h++) {
            hit = mt_str_equal(MT_LOG_FORMATS[m->hits[h]].phrase, f->phrase);
        }
        if (hit && (!f->needs || has(m->text, f->needs)) &&
            (!f->unless || !has(m->text, f->unless))) {
            return f;
        }
    }
    return NULL;
}
