/* SPDX-License-Identifier: MIT */
/* Figures that a program printed, looked for in the whole text. */
#include "cli/logged_input.h"

#include <stdio.h>

#include "snapshot/read/unpacked.h"
#include "support/units.h"

#include "cli/slurp.h"

/* A packed log is unpacked in memory. */
static enum mt_status unpack(struct mt_buf *text, struct mt_error *err)
{
    char piece[65536];
    size_t got = 1;
    struct mt_buf plain = {0};
    if (!mt_is_gzip(text->p, text->n)) {
        return MT_OK;
    }
    struct mt_unpacked *u = mt_unpacked_new(text->p, text->n, NULL, err);
    enum mt_status status = u ? MT_OK : err->code;
    while (status == MT_OK && got > 0) {
        status = mt_unpacked_read(u, piece, sizeof piece, &got, err);
        mt_buf_add(&plain, piece, got);
        if (status == MT_OK && plain.n > MT_SLURP_MOST) {
            status = mt_fail(err, MT_LIMIT, MT_NO_OFFSET, "too long for this once it is unpacked");
        }
    }
    mt_unpacked_free(u);
    if (status == MT_OK && plain.failed) {
        status = mt_fail_nomem(err);
    }
    mt_buf_release(text);
    *text = plain;
    return status == MT_FORMAT && plain.n > 0 ? MT_OK : status; /* cut off: as far as it goes */
}

enum mt_status mt_cli_logged_read(const char *file, struct mt_buf *text, struct mt_logged *out,
                                  struct mt_error *err)
{
    *out = (struct mt_logged){0};
    if (!text->n) {
        MT_TRY(mt_cli_slurp_file(file, MT_SLURP_MOST, text, err));
    }
    MT_TRY(unpack(text, err));
    return mt_logged_find(out, mt_buf_view(text), err);
}

/* Up to a MiB of the plain text at the head of the file. */
static void read_head(const char *file, struct mt_buf *head)
{
    enum { HEAD = (int)MT_MIB };
    char piece[65536];
    struct mt_error err;
    FILE *f = fopen(file, "rb");
    size_t n = 1;
    while (f && n > 0 && head->n < HEAD && !head->failed) {
        n = fread(piece, 1, sizeof piece, f);
        mt_buf_add(head, piece, n);
    }
    if (f) {
        fclose(f);
    }
    if (head->n > 0 && mt_is_gzip(head->p, head->n)) {
        (void)unpack(head, &err); /* cut off: as far as it goes */
    }
}

bool mt_cli_is_logged(const char *file)
{
    static const struct mt_str SIGNS[] = {MT_STR_INIT("allocated_bytes.all."),
                                          MT_STR_INIT("reserved_bytes.all."),
                                          MT_STR_INIT("PyTorch CUDA memory summary, device ID"),
                                          MT_STR_INIT("memory (MB) | allocated:")};
    struct mt_buf head = {0};
    bool found = false;
    if (mt_cli_reads_once(file)) {
        return false;
    }
    read_head(file, &head);
    struct mt_str text = mt_buf_view(&head);
    for (size_t i = 0; i < MT_COUNT(SIGNS); i++) {
        found |= mt_str_find(text, SIGNS[i]) != SIZE_MAX;
    }
    bool snapshot = mt_str_find(text, MT_STR("device_traces")) != SIZE_MAX ||
                    mt_str_find(text, MT_STR("total_size")) != SIZE_MAX;
    mt_buf_release(&head);
    return found && !snapshot;
}
