/* SPDX-License-Identifier: MIT */
/* Building JSON without a test after every key: failure is remembered and asked for once. */
#ifndef MEMTOOL_PRINT_JSON_PUT_H
#define MEMTOOL_PRINT_JSON_PUT_H

#include "print/report.h"

struct mt_put {
    bool failed; /* memory ran out somewhere */
};

static inline void mt_put_u64(struct mt_put *p, cJSON *o, const char *key, uint64_t n)
{
    p->failed |= !o || !mt_json_u64(o, key, n);
}

static inline void mt_put_i64(struct mt_put *p, cJSON *o, const char *key, int64_t n)
{
    p->failed |= !o || !mt_json_i64(o, key, n);
}

static inline void mt_put_ratio(struct mt_put *p, cJSON *o, const char *key, double x)
{
    p->failed |= !o || !mt_json_ratio(o, key, x);
}

static inline void mt_put_addr(struct mt_put *p, cJSON *o, const char *key, uint64_t addr)
{
    p->failed |= !o || !mt_json_addr(o, key, addr);
}

static inline void mt_put_str(struct mt_put *p, cJSON *o, const char *key, struct mt_str s)
{
    p->failed |= !o || !mt_json_str(o, key, s);
}

static inline void mt_put_text(struct mt_put *p, cJSON *o, const char *key, const char *text)
{
    p->failed |= !o || !(text ? mt_json_str(o, key, mt_str_from(text)) : mt_json_null(o, key));
}

static inline void mt_put_bool(struct mt_put *p, cJSON *o, const char *key, bool b)
{
    p->failed |= !o || !mt_json_bool(o, key, b);
}

static inline void mt_put_null(struct mt_put *p, cJSON *o, const char *key)
{
    p->failed |= !o || !mt_json_null(o, key);
}

/* n, or null where it is not known. */
static inline void mt_put_known(struct mt_put *p, cJSON *o, const char *key, bool known, uint64_t n)
{
    known ? mt_put_u64(p, o, key, n) : mt_put_null(p, o, key);
}

/* A time, or null. */
static inline void mt_put_time(struct mt_put *p, cJSON *o, const char *key, int64_t time_us)
{
    time_us == MT_NO_TIME ? mt_put_null(p, o, key) : mt_put_i64(p, o, key, time_us);
}

/* Adds an item that may be NULL (out of memory); it belongs to `o` afterwards. Returns it, or NULL.
 */
static inline cJSON *mt_put_item(struct mt_put *p, cJSON *o, const char *key, cJSON *item)
{
    if (!o || !item ||
        !(key ? cJSON_AddItemToObject(o, key, item) : cJSON_AddItemToArray(o, item))) {
        cJSON_Delete(item);
        p->failed = true;
        return NULL;
    }
    return item;
}

/* A new object or array under `key`, or at the end of the array `o` with key NULL. */
static inline cJSON *mt_put_object(struct mt_put *p, cJSON *o, const char *key)
{
    return mt_put_item(p, o, key, cJSON_CreateObject());
}

static inline cJSON *mt_put_array(struct mt_put *p, cJSON *o, const char *key)
{
    return mt_put_item(p, o, key, cJSON_CreateArray());
}

/* Prints and frees; the same as mt_json_end, but knows of failures on the way. */
static inline enum mt_status mt_put_end(struct mt_put *p, const struct mt_report *r, cJSON *o,
                                        bool one_line, struct mt_error *err)
{
    if (p->failed) {
        cJSON_Delete(o);
        return mt_fail_nomem(err);
    }
    return mt_json_end(r, o, one_line, err);
}

/* "forward_frames": the lines of the forward pass that a stack of the backward pass belongs to,
 * where the file tells them; else nothing. */
void mt_put_forward(struct mt_put *p, cJSON *o, const struct mt_snapshot *s, uint32_t stack);

#endif
