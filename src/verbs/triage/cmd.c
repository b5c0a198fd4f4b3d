/* SPDX-License-Identifier: MIT */
/* memtool triage: why did it die, and what to try first. Logs and snapshots, in any mixture. */
#include <errno.h>

#include "cli/card_figures.h"
#include "cli/slurp.h"
#include "print/peak_label.h"
#include "snapshot/read/read.h"
#include "snapshot/read/unpacked.h"
#include "verbs/triage/print.h"

struct triage_settings {
    struct mt_common common;
    struct mt_card_settings card;
    bool exit_code;
};

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files);

static const struct mt_option OPTIONS[] = {
    MT_OPT_FLAG(0, "exit-code", offsetof(struct triage_settings, exit_code),
                "exit with 1 when an out-of-memory event was found", .common = true),
};

static const struct mt_option_group GROUPS[] = {
    {.title = "Options", .options = OPTIONS, .n = MT_COUNT(OPTIONS)},
    MT_CARD_GROUP(struct triage_settings),
};

const struct mt_command mt_cmd_triage = {
    .name = "triage",
    .summary = "why did it die, and what to try first",
    .usage = "[options] LOG|SNAPSHOT...",
    .description =
        "Reads logs as they are (any size, packed with gzip or not, colours, rank prefixes, "
        "wrapped and cut lines; - is standard input), finds the out-of-memory events of PyTorch "
        "and of other frameworks, and says what held the memory, why the request did not fit, and "
        "what to try first. Look-alikes (host memory, /dev/shm, disk, SIGKILL) are told apart. "
        "With a snapshot it also names the stacks that hold the memory.",
    .examples = "memtool triage train.log                  the verdict and the first three steps\n"
                "memtool triage train.log oom.pickle       the same, with what a snapshot shows\n"
                "memtool triage -o report.html train.log   a page to hand on; .md: Markdown",
    .groups = GROUPS,
    .n_groups = MT_COUNT(GROUPS),
    .flags = MT_COMMAND_FIGURES | MT_COMMAND_MARKUP,
    .settings_size = sizeof(struct triage_settings),
    .min_files = 1,
    .max_files = -1,
    .run = run,
};

/* Bytes looked at to tell a snapshot from a log. */
enum { PEEK_BYTES = 65536 };

/* Exit codes. */
enum { UNREADABLE = 3, PARTLY = 4 };

static bool holds(const unsigned char *p, size_t n, const char *word)
{
    return mt_str_find((struct mt_str){(const char *)p, n}, mt_str_from(word)) != SIZE_MAX;
}

/* Pickle, zip (and xz, zstd, which the reader names); JSON and HTML only with a snapshot's
 * keys in it, for logs may be either. */
static bool looks_like_snapshot(const unsigned char *p, size_t n)
{
    while (n > 0 && (*p == '\n' || *p == ' ' || *p == '\r')) {
        p++;
        n--;
    }
    if (n < 2) {
        return false;
    }
    if ((p[0] == 0x80 && p[1] <= 5) || mt_is_gzip(p, n) || (p[0] == 'P' && p[1] == 'K') ||
        (p[0] == 0xfd && p[1] == '7') || (p[0] == 0x28 && p[1] == 0xb5)) {
        return true;
    }
    if (n > 3 && ((p[0] == '(' && (p[1] == 'd' || p[1] == 'l') && p[2] == 'p' && p[3] == '0') ||
                  ((p[0] == '}' || p[0] == ']') && p[1] == 'q' && p[2] < ' '))) {
        return true; /* protocols 0 and 1 have no magic number: "(dp0", "}q\0" */
    }
    if (p[0] == '<' && holds(p, n, "<html")) {
        return holds(p, n, "snapshot") && !holds(p, n, "ut of memory");
    }
    bool keys = holds(p, n, "\"device_traces\"") || holds(p, n, "\"segments\"") ||
                holds(p, n, "\"total_size\"");
    return (p[0] == '{' || p[0] == '[') && keys;
}

static int fail_nomem(struct mt_cli *cli)
{
    struct mt_error err;
    (void)mt_fail_nomem(&err);
    return mt_cli_fail(cli, NULL, &err);
}

static int fail_io(struct mt_cli *cli, const char *file, const char *what)
{
    struct mt_error err;
    if (errno == ENOMEM) {
        return fail_nomem(cli);
    }
    (void)mt_fail(&err, MT_IO, MT_NO_OFFSET, "%s: %s", what, strerror(errno));
    return mt_cli_fail(cli, file, &err);
}

/* Reads on from where `in` stands; `read` bytes were taken into the triage before. */
static enum mt_status feed_rest(struct mt_triage *t, FILE *in, struct mt_error *err)
{
    for (;;) {
        size_t room;
        void *space = mt_triage_space(t, &room);
        size_t n = fread(space, 1, room, in);
        if (n == 0) {
            return mt_triage_end(t, err);
        }
        MT_TRY(mt_triage_commit(t, n, err));
    }
}

static int fail_empty(struct mt_cli *cli, const char *file)
{
    static const char *const ENDS[] = {".pickle", ".pkl", ".gz", ".json", ".html", ".zip"};
    struct mt_error err;
    bool snapshot = false;
    for (size_t i = 0; i < MT_COUNT(ENDS); i++) {
        snapshot |= mt_str_ends(mt_str_from(file), mt_str_from(ENDS[i]));
    }
    (void)mt_fail(&err, MT_FORMAT, MT_NO_OFFSET, "the input is empty");
    (void)mt_hint(&err, snapshot ? "was the job killed before _dump_snapshot() had written it?"
                                 : "errors go to the standard error: JOB >train.log 2>&1");
    return mt_cli_fail(cli, file, &err);
}

/* A log that was packed whole, or as far as the job came. */
static int read_packed_log(struct mt_cli *cli, struct mt_triage *t, const char *file, FILE *in,
                           const unsigned char *peeked, size_t n)
{
    struct mt_error err, end_err;
    struct mt_unpacked *u = mt_unpacked_new(peeked, n, in, &err);
    enum mt_status status = u ? MT_OK : err.code;
    size_t got = 1;
    uint64_t total = 0;
    mt_triage_name(t, file);
    while (status == MT_OK && got > 0) {
        size_t room;
        void *space = mt_triage_space(t, &room);
        status = mt_unpacked_read(u, space, room, &got, &err);
        total += got;
        if (got > 0 && mt_triage_commit(t, got, &end_err) != MT_OK) {
            err = end_err;
            status = err.code;
            total = 0; /* no log: nothing of it counts */
        }
    }
    mt_unpacked_free(u);
    if (status == MT_OK && total == 0) {
        return fail_empty(cli, file);
    }
    if (mt_triage_end(t, &end_err) != MT_OK) {
        return mt_cli_fail(cli, file, &end_err);
    }
    int code = status == MT_OK ? 0 : mt_cli_fail(cli, file, &err);
    return code == UNREADABLE && total > 0 ? PARTLY : code;
}

static int read_log(struct mt_cli *cli, struct mt_triage *t, const char *file, FILE *in,
                    const unsigned char *peeked, size_t n)
{
    struct mt_error err;
    if (n == 0) {
        return fail_empty(cli, file);
    }
    mt_triage_name(t, file);
    enum mt_status status = mt_triage_feed(t, peeked, n, &err);
    if (status == MT_OK) {
        status = feed_rest(t, in, &err);
    }
    if (status == MT_OK && ferror(in)) {
        return fail_io(cli, file, "cannot read");
    }
    return status == MT_OK ? 0 : mt_cli_fail(cli, file, &err);
}

/* The snapshots of one call; they must outlive the decision. */
struct inputs {
    struct mt_snapshot *snapshots;
    size_t n;
    const char *first; /* file that was read, or NULL */
    int worst;         /* exit code: 4 when something could not be read, or not wholly */
};

/* `in` has given its first `n` bytes already: a pipe cannot be read again from its beginning. */
static int load_pipe(struct mt_cli *cli, const struct mt_common *common, const char *file, FILE *in,
                     const unsigned char *peeked, size_t n, struct mt_snapshot *s)
{
    struct mt_error err;
    struct mt_buf text = {0};
    mt_buf_add(&text, peeked, n);
    enum mt_status status = mt_cli_slurp(in, MT_SLURP_MOST, &text, &err);
    int code = status == MT_OK ? mt_cli_load_memory(cli, common, file, mt_buf_view(&text), s)
                               : mt_cli_fail(cli, file, &err);
    mt_buf_release(&text);
    return code;
}

static int read_snapshot(struct mt_cli *cli, const struct mt_common *common, struct mt_triage *t,
                         const char *file, FILE *in, const unsigned char *peeked, size_t n,
                         struct inputs *inputs)
{
    struct mt_error err;
    struct mt_snapshot *s = &inputs->snapshots[inputs->n];
    int code = mt_cli_reads_once(file) ? load_pipe(cli, common, file, in, peeked, n, s)
                                       : mt_cli_load(cli, common, file, s);
    if (code != 0 && code != PARTLY) {
        return code;
    }
    inputs->n++;
    enum mt_status status = mt_triage_snapshot(t, s, file, &err);
    return status == MT_OK ? code : mt_cli_fail(cli, file, &err);
}

/* Of packed bytes what they unpack to decides. */
static enum mt_status find_packed_log(const unsigned char *p, size_t n, bool *is_log,
                                      struct mt_error *err)
{
    size_t unpacked = 0;
    *is_log = false;
    if (!mt_is_gzip(p, n)) {
        return MT_OK;
    }
    unsigned char *head = mt_mem_alloc(PEEK_BYTES, 1);
    enum mt_status status =
        head ? mt_unpacked_head(p, n, head, PEEK_BYTES, &unpacked, err) : mt_fail_nomem(err);
    *is_log = status == MT_OK && unpacked > 0 && !looks_like_snapshot(head, unpacked);
    mt_mem_free(head);
    return status;
}

static int read_peeked(struct mt_cli *cli, const struct mt_common *common, struct mt_triage *t,
                       const char *file, FILE *in, const unsigned char *peek, size_t n,
                       struct inputs *inputs)
{
    struct mt_error err;
    bool packed;
    if (find_packed_log(peek, n, &packed, &err) != MT_OK) {
        return mt_cli_fail(cli, file, &err);
    }
    return packed                         ? read_packed_log(cli, t, file, in, peek, n)
           : looks_like_snapshot(peek, n) ? read_snapshot(cli, common, t, file, in, peek, n, inputs)
                                          : read_log(cli, t, file, in, peek, n);
}

static int read_input(struct mt_cli *cli, const struct mt_common *common, struct mt_triage *t,
                      const char *file, struct inputs *inputs)
{
    static const char STDIN[] = "-";
    bool is_stdin = strcmp(file, STDIN) == 0;
    unsigned char *peek = mt_mem_alloc(PEEK_BYTES, 1);
    FILE *in = is_stdin ? stdin : fopen(file, "rb");
    int code;
    if (!peek || !in) {
        code = in ? fail_nomem(cli) : fail_io(cli, file, "cannot open");
    } else {
        size_t n = fread(peek, 1, PEEK_BYTES, in);
        if (ferror(in)) {
            code = fail_io(cli, file, "cannot read");
        } else {
            code = read_peeked(cli, common, t, file, in, peek, n, inputs);
        }
    }
    if (in && !is_stdin) {
        fclose(in);
    }
    mt_mem_free(peek);
    return code;
}

static void stack_label(void *ctx, struct mt_buf *out, const struct mt_snapshot *s, uint32_t stack)
{
    mt_stack_label(out, s, stack, ctx);
}

static void line_label(void *ctx, struct mt_buf *out, const struct mt_snapshot *s,
                       const struct mt_peak_row *row)
{
    mt_peak_row_label(out, ctx, s, MT_BY_LINE, row);
}

/* With the pictures of the snapshots that belong to the event, in the order in which both were
 * read. */
static enum mt_status print_page(const struct mt_report *r, const struct mt_triage_result *x,
                                 bool html, const struct inputs *inputs, struct mt_error *err)
{
    MT_VEC(struct mt_triage_picture) pictures = {0};
    enum mt_status status = MT_OK;
    for (size_t i = 0; status == MT_OK && i < x->n_shots && i < inputs->n; i++) {
        const struct mt_triage_shot *shot = &x->shots[i];
        struct mt_triage_picture p = {&inputs->snapshots[i], shot->file, shot->device};
        bool shown = shot->device >= 0 && shot->belongs;
        status = !shown || mt_vec_push(&pictures, p) ? MT_OK : mt_fail_nomem(err);
    }
    if (status == MT_OK) {
        struct mt_triage_page page = {html, pictures.v, pictures.n};
        status = mt_report_triage_page(r, x, &page, err);
    }
    mt_vec_release(&pictures);
    return status;
}

/* What the name of the output asks for: a page where it ends in .html or .md. */
static enum mt_status print(const struct mt_report *r, const char *output,
                            const struct mt_triage_result *x, const struct inputs *inputs,
                            struct mt_error *err)
{
    struct mt_str name = mt_str_from(output ? output : "");
    bool html = mt_str_ends(name, MT_STR(".html")) || mt_str_ends(name, MT_STR(".htm"));
    if (r->json) {
        return mt_report_triage_json(r, x, err);
    }
    if (html || mt_str_ends(name, MT_STR(".md"))) {
        return print_page(r, x, html, inputs, err);
    }
    return mt_report_triage_text(r, x, err);
}

static int report(struct mt_cli *cli, const struct triage_settings *x, struct mt_triage *t,
                  const struct inputs *inputs)
{
    const char *file = inputs->first;
    struct mt_triage_result result;
    struct mt_error err;
    struct mt_report r;
    struct mt_cli_output out;
    int code = mt_cli_report_begin(cli, &x->common, file, &r, &out);
    if (code) {
        return code;
    }
    enum mt_status status = mt_triage_decide(t, &result, &err);
    if (status == MT_OK) {
        status = print(&r, x->common.output, &result, inputs, &err);
    }
    if (status != MT_OK) {
        code = mt_cli_fail(cli, file, &err);
    } else {
        bool event = result.verdict != MT_VERDICT_NOT_OOM && result.verdict != MT_VERDICT_UNKNOWN;
        code = x->exit_code && event ? 1 : inputs->worst;
    }
    return mt_cli_report_end(cli, &out, code);
}

/* A job that dies leaves a log and half a snapshot: what can be read gives the verdict. Returns
 * nonzero when nothing could be, or when memory ran out. */
static int read_all(struct mt_cli *cli, const struct mt_common *common, struct mt_triage *t,
                    char **files, size_t n_files, struct inputs *inputs)
{
    int failed = 0;
    for (size_t i = 0; i < n_files; i++) {
        int code = read_input(cli, common, t, files[i], inputs);
        if (code == UNREADABLE) {
            failed = code;
        } else if (code != 0 && code != PARTLY) {
            return code;
        } else {
            inputs->worst = code ? code : inputs->worst;
            inputs->first = inputs->first ? inputs->first : files[i];
        }
    }
    if (failed && inputs->first) {
        inputs->worst = PARTLY;
        mt_cli_note(cli, common, "the verdict rests on what could be read");
    }
    return inputs->first ? 0 : failed;
}

static int triage(struct mt_cli *cli, const struct triage_settings *x, struct mt_triage *t,
                  char **files, size_t n_files)
{
    struct inputs inputs = {.snapshots = mt_mem_zalloc(n_files, sizeof *inputs.snapshots)};
    int code = t && inputs.snapshots ? 0 : fail_nomem(cli);
    if (code == 0) {
        code = read_all(cli, &x->common, t, files, n_files, &inputs);
    }
    if (code == 0) {
        code = report(cli, x, t, &inputs);
    }
    for (size_t i = 0; i < inputs.n; i++) {
        mt_snapshot_release(&inputs.snapshots[i]);
    }
    mt_mem_free(inputs.snapshots);
    return code;
}

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files)
{
    const struct triage_settings *x = settings;
    struct mt_report words = mt_cli_report(cli, &x->common, files[0]);
    struct mt_card_input card;
    int code = mt_card_input_read(cli, &x->card, &card);
    if (code == 0) {
        struct mt_triage_options options = {.device_used = x->card.device_used,
                                            .smi = card.figures.smi,
                                            .stack_label = stack_label,
                                            .line_label = line_label,
                                            .ctx = &words};
        struct mt_triage *t = mt_triage_new(&options);
        code = triage(cli, x, t, files, n_files);
        mt_triage_free(t);
    }
    mt_card_input_release(&card);
    return code;
}
