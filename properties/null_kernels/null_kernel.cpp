// A candidate that answers without computing. Compiled once per way to do so, WARPCHECK_NULL_KERNEL: a case that one of
// these libraries passes tells nothing about the kernels that pass it.
#include <dlpack/dlpack.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <iterator>
#include <numeric>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kernels/candidate_table.hpp"
#include "properties/engine/recipe.hpp"
#include "reference/best_split.hpp"
#include "reference/gru.hpp"

namespace {

using namespace warpcheck;
using engine::decode;
using engine::encode;
using engine::load_bits;
using engine::store_bits;

#define WARPCHECK_STRING(text) #text
#define WARPCHECK_EXPANDED_STRING(text) WARPCHECK_STRING(text)
constexpr std::string_view k_name = WARPCHECK_EXPANDED_STRING(WARPCHECK_NULL_KERNEL);

struct view {
  unsigned char* data;
  int64_t rows, cols, ld;
  dtype type;

  unsigned char* at(int64_t row, int64_t col) const {
    return data + static_cast<size_t>(row * ld + col) * size_of(type);
  }
  double get(int64_t row, int64_t col) const { return decode(type, load_bits(type, at(row, col))); }
  void set(int64_t row, int64_t col, double value) const { store_bits(type, at(row, col), encode(type, value)); }
};

dtype type_of(const DLDataType& t) {
  if (t.code == kDLBfloat) return dtype::bf16;
  if (t.code == kDLFloat) return t.bits == 16 ? dtype::f16 : t.bits == 64 ? dtype::f64 : dtype::f32;
  if (t.code == kDLUInt) return t.bits == 8 ? dtype::u8 : t.bits == 16 ? dtype::u16 : dtype::u32;
  return t.bits == 64 ? dtype::i64 : dtype::i32;
}

view view_of(const DLTensor& t) {
  const int32_t last = t.ndim - 1;
  const int64_t rows = std::accumulate(t.shape, t.shape + last, int64_t{1}, std::multiplies<>());
  view v{static_cast<unsigned char*>(t.data) + t.byte_offset, rows, t.shape[last],
         last > 0 ? t.strides[last - 1] : t.shape[last], type_of(t.dtype)};
  if (t.data == nullptr || v.rows < 0 || v.cols < 0) v.rows = 0;
  return v;
}

template <class Value>
void fill(const view& y, Value&& value) {
  for (int64_t r = 0; r < y.rows; ++r)
    for (int64_t c = 0; c < y.cols; ++c)
      y.set(r, c, is_float(y.type) || k_name == "previous_output" ? value(r, c) : 0.0);
}

// What a right kernel would have answered is kept until the next call asks for something.

// Appends the answer of a row: a value per element, or one.
using right_kernel = void (*)(const warpcheck_call& call, const view& x, int64_t row, std::vector<double>& answer);

double log_sum(const view& x, int64_t row) {
  double maximum = -INFINITY, sum = 0;
  for (int64_t c = 0; c < x.cols; ++c) maximum = std::fmax(maximum, x.get(row, c));
  for (int64_t c = 0; c < x.cols; ++c) sum += std::exp(x.get(row, c) - maximum);
  return maximum + std::log(sum);
}

void softmax(const warpcheck_call&, const view& x, int64_t row, std::vector<double>& answer) {
  const double all = log_sum(x, row);
  for (int64_t c = 0; c < x.cols; ++c) answer.push_back(std::exp(x.get(row, c) - all));
}

void log_softmax(const warpcheck_call&, const view& x, int64_t row, std::vector<double>& answer) {
  const double all = log_sum(x, row);
  for (int64_t c = 0; c < x.cols; ++c) answer.push_back(x.get(row, c) - all);
}

void logsumexp(const warpcheck_call&, const view& x, int64_t row, std::vector<double>& answer) {
  answer.push_back(log_sum(x, row));
}

double scalar(const warpcheck_call& call, std::string_view name) {
  for (int32_t i = 0; i < call.num_scalars; ++i)
    if (call.scalars[i].name == name) return call.scalars[i].value;
  return 0;
}

void sigmoid(const warpcheck_call& call, const view& x, int64_t row, std::vector<double>& answer) {
  const double mu = scalar(call, "mu"), sigma = scalar(call, "sigma");
  for (int64_t c = 0; c < x.cols; ++c) answer.push_back(1 / (1 + std::exp(-(x.get(row, c) - mu) * sigma)));
}

void reduce(const warpcheck_call& call, const view& x, int64_t row, std::vector<double>& answer) {
  const double op = scalar(call, "op");
  double result = op == 0 ? 0 : op == 1 ? INFINITY : -INFINITY;
  for (int64_t c = 0; c < x.cols; ++c) {
    const double v = x.get(row, c);
    result = op == 0 ? result + v : op == 1 ? std::fmin(result, v) : std::fmax(result, v);
  }
  answer.push_back(result);
}

void argmax(const warpcheck_call&, const view& x, int64_t row, std::vector<double>& answer) {
  int64_t best = 0;
  for (int64_t c = 1; c < x.cols; ++c)
    if (x.get(row, c) > x.get(row, best)) best = c;
  answer.push_back(static_cast<double>(best));
}

void scan(const warpcheck_call& call, const view& x, int64_t row, std::vector<double>& answer) {
  double sum = 0;
  for (int64_t c = 0; c < x.cols; ++c) {
    const double before = sum;
    sum += x.get(row, c);
    answer.push_back(scalar(call, "kind") == 1 ? before : sum);
  }
}

void argsort(const warpcheck_call& call, const view& x, int64_t row, std::vector<double>& answer) {
  std::vector<int64_t> order(static_cast<size_t>(x.cols));
  std::iota(order.begin(), order.end(), int64_t{0});
  const bool descending = scalar(call, "order") == 1;
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    const double a = x.get(row, i), b = x.get(row, j);
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
    return descending ? a > b : a < b;
  });
  answer.insert(answer.end(), order.begin(), order.end());
}

// Of dense bins; all slots with the last row.
void histogram(const warpcheck_call& call, const view& bins, int64_t row, std::vector<double>& answer) {
  const double stage = scalar(call, "stage");
  const bool quantised = stage == 3;
  if ((stage != 0 && !quantised) || call.inputs[0]->ndim != 2 || row + 1 != bins.rows) return;
  const view cols = view_of(*call.inputs[1]), g = view_of(*call.inputs[2]), h = view_of(*call.inputs[3]);
  const int list = quantised ? 3 : 4;
  const int64_t listed = call.num_inputs > list ? view_of(*call.inputs[list]).cols : bins.rows;
  answer.resize(static_cast<size_t>(2 * view_of(*call.outputs[0]).rows));
  for (int64_t i = 0; i < listed; ++i) {
    const auto r = call.num_inputs > list ? static_cast<int64_t>(view_of(*call.inputs[list]).get(0, i)) : i;
    for (int64_t c = 0; c < bins.cols; ++c) {
      const auto packed = static_cast<int64_t>(load_bits(dtype::i64, cols.at(c, 1)));
      const auto bin = static_cast<int64_t>(bins.get(r, c)), skipped = packed >> 32;
      if (bin < skipped) continue;
      const auto slot = static_cast<size_t>(static_cast<int64_t>(cols.get(c, 0)) + bin - skipped);
      answer[2 * slot] += quantised ? static_cast<int16_t>(g.get(r, 0)) : g.get(0, r);
      answer[2 * slot + 1] += quantised ? g.get(r, 1) : h.get(0, r);
    }
  }
}

// The numbers of the records of all leaves, which belong to no row: they come with the first one. Of tables of another
// form (a reduction) nothing is known.
void best_split(const warpcheck_call& call, const view&, int64_t row, std::vector<double>& answer) {
  if (row != 0 || call.num_inputs != 5) return;
  const view hist = view_of(*call.inputs[0]), count = view_of(*call.inputs[1]), feature = view_of(*call.inputs[2]),
             leaf = view_of(*call.inputs[4]);
  const auto whole = [](const view& v, int64_t r, int64_t c) { return static_cast<int64_t>(v.get(r, c)); };
  std::vector<double> slots;
  std::vector<int64_t> counts;
  for (int64_t r = 0; r < hist.rows; ++r) slots.insert(slots.end(), {hist.get(r, 0), hist.get(r, 1)});
  for (int64_t c = 0; c < count.cols; ++c) counts.push_back(whole(count, 0, c));
  reference::split_problem p;
  p.slots = slots;
  p.counts = counts;
  for (int64_t r = 0; r < feature.rows; ++r)
    p.features.push_back({whole(feature, r, 0), whole(feature, r, 1), whole(feature, r, 2), whole(feature, r, 3),
                          whole(feature, r, 4), static_cast<reference::split_missing>(whole(feature, r, 5)),
                          whole(feature, r, 6) != 0});
  p.settings.min_hessian = scalar(call, "min_hessian");
  p.settings.min_data = static_cast<int64_t>(scalar(call, "min_data"));
  p.settings.lambda_l2 = scalar(call, "lambda_l2");
  for (int64_t r = 0; r < leaf.rows; ++r) {
    p.leaf = {whole(leaf, r, 0), leaf.get(r, 1), leaf.get(r, 2), whole(leaf, r, 3), leaf.get(r, 4), leaf.get(r, 5), 0};
    const reference::split_result best = reference::best_split(p);
    answer.push_back(best.gain);
    for (const reference::split_part& side : {best.left, best.right})
      answer.insert(answer.end(), {side.g, side.h, side.gain, side.value});
  }
}

// All of C with the first row of a; what is there before is not known where C is in its place.
void matmul(const warpcheck_call& call, const view& a, int64_t row, std::vector<double>& answer) {
  if (row != 0) return;
  const view b = view_of(*call.inputs[1]), c = view_of(*call.outputs[0]);
  const bool ta = scalar(call, "ta") == 1, tb = scalar(call, "tb") == 1;
  const view bias = view_of(*call.inputs[3]);
  for (int64_t i = 0; i < c.rows; ++i)
    for (int64_t j = 0; j < c.cols; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < (ta ? a.rows : a.cols); ++l)
        sum += (ta ? a.get(l, i) : a.get(i, l)) * (tb ? b.get(j, l) : b.get(l, j));
      double v = scalar(call, "alpha") * sum + (bias.cols > 0 ? bias.get(0, j) : 0);
      if (scalar(call, "sigmoid") == 1) v = 1 / (1 + std::exp(-(v - scalar(call, "mu")) * scalar(call, "sigma")));
      answer.push_back(v);
    }
}

// y of a forward pass, all of it with the first row.
void gru(const warpcheck_call& call, const view& x, int64_t row, std::vector<double>& answer) {
  if (row != 0) return;
  reference::gru_problem<double> p;
  const DLTensor &of_x = *call.inputs[0], &w_hh = *call.inputs[2];
  p.shape = {of_x.shape[0], of_x.shape[1], x.cols, w_hh.shape[2], static_cast<int>(w_hh.shape[0])};
  const auto read = [&](int i, auto& to) {
    const view v = view_of(*call.inputs[i]);
    for (int64_t r = 0; r < v.rows; ++r)
      for (int64_t c = 0; c < v.cols; ++c)
        to.push_back(static_cast<typename std::remove_reference_t<decltype(to)>::value_type>(v.get(r, c)));
  };
  std::vector<double>* const tensors[] = {&p.x, &p.w_ih, &p.w_hh, &p.b_ih, &p.b_hh, &p.h0, &p.h_reset};
  for (int i = 0; i < 7; ++i) read(i, *tensors[i]);
  read(7, p.lengths);
  read(8, p.reset);
  answer = reference::gru_forward(p).y;
}

template <right_kernel Right>
warpcheck_status run(warpcheck_call* call) {
  static std::vector<double> previous;
  const view x = view_of(*call->inputs[0]);
  std::vector<double> next;
  if (k_name == "previous_output")
    for (int64_t r = 0; r < x.rows; ++r) Right(*call, x, r, next);
  for (int32_t i = 0; i < call->num_outputs; ++i) {
    if (call->outputs[i] == nullptr) continue;
    const view y = view_of(*call->outputs[i]);
    if (k_name == "zeros") fill(y, [](int64_t, int64_t) { return 0.0; });
    if (k_name == "constant") fill(y, [&](int64_t, int64_t) { return 1.0 / static_cast<double>(y.cols); });
    if (k_name == "copy_input")
      fill(y, [&](int64_t r, int64_t c) { return r < x.rows && c < x.cols ? x.get(r, c) : 0.0; });
    if (k_name == "row_mean") {
      std::vector<double> mean(static_cast<size_t>(std::max({x.rows, y.rows, y.cols})));
      for (int64_t r = 0; r < x.rows; ++r)
        for (int64_t c = 0; c < x.cols; ++c) mean[static_cast<size_t>(r)] += x.get(r, c) / static_cast<double>(x.cols);
      fill(y, [&](int64_t r, int64_t c) { return mean[static_cast<size_t>(y.rows == x.rows ? r : c)]; });
    }
    if (k_name == "previous_output")
      fill(y, [&](int64_t r, int64_t c) {
        const auto at = static_cast<size_t>(r * y.cols + c);
        return at < previous.size() ? previous[at] : 0.0;
      });
  }
  previous = std::move(next);
  call->used_variant = WARPCHECK_EXPANDED_STRING(WARPCHECK_NULL_KERNEL);
  return WARPCHECK_OK;
}

constexpr uint32_t k_types = WARPCHECK_F32 | WARPCHECK_F16 | WARPCHECK_BF16 | WARPCHECK_F64 | WARPCHECK_I64 |
                             WARPCHECK_U8 | WARPCHECK_U16 | WARPCHECK_U32;
constexpr warpcheck_variant k_variant =
    row_variant(WARPCHECK_EXPANDED_STRING(WARPCHECK_NULL_KERNEL), 0, -1, 0, -1, k_types);

template <right_kernel Right>
constexpr warpcheck_operator null_operator(const char* name) {
  return operator_of_rows(name, WARPCHECK_DEVICE_CPU, k_types, run<Right>, &k_variant, 1);
}
constexpr warpcheck_operator k_operators[] = {
    null_operator<softmax>("softmax"),     null_operator<log_softmax>("log_softmax"),
    null_operator<logsumexp>("logsumexp"), null_operator<argmax>("argmax"),
    null_operator<sigmoid>("sigmoid"),     null_operator<reduce>("reduce"),
    null_operator<scan>("scan"),           null_operator<argsort>("argsort"),
    null_operator<histogram>("histogram"), null_operator<best_split>("best_split"),
    null_operator<matmul>("matmul"),
    null_operator<gru>("gru"),
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const warpcheck_candidate* warpcheck_candidate_get(
    uint32_t abi_version) {
  if (abi_version != WARPCHECK_CANDIDATE_ABI) return nullptr;
  static const warpcheck_operator* operators[std::size(k_operators)];
  std::transform(std::begin(k_operators), std::end(k_operators), operators,
                 [](const warpcheck_operator& op) { return &op; });
  static const warpcheck_candidate table = {WARPCHECK_CANDIDATE_ABI,
                                            sizeof(warpcheck_candidate),
                                            "null",
                                            "null",
                                            operators,
                                            static_cast<int32_t>(std::size(k_operators)),
                                            nullptr};
  return &table;
}
