/* SPDX-License-Identifier: MIT */
/* The glossary on paper: finding a topic by any of its names, printing one, printing the list. The
 * topics are in glossary.txt. */
#include "verbs/explain/explain.h"
#include "print/report_json.h"

#include <limits.h>
#include <string.h>

#include "verbs/explain/topic_text.h"

static char fold(char c)
{
    return c == '_' || c == ' ' ? '-' : c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same_word(const char *a, const char *b)
{
    while (*a && fold(*a) == fold(*b)) {
        a++;
        b++;
    }
    return fold(*a) == fold(*b);
}

static bool is_named(const struct mt_topic *t, const char *word)
{
    bool named = same_word(t->name, word);
    for (size_t i = 0; !named && t->also[i]; i++) {
        named = same_word(t->also[i], word);
    }
    return named;
}

static const struct mt_topic *find_named(const char *word)
{
    for (size_t g = 0; g < MT_TOPIC_GROUPS_N; g++) {
        for (size_t i = 0; i < MT_TOPIC_GROUPS[g].n; i++) {
            if (is_named(&MT_TOPIC_GROUPS[g].topics[i], word)) {
                return &MT_TOPIC_GROUPS[g].topics[i];
            }
        }
    }
    return NULL;
}

/* Reports print one form of a word and people type the other: "hole" is "holes", "hits" "hit". */
const struct mt_topic *mt_topic_find(const char *word)
{
    enum { LONGEST = 60 };
    char other[LONGEST + 2];
    const struct mt_topic *topic = find_named(word);
    size_t n = strlen(word);
    if (topic || n < 3 || n > LONGEST) {
        return topic;
    }
    memcpy(other, word, n + 1);
    if (other[n - 1] == 's') {
        other[n - 1] = '\0';
    } else {
        other[n] = 's';
        other[n + 1] = '\0';
    }
    return find_named(other);
}

/* ---- one topic ---- */

static void put_list(struct mt_out o, const char *key, const char *const *words)
{
    struct mt_out list = mt_out_array(o, key);
    for (size_t i = 0; words[i]; i++) {
        mt_out_text(list, NULL, words[i]);
    }
}

static void put_topic(struct mt_out o, const struct mt_topic *t, bool with_text)
{
    struct mt_buf b = {0};
    for (size_t i = 0; t->text[i]; i++) {
        mt_buf_text(&b, t->text[i]);
        mt_buf_char(&b, '\n');
    }
    mt_out_text(o, "term", t->name);
    put_list(o, "also", t->also);
    mt_out_text(o, "summary", t->summary);
    if (with_text) {
        mt_out_buf(o, "text", &b);
    }
    put_list(o, "see", t->see);
    mt_buf_release(&b);
}

static void print_see(const struct mt_report *r, const struct mt_topic *t)
{
    struct mt_sentence b = {0};
    for (size_t i = 0; t->see[i]; i++) {
        mt_sentence_add(&b, "%s%s", i ? ", " : "", t->see[i]);
    }
    if (b.n) {
        static const char lead[] = "  See also: ";
        int indent = (int)sizeof lead - 1;
        fprintf(r->out, "\n%s", lead);
        mt_text_print_wrapped(r->out, b.text, indent, indent, mt_topic_width(r));
        fputc('\n', r->out);
    }
}

/* False when out of memory. */
static bool print_topic(const struct mt_report *r, const struct mt_topic *t)
{
    mt_report_line(r, 4, "%s%s%s - %s", mt_color_begin(r, MT_COLOR_HEAD), t->name, mt_color_end(r),
                   t->summary);
    fputc('\n', r->out);
    bool ok = mt_topic_text(r, t);
    print_see(r, t);
    return ok;
}

enum mt_status mt_report_topic(const struct mt_report *r, const struct mt_topic *t,
                               struct mt_error *err)
{
    if (!r->json) {
        return print_topic(r, t) ? MT_OK : mt_fail_nomem(err);
    }
    struct mt_json_out json;
    struct mt_out root = mt_report_json(&json, r, "explain/1", false);
    put_topic(root, t, true);
    return mt_report_json_end(root, err);
}

/* ---- the list ---- */

static enum mt_status list_json(const struct mt_report *r, struct mt_error *err)
{
    struct mt_json_out json;
    struct mt_out root = mt_report_json(&json, r, "explain/1", false);
    struct mt_out terms = mt_out_array(root, "terms");
    for (size_t g = 0; g < MT_TOPIC_GROUPS_N; g++) {
        for (size_t i = 0; i < MT_TOPIC_GROUPS[g].n; i++) {
            struct mt_out o = mt_out_object(terms, NULL);
            mt_out_text(o, "group", MT_TOPIC_GROUPS[g].title);
            put_topic(o, &MT_TOPIC_GROUPS[g].topics[i], false);
        }
    }
    return mt_report_json_end(root, err);
}

enum { ROOMY = 60 }; /* columns for names and summaries side by side */

enum mt_status mt_report_topics(const struct mt_report *r, struct mt_error *err)
{
    if (r->json) {
        return list_json(r, err);
    }
    for (size_t g = 0; g < MT_TOPIC_GROUPS_N; g++) {
        fprintf(r->out, "%s%s%s%s\n", g ? "\n" : "", mt_color_begin(r, MT_COLOR_HEAD),
                MT_TOPIC_GROUPS[g].title, mt_color_end(r));
        for (size_t i = 0; i < MT_TOPIC_GROUPS[g].n; i++) {
            const struct mt_topic *t = &MT_TOPIC_GROUPS[g].topics[i];
            bool narrow = r->width && r->width < ROOMY;
            int column = narrow ? 6 : 32, width = r->width ? r->width : INT_MAX;
            fprintf(r->out, narrow ? "  %s\n      " : "  %-29s ", t->name);
            mt_text_print_wrapped(r->out, t->summary, column, column, width);
            fputc('\n', r->out);
        }
    }
    fputs("\nmemtool explain TERM tells more.\n", r->out);
    return MT_OK;
}
