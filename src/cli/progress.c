/* SPDX-License-Identifier: MIT */
/*
 * "reading snap.pickle  412/980 MiB  42%  eta 1s", on a terminal only, from half a second on, at
 * most ten times a second, gone when reading ends.
 */
#include "cli/progress.h"

#include <inttypes.h>
#include <time.h>

enum { FIRST_US = 500000, NEXT_US = 100000 };

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

void mt_progress_begin(struct mt_progress *p, struct mt_cli *cli, const struct mt_common *common,
                       const char *file)
{
    *p = (struct mt_progress){.cli = cli, .file = file};
    p->shows = cli->err_is_terminal && !common->quiet;
    p->tells = common->verbose > 0 && !common->quiet;
    p->begin_us = now_us();
}

static void draw(struct mt_progress *p, uint64_t at, uint64_t size, int64_t now)
{
    struct mt_buf name = {0};
    mt_text_safe(&name, mt_str_basename(mt_str_from(p->file)));
    fprintf(p->cli->err, "\r\033[Kreading %.40s  ", name.failed ? "" : name.p);
    mt_buf_release(&name);
    if (size && at <= size) {
        int64_t eta_s =
            at ? (int64_t)((double)(now - p->begin_us) * (double)(size - at) / (double)at / 1e6)
               : 0;
        fprintf(p->cli->err, "%" PRIu64 "/%" PRIu64 " MiB  %.0f%%  eta %" PRId64 "s", at >> 20,
                size >> 20, 100.0 * (double)at / (double)size, eta_s);
    } else {
        fprintf(p->cli->err, "%" PRIu64 " MiB", p->unpacked >> 20);
    }
    fflush(p->cli->err);
}

void mt_progress_step(void *ctx, uint64_t unpacked, uint64_t at, uint64_t file_size)
{
    struct mt_progress *p = ctx;
    p->unpacked = unpacked;
    if (!p->shows) {
        return;
    }
    int64_t now = now_us();
    if (now - p->begin_us >= FIRST_US && now - p->drawn_us >= NEXT_US) {
        draw(p, at, file_size, now);
        p->drawn = true;
        p->drawn_us = now;
    }
}

void mt_progress_end(struct mt_progress *p)
{
    if (p->drawn) {
        fputs("\r\033[K", p->cli->err);
        fflush(p->cli->err);
    }
    if (p->tells) {
        fputs("memtool: read ", p->cli->err);
        mt_text_put(&(struct mt_report){.out = p->cli->err}, p->file);
        fprintf(p->cli->err, " in %s\n", mt_duration_text(now_us() - p->begin_us).s);
    }
}
