/* SPDX-License-Identifier: MIT */
/*
 * Snapshots of the live allocator: by call, and at the moments that the record settings name. What
 * is to be written is copied under the lock; everything else needs dump_lock alone.
 */
#include "live/core/live.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "live/dump/capture_list.h"
#include "live/dump/dump.h"
#include "live/dump/dump_lock.h"
#include "live/dump/writer.h"

/* Then, as PyTorch does, an event that only the next snapshot will show. */
enum mt_status mt_live_copy(struct mt_live *live, struct mt_dump *dump, struct mt_error *err)
{
    mt_dump_set_settings(dump, &live->settings, live->conf);
    MT_TRY(mt_dump_add_recorder(dump, live->recorder, live->n_devices, err));
    mt_recorder_tick(live->recorder);
    for (int i = 0; i < live->n_devices; i++) {
        const struct mt_alloc *a = live->devices[i].alloc;
        if (!a) {
            continue;
        }
        MT_TRY(mt_dump_add_device(dump, i, a, err));
        if (mt_recorder_on(live->recorder)) {
            int64_t active = mt_alloc_stat(a, MT_STAT_ACTIVE_BYTES, MT_SLOT_ALL).current;
            mt_recorder_event(live->recorder, i, MT_RECORD_SNAPSHOT, 0, (uint64_t)active, 0, 0);
        }
    }
    return MT_OK;
}

/* With dump_lock. */
static enum mt_status copy_all(struct mt_live *live, struct mt_dump **out, struct mt_error *err)
{
    struct mt_dump *dump = *out = mt_dump_new();
    if (!dump) {
        return mt_fail_nomem(err);
    }
    mt_quick_lock_take(&live->lock);
    enum mt_status status = mt_live_copy(live, dump, err);
    mt_quick_lock_give(&live->lock);
    mt_dump_take_own(dump, &(struct mt_own){.mode = "allocator"});
    return status;
}

static void own_pattern(struct mt_live *live, char *out)
{
    mt_quick_lock_take(&live->lock);
    memcpy(out, live->recorder->settings.path, MT_RECORD_PATH_MAX);
    mt_quick_lock_give(&live->lock);
}

static enum mt_status name_of(const struct mt_live *live, const char *pattern, char *out,
                              size_t size, struct mt_error *err)
{
    return mt_record_path(pattern, (long)getpid(), live->rank, out, size)
               ? MT_OK
               : mt_fail(err, MT_OUTPUT, MT_NO_OFFSET, "no usable name for a snapshot: %.150s",
                         pattern);
}

enum mt_status mt_live_dump(struct mt_live *live, const char *pattern, char *path, size_t size,
                            struct mt_error *err)
{
    char own[MT_RECORD_PATH_MAX], name[MT_RECORD_PATH_MAX];
    int cancel;
    if (!pattern) {
        own_pattern(live, own);
        pattern = own;
    }
    MT_TRY(name_of(live, pattern, name, sizeof name, err));
    MT_TRY(mt_dump_lock_take(&live->dump_lock, &cancel, err));
    struct mt_dump *dump;
    enum mt_status status = copy_all(live, &dump, err);
    if (status == MT_OK) {
        status = mt_dump_write(dump, NULL, MT_SNAPSHOT_EXIT, name, err);
    }
    mt_dump_free(dump);
    mt_dump_lock_give(&live->dump_lock, cancel);
    if (path) {
        snprintf(path, size, "%s", name);
    }
    return status;
}

/* With dump_lock; the name that it got goes to `name`, MT_RECORD_PATH_MAX bytes. */
static enum mt_status write_for(struct mt_live *live, enum mt_snapshot_why why, char *name,
                                struct mt_error *err)
{
    char own[MT_RECORD_PATH_MAX], pattern[MT_RECORD_PATH_MAX];
    own_pattern(live, own);
    if (!mt_snapshot_names_next(&live->names, own, why, pattern, sizeof pattern)) {
        return mt_fail(err, MT_OUTPUT, MT_NO_OFFSET, "no usable name for a snapshot: %.150s", own);
    }
    MT_TRY(name_of(live, pattern, name, MT_RECORD_PATH_MAX, err));
    struct mt_dump *dump;
    enum mt_status status = copy_all(live, &dump, err);
    if (status == MT_OK) {
        status = mt_dump_write(dump, &live->names, why, name, err);
    }
    mt_dump_free(dump);
    if (status == MT_OK && mt_snapshot_names_add(&live->names, why)) {
        mt_capture_list_tell(live->list, mt_snapshot_why_text(why), name);
    }
    return status;
}

enum mt_status mt_live_no_answer(struct mt_error *err)
{
    return mt_fail(err, MT_DEVICE, MT_NO_OFFSET,
                   "no snapshot: the driver does not answer (another thread has waited for it for "
                   "%d seconds)",
                   MT_LIVE_PATIENCE_S);
}

/* With dump_lock. A snapshot written a moment ago answers for the refusals that follow. */
static enum mt_status write_oom(struct mt_live *live, char *path, struct mt_error *err)
{
    if (live->last_oom[0] &&
        mt_snapshot_clock_ms() - live->last_oom_ms < MT_SNAPSHOT_OOM_PAUSE_MS) {
        memcpy(path, live->last_oom, sizeof live->last_oom);
        return MT_OK;
    }
    live->last_oom[0] = '\0';
    MT_TRY(write_for(live, MT_SNAPSHOT_OOM, path, err));
    live->last_oom_ms = mt_snapshot_clock_ms();
    memcpy(live->last_oom, path, sizeof live->last_oom);
    return MT_OK;
}

enum mt_status mt_live_write(void *ctx, const struct mt_write_request *r, char *path,
                             struct mt_error *err)
{
    struct mt_live *live = ctx;
    int cancel;
    if (r->why != MT_SNAPSHOT_OOM && !mt_quick_lock_comes_free(&live->lock, MT_LIVE_PATIENCE_S)) {
        return mt_live_no_answer(err);
    }
    MT_TRY(mt_dump_lock_take(&live->dump_lock, &cancel, err));
    enum mt_status status =
        r->why == MT_SNAPSHOT_OOM ? write_oom(live, path, err) : write_for(live, r->why, path, err);
    mt_dump_lock_give(&live->dump_lock, cancel);
    return status;
}

enum mt_status mt_live_dump_for(struct mt_live *live, enum mt_snapshot_why why,
                                struct mt_error *err)
{
    char path[MT_RECORD_PATH_MAX];
    return mt_live_write(live, &(struct mt_write_request){.why = why}, path, err);
}

void mt_live_dump_oom(struct mt_live *live, struct mt_live_refusal *refusal)
{
    const struct mt_write_request r = {.why = MT_SNAPSHOT_OOM};
    struct mt_error err;
    char path[MT_RECORD_PATH_MAX];
    size_t n = strlen(refusal->text);
    char *at = refusal->text + n;
    size_t left = sizeof refusal->text - n;
    if ((live->writer ? mt_writer_ask(live->writer, &r, path, &err)
                      : mt_live_write(live, &r, path, &err)) == MT_OK) {
        snprintf(at, left, " The snapshot is in %s: memtool triage %s", path, path);
    } else {
        snprintf(at, left, " No snapshot: %s.", err.text);
    }
}
