/* SPDX-License-Identifier: MIT */
/* Little-endian integers from bytes; compilers make one load of each. */
#ifndef MEMTOOL_SUPPORT_BYTES_H
#define MEMTOOL_SUPPORT_BYTES_H

#include <stdint.h>

static inline uint16_t mt_load16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t mt_load32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t mt_load64(const uint8_t *p)
{
    return (uint64_t)mt_load32(p) | (uint64_t)mt_load32(p + 4) << 32;
}

#endif
