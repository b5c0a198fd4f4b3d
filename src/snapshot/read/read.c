/* SPDX-License-Identifier: MIT */
/*
 * From a path to a snapshot: looks at the first bytes, takes off wrappers (a gzip in a zip in a
 * gzip is fine), reads the pickle or JSON inside, and builds the model. What memtool does not
 * unpack is named with the pipe that does.
 */
#include "snapshot/read/read.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "torch/keys.h"

#include "snapshot/read/readers.h"

enum { MAX_WRAPPERS = 4, DEFAULT_MAX_DEPTH = 1000, SNIFF_BYTES = 128 };

enum layer {
    LAYER_PICKLE,
    LAYER_JSON,
    LAYER_GZIP,
    LAYER_ZIP,
    LAYER_HTML,
    LAYER_RMM,
    LAYER_UNKNOWN
};

struct reading {
    const struct mt_read_options *o;
    struct mt_input in;
    struct mt_source source;
    uint64_t position; /* in the file */
    uint64_t file_size;
    struct mt_machine *machine; /* NULL before there is one */
    bool whole;                 /* the content is, and what wraps it is damaged */
    struct mt_error *err;
};

/* ---- what it is ---- */

/* Compressions that are named instead of unpacked: first bytes, name, the program that unpacks. */
static const struct {
    const char *magic;
    size_t n;
    const char *name, *program;
} PACKED[] = {
    {"\x28\xb5\x2f\xfd", 4, "zstd", "zstd"},
    {"\xfd\x37zXZ", 5, "xz", "xz"},
    {"BZh", 3, "bzip2", "bzip2"},
    {"\x04\x22\x4d\x18", 4, "lz4", "lz4"},
};

static bool starts(const uint8_t *p, size_t n, const char *magic, size_t magic_n)
{
    return n >= magic_n && memcmp(p, magic, magic_n) == 0;
}

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Protocol 0 and 1 have no header: they begin with a container. The byte behind '(' or '}' tells it
 * from text and JSON. */
static bool is_old_pickle(const uint8_t *p, size_t n)
{
    if (n < 2) {
        return false;
    }
    const char *second = p[0] == '(' ? "dlp" : p[0] == '}' || p[0] == ']' ? "q(.r" : "";
    return p[1] != 0 && strchr(second, p[1]) != NULL;
}

/* "<!DOCTYPE", "<html"; "<rank0>" is how a log may begin. */
static bool is_page(const uint8_t *p, size_t n)
{
    static const char *const TAGS[] = {"html", "head",  "body", "script", "style", "meta",
                                       "link", "title", "div",  "pre",    "svg",   "table"};
    if (n > 1 && (p[1] == '!' || p[1] == '?')) {
        return true;
    }
    for (size_t i = 0; i < MT_COUNT(TAGS); i++) {
        size_t tag = strlen(TAGS[i]);
        if (n > tag && strncasecmp((const char *)p + 1, TAGS[i], tag) == 0) {
            return true;
        }
    }
    return false;
}

static enum layer sniff(const uint8_t *p, size_t n)
{
    if (starts(p, n, "\x1f\x8b", 2)) {
        return LAYER_GZIP;
    }
    if (starts(p, n, "PK\3\4", 4)) {
        return LAYER_ZIP;
    }
    if (n >= 2 && p[0] == 0x80 && p[1] <= 16) {
        return LAYER_PICKLE;
    }
    size_t i = starts(p, n, "\xef\xbb\xbf", 3) ? 3 : 0; /* a byte order mark */
    while (i < n && is_space(p[i])) {
        i++;
    }
    if (i < n && p[i] == '<') {
        return is_page(p + i, n - i) ? LAYER_HTML : LAYER_UNKNOWN;
    }
    if (i < n && (p[i] == '{' || p[i] == '[')) {
        return LAYER_JSON;
    }
    if (mt_rmm_is((struct mt_str){(const char *)p, n})) {
        return LAYER_RMM;
    }
    return is_old_pickle(p, n) ? LAYER_PICKLE : LAYER_UNKNOWN;
}

static enum mt_status hint_logs(struct reading *r)
{
    return mt_hint(
        r->err,
        "snapshots come from torch.cuda.memory._dump_snapshot(); logs go to memtool triage");
}

/* What follows the bracket that closes in the first line: JSON goes on with ',' or ends. */
static bool is_prefix(struct mt_str line)
{
    const char *close = memchr(line.p,
                               line.p[0] == '['   ? ']'
                               : line.p[0] == '(' ? ')'
                                                  : '>',
                               line.n);
    size_t at = close ? (size_t)(close - line.p) + 1 : line.n;
    while (at < line.n && line.p[at] == ' ') {
        at++;
    }
    bool json = line.p[0] == '[' && line.n > 1 && strchr("[{\"", line.p[1]) != NULL;
    return !json && at < line.n && !strchr(",]}<\r\n", line.p[at]);
}

bool mt_text_is_log(struct mt_str head)
{
    size_t at = 0;
    head.n = head.n < 4096 ? head.n : 4096;
    if (head.n == 0 || memchr(head.p, '\0', head.n)) {
        return false;
    }
    while (at < head.n && strchr(" \t\r\n", head.p[at])) {
        at++;
    }
    const char *end = memchr(head.p + at, '\n', head.n - at);
    struct mt_str line = {head.p + at, end ? (size_t)(end - head.p) - at : head.n - at};
    return line.n > 0 && (unsigned char)line.p[0] != 0x80 && line.p[0] != '{' &&
           (!strchr("[(<", line.p[0]) || is_prefix(line));
}

static bool reads_as_log(struct reading *r)
{
    return mt_text_is_log((struct mt_str){(const char *)r->in.at, mt_input_left(&r->in)});
}

#define NO_SNAPSHOT_BUT_TEXT "not a memory snapshot (it is text, as of a log)"

static enum mt_status not_a_snapshot(struct reading *r)
{
    const uint8_t *p = r->in.at;
    size_t n = mt_input_left(&r->in);
    if (n == 0) {
        mt_fail(r->err, MT_FORMAT, MT_NO_OFFSET, "not a memory snapshot (it is empty)");
        return mt_hint(r->err, "was the job killed before _dump_snapshot() had written it?");
    }
    for (size_t i = 0; i < MT_COUNT(PACKED); i++) {
        if (starts(p, n, PACKED[i].magic, PACKED[i].n)) {
            mt_fail(r->err, MT_UNSUPPORTED, MT_NO_OFFSET,
                    "packed with %s, which memtool does not unpack", PACKED[i].name);
            return mt_hint(r->err, "%s -dc FILE | memtool VERB -", PACKED[i].program);
        }
    }
    if (reads_as_log(r)) {
        mt_fail(r->err, MT_FORMAT, MT_NO_OFFSET, NO_SNAPSHOT_BUT_TEXT);
    } else {
        mt_fail(r->err, MT_FORMAT, 0,
                "not a memory snapshot (neither pickle nor JSON; it begins with byte 0x%02x)",
                p[0]);
    }
    return hint_logs(r);
}

/* Whether the first bytes name anything that a snapshot has. Those of a binary pickle do not tell:
 * it says itself what it is. */
static bool may_be_log(struct reading *r)
{
    enum { HEAD_BYTES = 4096 };
    static const struct mt_str KEYS[] = {
        MT_STR_INIT("segments"), MT_STR_INIT("device_traces"), MT_STR_INIT("total_size"),
        MT_STR_INIT("blocks"),   MT_STR_INIT("action"),        MT_STR_INIT("allocator_settings")};
    (void)mt_input_need(&r->in,
                        HEAD_BYTES); /* a short file, or an error that reading meets again */
    struct mt_str head = {(const char *)r->in.at, mt_input_left(&r->in)};
    if (head.n > 0 && (uint8_t)head.p[0] == 0x80) {
        return false;
    }
    for (size_t i = 0; i < MT_COUNT(KEYS); i++) {
        if (mt_str_find(head, KEYS[i]) != SIZE_MAX) {
            return false;
        }
    }
    return true;
}

/* "[rank0]: ...", a line of JSON a message, a dictionary that Python printed: these begin like JSON
 * or like an old pickle, and what is wrong with them as such helps nobody. */
static enum mt_status refuse_log(struct reading *r, bool text)
{
    struct mt_error *err = r->err;
    if (text) {
        (void)mt_fail(err, MT_FORMAT, MT_NO_OFFSET, NO_SNAPSHOT_BUT_TEXT);
    } else if (strncmp(err->text, "not a memory", 12) != 0) {
        char why[sizeof err->text];
        memcpy(why, err->text, sizeof why);
        (void)mt_fail(err, MT_FORMAT, err->offset, "not a memory snapshot (%.200s)", why);
    }
    return err->hint[0] ? err->code : hint_logs(r);
}

/* ---- layers ---- */

/*
 * An event takes 50 bytes of memory and more, and 85 of a file, packed 5 or more: addresses and
 * times differ. So a file has no more events than bytes; a million are free, for small files that
 * repeat themselves. Without this a packed megabyte asks for 500.
 */
static void limit_events(struct reading *r)
{
    enum { FREE_EVENTS = 1000000 };
    struct mt_machine *m = r->machine;
    uint64_t bytes = r->position > r->file_size ? r->position : r->file_size; /* a pipe has none */
    if (m && m->told_events == 0) {
        m->max_events = bytes < UINT32_MAX - FREE_EVENTS ? FREE_EVENTS + bytes : UINT32_MAX;
    }
}

static void tell_progress(void *ctx, uint64_t unpacked)
{
    struct reading *r = ctx;
    limit_events(r);
    if (r->o->progress) {
        r->o->progress(r->o->progress_ctx, unpacked, r->position, r->file_size);
    }
}

static enum mt_status open_layer(struct reading *r, struct mt_byte_source *source)
{
    MT_TRY(mt_input_init(&r->in, source, r->o->max_input, r->err));
    if (!mt_input_need(&r->in, SNIFF_BYTES) && r->in.failure.code != MT_OK) {
        *r->err = r->in.failure;
        return r->err->code;
    }
    return MT_OK;
}

static enum mt_status unwrap(struct reading *r, enum layer layer)
{
    struct mt_byte_source *s = NULL;
    r->in.max = 0; /* the limit is one of unpacked bytes */
    switch (layer) {
    case LAYER_GZIP: s = mt_source_gzip(&r->in, MT_DAMAGED_REFUSE, r->err); break;
    case LAYER_ZIP: s = mt_source_zip(&r->in, r->err); break;
    default: s = mt_source_html(&r->in, r->err); break;
    }
    r->source.gzip |= layer == LAYER_GZIP;
    r->source.zip |= layer == LAYER_ZIP;
    r->source.html |= layer == LAYER_HTML;
    return s ? open_layer(r, s) : r->err->code;
}

/* Takes wrappers off until a pickle or JSON text is at r->in. */
static enum mt_status find_content(struct reading *r, enum layer *layer)
{
    for (int i = 0; i <= MAX_WRAPPERS; i++) {
        *layer = sniff(r->in.at, mt_input_left(&r->in));
        if (*layer == LAYER_PICKLE || *layer == LAYER_JSON || *layer == LAYER_RMM) {
            return MT_OK;
        }
        if (*layer == LAYER_UNKNOWN) {
            return not_a_snapshot(r);
        }
        MT_TRY(unwrap(r, *layer));
    }
    return mt_fail(r->err, MT_LIMIT, MT_NO_OFFSET, "wrapped more than %d times", MAX_WRAPPERS);
}

/* ---- content ---- */

static bool can_salvage(const struct reading *r, enum mt_status status)
{
    return r->o->salvage && (status == MT_FORMAT || status == MT_IO || status == MT_UNSUPPORTED);
}

/* Damage: closes what is open and says in the source where and why. */
static enum mt_status salvage(struct reading *r, struct mt_machine *m)
{
    r->source.salvaged = true;
    r->source.damage_offset = r->err->offset;
    memcpy(r->source.damage, r->err->text, sizeof r->source.damage);
    return mt_machine_close_all(m);
}

/* Whether the top value can be a file of torch.profiler: to look into it ends it as a snapshot. */
static bool may_be_profile(const struct mt_machine *m)
{
    if (m->stack.n != 1 || mt_word_tag(m->stack.v[0]) != MT_TAG_CONTAINER ||
        mt_builder_n_events(m->builder) || m->schema.segments.n) {
        return false;
    }
    const struct mt_container *c = mt_container_of(m, m->stack.v[0]);
    bool found = c->kind == MT_CONTAINER_LIST;
    for (size_t i = 0; c->kind == MT_CONTAINER_DICT && i < c->items.n && !found; i += 2) {
        mt_word key = c->items.v[i];
        found = mt_word_tag(key) == MT_TAG_STR &&
                mt_str_equal(mt_builder_get_str(m->builder, (uint32_t)mt_word_payload(key)),
                             MT_STR("traceEvents"));
    }
    return found;
}

/* Files of torch.profiler are JSON that is no snapshot; *done when it was one. */
static enum mt_status read_profile(struct reading *r, struct mt_machine *m, bool *done)
{
    struct mt_value top;
    *done = false;
    if (!may_be_profile(m)) {
        return MT_OK;
    }
    MT_TRY(mt_machine_value(m, m->stack.v[0], &top));
    enum mt_told kind = mt_profile_kind(m->builder, &top);
    if (kind == MT_TOLD_ALL) {
        return mt_fail(r->err, MT_FORMAT, m->offset,
                       "not a memory snapshot (a list of other things at the top)");
    }
    *done = true;
    r->source.told = kind;
    return mt_profile_read(m->builder, &top, kind, r->err);
}

/* The pickle knows its own end, and what wraps it has a checksum behind that. A file that was cut
 * there, or changed anywhere before, is not taken for a whole one. */
static enum mt_status prove_whole(struct reading *r)
{
    struct mt_input *in = &r->in;
    r->source.bytes = mt_input_offset(in);
    r->whole = true;
    if (in->source->prove) {
        return in->source->prove(in->source, in, r->err);
    }
    bool proves = r->source.gzip || r->source.zip;
    while (proves && mt_input_need(in, 1)) {
        in->at = in->end;
    }
    if (in->failure.code == MT_OK || in->failure.code == MT_LIMIT) { /* what follows is much */
        return MT_OK;
    }
    *r->err = in->failure;
    return r->err->code;
}

static enum mt_status run_reader(struct reading *r, struct mt_machine *m, enum layer layer)
{
    if (layer == LAYER_RMM) {
        r->source.told = MT_TOLD_RMM;
        r->source.format = MT_FORMAT_TEXT;
        return mt_rmm_read(&r->in, m->builder, m->max_events, r->err);
    }
    r->source.format = layer == LAYER_JSON ? MT_FORMAT_JSON : MT_FORMAT_PICKLE;
    if (layer == LAYER_JSON && starts(r->in.at, mt_input_left(&r->in), "\xef\xbb\xbf", 3)) {
        r->in.at += 3;
    }
    bool log = may_be_log(r), text = log && reads_as_log(r);
    enum mt_status status =
        layer == LAYER_JSON ? mt_json_read(&r->in, m) : mt_pickle_read(&r->in, m, &r->source);
    if (status == MT_OK && layer == LAYER_PICKLE) {
        status = prove_whole(r);
    }
    log = log && mt_builder_n_events(m->builder) == 0 && m->schema.segments.n == 0 &&
          r->in.failure.code == MT_OK;
    if (status == MT_FORMAT && log) {
        return refuse_log(r, text);
    }
    if (status != MT_OK && can_salvage(r, status)) {
        status = salvage(r, m);
    } else if (status != MT_OK && r->err->hint[0] == '\0' && mt_builder_n_events(m->builder)) {
        mt_hint(r->err,
                "%zu of the events before that point are readable; add --salvage to use them",
                mt_builder_n_events(m->builder));
    }
    bool done = false;
    if (status == MT_OK && layer == LAYER_JSON && !r->source.salvaged) {
        status = read_profile(r, m, &done);
    }
    status = status == MT_OK && !done ? mt_machine_finish(m) : status;
    log = log && !done;
    return status == MT_FORMAT && log ? refuse_log(r, text) : status;
}

/* What was being read at the damage is the last key of the top, since all writers write one after
 * the other: the state and the traces belong together only when both came before it. */
static void find_cut(int last_key, struct mt_snapshot *s)
{
    bool has_state = s->present >> MT_TOP_KEY_segments & 1;
    struct mt_source *source = &s->source;
    if (!source->salvaged) {
        return;
    }
    source->state_cut = source->bare_list || !has_state || last_key == MT_TOP_KEY_segments;
    if (s->n_traces == 0) {
        return;
    }
    if (last_key == MT_TOP_KEY_segments || !has_state) {
        source->trace_cut = true;
        source->first_cut = 0;
    } else if (last_key == MT_TOP_KEY_device_traces) {
        source->trace_cut = true;
        source->first_cut = s->n_traces - 1;
    }
}

/*
 * What a file may unfold to where it names one list in several places. Written out an event takes 6
 * bytes at least and about 85 as PyTorch writes it, and no known writer shares lists of records; so
 * a sixteenth of the bytes lets each list of a file be named five times more. Small files may do as
 * they like: 65,536 records take milliseconds. References to frames need no limit of their own: a
 * list that became a stack takes no more frames and is shared as one stack, so that each reference
 * was an item of a list in the file, of two bytes at least. With --max-events the user says how
 * many.
 */
static void limit_copies(const struct reading *r, struct mt_builder *b)
{
    enum { FREE_COPIES = 65536, BYTES_PER_COPY = 16 };
    uint64_t max = r->o->max_events;
    mt_builder_limit(b, max ? max : FREE_COPIES + r->source.bytes / BYTES_PER_COPY,
                     max ? max : UINT32_MAX);
}

/* Sums are kept for each device. PyTorch numbers devices by a signed byte; so this is far more than
 * any machine has, and keeps a small file from asking for gigabytes. */
static enum mt_status limit_devices(const struct mt_snapshot *s, struct mt_error *err)
{
    enum { MOST_DEVICES = 1024 };
    size_t traced = 0;
    for (size_t i = 0; i < s->n_traces; i++) {
        traced += s->traces[i].n > 0;
    }
    size_t n = traced > s->n_device_firsts ? traced : s->n_device_firsts;
    return n <= MOST_DEVICES ? MT_OK
                             : mt_fail(err, MT_LIMIT, MT_NO_OFFSET,
                                       "more than 1,024 devices have segments or events");
}

/* An annotation of no device belongs to each that has a trace, and is sorted in for each: of eight
 * devices the file has five bytes for each time that one counts. */
static enum mt_status limit_annotations(const struct reading *r, const struct mt_snapshot *s)
{
    enum { FREE = 4000000, BYTES_PER_COPY = 4 };
    uint64_t of_none = 0;
    uint64_t traced = 0;
    for (size_t i = 0; i < s->n_annotations; i++) {
        of_none += s->annotations[i].device < 0;
    }
    for (size_t i = 0; i < s->n_traces; i++) {
        traced += s->traces[i].n > 0; /* 1,024 at most */
    }
    uint64_t most = FREE + r->source.bytes / BYTES_PER_COPY;
    most = r->o->max_events > most ? r->o->max_events : most;
    if (of_none * traced <= most) {
        return MT_OK;
    }
    (void)mt_fail(r->err, MT_LIMIT, MT_NO_OFFSET,
                  "%" PRIu64 " annotations of no device, for each of %" PRIu64 " devices", of_none,
                  traced);
    return mt_hint(r->err, "raise the limit with --max-events N if you trust the file");
}

static enum mt_status read_content(struct reading *r, enum layer layer, struct mt_snapshot *out)
{
    struct mt_builder *b = mt_builder_new(r->o->hash_seed);
    if (!b) {
        return mt_fail_nomem(r->err);
    }
    enum { BYTES_PER_EVENT = 84 }; /* of a pickle with shared stacks; measured 85 to 120 */
    bool plain = layer == LAYER_PICKLE && !r->source.gzip && !r->source.zip && !r->source.html;
    if (plain) { /* where that is refused, the file may hold less than its size promises */
        (void)!mt_builder_expect_events(b, (size_t)(r->file_size / BYTES_PER_EVENT));
    }
    struct mt_machine m;
    uint32_t depth = r->o->max_depth ? r->o->max_depth : DEFAULT_MAX_DEPTH;
    enum mt_status status = mt_machine_init(&m, b, depth, r->o->max_events, r->err);
    if (status == MT_OK) {
        r->machine = &m;
        limit_events(r);
        status = run_reader(r, &m, layer);
    }
    r->source.bare_list = m.bare_list;
    if (r->source.bytes == 0) {
        r->source.bytes = mt_input_offset(&r->in);
    }
    int last_key = r->whole ? -1 : m.last_key;
    r->machine = NULL;
    mt_machine_release(&m);
    if (status != MT_OK) {
        mt_builder_free(b);
        return status;
    }
    mt_builder_source(b, &r->source);
    limit_copies(r, b);
    MT_TRY(mt_builder_finish(b, out, r->err));
    status = limit_devices(out, r->err);
    status = status == MT_OK ? limit_annotations(r, out) : status;
    if (status != MT_OK) {
        mt_snapshot_release(out);
        return status;
    }
    find_cut(last_key, out);
    return MT_OK;
}

static enum mt_status read_from(struct reading *r, struct mt_byte_source *source,
                                struct mt_snapshot *out)
{
    enum layer layer = LAYER_UNKNOWN;
    r->source = (struct mt_source){.protocol = -1, .damage_offset = MT_NO_OFFSET};
    enum mt_status status = open_layer(r, source);
    if (status == MT_OK) {
        status = find_content(r, &layer);
    }
    if (status == MT_OK) {
        r->in.progress = tell_progress;
        r->in.progress_ctx = r;
        status = read_content(r, layer, out);
    }
    mt_input_release(&r->in);
    return status;
}

/* ---- faces ---- */

static enum mt_status open_path(const char *path, int *fd, struct reading *r)
{
    struct stat st;
    *fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0) {
        return mt_fail(r->err, MT_IO, MT_NO_OFFSET, "cannot open: %s", strerror(errno));
    }
    if (fstat(*fd, &st) == 0) {
        if (S_ISDIR(st.st_mode)) {
            close(*fd);
            (void)mt_fail(r->err, MT_IO, MT_NO_OFFSET, "is a directory");
            mt_hint(r->err, "name the files in it: %.200s%s*", path,
                    mt_str_ends(mt_str_from(path), MT_STR("/")) ? "" : "/");
            return MT_IO;
        }
        r->file_size = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
    }
    return MT_OK;
}

enum mt_status mt_snapshot_read(const char *path, const struct mt_read_options *o,
                                struct mt_snapshot *out, struct mt_error *err)
{
    struct reading r = {.o = o, .err = err};
    int fd = -1;
    MT_TRY(open_path(path, &fd, &r));
    struct mt_byte_source *source = mt_source_fd(fd, fd != STDIN_FILENO, &r.position);
    if (!source) {
        if (fd != STDIN_FILENO) {
            close(fd);
        }
        return mt_fail_nomem(err);
    }
    return read_from(&r, source, out);
}

enum mt_status mt_snapshot_read_memory(const void *p, size_t n, size_t chunk,
                                       const struct mt_read_options *o, struct mt_snapshot *out,
                                       struct mt_error *err)
{
    struct reading r = {.o = o, .err = err, .file_size = n};
    struct mt_byte_source *source = mt_source_memory(p, n, chunk);
    return source ? read_from(&r, source, out) : mt_fail_nomem(err);
}
