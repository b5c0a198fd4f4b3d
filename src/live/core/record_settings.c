/* SPDX-License-Identifier: MIT */
/* MEMTOOL_RECORD: one table of keys, one small reader a kind of value. */
#include "live/core/record_settings.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "support/compiler.h"
#include "support/units.h"

struct word {
    const char *word;
    int value;
};

static const struct word stack_words[] = {
    {"none", MT_RECORD_STACKS_NONE},     {"auto", MT_RECORD_STACKS_AUTO},
    {"python", MT_RECORD_STACKS_PYTHON}, {"c", MT_RECORD_STACKS_C},
    {"all", MT_RECORD_STACKS_ALL},       {NULL, 0}};
static const struct word bool_words[] = {{"True", 1}, {"False", 0}, {NULL, 0}};
static const struct word context_words[] = {{"all", 1}, {"alloc", 0}, {NULL, 0}};
static const struct word signal_words[] = {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"HUP", SIGHUP},
                                           {"QUIT", SIGQUIT}, {"TERM", SIGTERM}, {"INT", SIGINT},
                                           {"ALRM", SIGALRM}, {NULL, 0}};

void mt_record_settings_default(struct mt_record_settings *s)
{
    *s = (struct mt_record_settings){.max_entries = 1000000,
                                     .stacks = MT_RECORD_STACKS_AUTO,
                                     .max_frames = 64,
                                     .free_stacks = true,
                                     .on_oom = true,
                                     .limit_s = 20, /* launchers wait 30 before they kill */
                                     .path = "memtool-%p.pickle"};
}

/* ---- kinds of values ---- */

static bool word_value(const struct word *words, struct mt_str v, int *out)
{
    for (; words->word; words++) {
        if (mt_str_equal(v, mt_str_from(words->word))) {
            *out = words->value;
            return true;
        }
    }
    return false;
}

static bool number_value(struct mt_str v, uint64_t min, uint64_t max, uint64_t *out)
{
    return mt_u64_parse(v, out) && *out >= min && *out <= max;
}

/* ---- keys ---- */

static bool set_enabled(struct mt_record_settings *s, struct mt_str v)
{
    if (mt_str_equal(v, MT_STR("state"))) {
        s->max_entries = 0;
        return true;
    }
    return mt_str_equal(v, MT_STR("all"));
}

static bool set_max_entries(struct mt_record_settings *s, struct mt_str v)
{
    return number_value(v, 1, 1u << 30, &s->max_entries);
}

static bool set_context(struct mt_record_settings *s, struct mt_str v)
{
    int all;
    bool known = word_value(context_words, v, &all);
    s->free_stacks = known ? all != 0 : s->free_stacks;
    return known;
}

static bool set_stacks(struct mt_record_settings *s, struct mt_str v)
{
    int stacks;
    bool known = word_value(stack_words, v, &stacks);
    s->stacks = known ? (enum mt_record_stacks)stacks : s->stacks;
    return known;
}

static bool set_max_frames(struct mt_record_settings *s, struct mt_str v)
{
    uint64_t n;
    bool fits = number_value(v, 1, 128, &n);
    s->max_frames = fits ? (uint32_t)n : s->max_frames;
    return fits;
}

static bool set_dump(struct mt_record_settings *s, struct mt_str v)
{
    if (v.n == 0 || v.n >= sizeof s->path) {
        return false;
    }
    memcpy(s->path, v.p, v.n);
    s->path[v.n] = '\0';
    return true;
}

static bool set_bool(bool *flag, struct mt_str v)
{
    int value;
    bool known = word_value(bool_words, v, &value);
    *flag = known ? value != 0 : *flag;
    return known;
}

static bool set_on_oom(struct mt_record_settings *s, struct mt_str v)
{
    return set_bool(&s->on_oom, v);
}

static bool set_at_exit(struct mt_record_settings *s, struct mt_str v)
{
    return set_bool(&s->at_exit, v);
}

/* Those that cannot be caught, and those of faults: a handler that returns would have the fault
 * come again, for ever. */
static bool is_no_request(uint64_t number)
{
    static const int numbers[] = {SIGKILL, SIGSTOP, SIGILL, SIGTRAP, SIGABRT,
                                  SIGBUS,  SIGSEGV, SIGFPE, SIGSYS};
    bool found = false;
    for (size_t i = 0; i < MT_COUNT(numbers); i++) {
        found = found || number == (uint64_t)numbers[i];
    }
    return found;
}

static bool set_signal(struct mt_record_settings *s, struct mt_str v)
{
    uint64_t n;
    if (mt_str_starts(v, MT_STR("SIG"))) {
        v.p += 3;
        v.n -= 3;
    }
    if (word_value(signal_words, v, &s->signal)) {
        return true;
    }
    bool fits = number_value(v, 1, 64, &n) && !is_no_request(n);
    s->signal = fits ? (int)n : s->signal;
    return fits;
}

static bool set_every(struct mt_record_settings *s, struct mt_str v)
{
    uint64_t n;
    bool fits = number_value(v, 1, 1000000, &n);
    s->every_s = fits ? (uint32_t)n : s->every_s;
    return fits;
}

static bool set_limit(struct mt_record_settings *s, struct mt_str v)
{
    uint64_t n;
    bool fits = number_value(v, 1, 86400, &n);
    s->limit_s = fits ? (uint32_t)n : s->limit_s;
    return fits;
}

static const struct key {
    const char *name;
    bool (*set)(struct mt_record_settings *s, struct mt_str value);
    const char *allowed;
} keys[] = {
    {"enabled", set_enabled, "all or state"},
    {"max_entries", set_max_entries, "1 to 1073741824"},
    {"context", set_context, "all or alloc"},
    {"stacks", set_stacks, "auto, python, c, all or none"},
    {"max_frames", set_max_frames, "1 to 128"},
    {"dump", set_dump, "a path of 1 to 1023 bytes"},
    {"on_oom", set_on_oom, "True or False"},
    {"at_exit", set_at_exit, "True or False"},
    {"signal", set_signal, "a signal's name or number, but none of a fault, KILL or STOP"},
    {"every", set_every, "1 to 1000000 seconds"},
    {"limit", set_limit, "1 to 86400 seconds"},
};

struct shown {
    char text[100];
};

/* What somebody set, for a terminal: nothing that a terminal would obey, and not without end. */
static struct shown show(struct mt_str s)
{
    struct shown shown = {""};
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (n + 8 > sizeof shown.text) {
            n += (size_t)snprintf(shown.text + n, sizeof shown.text - n, "...");
            break;
        }
        bool plain = c >= 0x20 && c < 0x7f;
        n += (size_t)snprintf(shown.text + n, sizeof shown.text - n, plain ? "%c" : "\\x%02x", c);
    }
    return shown;
}

static enum mt_status set_pair(struct mt_record_settings *s, struct mt_str pair,
                               struct mt_error *err)
{
    size_t colon = mt_str_find(pair, MT_STR(":"));
    struct mt_str name = {pair.p, colon == SIZE_MAX ? pair.n : colon};
    struct mt_str value = {"", 0};
    if (colon != SIZE_MAX) {
        value = (struct mt_str){pair.p + colon + 1, pair.n - colon - 1};
    }
    for (size_t i = 0; i < MT_COUNT(keys); i++) {
        if (!mt_str_equal(name, mt_str_from(keys[i].name))) {
            continue;
        }
        return keys[i].set(s, value)
                   ? MT_OK
                   : mt_fail(err, MT_USAGE, MT_NO_OFFSET, "%s is \"%s\", allowed is %s",
                             keys[i].name, show(value).text, keys[i].allowed);
    }
    return mt_fail(err, MT_USAGE, MT_NO_OFFSET, "there is no setting \"%s\"", show(name).text);
}

/* Up to the next comma; one behind a % belongs to a path. */
static size_t pair_length(struct mt_str text)
{
    size_t n = 0;
    while (n < text.n && text.p[n] != ',') {
        n += text.p[n] == '%' && n + 1 < text.n ? 2 : 1;
    }
    return n;
}

enum mt_status mt_record_settings_parse(struct mt_record_settings *s, struct mt_str text,
                                        struct mt_error *err)
{
    while (text.n > 0) {
        size_t n = pair_length(text);
        if (n > 0) { /* a comma too many harms nobody */
            MT_TRY(set_pair(s, (struct mt_str){text.p, n}, err));
        }
        n += n < text.n ? 1 : 0;
        text.p += n;
        text.n -= n;
    }
    return MT_OK;
}

static bool is_rank(const char *rank)
{
    enum { DIGITS = 9 };
    size_t n = strspn(rank, "0123456789");
    return n > 0 && n <= DIGITS && rank[n] == '\0';
}

bool mt_record_rank_check(const char *rank, struct mt_error *err)
{
    if (is_rank(rank)) {
        return true;
    }
    struct shown shown = show(mt_str_from(rank));
    (void)mt_fail(err, MT_USAGE, MT_NO_OFFSET,
                  "RANK is \"%s\", which is no number: %%r in a name is 0", shown.text);
    return false;
}

bool mt_record_path(const char *pattern, long pid, const char *rank, char *out, size_t size)
{
    size_t n = 0;
    for (const char *p = pattern; *p; p++) {
        char number[24];
        char one[2] = {*p, '\0'};
        const char *piece = one;
        if (p[0] == '%' && p[1] != '\0' && strchr("pr%,", p[1])) {
            one[0] = *++p;
            snprintf(number, sizeof number, "%ld", pid);
            piece = *p != 'p' && *p != 'r' ? one : *p == 'p' ? number : is_rank(rank) ? rank : "0";
        }
        size_t length = strlen(piece);
        if (length >= size - n) {
            return false;
        }
        memcpy(out + n, piece, length);
        n += length;
    }
    out[n] = '\0';
    return n > 0;
}
