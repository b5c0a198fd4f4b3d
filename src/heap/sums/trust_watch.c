/* SPDX-License-Identifier: MIT */
/*
 * What a watcher could not see, told by its own figures: memory that went while it was counting and
 * that no call explains, memory that was gone before it began, libraries that never came by. The
 * bounds keep quiet about what every healthy run has: some kernels loaded late, a driver's reserve.
 */
#include "heap/sums/trust_watch.h"
#include "heap/sums/own_key.h"
#include "support/checked.h"
#include "support/units.h"

enum { SHARE = 20 }; /* more than a twentieth */

static const uint64_t UNSEEN_LEAST = 64 * MT_MIB;
static const uint64_t BEFORE_LEAST = MT_GIB;
static const uint64_t BEFORE_OR_CONTEXT_LEAST = 2 * MT_GIB;

static bool add(struct mt_trust *trust, struct mt_trust_fact fact)
{
    return mt_vec_push(&trust->facts, fact);
}

/* No lookup was watched: whoever has a runtime of its own passed by. */
static bool add_libraries(struct mt_trust *trust, const struct mt_snapshot *s,
                          const struct mt_value *own)
{
    uint64_t lookups, calls;
    const struct mt_value *doors = mt_own_key_get(s, own, "doors");
    bool none = mt_own_key_bytes(s, doors, "lookups", &lookups) &&
                mt_own_key_bytes(s, doors, "driver_calls", &calls) && lookups == 0 && calls == 0;
    return !none ||
           add(trust, (struct mt_trust_fact){.id = MT_TRUST_LIBRARIES_UNSEEN, .device = -2});
}

static bool add_unseen(struct mt_trust *trust, const struct mt_snapshot *s,
                       const struct mt_value *d, int32_t device)
{
    uint64_t start, now, seen, code, reserved, used;
    if (!mt_own_key_bytes(s, d, "free_start_bytes", &start)) {
        return true;
    }
    if (!mt_own_key_bytes(s, d, "free_dump_bytes", &now)) {
        return add(trust, (struct mt_trust_fact){.id = MT_TRUST_FREE_UNKNOWN, .device = device});
    }
    (void)mt_own_key_bytes(s, d, "seen_bytes", &seen);
    (void)mt_own_key_bytes(s, d, "code_bytes", &code);
    (void)mt_own_key_bytes(s, d, "pool_reserved_bytes", &reserved);
    (void)mt_own_key_bytes(s, d, "pool_used_bytes", &used);
    uint64_t gone = mt_sub_sat(start, now);
    uint64_t unseen =
        mt_sub_sat(mt_sub_sat(mt_sub_sat(gone, seen), code), mt_sub_sat(reserved, used));
    return unseen < UNSEEN_LEAST || unseen < gone / SHARE ||
           add(trust, (struct mt_trust_fact){MT_TRUST_UNSEEN, device, 0, unseen, gone});
}

static bool add_before(struct mt_trust *trust, const struct mt_snapshot *s,
                       const struct mt_value *d, int32_t device)
{
    uint64_t total, before = 0;
    bool alone = mt_own_key_bytes(s, d, "free_before_context_bytes", &before);
    if (!mt_own_key_bytes(s, d, "total_bytes", &total) ||
        (!alone && !mt_own_key_bytes(s, d, "free_start_bytes", &before))) {
        return true;
    }
    uint64_t bytes = mt_sub_sat(total, before);
    return bytes < (alone ? BEFORE_LEAST : BEFORE_OR_CONTEXT_LEAST) ||
           add(trust, (struct mt_trust_fact){MT_TRUST_USED_BEFORE, device, alone, bytes, 0});
}

static bool add_devices(struct mt_trust *trust, const struct mt_snapshot *s,
                        const struct mt_value *own)
{
    uint32_t n;
    const struct mt_value *list = mt_own_key_list(s, own, "devices", &n);
    bool fine = true;
    for (uint32_t i = 0; fine && i < n; i++) {
        const struct mt_value *d = &list[i];
        uint64_t device;
        if (mt_own_key_bytes(s, d, "device", &device) && device <= INT32_MAX) {
            fine = add_before(trust, s, d, (int32_t)device) &&
                   add_unseen(trust, s, d, (int32_t)device);
        }
    }
    return fine;
}

enum mt_status mt_trust_watch(struct mt_trust *trust, const struct mt_snapshot *s,
                              struct mt_error *err)
{
    const struct mt_value *own = mt_own_key_find(s);
    if (!mt_own_key_get(s, own, "devices")) { /* the live allocator looks at nothing else */
        return MT_OK;
    }
    bool fine = add_libraries(trust, s, own) && add_devices(trust, s, own) &&
                add(trust, (struct mt_trust_fact){.id = MT_TRUST_WATCHED, .device = -2});
    return fine ? MT_OK : mt_fail_nomem(err);
}
