/* SPDX-License-Identifier: MIT */
/*
 * The segments of one device, in the order of the file:
 *
 *     struct mt_device_segments walk = mt_device_segments(s, device);
 *     for (const struct mt_segment *g; (g = mt_device_segments_next(&walk)) != NULL;) {
 *
 * Looking through all of them for each device would take the square of the time where a file has
 * thousands of devices.
 */
#ifndef MEMTOOL_SNAPSHOT_MODEL_DEVICE_SEGMENTS_H
#define MEMTOOL_SNAPSHOT_MODEL_DEVICE_SEGMENTS_H

#include "snapshot/model/model.h"

struct mt_device_segments {
    const struct mt_snapshot *s;
    const struct mt_segment *list; /* device or host segments */
    size_t n, at;
    int32_t device;
    bool linked; /* s->segment_next says where the next one is */
};

/* Pinned host memory when `device` is negative. O(log devices) to begin, then by each segment of
 * the device; by each of the file where there are few devices, or in a view. */
struct mt_device_segments mt_device_segments(const struct mt_snapshot *s, int32_t device);

/* NULL: that was the last. */
const struct mt_segment *mt_device_segments_next(struct mt_device_segments *walk);

/* Gives a view other segments; the lists of the old ones are forgotten. */
static inline void mt_snapshot_set_segments(struct mt_snapshot *s, const struct mt_segment *v,
                                            size_t n)
{
    s->segments = v;
    s->n_segments = n;
    s->segment_next = NULL;
}

#endif
