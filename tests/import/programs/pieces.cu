// Parts of CUDA that programs use beside kernels and copies, and races that a launch outlives: each in its own mode.
#include <cuComplex.h>
#include <cublas_v2.h>  // it brings the types of 16 bits, as that of cuBLAS does
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cub/cub.cuh>  // it brings <chrono>, as that of CUB does

#include "on_device.cuh"

constexpr int k_threads = 64;

// ---- textures and surfaces

__global__ void fetch(cudaTextureObject_t t, const float* at, float* y) {
  y[threadIdx.x] = tex2D<float>(t, at[2 * threadIdx.x], at[2 * threadIdx.x + 1]);
}
__global__ void fetch_linear(cudaTextureObject_t t, float4* y) { y[threadIdx.x] = tex1Dfetch<float4>(t, threadIdx.x); }
__global__ void fill_surface(cudaSurfaceObject_t s) { surf2Dwrite(threadIdx.x * 1.0f, s, threadIdx.x * 4, blockIdx.x); }

// A texture of 4 x 2 texels, 0 to 7; the places to ask, and what is there.
bool textured(bool linear, cudaTextureAddressMode mode, const std::vector<float>& at,
              const std::vector<float>& expected, bool pitched) {
  const float texels[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  float* rows;
  size_t pitch;
  cudaMallocArray(&array, &format, 4, 2);
  cudaMallocPitch(&rows, &pitch, 16, 2);
  cudaMemcpy2DToArray(array, 0, 0, texels, 16, 16, 2, cudaMemcpyHostToDevice);
  cudaMemcpy2D(rows, pitch, texels, 16, 16, 2, cudaMemcpyHostToDevice);
  cudaResourceDesc resource = {};
  resource.resType = pitched ? cudaResourceTypePitch2D : cudaResourceTypeArray;
  if (pitched) {
    resource.res.pitch2D.devPtr = rows;
    resource.res.pitch2D.desc = format;
    resource.res.pitch2D.width = 4;
    resource.res.pitch2D.height = 2;
    resource.res.pitch2D.pitchInBytes = pitch;
  } else {
    resource.res.array.array = array;
  }
  cudaTextureDesc how = {};
  how.addressMode[0] = how.addressMode[1] = mode;
  how.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
  cudaTextureObject_t t;
  cudaCreateTextureObject(&t, &resource, &how, NULL);
  const on_device<float> places(at), y(4);
  fetch<<<1, 4>>>(t, places.p, y.p);
  const bool right = y.host() == expected;
  cudaFree(rows);
  cudaDestroyTextureObject(t);
  cudaFreeArray(array);
  return right;
}
bool textures() {
  return textured(false, cudaAddressModeClamp, {0.5f, 0.5f, 3.9f, 1.5f, -2, 0, 9, 1}, {0, 7, 0, 7}, false) &&
         textured(false, cudaAddressModeBorder, {0.5f, 0.5f, 3.9f, 1.5f, -2, 0, 9, 1}, {0, 7, 0, 0}, true) &&
         textured(true, cudaAddressModeClamp, {1.0f, 0.5f, 1.25f, 1.0f, 0.5f, 1.0f, 4, 2}, {0.5f, 2.75f, 2, 7}, true);
}
bool linear_textures() {
  const on_device<float> x(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}), y(12);
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = x.p;
  resource.res.linear.desc = cudaCreateChannelDesc<float4>();
  resource.res.linear.sizeInBytes = 32;
  cudaTextureDesc how = {};
  cudaTextureObject_t t;
  cudaCreateTextureObject(&t, &resource, &how, NULL);
  fetch_linear<<<1, 3>>>(t, reinterpret_cast<float4*>(y.p));
  cudaDestroyTextureObject(t);
  return y.host() == std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0};
}
__global__ void fetch_layers(cudaTextureObject_t t, float* y) {
  y[threadIdx.x] = tex2DLayered<float>(t, 1.5f, 0.5f, threadIdx.x);
}
__global__ void fetch_faces(cudaTextureObject_t t, float* y) {
  const int f = threadIdx.x;
  const float at = f % 2 ? -2.0f : 2.0f, right = 1.0f;  // a little to the right of the middle of each face
  y[f] = f < 2   ? texCubemap<float>(t, at, 0.1f, f == 0 ? -right : right)
         : f < 4 ? texCubemap<float>(t, right, at, 0.1f)
                 : texCubemap<float>(t, f == 4 ? right : -right, 0.1f, at);
}
// Six layers of 2 x 2 texels, 0 to 23.
bool layers(bool cube) {
  const on_device<float> y(6);
  float texels[24];
  for (int i = 0; i < 24; ++i) texels[i] = i;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  cudaMalloc3DArray(&array, &format, make_cudaExtent(2, 2, 6), cube ? cudaArrayCubemap : cudaArrayLayered);
  cudaMemcpy3DParms copy = {0};
  copy.srcPtr = make_cudaPitchedPtr(texels, 8, 2, 2);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(2, 2, 6);
  copy.kind = cudaMemcpyHostToDevice;
  cudaMemcpy3D(&copy);
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc how = {};
  cudaTextureObject_t t;
  cudaCreateTextureObject(&t, &resource, &how, NULL);
  if (cube)
    fetch_faces<<<1, 6>>>(t, y.p);
  else
    fetch_layers<<<1, 6>>>(t, y.p);
  cudaDestroyTextureObject(t);
  cudaFreeArray(array);
  return y.host() == std::vector<float>{1, 5, cube ? 11.0f : 9.0f, 13, 17, 21};
}
bool surfaces(int width) {
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  cudaMallocArray(&array, &format, width, 2, cudaArraySurfaceLoadStore);
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaSurfaceObject_t s;
  cudaCreateSurfaceObject(&s, &resource);
  fill_surface<<<2, 8>>>(s);
  float y[16] = {};
  cudaMemcpy2DFromArray(y, 32, array, 0, 0, 32, 2, cudaMemcpyDeviceToHost);
  cudaFreeArray(array);
  return y[7] == 7 && y[15] == 7;
}

// ---- launches from kernels

template <int By>
__global__ void append(int* list, int* count, int depth) {
  list[(*count)++] = By * depth;
}
// Each writes its number, then what it launched does, one behind the other.
__global__ void descend(int* list, int* count, int depth) {
#ifdef SAME_PLACE
  list[15] = threadIdx.x;  // same-place
#endif
  if (threadIdx.x > 0) return;
  list[(*count)++] = depth;
  if (depth == 2) return;
  for (int child = 0; child < 2; ++child) descend<<<1, depth + 1>>>(list, count, depth + 1);
  append<10><<<1, 1>>>(list, count, depth);
}
bool children() {
  const on_device<int> list(16), count(1);
  descend<<<1, 1>>>(list.p, count.p, 0);
  std::vector<int> expected = {0, 1, 2, 2, 10, 1, 2, 2, 10, 0};
  expected.resize(16);
  return count.host()[0] == 10 && list.host() == expected;
}

// ---- graphs, launches by address, callbacks

__global__ void add(int* p, int n) { p[threadIdx.x] += n; }
template <class T>
__global__ void scale(T* p, T by) {
  p[threadIdx.x] *= by;
}
void CUDART_CB count(cudaStream_t, cudaError_t, void* calls) { ++*static_cast<int*>(calls); }

bool captured() {
  int calls = 0, h[4] = {1, 2, 3, 4};
  const on_device<int> p(4);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  cudaMemcpyAsync(p.p, h, sizeof h, cudaMemcpyHostToDevice, stream);
  add<<<1, 4, 0, stream>>>(p.p, 10);
  scale<<<1, 4, 0, stream>>>(p.p, 2);
  cudaStreamAddCallback(stream, count, &calls, 0);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&exec, graph, NULL, NULL, 0);
  if (calls != 0) return false;
  cudaGraphLaunch(exec, stream);
  h[0] = 5;  // the copy reads it when the graph runs
  cudaGraphLaunch(exec, stream);
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  return p.host() == std::vector<int>{30, 24, 26, 28} && calls == 2;
}
bool built() {
  on_device<int> p(4);
  int n = 3, by = 5;
  void *of_add[] = {&p.p, &n}, *of_scale[] = {&p.p, &by};
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaGraphNode_t first, second, third;
  cudaGraphCreate(&graph, 0);
  cudaKernelNodeParams node = {};
  node.gridDim = dim3(1);
  node.blockDim = dim3(4);
  node.func = (void*)scale<int>;
  node.kernelParams = of_scale;
  cudaGraphAddKernelNode(&second, graph, NULL, 0, &node);
  node.func = (void*)add;
  node.kernelParams = of_add;
  cudaGraphAddKernelNode(&first, graph, NULL, 0, &node);
  cudaGraphAddKernelNode(&third, graph, &second, 1, &node);
  cudaGraphAddDependencies(graph, &first, &second, 1);
  n = 100;  // a node keeps what its parameters were
  cudaGraphInstantiate(&exec, graph, NULL, NULL, 0);
  cudaGraphLaunch(exec, 0);
  return p.host() == std::vector<int>(4, 18);
}
// Memory of a graph: of its nodes, or asked for while a stream is captured.
__global__ void fill(int* p, int n) { p[threadIdx.x] = n; }
bool graph_memory(bool is_captured, bool fills) {
  const on_device<int> y(4);
  int *own = nullptr, n = 6;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  if (is_captured) {
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    cudaMallocAsync(&own, 16, stream);
    if (fills) fill<<<1, 4, 0, stream>>>(own, n);
    cudaMemcpyAsync(y.p, own, 16, cudaMemcpyDeviceToDevice, stream);
    add<<<1, 4, 0, stream>>>(own, n);
    cudaFreeAsync(own, stream);
    cudaStreamEndCapture(stream, &graph);
  } else {
    cudaMemPool_t pool;
    cudaDeviceGetDefaultMemPool(&pool, 0);
    cudaMemAccessDesc access = {{cudaMemLocationTypeDevice, 0}, cudaMemAccessFlagsProtReadWrite};
    if (cudaMemPoolSetAccess(pool, &access, 1) != cudaSuccess) return false;
    access.location.id = 1;
    if (cudaMemPoolSetAccess(pool, &access, 1) != cudaErrorInvalidDevice) return false;
    cudaMemAllocNodeParams memory = {};
    memory.bytesize = 16;
    cudaGraphNode_t made, filled, copied, freed;
    cudaGraphCreate(&graph, 0);
    cudaGraphAddMemAllocNode(&made, graph, NULL, 0, &memory);
    own = static_cast<int*>(memory.dptr);
    void* arguments[] = {&own, &n};
    cudaKernelNodeParams node = {};
    node.func = fills ? (void*)fill : (void*)add;
    node.gridDim = dim3(1);
    node.blockDim = dim3(4);
    node.kernelParams = arguments;
    cudaGraphAddKernelNode(&filled, graph, &made, 1, &node);
    cudaGraphAddMemcpyNode1D(&copied, graph, &filled, 1, y.p, own, 16, cudaMemcpyDeviceToDevice);
    cudaGraphAddMemFreeNode(&freed, graph, &copied, 1, own);
  }
  cudaGraphInstantiate(&exec, graph, NULL, NULL, 0);
  cudaGraphLaunch(exec, 0);
  cudaGraphLaunch(exec, 0);
  return y.host() == std::vector<int>(4, 6);
}
bool by_address() {
  on_device<int> p(4);
  int n = 7, by = 2;
  void *of_add[] = {&p.p, &n}, *of_scale[] = {&p.p, &by};
  const void* kernel = reinterpret_cast<const void*>(&add);
  cudaLaunchKernel(kernel, dim3(1), dim3(4), of_add, 0, 0);
  cudaLaunchKernel((void*)scale<int>, dim3(1), dim3(4), of_scale, 0, 0);
  cudaLaunchAttribute attribute[1];
  attribute[0].id = cudaLaunchAttributePreferredClusterDimension;
  attribute[0].val.preferredClusterDim = {2, 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = 1;
  config.blockDim = 4;
  config.attrs = attribute;
  config.numAttrs = 1;
  auto* const by_pointer = &add;
  cudaLaunchKernelExC(&config, (void*)by_pointer, of_add);
  cudaLaunchKernelExC(&config, (void*)scale<int>, of_scale);
  return p.host() == std::vector<int>(4, 42);
}

// ---- 16-bit types, the intrinsics of before Volta, CUB

__global__ void halves(int* y) {
  half2 h(1.0f, 2.0f), *sum = reinterpret_cast<half2*>(y + 1);
  atomicAdd(sum, h);
  const __nv_bfloat162 b = __float2bfloat162_rn(3.0f);
  if (threadIdx.x == 0)
    y[0] = static_cast<float>(__hmax2(h, __float2half2_rn(1.5f)).x) == 1.5f && __bfloat162float(__habs(-b.y)) == 3.0f &&
           static_cast<float>(__ushort_as_half(0x3c00)) == 1.0f && static_cast<float>(half(7u)) == 7.0f &&
           __nv_fp8_e4m3(300.0f).__x == 0x79 && float(__nv_fp8_e5m2(1e6f)) == 57344.0f &&
           float(h2tanh_approx(half2(20.0f, 0.0f)).x) == 1.0f && float(htanh_approx(-b.y)) < -0.99f &&
           __nv_cvt_float_to_fp8(464.5f, __NV_NOSAT, __NV_E4M3) == 0x7f;
}
bool sixteen_bits() {
  const on_device<int> y(2);
  halves<<<1, 32>>>(y.p);
  const half2 sum(32.0f, 64.0f);
  std::vector<int> expected = {1, 0};
  memcpy(&expected[1], &sum, 4);
  static_assert(std::is_same_v<__nv_half, half> && std::is_same_v<__nv_half2, nv_half2>);
  const __nv_half one = __half_raw{0x3c00};
  const nv_bfloat16 two = __nv_bfloat16_raw{0x4000};
  return y.host() == expected && __half2float(one) == 1 && __bfloat162float(two) == 2 &&
         __nv_half_raw(sum.x).x == 0x5000 && __nv_bfloat16_raw(two).x == 0x4000;
}
__global__ void old_votes(int* y) {
  const int right = __shfl_down(static_cast<int>(threadIdx.x), 1);
  const unsigned even = __ballot(threadIdx.x % 2 == 0);
  y[threadIdx.x] = (threadIdx.x % 32 == 31 || right == threadIdx.x + 1) && (even & 3) == 1 &&
                   __any(threadIdx.x % 32 == 0) && __vmaxs4(0x01ff0203, 0x00010101) == 0x01010203 &&
                   __hiloint2double(0x3ff00000, 0) == 1.0 && __fadd_ru(1.0f, 1e-20f) > 1.0f;
  const int odd = (1 << 24) + 1;  // between two floats
  y[threadIdx.x] &= __int2float_rd(odd) == 0x1p24f && __int2float_ru(-odd) == -0x1p24f &&
                    __int2float_rz(-odd) == -0x1p24f && __uint2float_ru(odd) == 0x1.000002p24f &&
                    __ll2float_rd(-odd) == -0x1.000002p24f && __ull2float_rz(~0ull) == 0x1.fffffep63f &&
                    __ull2double_rd(~0ull) == 0x1.fffffffffffffp63 && __ull2double_ru(~0ull) == 0x1p64 &&
                    __ll2double_rz(-(1ll << 53) - 1) == -0x1p53 && __float2ull_ru(0.5f) == 1 &&
                    __float2ll_ru(-1.5f) == -1 && __double2ll_ru(1e300) == 0x7fffffffffffffff;
}
bool votes() {
  const on_device<int> y(64);
  old_votes<<<1, 64>>>(y.p);
  return y.host() == std::vector<int>(64, 1);
}
__global__ void cub_parts(const int* x, int* y) {
  using block_sum = cub::BlockReduce<int, k_threads>;
  using block_scan = cub::BlockScan<int, k_threads>;
  using block_sort = cub::BlockRadixSort<int, k_threads, 2>;
  using warp_most = cub::WarpReduce<int>;
  __shared__ union {
    block_sum::TempStorage reduce;
    block_scan::TempStorage scan;
    block_sort::TempStorage sort;
    warp_most::TempStorage warp[2];
  } temp;
  const int i = threadIdx.x, sum = block_sum(temp.reduce).Sum(x[i]);
#ifndef NO_BARRIER
  __syncthreads();
#endif
  int before;
  block_scan(temp.scan).ExclusiveSum(x[i], before);  // no-barrier
  __syncthreads();
  int keys[2] = {x[i], -x[i]};
  block_sort(temp.sort).Sort(keys);
  const int most = warp_most(temp.warp[i / 32]).Reduce(x[i], cub::Max());
  if (i == 0) y[0] = sum;
  if (i % 32 == 0) y[1 + i / 32] = most;
  if (i == 63) y[3] = before, y[4] = keys[1];
  if (i == 0) y[5] = keys[0];
}
struct less_neighbour {
  template <class T>
  __device__ T operator()(T& item, T& neighbour) {
    return item - neighbour;
  }
};
// Of two items of each thread: the differences from the left, those from the left of a tile behind 1000, and from the
// right.
__global__ void cub_differences(const int* x, int* y) {
  using difference = cub::BlockAdjacentDifference<int, k_threads>;
  __shared__ difference::TempStorage temp[3];
  const int first = 2 * threadIdx.x, all = 2 * k_threads;
  int left[2] = {x[first], x[first + 1]}, behind[2] = {left[0], left[1]}, right[2] = {left[0], left[1]};
  difference(temp[0]).SubtractLeft(left, left, less_neighbour());
  difference(temp[1]).SubtractLeft(behind, behind, less_neighbour(), 1000);
  difference(temp[2]).SubtractRight(right, right, less_neighbour());
  for (int i = 0; i < 2; ++i) {
    y[first + i] = left[i];
    y[all + first + i] = behind[i];
    y[2 * all + first + i] = right[i];
  }
}
bool differences_are_right() {
  constexpr int all = 2 * k_threads;
  std::vector<int> h(all), expected(3 * all);
  for (int i = 0; i < all; ++i) h[i] = i * i % 101;
  for (int i = 0; i < all; ++i) {
    expected[i] = i > 0 ? h[i] - h[i - 1] : h[i];
    expected[all + i] = h[i] - (i > 0 ? h[i - 1] : 1000);
    expected[2 * all + i] = i + 1 < all ? h[i] - h[i + 1] : h[i];
  }
  const on_device<int> x(h), y(3 * all);
  const auto begin = std::chrono::steady_clock::now();
  cub_differences<<<1, k_threads>>>(x.p, y.p);
  cudaDeviceSynchronize();
  const bool forward = std::chrono::steady_clock::now() >= begin;
  return y.host() == expected && forward;
}

// ---- complex numbers, and loads that are atomic

__global__ void multiply(const cuDoubleComplex* x, cuDoubleComplex* y, cuComplex* z) {
  y[0] = cuCmul(x[0], x[1]);
  y[1] = cuCdiv(y[0], x[1]);
  y[2] = cuCfma(x[0], x[1], cuConj(x[0]));
  y[3] = make_cuDoubleComplex(cuCabs(x[2]), cuCreal(cuCsub(x[0], x[1])) + cuCimag(cuCadd(x[0], x[1])));
  const cuComplex large = make_cuComplex(0x3p100f, 0x4p100f);
  z[0] = cuCdivf(large, large);
  z[1] = make_cuComplex(cuCabsf(large), cuCrealf(cuConjf(large)));
}
bool complex_numbers() {
  const on_device<cuDoubleComplex> x(std::vector<cuDoubleComplex>{{1, 2}, {4, -4}, {-3, 4}});
  const on_device<double> y(8);
  const on_device<float> z(4);
  multiply<<<1, 1>>>(x.p, reinterpret_cast<cuDoubleComplex*>(y.p), reinterpret_cast<cuComplex*>(z.p));
  const std::vector<float> h = z.host();
  return std::fabs(h[0] - 1) < 1e-6f && std::fabs(h[1]) < 1e-6f && h[2] == 0x5p100f && h[3] == 0x3p100f &&
         y.host() == std::vector<double>{12, 4, 1, 2, 13, 2, 5, -5};
}
#if CUDA_VERSION < 12080
#error "these came with CUDA 12.8"
#endif
__global__ void greatest(long long* y) {
#ifdef PLAIN_LOAD
  long long seen = *y;  // plain-load
#else
  long long seen = __nv_atomic_load_n(y, __NV_ATOMIC_RELAXED);
#endif
  while (seen < static_cast<long long>(threadIdx.x)) {
    const long long before = seen;
    seen = atomicCAS(reinterpret_cast<unsigned long long*>(y), before, static_cast<unsigned long long>(threadIdx.x));
    if (seen == before) break;
  }
}
bool atomic_loads() {
  const on_device<long long> y(1);
  greatest<<<1, k_threads>>>(y.p);
  return y.host()[0] == k_threads - 1;
}

bool cub_is_right() {
  std::vector<int> h(k_threads);
  for (int i = 0; i < k_threads; ++i) h[i] = i * 5 % 64;
  const on_device<int> x(h), y(7);
  cub_parts<<<1, k_threads>>>(x.p, y.p);
  void* temp = nullptr;
  size_t bytes = 0;
  cub::DeviceReduce::Sum(temp, bytes, x.p, y.p + 6, k_threads);
  cudaMalloc(&temp, bytes);
  cub::DeviceReduce::Sum(temp, bytes, x.p, y.p + 6, k_threads);
  cudaFree(temp);
  const auto most = [&](int warp) { return *std::max_element(h.begin() + 32 * warp, h.begin() + 32 * warp + 32); };
  return y.host() == std::vector<int>{2016, most(0), most(1), 2016 - h[63], 63, -63, 2016};
}

// ---- races that a launch outlives

__global__ void add_by_swaps(unsigned long long* y) {
  unsigned long long old = *y, seen;  // first-read
  do {
    seen = old;
    old = atomicCAS(y, seen, seen + 1);
  } while (seen != old);
}
__global__ void read_beside_an_atomic(unsigned* y, unsigned* z) {
  z[threadIdx.x] = *y;  // read-beside-an-atomic
  atomicAdd(y, 1);
}
__global__ void raise(bool* flag) { *flag = true; }          // same-value
__global__ void disagree(int* p) { *p = threadIdx.x / 40; }  // other-value
__global__ void far_off(int* p) { p[4096] = 1; }             // far-off

bool outlives(const char* mode) {
  const auto is = [&](const char* name) { return std::strcmp(mode, name) == 0; };
  const on_device<unsigned long long> y(k_threads);
  const on_device<bool> flag(1);
  const on_device<int> p(1);
  if (is("first-read")) add_by_swaps<<<2, k_threads>>>(y.p);
  if (is("read-beside-an-atomic"))
    read_beside_an_atomic<<<1, k_threads>>>(reinterpret_cast<unsigned*>(y.p), reinterpret_cast<unsigned*>(y.p + 8));
  raise<<<1, k_threads>>>(flag.p);
  if (!is("same-value") && !is("first-read")) disagree<<<1, k_threads>>>(p.p);
  if (is("far-off")) far_off<<<1, 1>>>(p.p);
  std::printf("reached the end\n");
  return true;
}

int main(int argc, char** argv) {
  const mode modes[] = {{"textures", textures},
                        {"linear-textures", linear_textures},
                        {"layers", [] { return layers(false) && layers(true); }},
                        {"children", children},
                        {"surfaces", [] { return surfaces(8); }},
                        {"captured-graph", captured},
                        {"built-graph", built},
                        {"graph-memory", [] { return graph_memory(true, true) && graph_memory(false, true); }},
                        {"launch-by-address", by_address},
                        {"sixteen-bits", sixteen_bits},
                        {"votes", votes},
                        {"cub", cub_is_right},
                        {"cub-differences", differences_are_right},
                        {"complex", complex_numbers},
                        {"atomic-loads", atomic_loads},
                        {"surface-too-small", [] { return surfaces(7); }},
                        {"captured-unwritten", [] { return graph_memory(true, false); }},
                        {"built-unwritten", [] { return graph_memory(false, false); }}};
  const int wrong = run_modes(argc, argv, modes);
  return wrong == 3 ? !outlives(argv[1]) : wrong;
}
