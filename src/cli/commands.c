/* SPDX-License-Identifier: MIT */
/* The list of verbs, in the order of --help. How to add one is told in command.h. */
#include "cli/command.h"

extern const struct mt_command mt_cmd_info;
extern const struct mt_command mt_cmd_triage;
extern const struct mt_command mt_cmd_stats;
extern const struct mt_command mt_cmd_peak;
extern const struct mt_command mt_cmd_leaks;
extern const struct mt_command mt_cmd_steps;
extern const struct mt_command mt_cmd_frag;
extern const struct mt_command mt_cmd_simulate;
extern const struct mt_command mt_cmd_fit;
extern const struct mt_command mt_cmd_conf;
extern const struct mt_command mt_cmd_summary;
extern const struct mt_command mt_cmd_trace;
extern const struct mt_command mt_cmd_segments;
extern const struct mt_command mt_cmd_memory;
extern const struct mt_command mt_cmd_compare;
extern const struct mt_command mt_cmd_trace_plot;
extern const struct mt_command mt_cmd_segment_plot;
extern const struct mt_command mt_cmd_ranks;
extern const struct mt_command mt_cmd_check;
extern const struct mt_command mt_cmd_history;
extern const struct mt_command mt_cmd_estimate;
extern const struct mt_command mt_cmd_explain;
extern const struct mt_command mt_cmd_convert;
extern const struct mt_command mt_cmd_capture;
extern const struct mt_command mt_cmd_top;
extern const struct mt_command mt_cmd_completion;

/* One verb a line, so that branches that add one each merge. */
/* clang-format off */
const struct mt_command *const MT_COMMANDS[] = {
    &mt_cmd_info,
    &mt_cmd_triage,
    &mt_cmd_stats,
    &mt_cmd_peak,
    &mt_cmd_leaks,
    &mt_cmd_steps,
    &mt_cmd_frag,
    &mt_cmd_simulate,
    &mt_cmd_fit,
    &mt_cmd_conf,
    &mt_cmd_summary,
    &mt_cmd_trace,
    &mt_cmd_segments,
    &mt_cmd_memory,
    &mt_cmd_compare,
    &mt_cmd_trace_plot,
    &mt_cmd_segment_plot,
    &mt_cmd_ranks,
    &mt_cmd_check,
    &mt_cmd_history,
    &mt_cmd_estimate,
    &mt_cmd_explain,
    &mt_cmd_convert,
    &mt_cmd_capture,
    &mt_cmd_top,
    &mt_cmd_completion,
    NULL,
};
/* clang-format on */
