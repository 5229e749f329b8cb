// What large libraries of headers hold beside what they run: the driver's other functions, constants of pairs of 16
// bits, a class that gives a name another meaning, and a kernel whose name our headers use.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

template <class T>
struct holder {
  T value;
};
template <class T>
struct user {
  holder<T> first;
  using holder = holder<T>;
  holder second;
};

constexpr __nv_bfloat162 pair_of(__nv_bfloat16 x) { return __nv_bfloat162{x, x}; }

__global__ void __cluster_dims__(2, 1, 1) kernel(const unsigned* words, const unsigned short* shorts, unsigned* out) {
  const user<unsigned> both{{words[threadIdx.x]}, {shorts[threadIdx.x]}};
  atomicAdd(out, both.first.value + both.second.value + static_cast<unsigned>(float(pair_of(1.0f).y)));
}

void share(CUdeviceptr p) {
  CUmemGenericAllocationHandle handle;
  CUmulticastObjectProp of = {};
  of.numDevices = 1;
  of.size = 1 << 21;
  cuMulticastCreate(&handle, &of);  // share
  cuMulticastBindMem(handle, 0, p, 0, of.size, 0);
}

int main(int argc, char** argv) {
  CUdeviceptr words, shorts, out;
  cuMemAlloc(&words, 32 * sizeof(unsigned));
  cuMemAlloc(&shorts, 32 * sizeof(unsigned short));
  cuMemAlloc(&out, sizeof(unsigned));
  if (argc > 1 && std::strcmp(argv[1], "share") == 0) share(words);
  if (argc > 1 && std::strcmp(argv[1], "open") == 0) {
    cudaIpcMemHandle_t handle;
    cudaIpcGetMemHandle(&handle, reinterpret_cast<void*>(words));  // open
  }
  cuMemsetD32Async(words, 0x10203, 32, nullptr);
  cuMemsetD16Async(shorts, 7, 32, nullptr);
  cuMemsetD8(out, 0, 4);
  int multicast = 1, threads = 0, clusters = 0, blocks = 0;
  cuDeviceGetAttribute(&multicast, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0);
  cuDeviceGetAttribute(&threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0);
  cudaLaunchConfig_t config = {};
  if (cudaOccupancyMaxActiveClusters(&clusters, kernel, &config) != cudaSuccess || clusters < 1) return 3;
  if (cudaOccupancyMaxPotentialClusterSize(&blocks, reinterpret_cast<void*>(kernel), &config) != cudaSuccess ||
      blocks != 8)
    return 5;
  if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536) != cudaSuccess) return 4;
  kernel<<<2, 32, 65536>>>(reinterpret_cast<unsigned*>(words), reinterpret_cast<unsigned short*>(shorts),
                           reinterpret_cast<unsigned*>(out));
  unsigned found = 0;
  cuMemcpyDtoH(&found, out, sizeof found);
  cuMemFree(words);
  cuMemFree(shorts);
  cuMemFree(out);
  std::printf("%u\n", found);
  return multicast == 0 && threads == 1024 && found == 64u * (0x10203 + 7 + 1) ? 0 : 1;
}
