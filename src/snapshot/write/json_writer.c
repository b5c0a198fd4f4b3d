/* SPDX-License-Identifier: MIT */
/*
 * JSON as Python's json.dumps gives it for the same object: tuples become lists, integers keep all
 * their digits, keys that are numbers or constants become strings. Records stand on lines of their
 * own, so that grep and diff work on the file.
 */
#include "snapshot/write/document.h"
#include "snapshot/write/write.h"
#include "snapshot/write/writers.h"
#include "support/vec.h"

struct level {
    bool dict;
    bool rows;
    size_t i; /* keys and values, or items, written */
};

struct json {
    const struct mt_snapshot *s;
    struct mt_sink *sink;
    MT_VEC(struct level) levels;
};

static bool at_key(const struct json *j)
{
    return j->levels.n > 0 && j->levels.v[j->levels.n - 1].dict &&
           j->levels.v[j->levels.n - 1].i % 2 == 0;
}

/* Puts what separates the next value from the one before it; returns whether it is a key that must
 * be quoted. */
static bool before_value(struct json *j)
{
    if (j->levels.n == 0) {
        return false;
    }
    bool key = at_key(j);
    struct level *l = &j->levels.v[j->levels.n - 1];
    if (l->i > 0) {
        mt_sink_char(j->sink, l->dict && !key ? ':' : ',');
    }
    if (l->rows) {
        mt_sink_char(j->sink, '\n');
    }
    l->i++;
    return key;
}

static void put_constant(struct json *j, const char *text)
{
    bool key = before_value(j);
    mt_sink_text(j->sink, key ? "\"" : "");
    mt_sink_text(j->sink, text);
    mt_sink_text(j->sink, key ? "\"" : "");
}

static void json_none(void *writer)
{
    put_constant(writer, "null");
}

static void json_boolean(void *writer, bool b)
{
    put_constant(writer, b ? "true" : "false");
}

static void json_integer(void *writer, uint64_t magnitude, bool negative)
{
    struct json *j = writer;
    bool key = before_value(j);
    mt_sink_text(j->sink, key ? "\"" : "");
    mt_sink_text(j->sink, negative && magnitude ? "-" : "");
    mt_sink_u64(j->sink, magnitude);
    mt_sink_text(j->sink, key ? "\"" : "");
}

static void json_big(void *writer, struct mt_str digits)
{
    struct json *j = writer;
    bool key = before_value(j);
    mt_sink_text(j->sink, key ? "\"" : "");
    mt_sink_str(j->sink, digits);
    mt_sink_text(j->sink, key ? "\"" : "");
}

static void json_real(void *writer, double x)
{
    struct json *j = writer;
    bool key = before_value(j);
    mt_sink_text(j->sink, key ? "\"" : "");
    mt_sink_json_f64(j->sink, x);
    mt_sink_text(j->sink, key ? "\"" : "");
}

static void json_word(void *writer, size_t word)
{
    struct json *j = writer;
    before_value(j);
    mt_sink_char(j->sink, '"');
    mt_sink_str(j->sink, mt_document_word(word)); /* letters and underscores only */
    mt_sink_char(j->sink, '"');
}

static void json_string(void *writer, uint32_t id)
{
    struct json *j = writer;
    before_value(j);
    mt_sink_json_str(j->sink, mt_snapshot_str(j->s, id));
}

static void json_begin(void *writer, enum mt_document_kind c, size_t n, bool rows)
{
    struct json *j = writer;
    if (before_value(j)) {
        mt_sink_fail(j->sink, MT_UNSUPPORTED, "a dictionary key that JSON has no form for");
    }
    bool dict = c == MT_DOCUMENT_DICT;
    mt_sink_char(j->sink, dict ? '{' : '[');
    struct level l = {dict, rows && n > 0, 0};
    if (!mt_vec_push(&j->levels, l)) {
        mt_sink_fail(j->sink, MT_NOMEM, "out of memory");
    }
}

static void json_end(void *writer)
{
    struct json *j = writer;
    if (j->levels.n > 0) { /* 0 only after a failed begin */
        mt_sink_char(j->sink, j->levels.v[--j->levels.n].dict ? '}' : ']');
    }
}

static const struct mt_document_ops json_ops = {json_none,  json_boolean, json_integer, json_big,
                                                json_real,  json_word,    json_string,  json_string,
                                                json_begin, json_end,     NULL,         NULL};

void mt_json_write(const struct mt_snapshot *s, struct mt_sink *sink)
{
    struct json j = {.s = s, .sink = sink};
    mt_document_walk(s, &json_ops, &j, sink);
    mt_sink_char(sink, '\n');
    mt_vec_release(&j.levels);
}

enum mt_status mt_snapshot_write(const struct mt_snapshot *s, const struct mt_write_options *o,
                                 FILE *stream, struct mt_error *err)
{
    if (o->format != MT_WRITE_PICKLE && mt_stacks_exceed(s, s->events, s->n_events, o->max_bytes)) {
        return mt_sink_over_limit(o->max_bytes, err);
    }
    struct mt_sink *sink = mt_sink_new(stream, o->gzip);
    if (!sink) {
        return mt_fail_nomem(err);
    }
    mt_sink_limit(sink, o->max_bytes);
    if (o->format == MT_WRITE_PICKLE) {
        MT_ASSERT(o->protocol >= 2 && o->protocol <= 5);
        mt_pickle_write(s, o->protocol, sink);
    } else {
        mt_json_write(s, sink);
    }
    enum mt_status status = mt_sink_finish(sink, err);
    mt_sink_free(sink);
    return status;
}
