/* SPDX-License-Identifier: MIT */
/* The tables of messages and of their numbers (log_formats.def, log_fields.def). */
#ifndef MEMTOOL_TRIAGE_LOG_LOG_FORMATS_H
#define MEMTOOL_TRIAGE_LOG_LOG_FORMATS_H

#include "triage/log/multi_match.h"
#include "triage/triage.h"

enum mt_format_group {
    MT_GROUP_NONE,
    MT_GROUP_TORCH,
    MT_GROUP_MPS,
    MT_GROUP_ASYNC,
    MT_GROUP_XLA,
    MT_GROUP_TPU,
    MT_GROUP_TF,
    MT_GROUP_VLLM,
    MT_GROUP_GGML,
    MT_GROUP_CUPY,
    MT_GROUP_RMM,
    MT_GROUP_ORT,
    MT_GROUP_PADDLE,
    MT_GROUP_JULIA,
    MT_GROUP_TRT,
    MT_GROUP_NCCL,
    MT_GROUP_CUDNN,
    MT_GROUP_MINDSPORE,
    MT_GROUP_THEANO,
    MT_GROUP_RUNTIME,
    MT_GROUP_HOST,
    MT_GROUP_GENERAL,
    MT_GROUP_ONCHIP
};

enum mt_format_where {
    MT_WHERE_ANY,
    MT_WHERE_CALM, /* anywhere but in a sentence about events in general, or in a name */
    MT_WHERE_SAID,
    MT_WHERE_LINE,
    MT_WHERE_WORD,
    MT_WHERE_RAISED, /* an exception's class that was raised (log_general.h) */
    MT_WHERE_TOLD    /* a sentence that the words around make an event (log_general.h) */
};

struct mt_log_format {
    const char *id;
    const char *framework;
    const char *backend;
    enum mt_incident_kind kind;
    struct mt_str phrase;
    enum mt_format_group group;
    const char *needs, *unless;
    enum mt_format_where where;
    bool doubtful; /* the words have other causes than memory, too */
};

extern const struct mt_log_format MT_LOG_FORMATS[];
extern const size_t MT_LOG_FORMATS_N;

/* Whether the phrase of f, found at `at` in the squeezed line, stands where f wants it. */
bool mt_log_format_stands(const struct mt_log_format *f, struct mt_str line, size_t at);

/* A message in squeezed form. */
struct mt_message {
    struct mt_str text; /* from the beginning of the line in which it was found */
    size_t head;        /* where its first phrase begins in text */
    const size_t *ends; /* where the lines end in text, so that a cut can be seen */
    size_t n_ends;
    const size_t *hits; /* indexes of formats whose phrases were found */
    size_t n_hits;
};

/* The format that explains the message best, NULL when the conditions of none hold. */
const struct mt_log_format *mt_log_format_choose(const struct mt_message *m);

/* Fills the incident from the text: numbers, device, processes, backend, era. */
void mt_log_fields_read(struct mt_incident *incident, const struct mt_log_format *f,
                        const struct mt_message *m);

/* Numbers that follow from those that were printed: reserved from allocated and unallocated, and
 * so on. */
void mt_log_fields_derive(struct mt_incident *incident);

#endif
