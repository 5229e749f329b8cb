// Functions of the toolkit's headers that kernels call twice. The second call (marked) races with `touch`.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include <cstring>
#include <cub/cub.cuh>
#include <cuda/barrier>

namespace cg = cooperative_groups;
using namespace nvcuda;

constexpr int k_threads = 64;

// The last thread, in a warp that does nothing else, writes without order.
template <class T>
__device__ void touch(T* p, T value = T(1)) {
  if (threadIdx.x == k_threads - 1) *p = value;
}
template <class T>
__global__ void sums(T* x) {
  touch(x + 1);
  if (threadIdx.x != 0) return;
  atomicAdd(x, T(1));
  atomicAdd(x + 1, T(1));  // half-sum
}
template <class T>
__global__ void pair_sums(T* x) {
  touch(x + 1, T(1, 1));
  if (threadIdx.x != 0) return;
  atomicAdd(x, T(1, 1));
  atomicAdd(x + 1, T(1, 1));  // pair-sum
}
__global__ void tile_loads(half* x) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
  touch(x + 256);
  if (threadIdx.x >= 32) return;
  wmma::load_matrix_sync(a, x, 16);
  wmma::load_matrix_sync(a, x + 256, 16);  // tile-load
}
__global__ void tile_stores(float* x) {
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  wmma::fill_fragment(c, 2.0f);
  touch(x + 256);
  if (threadIdx.x >= 32) return;
  wmma::store_matrix_sync(x, c, 16, wmma::mem_row_major);
  wmma::store_matrix_sync(x + 256, c, 16, wmma::mem_row_major);  // tile-store
}
__global__ void group_copies(float* x) {
  __shared__ float s[128];
  const auto block = cg::this_thread_block();
  touch(x + 64);
  cg::memcpy_async(block, s, x, 256);
  cg::memcpy_async(block, s + 64, x + 64, 256);  // group-copy
  cg::wait(block);
}
__global__ void barrier_copies(float* x) {
  __shared__ float s[128];
  __shared__ cuda::barrier<cuda::thread_scope_block> b;
  const auto block = cg::this_thread_block();
  if (threadIdx.x == 0) init(&b, k_threads);
  __syncthreads();
  touch(x + 64);
  cuda::memcpy_async(block, s, x, 256, b);
  cuda::memcpy_async(block, s + 64, x + 64, 256, b);  // barrier-copy
  b.arrive_and_wait();
}
__global__ void block_loads(float* x) {
  using load = cub::BlockLoad<float, k_threads, 2>;
  float two[2], more[2];
  touch(x + 128);
  load().Load(x, two);
  load().Load(x + 128, more);  // block-load
}
__global__ void block_stores(float* x) {
  using store = cub::BlockStore<float, k_threads, 2>;
  float two[2] = {2, 3};
  touch(x + 128);
  store().Store(x, two);
  store().Store(x + 128, two);  // block-store
}
__global__ void fetches(float* x, cudaTextureObject_t of_x) {
  touch(x + 64);
  if (threadIdx.x != 0) return;
  x[128] = tex1Dfetch<float>(of_x, 0);
  x[129] = tex1Dfetch<float>(of_x, 64);  // texel-fetch
}
__global__ void samples(float* x, cudaTextureObject_t of_x) {
  touch(x + 64);
  if (threadIdx.x != 0) return;
  x[128] = tex2D<float>(of_x, 1, 0.5f);
  x[129] = tex2D<float>(of_x, 64, 0.5f);  // texel-sample
}
__global__ void surface_reads(float* x, cudaSurfaceObject_t s) {
  if (threadIdx.x == k_threads - 1) surf1Dwrite(1.0f, s, 256);
  if (threadIdx.x != 0) return;
  x[0] = surf1Dread<float>(s, 0);
  x[1] = surf1Dread<float>(s, 256);  // surface-read
}
__global__ void surface_writes(float* x, cudaSurfaceObject_t s) {
  if (threadIdx.x == k_threads - 1) x[0] = surf1Dread<float>(s, 256);
  if (threadIdx.x != 0) return;
  surf1Dwrite(1.0f, s, 0);
  surf1Dwrite(1.0f, s, 256);  // surface-write
}

void launch_texture(void (*kernel)(float*, cudaTextureObject_t), cudaResourceType type, cudaTextureFilterMode filter) {
  float* x;
  cudaMalloc(&x, 4096);
  cudaMemset(x, 0, 4096);
  cudaResourceDesc resource = {};
  resource.resType = type;
  if (type == cudaResourceTypeLinear)
    resource.res.linear = {x, cudaCreateChannelDesc<float>(), 512};
  else
    resource.res.pitch2D = {x, cudaCreateChannelDesc<float>(), 128, 1, 512};
  cudaTextureDesc how = {};
  how.filterMode = filter;
  cudaTextureObject_t texture;
  cudaCreateTextureObject(&texture, &resource, &how, nullptr);
  kernel<<<1, k_threads>>>(x, texture);
}
void launch_surface(void (*kernel)(float*, cudaSurfaceObject_t)) {
  float* x;
  cudaMalloc(&x, 4096);
  const cudaChannelFormatDesc channels = cudaCreateChannelDesc<float>();
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  cudaMallocArray(&resource.res.array.array, &channels, 128, 0, cudaArraySurfaceLoadStore);
  static float zeros[128];
  cudaMemcpy2DToArray(resource.res.array.array, 0, 0, zeros, 512, 512, 1, cudaMemcpyHostToDevice);
  cudaSurfaceObject_t surface;
  cudaCreateSurfaceObject(&surface, &resource);
  kernel<<<1, k_threads>>>(x, surface);
}

template <class T>
void launch(void (*kernel)(T*)) {
  T* x;
  cudaMalloc(&x, 4096);
  cudaMemset(x, 0, 4096);
  kernel<<<1, k_threads>>>(x);
}

int main(int, char** arguments) {
  const char* mode = arguments[1];
  if (!strcmp(mode, "half-sum")) launch(sums<half>);
  if (!strcmp(mode, "pair-sum")) launch(pair_sums<__nv_bfloat162>);
  if (!strcmp(mode, "tile-load")) launch(tile_loads);
  if (!strcmp(mode, "tile-store")) launch(tile_stores);
  if (!strcmp(mode, "group-copy")) launch(group_copies);
  if (!strcmp(mode, "barrier-copy")) launch(barrier_copies);
  if (!strcmp(mode, "block-load")) launch(block_loads);
  if (!strcmp(mode, "block-store")) launch(block_stores);
  if (!strcmp(mode, "texel-fetch")) launch_texture(fetches, cudaResourceTypeLinear, cudaFilterModePoint);
  if (!strcmp(mode, "texel-sample")) launch_texture(samples, cudaResourceTypePitch2D, cudaFilterModeLinear);
  if (!strcmp(mode, "surface-read")) launch_surface(surface_reads);
  if (!strcmp(mode, "surface-write")) launch_surface(surface_writes);
}
