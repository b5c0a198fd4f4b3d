/* SPDX-License-Identifier: MIT */
/*
 * Advice about holes in PyTorch's cache and the settings against them: which releases have them,
 * what they would make usable, and why they do not help where the figures rule them out. Settings
 * are read when the process starts, so each of them says where it must stand.
 */
#include "triage/advice/advice.h"

static bool era_is(const struct mt_incident *i, const char *prefix)
{
    return strncmp(i->format, prefix, strlen(prefix)) == 0;
}

/* Releases up to 1.9 read no settings; expandable segments came with 2.1. */
bool mt_incident_has_no_settings(const struct mt_incident *i)
{
    return era_is(i, "torch-1.0") || era_is(i, "torch-1.4") || era_is(i, "torch-0");
}

static bool may_expand(const struct mt_incident *i)
{
    return !mt_incident_has_no_settings(i) && !era_is(i, "torch-1.1");
}

static const char *conf_variable(const struct mt_facts *f)
{
    const struct mt_incident *i = f->incident;
    if (mt_facts_memtools(f)) {
        return "MEMTOOL_ALLOC_CONF";
    }
    if (strcmp(i->backend, "hip") == 0) {
        return "PYTORCH_HIP_ALLOC_CONF";
    }
    return strcmp(i->backend, "npu") == 0 ? "PYTORCH_NPU_ALLOC_CONF" : "PYTORCH_CUDA_ALLOC_CONF";
}

/* ---- fragmentation ---- */

static void advise_expandable(struct mt_advisor *a)
{
    const struct mt_facts *f = a->facts;
    mt_advise(a, "expandable_segments", true);
    mt_advise_text(a, "Let segments grow instead of leaving holes. Set it before Python starts; it "
                      "is read once.");
    mt_advise_command(a, "export %s=expandable_segments:True", conf_variable(f));
    const char *begin =
        f->expandable_serves ? "A replay of the snapshot with it served the request: u" : "U";
    if (f->room.kind == MT_ROOM_SCATTERED) {
        mt_advise_why(a, "%sp to %s of unallocated memory becomes usable; %s is missing.", begin,
                      mt_advice_size(f->unallocated).s, mt_room_missing(&f->room).s);
        return;
    }
    mt_advise_why(a, "%sp to %s of unallocated memory becomes usable; %s was asked for.", begin,
                  mt_advice_size(f->unallocated).s, mt_advice_size(f->requested).s);
}

/* A split limit below the request keeps blocks of its size whole. */
static void advise_max_split(struct mt_advisor *a)
{
    const struct mt_facts *f = a->facts;
    if (f->serving_conf) {
        mt_advise(a, "replayed_setting", true);
        mt_advise_text(a, "Use the setting that served the request when the snapshot was replayed. "
                          "Set it before Python starts.");
        mt_advise_command(a, "export %s=%s", conf_variable(f), f->serving_conf);
        mt_advise_why(a, "It was tried on this very recording.");
        return;
    }
    uint64_t mib = f->requested >> 21; /* half the request */
    mib = mib < 128 ? 128 : mib > 512 ? 512 : mib;
    mt_advise(a, "max_split_size_mb", true);
    mt_advise_text(a, "Keep large blocks whole. Set it before Python starts; it can cost speed, so "
                      "compare a few steps.");
    mt_advise_command(a, "export %s=max_split_size_mb:%llu", conf_variable(f),
                      (unsigned long long)mib);
    mt_advise_why(a,
                  "Blocks above %llu MiB are no longer cut, so %s can be found again in one "
                  "piece.",
                  (unsigned long long)mib, mt_advice_size(f->requested).s);
}

static void advise_even_sizes(struct mt_advisor *a)
{
    mt_advise(a, "even_sizes", true);
    mt_advise_text(a, "The lasting cure: ask for the same few sizes every step. Pad sequences to "
                      "multiples, keep the last batch full, reuse buffers.");
    mt_advise_command(a, "loader = DataLoader(data, batch_size=B, drop_last=True)  # and pad "
                         "lengths to multiples of 64");
    mt_advise_why(a, "Freed blocks then fit the next request.");
}

/* No setting helps: what is left is to change who cuts the segments up. */
static void advise_unpin(struct mt_advisor *a)
{
    mt_advise(a, "unpin", true);
    mt_advise_text(a,
                   "Change what cuts the segments up: %s. Allocate what lives long first, or in "
                   "one buffer.",
                   a->facts->pin ? a->facts->pin : "see frag");
    mt_advise_command(a, "memtool frag %s", a->snapshot ? a->snapshot : "SNAPSHOT");
    mt_advise_why(a, "None of the settings that were replayed served the request.");
}

void mt_advice_fragmentation(struct mt_advisor *a)
{
    const struct mt_incident *i = a->facts->incident;
    if (a->facts->replays_fail) {
        advise_unpin(a);
        advise_even_sizes(a);
        return;
    }
    bool spent = a->facts->expandable_on || a->facts->expandable_fails;
    if (may_expand(i) && !spent) {
        advise_expandable(a);
    } else if (!mt_incident_has_no_settings(i)) {
        advise_max_split(a);
    }
    if (mt_incident_has_no_settings(i)) {
        mt_advise(a, "upgrade", true);
        mt_advise_text(a, "This PyTorch is from 2021 or older and has no setting against "
                          "fragmentation; 2.1 and later do.");
        mt_advise_command(a, "pip install --upgrade torch");
        mt_advise_why(a, "expandable_segments would make up to %s of holes usable.",
                      mt_advice_size(a->facts->unallocated).s);
    }
    advise_even_sizes(a);
}

/* Holes would make up for what is missing, though live memory is the main matter. */
static bool may_scrape(const struct mt_facts *f)
{
    const struct mt_incident *i = f->incident;
    return f->room.kind == MT_ROOM_SCATTERED && mt_incident_is(i, "torch") &&
           (strcmp(i->backend, "cuda") == 0 || strcmp(i->backend, "hip") == 0) &&
           !mt_incident_has_no_settings(i) && !f->replays_fail;
}

static void try_expandable(struct mt_advisor *a)
{
    const struct mt_facts *f = a->facts;
    mt_advise(a, "expandable_segments", true);
    mt_advise_text(a, "Worth one try: let segments grow, so that holes can be used. Set it before "
                      "Python starts; it is read once.");
    mt_advise_command(a, "export %s=expandable_segments:True", conf_variable(f));
    if (f->expandable_serves) {
        mt_advise_why(a, "A replay of the snapshot with it served the request.");
        return;
    }
    mt_advise_why(a,
                  "%s lies in holes and %s is missing: put together, they would serve the "
                  "request with at most %s to spare.",
                  mt_advice_size(f->room.holes).s, mt_room_missing(&f->room).s,
                  mt_room_text(&f->room, mt_room_spare(&f->room)).s);
}

/* A setting costs one line and may serve this request, so it stands second, behind what lasts. */
void mt_advice_holes(struct mt_advisor *a)
{
    const struct mt_facts *f = a->facts;
    size_t before = a->list.n;
    if (!may_scrape(f)) {
        return;
    }
    if (may_expand(f->incident) && !f->expandable_on && !f->expandable_fails) {
        try_expandable(a);
    } else if (f->serving_conf || (!may_expand(f->incident) && f->unallocated >= f->requested)) {
        advise_max_split(a);
    }
    if (a->list.n == before || a->no_memory) {
        return;
    }
    struct mt_advice last = a->list.v[before];
    for (size_t i = before; i > 1; i--) {
        a->list.v[i] = a->list.v[i - 1];
        a->list.v[i - 1] = last;
    }
}
/* ---- where it does not help ---- */

/* Why holes are not the matter, by the figures; false: the figures do not rule them out. */
static bool why_not_holes(struct mt_advisor *a)
{
    const struct mt_facts *f = a->facts;
    struct mt_size_text holes = mt_advice_size(f->unallocated);
    double share = 100 * mt_share(f->unallocated, f->reserved);
    if (a->verdict == MT_VERDICT_OVERSIZED_REQUEST) {
        mt_advise_why(a, "No arrangement of this card makes room for %s.",
                      mt_advice_size(f->requested).s);
    } else if (!mt_facts_has(f, MT_OOM_UNALLOCATED)) {
        mt_advise_why(a, "Nothing here shows fragmentation; it is the standard hint.");
    } else if (a->verdict == MT_VERDICT_LEAK && f->expandable_serves) {
        mt_advise_why(a,
                      "A replay with it served this request, but what grows fills that as well.");
    } else if (a->verdict == MT_VERDICT_LEAK) {
        mt_advise_why(a, "It wins at most the %s that is unallocated, once.", holes.s);
    } else if (a->verdict == MT_VERDICT_FREE_EXCEEDS_REQUEST) {
        mt_advise_why(a, "Holes did not matter: a new segment would have had room.");
    } else if (f->room.kind == MT_ROOM_SHORT) {
        mt_advise_why(a, "Only %s is reserved but unallocated (%.0f %%); %s is missing.", holes.s,
                      share, mt_room_missing(&f->room).s);
    } else if (f->room.kind == MT_ROOM_UNKNOWN && f->unallocated < f->requested) {
        mt_advise_why(a, "Only %s is reserved but unallocated (%.0f %%); %s was asked for.",
                      holes.s, share, mt_advice_size(f->requested).s);
    } else {
        return false;
    }
    return true;
}

void mt_advice_holes_hint(struct mt_advisor *a)
{
    const struct mt_facts *f = a->facts;
    bool unallocated = mt_facts_has(f, MT_OOM_UNALLOCATED);
    bool tried = f->expandable_on || f->expandable_fails;
    if (!tried &&
        (mt_rules_holds(f, MT_VERDICT_FRAGMENTATION) || mt_incident_has_no_settings(f->incident) ||
         (!f->incident->expandable_hint && !unallocated))) {
        return;
    }
    mt_advise(a, "expandable_segments", false);
    mt_advise_text(a, may_expand(f->incident) ? "expandable_segments:True" : "max_split_size_mb");
    if (f->expandable_on) {
        mt_advise_why(a, "It is already on.");
    } else if (f->expandable_fails) {
        mt_advise_why(a, "A replay of the snapshot with it failed at the request as well.");
    } else if (!why_not_holes(a)) {
        a->list.n -= !a->no_memory; /* the figures do not rule it out: it stands with the steps */
    }
}
