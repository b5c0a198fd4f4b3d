/* SPDX-License-Identifier: MIT */
/* The card's own figures: one number, or what nvidia-smi printed. */
#include "card_figures.h"

#include <errno.h>

const struct mt_option MT_CARD_OPTIONS[] = {
    {.name = "device-used",
     .kind = MT_OPTION_SIZE,
     .offset = offsetof(struct mt_card_settings, device_used),
     .arg = "SIZE",
     .help = "memory in use on the whole card, as nvidia-smi or device_memory_used say",
     .common = true},
    {.name = "nvidia-smi",
     .kind = MT_OPTION_TEXT,
     .offset = offsetof(struct mt_card_settings, smi_file),
     .arg = "FILE",
     .help = "what nvidia-smi printed at that moment: its table, -q, -q -x, CSV; - is standard "
             "input",
     .common = true},
};
_Static_assert(MT_COUNT(MT_CARD_OPTIONS) == MT_CARD_OPTIONS_N, "the header states how many");

enum { MAX_TEXT = 16 << 20 };

static enum mt_status slurp(const char *file, struct mt_buf *b, struct mt_error *err)
{
    bool standard = strcmp(file, "-") == 0;
    FILE *in = standard ? stdin : fopen(file, "rb");
    char piece[16384];
    size_t n;
    if (!in) {
        return mt_fail(err, MT_IO, MT_NO_OFFSET, "cannot open: %s", strerror(errno));
    }
    while (b->n < MAX_TEXT && (n = fread(piece, 1, sizeof piece, in)) > 0) {
        mt_buf_add(b, piece, n);
    }
    bool failed = ferror(in) != 0;
    if (!standard) {
        fclose(in);
    }
    if (failed) {
        return mt_fail(err, MT_IO, MT_NO_OFFSET, "cannot read: %s", strerror(errno));
    }
    if (b->n >= MAX_TEXT) {
        return mt_fail(err, MT_LIMIT, MT_NO_OFFSET, "far more than nvidia-smi prints");
    }
    return b->failed ? mt_fail_nomem(err) : MT_OK;
}

int mt_card_input_read(struct mt_cli *cli, const struct mt_card_settings *o,
                       struct mt_card_input *in)
{
    struct mt_error err;
    *in = (struct mt_card_input){.figures = {.used_known = o->device_used > 0,
                                             .used = o->device_used,
                                             .source = "--device-used"}};
    if (!o->smi_file) {
        return 0;
    }
    enum mt_status status = slurp(o->smi_file, &in->text, &err);
    if (status == MT_OK) {
        status = mt_smi_read(&in->smi, mt_buf_view(&in->text), &err);
    }
    if (status != MT_OK) {
        return mt_cli_fail(cli, o->smi_file, &err);
    }
    in->figures.smi = &in->smi;
    in->figures.source = o->device_used ? "--device-used" : "nvidia-smi";
    return 0;
}

void mt_card_input_release(struct mt_card_input *in)
{
    mt_smi_release(&in->smi);
    mt_buf_release(&in->text);
}
