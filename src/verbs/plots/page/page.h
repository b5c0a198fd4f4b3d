/* SPDX-License-Identifier: MIT */
/*
 * The interactive page: one HTML file that holds the viewer and the data, and needs no network.
 *
 * The data are columns, one typed array a fact, deflated and in base64; the browser inflates them
 * itself. Everything that is text in the file travels inside such a blob as well, so nothing of a
 * snapshot is ever part of the page's markup.
 */
#ifndef MEMTOOL_VERBS_PLOTS_PAGE_PAGE_H
#define MEMTOOL_VERBS_PLOTS_PAGE_PAGE_H

#include <stdio.h>

#include "heap/stacks/filter.h"
#include "heap/walk/moment.h"
#include "snapshot/model/model.h"
#include "support/error.h"
#include "support/units.h"
#include "torch/alloc_conf.h"
#include "torch/torch_rules.h"

enum mt_page_view { MT_PAGE_TIMELINE, MT_PAGE_STATE };

/* Settings under which the recording is replayed, to draw what would be reserved. */
struct mt_page_whatif {
    const char *conf; /* as the user wrote them */
    struct mt_alloc_settings settings;
};

struct mt_page_options {
    const char *file;       /* name for the title */
    enum mt_page_view view; /* what is open first */
    uint64_t capacity;      /* bytes of the device; 0: not known */
    int32_t device;         /* only this one; -1: all */
    bool opens_at;          /* at the moment `at`; else at the last OOM, or at the peak */
    struct mt_moment at;
    const struct mt_filter *window; /* its events and times are what is shown first; NULL: all */
    bool dark;                      /* whatever the browser prefers */
    struct mt_size_format size;
    bool all_frames; /* stacks are named by their innermost frame, not by the one that tells most */
    const struct mt_page_whatif *whatifs; /* n of them */
    size_t n_whatifs;
    mt_torch_release whatif_release;
};

/* A page of several files: begin, then add each, then end. `place` is zero at first. */
struct mt_page_place {
    size_t files, devices; /* that stand in the page */
};
enum mt_status mt_page_begin(FILE *out, const char *title, struct mt_error *err) MT_NODISCARD;
enum mt_status mt_page_add(FILE *out, struct mt_page_place *place, const struct mt_snapshot *s,
                           const struct mt_page_options *o, struct mt_error *err) MT_NODISCARD;
enum mt_status mt_page_end(FILE *out, struct mt_error *err) MT_NODISCARD;

/* Writes the page of one file. Errors: MT_NOMEM, MT_OUTPUT. */
enum mt_status mt_page_write(const struct mt_snapshot *s, const struct mt_page_options *o,
                             FILE *out, struct mt_error *err) MT_NODISCARD;

#endif
