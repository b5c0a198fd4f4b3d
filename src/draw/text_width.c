/* SPDX-License-Identifier: MIT */
/*
 * How wide text is. The scene must be laid out without asking a font: which one the reader has is
 * not known, and a picture must not change with the fonts of the machine that draws it. So the
 * advance widths of DejaVu Sans 2.37 stand here: it is the usual font of servers and wider than
 * nearly all others.
 */
#include "draw/scene.h"

#include <string.h>

#include "support/compiler.h"
#include "support/utf8.h"

/* Thousandths of the size, from U+0020 to U+007E. */
static const uint16_t REGULAR[] = {
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361,  318, 337, 636, 636, 636,
    636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632,
    575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635,  611, 732, 684, 989, 685,
    611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352,  635, 634, 278, 278, 579,
    278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592,  525, 636, 337, 636, 838};
static const uint16_t BOLD[] = {
    348,  456, 521, 838, 696, 1002, 872, 306,  457, 457, 523, 838, 380, 415,  380, 365,
    696,  696, 696, 696, 696, 696,  696, 696,  696, 696, 400, 400, 838, 838,  838, 580,
    1000, 774, 762, 734, 830, 683,  683, 821,  837, 372, 372, 775, 637, 995,  837, 850,
    733,  850, 770, 720, 682, 812,  774, 1103, 771, 724, 725, 457, 365, 457,  838, 500,
    500,  675, 716, 593, 716, 678,  435, 716,  712, 343, 343, 665, 343, 1042, 712, 687,
    716,  716, 493, 595, 478, 712,  652, 924,  645, 652, 582, 712, 365, 712,  838};

/* The widest of what is not ASCII: a full em for scripts of wide signs, less for the others. */
static unsigned other_width(uint32_t code)
{
    if (code == 0xb7) { /* the middle dot of subtitles */
        return 379;
    }
    return code >= 0x1100 ? 1000 : 850;
}

static double char_width(uint32_t code, bool bold)
{
    if (code >= 0x20 && code < 0x7f) {
        return (bold ? BOLD : REGULAR)[code - 0x20] / 1000.0;
    }
    return other_width(code) / 1000.0;
}

size_t mt_utf8_next(const char *p, size_t n, uint32_t *code)
{
    size_t len = mt_utf8_decode((struct mt_str){p, n}, code);
    if (len == 0) {
        *code = 0xfffd;
        return 1;
    }
    return len;
}

double mt_text_px(const char *text, double size, bool bold)
{
    double w = 0;
    size_t n = strlen(text);
    for (size_t i = 0; i < n;) {
        uint32_t code;
        i += mt_utf8_next(text + i, n - i, &code);
        w += char_width(code, bold);
    }
    return w * size;
}

void mt_text_cut(struct mt_buf *out, const char *text, double size, bool bold, double room)
{
    if (mt_text_px(text, size, bold) <= room) {
        mt_buf_text(out, text);
        return;
    }
    double w = size; /* the ellipsis */
    size_t n = strlen(text), i = 0;
    while (i < n) {
        uint32_t code;
        size_t step = mt_utf8_next(text + i, n - i, &code);
        w += char_width(code, bold) * size;
        if (w > room) {
            break;
        }
        i += step;
    }
    mt_buf_add(out, text, i);
    mt_buf_text(out, "\xe2\x80\xa6");
}
