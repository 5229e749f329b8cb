// Functions of the runtime and of devices since Hopper, each in a mode of its own.
#include <cublas_v2.h>
#include <cuda.h>
#include <cuda_awbarrier_primitives.h>
#include <cuda_runtime.h>

#include <climits>
#include <cstdio>
#include <cstring>
#include <vector>

#include "on_device.cuh"

// Dynamic programming: two numbers of 16 bits in a word, and one of 32.
__global__ void program(int* y) {
  bool high, low, first;
  const unsigned greater = __vibmax_s16x2(0x0005fffeu, 0x00050001u, &high, &low);
  const unsigned less = __vibmin_u16x2(0x0004fffeu, 0x00050001u, &high, &low);
  const int results[] = {
      __viaddmax_s32(5, -7, -1),
      __viaddmax_s32_relu(5, -7, -3),
      static_cast<int>(__viaddmin_u32(UINT_MAX, 3, 9)),
      static_cast<int>(__viaddmin_s16x2(0x00017fffu, 0x00020001u, 0x00090000u)),  // the low half wraps
      __vimax3_s32(3, 9, -2),
      static_cast<int>(__vimin3_u16x2(0x00058000u, 0x0004ffffu, 0x00097fffu)),
      __vimin3_s32_relu(-3, 4, 5),
      static_cast<int>(__vimax_s16x2_relu(0xffff0003u, 0xfffe0002u)),
      __vibmax_s32(4, 4, &first),
      first,
      static_cast<int>(greater),
      static_cast<int>(less),
      high * 2 + low};
  for (int i = 0; i < 13; ++i) y[i] = results[i];
}
bool dynamic_programming() {
  const int right[13] = {-1, 0, 2, 0x00038000, 9, 0x00047fff, 0, 3, 4, 1, 0x00050001, 0x00040001, 2};
  const on_device<int> y(13);
  program<<<1, 1>>>(y.p);
  const std::vector<int> got = y.host();
  for (int i = 0; i < 13; ++i)
    if (got[i] != right[i]) return std::printf("result %d is %#x, right is %#x\n", i, got[i], right[i]), false;
  return true;
}

__global__ void add_vectors(float4* sum, float2* pair) {
  const float x = static_cast<float>(threadIdx.x);
  atomicAdd(sum, make_float4(x, 1.0f, -x, 0.5f));
  atomicAdd_block(pair, make_float2(2.0f, x));
}
bool vector_atomics() {
  const on_device<float> sums(8);
  add_vectors<<<1, 64>>>(reinterpret_cast<float4*>(sums.p), reinterpret_cast<float2*>(sums.p + 4));
  return sums.host() == std::vector<float>{2016, 64, -2016, 32, 128, 2016, 0, 0};
}

// Each thread reads what another one wrote before it arrived.
__global__ void exchange(int* y) {
  __shared__ __mbarrier_t ready;
  __shared__ int s[64];
  if (threadIdx.x == 0) __mbarrier_init(&ready, 64);
  __syncthreads();
  s[threadIdx.x] = threadIdx.x;
  const __mbarrier_token_t token = __mbarrier_arrive(&ready);
  while (!__mbarrier_try_wait(&ready, token, 1000)) {
  }
  y[threadIdx.x] = s[63 - threadIdx.x];
}
bool barrier_primitives() {
  const on_device<int> y(64);
  exchange<<<1, 64>>>(y.p);
  const std::vector<int> got = y.host();
  for (int i = 0; i < 64; ++i)
    if (got[i] != 63 - i) return false;
  return true;
}

// A graph whose nodes are replaced, ordered otherwise and destroyed before it runs.
bool edited_graph() {
  char *p, got[4];
  const char text[] = "ab";
  cudaMalloc(&p, 4);
  cudaGraph_t graph;
  cudaGraphCreate(&graph, 0);
  cudaMemsetParams set = {p, 0, 'x', 1, 4, 1};
  cudaGraphNode_t first, second, spoils, nodes[3];
  cudaGraphAddMemsetNode(&first, graph, nullptr, 0, &set);
  cudaGraphAddMemcpyNode1D(&second, graph, nullptr, 0, p + 2, text, 2, cudaMemcpyHostToDevice);
  cudaGraphAddMemsetNode(&spoils, graph, &second, 1, &set);
  cudaGraphAddDependencies(graph, &second, &first, 1);
  cudaGraphRemoveDependencies(graph, &second, &first, 1);
  cudaGraphAddDependencies(graph, &first, &second, 1);
  set.value = 'y';
  cudaGraphMemsetNodeSetParams(first, &set);
  cudaGraphMemcpyNodeSetParams1D(second, p + 1, text, 2, cudaMemcpyHostToDevice);
  size_t dependents = 3, dependencies = 3, count = 3;
  cudaGraphNodeGetDependentNodes(second, nodes, &dependents);
  if (dependents != 1 || nodes[0] != spoils) return false;
  cudaGraphDestroyNode(spoils);
  cudaGraphNodeGetDependencies(second, nodes, &dependencies);
  cudaGraphGetNodes(graph, nullptr, &count);
  if (dependencies != 1 || nodes[0] != first || count != 2) return false;
  cudaGraphExec_t exec;
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphLaunch(exec, nullptr);
  cudaMemcpy(got, p, 4, cudaMemcpyDeviceToHost);
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cudaFree(p);
  return std::memcmp(got, "yaby", 4) == 0;
}

// An array that grows where it lies, by memory that is mapped behind it.
__global__ void count(int* p, size_t first, int* sum) {
  const size_t i = first + blockIdx.x * blockDim.x + threadIdx.x;
  p[i] = 1;
  if (first % 512 == 0) atomicAdd(sum, p[i - 64]);
}
bool mapped_memory() {
  const size_t part = size_t{2} << 20, numbers = part / sizeof(int);
  CUmemAllocationProp of = {};
  of.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  of.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemAccessDesc access = {of.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  size_t granularity = 0;
  cuMemGetAllocationGranularity(&granularity, &of, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  CUdeviceptr p;
  const on_device<int> sum(1);
  bool is_right = part % granularity == 0 && cuMemAddressReserve(&p, 4 * part, 0, 0, 0) == CUDA_SUCCESS;
  for (int i = 0; i < 2; ++i) {
    CUmemGenericAllocationHandle handle;
    is_right &= cuMemCreate(&handle, part, &of, 0) == CUDA_SUCCESS &&
                cuMemMap(p + i * part, part, 0, handle, 0) == CUDA_SUCCESS &&
                cuMemSetAccess(p + i * part, part, &access, 1) == CUDA_SUCCESS && cuMemRelease(handle) == CUDA_SUCCESS;
  }
  count<<<1, 64>>>(reinterpret_cast<int*>(p), numbers - 64, sum.p);
  count<<<1, 64>>>(reinterpret_cast<int*>(p), numbers, sum.p);  // reads the last numbers of the first part
  is_right &= sum.host()[0] == 64;
  is_right &= cuMemUnmap(p, part) == CUDA_SUCCESS && cuMemUnmap(p + part, part) == CUDA_SUCCESS &&
              cuMemAddressFree(p, 4 * part) == CUDA_SUCCESS;
  return is_right;
}

bool names() {
  const char* name = nullptr;
  cuGetErrorName(CUDA_ERROR_PROFILER_DISABLED, &name);
  cublasHandle_t handle;
  int version = 0;
  cublasCreate_v2(&handle);
  cublasGetVersion_v2(handle, &version);
  cublasDestroy_v2(handle);
  return std::strcmp(name, "CUDA_ERROR_PROFILER_DISABLED") == 0 && version >= 120000 && CUBLAS_OP_CONJG == 3;
}

int main(int argc, char** argv) {
  const mode modes[] = {{"dynamic-programming", dynamic_programming},
                        {"vector-atomics", vector_atomics},
                        {"barrier-primitives", barrier_primitives},
                        {"edited-graph", edited_graph},
                        {"mapped-memory", mapped_memory},
                        {"names", names}};
  return run_modes(argc, argv, modes);
}
