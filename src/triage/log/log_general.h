/* SPDX-License-Identifier: MIT */
/* Sentences that say that memory could not be had, of programs that no other row of the table of
 * formats knows. */
#ifndef MEMTOOL_TRIAGE_LOG_LOG_GENERAL_H
#define MEMTOOL_TRIAGE_LOG_LOG_GENERAL_H

#include "support/str.h"
#include "triage/triage.h"

/* Whether the words of `n` bytes at `at` of the squeezed text tell of an event: the words around
 * name a device or a host whose memory it is, and the sentence is no advice, no condition, no line
 * of source and no name of a test. */
bool mt_general_is_told(struct mt_str text, size_t at, size_t n);

/* Whether the words in front of `at`, in the same sentence, speak of events in general: "if you
 * see". */
bool mt_general_is_mood(struct mt_str text, size_t at);

/* MT_KIND_OOM where the words around name a device, MT_KIND_HOST_RAM where they name the host. */
enum mt_incident_kind mt_general_kind(struct mt_str text, size_t at);

/* Whether an exception's class at `at` was raised, not caught, tested for or defined. */
bool mt_general_is_raised(struct mt_str text, size_t at, size_t n);

/* "dml", "vulkan" ... where the text names it, "" otherwise. */
const char *mt_general_backend(struct mt_str text);

/* Writes the squeezed form of a clean line with the phrases of other languages in English. False:
 * the line has none, nothing was written. */
bool mt_general_translate(struct mt_buf *out, struct mt_str clean);

#endif
