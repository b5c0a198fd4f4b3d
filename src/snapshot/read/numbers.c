/* SPDX-License-Identifier: MIT */
/*
 * Integers of any width, from two's complement or decimal digits. What fits 64 bits
 * (with a sign beside it) is a machine integer; what does not is kept as its decimal digits, so
 * nothing is lost and nothing is ever a floating-point number.
 */
#include "snapshot/read/readers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_LONG_BYTES = 1024, LIMB_BASE = 1000000000, MAX_LIMBS = 300 };

/* limbs (base 10^9, least first) = limbs * 256 + byte; returns the new count */
static size_t times_256_plus(uint32_t *limbs, size_t n, uint8_t byte)
{
    uint64_t carry = byte;
    for (size_t i = 0; i < n; i++) {
        uint64_t v = (uint64_t)limbs[i] * 256 + carry;
        limbs[i] = (uint32_t)(v % LIMB_BASE);
        carry = v / LIMB_BASE;
    }
    if (carry) {
        limbs[n++] = (uint32_t)carry;
    }
    return n;
}

/* magnitude: n little-endian bytes, more than eight of them significant */
static enum mt_status push_big(struct mt_machine *m, const uint8_t *magnitude, size_t n,
                               bool negative)
{
    uint32_t limbs[MAX_LIMBS];
    size_t count = 0;
    for (size_t i = n; i-- > 0;) {
        count = times_256_plus(limbs, count, magnitude[i]);
    }
    char digits[MAX_LIMBS * 9 + 2];
    size_t at = 0;
    if (negative) {
        digits[at++] = '-';
    }
    for (size_t i = count; i-- > 0;) {
        int wrote = snprintf(digits + at, sizeof digits - at,
                             i + 1 == count ? "%" PRIu32 : "%09" PRIu32, limbs[i]);
        at += wrote > 0 ? (size_t)wrote : 0;
    }
    return mt_machine_push_raw(m, digits, at, false);
}

enum mt_status mt_push_long(struct mt_machine *m, const uint8_t *p, size_t n)
{
    if (n > MAX_LONG_BYTES) {
        return mt_fail(m->err, MT_LIMIT, m->offset, "an integer of %zu bytes (the limit is %d)", n,
                       MAX_LONG_BYTES);
    }
    bool negative = n && (p[n - 1] & 0x80);
    uint8_t magnitude[MAX_LONG_BYTES];
    unsigned carry = negative;
    for (size_t i = 0; i < n; i++) {
        unsigned byte = (negative ? (uint8_t)~p[i] : p[i]) + carry;
        magnitude[i] = (uint8_t)byte;
        carry = byte >> 8;
    }
    while (n && magnitude[n - 1] == 0) {
        n--;
    }
    if (n > 8) {
        return push_big(m, magnitude, n, negative);
    }
    uint64_t value = 0;
    for (size_t i = n; i-- > 0;) {
        value = value << 8 | magnitude[i];
    }
    return mt_machine_push_u64(m, value, negative);
}

bool mt_push_decimal(struct mt_machine *m, const uint8_t *p, size_t n, enum mt_status *status)
{
    size_t i = 0;
    bool negative = n && p[0] == '-';
    i += negative;
    size_t first = i;
    uint64_t value = 0;
    bool wide = false;
    for (; i < n; i++) {
        if (p[i] < '0' || p[i] > '9') {
            return false;
        }
        uint64_t digit = (uint64_t)(p[i] - '0');
        wide |= value > (UINT64_MAX - digit) / 10;
        value = value * 10 + digit;
    }
    if (i == first) {
        return false;
    }
    if (!wide) {
        *status = mt_machine_push_u64(m, value, negative);
        return true;
    }
    while (first + 1 < n && p[first] == '0') {
        first++;
    }
    struct mt_buf digits = {0};
    mt_buf_text(&digits, negative ? "-" : "");
    mt_buf_add(&digits, p + first, n - first);
    struct mt_str s = mt_buf_view(&digits);
    *status = digits.failed ? mt_fail_nomem(m->err) : mt_machine_push_raw(m, s.p, s.n, false);
    mt_buf_release(&digits);
    return true;
}

enum mt_status mt_input_ends(struct mt_input *in, struct mt_machine *m, const char *what)
{
    if (in->failure.code != MT_OK) {
        *m->err = in->failure;
        return in->failure.code;
    }
    uint64_t end = in->base + (uint64_t)(in->end - in->window);
    return mt_fail(m->err, MT_FORMAT, end, "the input ends in the middle, at byte %" PRIu64 " (%s)",
                   end, what);
}
