/* SPDX-License-Identifier: MIT */
/* The options that every verb has. */
#include <string.h>

#include "command.h"

static const char *const UNITS[] = {"auto", "B", "KiB", "MiB", "GiB", NULL};
static const char *const COLORS[] = {"auto", "always", "never", NULL};

static enum mt_status parse_stack(void *field, const char *text, struct mt_error *err)
{
    uint64_t n = 0;
    bool full = strcmp(text, "full") == 0;
    if (!full && (!mt_u64_parse(mt_str_from(text), &n) || n > 1000000)) {
        return mt_fail(err, MT_USAGE, MT_NO_OFFSET,
                       "'%.60s' is neither a number of lines from 0 to 1000000 nor full", text);
    }
    *(int64_t *)field = (int64_t)n;
    return MT_OK;
}

#define AT(field) .offset = offsetof(struct mt_common, field)

static const struct mt_option COMMON[] = {
    {.name = "json",
     .kind = MT_OPTION_FLAG,
     AT(json),
     .help = "print one JSON object instead of text",
     .common = true,
     .report = true},
    {.name = "csv",
     .kind = MT_OPTION_FLAG,
     .not_for = MT_COMMAND_NO_TABLE,
     AT(csv),
     .help = "print the table as CSV, sizes in bytes",
     .report = true},
    {.name = "tsv",
     .kind = MT_OPTION_FLAG,
     .not_for = MT_COMMAND_NO_TABLE,
     AT(tsv),
     .help = "the same, separated by tabs",
     .report = true},
    {.letter = 'o',
     .name = "output",
     .kind = MT_OPTION_TEXT,
     AT(output),
     .arg = "FILE",
     .not_for = MT_COMMAND_NO_TABLE,
     .help = "write to FILE, - is standard output; a report to .json, .csv or .tsv is written as "
             "such",
     .common = true,
     .report = true},
    {.letter = 'o',
     .name = "output",
     .kind = MT_OPTION_TEXT,
     AT(output),
     .arg = "FILE",
     .help = "write to FILE, - is standard output; a report to .json is written as such",
     .common = true,
     .report = true},
    {.letter = 'f',
     .name = "force",
     .kind = MT_OPTION_FLAG,
     AT(force),
     .help = "overwrite the output file if it exists",
     .report = true},
    {.letter = 'n',
     .name = "limit",
     .kind = MT_OPTION_INT,
     .idle_for = MT_COMMAND_NO_TABLE,
     AT(limit),
     .arg = "N",
     .min = 0,
     .max = 1e15,
     .help = "print at most N rows, 0 = all (default: what fits the screen, else 20)",
     .common = true,
     .report = true},
    {.name = "unit",
     .kind = MT_OPTION_CHOICE,
     .idle_for = MT_COMMAND_NO_FIGURES,
     AT(unit),
     .choices = UNITS,
     .help = "print all sizes in this unit (powers of 1024)",
     .report = true},
    {.name = "exact",
     .kind = MT_OPTION_FLAG,
     .idle_for = MT_COMMAND_NO_FIGURES,
     AT(exact),
     .help = "print the bytes of each size beside it",
     .common = true,
     .report = true},
    {.name = "stack",
     .kind = MT_OPTION_CUSTOM,
     .idle_for = MT_COMMAND_NO_FIGURES,
     AT(stack_lines),
     .arg = "N",
     .parse = parse_stack,
     .help = "print N lines of each call stack, or all: full",
     .report = true},
    {.name = "full-path",
     .kind = MT_OPTION_FLAG,
     .idle_for = MT_COMMAND_NO_FIGURES,
     AT(full_path),
     .help = "print whole file names in call stacks",
     .report = true},
    {.name = "all-frames",
     .kind = MT_OPTION_FLAG,
     .idle_for = MT_COMMAND_NO_FIGURES,
     AT(all_frames),
     .help = "show frames of PyTorch, Python and C++ internals too",
     .report = true},
    {.name = "color",
     .kind = MT_OPTION_CHOICE,
     AT(color),
     .choices = COLORS,
     .help = "colour the output"},
    {.name = "no-pager",
     .kind = MT_OPTION_FLAG,
     AT(no_pager),
     .help = "do not send long output through a pager",
     .report = true},
    {.letter = 'q', .name = "quiet", .kind = MT_OPTION_FLAG, AT(quiet), .help = "print no notes"},
    {.letter = 'v',
     .name = "verbose",
     .kind = MT_OPTION_COUNT,
     AT(verbose),
     .help = "print more detail; may be repeated",
     .report = true},
    {.letter = 'h', .kind = MT_OPTION_FLAG, AT(help_short), .help = "print a short help"},
    {.name = "help",
     .kind = MT_OPTION_FLAG,
     AT(help_all),
     .help = "print a help with all options",
     .common = true},
    {.letter = 'V',
     .name = "version",
     .kind = MT_OPTION_FLAG,
     AT(version),
     .help = "print the version"},
};

static const struct mt_option READING[] = {
    {.name = "salvage",
     .kind = MT_OPTION_FLAG,
     AT(salvage),
     .help = "of a damaged file, use what was whole before the damage (exit 4)"},
    {.name = "max-input",
     .kind = MT_OPTION_SIZE,
     AT(max_input),
     .arg = "SIZE",
     .help = "refuse input that unpacks to more, 0 = no limit (the default)"},
    {.name = "max-depth",
     .kind = MT_OPTION_INT,
     AT(max_depth),
     .arg = "N",
     .min = 1,
     .max = 1e6,
     .help = "refuse input nested deeper (default 1000)"},
    {.name = "max-events",
     .kind = MT_OPTION_U64,
     AT(max_events),
     .arg = "N",
     .min = 1,
     .max = 4294967295.0,
     .help = "refuse input with more events, or more copies of records that are named again "
             "(default 65536 copies and one for each 16 bytes)"},
};

const struct mt_option_group MT_GROUP_COMMON = {
    .title = "Output", .options = COMMON, .n = MT_COUNT(COMMON)};
const struct mt_option_group MT_GROUP_READING = {
    .title = "Reading", .options = READING, .n = MT_COUNT(READING)};
