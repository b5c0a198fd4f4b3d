# SPDX-License-Identifier: MIT
"""Allocates and frees 1 MiB through libmemtool_alloc.so over the fake driver, again and again:

    live_pair.py BENCH_PAIR.so FRAMES PAIRS ROUNDS

Records Python stacks of FRAMES frames, or nothing for 0. Prints the nanoseconds of a pair, the
least of the rounds.
"""
import ctypes
import sys

loops = ctypes.CDLL(sys.argv[1])
frames, pairs, rounds = map(int, sys.argv[2:])
allocator = ctypes.CDLL("libmemtool_alloc.so")
take, give = (ctypes.cast(f, ctypes.c_void_p)
              for f in (allocator.memtool_malloc, allocator.memtool_free))
loops.bench_same.restype = ctypes.c_double
loops.bench_same.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_long]


def deep(left):
    if left > 0:
        return deep(left - 1)
    return min(loops.bench_same(take, give, 1 << 20, pairs) for _ in range(rounds))


if frames:
    assert allocator.memtool_record(b"stacks:python,max_entries:100000") == 0
print(deep(frames - 3))  # deep(0), its generator expression and this file are frames, too
