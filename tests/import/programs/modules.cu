// Kernels of the driver API: of a PTX file, of a PTX text and of sources that NVRTC compiles at run time. Each check is
// on the host; a wrong value is the program's exit status.
#include <cuda.h>
#include <nvrtc.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define CHECK(call) check(call, #call, __LINE__)
void check(CUresult e, const char* what, int line) {
  if (e == CUDA_SUCCESS) return;
  const char* name = nullptr;
  cuGetErrorName(e, &name);
  std::printf("line %d: %s: %s\n", line, what, name);
  std::exit(3);
}
void check(bool holds, const char* what, int line) {
  if (holds) return;
  std::printf("line %d: %s\n", line, what);
  std::exit(3);
}

// Adds `by` to n elements and counts the launches' threads.
const char* const k_text = R"(
.version 8.0
.target sm_90
.address_size 64
.global .align 4 .u32 count[2] = {5, 7};
.visible .entry add(.param .u64 to, .param .u32 n, .param .f32 by)
.maxntid 64
{
  .reg .b64 p, c;
  .reg .b32 i, m, old;
  .reg .f32 x, y;
  .reg .pred q;
  ld.param.u64 p, [to];
  ld.param.u32 m, [n];
  ld.param.f32 y, [by];
  mov.u32 i, %tid.x;
  setp.ge.u32 q, i, m;
  @q bra END;
  mad.wide.u32 p, i, 4, p;
  ld.global.f32 x, [p];
  add.f32 x, x, y;
  st.global.f32 [p], x;
  mov.u64 c, count;
  atom.global.add.u32 old, [c+4], 1;
END:
  ret;
}
)";

// Two programs of equal names that differ in a macro.
const char* const k_source = R"(#include "turn.h"
template <class T>
__global__ void scale(T* x, T by) { x[threadIdx.x] *= by; }
namespace acme { __global__ void fill(float* x, char c, double value) { x[threadIdx.x] = turned(c) + value; } }
__constant__ float factors[2];
extern "C" __global__ void reverse(float* x) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
#ifndef NO_BARRIER
  __syncthreads();
#endif
  x[threadIdx.x] = s[63 - threadIdx.x] * factors[0] + MORE;
}
)";
const char* const k_header = "static __device__ float turned(char c) { return c == 1 ? MORE : 0; }\n";

CUmodule compiled(const char* more, std::string* scale_of_float) {
  nvrtcProgram program;
  const char* const names[] = {"turn.h"};
  check(nvrtcCreateProgram(&program, k_source, "reverse.cu", 1, &k_header, names) == NVRTC_SUCCESS, "create", __LINE__);
  check(nvrtcAddNameExpression(program, "&scale<float>") == NVRTC_SUCCESS, "name", __LINE__);
  check(nvrtcAddNameExpression(program, "acme::fill") == NVRTC_SUCCESS, "name", __LINE__);
  const char* options[] = {"--gpu-architecture=compute_90", more,
#ifdef MISSING_BARRIER
                           "-DNO_BARRIER"
#else
                           "-DA_BARRIER"
#endif
  };
  check(nvrtcCompileProgram(program, 3, options) == NVRTC_SUCCESS, "compile", __LINE__);
  const char* lowered = nullptr;
  check(nvrtcGetLoweredName(program, "&scale<float>", &lowered) == NVRTC_SUCCESS, "lowered", __LINE__);
  *scale_of_float = lowered;
  size_t bytes = 0;
  nvrtcGetPTXSize(program, &bytes);
  std::vector<char> ptx(bytes);
  nvrtcGetPTX(program, ptx.data());
  nvrtcDestroyProgram(&program);
  CUmodule module;
  CHECK(cuModuleLoadDataEx(&module, ptx.data(), 0, nullptr, nullptr));
  return module;
}

void run_file() {
  CUmodule module;
  CHECK(cuModuleLoad(&module, "no.ptx") == CUDA_ERROR_FILE_NOT_FOUND);
  CHECK(cuModuleLoad(&module, "ptx/kernels.ptx"));
  CUfunction sum_rows;
  CHECK(cuModuleGetFunction(&sum_rows, module, "sum") == CUDA_ERROR_NOT_FOUND);
  CHECK(cuModuleGetFunction(&sum_rows, module, "sum_rows"));
  std::vector<float> x(3 * 128, 1.0f), sums(3);
  CUdeviceptr rows, row_sums, total;
  CHECK(cuMemAlloc(&rows, x.size() * 4));
  CHECK(cuMemAlloc(&row_sums, 3 * 4));
  CHECK(cuMemAlloc(&total, 4));
  CHECK(cuMemcpyHtoD(rows, x.data(), x.size() * 4));
  CHECK(cuMemsetD32(total, 0, 1));
  void* arguments[] = {&rows, &row_sums, &total};
  CHECK(cuLaunchKernel(sum_rows, 3, 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr));
  CHECK(cuCtxSynchronize());
  CHECK(cuMemcpyDtoH(sums.data(), row_sums, 3 * 4));
  CHECK(sums[0] == 128 && sums[2] == 128);
  CHECK(cuMemFree(rows));
  CHECK(cuMemFree(row_sums));
  CHECK(cuMemFree(total));
  CHECK(cuModuleUnload(module));
}

void run_text() {
  for (int round = 0; round < 2; ++round) {
    CUmodule module;
    CHECK(cuModuleLoadData(&module, k_text));  // text
    CUfunction add;
    CHECK(cuModuleGetFunction(&add, module, "add"));
    CUdeviceptr x, count;
    size_t bytes = 0;
    CHECK(cuModuleGetGlobal(&count, &bytes, module, "count"));
    CHECK(bytes == 8);
    float values[50] = {};
    CHECK(cuMemAlloc(&x, sizeof values));
    CHECK(cuMemcpyHtoD(x, values, sizeof values));
    CHECK(cuCtxSynchronize());  // the stream does not wait for the copy
    CUstream stream;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
#ifdef PAST_THE_END
    unsigned n = 51;
#else
    unsigned n = 50;
#endif
    struct {
      CUdeviceptr to;
      unsigned n;
      float by;
    } packed = {x, n, 1.5f};
    size_t size = sizeof packed;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    CUlaunchConfig config = {1, 1, 1, 64, 1, 1, 0, stream, nullptr, 0};
    CHECK(cuLaunchKernelEx(&config, add, nullptr, extra));
#ifdef LARGE_BLOCK
    config.blockDimX = 128;
    cuLaunchKernelEx(&config, add, nullptr, extra);  // large-block
#endif
#ifndef NO_WAIT
    CHECK(cuStreamSynchronize(stream));
#endif
    unsigned counts[2];
    CHECK(cuMemcpyDtoH(values, x, sizeof values));  // early-copy
    CHECK(cuMemcpyDtoH(counts, count, sizeof counts));
#ifndef NO_WAIT
    CHECK(values[49] == 1.5f && counts[0] == 5 && counts[1] == 57);  // in both rounds: a module begins anew
#endif
    CHECK(cuStreamDestroy(stream));
    CHECK(cuMemFree(x));
    CHECK(cuModuleUnload(module));
  }
}

void run_sources() {
  std::string scale, same;
  CUmodule first = compiled("-DMORE=0", &scale), second = compiled("-D MORE=100", &same);
  CUfunction reverse[2], scale_of_float, fill;
  CHECK(cuModuleGetFunction(&reverse[0], first, "reverse"));
  CHECK(cuModuleGetFunction(&reverse[1], second, "reverse"));
  CHECK(cuModuleGetFunction(&scale_of_float, first, scale.c_str()));
  CHECK(cuModuleGetFunction(&fill, second, "_ZN4acme4fillEPfcd"));
  CUdeviceptr x, factors;
  CHECK(cuMemAlloc(&x, 64 * 4));
  const float two[2] = {2, 0};
  for (CUmodule m : {first, second}) {
    CHECK(cuModuleGetGlobal(&factors, nullptr, m, "factors"));
    CHECK(cuMemcpyHtoD(factors, two, sizeof two));
  }
  float values[64];
  for (int i = 0; i < 64; ++i) values[i] = static_cast<float>(i);
  CHECK(cuMemcpyHtoD(x, values, sizeof values));
  void* only_x[] = {&x};
  CHECK(cuLaunchKernel(reverse[0], 1, 1, 1, 64, 1, 1, 0, nullptr, only_x, nullptr));
  CHECK(cuLaunchKernel(reverse[1], 1, 1, 1, 64, 1, 1, 0, nullptr, only_x, nullptr));
  float by = 0.5f;
  void* scaled[] = {&x, &by};
  CHECK(cuLaunchKernel(scale_of_float, 1, 1, 1, 32, 1, 1, 0, nullptr, scaled, nullptr));
  CHECK(cuMemcpyDtoH(values, x, sizeof values));
  CHECK(values[1] == (1 * 4 + 100) * 0.5f && values[40] == 40 * 4 + 100);
  struct {
    CUdeviceptr x;
    char c;
    double value;
  } packed = {x, 1, 0.25};
  size_t size = sizeof packed;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  CHECK(cuLaunchKernel(fill, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra));
  CHECK(cuMemcpyDtoH(values, x, sizeof values));
  CHECK(values[63] == 100.25f);
  CHECK(cuMemFree(x));
}

int main(int argc, char** argv) {
  std::puts("begin");
  CHECK(cuInit(0));
  CUdevice device;
  CUcontext context;
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuCtxCreate(&context, 0, device));
  const std::string what = argc > 1 ? argv[1] : "all";
  if (what == "file" || what == "all") run_file();
  if (what == "text" || what == "all") run_text();
  if (what == "sources" || what == "all") run_sources();
  if (what == "machine-code") {
    CUmodule module;
    cuModuleLoadData(&module, "\177ELF");  // machine-code
  }
  if (what == "wrong-text") {
    CUmodule module;
    CUfunction function;
    cuModuleLoadData(&module, ".version 8.0\n.entri k() { ret; }\n");  // wrong-text
    cuModuleGetFunction(&function, module, "k");
  }
  if (what == "wrong-source") {
    nvrtcProgram program;
    nvrtcCreateProgram(&program, "extern \"C\" __global__ void k(float* x) {\n  *x = undeclared;\n}\n", "wrong.cu", 0,
                       nullptr, nullptr);
    nvrtcCompileProgram(program, 0, nullptr);
    char text[200];
    nvrtcGetPTX(program, text);
    CUmodule module;
    CUfunction function;
    cuModuleLoadData(&module, text);
    cuModuleGetFunction(&function, module, "k");
  }
  CHECK(cuCtxDestroy(context));
  std::puts("reached the end");
}
