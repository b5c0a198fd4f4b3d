/* SPDX-License-Identifier: MIT */
/*
 * The C interface in a minute: some device memory, a named step, a snapshot, a counter.
 *
 *     cc alloc_example.c -lmemtool_alloc -o example
 *     MEMTOOL_RECORD=stacks:c ./example /tmp/example.pickle
 *     memtool trace /tmp/example.pickle
 */
#include <inttypes.h>
#include <stdio.h>

#include <memtool/alloc.h>

int main(int argc, char **argv)
{
    const int device = 0;
    void *weights = memtool_malloc(40 << 20, device, NULL);
    if (!weights) {
        fprintf(stderr, "no memory: %s\n", memtool_last_error());
        return 1;
    }
    memtool_annotate_begin("step", device);
    void *activations = memtool_malloc(7 << 20, device, NULL);
    /* ... kernels on the default stream use both ... */
    memtool_free(activations, 7 << 20, device, NULL);
    memtool_annotate_end("step", device);

    if (memtool_dump(argc > 1 ? argv[1] : NULL) != 0) {
        fprintf(stderr, "no snapshot: %s\n", memtool_last_error());
    }
    int64_t peak = 0;
    if (memtool_stat(device, "allocated_bytes.all.peak", &peak) == 0) {
        printf("peak: %" PRId64 " bytes\n", peak);
    }
    memtool_free(weights, 40 << 20, device, NULL);
    return 0;
}
