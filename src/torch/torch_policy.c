/* SPDX-License-Identifier: MIT */
/*
 * What changed in the allocator's policy between PyTorch releases: the newest row not younger than
 * the release holds. Rows were read in the sources of 1.13, 2.0, 2.1, 2.4, 2.6 and the trunk after
 * 2.13; 2.11 was measured.
 */
#include "support/compiler.h"
#include "torch/torch_rules.h"

/* clang-format off */
/* What holds since when; a line a change. */
#define POLICY(r)                                                                                  \
    {                                                                                              \
        .since = (r),                                                                              \
        .one_division_is_off = (r) >= 204,                                                         \
        .expandable_private_pools = (r) >= 205,                                                    \
        .non_split_rounding = (r) >= 206,                                                          \
        .newest_scope_first = (r) >= 212,                                                          \
        .oldest_segment_first = (r) >= 213,                                                        \
    }
/* clang-format on */

/* A row for each release named above, oldest first. */
static const struct mt_torch_policy POLICIES[] = {POLICY(113), POLICY(204), POLICY(205),
                                                  POLICY(206), POLICY(212), POLICY(213)};

const struct mt_torch_policy *mt_torch_policy_find(mt_torch_release release)
{
    const struct mt_torch_policy *found = &POLICIES[0];
    for (size_t i = 0; i < MT_COUNT(POLICIES); i++) {
        if (POLICIES[i].since <= release) {
            found = &POLICIES[i];
        }
    }
    return found;
}

bool mt_torch_release_parse(struct mt_str s, mt_torch_release *release)
{
    unsigned part[2] = {0, 0};
    size_t i = s.n && s.p[0] == 'v';
    for (int k = 0; k < 2; k++) {
        size_t digits = 0;
        for (; i < s.n && s.p[i] >= '0' && s.p[i] <= '9' && digits < 3; i++, digits++) {
            part[k] = part[k] * 10 + (unsigned)(s.p[i] - '0');
        }
        if (digits == 0 || (k == 0 && (i == s.n || s.p[i] != '.'))) {
            return false;
        }
        i += k == 0;
    }
    if ((part[0] == 0 && part[1] == 0) || part[0] > 99 || part[1] > 99 ||
        (i < s.n && s.p[i] != '.' && s.p[i] != '+')) {
        return false;
    }
    *release = (mt_torch_release)(part[0] * 100 + part[1]);
    return true;
}
