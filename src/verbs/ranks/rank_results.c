/* SPDX-License-Identifier: MIT */
/* The JSON of earlier runs, read back into ranks: a schema decides which figures an object gives.
 */
#include "verbs/ranks/print.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "torch/keys.h"

/* Doubles hold integers up to here. */
#define EXACT 9007199254740992.0

bool mt_is_rank_results(struct mt_str text)
{
    size_t i = 0;
    while (i < text.n && text.p[i] && strchr(" \t\r\n", text.p[i])) {
        i++;
    }
    if (i == text.n || text.p[i] != '{') {
        return false;
    }
    for (i++; i < text.n && text.p[i] && strchr(" \t\r\n", text.p[i]); i++) {
    }
    return mt_str_starts((struct mt_str){text.p + i, text.n - i}, MT_STR("\"memtool\""));
}

static bool number_of(const cJSON *object, const char *key, uint64_t *n)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) || item->valuedouble > EXACT) {
        return false;
    }
    *n = (uint64_t)item->valuedouble;
    return true;
}

static void add_figure(struct mt_rank *rank, enum mt_rank_figure figure, const cJSON *object,
                       const char *key)
{
    uint64_t n;
    if (number_of(object, key, &n)) {
        rank->figure[figure] += n;
        rank->known |= 1u << figure;
    }
}

static void forget_figure(struct mt_rank *rank, enum mt_rank_figure figure)
{
    rank->figure[figure] = 0;
    rank->known &= ~(1u << figure);
}

/* ---- stacks ---- */

static uint32_t string_id(struct mt_ranks *r, const cJSON *frame, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(frame, key));
    return mt_builder_cstr(r->table, text ? text : "");
}

static uint32_t frame_id(struct mt_ranks *r, const cJSON *frame)
{
    const cJSON *line = cJSON_GetObjectItemCaseSensitive(frame, "line");
    struct mt_frame f = {.name = string_id(r, frame, "name"),
                         .filename = string_id(r, frame, "filename"),
                         .line = cJSON_IsNumber(line) ? line->valueint : 0,
                         .present = (1u << MT_FRAME_KEY_COUNT) - 1};
    return f.name && f.filename ? mt_builder_frame(r->table, &f) : 0;
}

static bool add_stack(struct mt_ranks *r, size_t index, const cJSON *row)
{
    uint64_t bytes = 0, count = 0;
    if (!number_of(row, "bytes", &bytes)) {
        return true;
    }
    number_of(row, "count", &count);
    r->scratch.n = 0;
    const cJSON *frame;
    cJSON_ArrayForEach(frame, cJSON_GetObjectItemCaseSensitive(row, "frames"))
    {
        uint32_t id = frame_id(r, frame);
        if (!id || !mt_vec_push(&r->scratch, id)) {
            return false;
        }
    }
    uint32_t stack = 0;
    if (r->scratch.n) {
        stack = mt_builder_stack(r->table, r->scratch.v, r->scratch.n);
        if (!stack) {
            return false;
        }
    }
    return mt_rank_add_stack(r, index, stack, bytes, count);
}

/* ---- one object of each verb; a later one of the same file replaces an earlier ---- */

static bool read_stats(struct mt_ranks *r, size_t index, const cJSON *object)
{
    struct mt_rank *rank = &r->ranks.v[index];
    forget_figure(rank, MT_RANK_RESERVED);
    forget_figure(rank, MT_RANK_ALLOCATED);
    forget_figure(rank, MT_RANK_OOMS);
    const cJSON *device;
    cJSON_ArrayForEach(device, cJSON_GetObjectItemCaseSensitive(object, "devices"))
    {
        add_figure(rank, MT_RANK_RESERVED, device, "reserved_bytes");
        add_figure(rank, MT_RANK_ALLOCATED, device, "allocated_bytes");
        const cJSON *trace = cJSON_GetObjectItemCaseSensitive(device, "trace");
        const cJSON *actions = cJSON_GetObjectItemCaseSensitive(trace, "actions");
        add_figure(rank, MT_RANK_OOMS, actions, "oom");
        rank->known |= actions ? 1u << MT_RANK_OOMS : 0; /* an action that is not listed: none */
    }
    return true;
}

static bool read_peak(struct mt_ranks *r, size_t index, const cJSON *object)
{
    struct mt_rank *rank = &r->ranks.v[index];
    const char *by = NULL, *at = NULL;
    forget_figure(rank, MT_RANK_PEAK);
    rank->stacks.n = rank->n_sorted = 0;
    rank->other_bytes = 0;
    const cJSON *device, *row;
    cJSON_ArrayForEach(device, cJSON_GetObjectItemCaseSensitive(object, "devices"))
    {
        uint64_t others = 0;
        add_figure(rank, MT_RANK_PEAK, device, "peak_requested_bytes");
        number_of(device, "others_bytes", &others);
        rank->other_bytes += others;
        at = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(device, "at"));
        by = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(device, "by"));
        if (by && strcmp(by, "stack") != 0) {
            continue; /* rows of files or categories are no stacks */
        }
        rank->knows_stacks = true;
        cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(device, "stacks"))
        {
            if (!add_stack(r, index, row)) {
                return false;
            }
        }
    }
    if (at && strcmp(at, "peak") != 0) { /* another moment: not comparable */
        forget_figure(rank, MT_RANK_PEAK);
        rank->stacks.n = rank->n_sorted = 0;
        rank->knows_stacks = false;
    }
    return true;
}

static bool read_leaks(struct mt_ranks *r, size_t index, const cJSON *object)
{
    struct mt_rank *rank = &r->ranks.v[index];
    const char *verdict = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "verdict"));
    const cJSON *growth = cJSON_GetObjectItemCaseSensitive(object, "bytes_per_step");
    rank->knows_growth = verdict && strcmp(verdict, "unknown") != 0 && cJSON_IsNumber(growth) &&
                         fabs(growth->valuedouble) < EXACT;
    rank->bytes_per_step = rank->knows_growth ? (int64_t)growth->valuedouble : 0;
    return true;
}

/* What triage found of a log: memory on the card that is not this process's allocator's. */
static bool read_triage(struct mt_ranks *r, size_t index, const cJSON *object)
{
    struct mt_rank *rank = &r->ranks.v[index];
    const cJSON *incident;
    cJSON_ArrayForEach(incident, cJSON_GetObjectItemCaseSensitive(object, "incidents"))
    {
        const cJSON *numbers = cJSON_GetObjectItemCaseSensitive(incident, "numbers");
        uint64_t n;
        if (number_of(numbers, "outside_bytes", &n) ||
            number_of(numbers, "other_processes_bytes", &n)) {
            rank->knows_outside = true;
            rank->outside_bytes = n;
        }
    }
    return true;
}

/* Results of one file name belong together, unless they say that they are of several ranks. */
static size_t index_of(struct mt_ranks *r, const char *file, int64_t number)
{
    struct mt_buf name = {0};
    size_t index = mt_ranks_of_file(r, mt_str_from(file));
    if (index != SIZE_MAX && number >= 0 && r->ranks.v[index].rank >= 0 &&
        r->ranks.v[index].rank != number) {
        mt_buf_printf(&name, "%s rank%lld", file, (long long)number);
        index = name.failed ? SIZE_MAX : mt_ranks_of_file(r, mt_buf_view(&name));
        mt_buf_release(&name);
    }
    if (index != SIZE_MAX && number >= 0) {
        r->ranks.v[index].rank = number;
    }
    return index;
}

/* Two nodes may write files of one name: what is read of them would be neither's. */
static enum mt_status refuse_second(const char *schema, const char *file, struct mt_error *err)
{
    mt_fail(err, MT_FORMAT, MT_NO_OFFSET, "two results of %.*s for %.150s",
            (int)strcspn(schema, "/"), schema, file);
    return mt_hint(err, "where nodes have files of the same name, run memtool over names that tell "
                        "them apart, or give each result a \"rank\"");
}

static enum mt_status read_object(struct mt_ranks *r, const cJSON *object, struct mt_error *err)
{
    static const struct {
        const char *schema; /* up to the slash */
        bool (*read)(struct mt_ranks *r, size_t index, const cJSON *object);
    } schemas[] = {{"stats/", read_stats},
                   {"peak/", read_peak},
                   {"leaks/", read_leaks},
                   {"triage/", read_triage}};
    const char *schema = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "schema"));
    const char *file = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "file"));
    const cJSON *rank = cJSON_GetObjectItemCaseSensitive(object, "rank");
    bool numbered = cJSON_IsNumber(rank) && rank->valuedouble >= 0 && rank->valuedouble < INT_MAX;
    for (size_t i = 0; schema && i < MT_COUNT(schemas); i++) {
        if (strncmp(schema, schemas[i].schema, strlen(schemas[i].schema)) != 0) {
            continue;
        }
        file = file ? file : "-";
        size_t index = index_of(r, file, numbered ? (int64_t)rank->valuedouble : -1);
        if (index == SIZE_MAX) {
            return mt_fail_nomem(err);
        }
        if (r->ranks.v[index].results & 1u << i) {
            return refuse_second(schema, file, err);
        }
        r->ranks.v[index].results |= 1u << i;
        return schemas[i].read(r, index, object) ? MT_OK : mt_fail_nomem(err);
    }
    return MT_OK;
}

enum mt_status mt_ranks_read_results(struct mt_ranks *r, struct mt_str text, struct mt_error *err)
{
    const char *at = text.p, *end = text.p + text.n;
    for (;;) {
        while (at < end && *at && strchr(" \t\r\n", *at)) {
            at++;
        }
        if (at == end) {
            return MT_OK;
        }
        const char *behind = at;
        cJSON *object = cJSON_ParseWithLengthOpts(at, (size_t)(end - at), &behind, false);
        uint64_t offset = (uint64_t)((object ? at : behind) - text.p);
        if (!cJSON_IsObject(object) || !cJSON_GetObjectItemCaseSensitive(object, "memtool")) {
            cJSON_Delete(object);
            return mt_fail(err, MT_FORMAT, offset, "not a result of memtool --json at byte %llu",
                           (unsigned long long)offset);
        }
        enum mt_status status = read_object(r, object, err);
        cJSON_Delete(object);
        if (status != MT_OK) {
            return status;
        }
        at = behind;
    }
}
