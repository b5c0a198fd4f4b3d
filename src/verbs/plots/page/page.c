/* SPDX-License-Identifier: MIT */
/*
 * The page: markup and style of the viewer, the blobs, the script. The policy in its head forbids
 * everything but the one style and the one script that stand in it, so that even a fault in the
 * viewer could not run what a snapshot brings along, nor send anything anywhere.
 */
#include "verbs/plots/page/page.h"

#include <string.h>

#include "verbs/plots/page/page_parts.h"
#include "draw/scene.h"

static void escape_html(FILE *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '&': fputs("&amp;", out); break;
        case '"': fputs("&quot;", out); break;
        default: fputc(*text, out); break;
        }
    }
}

enum mt_status mt_page_begin(FILE *out, const char *name, struct mt_error *err)
{
    struct mt_buf title = {0};
    mt_text_keep_safe(&title, mt_str_from(name).p);
    fprintf(out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
            "script-src '%s'; style-src '%s'; base-uri 'none'; form-action 'none'\">\n"
            "<meta name=\"viewport\" content=\"width=device-width\">\n<title>",
            mt_embedded_script_sha256, mt_embedded_style_sha256);
    escape_html(out, title.p ? title.p : "");
    fputs(" - memtool</title>\n<style>", out);
    fwrite(mt_embedded_style, 1, mt_embedded_style_n, out);
    fputs("</style>\n</head>\n<body>\n", out);
    fwrite(mt_embedded_markup, 1, mt_embedded_markup_n, out);
    enum mt_status status = title.failed ? mt_fail_nomem(err) : MT_OK;
    mt_buf_release(&title);
    return status;
}

static enum mt_status blobs(FILE *out, const struct mt_page_place *place,
                            const struct mt_snapshot *s, const struct mt_page_options *o,
                            const struct mt_devices *devices, struct mt_error *err)
{
    MT_TRY(mt_page_meta(out, place, s, o, devices, err));
    MT_TRY(mt_page_stacks(out, place, s, o, err));
    for (size_t i = 0; i < devices->ids.n; i++) {
        MT_TRY(mt_page_device(out, s, o, devices->ids.v[i], place->devices + i, err));
    }
    return MT_OK;
}

/* Keeps one device, or all. */
static void choose(struct mt_devices *devices, int32_t device)
{
    size_t kept = 0;
    for (size_t i = 0; i < devices->ids.n; i++) {
        if (device < 0 || devices->ids.v[i] == device) {
            devices->ids.v[kept++] = devices->ids.v[i];
        }
    }
    devices->ids.n = kept;
}

enum mt_status mt_page_add(FILE *out, struct mt_page_place *place, const struct mt_snapshot *s,
                           const struct mt_page_options *o, struct mt_error *err)
{
    struct mt_devices devices = {0};
    enum mt_status status = mt_devices_find(&devices, s, false, err);
    if (status == MT_OK) {
        choose(&devices, o->device);
        status = blobs(out, place, s, o, &devices, err);
    }
    place->files++;
    place->devices += devices.ids.n;
    mt_devices_release(&devices);
    return status;
}

enum mt_status mt_page_end(FILE *out, struct mt_error *err)
{
    fputs("<script>", out);
    fwrite(mt_embedded_script, 1, mt_embedded_script_n, out);
    fputs("</script>\n</body>\n</html>\n", out);
    return ferror(out) ? mt_fail(err, MT_OUTPUT, MT_NO_OFFSET, "cannot write the page: %s",
                                 mt_stream_why(out))
                       : MT_OK;
}

enum mt_status mt_page_write(const struct mt_snapshot *s, const struct mt_page_options *o,
                             FILE *out, struct mt_error *err)
{
    struct mt_page_place place = {0};
    MT_TRY(mt_page_begin(out, mt_str_basename(mt_str_from(o->file)).p, err));
    MT_TRY(mt_page_add(out, &place, s, o, err));
    return mt_page_end(out, err);
}
