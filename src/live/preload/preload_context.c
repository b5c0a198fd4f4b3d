/* SPDX-License-Identifier: MIT */
/*
 * Calls that ask for no memory, but that mode cache must know of: captures of streams, streams and
 * devices that end, and questions about memory whose answer the cache changes. In mode record they
 * go straight through.
 */
#include <string.h>
#include <unistd.h>

#include "live/core/live_cache.h"
#include "live/core/quiet_write.h"
#include "live/preload/preload.h"
#include "live/preload/preload_doors.h"

/* ---- streams; by the driver, which the runtime calls ---- */

static int begun(int result, void *stream)
{
    if (result == 0) {
        mt_preload_capture_begun(stream);
    }
    return result;
}

static void *own_stream(void *stream)
{
    enum { PER_THREAD = 2 }; /* CU_STREAM_PER_THREAD */
    return stream ? stream : (void *)(uintptr_t)PER_THREAD;
}

MT_DOOR int cuStreamBeginCapture_v2(void *stream, int mode)
{
    MT_REAL(CU_CAPTURE, (void *, int));
    return begun(real(stream, mode), stream);
}

MT_DOOR int cuStreamBeginCapture_v2_ptsz(void *stream, int mode)
{
    MT_REAL(CU_CAPTURE_PTSZ, (void *, int));
    return begun(real(stream, mode), own_stream(stream));
}

MT_DOOR int cuStreamBeginCaptureToGraph(void *stream, void *graph, const void *nodes,
                                        const void *edges, size_t count, int mode)
{
    MT_REAL(CU_CAPTURE_GRAPH, (void *, void *, const void *, const void *, size_t, int));
    return begun(real(stream, graph, nodes, edges, count, mode), stream);
}

MT_DOOR int cuStreamBeginCaptureToGraph_ptsz(void *stream, void *graph, const void *nodes,
                                             const void *edges, size_t count, int mode)
{
    MT_REAL(CU_CAPTURE_GRAPH_PTSZ, (void *, void *, const void *, const void *, size_t, int));
    return begun(real(stream, graph, nodes, edges, count, mode), own_stream(stream));
}

/* A capture that ends with an error has ended too. */
MT_DOOR int cuStreamEndCapture(void *stream, void **graph)
{
    MT_REAL(CU_CAPTURE_END, (void *, void **));
    int result = real(stream, graph);
    mt_preload_capture_ended(stream);
    return result;
}

MT_DOOR int cuStreamEndCapture_ptsz(void *stream, void **graph)
{
    MT_REAL(CU_CAPTURE_END_PTSZ, (void *, void **));
    int result = real(stream, graph);
    mt_preload_capture_ended(own_stream(stream));
    return result;
}

MT_DOOR int cuStreamDestroy_v2(void *stream)
{
    MT_REAL(CU_STREAM_DESTROY, (void *));
    mt_preload_stream_ends(stream);
    return real(stream);
}

/* ---- devices ---- */

/* -1 when the runtime does not say. */
static int current_device(void)
{
    int device = -1;
    int (*get)(int *) = (int (*)(int *))mt_preload_real(MT_CALL_RT_GET_DEVICE);
    return get && get(&device) == 0 ? device : -1;
}

/* Whole segments that lie idle count as free: a request would get them. */
MT_DOOR int cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    MT_REAL(RT_MEM_INFO, (size_t *, size_t *));
    int result = real(free_bytes, total);
    struct mt_live *live = result == 0 && free_bytes ? mt_preload_live() : NULL;
    if (live) {
        *free_bytes += mt_cache_idle(live, current_device());
    }
    return result;
}

MT_DOOR int cudaDeviceReset(void)
{
    MT_REAL(RT_RESET, (void));
    if (mt_preload_live()) {
        mt_preload_cache_forget(current_device());
    }
    return real();
}

/* ---- other processes ---- */

/* A handle is one of the segment; who opens it finds the segment's beginning. Where that is not the
 * block's, another program's memory would be shared without a word: refused instead. */
MT_DOOR int cudaIpcGetMemHandle(void *handle, void *ptr)
{
    enum { NOT_SUPPORTED = 801 };
    static const char text[] = "memtool: cudaIpcGetMemHandle is refused in mode cache for memory "
                               "that does not begin its segment; "
                               "mode record leaves the program's memory as it is\n";
    struct mt_cache_place place;
    MT_REAL(RT_IPC_HANDLE, (void *, void *));
    struct mt_live *live = ptr ? mt_preload_live() : NULL;
    if (live) {
        bool inside = mt_cache_segment(live, (uintptr_t)ptr, &place) &&
                      place.base != (uint64_t)(uintptr_t)ptr;
        if (inside) {
            const struct iovec line = {(char *)(uintptr_t)text, sizeof text - 1};
            mt_quiet_write(STDERR_FILENO, &line, 1);
            return NOT_SUPPORTED;
        }
    }
    return real(handle, ptr);
}
