// Defects of initialisation, bounds, alignment and collectives, each (Bug = true) beside its correct twin.
#include "simt/simt.hpp"
#include "tests/simt/thread_index.hpp"

namespace warpcheck::self {
inline namespace SIMT_DEVICE_NS {

// ---- initialisation

template <bool Bug>
__global__ void half_written(int* out) {
  SIMT_SHARED(s, int[64]);
  const int t = thread_in_block();
  if (!Bug || t % 2 == 1) s[t] = t;
  __syncthreads();
  out[t] = s[t];  // @half_written
}

// The last element of a workspace is never written.
template <bool Bug>
__global__ void read_workspace(float* workspace, float* out) {
  const int t = thread_in_block();
  if (!Bug || t != 63) workspace[t] = static_cast<float>(t);
  out[t] = workspace[t];  // @unwritten_workspace
}

// A volatile word of a fresh workspace is stored and then read. Bug: not stored.
template <bool Bug>
__global__ void volatile_workspace(volatile int* word, int* out) {
  if (!Bug) word[threadIdx.x] = 3;
  out[threadIdx.x] = word[threadIdx.x];  // @volatile_workspace
}

// ---- bounds

template <bool Bug>
__global__ void static_bounds(int* out) {
  SIMT_SHARED(s, int[64]);
  const int t = thread_in_block();
  s[Bug ? t + 1 : t] = t;  // @static_shared_bounds
  __syncthreads();
  out[t] = s[Bug ? 64 - t : 63 - t];
}

template <bool Bug>
__global__ void dynamic_bounds(int* out) {
  SIMT_DYN_SHARED(int, s);
  const int t = thread_in_block();
  s[t] = t;
  __syncthreads();
  out[t] = s[Bug ? t + 1 : t];  // @dynamic_shared_bounds
}

template <bool Bug>
__global__ void global_bounds(int* out, int n) {
  const int i = thread_in_grid();
  if (Bug ? i <= n : i < n) out[i] = i;  // @global_bounds
}

template <bool Bug>
__global__ void below_buffer(const int* in, int* out) {
  const int t = thread_in_block();
  out[t] = in[Bug || t > 0 ? t - 1 : t];  // @below_buffer
}

// Rows and columns swapped: right on squares only.
template <bool Bug>
__global__ void swapped_index(const float* in, float* out, int rows, int cols) {
  const int i = thread_in_block();
  if (i >= rows * cols) return;
  const int r = i / cols, c = i % cols;
  out[i] = in[Bug ? c * cols + r : r * cols + c];  // @swapped_index
}

__global__ void add_one(int* values, int n) {
  const int i = thread_in_grid();
  if (i < n) values[i] += 1;  // @freed_buffer
}

template <bool Bug>
__global__ void atomic_bounds(int* bins, int n) {
  const int t = thread_in_block();
  atomicAdd(&bins[t % (Bug ? n + 1 : n)], 1);  // @atomic_bounds
}

// No buffer: the pointer is null.
template <bool Bug>
__global__ void null_buffer(const int* data, int* out) {
  out[threadIdx.x] = Bug || data != nullptr ? data[threadIdx.x] : 1;  // @null_buffer
}

// ---- alignment

template <bool Bug>
__global__ void vector_load(const float* in, float* out) {
  const int t = thread_in_block();
  const float4 v = __ldcs(reinterpret_cast<const float4*>(in + (Bug ? 1 : 0) + 4 * t));
  out[t] = v.x + v.y + v.z + v.w;
}

template <bool Bug>
__global__ void scalar_load(const unsigned char* in, int* out) {
  const int t = thread_in_block();
  out[t] = *reinterpret_cast<const int*>(in + (Bug ? 2 : 4) + 4 * t);  // @misaligned_scalar
}

// ---- collectives

template <bool Bug>
__global__ void two_barriers(int* out) {
  const int t = thread_in_block();
  if (Bug && t < 16) {
    __syncthreads();  // @diverged_barrier
    out[t] = 1;
  } else {
    __syncthreads();  // @diverged_barrier
    out[t] = 1;
  }
}

// Some lanes wait for their warp, the others for the block.
template <bool Bug>
__global__ void crossed_barriers(int* out) {
  const int t = thread_in_block();
  if (Bug && t < 16)
    __syncwarp();  // @crossed_barriers
  else
    __syncthreads();  // @crossed_barriers
  out[t] = 1;
}

template <bool Bug>
__global__ void caller_outside_mask(int* out) {
  const int t = thread_in_block();
  out[t] = __shfl_sync(Bug ? 0xffff0000u : 0xffffffffu, t, 16);  // @caller_outside_mask
}

template <bool Bug>
__global__ void source_outside_mask(int* out) {
  const int t = thread_in_block();
  int v = t;
  if (t < 16) v = __shfl_down_sync(0x0000ffffu, v, 8, Bug ? 32 : 16);  // @source_outside_mask
  out[t] = v;
}

template <bool Bug>
__global__ void exited_lane(int* out) {
  const int t = thread_in_block();
  if (Bug && t == 31) return;
  out[t] = __shfl_sync(0xffffffffu, t, 31);  // @exited_lane
}

template <bool Bug>
__global__ void mixed_operations(int* out) {
  const int t = thread_in_block();
  if (Bug && t % 2 == 1)
    out[t] = static_cast<int>(__ballot_sync(0xffffffffu, 1));  // @mixed_operations
  else
    out[t] = __shfl_xor_sync(0xffffffffu, t, 2);  // @mixed_operations
}

__device__ __forceinline__ unsigned pair_mask(int lane) { return 1u << lane | 1u << (lane + 1) % 32; }

// Every lane synchronises with the one before, then with the one after. Bug: in a ring, where each waits for the next.
template <bool Bug>
__global__ void pairs_in_turn(int* out) {
  SIMT_SHARED(s, int[32]);
  const int t = thread_in_block(), before = (t + 31) % 32;
  int sum = t;
  if (Bug || t > 0) {
    __syncwarp(pair_mask(before));  // @pairs_in_turn
    sum += s[before];
  }
  s[t] = sum;
  if (Bug || t < 31) __syncwarp(pair_mask(t));
  out[t] = sum;
}

// ---- limits

template <bool Bug>
__global__ void big_static(int* out) {
  SIMT_SHARED(s, int[Bug ? 12289 : 12288]);  // 48 KiB is the limit
  const int t = thread_in_block();
  s[t] = t;
  out[t] = s[t];
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck::self

#ifndef __CUDACC__

#include <vector>

#include "tests/simt/device_array.hpp"
#include "tests/simt/ints.hpp"
#include "tests/simt/trial.hpp"

namespace warpcheck::self {
namespace {

template <bool Bug>
bool run_workspace(stream s) {
  simt::buffer<float> workspace(64, s);
  device_array<float> out(64);
  simt::launch({dim3(1), dim3(64), 0, s}, read_workspace<Bug>, workspace.data(), out.data());
  return out[63] == 63.0f;
}

template <bool Bug>
bool run_global_bounds(stream s) {
  device_array<int> out(100);
  simt::launch({dim3(2), dim3(64), 0, s}, global_bounds<Bug>, out.data(), 100);
  return out[99] == 99;
}

template <bool Bug>
bool run_below_buffer(stream s) {
  device_array<int> in(64), out(64);
  for (size_t i = 0; i < 64; ++i) in[i] = static_cast<int>(i);
  simt::launch({dim3(1), dim3(64), 0, s}, below_buffer<Bug>, in.data(), out.data());
  return out[63] == 62 && out[0] == 0;
}

template <bool Bug>
bool run_swapped_index(stream s) {
  device_array<float> in(3 * 20), out(3 * 20);
  for (size_t i = 0; i < 60; ++i) in[i] = static_cast<float>(i);
  simt::launch({dim3(1), dim3(64), 0, s}, swapped_index<Bug>, in.data(), out.data(), 3, 20);
  return out[41] == 41.0f;
}

template <bool Bug>
bool run_freed(stream s) {
  device_array<int> values(100);
  auto* p = static_cast<int*>(simt::device_alloc(400, 0, 4));
  if (Bug)
    simt::device_free(p);
  else
    simt::memset_async(p, 0, 400, s);
  simt::launch({dim3(1), dim3(128), 0, s}, add_one, p, 100);
  const bool right = Bug || p[99] == 1;
  if (!Bug) simt::device_free(p);
  return right;
}

template <bool Bug>
bool run_atomic_bounds(stream s) {
  device_array<int> bins(7);
  simt::launch({dim3(1), dim3(64), 0, s}, atomic_bounds<Bug>, bins.data(), 7);
  return bins[0] == 10;
}

template <bool Bug>
bool run_vector_load(stream s) {
  device_array<float> in(64 * 4 + 4), out(64);
  for (size_t i = 0; i < in.size(); ++i) in[i] = 1.0f;
  simt::launch({dim3(1), dim3(64), 0, s}, vector_load<Bug>, in.data(), out.data());
  return out[63] == 4.0f;
}

template <bool Bug>
bool run_scalar_load(stream s) {
  device_array<unsigned char> in(300);
  device_array<int> out(64);
  simt::launch({dim3(1), dim3(64), 0, s}, scalar_load<Bug>, in.data(), out.data());
  return out[0] == 0;
}

template <bool Bug>
bool run_volatile_workspace(stream s) {
  const simt::buffer<int> words(32, s);
  device_array<int> out(32);
  simt::launch({dim3(1), dim3(32), 0, s}, volatile_workspace<Bug>, words.data(), out.data());
  return out[31] == 3;
}

template <bool Bug>
bool run_null_buffer(stream s) {
  device_array<int> out(32);
  simt::launch({dim3(1), dim3(32), 0, s}, null_buffer<Bug>, static_cast<const int*>(nullptr), out.data());
  return out[31] == 1;
}

}  // namespace

std::vector<trial> defect_trials() {
  return {
      {"half_written", "uninitialized", [](stream s) { return ints(s, half_written<true>, 1, 64, 64, identity); },
       [](stream s) { return ints(s, half_written<false>, 1, 64, 64, identity); }},
      {"unwritten_workspace", "uninitialized", run_workspace<true>, run_workspace<false>},
      {"volatile_workspace", "uninitialized", run_volatile_workspace<true>, run_volatile_workspace<false>},
      {"static_shared_bounds", "out_of_bounds",
       [](stream s) { return ints(s, static_bounds<true>, 1, 64, 64, identity); },
       [](stream s) { return ints(s, static_bounds<false>, 1, 64, 64, [](int i) { return 63 - i; }); }},
      {"dynamic_shared_bounds", "out_of_bounds",
       [](stream s) { return ints(s, dynamic_bounds<true>, 1, 64, 64, identity, 256); },
       [](stream s) { return ints(s, dynamic_bounds<false>, 1, 64, 64, identity, 256); }},
      {"global_bounds", "out_of_bounds", run_global_bounds<true>, run_global_bounds<false>},
      {"below_buffer", "out_of_bounds", run_below_buffer<true>, run_below_buffer<false>},
      {"swapped_index", "out_of_bounds", run_swapped_index<true>, run_swapped_index<false>},
      {"freed_buffer", "out_of_bounds", run_freed<true>, run_freed<false>},
      {"atomic_bounds", "out_of_bounds", run_atomic_bounds<true>, run_atomic_bounds<false>},
      {"null_buffer", "out_of_bounds", run_null_buffer<true>, run_null_buffer<false>},
      {"misaligned_vector", "misaligned", run_vector_load<true>, run_vector_load<false>},
      {"misaligned_scalar", "misaligned", run_scalar_load<true>, run_scalar_load<false>},
      {"diverged_barrier", "divergence", [](stream s) { return ints(s, two_barriers<true>, 1, 64, 64, one); },
       [](stream s) { return ints(s, two_barriers<false>, 1, 64, 64, one); }},
      {"crossed_barriers", "deadlock", [](stream s) { return ints(s, crossed_barriers<true>, 1, 32, 32, one); },
       [](stream s) { return ints(s, crossed_barriers<false>, 1, 32, 32, one); }},
      {"caller_outside_mask", "divergence", [](stream s) { return ints(s, caller_outside_mask<true>, 1, 32, 32, one); },
       [](stream s) { return ints(s, caller_outside_mask<false>, 1, 32, 32, [](int) { return 16; }); }},
      {"source_outside_mask", "divergence", [](stream s) { return ints(s, source_outside_mask<true>, 1, 32, 32, one); },
       [](stream s) {
         return ints(s, source_outside_mask<false>, 1, 32, 32, [](int i) { return i < 8 ? i + 8 : i; });
       }},
      {"exited_lane", "divergence", [](stream s) { return ints(s, exited_lane<true>, 1, 32, 32, one); },
       [](stream s) { return ints(s, exited_lane<false>, 1, 32, 32, [](int) { return 31; }); }},
      {"mixed_operations", "divergence", [](stream s) { return ints(s, mixed_operations<true>, 1, 32, 32, one); },
       [](stream s) { return ints(s, mixed_operations<false>, 1, 32, 32, [](int i) { return i ^ 2; }); }},
      {"pairs_in_turn", "divergence", [](stream s) { return ints(s, pairs_in_turn<true>, 1, 32, 32, one); },
       [](stream s) { return ints(s, pairs_in_turn<false>, 1, 32, 32, [](int i) { return i * (i + 1) / 2; }); }},
      {"static_shared_limit", "launch_limit", [](stream s) { return ints(s, big_static<true>, 1, 32, 32, identity); },
       [](stream s) { return ints(s, big_static<false>, 1, 32, 32, identity); }},
  };
}

}  // namespace warpcheck::self

#endif
