/* SPDX-License-Identifier: MIT */
/* What an overlay says, the same in every kind of picture. */
#include <string.h>

#include "support/units.h"
#include "verbs/plots/overlay/overlay.h"

void mt_overlay_say_place(struct mt_buf *b, const struct mt_overlay *o,
                          const struct mt_overlay_part *part)
{
    if (part->step != SIZE_MAX) {
        mt_buf_printf(b, "in step %zu", part->step);
    } else if (o->axis == MT_OVERLAY_STEPS) {
        mt_buf_text(b, "before the first step");
    } else if (part->x <= 0) {
        mt_buf_text(b, "from the start");
    } else if (o->axis == MT_OVERLAY_EVENTS) {
        mt_buf_printf(b, "at about event %s", mt_count_text((uint64_t)(part->x * o->span)).s);
    } else {
        mt_buf_printf(b, "at about %s", mt_duration_text((int64_t)(part->x * o->span)).s);
    }
}

/* How many bytes of the path, to the last slash, are in all paths. */
static size_t common_folder(const struct mt_overlay *o)
{
    const char *path = o->runs[0].file;
    size_t folder = 0;
    for (size_t n = 0; path[n]; n++) {
        for (size_t i = 1; i < o->n; i++) {
            if (strncmp(path, o->runs[i].file, n + 1) != 0) {
                return folder;
            }
        }
        folder = path[n] == '/' ? n + 1 : folder;
    }
    return folder;
}

struct mt_str mt_overlay_name(const struct mt_overlay *o, size_t run)
{
    struct mt_str whole = mt_str_from(o->runs[run].file), name = mt_str_basename(whole);
    for (size_t i = 0; i < o->n; i++) {
        struct mt_str other = mt_str_basename(mt_str_from(o->runs[i].file));
        if (i != run && mt_str_equal(name, other)) {
            size_t folder = common_folder(o);
            return (struct mt_str){whole.p + folder, whole.n - folder};
        }
    }
    return name;
}

void mt_overlay_say_run(struct mt_buf *b, const struct mt_overlay *o, size_t run,
                        struct mt_size_format f)
{
    const struct mt_overlay_run *x = &o->runs[run];
    const struct mt_timeline *t = x->timeline;
    mt_buf_printf(b, "device %d \xc2\xb7 peak %s \xc2\xb7 reserved up to %s \xc2\xb7 ",
                  (int)t->device, mt_size_text(t->peak, f).s, mt_size_text(t->reserved_peak, f).s);
    if (o->axis == MT_OVERLAY_STEPS) {
        mt_buf_printf(b, "%zu steps", x->periods.bounds.n);
    } else {
        mt_buf_printf(b, "%s events", mt_count_text(t->last - t->first).s);
    }
    if (t->ooms.n) {
        mt_buf_printf(b, " \xc2\xb7 out of memory");
    }
}

static void say_part(struct mt_buf *b, const struct mt_overlay *o,
                     const struct mt_overlay_part *part, struct mt_size_format f)
{
    mt_overlay_say_place(b, o, part);
    mt_buf_printf(b, ": peaks %s and %s", mt_size_text(part->bytes[0], f).s,
                  mt_size_text(part->bytes[1], f).s);
    mt_buf_printf(b, part->below_peak ? ", below them %s" : " (%s)",
                  mt_size_delta_text(part->change, f).s);
}

void mt_overlay_say_parting(struct mt_buf *b, const struct mt_overlay *o, struct mt_size_format f)
{
    if (o->drift) {
        mt_buf_printf(b, "drift apart by %s per step from step %zu",
                      mt_size_delta_text(o->drift, f).s, o->first.step);
    } else {
        mt_buf_text(b, "runs diverge ");
        mt_overlay_say_place(b, o, &o->first);
    }
}

void mt_overlay_say_difference(struct mt_buf *b, const struct mt_overlay *o,
                               struct mt_size_format f)
{
    if (o->n != 2) {
        return;
    }
    if (!o->differs) {
        mt_buf_text(b, "As far as both go, their highest points stay within 1 % of the peak of "
                       "one another.");
        return;
    }
    if (o->drift) {
        mt_buf_text(b, "They ");
        mt_overlay_say_parting(b, o, f);
    } else {
        mt_buf_text(b, o->first.step == SIZE_MAX ? "First differ" : "The steps first differ");
        mt_buf_text(b, " by more than 1 % of the peak ");
        say_part(b, o, &o->first, f);
    }
    if (o->most.x != o->first.x || o->most.step != o->first.step) {
        mt_buf_text(b, " \xc2\xb7 Largest difference ");
        say_part(b, o, &o->most, f);
    }
}
