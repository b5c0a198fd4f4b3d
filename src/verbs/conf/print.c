/* SPDX-License-Identifier: MIT */
/* conf: what PyTorch makes of a settings string, key by key, as text and JSON. */
#include "verbs/conf/print.h"
#include "print/report_json.h"

/* ---- JSON ---- */

static void put_torch(struct mt_out o, const char *key, mt_torch_release release)
{
    char text[16];
    snprintf(text, sizeof text, "%d.%d", release / 100, release % 100);
    mt_out_text(o, key, text);
}

/* As PyTorch's own allocator_settings: sizes are signed there, -1 means unlimited. */
static void put_settings(struct mt_out root, const struct mt_conf_result *c)
{
    const struct mt_alloc_settings *s = &c->conf->settings;
    struct mt_out o = mt_out_object(root, "settings");
    mt_out_str(o, "PYTORCH_CUDA_ALLOC_CONF", c->text);
    mt_out_i64(o, "max_split_size", (int64_t)s->max_split_size);
    mt_out_f64(o, "garbage_collection_threshold", s->garbage_collection_threshold);
    mt_out_bool(o, "expandable_segments", s->expandable_segments);
    mt_out_u64(o, "pinned_num_register_threads", s->pinned_num_register_threads);
    mt_out_bool(o, "release_lock_on_cudamalloc", s->release_lock_on_cudamalloc);
    mt_out_bool(o, "pinned_use_cuda_host_register", s->pinned_use_cuda_host_register);
    mt_out_bool(o, "graph_capture_record_stream_reuse", s->graph_capture_record_stream_reuse);
    struct mt_out d = mt_out_object(o, "roundup_power2_divisions");
    for (unsigned i = 0; i < MT_ALLOC_INTERVALS; i++) {
        char key[16];
        snprintf(key, sizeof key, "%lu", 1ul << i);
        mt_out_u64(d, key, s->roundup_power2_divisions[i]);
    }
    mt_out_u64(o, "max_non_split_rounding", s->max_non_split_rounding);
    mt_out_u64(o, "large_segment_size", s->large_segment_size);
    mt_out_f64(o, "per_process_memory_fraction", s->per_process_memory_fraction);
    mt_out_text(o, "backend", s->backend == MT_BACKEND_ASYNC ? "cudaMallocAsync" : "native");
}

static void put_keys(struct mt_out root, const struct mt_conf_result *c)
{
    struct mt_out list = mt_out_array(root, "keys");
    struct mt_buf b = {0};
    for (size_t k = 0; k < MT_CONF_KEY_COUNT; k++) {
        enum mt_conf_key key = (enum mt_conf_key)k;
        if (!((c->conf->keys >> k) & 1)) {
            continue;
        }
        struct mt_conf_explanation e = mt_conf_explain(key);
        struct mt_out o = mt_out_object(list, NULL);
        mt_buf_reset(&b);
        mt_conf_value(c->conf, key, &b);
        mt_out_text(o, "key", mt_conf_key_name(key));
        mt_out_buf(o, "value", &b);
        put_torch(o, "since", mt_conf_key_since(key));
        mt_out_text(o, "does", e.does);
        mt_out_text(o, "pays", e.pays);
        mt_out_text(o, "costs", e.costs);
    }
    mt_buf_release(&b);
}

enum mt_status mt_report_conf_json(const struct mt_report *r, const struct mt_conf_result *c,
                                   struct mt_error *err)
{
    struct mt_json_out json;
    struct mt_out root = mt_report_json(&json, r, "conf/1", false);
    mt_out_str(root, "conf", c->text);
    put_torch(root, "torch", c->release);
    if (c->conf->valid && c->conf->unfamiliar[0] && !c->recorded) {
        mt_out_null(root, "valid");
    } else {
        mt_out_bool(root, "valid", c->conf->valid);
    }
    mt_out_text(root, "error", c->conf->valid ? NULL : c->conf->error);
    mt_out_bool(root, "process_dies", c->conf->dies);
    mt_out_text(root, "not_known_to_memtool", c->conf->unfamiliar[0] ? c->conf->unfamiliar : NULL);
    put_settings(root, c);
    struct mt_out list = mt_out_array(root, "warnings");
    for (size_t i = 0; i < c->warnings->n; i++) {
        struct mt_out o = mt_out_object(list, NULL);
        mt_out_text(o, "id", c->warnings->v[i].id);
        mt_out_text(o, "text", c->warnings->v[i].text);
    }
    put_keys(root, c);
    mt_out_text(root, "source", c->source);
    mt_out_text(root, "variable", c->variable);
    return mt_report_json_end(root, err);
}

/* ---- text ---- */

enum { INDENT = 4, COLUMNS = 96 };

/* `b` with a text that is valid until the next one is made in it. */
static const char *safe(struct mt_buf *b, struct mt_str text)
{
    mt_buf_reset(b);
    mt_text_safe(b, text);
    return mt_buf_view(b).p;
}

/* Wrapped at blanks, every line behind `indent` blanks; the first behind `lead`. */
static void print_wrapped(const struct mt_report *r, const char *lead, const char *text, int indent)
{
    int width = r->width > 0 && r->width < COLUMNS ? r->width : COLUMNS;
    int column = fprintf(r->out, "%*s%s%s", indent, "", lead, *lead ? " " : "");
    mt_text_print_wrapped(r->out, text, column, indent, width);
    fputc('\n', r->out);
}

static void print_key(const struct mt_report *r, const struct mt_conf_result *c,
                      enum mt_conf_key key, struct mt_buf *b)
{
    struct mt_conf_explanation e = mt_conf_explain(key);
    mt_buf_reset(b);
    mt_conf_value(c->conf, key, b);
    fputc('\n', r->out);
    mt_report_line(r, 6, "  %s%s%s: %s", mt_color_begin(r, MT_COLOR_HEAD), mt_conf_key_name(key),
                   mt_color_end(r), mt_buf_view(b).p);
    bool off = mt_str_equal(mt_str_from(mt_buf_view(b).p), MT_STR("off"));
    print_wrapped(r, off ? "when on:" : "", e.does, INDENT);
    if (e.pays) {
        print_wrapped(r, "pays", e.pays, INDENT);
    }
    if (e.costs) {
        print_wrapped(r, "costs:", e.costs, INDENT);
    }
}

static void print_verdict(const struct mt_report *r, const struct mt_conf_result *c,
                          struct mt_buf *b)
{
    int major = c->release / 100, minor = c->release % 100;
    const char *who = c->memtools ? "memtool's allocator, which reads as PyTorch" : "PyTorch";
    const char *comma = c->memtools ? "," : "";
    if (c->recorded && (c->conf->unfamiliar[0] || c->conf->error[0])) {
        mt_report_line(r, 2, "%sthe release that recorded it takes it%s",
                       mt_color_begin(r, MT_COLOR_GOOD), mt_color_end(r));
        return;
    }
    if (c->conf->valid && c->conf->unfamiliar[0]) {
        mt_report_line(r, 2, "whether PyTorch %d.%d accepts it is not known", major, minor);
        return;
    }
    if (c->conf->valid) {
        mt_report_line(
            r, 2, "%s%s %d.%d%s %s%s", mt_color_begin(r, MT_COLOR_GOOD), who, major, minor, comma,
            c->text.n ? "accepts it" : "starts with its defaults: nothing is set", mt_color_end(r));
        return;
    }
    mt_report_line(r, 2, "%s%s %d.%d%s refuses it%s: %s", mt_color_begin(r, MT_COLOR_BAD), who,
                   major, minor, comma, mt_color_end(r), safe(b, mt_str_from(c->conf->error)));
    mt_report_line(r, 4, "  %s",
                   c->memtools ? "the allocator does not start with it"
                   : c->conf->dies
                       ? "the process dies when it first uses CUDA, without a Python exception"
                       : "the first use of CUDA raises it; importing torch does not");
}

enum mt_status mt_report_conf_text(const struct mt_report *r, const struct mt_conf_result *c,
                                   struct mt_error *err)
{
    struct mt_buf b = {0};
    if (c->variable || c->text.n) {
        fprintf(r->out, "%s%s%s\n", c->variable ? c->variable : "", c->variable ? "=" : "",
                safe(&b, c->text));
    }
    print_verdict(r, c, &b);
    for (size_t k = 0; k < MT_CONF_KEY_COUNT; k++) {
        if ((c->conf->keys >> k) & 1 && c->conf->valid) {
            print_key(r, c, (enum mt_conf_key)k, &b);
        }
    }
    for (size_t i = 0; i < c->warnings->n; i++) {
        const char *text = safe(&b, mt_str_from(c->warnings->v[i].text));
        fprintf(r->out, "%s%s", i ? "" : "\n", mt_color_begin(r, MT_COLOR_WARN));
        print_wrapped(r, "note:", text, 2);
        fputs(mt_color_end(r), r->out);
    }
    if (c->conf->valid && c->text.n) {
        fputc('\n', r->out);
        mt_report_line(r, 4,
                       "  It is read once, when the process first uses CUDA: set it before the "
                       "start.");
    }
    if (c->conf->valid && c->text.n && c->conf->settings.backend != MT_BACKEND_ASYNC) {
        mt_report_line(r, 4,
                       "  Whether it would have helped a recorded run: memtool simulate --conf "
                       "... snap.pickle");
    }
    bool failed = b.failed;
    mt_buf_release(&b);
    return failed ? mt_fail_nomem(err) : MT_OK;
}
