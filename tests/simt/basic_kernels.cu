// Kernels that use the plain vocabulary of simt.hpp, compiled by nvcc and by the host compiler alike.
#include "tests/simt/basic_kernels.hpp"

#include "simt/simt.hpp"

namespace warpcheck::self {
inline namespace SIMT_DEVICE_NS {

template <class T>
__device__ __forceinline__ T warp_sum(T value) {
#pragma unroll
  for (int delta = 16; delta > 0; delta >>= 1) value += __shfl_xor_sync(0xffffffffu, value, delta);
  return value;
}

template <class T>
__global__ void __launch_bounds__(256) block_sums(const T* __restrict__ in, T* __restrict__ out, int n) {
  SIMT_SHARED(partial, T[32]);
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x), lane = threadIdx.x & 31,
            warp = threadIdx.x >> 5;
  const T sum = warp_sum(i < n ? in[i] : T(0));
  if (lane == 0) partial[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    const int warps = static_cast<int>(blockDim.x + 31) / 32;
    const T total = warp_sum(lane < warps ? partial[lane] : T(0));
    if (lane == 0) out[blockIdx.x] = total;
  }
}

// Reverses each block's elements through dynamic shared memory.
__global__ void reverse(const float* in, float* out, int n) {
  SIMT_DYN_SHARED(float, tile);
  const int first = static_cast<int>(blockIdx.x * blockDim.x), t = static_cast<int>(threadIdx.x);
  const int count = min(n - first, static_cast<int>(blockDim.x));
  if (t < count) tile[t] = in[first + t];
  __syncthreads();
  if (t < count) out[first + t] = tile[count - 1 - t];
}

__global__ void histogram(const unsigned char* in, unsigned* bins, int n) {
  SIMT_SHARED(local, unsigned[16]);
  if (threadIdx.x < 16) local[threadIdx.x] = 0;
  __syncthreads();
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < n;
       i += static_cast<int>(gridDim.x * blockDim.x))
    atomicAdd(&local[in[i] & 15], 1u);
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

// out[8 * t ...]: what each lane sees of votes, matches and reductions.
__global__ void vote(unsigned* out) {
  const int t = static_cast<int>(threadIdx.x);
  unsigned* mine = out + 8 * t;
  mine[0] = __ballot_sync(0xffffffffu, t % 3 == 0);
  mine[1] = static_cast<unsigned>(__any_sync(0xffffffffu, t == 31)) +
            2 * static_cast<unsigned>(__all_sync(0xffffffffu, t < 31));
  mine[2] = __match_any_sync(0xffffffffu, t % 4);
  int same = 0;
  mine[3] = __match_all_sync(0xffffffffu, 7, &same) + static_cast<unsigned>(same);
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  mine[4] = static_cast<unsigned>(__reduce_add_sync(0xffffffffu, t));
  mine[5] = static_cast<unsigned>(__reduce_min_sync(0xffffffffu, -t));
#endif
  mine[6] = static_cast<unsigned>(__shfl_up_sync(0xffffffffu, t, 1)) +
            100 * static_cast<unsigned>(__shfl_down_sync(0xffffffffu, t, 2, 8));
  mine[7] = static_cast<unsigned>(__syncthreads_count(t < 5)) + 100 * static_cast<unsigned>(__syncthreads_or(t == 3)) +
            1000 * static_cast<unsigned>(__syncthreads_and(t < 32));
}

__global__ void permute_and_convert(const unsigned* selectors, const float* values, unsigned* bytes, int* integers) {
  const unsigned t = threadIdx.x;
  bytes[t] = __byte_perm(0x33221100u, 0xf7665544u, selectors[t]);
  integers[t] = __float2int_rz(values[t]);
}

// least[t] and most[t]: of the pair as T, as a double.
template <class T>
__global__ void min_and_max(const int* a, const int* b, double* least, double* most) {
  const unsigned t = threadIdx.x;
  least[t] = static_cast<double>(min(static_cast<T>(a[t]), static_cast<T>(b[t])));
  most[t] = static_cast<double>(max(static_cast<T>(a[t]), static_cast<T>(b[t])));
}

// The phase wants one arrival more than there are threads.
__global__ void wait_in_vain() {
  SIMT_SHARED(gate, simt::mbarrier);
  if (threadIdx.x == 0) gate.init(49);
  __syncthreads();
  gate.arrive();
  gate.wait(0);
}

// Unless all meet, the first thread waits for a phase that nobody completes, and the others for it.
__global__ void meet(bool all) {
  SIMT_SHARED(gate, simt::mbarrier);
  if (threadIdx.x == 0) gate.init(1);
  if (threadIdx.x == 0 && !all) gate.wait(0);
  __syncthreads();
}

template <class T>
__global__ void round_trip(const float* in, float* out, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = simt::to_float(simt::from_float<T>(in[i]));
}

// Vector loads and stores, then an asynchronous tail of scalars.
__global__ void copy_vectors(const float4* in, float4* out, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) __stcs(out + i, __ldcs(in + i));
}

void run_block_sums(const float* in, float* out, int n, unsigned blocks, simt::stream_t stream) {
  simt::launch({dim3(blocks), dim3(256), 0, stream}, block_sums<float>, in, out, n);
}
void run_reverse(const float* in, float* out, int n, simt::stream_t stream) {
  simt::launch({dim3(static_cast<unsigned>(n + 99) / 100), dim3(100), 400, stream}, reverse, in, out, n);
}
void run_histogram(const unsigned char* in, unsigned* bins, int n, simt::stream_t stream) {
  simt::launch({dim3(4), dim3(128), 0, stream}, histogram, in, bins, n);
}
void run_vote(unsigned* out, simt::stream_t stream) { simt::launch({dim3(1), dim3(32), 0, stream}, vote, out); }
void run_permute_and_convert(const unsigned* selectors, const float* values, unsigned* bytes, int* integers, unsigned n,
                             simt::stream_t stream) {
  simt::launch({dim3(1), dim3(n), 0, stream}, permute_and_convert, selectors, values, bytes, integers);
}
template <class T>
void run_min_and_max(const int* a, const int* b, double* least, double* most, unsigned n, simt::stream_t stream) {
  simt::launch({dim3(1), dim3(n), 0, stream}, min_and_max<T>, a, b, least, most);
}
#define INSTANTIATE(T) \
  template void run_min_and_max<T>(const int*, const int*, double*, double*, unsigned, simt::stream_t);
INSTANTIATE(int)
INSTANTIATE(unsigned)
INSTANTIATE(long)
INSTANTIATE(unsigned long)
INSTANTIATE(long long)
INSTANTIATE(unsigned long long)
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE
void run_wait_in_vain(simt::stream_t stream) { simt::launch({dim3(1), dim3(48), 0, stream}, wait_in_vain); }
void run_meet(unsigned threads, bool all, simt::stream_t stream) {
  simt::launch({dim3(1), dim3(threads), 0, stream}, meet, all);
}
void run_round_trip_f16(const float* in, float* out, int n, simt::stream_t stream) {
  simt::launch({dim3(static_cast<unsigned>(n + 255) / 256), dim3(256), 0, stream}, round_trip<simt::f16>, in, out, n);
}
void run_round_trip_bf16(const float* in, float* out, int n, simt::stream_t stream) {
  simt::launch({dim3(static_cast<unsigned>(n + 255) / 256), dim3(256), 0, stream}, round_trip<simt::bf16>, in, out, n);
}
void run_copy_vectors(const float* in, float* out, int n, simt::stream_t stream) {
  simt::launch({dim3(static_cast<unsigned>(n + 63) / 64), dim3(64), 0, stream}, copy_vectors,
               reinterpret_cast<const float4*>(in), reinterpret_cast<float4*>(out), n);
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck::self
