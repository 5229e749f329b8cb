// What sources of all kinds contain, each in a mode of its own: what is accepted runs and is right.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "on_device.cuh"

#if !defined(__CUDA_RUNTIME_H__) || !defined(__DRIVER_TYPES_H__)
#error "headers of samples ask by CUDA's guards for what is there"
#endif
#define WINDOW 16

// True if p holds `value` first; frees it.
bool holds(int* p, int value) {
  int first = 0;
  const bool copied = cudaMemcpy(&first, p, sizeof first, cudaMemcpyDeviceToHost) == cudaSuccess;
  cudaFree(p);
  return copied && first == value;
}

// Names of built-in variables in host code.
__global__ void grid_size(int* y) {
  const uint3 grid = gridDim, block = blockDim;  // a dim3 converts to uint3
  y[blockIdx.x * block.x + threadIdx.x] = grid.x;
}
struct shape {
  dim3 gridDim, blockDim;
};
bool builtin_names() {
  int* y = device_array<int>(64);
  dim3 gridDim(2), blockDim(32);
  const shape s = {gridDim, blockDim};
  grid_size<<<s.gridDim, blockDim>>>(y);
  return holds(y, 2);
}
// ... and in a function of the device that has its own.
__device__ int own_name(dim3 gridDim) { return gridDim.x; }
__global__ void calls_own_name(int* y) { *y = own_name(dim3(7)) + gridDim.x; }
bool builtin_name_of_a_parameter() {
  int* y = device_array<int>(1);
  calls_own_name<<<1, 1>>>(y);
  return holds(y, 8);
}

// The mixtures of min and max.
__global__ void mixtures(int* y, int n, unsigned m) {
  y[threadIdx.x] = min(n, m) + max(m, n) + (int)min(1L, 2UL) + (int)max(1.0f, 2.0);
}
bool mixed_min() {
  int* y = device_array<int>(32);
  mixtures<<<min(1, 2u), 32>>>(y, -1, 4u);
  return holds(y, 4 + -1 + 1 + 2);
}

// Atomics of the host.
bool host_atomic() {
  std::atomic<int> done{0};
  std::atomic<unsigned char> flags{1};
  std::atomic<long long> wide{5};
  int* y = device_array<int>(32);
  grid_size<<<1, 32>>>(y);
  done.store(1);
  done.fetch_add(1);
  flags |= 4;
  long long expected = 5;
  wide.compare_exchange_strong(expected, 6);
  return holds(y, 1) && done.load() == 2 && flags == 5 && wide.exchange(0) == 6;
}

// Operators in the extent of a shared array.
__global__ void shifted_extent(int* y) {
  __shared__ int s[(WINDOW + 2) << 1];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  y[threadIdx.x] = s[31 - threadIdx.x] + sizeof s;
}
bool shared_shift_extent() {
  int* y = device_array<int>(32);
  shifted_extent<<<1, 32>>>(y);
  return holds(y, 31 + 144);
}
template <typename T>
__global__ void dependent_extent(T* y) {
  __shared__ T s[(WINDOW + 2) << 1];
  T* half = s + WINDOW;
  s[threadIdx.x] = threadIdx.x, half[threadIdx.x] = 2 * threadIdx.x;
  __syncthreads();
  y[threadIdx.x] = s[31 - threadIdx.x];
}
bool shared_dependent_extent() {
  int* y = device_array<int>(32);
  dependent_extent<int><<<1, 16>>>(y);
  return holds(y, 30);
}

// A volatile variable of the device.
__device__ volatile unsigned generation = 3;
__global__ void next_generation(int* y) {
  if (threadIdx.x == 0) {
    generation = generation + 1;
    *y = generation;
  }
}
bool volatile_device_variable() {
  int* y = device_array<int>(1);
  next_generation<<<1, 32>>>(y);
  return holds(y, 4);
}

// A function of the host with a kernel's name.
__global__ void scale(int* y) { y[threadIdx.x] = 5; }
void scale(int* y, int blocks) { scale<<<blocks, 32>>>(y); }
bool host_overload_of_kernel() {
  int* y = device_array<int>(32);
  scale(y, 1);
  return holds(y, 5);
}

// A parameter with a default, left out in the launch.
__global__ void with_default(int* y, int v, int* more = nullptr, int factor = 2) { *y = more ? 0 : v * factor; }
bool kernel_default_argument() {
  int* y = device_array<int>(1);
  with_default<<<1, 1>>>(y, 3);
  return holds(y, 6);
}

// The address of a specialisation.
template <typename T>
__global__ void copy(T* y, const T* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
bool kernel_template_attribute() {
  int *y = device_array<int>(32), *x = device_array<int>(32);
  copy<<<1, 32>>>(y, x, 32);
  const cudaError_t error = cudaFuncSetAttribute(copy<int>, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000);
  const cudaError_t policy = cudaFuncSetAttribute(copy<int>, cudaFuncAttributeClusterSchedulingPolicyPreference,
                                                  cudaClusterSchedulingPolicySpread);
  cudaFree(x);
  return holds(y, 0) && error == cudaSuccess && policy == cudaSuccess;
}

// NULL for a pointer of a kernel template.
template <bool Add>
__global__ void weighted(int* y, const float* weights) {
  *y = weights ? (int)*weights : 7 + Add;
}
bool null_argument() {
  int* y = device_array<int>(1);
  weighted<true><<<1, 1>>>(y, NULL);
  weighted<true><<<1, 1>>>(y, 0);
  return holds(y, 8);
}

// Shared variables at file scope.
__shared__ int of_file[WINDOW + 1], *first_of_file;
static __device__ int sum_of_file() {
  int sum = 0;
  for (int i = 0; i < WINDOW; ++i) sum += of_file[i];
  return sum;
}
__global__ void fill_file(int* y) {
  of_file[threadIdx.x] = threadIdx.x;
  if (threadIdx.x == 0) first_of_file = of_file;
  __syncthreads();
  if (threadIdx.x == 0) *y = sum_of_file() + first_of_file[1];
}
bool shared_of_file() {
  int* y = device_array<int>(1);
  fill_file<<<1, WINDOW>>>(y);
  return holds(y, WINDOW * (WINDOW - 1) / 2 + 1);
}

// A function of the host by the name of one of the device.
static unsigned umin(unsigned a, unsigned b) { return a <= b ? a : b; }
bool host_umin() { return umin(3u, 2u) == 2; }

// Arithmetic of pairs.
__global__ void pairs(half2* x, int* y) {
  half2 a = __float2half2_rn(1.5f);
  a = a + a, a = a * a, a += a, a -= __float2half2_rn(2.0f), a = -a / __float2half2_rn(4.0f);
  x[threadIdx.x] = a;
  *y = (int)__low2float(a) + (a == a) + (a != a);
}
bool half2_operators() {
  half2* x = device_array<half2>(1);
  int* y = device_array<int>(1);
  pairs<<<1, 1>>>(x, y);
  cudaFree(x);
  return holds(y, -4 + 1);
}

// A template of variables in constant memory.
template <typename T, int N>
__constant__ T weights[N];
template <typename T>
__global__ void read_weights(T* y) {
  y[threadIdx.x] = weights<T, 8>[threadIdx.x % 8];
}
bool constant_template() {
  const int values[8] = {3, 2, 1};
  if (cudaMemcpyToSymbol(weights<int, 8>, values, sizeof values) != cudaSuccess) return false;
  int* y = device_array<int>(32);
  read_weights<int><<<1, 32>>>(y);
  return holds(y, 3);
}

// Attributes of the device and of kernels.
__global__ void unsigned_extremes(int* y) { *y = umin(9u, 7u) + umax(1u, 2u); }
// Limits, pools, places and nodes of graphs, by their queries.
bool small_queries() {
  size_t stack = 0, count = 8;
  uint64_t used = 1;
  int device = 1, *y = device_array<int>(1), *pooled = nullptr;
  char bus[16];
  bool ok = cudaDeviceSetLimit(cudaLimitStackSize, 2048) == cudaSuccess;
  ok &= cudaDeviceGetLimit(&stack, cudaLimitStackSize) == cudaSuccess && stack == 2048;
  ok &= cudaDeviceGetPCIBusId(bus, 16, 0) == cudaSuccess && cudaDeviceGetByPCIBusId(&device, bus) == cudaSuccess;
  cudaMemPool_t pool;
  ok &= cudaDeviceGetDefaultMemPool(&pool, 0) == cudaSuccess && device == 0;
  ok &= cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used) == cudaSuccess && used == 0;
  ok &= cudaMallocFromPoolAsync(&pooled, 4, pool, 0) == cudaSuccess && cudaFreeAsync(pooled, 0) == cudaSuccess;
  int wide = 0;
  ok &= cudaDeviceGetAttribute(&wide, cudaDevAttrMaxTexture2DWidth, 0) == cudaSuccess && wide == 131072;
  cudaMemPoolProps properties = {};
  properties.handleTypes = cudaMemHandleTypeNone;
  ok &= cudaMemPoolCreate(&pool, &properties) == cudaSuccess && cudaMemPoolDestroy(pool) == cudaSuccess;
  ok &= std::strcmp(cudaGetErrorName(cudaErrorInvalidSurface), "cudaErrorInvalidSurface") == 0;
  cudaGraph_t graph;
  cudaGraphNode_t set, launch, roots[8];
  const cudaMemsetParams zeros{y, 4, 0, 4, 1, 1};
  void* arguments[] = {&y};
  const cudaKernelNodeParams ones{(void*)unsigned_extremes, dim3(1), dim3(1), 0, arguments, nullptr};
  cudaGraphNodeType type;
  cudaGraphCreate(&graph, 0);
  cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &zeros);
  cudaGraphAddKernelNode(&launch, graph, &set, 1, &ones);
  ok &= cudaGraphGetRootNodes(graph, roots, &count) == cudaSuccess && count == 1 && roots[0] == set;
  ok &= cudaGraphNodeGetType(launch, &type) == cudaSuccess && type == cudaGraphNodeTypeKernel;
  cudaGraphExec_t exec;
  cudaGraphInstantiate(&exec, graph, 0);
  const cudaMemsetParams fives{y, 4, 5, 4, 1, 1};
  cudaGraphExecMemsetNodeSetParams(exec, set, &fives);
  cudaGraphLaunch(exec, 0);
  cudaDeviceSynchronize();
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  return holds(y, 9) && ok;
}
bool queries() {
  cudaDeviceProp p;
  cudaGetDeviceProperties(&p, 0);
  cudaFuncAttributes a;
  int mode = -1, integrated = -1, overlap = -1;
  bool ok = cudaFuncGetAttributes(&a, unsigned_extremes) == cudaSuccess && a.maxThreadsPerBlock == 1024;
  ok &= cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, 0) == cudaSuccess && mode == cudaComputeModeDefault;
  ok &= cudaDeviceGetAttribute(&integrated, cudaDevAttrIntegrated, 0) == cudaSuccess && integrated == p.integrated;
  ok &= cudaDeviceGetAttribute(&overlap, cudaDevAttrGpuOverlap, 0) == cudaSuccess && overlap == p.deviceOverlap;
  int* y = device_array<int>(1);
  unsigned_extremes<<<1, 1>>>(y);
  return holds(y, 9) && ok && p.textureAlignment == 512 && p.persistingL2CacheMaxSize > 0;
}

// A shared variable of the class that its function belongs to: its templates are found without the word `template`.
template <int N>
struct tile {
  int sum;
  template <bool Twice>
  __device__ int of(int v) {
    return sum = Twice ? 2 * v + N : v;
  }
  static __device__ int run(int v) {
    __shared__ tile<N> own;
    return own.of<true>(v);
  }
};
template <int N>
__global__ void run_tile(int* y) {
  *y = tile<N>::run(4);
}
bool shared_of_its_class() {
  int* y = device_array<int>(1);
  run_tile<3><<<1, 1>>>(y);
  return holds(y, 11);
}

// A host function without its return: nvcc's unoptimised host code leaves it.
bool all_equal(const int* a, const int* b, int n) {
  for (int i = 0; i < n; ++i)
    if (a[i] != b[i]) std::exit(4);
}
bool missing_return() {
  int* y = device_array<int>(64);
  int a[64] = {}, b[64];
  cudaMemcpy(b, y, sizeof b, cudaMemcpyDeviceToHost);
  all_equal(a, b, 64);
  unsigned_extremes<<<1, 1>>>(y);
  return holds(y, 9);
}

// An argument that can be copied and not moved, to a kernel and to a template.
struct copied {
  explicit copied(int v) : value(v) {}
  copied(const copied&) = default;
  copied(copied&&) = delete;
  int value;
};
__global__ void store(int* y, copied c) { y[0] = c.value; }
template <class T>
__global__ void add(int* y, T c) {
  y[0] += c.value;
}
bool argument_without_move() {
  int* y = device_array<int>(1);
  const copied c(5);
  store<<<1, 1>>>(y, c);
  add<<<1, 1>>>(y, c);
  return holds(y, 10);
}

// A type without `typename` before C++20.
template <class T>
struct number {
  using type = T;
  __device__ type twice(type v);
};
template <class T>
__device__ number<T>::type number<T>::twice(type v) {
  return 2 * v;
}
__global__ void double_it(int* y) { *y = number<int>().twice(4); }
bool type_without_typename() {
  int* y = device_array<int>(1);
  double_it<<<1, 1>>>(y);
  return holds(y, 8);
}

// A tail runs after the children of its kernel, whichever was launched first.
__global__ void append(int* y, int digit) { *y = 10 * *y + digit; }
__global__ void launch_children(int* y) {
  append<<<1, 1, 0, cudaStreamTailLaunch>>>(y, 3);
  append<<<1, 1, 0, cudaStreamFireAndForget>>>(y, 1);
}
bool tail_launch() {
  int* y = device_array<int>(1);
  launch_children<<<1, 1>>>(y);
  append<<<1, 1>>>(y, 4);
  return holds(y, 134);
}

int main(int argc, char** argv) {
  const mode modes[] = {{"builtin-names", builtin_names},
                        {"builtin-name-of-a-parameter", builtin_name_of_a_parameter},
                        {"mixed-min", mixed_min},
                        {"host-atomic", host_atomic},
                        {"shared-shift-extent", shared_shift_extent},
                        {"shared-dependent-extent", shared_dependent_extent},
                        {"volatile-device-variable", volatile_device_variable},
                        {"host-overload-of-kernel", host_overload_of_kernel},
                        {"kernel-default-argument", kernel_default_argument},
                        {"kernel-template-attribute", kernel_template_attribute},
                        {"null-argument", null_argument},
                        {"shared-of-file", shared_of_file},
                        {"host-umin", host_umin},
                        {"half2-operators", half2_operators},
                        {"constant-template", constant_template},
                        {"shared-of-its-class", shared_of_its_class},
                        {"missing-return", missing_return},
                        {"argument-without-move", argument_without_move},
                        {"type-without-typename", type_without_typename},
                        {"tail-launch", tail_launch},
                        {"small-queries", small_queries},
                        {"queries", queries}};
  return run_modes(argc, argv, modes);
}
