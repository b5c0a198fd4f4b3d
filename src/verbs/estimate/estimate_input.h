/* SPDX-License-Identifier: MIT */
/* The model that estimate was asked about, from its files and options. */
#ifndef MEMTOOL_VERBS_ESTIMATE_INPUT_H
#define MEMTOOL_VERBS_ESTIMATE_INPUT_H

#include "verbs/estimate/model/parts.h"

/* Reads config.json, and the index or the one safetensors file beside it for its size; `config`
 * NULL: of the figures given alone. Errors: MT_USAGE (no model), and those of mt_model_read and
 * mt_cli_slurp. */
enum mt_status mt_estimate_input(const char *config, const struct mt_model_given *given,
                                 struct mt_model *m, struct mt_error *err) MT_NODISCARD;

#endif
