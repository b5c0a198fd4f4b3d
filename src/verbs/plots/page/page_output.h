/* SPDX-License-Identifier: MIT */
/* The interactive page as the output of a verb that draws. */
#ifndef MEMTOOL_VERBS_PLOTS_PAGE_PAGE_OUTPUT_H
#define MEMTOOL_VERBS_PLOTS_PAGE_PAGE_OUTPUT_H

#include "cli/output/picture.h"
#include "verbs/plots/page/page.h"

/* Whether -o or --format asks for the interactive page. */
/* An option that a page cannot obey. */
struct mt_page_refusal {
    const char *option;
    bool given;
};

/* 0, or 2 after saying which of the options given does not apply to a page: those of `list`, and
 * those of pictures and reports. */
int mt_page_check_options(struct mt_cli *cli, const struct mt_common *common,
                          const struct mt_picture *p, const struct mt_page_refusal *list, size_t n);

bool mt_picture_is_page(const struct mt_common *common, const struct mt_picture *p);

/* Writes the page of the files; view, device and capacity of *o are the caller's. `confs`: settings
 * under which they are replayed; NULL: none. Returns the exit code. */
int mt_page_output(struct mt_cli *cli, const struct mt_common *common, char **files, size_t n_files,
                   struct mt_page_options *o, const struct mt_texts *confs);

#endif
