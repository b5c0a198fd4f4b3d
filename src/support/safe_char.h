/* SPDX-License-Identifier: MIT */
/* Which characters of the input may reach a terminal as they are. */
#ifndef MEMTOOL_SUPPORT_SAFE_CHAR_H
#define MEMTOOL_SUPPORT_SAFE_CHAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/str.h"

/* False for control characters (C1 ones too: U+009B begins an escape sequence as ESC [ does), for
 * characters that show nothing or turn the direction of reading, and for those without a meaning of
 * their own (private use, no character). */
bool mt_char_is_safe(uint32_t code);

/* How many bytes at the start of `s` are printable ASCII, which is nearly all text there is and
 * safe without decoding. */
size_t mt_str_ascii(struct mt_str s);

#endif
