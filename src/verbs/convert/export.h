/* SPDX-License-Identifier: MIT */
/*
 * Files for other tools. Those by call stack (folded, speedscope, pprof) show memory that is alive
 * at a moment, and where the tool can hold more than one figure also what the trace handed out;
 * those by time (perfetto, csv) show the trace.
 */
#ifndef MEMTOOL_VERBS_CONVERT_EXPORT_H
#define MEMTOOL_VERBS_CONVERT_EXPORT_H

#include <stdio.h>

#include "heap/stacks/filter.h"
#include "heap/walk/moment.h"
#include "support/error.h"

enum mt_export_format {
    MT_EXPORT_FOLDED,     /* "outer;inner bytes" lines: flamegraph.pl, inferno, speedscope */
    MT_EXPORT_SPEEDSCOPE, /* JSON, https://www.speedscope.app/file-format-schema.json */
    MT_EXPORT_PPROF,      /* profile.proto of github.com/google/pprof, always in gzip */
    MT_EXPORT_PERFETTO,   /* Chrome's trace event format: ui.perfetto.dev, chrome://tracing */
    MT_EXPORT_CSV         /* one row an event */
};

struct mt_export_options {
    struct mt_filtered *filtered; /* never NULL; made for the snapshot that is written */
    struct mt_moment at;          /* of the formats by call stack */
    bool gzip;
    /* PERFETTO: points of each counter and allocations as slices, at most; 0 = all. Points keep
     * every interval's highest; of the allocations the largest stay. */
    uint64_t max_samples;
    uint64_t max_bytes; /* before gzip, 0 = no limit */
};

/* What an export had to leave out, for a note to the user. */
struct mt_export_result {
    uint64_t points_left_out;
    uint64_t slices_left_out;
    bool no_times; /* PERFETTO: the file gives no times, so events stand 1 us apart */
};

/* Streams to `stream`. Errors: MT_OUTPUT, MT_NOMEM, MT_LIMIT, MT_NOT_FOUND (no such moment). */
enum mt_status mt_export_write(const struct mt_snapshot *s, enum mt_export_format format,
                               const struct mt_export_options *o, FILE *stream,
                               struct mt_export_result *result, struct mt_error *err) MT_NODISCARD;

#endif
