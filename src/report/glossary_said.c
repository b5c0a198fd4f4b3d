/* SPDX-License-Identifier: MIT */
/* What is often said and wrong. */
#include "glossary.h"

static const char *const myths_text[] = {
    "\"The allocator rounds to powers of two.\"",
    "    It rounds to 512 bytes; to steps between powers of two only with",
    "    roundup_power2_divisions.",
    "\"garbage_collection_threshold is 1.0 by default.\"",
    "    It is off by default, and does nothing without a memory fraction.",
    "\"expandable_segments:true\"",
    "    is an error: booleans are True and False, with a capital.",
    "\"empty_cache does not return memory to the driver.\"",
    "    It does, for segments that are wholly free.",
    "\"empty_cache cures out-of-memory.\"",
    "    Not when live memory is too much: the allocator had already released its",
    "    cache before it gave up.",
    "\"nvidia-smi shows what tensors use.\"",
    "    It shows reserved memory plus the context, of all processes.",
    "\"Low reserved memory is good.\"",
    "    Reserved memory is a cache: look at the hit rate and the device calls",
    "    beside it.",
    "\"The line in the error message is the culprit.\"",
    "    It is the one that came last.",
    NULL};

static const char *const myths_see[] = {"rounding",   "garbage_collection_threshold",
                                        "conf",       "empty_cache",
                                        "nvidia-smi", "reserved",
                                        "oom",        NULL};

const struct mt_topic mt_glossary_said[] = {
    {"myths",
     {"wrong", "often said", "traps", NULL},
     "what is often said about CUDA memory, and what is true",
     myths_text,
     myths_see},
};
_Static_assert(MT_COUNT(mt_glossary_said) == GLOSSARY_SAID_N, "glossary.h states how many");
