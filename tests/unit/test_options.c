/* SPDX-License-Identifier: MIT */
/* Every kind of option, its bounds and errors, and the filter options into a filter. */
#include "support/mem.h"

#include "cli/options/options.h"
#include "unit.h"

struct settings {
    struct mt_common common;
    bool flag;
    int count;
    const char *text;
    struct mt_texts texts;
    int64_t integer;
    uint64_t u64;
    double number;
    uint64_t size;
    int choice;
};

static const char *const CHOICES[] = {"one", "two", NULL};

#define AT(field) .offset = offsetof(struct settings, field)
static const struct mt_option OPTIONS[] = {
    {.letter = 'g', .name = "flag", .kind = MT_OPTION_FLAG, AT(flag)},
    {.letter = 'c', .name = "count", .kind = MT_OPTION_COUNT, AT(count)},
    {.letter = 't', .name = "text", .kind = MT_OPTION_TEXT, AT(text), .arg = "T"},
    {.name = "texts", .kind = MT_OPTION_TEXTS, AT(texts), .arg = "T"},
    {.name = "integer", .kind = MT_OPTION_INT, AT(integer), .arg = "N", .min = -5, .max = 5},
    {.name = "u64", .kind = MT_OPTION_U64, AT(u64), .arg = "N"},
    {.name = "number", .kind = MT_OPTION_NUMBER, AT(number), .arg = "X", .min = 0, .max = 1},
    {.name = "size", .kind = MT_OPTION_SIZE, AT(size), .arg = "SIZE", .min = 512, .max = 1 << 20},
    {.name = "choice_of", .kind = MT_OPTION_CHOICE, AT(choice), .choices = CHOICES},
};
static int started, ended;
static void start(void *group)
{
    ((struct settings *)group)->integer = 4;
    started++;
}
static void end(void *group)
{
    ck_assert_int_ne(((struct settings *)group)->integer, 0);
    ended++;
}

static const struct mt_option_group GROUP = {
    .title = "Own", .options = OPTIONS, .n = MT_COUNT(OPTIONS), .init = start, .release = end};
static const struct mt_command COMMAND = {
    .name = "test", .groups = &GROUP, .n_groups = 1, .settings_size = sizeof(struct settings)};

static struct mt_cli cli;
static struct settings *settings;
static struct mt_option_set set;

static void setup(void)
{
    cli = (struct mt_cli){.out = stdout, .err = tmpfile(), .command = &COMMAND};
    settings = mt_settings_new(&cli, &COMMAND);
    set = mt_option_set_make(&COMMAND, settings);
}

static void teardown(void)
{
    mt_option_set_free_values(&set);
    mt_option_set_release(&set);
    mt_settings_free(&COMMAND, settings);
    fclose(cli.err);
}

/* The words of the last parsed line. */
static char line[256];
static char *words[32];

/* Parses a line of words with one blank between; returns the exit code and, through *first, where
 * the files begin. */
static int parse(const char *text, int *first)
{
    int argc = 0;
    snprintf(line, sizeof line, "%s", text);
    for (char *p = line; p; argc++) {
        words[argc] = p;
        p = strchr(p, ' ');
        if (p) {
            *p++ = '\0';
        }
    }
    words[argc] = NULL;
    return mt_options_parse(&cli, &set, argc, words, false, first);
}

/* A group starts its settings before options fill them, and releases them at the end. */
START_TEST(groups_own_their_settings)
{
    int first;
    setup();
    ck_assert_int_eq(started, ended + 1);
    ck_assert_int_eq(settings->integer, 4);
    ck_assert_int_eq(parse("test --integer 5", &first), 0);
    ck_assert_int_eq(settings->integer, 5);
    teardown();
    ck_assert_int_eq(started, ended);
}
END_TEST

START_TEST(all_kinds)
{
    int first;
    setup();
    ck_assert_int_eq(parse("test file1 --flag -cc -t text --texts=a --texts b --integer -5 --u64 "
                           "0xff --number 0.5 --size=1MiB --choice-of two file2 -- -n",
                           &first),
                     0);
    ck_assert(settings->flag);
    ck_assert_int_eq(settings->count, 2);
    ck_assert_str_eq(settings->text, "text");
    ck_assert_uint_eq(settings->texts.n, 2);
    ck_assert_str_eq(settings->texts.v[1], "b");
    ck_assert_int_eq(settings->integer, -5);
    ck_assert_uint_eq(settings->u64, 255);
    ck_assert(settings->number >= 0.5 && settings->number <= 0.5);
    ck_assert_uint_eq(settings->size, 1 << 20);
    ck_assert_int_eq(settings->choice, 1);
    ck_assert_str_eq(words[first], "file1");
    ck_assert_str_eq(words[first + 1], "file2");
    ck_assert_str_eq(words[first + 2], "-n");
    teardown();
}
END_TEST

START_TEST(values_out_of_bounds)
{
    static const char *const bad[] = {"--integer=6",
                                      "--integer=-6",
                                      "--integer=x",
                                      "--integer=",
                                      "--u64=-1",
                                      "--number=1.1",
                                      "--number=nan",
                                      "--number=x",
                                      "--size=511",
                                      "--size=2MiB",
                                      "--size=x",
                                      "--choice=t",
                                      "--integer=99999999999999999999"};
    for (size_t i = 0; i < MT_COUNT(bad); i++) {
        char text[64];
        int first;
        snprintf(text, sizeof text, "test %s", bad[i]);
        setup();
        ck_assert_msg(parse(text, &first) == 2, "%s", bad[i]);
        teardown();
    }
}
END_TEST

START_TEST(own_hide_common)
{
    setup();
    size_t sizes = 0;
    for (size_t i = 0; i < set.n; i++) {
        sizes += set.refs[i].option->letter == 't' || set.refs[i].option->letter == 'n';
        ck_assert(set.refs[i].base == (void *)settings);
    }
    ck_assert_uint_eq(sizes, 2);
    ck_assert_int_eq(settings->common.limit, -1);
    teardown();
}
END_TEST

static bool has_option(const struct mt_option_set *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++) {
        const char *n = s->refs[i].option->name;
        if (n && strcmp(n, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Unless its table says that it prints one, a verb has no --csv. */
START_TEST(no_table_no_csv)
{
    int first;
    setup();
    ck_assert_int_eq(parse("test --csv file", &first), 2);
    ck_assert_int_eq(parse("test --limit 3 --unit B file", &first), 0);
    teardown();
    struct mt_option_set offered = mt_option_set_make(&COMMAND, NULL);
    ck_assert(has_option(&offered, "json"));
    ck_assert(!has_option(&offered, "tsv") && !has_option(&offered, "limit"));
    ck_assert(!has_option(&offered, "unit"));
    mt_option_set_release(&offered);
}
END_TEST

START_TEST(table_has_csv)
{
    struct mt_command command = COMMAND;
    command.flags = MT_COMMAND_TABLE | MT_COMMAND_FIGURES;
    struct mt_option_set offered = mt_option_set_make(&command, NULL);
    ck_assert(has_option(&offered, "tsv") && has_option(&offered, "limit"));
    ck_assert(has_option(&offered, "unit"));
    mt_option_set_release(&offered);
}
END_TEST

/* Parses one filter option into a fresh filter. */
static enum mt_status filter_option(const char *name, const char *value, struct mt_filter *f)
{
    struct mt_error err;
    mt_filter_init(f);
    for (size_t i = 0; i < MT_FILTER_OPTIONS_N; i++) {
        struct mt_option_ref ref = {&MT_FILTER_OPTIONS[i], NULL, f};
        if (strcmp(ref.option->name, name) == 0) {
            return mt_option_set_value(&ref, value, &err);
        }
    }
    return MT_NOT_FOUND;
}

START_TEST(filters)
{
    struct mt_filter f;
    ck_assert_int_eq(filter_option("size", "1MiB:64MiB", &f), MT_OK);
    ck_assert_uint_eq(f.size_min, 1 << 20);
    ck_assert_uint_eq(f.size_max, 64 << 20);
    ck_assert_int_eq(filter_option("size", ":512", &f), MT_OK);
    ck_assert_uint_eq(f.size_max, 512);
    ck_assert_int_eq(filter_option("events", "100:", &f), MT_OK);
    ck_assert(f.event_min == 100 && f.event_max == UINT64_MAX);
    ck_assert_int_eq(filter_option("pool", "2,-1", &f), MT_OK);
    ck_assert(f.pool == MT_POOL_IS_ID && f.pool_id.a == 2 && f.pool_id.b == -1);
    ck_assert_int_eq(filter_option("pool", "private", &f), MT_OK);
    ck_assert_int_eq(f.pool, MT_POOL_IS_PRIVATE);
    ck_assert_int_eq(filter_option("stream", "3", &f), MT_OK);
    ck_assert(f.stream_is_index && f.stream == 3);
    ck_assert_int_eq(filter_option("stream", "0x55d0", &f), MT_OK);
    ck_assert(!f.stream_is_index && f.stream == 0x55d0);
    ck_assert_int_eq(filter_option("device", "1", &f), MT_OK);
    ck_assert_int_eq(f.device, 1);
    ck_assert_int_eq(filter_option("frame", "train\\.py", &f), MT_OK);
    ck_assert(f.has_frame);
    mt_filter_release(&f);
    ck_assert(mt_filter_is_open(&f));
}
END_TEST

START_TEST(bad_filters)
{
    static const char *const bad[][2] = {
        {"size", "1MiB"},  {"size", ":"},     {"size", "2:1"},   {"size", "a:b"}, {"events", "5"},
        {"events", "2:1"}, {"events", "-1:"}, {"pool", "tiny"},  {"pool", "1,"},  {"pool", "1,2x"},
        {"stream", "x"},   {"device", "-1"},  {"device", "gpu"}, {"frame", "("},  {"time", "x"}};
    for (size_t i = 0; i < MT_COUNT(bad); i++) {
        struct mt_filter f;
        ck_assert_msg(filter_option(bad[i][0], bad[i][1], &f) == MT_USAGE, "--%s %s", bad[i][0],
                      bad[i][1]);
        mt_filter_release(&f);
    }
}
END_TEST

/* An expression is refused before it is compiled when it would cost too much. */
START_TEST(costly_expressions)
{
    static const char *const bad[] = {"((a{1,200}){1,200}){1,200}",
                                      "(((((((((((a+)+)+)+)+)+)+)+)+)+)+)",
                                      "a{1001}",
                                      "(a*)\\1",
                                      "((a{0,99}){0,99}){,9}",
                                      "(a{40,}){40,}"};
    static const char *const good[] = {"a{1,200}b{3}", "[](){+]{9}", "[[:alpha:]{]+\\{",
                                       "x|y*?",        "(a+)+b",     "\\(a\\)"};
    for (size_t i = 0; i < MT_COUNT(bad); i++) {
        struct mt_filter f;
        mt_filter_init(&f);
        ck_assert_msg(filter_option("frame", bad[i], &f) == MT_USAGE, "%s", bad[i]);
        mt_filter_release(&f);
    }
    for (size_t i = 0; i < MT_COUNT(good); i++) {
        struct mt_filter f;
        mt_filter_init(&f);
        ck_assert_msg(filter_option("frame", good[i], &f) == MT_OK, "%s", good[i]);
        mt_filter_release(&f);
    }
}
END_TEST

/* ---- the options of all verbs with values that no field holds ---- */

static const char *const HOSTILE[] = {"",
                                      " ",
                                      " 5",
                                      "5 ",
                                      "-1",
                                      "-0",
                                      "+3",
                                      "99999999999999999999",
                                      "18446744073709551615",
                                      "18446744073709551616",
                                      "-9223372036854775808",
                                      "-99999999999999999999",
                                      "9223372036854775808",
                                      "0x10",
                                      "0xfffffffffffffffff",
                                      "0x",
                                      "1e999",
                                      "-1e999",
                                      "1e15",
                                      "1e-999",
                                      "nan",
                                      "inf",
                                      "0",
                                      "99999999999999999999.5GiB",
                                      "17EiB",
                                      "15EiB",
                                      "1.5",
                                      "12x",
                                      "1,000",
                                      "%s%n"};

/* Whether a field holds what the bounds of its option allow. */
static bool is_allowed(const struct mt_option *o, const void *field)
{
    double x = o->kind == MT_OPTION_INT      ? (double)*(const int64_t *)field
               : o->kind == MT_OPTION_NUMBER ? *(const double *)field
                                             : (double)*(const uint64_t *)field;
    bool bounded = o->min < 0 || o->max > 0;
    return x - x == 0 && (!bounded || (x >= o->min && x <= o->max));
}

static void try_value(const struct mt_command *verb, const struct mt_option_ref *ref,
                      const char *text)
{
    const struct mt_option *o = ref->option;
    struct mt_error err = {0};
    if (mt_option_set_value(ref, text, &err) == MT_OK) {
        ck_assert_msg(is_allowed(o, (char *)ref->base + o->offset), "%s --%s '%s'", verb->name,
                      o->name, text);
        ck_assert_msg(*text && !strchr(" in%", *text), "%s --%s '%s'", verb->name, o->name, text);
        return;
    }
    bool low = *text == '-' || strcmp(text, "0") == 0;
    bool beyond = strstr(err.text, " and ") || strstr(err.text, "is larger than");
    ck_assert_msg(err.code == MT_USAGE && *err.text, "%s --%s '%s'", verb->name, o->name, text);
    ck_assert_msg(low || !strstr(err.text, "is less than"), "%s --%s: %s", verb->name, o->name,
                  err.text);
    ck_assert_msg(beyond || strlen(text) < 19 || text[strspn(text, "0123456789")], "%s --%s: %s",
                  verb->name, o->name, err.text);
}

/* A parser of an option's own takes a value, or says what was wrong with it. */
static void try_custom(const struct mt_command *verb, const struct mt_option_ref *ref,
                       const char *text)
{
    struct mt_error err = {0};
    enum mt_status status = mt_option_set_value(ref, text, &err);
    ck_assert_msg(status == MT_OK || ((status == MT_USAGE || status == MT_NOMEM) && *err.text),
                  "%s --%s '%s': %d %s", verb->name, ref->option->name, text, status, err.text);
    bool number = strspn(text, "-0123456789") == strlen(text);
    ck_assert_msg(status == MT_OK || !number || !strstr(err.text, "is not a number") ||
                      strstr(err.text, " from "),
                  "%s --%s '%s': no range: %s", verb->name, ref->option->name, text, err.text);
}

START_TEST(hostile_values_of_all_verbs)
{
    size_t tried = 0;
    for (size_t v = 0; MT_COMMANDS[v]; v++) {
        struct mt_cli shell = {.out = stdout, .err = stderr, .command = MT_COMMANDS[v]};
        void *values = mt_settings_new(&shell, MT_COMMANDS[v]);
        struct mt_option_set all = mt_option_set_make(MT_COMMANDS[v], values);
        for (size_t i = 0; i < all.n; i++) {
            enum mt_option_kind kind = all.refs[i].option->kind;
            bool number = kind == MT_OPTION_INT || kind == MT_OPTION_U64 ||
                          kind == MT_OPTION_NUMBER || kind == MT_OPTION_SIZE;
            bool custom = kind == MT_OPTION_CUSTOM && mt_option_has_arg(all.refs[i].option);
            for (size_t k = 0; custom && k < MT_COUNT(HOSTILE); k++) {
                try_custom(MT_COMMANDS[v], &all.refs[i], HOSTILE[k]);
            }
            for (size_t k = 0; number && k < MT_COUNT(HOSTILE); k++, tried++) {
                try_value(MT_COMMANDS[v], &all.refs[i], HOSTILE[k]);
            }
        }
        mt_option_set_free_values(&all);
        mt_option_set_release(&all);
        mt_settings_free(MT_COMMANDS[v], values);
    }
    ck_assert_uint_gt(tried, 1000);
}
END_TEST

UNIT_MAIN("options", groups_own_their_settings, all_kinds, values_out_of_bounds, own_hide_common,
          no_table_no_csv, table_has_csv, filters, bad_filters, costly_expressions,
          hostile_values_of_all_verbs)
