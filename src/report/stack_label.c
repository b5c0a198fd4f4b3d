/* SPDX-License-Identifier: MIT */
/*
 * Call stacks for people. The line that says most is the innermost one that the user wrote; frames
 * of PyTorch itself, of the Python interpreter and of C++ glue come between it and the allocation
 * and are folded away unless --all-frames asks for them.
 *
 * What is internal: Python files of the torch package and of the standard library, and nearly all
 * compiled frames. PyTorch's C++ unwinder names those by bare file names ("Functions.cpp"), "??" or
 * nothing, the interpreter's by a path in its sources; a compiled frame of the user's has a path of
 * its own and a name outside PyTorch's namespaces. The peer's list (`_memory_viz.py`,
 * `_frame_filter`) matches substrings; its "_start" also hides every on_train_start, so that name
 * is compared whole here.
 */
#include <memtool/report.h>

static bool contains_any(struct mt_str s, const struct mt_str *parts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (mt_str_find(s, parts[i]) != SIZE_MAX) {
            return true;
        }
    }
    return false;
}

static bool equals_any(struct mt_str s, const struct mt_str *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (mt_str_equal(s, words[i])) {
            return true;
        }
    }
    return false;
}

/* Copies the end of a path into `buffer` with '/' for '\\', so that Windows paths match too. */
static struct mt_str normal_path(struct mt_str path, char *buffer, size_t size)
{
    size_t skip = path.n > size ? path.n - size : 0;
    for (size_t i = skip; i < path.n; i++) {
        buffer[i - skip] = path.p[i] == '\\' ? '/' : path.p[i];
    }
    return (struct mt_str){buffer, path.n - skip};
}

static bool is_internal_python(struct mt_str file)
{
    static const struct mt_str parts[] = {
        MT_STR_INIT("-packages/torch/"),     MT_STR_INIT("pytorch/torch/"),
        MT_STR_INIT("-packages/functorch/"), MT_STR_INIT("<frozen "),
        MT_STR_INIT("/torch/_dynamo/"),      MT_STR_INIT("/torch/nn/modules/"),
        MT_STR_INIT("/torch/autograd/")};
    static const struct mt_str library[] = {MT_STR_INIT("/lib/python3"), MT_STR_INIT("/Lib/"),
                                            MT_STR_INIT("/lib64/python3")};
    static const struct mt_str installed[] = {MT_STR_INIT("-packages/")};
    return contains_any(file, parts, MT_COUNT(parts)) ||
           (contains_any(file, library, MT_COUNT(library)) &&
            !contains_any(file, installed, MT_COUNT(installed)));
}

/* The bare extension, "" when there is none. */
static struct mt_str extension(struct mt_str file)
{
    for (size_t i = file.n; i > 0 && file.p[i - 1] != '/'; i--) {
        if (file.p[i - 1] == '.') {
            return (struct mt_str){file.p + i, file.n - i};
        }
    }
    return MT_STR("");
}

/* Whether the qualified name itself, not its arguments, lies in a namespace of PyTorch or C++. */
static bool is_internal_symbol(struct mt_str name)
{
    static const struct mt_str spaces[] = {
        MT_STR_INIT("at::"),           MT_STR_INIT("c10::"),       MT_STR_INIT("torch::"),
        MT_STR_INIT("std::"),          MT_STR_INIT("THPVariable"), MT_STR_INIT("CapturedTraceback"),
        MT_STR_INIT("gather_with_cpp")};
    static const struct mt_str words[] = {MT_STR_INIT("_start"), MT_STR_INIT("")};
    size_t n = 0;
    while (n < name.n && name.p[n] != '(' && name.p[n] != '<') {
        n++;
    }
    struct mt_str head = {name.p, n};
    return equals_any(name, words, MT_COUNT(words)) ||
           contains_any(head, spaces, MT_COUNT(spaces)) || mt_str_starts(head, MT_STR("Py")) ||
           mt_str_starts(head, MT_STR("_Py")) || mt_str_starts(head, MT_STR("__"));
}

static bool is_internal_native(struct mt_str file, struct mt_str name)
{
    static const struct mt_str parts[] = {
        MT_STR_INIT("/Python/"),     MT_STR_INIT("/Objects/"), MT_STR_INIT("/Modules/"),
        MT_STR_INIT("/Include/"),    MT_STR_INIT("/csu/"),     MT_STR_INIT("/sysdeps/"),
        MT_STR_INIT("core/boxing"),  MT_STR_INIT("/aten/"),    MT_STR_INIT("/c10/"),
        MT_STR_INIT("/torch/csrc/"), MT_STR_INIT("/ATen/"),    MT_STR_INIT("/Register"),
        MT_STR_INIT("/Redispatch"),  MT_STR_INIT("tmpxft_")};
    static const struct mt_str slash[] = {MT_STR_INIT("/")};
    return !contains_any(file, slash, 1) || contains_any(file, parts, MT_COUNT(parts)) ||
           is_internal_symbol(name);
}

bool mt_frame_is_internal(const struct mt_snapshot *s, const struct mt_frame *f)
{
    static const struct mt_str native[] = {
        MT_STR_INIT("c"),   MT_STR_INIT("cc"), MT_STR_INIT("cpp"), MT_STR_INIT("cxx"),
        MT_STR_INIT("cu"),  MT_STR_INIT("h"),  MT_STR_INIT("hpp"), MT_STR_INIT("cuh"),
        MT_STR_INIT("inc"), MT_STR_INIT("s"),  MT_STR_INIT("S")};
    static const struct mt_str nowhere[] = {MT_STR_INIT(""), MT_STR_INIT("??")};
    char buffer[1024];
    struct mt_str file = normal_path(mt_snapshot_str(s, f->filename), buffer, sizeof buffer);
    struct mt_str name = mt_snapshot_str(s, f->name);
    if (equals_any(file, nowhere, MT_COUNT(nowhere))) {
        return true;
    }
    if (equals_any(extension(file), native, MT_COUNT(native))) {
        return is_internal_native(file, name);
    }
    return is_internal_python(file);
}

/* ---- labels ---- */

/* The qualified name inside a mangled one, "at::native::zeros_like", without its arguments:
 * programs without the C++ library loaded for all record names as the linker knows them. */
static void add_name(struct mt_buf *b, struct mt_str name)
{
    size_t at = 3, parts = 0;
    while (at < name.n && mt_str_starts(name, MT_STR("_ZN")) && strchr("rVK", name.p[at])) {
        at++;
    }
    while (mt_str_starts(name, MT_STR("_ZN")) && at < name.n) {
        size_t n = 0;
        while (at < name.n && name.p[at] >= '0' && name.p[at] <= '9' && n < name.n) {
            n = n * 10 + (size_t)(name.p[at++] - '0');
        }
        if (n == 0 || n > name.n - at) {
            break;
        }
        mt_buf_text(b, parts++ ? "::" : "");
        mt_text_safe(b, (struct mt_str){name.p + at, n});
        at += n;
    }
    if (parts == 0) {
        mt_text_safe(b, name);
    }
}

static void add_frame(struct mt_buf *b, const struct mt_snapshot *s, const struct mt_frame *f,
                      bool full_path)
{
    struct mt_str file = mt_snapshot_str(s, f->filename);
    struct mt_str name = mt_snapshot_str(s, f->name);
    struct mt_str shown = full_path ? file : mt_str_basename(file);
    bool has_place = shown.n && !mt_str_equal(shown, MT_STR("??"));
    if (has_place) {
        mt_text_safe(b, shown);
        if (f->line > 0) {
            mt_buf_printf(b, ":%d", (int)f->line);
        }
    }
    if (name.n) {
        mt_buf_text(b, has_place ? " " : "");
        add_name(b, name);
    } else if (!has_place) {
        mt_buf_text(b, "(unknown frame)");
    }
}

static const struct mt_frame *frame_at(const struct mt_snapshot *s, uint32_t stack, uint32_t i)
{
    return &s->frames[s->stack_frames[s->stacks[stack].first + i]];
}

/* Index of the innermost frame of the user's at or behind `from`; the stack's length when all are
 * internal. */
static uint32_t next_user_frame(const struct mt_snapshot *s, uint32_t stack, uint32_t from)
{
    while (from < s->stacks[stack].n && mt_frame_is_internal(s, frame_at(s, stack, from))) {
        from++;
    }
    return from;
}

/* The interpreter, and what starts threads under it: "python3", "libpython3.12.so.1.0". */
static bool is_interpreter(const struct mt_snapshot *s, const struct mt_frame *f)
{
    static const struct mt_str heads[] = {MT_STR_INIT("libpython"), MT_STR_INIT("libstdc++.so"),
                                          MT_STR_INIT("libc.so"), MT_STR_INIT("libpthread")};
    struct mt_str file = mt_str_basename(mt_snapshot_str(s, f->filename));
    for (size_t i = 0; i < MT_COUNT(heads); i++) {
        if (mt_str_starts(file, heads[i])) {
            return true;
        }
    }
    size_t n = 6;
    while (n < file.n && ((file.p[n] >= '0' && file.p[n] <= '9') || file.p[n] == '.')) {
        n++;
    }
    return mt_str_starts(file, MT_STR("python")) && n == file.n;
}

/* An operator, "at::_ops::zeros_like::call", or with `any` whatever has a name. */
static bool names_work(const struct mt_snapshot *s, const struct mt_frame *f, bool any)
{
    struct mt_str name = mt_snapshot_str(s, f->name);
    bool op = mt_str_starts(name, MT_STR("_ZN2at")) || mt_str_starts(name, MT_STR("at::"));
    return op || (any && name.n > 0 && !mt_str_starts(name, MT_STR("+0x")));
}

/*
 * The frame that stands for a stack: the innermost of the user's, else the innermost. Compiled
 * frames alone end in the Python interpreter, whose functions are the same for every line: then it
 * is the operator that the interpreter called, the outermost that has a name.
 */
static uint32_t shown_frame(const struct mt_snapshot *s, uint32_t stack)
{
    uint32_t n = s->stacks[stack].n, user = next_user_frame(s, stack, 0);
    if (user == n) {
        return 0;
    }
    for (int any = 0; any < 2 && is_interpreter(s, frame_at(s, stack, user)); any++) {
        for (uint32_t i = user; i-- > 0;) {
            if (names_work(s, frame_at(s, stack, i), any)) {
                return i;
            }
        }
    }
    return user;
}

uint32_t mt_stack_user_frame(const struct mt_snapshot *s, uint32_t stack)
{
    uint32_t n = stack ? s->stacks[stack].n : 0;
    if (n == 0) {
        return 0;
    }
    return s->stack_frames[s->stacks[stack].first + shown_frame(s, stack)];
}

void mt_frame_label(struct mt_buf *b, const struct mt_snapshot *s, uint32_t frame,
                    const struct mt_report *r)
{
    if (frame) {
        add_frame(b, s, &s->frames[frame], r->full_path);
    } else {
        mt_buf_text(b, "(no stack)");
    }
}

void mt_stack_label(struct mt_buf *b, const struct mt_snapshot *s, uint32_t stack,
                    const struct mt_report *r)
{
    uint32_t n = stack ? s->stacks[stack].n : 0;
    if (n == 0) {
        mt_buf_text(b, "(no stack)");
        return;
    }
    uint32_t i = r->all_frames ? 0 : shown_frame(s, stack);
    add_frame(b, s, frame_at(s, stack, i), r->full_path);
}

/* Some stack of the file has frames, so that one without says something. */
static bool has_frames(const struct mt_snapshot *s)
{
    return s->n_stack_frames > 0;
}

void mt_stack_label_inner(struct mt_buf *b, const struct mt_snapshot *s, uint32_t stack,
                          const struct mt_report *r)
{
    uint32_t n = stack ? s->stacks[stack].n : 0;
    if (n == 0 && has_frames(s)) {
        mt_buf_text(b, "(no stack: older than the recording, or not from Python)");
        return;
    }
    mt_stack_label(b, s, stack, r);
    if (n == 0 || r->all_frames) {
        return;
    }
    const struct mt_frame *inner = frame_at(s, stack, 0);
    uint32_t user = next_user_frame(s, stack, 0);
    struct mt_str name = mt_snapshot_str(s, inner->name);
    struct mt_str file = mt_str_basename(mt_snapshot_str(s, inner->filename));
    bool python = mt_str_equal(extension(file), MT_STR("py"));
    if (python && mt_str_equal(name, MT_STR("forward"))) {
        name = (struct mt_str){file.p, file.n - 3}; /* linear.py says more */
    }
    if (user > 0 && user < n && python && name.n) {
        mt_buf_text(b, " (");
        mt_text_safe(b, name);
        mt_buf_text(b, ")");
    }
}

void mt_stack_label_long(struct mt_buf *b, const struct mt_snapshot *s, uint32_t stack,
                         const struct mt_report *r)
{
    if ((!stack || !s->stacks[stack].n) && has_frames(s)) {
        mt_buf_text(b, "(no Python frames: another thread, such as autograd's)");
    } else {
        mt_stack_label_inner(b, s, stack, r);
    }
}

void mt_stack_lines(struct mt_buf *b, const struct mt_snapshot *s, uint32_t stack,
                    const struct mt_report *r, int indent)
{
    uint32_t n = stack ? s->stacks[stack].n : 0;
    uint32_t left = r->stack_lines > 0 ? (uint32_t)r->stack_lines : UINT32_MAX;
    if (n == 0) {
        mt_buf_printf(b, "%*s(no stack)\n", indent, "");
    }
    for (uint32_t i = 0; i < n && left > 0; i++) {
        uint32_t user = r->all_frames ? i : next_user_frame(s, stack, i);
        if (user > i) { /* folded frames do not count as lines */
            mt_buf_printf(b, "%*s(%u internal frame%s)\n", indent, "", user - i,
                          user - i == 1 ? "" : "s");
            i = user - 1;
            continue;
        }
        left--;
        mt_buf_printf(b, "%*s", indent, "");
        add_frame(b, s, frame_at(s, stack, i), r->full_path);
        mt_buf_char(b, '\n');
    }
}

static cJSON *frame_item(const struct mt_snapshot *s, const struct mt_frame *f)
{
    cJSON *item = cJSON_CreateObject();
    if (item && mt_json_str(item, "name", mt_snapshot_str(s, f->name)) &&
        mt_json_str(item, "filename", mt_snapshot_str(s, f->filename)) &&
        mt_json_i64(item, "line", f->line)) {
        return item;
    }
    cJSON_Delete(item);
    return NULL;
}

cJSON *mt_json_frames(const struct mt_snapshot *s, uint32_t stack)
{
    cJSON *array = cJSON_CreateArray();
    uint32_t n = stack ? s->stacks[stack].n : 0;
    for (uint32_t i = 0; array && i < n; i++) {
        cJSON *item = frame_item(s, frame_at(s, stack, i));
        if (!item || !cJSON_AddItemToArray(array, item)) {
            cJSON_Delete(item);
            cJSON_Delete(array);
            return NULL;
        }
    }
    return array;
}
