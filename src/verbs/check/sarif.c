/* SPDX-License-Identifier: MIT */
/* Outcomes as SARIF 2.1.0 (OASIS, 2020): a result for each budget that is broken and each file that
 * cannot be read; what is kept is no result. */
#include <memtool/version.h>
#include <string.h>

#include "print/report_json.h"
#include "verbs/check/print.h"

#define UNREADABLE "unreadable"

static void put_rules(struct mt_out driver)
{
    struct mt_out rules = mt_out_array(driver, "rules");
    for (int k = 0; k < MT_BUDGET_RULE_COUNT; k++) {
        struct mt_out rule = mt_out_object(rules, NULL);
        mt_out_text(rule, "id", mt_budget_rule_name((enum mt_budget_rule)k));
    }
    mt_out_text(mt_out_object(rules, NULL), "id", UNREADABLE);
}

/* A path as a URI: RFC 3986 leaves few bytes as they are. */
static void put_uri(struct mt_out o, const char *path)
{
    static const char PLAIN[] =
        "-._~/ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    struct mt_buf b = {0};
    for (const char *c = path; *c; c++) {
        if (strchr(PLAIN, *c)) {
            mt_buf_char(&b, *c);
        } else {
            mt_buf_printf(&b, "%%%02X", (unsigned char)*c);
        }
    }
    mt_out_buf(o, "uri", &b);
    mt_buf_release(&b);
}

static void put_result(struct mt_out results, const char *rule, const char *file,
                       struct mt_str message)
{
    struct mt_out o = mt_out_object(results, NULL);
    mt_out_text(o, "ruleId", rule);
    mt_out_text(o, "level", "error");
    mt_out_str(mt_out_object(o, "message"), "text", message);
    struct mt_out place = mt_out_object(mt_out_array(o, "locations"), NULL);
    struct mt_out physical = mt_out_object(place, "physicalLocation");
    put_uri(mt_out_object(physical, "artifactLocation"), file);
}

static void put_outcome(struct mt_out results, const struct mt_check_outcome *o)
{
    static const struct mt_report plain = {.size = {MT_UNIT_AUTO, true}};
    struct mt_buf message = {0};
    if (o->error) {
        put_result(results, UNREADABLE, o->file, mt_str_from(o->error));
    }
    for (size_t i = 0; !o->error && i < o->n; i++) {
        if (!o->results[i].ok) {
            mt_buf_reset(&message);
            mt_check_say(&message, &plain, &o->results[i]);
            put_result(results, mt_budget_rule_name(o->results[i].rule), o->file,
                       mt_buf_view(&message));
        }
    }
    results.json->text.failed |= message.failed;
    mt_buf_release(&message);
}

enum mt_status mt_report_check_sarif(FILE *to, const struct mt_check_outcome *outcomes, size_t n,
                                     struct mt_error *err)
{
    struct mt_json_out json = {.to = to, .indented = true};
    struct mt_out root = mt_out_object(mt_out_here(&json), NULL);
    mt_out_text(root, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    mt_out_text(root, "version", "2.1.0");
    struct mt_out run = mt_out_object(mt_out_array(root, "runs"), NULL);
    struct mt_out driver = mt_out_object(mt_out_object(run, "tool"), "driver");
    mt_out_text(driver, "name", "memtool");
    mt_out_text(driver, "version", MT_VERSION);
    put_rules(driver);
    struct mt_out results = mt_out_array(run, "results");
    for (size_t i = 0; i < n; i++) {
        put_outcome(results, &outcomes[i]);
    }
    return mt_report_json_end(root, err);
}
