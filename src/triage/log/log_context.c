/* SPDX-License-Identifier: MIT */
/* What stands in front of a message: the frames and lines that tell the phase, and the last step.
 */
#include "triage/log/log.h"

/* Bytes before a message in which its phase is looked for: some hundred frames. */
#define PHASE_BYTES 8000

/* Frames, and progress bars over shards and graphs: what they count are no steps. */
static bool counts_other_things(struct mt_str line)
{
    static const struct mt_str WORDS[] = {
        MT_STR_INIT("File \""), MT_STR_INIT("apturing"),  MT_STR_INIT("oading"),
        MT_STR_INIT("hards"),   MT_STR_INIT("ownload"),   MT_STR_INIT("Map:"),
        MT_STR_INIT("okeniz"),  MT_STR_INIT("enerating"), MT_STR_INIT("etching")};
    for (size_t i = 0; i < MT_COUNT(WORDS); i++) {
        if (mt_str_find(line, WORDS[i]) != SIZE_MAX) {
            return true;
        }
    }
    return false;
}

/* The step that the nearest of the lines before tells. */
static int64_t nearest_step(struct mt_str before, bool *failed)
{
    struct mt_buf tight = {0};
    int64_t step = -1;
    size_t end = before.n;
    for (int lines = 0; lines < 60 && end > 0 && step < 0; lines++) {
        size_t begin = end - 1;
        while (begin > 0 && before.p[begin - 1] != '\n') {
            begin--;
        }
        struct mt_str line = {before.p + begin, end - begin};
        if (line.n < 400 && !counts_other_things(line) &&
            (mt_str_find(line, MT_STR("tep")) != SIZE_MAX ||
             mt_str_find(line, MT_STR("ter")) != SIZE_MAX ||
             mt_str_find(line, MT_STR("it/s")) != SIZE_MAX ||
             mt_str_find(line, MT_STR("s/it")) != SIZE_MAX)) {
            mt_buf_reset(&tight);
            mt_log_squeeze(&tight, line);
            step = mt_step_number(mt_buf_view(&tight));
            *failed |= tight.failed;
        }
        end = begin;
    }
    mt_buf_release(&tight);
    return step;
}

/* The phase that the last lines tell. */
static void take_phase(struct mt_phase_state *s, struct mt_str before, bool *failed)
{
    struct mt_buf tight = {0};
    size_t at = before.n > PHASE_BYTES ? before.n - PHASE_BYTES : 0;
    while (at < before.n) {
        size_t end = at;
        while (end < before.n && before.p[end] != '\n') {
            end++;
        }
        mt_buf_reset(&tight);
        mt_log_squeeze(&tight, (struct mt_str){before.p + at, end - at});
        mt_phase_take(s, mt_buf_view(&tight));
        *failed |= tight.failed;
        at = end + 1;
    }
    mt_buf_release(&tight);
}

void mt_log_context(struct mt_log *log, struct mt_str before, struct mt_log_message *m)
{
    m->phase = (struct mt_phase_state){0};
    take_phase(&m->phase, before, &log->no_memory);
    m->step = nearest_step(before, &log->no_memory);
}
