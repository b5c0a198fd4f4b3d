/* SPDX-License-Identifier: MIT */
/*
 * A phrase such as "not enough memory" is an event only in the right company. Which memory it was
 * is told by the nearest word before or behind it that names a device or the host; whether anything
 * happened is told by the words in front of it in the same sentence: "to avoid out of memory", "if
 * you run out of memory" and "except torch.OutOfMemoryError" tell of no event. What is not known to
 * be one is none.
 */
#include "triage/log/log_general.h"
#include "triage/log/log_lines.h"

/* Squeezed bytes on either side in which the words that name the memory are looked for. */
#define NAMES_AROUND 220
/* Squeezed bytes in front in which words make the sentence one about events in general. */
#define MOOD_BEFORE 48

static const struct mt_str DEVICES[] = {
    MT_STR_INIT("gpu"),      MT_STR_INIT("cuda"),         MT_STR_INIT("vram"),
    MT_STR_INIT("videomem"), MT_STR_INIT("videocard"),    MT_STR_INIT("devicemem"),
    MT_STR_INIT("deviceme"), MT_STR_INIT("ondevice"),     MT_STR_INIT("cumem"),
    MT_STR_INIT("hip"),      MT_STR_INIT("rocm"),         MT_STR_INIT("vulkan"),
    MT_STR_INIT("metal"),    MT_STR_INIT("mps"),          MT_STR_INIT("xpu"),
    MT_STR_INIT("npu"),      MT_STR_INIT("tpu"),          MT_STR_INIT("hpu"),
    MT_STR_INIT("hbm"),      MT_STR_INIT("directml"),     MT_STR_INIT("dml"),
    MT_STR_INIT("d3d12"),    MT_STR_INIT("opencl"),       MT_STR_INIT("sycl"),
    MT_STR_INIT("level_"),   MT_STR_INIT("levelzero"),    MT_STR_INIT("cublas"),
    MT_STR_INIT("cudnn"),    MT_STR_INIT("nvidia"),       MT_STR_INIT("geforce"),
    MT_STR_INIT("radeon"),   MT_STR_INIT("graphicsmem"),  MT_STR_INIT("graphicscard"),
    MT_STR_INIT("tensorrt"), MT_STR_INIT("torch"),        MT_STR_INIT("accelerator"),
    MT_STR_INIT("nrt_"),     MT_STR_INIT("kvcache"),      MT_STR_INIT("optix"),
    MT_STR_INIT("amdgpu"),   MT_STR_INIT("commandsubmi"), MT_STR_INIT("dxgi"),
};

static const struct mt_str HOSTS[] = {
    MT_STR_INIT("cpu"),       MT_STR_INIT("hostmem"),   MT_STR_INIT("systemmem"),
    MT_STR_INIT("systemram"), MT_STR_INIT("ofram"),     MT_STR_INIT("inram"),
    MT_STR_INIT("heap"),      MT_STR_INIT("pinned"),    MT_STR_INIT("swap"),
    MT_STR_INIT("cgroup"),    MT_STR_INIT("container"), MT_STR_INIT("javascript"),
    MT_STR_INIT("java."),     MT_STR_INIT("jvm"),       MT_STR_INIT("runtime:out"),
    MT_STR_INIT("numpy"),     MT_STR_INIT("virtualme"), MT_STR_INIT("physicalme"),
    MT_STR_INIT("onhost"),    MT_STR_INIT("malloc("),   MT_STR_INIT("fork"),
};

/* In front of the phrase, these speak of what may happen, what was avoided, or of texts. */
static const struct mt_str MOODS[] = {
    MT_STR_INIT("ifyou"),         MT_STR_INIT("ifthe"),      MT_STR_INIT("ifa"),
    MT_STR_INIT("ifit"),          MT_STR_INIT("incase"),     MT_STR_INIT("whenthe"),
    MT_STR_INIT("whenyou"),       MT_STR_INIT("whena"),      MT_STR_INIT("mayrun"),
    MT_STR_INIT("mightrun"),      MT_STR_INIT("canrun"),     MT_STR_INIT("couldrun"),
    MT_STR_INIT("willrun"),       MT_STR_INIT("wouldrun"),   MT_STR_INIT("mayfail"),
    MT_STR_INIT("canfail"),       MT_STR_INIT("maycause"),   MT_STR_INIT("cancause"),
    MT_STR_INIT("couldcause"),    MT_STR_INIT("mightcause"), MT_STR_INIT("tocause"),
    MT_STR_INIT("avoid"),         MT_STR_INIT("prevent"),    MT_STR_INIT("tofix"),
    MT_STR_INIT("fixes"),         MT_STR_INIT("fixed"),      MT_STR_INIT("solve"),
    MT_STR_INIT("handling"),      MT_STR_INIT("tohandle"),   MT_STR_INIT("test_"),
    MT_STR_INIT("tests/"),        MT_STR_INIT(".py::"),      MT_STR_INIT("without"),
    MT_STR_INIT("helps"),         MT_STR_INIT("howto"),      MT_STR_INIT("protect"),
    MT_STR_INIT("noout"),         MT_STR_INIT("notout"),     MT_STR_INIT("isnot"),
    MT_STR_INIT("never"),         MT_STR_INIT("checkfor"),   MT_STR_INIT("excepttorch"),
    MT_STR_INIT("exceptruntime"), MT_STR_INIT("exceptcuda"), MT_STR_INIT("exceptoutof"),
    MT_STR_INIT("catch"),         MT_STR_INIT("isinstance"), MT_STR_INIT("raiseruntime"),
    MT_STR_INIT("raisetorch"),    MT_STR_INIT("raisevalue"), MT_STR_INIT("raisememory"),
    MT_STR_INIT("raisecuda"),     MT_STR_INIT("classtorch"), MT_STR_INIT("classout"),
    MT_STR_INIT("import"),        MT_STR_INIT("print("),     MT_STR_INIT("logger."),
    MT_STR_INIT("thrownew"),      MT_STR_INIT("retries"),    MT_STR_INIT("reduce"),
    MT_STR_INIT("instead"),       MT_STR_INIT("e.g"),        MT_STR_INIT("survive"),
    MT_STR_INIT("recover"),       MT_STR_INIT("whencuda"),   MT_STR_INIT("whengpu"),
    MT_STR_INIT("whenvram"),      MT_STR_INIT("timeswhen"),  MT_STR_INIT("whenever"),
    MT_STR_INIT("thatshow"),      MT_STR_INIT("explain"),    MT_STR_INIT("usage:"),
    MT_STR_INIT("iscommon"),      MT_STR_INIT("ononoom"),
};

/* Words that hold a short name of a device by accident: "inputs", "output", "chip". */
static bool is_accident(struct mt_str text, size_t at)
{
    static const struct {
        struct mt_str word;
        size_t before; /* of the name in it */
    } WORDS[] = {{MT_STR_INIT("input"), 1},
                 {MT_STR_INIT("output"), 2},
                 {MT_STR_INIT("chip"), 1},
                 {MT_STR_INIT("ship"), 1}};
    for (size_t i = 0; i < MT_COUNT(WORDS); i++) {
        if (at >= WORDS[i].before && mt_str_starts((struct mt_str){text.p + at - WORDS[i].before,
                                                                   text.n - at + WORDS[i].before},
                                                   WORDS[i].word)) {
            return true;
        }
    }
    return false;
}

/* The first place of the word that is one; SIZE_MAX: none. */
static size_t find_name(struct mt_str text, struct mt_str word)
{
    for (size_t from = 0; from < text.n;) {
        size_t found = mt_str_find((struct mt_str){text.p + from, text.n - from}, word);
        if (found == SIZE_MAX) {
            return SIZE_MAX;
        }
        if (word.n > 3 || !is_accident(text, from + found)) {
            return from + found;
        }
        from += found + 1;
    }
    return SIZE_MAX;
}

static struct mt_str window(struct mt_str text, size_t at, size_t before, size_t behind)
{
    size_t begin = at > before ? at - before : 0;
    size_t end = behind < text.n - at ? at + behind : text.n;
    return (struct mt_str){text.p + begin, end - begin};
}

/* Distance from `at` to the nearest of the words, SIZE_MAX: none stands in the window. */
static size_t nearest(struct mt_str text, size_t at, const struct mt_str *words, size_t n)
{
    struct mt_str around = window(text, at, NAMES_AROUND, NAMES_AROUND);
    size_t here = at - (size_t)(around.p - text.p), best = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        for (size_t from = 0; from < around.n;) {
            struct mt_str rest = {around.p + from, around.n - from};
            size_t found = find_name(rest, words[i]);
            if (found == SIZE_MAX) {
                break;
            }
            from += found;
            size_t apart = from > here ? from - here : here - from;
            best = apart < best ? apart : best;
            from++;
        }
    }
    return best;
}

/* The end of the text in front of `at` that belongs to the same sentence. */
static struct mt_str lead(struct mt_str text, size_t at)
{
    struct mt_str before = window((struct mt_str){text.p, at}, at, MOOD_BEFORE, 0);
    for (size_t i = before.n; i > 0; i--) {
        if (strchr(".;!", before.p[i - 1]) && i < before.n && before.p[i] != '.') {
            return (struct mt_str){before.p + i, before.n - i};
        }
    }
    return before;
}

/* "CUDA out of memory: reduce the batch" is a line of a manual where nothing is said to have
 * failed. */
static bool is_instruction(struct mt_str before, struct mt_str after)
{
    static const struct mt_str VERBS[] = {
        MT_STR_INIT("reduce"), MT_STR_INIT("lower"),    MT_STR_INIT("use"),
        MT_STR_INIT("set"),    MT_STR_INIT("increase"), MT_STR_INIT("try"),
        MT_STR_INIT("check"),  MT_STR_INIT("decrease"), MT_STR_INIT("close"),
        MT_STR_INIT("make"),
    };
    static const struct mt_str FAILED[] = {MT_STR_INIT("error"), MT_STR_INIT("exception"),
                                           MT_STR_INIT("fail"), MT_STR_INIT("fatal"),
                                           MT_STR_INIT("abort")};
    if (mt_str_starts(after, MT_STR("</code>")) || mt_str_starts(after, MT_STR("means"))) {
        return true;
    }
    while (after.n > 0 && strchr(":,-.*`)\"", after.p[0])) {
        after = (struct mt_str){after.p + 1, after.n - 1};
    }
    for (size_t i = 0; i < MT_COUNT(VERBS); i++) {
        if (mt_str_starts(after, VERBS[i])) {
            return !mt_log_has_any(before, FAILED, MT_COUNT(FAILED));
        }
    }
    return false;
}

bool mt_general_is_told(struct mt_str text, size_t at, size_t n)
{
    size_t gpu = nearest(text, at, DEVICES, MT_COUNT(DEVICES));
    size_t host = nearest(text, at, HOSTS, MT_COUNT(HOSTS));
    struct mt_str before = lead(text, at);
    struct mt_str after = {text.p + at + n, text.n - at - n};
    bool counted = after.n > 0 && (after.p[0] == '=' || after.p[0] == '_');
    bool named = mt_str_starts(after, MT_STR("error")) || mt_str_starts(after, MT_STR("exception"));
    return (gpu != SIZE_MAX || host != SIZE_MAX) && !counted && !named &&
           !is_instruction(before, after) && !mt_log_has_any(before, MOODS, MT_COUNT(MOODS));
}

bool mt_general_is_mood(struct mt_str text, size_t at)
{
    return mt_log_has_any(lead(text, at), MOODS, MT_COUNT(MOODS));
}

enum mt_incident_kind mt_general_kind(struct mt_str text, size_t at)
{
    size_t gpu = nearest(text, at, DEVICES, MT_COUNT(DEVICES));
    size_t host = nearest(text, at, HOSTS, MT_COUNT(HOSTS));
    return host < gpu ? MT_KIND_HOST_RAM : MT_KIND_OOM;
}

bool mt_general_is_raised(struct mt_str text, size_t at, size_t n)
{
    struct mt_str after = {text.p + at + n, text.n - at - n};
    if (mt_str_find(after, MT_STR("outofmemory")) != SIZE_MAX ||
        mt_str_find(after, MT_STR("allocationondevice")) != SIZE_MAX) {
        return false; /* the message itself follows */
    }
    if (after.n > 0 && !strchr(":('\"t", after.p[0])) {
        return false; /* "t": of IPython's "Traceback" */
    }
    if (mt_str_starts(after, MT_STR("t")) && !mt_str_starts(after, MT_STR("traceback"))) {
        return false;
    }
    struct mt_str before = lead(text, at);
    bool caught = mt_str_ends(before, MT_STR("except")) || mt_str_ends(before, MT_STR("except("));
    bool summary = mt_str_ends((struct mt_str){text.p, at}, MT_STR("-")); /* of pytest */
    return summary || (!caught && !mt_log_has_any(before, MOODS, MT_COUNT(MOODS)));
}

const char *mt_general_backend(struct mt_str text)
{
    static const struct {
        struct mt_str word;
        const char *backend;
    } BACKENDS[] = {
        {MT_STR_INIT("gpuvideomemory"), "dml"},
        {MT_STR_INIT("directml"), "dml"},
        {MT_STR_INIT("dmlexecution"), "dml"},
        {MT_STR_INIT("d3d12"), "dml"},
        {MT_STR_INIT("vulkan"), "vulkan"},
        {MT_STR_INIT("metal"), "metal"},
        {MT_STR_INIT("opencl"), "opencl"},
        {MT_STR_INIT("sycl"), "xpu"},
        {MT_STR_INIT("levelzero"), "xpu"},
        {MT_STR_INIT("xpu"), "xpu"},
        {MT_STR_INIT("rocm"), "hip"},
        {MT_STR_INIT("amdgpu"), "hip"},
        {MT_STR_INIT("hipmalloc"), "hip"},
        {MT_STR_INIT("hiperror"), "hip"},
        {MT_STR_INIT("npu"), "npu"},
        {MT_STR_INIT("hpu"), "hpu"},
        {MT_STR_INIT("tpu"), "tpu"},
        {MT_STR_INIT("cuda"), "cuda"},
        {MT_STR_INIT("nvidia"), "cuda"},
        {MT_STR_INIT("cumem"), "cuda"},
        {MT_STR_INIT("geforce"), "cuda"},
    };
    for (size_t i = 0; i < MT_COUNT(BACKENDS); i++) {
        if (find_name(text, BACKENDS[i].word) != SIZE_MAX) {
            return BACKENDS[i].backend;
        }
    }
    return "";
}

/* ---- other languages ---- */

static const struct {
    struct mt_str phrase; /* UTF-8 */
    struct mt_str english;
} FOREIGN[] = {
    {MT_STR_INIT("显存不足"), MT_STR_INIT("gpuoutofmemory")},
    {MT_STR_INIT("显存溢出"), MT_STR_INIT("gpuoutofmemory")},
    {MT_STR_INIT("显存已满"), MT_STR_INIT("gpuoutofmemory")},
    {MT_STR_INIT("显存耗尽"), MT_STR_INIT("gpuoutofmemory")},
    {MT_STR_INIT("显存分配失败"), MT_STR_INIT("gpumemoryallocationfailed")},
    {MT_STR_INIT("顯存不足"), MT_STR_INIT("gpuoutofmemory")},
    {MT_STR_INIT("内存不足"), MT_STR_INIT("outofmemory")},
    {MT_STR_INIT("記憶體不足"), MT_STR_INIT("outofmemory")},
    {MT_STR_INIT("メモリ不足"), MT_STR_INIT("outofmemory")},
    {MT_STR_INIT("メモリが不足"), MT_STR_INIT("outofmemory")},
    {MT_STR_INIT("メモリが足りません"), MT_STR_INIT("outofmemory")},
    {MT_STR_INIT("메모리 부족"), MT_STR_INIT("outofmemory")},
    {MT_STR_INIT("메모리가 부족"), MT_STR_INIT("outofmemory")},
    {MT_STR_INIT("едостаточно видеопамяти"), MT_STR_INIT("notenoughvideomemory")},
    {MT_STR_INIT("едостаточно памяти"), MT_STR_INIT("outofmemory")},
    {MT_STR_INIT("ехватка памяти"), MT_STR_INIT("outofmemory")},
    {MT_STR_INIT("е хватает памяти"), MT_STR_INIT("outofmemory")},
    {MT_STR_INIT("émoire insuffisante"), MT_STR_INIT("outofmemory")},
    {MT_STR_INIT("émoire vidéo insuffisante"), MT_STR_INIT("notenoughvideomemory")},
    {MT_STR_INIT("émoire GPU insuffisante"), MT_STR_INIT("gpuoutofmemory")},
    {MT_STR_INIT("emória insuficiente"), MT_STR_INIT("outofmemory")},
    {MT_STR_INIT("icht genügend Speicher"), MT_STR_INIT("outofmemory")},
    {MT_STR_INIT("页面文件太小"), MT_STR_INIT("pagingfileistoosmall")},
    {MT_STR_INIT("айл подкачки слишком мал"), MT_STR_INIT("pagingfileistoosmall")},
};

static bool is_ascii(struct mt_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if ((unsigned char)s.p[i] >= 0x80) {
            return false;
        }
    }
    return true;
}

/* The first foreign phrase of s; its index, or MT_COUNT(FOREIGN). */
static size_t first_foreign(struct mt_str s, size_t *at)
{
    size_t which = MT_COUNT(FOREIGN);
    *at = SIZE_MAX;
    for (size_t i = 0; i < MT_COUNT(FOREIGN); i++) {
        size_t found = mt_str_find(s, FOREIGN[i].phrase);
        if (found < *at) {
            *at = found;
            which = i;
        }
    }
    return which;
}

bool mt_general_translate(struct mt_buf *out, struct mt_str clean)
{
    bool any = false;
    if (is_ascii(clean)) {
        return false;
    }
    for (size_t at, which; (which = first_foreign(clean, &at)) < MT_COUNT(FOREIGN); any = true) {
        mt_log_squeeze(out, (struct mt_str){clean.p, at});
        mt_buf_str(out, FOREIGN[which].english);
        at += FOREIGN[which].phrase.n;
        clean = (struct mt_str){clean.p + at, clean.n - at};
    }
    if (any) {
        mt_log_squeeze(out, clean);
    }
    return any;
}
