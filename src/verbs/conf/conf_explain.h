/* SPDX-License-Identifier: MIT */
/*
 * What a settings string means: what each key does, when it pays and what it costs, what in it does
 * nothing or works against another part, and what other releases make of it. Facts only; print.c
 * prints them.
 */
#ifndef MEMTOOL_VERBS_CONF_CONF_EXPLAIN_H
#define MEMTOOL_VERBS_CONF_CONF_EXPLAIN_H

#include "support/error.h"
#include "support/str.h"
#include "torch/alloc_conf.h"

/* The variables that hold the settings, in no order of precedence. */
enum mt_conf_variable {
    MT_CONF_VARIABLE_CUDA, /* PYTORCH_CUDA_ALLOC_CONF */
    MT_CONF_VARIABLE_HIP,  /* PYTORCH_HIP_ALLOC_CONF */
    MT_CONF_VARIABLE_ANY,  /* PYTORCH_ALLOC_CONF */
    MT_CONF_VARIABLE_COUNT
};
const char *mt_conf_variable_name(enum mt_conf_variable v);

/* Which of the variables that are set (`values`, NULL: not set) `release` reads: the first one that
 * it looks for; MT_CONF_VARIABLE_COUNT when none is set. */
enum mt_conf_variable mt_conf_variable_read(mt_torch_release release,
                                            const char *const values[MT_CONF_VARIABLE_COUNT]);

/* Where the string came from, for the warnings. */
struct mt_conf_origin {
    bool from_environment;
    const char *values[MT_CONF_VARIABLE_COUNT];
    bool caching_is_off; /* PYTORCH_NO_CUDA_MEMORY_CACHING is set */
    bool has_cuda;
    int cuda; /* 100 * major + minor, for example 1204 */
};

struct mt_conf_warning {
    const char *id; /* stable, for programs */
    char text[320];
};
#define MT_CONF_WARNINGS 24
struct mt_conf_warnings {
    struct mt_conf_warning v[MT_CONF_WARNINGS];
    size_t n;
};

/* Everything that is worth saying about `text`, which `conf` was parsed from for `release`. */
void mt_conf_warn(struct mt_str text, const struct mt_conf *conf, mt_torch_release release,
                  const struct mt_conf_origin *origin, struct mt_conf_warnings *out);

/* `verb` was called with --conf `text`, which `release` refuses or which names another backend:
 * *err says so, as MT_USAGE. `told`: the release was not asked for, so that one older than the
 * usual is what the file tells. */
void mt_conf_refused(struct mt_error *err, const char *verb, const char *text,
                     const struct mt_conf *conf, mt_torch_release release, bool told);

/* One key explained; NULL where there is nothing to say. */
struct mt_conf_explanation {
    const char *does, *pays, *costs;
};
struct mt_conf_explanation mt_conf_explain(enum mt_conf_key key);

/* The value of a key as it was understood: "128.00 MiB", "on", "[256: 1, ...]". */
void mt_conf_value(const struct mt_conf *conf, enum mt_conf_key key, struct mt_buf *out);

/* The settings string in a text: an assignment to one of the variables, in a log, a shell script or
 * a dump of the environment; advice of PyTorch to set one does not count. False when there is none;
 * the last one counts. */
bool mt_conf_find(struct mt_str text, struct mt_str *conf, enum mt_conf_variable *variable);

/* Settings as people paste them: with the variable, of PyTorch or memtool, in front ("export
 * NAME=...", "os.environ['NAME'] = '...'"), or the bare string, which is taken as it is. *conf is
 * the part that is settings; *variable its name, static, or NULL where none is named. */
void mt_conf_unassign(struct mt_str text, struct mt_str *conf, const char **variable);

#endif
