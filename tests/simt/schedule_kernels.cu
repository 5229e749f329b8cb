// Kernels whose defects only some schedules show in their results.
#include "tests/simt/schedule_kernels.hpp"

#include "bench/sample_kernels.hpp"
#include "simt/simt.hpp"

namespace warpcheck::self {
inline namespace SIMT_DEVICE_NS {
namespace {

// A lost update between two atomics: only a switch inside the pair shows it.
__global__ void read_then_exchange(int* counter) {
  const int seen = atomicAdd(counter, 0);
  atomicExch(counter, seen + 1);
}

// The order in which threads pass the atomic, as text for comparing runs.
__global__ void arrival_order(int* next, int* order) {
  for (int round = 0; round < 3; ++round) {
    order[atomicAdd(next, 1)] = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    __syncthreads();
  }
}

// In each round it asks all flags.
__device__ bool is_set(const int* flags, int count) {
  bool all = true;
  for (int i = 0; i < count; ++i) all &= simt::load_relaxed(flags + i) != 0;
  return all;
}

__global__ void spin_for_ever(const int* flags, int count, int* out) {
  while (!is_set(flags, count)) {
  }
  *out = 1;
}

// Two blocks hand a token to and fro without end: memory changes, yet nothing is achieved.
__global__ void ping_pong(int* token) {
  for (;;) atomicExch(token, static_cast<int>(blockIdx.x));
}

__global__ void wait_for_other_block(int* flags, int count, int* out) {
  if (blockIdx.x == 0) {
    while (!is_set(flags, count)) {
    }
    out[threadIdx.x] = simt::load_acquire(flags);
  } else {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < count) simt::store_release(flags + threadIdx.x, 1);
  }
}

}  // namespace

void run_softmax(bool trailing_barrier, const float* in, float* out, int rows, int cols, simt::stream_t stream) {
  simt::launch({dim3(static_cast<unsigned>(rows)), dim3(128), 0, stream},
               trailing_barrier ? softmax_rows<true> : softmax_rows<false>, in, out, cols);
}
void run_read_then_exchange(int* counter, simt::stream_t stream) {
  simt::launch({dim3(1), dim3(64), 0, stream}, read_then_exchange, counter);
}
void run_arrival_order(int* next, int* order, simt::stream_t stream) {
  simt::launch({dim3(6), dim3(40), 0, stream}, arrival_order, next, order);
}
void run_spin_for_ever(const int* flags, int count, int* out, simt::stream_t stream) {
  simt::launch({dim3(2), dim3(64), 0, stream}, spin_for_ever, flags, count, out);
}
void run_ping_pong(int* token, simt::stream_t stream) { simt::launch({dim3(2), dim3(1), 0, stream}, ping_pong, token); }
void run_wait_for_other_block(int* flags, int count, int* out, simt::stream_t stream) {
  simt::launch({dim3(2), dim3(64), 0, stream}, wait_for_other_block, flags, count, out);
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck::self
