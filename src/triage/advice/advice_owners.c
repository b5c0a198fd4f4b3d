/* SPDX-License-Identifier: MIT */
/*
 * Libraries that take memory of the card past a program's own allocator, and what makes each take
 * less. The settings are those of the libraries' manuals; they are read when the library starts.
 */
#include "support/units.h"
#include "triage/advice/advice.h"

#include <stdio.h>

struct remedy {
    const char *owner, *id, *text, *why;
    const char *command;       /* for PyTorch programs and others alike */
    const char *plain_command; /* for others, or NULL: the same */
};

static const struct remedy REMEDIES[] = {
    {"NCCL", "nccl_buffers",
     "Make NCCL keep less: smaller buffers, fewer channels, fewer communicators. Set it before the "
     "program starts.",
     "It keeps buffers (4 MiB by default) for every communicator, channel and peer.",
     "export NCCL_BUFFSIZE=1048576 NCCL_MAX_NCHANNELS=8", NULL},
    {"cuBLAS", "cublas_workspace",
     "Give cuBLAS smaller workspaces, and use fewer handles. Set it before the program starts.",
     "Each handle keeps a workspace (32 MiB on Hopper), one for each stream and thread that uses "
     "it.",
     "export CUBLAS_WORKSPACE_CONFIG=:4096:2:16:8", NULL},
    {"cuDNN", "cudnn_workspace", "Let cuDNN choose algorithms that need less workspace.",
     "The fastest algorithm that a search finds may need GiB of workspace.",
     "torch.backends.cudnn.benchmark = False",
     "cudnnGetConvolutionForwardAlgorithm_v7(...)   // take one whose memory fits"},
    {"cuFFT", "fft_plans", "Keep fewer FFT plans: each has a work area of its own.",
     "A plan's work area is about as large as its data.",
     "torch.backends.cuda.cufft_plan_cache.max_size = 4",
     "cufftSetAutoAllocation(plan, 0); cufftSetWorkArea(plan, shared);"},
    {"cuSOLVER", "cusolver_buffers", "Free cuSOLVER's work buffers and handles after use.",
     "A handle keeps its workspace until it is destroyed.",
     "torch.backends.cuda.preferred_linalg_library('magma')", "cusolverDnDestroy(handle);"},
    {"NVSHMEM", "nvshmem_heap", "Give NVSHMEM a smaller heap. Set it before the program starts.",
     "It takes the whole heap at its start.", "export NVSHMEM_SYMMETRIC_SIZE=512M", NULL},
    {"TensorRT", "tensorrt_workspace", "Limit TensorRT's workspace, and share it among contexts.",
     "Each execution context has the scratch memory of its largest shape.",
     "config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, 1 << 30)", NULL},
    {"ONNX Runtime", "ort_arena", "Limit ONNX Runtime's arena.",
     "By default it grows to the next power of two.",
     "providers=[('CUDAExecutionProvider', {'gpu_mem_limit': 2 << 30, 'arena_extend_strategy': "
     "'kSameAsRequested'})]",
     NULL},
    {"TensorFlow", "tensorflow_growth", "Keep TensorFlow from taking the card at its start.",
     "By default it takes nearly all that is free.", "export TF_FORCE_GPU_ALLOW_GROWTH=true", NULL},
    {"JAX (XLA)", "jax_preallocate", "Keep JAX from taking the card at its start.",
     "By default it takes three quarters of what is free.",
     "export XLA_PYTHON_CLIENT_PREALLOCATE=false", NULL},
    {"CuPy", "cupy_pool", "Let CuPy give its pool back.", "The pool keeps what was freed.",
     "cupy.get_default_memory_pool().free_all_blocks()", NULL},
    {"RMM", "rmm_pool", "Give RMM's pool a maximum, or do without a pool.",
     "The pool keeps what was freed.", "rmm.reinitialize(pool_allocator=False)", NULL},
};

static const struct remedy CONTEXT = {
    "",
    "lazy_loading",
    "Load kernels only when they are used, and fewer of them. Set it before the program starts.",
    "A context with every kernel of the large libraries loaded takes 0.5 to 2 GiB.",
    "export CUDA_MODULE_LOADING=LAZY",
    NULL};

static const struct remedy POOL = {
    "",
    "trim_pool",
    "Let the driver's memory pool give back what it keeps.",
    "What cudaFreeAsync gave back stays in the pool up to its release threshold.",
    "cudaMemPoolTrimTo(pool, 0);   # and cudaMemPoolAttrReleaseThreshold",
    NULL};

/* An owner of something beside the program's own allocator. */
static bool is_beside(enum mt_owner_kind k)
{
    return k == MT_OWNER_LIBRARY || k == MT_OWNER_CONTEXT || k == MT_OWNER_CODE ||
           k == MT_OWNER_POOL;
}

static const struct mt_owner *largest_beside(const struct mt_account *a)
{
    for (size_t i = 0; i < a->rows.n; i++) {
        if (is_beside(a->rows.v[i].kind)) {
            return &a->rows.v[i];
        }
    }
    return NULL;
}

static const struct remedy *remedy_of(const struct mt_owner *o)
{
    if (o->kind == MT_OWNER_CONTEXT || o->kind == MT_OWNER_CODE) {
        return &CONTEXT;
    }
    if (o->kind == MT_OWNER_POOL) {
        return &POOL;
    }
    for (size_t i = 0; i < MT_COUNT(REMEDIES); i++) {
        if (mt_str_equal(o->name, mt_str_from(REMEDIES[i].owner))) {
            return &REMEDIES[i];
        }
    }
    return NULL;
}

/* A library of which memtool knows no setting: who calls it is the next question. */
static void advise_unknown(struct mt_advisor *a, const struct mt_owner *o)
{
    mt_advise(a, "look_at_the_library", true);
    mt_advise_text(a, "Look at what %.*s allocates, and who calls it.", (int)o->name.n, o->name.p);
    mt_advise_command(a, "memtool peak --stack full %s", a->snapshot ? a->snapshot : "SNAPSHOT");
    mt_advise_why(a, "It holds %s.", mt_advice_size(o->bytes).s);
}

bool mt_advice_owner(struct mt_advisor *a)
{
    const struct mt_account *account = a->facts->account;
    const struct mt_owner *o = account ? largest_beside(account) : NULL;
    if (!o || o->bytes < 256 * MT_MIB) {
        return false;
    }
    const struct remedy *r = remedy_of(o);
    if (!r) {
        advise_unknown(a, o);
        return true;
    }
    bool plain = mt_facts_plain(a->facts) && r->plain_command;
    mt_advise(a, r->id, true);
    mt_advise_text(a, "%s", r->text);
    mt_advise_command(a, "%s", plain ? r->plain_command : r->command);
    mt_advise_why(a, "%s It holds %s here.", r->why, mt_advice_size(o->bytes).s);
    return true;
}
