/* SPDX-License-Identifier: MIT */
/*
 * Collects a message: from the line in which its first phrase stands over the lines that follow
 * from the same process, until the next message, or until it must be over. Lines of other ranks in
 * between go to their own messages. The text is kept squeezed, so that wrapped lines simply join.
 */
#include "support/checked.h"
#include "triage/log/log.h"

bool mt_log_says_recovered(struct mt_str line)
{
    static const struct mt_str WORDS[] = {
        MT_STR_INIT("skippingbatch"),      MT_STR_INIT("skippingthis"),
        MT_STR_INIT("skipbatch"),          MT_STR_INIT("retryingwith"),
        MT_STR_INIT(",retrying"),          MT_STR_INIT("willretry"),
        MT_STR_INIT("retrywith"),          MT_STR_INIT("tryagainwith"),
        MT_STR_INIT("gotanoom,unloading"), MT_STR_INIT("maynotbeanissue"),
        MT_STR_INIT("reducingbatchsize"),  MT_STR_INIT("reducebatchsizeto"),
        MT_STR_INIT("loweringbatchsize"),  MT_STR_INIT("fallingbackto"),
        MT_STR_INIT("retryingwithtiled"),  MT_STR_INIT("thisisnotafailure"),
        MT_STR_INIT("recoveredfrom"),      MT_STR_INIT("continuingwith"),
        MT_STR_INIT("tryingwith"),         MT_STR_INIT("decreasingbatchsize"),
    };
    return mt_log_has_any(line, WORDS, MT_COUNT(WORDS));
}

static struct mt_incident incident_of(const struct mt_log_message *m, const char *file)
{
    return (struct mt_incident){.file = file,
                                .line = m->line,
                                .last_line = m->last_line,
                                .rank = m->rank,
                                .device = -1,
                                .origin = m->origin,
                                .step = m->step,
                                .cause = m->cause,
                                .place = "",
                                .program = "",
                                .text = mt_buf_view(&m->first)};
}

/* From the lines before, or, where a logger prints the error first, from the stack behind it. */
static enum mt_phase phase_of(const struct mt_log_message *m)
{
    struct mt_phase_state behind = {.cached = m->phase.cached};
    struct mt_str text = mt_buf_view(&m->text);
    for (size_t i = 0; i + 1 < m->n_ends && m->ends[i + 1] <= text.n; i++) {
        mt_phase_take(&behind, (struct mt_str){text.p + m->ends[i], m->ends[i + 1] - m->ends[i]});
    }
    return m->phase.frame || !behind.frame ? mt_phase_of(&m->phase) : mt_phase_of(&behind);
}

static void close_message(struct mt_log *log, struct mt_log_message *m)
{
    struct mt_message message = {.text = mt_buf_view(&m->text),
                                 .head = m->head,
                                 .ends = m->ends,
                                 .n_ends = m->n_ends,
                                 .hits = m->hits,
                                 .n_hits = m->n_hits};
    const struct mt_log_format *format = mt_log_format_choose(&message);
    m->open = false;
    log->n_open--;
    log->no_memory |= m->text.failed;
    if (!format || m->head > m->text.n) {
        return; /* the latter only where memory ran out */
    }
    struct mt_incident incident = incident_of(m, log->file);
    incident.phase = phase_of(m);
    mt_log_fields_read(&incident, format, &message);
    mt_log_fields_derive(&incident);
    incident.recovered = mt_log_says_recovered(message.text);
    size_t index;
    size_t before = log->incidents.list.n;
    if (!mt_incidents_add(&log->incidents, &incident, &index)) {
        log->no_memory = true;
    } else if (log->incidents.list.n > before) {
        struct mt_incident *kept = &log->incidents.list.v[index];
        kept->text = mt_arena_copy(log->arena, kept->text.p, kept->text.n);
        kept->place = mt_arena_copy(log->arena, m->place, strlen(m->place)).p;
        log->no_memory |= kept->text.p == NULL || kept->place == NULL;
        kept->place = kept->place ? kept->place : "";
    }
}

void mt_log_message_flush(struct mt_log *log)
{
    for (size_t i = 0; i < MT_LOG_MESSAGES; i++) {
        if (log->messages[i].open) {
            close_message(log, &log->messages[i]);
        }
    }
}

/* The open message that a line of this origin continues. A line without a prefix is the wrapped
 * rest of the newest. */
static struct mt_log_message *message_of(struct mt_log *log, uint64_t origin)
{
    struct mt_log_message *newest = NULL;
    for (size_t i = 0; i < MT_LOG_MESSAGES; i++) {
        struct mt_log_message *m = &log->messages[i];
        if (!m->open) {
            continue;
        }
        if (m->origin == origin) {
            return m;
        }
        newest = !newest || m->last_line > newest->last_line ? m : newest;
    }
    return origin == 0 ? newest : NULL;
}

static struct mt_log_message *free_message(struct mt_log *log)
{
    struct mt_log_message *oldest = &log->messages[0];
    for (size_t i = 0; i < MT_LOG_MESSAGES; i++) {
        if (!log->messages[i].open) {
            return &log->messages[i];
        }
        oldest = log->messages[i].line < oldest->line ? &log->messages[i] : oldest;
    }
    close_message(log, oldest);
    return oldest;
}

/* The line for people, as long as one reads it. */
static void keep_first(struct mt_log *log, struct mt_log_message *m)
{
    struct mt_str clean = log->now.clean;
    mt_buf_reset(&m->first);
    mt_buf_add(&m->first, clean.p, clean.n < 400 ? clean.n : 400);
    log->no_memory |= m->first.failed;
}

/* Up to this much of a line stands in front of a message's phrase and belongs to it. */
#define BEFORE_HEAD 300

static void open_message(struct mt_log *log, struct mt_str text, size_t own,
                         const struct mt_multi_hit *hit, struct mt_str before)
{
    struct mt_log_message *m = free_message(log);
    size_t at = hit->at;
    struct mt_buf kept = m->text, first = m->first;
    size_t begin = log->tail_told && at >= own ? own : 0;
    begin = at > begin + BEFORE_HEAD ? at - BEFORE_HEAD : begin;
    *m = (struct mt_log_message){.open = true,
                                 .origin = log->now.origin,
                                 .rank = log->now.rank,
                                 .line = log->now.number - (at < own),
                                 .last_line = log->now.number,
                                 .hit_line = log->now.number,
                                 .lines_left = MT_LOG_MESSAGE_LINES,
                                 .text = kept,
                                 .first = first,
                                 .step = -1,
                                 .head = at - begin,
                                 .hits = {hit->which},
                                 .n_hits = 1};
    mt_buf_reset(&m->text);
    mt_buf_str(&m->text, (struct mt_str){text.p + begin, text.n - begin});
    m->ends[m->n_ends++] = m->text.n;
    keep_first(log, m);
    if (log->contexts++ < MT_LOG_CONTEXTS) {
        mt_log_context(log, before, m);
    }
    log->n_open++;
}

/* Events proper, harmless attempts, look-alikes: phrases of two of these on different lines are two
 * messages. */
static bool same_class(enum mt_incident_kind a, enum mt_incident_kind b)
{
    return mt_kind_is_oom(a) == mt_kind_is_oom(b) && (a == MT_KIND_SOFT) == (b == MT_KIND_SOFT);
}

/* Taken where nothing that explains more is found. */
static bool is_loose(const struct mt_log_format *f)
{
    return f->where == MT_WHERE_TOLD || f->where == MT_WHERE_RAISED;
}

/* A phrase inside a message that is open already belongs to it, unless it starts the next one. */
static bool belongs(const struct mt_log_message *m, size_t which, uint64_t line)
{
    const struct mt_log_format *fresh = &MT_LOG_FORMATS[which];
    bool alike = m->hit_line == line;
    for (size_t i = 0; i < m->n_hits; i++) {
        const struct mt_log_format *old = &MT_LOG_FORMATS[m->hits[i]];
        if (mt_str_equal(old->phrase, fresh->phrase)) {
            return false;
        }
        alike |= same_class(old->kind, fresh->kind) || is_loose(old) || fresh->needs ||
                 old->needs; /* what a condition waits for may still come */
    }
    return alike && m->n_hits < MT_LOG_MESSAGE_HITS;
}

/* One more phrase of an open message. Where it explains more than those before (the table goes from
 * special to general), the message is told by its line. */
static void add_hit(struct mt_log *log, struct mt_log_message *m, struct mt_str text,
                    const struct mt_multi_hit *hit)
{
    bool loose = is_loose(&MT_LOG_FORMATS[m->hits[0]]);
    bool better =
        (m->line != log->now.number || loose) && mt_kind_is_oom(MT_LOG_FORMATS[hit->which].kind);
    for (size_t i = 0; i < m->n_hits; i++) {
        better &= hit->which < m->hits[i];
    }
    m->hits[m->n_hits++] = hit->which;
    m->hit_line = log->now.number;
    if (better && text.n - hit->at <= m->text.n) {
        m->line = log->now.number;
        m->head = m->text.n - (text.n - hit->at);
        keep_first(log, m);
    }
}

/* Cuts the text of a message back to where the next one begins. */
static void cut_at(struct mt_log_message *m, size_t bytes_from_end)
{
    m->text.n -= bytes_from_end < m->text.n ? bytes_from_end : m->text.n;
    while (m->n_ends > 0 && m->ends[m->n_ends - 1] > m->text.n) {
        m->n_ends--;
    }
}

static void continue_message(struct mt_log *log, struct mt_log_message *m)
{
    mt_buf_str(&m->text, log->now.squeezed);
    m->ends[m->n_ends++] = m->text.n;
    m->last_line = log->now.number;
    m->lines_left--;
    if (m->lines_left == 0 || m->text.n > MT_LOG_MESSAGE_BYTES) {
        close_message(log, m);
    }
}

/* The squeezed line with the end of the line before in front, where that was the line before. */
static struct mt_str joined(struct mt_log *log, size_t *own)
{
    mt_buf_reset(&log->joined);
    if (log->tail_line + 1 == log->now.number && log->tail.n > 0) {
        mt_buf_str(&log->joined, mt_buf_view(&log->tail));
    }
    *own = log->joined.n;
    mt_buf_str(&log->joined, log->now.squeezed);
    log->no_memory |= log->joined.failed;
    return mt_buf_view(&log->joined);
}

/* The words stand between the marks of code in prose: "I get `CUDA out of memory`". */
static bool is_in_code(struct mt_str clean)
{
    static const struct mt_str WORDS[] = {MT_STR_INIT("out of memory"), MT_STR_INIT("OutOfMemory"),
                                          MT_STR_INIT("OOMKilled")};
    size_t open = mt_str_find(clean, MT_STR("`"));
    while (open != SIZE_MAX) {
        struct mt_str rest = {clean.p + open + 1, clean.n - open - 1};
        size_t close = mt_str_find(rest, MT_STR("`"));
        if (close == SIZE_MAX) {
            return false;
        }
        if (mt_log_has_any((struct mt_str){rest.p, close}, WORDS, MT_COUNT(WORDS))) {
            return true;
        }
        clean = (struct mt_str){rest.p + close + 1, rest.n - close - 1};
        open = mt_str_find(clean, MT_STR("`"));
    }
    return false;
}

/* False: the phrase tells of no event where it stands. */
static bool take_hit(struct mt_log *log, struct mt_str text, size_t own,
                     const struct mt_multi_hit *hit, struct mt_str before)
{
    const struct mt_log_format *f = &MT_LOG_FORMATS[hit->which];
    struct mt_str line = {text.p + own, text.n - own};
    bool loose = is_loose(f);
    struct mt_log_message *m = message_of(log, log->now.origin);
    if (f->where != MT_WHERE_ANY && is_in_code(log->now.clean)) {
        return false;
    }
    if (loose ? m || !mt_log_format_stands(f, text, hit->at)
              : hit->at >= own && !mt_log_format_stands(f, line, hit->at - own)) {
        return false; /* what a loose row finds inside a message belongs to it */
    }
    if (m && belongs(m, hit->which, log->now.number)) {
        add_hit(log, m, text, hit);
        return true;
    }
    if (m) {
        cut_at(m, text.n - hit->at);
        close_message(log, m);
    }
    open_message(log, text, own, hit, before);
    return true;
}

static void take_step(struct mt_log *log, size_t at, size_t which)
{
    log->no_memory |=
        !mt_steps_take(&log->steps, log->now.squeezed, at, which, log->now.number, log->now.origin);
}

unsigned mt_log_message_line(struct mt_log *log, struct mt_str before)
{
    size_t own;
    unsigned marks = 0;
    bool told = false;
    struct mt_str text = joined(log, &own);
    struct mt_log_message *m = message_of(log, log->now.origin);
    struct mt_multi_hit hit;
    log->steps.step_known = false;
    if (m) {
        continue_message(log, m);
    }
    /* Of a line that was looked at itself only phrases that reach into this one are new. */
    size_t from = log->tail_seen && own > MT_LOG_PHRASE_MAX ? own - MT_LOG_PHRASE_MAX : 0;
    for (size_t at = from; mt_multi_find(&log->phrases, text, at, &hit); at = hit.at + 1) {
        if (log->tail_seen && hit.at + log->phrase_list[hit.which].n <= own) {
            continue; /* wholly in the line before: it was seen there */
        }
        if (hit.which < MT_LOG_FORMATS_N) {
            told |= take_hit(log, text, own, &hit, before);
        } else if (hit.which < MT_LOG_FORMATS_N + MT_STEP_PHRASES_N) {
            if (hit.at >= own && log->n_open == 0) {
                take_step(log, hit.at - own, hit.which - MT_LOG_FORMATS_N);
            }
        } else {
            marks |= 1u << (hit.which - MT_LOG_FORMATS_N - MT_STEP_PHRASES_N);
        }
    }
    log->told = told;
    return marks;
}
