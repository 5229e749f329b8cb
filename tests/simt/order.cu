// Defects of order between threads: fences, flags, scopes and barriers that do not order what they should; each (Bug =
// true) beside its correct twin.
#include "simt/simt.hpp"
#include "tests/simt/thread_index.hpp"

namespace warpcheck::self {
inline namespace SIMT_DEVICE_NS {

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

// Whoever counted last knows all counts before, and may set the counter back. Bug: whoever counted first.
template <bool Bug>
__global__ void counter_set_back(int* count) {
  if (threadIdx.x != 0) return;
  const int before = atomicAdd(count, 1);                                   // @counter_set_back
  if (before == (Bug ? 0 : static_cast<int>(gridDim.x) - 1)) count[0] = 0;  // @counter_set_back
  count[1 + blockIdx.x] = 1;
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
__global__ void double_buffer(const int* in, int tiles, int* out) {
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

// The barriers of the reader's warp bring it to later epochs than the writer's, of another warp, and order nothing.
template <bool Bug>
__global__ void own_warp_only(int* out) {
  SIMT_SHARED(s, int);
  if (threadIdx.x == 0) s = 7;  // @own_warp_only
  if (!Bug) __syncthreads();
  for (int i = 0; i < 3; ++i) __syncwarp();
  if (threadIdx.x == 40) out[0] = s;  // @own_warp_only
}

// The writer's warp has one of the two readers.
template <bool Bug>
__global__ void second_reader(int* out) {
  SIMT_SHARED(s, int);
  const int t = static_cast<int>(threadIdx.x);
  if (t == 1) s = 7;
  __syncthreads();
  const int v = t % 32 == 0 ? s : 0;  // @second_reader
  if (Bug)
    __syncwarp();
  else
    __syncthreads();
  if (t == 1) s = 8;  // @second_reader
  if (t == 32) out[0] = v;
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
__global__ void plain_read_of_counter(int* count) {
  atomicAdd(count, 1);                                                                     // @plain_read_of_counter
  if (threadIdx.x == 0) count[1 + blockIdx.x] = (Bug ? *count : atomicAdd(count, 0)) > 0;  // @plain_read_of_counter
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

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck::self

#ifndef __CUDACC__

#include <vector>

#include "tests/simt/launched.hpp"

namespace warpcheck::self {
namespace {

bool run_neighbour_in_two_launches(stream s) {
  device_array<int> values(4), out(4);
  simt::launch({dim3(4), dim3(32), 0, s}, write_own, values.data());
  simt::launch({dim3(4), dim3(32), 0, s}, read_neighbour, values.data(), out.data());
  return out[0] == 1 && out[3] == 0;
}

}  // namespace

std::vector<trial> order_trials() {
  // A block hands 42 to another by a flag.
  const auto hand_over = [](const char* name, auto* bug, auto* correct) {
    return twins(
        name, "race", {2, 32}, bug, correct, 2, [](int i) { return i == 0 ? 42 : 0; }, std::vector<int>(1),
        std::vector<int>(1));
  };
  const auto rows = [](unsigned threads, auto* kernel) {
    const std::vector<int> each(4 * threads);
    return launched({4, threads}, kernel, static_cast<int>(threads), 4, each, each, std::vector<int>(1));
  };
  constexpr int k_work = 50000;
  return {
      twins("handoff_then_exit", "race", {1, 32}, handoff_then_exit<true>, handoff_then_exit<false>, 1, 7),
      {"unfenced_writers", "race", rows(64, last_block_rows<1, false>)},
      {"unfenced_readers", "race", rows(64, last_block_rows<2, false>)},
      {"other_releases", "race", rows(64, last_block_rows<3, false>)},
      {"unfenced_lanes", "race", rows(32, last_block_rows<1, true>)},
      {"last_block_rows_ok", "", rows(64, last_block_rows<0, false>)},
      {"last_block_lanes_ok", "", rows(32, last_block_rows<0, true>)},
      hand_over("flag_only_read", flag_only_read<true>, flag_only_read<false>),
      hand_over("volatile_flag", volatile_flag<true>, volatile_flag<false>),
      twins("counter_set_back", "race", {4, 32}, counter_set_back<true>, counter_set_back<false>, 5,
            [](int i) { return i == 0 ? 0 : 1; }),
      twins("two_ways_to_read", "race", {6, 32}, two_ways_to_read<true>, two_ways_to_read<false>, 6, 0,
            std::vector<int>(1)),
      twins(
          "long_at_work", "livelock", {2, 32}, long_at_work<true>, long_at_work<false>, 64,
          [](int i) { return i == 0 ? 0 : k_work - 1; }, std::vector<int>(k_work), k_work, std::vector<int>(2)),
      hand_over("narrow_fence", narrow_fence<true>, narrow_fence<false>),
      {"narrow_fence_in_block_ok", "", launched({1, 64}, narrow_fence_in_block, 1, 42)},
      twins("narrow_atomic", "race", {4, 32}, narrow_atomic<true>, narrow_atomic<false>, 1, 4),
      twins(
          "double_buffer", "race", {1, 64}, double_buffer<true>, double_buffer<false>, 64,
          [](int i) { return 640 + 5 * (63 - i); }, made<int>(320, identity), 5),
      twins(
          "stencil_halo", "race", {1, 64}, stencil<true>, stencil<false>, 64,
          [](int i) { return 3 * i + (i == 0) - 64 * (i == 63); }, made<float>(64, identity)),
      twins(
          "transpose_tile", "race", {1, {8, 8}}, transpose<true>, transpose<false>, 64,
          [](int i) { return i % 8 * 8 + i / 8; }, made<float>(64, identity)),
      twins("own_warp_only", "race", {1, 64}, own_warp_only<true>, own_warp_only<false>, 1, 7),
      twins("second_reader", "race", {1, 64}, second_reader<true>, second_reader<false>, 1, 7),
      twins("warp_handoff", "race", {1, 64}, warp_handoff<true>, warp_handoff<false>, 1, 9),
      twins("barrier_after_exit", "race", {1, 64}, barrier_after_exit<true>, barrier_after_exit<false>, 1, 5),
      {"neighbour_block", "race", launched({4, 32}, read_neighbour_block, 4, 0, std::vector<int>(4)),
       run_neighbour_in_two_launches},
      twins("plain_read_of_counter", "race", {2, 32}, plain_read_of_counter<true>, plain_read_of_counter<false>, 3,
            [](int i) { return i == 0 ? 64 : 1; }),
      twins("overlapping_pairs", "race", {1, 32}, overlapping_pairs<true>, overlapping_pairs<false>, 32, identity),
  };
}

}  // namespace warpcheck::self

#endif
