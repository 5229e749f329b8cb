// Parts of CUDA that programs use beside kernels and copies, and races that a launch outlives: each in its own mode.
#include <cuComplex.h>
#include <cublas_v2.h>  // it brings the types of 16 bits, as that of cuBLAS does
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <cub/cub.cuh>  // it brings <chrono>, as that of CUB does

constexpr int k_threads = 64;

template <class T>
T* device_array(int n, const T* from = nullptr) {
  T* p = nullptr;
  cudaMalloc(&p, n * sizeof(T));
  if (from)
    cudaMemcpy(p, from, n * sizeof(T), cudaMemcpyHostToDevice);
  else
    cudaMemset(p, 0, n * sizeof(T));
  return p;
}
template <class T>
bool equal(T* device, const T* expected, int n) {
  T* host = new T[n];
  cudaMemcpy(host, device, n * sizeof(T), cudaMemcpyDeviceToHost);
  bool same = true;
  for (int i = 0; i < n; ++i) same &= host[i] == expected[i];
  delete[] host;
  cudaFree(device);
  return same;
}

// ---- textures and surfaces

__global__ void fetch(cudaTextureObject_t t, const float* at, float* y) {
  y[threadIdx.x] = tex2D<float>(t, at[2 * threadIdx.x], at[2 * threadIdx.x + 1]);
}
__global__ void fetch_linear(cudaTextureObject_t t, float4* y) { y[threadIdx.x] = tex1Dfetch<float4>(t, threadIdx.x); }
__global__ void fill_surface(cudaSurfaceObject_t s) { surf2Dwrite(threadIdx.x * 1.0f, s, threadIdx.x * 4, blockIdx.x); }

// A texture of 4 x 2 texels, 0 to 7; the places to ask, and what is there.
bool textured(bool linear, cudaTextureAddressMode mode, const float (&at)[8], const float (&expected)[4],
              bool pitched) {
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
  float *places = device_array(8, at), *y = device_array<float>(4);
  fetch<<<1, 4>>>(t, places, y);
  const bool right = equal(y, expected, 4);
  cudaFree(places);
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
  const float values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  float* x = device_array(8, values);
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = x;
  resource.res.linear.desc = cudaCreateChannelDesc<float4>();
  resource.res.linear.sizeInBytes = sizeof values;
  cudaTextureDesc how = {};
  cudaTextureObject_t t;
  cudaCreateTextureObject(&t, &resource, &how, NULL);
  float4* y = device_array<float4>(3);
  fetch_linear<<<1, 3>>>(t, y);
  cudaDestroyTextureObject(t);
  const float expected[12] = {1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0};
  cudaFree(x);
  return equal(reinterpret_cast<float*>(y), expected, 12);
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
  float texels[24], *y = device_array<float>(6);
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
    fetch_faces<<<1, 6>>>(t, y);
  else
    fetch_layers<<<1, 6>>>(t, y);
  const float of_layers[6] = {1, 5, 9, 13, 17, 21}, of_faces[6] = {1, 5, 11, 13, 17, 21};
  cudaDestroyTextureObject(t);
  cudaFreeArray(array);
  return equal(y, cube ? of_faces : of_layers, 6);
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
  int *list = device_array<int>(16), *count = device_array<int>(1);
  descend<<<1, 1>>>(list, count, 0);
  const int expected[10] = {0, 1, 2, 2, 10, 1, 2, 2, 10, 0}, ten = 10;
  return equal(count, &ten, 1) && equal(list, expected, 10);
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
  int* p = device_array<int>(4);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  cudaMemcpyAsync(p, h, sizeof h, cudaMemcpyHostToDevice, stream);
  add<<<1, 4, 0, stream>>>(p, 10);
  scale<<<1, 4, 0, stream>>>(p, 2);
  cudaStreamAddCallback(stream, count, &calls, 0);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&exec, graph, NULL, NULL, 0);
  if (calls != 0) return false;
  cudaGraphLaunch(exec, stream);
  h[0] = 5;  // the copy reads it when the graph runs
  cudaGraphLaunch(exec, stream);
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  const int expected[4] = {30, 24, 26, 28};
  return equal(p, expected, 4) && calls == 2;
}
bool built() {
  int *p = device_array<int>(4), n = 3, by = 5;
  void *of_add[] = {&p, &n}, *of_scale[] = {&p, &by};
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
  const int expected[4] = {18, 18, 18, 18};
  return equal(p, expected, 4);
}
// Memory of a graph: of its nodes, or asked for while a stream is captured.
__global__ void fill(int* p, int n) { p[threadIdx.x] = n; }
bool graph_memory(bool is_captured, bool fills) {
  int *y = device_array<int>(4), *own = nullptr, n = 6;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  if (is_captured) {
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    cudaMallocAsync(&own, 16, stream);
    if (fills) fill<<<1, 4, 0, stream>>>(own, n);
    cudaMemcpyAsync(y, own, 16, cudaMemcpyDeviceToDevice, stream);
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
    cudaGraphAddMemcpyNode1D(&copied, graph, &filled, 1, y, own, 16, cudaMemcpyDeviceToDevice);
    cudaGraphAddMemFreeNode(&freed, graph, &copied, 1, own);
  }
  cudaGraphInstantiate(&exec, graph, NULL, NULL, 0);
  cudaGraphLaunch(exec, 0);
  cudaGraphLaunch(exec, 0);
  const int expected[4] = {6, 6, 6, 6};
  return equal(y, expected, 4);
}
bool by_address() {
  int *p = device_array<int>(4), n = 7, by = 2;
  void *of_add[] = {&p, &n}, *of_scale[] = {&p, &by};
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
  const int expected[4] = {42, 42, 42, 42};
  return equal(p, expected, 4);
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
  int* y = device_array<int>(2);
  halves<<<1, 32>>>(y);
  const half2 sum(32.0f, 64.0f);
  int expected[2] = {1, 0};
  memcpy(expected + 1, &sum, 4);
  static_assert(std::is_same_v<__nv_half, half> && std::is_same_v<__nv_half2, nv_half2>);
  const __nv_half one = __half_raw{0x3c00};
  const nv_bfloat16 two = __nv_bfloat16_raw{0x4000};
  return equal(y, expected, 2) && __half2float(one) == 1 && __bfloat162float(two) == 2 &&
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
  int* y = device_array<int>(64);
  old_votes<<<1, 64>>>(y);
  int expected[64];
  for (int& e : expected) e = 1;
  return equal(y, expected, 64);
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
  int h[all], expected[3 * all];
  for (int i = 0; i < all; ++i) h[i] = i * i % 101;
  for (int i = 0; i < all; ++i) {
    expected[i] = i > 0 ? h[i] - h[i - 1] : h[i];
    expected[all + i] = h[i] - (i > 0 ? h[i - 1] : 1000);
    expected[2 * all + i] = i + 1 < all ? h[i] - h[i + 1] : h[i];
  }
  int *x = device_array(all, h), *y = device_array<int>(3 * all);
  const auto begin = std::chrono::steady_clock::now();
  cub_differences<<<1, k_threads>>>(x, y);
  cudaDeviceSynchronize();
  const bool forward = std::chrono::steady_clock::now() >= begin;
  cudaFree(x);
  return equal(y, expected, 3 * all) && forward;
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
  const cuDoubleComplex x[3] = {{1, 2}, {4, -4}, {-3, 4}};
  cuDoubleComplex* from = device_array(3, x);
  double* y = device_array<double>(8);
  float* z = device_array<float>(4);
  multiply<<<1, 1>>>(from, reinterpret_cast<cuDoubleComplex*>(y), reinterpret_cast<cuComplex*>(z));
  const double expected[8] = {12, 4, 1, 2, 13, 2, 5, -5};
  float h[4];
  cudaMemcpy(h, z, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(z);
  cudaFree(from);
  return std::fabs(h[0] - 1) < 1e-6f && std::fabs(h[1]) < 1e-6f && h[2] == 0x5p100f && h[3] == 0x3p100f &&
         equal(y, expected, 8);
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
  long long* y = device_array<long long>(1);
  greatest<<<1, k_threads>>>(y);
  const long long expected = k_threads - 1;
  return equal(y, &expected, 1);
}

bool cub_is_right() {
  int h[k_threads];
  for (int i = 0; i < k_threads; ++i) h[i] = i * 5 % 64;
  int *x = device_array(k_threads, h), *y = device_array<int>(7);
  cub_parts<<<1, k_threads>>>(x, y);
  void* temp = nullptr;
  size_t bytes = 0;
  cub::DeviceReduce::Sum(temp, bytes, x, y + 6, k_threads);
  cudaMalloc(&temp, bytes);
  cub::DeviceReduce::Sum(temp, bytes, x, y + 6, k_threads);
  cudaFree(temp);
  cudaFree(x);
  const int expected[7] = {2016, 61, 63, 2016 - 59, 63, -63, 2016};
  int most[2] = {0, 0};
  for (int i = 0; i < k_threads; ++i)
    if (h[i] > most[i / 32]) most[i / 32] = h[i];
  int all[7];
  memcpy(all, expected, sizeof all);
  all[1] = most[0], all[2] = most[1], all[3] = 2016 - h[63];
  return equal(y, all, 7);
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
__global__ void raise(bool* flag) { *flag = true; }  // same-value
__global__ void disagree(int* p) { *p = threadIdx.x / 40; }  // other-value
__global__ void far_off(int* p) { p[4096] = 1; }             // far-off

int outlives(const char* mode) {
  unsigned long long* y = device_array<unsigned long long>(k_threads);
  bool* flag = device_array<bool>(1);
  int* p = device_array<int>(1);
  if (!strcmp(mode, "first-read")) add_by_swaps<<<2, k_threads>>>(y);
  if (!strcmp(mode, "read-beside-an-atomic"))
    read_beside_an_atomic<<<1, k_threads>>>(reinterpret_cast<unsigned*>(y), reinterpret_cast<unsigned*>(y + 8));
  raise<<<1, k_threads>>>(flag);
  if (strcmp(mode, "same-value") && strcmp(mode, "first-read")) disagree<<<1, k_threads>>>(p);
  if (!strcmp(mode, "far-off")) far_off<<<1, 1>>>(p);
  printf("reached the end\n");
  cudaFree(y);
  cudaFree(flag);
  cudaFree(p);
  return 0;
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  if (!strcmp(mode, "textures")) return !textures();
  if (!strcmp(mode, "linear-textures")) return !linear_textures();
  if (!strcmp(mode, "layers")) return !layers(false) || !layers(true);
  if (!strcmp(mode, "children")) return !children();
  if (!strcmp(mode, "surfaces")) return !surfaces(8);
  if (!strcmp(mode, "surface-too-small")) return !surfaces(7);
  if (!strcmp(mode, "captured-graph")) return !captured();
  if (!strcmp(mode, "built-graph")) return !built();
  if (!strcmp(mode, "graph-memory")) return !graph_memory(true, true) || !graph_memory(false, true);
  if (!strcmp(mode, "captured-unwritten")) return !graph_memory(true, false);
  if (!strcmp(mode, "built-unwritten")) return !graph_memory(false, false);
  if (!strcmp(mode, "launch-by-address")) return !by_address();
  if (!strcmp(mode, "sixteen-bits")) return !sixteen_bits();
  if (!strcmp(mode, "votes")) return !votes();
  if (!strcmp(mode, "cub")) return !cub_is_right();
  if (!strcmp(mode, "cub-differences")) return !differences_are_right();
  if (!strcmp(mode, "complex")) return !complex_numbers();
  if (!strcmp(mode, "atomic-loads")) return !atomic_loads();
  return outlives(mode);
}
