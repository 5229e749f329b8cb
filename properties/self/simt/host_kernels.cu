// Kernels for the tests of what surrounds a launch: memory, limits, modules, endurance.
#include "properties/self/simt/host_kernels.hpp"

#include "kernels/simt/simt.hpp"

namespace warpcheck::self {
inline namespace SIMT_DEVICE_NS {
namespace {

__global__ void count(int* counter) { atomicAdd(counter, 1); }

__global__ void set(unsigned char* p, int64_t at, unsigned char value) { p[at] = value; }

__global__ void touch_dynamic(int* out, int last) {
  SIMT_DYN_SHARED(char, s);
  s[last] = 3;
  out[0] = s[last];
}

__global__ void static_and_dynamic(int* out) {
  SIMT_SHARED(s, int[1024]);
  SIMT_DYN_SHARED(int, d);
  s[threadIdx.x] = d[threadIdx.x] = 1;
  out[threadIdx.x] = s[threadIdx.x] + d[threadIdx.x];
}

__global__ void local_array(int* out, int index) {
  int values[8];
  for (int i = 0; i < 8; ++i) values[i] = i;
  __syncthreads();
  const int* first = values;
  out[threadIdx.x] = first[index];
}

// Recursion that the compiler cannot flatten.
__device__ __attribute__((noinline)) int descend(int depth, volatile char* above) {
  volatile char frame[512];
  frame[0] = above[0];
  if (depth == 0) {
    __syncthreads();
    return frame[0];
  }
  return descend(depth - 1, frame) + frame[0];
}
__global__ void deep(int* out, int depth) {
  volatile char top = 1;
  out[threadIdx.x] = descend(threadIdx.x == 1 ? depth : 0, &top);
}

__global__ void shared_pattern(unsigned* out) {
  SIMT_SHARED(s, unsigned[4]);
  // Reads what a real block would find there: whatever the last one left.
  out[threadIdx.x] = *const_cast<volatile unsigned*>(&s[threadIdx.x]);
}

__global__ void barriers(int n) {
  for (int i = 0; i < n; ++i) __syncthreads();
}

__global__ void sum_and_share(const int* in, int* out) {
  SIMT_SHARED(s, int[64]);
  const int t = static_cast<int>(threadIdx.x);
  s[t] = in[t];
  __syncthreads();
  int total = 0;
  for (int d = 16; d > 0; d >>= 1) total += __shfl_xor_sync(0xffffffffu, s[63 - t], d);
  __threadfence();
  atomicAdd(out, total);
}

// Block 0 learns what block 1 did, then reads what the last block wrote, whose coming it sees in a counter: in order
// with that block's write only if the counter is read with acquire.
__global__ void meet_first_and_last(int* data, int* flag, int* counter, int* out, bool acquires) {
  const int last = static_cast<int>(gridDim.x) - 1;
  if (blockIdx.x == 0) {
    while (simt::load_acquire(flag) == 0) continue;
    out[0] = data[0];
    while ((acquires ? simt::load_acquire(counter) : atomicAdd(counter, 0)) < last - 1) continue;
    out[1] = data[1];
  } else if (blockIdx.x == 1) {
    data[0] = 1;
    simt::store_release(flag, 1);
  } else {
    if (static_cast<int>(blockIdx.x) == last) data[1] = 2;
    __threadfence();
    atomicAdd(counter, 1);
  }
}

}  // namespace

void run_meet_first_and_last(int* data, int* flag, int* counter, int* out, unsigned blocks, bool acquires,
                             simt::stream_t stream) {
  simt::launch({dim3(blocks), dim3(1), 0, stream}, meet_first_and_last, data, flag, counter, out, acquires);
}
void run_count(int* counter, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
               unsigned block_z, simt::stream_t stream) {
  simt::launch({dim3(grid_x, grid_y, grid_z), dim3(block_x, block_y, block_z), 0, stream}, count, counter);
}
void run_set(unsigned char* p, int64_t at, unsigned char value, simt::stream_t stream) {
  simt::launch({dim3(1), dim3(1), 0, stream}, set, p, at, value);
}
void run_touch_dynamic(int* out, size_t bytes, simt::stream_t stream) {
  simt::launch({dim3(1), dim3(1), bytes, stream}, touch_dynamic, out, static_cast<int>(bytes) - 1);
}
void run_static_and_dynamic(int* out, size_t bytes, simt::stream_t stream) {
  simt::launch({dim3(1), dim3(32), bytes, stream}, static_and_dynamic, out);
}
void run_local_array(int* out, int index, simt::stream_t stream) {
  simt::launch({dim3(1), dim3(32), 0, stream}, local_array, out, index);
}
void run_deep(int* out, int depth, simt::stream_t stream) {
  simt::launch({dim3(1), dim3(2), 0, stream}, deep, out, depth);
}
void run_shared_pattern(unsigned* out, simt::stream_t stream) {
  simt::launch({dim3(1), dim3(4), 0, stream}, shared_pattern, out);
}
void run_barriers(unsigned blocks, unsigned threads, int n, simt::stream_t stream) {
  simt::launch({dim3(blocks), dim3(threads), 0, stream}, barriers, n);
}
void run_sum_and_share(const int* in, int* out, simt::stream_t stream) {
  simt::launch({dim3(2), dim3(64), 0, stream}, sum_and_share, in, out);
}
int buffer_size(simt::stream_t stream) {
  const simt::buffer<double> workspace(17, stream);
  return workspace.data() != nullptr ? static_cast<int>(workspace.size()) : 0;
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck::self
