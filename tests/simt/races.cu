// Seeded races, each of a kind met in practice, and correct kernels that use the same means rightly.
#include "bench/sample_kernels.hpp"
#include "simt/simt.hpp"

namespace warpcheck::self {
inline namespace SIMT_DEVICE_NS {

// ---- races

// Reads s[0], then overwrites s[t], with no barrier between: thread 0 may overwrite before the others read.
__global__ void overwrite_first(int* out) {
  SIMT_SHARED(s, int[256]);
  const int t = static_cast<int>(threadIdx.x);
  s[t] = t + 100;
  __syncthreads();
  const int v = s[0];  // @overwrite_first
  s[t] = v + t + 1;    // @overwrite_first
  __syncthreads();
  out[t] = s[t];
}

// The same with the last slot: the usual order of threads happens to be right.
__global__ void overwrite_last(int* out) {
  SIMT_SHARED(s, int[256]);
  const int t = static_cast<int>(threadIdx.x), n = static_cast<int>(blockDim.x);
  s[t] = t + 100;
  __syncthreads();
  const int v = s[n - 1];  // @overwrite_last
  s[t] = v + t;            // @overwrite_last
  __syncthreads();
  out[t] = s[t];
}

// Hillis-Steele scan with one of its two barriers.
__global__ void scan_one_barrier(int* out) {
  SIMT_SHARED(s, int[256]);
  const int t = static_cast<int>(threadIdx.x);
  s[t] = 1;
  __syncthreads();
  for (int d = 1; d < static_cast<int>(blockDim.x); d <<= 1) {
    const int u = t >= d ? s[t - d] : 0;  // @scan_one_barrier
    __syncthreads();
    s[t] += u;  // @scan_one_barrier
  }
  __syncthreads();
  out[t] = s[t];
}

// Warp reduction through volatile shared memory without __syncwarp: the idiom from before independent lanes.
__global__ void volatile_warp(int* out) {
  SIMT_SHARED(s, int[64]);
  const int t = static_cast<int>(threadIdx.x);
  volatile int* v = s;
  v[t] = 1;
  if (t < 32) v[t + 32] = 0;
  __syncthreads();
  for (int d = 16; d > 0; d >>= 1) v[t] = v[t] + v[t + d];  // @volatile_warp
  if (t == 0) out[0] = v[0];
}

// Tile loop without the barrier at the end of an iteration.
__global__ void tile_loop(const int* in, int tiles, int* out) {
  SIMT_SHARED(tile, int[64]);
  const int t = static_cast<int>(threadIdx.x), n = static_cast<int>(blockDim.x);
  int sum = 0;
  for (int k = 0; k < tiles; ++k) {
    tile[t] = in[k * n + t];  // @tile_loop
    __syncthreads();
    sum += tile[(t + 1) % n] + tile[(t + 33) % n];  // @tile_loop
  }
  out[t] = sum;
}

// Structs as an argument and as a result of functions that are not inlined. At -O0 the line of the class is found.
struct four_ints {  // @struct_argument @struct_result
  int a, b, c, d;
};
struct padded {
  double a, b, c;
  int d;
};

__device__ __attribute__((noinline)) int last_of(four_ints x) { return x.d; }

__device__ __attribute__((noinline)) four_ints equal_ints(int v) {
  four_ints x;
  x.a = x.b = x.c = x.d = v;
  return x;
}

template <bool Wait>
__global__ void struct_argument(int* out) {
  SIMT_SHARED(s, four_ints[64]);
  const int t = static_cast<int>(threadIdx.x), n = static_cast<int>(blockDim.x);
  s[t].a = s[t].b = s[t].c = s[t].d = t;  // @struct_argument
  if (Wait) __syncthreads();
  out[t] = last_of(s[(t + 1) % n]);  // @struct_argument
}

__device__ __attribute__((noinline)) int sum_of(padded x) { return x.d + static_cast<int>(x.a); }

__global__ void padded_argument(int* out) {
  SIMT_SHARED(s, padded[64]);
  const int t = static_cast<int>(threadIdx.x), n = static_cast<int>(blockDim.x);
  s[t].a = s[t].b = s[t].c = 0;
  s[t].d = t;
  __syncthreads();
  out[t] = sum_of(s[(t + 1) % n]);
}

template <bool Wait>
__global__ void struct_result(int* out) {
  SIMT_SHARED(s, four_ints[64]);
  const int t = static_cast<int>(threadIdx.x), n = static_cast<int>(blockDim.x);
  s[t] = equal_ints(t);  // @struct_result
  if (Wait) __syncthreads();
  out[t] = s[(t + 1) % n].d;  // @struct_result
}

// Counts without atomics.
__global__ void plain_histogram(int* out) {
  SIMT_SHARED(h, int[8]);
  const int t = static_cast<int>(threadIdx.x);
  if (t < 8) h[t] = 0;
  __syncthreads();
  h[t & 7]++;  // @plain_histogram
  __syncthreads();
  if (t < 8) out[t] = h[t];
}

// A transient value that only one rare order shows.
__global__ void transient(int* out) {
  SIMT_SHARED(value, int);
  const int t = static_cast<int>(threadIdx.x);
  if (t == 0) value = 7;
  __syncthreads();
  volatile int* v = &value;
  if (t == 5) {
    *v = 8;  // @transient
    *v = 7;  // @transient
  }
  if (t == 77) out[0] = *v;  // @transient
}

// Blocks increment one counter without atomics.
__global__ void block_counter(int* count) {
  if (threadIdx.x == 0) count[0] = count[0] + 1;  // @block_counter
}

// A shuffle in the place of a barrier: it moves values between lanes, but orders no memory.
__global__ void shuffle_fence(int* out) {
  SIMT_SHARED(s, int[32]);
  const int t = static_cast<int>(threadIdx.x);
  s[t] = t;  // @shuffle_fence
  const int zero = __shfl_sync(0xffffffffu, t, 0);
  out[t] = s[31 - t] + zero;  // @shuffle_fence
}

// The last block to finish adds the others' partial sums, with or without the fences that make them visible.
template <bool Fences>
__global__ void last_block_sum(const float* in, int n, float* partial, int* finished, float* out) {
  SIMT_SHARED(is_last, int);
  if (threadIdx.x == 0) {
    float sum = 0;
    for (int i = static_cast<int>(blockIdx.x); i < n; i += static_cast<int>(gridDim.x)) sum += in[i];
    partial[blockIdx.x] = sum;  // @last_block_no_fences
    if (Fences) __threadfence();
    is_last = atomicAdd(finished, 1) == static_cast<int>(gridDim.x) - 1;
    if (Fences) __threadfence();
  }
  __syncthreads();
  if (is_last && threadIdx.x == 0) {
    float total = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) total += partial[b];  // @last_block_no_fences
    *out = total;
  }
}

// Block histogram that is read without waiting for the other threads' counts.
template <bool Barrier>
__global__ void block_histogram(const unsigned char* in, int n, int* bins) {
  SIMT_SHARED(h, int[16]);
  if (threadIdx.x < 16) h[threadIdx.x] = 0;
  __syncthreads();
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < n;
       i += static_cast<int>(gridDim.x * blockDim.x))
    atomicAdd(&h[in[i] & 15], 1);  // @histogram_no_barrier
  if (Barrier) __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], h[threadIdx.x]);  // @histogram_no_barrier
}

// Half-warps synchronise among themselves, but read across.
__global__ void half_warp_across(int* out) {
  SIMT_SHARED(s, int[32]);
  const int t = static_cast<int>(threadIdx.x);
  const unsigned mask = t < 16 ? 0xffffu : 0xffff0000u;
  s[t] = t;  // @half_warp_across
  __syncwarp(mask);
  out[t] = s[t ^ 16];  // @half_warp_across
}

// A lock whose holder neither acquires nor releases.
template <bool Fences>
__global__ void spin_lock(int* lock, int* value) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  if (Fences) __threadfence();
  value[0] = value[0] + 1;  // @lock_no_fences
  if (Fences) __threadfence();
  atomicExch(lock, 0);
}

// ---- correct kernels

template <class T>
__global__ void block_scan(const T* in, int n, T* out) {
  SIMT_DYN_SHARED(T, warp_total);
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x), lane = threadIdx.x & 31,
            warp = threadIdx.x >> 5;
  const int warps = static_cast<int>(blockDim.x >> 5);
  T v = i < n ? in[i] : T(0);
  for (int d = 1; d < 32; d <<= 1) {
    const T u = __shfl_up_sync(0xffffffffu, v, static_cast<unsigned>(d));
    if (lane >= d) v += u;
  }
  if (lane == 31) warp_total[warp] = v;
  __syncthreads();
  if (warp == 0) {
    T w = lane < warps ? warp_total[lane] : T(0);
    for (int d = 1; d < 32; d <<= 1) {
      const T u = __shfl_up_sync(0xffffffffu, w, static_cast<unsigned>(d));
      if (lane >= d) w += u;
    }
    if (lane < warps) warp_total[lane] = w;
  }
  __syncthreads();
  if (warp > 0) v += warp_total[warp - 1];
  if (i < n) out[i] = v;
}

__global__ void warp_reduction(int* out) {
  SIMT_SHARED(s, int[64]);
  const int t = static_cast<int>(threadIdx.x);
  s[t] = 1;
  s[t + 32] = 0;
  __syncwarp();
  for (int d = 16; d > 0; d >>= 1) {
    const int v = s[t + d];
    __syncwarp();
    s[t] += v;
    __syncwarp();
  }
  if (t == 0) out[0] = s[0];
}

__global__ void half_warps(int* out) {
  SIMT_SHARED(s, int[32]);
  const int t = static_cast<int>(threadIdx.x), next = (t & 16) | ((t + 1) & 15);
  const unsigned mask = t < 16 ? 0xffffu : 0xffff0000u;
  s[t] = t;
  __syncwarp(mask);
  const int v = s[next];
  __syncwarp(mask);
  s[t] = v;
  __syncwarp(mask);
  out[t] = s[next];
}

// Each block waits for its predecessor's sum: blocks must run side by side, or in order.
__global__ void chained_scan(const int* in, int* ready, int* total, int* out) {
  SIMT_SHARED(carry, int);
  SIMT_SHARED(warp_total, int[32]);
  const int b = static_cast<int>(blockIdx.x), t = static_cast<int>(threadIdx.x), lane = t & 31;
  int v = in[b * 64 + t];
  for (int d = 1; d < 32; d <<= 1) {
    const int u = __shfl_up_sync(0xffffffffu, v, static_cast<unsigned>(d));
    if (lane >= d) v += u;
  }
  if (lane == 31) warp_total[t >> 5] = v;
  __syncthreads();
  if (t >= 32) v += warp_total[0];
  if (t == 63) {
    int before = 0;
    if (b > 0) {
      while (atomicAdd(&ready[b - 1], 0) == 0) {
      }
      __threadfence();
      before = total[b - 1];
    }
    total[b] = before + v;
    __threadfence();
    atomicExch(&ready[b], 1);
    carry = before;
  }
  __syncthreads();
  out[b * 64 + t] = v + carry;
}

// Neighbours write the two halves of one word.
__global__ void two_byte_neighbours(const simt::f16* in, simt::f16* out) {
  SIMT_SHARED(s, simt::f16[64]);
  const int t = static_cast<int>(threadIdx.x);
  s[t] = in[t];
  __syncthreads();
  out[t] = s[63 - t];
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck::self

#ifndef __CUDACC__

#include <vector>

#include "tests/simt/launched.hpp"

namespace warpcheck::self {
namespace {

bool run_softmax(simt::emulation* stream) {
  device_array<float> in(1200), out(1200);
  for (size_t i = 0; i < 1200; ++i) in[i] = static_cast<float>(std::sin(static_cast<double>(i)) * 3);
  simt::launch({dim3(4), dim3(128), 0, stream}, softmax_rows<true>, in.data(), out.data(), 300);
  for (size_t row = 0; row < 4; ++row) {
    double sum = 0;
    for (size_t c = 0; c < 300; ++c) sum += std::exp(static_cast<double>(in[row * 300 + c]));
    for (size_t c = 0; c < 300; ++c) {
      const double expected = std::exp(static_cast<double>(in[row * 300 + c])) / sum;
      // Two exponentials, a division and a sum of 300 terms in three levels: below 2^-19 relative (32 u, u = 2^-24).
      if (!(std::fabs(static_cast<double>(out[row * 300 + c]) - expected) <= 0x1p-19 * expected)) return false;
    }
  }
  return true;
}

bool run_matmul(simt::emulation* stream) {
  device_array<float> a(32 * 32), b(32 * 32), c(32 * 32);
  for (size_t i = 0; i < 1024; ++i) {
    a[i] = static_cast<float>(i % 7);
    b[i] = static_cast<float>(i % 5);
  }
  simt::launch({dim3(2, 2), dim3(16, 16), 0, stream}, tiled_product<16>, a.data(), b.data(), c.data(), 32);
  for (size_t i = 0; i < 32; ++i) {
    for (size_t j = 0; j < 32; ++j) {
      float expected = 0;
      for (size_t k = 0; k < 32; ++k) expected += a[i * 32 + k] * b[k * 32 + j];
      if (c[i * 32 + j] != expected) return false;
    }
  }
  return true;
}

bool run_two_byte_neighbours(simt::emulation* stream) {
  device_array<simt::f16> in(64), out(64);
  for (size_t i = 0; i < 64; ++i) in[i] = simt::from_float<simt::f16>(static_cast<float>(i));
  simt::launch({dim3(1), dim3(64), 0, stream}, two_byte_neighbours, in.data(), out.data());
  for (size_t i = 0; i < 64; ++i)
    if (simt::to_float(out[i]) != static_cast<float>(63 - i)) return false;
  return true;
}

}  // namespace

std::vector<trial> race_trials() {
  const auto sum_of_blocks = [](auto* kernel) {
    return launched({4, 64}, kernel, 1, 511, made<float>(512, [](int i) { return i % 3; }), 512, std::vector<float>(4),
                    std::vector<int>(1));
  };
  const auto counts = [](auto* kernel) {
    return launched({4, 128}, kernel, 16, 256, made<unsigned char>(4096, [](int i) { return i * 7; }), 4096);
  };
  const auto locked = [](auto* kernel) { return launched({8, 32}, kernel, 1, 8, std::vector<int>(1)); };
  const auto next_of_64 = [](auto* kernel) {
    return launched({1, 64}, kernel, 64, [](int i) { return (i + 1) % 64; });
  };
  const auto sum_of_4_tiles = [](int i) { return 128 * (0 + 1 + 2 + 3) + 4 * ((i + 1) % 64 + (i + 33) % 64); };
  return {
      {"overwrite_first", "race", launched({1, 128}, overwrite_first, 128, [](int i) { return 101 + i; })},
      {"overwrite_last", "race", launched({1, 128}, overwrite_last, 128, [](int i) { return 227 + i; })},
      {"scan_one_barrier", "race", launched({1, 128}, scan_one_barrier, 128, [](int i) { return i + 1; })},
      {"volatile_warp", "race", launched({1, 32}, volatile_warp, 1, 32)},
      {"tile_loop", "race", launched({1, 64}, tile_loop, 64, sum_of_4_tiles, made<int>(256, identity), 4)},
      {"struct_argument", "race", next_of_64(struct_argument<false>)},
      {"struct_result", "race", next_of_64(struct_result<false>)},
      {"plain_histogram", "race", launched({1, 64}, plain_histogram, 8, 8)},
      {"transient", "race", launched({1, 96}, transient, 1, 7)},
      {"block_counter", "race", launched({4, 32}, block_counter, 1, 4)},
      {"shuffle_fence", "race", launched({1, 32}, shuffle_fence, 32, [](int i) { return 31 - i; })},
      {"last_block_no_fences", "race", sum_of_blocks(last_block_sum<false>)},
      {"histogram_no_barrier", "race", counts(block_histogram<false>)},
      {"half_warp_across", "race", launched({1, 32}, half_warp_across, 32, [](int i) { return i ^ 16; })},
      {"lock_no_fences", "race", locked(spin_lock<false>)},
      {"softmax", "", run_softmax},
      {"scan", "",
       launched(
           {1, 256, 8 * sizeof(int)}, block_scan<int>, 200,
           [](int i) { return i / 5 * 15 + (i % 5 + 1) * (i % 5 + 2) / 2; },
           made<int>(200, [](int i) { return i % 5 + 1; }), 200)},
      {"tiled_matmul", "", run_matmul},
      {"histogram", "", counts(block_histogram<true>)},
      {"warp_reduction", "", launched({1, 32}, warp_reduction, 1, 32)},
      {"half_warps", "", launched({1, 32}, half_warps, 32, [](int i) { return (i & 16) | ((i + 2) & 15); })},
      {"spin_lock", "", locked(spin_lock<true>)},
      {"last_block_sum", "", sum_of_blocks(last_block_sum<true>)},
      {"chained_scan", "",
       launched(
           {8, 64}, chained_scan, 512, [](int i) { return i / 3 * 3 + i % 3 * (i % 3 + 1) / 2; },
           made<int>(512, [](int i) { return i % 3; }), std::vector<int>(8), std::vector<int>(8))},
      {"struct_argument_barrier", "", next_of_64(struct_argument<true>)},
      {"padded_argument", "", next_of_64(padded_argument)},
      {"struct_result_barrier", "", next_of_64(struct_result<true>)},
      {"two_byte_neighbours", "", run_two_byte_neighbours},
  };
}

}  // namespace warpcheck::self

#endif
