/* SPDX-License-Identifier: MIT */
/* Texts are read whole, up to a limit: /dev/zero and a log that never ends are files too. */
#include "cli/slurp.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

bool mt_cli_reads_once(const char *file)
{
    struct stat st;
    return strcmp(file, "-") == 0 || (stat(file, &st) == 0 && !S_ISREG(st.st_mode));
}

static enum mt_status fail_io(struct mt_error *err, const char *what)
{
    return errno == ENOMEM ? mt_fail_nomem(err)
                           : mt_fail(err, MT_IO, MT_NO_OFFSET, "%s: %s", what, strerror(errno));
}

enum mt_status mt_cli_slurp(FILE *from, uint64_t most, struct mt_buf *b, struct mt_error *err)
{
    char piece[65536];
    size_t n;
    while (b->n <= most && !b->failed && (n = fread(piece, 1, sizeof piece, from)) > 0) {
        mt_buf_add(b, piece, n);
    }
    if (ferror(from)) {
        return fail_io(err, "cannot read");
    }
    if (b->n > most) {
        return mt_fail(err, MT_LIMIT, MT_NO_OFFSET, "more than %s, which is too long for this",
                       mt_size_text(most, (struct mt_size_format){MT_UNIT_AUTO, false}).s);
    }
    return b->failed ? mt_fail_nomem(err) : MT_OK;
}

enum mt_status mt_cli_slurp_file(const char *file, uint64_t most, struct mt_buf *b,
                                 struct mt_error *err)
{
    bool standard = strcmp(file, "-") == 0;
    FILE *from = standard ? stdin : fopen(file, "rb");
    if (!from) {
        return fail_io(err, "cannot open");
    }
    enum mt_status status = mt_cli_slurp(from, most, b, err);
    if (!standard) {
        fclose(from);
    }
    return status;
}
