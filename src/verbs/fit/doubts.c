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

static void keep(struct finder *f, const char *id, const struct mt_sentence *s)
{
    size_t n = strlen(s->text) + 1;
    struct mt_fit_doubt d = {id, mt_mem_alloc(n, 1)};
    if (!d.text || !mt_vec_push(&f->d->list, d)) {
        mt_mem_free(d.text);
        f->failed = true;
        return;
    }
    memcpy(d.text, s->text, n);
}

static const char *label(struct finder *f, uint32_t stack)
{
    mt_buf_reset(&f->b);
    mt_fit_label(&f->b, f->v, stack, f->r);
    f->failed |= f->b.failed;
    return f->b.failed ? "" : mt_buf_view(&f->b).p;
}

/* Why the sizes of a stack are not known. */
static const char *why(const struct mt_fit_stack *x)
{
    return x->law == MT_FIT_UNCONFIRMED
               ? "two recordings put the size on a line that does not go through 0, and no third "
                 "one confirms it"
           : x->alone ? "only one recording has the call"
                      : "the size lies on no law; a library chooses it";
}

static void unknown_calls(struct finder *f)
{
    size_t n, named = 0;
    const struct mt_fit_stack *rows = mt_fit_unknown(f->v->fit, &n);
    for (; named < n && named < NAMED_STACKS; named++) {
        const struct mt_fit_stack *x = &rows[named];
        struct mt_sentence s = {0};
        mt_sentence_add(&s, "%s call%s of %s: %s (up to %s)", mt_count_text(x->count).s,
                        x->count == 1 ? "" : "s", label(f, x->stack), why(x),
                        mt_report_size(f->r, x->bytes).s);
        keep(f, "no_law", &s);
    }
    if (n > named) {
        struct mt_sentence s = {0};
        mt_sentence_add(&s, "%zu more stack%s calls whose size is not known", n - named,
                        n - named == 1 ? " has" : "s have");
        keep(f, "no_law", &s);
    }
}

static void another_path(struct finder *f, const struct mt_fit_recording *r,
                         const struct mt_fit_recording *base)
{
    struct mt_sentence s = {0};
    mt_sentence_add(&s,
                    "at %s %llu the program makes %s allocations, at %llu %s: another path, "
                    "and beyond the recordings it may change again",
                    f->v->what, (unsigned long long)r->size, mt_count_text(r->calls).s,
                    (unsigned long long)base->size, mt_count_text(base->calls).s);
    keep(f, "another_path", &s);
}

/* A recording whose replay does not tell everything. */
static void incomplete(struct finder *f, const struct mt_fit_recording *r)
{
    struct mt_sentence s = {0};
    mt_sentence_add(&s, "the recording at %s %llu %s", f->v->what, (unsigned long long)r->size,
                    r->ooms        ? "ended in a refusal: what followed is not in it"
                    : !r->complete ? "begins in the middle: what was there before is kept as it was"
                                   : "is not replayed exactly");
    keep(f, r->ooms ? "refused" : !r->complete ? "incomplete" : "not_exact", &s);
}

static void recordings(struct finder *f)
{
    size_t n, base = mt_fit_base(f->v->fit);
    const struct mt_fit_recording *list = mt_fit_recordings(f->v->fit, &n);
    for (size_t i = 0; i < n; i++) {
        if (!list[i].same_path) {
            another_path(f, &list[i], &list[base]);
        }
        if (!list[i].exact || !list[i].complete || list[i].ooms) {
            incomplete(f, &list[i]);
        }
    }
}

/* What larger recordings on other paths show. */
static void off(struct finder *f)
{
    double low, high;
    struct mt_sentence s = {0};
    mt_fit_off(f->v->fit, &low, &high);
    if (low < 1 || high > 1) {
        mt_sentence_add(&s,
                        "larger recordings on another path reserved %.1f to %.1f %% of what is "
                        "predicted for them: the range holds that",
                        100 * low, 100 * high);
        keep(f, "other_path_differs", &s);
    }
}

static void points(struct finder *f)
{
    size_t n, used = 0;
    uint64_t largest = 0;
    const struct mt_fit_recording *list = mt_fit_recordings(f->v->fit, &n);
    for (size_t i = 0; i < n; i++) {
        used += list[i].used;
        largest = list[i].used && list[i].size > largest ? list[i].size : largest;
    }
    struct mt_sentence s = {0};
    if (used == 2) {
        mt_sentence_add(
            &s, "the laws rest on two recordings: a third on the same path would check them");
        keep(f, "two_recordings", &s);
    }
    s = (struct mt_sentence){0};
    mt_sentence_add(&s,
                    "no recording is larger than %s %llu: where a kernel or library takes another "
                    "path beyond it, nothing here shows that",
                    f->v->what, (unsigned long long)largest);
    keep(f, "beyond_recordings", &s);
}

/* The recordings show how their own peak grows, and not that of another part of the program. */
static void elsewhere(struct finder *f)
{
    const struct mt_fit_answer *a = &f->v->answers[0];
    const struct mt_fit_run *moved = NULL;
    uint32_t base = mt_fit_peak_stack(f->v->fit);
    struct mt_sentence s = {0};
    for (size_t i = 0; i < a->n_runs; i++) {
        const struct mt_fit_run *run = &a->runs[i];
        bool is = run->known && run->peak_stack != base;
        moved = is && (!moved || run->size < moved->size) ? run : moved;
    }
    if (!moved) {
        return;
    }
    mt_sentence_add(&s, "most is in use at another call than in the recordings: at %s %llu at %s, ",
                    f->v->what, (unsigned long long)moved->size, label(f, moved->peak_stack));
    mt_sentence_add(&s, "recorded at %s; no recording bears out what that part needs",
                    label(f, base));
    keep(f, "peak_elsewhere", &s);
}

enum mt_status mt_fit_doubts_find(struct mt_fit_doubts *d, const struct mt_report *r,
                                  const struct mt_fit_report *v, struct mt_error *err)
{
    struct finder f = {.d = d, .r = r, .v = v};
    unknown_calls(&f);
    recordings(&f);
    off(&f);
    elsewhere(&f);
    points(&f);
    mt_buf_release(&f.b);
    return f.failed ? mt_fail_nomem(err) : MT_OK;
}

void mt_fit_doubts_release(struct mt_fit_doubts *d)
{
    for (size_t i = 0; i < d->list.n; i++) {
        mt_mem_free(d->list.v[i].text);
    }
    mt_vec_release(&d->list);
}
