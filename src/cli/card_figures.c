/* SPDX-License-Identifier: MIT */
/* The card's own figures: one number, or what nvidia-smi printed. */
#include "cli/card_figures.h"
#include "support/units.h"

#include <inttypes.h>

#include "cli/slurp.h"

#define AT(field) offsetof(struct mt_card_settings, field)

const struct mt_option MT_CARD_OPTIONS[] = {
    MT_OPT_SIZE(0, "device-used", AT(device_used), "SIZE",
                "memory in use on the whole card, as nvidia-smi or device_memory_used say",
                .common = true),
    MT_OPT_TEXT(0, "nvidia-smi", AT(smi_file), "FILE",
                "what nvidia-smi printed at that moment, plain, with -q, with -q -x or as CSV; - "
                "is standard input",
                .common = true),
};
_Static_assert(MT_COUNT(MT_CARD_OPTIONS) == MT_CARD_OPTIONS_N, "the header states how many");

#define MAX_TEXT (16 * MT_MIB) /* far more than nvidia-smi prints */

/* nvidia-smi prints MiB, and its number is soon copied without the unit: no card that is in use has
 * less than this in use. */
#define LEAST_USED MT_MIB

static int refuse_used(struct mt_cli *cli, const struct mt_card_settings *o)
{
    struct mt_error err;
    if (o->device_used > 0 && o->device_used < LEAST_USED) {
        (void)mt_fail(&err, MT_USAGE, MT_NO_OFFSET,
                      "--device-used: %" PRIu64 " bytes is less than any card has in use",
                      o->device_used);
        (void)mt_hint(&err, "did you mean %" PRIu64 "MiB? nvidia-smi prints MiB", o->device_used);
        return mt_cli_fail(cli, NULL, &err);
    }
    if (o->device_used > 0 && o->smi_file) {
        return mt_cli_usage(cli, "--device-used and --nvidia-smi say the same: give one of them");
    }
    return 0;
}

int mt_card_input_read(struct mt_cli *cli, const struct mt_card_settings *o,
                       struct mt_card_input *in)
{
    struct mt_error err;
    *in = (struct mt_card_input){.figures = {.used_known = o->device_used > 0,
                                             .used = o->device_used,
                                             .source = "--device-used"}};
    int code = refuse_used(cli, o);
    if (code || !o->smi_file) {
        return code;
    }
    enum mt_status status = mt_cli_slurp_file(o->smi_file, MAX_TEXT, &in->text, &err);
    if (status == MT_OK) {
        status = mt_smi_read(&in->smi, mt_buf_view(&in->text), &err);
    }
    if (status != MT_OK) {
        return mt_cli_fail(cli, o->smi_file, &err);
    }
    in->figures.smi = &in->smi;
    in->figures.source = "nvidia-smi";
    return 0;
}

void mt_card_input_release(struct mt_card_input *in)
{
    mt_smi_release(&in->smi);
    mt_buf_release(&in->text);
}
