/* SPDX-License-Identifier: MIT */
/* Private to estimate/: runs architectures/ over a config; the language stands at the head of
 * blocks.txt. */
#ifndef MEMTOOL_VERBS_ESTIMATE_MODEL_ARCH_RUN_H
#define MEMTOOL_VERBS_ESTIMATE_MODEL_ARCH_RUN_H

#include <cjson/cJSON.h>

#include "verbs/estimate/model/parts.h"

/* architectures/, embedded at build time. */
extern const unsigned char mt_embedded_architectures[];
extern const size_t mt_embedded_architectures_n;

/* Fills the lists of m from `config`, a model of the given type. Errors: as mt_model_read. */
enum mt_status mt_arch_run(struct mt_model *m, const cJSON *config, struct mt_str type,
                           struct mt_error *err) MT_NODISCARD;

#endif
