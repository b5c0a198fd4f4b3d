/* SPDX-License-Identifier: MIT */
/* The options --device-used and --nvidia-smi: what the card itself reported. */
#ifndef MEMTOOL_CLI_CARD_FIGURES_H
#define MEMTOOL_CLI_CARD_FIGURES_H

#include "cli/command.h"
#include "heap/sums/account.h"

struct mt_card_settings {
    uint64_t device_used;
    const char *smi_file;
};

extern const struct mt_option MT_CARD_OPTIONS[]; /* of struct mt_card_settings */
enum { MT_CARD_OPTIONS_N = 2 };
/* Their group, for a verb whose settings have them in the field `card`. */
#define MT_CARD_GROUP(settings)                                                                    \
    {                                                                                              \
        .title = "The card", .options = MT_CARD_OPTIONS, .n = MT_CARD_OPTIONS_N,                   \
        .offset = offsetof(settings, card)                                                         \
    }

struct mt_card_input {
    struct mt_account_figures figures;
    struct mt_smi smi;
    struct mt_buf text;
};

/* Reads what the options name. 0, or the exit code after saying what is wrong. Release it also
 * after a failure. */
int mt_card_input_read(struct mt_cli *cli, const struct mt_card_settings *o,
                       struct mt_card_input *in);
void mt_card_input_release(struct mt_card_input *in);

#endif
