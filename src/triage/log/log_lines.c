/* SPDX-License-Identifier: MIT */
/*
 * Logs come as people have them: with colours, in HTML, quoted in Markdown, behind rank and pod
 * prefixes, wrapped by a terminal in the middle of a word. Two steps make them alike. Cleaning
 * takes away escape sequences, tags, entities and the prefix, whose parts say which process wrote
 * the line. Squeezing drops every blank and folds the case: then a phrase that was wrapped at any
 * column is found by joining the squeezed lines, and no pattern ever has to think about white
 * space.
 *
 * What a line means is none of this file's business.
 */
#include "triage/log/log_lines.h"

#include <ctype.h>

#include "support/hash.h"

#include "triage/log/log_general.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* ---- prefixes ---- */

/* What the prefix says, gathered token by token. */
struct prefix {
    uint64_t origin;
    int64_t rank;
    bool labelled;
    bool after_time; /* then a lone "E" or a thread number is part of the prefix */
};

static void add_origin(struct prefix *p, struct mt_str s)
{
    p->origin = mt_hash_bytes(s.p, s.n, p->origin + 1) | 1;
}

static int64_t number_in(struct mt_str s)
{
    int64_t n = -1;
    for (size_t i = 0; i < s.n && n < 1000000; i++) {
        if (is_digit(s.p[i])) {
            n = (n < 0 ? 0 : n) * 10 + (s.p[i] - '0');
        } else if (n >= 0) {
            break;
        }
    }
    return n;
}

static bool begins_folded(struct mt_str s, size_t at, struct mt_str word)
{
    if (word.n > s.n - at) {
        return false;
    }
    for (size_t i = 0; i < word.n; i++) {
        unsigned char c = (unsigned char)s.p[at + i];
        if ((c >= 'A' && c <= 'Z' ? c | 32 : c) != (unsigned char)word.p[i]) {
            return false;
        }
    }
    return true;
}

static bool contains_folded(struct mt_str s, struct mt_str word)
{
    for (size_t at = 0; at < s.n; at++) {
        if (begins_folded(s, at, word)) {
            return true;
        }
    }
    return false;
}

/* The number right behind a word at `at`, over at most two of `between`; -1: none. */
static int64_t number_behind(struct mt_str s, size_t at, const char *between)
{
    size_t skipped = 0;
    while (skipped < 2 && at < s.n && s.p[at] && strchr(between, s.p[at])) {
        skipped++;
        at++;
    }
    return at < s.n && is_digit(s.p[at]) ? number_in((struct mt_str){s.p + at, s.n - at}) : -1;
}

/* "rank3", "Rank 0", "local_rank: 2", "global_rank=7". */
static int64_t rank_word(struct mt_str s)
{
    int64_t rank = -1;
    for (size_t at = 0; at < s.n && rank < 0; at++) {
        rank = begins_folded(s, at, MT_STR("rank")) ? number_behind(s, at + 4, " _-=:#") : -1;
    }
    return rank;
}

/* What else marks a rank: TP1, DP0 TP1, default0, worker-3, VllmWorker 2; never a source line such
 * as worker_base.py:620 or gpu_worker:620. */
static int64_t group_word(struct mt_str s)
{
    static const struct {
        struct mt_str word;
        bool within; /* letters may stand before it */
    } WORDS[] = {{MT_STR_INIT("tp"), false},      {MT_STR_INIT("dp"), false},
                 {MT_STR_INIT("pp"), false},      {MT_STR_INIT("ep"), false},
                 {MT_STR_INIT("default"), false}, {MT_STR_INIT("local"), false},
                 {MT_STR_INIT("worker"), true}};
    for (size_t at = 0; at < s.n; at++) {
        bool begins = at == 0 || !isalpha((unsigned char)s.p[at - 1]);
        for (size_t i = 0; i < MT_COUNT(WORDS); i++) {
            int64_t rank = (begins || WORDS[i].within) && begins_folded(s, at, WORDS[i].word)
                               ? number_behind(s, at + WORDS[i].word.n, " _-=#")
                               : -1;
            if (rank >= 0) {
                return rank;
            }
        }
    }
    return -1;
}

/* The rank that the inside of a bracket names, -1: none. Plain numbers are NCCL's [3] and mpirun's
 * [1,3], which is rank 3 of job 1. */
static int64_t rank_named(struct mt_str s)
{
    size_t plain = 0, last = 0;
    while (plain < s.n && (is_digit(s.p[plain]) || s.p[plain] == ',')) {
        last = s.p[plain] == ',' ? plain + 1 : last;
        plain++;
    }
    if (s.n == 0 || s.n > 40) {
        return -1;
    }
    if (plain == s.n && s.n <= 5) {
        return number_in((struct mt_str){s.p + last, s.n - last});
    }
    int64_t rank = rank_word(s);
    return rank >= 0 ? rank : group_word(s);
}

/* "[...]" with an optional colon. */
static size_t bracket_token(struct mt_str s, struct prefix *p)
{
    if (s.p[0] != '[') {
        return 0;
    }
    size_t i = 1;
    while (i < s.n && i < 64 && s.p[i] != ']' && s.p[i] != '[') {
        i++;
    }
    if (i >= s.n || s.p[i] != ']') {
        return 0;
    }
    struct mt_str inside = {s.p + 1, i - 1};
    int64_t rank = rank_named(inside);
    if (rank >= 0) {
        add_origin(p, inside);
        p->rank = rank;
    } else if (contains_folded(inside, MT_STR("cuda"))) {
        return 0; /* "[CUDA] out of memory": says what failed */
    }
    i++;
    return i < s.n && s.p[i] == ':' ? i + 1 : i;
}

/* "(RayWorkerWrapper pid=206994, ip=..)", "(EngineCore_0 pid=7)". */
static size_t paren_token(struct mt_str s, struct prefix *p)
{
    if (s.p[0] != '(') {
        return 0;
    }
    size_t i = 1;
    while (i < s.n && i < 100 && s.p[i] != ')' && s.p[i] != '(') {
        i++;
    }
    struct mt_str inside = {s.p + 1, i - 1};
    if (i >= s.n || s.p[i] != ')' ||
        !(contains_folded(inside, MT_STR("pid=")) || contains_folded(inside, MT_STR("rank")))) {
        return 0;
    }
    add_origin(p, inside);
    int64_t rank = rank_word(inside);
    p->rank = rank >= 0 ? rank : p->rank;
    return i + 1;
}

/* "engine.py:160]" of vLLM and glog. */
static size_t source_token(struct mt_str s)
{
    size_t i = 0;
    bool colon = false;
    while (i < s.n && i < 80 && s.p[i] != ' ' && s.p[i] != ']' && s.p[i] != '[') {
        colon |= s.p[i] == ':' && i + 1 < s.n && is_digit(s.p[i + 1]);
        if (s.p[i] == '/') {
            return 0;
        }
        i++;
    }
    return colon && i < s.n && s.p[i] == ']' ? i + 1 : 0;
}

/* Dates, clock times, glog's "W0227", run times such as 1.06.520.077, but never "79.10" or "4096",
 * which may be the wrapped rest of a message. */
static bool is_time(struct mt_str s, bool after_time)
{
    size_t marks = 0, points = 0, digits = 0;
    for (size_t i = 0; i < s.n; i++) {
        switch (s.p[i]) {
        case '-':
        case ':':
        case '/': marks++; break;
        case '.':
        case ',': points++; break;
        case 'T':
        case 'Z':
        case '+':
        case ']': break;
        default:
            if (!is_digit(s.p[i])) {
                return false;
            }
            digits++;
        }
    }
    return digits >= 2 && (marks >= (after_time ? 1u : 2u) || points >= 3);
}

static size_t time_token(struct mt_str s, struct prefix *p)
{
    size_t i = 0;
    while (i < s.n && i < 40 && s.p[i] != ' ') {
        i++;
    }
    bool glog = i == 5 && strchr("IWEFD", s.p[0]) && is_digit(s.p[1]) && is_digit(s.p[2]) &&
                is_digit(s.p[3]) && is_digit(s.p[4]);
    if (glog || is_time((struct mt_str){s.p, i}, p->after_time)) {
        p->after_time = true;
        return i;
    }
    size_t length = 0;
    while (length < i && is_digit(s.p[length])) {
        length++;
    }
    struct mt_str rest = {s.p + i + 1, s.n > i ? s.n - i - 1 : 0};
    bool thread = p->after_time && length == i && i >= 4 && source_token(rest) > 0;
    return thread ? i : 0;
}

static size_t level_token(struct mt_str s, struct prefix *p)
{
    static const struct mt_str LEVELS[] = {
        MT_STR_INIT("INFO"),  MT_STR_INIT("WARNING"),  MT_STR_INIT("WARN"),  MT_STR_INIT("ERROR"),
        MT_STR_INIT("DEBUG"), MT_STR_INIT("CRITICAL"), MT_STR_INIT("FATAL"), MT_STR_INIT("TRACE"),
        MT_STR_INIT("USER"),  MT_STR_INIT("ERR")};
    bool upper = s.p[0] >= 'A' && s.p[0] <= 'Z';
    for (size_t i = 0; upper && i < MT_COUNT(LEVELS); i++) {
        struct mt_str level = LEVELS[i];
        if (s.p[0] == level.p[0] && mt_str_starts(s, level) && s.n > level.n &&
            (s.p[level.n] == ' ' || s.p[level.n] == ':')) {
            p->after_time = true;
            return level.n + (s.p[level.n] == ':');
        }
    }
    if (p->after_time && s.n > 2 && s.p[1] == ' ' && strchr("EWID", s.p[0])) {
        return 1;
    }
    return p->after_time && s.n > 2 && s.p[0] == '-' && s.p[1] == ' ' ? 1 : 0;
}

static bool is_host_char(char c)
{
    return is_alpha(c) || is_digit(c) || c == '_' || c == '-' || c == '.';
}

static bool is_device_name(struct mt_str s)
{
    static const struct mt_str NAMES[] = {
        MT_STR_INIT("cuda"), MT_STR_INIT("gpu"),    MT_STR_INIT("d3d"),  MT_STR_INIT("hip"),
        MT_STR_INIT("xpu"),  MT_STR_INIT("vulkan"), MT_STR_INIT("rocm"), MT_STR_INIT("sycl")};
    for (size_t i = 0; i < MT_COUNT(NAMES); i++) {
        if (begins_folded(s, 0, NAMES[i])) {
            return true;
        }
    }
    return false;
}

/* "node13: ", "worker-1  | ", "host:9621:9691 [6]": needs a digit, so that "RuntimeError:" stays.
 */
static size_t host_token(struct mt_str s, struct prefix *p)
{
    size_t i = 0;
    bool digit = false;
    while (i < s.n && i < 64 && is_host_char(s.p[i])) {
        digit |= is_digit(s.p[i]);
        i++;
    }
    if (i < 2 || !is_alpha(s.p[0]) || i >= s.n) {
        return 0;
    }
    struct mt_str name = {s.p, i};
    if (is_device_name(name)) {
        return 0; /* "CUDA0: out of memory": says whose memory */
    }
    size_t end = i;
    while (end < s.n && s.p[end] == ' ') {
        end++;
    }
    if (digit && end < s.n && s.p[end] == '|') { /* docker compose */
        add_origin(p, name);
        return end + 1;
    }
    if (digit && s.p[i] == ':' && i + 1 < s.n && s.p[i + 1] == ' ') { /* pdsh */
        add_origin(p, name);
        return i + 1;
    }
    if (s.p[i] != ':' || i + 1 >= s.n || !is_digit(s.p[i + 1])) {
        return 0;
    }
    while (i < s.n && (is_digit(s.p[i]) || s.p[i] == ':')) { /* NCCL */
        i++;
    }
    if (i + 1 >= s.n || s.p[i] != ' ' || s.p[i + 1] != '[') {
        return 0;
    }
    add_origin(p, (struct mt_str){s.p, i});
    return i;
}

/* Between dashes behind a time: "- __main__ - ERROR -". */
static size_t logger_token(struct mt_str s, const struct prefix *p)
{
    size_t i = 0;
    while (i < s.n && i < 60 && is_host_char(s.p[i])) {
        i++;
    }
    bool dashed = i > 0 && mt_str_starts((struct mt_str){s.p + i, s.n - i}, MT_STR(" - "));
    return p->after_time && dashed ? i + 2 : 0;
}

/* Quotes, comments, tables, Markdown. */
static bool is_ornament(char c)
{
    return c == ' ' || c == '>' || c == '#' || c == '\t' || c == '|' || c == '*';
}

/* "stderr P " of the container runtimes' log: a part of a line, or its end. */
static size_t stream_token(struct mt_str s, const struct prefix *p)
{
    bool stream = p->after_time &&
                  (mt_str_starts(s, MT_STR("stderr ")) || mt_str_starts(s, MT_STR("stdout ")));
    return stream && s.n > 8 && (s.p[7] == 'F' || s.p[7] == 'P') && s.p[8] == ' ' ? 9 : 0;
}

static size_t prefix_token(struct mt_str s, struct prefix *p)
{
    if (is_ornament(s.p[0])) {
        return 1;
    }
    if (s.p[0] == 'E' && mt_str_starts(s, MT_STR("E   "))) {
        return 4; /* pytest */
    }
    size_t n = bracket_token(s, p);
    n = n ? n : paren_token(s, p);
    n = n ? n : time_token(s, p);
    n = n ? n : stream_token(s, p);
    n = n ? n : level_token(s, p);
    n = n ? n : source_token(s);
    n = n ? n : logger_token(s, p);
    return n ? n : host_token(s, p);
}

/* Only at the very beginning: "12: " of srun --label. */
static size_t label_token(struct mt_str s, struct prefix *p)
{
    size_t i = 0;
    while (i < s.n && i < 5 && is_digit(s.p[i])) {
        i++;
    }
    if (i == 0 || i + 1 >= s.n || s.p[i] != ':' || s.p[i + 1] != ' ') {
        return 0;
    }
    add_origin(p, (struct mt_str){s.p, i});
    p->rank = number_in((struct mt_str){s.p, i});
    return i + 1;
}

/* Bytes of the prefix. */
static size_t split_prefix(struct mt_str s, struct prefix *p, bool labels)
{
    size_t at = labels && s.n > 0 ? label_token(s, p) : 0;
    p->labelled = at > 0;
    for (int tokens = 0; tokens < 40 && at < s.n; tokens++) {
        size_t n = prefix_token((struct mt_str){s.p + at, s.n - at}, p);
        if (n == 0) {
            break;
        }
        at += n;
    }
    return at;
}

/* ---- squeezing ---- */

bool mt_log_has_any(struct mt_str text, const struct mt_str *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (mt_str_find(text, words[i]) != SIZE_MAX) {
            return true;
        }
    }
    return false;
}

/* What becomes of each byte, 0: nothing. */
static const unsigned char SQUEEZED[256] =
    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
    "\0!\"#$%&'()\0+,-./0123456789:;<=>?"
    "@abcdefghijklmnopqrstuvwxyz[\\]^_"
    "\0abcdefghijklmnopqrstuvwxyz{|}~\0";

void mt_log_squeeze(struct mt_buf *out, struct mt_str text)
{
    char piece[256];
    for (size_t i = 0; i < text.n;) {
        size_t end = text.n - i < sizeof piece ? text.n : i + sizeof piece;
        size_t n = 0;
        for (; i < end; i++) { /* without a branch: blanks come when they like */
            unsigned char c = SQUEEZED[(unsigned char)text.p[i]];
            piece[n] = (char)c;
            n += c != 0;
        }
        mt_buf_add(out, piece, n);
    }
}

void mt_log_line_set(struct mt_log_line *line, struct mt_str raw)
{
    struct prefix prefix = {.rank = -1};
    raw.n = raw.n > MT_LOG_LINE_MAX ? MT_LOG_LINE_MAX : raw.n;
    mt_buf_reset(&line->text);
    mt_buf_reset(&line->tight);
    mt_log_clean(&line->text, raw);
    struct mt_str all = mt_buf_view(&line->text);
    size_t skip = split_prefix(all, &prefix, line->may_be_labelled);
    line->labelled = prefix.labelled;
    line->clean = (struct mt_str){all.p + skip, all.n - skip};
    line->origin = prefix.origin;
    line->rank = prefix.rank;
    if (!mt_general_translate(&line->tight, line->clean)) {
        mt_log_squeeze(&line->tight, line->clean);
    }
    line->squeezed = mt_buf_view(&line->tight);
}

void mt_log_line_release(struct mt_log_line *line)
{
    mt_buf_release(&line->text);
    mt_buf_release(&line->tight);
}
