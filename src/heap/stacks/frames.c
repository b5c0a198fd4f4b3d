/* SPDX-License-Identifier: MIT */
/*
 * Frames for people. The frame that says most is the innermost one that the user wrote; frames of
 * PyTorch itself, of the Python interpreter and of C++ glue come between it and the allocation.
 *
 * What is internal: Python files of the torch package, of the standard library and of packages that
 * only wrap operators, and nearly all compiled frames. PyTorch's C++ unwinder names those by bare
 * file names ("Functions.cpp"), "??" or nothing, the interpreter's by a path in its sources; a
 * compiled frame of the user's has a path of its own and a name outside PyTorch's namespaces.
 * memtool's capture names the shared object instead: of those the interpreter, what starts threads
 * and programs, and PyTorch's libraries are internal. The peer's list (`_memory_viz.py`,
 * `_frame_filter`) matches substrings; its "_start" also hides every on_train_start, so that name
 * is compared whole here.
 */
#include "heap/stacks/frames.h"

#include <string.h>

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

/* Copies a path into `buffer` with '/' for '\\', so that Windows paths match too. */
static struct mt_str normal_path(struct mt_str path, char buffer[MT_ASKED_BYTES])
{
    for (size_t i = 0; i < path.n; i++) {
        buffer[i] = path.p[i] == '\\' ? '/' : path.p[i];
    }
    return (struct mt_str){buffer, path.n};
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
    static const struct mt_str wrappers[] = {
        MT_STR_INIT("-packages/einops/"),        MT_STR_INIT("-packages/einx/"),
        MT_STR_INIT("-packages/opt_einsum/"),    MT_STR_INIT("-packages/jaxtyping/"),
        MT_STR_INIT("-packages/beartype/"),      MT_STR_INIT("-packages/typeguard/"),
        MT_STR_INIT("-packages/torch_scatter/"), MT_STR_INIT("-packages/torch_sparse/"),
        MT_STR_INIT("-packages/torch_cluster/"), MT_STR_INIT("-packages/flash_attn/"),
        MT_STR_INIT("-packages/xformers/ops/"),  MT_STR_INIT("-packages/triton/")};
    return contains_any(file, parts, MT_COUNT(parts)) ||
           contains_any(file, wrappers, MT_COUNT(wrappers)) ||
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
    static const struct mt_str words[] = {MT_STR_INIT("_start"), MT_STR_INIT("start_thread"),
                                          MT_STR_INIT("execute_native_thread_routine"),
                                          MT_STR_INIT("clone"), MT_STR_INIT("")};
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

/* The interpreter, and what starts programs and threads: "python3", "libpython3.12.so.1.0". */
static bool is_interpreter(struct mt_str file)
{
    static const struct mt_str heads[] = {MT_STR_INIT("libpython"), MT_STR_INIT("libstdc++.so"),
                                          MT_STR_INIT("libc.so"), MT_STR_INIT("libpthread")};
    struct mt_str base = mt_str_basename(file);
    for (size_t i = 0; i < MT_COUNT(heads); i++) {
        if (mt_str_starts(base, heads[i])) {
            return true;
        }
    }
    size_t n = 6;
    while (n < base.n && ((base.p[n] >= '0' && base.p[n] <= '9') || base.p[n] == '.')) {
        n++;
    }
    return mt_str_starts(base, MT_STR("python")) && n == base.n;
}

bool mt_frame_has_file(const struct mt_snapshot *s, const struct mt_frame *f)
{
    struct mt_str file = mt_snapshot_str(s, f->filename), node;
    return file.n > 0 && !mt_str_equal(file, MT_STR("??")) &&
           !mt_name_backward(mt_frame_function(s, f), &node);
}

bool mt_frame_is_internal(const struct mt_snapshot *s, const struct mt_frame *f)
{
    static const struct mt_str native[] = {
        MT_STR_INIT("c"),   MT_STR_INIT("cc"), MT_STR_INIT("cpp"), MT_STR_INIT("cxx"),
        MT_STR_INIT("cu"),  MT_STR_INIT("h"),  MT_STR_INIT("hpp"), MT_STR_INIT("cuh"),
        MT_STR_INIT("inc"), MT_STR_INIT("s"),  MT_STR_INIT("S"),   MT_STR_INIT("o")};
    char buffer[MT_ASKED_BYTES];
    struct mt_str file = normal_path(mt_frame_path(s, f), buffer);
    struct mt_str name = mt_frame_function(s, f);
    if (!mt_frame_has_file(s, f) || is_interpreter(file)) {
        return true;
    }
    if (equals_any(extension(file), native, MT_COUNT(native))) {
        return is_internal_native(file, name);
    }
    return is_internal_python(file);
}

bool mt_frame_is_python(const struct mt_snapshot *s, const struct mt_frame *f)
{
    return mt_str_ends(mt_snapshot_str(s, f->filename), MT_STR(".py"));
}

bool mt_frames_have_python(const struct mt_snapshot *s)
{
    for (size_t i = 1; i < s->n_frames; i++) {
        if (mt_frame_is_python(s, &s->frames[i])) {
            return true;
        }
    }
    return false;
}

const char *mt_stackless_why(const struct mt_snapshot *s, enum mt_stackless age)
{
    static const char *const WHY[][2] = {
        /* of a program without Python; of Python */
        [MT_STACKLESS_OLDER] = {MT_OLDER, MT_OLDER},
        [MT_STACKLESS_RECORDED] = {"no frames recorded",
                                   "not from Python, as in autograd's threads"},
        [MT_STACKLESS_ANY] = {MT_OLDER, MT_OLDER ", or not from Python"}};
    enum mt_stackless known = s->n_events ? age : MT_STACKLESS_ANY; /* no trace, no age */
    return s->n_stack_frames == 0 ? "this file has no stacks"
                                  : WHY[known][mt_frames_have_python(s)];
}

/* ---- names ---- */

/* The <source-name> of the Itanium C++ ABI at *at, "4_ops": its text, *at behind it; empty when
 * there is none. */
static struct mt_str source_name(struct mt_str name, size_t *at)
{
    size_t n = 0, i = *at;
    while (i < name.n && name.p[i] >= '0' && name.p[i] <= '9' && n < name.n) {
        n = n * 10 + (size_t)(name.p[i++] - '0');
    }
    if (n == 0 || n > name.n - i) {
        return (struct mt_str){name.p, 0};
    }
    *at = i + n;
    return (struct mt_str){name.p + i, n};
}

/* The length without the arguments at the end, "f(int, g(x)) const [clone .isra.0]"; brackets pair
 * up. */
static size_t before_arguments(struct mt_str name)
{
    size_t clone = mt_str_find(name, MT_STR(" [clone ")), depth = 0;
    size_t n = clone < name.n ? clone : name.n;
    n -= mt_str_ends((struct mt_str){name.p, n}, MT_STR(" const")) ? 6 : 0;
    if (n == 0 || name.p[n - 1] != ')') {
        return name.n;
    }
    for (size_t i = n; i-- > 0;) {
        depth += name.p[i] == ')';
        depth -= name.p[i] == '(';
        if (depth == 0) {
            return i > 0 ? i : name.n;
        }
    }
    return name.n;
}

/* Whether the word "operator", and not the end of a longer one, stands before `at`. */
static bool behind_operator(struct mt_str name, size_t at)
{
    static const struct mt_str WORDS[] = {MT_STR_INIT("::operator"), MT_STR_INIT(" operator")};
    struct mt_str before = {name.p, at};
    return mt_str_equal(before, MT_STR("operator")) || mt_str_ends(before, WORDS[0]) ||
           mt_str_ends(before, WORDS[1]);
}

/* A C++ name as it is written, "void at::native::launch<float>(int)", without what stands between
 * brackets; but <, > and - of an operator's name are no brackets. */
static void add_written(struct mt_buf *b, struct mt_str name)
{
    size_t n = before_arguments(name), depth = 0;
    for (size_t i = 0; i < n; i++) {
        bool sign = depth == 0 && behind_operator(name, i);
        while (sign && i < n && memchr("<>=-", name.p[i], 4)) {
            mt_buf_char(b, name.p[i++]);
        }
        if (i == n) {
            break;
        }
        depth += name.p[i] == '<';
        if (depth == 0) {
            mt_buf_char(b, name.p[i]);
        }
        depth -= name.p[i] == '>' && depth > 0;
    }
}

/* ---- nodes of the backward pass ---- */

enum { MOST_PARTS = 8 };

/* The parts of a linker's name, "_ZN5torch8autograd...": how many, MOST_PARTS at most. */
static size_t linked_parts(struct mt_str name, struct mt_str *parts)
{
    size_t n = 0, at = 3;
    while (at < name.n && memchr("rVK", name.p[at], 3)) {
        at++;
    }
    for (; n < MOST_PARTS; n++) {
        parts[n] = source_name(name, &at);
        if (parts[n].n == 0) {
            break;
        }
    }
    return n;
}

/* The part of a qualified name behind its last "::", without what stands between brackets. */
static struct mt_str last_part(struct mt_str name)
{
    size_t depth = 0;
    for (size_t i = name.n; i-- > 0;) {
        depth += name.p[i] == '>';
        depth -= name.p[i] == '<' && depth > 0;
        if (depth == 0 && name.p[i] == ':') {
            return (struct mt_str){name.p + i + 1, name.n - i - 1};
        }
    }
    return name;
}

bool mt_name_backward(struct mt_str name, struct mt_str *node)
{
    struct mt_str parts[MOST_PARTS];
    size_t n = mt_str_starts(name, MT_STR("_ZN5torch8autograd")) ? linked_parts(name, parts) : 0;
    if (n > 3) {
        *node = parts[n - 2];
        return mt_str_equal(parts[n - 1], MT_STR("apply"));
    }
    struct mt_str head = {name.p, before_arguments(name)};
    if (!mt_str_starts(head, MT_STR("torch::autograd::")) ||
        !mt_str_ends(head, MT_STR("::apply"))) {
        return false;
    }
    *node = last_part((struct mt_str){head.p, head.n - strlen("::apply")});
    return node->n > 0;
}

/* ---- which frame stands for a stack ---- */

static const struct mt_frame *frame_at(const struct mt_snapshot *s, const struct mt_stack *k,
                                       uint32_t i)
{
    return &s->frames[s->stack_frames[k->first + i]];
}

/* An operator, "at::_ops::zeros_like::call", or with `any` whatever has a name. */
static bool names_work(const struct mt_snapshot *s, const struct mt_frame *f, bool any)
{
    struct mt_str name = mt_snapshot_str(s, f->name);
    bool op = mt_str_starts(name, MT_STR("_ZN2at")) || mt_str_starts(name, MT_STR("at::"));
    return op || (any && name.n > 0 && !mt_str_starts(name, MT_STR("+0x")));
}

/*
 * Of a stack without a frame of the user's. Compiled frames alone end in the interpreter or in the
 * start of a thread, whose functions are the same for every line: what was called from there says
 * more. Where only the interpreter is known, that at least says that it was a line of Python.
 */
static uint32_t telling_internal(const struct mt_snapshot *s, const struct mt_stack *k)
{
    uint32_t end = 0;
    while (end < k->n && !is_interpreter(mt_frame_path(s, frame_at(s, k, end)))) {
        end++;
    }
    for (int any = 0; any < (end < k->n ? 2 : 1); any++) {
        for (uint32_t i = end; i-- > 0;) {
            if (names_work(s, frame_at(s, k, i), any)) {
                return i;
            }
        }
    }
    return end < k->n ? end : 0;
}

/* Position of the innermost node of the backward pass among the frames [0, end); `end`: none. */
static uint32_t backward_node(const struct mt_snapshot *s, const struct mt_stack *k, uint32_t end)
{
    struct mt_str node;
    uint32_t i = 0;
    while (i < end && !mt_name_backward(mt_frame_function(s, frame_at(s, k, i)), &node)) {
        i++;
    }
    return i;
}

uint32_t mt_stack_telling_frame(const struct mt_snapshot *s, uint32_t stack)
{
    const struct mt_stack *k = &s->stacks[stack];
    uint32_t user = 0;
    if (stack == 0 || k->n == 0) {
        return 0;
    }
    while (user < k->n && mt_frame_is_internal(s, frame_at(s, k, user))) {
        user++;
    }
    if (user < k->n && mt_frame_is_python(s, frame_at(s, k, user))) {
        return user;
    }
    uint32_t node = backward_node(s, k, user);
    return node < user ? node : user < k->n ? user : telling_internal(s, k);
}

uint32_t mt_stack_backward_node(const struct mt_snapshot *s, uint32_t stack)
{
    const struct mt_stack *k = &s->stacks[stack];
    uint32_t at = backward_node(s, k, k->n);
    return at < k->n ? s->stack_frames[k->first + at] : 0;
}

uint32_t mt_stack_telling_frame_id(const struct mt_snapshot *s, uint32_t stack)
{
    if (stack == 0 || s->stacks[stack].n == 0) {
        return 0;
    }
    return s->stack_frames[s->stacks[stack].first + mt_stack_telling_frame(s, stack)];
}

void mt_name_short(struct mt_buf *b, struct mt_str name)
{
    struct mt_str node;
    if (mt_name_backward(name, &node)) {
        mt_buf_str(b, node);
        mt_buf_text(b, " (backward)");
        return;
    }
    bool nested = mt_str_starts(name, MT_STR("_ZN"));
    size_t at = nested ? 3 : 2, parts = 0;
    while (nested && at < name.n && memchr("rVK", name.p[at], 3)) {
        at++;
    }
    while (mt_str_starts(name, MT_STR("_Z"))) {
        struct mt_str part = source_name(name, &at);
        if (part.n == 0 || (!nested && parts > 0)) {
            break;
        }
        mt_buf_text(b, parts++ ? "::" : "");
        mt_buf_str(b, part);
    }
    if (parts > 0) {
        return;
    }
    if (mt_str_find(name, MT_STR("::")) != SIZE_MAX) {
        add_written(b, name);
    } else {
        mt_buf_str(b, name);
    }
}

bool mt_stack_empties_cache(const struct mt_snapshot *s, uint32_t stack)
{
    static const struct mt_str words[] = {MT_STR_INIT("empty_cache"), MT_STR_INIT("emptyCache")};
    const struct mt_stack *list = &s->stacks[stack];
    for (uint32_t i = 0; i < list->n; i++) {
        const struct mt_frame *f = &s->frames[s->stack_frames[list->first + i]];
        if (contains_any(mt_frame_function(s, f), words, MT_COUNT(words))) {
            return true;
        }
    }
    return false;
}
