// Kernels whose threads meet by atomics, each also with its memory order broken, and small programs of atomics.
#ifndef __CUDACC__
#include "tests/simt/explore_kernels.hpp"
#endif

#include "simt/simt.hpp"

namespace warpcheck::self {
inline namespace SIMT_DEVICE_NS {
namespace {

template <int Flaw>
__device__ void releases() {
  if (Flaw == 3) __threadfence_block();
  if (Flaw != 2 && Flaw != 3) __threadfence();
}
template <int Flaw>
__device__ void acquires() {
  if (Flaw == 3) __threadfence_block();
  if (Flaw != 1 && Flaw != 3) __threadfence();
}

__global__ void tickets(int* out) { out[1 + atomicAdd(out, 1)] = static_cast<int>(blockIdx.x); }

// Flaw 1: the scope of the atomics is a block.
template <int Flaw>
__global__ void histogram(int* out) {
  int* const bin = out + (threadIdx.x * 7 + blockIdx.x) % 10;
  Flaw == 1 ? atomicAdd_block(bin, 1) : atomicAdd(bin, 1);
}

template <int Flaw>
__global__ void ticket_lock(int* out) {
  const int mine = atomicAdd(out, 1);
  while (simt::load_relaxed(out + 1) != mine) continue;
  acquires<Flaw>();
  out[3 + out[2]] = static_cast<int>(blockIdx.x);
  ++out[2];
  releases<Flaw>();
  simt::store_relaxed(out + 1, mine + 1);
}

template <int Flaw>
__global__ void last_block(int* out) {
  const unsigned n = gridDim.x;
  out[10 + blockIdx.x] = static_cast<int>(blockIdx.x) + 1;
  releases<Flaw>();
  if (atomicAdd(out, 1) != static_cast<int>(n) - 1) return;
  acquires<Flaw>();
  for (unsigned b = 0; b < n; ++b) out[1] += out[10 + b];
}

template <int Flaw>
__global__ void grid_barrier(int* out) {
  const unsigned n = gridDim.x;
  out[10 + blockIdx.x] = static_cast<int>(blockIdx.x) + 1;
  releases<Flaw>();
  atomicAdd(out, 1);
  while (simt::load_relaxed(out) < static_cast<int>(n)) continue;
  acquires<Flaw>();
  out[20 + blockIdx.x] = out[10 + (blockIdx.x + 1) % n];
}

// A scan of one number a tile: a tile publishes its own, looks back for the sum of those before it, and publishes that.
template <int Flaw>
__global__ void look_back(int* out) {
  const int tile = static_cast<int>(blockIdx.x), own = 1 << tile;
  int *const status = out, *const sums = out + 10, *const prefixes = out + 20;
  sums[tile] = own;
  if (tile > 0) {
    releases<Flaw>();
    simt::store_relaxed(status + tile, 1);
  }
  int before = 0;
  for (int p = tile - 1; p >= 0; --p) {
    int seen = 0;
    while ((seen = simt::load_relaxed(status + p)) == 0) continue;
    acquires<Flaw>();
    before += seen == 2 ? prefixes[p] : sums[p];
    if (seen == 2) break;
  }
  prefixes[tile] = before + own;
  releases<Flaw>();
  simt::store_relaxed(status + tile, 2);
}

// Warps of two blocks look at one flag, and wait for each other in between.
__global__ void warps_that_wait(int* out) {
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) simt::store_relaxed(out, 1);
    return;
  }
  const int* const asked = out + (threadIdx.x == 0 ? 0 : 1);
  while (!__any_sync(~0u, simt::load_relaxed(asked) != 0)) continue;
  out[10 + threadIdx.x] = 1;
}

// Both readers may ask before each of the values 1 and 2, and see either.
__global__ void readers_that_wait(int* out) {
  if (blockIdx.x == 0) {
    simt::store_relaxed(out, 1);
    simt::store_relaxed(out, 2);
    return;
  }
  int value = 0, has_waited = 0;
  while ((value = simt::load_relaxed(out)) == 0) has_waited = 1;
  out[10 + blockIdx.x] = 2 * has_waited + value;
}

// One block counts to 8, the other one reads four times. The flaw, a race, needs the values 2, 3, 5 and 8.
__global__ void one_order_of_many(int* out) {
  if (blockIdx.x == 0) {
    out[10] = 1;
    for (int i = 1; i <= 8; ++i) simt::store_relaxed(out, i);
    return;
  }
  bool is_right = true;
  for (const int value : {2, 3, 5, 8}) is_right = (simt::load_relaxed(out) == value) && is_right;
  if (is_right) out[11] = out[10];
}

// A barrier orders the choices of its own block only.
__global__ void barriers_of_blocks(int* out) {
  const unsigned b = blockIdx.x;
  if (threadIdx.x == 0) out[10 + b] = simt::load_relaxed(out + 1 - b);
  __syncthreads();
  if (threadIdx.x == 40) simt::store_relaxed(out + b, 1);
}

// Barriers of a warp and of the block leave one order of the choices of all threads.
__global__ void one_order(int* out) {
  if (threadIdx.x == 0) simt::store_relaxed(out, 1);
  simt::store_relaxed(out + 2 + threadIdx.x, 1);
  __syncwarp();
  if (threadIdx.x == 1) simt::store_relaxed(out, 2 * simt::load_relaxed(out));
  simt::store_relaxed(out + 2 + (threadIdx.x ^ 1), 2);
  __syncthreads();
  simt::store_relaxed(out + 2 + (threadIdx.x ^ 32), 3);
  if (threadIdx.x == 40) simt::store_relaxed(out, 3 + simt::load_relaxed(out));
  __syncthreads();
  if (threadIdx.x == 0) out[1] = simt::load_relaxed(out);
}

__global__ void many_choices(int* out) {
  for (int i = 0; i <= 20000; ++i) atomicAdd(out + i % 256, 1);
}

__global__ void waits_for_nobody(int* out) {
  while (simt::load_relaxed(out) == 0) continue;
}

__device__ int execute(const program_step& s, int* words) {
  int* const p = words + s.word;
  switch (s.kind) {
    case step_load: return simt::load_relaxed(p);
    case step_store: simt::store_relaxed(p, s.value); return 0;
    case step_add: return atomicAdd(p, s.value);
    case step_add_unused: atomicAdd(p, s.value); return 0;
    case step_swap: return atomicExch(p, s.value);
    default: return atomicCAS(p, 0, s.value);
  }
}

__global__ void small_program(const program_step* steps, int* out) {
  const int t = static_cast<int>(blockIdx.x);
  for (int s = 0; s < k_program_steps; ++s)
    out[2 + t * k_program_steps + s] = execute(steps[t * k_program_steps + s], out);
}

}  // namespace

#ifndef __CUDACC__
namespace {

template <void (*... Kernels)(int*)>
void launch_flawed(unsigned blocks, unsigned threads, int* out, int flaw, simt::emulation* stream) {
  void (*const kernels[])(int*) = {Kernels...};
  simt::launch({blocks, threads, 0, stream}, kernels[flaw], out);
}

template <unsigned Blocks, unsigned Threads, void (*... Kernels)(int*)>
void run_flawed(int* out, int flaw, simt::emulation* stream) {
  launch_flawed<Kernels...>(Blocks, Threads, out, flaw, stream);
}

#define WITH_FLAWS(kernel) kernel<0>, kernel<1>, kernel<2>, kernel<3>

}  // namespace

}  // namespace SIMT_DEVICE_NS

std::vector<explore_trial> explore_trials() {
  return {
      {"tickets", run_flawed<4, 1, tickets>, 0, 24, 24},
      {"histogram", run_flawed<3, 32, histogram<0>, histogram<1>>, 1, 1, 1},
      {"ticket_lock", run_flawed<3, 1, WITH_FLAWS(ticket_lock)>, 3, 6, 6},
      {"last_block", run_flawed<4, 1, WITH_FLAWS(last_block)>, 3, 24, 1},
      {"grid_barrier", run_flawed<3, 1, WITH_FLAWS(grid_barrier)>, 3, 2, 1},
      {"look_back", run_flawed<4, 1, WITH_FLAWS(look_back)>, 3, 2, 1},
      {"readers_that_wait", run_flawed<3, 1, readers_that_wait>, 0, 16, 16},
      {"barriers_of_blocks", run_flawed<2, 64, barriers_of_blocks>, 0, 3, 3},
      {"warps_that_wait", run_flawed<2, 32, warps_that_wait>, 0, 2, 1},
  };
}
void run_one_order_of_many(int* out, simt::emulation* stream) {
  simt::launch({2, 1, 0, stream}, one_order_of_many, out);
}
void run_one_order(int* out, simt::emulation* stream) { simt::launch({1, 64, 0, stream}, one_order, out); }
void run_waits_for_nobody(int* out, simt::emulation* stream) { simt::launch({1, 1, 0, stream}, waits_for_nobody, out); }
void run_on_many_blocks(int* out, simt::emulation* stream) { simt::launch({{13, 5}, 1, 0, stream}, tickets, out); }
void run_many_choices(int* out, simt::emulation* stream) { simt::launch({1, 1, 0, stream}, many_choices, out); }
void run_program(const program_step* steps, int* out, simt::emulation* stream) {
  simt::launch({k_program_threads, 1, 0, stream}, small_program, steps, out);
}
#else
}  // namespace SIMT_DEVICE_NS
#endif

}  // namespace warpcheck::self
