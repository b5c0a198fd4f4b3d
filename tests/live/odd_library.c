/* SPDX-License-Identifier: MIT */
/* A library that programs load. Its constructor calls the function whose address is in
 * CALL_IN_CONSTRUCTOR: what asks for CUDA memory there has the dynamic linker's lock. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

__attribute__((visibility("default"))) void
pairs_forever(void *(*take)(ssize_t, int, void *), void (*give)(void *, ssize_t, int, void *));

__attribute__((constructor)) static void construct(void)
{
    const char *text = getenv("CALL_IN_CONSTRUCTOR");
    uintptr_t address = text ? (uintptr_t)strtoull(text, NULL, 16) : 0;
    void (*function)(void);
    if (address) {
        memcpy(&function, &address, sizeof function);
        function();
    }
}

/* For Python, which then is not asked any more. It rests in between: what is tested is not whether
 * the interpreter ends in the very middle of a call. */
void pairs_forever(void *(*take)(ssize_t, int, void *), void (*give)(void *, ssize_t, int, void *))
{
    const struct timespec moment = {.tv_nsec = 20000};
    for (;;) {
        nanosleep(&moment, NULL);
        give(take(1000, 0, NULL), 0, 0, NULL);
    }
}
