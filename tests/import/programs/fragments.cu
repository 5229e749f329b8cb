// wmma of every type and shape, each against sums of integers, which all of them hold.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <cstdio>
#include <vector>

#include "on_device.cuh"

namespace wmma = nvcuda::wmma;

template <class T>
__host__ __device__ int value(int row, int col) {
  const int v = (row * 7 + col * 3) % 9;
  return static_cast<T>(-1) < static_cast<T>(0) ? v - 4 : v;
}
template <>
__host__ __device__ int value<__half>(int row, int col) {
  return (row * 7 + col * 3) % 9 - 4;
}
template <>
__host__ __device__ int value<__nv_bfloat16>(int row, int col) {
  return (row * 7 + col * 3) % 9 - 4;
}

template <int M, int N, int K, class T, class Sum, class LayoutA, class LayoutB, class Element>
__global__ void product(const Element* a, const Element* b, Sum* d) {
  wmma::fragment<wmma::matrix_a, M, N, K, T, LayoutA> fa;
  wmma::fragment<wmma::matrix_b, M, N, K, T, LayoutB> fb;
  wmma::fragment<wmma::accumulator, M, N, K, Sum> sums;
  wmma::fill_fragment(sums, static_cast<Sum>(1));
  wmma::load_matrix_sync(fa, a, std::is_same<LayoutA, wmma::row_major>::value ? K : M);
  wmma::load_matrix_sync(fb, b, std::is_same<LayoutB, wmma::row_major>::value ? N : K);
  wmma::mma_sync(sums, fa, fb, sums);
  wmma::mma_sync(sums, fa, fb, sums);
  for (int i = 0; i < sums.num_elements; ++i) sums.x[i] = sums.x[i] * static_cast<Sum>(2);
  wmma::store_matrix_sync(d, sums, M, wmma::mem_col_major);
}

template <int M, int N, int K, class T, class Sum, class LayoutA, class LayoutB, class Element = T>
bool is_right() {
  const bool rows_of_a = std::is_same<LayoutA, wmma::row_major>::value;
  const bool rows_of_b = std::is_same<LayoutB, wmma::row_major>::value;
  std::vector<Element> a(M * K), b(K * N);
  for (int k = 0; k < K; ++k) {
    for (int row = 0; row < M; ++row) a[rows_of_a ? row * K + k : k * M + row] = value<Element>(row, k);
    for (int col = 0; col < N; ++col) b[rows_of_b ? k * N + col : col * K + k] = value<Element>(k + 5, col);
  }
  const on_device<Element> on_a(a), on_b(b);
  const on_device<Sum> on_d(M * N);
  product<M, N, K, T, Sum, LayoutA, LayoutB><<<1, 32>>>(on_a.p, on_b.p, on_d.p);
  const std::vector<Sum> d = on_d.host();
  for (int row = 0; row < M; ++row)
    for (int col = 0; col < N; ++col) {
      int sum = 0;
      for (int k = 0; k < K; ++k) sum += value<Element>(row, k) * value<Element>(k + 5, col);
      if (static_cast<double>(d[col * M + row]) != 2 * (1 + 2 * sum)) {
        std::printf("%d x %d x %d: element %d, %d is wrong\n", M, N, K, row, col);
        return false;
      }
    }
  return true;
}
using rows = wmma::row_major;
using cols = wmma::col_major;
template <class T, class Sum>
bool shapes_are_right() {
  return is_right<16, 16, 16, T, Sum, rows, rows>() && is_right<16, 16, 16, T, Sum, cols, cols>() &&
         is_right<32, 8, 16, T, Sum, rows, cols>() && is_right<8, 32, 16, T, Sum, rows, cols>() &&
         is_right<8, 32, 16, T, Sum, cols, rows>();
}

// Programs depend on a GPU's places of elements (compute capability 8.0): 16 of each operand, of which half repeat.
__global__ void places(const __half* a, int* wrong) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, rows> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, cols> right;
  wmma::load_matrix_sync(left, a, 16);
  wmma::load_matrix_sync(right, a, 16);
  static_assert(left.num_elements == 16 && right.num_elements == 16);
  for (int i = 0; i < 16; ++i) {
    const int line = threadIdx.x / 4, within = threadIdx.x % 4 * 2 + i % 2, first = i / 2 % 2 * 8,
              second = i / 4 % 2 * 8;
    const __half of_a = a[(line + first) * 16 + within + second], of_b = a[(line + second) * 16 + within + first];
    if (left.x[i] != of_a || right.x[i] != of_b) atomicAdd(wrong, 1);
  }
}
bool places_are_right() {
  std::vector<__half> a(256);
  for (int i = 0; i < 256; ++i) a[i] = i;
  const on_device<__half> on_a(a);
  const on_device<int> wrong(1);
  places<<<1, 32>>>(on_a.p, wrong.p);
  return wrong.host()[0] == 0;
}

int main() {
  const bool right = shapes_are_right<__half, float>() && shapes_are_right<__half, __half>() &&
                     shapes_are_right<__nv_bfloat16, float>() && shapes_are_right<signed char, int>() &&
                     shapes_are_right<unsigned char, int>() && is_right<8, 8, 4, double, double, rows, cols>() &&
                     is_right<16, 16, 8, wmma::precision::tf32, float, rows, cols, float>() && places_are_right();
  return right ? 0 : 1;
}
