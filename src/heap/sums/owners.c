/* SPDX-License-Identifier: MIT */
/*
 * Who allocated, told by the files that a recorded stack names. dladdr gives the path of the shared
 * object of each compiled frame; the innermost that is neither the driver nor the runtime called.
 * Libraries that bring a runtime of their own (NCCL, cuBLAS) are then the innermost themselves.
 *
 * That memtool recorded a file is told by the key of its own alone.
 */
#include "heap/sums/account.h"
#include "heap/sums/own_key.h"
#include "torch/keys.h"
#include "snapshot/model/era.h"

static const struct {
    const char *id, *words;
} KINDS[MT_OWNER_KIND_COUNT] = {
#define X(name, id, words) {id, words},
    MT_OWNER_MAP(X)
#undef X
};

const char *mt_owner_id(enum mt_owner_kind k)
{
    return KINDS[k].id;
}

const char *mt_owner_words(enum mt_owner_kind k)
{
    return KINDS[k].words;
}

/* Beginnings of file names. Those without a name are passed through: driver, runtime, and what
 * Python's ctypes calls them with. */
struct library {
    struct mt_str file;
    enum mt_owner_kind kind;
    struct mt_str name;
};

#define LIBRARY(file, name)                                                                        \
    {                                                                                              \
        MT_STR_INIT(file), MT_OWNER_LIBRARY, MT_STR_INIT(name)                                     \
    }

static const struct library LIBRARIES[] = {
    LIBRARY("libcuda.so", ""),
    LIBRARY("libcudart", ""),
    LIBRARY("libffi.so", ""),
    LIBRARY("_ctypes.", ""),
    {MT_STR_INIT("libc10_cuda"), MT_OWNER_ALLOCATOR, MT_STR_INIT("PyTorch's caching allocator")},
    {MT_STR_INIT("libmemtool_alloc"), MT_OWNER_ALLOCATOR,
     MT_STR_INIT("memtool's caching allocator")},
    LIBRARY("libtorch", "PyTorch, past its allocator"),
    LIBRARY("libnccl", "NCCL"),
    LIBRARY("libcublas", "cuBLAS"), /* and cublasLt */
    LIBRARY("libcudnn", "cuDNN"),
    LIBRARY("libcusparse", "cuSPARSE"),
    LIBRARY("libcusolver", "cuSOLVER"),
    LIBRARY("libcufft", "cuFFT"),
    LIBRARY("libcurand", "cuRAND"),
    LIBRARY("libcutensor", "cuTENSOR"),
    LIBRARY("libcudss", "cuDSS"),
    LIBRARY("libcufile", "cuFile"),
    LIBRARY("libnpp", "NPP"),
    LIBRARY("libnvjpeg", "nvJPEG"),
    LIBRARY("libnvcomp", "nvCOMP"),
    LIBRARY("libnvrtc", "NVRTC"),
    LIBRARY("libnvshmem", "NVSHMEM"),
    LIBRARY("libnvinfer", "TensorRT"),
    LIBRARY("libnvonnxparser", "TensorRT"),
    LIBRARY("libdali", "DALI"),
    LIBRARY("libuc", "UCX"),
    LIBRARY("libmpi", "MPI"),
    LIBRARY("librmm", "RMM"),
    LIBRARY("libcudf", "cuDF"),
    LIBRARY("libtriton", "Triton"),
    LIBRARY("libtensorflow", "TensorFlow"),
    LIBRARY("_pywrap_tensorflow", "TensorFlow"),
    LIBRARY("xla_", "JAX (XLA)"),
    LIBRARY("libonnxruntime", "ONNX Runtime"),
    LIBRARY("onnxruntime_", "ONNX Runtime"),
    LIBRARY("libpaddle", "Paddle"),
    LIBRARY("libggml", "ggml"),
};

/* Parts of paths, for modules whose file is called like any other. */
static const struct library FOLDERS[] = {
    LIBRARY("/cupy", "CuPy"),      LIBRARY("/numba", "Numba"),
    LIBRARY("/jaxlib/", "JAX"),    LIBRARY("/tensorflow/", "TensorFlow"),
    LIBRARY("/vllm/", "vLLM"),     LIBRARY("/triton/", "Triton"),
    LIBRARY("/paddle/", "Paddle"), LIBRARY("/torch/", "PyTorch, past its allocator"),
    LIBRARY("/pycuda/", "PyCUDA"), LIBRARY("/cuda/bindings/", "cuda-python"),
};

static const struct mt_str NOT_RECORDED = MT_STR_INIT("a caller that was not recorded");

static bool has(struct mt_str s, struct mt_str part)
{
    return mt_str_find(s, part) != SIZE_MAX;
}

static bool is_shared_object(struct mt_str file)
{
    return mt_str_ends(file, MT_STR(".so")) || has(file, MT_STR(".so."));
}

/* A source file: a frame of Python, or of a compiler's line table. */
static bool is_source(struct mt_str file)
{
    static const struct mt_str ENDS[] = {
        MT_STR_INIT(".py"), MT_STR_INIT(".c"),   MT_STR_INIT(".cc"), MT_STR_INIT(".cpp"),
        MT_STR_INIT(".cu"), MT_STR_INIT(".cxx"), MT_STR_INIT(".h"),  MT_STR_INIT(".hpp"),
        MT_STR_INIT(".rs"), MT_STR_INIT(".pyx"), MT_STR_INIT(".go"), MT_STR_INIT(".pyi")};
    for (size_t i = 0; i < MT_COUNT(ENDS); i++) {
        if (mt_str_ends(file, ENDS[i])) {
            return true;
        }
    }
    return false;
}

/* A frame that names the object it was compiled into: a path, and no line. */
static bool is_object(struct mt_str file, int32_t line)
{
    return line == 0 && (is_shared_object(file) || (has(file, MT_STR("/")) && !is_source(file)));
}

static struct mt_owner_name owner_of_frame(struct mt_str file, struct mt_str function)
{
    struct mt_str base = mt_str_basename(file);
    if (mt_str_starts(base, MT_STR("libtorch")) && mt_str_starts(function, MT_STR("nccl"))) {
        return (struct mt_owner_name){MT_OWNER_LIBRARY, MT_STR("NCCL")}; /* linked into it */
    }
    for (size_t i = 0; i < MT_COUNT(LIBRARIES); i++) {
        if (mt_str_starts(base, LIBRARIES[i].file)) {
            return (struct mt_owner_name){LIBRARIES[i].kind, LIBRARIES[i].name};
        }
    }
    for (size_t i = 0; i < MT_COUNT(FOLDERS) && is_shared_object(file); i++) {
        if (has(file, FOLDERS[i].file)) {
            return (struct mt_owner_name){FOLDERS[i].kind, FOLDERS[i].name};
        }
    }
    enum mt_owner_kind kind = is_shared_object(file) ? MT_OWNER_LIBRARY : MT_OWNER_PROGRAM;
    return (struct mt_owner_name){kind, base};
}

struct mt_owner_name mt_owner_of_file(struct mt_str file)
{
    struct mt_owner_name owner = owner_of_frame(file, MT_STR(""));
    bool known = owner.name.n > 0 && !mt_str_equal(file, MT_STR("??"));
    return known ? owner : (struct mt_owner_name){MT_OWNER_UNKNOWN, NOT_RECORDED};
}

struct mt_owner_name mt_owner_of_stack(const struct mt_snapshot *s, uint32_t stack)
{
    const struct mt_stack *frames = &s->stacks[stack];
    for (uint32_t i = 0; i < frames->n; i++) {
        const struct mt_frame *f = &s->frames[s->stack_frames[frames->first + i]];
        struct mt_str file = mt_frame_path(s, f);
        if (is_object(file, f->line)) {
            struct mt_owner_name owner = owner_of_frame(file, mt_frame_function(s, f));
            if (owner.name.n > 0) {
                return owner;
            }
        }
    }
    return (struct mt_owner_name){MT_OWNER_UNKNOWN, NOT_RECORDED};
}

/* ---- what kind of file ---- */

static bool is_torch(struct mt_str file)
{
    struct mt_str base = mt_str_basename(file);
    return mt_str_starts(base, MT_STR("libtorch")) || mt_str_starts(base, MT_STR("libc10")) ||
           has(file, MT_STR("/torch/"));
}

/* memtool's own word for what it did. */
static const char *mode_of(const struct mt_snapshot *s)
{
    static const char *const MODES[] = {"record", "cache", "allocator"};
    const struct mt_value *v = mt_own_key_get(s, mt_own_key_find(s), "mode");
    for (size_t i = 0; v && v->kind == MT_VALUE_STR && i < MT_COUNT(MODES); i++) {
        if (mt_str_equal(mt_snapshot_str(s, v->u.id), mt_str_from(MODES[i]))) {
            return MODES[i];
        }
    }
    return NULL;
}

void mt_recorded_find(struct mt_recorded *r, const struct mt_snapshot *s)
{
    bool compiled = false;
    *r = (struct mt_recorded){0};
    for (size_t i = 1; i < s->n_frames; i++) {
        struct mt_str file = mt_frame_path(s, &s->frames[i]);
        compiled |= is_object(file, s->frames[i].line);
        r->torch |= is_torch(file);
        r->python |= mt_str_ends(file, MT_STR(".py"));
    }
    r->plain = compiled && !r->torch;
    r->mode = mode_of(s);
    r->watched = r->mode && strcmp(r->mode, "record") == 0;
    r->cached = r->mode && strcmp(r->mode, "cache") == 0;
    r->live = r->mode && strcmp(r->mode, "allocator") == 0;
}

const char *mt_conf_variable_of(const struct mt_snapshot *s)
{
    struct mt_recorded recorded;
    mt_recorded_find(&recorded, s);
    bool memtools = recorded.cached || recorded.live || (recorded.watched && recorded.plain);
    return memtools             ? "MEMTOOL_ALLOC_CONF"
           : mt_era_find(s).xpu ? "PYTORCH_ALLOC_CONF"
                                : "PYTORCH_CUDA_ALLOC_CONF";
}

const char *mt_empty_cache_of(const struct mt_recorded *r)
{
    if (r->cached || r->watched) {
        return NULL;
    }
    return r->live && !r->torch && !r->python ? "memtool_empty_cache()"
                                              : "torch.cuda.empty_cache()";
}
