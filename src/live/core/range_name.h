/* SPDX-License-Identifier: MIT */
/* The name of a range of the program, as an annotation holds it. */
#ifndef MEMTOOL_LIVE_CORE_RANGE_NAME_H
#define MEMTOOL_LIVE_CORE_RANGE_NAME_H

#include <wchar.h>

enum { MT_RANGE_NAME_MAX = 50 }; /* bytes; longer names are cut before a character */

/* UTF-8, never empty: "?" stands for no name. */
struct mt_range_name {
    char text[MT_RANGE_NAME_MAX + 1];
};

/* From bytes that should be UTF-8, and from wide characters that should be Unicode: U+FFFD stands
 * for each that is not. NULL is no name. */
struct mt_range_name mt_range_name_bytes(const char *p);
struct mt_range_name mt_range_name_wide(const wchar_t *p);

#endif
