/* SPDX-License-Identifier: MIT */
/*
 * Takes off what writers put around the letters of a line: colours, HTML tags and entities, escapes
 * that JSON, repr() and URLs spell out, and the entry of docker's json-file.
 */
#include "support/bytes.h"
#include "triage/log/log_lines.h"

/* Eight copies of a byte. */
#define MT_EACH_BYTE(c) (UINT64_C(0x0101010101010101) * (unsigned char)(c))

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Length of a colour or cursor sequence whose ESC lies before s, 0 when there is none. A sequence
 * that lost its ESC on the way ("[0;31m") counts as well. */
static size_t escape_length(struct mt_str s)
{
    if (s.n == 0) {
        return 0;
    }
    if (s.p[0] == ']') { /* title of a terminal, ended by BEL or ESC \ */
        for (size_t i = 1; i < s.n && i < 256; i++) {
            if (s.p[i] == '\a' || s.p[i] == '\\') {
                return i + 1;
            }
        }
        return 1;
    }
    if (s.p[0] != '[') {
        return 1;
    }
    for (size_t i = 1; i < s.n && i < 32; i++) {
        if (s.p[i] >= 0x40 && s.p[i] <= 0x7e) {
            return i + 1;
        }
    }
    return 1;
}

static size_t bare_color_length(struct mt_str s)
{
    size_t i = 1;
    while (i < s.n && i < 16 && (is_digit(s.p[i]) || s.p[i] == ';')) {
        i++;
    }
    return i > 1 && i < s.n && s.p[i] == 'm' ? i + 1 : 0;
}

/* Escape sequences that a JSON writer or repr() spelled out: \u001b[31m, \x1b[0m, \033[1m. */
static size_t spelled_escape_length(struct mt_str s)
{
    static const struct mt_str WORDS[] = {MT_STR_INIT("\\u001b"), MT_STR_INIT("\\x1b"),
                                          MT_STR_INIT("\\033"), MT_STR_INIT("\\u001B"),
                                          MT_STR_INIT("\\e")};
    for (size_t i = 0; i < MT_COUNT(WORDS); i++) {
        if (mt_str_starts(s, WORDS[i]) && s.n > WORDS[i].n && s.p[WORDS[i].n] == '[') {
            struct mt_str rest = {s.p + WORDS[i].n, s.n - WORDS[i].n};
            return WORDS[i].n + escape_length(rest);
        }
    }
    return 0;
}

/* Length of an HTML tag at s, 0 when s is something else. "<module>" is taken for one: harmless. */
static size_t tag_length(struct mt_str s)
{
    if (s.n < 3 || !(is_alpha(s.p[1]) || s.p[1] == '/')) {
        return 0;
    }
    for (size_t i = 2; i < s.n && i < 160; i++) {
        if (s.p[i] == '>') {
            return i + 1;
        }
        if (s.p[i] == '<') {
            return 0;
        }
    }
    return 0;
}

static const struct {
    struct mt_str name;
    char value;
} ENTITIES[] = {{MT_STR_INIT("&amp;nbsp;"), ' '}, {MT_STR_INIT("&amp;quot;"), '"'},
                {MT_STR_INIT("&amp;gt;"), '>'},   {MT_STR_INIT("&amp;lt;"), '<'},
                {MT_STR_INIT("&gt;"), '>'},       {MT_STR_INIT("&lt;"), '<'},
                {MT_STR_INIT("&amp;"), '&'},      {MT_STR_INIT("&quot;"), '"'},
                {MT_STR_INIT("&#39;"), '\''},     {MT_STR_INIT("&nbsp;"), ' '},
                {MT_STR_INIT("&#x27;"), '\''},    {MT_STR_INIT("&#10;"), ' '},
                {MT_STR_INIT("&apos;"), '\''},    {MT_STR_INIT("&#34;"), '"'},
                {MT_STR_INIT("&#62;"), '>'}};

static int hex_value(char c)
{
    return is_digit(c)            ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* "\\u0020", "%20": printable ASCII that a writer spelled out in two digits behind `mark`. */
static size_t spelled_char_length(struct mt_str s, struct mt_str mark, char *value)
{
    int high = s.n > mark.n + 1 && mt_str_starts(s, mark) ? hex_value(s.p[mark.n]) : -1;
    int low = high >= 0 ? hex_value(s.p[mark.n + 1]) : -1;
    if (low < 0 || high > 7) {
        return 0;
    }
    *value = (char)(high * 16 + low < ' ' ? ' ' : high * 16 + low);
    return mark.n + 2;
}

/* "&#32;" */
static size_t numeric_entity_length(struct mt_str s, char *value)
{
    size_t i = 2;
    int code = 0;
    while (i < s.n && i < 5 && is_digit(s.p[i])) {
        code = code * 10 + (s.p[i++] - '0');
    }
    if (!mt_str_starts(s, MT_STR("&#")) || i == 2 || i >= s.n || s.p[i] != ';' || code > 126) {
        return 0;
    }
    *value = (char)(code < ' ' ? ' ' : code);
    return i + 1;
}

static size_t entity_length(struct mt_str s, char *value)
{
    for (size_t i = 0; i < MT_COUNT(ENTITIES); i++) {
        if (mt_str_starts(s, ENTITIES[i].name)) {
            *value = ENTITIES[i].value;
            return ENTITIES[i].name.n;
        }
    }
    return 0;
}

/* Bytes of s that stand for one byte (*value; 0: for nothing). */
static size_t clean_one(struct mt_str s, char *value)
{
    struct mt_str rest = {s.p + 1, s.n - 1};
    size_t n = 0;
    *value = s.p[0];
    switch (s.p[0]) {
    case '\x1b': *value = 0; return 1 + escape_length(rest);
    case '[': n = bare_color_length(s); break;
    case '<':
        n = tag_length(s);
        *value = n ? ' ' : '<';
        return n ? n : 1;
    case '&':
        n = entity_length(s, value);
        n = n ? n : numeric_entity_length(s, value);
        return n ? n : 1;
    case '%': n = spelled_char_length(s, MT_STR("%"), value); return n ? n : 1;
    case '\\':
        n = spelled_escape_length(s);
        if (n == 0 && s.n > 1 && (s.p[1] == 'n' || s.p[1] == 't' || s.p[1] == 'r')) {
            *value = ' ';
            return 2;
        }
        if (n == 0 && spelled_char_length(s, MT_STR("\\u00"), value) > 0) {
            return 6;
        }
        if (n == 0 && s.n > 1 && s.p[1] == '"') {
            *value = '"';
            return 2;
        }
        break;
    case '\r':
    case '\t':
    case '\0': *value = s.p[0] ? ' ' : 0; return 1;
    default: return 1;
    }
    if (n > 0) {
        *value = 0;
    }
    return n ? n : 1;
}

/* The line inside an entry of docker's json-file: {"log":"...\n","stream":"stderr","time":...} */
static struct mt_str unwrap_docker(struct mt_str raw)
{
    static const struct mt_str BEGINS[] = {MT_STR_INIT("{\"log\":\""), MT_STR_INIT("{\"log\": \"")};
    for (size_t i = 0; i < MT_COUNT(BEGINS); i++) {
        if (!mt_str_starts(raw, BEGINS[i])) {
            continue;
        }
        struct mt_str rest = {raw.p + BEGINS[i].n, raw.n - BEGINS[i].n};
        size_t end = mt_str_find(rest, MT_STR("\",\"stream\":"));
        end = end == SIZE_MAX ? mt_str_find(rest, MT_STR("\", \"stream\":")) : end;
        rest.n = end == SIZE_MAX ? rest.n : end;
        rest.n -= mt_str_ends(rest, MT_STR("\\n")) ? 2 : 0;
        return rest;
    }
    return raw;
}

/* Bit 7 of each byte that is zero; a byte above such a one may have it as well. */
static inline uint64_t zero_bytes(uint64_t w)
{
    return (w - MT_EACH_BYTE(1)) & ~w & MT_EACH_BYTE(0x80);
}

/* Whether eight bytes are all plain, a few odd ones (beyond ASCII) left aside. */
static inline bool all_plain(uint64_t w)
{
    uint64_t low = (w - MT_EACH_BYTE(' ')) & ~w & MT_EACH_BYTE(0x80);
    return (low | zero_bytes(w ^ MT_EACH_BYTE('[')) | zero_bytes(w ^ MT_EACH_BYTE('<')) |
            zero_bytes(w ^ MT_EACH_BYTE('&')) | zero_bytes(w ^ MT_EACH_BYTE('%')) |
            zero_bytes(w ^ MT_EACH_BYTE('\\'))) == 0;
}

static inline bool is_plain(char c)
{
    return (unsigned char)c >= ' ' && c != '[' && c != '<' && c != '&' && c != '\\' && c != '%';
}

void mt_log_clean(struct mt_buf *out, struct mt_str raw)
{
    raw = unwrap_docker(raw);
    for (size_t i = 0; i < raw.n;) {
        size_t plain = i; /* most text needs nothing: copy it in runs */
        while (plain + 8 <= raw.n && all_plain(mt_load64((const uint8_t *)raw.p + plain))) {
            plain += 8;
        }
        while (plain < raw.n && is_plain(raw.p[plain])) {
            plain++;
        }
        mt_buf_add(out, raw.p + i, plain - i);
        i = plain;
        if (i < raw.n) {
            char value;
            i += clean_one((struct mt_str){raw.p + i, raw.n - i}, &value);
            if (value) {
                mt_buf_char(out, value);
            }
        }
    }
}
