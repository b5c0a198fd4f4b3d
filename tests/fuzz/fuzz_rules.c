/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a file of rules for categories, and those that are accepted applied to a trace whose
 * frames and annotations they may speak of.
 */
#include <stdlib.h>

#include "heap/stacks/categories.h"
#include "snapshot/read/read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FRAME(file, name) "{\"filename\":\"" file "\",\"line\":1,\"name\":\"" name "\"}"
#define EVENT(action, addr, time, frames)                                                          \
    "{\"action\":\"" action "\",\"addr\":" addr ",\"size\":512,\"stream\":0,\"time_us\":" time     \
    ",\"frames\":[" frames "]}"
#define ANNOTATION(stage, time)                                                                    \
    "{\"stage\":\"" stage "\",\"name\":\"## a step ##\",\"device\":0,\"time_us\":" time "}"

static const char SNAPSHOT[] = "{\"segments\":[],\"device_traces\":[["
    /* clang-format off */
    EVENT("alloc", "4096", "1", FRAME("/x/torch/optim/adam.py", "_init_group")) ","
    EVENT("alloc", "8192", "2", FRAME("C:\\\\torch\\\\nn\\\\linear.py", "forward") "," FRAME("a", "main")) ","
    EVENT("alloc", "16384", "3", FRAME("??", "at::empty(int)")) ","
    EVENT("free_completed", "8192", "4", FRAME("a", "b\\n")) ","
    EVENT("alloc", "8192", "5", "")
    /* clang-format on */
    "]],\"external_annotations\":[" ANNOTATION("START", "2") "," ANNOTATION("END", "4") "]}";

static void apply(const struct mt_rules *rules)
{
    struct mt_read_options o = {0};
    struct mt_snapshot s;
    struct mt_replay r;
    struct mt_categories c;
    struct mt_error err;
    if (mt_snapshot_read_memory(SNAPSHOT, sizeof SNAPSHOT - 1, 0, &o, &s, &err) != MT_OK) {
        abort(); /* the text above is wrong */
    }
    if (mt_replay_init(&r, &s, 0, &err) == MT_OK) {
        if (mt_categories_find(&c, rules, &r, &err) == MT_OK) {
            for (size_t i = 0; i < s.n_events; i++) {
                MT_ASSERT(c.events[i] < MT_CATEGORY_COUNT);
            }
        }
        mt_categories_release(&c);
        mt_replay_release(&r);
    }
    mt_snapshot_release(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mt_rules *rules = NULL;
    struct mt_error err;
    if (mt_rules_new((struct mt_str){(const char *)data, size}, &rules, &err) == MT_OK) {
        apply(rules);
        mt_rules_free(rules);
    }
    return 0;
}
