/* SPDX-License-Identifier: MIT */
/* conf as text and JSON. */
#ifndef MEMTOOL_VERBS_CONF_PRINT_H
#define MEMTOOL_VERBS_CONF_PRINT_H

#include "print/report.h"
#include "verbs/conf/conf_explain.h"

struct mt_conf_result {
    struct mt_str text;
    const char *source;   /* "argument", "environment", "snapshot", "log" */
    const char *variable; /* that held it, or NULL */
    bool memtools;        /* memtool's allocator reads them, as that release would */
    bool recorded;        /* a program ran with them */
    mt_torch_release release;
    const struct mt_conf *conf;
    const struct mt_conf_warnings *warnings;
};

/* conf/1. Errors: MT_NOMEM. */
enum mt_status mt_report_conf_json(const struct mt_report *r, const struct mt_conf_result *c,
                                   struct mt_error *err) MT_NODISCARD;
enum mt_status mt_report_conf_text(const struct mt_report *r, const struct mt_conf_result *c,
                                   struct mt_error *err) MT_NODISCARD;

#endif
