/* SPDX-License-Identifier: MIT */
/*
 * The first look at a device is taken when its primary context has been made; where a program makes
 * contexts of its own, before its first watched allocation; and where neither was seen, right after
 * that allocation, which then counts as free.
 */
#include "live/preload/preload_device.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>

#include "support/mem.h"

#include "live/preload/preload.h"
#include "live/preload/preload_doors.h"
#include "live/core/own_thread.h"
#include "live/core/recorder.h"

enum { POOLS_MAX = 64, PATIENCE_S = 2, BUS_ID_MAX = 32 };

/* Of CUmemPool_attribute and CUstreamCaptureMode, cuda.h 13.0. */
enum { POOL_RESERVED = 5, POOL_USED = 7, CAPTURE_RELAXED = 2 };

static struct {
    _Atomic uint64_t looking, looked; /* bits of devices: somebody began, it is done */
    _Atomic uint64_t asked_nvml, nvml_knows;
    _Atomic uint64_t pools_used; /* default pools that memory came from */
    uint64_t total[MT_RECORD_DEVICES_MAX], free_start[MT_RECORD_DEVICES_MAX];
    uint64_t free_before_context[MT_RECORD_DEVICES_MAX];
    pthread_mutex_t pool_lock;
    struct {
        void *pool;
        int device;
    } pools[POOLS_MAX]; /* with pool_lock */
} devices = {.pool_lock = PTHREAD_MUTEX_INITIALIZER};

#define REAL(call, arguments) ((int(*) arguments)mt_preload_real(MT_CALL_##call))

/* ---- asking the driver ---- */

int mt_preload_device(void)
{
    int device = 0;
    int (*get)(int *) = REAL(CU_DEVICE, (int *));
    return get && get(&device) == 0 && device >= 0 ? device : 0;
}

static bool has_device(int *device)
{
    int (*get)(int *) = REAL(CU_DEVICE, (int *));
    return get && get(device) == 0 && *device >= 0 && *device < MT_RECORD_DEVICES_MAX;
}

/* During a capture no question may be taken for work that cannot be captured: it would end it. */
bool mt_preload_device_free(uint64_t *free_bytes, uint64_t *total)
{
    int (*exchange)(int *) = REAL(CU_CAPTURE_MODE, (int *));
    int (*get)(size_t *, size_t *) = REAL(CU_INFO, (size_t *, size_t *));
    size_t is_free = 0, all = 0;
    int mode = CAPTURE_RELAXED;
    bool relaxed = exchange && exchange(&mode) == 0;
    bool known = get && get(&is_free, &all) == 0;
    if (relaxed) {
        exchange(&mode);
    }
    *free_bytes = is_free;
    *total = all;
    return known;
}

/* ---- the first look ---- */

void mt_preload_device_look(uint64_t behind)
{
    int d = 0;
    uint64_t bit, is_free, total;
    if (!has_device(&d) || mt_preload_live()) {
        return; /* where the cache stands already, what it took would count as taken before */
    }
    bit = UINT64_C(1) << d;
    if ((atomic_load_explicit(&devices.looking, memory_order_relaxed) & bit) ||
        (atomic_fetch_or(&devices.looking, bit) & bit)) {
        return;
    }
    if (mt_preload_device_free(&is_free, &total)) {
        devices.free_start[d] = is_free + behind;
        devices.total[d] = total;
        atomic_fetch_or(&devices.looked, bit);
    }
}

static void look_in(void *ctx)
{
    int (*push)(void *) = REAL(CU_PUSH, (void *));
    int (*pop)(void **) = REAL(CU_POP, (void **));
    void *ignored;
    if (push && pop && push(ctx) == 0) {
        mt_preload_device_look(0);
        pop(&ignored);
    }
}

/* What was free before the process had anything on the device. */
static void look_before_context(int d)
{
    int (*state)(int, unsigned *, int *) = REAL(CU_PRIMARY_STATE, (int, unsigned *, int *));
    int (*bus_id)(char *, int, int) = REAL(CU_BUS_ID, (char *, int, int));
    int (*total_of)(size_t *, int) = REAL(CU_TOTAL, (size_t *, int));
    unsigned flags = 0;
    int active = 1;
    char bus[BUS_ID_MAX];
    size_t total = 0;
    uint64_t bit = UINT64_C(1) << d;
    if ((atomic_load(&devices.looking) & bit) ||
        (atomic_fetch_or(&devices.asked_nvml, bit) & bit) || !state ||
        state(d, &flags, &active) != 0 || active || !bus_id || !total_of ||
        bus_id(bus, sizeof bus, d) != 0 || total_of(&total, d) != 0) {
        return;
    }
    if (mt_preload_nvml_free(bus, total, &devices.free_before_context[d])) {
        atomic_fetch_or(&devices.nvml_knows, bit);
    }
}

MT_DOOR int cuDevicePrimaryCtxRetain(void **ctx, int device)
{
    MT_REAL(CU_PRIMARY, (void **, int));
    bool watched = device >= 0 && device < MT_RECORD_DEVICES_MAX && ctx && mt_preload_on() &&
                   !mt_preload_own();
    bool first = watched && !(atomic_load(&devices.looking) >> device & 1);
    if (first) {
        mt_preload_own_begin();
        look_before_context(device);
        mt_preload_own_end();
    }
    int result = real(ctx, device);
    if (first && result == 0) {
        mt_preload_own_begin();
        look_in(*ctx);
        mt_preload_own_end();
    }
    return result;
}

/* cudaDeviceReset comes by here as well. */
MT_DOOR int cuDevicePrimaryCtxReset_v2(int device)
{
    MT_REAL(CU_PRIMARY_RESET, (int));
    mt_preload_cache_forget(device); /* again, when the runtime calls: nothing is left then */
    int result = real(device);
    if (result == 0 && mt_preload_enter()) {
        mt_preload_device_ends(device);
        mt_preload_leave();
    }
    return result;
}

/* ---- pools ---- */

void mt_preload_pool_used(void)
{
    int d = 0;
    if (has_device(&d)) {
        atomic_fetch_or(&devices.pools_used, UINT64_C(1) << d);
    }
}

/* NULL for `from` looks for a free place. */
static void replace_pool(void *from, void *to, int device)
{
    pthread_mutex_lock(&devices.pool_lock);
    for (int i = 0; i < POOLS_MAX; i++) {
        if (devices.pools[i].pool == from) {
            devices.pools[i].pool = to;
            devices.pools[i].device = device;
            break;
        }
    }
    pthread_mutex_unlock(&devices.pool_lock);
}

void mt_preload_pool_created(void *pool, int device)
{
    replace_pool(NULL, pool, device);
}

void mt_preload_pool_destroyed(void *pool)
{
    if (pool) {
        replace_pool(pool, NULL, 0);
    }
}

/* ---- for a snapshot ---- */

/* Shared with a thread that may never come back; the last one to hold it frees it. */
struct question {
    _Atomic int holders;
    sem_t done;
    uint64_t devices; /* bits */
    void *ctx;        /* the asking thread's, NULL for none */
    int ctx_device;
    struct answer {
        bool known, pools;
        uint64_t free_bytes, total, pool_reserved, pool_used;
    } answers[MT_RECORD_DEVICES_MAX];
};

static void let_go(struct question *q)
{
    if (atomic_fetch_sub(&q->holders, 1) == 1) {
        sem_destroy(&q->done);
        mt_mem_free(q);
    }
}

static void add_pool(struct answer *a, void *pool)
{
    int (*get)(void *, int, void *) = REAL(CU_POOL_GET, (void *, int, void *));
    uint64_t reserved = 0, used = 0;
    if (get && get(pool, POOL_RESERVED, &reserved) == 0 && get(pool, POOL_USED, &used) == 0) {
        a->pools = true;
        a->pool_reserved += reserved;
        a->pool_used += used;
    }
}

/* A pool that is destroyed meanwhile waits for the lock. */
static void ask_pools(struct answer *a, int device)
{
    int (*get_default)(void **, int) = REAL(CU_POOL_DEFAULT, (void **, int));
    void *pool = NULL;
    if ((atomic_load(&devices.pools_used) >> device & 1) && get_default &&
        get_default(&pool, device) == 0) {
        add_pool(a, pool);
    }
    pthread_mutex_lock(&devices.pool_lock);
    for (int i = 0; i < POOLS_MAX; i++) {
        if (devices.pools[i].pool && devices.pools[i].device == device) {
            add_pool(a, devices.pools[i].pool);
        }
    }
    pthread_mutex_unlock(&devices.pool_lock);
}

static void ask_device(struct question *q, int device)
{
    int (*state)(int, unsigned *, int *) = REAL(CU_PRIMARY_STATE, (int, unsigned *, int *));
    int (*retain)(void **, int) = REAL(CU_PRIMARY, (void **, int));
    int (*release)(int) = REAL(CU_PRIMARY_RELEASE, (int));
    int (*push)(void *) = REAL(CU_PUSH, (void *));
    int (*pop)(void **) = REAL(CU_POP, (void **));
    unsigned flags = 0;
    int active = 0;
    void *ctx = q->ctx && q->ctx_device == device ? q->ctx : NULL, *ignored;
    bool primary = !ctx;
    if (!push || !pop || !retain || !release ||
        (primary &&
         (!state || state(device, &flags, &active) != 0 || !active || retain(&ctx, device) != 0))) {
        return;
    }
    if (push(ctx) == 0) {
        struct answer *a = &q->answers[device];
        a->known = mt_preload_device_free(&a->free_bytes, &a->total);
        ask_pools(a, device);
        pop(&ignored);
    }
    if (primary) {
        release(device);
    }
}

static void *work(void *ctx)
{
    struct question *q = ctx;
    int (*current)(void **) = REAL(CU_CURRENT, (void **));
    void *none;
    mt_preload_own_begin();
    if (current) { /* it shows whether the driver answers at all */
        (void)current(&none);
    }
    for (int d = 0; d < MT_RECORD_DEVICES_MAX; d++) {
        if (q->devices >> d & 1) {
            ask_device(q, d);
        }
    }
    mt_preload_own_end();
    sem_post(&q->done);
    let_go(q);
    return NULL;
}

static uint64_t bits_of(const struct mt_own *own)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < own->devices.n; i++) {
        int d = own->devices.v[i].device;
        bits |= d < MT_RECORD_DEVICES_MAX ? UINT64_C(1) << d : 0;
    }
    return bits;
}

static struct question *new_question(uint64_t devices_asked)
{
    struct question *q = mt_mem_zalloc(1, sizeof *q);
    if (q && sem_init(&q->done, 0, 0) != 0) {
        mt_mem_free(q);
        q = NULL;
    }
    if (q) {
        atomic_store(&q->holders, 2);
        q->devices = devices_asked;
    }
    return q;
}

static bool start(struct question *q)
{
    pthread_t thread;
    return mt_own_thread_start(&thread, work, q);
}

static bool answered(struct question *q)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    int failed;
    do {
        failed = sem_timedwait(&q->done, &until);
    } while (failed && errno == EINTR);
    return failed == 0;
}

static void fill_start(struct mt_own_device *d)
{
    uint64_t bit = UINT64_C(1) << d->device;
    if (atomic_load(&devices.looked) & bit) {
        d->total = (struct mt_own_bytes){true, devices.total[d->device]};
        d->free_start = (struct mt_own_bytes){true, devices.free_start[d->device]};
    }
    if (atomic_load(&devices.nvml_knows) & bit) {
        d->free_before_context =
            (struct mt_own_bytes){true, devices.free_before_context[d->device]};
    }
}

static void fill_now(struct mt_own_device *d, const struct answer *a)
{
    d->free_dump = (struct mt_own_bytes){a->known, a->free_bytes};
    if (a->known && !d->total.known) {
        d->total = (struct mt_own_bytes){true, a->total};
    }
    d->pool_reserved = (struct mt_own_bytes){a->pools, a->pool_reserved};
    d->pool_used = (struct mt_own_bytes){a->pools, a->pool_used};
}

/* NULL when it is not answered; else the caller lets it go. */
static struct question *put(struct question *q)
{
    bool started = q && start(q);
    if (started && answered(q)) {
        return q;
    }
    if (q) {
        let_go(q);
    }
    if (q && !started) {
        let_go(q); /* the thread's share */
    }
    return NULL;
}

/* A thread that waits for the driver cannot be called back: first another one tries. */
void mt_preload_device_here(struct mt_write_request *r)
{
    int (*current)(void **) = REAL(CU_CURRENT, (void **));
    struct question *q = current ? put(new_question(0)) : NULL;
    r->context = NULL;
    if (q && (current(&r->context) != 0 || !r->context || !has_device(&r->device))) {
        r->context = NULL;
    }
    if (q) {
        let_go(q);
    }
}

void mt_preload_device_ask(struct mt_own *own, const struct mt_write_request *r)
{
    struct question *q = r->careful ? NULL : new_question(bits_of(own));
    if (q) {
        q->ctx = r->context;
        q->ctx_device = r->device;
    }
    q = put(q);
    for (size_t i = 0; i < own->devices.n && own->devices.v[i].device < MT_RECORD_HOST; i++) {
        struct mt_own_device *d = &own->devices.v[i];
        fill_start(d);
        if (q) {
            fill_now(d, &q->answers[d->device]);
        }
    }
    if (q) {
        let_go(q);
    }
}
