// The source of kernels.ptx: nvcc 13.0 -arch=sm_80 -lineinfo -ptx kernels.cu, without sections and paths
#include <cstdio>

__device__ unsigned long long visits;
__constant__ float weights[4] = {1, 2, 4, 8};

__device__ __noinline__ float weighted(float x, int k) { return x * weights[k & 3]; }

// The sum of each row of 128 elements, and the sum of all in *total.
extern "C" __global__ void sum_rows(const float* x, float* sums, float* total) {
  __shared__ float of_warp[4];
  float sum = x[blockIdx.x * blockDim.x + threadIdx.x];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  sum = of_warp[0] + of_warp[1] + of_warp[2] + of_warp[3];
  sums[blockIdx.x] = sum;
  atomicAdd(total, sum);
  atomicAdd(&visits, 1ull);
}

// Tiles of 32 x 32 through dynamic shared memory.
extern "C" __global__ void transpose(const float* in, float* out, int rows, int cols) {
  extern __shared__ float tile[];
  const int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32;
  for (int k = threadIdx.y; k < 32; k += 8)
    if (row + k < rows && col < cols) tile[k * 33 + threadIdx.x] = in[(row + k) * cols + col];
  __syncthreads();
  for (int k = threadIdx.y; k < 32; k += 8)
    if (blockIdx.x * 32 + k < cols && row + threadIdx.x < rows)
      out[(blockIdx.x * 32 + k) * rows + row + threadIdx.x] = tile[threadIdx.x * 33 + k];
}

// d = a b + d of 16 x 8 x 16, by one warp.
extern "C" __global__ void product(const unsigned* a, const unsigned* b, float* d) {
  const int group = threadIdx.x / 4, pair = threadIdx.x % 4;
  float sums[4] = {};
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[group * 8 + pair]), "r"(a[(group + 8) * 8 + pair]), "r"(a[group * 8 + pair + 4]),
        "r"(a[(group + 8) * 8 + pair + 4]), "r"(b[group * 8 + pair]), "r"(b[group * 8 + pair + 4]));
  for (int k = 0; k < 4; ++k) d[(group + k / 2 * 8) * 8 + pair * 2 + k % 2] = sums[k];
}

struct choice {
  int which;
  double scale;
  float offsets[3];
};

// A struct by value, a local array, a function, a jump table, printf.
extern "C" __global__ void choose(choice c, float* out) {
  float local[8];
  for (int k = 0; k < 8; ++k) local[k] = c.offsets[k % 3] * k;
  float x = local[(threadIdx.x + c.which) & 7];
  switch (c.which) {
    case 0: x += 1; break;
    case 1: x *= 3; break;
    case 2: x = weighted(x, threadIdx.x); break;
    case 3: x -= out[threadIdx.x]; break;
    case 4: x = -x; break;
    case 5: x = x * x; break;
    default: x = 0;
  }
  out[threadIdx.x] = static_cast<float>(x * c.scale);
  if (threadIdx.x == 31) printf("choice %d of %s: %.3f, %llu%%\n", c.which, "six", x, 100ull);
}
