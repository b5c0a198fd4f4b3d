/* SPDX-License-Identifier: MIT */
/* A user's library that takes CUDA memory, and is closed before the snapshot that names it. */
#include <stddef.h>

__attribute__((visibility("default"))) int user_takes(int (*take)(void **, size_t), void **ptr,
                                                      size_t size);

int user_takes(int (*take)(void **, size_t), void **ptr, size_t size)
{
    volatile int result = take(ptr, size); /* not a jump: this function is to be on the stack */
    return result;
}
