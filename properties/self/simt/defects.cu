// Defects of collectives, bounds, initialisation, alignment and scopes, each (Bug = true) beside its correct twin.
#include "kernels/simt/simt.hpp"

namespace warpcheck::self {
inline namespace SIMT_DEVICE_NS {

__device__ __forceinline__ int thread_in_block() { return static_cast<int>(threadIdx.x); }
__device__ __forceinline__ int thread_in_grid() { return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); }

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

// ---- order

// What a lane hands to its neighbour before it leaves, all others know after the neighbour's barrier with them.
template <bool Bug>
__global__ void handoff_then_exit(int* out) {
  SIMT_SHARED(s, int);
  const int t = thread_in_block();
  if (t == 0) {
    for (int i = 0; i < 100; ++i) __threadfence_block();
    s = 7;  // @handoff_then_exit
    if (!Bug) __syncwarp(0x3u);
    return;
  }
  if (!Bug && t == 1) __syncwarp(0x3u);
  __syncwarp(0xfffffffeu);
  if (t == 5) out[0] = s;  // @handoff_then_exit
}

// The fences of all threads, passed on by a barrier, of the warp if that is the block, to the one that counts the
// block. Flaw 1: the writers have none; flaw 2: the readers have none; flaw 3: the writers' belong to releases of
// another variable.
template <int Flaw, bool Warp>
__global__ void last_block_rows(int* partial, int* released, int* finished, int* out) {
  SIMT_SHARED(is_last, int);
  const auto barrier = [] {
    if (Warp)
      __syncwarp();
    else
      __syncthreads();
  };
  partial[thread_in_grid()] = 1;  // @unfenced_writers @unfenced_readers @other_releases @unfenced_lanes
  if (Flaw == 3) simt::store_release(&released[thread_in_grid()], 1);
  if (Flaw == 0 || Flaw == 2) __threadfence();
  barrier();
  if (threadIdx.x == 0) is_last = atomicAdd(finished, 1) == static_cast<int>(gridDim.x) - 1;
  barrier();
  if (Flaw != 2) __threadfence();
  if (!is_last) return;
  int sum = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) {
    const unsigned i = b * blockDim.x + (threadIdx.x ^ 1);
    sum += partial[i];  // @unfenced_writers @unfenced_readers @other_releases @unfenced_lanes
  }
  out[threadIdx.x] = sum;
}

// Bug: both sides only read the flag, which orders nothing.
template <bool Bug>
__global__ void flag_only_read(int* data, int* flag, int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    data[0] = 42;  // @flag_only_read
    __threadfence();
    if (Bug)
      out[1] = simt::load_relaxed(flag);
    else
      atomicExch(flag, 1);
  } else {
    while (simt::load_relaxed(flag) == 0 && !Bug) {
    }
    __threadfence();
    out[0] = data[0];  // @flag_only_read
  }
}

// A flag of volatile words between blocks. Bug: no fences.
template <bool Bug>
__global__ void volatile_flag(int* data, volatile int* flag, int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    data[0] = 42;  // @volatile_flag
    if (!Bug) __threadfence();
    flag[0] = 1;
  } else {
    while (flag[0] == 0) {
    }
    if (!Bug) __threadfence();
    out[0] = data[0];  // @volatile_flag
  }
}

// A volatile word of a fresh workspace is stored and then read. Bug: not stored.
template <bool Bug>
__global__ void volatile_workspace(volatile int* word, int* out) {
  if (!Bug) word[threadIdx.x] = 3;
  out[threadIdx.x] = word[threadIdx.x];  // @volatile_workspace
}

// Whoever counted last knows all counts before, and may set the counter back. Bug: whoever counted first.
template <bool Bug>
__global__ void counter_set_back(int* count, int* out) {
  if (threadIdx.x != 0) return;
  const int before = atomicAdd(count, 1);                                   // @counter_set_back
  if (before == (Bug ? 0 : static_cast<int>(gridDim.x) - 1)) count[0] = 0;  // @counter_set_back
  out[blockIdx.x] = 1;
}

// Reads do not race, be they atomic or not. Bug: one adds nothing instead, which is a write.
template <bool Bug>
__global__ void two_ways_to_read(int* data, int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x % 2 == 0)
    out[blockIdx.x] = data[0];  // @two_ways_to_read
  else
    out[blockIdx.x] = Bug ? atomicAdd(data, 0) : simt::load_relaxed(data);  // @two_ways_to_read
}

// No buffer: the pointer is null.
template <bool Bug>
__global__ void null_buffer(const int* data, int* out) {
  out[threadIdx.x] = Bug || data != nullptr ? data[threadIdx.x] : 1;  // @null_buffer
}

// Threads that spin while one is long at work are no livelock. Bug: it raises another flag.
template <bool Bug>
__global__ void long_at_work(int* data, int n, int* flags, int* out) {
  if (thread_in_grid() == 0) {
    for (int i = 1; i < n; ++i) data[i] = data[i - 1] + 1;
    __threadfence();
    atomicExch(&flags[Bug], 1);
  } else {
    while (atomicAdd(&flags[0], 0) == 0) {
    }
    __threadfence();
    out[thread_in_grid()] = data[n - 1];
  }
}

// The flag travels between blocks, the fence reaches only the own block.
template <bool Bug>
__global__ void narrow_fence(int* data, int* flag, int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    data[0] = 42;  // @narrow_fence
    if (Bug)
      __threadfence_block();
    else
      __threadfence();
    atomicExch(flag, 1);
  } else {
    while (atomicAdd(flag, 0) == 0) {
    }
    __threadfence();
    out[0] = data[0];  // @narrow_fence
  }
}

// Within one block the narrow fence is enough.
__global__ void narrow_fence_in_block(int* out) {
  SIMT_SHARED(data, int);
  SIMT_SHARED(flag, int);
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 40) {
    data = 42;
    __threadfence_block();
    atomicExch_block(&flag, 1);
  } else if (threadIdx.x == 0) {
    while (atomicAdd_block(&flag, 0) == 0) {
    }
    __threadfence_block();
    out[0] = data;
  }
}

template <bool Bug>
__global__ void narrow_atomic(int* count) {
  if (threadIdx.x != 0) return;
  if (Bug)
    atomicAdd_block(count, 1);  // @narrow_atomic
  else
    atomicAdd(count, 1);
}

// Double buffering that writes the buffer which is still being read.
template <bool Bug>
__global__ void double_buffer(const int* in, int* out, int tiles) {
  SIMT_SHARED(tile, int[2][64]);
  const int t = thread_in_block();
  tile[0][t] = in[t];
  __syncthreads();
  int sum = 0;
  for (int k = 0; k < tiles; ++k) {
    const int now = k % 2, next = Bug ? now : 1 - now;
    if (k + 1 < tiles) tile[next][t] = in[64 * (k + 1) + t];  // @double_buffer
    sum += tile[now][63 - t];                                 // @double_buffer
    __syncthreads();
  }
  out[t] = sum;
}

template <bool Bug>
__global__ void stencil(const float* in, float* out) {
  SIMT_SHARED(s, float[66]);
  const int t = thread_in_block();
  s[t + 1] = in[t];  // @stencil_halo
  if (t == 0) s[0] = s[65] = 0.0f;
  if (!Bug) __syncthreads();
  out[t] = s[t] + s[t + 1] + s[t + 2];  // @stencil_halo
}

template <bool Bug>
__global__ void transpose(const float* in, float* out) {
  SIMT_SHARED(tile, float[8][9]);
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  tile[y][x] = in[8 * y + x];  // @transpose_tile
  if (Bug)
    __syncwarp();  // 64 threads are two warps
  else
    __syncthreads();
  out[8 * y + x] = tile[x][y];  // @transpose_tile
}

// One warp fills, another drains, and a flag in shared memory without fences says when.
template <bool Bug>
__global__ void warp_handoff(int* out) {
  SIMT_SHARED(data, int);
  SIMT_SHARED(full, int);
  if (threadIdx.x == 0) full = 0;
  __syncthreads();
  if (threadIdx.x == 32) {
    data = 9;  // @warp_handoff
    if (!Bug) __threadfence_block();
    atomicExch(&full, 1);
  } else if (threadIdx.x == 0) {
    while (atomicAdd(&full, 0) == 0) {
    }
    if (!Bug) __threadfence_block();
    out[0] = data;  // @warp_handoff
  }
}

// A thread leaves its value and exits; a barrier in which it does not take part cannot order the value.
template <bool Bug>
__global__ void barrier_after_exit(int* out) {
  SIMT_SHARED(data, int);
  if (threadIdx.x == 63) {
    data = 5;  // @barrier_after_exit
    if (Bug) return;
  }
  __syncthreads();
  if (threadIdx.x == 0) out[0] = data;  // @barrier_after_exit
}

// Reads what another block of the same launch writes.
__global__ void read_neighbour_block(int* values, int* out) {
  if (threadIdx.x != 0) return;
  values[blockIdx.x] = static_cast<int>(blockIdx.x);       // @neighbour_block
  out[blockIdx.x] = values[(blockIdx.x + 1) % gridDim.x];  // @neighbour_block
}
__global__ void write_own(int* values) {
  if (threadIdx.x == 0) values[blockIdx.x] = static_cast<int>(blockIdx.x);
}
__global__ void read_neighbour(const int* values, int* out) {
  if (threadIdx.x == 0) out[blockIdx.x] = values[(blockIdx.x + 1) % gridDim.x];
}

template <bool Bug>
__global__ void plain_read_of_counter(int* count, int* out) {
  atomicAdd(count, 1);                                                               // @plain_read_of_counter
  if (threadIdx.x == 0) out[blockIdx.x] = (Bug ? *count : atomicAdd(count, 0)) > 0;  // @plain_read_of_counter
}

// Neighbours store pairs that overlap.
template <bool Bug>
__global__ void overlapping_pairs(int* out) {
  const int t = thread_in_block();
  SIMT_SHARED(s, int[64]);
  s[Bug ? t : 2 * t] = t;        // @overlapping_pairs
  s[(Bug ? t : 2 * t) + 1] = t;  // @overlapping_pairs
  __syncwarp();
  out[t] = s[Bug ? t : 2 * t + 1];
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

#include "properties/self/simt/device_array.hpp"
#include "properties/self/simt/trial.hpp"

namespace warpcheck::self {
namespace {

using stream = simt::emulation*;

// Launches kernel(out) and expects out[i] == expected(i).
template <class Expected>
bool ints(stream s, void (*kernel)(int*), dim3 grid, dim3 block, int outputs, Expected expected, size_t dynamic = 0) {
  device_array<int> out(static_cast<size_t>(outputs));
  simt::launch({grid, block, dynamic, s}, kernel, out.data());
  for (int i = 0; i < outputs; ++i)
    if (out[static_cast<size_t>(i)] != expected(i)) return false;
  return true;
}
int identity(int i) { return i; }
int one(int) { return 1; }

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
bool run_narrow_fence(stream s) {
  device_array<int> data(1), flag(1), out(1);
  simt::launch({dim3(2), dim3(32), 0, s}, narrow_fence<Bug>, data.data(), flag.data(), out.data());
  return out[0] == 42;
}

template <bool Bug>
bool run_double_buffer(stream s) {
  device_array<int> in(64 * 5), out(64);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int>(i);
  simt::launch({dim3(1), dim3(64), 0, s}, double_buffer<Bug>, in.data(), out.data(), 5);
  for (int t = 0; t < 64; ++t)
    if (out[static_cast<size_t>(t)] != 640 + 5 * (63 - t)) return false;
  return true;
}

template <bool Bug>
bool run_stencil(stream s) {
  device_array<float> in(64), out(64);
  for (size_t i = 0; i < 64; ++i) in[i] = static_cast<float>(i);
  simt::launch({dim3(1), dim3(64), 0, s}, stencil<Bug>, in.data(), out.data());
  return out[10] == 30.0f && out[63] == 125.0f;
}

template <bool Bug>
bool run_transpose(stream s) {
  device_array<float> in(64), out(64);
  for (size_t i = 0; i < 64; ++i) in[i] = static_cast<float>(i);
  simt::launch({dim3(1), dim3(8, 8), 0, s}, transpose<Bug>, in.data(), out.data());
  for (size_t i = 0; i < 64; ++i)
    if (out[i] != static_cast<float>(i % 8 * 8 + i / 8)) return false;
  return true;
}

bool run_neighbour_in_one_launch(stream s) {
  device_array<int> values(4), out(4);
  simt::launch({dim3(4), dim3(32), 0, s}, read_neighbour_block, values.data(), out.data());
  return true;
}
bool run_neighbour_in_two_launches(stream s) {
  device_array<int> values(4), out(4);
  simt::launch({dim3(4), dim3(32), 0, s}, write_own, values.data());
  simt::launch({dim3(4), dim3(32), 0, s}, read_neighbour, values.data(), out.data());
  return out[0] == 1 && out[3] == 0;
}

template <bool Bug>
bool run_plain_read(stream s) {
  device_array<int> count(1), out(2);
  simt::launch({dim3(2), dim3(32), 0, s}, plain_read_of_counter<Bug>, count.data(), out.data());
  return count[0] == 64 && out[0] == 1;
}

template <int Flaw, bool Warp = false>
bool run_last_block_rows(stream s) {
  constexpr unsigned k_threads = Warp ? 32 : 64;
  device_array<int> partial(4 * k_threads), released(4 * k_threads), finished(1), out(k_threads);
  simt::launch({dim3(4), dim3(k_threads), 0, s}, last_block_rows<Flaw, Warp>, partial.data(), released.data(),
               finished.data(), out.data());
  for (size_t t = 0; t < k_threads; ++t)
    if (out[t] != 4) return false;
  return true;
}

template <bool Bug>
bool run_flag_only_read(stream s) {
  device_array<int> data(1), flag(1), out(2);
  simt::launch({dim3(2), dim3(32), 0, s}, flag_only_read<Bug>, data.data(), flag.data(), out.data());
  return out[0] == 42;
}

template <bool Bug>
bool run_volatile_flag(stream s) {
  device_array<int> data(1), flag(1), out(1);
  simt::launch({dim3(2), dim3(32), 0, s}, volatile_flag<Bug>, data.data(), flag.data(), out.data());
  return out[0] == 42;
}

template <bool Bug>
bool run_volatile_workspace(stream s) {
  const simt::buffer<int> words(32, s);
  device_array<int> out(32);
  simt::launch({dim3(1), dim3(32), 0, s}, volatile_workspace<Bug>, words.data(), out.data());
  return out[31] == 3;
}

template <bool Bug>
bool run_counter_set_back(stream s) {
  device_array<int> count(1), out(4);
  simt::launch({dim3(4), dim3(32), 0, s}, counter_set_back<Bug>, count.data(), out.data());
  return count[0] == 0;
}

template <bool Bug>
bool run_two_ways_to_read(stream s) {
  device_array<int> data(1), out(6);
  simt::launch({dim3(6), dim3(32), 0, s}, two_ways_to_read<Bug>, data.data(), out.data());
  return out[5] == 0;
}

template <bool Bug>
bool run_null_buffer(stream s) {
  device_array<int> out(32);
  simt::launch({dim3(1), dim3(32), 0, s}, null_buffer<Bug>, static_cast<const int*>(nullptr), out.data());
  return out[31] == 1;
}

template <bool Bug>
bool run_long_at_work(stream s) {
  constexpr int k_work = 50000;
  device_array<int> data(k_work), flags(2), out(64);
  simt::launch({dim3(2), dim3(32), 0, s}, long_at_work<Bug>, data.data(), k_work, flags.data(), out.data());
  for (size_t t = 1; t < 64; ++t)
    if (out[t] != k_work - 1) return false;
  return true;
}

}  // namespace

std::vector<trial> defect_trials() {
  return {
      {"half_written", "uninitialized", [](stream s) { return ints(s, half_written<true>, 1, 64, 64, identity); }},
      {"half_written_ok", "", [](stream s) { return ints(s, half_written<false>, 1, 64, 64, identity); }},
      {"unwritten_workspace", "uninitialized", run_workspace<true>},
      {"unwritten_workspace_ok", "", run_workspace<false>},
      {"static_shared_bounds", "out_of_bounds",
       [](stream s) { return ints(s, static_bounds<true>, 1, 64, 64, identity); }},
      {"static_shared_bounds_ok", "",
       [](stream s) { return ints(s, static_bounds<false>, 1, 64, 64, [](int i) { return 63 - i; }); }},
      {"dynamic_shared_bounds", "out_of_bounds",
       [](stream s) { return ints(s, dynamic_bounds<true>, 1, 64, 64, identity, 256); }},
      {"dynamic_shared_bounds_ok", "",
       [](stream s) { return ints(s, dynamic_bounds<false>, 1, 64, 64, identity, 256); }},
      {"global_bounds", "out_of_bounds", run_global_bounds<true>},
      {"global_bounds_ok", "", run_global_bounds<false>},
      {"below_buffer", "out_of_bounds", run_below_buffer<true>},
      {"below_buffer_ok", "", run_below_buffer<false>},
      {"swapped_index", "out_of_bounds", run_swapped_index<true>},
      {"swapped_index_ok", "", run_swapped_index<false>},
      {"freed_buffer", "out_of_bounds", run_freed<true>},
      {"freed_buffer_ok", "", run_freed<false>},
      {"atomic_bounds", "out_of_bounds", run_atomic_bounds<true>},
      {"atomic_bounds_ok", "", run_atomic_bounds<false>},
      {"misaligned_vector", "misaligned", run_vector_load<true>},
      {"misaligned_vector_ok", "", run_vector_load<false>},
      {"misaligned_scalar", "misaligned", run_scalar_load<true>},
      {"misaligned_scalar_ok", "", run_scalar_load<false>},
      {"diverged_barrier", "divergence", [](stream s) { return ints(s, two_barriers<true>, 1, 64, 64, one); }},
      {"diverged_barrier_ok", "", [](stream s) { return ints(s, two_barriers<false>, 1, 64, 64, one); }},
      {"crossed_barriers", "deadlock", [](stream s) { return ints(s, crossed_barriers<true>, 1, 32, 32, one); }},
      {"crossed_barriers_ok", "", [](stream s) { return ints(s, crossed_barriers<false>, 1, 32, 32, one); }},
      {"caller_outside_mask", "divergence",
       [](stream s) { return ints(s, caller_outside_mask<true>, 1, 32, 32, one); }},
      {"caller_outside_mask_ok", "",
       [](stream s) { return ints(s, caller_outside_mask<false>, 1, 32, 32, [](int) { return 16; }); }},
      {"source_outside_mask", "divergence",
       [](stream s) { return ints(s, source_outside_mask<true>, 1, 32, 32, one); }},
      {"source_outside_mask_ok", "",
       [](stream s) {
         return ints(s, source_outside_mask<false>, 1, 32, 32, [](int i) { return i < 8 ? i + 8 : i; });
       }},
      {"exited_lane", "divergence", [](stream s) { return ints(s, exited_lane<true>, 1, 32, 32, one); }},
      {"exited_lane_ok", "", [](stream s) { return ints(s, exited_lane<false>, 1, 32, 32, [](int) { return 31; }); }},
      {"mixed_operations", "divergence", [](stream s) { return ints(s, mixed_operations<true>, 1, 32, 32, one); }},
      {"mixed_operations_ok", "",
       [](stream s) { return ints(s, mixed_operations<false>, 1, 32, 32, [](int i) { return i ^ 2; }); }},
      {"pairs_in_turn", "divergence", [](stream s) { return ints(s, pairs_in_turn<true>, 1, 32, 32, one); }},
      {"pairs_in_turn_ok", "",
       [](stream s) { return ints(s, pairs_in_turn<false>, 1, 32, 32, [](int i) { return i * (i + 1) / 2; }); }},
      {"handoff_then_exit", "race", [](stream s) { return ints(s, handoff_then_exit<true>, 1, 32, 1, one); }},
      {"handoff_then_exit_ok", "",
       [](stream s) { return ints(s, handoff_then_exit<false>, 1, 32, 1, [](int) { return 7; }); }},
      {"unfenced_writers", "race", run_last_block_rows<1>},
      {"unfenced_readers", "race", run_last_block_rows<2>},
      {"other_releases", "race", run_last_block_rows<3>},
      {"unfenced_lanes", "race", run_last_block_rows<1, true>},
      {"last_block_rows_ok", "", run_last_block_rows<0>},
      {"last_block_lanes_ok", "", run_last_block_rows<0, true>},
      {"flag_only_read", "race", run_flag_only_read<true>},
      {"flag_only_read_ok", "", run_flag_only_read<false>},
      {"volatile_flag", "race", run_volatile_flag<true>},
      {"volatile_flag_ok", "", run_volatile_flag<false>},
      {"volatile_workspace", "uninitialized", run_volatile_workspace<true>},
      {"volatile_workspace_ok", "", run_volatile_workspace<false>},
      {"counter_set_back", "race", run_counter_set_back<true>},
      {"counter_set_back_ok", "", run_counter_set_back<false>},
      {"two_ways_to_read", "race", run_two_ways_to_read<true>},
      {"two_ways_to_read_ok", "", run_two_ways_to_read<false>},
      {"null_buffer", "out_of_bounds", run_null_buffer<true>},
      {"null_buffer_ok", "", run_null_buffer<false>},
      {"long_at_work", "livelock", run_long_at_work<true>},
      {"long_at_work_ok", "", run_long_at_work<false>},
      {"narrow_fence", "race", run_narrow_fence<true>},
      {"narrow_fence_ok", "", run_narrow_fence<false>},
      {"narrow_fence_in_block_ok", "",
       [](stream s) { return ints(s, narrow_fence_in_block, 1, 64, 1, [](int) { return 42; }); }},
      {"narrow_atomic", "race", [](stream s) { return ints(s, narrow_atomic<true>, 4, 32, 1, one); }},
      {"narrow_atomic_ok", "", [](stream s) { return ints(s, narrow_atomic<false>, 4, 32, 1, [](int) { return 4; }); }},
      {"double_buffer", "race", run_double_buffer<true>},
      {"double_buffer_ok", "", run_double_buffer<false>},
      {"stencil_halo", "race", run_stencil<true>},
      {"stencil_halo_ok", "", run_stencil<false>},
      {"transpose_tile", "race", run_transpose<true>},
      {"transpose_tile_ok", "", run_transpose<false>},
      {"warp_handoff", "race", [](stream s) { return ints(s, warp_handoff<true>, 1, 64, 1, one); }},
      {"warp_handoff_ok", "", [](stream s) { return ints(s, warp_handoff<false>, 1, 64, 1, [](int) { return 9; }); }},
      {"barrier_after_exit", "race", [](stream s) { return ints(s, barrier_after_exit<true>, 1, 64, 1, one); }},
      {"barrier_after_exit_ok", "",
       [](stream s) { return ints(s, barrier_after_exit<false>, 1, 64, 1, [](int) { return 5; }); }},
      {"neighbour_block", "race", run_neighbour_in_one_launch},
      {"neighbour_block_ok", "", run_neighbour_in_two_launches},
      {"plain_read_of_counter", "race", run_plain_read<true>},
      {"plain_read_of_counter_ok", "", run_plain_read<false>},
      {"overlapping_pairs", "race", [](stream s) { return ints(s, overlapping_pairs<true>, 1, 32, 32, one); }},
      {"overlapping_pairs_ok", "", [](stream s) { return ints(s, overlapping_pairs<false>, 1, 32, 32, identity); }},
      {"static_shared_limit", "launch_limit", [](stream s) { return ints(s, big_static<true>, 1, 32, 32, identity); }},
      {"static_shared_limit_ok", "", [](stream s) { return ints(s, big_static<false>, 1, 32, 32, identity); }},
  };
}

}  // namespace warpcheck::self

#endif
