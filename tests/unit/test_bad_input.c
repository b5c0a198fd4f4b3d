/* SPDX-License-Identifier: MIT */
/* Damaged and hostile input: one row each, with the exact message and offset that it must give. */
#include "snapshot/read/read.h"

#include "unit.h"

#define BYTES(literal) literal, sizeof(literal) - 1

/* A pickle of protocol 2 with {"segments": [], "device_traces": [[ITEMS]]}. */
#define TRACE(items) "\x80\x02}(X\x08\0\0\0segments]X\x0d\0\0\0device_traces](](" items "eeu."

static const struct row {
    const char *bytes;
    size_t n;
    enum mt_status status;
    uint64_t offset;
    const char *text;
} ROWS[] = {
    {BYTES(""), MT_FORMAT, MT_NO_OFFSET, "not a memory snapshot (it is empty)"},
    {BYTES("hello world\n"), MT_FORMAT, MT_NO_OFFSET,
     "not a memory snapshot (it is text, as of a log)"},
    {BYTES("\0\0\0\0"), MT_FORMAT, 0,
     "not a memory snapshot (neither pickle nor JSON; it begins with byte 0x00)"},
    {BYTES("\x28\xb5\x2f\xfd...."), MT_UNSUPPORTED, MT_NO_OFFSET,
     "packed with zstd, which memtool does not unpack"},
    {BYTES("\xfd\x37zXZ\0"), MT_UNSUPPORTED, MT_NO_OFFSET,
     "packed with xz, which memtool does not unpack"},
    {BYTES("<!DOCTYPE html><html></html>"), MT_FORMAT, MT_NO_OFFSET,
     "not a memory snapshot (HTML without a snapshot in it)"},
    {BYTES("PK\3\4"), MT_FORMAT, 4, "the zip's entry ends early at byte 4 of the file"},
    {BYTES("\x1f\x8b\x08"), MT_FORMAT, 3, "the compressed data ends early at byte 3 of the file"},
    {BYTES("\x1f\x8b\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), MT_FORMAT, 4,
     "damaged compressed data near byte 4 of the file: unknown compression method"},

    /* what would run code */
    {BYTES("\x80\x04"
           "cposix\nsystem\n(S'id'\ntR."),
     MT_UNSUPPORTED, 2, "the pickle would run code: opcode GLOBAL posix.system at byte 2"},
    {BYTES("\x80\x04\x8c\x05posix\x8c\x06system\x93."), MT_UNSUPPORTED, 17,
     "the pickle would run code: opcode STACK_GLOBAL at byte 17"},
    {BYTES("\x80\x02K\x01R."), MT_FORMAT, 4,
     "REDUCE would call something; a snapshot holds data only"},
    {BYTES("\x80\x02}}b."), MT_UNSUPPORTED, 4, "the pickle would run code: opcode BUILD at byte 4"},
    {BYTES("\x80\x02K\x01Q."), MT_UNSUPPORTED, 4,
     "the pickle would run code: opcode BINPERSID at byte 4"},
    {BYTES("\x80\x02(i__main__\nX\n."), MT_UNSUPPORTED, 3,
     "the pickle would run code: opcode INST at byte 3"},

    /* damage */
    {BYTES("\x80\x07."), MT_UNSUPPORTED, 0, "pickle protocol 7 (0 to 5 are known)"},
    {BYTES("\x80\x02\xff."), MT_FORMAT, 2, "unknown pickle opcode 0xff at byte 2"},
    {BYTES("\x80\x04}"), MT_FORMAT, 3,
     "the input ends in the middle, at byte 3 (the STOP opcode is missing)"},
    {BYTES("\x80\x04j\1\2"), MT_FORMAT, 5,
     "the input ends in the middle, at byte 5 (opcode LONG_BINGET at byte 2 needs 2 more bytes)"},
    {BYTES("\x80\x04\x8c\x09seg"), MT_FORMAT, 7,
     "the input ends in the middle, at byte 7 (opcode SHORT_BINUNICODE at byte 2 needs 6 more "
     "bytes)"},
    {BYTES("\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\xff"), MT_FORMAT, 11,
     "the input ends in the middle, at byte 11 (opcode BINBYTES8 at byte 2 needs "
     "18446744073709551615 more "
     "bytes)"},
    {BYTES("\x80\x04]h\x07."), MT_FORMAT, 3, "memo index 7 was never stored"},
    {BYTES("\x80\x04]r\xff\xff\xff\xff."), MT_FORMAT, 3,
     "memo index 4294967295 is larger than the bytes before it"},
    {BYTES("\x80\x04]q\0q\1."), MT_FORMAT, 5,
     "one object gets two memo indexes, 0 and 1; no known writer does that"},
    {BYTES("\x80\x04]\x94\x94."), MT_FORMAT, 4,
     "one object gets two memo indexes, 0 and 1; no known writer does that"},
    {BYTES("\x80\x04}\x94(K\1K\2u\x94."), MT_FORMAT, 10,
     "one object gets two memo indexes, 0 and 1; no known writer does that"},
    {BYTES("\x80\x04"
           "0."),
     MT_FORMAT, 2, "POP with nothing to pop"},
    {BYTES("\x80\x04"
           "e."),
     MT_FORMAT, 2, "an opcode needs a mark, and there is none"},
    {BYTES("\x80\x04K\x01(K\x02"
           "e."),
     MT_FORMAT, 7, "an item is appended to an integer"},
    {BYTES("\x80\x04]]a"
           "a."),
     MT_FORMAT, 5, "an item is appended, and there is no list"},
    {BYTES("\x80\x04}(K\x01u."), MT_FORMAT, 6,
     "a key is set, and there is no dictionary or no value"},
    {BYTES("\x80\x04](."), MT_FORMAT, 4, "the pickle stops with open containers"},
    {BYTES("\x80\x04]q\0h\0"
           "a."),
     MT_FORMAT, 8, "not a memory snapshot (a list of other things at the top)"},
    {BYTES("\x80\x04]q\0(h\0h\0"
           "eh\0"
           "a."),
     MT_FORMAT, 13, "an item is appended to a finished list"},
    {BYTES("\x80\x04K\x01."), MT_FORMAT, 4, "not a memory snapshot (an integer at the top)"},
    {BYTES("\x80\x04}."), MT_FORMAT, 3, "not a memory snapshot (an empty dictionary at the top)"},
    {BYTES("\x80\x04}(X\1\0\0\0aK\1u."), MT_FORMAT, 13,
     "not a memory snapshot (a dictionary without 'segments')"},

    /* values that are not what they should be */
    {BYTES(TRACE("}(X\x06\0\0\0actionX\x05\0\0\0allocX\x04\0\0\0sizeX\x01\0\0\0xu")), MT_FORMAT, 78,
     "event: size: expected an integer, found a string"},
    {BYTES(
         "{\"segments\":[{\"total_size\":9,\"blocks\":[{\"state\":\"active_allocated\",\"size\":9,"
         "\"requested_size\":\"9\"}]}]}"),
     MT_FORMAT, 96, "block: requested_size: no number of bytes, in a block that is in use"},
    {BYTES(TRACE("}(X\x06\0\0\0actionX\x05\0\0\0allocX\x04\0\0\0sizeJ\xff\xff\xff\xffu")),
     MT_FORMAT, 77, "event: size: -1 is negative"},
    {BYTES(TRACE("K\1K\2")), MT_FORMAT, 47, "device_traces[0] is no list of events"},

    /* JSON */
    {BYTES("{\"segments\":[{\"address\":1e400}],\"device_traces\":[]}"), MT_FORMAT, 50,
     "segments: expected a list of segments, found a list of other things"},
    {BYTES("{\"segments\":[}"), MT_FORMAT, 13, "JSON: expected a value, found '}' at byte 13"},
    {BYTES("{\"segments\" []}"), MT_FORMAT, 12, "JSON: expected ':', found '[' at byte 12"},
    {BYTES("{\"segments\":[] \"x\"}"), MT_FORMAT, 15,
     "JSON: expected ',' or '}', found '\"' at byte 15"},
    {BYTES("{\"segments\":[]}x"), MT_FORMAT, 15, "JSON: expected the end, found 'x' at byte 15"},
    {BYTES("{\"segments\":["), MT_FORMAT, 13,
     "the input ends in the middle, at byte 13 (inside JSON)"},
    {BYTES("{\"segm"), MT_FORMAT, 6,
     "not a memory snapshot (the input ends in the middle, at byte 6 (inside a string))"},
    {BYTES("{\"a\\q\":1}"), MT_FORMAT, 1,
     "not a memory snapshot (JSON: a string with a malformed escape at byte 1)"},
    {BYTES("[1,]"), MT_FORMAT, 3,
     "not a memory snapshot (JSON: expected a value, found ']' at byte 3)"},
    {BYTES("[-]"), MT_FORMAT, 1,
     "not a memory snapshot (JSON: expected a number, found '-' at byte 1)"},
    {BYTES("[rank0]: Traceback"), MT_FORMAT, MT_NO_OFFSET,
     "not a memory snapshot (it is text, as of a log)"},
    {BYTES("[2026-11-29 12:00:00] INFO"), MT_FORMAT, MT_NO_OFFSET,
     "not a memory snapshot (it is text, as of a log)"},
    {BYTES("{\"level\":\"info\"}\n{\"level\":\"error\"}"), MT_FORMAT, 17,
     "not a memory snapshot (JSON: expected the end, found '{' at byte 17)"},
    {BYTES("[{\"name\": \"[memory]\"}"), MT_FORMAT, 21,
     "not a memory snapshot (the input ends in the middle, at byte 21 (inside JSON))"},
    {BYTES("<rank0> Traceback"), MT_FORMAT, MT_NO_OFFSET,
     "not a memory snapshot (it is text, as of a log)"},
    {BYTES("(dp rank 0) Traceback\n"), MT_FORMAT, MT_NO_OFFSET,
     "not a memory snapshot (it is text, as of a log)"},
    {BYTES("[1]"), MT_FORMAT, 2, "not a memory snapshot (a list of other things at the top)"},
};

START_TEST(each_row_gives_its_message)
{
    const struct row *row = &ROWS[_i];
    for (size_t chunk = 0; chunk < 4; chunk++) {
        struct mt_read_options o = {0};
        struct mt_snapshot s;
        struct mt_error err;
        enum mt_status status = mt_snapshot_read_memory(row->bytes, row->n, chunk, &o, &s, &err);
        ck_assert_msg(status == row->status, "row %d: status %d, '%s'", _i, status,
                      status ? err.text : "");
        ck_assert_str_eq(err.text, row->text);
        ck_assert_msg(err.offset == row->offset, "row %d (%s): offset %llu", _i, row->text,
                      (unsigned long long)err.offset);
    }
}
END_TEST

/* The limits hold at their value and break one above it. */
START_TEST(limits)
{
    static const char three[] =
        TRACE("}(X\x06\0\0\0actionX\x05\0\0\0allocu}(X\x06\0\0\0actionX\x05\0"
              "\0\0allocu}(X\x06\0\0\0actionX\x05\0\0\0allocu");
    const size_t n = sizeof three - 1;
    const struct {
        struct mt_read_options o;
        enum mt_status status;
    } rows[] = {
        {{.max_events = 3}, MT_OK}, {{.max_events = 2}, MT_LIMIT},
        {{.max_depth = 4}, MT_OK},  {{.max_depth = 3}, MT_LIMIT},
        {{.max_input = n}, MT_OK},  {{.max_input = n - 1}, MT_LIMIT},
    };
    for (size_t i = 0; i < MT_COUNT(rows); i++) {
        struct mt_snapshot s;
        struct mt_error err;
        enum mt_status status = mt_snapshot_read_memory(three, n, 0, &rows[i].o, &s, &err);
        ck_assert_msg(status == rows[i].status, "row %zu: status %d", i, status);
        if (status == MT_OK) {
            ck_assert_uint_eq(s.n_events, 3);
            mt_snapshot_release(&s);
        } else {
            ck_assert_uint_gt(strlen(err.hint), 0);
        }
    }
}
END_TEST

/* Two lists of two lists of two lists ...: 60 opcodes that stand for 2^30 values must stay cheap.
 */
START_TEST(shared_lists_do_not_multiply)
{
    struct mt_buf b = {0};
    mt_buf_add(&b, "\x80\x04}(X\x08\0\0\0segments]X\1\0\0\0x(]q\0", 28);
    for (int i = 1; i < 30; i++) {
        const char list[] = {']', '(', 'h', (char)(i - 1), 'h', (char)(i - 1), 'e', 'q', (char)i};
        mt_buf_add(&b, list, sizeof list);
    }
    mt_buf_add(&b, "tu.", 3);
    struct mt_read_options o = {0};
    struct mt_snapshot s;
    struct mt_error err;
    enum mt_status status = mt_snapshot_read_memory(b.p, b.n, 0, &o, &s, &err);
    ck_assert_msg(status == MT_OK, "%s", err.text);
    ck_assert_uint_lt(s.n_values, 200);
    mt_snapshot_release(&s);
    mt_buf_release(&b);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("bad_input");
    tcase_add_loop_test(t, each_row_gives_its_message, 0, (int)MT_COUNT(ROWS));
    tcase_add_test(t, limits);
    tcase_add_test(t, shared_lists_do_not_multiply);
    return unit_run_cases("bad_input", t);
}
