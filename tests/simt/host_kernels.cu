// Kernels for the tests of what surrounds a launch: memory, limits, modules, endurance.
#include "tests/simt/host_kernels.hpp"

#include "simt/simt.hpp"

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

__global__ void shared_at(int* out, int at) {
  SIMT_SHARED(s, int[8]);
  s[threadIdx.x] = 1;
  int* first = s;
  first[at] = 2;
  out[threadIdx.x] = s[threadIdx.x];
}

// Thousands of threads at a time, each with its own on its stack and in shared memory; counts what has changed.
__global__ void keep_own(int* changed, int per_thread) {
  SIMT_DYN_SHARED(int, shared);
  const int t = static_cast<int>(threadIdx.x), own = static_cast<int>(blockIdx.x * blockDim.x) + t + 1;
  volatile int local[64];
  for (int i = 0; i < 64; ++i) local[i] = own;
  for (int i = 0; i < per_thread; ++i) shared[i * static_cast<int>(blockDim.x) + t] = own;
  simt::grid_sync();
  int wrong = 0;
  for (int i = 0; i < 64; ++i) wrong += local[i] != own;
  for (int i = 0; i < per_thread; ++i) wrong += shared[i * static_cast<int>(blockDim.x) + t] != own;
  if (wrong != 0) atomicAdd(changed, wrong);
}

// Lane 31 leaves first if it may.
__global__ void shuffle_xor(int* out, int mask, bool last_leaves) {
  const int t = static_cast<int>(threadIdx.x);
  if (last_leaves && t == 31) return;
  out[t] = __shfl_xor_sync(0xffffffffu, t, mask);
}

// Two blocks that are not ordered write to one place.
__global__ void two_write(int* out) {
  const bool first = blockIdx.x == 2 && blockIdx.y == 1 && blockIdx.z == 1;
  const bool second = blockIdx.x == 1 && blockIdx.y == 0 && blockIdx.z == 2;
  if (threadIdx.x == 5 && (first || second)) out[0] = 1;
}

// Block 1 fetches three tiles and waits for none.
__global__ void fetch_three(const float* in, float* out) {
  SIMT_SHARED(full, simt::mbarrier);
  SIMT_DYN_SHARED(float, tiles);
  if (blockIdx.x != 1) return;
  if (threadIdx.x == 0) {
    full.init(1);
    full.arrive_expect_tx(3 * 64);
    for (int k = 0; k < 3; ++k) simt::bulk_copy(tiles + 16 * k, in + 16 * k, 64, &full);
    out[0] = tiles[0];
  }
  __syncthreads();
  full.wait(0);
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
void run_shared_at(int* out, int at, simt::stream_t stream) {
  simt::launch({dim3(1), dim3(8), 0, stream}, shared_at, out, at);
}
void run_keep_own(int* changed, unsigned blocks, unsigned threads, int per_thread, simt::stream_t stream) {
  simt::launch_config config{dim3(blocks), dim3(threads), static_cast<size_t>(per_thread) * threads * sizeof(int),
                             stream};
  config.cooperative = true;
  simt::launch(config, keep_own, changed, per_thread);
}
void run_shuffle_xor(int* out, int mask, bool last_leaves, simt::stream_t stream) {
  simt::launch({dim3(1), dim3(32), 0, stream}, shuffle_xor, out, mask, last_leaves);
}
void run_two_write(int* out, simt::stream_t stream) {
  simt::launch({dim3(3, 2, 3), dim3(32), 0, stream}, two_write, out);
}
void run_fetch_three(const float* in, float* out, simt::stream_t stream) {
  simt::launch({dim3(2), dim3(32), 192, stream}, fetch_three, in, out);
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
