/* SPDX-License-Identifier: MIT */
/* What the conditions of advice have in common. */
#ifndef MEMTOOL_TRIAGE_ADVICE_ADVICE_WHEN_PARTS_H
#define MEMTOOL_TRIAGE_ADVICE_ADVICE_WHEN_PARTS_H

#include "triage/advice/advice_when.h"

/* A condition of one expression. */
#define IF(name, condition)                                                                        \
    bool mt_if_##name(const struct mt_advisor *a)                                                  \
    {                                                                                              \
        return condition;                                                                          \
    }

static inline const struct mt_incident *incident(const struct mt_advisor *a)
{
    return a->facts->incident;
}

static inline bool is_backend(const struct mt_advisor *a, const char *backend)
{
    return a->facts && mt_facts_backend_is(a->facts, backend);
}

static inline bool said(const struct mt_advisor *a, enum mt_said which)
{
    return mt_advice_said(a, which) != NULL;
}

static inline bool is_kind(const struct mt_advisor *a, enum mt_incident_kind k)
{
    return a->facts && incident(a)->kind == k;
}

static inline bool is_native(const struct mt_advisor *a)
{
    return is_backend(a, "cuda") || is_backend(a, "hip");
}

#endif
