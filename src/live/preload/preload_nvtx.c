/* SPDX-License-Identifier: MIT */
/*
 * NVTX: the ranges that a program names become annotations. NVTX loads the library that
 * NVTX_INJECTION64_PATH names at its first call, in each library that brings a copy of it, and asks
 * for InitializeInjectionNvtx2, which puts functions into its tables. Whatever is not put there
 * NVTX itself makes do nothing.
 *
 * The layouts are those of nvtxDetail/nvtxTypes.h and nvToolsExt.h, NVTX 3.1; version 2 has the
 * same.
 */
#define _GNU_SOURCE 1 /* dladdr */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "live/core/live.h"
#include "live/core/range_name.h"
#include "live/preload/preload.h"
#include "live/preload/preload_device.h"
#include "live/preload/preload_doors.h"
#include "support/arena.h"
#include "support/compiler.h"
#include "support/hash.h"

enum { DEPTH_MAX = 32, OPEN_MAX = 256, STRINGS_MAX = 1 << 16 };

/* A range that was pushed; of a thread's ranges those of a domain nest in each other. */
struct pushed {
    const void *domain;
    bool told;
    struct mt_range_name name;
};

/* A range that was started: it may end in another thread. */
struct started {
    uint64_t id; /* 0: an empty place */
    bool told;
    struct mt_range_name name;
};

static _Thread_local struct {
    int n, deeper; /* ranges beyond DEPTH_MAX are only counted */
    struct pushed ranges[DEPTH_MAX];
} here;

static struct {
    pthread_mutex_t lock;
    uint64_t last_id;
    uintptr_t last_domain;
    struct started open[OPEN_MAX];
    struct mt_arena arena;
    struct mt_intern strings; /* registered ones: their ids are the handles */
} nvtx = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- registered strings ---- */

static void *register_name(struct mt_range_name name)
{
    pthread_mutex_lock(&nvtx.lock);
    if (!nvtx.strings.arena) {
        mt_intern_init(&nvtx.strings, &nvtx.arena, 0);
    }
    size_t n = strlen(name.text);
    uint32_t id = nvtx.strings.strings.n < STRINGS_MAX
                      ? mt_intern_put(&nvtx.strings, name.text, n)
                      : mt_intern_find(&nvtx.strings, name.text, n);
    pthread_mutex_unlock(&nvtx.lock);
    return (void *)(uintptr_t)id;
}

static struct mt_range_name from_handle(const void *handle)
{
    struct mt_range_name name = mt_range_name_bytes(NULL);
    uintptr_t id = (uintptr_t)handle;
    pthread_mutex_lock(&nvtx.lock);
    if (id > 0 && id < nvtx.strings.strings.n) {
        name = mt_range_name_bytes(nvtx.strings.strings.v[id].p);
    }
    pthread_mutex_unlock(&nvtx.lock);
    return name;
}

/* nvtxEventAttributes_t */
struct attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
};
_Static_assert(sizeof(struct attributes) == 48, "as in nvToolsExt.h");

enum { BYTES = 1, WIDE = 2, REGISTERED = 3 }; /* nvtxMessageType_t */

static struct mt_range_name from_attributes(const struct attributes *a)
{
    if (!a || a->size < sizeof *a) {
        return mt_range_name_bytes(NULL);
    }
    switch (a->message_type) {
    case BYTES: return mt_range_name_bytes(a->message);
    case WIDE: return mt_range_name_wide(a->message);
    case REGISTERED: return from_handle(a->message);
    default: return mt_range_name_bytes(NULL);
    }
}

/* ---- ranges ---- */

/* To whoever records: the preload or the allocator. False when nobody does. */
static bool tell(const struct mt_range_name *name, bool end)
{
    if (mt_preload_own()) {
        return false;
    }
    return mt_preload_on() ? mt_preload_mark(name->text, end)
                           : mt_shim_mark(name->text, mt_preload_device(), end);
}

static void mark(struct mt_range_name name)
{
    if (tell(&name, false)) {
        tell(&name, true);
    }
}

/* Ranges of the domain that are open in this thread. */
static int level_of(const void *domain)
{
    int n = 0;
    for (int i = 0; i < here.n; i++) {
        n += here.ranges[i].domain == domain;
    }
    return n;
}

static int push(const void *domain, struct mt_range_name name)
{
    if (here.n == DEPTH_MAX) {
        return level_of(domain) + here.deeper++;
    }
    int level = level_of(domain);
    here.ranges[here.n++] = (struct pushed){domain, tell(&name, false), name};
    return level;
}

static int pop(const void *domain)
{
    if (here.deeper > 0) {
        return level_of(domain) + --here.deeper;
    }
    int i = here.n - 1;
    while (i >= 0 && here.ranges[i].domain != domain) {
        i--;
    }
    if (i < 0) {
        return -1; /* nothing is open */
    }
    if (here.ranges[i].told) {
        tell(&here.ranges[i].name, true);
    }
    here.n--;
    memmove(&here.ranges[i], &here.ranges[i + 1], (size_t)(here.n - i) * sizeof here.ranges[0]);
    return level_of(domain);
}

static struct started *place_of(uint64_t id)
{
    int i = 0;
    while (i < OPEN_MAX && nvtx.open[i].id != id) {
        i++;
    }
    return i < OPEN_MAX ? &nvtx.open[i] : NULL;
}

/* A range that finds no place has no beginning either. */
static uint64_t start(struct mt_range_name name)
{
    pthread_mutex_lock(&nvtx.lock);
    uint64_t id = ++nvtx.last_id;
    struct started *s = place_of(0);
    if (s) {
        *s = (struct started){id, false, name};
    }
    pthread_mutex_unlock(&nvtx.lock);
    bool told = s && tell(&name, false);
    pthread_mutex_lock(&nvtx.lock);
    if (told && s->id == id) {
        s->told = true;
    }
    pthread_mutex_unlock(&nvtx.lock);
    return id;
}

static void end(uint64_t id)
{
    struct started range = {0};
    pthread_mutex_lock(&nvtx.lock);
    struct started *s = id ? place_of(id) : NULL;
    if (s) {
        range = *s;
        s->id = 0;
    }
    pthread_mutex_unlock(&nvtx.lock);
    if (range.told) {
        tell(&range.name, true);
    }
}

/* ---- what NVTX calls ---- */

static void mark_ex(const struct attributes *a)
{
    mark(from_attributes(a));
}

static void mark_a(const char *text)
{
    mark(mt_range_name_bytes(text));
}

static void mark_w(const wchar_t *text)
{
    mark(mt_range_name_wide(text));
}

static uint64_t start_ex(const struct attributes *a)
{
    return start(from_attributes(a));
}

static uint64_t start_a(const char *text)
{
    return start(mt_range_name_bytes(text));
}

static uint64_t start_w(const wchar_t *text)
{
    return start(mt_range_name_wide(text));
}

static int push_ex(const struct attributes *a)
{
    return push(NULL, from_attributes(a));
}

static int push_a(const char *text)
{
    return push(NULL, mt_range_name_bytes(text));
}

static int push_w(const wchar_t *text)
{
    return push(NULL, mt_range_name_wide(text));
}

static int pop_default(void)
{
    return pop(NULL);
}

static void domain_mark(const void *domain, const struct attributes *a)
{
    (void)domain;
    mark_ex(a);
}

static uint64_t domain_start(const void *domain, const struct attributes *a)
{
    (void)domain;
    return start_ex(a);
}

static void domain_end(const void *domain, uint64_t id)
{
    (void)domain;
    end(id);
}

static int domain_push(const void *domain, const struct attributes *a)
{
    return push(domain, from_attributes(a));
}

static void *register_a(const void *domain, const char *text)
{
    (void)domain;
    return register_name(mt_range_name_bytes(text));
}

static void *register_w(const void *domain, const wchar_t *text)
{
    (void)domain;
    return register_name(mt_range_name_wide(text));
}

static void *domain_create(const void *name)
{
    (void)name;
    pthread_mutex_lock(&nvtx.lock);
    uintptr_t domain = ++nvtx.last_domain;
    pthread_mutex_unlock(&nvtx.lock);
    return (void *)domain;
}

/* ---- the tables ---- */

typedef void (*function)(void);

enum { CALLBACKS = 1, VERSION_INFO = 3 }; /* NvtxExportTableID */
enum { CORE = 1, CORE2 = 5 };             /* NvtxCallbackModule */
enum { NVTX_VERSION = 3 };

struct callbacks { /* NvtxExportTableCallbacks */
    size_t size;
    int (*get)(int module, function ***table, unsigned *n); /* 1 when it is there */
};

struct version_info { /* NvtxExportTableVersionInfo */
    size_t size;
    uint32_t version, reserved;
    void (*set)(uint32_t version);
};

static const struct {
    int module;
    unsigned id; /* NvtxCallbackIdCore, NvtxCallbackIdCore2 */
    function f;
} functions[] = {
    {CORE, 1, (function)mark_ex},
    {CORE, 2, (function)mark_a},
    {CORE, 3, (function)mark_w},
    {CORE, 4, (function)start_ex},
    {CORE, 5, (function)start_a},
    {CORE, 6, (function)start_w},
    {CORE, 7, (function)end},
    {CORE, 8, (function)push_ex},
    {CORE, 9, (function)push_a},
    {CORE, 10, (function)push_w},
    {CORE, 11, (function)pop_default},
    {CORE2, 1, (function)domain_mark},
    {CORE2, 2, (function)domain_start},
    {CORE2, 3, (function)domain_end},
    {CORE2, 4, (function)domain_push},
    {CORE2, 5, (function)pop},
    {CORE2, 10, (function)register_a},
    {CORE2, 11, (function)register_w},
    {CORE2, 12, (function)domain_create},
    {CORE2, 13, (function)domain_create},
};

static bool put(const struct callbacks *c, int module)
{
    function **table = NULL;
    unsigned n = 0;
    if (c->get(module, &table, &n) != 1 || !table) {
        return false;
    }
    for (size_t i = 0; i < MT_COUNT(functions); i++) {
        if (functions[i].module == module && functions[i].id < n && table[functions[i].id]) {
            *table[functions[i].id] = functions[i].f;
        }
    }
    return true;
}

static void lock(void)
{
    pthread_mutex_lock(&nvtx.lock);
}

static void unlock(void)
{
    pthread_mutex_unlock(&nvtx.lock);
}

/* A child may name ranges, though nobody records them. */
static void survive_forks(void)
{
    pthread_atfork(lock, unlock, unlock);
}

MT_DOOR int InitializeInjectionNvtx2(const void *(*table)(uint32_t id))
{
    const struct callbacks *c = table ? table(CALLBACKS) : NULL;
    const struct version_info *v = table ? table(VERSION_INFO) : NULL;
    if (!c || c->size < sizeof *c || !c->get) {
        return 0;
    }
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, survive_forks);
    if (v && v->size >= sizeof *v && v->set) {
        v->set(NVTX_VERSION);
    }
    bool core = put(c, CORE);
    return put(c, CORE2) || core;
}

/* A preload offers itself, unless the program's environment names another tool. */
__attribute__((constructor)) static void offer(void)
{
    Dl_info info;
    if (mt_preload_on() && dladdr(&nvtx, &info) != 0 && info.dli_fname) {
        setenv("NVTX_INJECTION64_PATH", info.dli_fname, 0);
    }
}
