/* SPDX-License-Identifier: MIT */
/* The card's own figures: one number, or what nvidia-smi printed. */
#include "card_figures.h"

#include "slurp.h"

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
     .help = "what nvidia-smi printed at that moment, plain, with -q, with -q -x or as CSV; - is "
             "standard input",
     .common = true},
};
_Static_assert(MT_COUNT(MT_CARD_OPTIONS) == MT_CARD_OPTIONS_N, "the header states how many");

#define MAX_TEXT (UINT64_C(16) << 20) /* far more than nvidia-smi prints */

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
    enum mt_status status = mt_cli_slurp_file(o->smi_file, MAX_TEXT, &in->text, &err);
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
