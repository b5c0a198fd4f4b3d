/* SPDX-License-Identifier: MIT */
/*
 * What a watcher could not see, told by its own figures: memory that went while it was counting and
 * that no call explains, memory that was gone before it began, libraries that never came by. The
 * bounds keep quiet about what every healthy run has: some kernels loaded late, a driver's reserve.
 */
#include "trust_watch.h"

enum { SHARE = 20 }; /* more than a twentieth */

static const uint64_t unseen_min = UINT64_C(64) << 20, before_min = UINT64_C(1) << 30,
                      before_or_context_min = UINT64_C(2) << 30;

static const struct mt_value *find(const struct mt_snapshot *s, const struct mt_value *dict,
                                   const char *key)
{
    return dict ? mt_value_find(s, dict, key) : NULL;
}

static bool get(const struct mt_snapshot *s, const struct mt_value *dict, const char *key,
                uint64_t *out)
{
    const struct mt_value *v = find(s, dict, key);
    bool known = v && v->kind == MT_VALUE_INT && v->u.i >= 0;
    *out = known ? (uint64_t)v->u.i : 0;
    return known;
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static bool add(struct mt_trust *trust, struct mt_trust_fact fact)
{
    return mt_vec_push(&trust->facts, fact);
}

/* No lookup was watched: whoever has a runtime of its own passed by. */
static bool add_libraries(struct mt_trust *trust, const struct mt_snapshot *s,
                          const struct mt_value *own)
{
    uint64_t lookups, calls;
    const struct mt_value *doors = find(s, own, "doors");
    bool none = get(s, doors, "lookups", &lookups) && get(s, doors, "driver_calls", &calls) &&
                lookups == 0 && calls == 0;
    return !none ||
           add(trust, (struct mt_trust_fact){.id = MT_TRUST_LIBRARIES_UNSEEN, .device = -2});
}

static bool add_unseen(struct mt_trust *trust, const struct mt_snapshot *s,
                       const struct mt_value *d, int32_t device)
{
    uint64_t start, now, seen, code, reserved, used;
    if (!get(s, d, "free_start_bytes", &start)) {
        return true;
    }
    if (!get(s, d, "free_dump_bytes", &now)) {
        return add(trust, (struct mt_trust_fact){.id = MT_TRUST_FREE_UNKNOWN, .device = device});
    }
    (void)(get(s, d, "seen_bytes", &seen), get(s, d, "code_bytes", &code));
    (void)(get(s, d, "pool_reserved_bytes", &reserved), get(s, d, "pool_used_bytes", &used));
    uint64_t gone = less(start, now);
    uint64_t unseen = less(less(less(gone, seen), code), less(reserved, used));
    return unseen < unseen_min || unseen < gone / SHARE ||
           add(trust, (struct mt_trust_fact){MT_TRUST_UNSEEN, device, 0, unseen, gone});
}

static bool add_before(struct mt_trust *trust, const struct mt_snapshot *s,
                       const struct mt_value *d, int32_t device)
{
    uint64_t total, before = 0;
    bool alone = get(s, d, "free_before_context_bytes", &before);
    if (!get(s, d, "total_bytes", &total) || (!alone && !get(s, d, "free_start_bytes", &before))) {
        return true;
    }
    uint64_t bytes = less(total, before);
    return bytes < (alone ? before_min : before_or_context_min) ||
           add(trust, (struct mt_trust_fact){MT_TRUST_USED_BEFORE, device, alone, bytes, 0});
}

static bool add_devices(struct mt_trust *trust, const struct mt_snapshot *s,
                        const struct mt_value *own)
{
    const struct mt_value *list = find(s, own, "devices");
    bool fine = true;
    for (uint32_t i = 0; list && list->kind == MT_VALUE_LIST && fine && i < list->n; i++) {
        const struct mt_value *d = &s->values[list->u.id + i];
        uint64_t device;
        if (get(s, d, "device", &device) && device <= INT32_MAX) {
            fine = add_before(trust, s, d, (int32_t)device) &&
                   add_unseen(trust, s, d, (int32_t)device);
        }
    }
    return fine;
}

enum mt_status mt_trust_watch(struct mt_trust *trust, const struct mt_snapshot *s,
                              struct mt_error *err)
{
    const struct mt_value *own = s->own ? &s->values[s->own] : NULL;
    if (!own || !mt_value_find(s, own, "devices")) { /* the live allocator looks at nothing else */
        return MT_OK;
    }
    bool fine = add_libraries(trust, s, own) && add_devices(trust, s, own) &&
                add(trust, (struct mt_trust_fact){.id = MT_TRUST_WATCHED, .device = -2});
    return fine ? MT_OK : mt_fail_nomem(err);
}
