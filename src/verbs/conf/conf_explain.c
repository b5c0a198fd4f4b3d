/* SPDX-License-Identifier: MIT */
/* What the keys do, when they pay, and what they cost; and values for people. */
#include "verbs/conf/conf_explain.h"
#include "support/units.h"

static const struct mt_conf_explanation EXPLANATIONS[MT_CONF_KEY_COUNT] = {
    [MT_CONF_MAX_SPLIT_SIZE] =
        {"blocks of this size and above are never cut in pieces; they serve only requests of about "
         "their own size and can be given back whole",
         "when large requests come now and then and small ones nibble at their blocks",
         "more calls to the driver: a smaller value is stricter and slower"},
    [MT_CONF_MAX_NON_SPLIT_ROUNDING] = {"how much larger than the request a block above "
                                        "max_split_size_mb may be and still serve it",
                                        "when large requests differ a little from step to step",
                                        "the difference is wasted"},
    [MT_CONF_GARBAGE_COLLECTION] =
        {"above this share of the memory fraction, blocks that were not used for long are given "
         "back before more is asked for",
         "when peaks fill the card and old blocks lie idle",
         "more calls to the driver near the threshold"},
    [MT_CONF_ROUNDUP] =
        {"sizes are rounded up to one of so many steps between two powers of two",
         "when sizes vary from step to step, such as with changing batch or sequence lengths",
         "blocks are larger than asked for, by up to one step"},
    [MT_CONF_ROUNDUP_BYPASS] = {"larger requests are not rounded by roundup_power2_divisions", NULL,
                                NULL},
    [MT_CONF_BACKEND] = {"which allocator serves requests: PyTorch's own (native) or the driver's "
                         "(cudaMallocAsync)",
                         "with cudaMallocAsync, when another library shares the driver's pool",
                         "cudaMallocAsync keeps no segments: there are no snapshots, and every "
                         "other key is without effect"},
    [MT_CONF_EXPANDABLE] =
        {"memory is mapped into a growing range of addresses for each stream instead of fixed "
         "segments",
         "when sizes vary or grow over time: free pieces join, and holes at the end can be given "
         "back",
         "needs the driver's virtual memory calls (Linux); sharing tensors between processes and "
         "some communication libraries need recent versions"},
    [MT_CONF_RELEASE_LOCK] = {"other threads may allocate while one waits for cudaMalloc",
                              "when several threads allocate at once", NULL},
    [MT_CONF_RELEASE_LOCK_HIP] = {"the same for hipMalloc", NULL, NULL},
    [MT_CONF_PINNED_REGISTER] = {"pinned host memory is registered instead of allocated by CUDA",
                                 "when large pinned buffers make start-up slow",
                                 "host memory only: nothing changes on the device"},
    [MT_CONF_PINNED_REGISTER_HIP] = {"the same under ROCm", NULL, NULL},
    [MT_CONF_PINNED_THREADS] = {"threads that touch pinned pages before they are registered", NULL,
                                "host memory only"},
    [MT_CONF_PINNED_BACKGROUND] = {"pinned host blocks are recycled by a thread of their own", NULL,
                                   "host memory only"},
    [MT_CONF_PINNED_RESERVE] = {"one large pinned arena, reserved at the start", NULL,
                                "host memory only"},
    [MT_CONF_GRAPH_REUSE] =
        {"memory that other streams used is reused during a graph capture where the graph proves "
         "that they are done",
         "when captured graphs use several streams", NULL},
    [MT_CONF_FRACTION] =
        {"the process may hold at most this share of the device",
         "when several processes share a card, and to make garbage collection work",
         "requests beyond it fail although the card has room"},
    [MT_CONF_LARGE_SEGMENT] =
        {"segment size for requests between 1 and 10 MiB (20 MiB unless set), "
         "and the page size of expandable segments",
         "larger: fewer calls to the driver; smaller: less lost in segments "
         "that are hardly used",
         NULL},
    [MT_CONF_THROW_ON_OOM] =
        {"a request beyond the memory fraction fails at once, before caches are "
         "released",
         "when a caller handles the failure faster than a release would", NULL},
};

struct mt_conf_explanation mt_conf_explain(enum mt_conf_key key)
{
    return EXPLANATIONS[key];
}

/* ---- values ---- */

static void put_size(struct mt_buf *out, uint64_t bytes)
{
    if (bytes >= UINT64_MAX - MT_MIB) {
        mt_buf_text(out, "unlimited");
        return;
    }
    mt_buf_text(out, mt_size_text(bytes, (struct mt_size_format){MT_UNIT_AUTO, false}).s);
}

/* Runs of equal intervals: "1 MiB to 256 MiB: off, 512 MiB: 2, from 1 GiB: 4". */
static void put_divisions(struct mt_buf *out, const uint64_t d[MT_ALLOC_INTERVALS])
{
    const struct mt_size_format format = {MT_UNIT_AUTO, false};
    for (unsigned i = 0, end; i < MT_ALLOC_INTERVALS; i = end) {
        for (end = i + 1; end < MT_ALLOC_INTERVALS && d[end] == d[i]; end++) {
        }
        mt_buf_text(out, i ? ", " : "");
        if (i == 0 && end == MT_ALLOC_INTERVALS) {
            mt_buf_text(out, "all sizes: ");
        } else if (i == 0) {
            mt_buf_printf(out, "below %s: ", mt_size_text(MT_MIB << end, format).s);
        } else if (end == MT_ALLOC_INTERVALS) {
            mt_buf_printf(out, "from %s on: ", mt_size_text(MT_MIB << i, format).s);
        } else {
            mt_buf_printf(out, "%s to ", mt_size_text(MT_MIB << i, format).s);
            mt_buf_printf(out, "%s: ", mt_size_text(MT_MIB << end, format).s);
        }
        if (d[i] > 1) {
            mt_buf_printf(out, "%llu step%s", (unsigned long long)d[i], d[i] == 1 ? "" : "s");
        } else {
            mt_buf_text(out, "not rounded");
        }
    }
}

static bool flag_of(const struct mt_alloc_settings *s, enum mt_conf_key key)
{
    switch (key) {
    case MT_CONF_EXPANDABLE: return s->expandable_segments;
    case MT_CONF_PINNED_REGISTER:
    case MT_CONF_PINNED_REGISTER_HIP: return s->pinned_use_cuda_host_register;
    case MT_CONF_PINNED_BACKGROUND: return s->pinned_use_background_threads;
    case MT_CONF_GRAPH_REUSE: return s->graph_capture_record_stream_reuse;
    case MT_CONF_THROW_ON_OOM: return s->throw_on_cudamalloc_oom;
    default: return s->release_lock_on_cudamalloc;
    }
}

void mt_conf_value(const struct mt_conf *conf, enum mt_conf_key key, struct mt_buf *out)
{
    const struct mt_alloc_settings *s = &conf->settings;
    switch (key) {
    case MT_CONF_MAX_SPLIT_SIZE: put_size(out, s->max_split_size); return;
    case MT_CONF_MAX_NON_SPLIT_ROUNDING: put_size(out, s->max_non_split_rounding); return;
    case MT_CONF_ROUNDUP_BYPASS: put_size(out, s->roundup_bypass_threshold); return;
    case MT_CONF_PINNED_RESERVE: put_size(out, s->pinned_reserve_segment_size); return;
    case MT_CONF_LARGE_SEGMENT: put_size(out, s->large_segment_size); return;
    case MT_CONF_GARBAGE_COLLECTION:
        mt_buf_printf(out, "%g", s->garbage_collection_threshold);
        return;
    case MT_CONF_FRACTION: mt_buf_printf(out, "%g", s->per_process_memory_fraction); return;
    case MT_CONF_PINNED_THREADS:
        mt_buf_printf(out, "%llu", (unsigned long long)s->pinned_num_register_threads);
        return;
    case MT_CONF_BACKEND:
        mt_buf_text(out, s->backend == MT_BACKEND_ASYNC ? "cudaMallocAsync" : "native");
        return;
    case MT_CONF_ROUNDUP: put_divisions(out, s->roundup_power2_divisions); return;
    default: mt_buf_text(out, flag_of(s, key) ? "on" : "off"); return;
    }
}

void mt_conf_refused(struct mt_error *err, const char *verb, const char *text,
                     const struct mt_conf *conf, mt_torch_release release, bool told)
{
    if (conf->valid) {
        (void)mt_fail(err, MT_USAGE, MT_NO_OFFSET,
                      "%s: --conf '%s': only the native backend is simulated", verb, text);
        mt_hint(err, "memtool %s --help lists the options", verb);
        return;
    }
    (void)mt_fail(err, MT_USAGE, MT_NO_OFFSET, "%s: --conf '%s': PyTorch %d.%d refuses it: %s",
                  verb, text, release / 100, release % 100, conf->error);
    if (told && release < MT_TORCH_MEMTOOL) {
        mt_hint(err, "the file tells that release; --torch VERSION follows another");
    } else {
        mt_hint(err, "memtool conf '%s' explains it", text);
    }
}
