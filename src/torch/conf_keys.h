/* SPDX-License-Identifier: MIT */
/* The keys of the settings, for the parser. */
#ifndef MEMTOOL_TORCH_CONF_KEYS_H
#define MEMTOOL_TORCH_CONF_KEYS_H

#include "torch/alloc_conf.h"

struct mt_conf_key_row {
    const char *name;
    mt_torch_release since, until;
};
extern const struct mt_conf_key_row MT_CONF_KEYS[MT_CONF_KEY_COUNT];

#endif
