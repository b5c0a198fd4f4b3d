/* SPDX-License-Identifier: MIT */
/* The door to all exports, and what they share: devices, profiles at a moment, names of frames. */
#include "verbs/convert/export.h"

#include <inttypes.h>

#include "print/report.h"

#include "verbs/convert/exporters.h"

enum mt_status mt_exporter_profile(struct mt_exporter *x, size_t device, struct mt_profile *p,
                                   struct mt_error *err)
{
    struct mt_replay r;
    *p = (struct mt_profile){0};
    MT_TRY(mt_replay_init(&r, x->s, x->devices.ids.v[device], err));
    enum mt_status status = mt_profile_find(p, &r, x->o->filtered, &x->o->at, err);
    mt_replay_release(&r);
    if (status == MT_NOT_FOUND && x->devices.ids.n > 1) {
        return MT_OK;
    }
    return status;
}

void mt_exporter_frame(const struct mt_exporter *x, const struct mt_frame *f, struct mt_buf *b)
{
    size_t from = b->n;
    mt_text_safe(b, mt_str_basename(mt_snapshot_str(x->s, f->filename)));
    mt_buf_char(b, ':');
    mt_frame_line_text(b, x->s, f);
    mt_buf_char(b, ':');
    mt_text_safe(b, mt_snapshot_str(x->s, f->name));
    for (size_t i = from; i < b->n; i++) {
        if (b->p[i] == ';') {
            b->p[i] = ',';
        }
    }
}

/* Of the devices that pass the filter, those that have segments or events. */
static enum mt_status find_devices(struct mt_exporter *x, struct mt_error *err)
{
    MT_TRY(mt_devices_find(&x->devices, x->s, false, err));
    size_t n = 0;
    for (size_t i = 0; i < x->devices.ids.n; i++) {
        if (mt_filtered_device(x->o->filtered, x->devices.ids.v[i])) {
            x->devices.ids.v[n++] = x->devices.ids.v[i];
        }
    }
    x->devices.ids.n = n;
    return MT_OK;
}

enum mt_status mt_export_write(const struct mt_snapshot *s, enum mt_export_format format,
                               const struct mt_export_options *o, FILE *stream,
                               struct mt_export_result *result, struct mt_error *err)
{
    static enum mt_status (*const exports[])(struct mt_exporter *, struct mt_error *) = {
        [MT_EXPORT_FOLDED] = mt_export_folded, [MT_EXPORT_SPEEDSCOPE] = mt_export_speedscope,
        [MT_EXPORT_PPROF] = mt_export_pprof,   [MT_EXPORT_PERFETTO] = mt_export_perfetto,
        [MT_EXPORT_CSV] = mt_export_csv,
    };
    struct mt_exporter x = {.s = s, .o = o, .result = result};
    *result = (struct mt_export_result){0};
    x.sink = mt_sink_new(stream, o->gzip || format == MT_EXPORT_PPROF);
    if (!x.sink) {
        return mt_fail_nomem(err);
    }
    mt_sink_limit(x.sink, o->max_bytes);
    enum mt_status status = find_devices(&x, err);
    if (status == MT_OK) {
        status = exports[format](&x, err);
    }
    if (status == MT_OK && x.text.failed) {
        status = mt_fail_nomem(err);
    }
    if (status == MT_OK) {
        status = mt_sink_finish(x.sink, err);
    }
    mt_sink_free(x.sink);
    mt_devices_release(&x.devices);
    mt_buf_release(&x.text);
    return status;
}
