#include "simt/import/blas.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "simt/emulated_memory.hpp"
#include "simt/import/half_arithmetic.hpp"
#include "simt/import/runtime.hpp"
#include "simt/matrix_product.hpp"

namespace simt::import::blas {
namespace {

double element(const void* data, cudaDataType type, int64_t i) {
  switch (type) {
    case CUDA_R_64F: return static_cast<const double*>(data)[i];
    case CUDA_R_32F: return static_cast<const float*>(data)[i];
    case CUDA_R_32I: return static_cast<const int32_t*>(data)[i];
    case CUDA_R_16F: return to_float(static_cast<const f16*>(data)[i]);
    case CUDA_R_16BF: return to_float(static_cast<const bf16*>(data)[i]);
    default: return static_cast<const int8_t*>(data)[i];
  }
}

void put(void* data, cudaDataType type, int64_t i, double value) {
  switch (type) {
    case CUDA_R_64F: static_cast<double*>(data)[i] = value; break;
    case CUDA_R_32F: static_cast<float*>(data)[i] = static_cast<float>(value); break;
    case CUDA_R_32I: static_cast<int32_t*>(data)[i] = static_cast<int32_t>(std::nearbyint(value)); break;
    case CUDA_R_16F: static_cast<f16*>(data)[i] = {half_float<f16>(value).bits}; break;
    case CUDA_R_16BF: static_cast<bf16*>(data)[i] = {half_float<bf16>(value).bits}; break;
    default: static_cast<int8_t*>(data)[i] = static_cast<int8_t>(std::nearbyint(value)); break;
  }
}

// The numbers of rows and columns in memory.
int64_t stored_rows(const matrix& m) { return m.transposed ? m.cols : m.rows; }
int64_t stored_cols(const matrix& m) { return m.transposed ? m.rows : m.cols; }

bool is_empty(const matrix& m) { return m.rows == 0 || m.cols == 0; }

// True if the whole matrix lies in device memory and, if it is an input, has been written.
bool is_usable(const call& at, const char* name, const matrix& m, bool is_input) {
  if (is_empty(m)) return true;
  const size_t each = bytes_of(m.type);
  const auto column = [&](int64_t col) {
    return static_cast<const char*>(m.data) + static_cast<size_t>(col * m.pitch) * each;
  };
  const size_t bytes = static_cast<size_t>((stored_cols(m) - 1) * m.pitch + stored_rows(m)) * each;
  if (!check_side(at.function, at.where, name, m.data, bytes, true, false)) return false;
  for (int64_t col = 0; is_input && col < stored_cols(m); ++col) {
    const unwritten_bytes none = count_unwritten(column(col), static_cast<size_t>(stored_rows(m)) * each);
    if (none.count == 0) continue;
    report("uninitialized",
           std::string(at.function) + " at " + describe(at.where) + " reads column " + std::to_string(col) + " of " +
               name + ", of which nobody wrote " + std::to_string(none.count) + " bytes from byte " +
               std::to_string(none.first),
           false);
    break;
  }
  return true;
}

bool is_well_formed(const matrix& m) {
  return m.rows >= 0 && m.cols >= 0 && m.pitch >= std::max<int64_t>(1, stored_rows(m));
}

double value(const matrix& m, int64_t row, int64_t col) {
  return element(m.data, m.type, m.transposed ? col + row * m.pitch : row + col * m.pitch);
}

// Returns op(m) in column-major order without gaps.
std::vector<double> values(const matrix& m) {
  std::vector<double> all(static_cast<size_t>(m.rows * m.cols));
  for (int64_t col = 0; col < m.cols; ++col)
    for (int64_t row = 0; row < m.rows; ++row) all[static_cast<size_t>(row + col * m.rows)] = value(m, row, col);
  return all;
}

void store(const call& at, const matrix& m, int64_t row, int64_t col, double exact) {
  put(const_cast<void*>(m.data), m.type, row + col * m.pitch, at.result(exact));
}

void note_written(const matrix& m) {
  const size_t each = bytes_of(m.type);
  auto* const data = static_cast<char*>(const_cast<void*>(m.data));
  for (int64_t col = 0; col < m.cols; ++col)
    mark_initialized(data + static_cast<size_t>(col * m.pitch) * each, static_cast<size_t>(m.rows) * each);
}

}  // namespace

size_t bytes_of(cudaDataType type) {
  switch (type) {
    case CUDA_R_64F: return 8;
    case CUDA_R_32F:
    case CUDA_R_32I: return 4;
    case CUDA_R_16F:
    case CUDA_R_16BF: return 2;
    case CUDA_R_8I: return 1;
    default: return 0;
  }
}
bool is_modelled(cudaDataType type) { return bytes_of(type) != 0; }

double scalar(const void* p, cudaDataType type) { return element(p, type, 0); }

void put_scalar(const call& at, void* p, cudaDataType type, double value) {
  put(p, type, 0, at.result(value));
  if (find_allocation(p) != nullptr) mark_initialized(p, bytes_of(type));
}

cublasStatus_t multiply(const call& at, double alpha, const matrix& a, const matrix& b, double beta, const matrix& c) {
  if (!is_well_formed(a) || !is_well_formed(b) || !is_well_formed(c)) return CUBLAS_STATUS_INVALID_VALUE;
  if (is_empty(c)) return CUBLAS_STATUS_SUCCESS;
  synchronize();
  const bool multiplies = alpha != 0 && a.cols > 0;
  if ((multiplies && (!is_usable(at, "A", a, true) || !is_usable(at, "B", b, true))) ||
      !is_usable(at, "C", c, beta != 0))
    return CUBLAS_STATUS_EXECUTION_FAILED;
  std::vector<double> sums(static_cast<size_t>(c.rows * c.cols));
  if (multiplies)
    multiply_matrices(static_cast<size_t>(c.rows), static_cast<size_t>(c.cols), static_cast<size_t>(a.cols),
                      values(a).data(), values(b).data(), sums.data());
  for (int64_t col = 0; col < c.cols; ++col)
    for (int64_t row = 0; row < c.rows; ++row) {
      const double product = alpha * sums[static_cast<size_t>(row + col * c.rows)];
      store(at, c, row, col, beta == 0 ? product : product + beta * value(c, row, col));
    }
  note_written(c);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t add(const call& at, double alpha, const matrix& a, double beta, const matrix& b, const matrix& c) {
  if (!is_well_formed(a) || !is_well_formed(b) || !is_well_formed(c)) return CUBLAS_STATUS_INVALID_VALUE;
  if (is_empty(c)) return CUBLAS_STATUS_SUCCESS;
  synchronize();
  if ((alpha != 0 && !is_usable(at, "A", a, true)) || (beta != 0 && !is_usable(at, "B", b, true)) ||
      !is_usable(at, "C", c, false))
    return CUBLAS_STATUS_EXECUTION_FAILED;
  for (int64_t col = 0; col < c.cols; ++col)
    for (int64_t row = 0; row < c.rows; ++row)
      store(at, c, row, col,
            (alpha != 0 ? alpha * value(a, row, col) : 0) + (beta != 0 ? beta * value(b, row, col) : 0));
  note_written(c);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t sum(const call& at, const matrix& a, const matrix& b, bool squares, double& result) {
  result = 0;
  if (a.cols <= 0) return CUBLAS_STATUS_SUCCESS;
  synchronize();
  if (!is_usable(at, "x", a, true) || (b.data != nullptr && !is_usable(at, "y", b, true)))
    return CUBLAS_STATUS_EXECUTION_FAILED;
  for (int64_t i = 0; i < a.cols; ++i) {
    const double x = value(a, 0, i);
    result += b.data != nullptr ? x * value(b, 0, i) : squares ? x * x : std::fabs(x);
  }
  if (squares) result = std::sqrt(result);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t extreme(const call& at, const matrix& a, bool least, int& place) {
  place = 0;
  if (a.cols <= 0) return CUBLAS_STATUS_SUCCESS;
  synchronize();
  if (!is_usable(at, "x", a, true)) return CUBLAS_STATUS_EXECUTION_FAILED;
  double best = 0;
  for (int64_t i = 0; i < a.cols; ++i) {
    const double x = std::fabs(value(a, 0, i));
    if (place != 0 && (least ? x >= best : x <= best)) continue;
    best = x, place = static_cast<int>(i) + 1;
  }
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace simt::import::blas
