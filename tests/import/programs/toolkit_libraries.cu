// cuRAND and cuFFT as programs call them beside their kernels, each in a mode of its own.
#include <cuda_runtime.h>
#include <cufft.h>
#include <curand_kernel.h>
// which brings the next one, too
#include <curand.h>
#include <nvToolsExt.h>
#include <nvml.h>

#include <cmath>
#include <complex>
#include <cstdio>
#include <cstring>
#include <vector>

#include "on_device.cuh"

template <class T>
bool has_moments(const std::vector<T>& x, double mean, double variance) {
  double sum = 0, squares = 0;
  for (const T v : x) sum += v;
  sum /= x.size();
  for (const T v : x) squares += (v - sum) * (v - sum);
  squares /= x.size();
  std::printf("mean %g, variance %g\n", sum, squares);
  return std::fabs(sum - mean) < 0.1 && std::fabs(squares - variance) < 0.1 * (1 + variance);
}

// The host's functions: each of its distribution; a seed repeats the numbers, an offset goes on in them.
bool generators() {
  constexpr size_t n = 4096;
  const on_device<float> x(n);
  const on_device<double> d(n);
  const on_device<unsigned> u(n);
  curandGenerator_t g, host_generator;
  curandCreateGenerator(&g, CURAND_RNG_PSEUDO_DEFAULT);
  curandSetPseudoRandomGeneratorSeed(g, 1234ULL);
  curandGenerateUniform(g, x.p, n);
  const std::vector<float> first = x.host();
  bool right = has_moments(first, 0.5, 1 / 12.0);
  for (const float v : first) right &= v > 0 && v <= 1;
  curandSetPseudoRandomGeneratorSeed(g, 1234ULL);
  curandSetGeneratorOffset(g, 10);
  curandGenerateUniform(g, x.p, n - 10);
  right &= x.host()[0] == first[10];
  right &= curandGenerateNormal(g, x.p, n - 1, 0, 1) == CURAND_STATUS_LENGTH_NOT_MULTIPLE;
  right &= curandGenerateNormal(g, x.p, n, 3, 2) == CURAND_STATUS_SUCCESS && has_moments(x.host(), 3, 4);
  right &= curandGenerateNormalDouble(g, d.p, n, 0, 1) == CURAND_STATUS_SUCCESS && has_moments(d.host(), 0, 1);
  right &=
      curandGenerateLogNormalDouble(g, d.p, n, 0, 0.5) == CURAND_STATUS_SUCCESS && has_moments(d.host(), 1.133, 0.365);
  right &= curandGeneratePoisson(g, u.p, n, 4) == CURAND_STATUS_SUCCESS && has_moments(u.host(), 4, 4);
  float on_host[64] = {};
  curandCreateGeneratorHost(&host_generator, CURAND_RNG_PSEUDO_MT19937);
  right &= curandGenerateUniform(host_generator, on_host, 64) == CURAND_STATUS_SUCCESS && on_host[63] > 0;
  curandDestroyGenerator(host_generator);
  curandDestroyGenerator(g);
  curandCreateGenerator(&g, CURAND_RNG_QUASI_SOBOL32);
  curandGenerateUniformDouble(g, d.p, n);
  right &= std::fabs(d.host()[2] - 0.75) < 1e-9 && has_moments(d.host(), 0.5, 1 / 12.0);
  curandDestroyGenerator(g);
  return right;
}

template <class State>
__global__ void draw(float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  State state;
  curand_init(1234ULL, i, 0, &state);
  if (i < n) y[i] = curand_uniform(&state), y[n + i] = curand_normal(&state);
}
// The device's generators are the toolkit's own code.
bool device_generators() {
  constexpr int n = 2048;
  const on_device<float> y(2 * n);
  bool right = true;
  for (const auto kernel : {draw<curandState>, draw<curandStatePhilox4_32_10_t>}) {
    kernel<<<n / 256, 256>>>(y.p, n);
    const std::vector<float> got = y.host(), uniform(got.begin(), got.begin() + n), normal(got.begin() + n, got.end());
    right &= has_moments(uniform, 0.5, 1 / 12.0) && has_moments(normal, 0, 1);
  }
  return right;
}

__global__ void scale(cufftComplex* x, int n, float by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i].x *= by, x[i].y *= by;
}
// Lengths with factors 2, 3, 5 and 7, there and back, against the definition.
bool complex_transform(int nx, int ny) {
  const int n = nx * ny;
  std::vector<std::complex<float>> x(n);
  for (int i = 0; i < n; ++i) x[i] = {std::sin(1.0f * i), std::cos(3.0f * i * i)};
  const on_device<std::complex<float>> numbers(x);
  auto* const d = reinterpret_cast<cufftComplex*>(numbers.p);
  cufftHandle plan;
  bool right =
      (ny == 1 ? cufftPlan1d(&plan, nx, CUFFT_C2C, 1) : cufftPlan2d(&plan, nx, ny, CUFFT_C2C)) == CUFFT_SUCCESS;
  right &= cufftExecC2C(plan, d, d, CUFFT_FORWARD) == CUFFT_SUCCESS;
  std::vector<std::complex<float>> y = numbers.host();
  for (int k = 0; k < nx; ++k)
    for (int l = 0; l < ny; ++l) {
      std::complex<double> sum = 0;
      for (int i = 0; i < nx; ++i)
        for (int j = 0; j < ny; ++j)
          sum += std::complex<double>(x[i * ny + j]) *
                 std::polar(1.0, -6.283185307179586477 * (1.0 * i * k / nx + 1.0 * j * l / ny));
      right &= std::abs(sum - std::complex<double>(y[k * ny + l])) < 1e-4;
    }
  right &= cufftExecC2C(plan, d, d, CUFFT_INVERSE) == CUFFT_SUCCESS;
  scale<<<(n + 63) / 64, 64>>>(d, n, 1.0f / n);
  y = numbers.host();
  for (int i = 0; i < n; ++i) right &= std::abs(x[i] - y[i]) < 1e-4f;
  cufftDestroy(plan);
  return right;
}
// Batches of reals, there and back, out of place and in place.
bool real_transform() {
  constexpr int n = 12, half = n / 2 + 1, batches = 3;
  std::vector<double> x(n * batches);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(2.0 * i) + i % 5;
  const on_device<double> real(x), padded(2 * half * batches);
  const on_device<cufftDoubleComplex> spectrum(half * batches);
  cudaMemcpy2D(padded.p, 2 * half * sizeof(double), x.data(), n * sizeof(double), n * sizeof(double), batches,
               cudaMemcpyHostToDevice);
  cufftHandle there, back;
  bool right = cufftPlan1d(&there, n, CUFFT_D2Z, batches) == CUFFT_SUCCESS &&
               cufftPlan1d(&back, n, CUFFT_Z2D, batches) == CUFFT_SUCCESS;
  right &= cufftExecD2Z(there, real.p, spectrum.p) == CUFFT_SUCCESS;
  right &= cufftExecD2Z(there, padded.p, reinterpret_cast<cufftDoubleComplex*>(padded.p)) == CUFFT_SUCCESS;
  const std::vector<cufftDoubleComplex> y = spectrum.host();
  const std::vector<double> z = padded.host();
  for (int b = 0; b < batches; ++b)
    for (int k = 0; k < half; ++k) {
      std::complex<double> sum = 0;
      for (int i = 0; i < n; ++i) sum += x[b * n + i] * std::polar(1.0, -6.283185307179586477 * i * k / n);
      const cufftDoubleComplex value = y[b * half + k];
      right &= std::abs(sum - std::complex<double>(value.x, value.y)) < 1e-10;
      right &= value.x == z[2 * (b * half + k)] && value.y == z[2 * (b * half + k) + 1];
    }
  right &= cufftExecZ2D(back, spectrum.p, real.p) == CUFFT_SUCCESS;
  const std::vector<double> again = real.host();
  for (size_t i = 0; i < x.size(); ++i) right &= std::fabs(again[i] / n - x[i]) < 1e-12;
  cufftDestroy(there);
  cufftDestroy(back);
  return right;
}
bool transforms() {
  nvtxRangePushA("transforms");
  const bool right = complex_transform(64, 1) && complex_transform(210, 1) && complex_transform(12, 10) &&
                     complex_transform(11, 1) && complex_transform(1, 1) && real_transform();
  nvtxRangePop();
  return right;
}
// NVML states what the runtime states.
bool management() {
  nvmlDevice_t device;
  char bus[16], name[NVML_DEVICE_NAME_BUFFER_SIZE];
  unsigned clock = 0;
  cudaDeviceProp p;
  cudaGetDeviceProperties(&p, 0);
  cudaDeviceGetPCIBusId(bus, 16, 0);
  bool right = nvmlInit() == NVML_SUCCESS && nvmlDeviceGetHandleByPciBusId(bus, &device) == NVML_SUCCESS;
  right &= nvmlDeviceGetClockInfo(device, NVML_CLOCK_SM, &clock) == NVML_SUCCESS && int(clock) == p.clockRate / 1000;
  right &= nvmlDeviceGetName(device, name, sizeof name) == NVML_SUCCESS && std::strcmp(name, p.name) == 0;
  return nvmlShutdown() == NVML_SUCCESS && right;
}
// Nobody wrote what the transform reads.
bool unwritten() {
  cufftComplex* d = nullptr;
  cudaMalloc(&d, 8 * sizeof *d);
  scale<<<1, 8>>>(d, 0, 1);
  cufftHandle plan;
  cufftPlan1d(&plan, 8, CUFFT_C2C, 1);
  cufftExecC2C(plan, d, d, CUFFT_FORWARD);  // unwritten
  cudaDeviceSynchronize();
  cufftDestroy(plan);
  cudaFree(d);
  return true;
}

int main(int argc, char** argv) {
  const mode modes[] = {{"generators", generators},
                        {"device-generators", device_generators},
                        {"transforms", transforms},
                        {"management", management}};
  if (argc > 1 && std::strcmp(argv[1], "unwritten") == 0) return !unwritten();
  return run_modes(argc, argv, modes);
}
