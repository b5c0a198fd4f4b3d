/* SPDX-License-Identifier: MIT */
/* What calls of the driver cost, in words and as JSON. */
#ifndef MEMTOOL_PRINT_DRIVER_REPORT_H
#define MEMTOOL_PRINT_DRIVER_REPORT_H

#include "heap/findings/driver_price.h"
#include "print/report_json.h"

/* Who calls it how often and what that costs, of `span_us` (-1: not known), with retries; nothing
 * where it was not called. `when`: "after warm-up". Errors: MT_NOMEM. */
enum mt_status mt_report_driver_price(const struct mt_report *r, const struct mt_snapshot *s,
                                      const struct mt_driver_price *x, const char *when,
                                      int64_t span_us, struct mt_error *err) MT_NODISCARD;

/* What emptying the cache in the loop costs, and the line that does; nothing where that is not
 * done. Errors: MT_NOMEM. */
enum mt_status mt_report_emptied(const struct mt_report *r, const struct mt_snapshot *s,
                                 const struct mt_driver_price *x, int64_t span_us,
                                 struct mt_error *err) MT_NODISCARD;

/* The key `driver`. */
void mt_out_driver_price(struct mt_out o, const struct mt_report *r, const struct mt_snapshot *s,
                         const struct mt_driver_price *x);

#endif
