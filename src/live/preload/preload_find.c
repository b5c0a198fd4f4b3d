/* SPDX-License-Identifier: MIT */
/*
 * Who is found when a program looks a CUDA function up: dlsym is watched, because the runtime and
 * most libraries reach the driver by it alone, and because a statically linked runtime has no other
 * door. Everything but a watched name goes on to the C library's dlsym by a jump, not a call: that
 * one tells RTLD_NEXT by the address that it will return to.
 *
 * The real functions are kept as they are found; the first one counts. Two runtimes in one process
 * are told apart by that: the second one is not watched itself, its calls of the driver are.
 */
#define _GNU_SOURCE 1 /* RTLD_NEXT, dlvsym */
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include "live/preload/preload.h"
#include "support/compiler.h"

#define DOOR __attribute__((visibility("default")))

/* UNWATCHED (of the driver) and RUNTIME_ASKED: memtool itself calls them */
enum lives { RUNTIME, DRIVER, UNWATCHED, RUNTIME_ASKED };

static const struct {
    const char *symbol;
    enum lives lives;
} calls[] = {
#define X(id, symbol, lives) {#symbol, lives},
    MT_PRELOAD_CALLS(X)
#undef X
};

typedef void *(*dlsym_function)(void *handle, const char *name);

static struct {
    _Atomic(dlsym_function) dlsym;
    _Atomic(mt_preload_function) real[MT_CALL_COUNT];
    _Atomic uint64_t lookups;
} found;

/* ISO C knows no cast from an object's address to a function's. */
static mt_preload_function function_at(void *address)
{
    mt_preload_function f;
    memcpy(&f, &address, sizeof f);
    return f;
}

static void *address_of(mt_preload_function f)
{
    void *address;
    memcpy(&address, &f, sizeof address);
    return address;
}

static dlsym_function next_dlsym(void)
{
    /* of glibc 2.34, of x86-64 and of arm64 before it */
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
    dlsym_function f = atomic_load_explicit(&found.dlsym, memory_order_relaxed);
    for (size_t i = 0; !f && i < sizeof versions / sizeof versions[0]; i++) {
        f = (dlsym_function)function_at(dlvsym(RTLD_NEXT, "dlsym", versions[i]));
    }
    atomic_store_explicit(&found.dlsym, f, memory_order_relaxed);
    return f;
}

static void *look_up(enum mt_preload_call call)
{
    static const char *const runtimes[] = {"libcudart.so.13", "libcudart.so.12",
                                           "libcudart.so.11.0", "libcudart.so"};
    const char *symbol = calls[call].symbol;
    void *address = NULL;
    if (calls[call].lives == DRIVER || calls[call].lives == UNWATCHED) {
        void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
        return driver ? next_dlsym()(driver, symbol) : NULL;
    }
    address = next_dlsym()(RTLD_NEXT, symbol);
    for (size_t i = 0; !address && i < sizeof runtimes / sizeof runtimes[0]; i++) {
        void *runtime = dlopen(runtimes[i], RTLD_LAZY | RTLD_NOLOAD);
        address = runtime ? next_dlsym()(runtime, symbol) : NULL;
    }
    return address;
}

mt_preload_function mt_preload_real(enum mt_preload_call call)
{
    mt_preload_function f = atomic_load_explicit(&found.real[call], memory_order_acquire);
    if (MT_UNLIKELY(!f)) {
        f = function_at(look_up(call));
        if (f && f == mt_preload_watcher(call)) {
            return NULL; /* linked, not preloaded, and nobody behind it */
        }
        atomic_store_explicit(&found.real[call], f, memory_order_release);
    }
    return f;
}

/* MT_CALL_COUNT when the name is not watched. */
static int watched(const char *symbol)
{
    int i = 0;
    while (i < MT_CALL_COUNT &&
           (!mt_preload_watcher((enum mt_preload_call)i) || strcmp(calls[i].symbol, symbol) != 0)) {
        i++;
    }
    return i;
}

void *mt_preload_replace(const char *symbol, void *address)
{
    int call = watched(symbol);
    if (!address || call == MT_CALL_COUNT || !mt_preload_on() || mt_preload_own()) {
        return address;
    }
    mt_preload_function watcher = mt_preload_watcher((enum mt_preload_call)call);
    mt_preload_function real = NULL, given = function_at(address);
    if (given == watcher) {
        return address;
    }
    if (!atomic_compare_exchange_strong(&found.real[call], &real, given) && real != given &&
        calls[call].lives == RUNTIME) {
        return address;
    }
    atomic_fetch_add_explicit(&found.lookups, 1, memory_order_relaxed);
    return address_of(watcher);
}

uint64_t mt_preload_lookups(void)
{
    return atomic_load_explicit(&found.lookups, memory_order_relaxed);
}

/* A sanitizer's runtime looks its own functions up by dlsym before instrumented code may run, so
 * its builds do without this door. */
#ifndef MT_PRELOAD_NO_DLSYM

/* The watcher of a name that the handle really has; NULL for everything else. */
__attribute__((noinline)) static void *pick(void *handle, const char *name)
{
    if (handle == RTLD_NEXT || !mt_preload_on() || watched(name) == MT_CALL_COUNT) {
        return NULL;
    }
    return mt_preload_replace(name, next_dlsym()(handle, name));
}

#if defined(__clang__)
#define JUMP __attribute__((musttail)) return
#define JUMPING
#else
#define JUMP return
#define JUMPING __attribute__((optimize("O2")))
#endif

DOOR JUMPING void *dlsym(void *restrict handle, const char *restrict name)
{
    if (MT_UNLIKELY(name[0] == 'c' && name[1] == 'u')) {
        void *watcher = pick(handle, name);
        if (watcher) {
            return watcher;
        }
    }
    JUMP next_dlsym()(handle, name);
}

#endif
