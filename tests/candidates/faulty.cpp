// Candidates for the CPU that publish no variants and no boundaries, as a stranger's do: right but for the one flaw
// that WARPCHECK_FLAW names, of which most show at certain lengths only.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "abi/candidate_table.hpp"
#include "docs/bring_your_own/call.hpp"

namespace {

using candidate::matrix;

constexpr bool flaw(std::string_view name) { return name == WARPCHECK_FLAW; }

float sink;

void softmax_row(const float* in, float* out, int64_t cols) {
  float m = -INFINITY;
  for (int64_t i = 0; i < cols; ++i) m = in[i] > m || in[i] != in[i] ? in[i] : m;
  double sum = 0;
  for (int64_t i = 0; i < cols; ++i) sum += std::exp(in[i] - m);
  for (int64_t i = 0; i < cols; ++i) out[i] = static_cast<float>(std::exp(in[i] - m) / sum);
}

[[maybe_unused]] warpcheck_status softmax(warpcheck_call* call) {
  return candidate::answer(call, [&] {
    const matrix<float> x = candidate::input<float>(call, 0, 2), y = candidate::output<float>(call, 0, 2);
    candidate::require(y.rows == x.rows && y.cols == x.cols, "y must have the shape of x");
    if (x.data != y.data || x.ld != y.ld) candidate::require_disjoint(x, y);
    // None, as docs/bring_your_own allows, and its place is not looked at.
    candidate::offer(call->num_outputs < 2 || !call->outputs[1], "this candidate has no argmax");
    for (int64_t r = 0; r < x.rows; ++r) {
      softmax_row(x.row(r), y.row(r), x.cols);
      // The maxima of a grid's first blocks only.
      if (flaw("rows-beyond-264") && r >= 264 && x.cols > 1024)
        for (int64_t i = 0; i < x.cols; ++i)
          y.row(r)[i] *= std::exp(*std::max_element(x.row(r), x.row(r) + x.cols) -
                                  *std::max_element(x.row(r - 264), x.row(r - 264) + x.cols));
      if (flaw("tail-beyond-131072") && x.cols > 131072) y.row(r)[x.cols - 1] = 0;
    }
    // What a loop that fetches ahead does behind the last row, or one that runs backwards before the first.
    if (flaw("reads-past") && !x.empty()) sink = static_cast<volatile const float*>(x.row(x.rows - 1))[x.cols];
    if (flaw("reads-before") && !x.empty()) sink = static_cast<volatile const float*>(x.data)[-1];
  });
}

int64_t argmax_row(const float* in, int64_t cols) {
  int64_t best = cols ? 0 : -1;
  for (int64_t i = 1; i < cols && in[best] == in[best]; ++i)
    if (in[i] > in[best] || in[i] != in[i] || (flaw("last-of-equals") && in[i] == in[best])) best = i;
  if (flaw("index-of-16-bits") && best >= 0) best &= 0xffff;
  return best;
}

[[maybe_unused]] warpcheck_status argmax(warpcheck_call* call) {
  return candidate::answer(call, [&] {
    const matrix<float> x = candidate::input<float>(call, 0, 2);
    const matrix<int64_t> index = candidate::output<int64_t>(call, 0, 1);
    candidate::require(index.cols == x.rows, "index must have an element for each row");
    candidate::require_disjoint(x, index);
    for (int64_t r = 0; r < x.rows; ++r) index.data[r] = argmax_row(x.row(r), x.cols);
  });
}

float reduce_row(int op, const float* in, int64_t cols) {
  // A tile too few where the row is no multiple of one.
  if (flaw("part-beyond-65536") && cols > 65536) cols -= cols % 65536;
  if (op == 0) {
    double sum = 0;
    for (int64_t i = 0; i < cols; ++i) sum += in[i];
    return static_cast<float>(sum);
  }
  const auto less = [](float a, float b) { return a < b || (a == b && std::signbit(a) && !std::signbit(b)); };
  const bool greatest = op == 2 && !flaw("maximum-is-minimum");
  float best = op == 2 ? -INFINITY : INFINITY;
  for (int64_t i = 0; i < cols; ++i) {
    if (in[i] != in[i]) return in[i];
    if (i == 0 || (greatest ? less(best, in[i]) : less(in[i], best))) best = in[i];
  }
  return best;
}

[[maybe_unused]] warpcheck_status reduce(warpcheck_call* call) {
  return candidate::answer(call, [&] {
    const matrix<float> x = candidate::input<float>(call, 0, 2);
    const matrix<float> y = candidate::output<float>(call, 0, 1);
    candidate::require(y.cols == x.rows, "y must have an element for each row");
    candidate::require_disjoint(x, y);
    const double op = candidate::scalar(call, "op");
    candidate::require(op == 0 || op == 1 || op == 2, "op must be 0 (sum), 1 (minimum) or 2 (maximum)");
    for (int64_t r = 0; r < x.rows; ++r) y.data[r] = reduce_row(static_cast<int>(op), x.row(r), x.cols);
  });
}

// The exponent of the grid of fixed64 (kernels/histogram/histogram.hpp).
int exponent_of(const DLTensor& x, double max_rows) {
  float largest = 0;
  for (int64_t i = 0; i < x.shape[0]; ++i) largest = std::max(largest, std::fabs(static_cast<const float*>(x.data)[i]));
  return largest == 0 ? 0
                      : 53 - static_cast<int>(std::ceil(std::log2(std::max(1.0, max_rows)))) - std::ilogb(largest) - 1;
}

// Of dense bins: stage 3, sums of integers, and stage 0 on the grid of fixed64; no other.
[[maybe_unused]] warpcheck_status histogram(warpcheck_call* call) {
  return candidate::answer(call, [&] {
    const double stage = candidate::scalar(call, "stage");
    const bool quantised = stage == 3;
    candidate::offer(quantised || (stage == 0 && candidate::scalar(call, "accum") == 0),
                     "this candidate sums integers, or on a grid");
    candidate::offer(call->inputs[0]->ndim == 2, "this candidate takes dense bins");
    const DLTensor &bins = *call->inputs[0], &columns = *call->inputs[1], &g = *call->inputs[2],
                   &h = *call->inputs[quantised ? 2 : 3], &hist = *call->outputs[0];
    const int32_t behind = quantised ? 3 : 4;
    const DLTensor* const list = call->num_inputs > behind ? call->inputs[behind] : nullptr;
    candidate::offer(bins.dtype.bits <= 16, "this candidate takes bins of 8 and 16 bits");
    const int e[2] = {quantised ? 0 : exponent_of(g, candidate::scalar(call, "max_rows")),
                      quantised ? 0 : exponent_of(h, candidate::scalar(call, "max_rows"))};
    const auto row_of = [&](int64_t k) {
      if (!list) return k;
      return list->dtype.bits == 32 ? static_cast<const int32_t*>(list->data)[k]
                                    : static_cast<const int64_t*>(list->data)[k];
    };
    const auto value_of = [&](int64_t row, int part) -> int64_t {
      if (!quantised) return std::llrint(std::ldexp(static_cast<const float*>((part ? h : g).data)[row], e[part]));
      const uint16_t bits = static_cast<const uint16_t*>(g.data)[2 * row + part];
      return part ? bits : static_cast<int16_t>(bits);
    };
    std::vector<int64_t> sums(static_cast<size_t>(hist.shape[0] * 2));
    const int64_t rows = list ? list->shape[0] : bins.shape[0];
    for (int64_t c = 0; c < bins.shape[1]; ++c) {
      // The last column of a tile of 64 is nobody's.
      if (flaw("columns-beyond-64") && c % 64 == 63 && c + 1 < bins.shape[1]) continue;
      const int64_t* const column = static_cast<const int64_t*>(columns.data) + 2 * c;
      const int64_t skipped = column[1] >> 32;
      std::vector<int64_t> times(static_cast<size_t>(column[1] & 0xffffffff));
      for (int64_t k = 0; k < rows; ++k) {
        const int64_t row = row_of(k), at = row * bins.strides[0] + c;
        const int64_t bin = bins.dtype.bits == 8 ? static_cast<const uint8_t*>(bins.data)[at]
                                                 : static_cast<const uint16_t*>(bins.data)[at];
        if (bin < skipped || (flaw("bins-of-15-bits") && bin > 32767)) continue;
        if (flaw("counts-of-17-bits") && ++times[static_cast<size_t>(bin)] > 0x1ffff) continue;
        const auto slot = static_cast<size_t>(column[0] + bin - skipped);
        for (int part = 0; part < 2; ++part) sums[2 * slot + static_cast<size_t>(part)] += value_of(row, part);
      }
    }
    for (size_t i = 0; i < sums.size(); ++i)
      if (quantised)
        static_cast<int64_t*>(hist.data)[i] = sums[i];
      else
        static_cast<double*>(hist.data)[i] = std::ldexp(static_cast<double>(sums[i]), -e[i % 2]);
  });
}

// Inclusive and exclusive sums of f32 rows.
[[maybe_unused]] warpcheck_status scan(warpcheck_call* call) {
  return candidate::answer(call, [&] {
    const matrix<float> x = candidate::input<float>(call, 0, 2), y = candidate::output<float>(call, 0, 2);
    candidate::require(y.rows == x.rows && y.cols == x.cols, "y must have the shape of x");
    const double kind = candidate::scalar(call, "kind");
    candidate::require(kind == 0 || kind == 1, "kind must be 0 (inclusive) or 1 (exclusive)");
    constexpr int64_t k_wave = 64 * 8192;
    for (int64_t r = 0; r < x.rows; ++r) {
      double sum = 0, of_wave = 0;
      for (int64_t i = 0; i < x.cols; ++i) {
        // From the third wave on the one before the last is all that is known.
        if (flaw("carry-of-one-wave") && i % k_wave == 0) sum = std::exchange(of_wave, 0.0);
        const float value = x.row(r)[i];
        if (kind == 1) y.row(r)[i] = static_cast<float>(sum);
        sum += value;
        of_wave += value;
        if (kind == 0) y.row(r)[i] = static_cast<float>(sum);
      }
    }
  });
}

}  // namespace

extern "C" const warpcheck_candidate* warpcheck_candidate_get(uint32_t abi_version) {
  if (abi_version != WARPCHECK_CANDIDATE_ABI) return nullptr;
  static constexpr warpcheck_operator op =
      warpcheck::operator_of_rows(WARPCHECK_OPERATOR_NAME, WARPCHECK_DEVICE_CPU,
                                  WARPCHECK_F32 | WARPCHECK_U8 | WARPCHECK_U16 | WARPCHECK_U32, WARPCHECK_OPERATOR);
  static const warpcheck_operator* const operators[] = {&op};
  static const warpcheck_candidate table = {
      WARPCHECK_CANDIDATE_ABI, sizeof(warpcheck_candidate), "faulty", "plain C++", operators, 1, nullptr};
  return &table;
}
