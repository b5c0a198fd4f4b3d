/* SPDX-License-Identifier: MIT */
/*
 * The strings by which a test pulls the fake driver: what it holds, what fails, when events are
 * done. All functions are thread-safe. A test links the fake libcuda.so.1 itself; the library under
 * test then finds it by dlopen under that name.
 */
#ifndef TESTS_FAKE_CUDA_H
#define TESTS_FAKE_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Forgets everything; `devices` devices (at most 8) of `memory` bytes each. */
void fake_cuda_reset(int devices, uint64_t memory);

/* The nth call from now (1 = the next) of `function`, or of any function when NULL, returns `code`
 * and does nothing. n = 0: no failure. Failures happen once. */
void fake_cuda_fail(const char *function, unsigned long n, int code);

/* Whether the planned failure has happened. */
bool fake_cuda_failed(void);

/* Calls so far of `function`, of all when NULL. */
unsigned long fake_cuda_calls(const char *function);

/* While held, recorded events stay open; released, all are done at once. */
void fake_cuda_hold_events(bool hold);

/* Begins or ends the capture of a stream; until it ends, calls that CUDA forbids during a capture
 * fail unless their thread is in the relaxed mode. */
void fake_cuda_capture(void *stream, bool begin);

/* Streams are only names that serve every device, until it is said which one's a stream is; -1: it
 * has been destroyed. */
void fake_cuda_stream(void *stream, int device);

/* From now on every call answers "deinitialised", as at the end of a process. */
void fake_cuda_shut_down(void);

/* Bytes of a device that are taken: allocated plus physical pages created. */
uint64_t fake_cuda_used(int device);

/* Whether the device's primary context has been made. It takes FAKE_CUDA_CONTEXT_BYTES of the
 * environment, else nothing. */
bool fake_cuda_active(int device);

/* Gives back everything that was allocated on a device. */
void fake_cuda_device_reset(int device);

/* With FAKE_CUDA_SLOW_MS of the environment, 1 to 999, cuInit takes so many milliseconds. */

/* With FAKE_CUDA_STUCK_S of the environment cuMemGetInfo takes so many seconds, in all threads but
 * that of cuInit. */

/* With FAKE_CUDA_STUCK_SIZE of the environment cuMemAlloc of exactly so many bytes never comes
 * back, and keeps the driver's lock. */

/* Bytes of another process: taken from what is free. */
void fake_cuda_take(int device, uint64_t bytes);

/* Things that are open: allocations, reservations, pages, mappings, events. */
size_t fake_cuda_open_things(void);

/* What the library did wrong so far (a free of an unknown address, a map over a map ...); "" when
 * nothing. */
const char *fake_cuda_complaint(void);

#endif
