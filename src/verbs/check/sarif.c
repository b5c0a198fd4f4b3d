/* SPDX-License-Identifier: MIT */
/* Outcomes as SARIF 2.1.0 (OASIS, 2020): a result for each budget that is broken and each file that
 * cannot be read; what is kept is no result. */
#include <memtool/version.h>

#include "print/json_put.h"
#include "verbs/check/print.h"

#define UNREADABLE "unreadable"

static void put_rules(struct mt_put *p, cJSON *driver)
{
    cJSON *rules = mt_put_array(p, driver, "rules");
    for (int k = 0; k < MT_BUDGET_RULE_COUNT; k++) {
        cJSON *rule = mt_put_object(p, rules, NULL);
        mt_put_text(p, rule, "id", mt_budget_rule_name((enum mt_budget_rule)k));
    }
    mt_put_text(p, mt_put_object(p, rules, NULL), "id", UNREADABLE);
}

static void put_result(struct mt_put *p, cJSON *results, const char *rule, const char *file,
                       struct mt_str message)
{
    cJSON *o = mt_put_object(p, results, NULL);
    mt_put_text(p, o, "ruleId", rule);
    mt_put_text(p, o, "level", "error");
    mt_put_str(p, mt_put_object(p, o, "message"), "text", message);
    cJSON *place = mt_put_object(p, mt_put_array(p, o, "locations"), NULL);
    cJSON *physical = mt_put_object(p, place, "physicalLocation");
    mt_put_text(p, mt_put_object(p, physical, "artifactLocation"), "uri", file);
}

static void put_outcome(struct mt_put *p, cJSON *results, const struct mt_check_outcome *o)
{
    static const struct mt_report plain = {.size = {MT_UNIT_AUTO, true}};
    struct mt_buf message = {0};
    if (o->error) {
        put_result(p, results, UNREADABLE, o->file, mt_str_from(o->error));
    }
    for (size_t i = 0; !o->error && i < o->n; i++) {
        if (!o->results[i].ok) {
            mt_buf_reset(&message);
            mt_check_say(&message, &plain, &o->results[i]);
            put_result(p, results, mt_budget_rule_name(o->results[i].rule), o->file,
                       mt_buf_view(&message));
        }
    }
    p->failed |= message.failed;
    mt_buf_release(&message);
}

enum mt_status mt_report_check_sarif(FILE *to, const struct mt_check_outcome *outcomes, size_t n,
                                     struct mt_error *err)
{
    struct mt_put p = {0};
    struct mt_report r = {.out = to};
    cJSON *root = cJSON_CreateObject();
    mt_put_text(&p, root, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    mt_put_text(&p, root, "version", "2.1.0");
    cJSON *run = mt_put_object(&p, mt_put_array(&p, root, "runs"), NULL);
    cJSON *driver = mt_put_object(&p, mt_put_object(&p, run, "tool"), "driver");
    mt_put_text(&p, driver, "name", "memtool");
    mt_put_text(&p, driver, "version", MT_VERSION);
    put_rules(&p, driver);
    cJSON *results = mt_put_array(&p, run, "results");
    for (size_t i = 0; i < n; i++) {
        put_outcome(&p, results, &outcomes[i]);
    }
    return mt_put_end(&p, &r, root, false, err);
}
