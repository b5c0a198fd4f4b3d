/* SPDX-License-Identifier: MIT */
/* The pictures of a snapshot within the page that is handed on. */
#ifndef MEMTOOL_VERBS_TRIAGE_TRIAGE_PICTURES_H
#define MEMTOOL_VERBS_TRIAGE_TRIAGE_PICTURES_H

#include <stdio.h>

#include "snapshot/model/model.h"
#include "support/error.h"

/* A device of a snapshot that the triage looked at; borrowed for the call. */
struct mt_triage_picture {
    const struct mt_snapshot *snapshot;
    const char *file;
    int32_t device;
};

/* Writes its timeline, where it has a trace, and its segments as SVG. Errors: MT_NOMEM, MT_OUTPUT.
 */
enum mt_status mt_triage_put_pictures(FILE *out, const struct mt_triage_picture *p,
                                      struct mt_error *err) MT_NODISCARD;

#endif
