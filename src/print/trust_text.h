/* SPDX-License-Identifier: MIT */
/* What limits what can be said of a file, in words. Errors: MT_NOMEM. */
#ifndef MEMTOOL_PRINT_TRUST_TEXT_H
#define MEMTOOL_PRINT_TRUST_TEXT_H

#include "heap/sums/trust.h"
#include "print/report.h"

/* One fact for people, without the "note:". */
void mt_trust_text(struct mt_buf *b, const struct mt_report *r, const struct mt_snapshot *s,
                   const struct mt_trust_fact *fact);

/* The trust banner: a "note:" line for each fact that limits what can be said, and with -v for the
 * others; nothing when there is none. */
enum mt_status mt_report_trust(const struct mt_report *r, const struct mt_snapshot *s,
                               const struct mt_trust *trust, struct mt_error *err) MT_NODISCARD;

#endif
