/* SPDX-License-Identifier: MIT */
/*
 * JSON on top of cJSON. cJSON keeps numbers as doubles, which lose bytes above 2^53, so integers
 * are added as raw text; and it prints whatever bytes a string holds, so strings are made valid
 * UTF-8 before.
 */
#include <inttypes.h>
#include <math.h>

#include <memtool/version.h>
#include "print/report.h"
#include "support/safe_char.h"
#include "support/utf8.h"

cJSON *mt_json_begin(const struct mt_report *r, const char *schema)
{
    cJSON *object = cJSON_CreateObject();
    bool ok = object && mt_json_str(object, "memtool", MT_STR(MT_VERSION)) &&
              mt_json_str(object, "schema", mt_str_from(schema));
    if (ok && r->file) {
        ok = mt_json_str(object, "file", mt_str_from(r->file));
    }
    if (ok && r->lost && *r->lost) {
        ok = mt_json_str(object, "lost", mt_str_from(*r->lost));
    }
    if (ok && r->at) {
        ok = mt_json_str(object, "at", mt_str_from(r->at));
    }
    if (!ok) {
        cJSON_Delete(object);
        return NULL;
    }
    return object;
}

/* Adds an item that may be NULL (out of memory) and owns it in any case. */
static bool add(cJSON *object, const char *key, cJSON *item)
{
    if (!item || !cJSON_AddItemToObject(object, key, item)) {
        cJSON_Delete(item);
        return false;
    }
    return true;
}

cJSON *mt_json_u64_item(uint64_t n)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, n);
    return cJSON_CreateRaw(text);
}

bool mt_json_u64(cJSON *object, const char *key, uint64_t n)
{
    return add(object, key, mt_json_u64_item(n));
}

bool mt_json_i64(cJSON *object, const char *key, int64_t n)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, n);
    return add(object, key, cJSON_CreateRaw(text));
}

bool mt_json_ratio(cJSON *object, const char *key, double x)
{
    return add(object, key, isfinite(x) ? cJSON_CreateNumber(x) : cJSON_CreateNull());
}

bool mt_json_addr(cJSON *object, const char *key, uint64_t addr)
{
    char text[24];
    snprintf(text, sizeof text, "0x%" PRIx64, addr);
    return add(object, key, cJSON_CreateString(text));
}

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Invalid UTF-8 and NUL, which cJSON's strings cannot hold, become U+FFFD. */
cJSON *mt_json_str_item(struct mt_str s)
{
    struct mt_buf b = {0};
    cJSON *item = NULL;
    mt_buf_add(&b, "", 0);
    while (s.n) {
        uint32_t code = 0;
        size_t n = mt_str_ascii(s);
        if (n > 0 || ((n = mt_utf8_decode(s, &code)) > 0 && code)) {
            mt_buf_add(&b, s.p, n);
        } else {
            mt_buf_text(&b, REPLACEMENT);
            n = 1;
        }
        s = (struct mt_str){s.p + n, s.n - n};
    }
    if (!b.failed) {
        item = cJSON_CreateString(b.p);
    }
    mt_buf_release(&b);
    return item;
}

bool mt_json_str(cJSON *object, const char *key, struct mt_str s)
{
    return add(object, key, mt_json_str_item(s));
}

bool mt_json_bool(cJSON *object, const char *key, bool b)
{
    return add(object, key, cJSON_CreateBool(b));
}

bool mt_json_null(cJSON *object, const char *key)
{
    return add(object, key, cJSON_CreateNull());
}

static void put_escape(FILE *out, uint32_t code)
{
    if (code >= 0x10000) {
        fprintf(out, "\\u%04x\\u%04x", 0xd800u + ((code - 0x10000) >> 10),
                0xdc00u + (code & 0x3ff));
    } else {
        fprintf(out, "\\u%04x", code);
    }
}

/* cJSON escapes what JSON asks for, which leaves DEL, C1 controls and turned text for a terminal to
 * act upon. Such characters stand in strings only, so they can be escaped in the finished text. */
static void put_safely(FILE *out, const char *text)
{
    struct mt_str rest = mt_str_from(text);
    while (rest.n) {
        size_t plain = 0;
        while (plain < rest.n && (unsigned char)rest.p[plain] < 0x7f) {
            plain++;
        }
        uint32_t code = 0;
        size_t n = mt_utf8_decode((struct mt_str){rest.p + plain, rest.n - plain}, &code);
        fwrite(rest.p, 1, plain, out);
        if (n && mt_char_is_safe(code)) {
            fwrite(rest.p + plain, 1, n, out);
        } else if (n) {
            put_escape(out, code);
        }
        plain += n;
        rest = (struct mt_str){rest.p + plain, rest.n - plain};
    }
}

enum mt_status mt_json_end(const struct mt_report *r, cJSON *object, bool one_line,
                           struct mt_error *err)
{
    char *text = NULL;
    if (object) {
        text = one_line ? cJSON_PrintUnformatted(object) : cJSON_Print(object);
    }
    cJSON_Delete(object);
    if (!text) {
        return mt_fail_nomem(err);
    }
    put_safely(r->out, text);
    fputc('\n', r->out);
    cJSON_free(text);
    return MT_OK;
}
