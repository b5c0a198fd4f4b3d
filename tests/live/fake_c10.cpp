/* SPDX-License-Identifier: MIT */
/* A libc10.so with nothing in it but the function by which PyTorch throws its errors. */
#include <cstdint>
#include <stdexcept>
#include <string>

namespace c10
{
namespace detail
{
__attribute__((visibility("default"))) void torchCheckFail(const char *function, const char *,
                                                           uint32_t, const char *text)
{
    throw std::runtime_error(std::string(function) + ": " + text);
}
} // namespace detail
} // namespace c10
