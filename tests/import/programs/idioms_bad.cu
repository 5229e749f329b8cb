// Defects of all kinds, each selected by a number.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "on_device.cuh"

struct big {
  float a[64];
};
// 0: race by memcpy on shared memory
__global__ void b0(float* y) {
  __shared__ float s[64];
  float v = threadIdx.x;
  memcpy(&s[threadIdx.x], &v, 4);
  float w;
  memcpy(&w, &s[63 - threadIdx.x], 4);
  y[threadIdx.x] = w;
}
// 1: race by copies of a large struct in global memory
__global__ void b1(big* x) {
  big v = x[(threadIdx.x + 1) % 32];
  x[threadIdx.x] = v;
}
// 2: out of bounds by memcpy of a large struct
__global__ void b2(const big* x, float* y) {
  big v;
  memcpy(&v, (const float*)(x + 31) + 8, sizeof v);
  y[0] = v.a[threadIdx.x] + v.a[63];
}
// 3: memset in the kernel beyond the end
__global__ void b3(char* y, int n) { memset(y, 0, n + 1); }
// 4: local array, one too far
__global__ void b4(float* y, int n) {
  float r[8];
  for (int i = 0; i < n; ++i) r[i] = i;
  y[threadIdx.x] = r[threadIdx.x % 8];
}
// 5: atomics of block scope by several blocks
__global__ void b5(int* y) { atomicAdd_block(y, 1); }
// A flag between blocks. 6: without a fence in the producer; 7: with a fence of the block only; 8: without one in the
// consumer
template <int Number>
__global__ void hand_over(int* data, int* flag, int* out) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    *data = 42;
    if (Number == 7) __threadfence_block();
    if (Number == 8) __threadfence();
    atomicExch(flag, 1);
  } else {
    while (atomicAdd(flag, 0) == 0) {
    }
    if (Number != 8) __threadfence();
    *out = *data;
  }
}
// 9: only thread 0 fences, no barrier before it
__global__ void b9(float* part, unsigned* count, float* y) {
  __shared__ bool last;
  part[blockIdx.x * 64 + threadIdx.x] = 1;
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last) {
    float v = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) v += part[b * 64 + threadIdx.x];
    y[threadIdx.x] = v;
  }
}
// 10: lock inside a warp
__global__ void b10(int* lock, int* sum) {
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  *sum += 1;
  __threadfence();
  atomicExch(lock, 0);
}
// 11: compare-and-swap on float values: never equal for NaN
__global__ void b11(float* y) {
  float old = *(volatile float*)y, seen;
  do {
    seen = old;
    old = __int_as_float(atomicCAS((int*)y, __float_as_int(seen), __float_as_int(seen + 1.0f)));
  } while (old != seen);
}
// 12: use after free
__global__ void b12(int* y) { y[threadIdx.x] = 1; }
// 13: constant memory beyond its end
__constant__ int table[16];
__global__ void b13(int* y, int n) { y[threadIdx.x] = table[threadIdx.x % n]; }
// 14: float4 from a misaligned pointer
__global__ void b14(const float* x, float* y) {
  float4 v = *reinterpret_cast<const float4*>(x + 1 + 4 * threadIdx.x);
  y[threadIdx.x] = v.x + v.w;
}
// 15: block of 2048 threads, nobody asks for the error
__global__ void b15(int* y) { y[threadIdx.x] = 1; }
// 16: index that lands in another allocation
__global__ void b16(int* a, long d) {
  if (threadIdx.x == 0) a[d] = 7;
}
// 17: __syncwarp by a lane that its mask does not name
__global__ void b17(int* y) {
  if (threadIdx.x < 17) __syncwarp(0xffffu);
  y[threadIdx.x] = 1;
}
// 18: shuffle from a lane that is not there
__global__ void b18(int* y) {
  if (threadIdx.x < 16) y[threadIdx.x] = __shfl_sync(0xffffu, (int)threadIdx.x, 20);
}
// 19: a shared array read beyond its end into its neighbour
__global__ void b19(int* y) {
  __shared__ int a[32], b[32];
  a[threadIdx.x] = 1;
  b[threadIdx.x] = 2;
  __syncthreads();
  y[threadIdx.x] = a[threadIdx.x + 1] + b[threadIdx.x];
}
// 20: shared counter that nobody set to zero
__global__ void b20(int* y) {
  __shared__ int n;
  atomicAdd(&n, 1);
  __syncthreads();
  if (threadIdx.x == 0) *y = n;
}
// 21: plain read of a counter that others still add to
__global__ void b21(int* n, int* y) {
  atomicAdd(n, 1);
  if (*n > 20) y[threadIdx.x] = 1;
}
// 22: two warps swap through shared memory with only __syncwarp
__global__ void b22(int* y) {
  __shared__ int s[64];
  s[threadIdx.x] = threadIdx.x;
  __syncwarp();
  y[threadIdx.x] = s[threadIdx.x ^ 32];
}
// 23: bit-fields of one word, written by two threads
struct bits {
  unsigned a : 16, b : 16;
};
__global__ void b23(bits* y) {
  if (threadIdx.x == 0) y->a = 1;
  if (threadIdx.x == 32) y->b = 2;
}
// 24: 64-bit index computed in 32 bits, wraps to a negative one
__global__ void b24(int* y, int n) {
  int i = (int)((unsigned)n * 65536u);
  y[i + (int)threadIdx.x] = 1;
}
// 25: barrier in a loop whose length differs by thread
__global__ void b25(int* y) {
  __shared__ int s[64];
  for (int i = 0; i <= (int)(threadIdx.x / 32); ++i) {
    s[threadIdx.x] = i;
    __syncthreads();
  }
  y[threadIdx.x] = s[threadIdx.x];
}
// 26: dynamic shared memory larger than the launch gives
__global__ void b26(int* y) {
  extern __shared__ int d[];
  d[threadIdx.x] = 1;
  __syncthreads();
  y[threadIdx.x] = d[63 - threadIdx.x];
}
// 27: copies back before anything was written
__global__ void b27(int* y) {
  if (threadIdx.x == 99) *y = 1;
}
// 28: vote by a mask that names lanes which never come
__global__ void b28(int* y) {
  if (threadIdx.x < 8)
    y[threadIdx.x] = __any_sync(0xffffffffu, threadIdx.x == 3);
  else {
    __syncthreads();
  }
}
// 29: write to a const input that other threads read, through a cast
__global__ void b29(const int* x, int* y) {
  y[threadIdx.x] = x[threadIdx.x ^ 32];
  const_cast<int*>(x)[threadIdx.x] = 0;
}
// 30: any distance from an allocation
__global__ void b30(char* y, long d) { y[d + (int)threadIdx.x] = 1; }
// 31: more than one block's worth of steps; for small step limits
__global__ void b31(int* y) {
  int v = threadIdx.x;
  for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(~0u, v, o);
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = v;
}
// 32: half of the buffer is copied back unwritten
__global__ void b32(int* y) {
  if (threadIdx.x < 16) y[threadIdx.x] = 1;
}
// 33: waits for a number that nobody writes, and meets its warp between two looks
__global__ void b33(int* y) {
  while (atomicAdd(y, 0) == 0) __syncwarp();
}
// 34: one lane waits so, and the others have its number by a shuffle
__global__ void b34(int* y) {
  int seen = 0;
  do {
    if (threadIdx.x % 32 == 0) seen = atomicAdd(y, 0);
  } while (__shfl_sync(~0u, seen, 0) == 0);
}
// Copies an int back after a kernel that writes none of it, or a half of 32.
void copy_unwritten() {
  int *p, h;
  cudaMalloc(&p, 4);
  b27<<<1, 32>>>(p);
  cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost);
  printf("%d\n", h);
}
void copy_half_written() {
  int *p, h[32];
  cudaMalloc(&p, 128);
  b32<<<1, 32>>>(p);
  cudaMemcpy(h, p, 128, cudaMemcpyDeviceToHost);
}
int main(int argc, char** argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 0;
  switch (n) {
    case 0: b0<<<1, 64>>>(device_array<float>(64)); break;
    case 1: b1<<<1, 32>>>(device_array<big>(32)); break;
    case 2: b2<<<1, 32>>>(device_array<big>(32), device_array<float>(32)); break;
    case 3: b3<<<1, 1>>>(device_array<char>(256), 256); break;
    case 4: b4<<<1, 32>>>(device_array<float>(32), 9); break;
    case 5: b5<<<4, 32>>>(device_array<int>(1)); break;
    case 6: hand_over<6><<<2, 32>>>(device_array<int>(1), device_array<int>(1), device_array<int>(1)); break;
    case 7: hand_over<7><<<2, 32>>>(device_array<int>(1), device_array<int>(1), device_array<int>(1)); break;
    case 8: hand_over<8><<<2, 32>>>(device_array<int>(1), device_array<int>(1), device_array<int>(1)); break;
    case 9: b9<<<4, 64>>>(device_array<float>(256), device_array<unsigned>(1), device_array<float>(64)); break;
    case 10: b10<<<1, 32>>>(device_array<int>(1), device_array<int>(1)); break;
    case 11: b11<<<1, 1>>>(device_array<float>(1, 0xff)); break;
    case 12: {
      int* p = device_array<int>(32);
      cudaFree(p);
      b12<<<1, 32>>>(p);
      break;
    }
    case 13: b13<<<1, 32>>>(device_array<int>(32), 17); break;
    case 14: b14<<<1, 4>>>(device_array<float>(32), device_array<float>(32)); break;
    case 15: b15<<<1, 2048>>>(device_array<int>(2048)); break;
    case 16: {
      int *a = device_array<int>(1024), *b = device_array<int>(1024);
      b16<<<1, 32>>>(a, b - a + 5);
      break;
    }
    case 17: b17<<<1, 32>>>(device_array<int>(32)); break;
    case 18: b18<<<1, 32>>>(device_array<int>(32)); break;
    case 19: b19<<<1, 32>>>(device_array<int>(32)); break;
    case 20: b20<<<1, 32>>>(device_array<int>(1)); break;
    case 21: b21<<<1, 64>>>(device_array<int>(1), device_array<int>(64)); break;
    case 22: b22<<<1, 64>>>(device_array<int>(64)); break;
    case 23: b23<<<1, 64>>>(device_array<bits>(1)); break;
    case 24: b24<<<1, 32>>>(device_array<int>(1 << 16), 40000); break;
    case 25: b25<<<1, 64>>>(device_array<int>(64)); break;
    case 26: b26<<<1, 64, 32 * 4>>>(device_array<int>(64)); break;
    case 27: copy_unwritten(); break;
    case 28: b28<<<1, 32>>>(device_array<int>(32)); break;
    case 29: b29<<<1, 64>>>(device_array<int>(64), device_array<int>(64)); break;
    case 30: b30<<<1, 32>>>(device_array<char>(1 << 18), argc > 2 ? atol(argv[2]) : 0); break;
    case 31: b31<<<600, 256>>>(device_array<int>(600)); break;
    case 32: copy_half_written(); break;
    case 33: b33<<<1, 64>>>(device_array<int>(1)); break;
    case 34: b34<<<1, 64>>>(device_array<int>(1)); break;
    default: return 3;
  }
  cudaDeviceSynchronize();
  return 0;
}
