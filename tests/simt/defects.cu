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
__global__ void global_bounds(int n, int* out) {
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
__global__ void swapped_index(const float* in, int rows, int cols, float* out) {
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
__global__ void atomic_bounds(int n, int* bins) {
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

#include "tests/simt/launched.hpp"

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
bool run_volatile_workspace(stream s) {
  const simt::buffer<int> words(32, s);
  device_array<int> out(32);
  simt::launch({dim3(1), dim3(32), 0, s}, volatile_workspace<Bug>, words.data(), out.data());
  return out[31] == 3;
}

}  // namespace

std::vector<trial> defect_trials() {
  return {
      twins("half_written", "uninitialized", {1, 64}, half_written<true>, half_written<false>, 64, identity),
      {"unwritten_workspace", "uninitialized", run_workspace<true>, run_workspace<false>},
      {"volatile_workspace", "uninitialized", run_volatile_workspace<true>, run_volatile_workspace<false>},
      twins("static_shared_bounds", "out_of_bounds", {1, 64}, static_bounds<true>, static_bounds<false>, 64,
            [](int i) { return 63 - i; }),
      twins("dynamic_shared_bounds", "out_of_bounds", {1, 64, 256}, dynamic_bounds<true>, dynamic_bounds<false>, 64,
            identity),
      twins("global_bounds", "out_of_bounds", {2, 64}, global_bounds<true>, global_bounds<false>, 100, identity, 100),
      twins(
          "below_buffer", "out_of_bounds", {1, 64}, below_buffer<true>, below_buffer<false>, 64,
          [](int i) { return i > 0 ? i - 1 : 0; }, made<int>(64, identity)),
      twins("swapped_index", "out_of_bounds", {1, 64}, swapped_index<true>, swapped_index<false>, 60, identity,
            made<float>(60, identity), 3, 20),
      {"freed_buffer", "out_of_bounds", run_freed<true>, run_freed<false>},
      twins(
          "atomic_bounds", "out_of_bounds", {1, 64}, atomic_bounds<true>, atomic_bounds<false>, 7,
          [](int i) { return i == 0 ? 10 : 9; }, 7),
      twins("null_buffer", "out_of_bounds", {1, 32}, null_buffer<true>, null_buffer<false>, 32, 1, nullptr),
      twins("misaligned_vector", "misaligned", {1, 64}, vector_load<true>, vector_load<false>, 64, 4,
            std::vector<float>(260, 1.0f)),
      twins("misaligned_scalar", "misaligned", {1, 64}, scalar_load<true>, scalar_load<false>, 64, 0,
            std::vector<unsigned char>(300)),
      twins("diverged_barrier", "divergence", {1, 64}, two_barriers<true>, two_barriers<false>, 64, 1),
      twins("crossed_barriers", "deadlock", {1, 32}, crossed_barriers<true>, crossed_barriers<false>, 32, 1),
      twins("caller_outside_mask", "divergence", {1, 32}, caller_outside_mask<true>, caller_outside_mask<false>, 32,
            16),
      twins("source_outside_mask", "divergence", {1, 32}, source_outside_mask<true>, source_outside_mask<false>, 32,
            [](int i) { return i < 8 ? i + 8 : i; }),
      twins("exited_lane", "divergence", {1, 32}, exited_lane<true>, exited_lane<false>, 32, 31),
      twins("mixed_operations", "divergence", {1, 32}, mixed_operations<true>, mixed_operations<false>, 32,
            [](int i) { return i ^ 2; }),
      twins("pairs_in_turn", "divergence", {1, 32}, pairs_in_turn<true>, pairs_in_turn<false>, 32,
            [](int i) { return i * (i + 1) / 2; }),
      twins("static_shared_limit", "launch_limit", {1, 32}, big_static<true>, big_static<false>, 32, identity),
  };
}

}  // namespace warpcheck::self

#endif
