/* SPDX-License-Identifier: MIT */
/* Walks over the segments of a device: along the links of the builder, or past all segments. */
#include "snapshot/model/device_segments.h"

/* The first segment of a device; n_segments: it has none. */
static size_t first_of(const struct mt_snapshot *s, int32_t device)
{
    size_t low = 0;
    for (size_t high = s->n_device_firsts; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (s->device_firsts[middle].device < device) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool found = low < s->n_device_firsts && s->device_firsts[low].device == device;
    return found ? s->device_firsts[low].first : s->n_segments;
}

struct mt_device_segments mt_device_segments(const struct mt_snapshot *s, int32_t device)
{
    struct mt_device_segments walk = {.s = s, .device = device};
    walk.list = device < 0 ? s->host_segments : s->segments;
    walk.n = device < 0 ? s->n_host_segments : s->n_segments;
    walk.linked = device >= 0 && s->segment_next;
    walk.at = walk.linked ? first_of(s, device) : 0;
    return walk;
}

const struct mt_segment *mt_device_segments_next(struct mt_device_segments *walk)
{
    while (!walk->linked && walk->at < walk->n && walk->list[walk->at].device != walk->device) {
        walk->at++;
    }
    if (walk->at >= walk->n) {
        return NULL;
    }
    const struct mt_segment *g = &walk->list[walk->at];
    walk->at = walk->linked ? walk->s->segment_next[walk->at] : walk->at + 1;
    return g;
}
