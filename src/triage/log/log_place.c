/* SPDX-License-Identifier: MIT */
/*
 * Where a program's own code stood: of the traceback in front of a message the innermost frame that
 * is of no installed package, and what its innermost lines build.
 */
#include <stdio.h>

#include "triage/log/log.h"
#include "triage/log/log_lines.h"

/* Bytes and lines before a message in which its frames are looked for. */
enum { PLACE_BYTES = 8000, PLACE_LINES = 200, CAUSE_LINES = 3 };

/* Takes the last line off the text; without its newline. */
static struct mt_str last_line(struct mt_str *text)
{
    size_t end = text->n;
    end -= end > 0 && text->p[end - 1] == '\n';
    size_t begin = end;
    while (begin > 0 && text->p[begin - 1] != '\n') {
        begin--;
    }
    struct mt_str line = {text->p + begin, end - begin};
    text->n = begin;
    return line;
}

static struct mt_str behind(struct mt_str line, struct mt_str word)
{
    size_t at = mt_str_find(line, word);
    at = at == SIZE_MAX ? line.n : at + word.n;
    return (struct mt_str){line.p + at, line.n - at};
}

/* Up to a quote, a backslash in front of one, or the end. */
static struct mt_str quoted(struct mt_str s, const char *stops)
{
    size_t n = 0;
    while (n < s.n && !strchr(stops, s.p[n])) {
        n++;
    }
    return (struct mt_str){s.p, n};
}

static bool is_installed(struct mt_str path)
{
    static const struct mt_str PARTS[] = {
        MT_STR_INIT("-packages"), MT_STR_INIT("/lib/python"),  MT_STR_INIT("\\lib\\"),
        MT_STR_INIT("torch/"),    MT_STR_INIT("\\Lib\\"),      MT_STR_INIT("/bin/"),
        MT_STR_INIT("torch\\"),   MT_STR_INIT("transformers"), MT_STR_INIT("deepspeed/"),
        MT_STR_INIT("<"),         MT_STR_INIT("importlib"),    MT_STR_INIT("runpy"),
    };
    return mt_log_has_any(path, PARTS, MT_COUNT(PARTS));
}

static bool is_number(struct mt_str s)
{
    size_t digits = 0;
    while (digits < s.n && s.p[digits] >= '0' && s.p[digits] <= '9') {
        digits++;
    }
    return digits > 0 && digits == s.n && digits < 8;
}

/* `File "/w/sim.py", line 52, in pairwise` as "sim.py:52 (pairwise)". */
static bool word_frame(struct mt_str line, char *out, size_t n)
{
    struct mt_str rest = behind(line, MT_STR("File "));
    while (rest.n > 0 && (rest.p[0] == '\\' || rest.p[0] == '"')) {
        rest = (struct mt_str){rest.p + 1, rest.n - 1};
    }
    struct mt_str path = quoted(rest, "\"");
    path.n -= path.n > 0 && path.p[path.n - 1] == '\\';
    struct mt_str number = quoted(behind(rest, MT_STR(", line ")), ", \\\"");
    struct mt_str function = quoted(behind(rest, MT_STR(", in ")), " ,\\\"\r\n");
    size_t name = path.n;
    while (name > 0 && path.p[name - 1] != '/' && path.p[name - 1] != '\\') {
        name--;
    }
    if (path.n == 0 || path.n == name || !is_number(number) || is_installed(path) ||
        function.n > 40 || path.n - name > 40) {
        return false;
    }
    bool named = function.n > 0 && function.p[0] != '<';
    (void)snprintf(out, n, "%.*s:%.*s%s%.*s%s", (int)(path.n - name), path.p + name, (int)number.n,
                   number.p, named ? " (" : "", named ? (int)function.n : 0, function.p,
                   named ? ")" : "");
    return true;
}

static enum mt_cause cause_of(struct mt_str line)
{
    static const struct mt_str SCORES[] = {
        MT_STR_INIT("attn_weights"), MT_STR_INIT("attention_scores"),
        MT_STR_INIT("eager_attention"), MT_STR_INIT("attention_probs")};
    static const struct mt_str LOGITS[] = {MT_STR_INIT("lm_head"), MT_STR_INIT("cross_entropy"),
                                           MT_STR_INIT("logits.float()"), MT_STR_INIT("logits = ")};
    return mt_log_has_any(line, SCORES, MT_COUNT(SCORES))   ? MT_CAUSE_ATTENTION
           : mt_log_has_any(line, LOGITS, MT_COUNT(LOGITS)) ? MT_CAUSE_LOGITS
                                                            : MT_CAUSE_NONE;
}

/* Lines of several ranks lie between each other; of one that names its rank only those count. */
static bool is_of_rank(struct mt_str line, int64_t rank)
{
    char label[32];
    (void)snprintf(label, sizeof label, "[rank%lld]", (long long)rank);
    return mt_str_find(line, MT_STR("[rank")) == SIZE_MAX ||
           mt_str_find(line, mt_str_from(label)) != SIZE_MAX;
}

void mt_log_place_take(struct mt_log_message *m, struct mt_str before)
{
    size_t cut = before.n > PLACE_BYTES ? before.n - PLACE_BYTES : 0;
    struct mt_str text = {before.p + cut, before.n - cut};
    size_t seen = 0;
    for (size_t i = 0; i < PLACE_LINES && text.n > 0; i++) {
        struct mt_str line = last_line(&text);
        if (line.n == 0 || !is_of_rank(line, m->rank)) {
            continue;
        }
        if (seen++ < CAUSE_LINES && m->cause == MT_CAUSE_NONE) {
            m->cause = cause_of(line);
        }
        bool begins = mt_str_find(line, MT_STR("Traceback (most recent")) != SIZE_MAX;
        bool frame = mt_str_find(line, MT_STR("File ")) != SIZE_MAX;
        if (begins || (frame && word_frame(line, m->place, sizeof m->place))) {
            return;
        }
    }
}
