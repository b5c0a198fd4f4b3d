// SPDX-License-Identifier: MIT
// A CUDA program as its users write them, for make check-cuda: kernels, memory of the runtime and of
// its pools, streams, a graph and unified memory. Each part computes something on the card that is
// compared with what the processor computes. Prints as JSON what it asked for; exit 1: wrong.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda.h>
#include <cuda_runtime.h>

namespace {

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t error_ = (call);                                                               \
        if (error_ != cudaSuccess) {                                                               \
            std::fprintf(stderr, "line %d: %s: %s\n", __LINE__, #call, cudaGetErrorString(error_)); \
            std::exit(2);                                                                          \
        }                                                                                          \
    } while (0)

constexpr int N = 1 << 20;
constexpr size_t BYTES = N * sizeof(int);

__global__ void fill(int *p, int n, int first)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        p[i] = first + i;
    }
}

__global__ void add(int *to, const int *from, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        to[i] += from[i];
    }
}

long long wrong;

void compare(const int *device, int first, int factor)
{
    std::vector<int> host(N);
    CHECK(cudaMemcpy(host.data(), device, BYTES, cudaMemcpyDefault));
    for (int i = 0; i < N; i++) {
        wrong += host[i] != factor * (first + i);
    }
}

void plain()
{
    for (int round = 0; round < 8; round++) {
        int *a, *b;
        CHECK(cudaMalloc(&a, BYTES));
        CHECK(cudaMalloc(&b, BYTES));
        fill<<<N / 256, 256>>>(a, N, round);
        fill<<<N / 256, 256>>>(b, N, round);
        add<<<N / 256, 256>>>(a, b, N);
        compare(a, round, 2);
        CHECK(cudaFree(b));
        CHECK(cudaFree(a));
    }
}

void streams()
{
    cudaStream_t s[4];
    int *p[4];
    for (int i = 0; i < 4; i++) {
        CHECK(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking));
    }
    for (int round = 0; round < 8; round++) {
        for (int i = 0; i < 4; i++) {
            CHECK(cudaMallocAsync(&p[i], BYTES, s[i]));
            fill<<<N / 256, 256, 0, s[i]>>>(p[i], N, 1000 * i + round);
        }
        for (int i = 0; i < 4; i++) {
            CHECK(cudaStreamSynchronize(s[i]));
            compare(p[i], 1000 * i + round, 1);
            CHECK(cudaFreeAsync(p[i], s[i]));
        }
    }
    for (cudaStream_t one : s) {
        CHECK(cudaStreamSynchronize(one));
        CHECK(cudaStreamDestroy(one));
    }
}

void graph()
{
    cudaStream_t s;
    cudaGraph_t captured;
    cudaGraphExec_t runs;
    int *a, *b;
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaMalloc(&a, BYTES));
    CHECK(cudaMalloc(&b, BYTES));
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    fill<<<N / 256, 256, 0, s>>>(a, N, 7);
    fill<<<N / 256, 256, 0, s>>>(b, N, 7);
    add<<<N / 256, 256, 0, s>>>(a, b, N);
    CHECK(cudaStreamEndCapture(s, &captured));
    CHECK(cudaGraphInstantiate(&runs, captured, 0));
    for (int i = 0; i < 3; i++) {
        CHECK(cudaGraphLaunch(runs, s));
        CHECK(cudaStreamSynchronize(s));
        compare(a, 7, 2);
    }
    CHECK(cudaGraphExecDestroy(runs));
    CHECK(cudaGraphDestroy(captured));
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaStreamDestroy(s));
}

void unified()
{
    int *p;
    CHECK(cudaMallocManaged(&p, BYTES));
    for (int i = 0; i < N; i++) {
        p[i] = 5 + i;
    }
    add<<<N / 256, 256>>>(p, p, N);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < N; i++) {
        wrong += p[i] != 2 * (5 + i);
    }
    CHECK(cudaFree(p));
}

} // namespace

int main()
{
    int *kept;
    plain();
    streams();
    graph();
    unified();
    CHECK(cudaMalloc(&kept, 3 * BYTES)); // is there at the end
    std::printf("{\"wrong\": %lld, \"kept\": %zu, \"runtime\": %d}\n", wrong, 3 * BYTES, CUDART_VERSION);
    return wrong ? 1 : 0;
}
