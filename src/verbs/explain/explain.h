/* SPDX-License-Identifier: MIT */
/* The glossary: what the words in reports and messages mean, with drawings in characters. */
#ifndef MEMTOOL_VERBS_EXPLAIN_EXPLAIN_H
#define MEMTOOL_VERBS_EXPLAIN_EXPLAIN_H

#include "print/report.h"

struct mt_topic {
    const char *name;
    const char *also[8];     /* other words for it, NULL at the end */
    const char *summary;     /* one line, lower case, no full stop */
    const char *const *text; /* lines of at most 78 columns, NULL at the end */
    const char *const *see;  /* names of other topics, NULL at the end */
};

/* Groups of topics in the order in which they are listed. */
struct mt_topic_group {
    const char *title;
    const struct mt_topic *topics;
    size_t n;
};
extern const struct mt_topic_group MT_TOPIC_GROUPS[];
extern const size_t MT_TOPIC_GROUPS_N;

/* The topic of this name, in any case, in singular or plural, with '-', '_' or blanks between
 * words; NULL when there is none. */
const struct mt_topic *mt_topic_find(const char *word);

/* Errors of all: MT_NOMEM. */
enum mt_status mt_report_topic(const struct mt_report *r, const struct mt_topic *t,
                               struct mt_error *err) MT_NODISCARD;
enum mt_status mt_report_topics(const struct mt_report *r, struct mt_error *err) MT_NODISCARD;

#endif
