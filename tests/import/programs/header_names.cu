// The headers of the runtime that sources include beside cuda_runtime.h.
#include <builtin_types.h>
#include <channel_descriptor.h>
#include <common_functions.h>
#include <cuda_device_runtime_api.h>
#include <device_atomic_functions.h>
#include <device_functions.h>
#include <driver_functions.h>
#include <host_defines.h>
#include <math_functions.h>
#include <sm_20_atomic_functions.h>
#include <sm_20_intrinsics.h>
#include <sm_30_intrinsics.h>
#include <sm_32_atomic_functions.h>
#include <sm_32_intrinsics.h>
#include <sm_35_atomic_functions.h>
#include <sm_35_intrinsics.h>
#include <sm_60_atomic_functions.h>
#include <sm_61_intrinsics.h>
#include <surface_types.h>
#include <texture_types.h>
#include <cuda_bf16.hpp>
#include <cuda_fp16.hpp>
#include <cuda_fp8.hpp>
__global__ void k(int* p) { *p = __popc(7); }
int main() {
  int h = 0, *p;
  cudaMalloc(&p, 4);
  k<<<1, 1>>>(p);
  cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost);
  cudaFree(p);
  return h != 3;
}
