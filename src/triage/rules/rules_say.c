/* SPDX-License-Identifier: MIT */
/* The sentences of rules.def: why a rule holds, in the figures that the message printed. */
#include <stdio.h>

#include "support/checked.h"
#include "support/units.h"
#include "triage/rules/rules_parts.h"

static struct mt_size_text text(uint64_t bytes)
{
    return mt_size_text(bytes, (struct mt_size_format){.unit = MT_UNIT_AUTO});
}

static double per_cent(uint64_t part, uint64_t whole)
{
    return 100.0 * mt_share(part, whole);
}

/* "98", and "99.6" where a part that is not the whole would become it. */
static struct mt_size_text share_text(uint64_t part, uint64_t whole)
{
    double share = per_cent(part, whole);
    bool near = share >= 99.5 && share < 100;
    struct mt_size_text s;
    (void)snprintf(s.s, sizeof s.s, near ? "%.1f" : "%.0f", near && share > 99.9 ? 99.9 : share);
    return s;
}

/* Who reserved and asked, in words. */
static const char *owner(const struct mt_facts *f)
{
    return strcmp(f->incident->framework, "torch") == 0 && !mt_facts_plain(f) ? "PyTorch"
                                                                              : "the program";
}

/* What a process holds on the card beside its allocator, in the words of the device. */
static const char *context_words(const struct mt_facts *f)
{
    return strcmp(f->incident->backend, "cuda") == 0  ? "CUDA context"
           : strcmp(f->incident->backend, "hip") == 0 ? "HIP context"
                                                      : "context";
}

static const char *library_words(const struct mt_facts *f)
{
    return strcmp(f->incident->backend, "cuda") == 0  ? "NCCL, cuBLAS/cuDNN workspaces"
           : strcmp(f->incident->backend, "hip") == 0 ? "RCCL, workspaces of rocBLAS and MIOpen"
                                                      : "workspaces";
}

void mt_say_oversize_kind(const struct mt_facts *f, struct mt_buf *out)
{
    if (known(f, MT_OOM_REQUESTED)) {
        mt_buf_printf(out, "One buffer of %s is above the largest that the device allows.",
                      text(f->requested).s);
        return;
    }
    mt_buf_text(out, "The size asked for is beyond any device: it comes from a wrong shape or a "
                     "negative number, not from need.");
}

/* What the figure of the whole is of. */
static const char *whole(const struct mt_facts *f)
{
    return f->incident->whole_is_limit ? "limit of the framework" : "card";
}

void mt_say_limit_tiny(const struct mt_facts *f, struct mt_buf *out)
{
    mt_buf_printf(
        out,
        "The allocator may take %s in all, less than any card has, and %s was asked for: "
        "others had taken the rest of the card when it started, or someone set the limit.",
        text(f->total).s, text(f->requested).s);
}

void mt_say_request_card(const struct mt_facts *f, struct mt_buf *out)
{
    mt_buf_printf(out, "One request of %s is %.1f times the whole %s (%s).", text(f->requested).s,
                  mt_share(f->requested, f->total), whole(f), text(f->total).s);
}

void mt_say_request_limit(const struct mt_facts *f, struct mt_buf *out)
{
    bool inferred = f->incident->allowed_below > 0;
    mt_buf_printf(out, "One request of %s is above everything this process %s take (%s%s).",
                  text(f->requested).s, inferred ? "seems to be allowed to" : "may",
                  inferred ? "below " : "",
                  text(inferred ? f->incident->allowed_below : f->allowed).s);
}

void mt_say_request_half(const struct mt_facts *f, struct mt_buf *out)
{
    mt_buf_printf(out, "One request of %s is %.0f %% of the %s", text(f->requested).s,
                  per_cent(f->requested, f->total), whole(f));
    if (known(f, MT_OOM_FREE) && mt_facts_watched(f)) {
        mt_buf_printf(out, ", and only %s was free.", text(f->free).s);
    } else if (known(f, MT_OOM_FREE)) {
        mt_buf_printf(out, ", and free memory together with %s's whole cache is only %s.", owner(f),
                      text(mt_add_sat(f->free, f->unallocated)).s);
    } else {
        mt_buf_printf(out, ", with %s live already.", text(f->allocated).s);
    }
}

void mt_say_request_any(const struct mt_facts *f, struct mt_buf *out)
{
    mt_buf_printf(out, "One buffer of %s: hardly any single card holds that.",
                  text(f->requested).s);
}

void mt_say_kind_limit(const struct mt_facts *f, struct mt_buf *out)
{
    mt_buf_printf(out, "The message says that a %s was reached, not that the card was full.",
                  strcmp(f->incident->framework, "rmm") == 0 ? "memory pool's maximum size"
                                                             : "limit of this process");
}

void mt_say_pool_or_driver(const struct mt_facts *f, struct mt_buf *out)
{
    (void)f;
    mt_buf_text(out,
                "RMM's pool could not grow: its own maximum was reached, or the driver refused "
                "it more. RMM prints the same for both, and the maximum is not printed.");
}

void mt_say_limit(const struct mt_facts *f, struct mt_buf *out)
{
    uint64_t held = f->reserved > f->allocated ? f->reserved : f->allocated;
    if (f->incident->allowed_below > 0) { /* no file names the limit; its refusals tell of it */
        mt_buf_printf(out,
                      "This process seems to have a limit (%s): it holds %s, and %s more was "
                      "refused.",
                      mt_size_range_text(f->allowed, f->incident->allowed_below,
                                         (struct mt_size_format){MT_UNIT_AUTO, false})
                          .s,
                      text(held).s, text(f->requested).s);
    } else {
        bool beyond = mt_add_sat(held, f->room.need) > f->allowed;
        mt_buf_printf(out, "This process may take %s and holds %s; %s more %s.", text(f->allowed).s,
                      text(held).s, text(f->room.need).s,
                      beyond ? "would go beyond it" : "would bring it to the limit");
    }
    if (f->free > f->requested) {
        mt_buf_printf(out, " The card still had %s free.", text(f->free).s);
    }
}

void mt_say_framework_limit(const struct mt_facts *f, struct mt_buf *out)
{
    mt_buf_printf(out,
                  "TensorFlow was allowed exactly %s, a round number as people set it, and used %s "
                  "of it.",
                  text(f->total).s, text(f->allocated).s);
}

void mt_say_free_exceeds(const struct mt_facts *f, struct mt_buf *out)
{
    bool total = known(f, MT_OOM_TOTAL);
    mt_buf_printf(out, "%s was asked for while %s%s%s was free.", text(f->requested).s,
                  text(f->free).s, total ? " of " : "", total ? text(f->total).s : "");
}

void mt_say_free_implied(const struct mt_facts *f, struct mt_buf *out)
{
    mt_buf_printf(out,
                  "%s held only %s of %s and asked for %s more; how much was free is not "
                  "printed.",
                  strcmp(owner(f), "PyTorch") == 0 ? "PyTorch" : "The program",
                  text(f->reserved > f->allocated ? f->reserved : f->allocated).s, text(f->total).s,
                  text(f->requested).s);
}

void mt_say_leak_printed(const struct mt_facts *f, struct mt_buf *out)
{
    const struct mt_series *s = f->leak;
    const char *step = s->epochs ? "epoch" : "step";
    mt_buf_printf(out, "%s rises by %s %s %s: from %s at %s %lld (line %llu) to %s at %s %lld.",
                  s->epochs ? "Reserved memory" : "Memory", text((uint64_t)s->bytes_per_step).s,
                  s->epochs ? "an" : "a", step, text(s->first).s, step, (long long)s->first_step,
                  (unsigned long long)s->first_line, text(s->last).s, step,
                  (long long)s->last_step);
}

void mt_say_leak_recorded(const struct mt_facts *f, struct mt_buf *out)
{
    mt_buf_printf(out, "The snapshot shows live memory growing by %s a step, %s.",
                  text(f->growth).s, f->growing);
}

void mt_say_holes(const struct mt_facts *f, struct mt_buf *out)
{
    mt_buf_printf(out,
                  "%s of the %s that %s had reserved was unallocated (%.0f %%), more than the "
                  "%s asked for: no hole that the request may use was large enough.",
                  text(f->unallocated).s, text(f->reserved).s,
                  mt_facts_plain(f) ? "its allocator" : owner(f),
                  per_cent(f->unallocated, f->reserved), text(f->requested).s);
}

void mt_say_holes_and_free(const struct mt_facts *f, struct mt_buf *out)
{
    mt_buf_printf(out,
                  "%s free and %s reserved but unallocated (%.0f %% of reserved) would together "
                  "hold the %s asked for, but not in one piece.",
                  text(f->free).s, text(f->unallocated).s, per_cent(f->unallocated, f->reserved),
                  text(f->requested).s);
}

void mt_say_chunks(const struct mt_facts *f, struct mt_buf *out)
{
    const struct mt_chunks *c = f->chunks;
    mt_buf_printf(out,
                  "By the dump of its pool %s was free in %llu piece%s of at most %s: none could "
                  "hold the %s asked for.",
                  text(c->free_bytes).s, (unsigned long long)c->free_chunks,
                  c->free_chunks == 1 ? "" : "s", text(c->largest_free).s, text(f->requested).s);
}

void mt_say_others(const struct mt_facts *f, struct mt_buf *out)
{
    mt_buf_printf(out, "Other processes hold %s, %.0f %% of the card.", text(f->others).s,
                  per_cent(f->others, f->total));
}

void mt_say_unexplained(const struct mt_facts *f, struct mt_buf *out)
{
    bool shot = strcmp(f->incident->format, "snapshot") == 0;
    uint64_t context = f->account ? mt_account_sum(f->account, MT_OWNER_CONTEXT) : 0;
    if (context > 0 && f->account->used_known) {
        uint64_t rest = f->account->over ? 0 : mt_account_sum(f->account, MT_OWNER_UNEXPLAINED);
        mt_buf_printf(out,
                      "%s of the card (%.0f %%) is in use and not this process's as far as it was "
                      "watched: other processes, or calls that are not watched.",
                      text(rest).s, per_cent(rest, f->total));
        return;
    }
    mt_buf_printf(
        out,
        "%s of the card (%.0f %%) is in use outside %s allocator: other processes "
        "or this one's %s and libraries (the %s does not say which%s).",
        text(f->unexplained).s, per_cent(f->unexplained, f->total),
        mt_facts_plain(f) ? "its" : "PyTorch's", context_words(f), shot ? "snapshot" : "message",
        strcmp(f->incident->backend, "cuda") == 0 ? "; a context takes 0.5 to 1 GiB" : "");
}

void mt_say_processes(const struct mt_facts *f, struct mt_buf *out)
{
    mt_buf_printf(out,
                  "The message names %zu processes with %s together; it breaks off before this "
                  "process's own figures.",
                  f->incident->n_processes, text(listed(f)).s);
}

void mt_say_outside(const struct mt_facts *f, struct mt_buf *out)
{
    bool mps = strcmp(f->incident->backend, "mps") == 0;
    if (mt_facts_plain(f)) {
        mt_buf_printf(out,
                      "%s (%.0f %% of the card) of this process was allocated neither by it nor by "
                      "its libraries: CUDA context, code of kernels, the driver's pools.",
                      text(f->outside).s, per_cent(f->outside, f->total));
        return;
    }
    if (mps) {
        mt_buf_printf(out,
                      "%s (%.0f %%) of what this process may use is held past PyTorch's allocator: "
                      "by Metal's own libraries, or by another one in this process.",
                      text(f->outside).s, per_cent(f->outside, f->total));
        return;
    }
    mt_buf_printf(out,
                  "%s (%.0f %% of the card) of this process lies outside PyTorch's allocator: %s, "
                  "%s, other libraries.",
                  text(f->outside).s, per_cent(f->outside, f->total), context_words(f),
                  library_words(f));
}

/* Of a process that was watched, what PyTorch had cached cannot be told from what was in use. */
static const char *live_words(const struct mt_facts *f)
{
    bool is_tpu = strcmp(f->incident->backend, "tpu") == 0;
    bool is_mps = strcmp(f->incident->backend, "mps") == 0; /* counts its pools whole */
    return mt_facts_plain(f)     ? "The allocations of the program and its libraries"
           : mt_facts_watched(f) ? "Tensors and PyTorch's cache"
           : is_tpu              ? "The buffers of the compiled program"
           : is_mps              ? "Tensors and PyTorch's cache"
                                 : "Live tensors";
}

/* What was free, what lay in holes, and what the request lacked. */
static void say_room(const struct mt_facts *f, struct mt_buf *out)
{
    const struct mt_room *r = &f->room;
    if (r->kind == MT_ROOM_SCATTERED) {
        mt_buf_printf(out,
                      " For the %s asked for, %s was missing; %s is reserved but lies in holes "
                      "between what is live.",
                      text(r->need).s, mt_room_missing(r).s, text(r->holes).s);
    } else if (r->kind == MT_ROOM_SHORT && r->holes > 0) {
        mt_buf_printf(
            out,
            " For the %s asked for, %s was missing; the %s reserved but unallocated would "
            "not make up for that.",
            text(r->need).s, mt_room_missing(r).s, text(r->holes).s);
    } else if (r->known && r->missing == r->need && !r->by_limit) {
        mt_buf_printf(out, " Nothing was free for the %s asked for.", text(r->need).s);
    } else if (r->known && r->missing > 0) {
        mt_buf_printf(out, " The %s request was %s short.", text(r->need).s, mt_room_missing(r).s);
    }
}

void mt_say_live(const struct mt_facts *f, struct mt_buf *out)
{
    uint64_t pools = mt_oom_get(f->numbers, MT_OOM_PRIVATE_POOLS);
    const char *allowed = f->incident->whole_is_limit ? " that it may take" : "";
    struct mt_size_text share = share_text(f->allocated, f->total);
    if (pools > f->allocated / 50 && pools < f->allocated) { /* PyTorch prints both in one figure */
        mt_buf_printf(out, "%s take %s and private pools %s more, together %s %% of the %s.",
                      live_words(f), text(f->allocated - pools).s, text(pools).s, share.s,
                      text(f->total).s);
    } else {
        mt_buf_printf(out, "%s take %s, %s %% of the %s%s.", live_words(f), text(f->allocated).s,
                      share.s, text(f->total).s, allowed);
    }
    say_room(f, out);
}

void mt_say_live_and_request(const struct mt_facts *f, struct mt_buf *out)
{
    mt_buf_printf(out, "%s (%s) and this request (%s) together exceed the %s (%s).", live_words(f),
                  text(f->allocated).s, text(f->requested).s, whole(f), text(f->total).s);
}

/* A snapshot does not tell the card's size; what is missing from it is not this process's. */
void mt_say_live_known(const struct mt_facts *f, struct mt_buf *out)
{
    if (!known(f, MT_OOM_TOTAL)) {
        mt_buf_printf(out,
                      "%s is allocated and %s free; if the card has much more, others hold it.",
                      text(f->allocated).s, text(f->free).s);
        return;
    }
    mt_buf_printf(out, "%s is allocated and only %s free; %s was asked for.", text(f->allocated).s,
                  text(f->free).s, text(f->requested).s);
}

void mt_say_card_full(const struct mt_facts *f, struct mt_buf *out)
{
    mt_buf_printf(out,
                  "The card is full (%s%s%s free, %s asked for), but the message does not say who "
                  "holds the memory.",
                  text(f->free).s, known(f, MT_OOM_TOTAL) ? " of " : "",
                  known(f, MT_OOM_TOTAL) ? text(f->total).s : "", text(f->requested).s);
}

void mt_say_library(const struct mt_facts *f, struct mt_buf *out)
{
    enum mt_program_kind k = mt_program_kind(f->program);
    bool torch = strcmp(f->incident->framework, "torch") == 0 ||
                 (f->notes && f->notes->said[MT_SAID_TORCH_SEEN].known);
    bool other = k == MT_PROGRAM_KIND_LIBRARY || (!torch && k != MT_PROGRAM_KIND_TRAINING);
    const char *owner = other ? "the framework" : "PyTorch";
    mt_buf_printf(out, "%s allocates past %s's allocator and %s: %s may hold what it needed.",
                  strcmp(f->incident->format, "nccl") == 0 ? "NCCL" : "A CUDA library", owner,
                  f->incident->doubtful ? "may have found the card full" : "got no memory",
                  other ? "its pool" : "PyTorch's cache");
}

/* What a runner found free on one card when it began, and took of it for the weights. */
static bool say_start(const struct mt_facts *f, struct mt_buf *out)
{
    const struct mt_said_value *free = f->notes ? &f->notes->said[MT_SAID_START_FREE] : NULL;
    if (!free || !free->known || free->first > free->last || free->first < free->last) {
        return false;
    }
    const struct mt_said_value *model = &f->notes->said[MT_SAID_MODEL_BUFFER];
    mt_buf_printf(out, "%s was asked for; when the program began %s was free on the card",
                  text(f->requested).s, text((uint64_t)free->last).s);
    if (model->known) {
        mt_buf_printf(out, ", of which the weights took %s", text((uint64_t)model->last).s);
    }
    mt_buf_char(out, '.');
    return true;
}

void mt_say_no_numbers(const struct mt_facts *f, struct mt_buf *out)
{
    if (known(f, MT_OOM_ALLOCATED) || known(f, MT_OOM_RESERVED)) {
        mt_buf_printf(out,
                      "The message tells what the program held (%s), but neither the card's size "
                      "nor what was free.",
                      text(f->allocated > f->reserved ? f->allocated : f->reserved).s);
    } else if (known(f, MT_OOM_FREE) && known(f, MT_OOM_TOTAL) && !known(f, MT_OOM_REQUESTED)) {
        mt_buf_printf(out,
                      "%s of %s was free; the message says neither what was asked for nor who "
                      "holds the rest.",
                      text(f->free).s, text(f->total).s);
    } else if (known(f, MT_OOM_REQUESTED) && say_start(f, out)) {
        return;
    } else if (known(f, MT_OOM_REQUESTED)) {
        const struct mt_said_value *xla = f->notes ? f->notes->said : NULL;
        bool buffers = xla && xla[MT_SAID_XLA_TOTAL].known;
        mt_buf_printf(out,
                      buffers ? "%s was asked for, of which the message lists the buffers; how "
                                "full the card was is not printed."
                              : "Only the size asked for is printed (%s); how full the card "
                                "was, and with what, is not.",
                      text(f->requested).s);
    } else {
        mt_buf_text(out, "The message holds no figures: neither the card's size nor what was in "
                         "use.");
    }
    if (f->incident->doubtful && f->incident->kind != MT_KIND_LIBRARY &&
        strcmp(f->incident->framework, "onnxruntime") == 0) {
        mt_buf_text(out, " It does not say whose arena it was; the log names a GPU provider.");
    } else if (f->incident->doubtful) {
        mt_buf_text(out, " A full card is the usual reason for this status; a driver or library "
                         "that does not fit, or an earlier error on the card, gives it too.");
    }
}
