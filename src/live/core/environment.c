/* SPDX-License-Identifier: MIT */
/*
 * Settings are wanted at the first request. Until then a program may have cleared its environment,
 * or written its title over it.
 */
#include "live/core/environment.h"

#include <stdlib.h>
#include <string.h>

#include "support/compiler.h"
#include "support/mem.h"

static struct {
    const char *name;
    char *value;
} kept[] = {
    {"MEMTOOL_PRELOAD", NULL},
    {"MEMTOOL_RECORD", NULL},
    {"MEMTOOL_ALLOC_CONF", NULL},
    {"MEMTOOL_CUDA_LIBRARY", NULL},
    {"MEMTOOL_CAPTURE_LIST", NULL},
    {"MEMTOOL_CAPTURE_SINCE", NULL},
    {"RANK", NULL},
};

/* What cannot be kept is read when it is wanted. */
__attribute__((constructor)) static void keep(void)
{
    for (size_t i = 0; i < MT_COUNT(kept); i++) {
        const char *value = getenv(kept[i].name);
        size_t size = value ? strlen(value) + 1 : 0;
        kept[i].value = value ? mt_mem_alloc(1, size) : NULL;
        if (kept[i].value) {
            memcpy(kept[i].value, value, size);
        }
    }
}

const char *mt_live_env(const char *name)
{
    const char *value = getenv(name);
    for (size_t i = 0; !value && i < MT_COUNT(kept); i++) {
        value = strcmp(kept[i].name, name) == 0 ? kept[i].value : NULL;
    }
    return value;
}
