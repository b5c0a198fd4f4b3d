/* SPDX-License-Identifier: MIT */
/* What PyTorch's pluggable allocator does, with a libc10.so that only throws: the library's
 * functions are looked up by name, and a refusal must arrive as a C++ exception, with no lock held
 * behind it. */
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <exception>
#include <sys/types.h>

using malloc_function = void *(*)(ssize_t, int, void *);
using free_function = void (*)(void *, ssize_t, int, void *);

int main(int argc, char **argv)
{
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (!library) {
        return 2;
    }
    auto take = reinterpret_cast<malloc_function>(dlsym(library, "memtool_malloc"));
    auto give = reinterpret_cast<free_function>(dlsym(library, "memtool_free"));
    auto pool = reinterpret_cast<malloc_function>(dlsym(library, "memtool_pool_malloc"));
    for (int i = 0; i < 2; i++) {
        try {
            take(static_cast<ssize_t>(1) << 40, 0, nullptr);
            std::puts("no exception");
            return 1;
        } catch (const std::exception &e) {
            if (!std::strstr(e.what(), "memtool_malloc: CUDA out of memory. Tried to allocate") ||
                !std::strstr(e.what(), "memtool: not enough memory: live blocks take ")) {
                std::puts(e.what());
                return 1;
            }
        }
        void *p = take(1000, 0, nullptr);
        if (!p || take(0, 0, nullptr) || pool(static_cast<ssize_t>(1) << 40, 0, nullptr)) {
            std::puts("after the exception");
            return 1;
        }
        give(p, 1000, 0, nullptr);
    }
    return 0;
}
