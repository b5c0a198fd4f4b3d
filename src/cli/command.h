/* SPDX-License-Identifier: MIT */
/*
 * What a verb is. Each src/verbs/<name>/cmd.c exports one `const struct mt_command`, placed first
 * in its file; commands.c lists it. Parsing, range errors, --help, completion and the OPTIONS part
 * of the man page all come from the option tables.
 *
 * To add a verb: write verbs/<name>/cmd.c, add a line to commands.c, a page man/memtool-<name>.1
 * (its OPTIONS part is generated: make man), golden tests in tests/cli/<name>/.
 */
#ifndef MEMTOOL_CLI_COMMAND_H
#define MEMTOOL_CLI_COMMAND_H

#include <stddef.h>
#include <stdio.h>

#include "heap/stacks/filter.h"
#include "heap/walk/moment.h"
#include "print/report.h"
#include "support/error.h"

enum mt_option_kind {
    MT_OPTION_FLAG,   /* bool */
    MT_OPTION_COUNT,  /* int, + 1 each time */
    MT_OPTION_TEXT,   /* const char * */
    MT_OPTION_TEXTS,  /* struct mt_texts, repeatable */
    MT_OPTION_INT,    /* int64_t within [min, max] */
    MT_OPTION_NUMBER, /* double within [min, max] */
    MT_OPTION_SIZE,   /* uint64_t bytes within [min, max]; "64M" */
    MT_OPTION_CHOICE, /* int, index into choices */
    MT_OPTION_CUSTOM, /* `parse` does it */
    MT_OPTION_U64     /* uint64_t, decimal or 0x, within [min, max] */
};

struct mt_texts {
    const char **v; /* borrowed from argv */
    size_t n;
};

struct mt_option {
    char letter;      /* 0: none */
    const char *name; /* "at"; where it holds '-' or '_' the other spelling is accepted too */
    enum mt_option_kind kind;
    size_t offset;    /* of the field in its group's settings struct */
    const char *arg;  /* name of the argument for help, with its unit: "SIZE", "STEPS"; NULL for
                         flags, and for CHOICE when the choices themselves are to be shown */
    const char *help; /* one line, no full stop */
    const char *const *choices; /* NULL-terminated */
    const char *const *says;    /* what each choice means, for completion; NULL: nothing */
    double min, max;            /* both 0: no bounds */
    /* CUSTOM: parses `text` into the field; err->text says what is allowed. */
    enum mt_status (*parse)(void *field, const char *text, struct mt_error *err);
    bool common;     /* shown by -h; --help shows all */
    bool report;     /* a common one that shapes a report: not for MT_COMMAND_NO_REPORT verbs */
    unsigned needs;  /* MT_COMMAND_ flag of the verbs that have it; 0: all have it */
    unsigned shapes; /* flag of the verbs in which it does something; the others take it, but
                        their help leaves it out */
    bool memory;     /* SIZE: memory of a device or process, see mt_size_arg */
};

/* `max` of a SIZE option that has a least value alone. */
#define MT_ANY_SIZE 18446744073709551615.0

/* Reads the size that an option was given. `memory`: of a device or process, where a number without
 * a unit below 1 MiB is a unit forgotten. Errors: MT_USAGE, with a hint that shows the unit. */
enum mt_status mt_size_arg(const char *text, bool memory, uint64_t *bytes, struct mt_error *err)
    MT_NODISCARD;

/*
 * The entries of an option table, by kind. `at` is the offset of the field; the help comes last and
 * further fields of struct mt_option may follow it:
 *
 *     MT_OPT_FLAG('f', "force", AT(force), "overwrite FILE if it exists", .common = true),
 */
#define MT_OPT(kind_, letter_, name_, at, ...)                                                     \
    {                                                                                              \
        .kind = MT_OPTION_##kind_, .letter = (letter_), .name = (name_), .offset = (at),           \
        __VA_ARGS__                                                                                \
    }
#define MT_OPT_FLAG(letter, name, at, ...) MT_OPT(FLAG, letter, name, at, .help = __VA_ARGS__)
#define MT_OPT_COUNT(letter, name, at, ...) MT_OPT(COUNT, letter, name, at, .help = __VA_ARGS__)
#define MT_OPT_TEXT(letter, name, at, arg_, ...)                                                   \
    MT_OPT(TEXT, letter, name, at, .arg = (arg_), .help = __VA_ARGS__)
#define MT_OPT_TEXTS(letter, name, at, arg_, ...)                                                  \
    MT_OPT(TEXTS, letter, name, at, .arg = (arg_), .help = __VA_ARGS__)
#define MT_OPT_SIZE(letter, name, at, arg_, ...)                                                   \
    MT_OPT(SIZE, letter, name, at, .arg = (arg_), .help = __VA_ARGS__)
#define MT_OPT_CHOICE(letter, name, at, choices_, ...)                                             \
    MT_OPT(CHOICE, letter, name, at, .choices = (choices_), .help = __VA_ARGS__)
#define MT_OPT_CUSTOM(letter, name, at, arg_, parse_, ...)                                         \
    MT_OPT(CUSTOM, letter, name, at, .arg = (arg_), .parse = (parse_), .help = __VA_ARGS__)
/* Numbers within [least, most]. */
#define MT_OPT_INT(letter, name, at, arg_, least, most, ...)                                       \
    MT_OPT(INT, letter, name, at, .arg = (arg_), .min = (least), .max = (most), .help = __VA_ARGS__)
#define MT_OPT_U64(letter, name, at, arg_, least, most, ...)                                       \
    MT_OPT(U64, letter, name, at, .arg = (arg_), .min = (least), .max = (most), .help = __VA_ARGS__)
#define MT_OPT_NUMBER(letter, name, at, arg_, least, most, ...)                                    \
    MT_OPT(NUMBER, letter, name, at, .arg = (arg_), .min = (least), .max = (most),                 \
           .help = __VA_ARGS__)
/* -o of a verb that writes more than reports, to go before the common one. */
#define MT_OPT_OUTPUT(words)                                                                       \
    MT_OPT_TEXT('o', "output", offsetof(struct mt_common, output), "FILE", words, .common = true)

/* A named list of options that write into one settings struct (shared groups: options_common.c). */
struct mt_option_group {
    const char *title; /* heading in --help */
    const struct mt_option *options;
    size_t n;
    size_t offset; /* of the group's struct inside the command's settings */
    /* Of that struct: what it starts as, when not all zero, and freeing what options put into it.
     */
    void (*init)(void *group);
    void (*release)(void *group);
};

/* The group that every verb has; must be the first field of each command's settings. */
struct mt_common {
    bool help_short, help_all; /* handled before the verb runs */
    bool version;
    bool json;
    bool csv, tsv;
    int unit; /* enum mt_unit */
    bool exact;
    int64_t limit; /* -n; -1: not given */
    bool force;
    bool full_path;
    bool all_frames;
    int64_t stack_lines; /* --stack N, 0 = full; -1: not given */
    bool quiet;
    int verbose;
    int color; /* 0 auto, 1 always, 2 never */
    bool no_pager;
    bool salvage;
    uint64_t max_input; /* bytes, 0 = no limit */
    int64_t max_depth;
    uint64_t max_events;
    const char *output; /* -o */
};
extern const struct mt_option_group MT_GROUP_COMMON; /* of struct mt_common, offset 0 */
/* --salvage and the limits, of struct mt_common too; not for MT_COMMAND_NO_SNAPSHOT verbs. */
extern const struct mt_option_group MT_GROUP_READING;
extern const struct mt_option
    MT_FILTER_OPTIONS[];           /* of struct mt_filter; a verb makes a group of it */
enum { MT_FILTER_OPTIONS_N = 12 }; /* a constant, so that groups may be static */
void mt_filter_group_init(void *filter);
void mt_filter_group_release(void *filter);
/* The group of the filters for a verb whose settings have them in the field `filter`. */
#define MT_FILTER_GROUP(settings) MT_FILTER_GROUP_TITLED("Filters", settings)
#define MT_FILTER_GROUP_TITLED(heading, settings)                                                  \
    {                                                                                              \
        .title = heading, .options = MT_FILTER_OPTIONS, .n = MT_FILTER_OPTIONS_N,                  \
        .offset = offsetof(settings, filter), .init = mt_filter_group_init,                        \
        .release = mt_filter_group_release                                                         \
    }

/* The process as a verb sees it. */
struct mt_cli {
    FILE *out;
    FILE *err;
    bool out_is_terminal, err_is_terminal;
    bool out_color, err_color; /* colour is on, after --color and the environment */
    int width;                 /* columns of the terminal, 0 when out is none */
    int height;                /* its rows, 0 when out is none */
    int unit;                  /* enum mt_unit of MEMTOOL_UNIT, the default of --unit */
    uint64_t hash_seed;
    long pager; /* process id of the pager that reads `out`, 0: none */
    const struct mt_command *command;
    const char *lost; /* mt_source_lost of the file read last */
};

enum mt_command_flag {
    MT_COMMAND_PAGER = 1,       /* text on a terminal goes through the pager */
    MT_COMMAND_NO_SNAPSHOT = 2, /* reads no snapshot: no --salvage and limits in its help */
    MT_COMMAND_STARTS = 4,      /* starts another program: no limits that it would inherit */
    MT_COMMAND_NO_REPORT = 8,   /* prints no report: no --json, -n and their kin */
    MT_COMMAND_TABLE = 32,      /* prints a table: --csv and -n */
    MT_COMMAND_FIGURES = 64,    /* prints sizes of a snapshot or stacks: --unit and its kin */
    /* What -o writes besides text and JSON, see output/suffix.c. */
    MT_COMMAND_FLAME = 128,         /* flame graphs, or another picture */
    MT_COMMAND_MARKUP = 256,        /* a report as a page or in Markdown */
    MT_COMMAND_SNAPSHOT = 512,      /* snapshots, no report */
    MT_COMMAND_OWN_SUFFIXES = 1024, /* formats of its own, and it says which */
    MT_COMMAND_DUMP = 16 /* shows the dump alone: the segments of a salvaged file stay those
                            of the dump, though its trace may have lost its end */
};

/*
 * Precedence: a verb's own options hide common ones of the same letter or name.
 */
struct mt_command {
    const char *name;        /* "trace_plot"; "trace-plot" is accepted too */
    const char *summary;     /* one line for the list of verbs, no full stop */
    const char *usage;       /* "[options] FILE..." */
    const char *description; /* a paragraph for --help and the man page */
    const char *examples; /* two lines for -h: "memtool peak snap.pickle    who holds the most" */
    const struct mt_option_group *groups; /* the verb's own; MT_GROUP_COMMON comes by itself */
    size_t n_groups;
    size_t settings_size;             /* of a struct that begins with struct mt_common */
    void (*defaults)(void *settings); /* may be NULL: what the groups start with, else zero */
    int min_files, max_files;         /* max < 0: any number */
    unsigned flags;                   /* enum mt_command_flag */
    int (*run)(struct mt_cli *cli, void *settings, char **files, size_t n_files); /* exit code */
};

extern const struct mt_command *const MT_COMMANDS[]; /* NULL-terminated, in the order of --help */

/* ---- what verbs use ---- */

/* Reads the value of --time (time_range.c tells the language) into both ends, in us since the first
 * event or, with *absolute, since the Unix epoch. Errors: MT_USAGE. */
enum mt_status mt_time_range_parse(struct mt_str s, int64_t *min_us, int64_t *max_us,
                                   bool *absolute, struct mt_error *err) MT_NODISCARD;

/* `parse` of an option --at WHEN; the field is a struct mt_moment. */
enum mt_status mt_at_parse(void *field, const char *text, struct mt_error *err);

/* `parse` of an option --period EVENTS|NAME; the field is a struct mt_period_options. */
enum mt_status mt_period_parse(void *field, const char *text, struct mt_error *err);

/* Prints "memtool: FILE: text" and "hint: ..." to cli->err; returns the exit code of err->code. */
int mt_cli_fail(struct mt_cli *cli, const char *file, const struct mt_error *err);

/* "memtool: TEXT" for a call that is wrong in itself, and where to read more; returns 2. */
int mt_cli_usage(struct mt_cli *cli, const char *format, ...) MT_PRINTF(2, 3);

/* The same for a verb called with too few files; who pipes into it is told of "-". */
int mt_cli_missing(struct mt_cli *cli, const struct mt_command *c, int n_files);

/* Of a verb that starts a program, args[first]: refuses an option behind the program where no --
 * stands before it. 0, also for other verbs, or the exit code. */
int mt_cli_check_program(struct mt_cli *cli, const struct mt_command *c, char **args, int first);

/* "memtool: note: ..." unless -q. */
void mt_cli_note(struct mt_cli *cli, const struct mt_common *common, const char *format, ...)
    MT_PRINTF(3, 4);

/* Reads a snapshot with the limits, --salvage and progress display of `common`. On failure the
 * error was printed and the exit code comes back; 0 when whole; 4 when salvaged (use it, then exit
 * 4). */
int mt_cli_load(struct mt_cli *cli, const struct mt_common *common, const char *file,
                struct mt_snapshot *out);

/* The same from bytes that were read from `file` already: a pipe. */
int mt_cli_load_memory(struct mt_cli *cli, const struct mt_common *common, const char *file,
                       struct mt_str bytes, struct mt_snapshot *out);

/* Notes what a salvaged file lost, for people and in cli->lost; whether it is one. */
bool mt_cli_note_damage(struct mt_cli *cli, const struct mt_common *common, const char *file,
                        const struct mt_snapshot *s);

/* How to print, from the common options and the terminal; `file` as given. */
struct mt_report mt_cli_report(struct mt_cli *cli, const struct mt_common *common,
                               const char *file);

/* The value of an environment variable, NULL where it is not set. */
const char *mt_cli_environment(const char *name);

/* Output to a file: begins one that has no name yet (refuses to overwrite without force); commit
 * names it `path`, abandon lets it go. "-" and NULL are stdout. */
struct mt_cli_output {
    FILE *stream;
    const char *path; /* NULL: stdout */
    int nameless;     /* descriptor of a file without a name, -1: none */
    char *hidden;     /* name of a file that is to be renamed, NULL: none */
    bool special;     /* a pipe or device, written as it is */
    bool force;
};
enum mt_status mt_cli_output_open(struct mt_cli *cli, const struct mt_common *common,
                                  const char *path, struct mt_cli_output *o, struct mt_error *err)
    MT_NODISCARD;
enum mt_status mt_cli_output_commit(struct mt_cli_output *o, struct mt_error *err) MT_NODISCARD;
void mt_cli_output_abandon(struct mt_cli_output *o);

/* Whether two names are those of one file, which need not be there yet. NULL and "-" are none. */
bool mt_cli_is_one_file(const char *a, const char *b);

/* Opens -o (or stdout), and makes *r print there: as text, JSON or CSV, as `common` asks. Returns
 * 0, or the exit code after saying what is wrong. End with mt_cli_report_end. */
int mt_cli_report_begin(struct mt_cli *cli, const struct mt_common *common, const char *file,
                        struct mt_report *r, struct mt_cli_output *o);

/* Keeps the output when `exit_code` is below 2 or 4 (answers), else removes it. Returns exit_code,
 * or 5 after saying that the output could not be written. */
int mt_cli_report_end(struct mt_cli *cli, struct mt_cli_output *o, int exit_code);

#endif
