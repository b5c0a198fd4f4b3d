/* SPDX-License-Identifier: MIT */
/* What a row of peak stands for: a stack, an annotation, a stream, a file, ... */
#include "print/peak_label.h"
#include "heap/stacks/event_labels.h"
#include "print/labels.h"

const char *const MT_PEAK_BY_WORDS[] = {"stack",      "file",   "line",   "function", "folder",
                                        "annotation", "stream", "pool",   "category", "label",
                                        "region",     "node",   "module", NULL};

const char *const MT_PEAK_BY_TITLES[] = {
    [MT_BY_STACK] = "WHERE",       [MT_BY_FILE] = "FILE",     [MT_BY_LINE] = "LINE",
    [MT_BY_FUNCTION] = "FUNCTION", [MT_BY_FOLDER] = "FOLDER", [MT_BY_ANNOTATION] = "ANNOTATION",
    [MT_BY_STREAM] = "STREAM",     [MT_BY_POOL] = "POOL",     [MT_BY_CATEGORY] = "CATEGORY",
    [MT_BY_LABEL] = "LABEL",       [MT_BY_REGION] = "REGION", [MT_BY_NODE] = "NODE",
    [MT_BY_MODULE] = "MODULE",
};

static void add_file(struct mt_buf *b, const struct mt_report *r, struct mt_str file)
{
    mt_text_safe(b, r->full_path ? file : mt_str_basename(file));
}

/* The last two folders of a path: enough to know a package by. */
static void add_folder(struct mt_buf *b, const struct mt_report *r, struct mt_str file)
{
    struct mt_str base = mt_str_basename(file);
    struct mt_str folder = {file.p, file.n - base.n};
    size_t from = 0;
    int separators = 0;
    for (size_t i = folder.n; !r->full_path && i-- > 0;) {
        if ((folder.p[i] == '/' || folder.p[i] == '\\') && ++separators == 3) {
            from = i + 1;
            break;
        }
    }
    if (folder.n) {
        mt_text_safe(b, (struct mt_str){folder.p + from, folder.n - from});
    } else {
        mt_buf_text(b, "(no folder)");
    }
}

static void add_frame_part(struct mt_buf *b, const struct mt_report *r, const struct mt_snapshot *s,
                           enum mt_peak_by by, uint32_t frame)
{
    const struct mt_frame *f = &s->frames[frame];
    if (!frame) {
        mt_buf_text(b, MT_NO_STACK);
    } else if (by == MT_BY_FILE) {
        add_file(b, r, mt_snapshot_str(s, f->filename));
    } else if (by == MT_BY_FUNCTION) {
        mt_text_safe(b, mt_snapshot_str(s, f->name));
    } else if (by == MT_BY_FOLDER) {
        add_folder(b, r, mt_snapshot_str(s, f->filename));
    } else {
        mt_frame_label(b, s, frame, r);
    }
}

static void add_pool(struct mt_buf *b, const struct mt_snapshot *s, uint32_t key)
{
    mt_buf_text(b, key & 1 ? "large" : "small");
    if (key >> 1) {
        mt_buf_text(b, ", private ");
        mt_pool_label(b, s->pools[key >> 1]);
    }
}

static void add_node(struct mt_buf *b, const struct mt_snapshot *s, uint32_t frame)
{
    struct mt_buf text = {0};
    if (frame) {
        mt_node_text(&text, s, frame);
        mt_text_safe(b, mt_buf_view(&text));
    } else {
        mt_buf_text(b, "(no node)");
    }
    b->failed |= text.failed;
    mt_buf_release(&text);
}

void mt_peak_row_label(struct mt_buf *b, const struct mt_report *r, const struct mt_snapshot *s,
                       enum mt_peak_by by, const struct mt_peak_row *row)
{
    switch (by) {
    case MT_BY_STACK:
        mt_stack_label_aged(b, s, row->key, r,
                            row->preexisting == row->bytes ? MT_STACKLESS_OLDER
                            : row->preexisting             ? MT_STACKLESS_ANY
                                                           : MT_STACKLESS_RECORDED);
        return;
    case MT_BY_ANNOTATION:
        if (row->key) {
            mt_text_safe(b, mt_snapshot_str(s, row->key));
        } else {
            mt_buf_text(b, "(outside all annotations)");
        }
        return;
    case MT_BY_LABEL:
    case MT_BY_REGION:
        if (row->key) {
            mt_text_safe(b, mt_snapshot_str(s, row->key));
        } else {
            mt_buf_text(b, by == MT_BY_LABEL ? "(no label)" : "(not compiled)");
        }
        return;
    case MT_BY_MODULE:
        if (row->key) {
            mt_text_safe(b, mt_module_text(mt_snapshot_str(s, row->key)));
        } else {
            mt_buf_text(b, "(no module)");
        }
        return;
    case MT_BY_NODE: add_node(b, s, row->key); return;
    case MT_BY_STREAM: mt_stream_label(b, s, (uint16_t)row->key); return;
    case MT_BY_POOL: add_pool(b, s, row->key); return;
    case MT_BY_CATEGORY: mt_buf_text(b, mt_category_name((enum mt_category)row->key)); return;
    default: add_frame_part(b, r, s, by, row->key); return;
    }
}

/* ---- categories ---- */

const char *mt_category_sure_word(enum mt_category c, const uint64_t sure[MT_SURE_COUNT])
{
    uint64_t all = 0;
    for (int k = 0; k < MT_SURE_COUNT; k++) {
        all += sure[k];
    }
    return all && c != MT_CATEGORY_UNKNOWN ? mt_sureness_name(mt_sureness_of(sure)) : NULL;
}

enum mt_category mt_category_next(bool done[MT_CATEGORY_COUNT],
                                  const uint64_t bytes[MT_CATEGORY_COUNT])
{
    int best = MT_CATEGORY_COUNT;
    for (int c = 0; c < MT_CATEGORY_COUNT; c++) {
        bool more = best == MT_CATEGORY_COUNT || bytes[c] > bytes[best];
        best = c != MT_CATEGORY_UNKNOWN && !done[c] && bytes[c] && more ? c : best;
    }
    if (best == MT_CATEGORY_COUNT && !done[MT_CATEGORY_UNKNOWN] && bytes[MT_CATEGORY_UNKNOWN]) {
        best = MT_CATEGORY_UNKNOWN;
    }
    if (best < MT_CATEGORY_COUNT) {
        done[best] = true;
    }
    return (enum mt_category)best;
}

void mt_out_categories(struct mt_out o, const uint64_t bytes[MT_CATEGORY_COUNT],
                       const uint64_t sure[MT_CATEGORY_COUNT][MT_SURE_COUNT])
{
    struct mt_out categories = mt_out_object(o, "categories");
    for (int c = 0; c < MT_CATEGORY_COUNT; c++) {
        char key[40];
        (void)snprintf(key, sizeof key, "%s_bytes", mt_category_name((enum mt_category)c));
        mt_out_u64(categories, key, bytes[c]);
    }
    struct mt_out confidence = mt_out_object(o, "confidence");
    for (int c = 0; c < MT_CATEGORY_COUNT; c++) {
        if (c != MT_CATEGORY_UNKNOWN) {
            mt_out_text(confidence, mt_category_name((enum mt_category)c),
                        mt_category_sure_word((enum mt_category)c, sure[c]));
        }
    }
}
