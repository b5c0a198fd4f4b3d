/* SPDX-License-Identifier: MIT */
/*
 * JSON as Python's json.dumps gives it for the same object: tuples become lists, integers keep all
 * their digits, keys that are numbers or constants become strings. Records stand on lines of their
 * own, so that grep and diff work on the file.
 */
#include "snapshot/write/document.h"
#include "snapshot/write/write.h"
#include "snapshot/write/writers.h"
#include "support/json_out.h"

struct json {
    const struct mt_snapshot *s;
    struct mt_sink *sink;
    struct mt_json_out out;
};

static struct mt_out here(void *writer)
{
    struct json *j = writer;
    return mt_out_here(&j->out);
}

static void json_none(void *writer)
{
    mt_out_null(here(writer), NULL);
}

static void json_boolean(void *writer, bool b)
{
    mt_out_bool(here(writer), NULL, b);
}

static void json_integer(void *writer, uint64_t magnitude, bool negative)
{
    if (negative) {
        mt_out_i64(here(writer), NULL, (int64_t)(0 - magnitude));
    } else {
        mt_out_u64(here(writer), NULL, magnitude);
    }
}

static void json_big(void *writer, struct mt_str digits)
{
    mt_out_number(here(writer), NULL, digits);
}

static void json_real(void *writer, double x)
{
    mt_out_f64(here(writer), NULL, x);
}

static void json_word(void *writer, size_t word)
{
    mt_out_str(here(writer), NULL, mt_document_word(word));
}

static void json_string(void *writer, uint32_t id)
{
    struct json *j = writer;
    mt_out_str(here(j), NULL, mt_snapshot_str(j->s, id));
}

static void json_begin(void *writer, enum mt_document_kind c, size_t n, bool rows)
{
    struct json *j = writer;
    (void)n;
    if (mt_out_wants_key(here(j))) {
        mt_sink_fail(j->sink, MT_UNSUPPORTED, "a dictionary key that JSON has no form for");
        mt_out_key(here(j), MT_STR(""));
    }
    if (c == MT_DOCUMENT_DICT) {
        mt_out_object(here(j), NULL);
    } else if (rows) {
        mt_out_rows(here(j), NULL);
    } else {
        mt_out_array(here(j), NULL);
    }
}

static void json_end(void *writer)
{
    mt_out_end(here(writer));
}

static const struct mt_document_ops json_ops = {json_none,  json_boolean, json_integer, json_big,
                                                json_real,  json_word,    json_string,  json_string,
                                                json_begin, json_end,     NULL,         NULL};

void mt_json_write(const struct mt_snapshot *s, struct mt_sink *sink)
{
    struct json j = {.s = s, .sink = sink};
    mt_sink_json(sink, &j.out);
    mt_document_walk(s, &json_ops, &j, sink);
    mt_sink_json_end(sink, &j.out);
    mt_sink_char(sink, '\n');
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
