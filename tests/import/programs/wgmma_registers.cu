// Two products in flight whose fragments of A are registers.
#include <cstdint>
#include <vector>

__device__ uint64_t descriptor(const void* p) {
  return (__cvta_generic_to_shared(p) & 0x3ffff) >> 4 | uint64_t{8} << 16 | uint64_t{16} << 32;
}

__global__ void products(float* y) {
  __shared__ alignas(128) uint16_t b[2][8 * 16];
  for (int i = threadIdx.x; i < 256; i += 128) b[0][i] = 0x3c00;  // 1
  asm volatile("fence.proxy.async.shared::cta;");
  __syncthreads();
  float d[4] = {};
  uint32_t a[8];
  for (int i = 0; i < 8; ++i) a[i] = 0x3c003c00;
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
  for (int i = 0; i < 2; ++i)
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 1, 1, 1, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[4 * i]), "r"(a[4 * i + 1]), "r"(a[4 * i + 2]), "r"(a[4 * i + 3]), "l"(descriptor(b[i]))
                 : "memory");
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (int i = 0; i < 4; ++i) y[4 * threadIdx.x + i] = d[i];
}

int main() {
  std::vector<float> h;
  h.resize(512);
  float* y;
  cudaMalloc(&y, 2048);
  products<<<1, 128>>>(y);
  cudaMemcpy(h.data(), y, 2048, cudaMemcpyDeviceToHost);
  cudaFree(y);
  for (const float v : h)
    if (v != 32) return 1;
}
