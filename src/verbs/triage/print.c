/* SPDX-License-Identifier: MIT */
/*
 * A triage as one screen of text. Each section is built by itself; the ones that must be seen come
 * first (what happened, the bar, the verdict, the first steps), the others are added in order as
 * long as they fit into the screen. With -v everything is printed.
 */
#include <inttypes.h>

#include "verbs/triage/print.h"
#include "verbs/triage/triage_bar.h"
#include "support/utf8.h"

enum { STEPS_SHOWN = 3, LEFT_OUT_LINES = 2 /* what names the rest */, OTHERS_SHOWN = 5 };

struct screen {
    const struct mt_report *r;
    const struct mt_triage_result *x;
    int width;
    struct mt_buf text; /* the section under construction */
    int lines;          /* printed so far */
    int kept_free;      /* for the first steps, which come later but must be seen */
};

static int count_lines(struct mt_str s)
{
    int n = 0;
    for (size_t i = 0; i < s.n; i++) {
        n += s.p[i] == '\n';
    }
    return n;
}

/* Releases a piece of text; that it lacked memory is kept in mind. */
static void drop(struct screen *c, struct mt_buf *b)
{
    c->text.failed |= b->failed;
    mt_buf_release(b);
}

/* Words of `s`, wrapped; the cursor stands in `column`, later lines begin with `indent` blanks. */
static void wrap_from(struct screen *c, int column, int indent, struct mt_str s)
{
    struct mt_buf safe = {0};
    mt_text_safe(&safe, s);
    for (const char *text = mt_buf_view(&safe).p, *next; *text; text = next) {
        size_t n = mt_text_line(text, c->width - column, &next);
        mt_buf_add(&c->text, text, n);
        if (*next) {
            mt_buf_printf(&c->text, "\n%*s", indent, "");
            column = indent;
        }
    }
    mt_buf_char(&c->text, '\n');
    drop(c, &safe);
}

/* The same behind a lead of one byte a column. */
static void wrap(struct screen *c, const char *lead, int indent, struct mt_str s)
{
    mt_buf_text(&c->text, lead);
    wrap_from(c, (int)strlen(lead), indent, s);
}

/* Prints the section when it is needed or fits; returns whether it did. */
static bool emit(struct screen *c, bool needed)
{
    int lines = count_lines(mt_buf_view(&c->text));
    bool fits = needed || c->r->verbose > 0 || c->lines + lines + c->kept_free <= MT_TRIAGE_LINES;
    if (fits && c->text.n > 0) {
        fwrite(c->text.p, 1, c->text.n, c->r->out);
        c->lines += lines;
    }
    if (!c->text.failed) {
        mt_buf_reset(&c->text);
    }
    return fits;
}

static void heading(struct screen *c, enum mt_color color, const char *word)
{
    mt_buf_printf(&c->text, "%s%s%s", mt_color_begin(c->r, color), word, mt_color_end(c->r));
}

/* ---- what happened ---- */

static const struct {
    const char *id, *name;
} NAMES[] = {
    {"torch", "PyTorch"},
    {"jax", "JAX"},
    {"tensorflow", "TensorFlow"},
    {"ggml", "llama.cpp"},
    {"cupy", "CuPy"},
    {"rmm", "RMM"},
    {"paddle", "Paddle"},
    {"julia", "CUDA.jl"},
    {"onnxruntime", "ONNX Runtime"},
    {"vllm", "vLLM"},
    {"sglang", "SGLang"},
    {"nccl", "NCCL"},
    {"host", "the system"},
    {"tensorrt", "TensorRT"},
    {"cuda", "CUDA"},
    {"triton", "Triton"},
    {"numpy", "NumPy"},
    {"gpu", "a GPU"},
    {"triton-server", "Triton Inference Server"},
    {"vulkan", "Vulkan"},
    {"opencl", "OpenCL"},
    {"mlx", "MLX"},
    {"openvino", "OpenVINO"},
    {"mindspore", "MindSpore"},
};

static const char *framework_name(const char *id)
{
    for (size_t i = 0; i < MT_COUNT(NAMES); i++) {
        if (strcmp(NAMES[i].id, id) == 0) {
            return NAMES[i].name;
        }
    }
    return id;
}

static void print_place(struct screen *c, const struct mt_incident *i)
{
    struct mt_buf line = {0};
    mt_text_safe(&line, mt_str_from(i->file[0] ? i->file : c->r->file));
    if (i->line > 0) {
        mt_buf_printf(&line, ":%" PRIu64, i->line);
    }
    mt_buf_printf(&line, ": %s", framework_name(i->framework));
    bool known_era = strcmp(i->backend, "cuda") == 0 || strcmp(i->backend, "hip") == 0;
    if (known_era && strncmp(i->format, "torch-", 6) == 0 && i->format[6] >= '0' &&
        i->format[6] <= '9') {
        mt_buf_printf(&line, " %s", i->format + 6);
    }
    const char *program = mt_triage_program_words(i->program);
    if (program[0] && strcmp(program, framework_name(i->framework)) != 0) {
        mt_buf_printf(&line, " in %s", program);
    }
    if (i->backend[0] && strcmp(i->backend, "cuda") != 0) {
        mt_buf_printf(&line, " (%s)", i->backend);
    }
    if (i->device >= 0) {
        mt_buf_printf(&line, ", device %" PRId64, i->device);
    }
    if (i->rank >= 0) {
        mt_buf_printf(&line, ", rank %" PRId64, i->rank);
    }
    if (i->repeats > 0) {
        mt_buf_printf(&line, ", printed %" PRIu32 " times", i->repeats + 1);
    }
    if (mt_oom_has(&i->numbers, MT_OOM_REQUESTED)) {
        mt_buf_printf(&line, ": asked for %s",
                      mt_report_size(c->r, mt_oom_get(&i->numbers, MT_OOM_REQUESTED)).s);
    }
    wrap(c, "", 2, mt_buf_view(&line));
    drop(c, &line);
}

/* As many whole words of a line as fit, or of one long word as much as fits. */
static size_t fit(const char *text, int room)
{
    const char *next;
    size_t n = mt_text_line(text, room, &next);
    if (n > (size_t)room && !memchr(text, ' ', n)) {
        n = mt_utf8_cut(text, (size_t)room);
    }
    return n;
}

static void print_message(struct screen *c, const struct mt_incident *i)
{
    struct mt_str s = i->text;
    if (c->r->verbose > 0) {
        wrap(c, "  > ", 4, s);
        return;
    }
    struct mt_buf safe = {0};
    mt_text_safe(&safe, s);
    const char *text = mt_buf_view(&safe).p;
    size_t n = fit(text, c->width - 8);
    bool more = text[n + strspn(text + n, " ")] != '\0';
    mt_buf_printf(&c->text, "  > %.*s%s\n", (int)n, text, more ? " ..." : "");
    drop(c, &safe);
}

/* ---- figures ---- */

static bool has(const struct mt_incident *i, enum mt_oom_field f)
{
    return mt_oom_has(&i->numbers, f);
}

/* Inferred: the limit lies between what was granted and what was refused. */
static void print_limit(struct screen *c, const struct mt_incident *i)
{
    uint64_t least = i->numbers.v[MT_OOM_ALLOWED];
    struct mt_size_text below = mt_report_size(c->r, i->allowed_below);
    bool close = strcmp(mt_report_size(c->r, least).s, below.s) == 0;
    mt_triage_figure(&c->text, c->r, ' ',
                     close ? "its limit, inferred: about" : "its limit, inferred: at least", least);
    if (!close) {
        mt_buf_printf(&c->text, ", below %s", below.s);
    }
}

/* Figures without the card's size: no bar, but what is known. */
static void print_figures(struct screen *c, const struct mt_incident *i)
{
    static const char *const WORDS[MT_OOM_FIELD_COUNT] = {
#define X(name, key, words) words,
        MT_OOM_FIELD_MAP(X)
#undef X
    };
    if (has(i, MT_OOM_TOTAL)) {
        return;
    }
    for (unsigned f = 0; f < MT_OOM_FIELD_COUNT; f++) {
        if (has(i, f) && f != MT_OOM_REQUESTED) {
            const char *words = f == MT_OOM_ALLOCATED ? mt_triage_live_words(i) : WORDS[f];
            if (f == MT_OOM_ALLOWED && i->allowed_below > 0) {
                print_limit(c, i);
            } else {
                mt_triage_figure(&c->text, c->r, ' ', words, i->numbers.v[f]);
            }
            mt_buf_char(&c->text, '\n');
        }
    }
}

/* ---- verdict and reasons ---- */

static void print_verdict(struct screen *c)
{
    const struct mt_triage_result *x = c->x;
    struct mt_buf line = {0};
    mt_buf_text(&c->text, c->lines ? "\n" : "");
    heading(c, x->verdict == MT_VERDICT_NOT_OOM ? MT_COLOR_GOOD : MT_COLOR_BAD, "VERDICT  ");
    mt_buf_text(&line, x->headline);
    wrap_from(c, 9, 9, mt_buf_view(&line));
    c->text.failed |= line.failed;
    mt_buf_reset(&line);
    mt_buf_printf(&line, "%s, %s confidence", mt_verdict_id(x->verdict),
                  mt_confidence_id(x->confidence));
    for (size_t i = 0; i < x->n_also; i++) {
        mt_buf_printf(&line, "%s%s", i ? ", " : "; also ", mt_verdict_id(x->also[i]));
    }
    wrap(c, "         ", 9, mt_buf_view(&line));
    drop(c, &line);
}

/* What a first look shows beside the reasons of the verdicts themselves. */
static bool is_shown(const struct screen *c, size_t i, bool room)
{
    bool reason = i == 0 || (i < 64 && (c->x->rules_said >> i & 1) != 0);
    size_t most = c->x->n_shots ? 7 : 3;
    return reason || c->r->verbose > 0 || (room && i < most);
}

/* Every verdict with its reason; of the others as many as fit, and the number of the rest. */
static void print_evidence(struct screen *c)
{
    size_t left = 0;
    bool room = true;
    for (size_t i = 0; i < c->x->n_evidence; i++) {
        if (!is_shown(c, i, room)) {
            left++;
            continue;
        }
        if (i == 0) {
            heading(c, MT_COLOR_HEAD, "WHY      ");
            wrap_from(c, 9, 9, c->x->evidence[i]);
        } else {
            wrap(c, "         ", 9, c->x->evidence[i]);
        }
        room = emit(c, is_shown(c, i, false));
        left += !room;
    }
    if (left > 0) {
        mt_buf_printf(&c->text, "         %zu more reason%s: -v\n", left, left == 1 ? "" : "s");
        emit(c, true);
    }
}

/* ---- advice ---- */

/* A command stays whole, for it will be pasted; where it is too long with the remark behind it
 * ("  # alone on the card"), that is taken off it and stands before it. */
static struct mt_str take_remark(struct mt_str *command, int room)
{
    struct mt_str none = {"", 0}, text = *command;
    size_t at = mt_str_find(text, MT_STR("  # "));
    if (at == SIZE_MAX || at == 0 || text.n <= (size_t)room) {
        return none;
    }
    size_t n = at;
    while (n > 0 && text.p[n - 1] == ' ') {
        n--;
    }
    *command = (struct mt_str){text.p, n};
    return n ? (struct mt_str){text.p + at + 2, text.n - at - 2} : none;
}

static void print_commands(struct screen *c, const struct mt_advice *a, const char *indent)
{
    for (size_t i = 0; i < a->n_commands; i++) {
        struct mt_str command = a->commands[i];
        struct mt_str remark = take_remark(&command, c->width - (int)strlen(indent));
        if (remark.n) {
            wrap(c, indent, (int)strlen(indent) + 2, remark);
        }
        mt_buf_text(&c->text, indent);
        mt_buf_text(&c->text, mt_color_begin(c->r, MT_COLOR_HEAD));
        mt_text_safe(&c->text, command);
        mt_buf_text(&c->text, mt_color_end(c->r));
        mt_buf_char(&c->text, '\n');
    }
}

static bool is_recipe(const struct mt_advice *a)
{
    return strcmp(a->id, "record") == 0;
}

/* Leaves the steps in c->text. */
static void build_steps(struct screen *c)
{
    int shown = 0;
    for (size_t i = 0; i < c->x->n_advice; i++) {
        const struct mt_advice *a = &c->x->advice[i];
        char lead[16];
        if (!a->applies || is_recipe(a) || (c->r->verbose == 0 && shown == STEPS_SHOWN)) {
            continue;
        }
        if (shown++ == 0) {
            mt_buf_char(&c->text, '\n');
            heading(c, MT_COLOR_HEAD, "FIRST STEPS\n");
        }
        struct mt_buf line = {0};
        (void)snprintf(lead, sizeof lead, "%2d. ", shown);
        mt_buf_str(&line, a->text);
        mt_buf_char(&line, ' ');
        mt_buf_str(&line, a->why);
        wrap(c, lead, 4, mt_buf_view(&line));
        drop(c, &line);
        print_commands(c, a, "      ");
    }
}

/* What there was no room for, named in the last line. */
struct left_out {
    int steps, hints;
    struct mt_buf names; /* of the hints, but for the last */
    struct mt_str last;
    bool recipe;
};

static int count_steps(const struct screen *c)
{
    int n = 0;
    for (size_t i = 0; i < c->x->n_advice; i++) {
        n += c->x->advice[i].applies && !is_recipe(&c->x->advice[i]);
    }
    return n;
}

static void print_hints(struct screen *c, struct left_out *left)
{
    int shown = 0;
    bool room = true;
    for (size_t i = 0; i < c->x->n_advice; i++) {
        const struct mt_advice *a = &c->x->advice[i];
        if (a->applies) {
            continue;
        }
        if (shown == 0) {
            mt_buf_char(&c->text, '\n');
            heading(c, MT_COLOR_HEAD, "NOT THE CURE HERE\n");
        }
        struct mt_buf line = {0};
        mt_buf_str(&line, a->text);
        mt_buf_text(&line, ": ");
        mt_buf_str(&line, a->why);
        wrap(c, "  - ", 4, mt_buf_view(&line));
        drop(c, &line);
        room = room && emit(c, false);
        if (room) {
            shown++;
            continue;
        }
        mt_buf_reset(&c->text);
        mt_buf_text(&left->names, left->names.n ? ", " : "");
        mt_buf_str(&left->names, left->last);
        left->last = a->text;
        left->hints++;
    }
}

static void print_recipe(struct screen *c, struct left_out *left)
{
    for (size_t i = 0; i < c->x->n_advice; i++) {
        const struct mt_advice *a = &c->x->advice[i];
        if (!is_recipe(a)) {
            continue;
        }
        mt_buf_char(&c->text, '\n');
        heading(c, MT_COLOR_HEAD, "TO BE SURE  ");
        wrap_from(c, 12, 4, a->text);
        print_commands(c, a, "      ");
        left->recipe = !emit(c, false);
    }
}

/* "1 more step; why torch.cuda.empty_cache() is not the cure here; how to record a snapshot" */
static void print_left_out(struct screen *c, struct left_out *left)
{
    struct mt_buf line = {0};
    if (left->steps > 0) {
        mt_buf_printf(&line, "; %d more step%s", left->steps, left->steps == 1 ? "" : "s");
    }
    if (left->hints > 0) {
        mt_buf_text(&line, "; why ");
        mt_buf_str(&line, mt_buf_view(&left->names));
        mt_buf_text(&line, left->names.n ? " and " : "");
        mt_buf_str(&line, left->last);
        mt_buf_text(&line, left->hints == 1 ? " is" : " are");
        mt_buf_text(&line, " not the cure here");
    }
    mt_buf_text(&line, left->recipe ? "; how to record a snapshot, to be sure" : "");
    if (line.n > 0) {
        mt_buf_char(&c->text, '\n');
        heading(c, MT_COLOR_HEAD, "WITH -v  ");
        wrap_from(c, 9, 9, (struct mt_str){line.p + 2, line.n - 2});
        emit(c, true);
    }
    drop(c, &line);
    drop(c, &left->names);
}

/* ---- other logs ---- */

/* Which event of one log is told in a line: the lower the better. */
static int weight(const struct mt_incident *i)
{
    return (mt_kind_is_oom(i->kind) ? 0 : 4) + (i->kind == MT_KIND_SOFT ? 2 : 0) + i->recovered;
}

static bool is_told(const struct mt_triage_result *x, size_t n)
{
    for (size_t k = 0; k < x->n_incidents; k++) {
        const struct mt_incident *i = &x->incidents[k];
        bool better = weight(i) < weight(&x->incidents[n]) ||
                      (weight(i) == weight(&x->incidents[n]) && k < n);
        if (k != n && i->file == x->incidents[n].file && better) {
            return false;
        }
    }
    return x->incidents[n].file != x->incidents[x->cause].file;
}

/* Each log but that of the cause: what happened in it. */
static void print_other_logs(struct screen *c)
{
    size_t shown = 0, left = 0;
    for (size_t n = 0; n < c->x->n_incidents && c->x->cause != SIZE_MAX; n++) {
        const struct mt_incident *i = &c->x->incidents[n];
        if (!is_told(c->x, n)) {
            continue;
        }
        if (shown == OTHERS_SHOWN) {
            left++;
            continue;
        }
        if (shown++ == 0) {
            mt_buf_char(&c->text, '\n');
            heading(c, MT_COLOR_HEAD, "OTHER LOGS");
            mt_buf_text(&c->text, "  (each by itself: memtool triage LOG)\n");
        }
        struct mt_buf line = {0};
        mt_text_safe(&line, mt_str_from(i->file));
        mt_buf_printf(&line, ":%" PRIu64 ": %s%s (%s)", i->line,
                      i->recovered && mt_kind_is_oom(i->kind) ? "Survived: " : "", i->headline,
                      mt_verdict_id(i->verdict));
        wrap(c, "  ", 4, mt_buf_view(&line));
        drop(c, &line);
    }
    if (left > 0) {
        mt_buf_printf(&c->text, "  and in %zu more: -v\n", left);
    }
    emit(c, true);
}

/* ---- everything, with -v ---- */

static void print_others(struct screen *c)
{
    for (size_t n = 0; n < c->x->n_incidents; n++) {
        const struct mt_incident *i = &c->x->incidents[n];
        if (n == c->x->cause) {
            continue;
        }
        if (n == 0 || (n == 1 && c->x->cause == 0)) {
            mt_buf_char(&c->text, '\n');
            heading(c, MT_COLOR_HEAD, "OTHER EVENTS\n");
        }
        print_place(c, i);
        mt_buf_printf(&c->text, "    %s%s\n", mt_verdict_id(i->verdict),
                      i->recovered ? ", survived" : "");
    }
    if (c->x->incidents_dropped > 0) {
        mt_buf_printf(&c->text, "  and %" PRIu64 " more\n", c->x->incidents_dropped);
    }
    emit(c, false);
}

enum mt_status mt_report_triage_text(const struct mt_report *r, const struct mt_triage_result *x,
                                     struct mt_error *err)
{
    struct screen c = {.r = r, .x = x};
    c.width = mt_triage_width(r);
    if (x->cause != SIZE_MAX) {
        const struct mt_incident *i = &x->incidents[x->cause];
        print_place(&c, i);
        print_message(&c, i);
        if (x->verdict != MT_VERDICT_NOT_OOM) {
            mt_triage_bar(&c.text, r, i);
            print_figures(&c, i);
        }
        emit(&c, true);
    }
    print_verdict(&c);
    emit(&c, true);
    build_steps(&c);
    c.kept_free = count_lines(mt_buf_view(&c.text));
    struct mt_buf steps = c.text;
    c.text = (struct mt_buf){0};
    print_evidence(&c);
    c.kept_free = 0;
    mt_buf_str(&c.text, mt_buf_view(&steps));
    emit(&c, true);
    bool failed = steps.failed;
    mt_buf_release(&steps);
    struct left_out left = {.steps = r->verbose ? 0 : count_steps(&c) - STEPS_SHOWN};
    c.kept_free = LEFT_OUT_LINES;
    print_hints(&c, &left);
    print_recipe(&c, &left);
    print_left_out(&c, &left);
    if (r->verbose > 0) {
        print_others(&c);
    } else {
        print_other_logs(&c);
    }
    failed |= c.text.failed;
    mt_buf_release(&c.text);
    return failed ? mt_fail_nomem(err) : MT_OK;
}
