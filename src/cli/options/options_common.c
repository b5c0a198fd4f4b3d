/* SPDX-License-Identifier: MIT */
/* The options that every verb has. */
#include <string.h>

#include "cli/command.h"

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

#define AT(field) offsetof(struct mt_common, field)

static const struct mt_option COMMON[] = {
    MT_OPT_FLAG(0, "json", AT(json), "print one JSON object instead of text", .common = true,
                .report = true),
    MT_OPT_FLAG(0, "csv", AT(csv), "print the table as CSV, sizes in bytes",
                .needs = MT_COMMAND_TABLE, .report = true),
    MT_OPT_FLAG(0, "tsv", AT(tsv), "the same, separated by tabs", .needs = MT_COMMAND_TABLE,
                .report = true),
    MT_OPT_TEXT(
        'o', "output", AT(output), "FILE",
        "write to FILE, - is standard output; a report to .json, .csv or .tsv is written as such",
        .needs = MT_COMMAND_TABLE, .common = true, .report = true),
    MT_OPT_TEXT('o', "output", AT(output), "FILE",
                "write to FILE, - is standard output; a report to .json is written as such",
                .common = true, .report = true),
    MT_OPT_FLAG('f', "force", AT(force), "overwrite the output file if it exists", .report = true),
    MT_OPT_INT('n', "limit", AT(limit), "N", 0, 1e15,
               "print at most N rows, 0 = all (default: what fits the screen, else 20)",
               .shapes = MT_COMMAND_TABLE, .common = true, .report = true),
    MT_OPT_CHOICE(0, "unit", AT(unit), UNITS, "print all sizes in this unit (powers of 1024)",
                  .shapes = MT_COMMAND_FIGURES, .report = true),
    MT_OPT_FLAG(0, "exact", AT(exact), "print the bytes of each size beside it",
                .shapes = MT_COMMAND_FIGURES, .common = true, .report = true),
    MT_OPT_CUSTOM(0, "stack", AT(stack_lines), "N", parse_stack,
                  "print N lines of each call stack, or all: full", .shapes = MT_COMMAND_FIGURES,
                  .report = true),
    MT_OPT_FLAG(0, "full-path", AT(full_path), "print whole file names in call stacks",
                .shapes = MT_COMMAND_FIGURES, .report = true),
    MT_OPT_FLAG(0, "all-frames", AT(all_frames),
                "show frames of PyTorch, Python and C++ internals too",
                .shapes = MT_COMMAND_FIGURES, .report = true),
    MT_OPT_CHOICE(0, "color", AT(color), COLORS, "colour the output"),
    MT_OPT_FLAG(0, "no-pager", AT(no_pager), "do not send long output through a pager",
                .report = true),
    MT_OPT_FLAG('q', "quiet", AT(quiet), "print no notes"),
    MT_OPT_COUNT('v', "verbose", AT(verbose), "print more detail; may be repeated", .report = true),
    MT_OPT_FLAG('h', NULL, AT(help_short), "print a short help"),
    MT_OPT_FLAG(0, "help", AT(help_all), "print a help with all options", .common = true),
    MT_OPT_FLAG('V', "version", AT(version), "print the version"),
};

static const struct mt_option READING[] = {
    MT_OPT_FLAG(0, "salvage", AT(salvage),
                "of a damaged file, use what was whole before the damage (exit 4)"),
    MT_OPT_SIZE(0, "max-input", AT(max_input), "SIZE",
                "refuse input that unpacks to more, 0 = no limit (the default)"),
    MT_OPT_INT(0, "max-depth", AT(max_depth), "N", 1, 1e6,
               "refuse input nested deeper (default 1000)"),
    MT_OPT_U64(0, "max-events", AT(max_events), "N", 1, 4294967295.0,
               "refuse input with more events (default: a million and one for each byte of FILE), "
               "more copies of records that are named again (65536 and one for each 16 bytes) or "
               "more lists, dictionaries and other values that are no records (a million and one "
               "for each 64 bytes, values 16 or 32)"),
};

const struct mt_option_group MT_GROUP_COMMON = {
    .title = "Output", .options = COMMON, .n = MT_COUNT(COMMON)};
const struct mt_option_group MT_GROUP_READING = {
    .title = "Reading", .options = READING, .n = MT_COUNT(READING)};
