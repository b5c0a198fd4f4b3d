/* SPDX-License-Identifier: MIT */
/*
 * Chooses the rows that fit the event and fills their formulas in. The order of the rows is the
 * order of the steps. A row whose text or command needs a figure that is not known is left out,
 * unless it has other words for that case.
 */
#include "triage/advice/advice.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

#include "support/units.h"

#include "triage/advice/advice_when.h"

/* ---- the rows ---- */

enum {
    ANYTIME = (1 << MT_PHASE_COUNT) - 1,
    LOADING = 1 << MT_PHASE_LOADING,
    RUNNING = ANYTIME & ~LOADING,
    EVALUATING = 1 << MT_PHASE_EVALUATION,
    GENERATING = 1 << MT_PHASE_GENERATION,
    PROFILED = 1 << MT_PHASE_PROFILING,
    BUDGETED = RUNNING & ~PROFILED, /* the KV cache is taken, or about to be */
    CAPTURING = 1 << MT_PHASE_CAPTURE,
    STEPPING = 1 << MT_PHASE_OPTIMIZER,
    TRAINS = RUNNING & ~EVALUATING & ~GENERATING,
    LEARNS = TRAINS & ~STEPPING /* activations are there */
};

enum {
    NOT_OOM = 1 << MT_VERDICT_NOT_OOM,
    UNKNOWN = 1 << MT_VERDICT_UNKNOWN,
    NO_NUMBERS = 1 << MT_VERDICT_NO_NUMBERS,
    OVERSIZED = 1 << MT_VERDICT_OVERSIZED_REQUEST,
    LIMIT = 1 << MT_VERDICT_PER_PROCESS_LIMIT,
    FREE = 1 << MT_VERDICT_FREE_EXCEEDS_REQUEST,
    HOLES = 1 << MT_VERDICT_FRAGMENTATION,
    LEAK = 1 << MT_VERDICT_LEAK,
    OTHERS = 1 << MT_VERDICT_OTHER_PROCESS,
    OUTSIDE = 1 << MT_VERDICT_NON_PYTORCH,
    ENOUGH = 1 << MT_VERDICT_NOT_ENOUGH,
    SHORT = ENOUGH | NO_NUMBERS,
    SERVED = SHORT | OUTSIDE | OVERSIZED | HOLES,
    EVERY = (1 << MT_VERDICT_COUNT) - 1,
    EVENT = EVERY & ~NOT_OOM & ~UNKNOWN
};

const struct mt_advice_row MT_ADVICE_ROWS[] = {
#define STEP(id, who, phases, verdicts, when, text, command, why)                                  \
    {id, who, phases, verdicts, mt_if_##when, text, command, why, true},
#define HINT(id, who, phases, verdicts, when, text, why)                                           \
    {id, who, phases, verdicts, mt_if_##when, text, NULL, why, false},
#include "triage/advice/advice_host.def"
#include "triage/advice/advice_torch.def"
#include "triage/advice/advice_programs.def"
#include "triage/advice/advice_frameworks.def"
#include "triage/advice/advice_last.def"
#undef STEP
#undef HINT
};
const size_t MT_ADVICE_ROWS_N = MT_COUNT(MT_ADVICE_ROWS);

/* ---- words ---- */

static size_t name_length(const char *s)
{
    size_t n = 0;
    while ((s[n] >= 'a' && s[n] <= 'z') || s[n] == '_') {
        n++;
    }
    return n;
}

/* One run of words up to `end`; false: a formula in it lacks its figures. */
static bool expand_run(const struct mt_advisor *a, const char *s, const char *end,
                       struct mt_buf *out)
{
    bool whole = true;
    while (s < end) {
        if (*s != '$') {
            mt_buf_char(out, *s++);
        } else if (s[1] == '$') {
            mt_buf_char(out, '$');
            s += 2;
        } else {
            size_t n = name_length(s + 1);
            whole &= mt_advice_place(a, (struct mt_str){s + 1, n}, out);
            s += 1 + n;
        }
    }
    return whole;
}

bool mt_advice_expand(const struct mt_advisor *a, const char *words, struct mt_buf *out)
{
    bool whole = true;
    while (*words) {
        const char *open = strstr(words, "$[");
        const char *close = open ? strstr(open, "$]") : NULL;
        if (!close) {
            return expand_run(a, words, words + strlen(words), out) && whole;
        }
        const char *other = strstr(open, "$|");
        other = other && other < close ? other : NULL;
        whole &= expand_run(a, words, open, out);
        size_t before = out->n;
        if (!expand_run(a, open + 2, other ? other : close, out)) {
            out->n = before;
            whole &= !other || expand_run(a, other + 2, close, out);
        }
        words = close + 2;
    }
    return whole;
}

/* ---- which rows ---- */

static bool is_who(const struct mt_advisor *a, struct mt_str who)
{
    static const struct {
        const char *who;
        enum mt_program_kind kind;
    } KINDS[] = {{"@training", MT_PROGRAM_KIND_TRAINING}, {"@inference", MT_PROGRAM_KIND_INFERENCE},
                 {"@server", MT_PROGRAM_KIND_SERVER},     {"@images", MT_PROGRAM_KIND_IMAGES},
                 {"@runner", MT_PROGRAM_KIND_RUNNER},     {"@unknown", MT_PROGRAM_KIND_UNKNOWN}};
    const struct mt_facts *f = a->facts;
    bool plain = f ? mt_facts_plain(f) : a->plain;
    if (mt_str_equal(who, MT_STR("*"))) {
        return true;
    }
    if (mt_str_equal(who, MT_STR("@plain")) || plain || !f) {
        return plain && mt_str_equal(who, MT_STR("@plain"));
    }
    if (who.p[0] == '=') {
        struct mt_str name = {who.p + 1, who.n - 1};
        bool driver = mt_incident_is(f->incident, "cuda") || mt_incident_is(f->incident, "gpu");
        return mt_str_equal(name, mt_str_from(f->incident->framework)) ||
               (driver && mt_str_equal(name, mt_str_from(mt_program_id(f->program))));
    }
    for (size_t i = 0; i < MT_COUNT(KINDS); i++) {
        if (mt_str_equal(who, mt_str_from(KINDS[i].who))) {
            return mt_program_kind(f->program) == KINDS[i].kind && mt_if_is_torch(a);
        }
    }
    return mt_str_equal(who, MT_STR("@torch"))
               ? mt_if_is_torch(a)
               : mt_str_equal(who, mt_str_from(mt_program_id(f->program)));
}

static bool is_any_who(const struct mt_advisor *a, const char *who)
{
    while (*who) {
        size_t n = strcspn(who, " ");
        if (is_who(a, (struct mt_str){who, n})) {
            return true;
        }
        who += n + (who[n] == ' ');
    }
    return false;
}

static bool fits(const struct mt_advisor *a, const struct mt_advice_row *row)
{
    enum mt_phase phase = a->facts ? a->facts->incident->phase : MT_PHASE_NONE;
    return (row->verdicts >> a->verdict & 1u) && (row->phases >> phase & 1u) &&
           is_any_who(a, row->who) && row->when(a);
}

static bool has_step(const struct mt_advisor *a, const char *id)
{
    for (size_t i = 0; i < a->list.n; i++) {
        if (strcmp(a->list.v[i].id, id) == 0) {
            return true;
        }
    }
    return false;
}

static struct mt_str kept(struct mt_advisor *a, struct mt_str s)
{
    struct mt_str copy = mt_arena_copy(a->arena, s.p, s.n);
    a->no_memory |= copy.p == NULL;
    return copy;
}

/* Each line of the expanded commands is one. */
static void split_commands(struct mt_advisor *a, struct mt_advice *entry, struct mt_str all)
{
    while (all.n > 0 && entry->n_commands < MT_ADVICE_COMMANDS) {
        const char *newline = memchr(all.p, '\n', all.n);
        size_t n = newline ? (size_t)(newline - all.p) : all.n;
        entry->commands[entry->n_commands++] = kept(a, (struct mt_str){all.p, n});
        n += newline != NULL;
        all = (struct mt_str){all.p + n, all.n - n};
    }
}

/* The first step is no alternative: its "Or " goes. */
static struct mt_str as_first(const struct mt_advisor *a, struct mt_buf *text)
{
    struct mt_str s = mt_buf_view(text), or = MT_STR("Or ");
    if (a->list.n > 0 || !mt_str_starts(s, or) || s.n == or.n) {
        return s;
    }
    text->p[or.n] = (char)toupper((unsigned char)text->p[or.n]);
    return (struct mt_str){s.p + or.n, s.n - or.n};
}

static void word_row(struct mt_advisor *a, const struct mt_advice_row *row)
{
    struct mt_buf text = {0}, command = {0}, why = {0};
    struct mt_advice entry = {.id = row->id, .applies = row->applies};
    bool whole = mt_advice_expand(a, row->text, &text) &&
                 (!row->command || mt_advice_expand(a, row->command, &command));
    bool reason = mt_advice_expand(a, row->why, &why);
    if (!reason && row->applies) {
        mt_buf_reset(&why); /* a figure of it is not known: the step stands without */
    }
    if (whole && (reason || row->applies)) {
        entry.text = kept(a, as_first(a, &text));
        entry.why = kept(a, mt_buf_view(&why));
        split_commands(a, &entry, mt_buf_view(&command));
        a->no_memory |= !mt_vec_push(&a->list, entry);
    }
    a->no_memory |= text.failed || command.failed || why.failed;
    mt_buf_release(&text);
    mt_buf_release(&command);
    mt_buf_release(&why);
}

void mt_advice_fill(struct mt_advisor *a)
{
    static const char RECORD[] = "record";
    size_t steps = 0;
    for (size_t i = 0; i < MT_ADVICE_ROWS_N && !a->no_memory; i++) {
        const struct mt_advice_row *row = &MT_ADVICE_ROWS[i];
        bool counts = row->applies && strcmp(row->id, RECORD) != 0;
        if (has_step(a, row->id) || (counts && steps == MT_ADVICE_STEPS) || !fits(a, row)) {
            continue;
        }
        size_t before = a->list.n;
        if (strcmp(row->id, "owner") == 0) {
            (void)mt_advice_owner(a);
        } else {
            word_row(a, row);
        }
        steps += counts && a->list.n > before;
    }
}

/* ---- entries that no row words ---- */

struct mt_size_text mt_advice_size(uint64_t bytes)
{
    return mt_size_text(bytes, (struct mt_size_format){.unit = MT_UNIT_AUTO});
}

void mt_advise(struct mt_advisor *a, const char *id, bool applies)
{
    struct mt_advice fresh = {.id = id, .applies = applies};
    a->no_memory |= !mt_vec_push(&a->list, fresh);
}

static struct mt_advice *newest(struct mt_advisor *a)
{
    return a->list.n && !a->no_memory ? &a->list.v[a->list.n - 1] : &a->lost;
}

MT_PRINTF(3, 0)
static void put(struct mt_advisor *a, struct mt_str *text, const char *format, va_list args)
{
    char line[700];
    int n = vsnprintf(line, sizeof line, format, args);
    size_t length = n < 0 ? 0 : (size_t)n < sizeof line ? (size_t)n : sizeof line - 1;
    *text = kept(a, (struct mt_str){line, length});
}

void mt_advise_text(struct mt_advisor *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put(a, &newest(a)->text, format, args);
    va_end(args);
}

void mt_advise_why(struct mt_advisor *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put(a, &newest(a)->why, format, args);
    va_end(args);
}

void mt_advise_command(struct mt_advisor *a, const char *format, ...)
{
    struct mt_advice *entry = newest(a);
    if (entry->n_commands == MT_ADVICE_COMMANDS) {
        return;
    }
    va_list args;
    va_start(args, format);
    put(a, &entry->commands[entry->n_commands++], format, args);
    va_end(args);
}
