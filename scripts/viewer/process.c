/* SPDX-License-Identifier: MIT */
/*
 * The process around a verb in a browser: instead of src/cli/process.c, output/interrupt.c,
 * output/unfinished.c, what draws with cairo and what starts programs. No terminal, no files but
 * the one that was dropped, no signals.
 */
#include <errno.h>
#include <stdlib.h>

#include "cli/frame.h"
#include "cli/output/unfinished.h"
#include "draw/paint/painters.h"
#include "support/mem.h"

void mt_cli_die_nomem(void)
{
    fputs("memtool: out of memory\n", stderr);
    exit(mt_status_exit_code(MT_NOMEM));
}

void *mt_cli_realloc(void *p, size_t count, size_t size)
{
    p = mt_mem_realloc(p, count, size);
    if (!p) {
        mt_cli_die_nomem();
    }
    return p;
}

void mt_cli_limit_memory(void)
{
}

void mt_cli_set_color(struct mt_cli *cli, int when)
{
    (void)cli;
    (void)when;
}

const char *mt_cli_environment(const char *name)
{
    (void)name;
    return NULL;
}

void mt_cli_init(struct mt_cli *cli)
{
    *cli = (struct mt_cli){.out = stdout, .err = stderr, .hash_seed = 1};
}

int mt_cli_close(struct mt_cli *cli, int exit_code)
{
    (void)cli;
    return fflush(stdout) == 0 ? exit_code : mt_status_exit_code(MT_OUTPUT);
}

int mt_unfinished_open(struct mt_cli_output *o)
{
    (void)o;
    errno = ENOTSUP;
    return -1;
}

bool mt_unfinished_name(struct mt_cli_output *o)
{
    (void)o;
    errno = ENOTSUP;
    return false;
}

void mt_unfinished_drop(struct mt_cli_output *o)
{
    (void)o;
}

static enum mt_status no_cairo(struct mt_error *err)
{
    return mt_fail(err, MT_UNSUPPORTED, MT_NO_OFFSET, "in a browser pictures are drawn as SVG");
}

enum mt_status mt_paint_png(const struct mt_scene *s, double scale, FILE *out, struct mt_error *err)
{
    (void)s;
    (void)scale;
    (void)out;
    return no_cairo(err);
}

enum mt_status mt_paint_pdf(const struct mt_scene *s, double scale, FILE *out, struct mt_error *err)
{
    (void)s;
    (void)scale;
    (void)out;
    return no_cairo(err);
}

static int no_programs(struct mt_cli *cli, void *settings, char **files, size_t n_files)
{
    (void)settings;
    (void)files;
    (void)n_files;
    return mt_cli_usage(cli, "a browser starts no programs, and sees none");
}

#define NOT_IN_A_BROWSER(verb)                                                                     \
    {                                                                                              \
        .name = verb, .summary = "not in a browser", .usage = "", .description = "",               \
        .examples = "", .settings_size = sizeof(struct mt_common), .max_files = -1,                \
        .run = no_programs,                                                                        \
    }

const struct mt_command mt_cmd_capture = NOT_IN_A_BROWSER("capture");
const struct mt_command mt_cmd_top = NOT_IN_A_BROWSER("top");
