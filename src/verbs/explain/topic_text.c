/* SPDX-License-Identifier: MIT */
/*
 * The text of a topic. The glossary is written for a page of 80 columns and printed as it stands
 * where there are so many. On a narrower terminal it is set anew, block by block: paragraphs are
 * wrapped; a list of terms with what they mean gets each meaning below its term; a drawing cannot
 * be set anew, so in its place stands how to see it.
 */
#include "verbs/explain/topic_text.h"

#include <string.h>

enum { INDENT = 2, PAGE = 80, QUOTE = 4, ITEM = 3 };

int mt_topic_width(const struct mt_report *r)
{
    return r->width > 0 && r->width < PAGE ? r->width : PAGE;
}

static size_t blanks_before(const char *line)
{
    return strspn(line, " ");
}

/* A block: lines up to an empty one that all begin with a blank, or all with a word. */
static size_t block_lines(const char *const *text)
{
    size_t n = 1;
    while (text[0][0] && text[n] && text[n][0] && (text[n][0] == ' ') == (text[0][0] == ' ')) {
        n++;
    }
    return n;
}

static int block_width(const char *const *lines, size_t n)
{
    int widest = 0;
    for (size_t i = 0; i < n; i++) {
        int width = INDENT + mt_text_width(lines[i]);
        widest = width > widest ? width : widest;
    }
    return widest;
}

static bool is_drawing(const char *const *lines, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strchr(lines[i], '|') || strstr(lines[i], "--")) {
            return true;
        }
    }
    return false;
}

static void print_as_is(const struct mt_report *r, const char *const *lines, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        fprintf(r->out, "%*s%s\n", lines[i][0] ? INDENT : 0, "", lines[i]);
    }
}

static void print_words(const struct mt_report *r, const struct mt_buf *b, int indent)
{
    fprintf(r->out, "%*s", indent, "");
    mt_text_print_wrapped(r->out, mt_buf_view(b).p, indent, indent, mt_topic_width(r));
    fputc('\n', r->out);
}

/* Lines joined, so that they break where this terminal ends. */
static void print_paragraph(const struct mt_report *r, const char *const *lines, size_t n,
                            struct mt_buf *b)
{
    size_t indent = blanks_before(lines[0]);
    mt_buf_reset(b);
    for (size_t i = 0; i < n; i++) {
        mt_buf_printf(b, "%s%s", i ? " " : "", lines[i] + blanks_before(lines[i]));
    }
    print_words(r, b, INDENT + (int)indent);
}

/* One term, the lines that belong to it, and below it its meaning, if two blanks set that off. */
static size_t print_item(const struct mt_report *r, const char *const *lines, size_t n,
                         struct mt_buf *b)
{
    const char *term = lines[0] + blanks_before(lines[0]), *gap = strstr(term, "  ");
    size_t used = 1;
    mt_buf_reset(b);
    mt_buf_add(b, term, gap ? (size_t)(gap - term) : strlen(term));
    print_words(r, b, INDENT + 1);
    mt_buf_reset(b);
    mt_buf_text(b, gap ? gap + blanks_before(gap) : "");
    for (; used < n && blanks_before(lines[used]) > ITEM; used++) {
        mt_buf_printf(b, "%s%s", b->n ? " " : "", lines[used] + blanks_before(lines[used]));
    }
    if (b->n) {
        print_words(r, b, INDENT + 1 + QUOTE);
    }
    return used;
}

static void print_block(const struct mt_report *r, const struct mt_topic *t,
                        const char *const *lines, size_t n, struct mt_buf *b)
{
    int width = block_width(lines, n);
    if (blanks_before(lines[0]) == 0 || (blanks_before(lines[0]) == QUOTE && width > r->width)) {
        print_paragraph(r, lines, n, b);
    } else if (width <= r->width) {
        print_as_is(r, lines, n);
    } else if (is_drawing(lines, n)) {
        mt_report_line(r, INDENT, "  (a drawing of %d columns: memtool explain %s | less -S)",
                       width, t->name);
    } else {
        for (size_t i = 0; i < n;) {
            i += print_item(r, lines + i, n - i, b);
        }
    }
}

bool mt_topic_text(const struct mt_report *r, const struct mt_topic *t)
{
    struct mt_buf b = {0};
    for (size_t i = 0, n; t->text[i]; i += n) {
        n = block_lines(t->text + i);
        if (mt_topic_width(r) == PAGE || !t->text[i][0]) {
            print_as_is(r, t->text + i, n);
        } else {
            print_block(r, t, t->text + i, n, &b);
        }
    }
    bool ok = !b.failed;
    mt_buf_release(&b);
    return ok;
}
