/* SPDX-License-Identifier: MIT */
/*
 * The text of the settings, token by token, in the words and with the limits of a given release.
 * Functions that return bool return false once the text is wrong; out->error says how.
 */
#ifndef MEMTOOL_TORCH_CONF_TOKENS_H
#define MEMTOOL_TORCH_CONF_TOKENS_H

#include "support/compiler.h"
#include "torch/alloc_conf.h"

/* Longer words are cut: no key and no number that fits is as long. */
enum { MT_CONF_WORD_MAX = 96 };

struct mt_conf_parser {
    struct mt_str text;
    size_t at;    /* byte behind the current token */
    size_t index; /* of the current token */
    mt_torch_release release;
    struct mt_conf *out;
    bool shared_pass;            /* 2.9 on: the first reading */
    bool lenient;                /* keys that are not known are passed over */
    char word[MT_CONF_WORD_MAX]; /* the current token; empty at the end */
};

/* Notes what PyTorch would say; returns false. */
bool mt_conf_complain(struct mt_conf_parser *p, const char *format, ...) MT_PRINTF(2, 3);

/* The same for a token that is not there: from 2.9 on the process dies of it, earlier releases
 * raise. */
bool mt_conf_expected(struct mt_conf_parser *p, const char *token);

/* Makes the next token the current one. */
void mt_conf_advance(struct mt_conf_parser *p);

/* Whether the current token, or the one behind it, is `word`; "" is the end. */
bool mt_conf_is(const struct mt_conf_parser *p, const char *word);
bool mt_conf_next_is(const struct mt_conf_parser *p, const char *word);

/* Advances to a token that must be `token`. */
bool mt_conf_take(struct mt_conf_parser *p, const char *token);

/* Advances to a value behind a colon. */
bool mt_conf_take_value(struct mt_conf_parser *p);

/* The current token as std::stoi (up to 2.8) or std::stoull (since) reads it: leading digits count,
 * a sign is taken, wrapping as C does. */
bool mt_conf_number(struct mt_conf_parser *p, uint64_t *out);

/* The same as std::stod. */
bool mt_conf_fraction(struct mt_conf_parser *p, double *out);

/* True or False; `key` is named in the error. */
bool mt_conf_boolean(struct mt_conf_parser *p, enum mt_conf_key key, bool *out);

/* ---- conf_values.c ---- */

/* Puts the current token, and those of a list behind it, into the setting of `key`. */
bool mt_conf_set(struct mt_conf_parser *p, enum mt_conf_key key);

/* Whether 2.9 and later take the key in their first reading, that of all accelerators. */
bool mt_conf_is_shared(enum mt_conf_key key);

#endif
