/* SPDX-License-Identifier: MIT */
/* Private to estimate/: how quantization stores matrices. */
#ifndef MEMTOOL_VERBS_ESTIMATE_MODEL_QUANT_H
#define MEMTOOL_VERBS_ESTIMATE_MODEL_QUANT_H

#include <cjson/cJSON.h>

#include "verbs/estimate/model/parts.h"

/* Reads quantization_config into m->quant; NULL: none. Errors: MT_UNSUPPORTED (a method that is not
 * known), MT_FORMAT, MT_NOMEM. */
enum mt_status mt_quant_read(struct mt_model *m, const cJSON *config, struct mt_error *err)
    MT_NODISCARD;

/* Stores all linear layers in `dtype` of less than 16 bits, as if the config said so; NF4 with one
 * fp32 scale for 64 elements, with `twice` the scales quantized again (Dettmers 2023, arXiv
 * 2305.14314, section 3); others with one fp32 scale a row. */
void mt_quant_force(struct mt_model *m, enum mt_dtype dtype, bool twice);

#endif
