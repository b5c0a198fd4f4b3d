/* SPDX-License-Identifier: MIT */
/*
 * Names become numbers. A string may be a file name in one place and a key or a setting in another,
 * so the table of strings is laid out five times over: as it was, as file names, as function names,
 * as annotations, as other text. A string id plus n, 2n, 3n or 4n names the masked form, which is
 * made only where it is used. Writers write only what is referred to, so nothing of the first table
 * gets out that should not.
 *
 * The masks hold decimal digits only: letters could spell a short name of the original by chance.
 * In text, where numbers stay as they are, the digits are written as the letters QXZJVWKPGY, which
 * spell nothing.
 */
#include "snapshot/model/view.h"

#include <string.h>

#include "support/arena.h"
#include "snapshot/model/step_name.h"
#include "torch/frame_class.h"

/* ---- a keyed hash: SipHash-2-4 (Aumasson and Bernstein 2012) ---- */

static uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

static void sip_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    sip_round(v);
    sip_round(v);
    v[0] ^= word;
}

static uint64_t sip_hash(struct mt_mask_key key, const char *p, size_t n)
{
    uint64_t v[4] = {key.a ^ 0x736f6d6570736575u, key.b ^ 0x646f72616e646f6du,
                     key.a ^ 0x6c7967656e657261u, key.b ^ 0x7465646279746573u};
    uint64_t last = (uint64_t)n << 56;
    for (size_t at = 0; at + 8 <= n; at += 8) {
        uint64_t word = 0;
        for (size_t i = 0; i < 8; i++) {
            word |= (uint64_t)(unsigned char)p[at + i] << 8 * i;
        }
        sip_word(v, word);
    }
    for (size_t i = 0; i < n % 8; i++) {
        last |= (uint64_t)(unsigned char)p[n - n % 8 + i] << 8 * i;
    }
    sip_word(v, last);
    v[2] ^= 0xff;
    for (int i = 0; i < 4; i++) {
        sip_round(v);
    }
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

struct mt_mask_key mt_mask_key_from(struct mt_str salt)
{
    static const struct mt_mask_key first = {0x6d656d746f6f6c31u, 1},
                                    second = {0x6d656d746f6f6c31u, 2};
    return (struct mt_mask_key){sip_hash(first, salt.p, salt.n), sip_hash(second, salt.p, salt.n)};
}

/* ---- masking one string ---- */

enum role { ROLE_FILE = 1, ROLE_NAME, ROLE_ANNOTATION, ROLE_TEXT, ROLES };

struct masking {
    struct mt_view *view;
    struct mt_mask_key key;
    uint32_t n;             /* strings of the original */
    struct mt_str *strings; /* ROLES x n */
    struct mt_arena arena;
    struct mt_buf scratch;
    bool failed;
};

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || (unsigned char)c >= 0x80;
}

static bool is_number(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9') {
            return false;
        }
    }
    return true;
}

static bool is_source_suffix(struct mt_str s, size_t at, size_t n)
{
    static const struct mt_str suffixes[] = {
        MT_STR_INIT("py"), MT_STR_INIT("pyx"), MT_STR_INIT("so"),   MT_STR_INIT("c"),
        MT_STR_INIT("cc"), MT_STR_INIT("cpp"), MT_STR_INIT("cu"),   MT_STR_INIT("cuh"),
        MT_STR_INIT("h"),  MT_STR_INIT("hpp"), MT_STR_INIT("ipynb")};
    if (at == 0 || at + n != s.n || s.p[at - 1] != '.') {
        return false;
    }
    for (size_t i = 0; i < MT_COUNT(suffixes); i++) {
        if (mt_str_equal((struct mt_str){s.p + at, n}, suffixes[i])) {
            return true;
        }
    }
    return false;
}

/* 14 digits hold 46 bits: among 100,000 names two collide in one file of 20,000. */
static void put_mask(struct masking *m, const char *p, size_t n, enum role role)
{
    static const char letters[] = "QXZJVWKPGY";
    uint64_t digits = sip_hash(m->key, p, n) % UINT64_C(100000000000000);
    size_t from = m->scratch.n;
    mt_buf_printf(&m->scratch, "%014llu", (unsigned long long)digits);
    for (size_t i = from; role >= ROLE_ANNOTATION && i < m->scratch.n; i++) {
        m->scratch.p[i] = letters[m->scratch.p[i] - '0'];
    }
}

/* A name with its number behind ("step_12", "ProfilerStep12") keeps the number where it is text. */
static size_t masked_length(const char *p, size_t n, enum role role)
{
    size_t end = n;
    while (role >= ROLE_ANNOTATION && end > 0 && p[end - 1] >= '0' && p[end - 1] <= '9') {
        end--;
    }
    return end;
}

/* leaks and steps must find the same parts of the program. */
static void put_kind(struct masking *m, unsigned kind)
{
    if (kind) {
        mt_buf_printf(&m->scratch, "%c%02u", MT_FRAME_KIND_SIGN, kind);
    }
}

static void mask(struct masking *m, struct mt_str s, enum role role)
{
    mt_buf_reset(&m->scratch);
    put_kind(m, role == ROLE_FILE ? mt_frame_file_kind(s) : 0);
    for (size_t i = 0; i < s.n;) {
        size_t n = 0;
        while (i + n < s.n && is_word(s.p[i + n])) {
            n++;
        }
        if (n == 0) {
            mt_buf_char(&m->scratch, s.p[i++]);
            continue;
        }
        if ((role == ROLE_FILE && is_source_suffix(s, i, n)) ||
            (role >= ROLE_ANNOTATION && is_number(s.p + i, n))) {
            mt_buf_add(&m->scratch, s.p + i, n);
        } else {
            size_t masked = masked_length(s.p + i, n, role);
            put_mask(m, s.p + i, masked, role);
            mt_buf_add(&m->scratch, s.p + i + masked, n - masked);
        }
        i += n;
    }
    put_kind(m, role == ROLE_NAME ? mt_frame_name_kind(s) : 0);
    for (int rank = role == ROLE_ANNOTATION ? mt_step_name_rank(s) : 0; rank > 0; rank--) {
        mt_buf_char(&m->scratch, MT_STEP_NAME_SIGN); /* leaks must find the same steps */
    }
}

/* The id of the masked form of a string in a role. */
static uint32_t masked(struct masking *m, uint32_t id, enum role role)
{
    uint32_t to = id + (uint32_t)role * m->n;
    if (id == 0 || m->strings[id].n == 0) {
        return id;
    }
    if (!m->strings[to].p) {
        mask(m, m->strings[id], role);
        m->strings[to] = mt_arena_copy(&m->arena, m->scratch.p ? m->scratch.p : "", m->scratch.n);
        m->failed |= m->scratch.failed || !m->strings[to].p;
    }
    return to;
}

static bool is_one_of(struct mt_str word, const struct mt_str *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (mt_str_equal(word, words[i])) {
            return true;
        }
    }
    return false;
}

static bool is_stage(const struct masking *m, uint32_t id)
{
    static const struct mt_str stages[] = {MT_STR_INIT("START"), MT_STR_INIT("END")};
    return is_one_of(m->strings[id], stages, MT_COUNT(stages));
}

/* What torch.profiler writes (torch/profiler/_memory_profiler.py, Category), and memtool, which
 * adds how sure it was. */
static bool is_category(const struct masking *m, uint32_t id)
{
    static const struct mt_str categories[] = {
        MT_STR_INIT("unknown"),    MT_STR_INIT("input"),           MT_STR_INIT("temporary"),
        MT_STR_INIT("activation"), MT_STR_INIT("gradient"),        MT_STR_INIT("autograd_detail"),
        MT_STR_INIT("parameter"),  MT_STR_INIT("optimizer_state"), MT_STR_INIT("kv_cache"),
        MT_STR_INIT("buffer"),     MT_STR_INIT("workspace"),
    };
    static const struct mt_str unsure[] = {MT_STR_INIT("~low"), MT_STR_INIT("~medium")};
    struct mt_str word = m->strings[id];
    size_t end = mt_str_find(word, MT_STR("~"));
    end = end == SIZE_MAX ? word.n : end;
    struct mt_str rest = {word.p + end, word.n - end};
    return is_one_of(mt_str_head(word, end), categories, MT_COUNT(categories)) &&
           (!rest.n || is_one_of(rest, unsure, MT_COUNT(unsure)));
}

/* ---- the places where names stand ---- */

static bool mask_frames(struct masking *m)
{
    struct mt_snapshot *s = &m->view->s;
    struct mt_frame *frames = mt_view_copy(m->view, s->frames, s->n_frames, sizeof *frames);
    if (!frames) {
        return false;
    }
    for (size_t i = 1; i < s->n_frames; i++) {
        /* user_defined events tell an annotation by such a frame; its name lies in filename */
        bool annotation = frames[i].line == 0 && is_stage(m, frames[i].name);
        frames[i].filename =
            masked(m, frames[i].filename, annotation ? ROLE_ANNOTATION : ROLE_FILE);
        if (!annotation) {
            frames[i].name = masked(m, frames[i].name, ROLE_NAME);
        }
    }
    s->frames = frames;
    return true;
}

static bool mask_annotations(struct masking *m)
{
    struct mt_snapshot *s = &m->view->s;
    struct mt_annotation *a = mt_view_copy(m->view, s->annotations, s->n_annotations, sizeof *a);
    if (!a) {
        return false;
    }
    for (size_t i = 0; i < s->n_annotations; i++) {
        a[i].name = masked(m, a[i].name, ROLE_ANNOTATION);
        if (!is_stage(m, a[i].stage)) {
            a[i].stage = masked(m, a[i].stage, ROLE_TEXT);
        }
    }
    s->annotations = a;
    return true;
}

static bool mask_column(struct masking *m, enum mt_event_column c)
{
    struct mt_snapshot *s = &m->view->s;
    if (!s->columns[c]) {
        return true;
    }
    uint32_t *ids = mt_view_copy(m->view, s->columns[c], s->n_events, sizeof *ids);
    if (!ids) {
        return false;
    }
    for (size_t i = 0; i < s->n_events; i++) {
        if (ids[i] != s->column_defaults[c] &&
            !(c == MT_COLUMN_CATEGORY && is_category(m, ids[i]))) {
            ids[i] = masked(m, ids[i], ROLE_TEXT);
        }
    }
    s->columns[c] = ids;
    return true;
}

/* Every text among the generic values but for the settings: their keys, and the string of
 * PYTORCH_CUDA_ALLOC_CONF, which a replay needs and which has no place for names. */
static void mask_settings(const struct masking *m, struct mt_value *values)
{
    const struct mt_snapshot *s = &m->view->s;
    const struct mt_value *old = &s->values[s->settings];
    if (!s->settings || old->kind != MT_VALUE_DICT) {
        return;
    }
    for (uint32_t i = 0; i < old->n; i++) {
        uint32_t key = old->u.id + 2 * i;
        if (s->values[key].kind != MT_VALUE_STR) {
            continue;
        }
        values[key] = s->values[key];
        struct mt_str name = m->strings[s->values[key].u.id];
        if (mt_str_ends(name, MT_STR("ALLOC_CONF")) || mt_str_ends(name, MT_STR("alloc_conf"))) {
            values[key + 1] = s->values[key + 1];
        }
    }
}

enum { OWN_DEPTH_MAX = 5 }; /* memtool's own key is a tree of four levels */

/* What memtool itself wrote down: the keys stay, a library is masked as in the frames. */
static void mask_own(struct masking *m, struct mt_value *values, uint32_t index, int depth)
{
    const struct mt_snapshot *s = &m->view->s;
    const struct mt_value *old = &s->values[index];
    bool dict = old->kind == MT_VALUE_DICT;
    if (depth == OWN_DEPTH_MAX || (!dict && old->kind != MT_VALUE_LIST)) {
        return;
    }
    for (uint32_t i = 0; i < old->n; i++) {
        uint32_t item = old->u.id + (dict ? 2 * i + 1 : i);
        if (dict && s->values[item - 1].kind == MT_VALUE_STR) {
            struct mt_str key = m->strings[s->values[item - 1].u.id];
            bool text = s->values[item].kind == MT_VALUE_STR;
            values[item - 1] = s->values[item - 1];
            if (text && mt_str_equal(key, MT_STR("library"))) {
                values[item].u.id = masked(m, s->values[item].u.id, ROLE_FILE);
            } else if (text && mt_str_equal(key, MT_STR("mode"))) {
                values[item] = s->values[item];
            }
        }
        mask_own(m, values, item, depth + 1);
    }
}

static bool mask_values(struct masking *m)
{
    struct mt_snapshot *s = &m->view->s;
    struct mt_value *values = mt_view_copy(m->view, s->values, s->n_values, sizeof *values);
    if (!values) {
        return false;
    }
    for (size_t i = 0; i < s->n_values; i++) {
        bool text = values[i].kind == MT_VALUE_STR || values[i].kind == MT_VALUE_BYTES;
        if (text && !is_category(m, values[i].u.id)) {
            values[i].u.id = masked(m, values[i].u.id, ROLE_TEXT);
        }
    }
    mask_settings(m, values);
    if (s->own) {
        mask_own(m, values, s->own, 0);
    }
    s->values = values;
    return true;
}

/* Every column but those known to hold no text, so that a new one is masked from its first day. */
static bool mask_columns(struct masking *m)
{
    for (int c = 0; c < MT_COLUMN_COUNT; c++) {
        if (c != MT_COLUMN_POOL && c != MT_COLUMN_EXTRA &&
            !mask_column(m, (enum mt_event_column)c)) {
            return false;
        }
    }
    return true;
}

static bool mask_all(struct masking *m)
{
    return mask_frames(m) && mask_annotations(m) && mask_values(m) && mask_columns(m) && !m->failed;
}

/* The masked strings lie in an arena; its bytes are moved into one block that the view owns. */
static bool own_strings(struct masking *m)
{
    size_t bytes = 0;
    for (size_t i = m->n; i < ROLES * (size_t)m->n; i++) {
        bytes += m->strings[i].n;
    }
    char *block = mt_view_alloc(m->view, bytes + 1, 1);
    if (!block) {
        return false;
    }
    for (size_t i = m->n, at = 0; i < ROLES * (size_t)m->n; i++) {
        if (m->strings[i].n) {
            memcpy(block + at, m->strings[i].p, m->strings[i].n);
        }
        m->strings[i].p = block + at;
        at += m->strings[i].n;
    }
    return true;
}

enum mt_status mt_view_anonymize(struct mt_view *v, struct mt_mask_key key, struct mt_error *err)
{
    struct mt_snapshot *s = &v->s;
    if (s->n_strings > UINT32_MAX / ROLES) {
        return mt_fail(err, MT_LIMIT, MT_NO_OFFSET, "too many distinct names to mask");
    }
    struct masking m = {.view = v, .key = key, .n = (uint32_t)s->n_strings};
    m.strings = mt_view_alloc(v, ROLES * s->n_strings, sizeof *m.strings);
    bool ok = m.strings != NULL;
    if (ok) {
        memcpy(m.strings, s->strings, s->n_strings * sizeof *m.strings);
        ok = mask_all(&m) && own_strings(&m);
    }
    if (ok) {
        s->strings = m.strings;
        s->n_strings *= ROLES;
    }
    mt_arena_release(&m.arena);
    mt_buf_release(&m.scratch);
    return ok ? MT_OK : mt_fail_nomem(err);
}
