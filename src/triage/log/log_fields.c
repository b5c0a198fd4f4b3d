/* SPDX-License-Identifier: MIT */
/*
 * The numbers of one message. They are found by the phrases around them (log_fields.def), not by
 * one expression for the whole text: so a message may be wrapped, cut off in the middle or worded
 * slightly differently and still gives what it holds.
 */
#include "support/checked.h"
#include "triage/log/log_formats.h"
#include "triage/log/log_general.h"
#include "triage/log/log_number.h"

struct field {
    enum mt_format_group group;
    enum mt_oom_field field;
    struct mt_str before, after;
    uint64_t unit;
};

static const struct field FIELDS[] = {
#define FIELD(group, field, before, after, unit)                                                   \
    {MT_GROUP_##group, MT_OOM_##field, MT_STR_INIT(before), MT_STR_INIT(after), unit},
#include "triage/log/log_fields.def"
#undef FIELD
};

static struct mt_str from(struct mt_str s, size_t at)
{
    return (struct mt_str){s.p + at, s.n - at};
}

/* Whether `after` stands at the start of rest, or begins there and the message breaks off. */
static bool follows(struct mt_str rest, struct mt_str after)
{
    if (rest.n >= after.n) {
        return mt_str_starts(rest, after);
    }
    return rest.n >= 2 && memcmp(rest.p, after.p, rest.n) == 0;
}

/* The size that `before` introduces and `after` closes. */
static bool find_between(const struct field *f, struct mt_str text, struct mt_log_size *size)
{
    for (size_t at = 0; at < text.n;) {
        size_t found = mt_str_find(from(text, at), f->before);
        if (found == SIZE_MAX) {
            return false;
        }
        at += found + f->before.n;
        *size = mt_log_size_at(from(text, at), f->unit);
        bool bytes = !size->has_fraction || size->has_unit || f->unit != MT_LOG_B;
        if (size->length > 0 && bytes && follows(from(text, at + size->length), f->after)) {
            return true;
        }
    }
    return false;
}

/* The size that stands right in front of `after`. */
static bool find_before(const struct field *f, struct mt_str text, struct mt_log_size *size)
{
    for (size_t at = 0; at < text.n;) {
        size_t found = mt_str_find(from(text, at), f->after);
        if (found == SIZE_MAX) {
            return false;
        }
        *size = mt_log_size_before((struct mt_str){text.p, at + found}, f->unit);
        if (size->length > 0) {
            return true;
        }
        at += found + f->after.n;
    }
    return false;
}

/* The size of a line that breaks off within `after`: "10.03 GiB already allo". */
static bool find_cut(const struct field *f, struct mt_str text, const struct mt_message *m,
                     struct mt_log_size *size)
{
    size_t skipped = (size_t)(text.p - m->text.p);
    for (size_t e = 0; e < m->n_ends && f->after.n > 4; e++) {
        if (m->ends[e] <= skipped) {
            continue;
        }
        struct mt_str line = {text.p, m->ends[e] - skipped};
        while (line.n > 0 && strchr("\"'}]).", line.p[line.n - 1])) {
            line.n--; /* what a quoting writer closed */
        }
        for (size_t n = f->after.n - 1; n >= 4; n--) {
            if (mt_str_ends(line, (struct mt_str){f->after.p, n})) {
                *size = mt_log_size_before((struct mt_str){line.p, line.n - n}, f->unit);
                return size->length > 0;
            }
        }
    }
    return false;
}

static void read_sizes(struct mt_incident *incident, enum mt_format_group group, struct mt_str text,
                       const struct mt_message *m)
{
    for (size_t i = 0; i < MT_COUNT(FIELDS); i++) {
        const struct field *f = &FIELDS[i];
        struct mt_log_size size;
        if (f->group != group || mt_oom_has(&incident->numbers, f->field)) {
            continue;
        }
        bool found = f->before.n ? find_between(f, text, &size)
                                 : find_before(f, text, &size) || find_cut(f, text, m, &size);
        if (found && size.bytes < MT_LOG_NONSENSE) {
            mt_oom_set(&incident->numbers, f->field, size.bytes);
        }
    }
}

/* "has a total capacity of 95.00" at the end of what was pasted: cards are told in GiB. */
static void read_cut_total(struct mt_incident *incident, struct mt_str text)
{
    struct mt_str phrase = MT_STR("totalcapacityof");
    size_t at = mt_str_find(text, phrase);
    if (at == SIZE_MAX || mt_oom_has(&incident->numbers, MT_OOM_TOTAL)) {
        return;
    }
    struct mt_log_size size = mt_log_size_at(from(text, at + phrase.n), MT_GIB);
    if (size.length > 0 && size.has_fraction) {
        mt_oom_set(&incident->numbers, MT_OOM_TOTAL, size.bytes);
        incident->truncated = true;
    }
}

static void read_device(struct mt_incident *incident, struct mt_str text)
{
    static const struct mt_str WORDS[] = {
        MT_STR_INIT("(gpu"),    MT_STR_INIT("(npu"),          MT_STR_INIT(".gpu"),
        MT_STR_INIT(".npu"),    MT_STR_INIT("ondevice"),      MT_STR_INIT("ongpu"),
        MT_STR_INIT("ordinal"), MT_STR_INIT("device:gpu:"),   MT_STR_INIT("gpu="),
        MT_STR_INIT("gpu_"),    MT_STR_INIT("ondevicecuda:"), MT_STR_INIT("allocatecuda"),
    };
    for (size_t i = 0; i < MT_COUNT(WORDS) && incident->device < 0; i++) {
        size_t at = mt_str_find(text, WORDS[i]);
        if (at != SIZE_MAX) {
            size_t length;
            int64_t device = mt_log_integer_at(from(text, at + WORDS[i].n), &length);
            incident->device = device >= 0 && device < 1024 ? device : -1;
        }
    }
}

/* "process3736537has522.00mibmemoryinuse." as often as it comes. */
static void read_processes(struct mt_incident *incident, struct mt_str text)
{
    struct mt_str word = MT_STR("process");
    for (size_t at = 0; at < text.n;) {
        size_t found = mt_str_find(from(text, at), word);
        if (found == SIZE_MAX) {
            return;
        }
        at += found + word.n;
        size_t digits;
        int64_t pid = mt_log_integer_at(from(text, at), &digits);
        if (pid < 0 || !mt_str_starts(from(text, at + digits), MT_STR("has"))) {
            continue;
        }
        struct mt_log_size size = mt_log_size_at(from(text, at + digits + 3), 0);
        if (size.length > 0 && size.bytes < MT_LOG_NONSENSE &&
            incident->n_processes < MT_INCIDENT_PROCESSES) {
            incident->processes[incident->n_processes++] =
                (struct mt_process_use){.pid = pid, .bytes = size.bytes};
        }
    }
}

/* Words that tell PyTorch's age; the first that is found counts. */
static const struct {
    const char *clue;
    const char *id;
} ERAS[] = {
    {"mibcached)", "torch-1.0-1.3"},
    {"gibcached)", "torch-1.0-1.3"},
    {"kibcached)", "torch-1.0-1.3"},
    {"bytescached)", "torch-1.0-1.3"},
    {"optimizing-memory-usage", "torch-2.9+"},
    {"pytorch_alloc_conf", "torch-2.9+"},
    {"allowed;oftheallocated", "torch-2.5+"},
    {"torch.outofmemoryerror", "torch-2.5+"},
    {"privatepools", "torch-2.4+"},
    {"capacty", "torch-2.1"},
    {"expandable_segments:true", "torch-2.2+"},
    {"capacityof", "torch-2.2+"},
    {"torch.cuda.outofmemoryerror", "torch-1.13-2.0"},
    {"reservedmemoryis>>", "torch-1.10-2.0"},
    {"reservedintotal", "torch-1.4-1.9"},
};

static void read_era(struct mt_incident *incident, struct mt_str text)
{
    static const struct mt_str CLASS = MT_STR_INIT("torch.cuda.outofmemoryerror");
    bool begun = mt_str_find(text, CLASS) != SIZE_MAX;
    if (begun && mt_str_find(text, MT_STR("capac")) == SIZE_MAX) {
        incident->format = "torch-1.13-2.4"; /* what would tell the release is cut off */
        return;
    }
    for (size_t i = 0; i < MT_COUNT(ERAS); i++) {
        if (mt_str_find(text, mt_str_from(ERAS[i].clue)) != SIZE_MAX) {
            incident->format = ERAS[i].id;
            return;
        }
    }
}

/* The word in front of "out of memory": cuda, hip, xpu, npu, musa ... */
static const char *backend_word(struct mt_str text, size_t head)
{
    static const char *const WORDS[] = {"cuda", "hip", "xpu", "npu", "mps", "musa", "mlu", "hpu"};
    for (size_t i = 0; i < MT_COUNT(WORDS); i++) {
        struct mt_str word = mt_str_from(WORDS[i]);
        struct mt_str here = {text.p, head};
        if (mt_str_ends(here, word) || mt_str_starts(from(text, head), word)) {
            return WORDS[i];
        }
    }
    return "";
}

static void read_torch(struct mt_incident *incident, const struct mt_log_format *f,
                       const struct mt_message *m)
{
    struct mt_str text = from(m->text, m->head);
    read_cut_total(incident, text);
    read_processes(incident, text);
    read_era(incident, m->text);
    const char *word = backend_word(m->text, m->head);
    incident->backend = word[0] == '\0' && f->needs ? "cuda" : word; /* of a rest, most likely */
    incident->expandable_hint = mt_str_find(text, MT_STR("expandable_segments:true")) != SIZE_MAX;
    if (mt_oom_has(&incident->numbers, MT_OOM_PROCESS)) {
        incident->own_process = "printed";
    }
    incident->truncated |= !mt_oom_has(&incident->numbers, MT_OOM_ALLOCATED);
}

/* 4, 2, 1, 8 bytes of TensorFlow's type names; 0: not known. */
static uint64_t type_bytes(struct mt_str s)
{
    static const struct {
        const char *name;
        uint64_t bytes;
    } TYPES[] = {{"float16", 2}, {"bfloat16", 2}, {"half", 2},  {"float64", 8},
                 {"double", 8},  {"float", 4},    {"int64", 8}, {"int32", 4},
                 {"uint8", 1},   {"int8", 1},     {"bool", 1},  {"complex64", 8}};
    for (size_t i = 0; i < MT_COUNT(TYPES); i++) {
        if (mt_str_starts(s, mt_str_from(TYPES[i].name))) {
            return TYPES[i].bytes;
        }
    }
    return 0;
}

/* TensorFlow names shape and type of the tensor: "shape[8,1024,1024]andtypefloaton". */
static void read_shape(struct mt_incident *incident, struct mt_str text)
{
    struct mt_str word = MT_STR("tensorwithshape[");
    size_t at = mt_str_find(text, word);
    if (at == SIZE_MAX || mt_oom_has(&incident->numbers, MT_OOM_REQUESTED)) {
        return;
    }
    uint64_t bytes = 1;
    for (at += word.n; at < text.n && text.p[at] != ']';) {
        size_t digits;
        int64_t n = mt_log_integer_at(from(text, at), &digits);
        if (n < 0 || mt_mul_overflow(bytes, (uint64_t)n, &bytes)) {
            return;
        }
        at += digits + (at + digits < text.n && text.p[at + digits] == ',');
    }
    struct mt_str tail = MT_STR("]andtype");
    if (mt_str_starts(from(text, at), tail)) {
        uint64_t size = type_bytes(from(text, at + tail.n));
        if (size && !mt_mul_overflow(bytes, size, &bytes)) {
            mt_oom_set(&incident->numbers, MT_OOM_REQUESTED, bytes);
            incident->numbers.derived |= 1u << MT_OOM_REQUESTED;
        }
    }
}

/* RMM's "current/max/try size = 21.0 GiB, 22.0 GiB, 2.5 GiB": held, limit, asked of the driver. */
static void read_pool(struct mt_incident *incident, struct mt_str text)
{
    static const enum mt_oom_field ORDER[] = {MT_OOM_RESERVED, MT_OOM_ALLOWED, MT_OOM_REQUESTED};
    struct mt_str phrase = MT_STR("current/max/trysize=");
    size_t at = mt_str_find(text, phrase);
    at = at == SIZE_MAX ? text.n : at + phrase.n;
    for (size_t i = 0; i < MT_COUNT(ORDER); i++) {
        struct mt_log_size size = mt_log_size_at(from(text, at), 0);
        if (size.length == 0 || size.bytes >= MT_LOG_NONSENSE) {
            return;
        }
        if (!mt_oom_has(&incident->numbers, ORDER[i])) {
            mt_oom_set(&incident->numbers, ORDER[i], size.bytes);
        }
        at += size.length;
        at += at < text.n && (text.p[at] == ',' || text.p[at] == '/');
    }
}

void mt_log_fields_read(struct mt_incident *incident, const struct mt_log_format *f,
                        const struct mt_message *m)
{
    /* PyTorch's numbers follow the phrase; others may print theirs before it. */
    bool behind = f->group == MT_GROUP_TORCH && !f->needs; /* a row that needs more is a rest */
    struct mt_str text = behind ? from(m->text, m->head) : m->text;
    incident->kind = f->where == MT_WHERE_TOLD ? mt_general_kind(m->text, m->head) : f->kind;
    incident->doubtful = f->doubtful;
    incident->format = f->id;
    incident->framework = f->framework;
    incident->backend = f->where == MT_WHERE_TOLD ? mt_general_backend(m->text) : f->backend;
    read_sizes(incident, f->group, text, m);
    read_device(incident, text);
    incident->whole_is_limit = f->group == MT_GROUP_TF || strcmp(f->backend, "mps") == 0;
    if (f->group == MT_GROUP_XLA && mt_str_find(m->text, MT_STR("bfc_allocator")) != SIZE_MAX) {
        read_sizes(incident, MT_GROUP_TF, m->text, m); /* the pool's own dump in front of it */
        incident->whole_is_limit = true;
    }
    if (f->group == MT_GROUP_TORCH) {
        read_torch(incident, f, m);
    } else if (f->group == MT_GROUP_TF) {
        read_shape(incident, text);
    } else if (f->group == MT_GROUP_RMM) {
        read_pool(incident, text);
    }
}

static void derive(struct mt_oom_numbers *n, enum mt_oom_field f, uint64_t bytes)
{
    if (!mt_oom_has(n, f)) {
        mt_oom_set(n, f, bytes);
        n->derived |= 1u << f;
    }
}

/*
 * In a container the driver lists our process under the pid of the host, so PyTorch does not know
 * it for its own. The process that holds at least what this allocator reserved, and least beyond
 * it, is ours.
 */
static void infer_own_process(struct mt_incident *incident)
{
    struct mt_oom_numbers *n = &incident->numbers;
    uint64_t reserved = mt_oom_get(n, MT_OOM_RESERVED), best = UINT64_MAX;
    if (mt_oom_has(n, MT_OOM_PROCESS) || reserved == 0) {
        return;
    }
    for (size_t i = 0; i < incident->n_processes; i++) {
        uint64_t bytes = incident->processes[i].bytes;
        best = bytes + (reserved >> 7) >= reserved && bytes < best ? bytes : best;
    }
    if (best != UINT64_MAX) {
        derive(n, MT_OOM_PROCESS, best);
        incident->own_process = "inferred";
    }
}

static void derive_processes(struct mt_incident *incident)
{
    struct mt_oom_numbers *n = &incident->numbers;
    uint64_t reserved = mt_oom_get(n, MT_OOM_RESERVED);
    if (mt_oom_has(n, MT_OOM_PROCESS) && n->v[MT_OOM_PROCESS] < reserved / 2) {
        n->present &= ~(1u << MT_OOM_PROCESS); /* "this process has 0 bytes": the driver's N/A */
        incident->own_process = NULL;
    }
    infer_own_process(incident);
    if (!mt_oom_has(n, MT_OOM_PROCESS)) {
        return;
    }
    uint64_t own = n->v[MT_OOM_PROCESS];
    if (mt_oom_has(n, MT_OOM_RESERVED)) {
        derive(n, MT_OOM_OUTSIDE, own > reserved ? own - reserved : 0);
    }
    if (mt_oom_has(n, MT_OOM_TOTAL) && mt_oom_has(n, MT_OOM_FREE)) {
        uint64_t used = mt_add_sat(own, n->v[MT_OOM_FREE]);
        derive(n, MT_OOM_OTHERS, n->v[MT_OOM_TOTAL] > used ? n->v[MT_OOM_TOTAL] - used : 0);
    }
}

void mt_log_fields_derive(struct mt_incident *incident)
{
    struct mt_oom_numbers *n = &incident->numbers;
    bool allocated = mt_oom_has(n, MT_OOM_ALLOCATED);
    if (mt_oom_get(n, MT_OOM_TOTAL) == 0) { /* a card of 0 bytes says nothing of the card */
        n->present &= ~(1u << MT_OOM_TOTAL);
    }
    if (allocated && mt_oom_has(n, MT_OOM_UNALLOCATED)) {
        derive(n, MT_OOM_RESERVED, mt_add_sat(n->v[MT_OOM_ALLOCATED], n->v[MT_OOM_UNALLOCATED]));
    } else if (allocated && mt_oom_has(n, MT_OOM_RESERVED)) {
        uint64_t a = n->v[MT_OOM_ALLOCATED], r = n->v[MT_OOM_RESERVED];
        derive(n, MT_OOM_UNALLOCATED, r > a ? r - a : 0);
    }
    derive_processes(incident);
    incident->spilled = allocated && strcmp(incident->backend, "tpu") != 0 &&
                        mt_oom_has(n, MT_OOM_TOTAL) && n->v[MT_OOM_ALLOCATED] > n->v[MT_OOM_TOTAL];
}
