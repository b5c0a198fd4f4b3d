/* SPDX-License-Identifier: MIT */
/* Whether the devices of one job are filled alike, as a pasted nvidia-smi or a snapshot of several
 * devices shows, and why the first of them may hold more. */
#include "support/checked.h"
#include "support/units.h"
#include "triage/triage_state.h"

enum { DEVICES = 64 };

struct fill {
    int64_t device;
    uint64_t bytes;
};

static struct mt_size_text size(uint64_t bytes)
{
    return mt_size_text(bytes, (struct mt_size_format){.unit = MT_UNIT_AUTO});
}

/* Half as much again on one as on another, and by what matters: from 1 GiB on for whole cards. */
static void say(struct mt_triage *t, const struct fill *list, size_t n, uint64_t least,
                const char *source)
{
    const struct fill *most = NULL, *low = NULL;
    for (size_t i = 0; i < n; i++) {
        most = !most || list[i].bytes > most->bytes ? &list[i] : most;
        low = !low || list[i].bytes < low->bytes ? &list[i] : low;
    }
    if (!most || low->bytes < least || most->bytes < low->bytes + least ||
        most->bytes / 3 <= low->bytes / 2) {
        return;
    }
    mt_evidence_add(t, "%s the devices are filled unevenly: device %lld holds %s, device %lld %s.",
                    source, (long long)most->device, size(most->bytes).s, (long long)low->device,
                    size(low->bytes).s);
}

static void say_cards(struct mt_triage *t)
{
    struct fill list[DEVICES];
    size_t n = 0;
    for (size_t i = 0; i < t->facts.n_cards && n < DEVICES; i++) {
        list[n++] = (struct fill){t->facts.cards[i].device, t->facts.cards[i].used};
    }
    say(t, list, n, MT_GIB, "By nvidia-smi in the log");
}

static void say_snapshot(struct mt_triage *t, const struct mt_snapshot *s)
{
    struct fill list[DEVICES];
    size_t n = 0;
    for (size_t i = 0; i < s->n_segments; i++) {
        size_t k = 0;
        while (k < n && list[k].device != s->segments[i].device) {
            k++;
        }
        if (s->segments[i].device < 0 || k == DEVICES) {
            continue; /* pinned memory of the host */
        }
        if (k == n) {
            list[n++] = (struct fill){.device = s->segments[i].device};
        }
        list[k].bytes = mt_add_sat(list[k].bytes, s->segments[i].total_size);
    }
    say(t, list, n, 64 * MT_MIB, "At the snapshot's end");
}

/* nn.DataParallel: a line of the log says so, or its file is among the snapshot's frames. */
static bool is_data_parallel(const struct mt_triage *t)
{
    const struct mt_snapshot *s = t->shot ? t->shot->snapshot : NULL;
    for (size_t i = 1; s && i < s->n_frames; i++) {
        struct mt_str path = mt_frame_path(s, &s->frames[i]);
        if (mt_str_equal(mt_str_basename(path), MT_STR("data_parallel.py"))) {
            return true;
        }
    }
    return t->facts.notes && t->facts.notes->said[MT_SAID_DATA_PARALLEL].known;
}

void mt_evidence_balance(struct mt_triage *t)
{
    say_cards(t);
    if (t->shot) {
        say_snapshot(t, t->shot->snapshot);
    }
    if (is_data_parallel(t)) {
        mt_evidence_add(t, "DataParallel gathers the outputs on its first device, which therefore "
                           "holds more than the others.");
    }
}
