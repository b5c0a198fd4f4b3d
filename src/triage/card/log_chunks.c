/* SPDX-License-Identifier: MIT */
/*
 * "InUse at 7f0000000000 of size 2147483648 next 1" and "Free  at ... of size ...", a line a piece,
 * then "4 Chunks of size 1073741824 totalling 4.00GiB", a line a size, then the sum. Older releases
 * write "Chunk at 0x... of size ..." for what is in use.
 */
#include "triage/card/log_chunks.h"

#include "support/checked.h"
#include "triage/log/log_number.h"

static struct mt_str from(struct mt_str s, size_t at)
{
    return (struct mt_str){s.p + at, s.n - at};
}

static void begin(struct mt_chunks *c, const char *file)
{
    if (c->done || c->file != file) {
        *c = (struct mt_chunks){.file = file};
    }
}

/* The integer right in front of `at`; 0: none. */
static uint64_t count_before(struct mt_str line, size_t at)
{
    size_t first = at, length;
    while (first > 0 && line.p[first - 1] >= '0' && line.p[first - 1] <= '9') {
        first--;
    }
    int64_t n = mt_log_integer_at((struct mt_str){line.p + first, at - first}, &length);
    return n > 0 ? (uint64_t)n : 0;
}

void mt_chunks_take(struct mt_chunks *c, const char *file, struct mt_str line)
{
    static const struct mt_str OF_SIZE = MT_STR_INIT("ofsize"), COUNTED = MT_STR_INIT("chunksof");
    size_t at = mt_str_find(line, OF_SIZE);
    if (at == SIZE_MAX) {
        c->done |= mt_str_find(line, MT_STR("sumtotalofin-usechunks")) != SIZE_MAX;
        return;
    }
    struct mt_log_size size = mt_log_size_at(from(line, at + OF_SIZE.n), MT_LOG_B);
    size_t counted = mt_str_find(line, COUNTED);
    uint64_t total;
    if (size.length == 0 || size.bytes >= MT_LOG_NONSENSE) {
        return;
    }
    if (counted != SIZE_MAX && mt_str_find(line, MT_STR("totalling")) != SIZE_MAX) {
        uint64_t n = count_before(line, counted);
        begin(c, file);
        if (!mt_mul_overflow(n, size.bytes, &total) && total > c->most_total) {
            c->most_size = size.bytes;
            c->most_count = n;
            c->most_total = total;
        }
    } else if (mt_str_find((struct mt_str){line.p, at}, MT_STR("]freeat")) != SIZE_MAX) {
        begin(c, file);
        c->free_chunks++;
        c->free_bytes = mt_add_sat(c->free_bytes, size.bytes);
        c->largest_free = size.bytes > c->largest_free ? size.bytes : c->largest_free;
    }
}
