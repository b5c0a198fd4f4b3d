/* SPDX-License-Identifier: MIT */
/* The list of events of a log: repetitions and parts of one event become one entry. */
#ifndef MEMTOOL_TRIAGE_LOG_INCIDENTS_H
#define MEMTOOL_TRIAGE_LOG_INCIDENTS_H

#include "support/vec.h"
#include "triage/triage.h"

/* Kept at most; later ones are counted. */
#define MT_INCIDENTS_MAX 256

struct mt_incidents {
    MT_VEC(struct mt_incident) list;
    uint64_t dropped;
};

void mt_incidents_release(struct mt_incidents *l);

/* Adds or merges; *index is where it went, SIZE_MAX when it was only counted. False: no memory. */
bool mt_incidents_add(struct mt_incidents *l, const struct mt_incident *incident, size_t *index)
    MT_NODISCARD;

#endif
