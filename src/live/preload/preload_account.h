/* SPDX-License-Identifier: MIT */
/* Who holds how much of which device: sums by the library that called. The caller brings the lock
 * of the recorder. */
#ifndef MEMTOOL_LIVE_PRELOAD_PRELOAD_ACCOUNT_H
#define MEMTOOL_LIVE_PRELOAD_PRELOAD_ACCOUNT_H

#include <stdint.h>

#include "live/core/recorder.h"
#include "live/dump/dump_own.h"
#include "support/compiler.h"
#include "support/error.h"
#include "support/vec.h"

struct mt_preload_library {
    uint32_t path; /* string of the stack table; 0: not known */
    int32_t device;
    uint64_t current, peak, code;
};

/* Empty when zeroed. Devices are 0 .. MT_RECORD_HOST. */
struct mt_preload_account {
    MT_VEC(struct mt_preload_library) libraries;
    MT_VEC(uint32_t) of_stack; /* by stack: its library's path + 1; 0: not looked for yet */
    uint64_t current[MT_RECORD_RINGS], peak[MT_RECORD_RINGS];
};

/* `size` bytes came or went that `stack` asked for. Without memory for a new library its bytes
 * count for the device alone. */
void mt_preload_account_add(struct mt_preload_account *a, const struct mt_stack_table *t,
                            int device, uint64_t size, uint32_t stack);
void mt_preload_account_sub(struct mt_preload_account *a, const struct mt_stack_table *t,
                            int device, uint64_t size, uint32_t stack);

/* The code of kernels that `stack` had loaded, or unloaded (negative). */
void mt_preload_account_code(struct mt_preload_account *a, const struct mt_stack_table *t,
                             int device, int64_t size, uint32_t stack);

/* Copies the libraries. Errors: MT_NOMEM. */
enum mt_status mt_preload_account_copy(const struct mt_preload_account *a,
                                       const struct mt_stack_table *t, struct mt_own *own,
                                       struct mt_error *err) MT_NODISCARD;

#endif
