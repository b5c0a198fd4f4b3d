/* SPDX-License-Identifier: MIT */
/* The words that advice takes from the device, the settings in force and the snapshot. */
#include <stdio.h>

#include "support/units.h"
#include "triage/advice/advice_places.h"

static bool put_size(struct mt_buf *out, uint64_t bytes)
{
    mt_buf_text(out, mt_advice_size(bytes).s);
    return true;
}

static bool put_words(struct mt_buf *out, const char *words)
{
    mt_buf_text(out, words ? words : "");
    return words != NULL;
}

/* A formula that stands for words, where there are any; and one that only lets its words stand. */
#define WORDS_PLACE(name, words)                                                                   \
    static bool place_##name(const struct mt_advisor *a, struct mt_buf *out)                       \
    {                                                                                              \
        return put_words(out, words);                                                              \
    }
#define WHEN_PLACE(name, condition)                                                                \
    static bool place_##name(const struct mt_advisor *a, struct mt_buf *out)                       \
    {                                                                                              \
        (void)out;                                                                                 \
        return condition;                                                                          \
    }

/* ---- who else, by the tools of the device ---- */

enum tool { TOOL_PROCESSES, TOOL_WATCH, TOOL_LOG, TOOL_HEALTH, TOOL_COUNT };

static const struct {
    const char *backend, *tools[TOOL_COUNT];
} TOOLS[] = {
    {"cuda",
     {"nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv",
      "nvidia-smi -l 1",
      "nvidia-smi --query-gpu=timestamp,index,memory.used,memory.total --format=csv -l 1",
      "nvidia-smi -q -d ECC,COMPUTE,PIDS"}},
    {"hip",
     {"rocm-smi --showpids", "rocm-smi --showmeminfo vram", "rocm-smi --showmeminfo vram",
      "rocm-smi"}},
    {"xpu", {"xpu-smi ps", "xpu-smi stats -d DEVICE", "xpu-smi ps", "xpu-smi health -l"}},
    {"npu", {"npu-smi info", "npu-smi info", "npu-smi info", "npu-smi info"}},
    {"hpu", {"hl-smi", "hl-smi -l 1", "hl-smi -l 1", "hl-smi"}},
};

static bool put_tool(const struct mt_advisor *a, enum tool tool, struct mt_buf *out)
{
    const char *backend = a->facts ? a->facts->incident->backend : "";
    for (size_t i = 0; i < MT_COUNT(TOOLS); i++) {
        bool any = backend[0] == '\0' && i == 0;
        if (any || strcmp(TOOLS[i].backend, backend) == 0) {
            mt_buf_text(out, TOOLS[i].tools[tool]);
            return true;
        }
    }
    return false;
}

#define TOOL_PLACE(name, tool)                                                                     \
    static bool place_##name(const struct mt_advisor *a, struct mt_buf *out)                       \
    {                                                                                              \
        return put_tool(a, tool, out);                                                             \
    }
TOOL_PLACE(smi_processes, TOOL_PROCESSES)
TOOL_PLACE(smi_watch, TOOL_WATCH)
TOOL_PLACE(smi_log, TOOL_LOG)
TOOL_PLACE(smi_health, TOOL_HEALTH)
static bool place_pids(const struct mt_advisor *a, struct mt_buf *out)
{
    const struct mt_incident *i = a->facts->incident;
    for (size_t p = 0; p < i->n_processes; p++) {
        mt_buf_printf(out, "%s%lld", p ? "," : "", (long long)i->processes[p].pid);
    }
    return i->n_processes > 0 && !mt_if_is_windows(a);
}

static bool place_visible(const struct mt_advisor *a, struct mt_buf *out)
{
    mt_buf_text(out, mt_facts_backend_is(a->facts, "npu")   ? "ASCEND_RT_VISIBLE_DEVICES"
                     : mt_facts_backend_is(a->facts, "hip") ? "HIP_VISIBLE_DEVICES"
                                                            : "CUDA_VISIBLE_DEVICES");
    return true;
}

/* A card of the table of nvidia-smi in the log that is nearly free. */
static const struct mt_smi_card *free_card(const struct mt_facts *f)
{
    for (size_t i = 0; i < f->n_cards; i++) {
        const struct mt_smi_card *card = &f->cards[i];
        if (card->used < card->total / 20 && card->device != f->incident->device) {
            return card;
        }
    }
    return NULL;
}

static bool place_free_card(const struct mt_advisor *a, struct mt_buf *out)
{
    const struct mt_smi_card *card = free_card(a->facts);
    mt_buf_printf(out, "%lld", card ? (long long)card->device : 0);
    return card != NULL;
}

static bool place_free_card_room(const struct mt_advisor *a, struct mt_buf *out)
{
    const struct mt_smi_card *card = free_card(a->facts);
    return card && put_size(out, card->total - card->used);
}

static bool place_holder_name(const struct mt_advisor *a, struct mt_buf *out)
{
    const struct mt_smi_row *p = mt_facts_holder(a->facts);
    mt_buf_text(out, p ? p->name : "");
    return p != NULL;
}

static bool place_holder_pid(const struct mt_advisor *a, struct mt_buf *out)
{
    const struct mt_smi_row *p = mt_facts_holder(a->facts);
    mt_buf_printf(out, "%lld", p ? (long long)p->pid : 0);
    return p != NULL;
}

static bool place_holder_use(const struct mt_advisor *a, struct mt_buf *out)
{
    const struct mt_smi_row *p = mt_facts_holder(a->facts);
    return p && put_size(out, p->bytes);
}

/* ---- PyTorch's settings ---- */

static const char *conf_variable(const struct mt_facts *f)
{
    return mt_facts_memtools(f)            ? "MEMTOOL_ALLOC_CONF"
           : mt_facts_backend_is(f, "hip") ? "PYTORCH_HIP_ALLOC_CONF"
           : mt_facts_backend_is(f, "npu") ? "PYTORCH_NPU_ALLOC_CONF"
                                           : "PYTORCH_CUDA_ALLOC_CONF";
}

/* The settings in force but for `key`, each behind a comma. */
static void add_others(const struct mt_facts *f, struct mt_str key, struct mt_buf *out)
{
    struct mt_str rest = f->conf;
    while (rest.n > 0) {
        size_t n = 0, depth = 0;
        while (n < rest.n && (rest.p[n] != ',' || depth > 0)) {
            depth += rest.p[n] == '[';
            depth -= rest.p[n] == ']' && depth > 0;
            n++;
        }
        struct mt_str one = {rest.p, n};
        if (n > 0 && !mt_str_starts(one, key)) {
            mt_buf_char(out, ',');
            mt_buf_str(out, one);
        }
        n += n < rest.n;
        rest = (struct mt_str){rest.p + n, rest.n - n};
    }
}

/* The variable and its value, as this program is given it: PyTorch reads it once, at its start. */
static bool put_setting(const struct mt_advisor *a, struct mt_str value, struct mt_buf *out)
{
    const char *name = conf_variable(a->facts);
    int n = (int)value.n;
    if (mt_advice_said(a, MT_SAID_RAY)) {
        mt_buf_printf(out, "ray.init(runtime_env={'env_vars': {'%s': '%.*s'}})", name, n, value.p);
    } else if (mt_advice_said(a, MT_SAID_NOTEBOOK)) {
        mt_buf_printf(out,
                      "os.environ['%s'] = '%.*s'   # first cell, after a restart of the kernel",
                      name, n, value.p);
    } else {
        mt_buf_printf(out, "%s %s=%.*s", mt_if_is_windows(a) ? "set" : "export", name, n, value.p);
    }
    return value.n > 0;
}

/* `setting`, and the settings in force but for `key`. */
static bool put_conf(const struct mt_advisor *a, const char *key, const char *setting,
                     struct mt_buf *out)
{
    struct mt_buf value = {0};
    mt_buf_text(&value, setting);
    add_others(a->facts, mt_str_from(key), &value);
    bool put = put_setting(a, mt_buf_view(&value), out) && !value.failed;
    mt_buf_release(&value);
    return put;
}

static bool place_set_expandable(const struct mt_advisor *a, struct mt_buf *out)
{
    return put_conf(a, "expandable_segments", "expandable_segments:True", out);
}

/* Half of the request, within what is sensible: blocks of its size are then kept whole. */
static bool place_set_split(const struct mt_advisor *a, struct mt_buf *out)
{
    char setting[60];
    uint64_t mib = a->facts->requested >> 21;
    mib = mib < 20 ? 20 : mib; /* PyTorch takes nothing smaller */
    (void)snprintf(setting, sizeof setting, "max_split_size_mb:%llu", (unsigned long long)mib);
    return put_conf(a, "max_split_size_mb", setting, out) &&
           mt_facts_has(a->facts, MT_OOM_REQUESTED);
}

static bool place_set_native(const struct mt_advisor *a, struct mt_buf *out)
{
    return put_conf(a, "backend", "backend:native", out);
}

static bool place_set_serving(const struct mt_advisor *a, struct mt_buf *out)
{
    const char *conf = a->facts->serving_conf;
    return conf && put_setting(a, mt_str_from(conf), out);
}

static bool place_change(const struct mt_advisor *a, struct mt_buf *out)
{
    mt_buf_text(out, a->facts->change ? a->facts->change : "");
    return a->facts->change != NULL;
}

static bool place_change_peak(const struct mt_advisor *a, struct mt_buf *out)
{
    mt_buf_text(out, mt_advice_size(a->facts->change_peak).s);
    return a->facts->change_peak > 0;
}

static bool place_unchanged_peak(const struct mt_advisor *a, struct mt_buf *out)
{
    mt_buf_text(out, mt_advice_size(a->facts->unchanged_peak).s);
    return a->facts->unchanged_peak > a->facts->change_peak;
}

static bool place_conf_without_expandable(const struct mt_advisor *a, struct mt_buf *out)
{
    struct mt_buf rest = {0};
    add_others(a->facts, MT_STR("expandable_segments"), &rest);
    if (rest.n > 1) {
        mt_buf_printf(out, "export %s=%.*s", conf_variable(a->facts), (int)rest.n - 1, rest.p + 1);
    } else {
        mt_buf_printf(out, "unset %s", conf_variable(a->facts));
    }
    bool whole = !rest.failed;
    mt_buf_release(&rest);
    return whole;
}

static bool place_holes_setting(const struct mt_advisor *a, struct mt_buf *out)
{
    mt_buf_text(out, mt_facts_may_expand(a->facts) ? "expandable_segments:True"
                                                   : "settings against fragmentation");
    return true;
}

static bool place_shared_card_try(const struct mt_advisor *a, struct mt_buf *out)
{
    mt_buf_text(out, "Try it first, for others share this card");
    return mt_rules_holds(a->facts, MT_VERDICT_OTHER_PROCESS);
}

/* ---- a snapshot ---- */

WORDS_PLACE(file, a->snapshot)
WORDS_PLACE(shot_words, a->end_missing  ? "What is left of the snapshot"
                        : a->no_history ? "The snapshot has no history, so that it"
                                        : "The snapshot")
WORDS_PLACE(shot_peak, a->no_history ? "" : " at its peak")
WORDS_PLACE(shot_verb, a->no_history ? "memory" : "peak")
WORDS_PLACE(plain_it, a->plain ? "it" : NULL)
WORDS_PLACE(asker, a->facts->asker)
WORDS_PLACE(asker_line, a->facts->asker_is_line ? a->facts->asker : NULL)
static bool place_the_line(const struct mt_advisor *a, struct mt_buf *out)
{
    const char *place = a->facts->incident->place;
    return put_words(out, place[0] ? place : "the line that raised it");
}

WORDS_PLACE(pin, a->facts->pin)
WORDS_PLACE(growing, a->facts->growing)

static bool place_growth(const struct mt_advisor *a, struct mt_buf *out)
{
    return a->facts->growing && put_size(out, a->facts->growth);
}

/* "4.10 GiB an epoch" */
static bool put_rate(const struct mt_series *s, struct mt_buf *out)
{
    mt_buf_text(out, s ? mt_advice_size((uint64_t)s->bytes_per_step).s : "");
    mt_buf_text(out, s && s->epochs ? " an epoch" : " a step");
    return s != NULL;
}

static bool place_growth_rate(const struct mt_advisor *a, struct mt_buf *out)
{
    return put_rate(a->growth, out);
}

static bool place_leak_rate(const struct mt_advisor *a, struct mt_buf *out)
{
    return !a->facts->growing && put_rate(a->facts->leak, out);
}

WORDS_PLACE(holder, a->facts->holder)

static bool place_holder_bytes(const struct mt_advisor *a, struct mt_buf *out)
{
    return put_size(out, a->facts->holder_bytes);
}

static bool place_holder_share(const struct mt_advisor *a, struct mt_buf *out)
{
    mt_buf_printf(out, "%.0f %%", 100 * a->facts->holder_share);
    return true;
}

WORDS_PLACE(replay_served, a->facts->expandable_serves
                               ? "A replay of the snapshot with it served the request"
                               : NULL)
WORDS_PLACE(live_grep, a->facts->account && a->facts->account->recorded.live
                           ? "grep -rn memtool_set_memory_fraction ."
                           : NULL)
WORDS_PLACE(memtool_allocator, mt_facts_memtools(a->facts) ? "The allocator" : NULL)
/* ---- words that stand only in some cases ---- */

WHEN_PLACE(linux, !a->facts || mt_if_linux_torch(a) || mt_if_linux_other(a))
WHEN_PLACE(windows, mt_if_is_windows(a))
WHEN_PLACE(on_cuda, mt_facts_backend_is(a->facts, "cuda") || mt_facts_backend_is(a->facts, ""))
WHEN_PLACE(on_hip, mt_facts_backend_is(a->facts, "hip"))
WHEN_PLACE(trainer, a->facts->program == MT_PROGRAM_TRAINER)
/* What is meant is of 2.1 and later; an era that is not known is taken for it. */
WHEN_PLACE(modern_torch, !mt_if_before_torch_2_1(a))
static bool place_no_graph(const struct mt_advisor *a, struct mt_buf *out)
{
    bool plain = mt_if_before_torch_2_1(a) || mt_facts_backend_is(a->facts, "dml");
    return put_words(out, plain ? "torch.no_grad()" : "torch.inference_mode()");
}

WHEN_PLACE(torch_seen, mt_advice_said(a, MT_SAID_TORCH_SEEN) != NULL)
static bool place_numpy_map(const struct mt_advisor *a, struct mt_buf *out)
{
    mt_buf_text(out,
                mt_incident_is(a->facts->incident, "numpy") ? "np.load(FILE, mmap_mode='r')" : "");
    return true;
}

static bool place_pod_limit(const struct mt_advisor *a, struct mt_buf *out)
{
    const struct mt_said_value *v = mt_advice_said(a, MT_SAID_POD_LIMIT);
    return v && put_size(out, (uint64_t)v->last);
}

WHEN_PLACE(not_half, !mt_advice_said(a, MT_SAID_HALF))
WHEN_PLACE(catboost, a->facts->program == MT_PROGRAM_CATBOOST)
WORDS_PLACE(device_word, mt_facts_backend_is(a->facts, "mps")   ? "mps"
                         : mt_facts_backend_is(a->facts, "xpu") ? "xpu"
                                                                : "cuda")
WORDS_PLACE(doubtful_library, a->facts->incident->doubtful ? "The library" : NULL)
/* ---- the table ---- */

const struct mt_place MT_WORD_PLACES[] = {
#define PLACE(name)                                                                                \
    {                                                                                              \
        MT_STR_INIT(#name), place_##name                                                           \
    }
    PLACE(smi_processes),
    PLACE(smi_watch),
    PLACE(smi_log),
    PLACE(smi_health),
    PLACE(pids),
    PLACE(visible),
    PLACE(free_card),
    PLACE(free_card_room),
    PLACE(holder_name),
    PLACE(holder_pid),
    PLACE(holder_use),
    PLACE(set_expandable),
    PLACE(set_split),
    PLACE(change),
    PLACE(change_peak),
    PLACE(unchanged_peak),
    PLACE(set_serving),
    PLACE(set_native),
    PLACE(conf_without_expandable),
    PLACE(holes_setting),
    PLACE(shared_card_try),
    PLACE(file),
    PLACE(shot_words),
    PLACE(shot_peak),
    PLACE(shot_verb),
    PLACE(plain_it),
    PLACE(asker),
    PLACE(asker_line),
    PLACE(pin),
    PLACE(growing),
    PLACE(growth),
    PLACE(leak_rate),
    PLACE(growth_rate),
    PLACE(holder),
    PLACE(holder_bytes),
    PLACE(holder_share),
    PLACE(replay_served),
    PLACE(live_grep),
    PLACE(memtool_allocator),
    PLACE(linux),
    PLACE(windows),
    PLACE(on_cuda),
    PLACE(on_hip),
    PLACE(torch_seen),
    PLACE(modern_torch),
    PLACE(trainer),
    PLACE(the_line),
    PLACE(no_graph),
    PLACE(numpy_map),
    PLACE(pod_limit),
    PLACE(not_half),
    PLACE(catboost),
    PLACE(device_word),
    PLACE(doubtful_library),
#undef PLACE
};
const size_t MT_WORD_PLACES_N = MT_COUNT(MT_WORD_PLACES);
