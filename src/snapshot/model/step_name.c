/* SPDX-License-Identifier: MIT */
/* Names of annotations that mark steps; known to the search for periods, and to masking, which must
 * not change what it finds. */
#include "snapshot/model/step_name.h"

int mt_step_name_rank(struct mt_str name)
{
    static const struct mt_str signs[] = {MT_STR_INIT("batch"), MT_STR_INIT("iter"),
                                          MT_STR_INIT("step"), MT_STR_INIT("Optimizer.step"),
                                          MT_STR_INIT("ProfilerStep")};
    size_t kept = 0;
    while (kept < name.n && name.p[name.n - 1 - kept] == MT_STEP_NAME_SIGN) {
        kept++;
    }
    if (kept && kept <= MT_COUNT(signs)) {
        return (int)kept;
    }
    for (size_t i = MT_COUNT(signs); i-- > 0;) {
        if (mt_str_find(name, signs[i]) != SIZE_MAX) {
            return (int)i + 1;
        }
    }
    return 0;
}
