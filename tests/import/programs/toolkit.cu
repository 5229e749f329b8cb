// What programs take from the toolkit and from NVIDIA's samples beside kernels, each in a mode of its own.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <helper_cuda.h>
#include <helper_functions.h>

#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "on_device.cuh"

// A kernel fills y with 1 where a value is right.
template <class... Arguments>
bool all_right(void (*kernel)(int*, Arguments...), int count, Arguments... arguments) {
  const on_device<int> y(64);
  kernel<<<1, 1>>>(y.p, arguments...);
  const std::vector<int> host = y.host();
  bool right = true;
  for (int i = 0; i < count; ++i)
    if (host[i] != 1) std::printf("value %d is wrong\n", i), right = false;
  return right;
}

__global__ void directions(int* y, double one, float onef);

// Settings and properties that change no result.
bool settings() {
  cudaSharedMemConfig banks = cudaSharedMemBankSizeDefault;
  cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeEightByte);
  cudaDeviceProp p;
  int blocks = 0, device = -1;
  return cudaDeviceGetSharedMemConfig(&banks) == cudaSuccess && cudaGetDeviceProperties(&p, 0) == cudaSuccess &&
         p.maxTexture1DLayered[0] > 0 && p.maxTexture2DLayered[2] > 0 && p.globalL1CacheSupported == 1 &&
         cudaDeviceGetAttribute(&blocks, cudaDevAttrMaxBlocksPerMultiprocessor, 0) == cudaSuccess && blocks == 32 &&
         cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, directions, 64, 0,
                                                                cudaOccupancyDisableCachingOverride) == cudaSuccess &&
         blocks > 0 &&
         cudaOccupancyMaxPotentialBlockSizeVariableSMem(
             &blocks, &device, directions, [](int threads) { return threads * sizeof(float); }) == cudaSuccess &&
         cudaOccupancyMaxPotentialBlockSizeWithFlags(&blocks, &device, directions, 0, 64, cudaOccupancyDefault) ==
             cudaSuccess &&
         device == 64 && cudaChooseDevice(&device, &p) == cudaSuccess && device == 0 &&
         std::strcmp(cudaGetErrorName(cudaErrorLaunchOutOfResources), "cudaErrorLaunchOutOfResources") == 0 &&
         cudaErrorLaunchTimeout == 702 && cudaMemAdviseSetAccessedBy == 5;
}

__device__ bool near(double value, double expected) { return fabs(value - expected) <= 1e-6 * fabs(expected); }
__global__ void special_functions(int* y, double half, float three) {
  y[0] = near(erfinv(half), 0.476936276204469873) && near(erfinvf(-0.75f), -0.813419847597618542);
  y[1] = near(erfcinv(1e-10), 4.572824967389485655);
  y[2] = near(normcdfinv(0.975), 1.959963984540054236) && near(normcdfinvf(0.025f), -1.959963984540054236) &&
         normcdfinv(half) == 0 && fabs(normcdf(-6 * half) - 0.00134989803163009452665) < 4e-19;
  y[3] = near(erfcx(30 + half), 0.018488106034) && near(erfcxf(2.0f), 0.255395676310505742);
  y[4] = near(cyl_bessel_i0(2 * half), 1.266065877752008336) && near(cyl_bessel_i1f(-1.0f), -0.565159103992485027);
  y[5] = near(rhypotf(three, 4.0f), 0.2) && near(rcbrt(8 * half), 1 / 1.587401051968199475);
  const double v[3] = {2, 3, 6};
  y[6] = near(norm(3, v), 7) && near(rnorm4df(1, 1, 1, three / 3), 0.5) && near(norm3d(2, 3, 6), 7);
}

// Nearest, up, down and towards zero, where the exact result is known.
__global__ void directions(int* y, double one, float onef) {
  const double tiny = 0x1p-60, up = 1 + 0x1p-52;
  y[0] = __dadd_ru(one, tiny) == up && __dadd_rd(one, tiny) == 1 && __dadd_rz(-one, -tiny) == -1;
  y[1] = __dadd_rz(DBL_MAX * one, DBL_MAX) == DBL_MAX && isinf(__dadd_ru(DBL_MAX * one, DBL_MAX));
  y[2] = __dmul_rd(up * one, up) == 1 + 0x1p-51 && __dmul_ru(up * one, up) == 1 + 0x1p-51 + 0x1p-52;
  y[3] = __dmul_ru(1e-200 * one, 1e-200) > 0 && __dmul_rd(1e-200 * one, 1e-200) == 0;
  y[4] = __ddiv_ru(one, 3) > __ddiv_rd(one, 3) && __ddiv_rz(-one, 3) == -__ddiv_rd(one, 3);
  y[5] = __fma_ru(one, one, tiny) == up && __fma_rd(one, one, tiny) == 1 && __fma_rz(-one, one, -tiny) == -1;
  y[6] = __fmaf_ru(onef, onef, 0x1p-40f) == 1 + 0x1p-23f && __fmaf_rd(onef, onef, 0x1p-40f) == 1;
  y[7] = __dsqrt_ru(2 * one) > __dsqrt_rd(2 * one) && __fsqrt_rd(4 * onef) == 2 && __fsqrt_ru(4 * onef) == 2;
  y[8] = __frcp_ru(3 * onef) > __frcp_rd(3 * onef) && __drcp_rz(4 * one) == 0.25;
  y[9] = __double2float_ru(one + tiny) == 1 && __double2float_ru(up * one) == 1 + 0x1p-23f &&
         __double2float_rd(up * one) == 1 && __double2float_rz(1e300 * one) == FLT_MAX;
}

__global__ void lanes(int* y, unsigned x) {
  y[0] = __vcmpeq4(x, 0x01ff03ff) == 0xffff0000 && __vsetgtu4(x, 0x00ff7f00) == 0x01000101;
  y[1] = __vaddus4(x, 0x02020202) == 0x03ff820a && __vsubss2(0x80000001, 0x00010002) == 0x8000ffff;
  y[2] = __vavgu4(0x01000203, 0x02010203) == 0x02010203 && __vhaddu4(0x01000203, 0x02010203) == 0x01000203;
  y[3] = __vneg4(0x01ff0080) == 0xff010080 && __vabsss4(0x80ff7f01) == 0x7f017f01;
  y[4] = __rhadd(-2, 1) == 0 && __uhadd(0xffffffffu, 1u) == 0x80000000u && __usad(1u, 5u, 3u) == 7;
  y[5] = __mul64hi(-1LL, 5LL) == -1 && __funnelshift_lc(1, 2, 40) == 1 && __fns(0x16, 0, 2) == 2;
  y[6] = __dp2a_lo(0x00020003, 0x04050607, 1) == 1 + 3 * 7 + 2 * 6 && __dp2a_hi(0x00020003, 0x04050607, 0) == 23;
  y[7] = __vsadu2(0x00030001, 0x00010004) == 5 && __vcmplts2(0x80000001, 0x00000001) == 0xffff0000;
}

__global__ void sixteen_bits(int* y, float one) {
  const __half a = one, nan = __ushort_as_half(0x7e00);
  y[0] = float(__hfma_relu(a, __half(-2.0f), a)) == 0 && float(__hfma_sat(a, a, a)) == 1;
  y[1] = __hltu(nan, a) && !__hlt(nan, a) && __hisnan(__hmax_nan(a, nan)) && float(__hmax(a, nan)) == 1;
  y[2] = __heq2_mask(__half2(a, nan), __half2(a, nan)) == 0xffff && __hbgeu2(__half2(a, nan), __half2(a, a));
  y[3] = float(__int2half_ru(4097)) == 4100 && float(__int2half_rd(4097)) == 4096 && __half2int_ru(1.5f) == 2;
  y[4] = float(__float2half_rz(-70000.0f)) == -65504 && std::isinf(float(__float2half_rd(-70000.0f)));
  y[5] = float(__float2bfloat16_ru(1 + 0x1p-20f)) == 1 + 0x1p-7f && __bfloat162short_rz(__nv_bfloat16(-1.5f)) == -1 &&
         __bfloat162ll_rd(__nv_bfloat16(-1.5f)) == -2 && __half2ushort_ru(__half(1.5f)) == 2;
  const __half2 product = __hcmadd(__half2(1.0f, 2.0f), __half2(3.0f, 4.0f), __half2(a, a));
  y[6] = float(product.x) == -4 && float(product.y) == 11;
}

__global__ void add(int* y, int n) { *y += n; }
__global__ void subtract(int* y, int n) { *y -= n; }
void (*kernels[])(int*, int) = {add, subtract};
void (*kernel_of(int i))(int*, int) { return kernels[i]; }
bool table() {
  int host = 0, *y = nullptr;
  checkCudaErrors(cudaMalloc(&y, sizeof *y));
  checkCudaErrors(cudaMemset(y, 0, sizeof *y));
  for (int i = 0; i < 2; ++i) kernels[i]<<<1, 1>>>(y, 10 * (1 - i) + 3 * i);
  kernel_of(0)<<<1, 1>>>(y, 100);
  getLastCudaError("launches");
  checkCudaErrors(cudaMemcpy(&host, y, sizeof host, cudaMemcpyDeviceToHost));
  checkCudaErrors(cudaFree(y));
  return host == 107;
}

// Each thread has memory of its own for a while, which another one has had before.
__global__ void allocates(int* y) {
  bool right = true;
  for (int round = 0; round < 3; ++round) {
    int* own = nullptr;
    cudaMalloc(&own, 64);
    *own = threadIdx.x;
    *own += 1;
    right &= *own == static_cast<int>(threadIdx.x) + 1;
    cudaFree(own);
  }
  y[blockIdx.x * blockDim.x + threadIdx.x] = right;
}
bool allocations() {
  const on_device<int> y(128);
  allocates<<<2, 64>>>(y.p);
  return y.host() == std::vector<int>(128, 1);
}
// A texture object tells what it was made of.
bool texture_descriptions() {
  float* d = nullptr;
  cudaMalloc(&d, 64 * sizeof *d);
  cudaResourceDesc resource = {}, resource_again = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = d;
  resource.res.linear.desc = cudaCreateChannelDesc<float>();
  resource.res.linear.sizeInBytes = 64 * sizeof *d;
  cudaTextureDesc how = {}, how_again = {};
  how.readMode = cudaReadModeElementType;
  how.normalizedCoords = 0;
  how.addressMode[0] = cudaAddressModeClamp;
  cudaTextureObject_t object = 0;
  cudaCreateTextureObject(&object, &resource, &how, nullptr);
  const bool right = cudaGetTextureObjectResourceDesc(&resource_again, object) == cudaSuccess &&
                     resource_again.res.linear.devPtr == d &&
                     cudaGetTextureObjectTextureDesc(&how_again, object) == cudaSuccess &&
                     how_again.addressMode[0] == cudaAddressModeClamp;
  cudaDestroyTextureObject(object);
  cudaFree(d);
  return right;
}

__global__ void multiply(int* y, int n) { *y *= n; }
// ((1 + 2) * 5 + 2) * 5, of a child that adds 2 and multiplies, twice, one behind the other.
bool child_graph() {
  int host = 1, two = 2, five = 5, *y = nullptr;
  cudaMalloc(&y, sizeof *y);
  cudaMemcpy(y, &host, sizeof host, cudaMemcpyHostToDevice);
  cudaGraph_t parent, child;
  cudaGraphCreate(&parent, 0);
  cudaGraphCreate(&child, 0);
  cudaGraphNode_t sum, product, first, second;
  void* with_two[] = {&y, &two};
  void* with_five[] = {&y, &five};
  cudaKernelNodeParams p = {(void*)add, dim3(1), dim3(1), 0, with_two, nullptr};
  cudaGraphAddKernelNode(&sum, child, nullptr, 0, &p);
  p.func = (void*)multiply, p.kernelParams = with_five;
  cudaGraphAddKernelNode(&product, child, &sum, 1, &p);
  bool right = cudaGraphAddChildGraphNode(&first, parent, nullptr, 0, child) == cudaSuccess &&
               cudaGraphAddChildGraphNode(&second, parent, &first, 1, child) == cudaSuccess;
  cudaGraphDestroy(child);
  cudaGraphExec_t exec;
  right &= cudaGraphInstantiate(&exec, parent, nullptr, nullptr, 0) == cudaSuccess;
  right &= cudaGraphLaunch(exec, nullptr) == cudaSuccess;
  cudaMemcpy(&host, y, sizeof host, cudaMemcpyDeviceToHost);
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(parent);
  cudaFree(y);
  return right && host == 85;
}

bool helpers() {
  const char* words[] = {"program", "--n=12", "-x=0.5", "--name=a", "-fast"};
  char* name = nullptr;
  StopWatchInterface* timer = nullptr;
  sdkCreateTimer(&timer);
  sdkStartTimer(&timer);
  sdkStopTimer(&timer);
  const float reference[] = {1, 2}, data[] = {1, 2.0001f}, far[] = {1, 3};
  const bool right = findCudaDevice(5, words) == 0 && checkCmdLineFlag(5, words, "fast") &&
                     !checkCmdLineFlag(5, words, "fas") && getCmdLineArgumentInt(5, words, "n") == 12 &&
                     getCmdLineArgumentFloat(5, words, "x") == 0.5f &&
                     getCmdLineArgumentString(5, words, "name", &name) && std::strcmp(name, "a") == 0 &&
                     sdkGetTimerValue(&timer) >= 0 && sdkCompareL2fe(reference, data, 2, 1e-3f) &&
                     !sdkCompareL2fe(reference, far, 2, 1e-3f) && checkCudaCapabilities(7, 5);
  sdkDeleteTimer(&timer);
  return right && table();
}

// y doubles while its condition holds, twice; then by a choice of two bodies, and if a value is not 0.
__global__ void double_until(int* y, int limit, cudaGraphConditionalHandle again) {
  *y *= 2;
  if (*y >= limit) cudaGraphSetConditional(again, 0);
}
bool conditional_graph() {
  int host = 1, *y = nullptr;
  cudaMalloc(&y, sizeof *y);
  cudaMemcpy(y, &host, sizeof host, cudaMemcpyHostToDevice);
  cudaGraph_t graph;
  cudaGraphCreate(&graph, 0);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaGraphNode_t last = nullptr;
  // Adds a node of a condition and captures a kernel into the last of its bodies.
  const auto add_node = [&](cudaGraphConditionalNodeType type, unsigned value, unsigned bodies, auto launch) {
    cudaGraphNodeParams p = {};
    p.type = cudaGraphNodeTypeConditional;
    cudaGraphConditionalHandleCreate(&p.conditional.handle, graph, value, cudaGraphCondAssignDefault);
    p.conditional.type = type;
    p.conditional.size = bodies;
    const cudaGraphNode_t before = last;
    cudaGraphAddNode(&last, graph, &before, nullptr, before != nullptr, &p);
    cudaStreamBeginCaptureToGraph(stream, p.conditional.phGraph_out[bodies - 1], nullptr, nullptr, 0,
                                  cudaStreamCaptureModeRelaxed);
    launch(p.conditional.handle);
    cudaStreamEndCapture(stream, nullptr);
  };
  add_node(cudaGraphCondTypeWhile, 1, 1, [&](auto again) { double_until<<<1, 1, 0, stream>>>(y, 100, again); });
  add_node(cudaGraphCondTypeSwitch, 2, 3, [&](auto) { add<<<1, 1, 0, stream>>>(y, 7); });
  add_node(cudaGraphCondTypeSwitch, 0, 2, [&](auto) { add<<<1, 1, 0, stream>>>(y, 1000); });
  add_node(cudaGraphCondTypeIf, 1, 1, [&](auto) { multiply<<<1, 1, 0, stream>>>(y, 3); });
  add_node(cudaGraphCondTypeIf, 0, 1, [&](auto) { multiply<<<1, 1, 0, stream>>>(y, 0); });
  add_node(cudaGraphCondTypeIf, 0, 2, [&](auto) { add<<<1, 1, 0, stream>>>(y, 1); });  // otherwise
  cudaGraphExec_t exec;
  bool right = cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess;
  cudaGraphDestroy(graph);
  for (int i = 0; i < 2; ++i) right &= cudaGraphLaunch(exec, stream) == cudaSuccess;
  cudaMemcpyAsync(&host, y, sizeof host, cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  cudaGraphExecDestroy(exec);
  cudaStreamDestroy(stream);
  cudaFree(y);
  return right && host == (2 * ((128 + 7) * 3 + 1) + 7) * 3 + 1;
}

int main(int argc, char** argv) {
  const mode modes[] = {{"settings", [] { return settings() && table(); }},
                        {"child-graph", child_graph},
                        {"conditional-graph", conditional_graph},
                        {"allocations", allocations},
                        {"texture-descriptions", texture_descriptions},
                        {"helpers", helpers},
                        {"special-functions", [] { return all_right(special_functions, 7, 0.5, 3.0f); }},
                        {"directions", [] { return all_right(directions, 10, 1.0, 1.0f); }},
                        {"lanes", [] { return all_right(lanes, 8, 0x01ff8008u); }},
                        {"sixteen-bits", [] { return all_right(sixteen_bits, 7, 1.0f); }}};
  return run_modes(argc, argv, modes);
}
