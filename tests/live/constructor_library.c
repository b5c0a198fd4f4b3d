/* SPDX-License-Identifier: MIT */
/* A library whose constructor calls the function whose address is in CALL_IN_CONSTRUCTOR: what
 * asks for CUDA memory there has the dynamic linker's lock. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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
