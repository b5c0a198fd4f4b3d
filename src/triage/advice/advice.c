/* SPDX-License-Identifier: MIT */
/* Builds the list of advice: who words it for which verdict, and the small printf around it. */
#include "triage/advice/advice.h"

#include <stdarg.h>
#include <stdio.h>

#include "support/units.h"

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
    *text = mt_arena_copy(a->arena, line, length);
    a->no_memory |= text->p == NULL;
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

void mt_advice_fill(struct mt_advisor *a)
{
    if (!a->facts) {
        mt_advice_host(a, MT_KIND_COUNT);
        return;
    }
    const struct mt_incident *incident = a->facts->incident;
    if (a->verdict == MT_VERDICT_NOT_OOM) {
        mt_advice_host(a, incident->kind);
    } else if (mt_facts_plain(a->facts)) {
        mt_advice_cuda(a);
    } else if (!mt_advice_framework(a)) {
        mt_advice_torch(a);
        mt_advice_record(a);
        mt_advice_torch_hints(a);
    }
}
