#include "simt/matrix_product.hpp"

#include <algorithm>

namespace simt {

void multiply_matrices(size_t m, size_t n, size_t k, const double* a, const double* b, double* c) {
  std::fill_n(c, m * n, 0.0);
  constexpr size_t k_rows = 256;  // of c at a time: they stay in the first cache
  for (size_t begin = 0; begin < m; begin += k_rows) {
    const size_t end = std::min(begin + k_rows, m);
    for (size_t col = 0; col < n; ++col) {
      double* const sums = c + col * m;
      for (size_t i = 0; i < k; ++i) {
        const double factor = b[col * k + i];
        const double* const column = a + i * m;
        for (size_t row = begin; row < end; ++row) sums[row] += column[row] * factor;
      }
    }
  }
}

}  // namespace simt
