/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a settings string, read as each PyTorch release would, explained and reported; and
 * as a log that a settings string is looked for in. The first byte chooses the release.
 */
#include <stdlib.h>

#include "verbs/conf/print.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool ok)
{
    if (!ok) {
        abort();
    }
}

/* What every answer must keep to, whatever was asked. */
static void prove(const struct mt_conf *c)
{
    const struct mt_alloc_settings *s = &c->settings;
    demand(c->valid == (c->error[0] == '\0'));
    demand(memchr(c->error, '\0', sizeof c->error) != NULL);
    demand(memchr(c->unknown, '\0', sizeof c->unknown) != NULL);
    demand(c->keys >> MT_CONF_KEY_COUNT == 0 && (c->repeated & ~c->keys) == 0);
    demand(!c->valid ||
           (s->garbage_collection_threshold >= 0.0 && s->garbage_collection_threshold < 1.0));
}

static void explain(const struct mt_conf *c)
{
    struct mt_buf value = {0};
    for (int key = 0; key < MT_CONF_KEY_COUNT; key++) {
        mt_conf_value(c, (enum mt_conf_key)key, &value);
        demand(mt_conf_explain((enum mt_conf_key)key).does != NULL);
    }
    mt_buf_release(&value);
}

static void read_conf(struct mt_str text, mt_torch_release release, unsigned choice, FILE *to)
{
    struct mt_conf conf;
    struct mt_conf_warnings warnings;
    struct mt_conf_origin origin = {.from_environment = choice & 1,
                                    .caching_is_off = choice & 2,
                                    .has_cuda = choice & 4,
                                    .cuda = 1104 + (int)choice};
    struct mt_error err;
    mt_conf_parse(text, release, &conf);
    prove(&conf);
    explain(&conf);
    mt_conf_warn(text, &conf, release, &origin, &warnings);
    demand(warnings.n <= MT_CONF_WARNINGS);
    struct mt_conf_result result = {.text = text,
                                    .source = "argument",
                                    .release = release,
                                    .conf = &conf,
                                    .warnings = &warnings};
    struct mt_report r = {.out = to, .file = "fuzz", .verbose = choice & 1};
    (void)!mt_report_conf_text(&r, &result, &err);
    (void)!mt_report_conf_json(&r, &result, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const mt_torch_release releases[] = {113, 200, 203, 206, 209, 210, 211, 213};
    if (size < 1) {
        return 0;
    }
    FILE *to = fopen("/dev/null", "w");
    struct mt_str text = {(const char *)data + 1, size - 1}, found;
    enum mt_conf_variable variable;
    if (to) {
        read_conf(text, releases[data[0] % MT_COUNT(releases)], data[0] / 8u, to);
        if (mt_conf_find(text, &found, &variable)) {
            read_conf(found, MT_TORCH_NEWEST, data[0] / 8u, to);
        }
        const char *name;
        mt_conf_unassign(text, &found, &name);
        read_conf(found, MT_TORCH_NEWEST, data[0] / 8u, to);
        fclose(to);
    }
    return 0;
}
