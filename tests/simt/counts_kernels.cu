// Kernels whose barriers and wavefronts of shared memory are known.
#ifndef __CUDACC__
#include "tests/simt/counts_kernels.hpp"
#endif

#include "simt/simt.hpp"

namespace warpcheck::self {
inline namespace SIMT_DEVICE_NS {
namespace {

// A store in a row of words, and a load `Stride` words apart: Stride lanes share a bank where it divides 32.
template <int Stride>
__global__ void strided(int* out) {
  SIMT_SHARED(words, int[64 * Stride]);
  for (int i = 0; i < Stride; ++i) words[i * 64 + threadIdx.x] = 1;
  __syncthreads();
  out[blockIdx.x * 64 + threadIdx.x] = words[threadIdx.x * Stride];
}

// All lanes of a warp load one word.
__global__ void same_word(int* out) {
  SIMT_SHARED(words, int[64]);
  words[threadIdx.x] = 1;
  __syncthreads();
  out[blockIdx.x * 64 + threadIdx.x] = words[threadIdx.x / 32];
  __syncthreads();
}

// 8 bytes of a lane are neighbours: two parts of 16 lanes, each in one wavefront.
__global__ void doubles(int* out) {
  SIMT_SHARED(pairs, double[64]);
  pairs[threadIdx.x] = 1;
  __syncthreads();
  out[blockIdx.x * 64 + threadIdx.x] = static_cast<int>(pairs[63 - threadIdx.x]);
}

template <void (*Kernel)(int*)>
void run(int* out, simt::stream_t stream) {
  simt::launch({dim3(2), dim3(64), 0, stream}, Kernel, out);
}

}  // namespace
}  // namespace SIMT_DEVICE_NS

const counted_kernel k_counted_kernels[5] = {
    {"neighbours", run<strided<1>>, 1, 2, 0},       {"two in a bank", run<strided<2>>, 1, 4, 1},
    {"all in a bank", run<strided<32>>, 1, 64, 31}, {"one word", run<same_word>, 2, 2, 0},
    {"two words of a lane", run<doubles>, 1, 4, 0},
};

}  // namespace warpcheck::self
