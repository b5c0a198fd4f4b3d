/* SPDX-License-Identifier: MIT */
/*
 * What the watchers see, written down: the table of what is held, events and stacks in a recorder.
 *
 * Python frames are caught only where the thread holds the GIL: the caller may hold locks of its
 * own (PyTorch's allocator does), and waiting for the GIL under them could stop the program.
 */
#include "live/preload/preload_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/compiler.h"
#include "support/mem.h"
#include "support/str.h"

#include "live/core/environment.h"
#include "live/preload/preload.h"
#include "live/preload/preload_device.h"
#include "live/preload/preload_early.h"

enum mode { UNKNOWN, OFF, RECORD, CACHE };
enum { OUT_OF_MEMORY = 2 };

struct mt_preload_state mt_preload_state = {
    .once = PTHREAD_ONCE_INIT,
    .lock = &mt_preload_state.own_lock,
};

static struct mt_preload_state *const watch = &mt_preload_state;

static _Thread_local struct {
    int own;      /* memtool's own work */
    bool watched; /* inside a watched call */
} thread;

/* What it does not know stays OFF, like nothing at all; the first CUDA call tells. */
static int mode_of(const char *text)
{
    return !text                         ? OFF
           : strcmp(text, "record") == 0 ? RECORD
           : strcmp(text, "cache") == 0  ? CACHE
                                         : OFF;
}

bool mt_preload_on(void)
{
    int mode = atomic_load_explicit(&watch->mode, memory_order_relaxed);
    if (MT_UNLIKELY(mode == UNKNOWN)) {
        mode = mode_of(mt_live_env("MEMTOOL_PRELOAD"));
        atomic_store_explicit(&watch->mode, mode, memory_order_relaxed);
    }
    return mode != OFF;
}

/* Letters and signs that no terminal takes for more. */
static void safe_copy(const char *text, char *out, size_t size)
{
    size_t n = 0;
    for (; text[n] && n + 1 < size; n++) {
        out[n] = text[n] > ' ' && text[n] <= '~' ? text[n] : '?';
    }
    out[n] = '\0';
}

static void tell_unknown(void)
{
    const char *text = mt_live_env("MEMTOOL_PRELOAD");
    char line[160], value[40];
    if (atomic_exchange(&watch->told, true) || !text || !*text || mode_of(text) != OFF) {
        return;
    }
    safe_copy(text, value, sizeof value);
    snprintf(line, sizeof line,
             "MEMTOOL_PRELOAD is \"%s\", allowed is record or cache: nothing is recorded", value);
    mt_preload_say(line);
}

bool mt_preload_own(void)
{
    return thread.own > 0;
}

void mt_preload_own_begin(void)
{
    thread.own++;
}

void mt_preload_own_end(void)
{
    thread.own--;
}

/* ---- beginning, at the first allocation ---- */

/* What a process records with, as a thread made it; or why it could not be made. */
struct attempt {
    struct mt_recorder *recorder; /* in mode cache that of `live`, so that one lock and one order of
                                     events serve what it does and what passes it by */
    struct mt_live *live;
    struct mt_record_settings settings;
    struct mt_error err;
};

static void default_settings(struct mt_record_settings *s)
{
    mt_record_settings_default(s);
    s->at_exit = true;
}

/* What was wrong with them stays in `err`, as MT_USAGE. */
static void read_settings(struct mt_record_settings *s, struct mt_error *err)
{
    const char *text = mt_live_env("MEMTOOL_RECORD");
    default_settings(s);
    enum mt_status status = text ? mt_record_settings_parse(s, mt_str_from(text), err) : MT_OK;
    if (status != MT_OK) {
        mt_error_prefix(err, "MEMTOOL_RECORD is ignored");
        default_settings(s);
    } else if (mt_recorder_check(s, err) != MT_OK) {
        mt_error_prefix(err, "no events are recorded");
        s->max_entries = 0; /* the state is, under the name that was asked for */
    }
    if (s->stacks == MT_RECORD_STACKS_AUTO) {
        s->stacks = MT_RECORD_STACKS_ALL; /* C's name the library that called */
    }
}

static enum mt_status make_recorder(struct attempt *a)
{
    const char *rank = mt_live_env("RANK");
    const struct mt_live_options o = {.conf = mt_live_env("MEMTOOL_ALLOC_CONF"),
                                      .rank = rank ? rank : "0"};
    if (atomic_load(&watch->mode) != CACHE) {
        return mt_recorder_new(&a->recorder, &a->err);
    }
    MT_TRY(mt_live_new(&o, &a->live, &a->err));
    a->recorder = a->live->recorder;
    return MT_OK;
}

/* Without a lock, for this loads libraries and looks symbols up: a thread that loads another
 * library, whose constructor asks for memory, would wait for that lock and be waited for by the
 * loader. Several threads may make one, the first one's is kept. */
static void attempt(void)
{
    struct attempt *none = NULL, *own = mt_mem_zalloc(1, sizeof *own);
    if (!own) {
        return;
    }
    read_settings(&own->settings, &own->err);
    if (make_recorder(own) == MT_OK) {
        mt_recorder_prepare(own->recorder, &own->settings);
    } else {
        own->recorder = NULL;
    }
    if (!atomic_compare_exchange_strong(&watch->attempt, &none, own)) {
        if (own->live) {
            mt_live_free(own->live);
        } else {
            mt_recorder_free(own->recorder);
        }
        mt_mem_free(own);
    }
}

static void start(const struct attempt *a)
{
    if (a->err.code != MT_OK) {
        mt_preload_say(a->err.text);
    }
    watch->recorder = a->recorder;
    if (a->live) {
        watch->live = a->live;
        watch->lock = &a->live->lock;
        mt_live_record(a->live, &a->settings);
    } else {
        mt_recorder_set(a->recorder, &a->settings);
    }
    mt_preload_dump_start(&a->settings);
    mt_preload_early_over(a->recorder);
    watch->ready = true;
}

static void begin(void)
{
    struct attempt *first = atomic_load(&watch->attempt);
    const char *rank = mt_live_env("RANK");
    watch->list = mt_live_env("MEMTOOL_CAPTURE_LIST");
    watch->since = mt_live_env("MEMTOOL_CAPTURE_SINCE");
    watch->rank = rank ? rank : "0";
    if (first && first->recorder) {
        start(first);
        return;
    }
    struct mt_error none = {0};
    struct mt_error *err = first ? &first->err : &none;
    if (!first) {
        (void)!mt_fail_nomem(err);
    }
    mt_error_prefix(err, "nothing is recorded");
    mt_preload_failed(err->text);
    mt_preload_early_over(NULL);
}

/* Begins where that was not done yet; whether there is something to record with. */
static bool begun(void)
{
    if (MT_UNLIKELY(!atomic_load_explicit(&watch->begun, memory_order_acquire))) {
        thread.own++;
        if (!atomic_load(&watch->attempt)) {
            attempt();
        }
        pthread_once(&watch->once, begin);
        thread.own--;
        atomic_store_explicit(&watch->begun, true, memory_order_release);
    }
    return watch->ready && !watch->forked;
}

bool mt_preload_enter(void)
{
    if (!mt_preload_on()) {
        if (MT_UNLIKELY(!atomic_load_explicit(&watch->told, memory_order_relaxed))) {
            tell_unknown();
        }
        return false;
    }
    if (thread.own > 0 || thread.watched) {
        return false;
    }
    thread.watched = begun();
    return thread.watched;
}

struct mt_live *mt_preload_live(void)
{
    if (!mt_preload_on() || atomic_load_explicit(&watch->mode, memory_order_relaxed) != CACHE) {
        return NULL;
    }
    if (thread.own > 0 && !atomic_load_explicit(&watch->begun, memory_order_acquire)) {
        return NULL; /* the beginning itself */
    }
    return begun() ? watch->live : NULL;
}

void mt_preload_leave(void)
{
    thread.watched = false;
}

void mt_preload_look(void)
{
    if (mt_preload_on() && thread.own == 0) {
        thread.own++;
        mt_preload_device_look(0);
        thread.own--;
    }
}

bool mt_preload_mark(const char *name, bool end)
{
    bool kept = false, off = !mt_preload_on();
    bool started = atomic_load_explicit(&watch->begun, memory_order_acquire);
    if (off || (MT_UNLIKELY(!started) && mt_preload_early(name, end, &kept)) || !begun()) {
        return kept;
    }
    int device = mt_preload_device();
    mt_quick_lock_take(watch->lock);
    mt_recorder_tick(watch->recorder);
    mt_recorder_mark(watch->recorder, device, name, end);
    mt_quick_lock_give(watch->lock);
    return true;
}

/* ---- stacks ---- */

/* Of this thread; 0 for none. Takes the lock by itself, twice when the stack is new. */
static uint32_t stack_here(bool is_free)
{
    struct mt_recorder *r = watch->recorder;
    struct mt_raw_stack raw;
    uint32_t how = atomic_load_explicit(&r->how, memory_order_relaxed);
    mt_raw_stack_reset(&raw);
    if (how == 0 || (is_free && !(how & MT_HOW_FREES))) {
        return 0;
    }
    if ((how & MT_HOW_PYTHON) && !mt_python_holds_gil(&r->python)) {
        how &= ~(uint32_t)MT_HOW_PYTHON;
    }
    mt_recorder_capture_how(r, how, &raw);
    mt_quick_lock_take(watch->lock);
    uint32_t id = mt_recorder_find_stack(r, &raw);
    mt_quick_lock_give(watch->lock);
    if (id != 0 || raw.n == 0) {
        return id;
    }
    struct mt_stack_text *text = mt_recorder_describe(r, &raw);
    if (text && raw.n > 0) {
        mt_quick_lock_take(watch->lock);
        id = mt_recorder_add_stack(r, &raw, text);
        mt_quick_lock_give(watch->lock);
    }
    mt_stack_text_free(text);
    return id;
}

uint32_t mt_preload_stack(bool is_free)
{
    thread.own++;
    uint32_t id = stack_here(is_free);
    thread.own--;
    return id;
}

/* ---- the code of kernels ---- */

bool mt_preload_seen(int device, uint64_t *bytes)
{
    bool counts = begun() && !watch->live && device < MT_RECORD_DEVICES_MAX;
    if (counts) {
        mt_quick_lock_take(watch->lock);
        *bytes = watch->account.current[device];
        mt_quick_lock_give(watch->lock);
    }
    return counts;
}

void mt_preload_code(int device, int64_t bytes)
{
    uint32_t stack = stack_here(false);
    mt_quick_lock_take(watch->lock);
    mt_preload_account_code(&watch->account, &watch->recorder->stacks, device, bytes, stack);
    mt_quick_lock_give(watch->lock);
}

/* ---- events ---- */

static void note_gone(const struct mt_preload_held *h, uint32_t stack)
{
    static const enum mt_record_action actions[] = {
        MT_RECORD_FREE_REQUESTED, MT_RECORD_FREE_COMPLETED, MT_RECORD_SEGMENT_FREE};
    struct mt_recorder *r = watch->recorder;
    mt_preload_account_sub(&watch->account, &r->stacks, h->device, h->size, h->stack);
    mt_recorder_tick(r);
    for (size_t i = 0; i < MT_COUNT(actions); i++) {
        mt_recorder_event(r, h->device, actions[i], h->addr, h->size, h->stream, stack);
    }
}

static void note_held(const struct mt_preload_held *h)
{
    struct mt_recorder *r = watch->recorder;
    struct mt_preload_held old;
    if (h->device >= watch->n_devices && h->device < MT_RECORD_DEVICES_MAX) {
        watch->n_devices = h->device + 1;
    }
    if (mt_preload_table_take(&watch->table, h->addr, &old)) {
        note_gone(&old, 0); /* its end was not seen */
    }
    mt_recorder_tick(r);
    if (!mt_preload_table_put(&watch->table, h)) {
        return; /* no memory: what is not in the table is not in the trace either */
    }
    mt_preload_account_add(&watch->account, &r->stacks, h->device, h->size, h->stack);
    mt_recorder_event(r, h->device, MT_RECORD_SEGMENT_ALLOC, h->addr, h->size, h->stream, h->stack);
    mt_recorder_event(r, h->device, MT_RECORD_ALLOC, h->addr, h->size, h->stream, h->stack);
}

static void note_oom(int device, uint64_t size, uint64_t stream)
{
    uint32_t stack = stack_here(false);
    uint64_t left = 0, total;
    if (!mt_preload_device_free(&left, &total)) {
        left = 0;
    }
    mt_quick_lock_take(watch->lock);
    if (device >= watch->n_devices && device < MT_RECORD_DEVICES_MAX) {
        watch->n_devices = device + 1;
    }
    mt_recorder_tick(watch->recorder);
    mt_recorder_event(watch->recorder, device, MT_RECORD_OOM, left, size, stream, stack);
    mt_quick_lock_give(watch->lock);
    mt_preload_refused();
}

void mt_preload_refused(void)
{
    thread.own++;
    if (watch->recorder->settings.on_oom) {
        mt_preload_dump_oom();
    }
    thread.own--;
}

void mt_preload_allocated(const struct mt_preload_request *r)
{
    bool refused = r->result == OUT_OF_MEMORY;
    if ((r->result != 0 && !refused) || (refused && r->device == MT_RECORD_HOST)) {
        return; /* an out of memory is the device's; many programs do without pinned memory */
    }
    thread.own++;
    int device = r->device >= 0 ? r->device : mt_preload_device();
    if (device != MT_RECORD_HOST && r->result == 0) {
        mt_preload_device_look(r->device < 0 ? r->size : 0);
    }
    if (refused) {
        note_oom(device, r->size, r->stream);
    } else if (r->addr != 0) {
        const struct mt_preload_held h = {r->addr, r->size, r->stream, device, stack_here(false)};
        mt_quick_lock_take(watch->lock);
        *(r->by_driver ? &watch->driver_calls : &watch->runtime_calls) += 1;
        note_held(&h);
        mt_quick_lock_give(watch->lock);
    }
    thread.own--;
}

void mt_preload_take(uint64_t addr, struct mt_preload_taken *out)
{
    struct mt_preload_held h;
    thread.own++;
    uint32_t stack = stack_here(true);
    mt_quick_lock_take(watch->lock);
    *out = (struct mt_preload_taken){.known = mt_preload_table_take(&watch->table, addr, &h)};
    if (out->known) {
        note_gone(&h, stack);
        *out = (struct mt_preload_taken){true, h.device, addr, h.size, h.stream, h.stack};
    }
    mt_quick_lock_give(watch->lock);
    thread.own--;
}

void mt_preload_freed(const struct mt_preload_taken *t, int result)
{
    if (!t->known || result == 0) {
        return;
    }
    const struct mt_preload_held h = {t->addr, t->size, t->stream, t->device, t->stack};
    mt_quick_lock_take(watch->lock);
    note_held(&h);
    mt_quick_lock_give(watch->lock);
}

void mt_preload_device_ends(int device)
{
    struct mt_preload_held h;
    uint32_t stack = mt_preload_stack(true);
    mt_quick_lock_take(watch->lock);
    for (size_t i = 0; i < watch->table.held.n; i++) {
        uint64_t addr = watch->table.held.v[i].addr;
        if (addr != 0 && addr < MT_PRELOAD_PAGES && watch->table.held.v[i].device == device &&
            mt_preload_table_take(&watch->table, addr, &h)) {
            note_gone(&h, stack);
        }
    }
    mt_quick_lock_give(watch->lock);
}

/* ---- physical memory ---- */

void mt_preload_page_created(const struct mt_preload_request *wanted, uint64_t handle)
{
    struct mt_preload_request r = *wanted;
    if (r.result == 0) {
        mt_quick_lock_take(watch->lock);
        r.addr = mt_preload_table_page(&watch->table, handle, r.size);
        mt_quick_lock_give(watch->lock);
    }
    mt_preload_allocated(&r);
}

void mt_preload_page_retained(uint64_t handle)
{
    mt_quick_lock_take(watch->lock);
    mt_preload_table_retain(&watch->table, handle);
    mt_quick_lock_give(watch->lock);
}

/* A page that nothing holds any more. */
static void end_page(uint64_t addr)
{
    struct mt_preload_taken taken;
    if (addr != 0) {
        mt_preload_take(addr, &taken);
    }
}

void mt_preload_page_released(uint64_t handle)
{
    mt_quick_lock_take(watch->lock);
    uint64_t addr = mt_preload_table_release(&watch->table, handle);
    mt_quick_lock_give(watch->lock);
    end_page(addr);
}

void mt_preload_page_mapped(uint64_t addr, uint64_t handle)
{
    mt_quick_lock_take(watch->lock);
    mt_preload_table_map(&watch->table, addr, handle);
    mt_quick_lock_give(watch->lock);
}

void mt_preload_page_unmapped(uint64_t addr, uint64_t size)
{
    uint64_t gone = 0;
    for (bool more = true; more;) {
        mt_quick_lock_take(watch->lock);
        more = mt_preload_table_unmap(&watch->table, addr, size, &gone);
        mt_quick_lock_give(watch->lock);
        end_page(more ? gone : 0);
    }
}
