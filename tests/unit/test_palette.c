/* SPDX-License-Identifier: MIT */
/*
 * Colours as people see them, the colour-blind among them. Distances are Euclidean in OKLab
 * (Ottosson 2020), times 100: about 2 is just seen on large areas. Colour-blindness by the matrices
 * of Machado, Oliveira and Fernandes (2009), severity 1, in linear RGB.
 */
#include <math.h>
#include <stdlib.h>

#include "draw/palette.h"

#include "made_trace.h"
#include "unit.h"

struct rgb {
    double v[3];
};

static double linear(unsigned byte)
{
    double c = byte / 255.0;
    return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

static struct rgb from(uint32_t rgba)
{
    return (struct rgb){{linear(rgba >> 24), linear(rgba >> 16 & 255), linear(rgba >> 8 & 255)}};
}

static struct rgb multiply(const double m[3][3], struct rgb c)
{
    struct rgb out;
    for (int i = 0; i < 3; i++) {
        out.v[i] = m[i][0] * c.v[0] + m[i][1] * c.v[1] + m[i][2] * c.v[2];
    }
    return out;
}

static struct rgb oklab(struct rgb c)
{
    static const double lms[3][3] = {{0.4122214708, 0.5363325363, 0.0514459929},
                                     {0.2119034982, 0.6806995451, 0.1073969566},
                                     {0.0883024619, 0.2817188376, 0.6299787005}};
    static const double lab[3][3] = {{0.2104542553, 0.7936177850, -0.0040720468},
                                     {1.9779984951, -2.4285922050, 0.4505937099},
                                     {0.0259040371, 0.7827717662, -0.8086757660}};
    struct rgb m = multiply(lms, c);
    for (int i = 0; i < 3; i++) {
        m.v[i] = cbrt(m.v[i]);
    }
    return multiply(lab, m);
}

static const double SIGHT[4][3][3] = {
    {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
    {{0.152286, 1.052583, -0.204868},
     {0.114503, 0.786281, 0.099216},
     {-0.003882, -0.048116, 1.051998}},
    {{0.367322, 0.860646, -0.227968},
     {0.280085, 0.672501, 0.047413},
     {-0.011820, 0.042940, 0.968881}},
    {{1.255528, -0.076749, -0.178779},
     {-0.078411, 0.930809, 0.147602},
     {0.004733, 0.691367, 0.303900}},
};

/* The smallest distance of two colours over all kinds of sight. */
static double distance(uint32_t a, uint32_t b)
{
    double least = 1e9;
    for (int i = 0; i < 4; i++) {
        struct rgb p = oklab(multiply(SIGHT[i], from(a))), q = oklab(multiply(SIGHT[i], from(b)));
        double d =
            100 * sqrt(pow(p.v[0] - q.v[0], 2) + pow(p.v[1] - q.v[1], 2) + pow(p.v[2] - q.v[2], 2));
        least = d < least ? d : least;
    }
    return least;
}

static double lightness(uint32_t c)
{
    return 100 * oklab(from(c)).v[0];
}

START_TEST(hues_can_be_told_apart)
{
    const struct mt_theme *t = mt_theme_get(MT_THEME_LIGHT);
    for (int i = 0; i < MT_HUES; i++) {
        for (int k = 0; k < i; k++) {
            ck_assert_double_gt(distance(t->deep[i], t->deep[k]), 3.5);
            ck_assert_double_gt(distance(t->pale[i], t->pale[k]), 3.5);
        }
    }
}
END_TEST

/* Neighbours take turns with deep and pale: any two of them differ in grey too. */
START_TEST(neighbours_differ_in_lightness)
{
    for (int name = MT_THEME_LIGHT; name <= MT_THEME_DARK; name++) {
        const struct mt_theme *t = mt_theme_get((enum mt_theme_name)name);
        for (int i = 0; i < MT_HUES; i++) {
            for (int k = 0; k < MT_HUES; k++) {
                ck_assert_double_gt(lightness(t->pale[i]) - lightness(t->deep[k]), 6);
            }
        }
    }
}
END_TEST

/* Contrast as in WCAG 2: 4.5 for text, 3 for shapes. */
static double contrast(uint32_t a, uint32_t b)
{
    static const double weights[3] = {0.2126, 0.7152, 0.0722};
    double la = 0, lb = 0;
    for (int i = 0; i < 3; i++) {
        la += weights[i] * from(a).v[i];
        lb += weights[i] * from(b).v[i];
    }
    return (fmax(la, lb) + 0.05) / (fmin(la, lb) + 0.05);
}

START_TEST(text_is_readable)
{
    for (int name = MT_THEME_LIGHT; name <= MT_THEME_DARK; name++) {
        const struct mt_theme *t = mt_theme_get((enum mt_theme_name)name);
        ck_assert_double_gt(contrast(t->text, t->background), 12);
        ck_assert_double_gt(contrast(t->muted, t->background), 4.5);
        ck_assert_double_gt(contrast(t->faint, t->background), 3);
        ck_assert_double_gt(contrast(t->trouble, t->background), 4.5);
        for (int i = 0; i < MT_HUES; i++) {
            ck_assert_double_gt(contrast(t->deep[i], mt_palette_ink(t->deep[i])), 3);
            ck_assert_double_gt(contrast(t->pale[i], mt_palette_ink(t->pale[i])), 4.5);
        }
    }
}
END_TEST

START_TEST(hues_are_stable)
{
    struct made m;
    uint32_t stacks[12];
    uint8_t hues[12], again[1];
    unsigned seen = 0;
    made_begin(&m);
    for (int i = 0; i < 12; i++) {
        stacks[i] = made_stack(&m, "step", i + 1);
    }
    made_event(&m, MT_ACTION_ALLOC, 0, 512, stacks[0]);
    made_finish(&m);
    mt_palette_hues(&m.s, stacks, 12, hues);
    for (int i = 0; i < MT_HUES; i++) {
        seen |= 1u << hues[i];
    }
    ck_assert_uint_eq(seen, (1u << MT_HUES) - 1); /* none twice while there are others */
    mt_palette_hues(&m.s, stacks, 1, again);
    ck_assert_uint_eq(again[0], hues[0]);
    ck_assert_uint_eq(again[0], mt_stack_hue_hash(&m.s, stacks[0]) % MT_HUES);
    ck_assert_uint_ne(mt_stack_hue_hash(&m.s, stacks[0]), mt_stack_hue_hash(&m.s, stacks[1]));
    made_release(&m);
}
END_TEST

UNIT_MAIN("palette", hues_can_be_told_apart, neighbours_differ_in_lightness, text_is_readable,
          hues_are_stable)
