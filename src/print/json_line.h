/* SPDX-License-Identifier: MIT */
/* One flat object as a line of text, for a verb that writes millions of them: through cJSON's trees
 * a line of `trace --json` took 2.3 us, of which 0.3 are the rest of memtool. The bytes are those
 * that the setters and mt_json_end of report.h give. Keys are plain literals. Failure is remembered
 * by the buffer. */
#ifndef MEMTOOL_PRINT_JSON_LINE_H
#define MEMTOOL_PRINT_JSON_LINE_H

#include <stdint.h>

#include "support/str.h"

/* Opens an object, and ends one: b is reset before the outermost by the caller. */
void mt_line_open(struct mt_buf *b, char bracket);
void mt_line_close(struct mt_buf *b, char bracket);

void mt_line_key(struct mt_buf *b, const char *key); /* for mt_line_open */
void mt_line_u64(struct mt_buf *b, const char *key, uint64_t n);
void mt_line_i64(struct mt_buf *b, const char *key, int64_t n);
void mt_line_addr(struct mt_buf *b, const char *key, uint64_t addr); /* "0x7f.." */
void mt_line_str(struct mt_buf *b, const char *key, struct mt_str s);
void mt_line_null(struct mt_buf *b, const char *key);

#endif
