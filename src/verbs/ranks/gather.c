/* SPDX-License-Identifier: MIT */
/*
 * Large files are read by several threads, each one file at a time into ranks of its own; what
 * comes of it is taken over in the order of the files, so that the report is the same whoever was
 * first.
 */
#include "verbs/ranks/gather.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/frame.h"
#include "cli/logged_input.h"
#include "cli/slurp.h"
#include "heap/walk/cut_trace.h"
#include "heap/walk/query.h"
#include "snapshot/read/read.h"
#include "support/units.h"
#include "verbs/ranks/print.h"

/* More threads would need more memory; below so many bytes in all one is enough. */
enum { MOST_THREADS = 4 };
#define WORTH_THREADS (32 * MT_MIB)

/* A file as a thread has read it. */
struct part {
    const struct mt_rank_file *file;
    struct mt_ranks ranks;
    struct mt_snapshot s;
    bool has_snapshot;
    bool is_text; /* no snapshot, or a pipe: read when its turn comes */
    enum mt_status status;
    struct mt_error err;
};

/* ---- what cannot be read ---- */

/* Of a folder: a pickle is a dump that was cut off or never written, and so is what has a rank in
 * its name; other JSON may be anything. */
static bool may_be_other(const struct mt_rank_file *f)
{
    bool weak;
    struct mt_str name = mt_str_basename(mt_str_from(f->path));
    (void)mt_rank_number(name, &weak);
    return f->found && weak && mt_str_find(name, MT_STR(".p")) == SIZE_MAX;
}

static void fail(struct mt_gathering *g, const struct mt_rank_file *f, struct mt_error *err)
{
    if (err->code == MT_FORMAT && mt_cli_is_logged(f->path)) {
        mt_cli_logged_error(g->cli, err);
    }
    if (may_be_other(f) && (err->code == MT_FORMAT || err->code == MT_UNSUPPORTED)) {
        mt_cli_note(g->cli, g->common, "%s: passed over, it has no snapshot", f->path);
        return;
    }
    bool standard = strcmp(f->path, "-") == 0;
    g->no_memory |= !standard && !mt_ranks_lose(&g->ranks, mt_str_from(f->path));
    int code = mt_cli_fail(g->cli, f->path, err);
    g->code = g->failed++ ? g->code : code;
    g->no_memory |= err->code == MT_NOMEM;
}

/* ---- a snapshot ---- */

static enum mt_status add_device(const struct mt_gathering *g, struct mt_ranks *to,
                                 const struct mt_snapshot *s, struct mt_filtered *filtered,
                                 const char *path, int32_t device, struct mt_error *err)
{
    struct mt_rank_read_options o = g->options;
    o.filtered = filtered;
    o.device = device;
    struct mt_buf name = {0};
    mt_buf_text(&name, path);
    if (device >= 0) {
        mt_buf_printf(&name, " device%d", (int)device);
    }
    size_t index = name.failed ? SIZE_MAX : mt_ranks_of_file(to, mt_buf_view(&name));
    mt_buf_release(&name);
    return index == SIZE_MAX ? mt_fail_nomem(err) : mt_rank_read_snapshot(to, index, s, &o, err);
}

/* One file alone with several devices is a job by itself: each device is a rank. */
static enum mt_status add_snapshot(const struct mt_gathering *g, struct mt_ranks *to,
                                   struct mt_snapshot *s, const char *path, struct mt_error *err)
{
    struct mt_filtered filtered;
    struct mt_devices devices = {0};
    MT_TRY(mt_cli_check_told(g->cli, s, err)); /* files beside snapshots lack what is compared */
    MT_TRY(mt_snapshot_follow_trace(s, err));
    enum mt_status status = mt_filtered_init(&filtered, g->filter, s, err);
    if (status == MT_OK) {
        status = mt_devices_find(&devices, s, false, err);
    }
    bool each = g->files.n == 1 && devices.ids.n > 1 && g->filter->device < 0;
    for (size_t i = 0; status == MT_OK && i < (each ? devices.ids.n : 1); i++) {
        status = add_device(g, to, s, &filtered, path, each ? devices.ids.v[i] : -1, err);
    }
    mt_devices_release(&devices);
    mt_filtered_release(&filtered);
    return status;
}

/* The options of reading, from those of the command line. */
static struct mt_read_options read_options(const struct mt_gathering *g)
{
    return (struct mt_read_options){.hash_seed = g->cli->hash_seed,
                                    .max_input = g->common->max_input,
                                    .max_depth = (uint32_t)g->common->max_depth,
                                    .max_events = g->common->max_events,
                                    .salvage = g->common->salvage};
}

/* ---- what is read in its turn ---- */

static enum mt_status read_text(struct mt_gathering *g, const char *path, FILE *from,
                                struct mt_error *err)
{
    struct mt_buf text = {0};
    struct mt_snapshot s;
    struct mt_read_options o = read_options(g);
    enum mt_status status = mt_cli_slurp(from, MT_SLURP_MOST, &text, err);
    if (status == MT_OK && mt_is_rank_results(mt_buf_view(&text))) {
        status = mt_ranks_read_results(&g->ranks, mt_buf_view(&text), err);
    } else if (status == MT_OK) {
        status = mt_snapshot_read_memory(text.p ? text.p : "", text.n, 0, &o, &s, err);
        if (status == MT_OK) {
            status = add_snapshot(g, &g->ranks, &s, path, err);
            g->partly |= status == MT_OK && mt_cli_note_damage(g->cli, g->common, path, &s);
            mt_snapshot_release(&s);
        }
    }
    mt_buf_release(&text);
    return status;
}

static enum mt_status read_text_file(struct mt_gathering *g, const char *path, struct mt_error *err)
{
    bool standard = strcmp(path, "-") == 0;
    FILE *from = standard ? stdin : fopen(path, "rb");
    if (!from) {
        return mt_fail(err, MT_IO, MT_NO_OFFSET, "cannot open: %s", strerror(errno));
    }
    enum mt_status status = read_text(g, path, from, err);
    if (!standard) {
        fclose(from);
    }
    return status;
}

/* Results of earlier runs are known by their beginning; a pipe is read whole before it is known. */
static enum mt_status find_kind(struct part *p, struct mt_error *err)
{
    char head[64];
    enum mt_status status = MT_OK;
    p->is_text = strcmp(p->file->path, "-") == 0 || mt_cli_reads_once(p->file->path);
    FILE *from = p->is_text ? NULL : fopen(p->file->path, "rb");
    if (from) { /* else reading the snapshot says why not */
        size_t n = fread(head, 1, sizeof head, from);
        if (ferror(from)) {
            status = mt_fail(err, MT_IO, MT_NO_OFFSET, "cannot read: %s", strerror(errno));
        }
        p->is_text = mt_is_rank_results((struct mt_str){head, n});
        fclose(from);
    }
    return status;
}

/* ---- threads ---- */

struct reading {
    struct mt_gathering *g;
    pthread_mutex_t lock;
    pthread_cond_t turned;
    size_t next; /* file that nobody has begun */
    size_t turn; /* file that is to be taken over */
};

static enum mt_status read_part(const struct mt_gathering *g, struct part *p)
{
    struct mt_read_options o = read_options(g);
    MT_TRY(find_kind(p, &p->err));
    if (p->is_text) {
        return MT_OK;
    }
    MT_TRY(mt_ranks_init(&p->ranks, g->cli->hash_seed, &p->err));
    MT_TRY(mt_snapshot_read(p->file->path, &o, &p->s, &p->err));
    p->has_snapshot = true;
    return add_snapshot(g, &p->ranks, &p->s, p->file->path, &p->err);
}

static void take_over(struct mt_gathering *g, struct part *p)
{
    if (p->status == MT_OK && p->is_text) {
        p->status = read_text_file(g, p->file->path, &p->err);
    } else if (p->status == MT_OK) {
        g->partly |= mt_cli_note_damage(g->cli, g->common, p->file->path, &p->s);
        p->status = mt_ranks_merge(&g->ranks, &p->ranks, &p->err);
    }
    if (p->status != MT_OK) {
        fail(g, p->file, &p->err);
    }
}

static void *read_files(void *arg)
{
    struct reading *r = arg;
    for (;;) {
        pthread_mutex_lock(&r->lock);
        size_t i = r->next++;
        pthread_mutex_unlock(&r->lock);
        if (i >= r->g->files.n) {
            return NULL;
        }
        struct part p = {.file = &r->g->files.v[i]};
        p.status = read_part(r->g, &p);
        pthread_mutex_lock(&r->lock);
        while (r->turn != i) {
            pthread_cond_wait(&r->turned, &r->lock);
        }
        take_over(r->g, &p);
        r->turn++;
        pthread_cond_broadcast(&r->turned);
        pthread_mutex_unlock(&r->lock);
        mt_ranks_release(&p.ranks);
        if (p.has_snapshot) {
            mt_snapshot_release(&p.s);
        }
    }
}

static size_t threads_for(const struct mt_gathering *g)
{
    uint64_t bytes = 0;
    struct stat st;
    for (size_t i = 0; i < g->files.n && bytes < WORTH_THREADS; i++) {
        bytes += stat(g->files.v[i].path, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;
    }
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t n = cores > MOST_THREADS ? MOST_THREADS : cores > 0 ? (size_t)cores : 1;
    n = n > g->files.n ? g->files.n : n;
    return bytes < WORTH_THREADS || n == 0 ? 1 : n;
}

void mt_gather_read(struct mt_gathering *g)
{
    struct reading r = {
        .g = g, .lock = PTHREAD_MUTEX_INITIALIZER, .turned = PTHREAD_COND_INITIALIZER};
    pthread_t threads[MOST_THREADS];
    size_t n = threads_for(g), begun = 0;
    while (begun + 1 < n && pthread_create(&threads[begun], NULL, read_files, &r) == 0) {
        begun++;
    }
    (void)read_files(&r);
    for (size_t i = 0; i < begun; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_cond_destroy(&r.turned);
    pthread_mutex_destroy(&r.lock);
}
