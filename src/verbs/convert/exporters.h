/* SPDX-License-Identifier: MIT */
/* What the exports to other tools share. */
#ifndef MEMTOOL_VERBS_CONVERT_EXPORTERS_H
#define MEMTOOL_VERBS_CONVERT_EXPORTERS_H

#include "heap/stacks/profile.h"
#include "heap/walk/query.h"
#include "snapshot/write/sink.h"
#include "verbs/convert/export.h"

struct mt_exporter {
    const struct mt_snapshot *s;
    const struct mt_export_options *o;
    struct mt_sink *sink;
    struct mt_devices devices; /* that pass the filter */
    struct mt_export_result *result;
    struct mt_buf text; /* scratch */
};

/* The profile of devices.v[i]; MT_NOT_FOUND is no failure but an empty profile where other devices
 * have the moment. The caller releases it. */
enum mt_status mt_exporter_profile(struct mt_exporter *x, size_t device, struct mt_profile *p,
                                   struct mt_error *err) MT_NODISCARD;

/* "basename:line:function" as PyTorch's viewer folds it, without ';' and control characters,
 * appended to b. */
void mt_exporter_frame(const struct mt_exporter *x, const struct mt_frame *f, struct mt_buf *b);

enum mt_status mt_export_folded(struct mt_exporter *x, struct mt_error *err) MT_NODISCARD;
enum mt_status mt_export_speedscope(struct mt_exporter *x, struct mt_error *err) MT_NODISCARD;
enum mt_status mt_export_pprof(struct mt_exporter *x, struct mt_error *err) MT_NODISCARD;
enum mt_status mt_export_perfetto(struct mt_exporter *x, struct mt_error *err) MT_NODISCARD;
enum mt_status mt_export_csv(struct mt_exporter *x, struct mt_error *err) MT_NODISCARD;

#endif
