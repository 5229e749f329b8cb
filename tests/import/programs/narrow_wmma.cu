// wmma of 4 bits and of single bits: sums of products of nibbles, counts of bits that differ or are set in both.
#include <cuda_runtime.h>
#include <mma.h>

#include <cstdint>
#include <cstdio>
#include <type_traits>
#include <vector>

#include "on_device.cuh"

using namespace nvcuda;
namespace precision = wmma::experimental::precision;

// Rows of A and columns of B are 16 bytes of bits, or of nibbles.
template <class T, int K>
__global__ void multiply(const uint8_t* a, const uint8_t* b, int* d, int op) {
  wmma::fragment<wmma::matrix_a, 8, 8, K, T, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 8, 8, K, T, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 8, 8, K, int> sum;
  wmma::fill_fragment(sum, 100);
  wmma::load_matrix_sync(left, a, K);
  wmma::load_matrix_sync(right, b, K);
  if constexpr (std::is_same_v<T, precision::b1>)
    wmma::bmma_sync(sum, left, right, sum,
                    op == 0 ? wmma::experimental::bmmaBitOpXOR : wmma::experimental::bmmaBitOpAND);
  else
    wmma::mma_sync(sum, left, right, sum);
  wmma::store_matrix_sync(d, sum, 8, wmma::mem_row_major);
}

int nibble(const uint8_t* row, int k, bool is_signed) {
  const int x = row[k / 2] >> k % 2 * 4 & 15;
  return is_signed && x > 7 ? x - 16 : x;
}

template <class T, int K>
bool is_right(int op) {
  constexpr int bytes = 16;
  std::vector<uint8_t> a(8 * bytes), b(8 * bytes);
  for (int i = 0; i < 8 * bytes; ++i) {
    a[i] = static_cast<uint8_t>(i * 37 + i / 16 * 11 + 5);
    b[i] = static_cast<uint8_t>(i * 91 + i / 16 * 3 + 9);
  }
  const on_device<uint8_t> on_a(a), on_b(b);
  const on_device<int> on_d(64);
  multiply<T, K><<<1, 32>>>(on_a.p, on_b.p, on_d.p, op);
  const std::vector<int> d = on_d.host();
  for (int row = 0; row < 8; ++row)
    for (int col = 0; col < 8; ++col) {
      int sum = 100;
      for (int k = 0; k < K; ++k) {
        const uint8_t *x = &a[row * bytes], *y = &b[col * bytes];
        if (K == 128) {
          const int left = x[k / 8] >> k % 8 & 1, right = y[k / 8] >> k % 8 & 1;
          sum += op == 0 ? left ^ right : left & right;
        } else {
          constexpr bool is_signed = std::is_same_v<T, precision::s4>;
          sum += nibble(x, k, is_signed) * nibble(y, k, is_signed);
        }
      }
      if (d[row * 8 + col] != sum) return std::printf("%d %d: %d for %d\n", row, col, d[row * 8 + col], sum) < 0;
    }
  return true;
}

int main() {
  return is_right<precision::b1, 128>(0) && is_right<precision::b1, 128>(1) && is_right<precision::s4, 32>(0) &&
                 is_right<precision::u4, 32>(0)
             ? 0
             : 1;
}
