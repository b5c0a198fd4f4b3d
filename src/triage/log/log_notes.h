/* SPDX-License-Identifier: MIT */
/* What a log tells of its program: which it is, and the settings and figures that it prints. */
#ifndef MEMTOOL_TRIAGE_LOG_LOG_NOTES_H
#define MEMTOOL_TRIAGE_LOG_LOG_NOTES_H

#include "support/str.h"
#include "triage/log/multi_match.h"

/* What the advice of programs has in common. */
enum mt_program_kind {
    MT_PROGRAM_KIND_UNKNOWN,
    MT_PROGRAM_KIND_TRAINING,
    MT_PROGRAM_KIND_INFERENCE,
    MT_PROGRAM_KIND_SERVER,
    MT_PROGRAM_KIND_IMAGES,
    MT_PROGRAM_KIND_RUNNER, /* of a language model in one process: llama.cpp and its kin */
    MT_PROGRAM_KIND_LIBRARY /* a framework with advice of its own */
};

enum mt_program {
#define PROGRAM(name, id, words, kind) MT_PROGRAM_##name,
#define CLUE(name, weight, words)
#include "triage/log/programs.def"
#undef PROGRAM
#undef CLUE
    MT_PROGRAM_COUNT
};

enum mt_said {
#define SAID(name, kind) MT_SAID_##name,
#define WORDS(name, words)
#include "triage/log/said.def"
#undef SAID
#undef WORDS
    MT_SAID_COUNT
};

/* What was printed of one setting or figure. */
struct mt_said_value {
    bool known;
    double first, last; /* a number, or bytes; 1 of a flag */
    char text[80];      /* the first, of a TEXT; raw bytes of the log */
};

struct mt_notes {
    const char *file; /* of the log, as given */
    unsigned weight[MT_PROGRAM_COUNT];
    unsigned char seen[256]; /* how often each clue was counted */
    struct mt_said_value said[MT_SAID_COUNT];
};

/* The words of both tables, for mt_multi_init. */
extern const struct mt_str MT_NOTE_WORDS[];
extern const size_t MT_NOTE_WORDS_N;

/* Takes what a piece of raw text tells; `words` was made of MT_NOTE_WORDS. */
void mt_notes_take(struct mt_notes *n, const struct mt_multi *words, struct mt_str text);

/* The program; `framework` is that of the message, or "", and weighs as a clue does. */
enum mt_program mt_notes_program(const struct mt_notes *n, const char *framework);

const char *mt_program_id(enum mt_program p);
const char *mt_program_words(enum mt_program p);
enum mt_program_kind mt_program_kind(enum mt_program p);

#endif
