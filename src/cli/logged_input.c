/* SPDX-License-Identifier: MIT */
/* Figures that a program printed, looked for in the whole text. */
#include "cli/logged_input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/read/unpacked.h"
#include "support/units.h"

#include "cli/frame.h"
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

/* What cannot be read is not called a file of the wrong kind. */
static void die_unread(void)
{
    fprintf(stderr, "memtool: cannot read a file: %s\n", strerror(errno));
    exit(mt_status_exit_code(MT_IO));
}

/* Appends plain text from the head of the file, up to `most` bytes of it. */
static void read_head(const char *file, size_t most, struct mt_buf *head)
{
    char piece[65536];
    struct mt_error err;
    FILE *f = fopen(file, "rb");
    size_t n = 1;
    if (!f && errno == ENOMEM) {
        mt_cli_die_nomem();
    }
    while (f && n > 0 && head->n < most && !head->failed) {
        n = fread(piece, 1, sizeof piece, f);
        mt_buf_add(head, piece, n);
    }
    if (f && ferror(f) && errno != EISDIR) {
        die_unread();
    }
    if (f) {
        fclose(f);
    }
    if (head->n > 0 && mt_is_gzip(head->p, head->n)) {
        (void)unpack(head, &err); /* cut off: as far as it goes */
    }
}

/* Text without the keys of a snapshot. */
static bool may_be_logged(struct mt_str head)
{
    static const struct mt_str KEYS[] = {MT_STR_INIT("device_traces"), MT_STR_INIT("total_size"),
                                         MT_STR_INIT("traceEvents")};
    size_t begin = head.n < 4096 ? head.n : 4096;
    bool plain = head.n > 0 && (unsigned char)head.p[0] < 0x80 && !memchr(head.p, 0, begin);
    for (size_t i = 0; plain && i < MT_COUNT(KEYS); i++) {
        plain = mt_str_find(head, KEYS[i]) == SIZE_MAX;
    }
    return plain;
}

bool mt_cli_is_logged(const char *file)
{
    static const size_t MOST[] = {65536, (size_t)(16 * MT_MIB)};
    bool found = false, may = !mt_cli_reads_once(file);
    for (size_t i = 0; may && !found && i < MT_COUNT(MOST); i++) {
        struct mt_buf head = {0};
        struct mt_logged l = {0};
        struct mt_error err;
        read_head(file, MOST[i], &head);
        struct mt_str text = mt_buf_view(&head);
        may = may_be_logged(text);
        enum mt_status status = may ? mt_logged_find(&l, text, &err) : MT_OK;
        if (head.failed || status == MT_NOMEM) {
            mt_cli_die_nomem(); /* else it would be taken for another kind of file */
        }
        found = may && l.tables.n > 0;
        may = may && text.n >= MOST[i];
        mt_logged_release(&l);
        mt_buf_release(&head);
    }
    return found;
}

void mt_cli_logged_error(const struct mt_cli *cli, struct mt_error *err)
{
    (void)mt_fail(
        err, MT_FORMAT, MT_NO_OFFSET,
        "figures of the allocator that a program printed: they tell sums, but no requests "
        "and no stacks, which %s needs",
        cli->command->name);
    mt_hint(err, "what it can answer: %s", MT_LOGGED_VERBS);
}

enum mt_status mt_cli_logged_unfiltered(struct mt_error *err)
{
    return mt_fail(err, MT_NOT_FOUND, MT_NO_OFFSET,
                   "figures that a program printed: no filter applies to them");
}
