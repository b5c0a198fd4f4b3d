/* SPDX-License-Identifier: MIT */
/* The parts of the page: what page.c puts together. */
#ifndef MEMTOOL_VERBS_PLOTS_PAGE_PAGE_PARTS_H
#define MEMTOOL_VERBS_PLOTS_PAGE_PAGE_PARTS_H

#include <stddef.h>
#include <stdio.h>

#include "heap/walk/query.h"
#include "verbs/plots/page/page.h"

/* The viewer's files, embedded at build time (scripts/embed.c), and their hashes for the page's
 * Content-Security-Policy. */
extern const unsigned char mt_embedded_markup[], mt_embedded_style[], mt_embedded_script[];
extern const size_t mt_embedded_markup_n, mt_embedded_style_n, mt_embedded_script_n;
extern const char mt_embedded_style_sha256[], mt_embedded_script_sha256[];

/* Writes the blob "meta" ("meta1" of the second file, and so are others called): JSON with names,
 * figures as text, settings, and what there is of each device. The columns are described in
 * src/verbs/plots/page/viewer/README.md. */
enum mt_status mt_page_meta(FILE *out, const struct mt_page_place *place,
                            const struct mt_snapshot *s, const struct mt_page_options *o,
                            const struct mt_devices *devices, struct mt_error *err) MT_NODISCARD;

/* Writes the blobs of stacks and frames. */
enum mt_status mt_page_stacks(FILE *out, const struct mt_page_place *place,
                              const struct mt_snapshot *s, const struct mt_page_options *o,
                              struct mt_error *err) MT_NODISCARD;

/* Writes the blobs of what the program said of each allocation of a device, and of categories. */
enum mt_status mt_page_told(FILE *out, const struct mt_replay *r, size_t index,
                            struct mt_error *err) MT_NODISCARD;

/* Writes the blobs of one device; their ids begin with "d<index>-". */
enum mt_status mt_page_device(FILE *out, const struct mt_snapshot *s,
                              const struct mt_page_options *o, int32_t device, size_t index,
                              struct mt_error *err) MT_NODISCARD;

/* Writes the blob of what would be reserved under other settings; empty without any. */
enum mt_status mt_page_whatifs(FILE *out, const struct mt_replay *r,
                               const struct mt_page_options *o, size_t index, struct mt_error *err)
    MT_NODISCARD;

#endif
