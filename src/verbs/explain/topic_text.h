/* SPDX-License-Identifier: MIT */
/* The text of a topic on paper of any width. */
#ifndef MEMTOOL_VERBS_EXPLAIN_TOPIC_TEXT_H
#define MEMTOOL_VERBS_EXPLAIN_TOPIC_TEXT_H

#include "verbs/explain/explain.h"

/* Columns that text about topics may take here. */
int mt_topic_width(const struct mt_report *r);

/* Prints t->text, behind two blanks; false when out of memory. */
bool mt_topic_text(const struct mt_report *r, const struct mt_topic *t);

#endif
