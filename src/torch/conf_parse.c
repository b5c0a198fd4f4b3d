/* SPDX-License-Identifier: MIT */
/*
 * Parses PYTORCH_CUDA_ALLOC_CONF as the named release would, its odd corners included: negative
 * sizes wrap around and are clamped, a trailing comma is fine, and from 2.9 on the text is read
 * twice (first the keys that all accelerators share, then those of CUDA), which decides what error
 * comes first. Where PyTorch runs past its tokens the process dies without an exception; here that
 * is `dies`.
 */
#include "torch/alloc_conf.h"

#include <stdio.h>
#include <string.h>

#include "torch/torch_rules.h"

#include "torch/conf_keys.h"
#include "torch/conf_tokens.h"

/* ---- items ---- */

static enum mt_conf_key key_find(const struct mt_conf_parser *p)
{
    size_t k = 0;
    while (k < MT_CONF_KEY_COUNT &&
           !(strcmp(MT_CONF_KEYS[k].name, p->word) == 0 && p->release >= MT_CONF_KEYS[k].since &&
             p->release <= MT_CONF_KEYS[k].until)) {
        k++;
    }
    return (enum mt_conf_key)k;
}

/* Over a value that another pass reads. */
static bool skip_value(struct mt_conf_parser *p)
{
    if (!mt_conf_take_value(p)) {
        return false;
    }
    if (mt_conf_is(p, "[")) {
        while (!mt_conf_is(p, "]")) {
            if (p->word[0] == '\0') {
                return mt_conf_expected(p, "]");
            }
            mt_conf_advance(p);
        }
    }
    return true;
}

/* A key of a release that memtool does not know. */
static bool pass_over(struct mt_conf_parser *p)
{
    char *list = p->out->unfamiliar;
    size_t n = strlen(list);
    snprintf(list + n, sizeof p->out->unfamiliar - n, "%s%.79s", n ? ", " : "", p->word);
    return skip_value(p);
}

static bool unknown(struct mt_conf_parser *p)
{
    if (p->lenient) {
        return pass_over(p);
    }
    snprintf(p->out->unknown, sizeof p->out->unknown, "%.79s", p->word);
    if (p->release >= 209) {
        return mt_conf_complain(p, "Unrecognized key '%s' in CUDA allocator config.", p->word);
    }
    return mt_conf_complain(p, "Unrecognized CachingAllocator option: %s", p->word);
}

static void note_key(struct mt_conf_parser *p, enum mt_conf_key key)
{
    uint32_t bit = 1u << key;
    p->out->repeated |= p->out->keys & bit;
    p->out->keys |= bit;
}

static bool take_item(struct mt_conf_parser *p)
{
    enum mt_conf_key key = key_find(p);
    bool two_passes = p->release >= 209;
    if (key == MT_CONF_KEY_COUNT) {
        return p->shared_pass ? skip_value(p) : unknown(p);
    }
    if (two_passes && mt_conf_is_shared(key) != p->shared_pass) {
        return skip_value(p);
    }
    note_key(p, key);
    return mt_conf_take_value(p) && mt_conf_set(p, key);
}

static bool read_all(struct mt_conf_parser *p, bool shared_pass)
{
    p->at = 0;
    p->index = SIZE_MAX;
    p->shared_pass = shared_pass;
    for (mt_conf_advance(p); p->word[0] != '\0'; mt_conf_advance(p)) {
        if (!take_item(p)) {
            return false;
        }
        if (mt_conf_next_is(p, "")) {
            break;
        }
        if (!mt_conf_take(p, ",")) {
            return false;
        }
        p->out->trailing_comma |= mt_conf_next_is(p, "");
    }
    return true;
}

/* The large segment size decides the bounds of other keys, so PyTorch takes it before all else. */
static void find_large_segment(struct mt_conf_parser *p)
{
    struct mt_conf aside = *p->out;
    struct mt_conf_parser q = *p;
    q.out = &aside;
    for (mt_conf_advance(&q); q.word[0] != '\0'; mt_conf_advance(&q)) {
        bool found = key_find(&q) == MT_CONF_LARGE_SEGMENT;
        uint64_t mb = 0;
        if (found && mt_conf_take(&q, ":") && (mt_conf_advance(&q), mt_conf_number(&q, &mb)) &&
            mb > 10) {
            mb = mb < UINT64_MAX / 4 / MT_MIB ? mb : UINT64_MAX / 4 / MT_MIB;
            p->out->settings.large_segment_size = mb * MT_MIB;
            p->out->settings.max_non_split_rounding = mb * MT_MIB;
        }
    }
}

/* ---- 1.13: items at commas and blanks, exactly one colon in each ---- */

static bool read_first_grammar(struct mt_conf_parser *p)
{
    size_t at = 0;
    while (at < p->text.n) {
        size_t end = at, colons = 0;
        for (; end < p->text.n && p->text.p[end] != ',' && p->text.p[end] != ' '; end++) {
            colons += p->text.p[end] == ':';
        }
        if (end > at) {
            struct mt_conf_parser item = *p;
            item.text = (struct mt_str){p->text.p + at, end - at};
            item.at = 0;
            item.index = SIZE_MAX;
            if (colons != 1) {
                return mt_conf_complain(
                    p, "Error parsing CachingAllocator settings, expected key:value");
            }
            mt_conf_advance(&item);
            if (!take_item(&item)) {
                return false;
            }
        }
        at = end + 1;
    }
    return true;
}

void mt_alloc_settings_default(struct mt_alloc_settings *s)
{
    *s = (struct mt_alloc_settings){
        .max_split_size = UINT64_MAX,
        .max_non_split_rounding = MT_TORCH_LARGE_BUFFER,
        .roundup_bypass_threshold = UINT64_MAX,
        .large_segment_size = MT_TORCH_LARGE_BUFFER,
        .per_process_memory_fraction = 1.0,
        .pinned_num_register_threads = 1,
    };
}

static void parse(struct mt_str text, mt_torch_release release, bool lenient, struct mt_conf *out)
{
    *out = (struct mt_conf){.valid = false};
    mt_alloc_settings_default(&out->settings);
    if (text.n > MT_CONF_LONGEST) {
        (void)snprintf(out->error, sizeof out->error, "memtool reads %d bytes of settings at most",
                       MT_CONF_LONGEST);
        return;
    }
    struct mt_conf_parser p = {.text = text, .release = release, .lenient = lenient, .out = out};
    if (release < 200) {
        out->valid = read_first_grammar(&p);
        return;
    }
    find_large_segment(&p);
    out->valid = (release < 209 || read_all(&p, true)) && read_all(&p, false);
    if (out->valid) {
        out->dies = false;
    }
}

void mt_conf_parse(struct mt_str text, mt_torch_release release, struct mt_conf *out)
{
    parse(text, release, release > MT_TORCH_NEWEST, out);
}

void mt_conf_parse_recorded(struct mt_str text, mt_torch_release release, struct mt_conf *out)
{
    parse(text, release, true, out);
    out->valid = true;
    out->dies = false;
}
