/* SPDX-License-Identifier: MIT */
/*
 * One pass over lines. A line is a row of the table ("| ... 1234MiB / 81559MiB ..."), a row of CSV
 * under a head that names its columns, or a "Key : Value" of -q, which XML's <key>value</key> is
 * made into. What a line is not, is passed over: people paste more than they were asked for.
 */
#include "heap/sums/smi.h"
#include "support/units.h"

enum { COLUMNS_MAX = 32 };

enum column { COLUMN_OTHER, COLUMN_INDEX, COLUMN_USED, COLUMN_TOTAL, COLUMN_PID, COLUMN_NAME };

struct reader {
    struct mt_smi *out;
    enum column columns[COLUMNS_MAX]; /* of the CSV that is being read */
    size_t n_columns;
    bool is_processes;             /* that CSV lists processes */
    uint64_t scale;                /* bytes of a bare number in it */
    int64_t table_index;           /* of the card whose first line was seen, -1 */
    bool in_fb;                    /* -q: inside "FB Memory Usage" */
    struct mt_smi_process process; /* -q: of "Process ID" */
    bool failed;
};

static struct mt_str trim(struct mt_str s)
{
    while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t')) {
        s.p++;
        s.n--;
    }
    while (s.n > 0 && strchr(" \t\r", s.p[s.n - 1])) {
        s.n--;
    }
    return s;
}

static struct mt_str from(struct mt_str s, size_t at)
{
    return (struct mt_str){s.p + at, s.n - at};
}

/* What stands before the first `mark`, trimmed; *rest goes behind it. All of it without one. */
static struct mt_str cut(struct mt_str *rest, const char *mark)
{
    size_t at = mt_str_find(*rest, mt_str_from(mark));
    struct mt_str head = at == SIZE_MAX ? *rest : (struct mt_str){rest->p, at};
    *rest = at == SIZE_MAX ? from(*rest, rest->n) : from(*rest, at + strlen(mark));
    return trim(head);
}

static bool is_number(struct mt_str s, int64_t *out)
{
    uint64_t n;
    bool good = mt_u64_parse(s, &n) && n <= INT64_MAX;
    *out = good ? (int64_t)n : -1;
    return good;
}

/* "1234 MiB"; a bare number counts in `scale`, 0: is none. */
static bool is_size(struct mt_str s, uint64_t scale, uint64_t *out)
{
    uint64_t n;
    if (mt_u64_parse(s, &n)) {
        *out = n <= UINT64_MAX / (scale ? scale : 1) ? n * scale : UINT64_MAX;
        return scale > 0;
    }
    return s.n > 0 && s.p[s.n - 1] == 'B' && mt_size_parse(s, out);
}

static struct mt_smi_gpu *last_gpu(struct reader *r)
{
    return r->out->gpus.n ? &r->out->gpus.v[r->out->gpus.n - 1] : NULL;
}

static void add_gpu(struct reader *r, const struct mt_smi_gpu *gpu)
{
    if (r->out->gpus.n < MT_SMI_GPUS) {
        r->failed |= !mt_vec_push(&r->out->gpus, *gpu);
    }
}

static void add_process(struct reader *r, const struct mt_smi_process *p)
{
    if (r->out->processes.n < MT_SMI_PROCESSES) {
        r->failed |= !mt_vec_push(&r->out->processes, *p);
    }
}

/* ---- the table ---- */

/* The last word of `s`; *s keeps what stands before it. */
static struct mt_str last_word(struct mt_str *s)
{
    *s = trim(*s);
    size_t at = s->n;
    while (at > 0 && s->p[at - 1] != ' ') {
        at--;
    }
    struct mt_str word = from(*s, at);
    s->n = at;
    return word;
}

/* "|    0   N/A  N/A    12345      C   python3        1234MiB |": a pid somewhere behind the index,
 * the kind of process, its name, its memory. */
static void table_process(struct reader *r, struct mt_str row)
{
    struct mt_smi_process p = {.index = -1, .pid = -1};
    struct mt_str rest = row, size = last_word(&rest);
    if (!is_size(size, 0, &p.bytes) || !is_number(cut(&rest, " "), &p.index)) {
        return;
    }
    for (int i = 0; i < 4 && p.pid < 0; i++) {
        rest = trim(rest);
        (void)is_number(cut(&rest, " "), &p.pid);
    }
    rest = trim(rest);
    struct mt_str kind = cut(&rest, " ");
    if (p.pid >= 0 && kind.n > 0 && kind.n <= 3 && strchr("CGM", kind.p[0])) {
        p.name = trim(rest);
        add_process(r, &p);
    }
}

/* "|   0  NVIDIA H100 ..." names a card, "| N/A 34C P0 114W / 700W | 1234MiB / 81559MiB | ..." of
 * the next line tells its use. */
static void table_line(struct reader *r, struct mt_str line)
{
    struct mt_smi_gpu gpu = {.index = r->table_index, .used_known = true, .total_known = true};
    struct mt_str rest = from(line, 1), first = cut(&rest, "|");
    if (rest.n == 0 || trim(rest).n == 0) {
        table_process(r, first);
        return;
    }
    struct mt_str memory = cut(&rest, "|"), used = cut(&memory, "/");
    if (is_size(used, 0, &gpu.used) && is_size(trim(memory), 0, &gpu.total)) {
        gpu.index = gpu.index < 0 ? (int64_t)r->out->gpus.n : gpu.index;
        add_gpu(r, &gpu);
        r->table_index = -1;
        return;
    }
    struct mt_str head = first;
    (void)is_number(cut(&head, " "), &r->table_index);
}

/* ---- CSV ---- */

static enum column column_of(struct mt_str title)
{
    static const struct {
        const char *title;
        enum column column;
    } TITLES[] = {
        {"index", COLUMN_INDEX},          {"memory.used", COLUMN_USED},
        {"memory.total", COLUMN_TOTAL},   {"pid", COLUMN_PID},
        {"process_name", COLUMN_NAME},    {"name", COLUMN_NAME},
        {"used_gpu_memory", COLUMN_USED}, {"used_memory", COLUMN_USED},
    };
    struct mt_str word = cut(&title, " ");
    for (size_t i = 0; i < MT_COUNT(TITLES); i++) {
        if (mt_str_equal(word, mt_str_from(TITLES[i].title))) {
            return TITLES[i].column;
        }
    }
    return COLUMN_OTHER;
}

/* A head line has a column of memory; what follows are its rows. */
static bool csv_head(struct reader *r, struct mt_str line)
{
    enum column columns[COLUMNS_MAX];
    bool memory = false, pid = false;
    size_t n = 0;
    for (struct mt_str rest = line; n < COLUMNS_MAX && rest.n > 0; n++) {
        columns[n] = column_of(cut(&rest, ","));
        memory |= columns[n] == COLUMN_USED || columns[n] == COLUMN_TOTAL;
        pid |= columns[n] == COLUMN_PID;
    }
    if (!memory) {
        return false;
    }
    memcpy(r->columns, columns, n * sizeof *columns);
    r->n_columns = n;
    r->is_processes = pid;
    r->scale = MT_MIB; /* nounits leaves MiB out */
    return true;
}

static void csv_row(struct reader *r, struct mt_str line)
{
    struct mt_smi_gpu gpu = {.index = r->is_processes ? -1 : (int64_t)r->out->gpus.n};
    struct mt_smi_process p = {.pid = -1};
    for (size_t i = 0; i < r->n_columns; i++) {
        struct mt_str cell = cut(&line, ",");
        switch (r->columns[i]) {
        case COLUMN_INDEX: (void)is_number(cell, &gpu.index); break;
        case COLUMN_USED: gpu.used_known = is_size(cell, r->scale, &gpu.used); break;
        case COLUMN_TOTAL: gpu.total_known = is_size(cell, r->scale, &gpu.total); break;
        case COLUMN_PID: (void)is_number(cell, &p.pid); break;
        case COLUMN_NAME: p.name = cell; break;
        case COLUMN_OTHER: break;
        }
    }
    if (r->is_processes && p.pid >= 0 && gpu.used_known) {
        p.index = gpu.index;
        p.bytes = gpu.used;
        add_process(r, &p);
    } else if (!r->is_processes && (gpu.used_known || gpu.total_known)) {
        add_gpu(r, &gpu);
    }
}

/* ---- -q and XML ---- */

/* "Used GPU Memory" and "used_memory" are one key: letters alone, small. */
static size_t plain_key(struct mt_str key, char *out, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < key.n && n + 1 < size; i++) {
        char c = key.p[i];
        c = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
        if (c >= 'a' && c <= 'z') {
            out[n++] = c;
        }
    }
    out[n] = '\0';
    return n;
}

static void pair_of_card(struct reader *r, const char *key, struct mt_str value)
{
    struct mt_smi_gpu *gpu = last_gpu(r);
    uint64_t bytes;
    if (!r->in_fb || !gpu || !is_size(value, 0, &bytes)) {
        return;
    }
    if (strcmp(key, "total") == 0 && !gpu->total_known) {
        gpu->total = bytes;
        gpu->total_known = true;
    } else if (strcmp(key, "used") == 0 && !gpu->used_known) {
        gpu->used = bytes;
        gpu->used_known = true;
    }
}

static void pair_of_process(struct reader *r, const char *key, struct mt_str value)
{
    struct mt_smi_process *p = &r->process;
    if (strcmp(key, "processid") == 0 || strcmp(key, "pid") == 0) {
        *p = (struct mt_smi_process){.index = (int64_t)r->out->gpus.n - 1, .pid = -1};
        (void)is_number(value, &p->pid);
    } else if (strcmp(key, "name") == 0 || strcmp(key, "processname") == 0) {
        p->name = value;
    } else if ((strcmp(key, "usedgpumemory") == 0 || strcmp(key, "usedmemory") == 0) &&
               p->pid >= 0 && is_size(value, 0, &p->bytes)) {
        add_process(r, p);
        p->pid = -1;
    }
}

static void pair(struct reader *r, struct mt_str key_text, struct mt_str value)
{
    char key[32];
    (void)plain_key(key_text, key, sizeof key);
    if (value.n == 0) {
        r->in_fb = strcmp(key, "fbmemoryusage") == 0;
        return;
    }
    pair_of_card(r, key, value);
    pair_of_process(r, key, value);
}

static void begin_card(struct reader *r)
{
    const struct mt_smi_gpu gpu = {.index = (int64_t)r->out->gpus.n};
    add_gpu(r, &gpu);
    r->in_fb = false;
    r->process.pid = -1;
}

static void xml_line(struct reader *r, struct mt_str line)
{
    struct mt_str rest = from(line, 1), key = cut(&rest, ">");
    struct mt_str value = cut(&rest, "</");
    if (mt_str_starts(key, MT_STR("gpu id="))) {
        begin_card(r);
    } else if (key.n > 0 && key.p[0] != '/' && key.p[0] != '?') {
        pair(r, key, value);
    } else if (mt_str_equal(key, MT_STR("/fb_memory_usage"))) {
        r->in_fb = false;
    }
}

/* ---- all ---- */

static void read_line(struct reader *r, struct mt_str raw)
{
    struct mt_str line = trim(raw);
    if (line.n < 2) {
        r->n_columns = 0;
    } else if (line.p[0] == '|') {
        table_line(r, line);
    } else if (line.p[0] == '<') {
        xml_line(r, line);
    } else if (mt_str_starts(raw, MT_STR("GPU 0"))) { /* "GPU 00000000:19:00.0" of -q */
        begin_card(r);
    } else if (csv_head(r, line)) {
        return;
    } else if (r->n_columns > 0) {
        csv_row(r, line);
    } else {
        struct mt_str value = line, key = cut(&value, ":");
        pair(r, key, trim(value));
    }
}

enum mt_status mt_smi_read(struct mt_smi *out, struct mt_str text, struct mt_error *err)
{
    struct reader r = {.out = out, .table_index = -1, .process = {.pid = -1}};
    bool any = false;
    *out = (struct mt_smi){0};
    while (text.n > 0 && !r.failed) {
        size_t end = mt_str_find(text, MT_STR("\n"));
        struct mt_str line = {text.p, end == SIZE_MAX ? text.n : end};
        text = end == SIZE_MAX ? from(text, text.n) : from(text, end + 1);
        read_line(&r, line);
    }
    for (size_t i = 0; i < out->gpus.n; i++) {
        any |= out->gpus.v[i].used_known || out->gpus.v[i].total_known;
    }
    if (r.failed) {
        return mt_fail_nomem(err);
    }
    if (!any && out->processes.n == 0) {
        mt_fail(err, MT_FORMAT, MT_NO_OFFSET, "no figure of a card's memory in it");
        return mt_hint(err, "give what nvidia-smi prints: the table, -q, -q -x, or --query-gpu="
                            "index,memory.used,memory.total --format=csv");
    }
    return MT_OK;
}

void mt_smi_release(struct mt_smi *s)
{
    mt_vec_release(&s->gpus);
    mt_vec_release(&s->processes);
}

const struct mt_smi_gpu *mt_smi_gpu_find(const struct mt_smi *s, int32_t device)
{
    for (size_t i = 0; i < s->gpus.n; i++) {
        if (s->gpus.v[i].index == device || s->gpus.n == 1) {
            return &s->gpus.v[i];
        }
    }
    return NULL;
}
