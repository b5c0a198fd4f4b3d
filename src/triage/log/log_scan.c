/* SPDX-License-Identifier: MIT */
/*
 * The outer loop over a log of any size. A buffer of 1 MiB slides over the input and keeps the last
 * 16 KiB behind the reading point. One pass of the word search skips to the next line that holds
 * any word of interest; only such lines, and those that follow an open message, are cleaned and
 * looked at. Everything else costs a search for newlines.
 */
#include "support/mem.h"
#include "triage/log/log.h"

/* Words of which every line of interest holds at least one, in raw text: no blanks may stand in
 * them, for a wrapped or coloured line has others. Six letters and more keep the search fast. */
static const struct mt_str RAW_WORDS[] = {
    MT_STR_INIT("memory"),          MT_STR_INIT("alloca"),
    MT_STR_INIT("alloc_"),          MT_STR_INIT("malloc"),
    MT_STR_INIT("calloc"),          MT_STR_INIT("to alloc"),
    MT_STR_INIT("alloc fail"),      MT_STR_INIT("memalloc"),
    MT_STR_INIT("exhaust"),         MT_STR_INIT("killed"),
    MT_STR_INIT("_status_"),        MT_STR_INIT("out_of_"),
    MT_STR_INIT("outofm"),          MT_STR_INIT("cuda err"),
    MT_STR_INIT("cudaerror"),       MT_STR_INIT("cuda fail"),
    MT_STR_INIT("hiperror"),        MT_STR_INIT("hip err"),
    MT_STR_INIT("max mem"),         MT_STR_INIT("max_mem"),
    MT_STR_INIT("gpu mem"),         MT_STR_INIT("gpu_mem"),
    MT_STR_INIT("gpu ram"),         MT_STR_INIT("peak_mem"),
    MT_STR_INIT("peak mem"),        MT_STR_INIT("mem usage"),
    MT_STR_INIT("mem_usage"),       MT_STR_INIT("avail mem"),
    MT_STR_INIT("device_mem"),      MT_STR_INIT("max_ma"),
    MT_STR_INIT("gb_free"),         MT_STR_INIT("signal 9"),
    MT_STR_INIT("sigkill"),         MT_STR_INIT("exitcode"),
    MT_STR_INIT("code 137"),        MT_STR_INIT("code: 137"),
    MT_STR_INIT("code: -9"),        MT_STR_INIT("exit code"),
    MT_STR_INIT("bus error"),       MT_STR_INIT("no space"),
    MT_STR_INIT("write failed"),    MT_STR_INIT("inline_container"),
    MT_STR_INIT("quota ex"),        MT_STR_INIT("oom_kill"),
    MT_STR_INIT("oom-kill"),        MT_STR_INIT("oomkill"),
    MT_STR_INIT("/dev/shm"),        MT_STR_INIT("shared mem"),
    MT_STR_INIT("busy or"),         MT_STR_INIT("device-side"),
    MT_STR_INIT("misaligned"),      MT_STR_INIT("unspecified launch"),
    MT_STR_INIT("kernel image"),    MT_STR_INIT("ecc error"),
    MT_STR_INIT("out of res"),      MT_STR_INIT("resources requested"),
    MT_STR_INIT("shared data"),     MT_STR_INIT("buffer size"),
    MT_STR_INIT("buffer of size"),  MT_STR_INIT("in-use"),
    MT_STR_INIT("bfc_arena"),       MT_STR_INIT("cache blocks"),
    MT_STR_INIT("kv cache is"),     MT_STR_INIT("driver version"),
    MT_STR_INIT("device ordinal"),  MT_STR_INIT("mib / "),
    MT_STR_INIT("pool size"),       MT_STR_INIT("rmm failure"),
    MT_STR_INIT("maxinuse"),        MT_STR_INIT("[errno 12]"),
    MT_STR_INIT("[errno 28]"),      MT_STR_INIT("exited unexpectedly"),
    MT_STR_INIT("gpus are av"),     MT_STR_INIT("kv cache"),
    MT_STR_INIT("exit status"),     MT_STR_INIT("not_initialized"),
    MT_STR_INIT("not initialized"), MT_STR_INIT("paging file"),
    MT_STR_INIT("dst tensor"),      MT_STR_INIT("runtime error"),
    MT_STR_INIT("hip fail"),        MT_STR_INIT("cudasuccess"),
    MT_STR_INIT("out of "),         MT_STR_INIT("insufficient"),
    MT_STR_INIT("not enough"),      MT_STR_INIT("] mem="),
    MT_STR_INIT(", mem="),          MT_STR_INIT(", mem:"),
    MT_STR_INIT("| mem:"),          MT_STR_INIT(", mem "),
    MT_STR_INIT("  mem:"),          MT_STR_INIT(" mem "),
    MT_STR_INIT(" vram "),          MT_STR_INIT("to reserve"),
    MT_STR_INIT("not reserve"),     MT_STR_INIT("vram: "),
    MT_STR_INIT("internal assert"), MT_STR_INIT("temporary_buffer"),
    MT_STR_INIT("error 1455"),      MT_STR_INIT("return code"),
    MT_STR_INIT("available ram"),   MT_STR_INIT("on resource"),
    MT_STR_INIT("cudnn algorithm"), MT_STR_INIT("an engine to"),
    MT_STR_INIT("cudnn failed"),    MT_STR_INIT("to initialize"),
    MT_STR_INIT("falling back"),    MT_STR_INIT("memoria"),
    MT_STR_INIT("speicher"),        MT_STR_INIT("显存"),
    MT_STR_INIT("内存不足"),        MT_STR_INIT("記憶體"),
    MT_STR_INIT("メモリ"),          MT_STR_INIT("메모리"),
    MT_STR_INIT("памят"),           MT_STR_INIT("insuffisante"),
    MT_STR_INIT("ficiente"),        MT_STR_INIT("页面文件"),
    MT_STR_INIT("подкачки"),
};

static const struct mt_str MARKS[MT_MARK_COUNT] = {
    [MT_MARK_SUMMARY] = MT_STR_INIT("pytorchcudamemorysummary"),
    [MT_MARK_CONF] = MT_STR_INIT("_alloc_conf"),
};

/* Lines below a header of columns that may be its rows. */
enum { COLUMN_ROWS = 200 };

/* Squeezed bytes of a line that are put in front of the next: more than the longest phrase. */
#define TAIL_BYTES 128

static enum mt_status make_phrases(struct mt_log *log, struct mt_error *err)
{
    size_t n = MT_LOG_FORMATS_N + MT_STEP_PHRASES_N + MT_MARK_COUNT, at = 0;
    log->phrase_list = mt_mem_alloc(n, sizeof *log->phrase_list);
    if (!log->phrase_list) {
        return mt_fail_nomem(err);
    }
    for (size_t i = 0; i < MT_LOG_FORMATS_N; i++) {
        MT_ASSERT(MT_LOG_FORMATS[i].phrase.n < MT_LOG_PHRASE_MAX);
        log->phrase_list[at++] = MT_LOG_FORMATS[i].phrase;
    }
    for (size_t i = 0; i < MT_STEP_PHRASES_N; i++) {
        log->phrase_list[at++] = MT_STEP_PHRASES[i].phrase;
    }
    for (size_t i = 0; i < MT_MARK_COUNT; i++) {
        log->phrase_list[at++] = MARKS[i];
    }
    return mt_multi_init(&log->phrases, log->phrase_list, n, err);
}

enum mt_status mt_log_init(struct mt_log *log, struct mt_arena *arena, struct mt_error *err)
{
    *log = (struct mt_log){.arena = arena, .file = "", .line = 1};
    log->buffer = mt_mem_alloc(MT_LOG_BUFFER, 1);
    if (!log->buffer) {
        return mt_fail_nomem(err);
    }
    MT_TRY(make_phrases(log, err));
    MT_TRY(mt_multi_init(&log->raw, RAW_WORDS, MT_COUNT(RAW_WORDS), err));
    return mt_multi_init(&log->noted, MT_NOTE_WORDS, MT_NOTE_WORDS_N, err);
}

void mt_log_release(struct mt_log *log)
{
    mt_mem_free(log->buffer);
    mt_mem_free(log->phrase_list);
    mt_multi_release(&log->raw);
    mt_multi_release(&log->phrases);
    mt_multi_release(&log->noted);
    mt_log_line_release(&log->now);
    mt_buf_release(&log->tail);
    mt_buf_release(&log->joined);
    for (size_t i = 0; i < MT_LOG_MESSAGES; i++) {
        mt_buf_release(&log->messages[i].text);
        mt_buf_release(&log->messages[i].first);
    }
    mt_incidents_release(&log->incidents);
    mt_steps_release(&log->steps);
    mt_tables_release(&log->tables);
    mt_vec_release(&log->confs);
    mt_vec_release(&log->notes);
}

/* ---- lines ---- */

/* "16500mib|" ends a row of nvidia-smi's processes. */
static bool ends_process(struct mt_str s)
{
    return mt_str_ends(s, MT_STR("mib|")) || mt_str_ends(s, MT_STR("mib"));
}

/* "mib/", as rows of nvidia-smi have it: the slash is the rare letter. */
static bool has_mib_slash(struct mt_str s)
{
    const char *end = s.p + s.n;
    for (const char *p = s.p; p < end && (p = memchr(p, '/', (size_t)(end - p))); p++) {
        if (p - s.p >= 3 && memcmp(p - 3, "mib", 3) == 0) {
            return true;
        }
    }
    return false;
}

/* The tables that a program prints again and again are step prints, too. */
static void take_table(struct mt_log *log)
{
    const struct mt_summary_table *t = &log->tables.summaries.v[log->tables.summaries.n - 1];
    if (t->present >> MT_SUMMARY_ALLOCATED & 1u && log->tables.counted < log->tables.summaries.n) {
        log->tables.counted = log->tables.summaries.n;
        log->no_memory |=
            !mt_steps_table(&log->steps, t->bytes[MT_SUMMARY_ALLOCATED][MT_SUMMARY_CURRENT],
                            log->now.number, log->now.origin);
    }
}

/* Rows below a header of columns, or the header itself. */
static void take_column(struct mt_log *log)
{
    struct mt_steps *s = &log->steps;
    size_t column = mt_str_find(log->now.squeezed, MT_STR("gpu_mem")) == SIZE_MAX
                        ? SIZE_MAX
                        : mt_steps_column(log->now.clean);
    if (column != SIZE_MAX) {
        s->column = column;
        s->rows_left = COLUMN_ROWS;
    } else if (s->column > 0) {
        log->no_memory |= !mt_steps_row(s, log->now.clean, log->now.number, log->now.origin);
        s->column = s->rows_left-- > 0 ? s->column : 0;
    }
}

static void look_at_line(struct mt_log *log, struct mt_str raw, struct mt_str before)
{
    struct mt_log_line *line = &log->now;
    line->number = log->line;
    /* the wrapped rest of a line may begin with digits as well: labels stand on every line or none
     */
    bool adjacent = log->tail_line > 0 && log->tail_line + 1 == line->number;
    line->may_be_labelled = !adjacent || log->tail_labelled;
    mt_log_line_set(line, raw);
    if (line->origin == 0 && adjacent) {
        line->origin = log->tail_origin; /* the wrapped rest of a line has no prefix of its own */
        line->rank = log->tail_rank;
    }
    log->no_memory |= line->text.failed || line->tight.failed;
    unsigned marks = mt_log_message_line(log, before);
    take_column(log);
    mt_chunks_take(&log->chunks, log->file, line->squeezed);
    if (log->tables.in_summary) {
        log->no_memory |= !mt_tables_row(&log->tables, line->clean);
        take_table(log);
    }
    if (marks >> MT_MARK_SUMMARY & 1u) {
        log->no_memory |= !mt_tables_title(&log->tables, line->squeezed, line->number);
    }
    if (marks >> MT_MARK_CONF & 1u) {
        mt_log_conf_take(log, line->clean);
    }
    log->tables.smi_left -= log->tables.smi_left > 0;
    if (has_mib_slash(line->squeezed)) {
        log->no_memory |=
            !mt_tables_smi(&log->tables, line->squeezed, mt_buf_view(&log->tail), line->number);
    } else if (log->tables.smi_left > 0 && ends_process(line->squeezed)) {
        log->no_memory |= !mt_tables_process(&log->tables, line->clean, log->arena);
    }
}

static void keep_tail(struct mt_log *log)
{
    struct mt_str s = log->now.squeezed;
    size_t skip = s.n > TAIL_BYTES ? s.n - TAIL_BYTES : 0;
    mt_buf_reset(&log->tail);
    mt_buf_add(&log->tail, s.p + skip, s.n - skip);
    log->tail_line = log->now.number;
    log->tail_origin = log->now.origin;
    log->tail_rank = log->now.rank;
    log->tail_labelled = log->now.labelled;
    log->tail_told = log->told;
    log->tail_seen = true;
}

static bool is_busy(const struct mt_log *log)
{
    return log->n_open > 0 || log->tables.in_summary || log->follow || log->steps.column > 0 ||
           log->tables.smi_left > 0;
}

/* The line that ends right before `at` (which is behind its newline), for a phrase that a wrap cut
 * in two. */
static void take_tail(struct mt_log *log, size_t at)
{
    if (log->tail_line + 1 == log->line || at <= log->start) {
        return;
    }
    size_t end = at - 1, begin = end;
    while (begin > log->start && log->buffer[begin - 1] != '\n' && end - begin < 4096) {
        begin--;
    }
    log->now.may_be_labelled = true;
    mt_log_line_set(&log->now, (struct mt_str){(const char *)log->buffer + begin, end - begin});
    log->now.number = log->line - 1;
    log->told = false;
    keep_tail(log);
    log->tail_seen = false;
}

static size_t count_lines(const unsigned char *p, size_t n)
{
    size_t lines = 0;
    for (const unsigned char *end = p + n; p < end;) {
        const unsigned char *newline = memchr(p, '\n', (size_t)(end - p));
        if (!newline) {
            break;
        }
        lines++;
        p = newline + 1;
    }
    return lines;
}

/* Moves to the start of the line that holds the next word of interest; false: none before `limit`,
 * which is then where reading goes on. */
static bool skip_to_interest(struct mt_log *log, size_t limit)
{
    struct mt_str rest = {(const char *)log->buffer + log->at, limit - log->at};
    struct mt_multi_hit hit;
    if (!mt_multi_find(&log->raw, rest, 0, &hit)) {
        log->line += count_lines(log->buffer + log->at, rest.n);
        log->at = limit;
        return false;
    }
    size_t begin = log->at + hit.at;
    while (begin > log->at && log->buffer[begin - 1] != '\n') {
        begin--;
    }
    log->line += count_lines(log->buffer + log->at, begin - log->at);
    log->at = begin;
    return true;
}

/* Bytes of a line that are looked at together: no more than the longest allows, and up to and with
 * a
 * "\\n" that a JSON writer spelled out, for behind it a new line of the program's begins. */
static size_t piece_length(const unsigned char *p, size_t n)
{
    n = n > MT_LOG_LINE_MAX ? MT_LOG_LINE_MAX : n;
    for (size_t at = 0; at + 1 < n; at++) {
        const unsigned char *slash = memchr(p + at, '\\', n - at - 1);
        if (!slash) {
            break;
        }
        at = (size_t)(slash - p);
        if (p[at + 1] == 'n') {
            return at + 2;
        }
        at += p[at + 1] == '\\';
    }
    return n;
}

/* The notes of the log that is read; NULL when out of memory. */
static struct mt_notes *notes_of(struct mt_log *log)
{
    if (log->notes.n == 0 || log->notes.v[log->notes.n - 1].file != log->file) {
        struct mt_notes fresh = {.file = log->file};
        if (!mt_vec_push(&log->notes, fresh)) {
            log->no_memory = true;
            return NULL;
        }
    }
    return &log->notes.v[log->notes.n - 1];
}

/* A piece is searched for what tells the program where it is the first, holds a message, or follows
 * one: in a log of any size that costs nothing, and small logs are searched whole. */
static void take_notes(struct mt_log *log, struct mt_str piece, bool first, bool told)
{
    struct mt_notes *notes = first || told || log->note_next ? notes_of(log) : NULL;
    log->note_next = told;
    if (notes) {
        mt_notes_take(notes, &log->noted, piece);
    }
}

/* Looks at what lies before `limit`, which is behind a newline or the end. */
static void scan_lines(struct mt_log *log, size_t limit)
{
    while (log->at < limit) {
        bool found = !is_busy(log);
        if (found && !skip_to_interest(log, limit)) {
            return;
        }
        log->follow = found;
        const unsigned char *p = log->buffer + log->at;
        const unsigned char *newline = memchr(p, '\n', limit - log->at);
        size_t line = newline ? (size_t)(newline - p) : limit - log->at;
        size_t n = piece_length(p, line);
        bool whole = n == line;
        take_tail(log, log->at);
        size_t history = log->at - log->start;
        history = history > MT_LOG_HISTORY ? MT_LOG_HISTORY : history;
        look_at_line(log, (struct mt_str){(const char *)p, n},
                     (struct mt_str){(const char *)p - history, history});
        keep_tail(log);
        log->at += n + (whole && newline);
        if (whole && newline) {
            log->line++;
        } else {
            log->tail_line--; /* the rest of this line continues its tail */
        }
    }
}

static void scan(struct mt_log *log, size_t limit)
{
    size_t begin = log->at, contexts = log->contexts;
    bool first = log->line == 1;
    scan_lines(log, limit);
    struct mt_str piece = {(const char *)log->buffer + begin, limit - begin};
    take_notes(log, piece, first, log->contexts > contexts);
}

/* ---- buffer ---- */

/* Frees room: what lies further back than the history goes. */
static void slide(struct mt_log *log)
{
    size_t keep = log->at > MT_LOG_HISTORY ? log->at - MT_LOG_HISTORY : 0;
    if (keep > log->start) {
        memmove(log->buffer, log->buffer + keep, log->end - keep);
        log->at -= keep;
        log->end -= keep;
        log->start = 0;
    }
}

void *mt_log_space(struct mt_log *log, size_t *n)
{
    *n = MT_LOG_BUFFER - log->end;
    return log->buffer + log->end;
}

/* PowerShell's redirection writes UTF-16: the letters of the messages are all in its low bytes. */
static size_t narrow(struct mt_log *log, size_t n)
{
    unsigned char *p = log->buffer + log->end;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (log->utf16_odd == log->utf16_big) {
            p[kept++] = p[i];
        }
        log->utf16_odd = !log->utf16_odd;
    }
    return kept;
}

/* Control bytes that no log holds, as a share of what was read first. */
static bool is_binary(const unsigned char *p, size_t n)
{
    size_t strange = 0;
    n = n > 8192 ? 8192 : n;
    for (size_t i = 0; i < n; i++) {
        strange += p[i] < ' ' && !(p[i] >= '\a' && p[i] <= '\r') && p[i] != 0x1b;
    }
    return n > 0 && strange * 20 > n;
}

static size_t begin(struct mt_log *log, size_t n)
{
    const unsigned char *p = log->buffer + log->end;
    log->begun = true;
    log->utf16 = n >= 2 && ((p[0] == 0xff && p[1] == 0xfe) || (p[0] == 0xfe && p[1] == 0xff));
    log->utf16_big = log->utf16 && p[0] == 0xfe;
    log->utf16_odd = false;
    return n;
}

/* The end of the last whole line in the buffer; all of it when one line fills the buffer. */
static size_t last_line_end(const struct mt_log *log)
{
    size_t end = log->end;
    while (end > log->at && log->buffer[end - 1] != '\n') {
        end--;
    }
    return end == log->at && log->end - log->at > MT_LOG_BUFFER / 2 ? log->end : end;
}

enum mt_status mt_log_commit(struct mt_log *log, size_t n, struct mt_error *err)
{
    bool first = !log->begun;
    log->bytes += n;
    n = first && n > 0 ? begin(log, n) : n;
    n = log->utf16 ? narrow(log, n) : n;
    if (first && is_binary(log->buffer + log->end, n)) {
        log->begun = log->utf16 = false; /* another log may follow */
        return mt_fail(err, MT_FORMAT, 0, "binary data, neither a log nor a snapshot");
    }
    log->end += n;
    if (log->end > MT_LOG_BUFFER / 2) {
        scan(log, last_line_end(log));
        slide(log);
    }
    return log->no_memory ? mt_fail_nomem(err) : MT_OK;
}

/* Training that goes on printing steps long after a failure has survived it. */
static void mark_survived(struct mt_log *log)
{
    for (size_t i = 0; i < log->incidents.list.n; i++) {
        struct mt_incident *incident = &log->incidents.list.v[i];
        for (size_t j = 0; j < log->steps.tracks.n; j++) {
            const struct mt_step_track *t = &log->steps.tracks.v[j];
            if (t->phrase <= MT_STEP_PHRASES_N && /* a table may be part of the report */
                t->series.file == incident->file && t->origin == incident->origin &&
                t->series.last_line > incident->last_line + MT_LOG_MESSAGE_LINES + 2) {
                incident->recovered = true;
            }
        }
    }
}

enum mt_status mt_log_end(struct mt_log *log, struct mt_error *err)
{
    bool rest = log->end > log->start && log->buffer[log->end - 1] != '\n';
    scan(log, log->end);
    log->lines += log->line - 1 + rest;
    mt_log_message_flush(log);
    mt_steps_finish(&log->steps);
    mark_survived(log);
    log->tables.in_summary = false;
    log->start = log->at = log->end = 0;
    log->line = 1;
    log->begun = false;
    log->utf16 = false;
    log->follow = log->note_next = false;
    log->steps.column = 0;
    log->tables.smi_left = 0;
    log->tail_line = 0;
    return log->no_memory ? mt_fail_nomem(err) : MT_OK;
}
