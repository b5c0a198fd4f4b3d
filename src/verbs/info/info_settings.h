/* SPDX-License-Identifier: MIT */
/* The allocator's settings as a file has them. */
#ifndef MEMTOOL_VERBS_INFO_INFO_SETTINGS_H
#define MEMTOOL_VERBS_INFO_INFO_SETTINGS_H

#include "print/report_json.h"
#include "print/report.h"

/* A line for the settings string; with -v every setting. Errors: MT_NOMEM. */
enum mt_status mt_info_settings_text(const struct mt_report *r, const struct mt_snapshot *s,
                                     struct mt_error *err) MT_NODISCARD;

/* "settings": the values of the file, or null. */
void mt_info_settings_json(struct mt_out root, const struct mt_snapshot *s);

#endif
