/* SPDX-License-Identifier: MIT */
/* The words on stderr: errors with a hint, wrong usage, notes. All text from outside is made safe.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/frame.h"
#include "support/mem.h"

static void put_safe(struct mt_cli *cli, const char *text)
{
    mt_text_put(&(struct mt_report){.out = cli->err}, text); /* there may be no memory left */
}

static void put_color(const struct mt_cli *cli, enum mt_color c)
{
    struct mt_report r = {.color = cli->err_color};
    fputs(c == MT_COLOR_NONE ? mt_color_end(&r) : mt_color_begin(&r, c), cli->err);
}

static void put_name(struct mt_cli *cli)
{
    fflush(cli->out); /* keep the order where both streams are one terminal */
    put_color(cli, MT_COLOR_HEAD);
    fputs("memtool:", cli->err);
    put_color(cli, MT_COLOR_NONE);
    fputc(' ', cli->err);
}

static bool is_there(const char *path, struct stat *st)
{
    return stat(path, st) == 0;
}

/* snap.pickle is asked for, snap.pickle.gz lies there; and the other way round. */
static void hint_twin(struct mt_error *err, const char *file)
{
    static const char *const ENDS[] = {".gz", ".pickle", ".pickle.gz", ".json", ".json.gz", ".log"};
    struct stat st;
    char twin[1024];
    size_t n = strlen(file);
    for (size_t i = 0; i < MT_COUNT(ENDS) && n + 16 < sizeof twin; i++) {
        size_t end = strlen(ENDS[i]);
        snprintf(twin, sizeof twin, "%s%s", file, ENDS[i]);
        if (!is_there(twin, &st) && n > end && strcmp(file + n - end, ENDS[i]) == 0) {
            snprintf(twin, sizeof twin, "%.*s", (int)(n - end), file);
        }
        if (is_there(twin, &st) && S_ISREG(st.st_mode)) {
            (void)mt_hint(err, "did you mean %.220s?", twin);
            return;
        }
    }
}

/* What helps with an input that cannot be read, whichever reader met it. */
static void hint_input(struct mt_error *err, const char *file)
{
    struct stat st;
    bool input = err->code == MT_IO && (strncmp(err->text, "cannot open", 11) == 0 ||
                                        strncmp(err->text, "cannot read", 11) == 0);
    if (!input || err->hint[0]) {
        return;
    }
    if (!is_there(file, &st)) {
        hint_twin(err, file);
    } else if (S_ISDIR(st.st_mode)) {
        size_t n = strlen(file);
        while (n > 1 && file[n - 1] == '/') {
            n--;
        }
        n = n > 200 ? 200 : n;
        (void)mt_hint(err, "name the files in it: %.*s%s*", (int)n, file,
                      file[n - 1] == '/' ? "" : "/");
    }
}

int mt_cli_fail(struct mt_cli *cli, const char *file, const struct mt_error *error)
{
    struct mt_error said = *error, *err = &said;
    if (file) {
        hint_input(err, file);
    }
    put_name(cli);
    if (file) {
        const char *stream = err->code == MT_OUTPUT ? "standard output" : "standard input";
        put_safe(cli, file[0] == '-' && !file[1] ? stream : file);
        fputs(": ", cli->err);
    }
    put_color(cli, MT_COLOR_BAD);
    put_safe(cli, err->text);
    put_color(cli, MT_COLOR_NONE);
    fputc('\n', cli->err);
    if (err->hint[0]) {
        fputs("hint: ", cli->err);
        put_safe(cli, err->hint);
        fputc('\n', cli->err);
    }
    return mt_status_exit_code(err->code);
}

int mt_cli_usage(struct mt_cli *cli, const char *format, ...)
{
    struct mt_error err;
    char text[sizeof err.text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    mt_fail(&err, MT_USAGE, MT_NO_OFFSET, "%s", text);
    if (cli->command) {
        mt_hint(&err, "memtool %s --help lists the options", cli->command->name);
    } else {
        mt_hint(&err, "memtool --help lists the verbs");
    }
    return mt_cli_fail(cli, NULL, &err);
}

static bool is_pipe(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode);
}

int mt_cli_missing(struct mt_cli *cli, const struct mt_command *c, int n_files)
{
    struct mt_error err;
    (void)mt_fail(&err, MT_USAGE, MT_NO_OFFSET, "%s: missing argument: memtool %s %s", c->name,
                  c->name, c->usage);
    if (n_files == 0 && is_pipe(STDIN_FILENO)) {
        mt_hint(&err, "- names standard input: ... | memtool %s -", c->name);
    } else {
        mt_hint(&err, "memtool %s --help lists the options", c->name);
    }
    return mt_cli_fail(cli, NULL, &err);
}

/* Without a -- nobody can tell whose an option behind the program is: train.py too takes -o. */
int mt_cli_check_program(struct mt_cli *cli, const struct mt_command *c, char **args, int first)
{
    struct mt_error err;
    const char *program = args[first], *option = NULL;
    bool apart = !(c->flags & MT_COMMAND_STARTS) || strcmp(args[first - 1], "--") == 0;
    for (int i = first + 1; program && !apart && !option && args[i]; i++) {
        option = args[i][0] == '-' ? args[i] : NULL;
    }
    if (!option) {
        return 0;
    }
    (void)mt_fail(&err, MT_USAGE, MT_NO_OFFSET,
                  "%s: '%.40s' behind the program: whose option is it?", c->name, option);
    (void)mt_hint(&err, "put -- before the program: memtool %s [options] -- %.60s ...", c->name,
                  program);
    return mt_cli_fail(cli, NULL, &err);
}

void mt_cli_note(struct mt_cli *cli, const struct mt_common *common, const char *format, ...)
{
    if (common->quiet) {
        return;
    }
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    size_t room = n < 0 ? 1 : (size_t)n + 1;
    char *text = mt_cli_realloc(NULL, room, 1); /* a name in it is told in full */
    text[0] = '\0';
    va_start(args, format);
    vsnprintf(text, room, format, args);
    va_end(args);
    put_name(cli);
    fputs("note: ", cli->err);
    put_safe(cli, text);
    fputc('\n', cli->err);
    mt_mem_free(text);
}
