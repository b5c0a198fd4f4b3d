/* SPDX-License-Identifier: MIT */
/* Views: stacks dropped, names masked; and the original as it was. */
#include <stdlib.h>
#include <string.h>

#include "snapshot/model/builder.h"
#include "torch/keys.h"
#include "snapshot/model/step_name.h"
#include "snapshot/model/view.h"
#include "snapshot/write/write.h"

#include "unit.h"

#define ALL(count) ((1u << (count)) - 1)

static struct mt_builder *b;
static struct mt_snapshot s;

static uint32_t str(const char *text)
{
    uint32_t id = mt_builder_cstr(b, text);
    ck_assert_uint_ne(id, 0);
    return id;
}

static uint32_t frame(const char *name, const char *file, int line)
{
    struct mt_frame f = {str(name), str(file), line, 0, ALL(MT_FRAME_KEY_COUNT)};
    return mt_builder_frame(b, &f);
}

static uint32_t extra(const char *key, const char *text)
{
    struct mt_value pair[2] = {{.kind = MT_VALUE_STR, .u.id = str(key)},
                               {.kind = MT_VALUE_STR, .u.id = str(text)}};
    return mt_builder_extra(b, 0, &pair[0], &pair[1]);
}

static uint32_t settings(void)
{
    struct mt_value pairs[4] = {
        {.kind = MT_VALUE_STR, .u.id = str("PYTORCH_CUDA_ALLOC_CONF")},
        {.kind = MT_VALUE_STR, .u.id = str("expandable_segments:True")},
        {.kind = MT_VALUE_STR, .u.id = str("owner")},
        {.kind = MT_VALUE_STR, .u.id = str("mallory")},
    };
    struct mt_value dict = {.kind = MT_VALUE_DICT, .n = 2, .u.id = mt_builder_values(b, pairs, 4)};
    return mt_builder_values(b, &dict, 1);
}

/* memtool's own key, with a library under its path as in the frames. */
static uint32_t own(void)
{
    struct mt_value library[2] = {
        {.kind = MT_VALUE_STR, .u.id = str("library")},
        {.kind = MT_VALUE_STR, .u.id = str("/home/mallory/secret_model.py")},
    };
    struct mt_value entry = {
        .kind = MT_VALUE_DICT, .n = 1, .u.id = mt_builder_values(b, library, 2)};
    struct mt_value pairs[4] = {
        {.kind = MT_VALUE_STR, .u.id = str("mode")},
        {.kind = MT_VALUE_STR, .u.id = str("record")},
        {.kind = MT_VALUE_STR, .u.id = str("libraries")},
        {.kind = MT_VALUE_LIST, .n = 1, .u.id = mt_builder_values(b, &entry, 1)},
    };
    struct mt_value dict = {.kind = MT_VALUE_DICT, .n = 2, .u.id = mt_builder_values(b, pairs, 4)};
    return mt_builder_values(b, &dict, 1);
}

static void add_events(uint32_t stack, uint32_t mark)
{
    uint32_t keys = 1u << MT_EVENT_KEY_action | 1u << MT_EVENT_KEY_user_metadata |
                    1u << MT_EVENT_KEY_frames | 1u << MT_EVENT_KEY_category;
    size_t usual = mt_builder_event_shape(b, keys, 0);
    size_t odd = mt_builder_event_shape(b, keys & ~(1u << MT_EVENT_KEY_category), 0);
    struct mt_event e[2] = {
        {.size = 512, .stack = stack, .action = MT_ACTION_ALLOC, .shape = (uint8_t)usual},
        {.stack = mark, .action = MT_ACTION_USER_DEFINED, .shape = (uint8_t)odd}};
    ck_assert(mt_builder_event(b, &e[0]) && mt_builder_event(b, &e[1]));
    ck_assert(mt_builder_event_column(b, 0, MT_COLUMN_USER_METADATA, str("run of mallory 7")));
    ck_assert(mt_builder_event_column(b, 0, MT_COLUMN_CATEGORY, str("parameter")));
    ck_assert(
        mt_builder_event_column(b, 0, MT_COLUMN_EXTRA, extra("forward_frames", "secret_loss")));
    ck_assert(mt_builder_trace(b, 0, 2, false));
}

static void build(void)
{
    struct mt_error err;
    b = mt_builder_new(1);
    uint32_t frames[2] = {frame("parameter", "/home/mallory/secret_model.py", 3),
                          frame("<module>", "C:\\mallory\\run", 9)};
    uint32_t mark = frame("START", "secret step_12", 0);
    uint32_t stack = mt_builder_stack(b, frames, 2);
    add_events(stack, mt_builder_stack(b, &mark, 1));
    struct mt_block block = {.size = 512,
                             .stack = stack,
                             .state = MT_BLOCK_ALLOCATED,
                             .present = 1u << MT_BLOCK_KEY_state | 1u << MT_BLOCK_KEY_frames};
    struct mt_segment g = {.total_size = 512,
                           .n_blocks = 1,
                           .stack = stack,
                           .present = 1u << MT_SEGMENT_KEY_frames | 1u << MT_SEGMENT_KEY_blocks};
    ck_assert(mt_builder_block(b, &block) && mt_builder_segment(b, &g, false));
    struct mt_annotation a = {str("secret step_12"),       str("START"), 0, 5, 0,
                              ALL(MT_ANNOTATION_KEY_COUNT)};
    ck_assert(mt_builder_annotation(b, &a));
    mt_builder_top(b, ALL(MT_TOP_KEY_host_segments) | 1u << MT_TOP_KEY_memtool, settings(),
                   extra("x_note", "by mallory"));
    mt_builder_own(b, own());
    ck_assert_int_eq(mt_builder_finish(b, &s, &err), MT_OK);
}

static char *as_json(const struct mt_snapshot *snapshot)
{
    static const struct mt_write_options o = {.format = MT_WRITE_JSON};
    struct mt_error err;
    FILE *f = tmpfile();
    ck_assert_int_eq(mt_snapshot_write(snapshot, &o, f, &err), MT_OK);
    size_t n = (size_t)ftell(f);
    char *text = calloc(n + 1, 1);
    rewind(f);
    ck_assert_uint_eq(fread(text, 1, n, f), n);
    fclose(f);
    return text;
}

static char *before;

static void setup(void)
{
    build();
    before = as_json(&s);
}

static void teardown(void)
{
    char *after = as_json(&s);
    ck_assert_str_eq(before, after);
    free(before);
    free(after);
    mt_snapshot_release(&s);
}

START_TEST(no_change)
{
    struct mt_view v;
    mt_view_init(&v, &s);
    char *text = as_json(&v.s);
    ck_assert_str_eq(text, before);
    free(text);
    mt_view_release(&v);
}
END_TEST

START_TEST(frames_dropped)
{
    struct mt_view v;
    struct mt_error err;
    mt_view_init(&v, &s);
    ck_assert_int_eq(mt_view_drop_frames(&v, &err), MT_OK);
    char *text = as_json(&v.s);
    ck_assert_ptr_null(strstr(text, "\"filename\":\"/home/mallory/secret_model"));
    ck_assert_ptr_null(strstr(text, "forward_frames"));
    ck_assert_ptr_nonnull(strstr(text,
                                 "{\"frames\":[],\"blocks\":[\n{\"state\":\"active_allocated\","
                                 "\"frames\":[]}]}"));
    ck_assert_ptr_nonnull(strstr(text, "\"user_metadata\":\"run of mallory 7\",\"category\""));
    /* the frame of a user_defined event is an annotation, not a stack */
    ck_assert_ptr_nonnull(strstr(text, "\"name\":\"START\",\"filename\":\"secret step_12\""));
    free(text);
    mt_view_release(&v);
}
END_TEST

static const char *const SECRETS[] = {"mallory", "secret", "model", "run",        "loss",
                                      "step_",   "module", "home",  "note\":\"by"};

static char *masked(const char *salt)
{
    struct mt_view v;
    struct mt_error err;
    mt_view_init(&v, &s);
    ck_assert_int_eq(mt_view_anonymize(&v, mt_mask_key_from(mt_str_from(salt)), &err), MT_OK);
    char *text = as_json(&v.s);
    mt_view_release(&v);
    return text;
}

START_TEST(names_masked)
{
    char *text = masked("a");
    for (size_t i = 0; i < MT_COUNT(SECRETS); i++) {
        ck_assert_msg(!strstr(text, SECRETS[i]), "%s is left in %s", SECRETS[i], text);
    }
    /* what PyTorch defines stays, also where a function has the same name */
    ck_assert_ptr_nonnull(strstr(text, "\"category\":\"parameter\""));
    ck_assert_ptr_null(strstr(text, "\"name\":\"parameter\""));
    ck_assert_ptr_nonnull(strstr(text, "\"PYTORCH_CUDA_ALLOC_CONF\":\"expandable_segments:True\""));
    ck_assert_ptr_nonnull(strstr(text, "\"name\":\"START\""));
    ck_assert_ptr_nonnull(strstr(text, "\"x_note\":\""));
    free(text);
}
END_TEST

/* The value of "key" behind the first `from` in text; up to the quote. */
static struct mt_str value_behind(const char *text, const char *from)
{
    const char *p = strstr(text, from);
    ck_assert_ptr_nonnull(p);
    p += strlen(from);
    return (struct mt_str){p, strcspn(p, "\"")};
}

START_TEST(structure_stays)
{
    char *text = masked("a");
    struct mt_str path = value_behind(text, "\"filename\":\"/");
    ck_assert_uint_eq(path.n, 14 + 1 + 14 + 1 + 14 + strlen(".py"));
    ck_assert_mem_eq(path.p + path.n - 3, ".py", 3);
    struct mt_str library = value_behind(text, "\"memtool\":{\"mode\":\"record\","
                                               "\"libraries\":[{\"library\":\"/");
    ck_assert_uint_eq(library.n, path.n);
    ck_assert_mem_eq(library.p, path.p, path.n);
    struct mt_str name = value_behind(text, "\"name\":\"<");
    ck_assert_uint_eq(name.n, 14 + 1);
    struct mt_str note = value_behind(text, "\"user_metadata\":\"");
    ck_assert_mem_eq(note.p + note.n - 2, " 7", 2);
    struct mt_str step = value_behind(text, "\"stage\":\"START\",\"name\":\"");
    ck_assert_uint_eq(step.n, 14 + 1 + 14 + 2 + 3); /* "step" is a name of rank 3 */
    ck_assert_mem_eq(step.p + step.n - 5, "12~~~", 5);
    ck_assert_int_eq(mt_step_name_rank(step), mt_step_name_rank(MT_STR("secret step_12")));
    /* the same annotation, told by a user_defined event */
    struct mt_str mark = value_behind(text, "\"name\":\"START\",\"filename\":\"");
    ck_assert(mt_str_equal(mark, step));
    free(text);
}
END_TEST

START_TEST(same_salt_same_numbers)
{
    char *a = masked("a"), *again = masked("a"), *other = masked("b");
    ck_assert_str_eq(a, again);
    ck_assert_str_ne(a, other);
    free(a);
    free(again);
    free(other);
}
END_TEST

START_TEST(dropped_and_masked)
{
    struct mt_view v;
    struct mt_error err;
    mt_view_init(&v, &s);
    ck_assert_int_eq(mt_view_drop_frames(&v, &err), MT_OK);
    ck_assert_int_eq(mt_view_anonymize(&v, mt_mask_key_from(MT_STR("k")), &err), MT_OK);
    char *text = as_json(&v.s);
    ck_assert_ptr_null(strstr(text, "mallory"));
    free(text);
    mt_view_release(&v);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("view");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, no_change);
    tcase_add_test(t, frames_dropped);
    tcase_add_test(t, names_masked);
    tcase_add_test(t, structure_stays);
    tcase_add_test(t, same_salt_same_numbers);
    tcase_add_test(t, dropped_and_masked);
    return unit_run_cases("view", t);
}
