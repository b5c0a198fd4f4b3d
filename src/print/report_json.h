/* SPDX-License-Identifier: MIT */
/* Reports as JSON: the head that all of them share, and values that need a snapshot. The rest is
 * support/json_out.h. */
#ifndef MEMTOOL_PRINT_REPORT_JSON_H
#define MEMTOOL_PRINT_REPORT_JSON_H

#include "print/report.h"
#include "support/json_out.h"

/* {"memtool": version, "schema": schema, "file": r->file, ...}, to be ended with
 * mt_report_json_end. `one_line`: without blanks, as one of several reports. */
struct mt_out mt_report_json(struct mt_json_out *json, const struct mt_report *r,
                             const char *schema, bool one_line);

/* Ends the report, prints it with a newline behind it, and releases the text. Nothing is printed
 * when memory ran out. Errors: MT_NOMEM. */
enum mt_status mt_report_json_end(struct mt_out root, struct mt_error *err) MT_NODISCARD;

/* A time, or null for MT_NO_TIME. */
void mt_out_time(struct mt_out o, const char *key, int64_t time_us);

/* "pool_id": [a, b]. */
void mt_out_pool_id(struct mt_out o, struct mt_pool_id id);

/* "frames": [{name, filename, line}] of a stack, innermost first, all frames. */
void mt_out_frames(struct mt_out o, const struct mt_snapshot *s, uint32_t stack);

/* "forward_frames": the lines of the forward pass that a stack of the backward pass belongs to,
 * where the file has them; else nothing. */
void mt_out_forward(struct mt_out o, const struct mt_snapshot *s, uint32_t stack);

#endif
