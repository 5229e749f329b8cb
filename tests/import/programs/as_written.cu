// What people's programs contain, each kind in a mode of its own: macros of one letter before the toolkit's headers,
// a function-try-block as main(), shared memory as objects and with alignments of types, comparisons in declarations.
#define N 64
#define M 4
#define K 2
#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <cstdio>
#include <cstring>
#include <cuda/barrier>
#include <exception>
#include <type_traits>

#if !defined(__NVCC__) || __CUDACC_VER_MAJOR__ < 12 || !defined(__CUDACC_VER_MINOR__) || !defined(__CUDACC_VER_BUILD__)
#error "a source asks which nvcc compiles it"
#endif

template <int Size>
struct tile {
  int a[Size], b[Size];
};

// extern __shared__ of one object, of which a template is a member.
template <int Size>
__global__ void object(int* y) {
  extern __shared__ tile<Size> s;
  s.a[threadIdx.x] = threadIdx.x, s.b[threadIdx.x] = 100 + threadIdx.x;
  __syncthreads();
  y[threadIdx.x] = s.b[N - 1 - threadIdx.x] - s.a[N - 1 - threadIdx.x] == 100;
}

extern __shared__ tile<N> of_the_file;
__global__ void object_of_file(int* y) {
  of_the_file.a[threadIdx.x] = threadIdx.x;
  __syncthreads();
  y[threadIdx.x] = of_the_file.a[N - 1 - threadIdx.x] == N - 1 - threadIdx.x;
}

__global__ void alignment(int* y) {
  __shared__ char odd;
  __shared__ alignas(double) char of_type[N * sizeof(double)];
  __shared__ alignas(2 * K * 16) char of_number[N];
  odd = 0;
  double* const s = reinterpret_cast<double*>(of_type);
  s[threadIdx.x] = threadIdx.x + odd;
  __syncthreads();
  y[threadIdx.x] = s[N - 1 - threadIdx.x] == N - 1 - threadIdx.x && reinterpret_cast<size_t>(of_number) % 64 == 0;
}

template <bool B>
struct answer {
  static constexpr bool value = B;
};
template <int A>
struct number {};
template <int A, int B>
__host__ __device__ constexpr answer<A == B && B >= 0> operator==(number<A>, number<B>) {
  return {};
}
template <int A>
__device__ std::enable_if_t<(A > 2), int> large() {
  return threadIdx.x;
}
template <int A, class = std::enable_if_t<A <= 2>>
__device__ int small() {
  return threadIdx.x;
}
__global__ void comparisons(int* y) {
  y[threadIdx.x] = decltype(number<3>{} == number<3>{})::value && !decltype(number<3>{} == number<4>{})::value &&
                   large<3>() + small<1>() == 2 * threadIdx.x;
}

__global__ void unknown_ptx(int* y, int where) {
  if (where == 1) asm volatile("brkpt;");  // unknown-ptx
  y[threadIdx.x] = 1;
}

int run(const char* mode) try {
  int h[N], *y;
  cudaMalloc(&y, sizeof h);
  const auto is = [&](const char* name) { return std::strcmp(mode, name) == 0; };
  if (is("object")) object<N><<<1, N, sizeof(tile<N>)>>>(y);
  if (is("object-of-file")) object_of_file<<<1, N, sizeof(tile<N>)>>>(y);
  if (is("alignment")) alignment<<<1, N>>>(y);
  if (is("comparisons")) comparisons<<<1, N>>>(y);
  if (is("unknown-ptx")) unknown_ptx<<<1, N>>>(y, 1);
  if (is("unknown-ptx-unreached")) unknown_ptx<<<1, N>>>(y, 0);
  cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(y);
  for (const int one : h)
    if (one != 1) return 1;
  return 0;
} catch (const std::exception& e) {
  std::printf("%s\n", e.what());
  return 2;
}

auto main(int count, char** words) noexcept(false) -> int try { return count == 2 ? run(words[1]) : 3; } catch (...) {
  return 4;
}
