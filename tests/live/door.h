/* SPDX-License-Identifier: MIT */
/* For programs at the C door: how they say what went wrong, and the strings of the fake driver. */
#ifndef TESTS_LIVE_DOOR_H
#define TESTS_LIVE_DOOR_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <memtool/alloc.h>

#define EXPECT(x)                                                                                  \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "line %d: %s (%s)\n", __LINE__, #x, memtool_last_error());             \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* A function of the driver that the library has found: the program is not linked to it. */
static inline void find_in_driver(const char *name, void *function)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    void *address = driver ? dlsym(driver, name) : NULL;
    EXPECT(address);
    memcpy(function, &address, sizeof address);
}

#endif
