/* SPDX-License-Identifier: MIT */
/*
 * The allocator settings in force, where a log shows them: an export, an environment dump, a Python
 * assignment. PyTorch's own hint ("try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to
 * avoid ...") names a setting that is NOT in force and must not be taken for one.
 */
#include "triage/log/log.h"

static bool is_value_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           strchr("_:,.[]>;-", c) != NULL;
}

/* `before`: what stands in front in the line; `tail`: the end of the line before, squeezed, for a
 * hint that is wrapped. */
static bool is_hint(struct mt_str before, struct mt_str after, struct mt_str tail, bool *failed)
{
    struct mt_buf lead = {0};
    size_t near = before.n > 40 ? before.n - 40 : 0, own = tail.n > 20 ? tail.n - 20 : 0;
    if (near == 0) {
        mt_buf_add(&lead, tail.p + own, tail.n - own);
    }
    mt_log_squeeze(&lead, (struct mt_str){before.p + near, before.n - near});
    struct mt_str words = mt_buf_view(&lead);
    bool hint = mt_str_ends(before, MT_STR("`")) || /* named in prose */
                mt_str_find(words, MT_STR("setting")) != SIZE_MAX ||
                mt_str_find(words, MT_STR("try")) != SIZE_MAX ||
                mt_str_find(after, MT_STR("to avoid fragmentation")) != SIZE_MAX;
    *failed |= lead.failed;
    mt_buf_release(&lead);
    return hint;
}

/* The text behind one of the variables' names, at *at; false: none. */
static bool find_name(struct mt_str clean, size_t *at, size_t *begin)
{
    static const struct mt_str NAMES[] = {MT_STR_INIT("PYTORCH_CUDA_ALLOC_CONF"),
                                          MT_STR_INIT("PYTORCH_HIP_ALLOC_CONF"),
                                          MT_STR_INIT("PYTORCH_ALLOC_CONF")};
    for (size_t i = 0; i < MT_COUNT(NAMES); i++) {
        size_t found = mt_str_find(clean, NAMES[i]);
        if (found != SIZE_MAX) {
            *begin = found;
            *at = found + NAMES[i].n;
            return true;
        }
    }
    return false;
}

/* The entry of the log that is read; NULL when out of memory. Logs come one after the other. */
static struct mt_log_conf *conf_of(struct mt_log *log)
{
    if (log->confs.n == 0 || log->confs.v[log->confs.n - 1].file != log->file) {
        struct mt_log_conf fresh = {.file = log->file, .text = MT_STR("")};
        if (!mt_vec_push(&log->confs, fresh)) {
            log->no_memory = true;
            return NULL;
        }
    }
    return &log->confs.v[log->confs.n - 1];
}

void mt_log_conf_take(struct mt_log *log, struct mt_str clean)
{
    size_t at, begin;
    if (!find_name(clean, &at, &begin)) {
        return;
    }
    size_t value = at;
    while (value < clean.n && value - at < 8 && strchr("\"'] =:,", clean.p[value])) {
        value++;
    }
    size_t end = value;
    while (end < clean.n && is_value_char(clean.p[end])) {
        end++;
    }
    struct mt_str text = {clean.p + value, end - value};
    struct mt_str before = {clean.p, begin}, after = {clean.p + end, clean.n - end};
    bool adjacent = log->tail_line + 1 == log->now.number;
    struct mt_str tail = adjacent ? mt_buf_view(&log->tail) : MT_STR("");
    if (value == at || mt_str_find(text, MT_STR(":")) == SIZE_MAX ||
        is_hint(before, after, tail, &log->no_memory)) {
        return;
    }
    text.n = text.n < 200 ? text.n : 200;
    struct mt_log_conf *conf = conf_of(log);
    if (!conf || mt_str_equal(text, conf->text) || log->conf_changes >= MT_LOG_CONF_CHANGES) {
        return;
    }
    struct mt_str copy = mt_arena_copy(log->arena, text.p, text.n);
    log->conf_changes++;
    log->no_memory |= copy.p == NULL;
    conf->text = copy.p ? copy : conf->text;
}
