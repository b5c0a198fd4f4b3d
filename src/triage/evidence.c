/* SPDX-License-Identifier: MIT */
/* The sentences that say why: the rule's own, contradictions in the figures, when it happened, and
 * what else the log shows. */
#include <stdarg.h>
#include <stdio.h>

#include "support/checked.h"
#include "support/units.h"
#include "triage/advice/advice_when.h"
#include "triage/triage_state.h"

static struct mt_size_text size(uint64_t bytes)
{
    return mt_size_text(bytes, (struct mt_size_format){.unit = MT_UNIT_AUTO});
}

static void add(struct mt_triage *t, struct mt_str s)
{
    struct mt_str copy = mt_arena_copy(&t->arena, s.p, s.n);
    t->no_memory |= copy.p == NULL || !mt_vec_push(&t->evidence, copy);
}

void mt_evidence_add(struct mt_triage *t, const char *format, ...)
{
    char line[600];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (n > 0) {
        add(t, (struct mt_str){line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1});
    }
}

void mt_evidence_rule(struct mt_triage *t, const struct mt_rule *rule)
{
    struct mt_buf buf = {0};
    rule->say(&t->facts, &buf);
    t->no_memory |= buf.failed;
    if (buf.n > 0) {
        t->rules_said |= t->evidence.n < 64 ? UINT64_C(1) << t->evidence.n : 0;
        add(t, mt_buf_view(&buf));
    }
    mt_buf_release(&buf);
}

static const char *const LOOKALIKES[MT_KIND_COUNT] = {
    [MT_KIND_SOFT] = "An attempt to allocate failed, and the message itself says that the program "
                     "goes on.",
    [MT_KIND_BUDGET] = "The server compared its settings with the memory that there is and refused "
                       "to start: a setting is at fault, no request of memory failed.",
    [MT_KIND_POOL] = "The server's own pool of KV-cache tokens was used up by the requests that "
                     "ran. No request of memory to the card failed.",
    [MT_KIND_CONFLICT] = "The allocator stopped at a check of its own or at settings that exclude "
                         "each other; no memory ran out.",
    [MT_KIND_HOST_RAM] = "What ran out is the host's memory (RAM), not the GPU's.",
    [MT_KIND_KILLED] = "The process was killed from outside (SIGKILL), as the kernel or the "
                       "cluster does when the host's memory or the job's limit is exhausted.",
    [MT_KIND_SHM] = "What ran out is shared memory of the host (/dev/shm), not the GPU's memory.",
    [MT_KIND_DISK] = "A file could not be written: disk space or quota, not the GPU's memory.",
    [MT_KIND_ON_CHIP] = "A kernel asked for more on-chip shared memory (or registers) than one "
                        "core of the GPU has. The card's memory is not concerned.",
    [MT_KIND_DEVICE] = "This is another GPU error, not a lack of memory.",
    [MT_KIND_FEATURE] = "The allocator or the driver lacks what the program asked for; no memory "
                        "ran out.",
    [MT_KIND_UNSURE] = "The status says that the device lacks some resource; it names no memory, "
                       "and comes of a reset or a hung kernel as well.",
};

/* Who killed a process, where a line says it. */
static const char *killer(const struct mt_incident *i)
{
    static const struct {
        const char *format, *words;
    } KILLERS[] = {
        {"kernel-oom", "The kernel killed the process for the host's memory (RAM), not the GPU's"},
        {"slurm-oom", "Slurm says that a task was killed for the host's memory that the job may "
                      "take, not the GPU's"},
        {"pod-oom", "The container was killed for the host's memory that it may take, or that its "
                    "node has, not the GPU's"},
    };
    for (size_t k = 0; i->kind == MT_KIND_KILLED && k < MT_COUNT(KILLERS); k++) {
        if (strcmp(KILLERS[k].format, i->format) == 0) {
            return KILLERS[k].words;
        }
    }
    return NULL;
}

void mt_evidence_lookalike(struct mt_triage *t, const struct mt_incident *i)
{
    const char *text = LOOKALIKES[i->kind], *who = killer(i);
    if (who) {
        const struct mt_said_value *rss = mt_advice_said(&t->advisor, MT_SAID_KILLED_RSS);
        mt_evidence_add(t, rss ? "%s; it held %s." : "%s.", who,
                        rss ? size((uint64_t)rss->last).s : "");
        return;
    }
    if (i->kind == MT_KIND_HOST_RAM && i->doubtful) {
        text = "An arena of ONNX Runtime could not grow. Neither the message nor the log names a "
               "GPU provider, so it is taken for the host's memory (RAM).";
    }
    mt_evidence_add(t, "%s", text ? text : "No GPU memory ran out here.");
}

/* A retry that served leaves no message: the card had been full for that moment. */
static void say_retries(struct mt_triage *t)
{
    const struct mt_tables *tables = &t->log.tables;
    const struct mt_summary_table *last =
        tables->summaries.n ? &tables->summaries.v[tables->summaries.n - 1] : NULL;
    uint32_t both = 1u << MT_SUMMARY_ALLOCATED | 1u << MT_SUMMARY_RESERVED;
    if (last && last->retries > 0 && (last->present & both) == both) {
        mt_evidence_add(t,
                        "memory_summary (line %llu): cudaMalloc had failed and been retried, "
                        "%lld so far; %s was allocated and %s reserved.",
                        (unsigned long long)last->line, (long long)last->retries,
                        size(last->bytes[MT_SUMMARY_ALLOCATED][MT_SUMMARY_CURRENT]).s,
                        size(last->bytes[MT_SUMMARY_RESERVED][MT_SUMMARY_CURRENT]).s);
    }
}

bool mt_evidence_nothing(struct mt_triage *t)
{
    bool counted = false;
    mt_evidence_add(t, "No out-of-memory message was found in %llu line%s.",
                    (unsigned long long)t->log.lines, t->log.lines == 1 ? "" : "s");
    say_retries(t);
    for (size_t i = 0; i < t->log.notes.n; i++) {
        const struct mt_said_value *ooms = &t->log.notes.v[i].said[MT_SAID_OOMS];
        if (ooms->known && ooms->last <= 0) {
            mt_evidence_add(t, "memory_stats() counts no out-of-memory event of its process up to "
                               "that moment, unless its counters were reset.");
        } else if (ooms->known) {
            mt_evidence_add(t,
                            "memory_stats() counts %.0f out-of-memory event%s of its process: the "
                            "message itself went elsewhere, or the program caught it.",
                            ooms->last, ooms->last > 1 ? "s" : "");
            counted = true;
        }
    }
    return counted;
}

/* ---- around ---- */

/* The segment for requests of the large pool below 10 MiB, under the settings of the snapshot or of
 * the log. */
static uint64_t large_segment(const struct mt_triage *t)
{
    struct mt_conf conf;
    mt_conf_parse_recorded(t->facts.conf, MT_TORCH_NEWEST, &conf);
    return t->shot ? t->shot->rules.settings.large_segment_size : conf.settings.large_segment_size;
}

/* A log tells the segment that PyTorch asked the driver for; the tensor may be far smaller. */
static void say_segment(struct mt_triage *t)
{
    const struct mt_incident *i = t->facts.incident;
    bool native = strcmp(i->framework, "torch") == 0 && strncmp(i->format, "torch-", 6) == 0 &&
                  (strcmp(i->backend, "cuda") == 0 || strcmp(i->backend, "hip") == 0);
    uint64_t asked = native && t->shot && t->shot->oom ? t->shot->oom->size : 0;
    uint64_t free = t->facts.free;
    if (t->facts.room.need > free && t->facts.requested <= free) {
        mt_evidence_add(t, "%s was free, but the request takes a segment of %s.", size(free).s,
                        size(t->facts.room.need).s);
    } else if (asked > 0 &&
               t->facts.requested > asked + asked / 400) { /* more than two digits hide */
        mt_evidence_add(t,
                        "%s is the segment that PyTorch asked the driver for; the request was %s, "
                        "as the snapshot tells.",
                        size(t->facts.requested).s, size(asked).s);
    } else if (native && t->facts.requested == MT_TORCH_SMALL_BUFFER) {
        mt_evidence_add(t, "%s is the segment that PyTorch takes for tensors of up to 1 MiB.",
                        size(t->facts.requested).s);
    } else if (native && t->facts.requested == large_segment(t)) {
        mt_evidence_add(t,
                        "%s is the segment that PyTorch takes for a tensor of more than 1 and less "
                        "than 10 MiB.",
                        size(t->facts.requested).s);
    }
}

/* What the driver's pages of 2 MiB, its own tables and the card's pieces may keep back. */
static uint64_t margin(uint64_t need)
{
    return need / 50 > 64 * MT_MIB ? need / 50 : 64 * MT_MIB;
}

/* As much was free as was asked for. By little: that is why the card counts as full. */
static void say_free(struct mt_triage *t, enum mt_verdict verdict)
{
    const struct mt_facts *f = &t->facts;
    if (f->room.kind != MT_ROOM_FREE || mt_facts_has(f, MT_OOM_ALLOWED)) {
        return;
    }
    if (strcmp(f->incident->backend, "xpu") == 0 && f->requested >= 4 * MT_GIB) {
        mt_evidence_add(t, "Intel GPUs refuse a single allocation of 4 GiB and more by default.");
        return;
    }
    if (f->notes && f->notes->said[MT_SAID_ADDRESS_SPACE].known) {
        mt_evidence_add(t,
                        "An expandable segment did not get the %s of address space that it "
                        "reserves: the driver may have failed for want of that, not of memory.",
                        size((uint64_t)f->notes->said[MT_SAID_ADDRESS_SPACE].first).s);
        return;
    }
    if (f->free - f->room.need > margin(f->room.need)) {
        mt_evidence_add(t,
                        "More is free than was asked for and no limit is printed. %s reads "
                        "the free figure after the failure, so another process or thread may have "
                        "let go since; or the driver failed for want of something else (host "
                        "memory, address space, a cap on one allocation).",
                        mt_facts_plain(f)                              ? "The recorder"
                        : strcmp(f->incident->framework, "torch") == 0 ? "PyTorch"
                                                                       : "The program");
        return;
    }
    if (verdict == MT_VERDICT_NOT_ENOUGH && t->evidence.n < 64) {
        t->rules_said |= UINT64_C(1) << t->evidence.n;
    }
    mt_evidence_add(t,
                    "%s was free and %s asked for: the driver cannot give out the last of a card "
                    "in one piece, and the figure is read after the failure.",
                    size(f->free).s, size(f->room.need).s);
}

static void say_contradictions(struct mt_triage *t)
{
    const struct mt_facts *f = &t->facts;
    if (f->incident->spilled && strcmp(f->incident->framework, "torch") == 0) {
        mt_evidence_add(t,
                        "PyTorch counts %s allocated on a card of %s: the driver has moved the "
                        "rest to host memory, as Windows and WSL do (\"shared GPU memory\"), which "
                        "is very slow.",
                        size(f->allocated).s, size(f->total).s);
    }
}

static const char *when(const struct mt_incident *i, char *buf, size_t n)
{
    buf[0] = '\0';
    const char *phase = mt_phase_words(i->phase);
    if (i->phase && i->step >= 0) {
        (void)snprintf(buf, n, "It happened %s, after step %lld.", phase, (long long)i->step);
    } else if (i->phase) {
        (void)snprintf(buf, n, "It happened %s.", phase);
    } else if (i->step >= 0) {
        (void)snprintf(buf, n, "The last step printed before it was %lld.", (long long)i->step);
    }
    return buf;
}

static void say_when(struct mt_triage *t)
{
    const struct mt_incident *i = t->facts.incident;
    char text[160];
    if (when(i, text, sizeof text)[0]) {
        const char *more = i->step > 100 && !t->facts.leak
                               ? " Many steps had fitted: a larger batch or sample, a leak or "
                                 "fragmentation is likelier than a job that never fits."
                           : i->step >= 0 && i->step <= 1
                               ? " It died in its first steps: the job as it stands does not seem "
                                 "to fit."
                               : "";
        mt_evidence_add(t, "%s%s", text, more);
    }
}

/* A trend that lasts, but is small so far. */
static bool rises_slowly(const struct mt_series *s)
{
    return !s->is_leak && s->rising >= 0.8 && s->bytes_per_step > MT_LEAK_BYTES_PER_STEP;
}

static void say_one_series(struct mt_triage *t, const struct mt_series *s)
{
    if (s->jump > s->max / 5 && s->kind != MT_SERIES_FREE) {
        mt_evidence_add(t,
                        "Memory in the step prints jumped by %s at step %lld, after lying "
                        "near %s: one step was much larger than the others.",
                        size(s->jump).s, (long long)s->jump_step, size(s->first).s);
    } else if (s->kind == MT_SERIES_RESERVED && s->bytes_per_step > MT_LEAK_BYTES_PER_STEP) {
        mt_evidence_add(t,
                        "Reserved memory grows by %s a step; unless allocated does too, that "
                        "is a growing cache or fragmentation, not a leak.",
                        size((uint64_t)s->bytes_per_step).s);
    } else if (s->is_leak || rises_slowly(s)) {
        bool free = s->kind == MT_SERIES_FREE;
        mt_evidence_add(t, "%s by %s a step, from %s to %s over %llu prints%s.",
                        free ? "Free memory in the step prints falls" : "Step prints rise",
                        size((uint64_t)s->bytes_per_step).s, size(s->first).s, size(s->last).s,
                        (unsigned long long)s->samples, s->is_leak ? ": something is kept" : "");
    } else if (s->samples >= 6) {
        mt_evidence_add(t, "Step prints show no steady growth (%s to %s over %llu prints).",
                        size(s->first).s, size(s->last).s, (unsigned long long)s->samples);
    }
}

/* The first that shows a leak beside the one that was told, else the first. */
static void say_series(struct mt_triage *t)
{
    const struct mt_series *best = NULL;
    for (size_t i = 0; i < t->series.n; i++) {
        const struct mt_series *s = &t->series.v[i];
        bool other = t->facts.incident && !mt_triage_speaks_of(t, s->file, t->facts.incident);
        if (s->samples >= 4 && s != t->facts.leak && !other &&
            (!best || (s->is_leak && !best->is_leak))) {
            best = s;
        }
    }
    if (best) {
        say_one_series(t, best);
    }
}

static void say_table(struct mt_triage *t)
{
    const struct mt_summary_table *table = t->facts.table;
    if (!table) {
        return;
    }
    /* A request that fails has been retried once itself. */
    if (table->retries > 0 && table->ooms >= 0 && table->retries > table->ooms) {
        int64_t before = table->retries - table->ooms;
        mt_evidence_add(t,
                        "memory_summary (line %llu): %lld cudaMalloc retr%s beside the failures: "
                        "it had been at the edge before.",
                        (unsigned long long)table->line, (long long)before,
                        before == 1 ? "y" : "ies");
    }
    if (table->present >> MT_SUMMARY_ALLOCATED & 1u) {
        uint64_t now = table->bytes[MT_SUMMARY_ALLOCATED][MT_SUMMARY_CURRENT];
        uint64_t peak = table->bytes[MT_SUMMARY_ALLOCATED][MT_SUMMARY_PEAK];
        mt_evidence_add(t, "memory_summary: %s allocated at that moment, %s at its peak.",
                        size(now).s, size(peak).s);
    }
    if (table->present >> MT_SUMMARY_NON_RELEASABLE & 1u) {
        uint64_t held = table->bytes[MT_SUMMARY_NON_RELEASABLE][MT_SUMMARY_CURRENT];
        if (held >= t->facts.requested && held >= MT_GIB) {
            mt_evidence_add(
                t,
                "memory_summary: %s is not releasable, which is free memory beside live "
                "blocks in the same segments.",
                size(held).s);
        }
    }
}

/* PyTorch prints with "allocated" what lies free in pools that only their graphs may use. */
static void say_private_pools(struct mt_triage *t)
{
    uint64_t bytes = mt_oom_get(&t->facts.incident->numbers, MT_OOM_PRIVATE_POOLS);
    if (bytes > 0 && (bytes >= t->facts.requested || bytes >= MT_GIB)) {
        mt_evidence_add(t,
                        "%s lies free in private pools, as CUDA graphs have them: only what uses "
                        "the pool may take it.",
                        size(bytes).s);
    }
}

/* What the dump of TensorFlow's pool shows beside the rule's own sentence. */
static void say_chunks(struct mt_triage *t, enum mt_verdict verdict)
{
    const struct mt_chunks *c = t->facts.chunks;
    if (!c) {
        return;
    }
    bool listed_most = c->most_total >= t->facts.allocated / 4; /* else the list is cut short */
    if (c->most_total > 0 && listed_most) {
        mt_evidence_add(t, "In use, by the dump, most is taken by %llu piece%s of %s: %s.",
                        (unsigned long long)c->most_count, c->most_count == 1 ? "" : "s",
                        size(c->most_size).s, size(c->most_total).s);
    }
    if (c->free_chunks > 0 && verdict != MT_VERDICT_FRAGMENTATION) {
        mt_evidence_add(t, "%s of the pool was free, the largest piece %s.", size(c->free_bytes).s,
                        size(c->largest_free).s);
    }
}

/* A figure that the log prints, and what it is of. */
struct part {
    enum mt_said which;
    const char *words;
};

/* "BEGIN: weights 3.61 GiB, KV cache 7.61 GiB." where the log prints two of them or more. */
static void say_parts(struct mt_triage *t, const char *begin, const struct part *parts, size_t n)
{
    const struct mt_notes *notes = t->facts.notes;
    struct mt_buf line = {0};
    size_t known = 0;
    for (size_t i = 0; notes && i < n; i++) {
        const struct mt_said_value *v = &notes->said[parts[i].which];
        if (v->known) {
            mt_buf_printf(&line, "%s%s %s", known++ ? ", " : "", parts[i].words,
                          size((uint64_t)v->last).s);
        }
    }
    if (known >= 2) {
        mt_evidence_add(t, "%s: %s.", begin, line.p);
    }
    t->no_memory |= line.failed;
    mt_buf_release(&line);
}

/* XLA's own account of the program that did not fit. */
static void say_buffers(struct mt_triage *t)
{
    static const struct part PARTS[] = {{MT_SAID_XLA_PARAMETERS, "arguments"},
                                        {MT_SAID_XLA_OUT, "results"},
                                        {MT_SAID_XLA_TEMP, "temporaries"},
                                        {MT_SAID_XLA_LOST, "lost to fragmentation"}};
    say_parts(t, "XLA's buffer assignment", PARTS, MT_COUNT(PARTS));
}

/* What a serving engine's own lines say of its budget. */
static void say_account(struct mt_triage *t)
{
    static const struct part PARTS[] = {{MT_SAID_WEIGHTS, "weights"},
                                        {MT_SAID_KV_CACHE, "KV cache"},
                                        {MT_SAID_ACTIVATION, "activations at their peak"},
                                        {MT_SAID_GRAPHS, "CUDA graphs"},
                                        {MT_SAID_NON_TORCH, "outside PyTorch"}};
    if (mt_program_kind(t->facts.program) == MT_PROGRAM_KIND_SERVER) {
        say_parts(t, "The engine's own account", PARTS, MT_COUNT(PARTS));
    }
}

/* Who is on the card by a pasted table. */
static void say_holder(struct mt_triage *t)
{
    const struct mt_smi_row *p = mt_facts_holder(&t->facts);
    if (p) {
        mt_evidence_add(t, "nvidia-smi in the log lists process %lld (%s) with %s on device %lld.",
                        (long long)p->pid, p->name, size(p->bytes).s, (long long)p->device);
    }
}

/* How full the card was by a pasted table, where the message does not tell. */
static void say_card(struct mt_triage *t)
{
    const struct mt_facts *f = &t->facts;
    for (size_t i = 0; i < f->n_cards && !mt_facts_has(f, MT_OOM_FREE); i++) {
        const struct mt_smi_card *card = &f->cards[i];
        bool same =
            card->device == f->incident->device || (f->incident->device < 0 && f->n_cards == 1);
        if (same && !mt_facts_has(f, MT_OOM_ALLOCATED) &&
            mt_triage_speaks_of(t, card->file, f->incident)) {
            mt_evidence_add(
                t, "By nvidia-smi in the log (line %llu) %s of %s was in use when it ran.",
                (unsigned long long)card->line, size(card->used).s, size(card->total).s);
            return;
        }
    }
}

/* nvidia-smi counts everything on the card; the allocator only its own. */
static void say_device_used(struct mt_triage *t)
{
    const struct mt_facts *f = &t->facts;
    uint64_t used = f->device_used;
    if (!used || (f->account && (mt_account_is_whole(f->account) || f->account->beyond > 0))) {
        return; /* the account says it */
    }
    if (mt_facts_has(f, MT_OOM_TOTAL) && used > f->total + f->total / 50) {
        mt_evidence_add(t, "%s as in use is more than the card has (%s): it was left aside.",
                        size(used).s, size(f->total).s);
        return;
    }
    if (mt_facts_has(f, MT_OOM_RESERVED)) {
        uint64_t rest = used > f->reserved ? used - f->reserved : 0;
        mt_evidence_add(t,
                        "Of the %s in use on the card PyTorch reserved %s; %s is the CUDA context, "
                        "libraries or other processes.",
                        size(used).s, size(f->reserved).s, size(rest).s);
    } else {
        mt_evidence_add(t, "%s of the card was in use.", size(used).s);
    }
}

static void say_settings(struct mt_triage *t)
{
    struct mt_str conf = t->facts.conf;
    if (conf.n > 0) {
        mt_evidence_add(t, "Allocator settings in force: %.*s.", (int)conf.n, conf.p);
    }
}

/* Servers and image tools are libraries to whom runs them. */
static void say_place(struct mt_triage *t)
{
    const struct mt_incident *i = t->facts.incident;
    enum mt_program_kind k = mt_program_kind(t->facts.program);
    bool own = k == MT_PROGRAM_KIND_UNKNOWN || k == MT_PROGRAM_KIND_TRAINING ||
               k == MT_PROGRAM_KIND_INFERENCE;
    if (i->place[0] && own && strcmp(i->framework, "torch") == 0) {
        mt_evidence_add(t, "By the traceback its own code stood at %s.", i->place);
    }
}

/* Several attempts of one program that fail although each asks for less. */
static void say_attempts(struct mt_triage *t, const struct mt_triage_result *r)
{
    const struct mt_incidents *l = &t->log.incidents;
    const struct mt_incident *cause = &l->list.v[r->cause];
    size_t events = 0, survived = 0;
    for (size_t i = 0; i < l->list.n; i++) {
        bool counts = mt_kind_is_oom(l->list.v[i].kind) && l->list.v[i].kind != MT_KIND_SOFT &&
                      l->list.v[i].file == cause->file;
        events += counts;
        survived += counts && l->list.v[i].recovered;
    }
    if (events > 1) {
        char caught[48] = "none of them was caught";
        if (survived == events) {
            (void)snprintf(caught, sizeof caught, "all of them were caught");
        } else if (survived > 0) {
            (void)snprintf(caught, sizeof caught, "%zu of them %s caught", survived,
                           survived == 1 ? "was" : "were");
        }
        mt_evidence_add(t, "This log has %zu out-of-memory events, and %s; line %llu has the %s.",
                        events, caught, (unsigned long long)cause->line,
                        cause->recovered || survived == 0 ? "first" : "first that was not");
    } else if (cause->recovered) {
        mt_evidence_add(t, "The program caught the error and went on: no crash by itself.");
    }
}

void mt_evidence_around(struct mt_triage *t, const struct mt_triage_result *r)
{
    if (r->cause == SIZE_MAX) {
        t->facts = (struct mt_facts){0};
        say_series(t);
        return;
    }
    if (r->verdict != MT_VERDICT_NOT_OOM) {
        say_contradictions(t);
        say_free(t, r->verdict);
        say_segment(t);
        say_when(t);
        say_series(t);
        say_table(t);
        say_private_pools(t);
        say_account(t);
        say_chunks(t, r->verdict);
        say_buffers(t);
        mt_evidence_balance(t);
        say_holder(t);
        say_card(t);
        say_device_used(t);
        say_settings(t);
        say_attempts(t, r);
        say_place(t);
    }
}
