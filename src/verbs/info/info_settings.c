/* SPDX-License-Identifier: MIT */
/*
 * allocator_settings as text and JSON. The values are whatever the file holds, so nesting is
 * followed a few levels only; PyTorch writes one dict within the dict.
 */
#include "verbs/info/info_settings.h"

#include <inttypes.h>

#include "heap/sums/account.h"
#include "heap/walk/query.h"
#include "snapshot/model/settings.h"

enum { LEVELS = 4 };

/* ---- JSON ---- */

static void put_value(struct mt_out o, const char *key, const struct mt_snapshot *s,
                      const struct mt_value *v, int levels);

static void put_dict(struct mt_out o, const struct mt_snapshot *s, const struct mt_value *v,
                     int levels)
{
    for (uint32_t i = 0; i < v->n; i++) {
        const struct mt_value *key = &s->values[v->u.id + 2 * i];
        struct mt_buf b = {0};
        if (key->kind == MT_VALUE_STR) {
            mt_text_safe(&b, mt_snapshot_str(s, key->u.id));
        } else if (key->kind == MT_VALUE_INT) {
            mt_buf_printf(&b, "%" PRId64, key->u.i);
        }
        mt_out_key(o, mt_buf_view(&b));
        put_value(o, NULL, s, key + 1, levels - 1);
        o.json->text.failed |= b.failed;
        mt_buf_release(&b);
    }
}

static void put_list(struct mt_out o, const struct mt_snapshot *s, const struct mt_value *v,
                     int levels)
{
    for (uint32_t i = 0; i < v->n; i++) {
        put_value(o, NULL, s, &s->values[v->u.id + i], levels - 1);
    }
}

static void put_value(struct mt_out o, const char *key, const struct mt_snapshot *s,
                      const struct mt_value *v, int levels)
{
    switch (levels > 0 ? v->kind : MT_VALUE_NONE) {
    case MT_VALUE_BOOL: mt_out_bool(o, key, v->u.i != 0); break;
    case MT_VALUE_INT: mt_out_i64(o, key, v->u.i); break;
    case MT_VALUE_BIG: mt_out_number(o, key, mt_snapshot_str(s, v->u.id)); break;
    case MT_VALUE_FLOAT: mt_out_f64(o, key, v->u.f); break;
    case MT_VALUE_STR: mt_out_str(o, key, mt_snapshot_str(s, v->u.id)); break;
    case MT_VALUE_DICT: put_dict(mt_out_object(o, key), s, v, levels); break;
    case MT_VALUE_LIST:
    case MT_VALUE_TUPLE: put_list(mt_out_array(o, key), s, v, levels); break;
    default: mt_out_null(o, key); break;
    }
}

void mt_info_settings_json(struct mt_out root, const struct mt_snapshot *s)
{
    if (s->settings) {
        put_value(root, "settings", s, &s->values[s->settings], LEVELS);
    } else {
        mt_out_null(root, "settings");
    }
}

/* ---- text ---- */

static void add_scalar(struct mt_buf *b, const struct mt_report *r, const struct mt_snapshot *s,
                       const struct mt_value *v, bool is_size)
{
    switch (v->kind) {
    case MT_VALUE_BOOL: mt_buf_text(b, v->u.i ? "True" : "False"); break;
    case MT_VALUE_INT:
        if (is_size && v->u.i >= 0) {
            mt_buf_text(b, mt_report_size(r, (uint64_t)v->u.i).s);
        } else {
            mt_buf_printf(b, "%" PRId64, v->u.i);
        }
        break;
    case MT_VALUE_FLOAT: mt_buf_printf(b, "%g", v->u.f); break;
    case MT_VALUE_BIG:
    case MT_VALUE_STR: mt_text_safe(b, mt_snapshot_str(s, v->u.id)); break;
    default: mt_buf_text(b, "..."); break;
    }
}

/* roundup_power2_divisions: what is on, by size of the interval in MiB. */
static void add_divisions(struct mt_buf *b, const struct mt_snapshot *s, const struct mt_value *v)
{
    size_t on = 0;
    for (uint32_t i = 0; i < v->n; i++) {
        const struct mt_value *key = &s->values[v->u.id + 2 * i];
        if (key->kind == MT_VALUE_STR && key[1].kind == MT_VALUE_INT && key[1].u.i) {
            mt_buf_text(b, on++ ? ", " : "");
            mt_text_safe(b, mt_snapshot_str(s, key->u.id));
            mt_buf_printf(b, " MiB: %" PRId64, key[1].u.i);
        }
    }
    mt_buf_text(b, on ? "" : "off");
}

static void add_setting(struct mt_buf *b, const struct mt_report *r, const struct mt_snapshot *s,
                        bool unlimited, struct mt_str key, const struct mt_value *v)
{
    bool is_split = mt_str_equal(key, MT_STR("max_split_size"));
    bool is_threshold = mt_str_equal(key, MT_STR("garbage_collection_threshold"));
    if (is_split && unlimited) {
        mt_buf_text(b, "unlimited");
    } else if (is_threshold && v->kind == MT_VALUE_FLOAT && v->u.f <= 0) {
        mt_buf_text(b, "off");
    } else if (v->kind == MT_VALUE_DICT) {
        add_divisions(b, s, v);
    } else {
        bool is_size =
            mt_str_ends(key, MT_STR("_size")) || mt_str_ends(key, MT_STR("_round_threshold"));
        add_scalar(b, r, s, v, is_size);
    }
}

static enum mt_status all_settings(const struct mt_report *r, const struct mt_snapshot *s,
                                   struct mt_error *err)
{
    const struct mt_value *dict = &s->values[s->settings];
    struct mt_settings known;
    mt_settings_get(s, 0, &known);
    struct mt_table *t = mt_table_new();
    struct mt_buf b = {0};
    if (!t) {
        return mt_fail_nomem(err);
    }
    mt_table_column(t, "", MT_LEFT);
    mt_table_column(t, "", MT_LEFT);
    for (uint32_t i = 0; i < dict->n; i++) {
        const struct mt_value *key = &s->values[dict->u.id + 2 * i];
        struct mt_str name =
            key->kind == MT_VALUE_STR ? mt_snapshot_str(s, key->u.id) : MT_STR("?");
        mt_buf_reset(&b);
        mt_text_safe(&b, name);
        mt_table_buf(t, &b);
        mt_buf_reset(&b);
        add_setting(&b, r, s, known.max_split_size_is_unlimited, name, key + 1);
        mt_table_buf(t, &b);
    }
    enum mt_status status = b.failed ? mt_fail_nomem(err) : mt_table_print(t, r, 4, err);
    mt_buf_release(&b);
    mt_table_free(t);
    return status;
}

enum mt_status mt_info_settings_text(const struct mt_report *r, const struct mt_snapshot *s,
                                     struct mt_error *err)
{
    struct mt_settings known;
    struct mt_buf b = {0};
    mt_settings_get(s, 0, &known);
    if (!known.present) {
        fputs("  settings   not in the file\n", r->out);
        return MT_OK;
    }
    mt_text_safe(&b, known.conf.p ? known.conf : MT_STR(""));
    if (b.n == 0) {
        mt_buf_printf(&b, "%s is not set: defaults", mt_conf_variable_of(s));
    }
    mt_report_line(r, 13, "  settings   %s", mt_buf_view(&b).p);
    bool failed = b.failed;
    mt_buf_release(&b);
    if (failed) {
        return mt_fail_nomem(err);
    }
    bool is_dict = s->values[s->settings].kind == MT_VALUE_DICT;
    return r->verbose && is_dict ? all_settings(r, s, err) : MT_OK;
}
