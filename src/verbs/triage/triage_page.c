/* SPDX-License-Identifier: MIT */
/*
 * A triage as one page to hand on: HTML that needs nothing beside it and runs no script, or
 * Markdown. Both are written by the same calls. Whatever comes from the input is escaped; commands
 * stand in blocks of their own, which no text of theirs can end.
 */
#include "verbs/triage/print.h"
#include "verbs/triage/triage_bar.h"

struct page {
    const struct mt_report *r;
    const struct mt_triage_result *x;
    bool html;
    struct mt_buf text;
};

static const char STYLE[] =
    "body{font:16px/1.5 sans-serif;max-width:52em;margin:2em auto;padding:0 1em;color:#222;"
    "background:#fff}pre{background:#f2f2f2;padding:.6em;overflow:auto}td{padding:0 1em 0 0}"
    ".bar{display:flex;height:1.6em;border:1px solid #888;margin:1em 0}.live{background:#c0392b}"
    ".holes{background:#e6a23c}.outside{background:#7f8c8d}.others{background:#2c3e50}"
    ".free{background:#7fb77e}.rest{background:#d0d0d0}.verdict{font-size:1.3em}"
    ".picture{margin:1em 0}.picture svg{max-width:100%;height:auto}";

/* ---- pieces ---- */

static void escaped(struct page *p, struct mt_str s)
{
    struct mt_buf safe = {0};
    mt_text_safe(&safe, s);
    for (size_t i = 0; i < safe.n; i++) {
        char c = safe.p[i];
        const char *entity = c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : NULL;
        if (p->html && entity) {
            mt_buf_text(&p->text, entity);
            continue;
        }
        if (!p->html && strchr("\\`*_<>[]|#", c)) {
            mt_buf_char(&p->text, '\\');
        }
        mt_buf_char(&p->text, c);
    }
    p->text.failed |= safe.failed;
    mt_buf_release(&safe);
}

static void heading(struct page *p, const char *words)
{
    mt_buf_printf(&p->text, p->html ? "<h2>%s</h2>\n" : "\n## %s\n\n", words);
}

static void paragraph(struct page *p, struct mt_str s)
{
    mt_buf_text(&p->text, p->html ? "<p>" : "");
    escaped(p, s);
    mt_buf_text(&p->text, p->html ? "</p>\n" : "\n\n");
}

static void item(struct page *p, const char *mark, struct mt_str s, const char *between,
                 struct mt_str more)
{
    mt_buf_text(&p->text, p->html ? "<li>" : mark);
    escaped(p, s);
    mt_buf_text(&p->text, between);
    escaped(p, more);
    mt_buf_text(&p->text, "\n");
}

/* Four blanks more than the list has: a block of code that ends with its last line. */
static void command(struct page *p, struct mt_str s)
{
    mt_buf_text(&p->text, p->html ? "<pre>" : "\n       ");
    if (p->html) {
        escaped(p, s);
    } else {
        mt_text_safe(&p->text, s);
    }
    mt_buf_text(&p->text, p->html ? "</pre>\n" : "\n");
}

static void list(struct page *p, bool numbered, bool begins)
{
    if (p->html) {
        mt_buf_printf(&p->text, "<%s%s>\n", begins ? "" : "/", numbered ? "ol" : "ul");
    }
}

/* ---- sections ---- */

static const char *class_of(char mark)
{
    return mark == '#'   ? "live"
           : mark == '=' ? "holes"
           : mark == '+' ? "outside"
           : mark == 'o' ? "others"
           : mark == '.' ? "free"
                         : "rest";
}

static void row(struct page *p, const char *words, uint64_t bytes)
{
    mt_buf_text(&p->text, p->html ? "<tr><td>" : "| ");
    escaped(p, mt_str_from(words));
    mt_buf_printf(&p->text, p->html ? "</td><td>%s</td></tr>\n" : " | %s |\n",
                  mt_report_size(p->r, bytes).s);
}

static void put_bar(struct page *p, const struct mt_triage_part *parts, size_t n, uint64_t total)
{
    uint64_t seen = 0;
    for (size_t i = 0; i < n; i++) {
        seen += parts[i].known ? parts[i].bytes : 0;
    }
    seen = seen > total ? seen : total;
    mt_buf_text(&p->text, "<div class=\"bar\">");
    for (size_t i = 0; i < n; i++) {
        if (parts[i].known && parts[i].bytes > 0) {
            mt_buf_printf(&p->text, "<span class=\"%s\" style=\"width:%.2f%%\"></span>",
                          class_of(parts[i].mark), 100.0 * (double)parts[i].bytes / (double)seen);
        }
    }
    mt_buf_text(&p->text, "</div>\n");
}

static void put_card(struct page *p, const struct mt_incident *i)
{
    struct mt_triage_part parts[MT_TRIAGE_PARTS];
    size_t n = mt_triage_parts(i, parts);
    uint64_t total = mt_oom_get(&i->numbers, MT_OOM_TOTAL);
    heading(p, "The card");
    if (p->html && total > 0) {
        put_bar(p, parts, n, total);
    }
    mt_buf_text(&p->text, p->html ? "<table>\n" : "| | |\n|---|---|\n");
    if (total > 0) {
        row(p, i->whole_is_limit ? "allowed" : "the card holds", total);
    }
    for (size_t k = 0; k < n; k++) {
        if (parts[k].known) {
            row(p, parts[k].words, parts[k].bytes);
        }
    }
    if (mt_oom_has(&i->numbers, MT_OOM_REQUESTED)) {
        row(p, "asked for", mt_oom_get(&i->numbers, MT_OOM_REQUESTED));
    }
    mt_buf_text(&p->text, p->html ? "</table>\n" : "\n");
}

static void put_event(struct page *p)
{
    const struct mt_incident *i = &p->x->incidents[p->x->cause];
    struct mt_buf line = {0};
    mt_buf_printf(&line, "%s", i->file[0] ? i->file : p->r->file);
    if (i->line > 0) {
        mt_buf_printf(&line, ", line %llu", (unsigned long long)i->line);
    }
    paragraph(p, mt_buf_view(&line));
    p->text.failed |= line.failed;
    mt_buf_release(&line);
    command(p, i->text);
    if (p->x->verdict != MT_VERDICT_NOT_OOM && i->numbers.present) {
        put_card(p, i);
    }
}

static void put_verdict(struct page *p)
{
    struct mt_buf line = {0};
    mt_buf_printf(&line, "%s, %s confidence", mt_verdict_id(p->x->verdict),
                  mt_confidence_id(p->x->confidence));
    for (size_t i = 0; i < p->x->n_also; i++) {
        mt_buf_printf(&line, "%s%s", i ? ", " : "; also ", mt_verdict_id(p->x->also[i]));
    }
    mt_buf_text(&p->text, p->html ? "<p class=\"verdict\">" : "**");
    escaped(p, mt_str_from(p->x->headline));
    mt_buf_text(&p->text, p->html ? "</p>\n" : "**\n\n");
    paragraph(p, mt_buf_view(&line));
    p->text.failed |= line.failed;
    mt_buf_release(&line);
}

static void put_evidence(struct page *p)
{
    heading(p, "Why");
    list(p, false, true);
    for (size_t i = 0; i < p->x->n_evidence; i++) {
        item(p, "- ", p->x->evidence[i], "", MT_STR(""));
    }
    list(p, false, false);
}

/* Steps, or what does not help. */
static void put_advice(struct page *p, bool applies, const char *words)
{
    bool begun = false;
    for (size_t i = 0; i < p->x->n_advice; i++) {
        const struct mt_advice *a = &p->x->advice[i];
        if (a->applies != applies) {
            continue;
        }
        if (!begun) {
            heading(p, words);
            list(p, applies, true);
            begun = true;
        }
        item(p, applies ? "1. " : "- ", a->text, applies ? " " : ": ", a->why);
        for (size_t c = 0; c < a->n_commands; c++) {
            command(p, a->commands[c]);
        }
    }
    if (begun) {
        list(p, applies, false);
    }
}

/* What was composed so far goes out: pictures are painted behind it. */
static enum mt_status flush(struct page *p, struct mt_error *err)
{
    if (p->text.failed) {
        return mt_fail_nomem(err);
    }
    fwrite(p->text.p, 1, p->text.n, p->r->out);
    mt_buf_reset(&p->text);
    return MT_OK;
}

static enum mt_status put_pictures(struct page *p, const struct mt_triage_page *page,
                                   struct mt_error *err)
{
    if (!p->html || page->n_pictures == 0) {
        return MT_OK;
    }
    heading(p, "Pictures");
    MT_TRY(flush(p, err));
    for (size_t i = 0; i < page->n_pictures; i++) {
        MT_TRY(mt_triage_put_pictures(p->r->out, &page->pictures[i], err));
    }
    return MT_OK;
}

static void put_head(struct page *p)
{
    bool event = p->x->verdict != MT_VERDICT_NOT_OOM && p->x->verdict != MT_VERDICT_UNKNOWN;
    const char *title = event ? "Why it died, and what to try first" : "What memtool triage found";
    if (p->html) {
        mt_buf_printf(&p->text,
                      "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
                      "<title>memtool triage</title>\n<style>%s</style>\n"
                      "<h1>%s</h1>\n",
                      STYLE, title);
    } else {
        mt_buf_printf(&p->text, "# %s\n\n", title);
    }
}

enum mt_status mt_report_triage_page(const struct mt_report *r, const struct mt_triage_result *x,
                                     const struct mt_triage_page *page, struct mt_error *err)
{
    struct page p = {.r = r, .x = x, .html = page->html};
    put_head(&p);
    put_verdict(&p);
    if (x->cause != SIZE_MAX) {
        put_event(&p);
    }
    if (x->n_evidence > 0) {
        put_evidence(&p);
    }
    put_advice(&p, true, "First steps");
    put_advice(&p, false, "Not the cure here");
    enum mt_status status = put_pictures(&p, page, err);
    mt_buf_text(&p.text, page->html ? "</html>\n" : "");
    if (status == MT_OK) {
        status = flush(&p, err);
    }
    mt_buf_release(&p.text);
    return status;
}
