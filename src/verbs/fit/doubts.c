/* SPDX-License-Identifier: MIT */
/* Each doubt is a fact of the recordings and what follows from it. */
#include "verbs/fit/doubts.h"

#include <string.h>

#define NAMED_STACKS 3

struct finder {
    struct mt_fit_doubts *d;
    const struct mt_report *r;
    const struct mt_fit_report *v;
    struct mt_buf b;
    bool failed;
};

static void keep(struct finder *f, const struct mt_sentence *s)
{
    size_t n = strlen(s->text) + 1;
    char *text = mt_mem_alloc(n, 1);
    if (!text || !mt_vec_push(&f->d->list, text)) {
        mt_mem_free(text);
        f->failed = true;
        return;
    }
    memcpy(text, s->text, n);
}

static const char *label(struct finder *f, uint32_t stack)
{
    mt_buf_reset(&f->b);
    mt_stack_label_inner(&f->b, f->v->base, stack, f->r);
    f->failed |= f->b.failed;
    return f->b.failed ? "" : mt_buf_view(&f->b).p;
}

static void unknown_calls(struct finder *f)
{
    size_t n, named = 0;
    const struct mt_fit_stack *rows = mt_fit_unknown(f->v->fit, &n);
    for (; named < n && named < NAMED_STACKS; named++) {
        struct mt_sentence s = {0};
        mt_sentence_add(
            &s,
            "%s call%s of %s: the size lies on no law (up to %s); a library chooses it, "
            "or the recordings do not share the call",
            mt_count_text(rows[named].count).s, rows[named].count == 1 ? "" : "s",
            label(f, rows[named].stack), mt_report_size(f->r, rows[named].bytes).s);
        keep(f, &s);
    }
    if (n > named) {
        struct mt_sentence s = {0};
        mt_sentence_add(&s, "%zu more stacks have calls whose size lies on no law", n - named);
        keep(f, &s);
    }
}

static void recordings(struct finder *f)
{
    size_t n, base = mt_fit_base(f->v->fit);
    const struct mt_fit_recording *list = mt_fit_recordings(f->v->fit, &n);
    for (size_t i = 0; i < n; i++) {
        const struct mt_fit_recording *r = &list[i];
        struct mt_sentence s = {0};
        if (!r->same_path) {
            mt_sentence_add(
                &s,
                "at %s %llu the program makes %s allocations, at %llu %s: another path, "
                "and beyond the recordings it may change again",
                f->v->what, (unsigned long long)r->size, mt_count_text(r->calls).s,
                (unsigned long long)list[base].size, mt_count_text(list[base].calls).s);
            keep(f, &s);
        }
        if (!r->exact || !r->complete || r->ooms) {
            s = (struct mt_sentence){0};
            mt_sentence_add(
                &s, "the recording at %s %llu %s", f->v->what, (unsigned long long)r->size,
                r->ooms        ? "ended in a refusal: what followed is not in it"
                : !r->complete ? "begins in the middle: what was there before is kept as "
                                 "it was"
                               : "is not replayed exactly");
            keep(f, &s);
        }
    }
}

static void points(struct finder *f)
{
    size_t n, used = 0;
    const struct mt_fit_recording *list = mt_fit_recordings(f->v->fit, &n);
    for (size_t i = 0; i < n; i++) {
        used += list[i].used;
    }
    if (used == 2) {
        struct mt_sentence s = {0};
        mt_sentence_add(
            &s, "the laws rest on two recordings: a third on the same path would check them");
        keep(f, &s);
    }
}

enum mt_status mt_fit_doubts_find(struct mt_fit_doubts *d, const struct mt_report *r,
                                  const struct mt_fit_report *v, struct mt_error *err)
{
    struct finder f = {.d = d, .r = r, .v = v};
    unknown_calls(&f);
    recordings(&f);
    points(&f);
    mt_buf_release(&f.b);
    return f.failed ? mt_fail_nomem(err) : MT_OK;
}

void mt_fit_doubts_release(struct mt_fit_doubts *d)
{
    for (size_t i = 0; i < d->list.n; i++) {
        mt_mem_free(d->list.v[i]);
    }
    mt_vec_release(&d->list);
}
