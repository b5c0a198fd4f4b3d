/* SPDX-License-Identifier: MIT */
/* The model that estimate was asked about: config.json, and what lies beside it. */
#include "verbs/estimate/estimate_input.h"

#include <stdio.h>
#include <string.h>

#include "cli/slurp.h"

enum { MOST_CONFIG = (int)(4 * MT_MIB), MOST_INDEX = (int)(256 * MT_MIB) };

/* The path of a file in the folder of `config`. */
static void beside(struct mt_buf *path, const char *config, const char *name)
{
    const char *slash = strrchr(config, '/');
    mt_buf_add(path, config, slash ? (size_t)(slash - config) + 1 : 0);
    mt_buf_text(path, name);
    mt_buf_char(path, '\0');
}

static bool is_there(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f) {
        fclose(f);
    }
    return f != NULL;
}

static enum mt_status read_index(const char *path, struct mt_model *m, struct mt_error *err)
{
    struct mt_buf text = {0};
    enum mt_status status = mt_cli_slurp_file(path, MOST_INDEX, &text, err);
    if (status == MT_OK) {
        status = mt_model_read_index(m, mt_buf_view(&text), err);
    }
    mt_buf_release(&text);
    return status == MT_OK ? MT_OK : mt_error_prefix(err, "%s", path);
}

/* One safetensors file: eight bytes with the length of its header, the header, the tensors. */
static void measure_file(const char *path, struct mt_model *m)
{
    FILE *f = fopen(path, "rb");
    unsigned char head[8];
    uint64_t header = 0;
    if (!f) {
        return;
    }
    bool ok = fread(head, 1, sizeof head, f) == sizeof head && fseek(f, 0, SEEK_END) == 0;
    long size = ok ? ftell(f) : -1;
    for (size_t i = sizeof head; ok && i-- > 0;) {
        header = header << 8 | head[i];
    }
    if (size > 8 && header < (uint64_t)size - 8) {
        m->stored = (uint64_t)size - 8 - header;
    }
    fclose(f);
}

static enum mt_status read_beside(const char *config, struct mt_model *m, struct mt_error *err)
{
    struct mt_buf index = {0}, file = {0};
    beside(&index, config, "model.safetensors.index.json");
    beside(&file, config, "model.safetensors");
    enum mt_status status = MT_OK;
    if (index.failed || file.failed) {
        status = mt_fail_nomem(err);
    } else if (is_there(index.p)) {
        status = read_index(index.p, m, err);
    } else {
        measure_file(file.p, m);
    }
    mt_buf_release(&index);
    mt_buf_release(&file);
    return status;
}

static enum mt_status read_config(const char *config, const struct mt_model_given *given,
                                  struct mt_model *m, struct mt_error *err)
{
    struct mt_buf text = {0};
    enum mt_status status = mt_cli_slurp_file(config, MOST_CONFIG, &text, err);
    if (status == MT_OK) {
        status = text.n
                     ? mt_model_read(m, mt_buf_view(&text), given, err)
                     : mt_fail(err, MT_FORMAT, MT_NO_OFFSET, "not a config.json (no JSON object)");
    }
    mt_buf_release(&text);
    if (status == MT_OK && strcmp(config, "-") != 0 && !given->params) {
        status = read_beside(config, m, err);
        if (status != MT_OK) {
            mt_model_release(m);
        }
    }
    return status;
}

enum mt_status mt_estimate_input(const char *config, const struct mt_model_given *given,
                                 struct mt_model *m, struct mt_error *err)
{
    if (config) {
        return read_config(config, given, m, err);
    }
    if (!given->params && !(given->layers && given->hidden && given->heads)) {
        mt_fail(err, MT_USAGE, MT_NO_OFFSET, "no model: how many parameters?");
        return mt_hint(err, "--params 7B, --config config.json, or --layers, --hidden, --heads and "
                            "--vocab; --card alone: what fits");
    }
    return mt_model_read(m, (struct mt_str){"", 0}, given, err);
}
