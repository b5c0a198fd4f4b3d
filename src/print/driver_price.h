/* SPDX-License-Identifier: MIT */
/* What calls of the driver cost, in words and as JSON. */
#ifndef MEMTOOL_PRINT_DRIVER_PRICE_H
#define MEMTOOL_PRINT_DRIVER_PRICE_H

#include "heap/findings/driver_price.h"
#include "print/json_put.h"

/* Who calls it how often, what that costs, of `span_us` (-1: not known), whether the cache is
 * emptied in the loop, and retries; nothing where it was not called. `calls_of`: of what, as "after
 * warm-up". Errors: MT_NOMEM. */
enum mt_status mt_report_driver_price(const struct mt_report *r, const struct mt_snapshot *s,
                                      const struct mt_driver_price *x, const char *calls_of,
                                      int64_t span_us, struct mt_error *err) MT_NODISCARD;

/* The key `driver`. */
void mt_put_driver_price(struct mt_put *p, cJSON *o, const struct mt_report *r,
                         const struct mt_snapshot *s, const struct mt_driver_price *x);

#endif
