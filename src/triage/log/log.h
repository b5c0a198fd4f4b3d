/* SPDX-License-Identifier: MIT */
/* The log reader: bytes in pieces go in, incidents, series and tables come out. */
#ifndef MEMTOOL_TRIAGE_LOG_LOG_H
#define MEMTOOL_TRIAGE_LOG_LOG_H

#include "support/arena.h"
#include "support/units.h"
#include "triage/log/incidents.h"
#include "triage/card/log_chunks.h"
#include "triage/log/log_formats.h"
#include "triage/log/log_lines.h"
#include "triage/log/log_notes.h"
#include "triage/log/log_phase.h"
#include "triage/log/log_steps.h"
#include "triage/log/log_tables.h"

/* Bytes of the log held at a time. */
#define MT_LOG_BUFFER MT_MIB
/* Bytes behind the reading point that stay, to look back from an incident. */
#define MT_LOG_HISTORY 16384

/* Messages that are collected at the same time: one a rank that is failing. */
#define MT_LOG_MESSAGES 16
/* Lines and squeezed bytes that one message may take. A message of 700 letters that a terminal
 * wrapped at 40 columns has 18 lines. */
#define MT_LOG_MESSAGE_LINES 26
#define MT_LOG_MESSAGE_BYTES 8192
#define MT_LOG_MESSAGE_HITS 8
/* Messages for which the lines before them are searched; later ones do without. */
#define MT_LOG_CONTEXTS 2000
/* Settings kept, one after the other: a log of many runs. */
#define MT_LOG_CONF_CHANGES 100
/* No phrase is longer. */
#define MT_LOG_PHRASE_MAX 64

/* PYTORCH_CUDA_ALLOC_CONF as one log shows it last; text in the arena. */
struct mt_log_conf {
    const char *file;
    struct mt_str text;
};

struct mt_log_message {
    bool open;
    uint64_t origin;
    int64_t rank;
    uint64_t line, last_line, hit_line;
    unsigned lines_left;
    struct mt_buf text;
    size_t head;
    size_t ends[MT_LOG_MESSAGE_LINES + 2];
    size_t n_ends;
    size_t hits[MT_LOG_MESSAGE_HITS];
    size_t n_hits;
    struct mt_buf first;         /* the first line, cleaned */
    struct mt_phase_state phase; /* from the lines before */
    int64_t step;
    char place[96]; /* as of the incident; raw bytes of the log */
    enum mt_cause cause;
};

struct mt_log {
    struct mt_arena *arena; /* borrowed */
    const char *file;       /* name of the log, borrowed */
    unsigned char *buffer;
    size_t start, at, end; /* history begins, next byte to look at, bytes filled */
    uint64_t line;         /* number of the line at `at` */
    uint64_t bytes;
    uint64_t lines; /* of the logs that ended */
    bool begun, utf16, utf16_big, utf16_odd;

    struct mt_multi raw;     /* words that make a line worth cleaning */
    struct mt_multi phrases; /* everything that is looked for in squeezed lines */
    struct mt_multi noted;   /* words that tell the program, its settings and figures */
    struct mt_str *phrase_list;

    struct mt_log_line now;
    struct mt_buf joined; /* tail and line */
    struct mt_buf tail;   /* squeezed end of the line before */
    uint64_t tail_origin; /* who wrote it */
    int64_t tail_rank;
    uint64_t tail_line; /* its number; 0: none */
    bool told;          /* a message was found in `now` */
    bool tail_labelled;
    bool tail_seen; /* it was looked at itself */
    bool tail_told; /* a message was found in it */
    bool follow;    /* look at the next line too: a wrap may have cut a word in two */
    struct mt_log_message messages[MT_LOG_MESSAGES];
    size_t n_open;
    size_t contexts;
    bool note_next; /* a message began in the piece before: what follows it tells, too */
    MT_VEC(struct mt_notes) notes; /* one a log */
    struct mt_incidents incidents;
    struct mt_steps steps;
    struct mt_tables tables;
    struct mt_chunks chunks; /* of the last dump */
    size_t conf_changes;
    MT_VEC(struct mt_log_conf) confs; /* one a log at most */
    bool no_memory;
};

/* Errors: MT_NOMEM. mt_log_release in any case. */
enum mt_status mt_log_init(struct mt_log *log, struct mt_arena *arena, struct mt_error *err)
    MT_NODISCARD;
void mt_log_release(struct mt_log *log);

void *mt_log_space(struct mt_log *log, size_t *n);
enum mt_status mt_log_commit(struct mt_log *log, size_t n, struct mt_error *err) MT_NODISCARD;
enum mt_status mt_log_end(struct mt_log *log, struct mt_error *err) MT_NODISCARD;

/* ---- inside the reader ---- */

/* log_phase.c: phase, step, place and cause from the raw lines in front of a message. */
void mt_log_context(struct mt_log *log, struct mt_str before, struct mt_log_message *m);

/* Words that mark a line for another reader. */
enum mt_log_mark { MT_MARK_SUMMARY, MT_MARK_CONF, MT_MARK_COUNT };

/* log_message.c: collects messages and step prints of log->now; `before`: the raw text in front of
 * it and its own beginning. Returns bits 1 << enum mt_log_mark. */
unsigned mt_log_message_line(struct mt_log *log, struct mt_str before);
void mt_log_message_flush(struct mt_log *log); /* closes all */
/* Whether the squeezed line says that the program goes on. */
bool mt_log_says_recovered(struct mt_str line);

/* log_conf.c: settings in force. */
void mt_log_conf_take(struct mt_log *log, struct mt_str clean);

#endif
