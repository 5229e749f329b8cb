// Correct idioms, each selected by a number.
#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "on_device.cuh"

namespace cg = cooperative_groups;
// 0: tree in a warp, a __syncwarp between each read and the next write
__global__ void g0(const float* x, float* y) {
  __shared__ float s[32];
  const int l = threadIdx.x;
  s[l] = x[l];
  __syncwarp();
  for (int o = 16; o > 0; o /= 2) {
    float v = s[l] + (l < o ? s[l + o] : 0);
    __syncwarp();
    s[l] = v;
    __syncwarp();
  }
  if (l == 0) *y = s[0];
}
// 1: look-back with a volatile flag: data, fence, flag; flag, fence, data
__global__ void g1(int* part, volatile int* flag, int* out) {
  if (threadIdx.x) return;
  const int b = blockIdx.x;
  int before = 0;
  if (b > 0) {
    while (flag[b - 1] == 0) {
    }
    __threadfence();
    before = part[b - 1];
  }
  part[b] = before + b + 1;
  __threadfence();
  flag[b] = 1;
  out[b] = before;
}
// 2: lock by compare and swap, one thread a block
__global__ void g2(int* lock, int* sum) {
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
    *sum += blockIdx.x;
    __threadfence();
    atomicExch(lock, 0);
  }
}
// 3: two buffers and one barrier a step
__global__ void g3(const float* x, float* y, int n) {
  __shared__ float buf[2][64];
  float acc = 0;
  const int t = threadIdx.x;
  for (int i = 0; i < n; ++i) {
    buf[i & 1][t] = x[i * 64 + t];
    __syncthreads();
    acc += buf[i & 1][(t + 1) % 64];
  }
  y[t] = acc;
}
// 4: half warps with their own masks
__global__ void g4(int* y) {
  const int l = threadIdx.x;
  const unsigned m = l < 16 ? 0x0000ffffu : 0xffff0000u;
  int v = l;
  for (int o = 8; o > 0; o /= 2) v += __shfl_xor_sync(m, v, o, 16);
  y[l] = v;
}
// 5: divergent halves, each a collective of its own
__global__ void g5(int* y) {
  const int l = threadIdx.x;
  int v = l;
  if (l < 8)
    v = __shfl_sync(0xffu, v, 3, 8);
  else
    v = __reduce_add_sync(0xffffff00u, v);
  y[l] = v;
}
// 6: threads that leave before the barrier
__global__ void g6(int* y, int n) {
  __shared__ int s[64];
  const int t = threadIdx.x;
  if (t >= n) return;
  s[t] = t;
  __syncthreads();
  y[t] = s[n - 1 - t];
}
// 7: tiles of 8 exchange through shared memory, tile.sync
__global__ void g7(int* y) {
  __shared__ int s[64];
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  const int t = threadIdx.x;
  s[t] = t;
  tile.sync();
  const int v = s[t ^ 7];
  tile.sync();
  s[t] = v + 1;
  tile.sync();
  y[t] = s[t ^ 1];
}
// 8: grid barrier by hand: fences, counter, generation
__device__ unsigned arrived = 0;
__device__ unsigned generation_word = 0;
#define generation (*(volatile unsigned*)&generation_word)
__device__ void grid_barrier(unsigned n) {
  __syncthreads();
  if (threadIdx.x == 0) {
    const unsigned g = generation;
    __threadfence();
    if (atomicAdd(&arrived, 1) == n - 1) {
      arrived = 0;
      __threadfence();
      generation = g + 1;
    } else
      while (generation == g) {
      }
    __threadfence();
  }
  __syncthreads();
}
__global__ void g8(int* a, int* b) {
  a[blockIdx.x * 32 + threadIdx.x] = blockIdx.x;
  grid_barrier(gridDim.x);
  b[blockIdx.x * 32 + threadIdx.x] = a[((blockIdx.x + 1) % gridDim.x) * 32 + threadIdx.x];
}
// 9: histogram in bytes, neighbours in one word
__global__ void g9(unsigned char* y) {
  __shared__ unsigned char s[64];
  s[threadIdx.x] = (unsigned char)threadIdx.x;
  y[threadIdx.x] = s[threadIdx.x];
}
// 10: memcpy and memset in a kernel
struct big {
  float a[64];
};
__global__ void g10(const big* x, big* y) {
  big v;
  memset(&v, 0, sizeof v);
  memcpy(&v, x + threadIdx.x, sizeof v);
  y[threadIdx.x] = v;
}
// 11: warp aggregated increment by ballot
__global__ void g11(const int* x, int* y, int* n) {
  const int l = threadIdx.x % 32;
  const bool p = x[threadIdx.x] & 1;
  const unsigned m = __ballot_sync(~0u, p);
  int base = 0;
  if (l == 0) base = atomicAdd(n, __popc(m));
  base = __shfl_sync(~0u, base, 0);
  if (p) y[base + __popc(m & ((1u << l) - 1))] = threadIdx.x;
}
// 12: compare-and-swap maximum of floats, through int
__global__ void g12(const float* x, float* m) {
  int* a = (int*)m;
  int old = *(volatile int*)a, seen;
  do {
    seen = old;
    if (__int_as_float(seen) >= x[threadIdx.x]) break;
    old = atomicCAS(a, seen, __float_as_int(x[threadIdx.x]));
  } while (old != seen);
}
// 13: __syncthreads_or as the only barrier of a loop
__global__ void g13(int* y) {
  __shared__ int s[64];
  const int t = threadIdx.x;
  s[t] = (t * 7) % 64;
  __syncthreads();
  for (;;) {
    const int v = s[t], w = s[t ^ 1];
    const int more = __syncthreads_or(v > 1);
    s[t] = v / 2 + w % 1;
    if (!more) break;
    __syncthreads();
  }
  y[t] = s[t];
}
// 14: different blocks write neighbouring bytes of a word
__global__ void g14(char* y) {
  if (threadIdx.x == 0) y[blockIdx.x] = 1;
}
// 15: every thread writes and fences, one counts, the last block reads all
__global__ void g15(float* part, unsigned* count, float* y) {
  __shared__ bool last;
  part[blockIdx.x * 32 + threadIdx.x] = 1;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (last) {
    __threadfence();
    float v = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) v += part[b * 32 + threadIdx.x];
    y[threadIdx.x] = v;
  }
}
// 16: a producer warp and a consumer warp, flag in shared memory by atomics and block fences
__global__ void g16(int* y) {
  __shared__ int data[32], flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x < 32) {
    data[threadIdx.x] = threadIdx.x;
    __threadfence_block();
    __syncwarp();
    if (threadIdx.x == 0) atomicExch(&flag, 1);
  } else {
    while (atomicAdd(&flag, 0) == 0) {
    }
    __threadfence_block();
    y[threadIdx.x - 32] = data[threadIdx.x - 32];
  }
}
// 17: struct with padding, copied whole
struct padded {
  char c;
  double d;
};
__global__ void g17(padded* y) {
  padded p;
  p.c = 1;
  p.d = 2;
  y[threadIdx.x] = p;
  __syncthreads();
  padded q = y[threadIdx.x ^ 1];
  y[threadIdx.x ^ 1].d = q.d;
}
int main(int argc, char** argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 0;
  switch (n) {
    case 0: g0<<<1, 32>>>(device_array<float>(32), device_array<float>(1)); break;
    case 1: g1<<<6, 32>>>(device_array<int>(6), device_array<int>(6), device_array<int>(6)); break;
    case 2: g2<<<6, 32>>>(device_array<int>(1), device_array<int>(1)); break;
    case 3: g3<<<1, 64>>>(device_array<float>(640), device_array<float>(64), 10); break;
    case 4: g4<<<1, 32>>>(device_array<int>(32)); break;
    case 5: g5<<<1, 32>>>(device_array<int>(32)); break;
    case 6: g6<<<1, 64>>>(device_array<int>(64), 50); break;
    case 7: g7<<<1, 64>>>(device_array<int>(64)); break;
    case 8: g8<<<4, 32>>>(device_array<int>(128), device_array<int>(128)); break;
    case 9: g9<<<1, 64>>>(device_array<unsigned char>(64)); break;
    case 10: g10<<<1, 32>>>(device_array<big>(32), device_array<big>(32)); break;
    case 11: g11<<<1, 128>>>(device_array<int>(128, 1), device_array<int>(128), device_array<int>(1)); break;
    case 12: g12<<<1, 64>>>(device_array<float>(64), device_array<float>(1)); break;
    case 13: g13<<<1, 64>>>(device_array<int>(64)); break;
    case 14: g14<<<8, 32>>>(device_array<char>(8)); break;
    case 15: g15<<<5, 32>>>(device_array<float>(160), device_array<unsigned>(1), device_array<float>(32)); break;
    case 16: g16<<<1, 64>>>(device_array<int>(32)); break;
    case 17: g17<<<1, 32>>>(device_array<padded>(32)); break;
    default: return 3;
  }
  return cudaDeviceSynchronize() != cudaSuccess;
}
