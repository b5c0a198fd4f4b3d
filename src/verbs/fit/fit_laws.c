/* SPDX-License-Identifier: MIT */
/*
 * The law that each call's size follows. A line has to meet every recording to the byte, and a
 * parabola is only believed when it rises from a start that is not negative; with two recordings a
 * size that grows faster than the program is put on a parabola through the origin, as attention
 * scores are. What fits neither is not known: a line through the two largest recordings is then the
 * middle of a range.
 */
#include <math.h>

#include "support/hash.h"

#include "verbs/fit/fit_core.h"

struct points {
    size_t n;
    double at[MT_FIT_RECORDINGS]; /* sizes of the program, ascending */
    double size[MT_FIT_RECORDINGS];
};

#define STEP_SHARE 0.01 /* of a size that a library may round away */
#define MOST_UNCONFIRMED                                                                           \
    10 /* a share of the calls that grow: where more are, a library chooses                        \
        */

/* ---- curves ---- */

static double line(const struct points *p, size_t i, size_t k, double at)
{
    return p->size[i] + (p->size[k] - p->size[i]) * (at - p->at[i]) / (p->at[k] - p->at[i]);
}

/* Through three points. */
struct parabola {
    double a, b, c; /* a at^2 + b at + c */
};

static struct parabola parabola_of(const double at[3], const double size[3])
{
    double first = (size[1] - size[0]) / (at[1] - at[0]);
    double second = (size[2] - size[1]) / (at[2] - at[1]);
    double a = (second - first) / (at[2] - at[0]);
    double b = first - a * (at[0] + at[1]);
    return (struct parabola){a, b, size[0] - (a * at[0] + b) * at[0]};
}

/* The first, a middle and the last point; of two, the origin and both. */
static struct parabola curve(const struct points *p)
{
    size_t last = p->n - 1, middle = p->n / 2;
    if (p->n == 2) {
        return parabola_of((double[]){0, p->at[0], p->at[1]},
                           (double[]){0, p->size[0], p->size[1]});
    }
    return parabola_of((double[]){p->at[0], p->at[middle], p->at[last]},
                       (double[]){p->size[0], p->size[middle], p->size[last]});
}

static double value(struct parabola c, double at)
{
    return (c.a * at + c.b) * at + c.c;
}

/* ---- which law ---- */

static bool is_constant(const struct points *p)
{
    for (size_t i = 1; i < p->n; i++) {
        if (p->size[i] != p->size[0]) {
            return false;
        }
    }
    return true;
}

/* All within `slack` of the line through the ends, or within `share` of their size. */
static bool is_line(const struct points *p, double slack, double share)
{
    size_t last = p->n - 1;
    for (size_t i = 1; i < last; i++) {
        double off = fabs(line(p, 0, last, p->at[i]) - p->size[i]);
        if (off >= slack && off > share * p->size[i]) {
            return false;
        }
    }
    bool faster = p->size[last] * p->at[0] > p->size[0] * p->at[last]; /* than in proportion */
    return p->size[last] > p->size[0] && (p->n > 2 || !faster);
}

static bool is_parabola(const struct points *p)
{
    struct parabola c = curve(p);
    for (size_t i = 0; i < p->n; i++) {
        if (fabs(value(c, p->at[i]) - p->size[i]) >= 1) {
            return false;
        }
    }
    return c.a > 0 && c.c >= -0.5 && value(c, p->at[0] / 2) >= value(c, 0) - 0.5;
}

static enum mt_fit_law law_of(const struct points *p)
{
    return p->n < 2                                ? MT_FIT_UNKNOWN
           : is_constant(p)                        ? MT_FIT_CONSTANT
           : is_line(p, 1, 0)                      ? MT_FIT_LINEAR
           : is_parabola(p)                        ? MT_FIT_QUADRATIC
           : is_line(p, 1, STEP_SHARE) && p->n > 2 ? MT_FIT_STEPS
                                                   : MT_FIT_UNKNOWN;
}

/* From "as small as ever" to "the largest ever, in proportion". */
static double unknown_at(const struct points *p, double at, enum guess guess)
{
    size_t last = p->n - 1;
    double low = p->size[0], high = p->size[0], grown = at / p->at[last];
    for (size_t i = 1; i < p->n; i++) {
        low = p->size[i] < low ? p->size[i] : low;
        high = p->size[i] > high ? p->size[i] : high;
    }
    low *= grown < 1 ? grown : 1;
    high *= grown > 1 ? grown : 1;
    double middle = p->n > 1 ? line(p, last - 1, last, at) : p->size[last];
    middle = middle < low ? low : middle > high ? high : middle;
    return guess == GUESS_LOW ? low : guess == GUESS_HIGH ? high : middle;
}

/* The line, or half and twice the growth. */
static double unconfirmed_at(const struct points *p, double at, enum guess guess)
{
    double now = p->size[p->n - 1], then = line(p, 0, p->n - 1, at), off = fabs(then - now);
    return guess == GUESS_LOW ? then - off / 2 : guess == GUESS_HIGH ? then + off : then;
}

static double size_at(const struct points *p, enum mt_fit_law law, double at, enum guess guess)
{
    switch (law) {
    case MT_FIT_CONSTANT: return p->size[0];
    case MT_FIT_LINEAR:
    case MT_FIT_STEPS: return line(p, 0, p->n - 1, at);
    case MT_FIT_QUADRATIC: return value(curve(p), at);
    case MT_FIT_UNCONFIRMED: return unconfirmed_at(p, at, guess);
    default: return unknown_at(p, at, guess);
    }
}

/* ---- calls ---- */

/* The sizes of a call of the base in the recordings that have it, the smallest program first; only
 * of those that are points of the laws, or of all. */
static void points_among(const struct mt_fit *f, size_t call, bool all, struct points *p)
{
    p->n = 0;
    for (size_t k = 0; k < f->n; k++) {
        size_t r = f->order[k];
        uint32_t i = f->match[r] ? f->match[r][call] : (uint32_t)call;
        bool wrong = f->mispaired && f->mispaired[call] == r + 1;
        if ((all || f->recordings[r].used) && !wrong && i != NO_CALL) {
            p->at[p->n] = (double)f->recordings[r].size;
            p->size[p->n++] = (double)f->calls[r].list.v[i].size;
        }
    }
}

static void points_of(const struct mt_fit *f, size_t call, struct points *p)
{
    points_among(f, call, false, p);
}

/* Any two sizes lie on a line, or a parabola. Programs ask for sizes that stay or grow in
 * proportion or with the square; what does neither was added up inside a library, which a third
 * recording has to confirm. */
static bool is_confirmed(const struct mt_fit *f, size_t call, const struct points *p,
                         enum mt_fit_law law)
{
    struct points all;
    double grown = p->at[1] / p->at[0], expected = p->size[0] * grown;
    expected *= law == MT_FIT_QUADRATIC ? grown : 1;
    if (fabs(expected - p->size[1]) <= STEP_SHARE * p->size[1]) {
        return true;
    }
    points_among(f, call, true, &all);
    return all.n > 2 &&
           (law == MT_FIT_QUADRATIC ? is_parabola(&all) : is_line(&all, 1, STEP_SHARE));
}

static bool is_close(double x, double y)
{
    return fabs(x - y) <= STEP_SHARE * (x > y ? x : y);
}

/*
 * Where one recording is twice as large as another, a call that stays there and one that grows can
 * be taken for each other. Of the recordings on other paths the one that alone speaks against a law
 * of all others, and would be right under the other law, is such a pair.
 */
static enum mt_fit_law law_without_mispaired(struct mt_fit *f, size_t call)
{
    const struct mt_fit_recording *base = &f->recordings[f->base];
    double size = (double)f->calls[f->base].list.v[call].size;
    for (size_t r = 0; r < f->n; r++) {
        uint32_t i = f->match[r] ? f->match[r][call] : NO_CALL;
        if (!f->recordings[r].used || i == NO_CALL) {
            continue;
        }
        double found = (double)f->calls[r].list.v[i].size;
        double grown = size * (double)f->recordings[r].size / (double)base->size;
        struct points p;
        f->mispaired[call] = (uint8_t)(r + 1);
        points_of(f, call, &p);
        enum mt_fit_law law = p.n > 2 ? law_of(&p) : MT_FIT_UNKNOWN;
        if ((law == MT_FIT_CONSTANT && is_close(found, grown)) ||
            (law == MT_FIT_LINEAR && is_close(found, size))) {
            return law;
        }
    }
    f->mispaired[call] = 0;
    return MT_FIT_UNKNOWN;
}

static enum mt_fit_law law_of_call(struct mt_fit *f, size_t call)
{
    struct points p;
    points_of(f, call, &p);
    enum mt_fit_law law = law_of(&p);
    if (law == MT_FIT_UNKNOWN && p.n > 3) {
        return law_without_mispaired(f, call);
    }
    bool grows = law == MT_FIT_LINEAR || law == MT_FIT_QUADRATIC;
    return grows && p.n == 2 && !is_confirmed(f, call, &p, law) ? MT_FIT_UNCONFIRMED : law;
}

bool mt_fit_is_shared(const struct mt_fit *f, size_t call)
{
    struct points p;
    points_of(f, f->like[call], &p);
    return p.n > 1;
}

bool mt_fit_is_chosen(const struct mt_fit *f, size_t call)
{
    size_t like = f->like[call];
    const size_t *n = f->law_counts;
    size_t unconfirmed = n[MT_FIT_UNCONFIRMED];
    size_t grow = n[MT_FIT_LINEAR] + n[MT_FIT_QUADRATIC] + n[MT_FIT_STEPS] + unconfirmed;
    return (f->laws[like] == MT_FIT_UNKNOWN && mt_fit_is_shared(f, call)) ||
           (f->laws[like] == MT_FIT_UNCONFIRMED && unconfirmed > grow / MOST_UNCONFIRMED);
}

/* A call that only the base has is taken for one of the same stack and size that others have too.
 */
static enum mt_status find_likes(struct mt_fit *f, struct mt_error *err)
{
    const struct calls *c = &f->calls[f->base];
    struct mt_idmap known = {0};
    enum mt_status status = MT_OK;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; status == MT_OK && i < c->list.n; i++) {
            uint64_t key = mt_hash_mix(c->list.v[i].size, c->list.v[i].key);
            bool has_law = f->laws[i] != MT_FIT_UNKNOWN;
            const uint32_t *like = pass == 1 && !has_law ? mt_idmap_find(&known, key) : NULL;
            if (pass == 0 && has_law && !mt_idmap_put(&known, key, (uint32_t)i)) {
                status = mt_fail_nomem(err);
            } else if (like) {
                f->like[i] = *like;
            }
        }
    }
    mt_idmap_release(&known);
    return status;
}

enum mt_status mt_fit_find_laws(struct mt_fit *f, struct mt_error *err)
{
    size_t n = f->calls[f->base].list.n;
    f->laws = mt_mem_alloc(n, sizeof *f->laws);
    f->like = mt_mem_alloc(n, sizeof *f->like);
    f->mispaired = mt_mem_zalloc(n, sizeof *f->mispaired);
    if (!f->laws || !f->like || !f->mispaired) {
        return mt_fail_nomem(err);
    }
    for (size_t i = 0; i < n; i++) {
        f->laws[i] = (uint8_t)law_of_call(f, i);
        f->like[i] = (uint32_t)i;
    }
    MT_TRY(find_likes(f, err));
    for (size_t i = 0; i < n; i++) {
        f->law_counts[f->laws[f->like[i]]]++;
    }
    return MT_OK;
}

uint64_t mt_fit_size_of(const struct mt_fit *f, size_t call, uint64_t size, enum guess guess)
{
    struct points p;
    size_t like = f->like[call];
    points_of(f, like, &p);
    double bytes = size_at(&p, (enum mt_fit_law)f->laws[like], (double)size, guess);
    return bytes < 1 ? 1 : bytes > 0x1p60 ? (uint64_t)1 << 60 : (uint64_t)llround(bytes);
}

void mt_fit_sizes_at(const struct mt_fit *f, uint64_t size, enum guess guess, uint64_t *sizes)
{
    for (size_t i = 0; i < f->calls[f->base].list.n; i++) {
        sizes[i] = mt_fit_size_of(f, i, size, guess);
    }
}
