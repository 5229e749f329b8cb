// More than 2^31 columns, more than 2^31 rows, and rows of common length that pass 2^31 together: what no 32-bit index
// reaches; and a few columns less than 2^31, whose last index such an index reaches, but none behind it. All of x is
// one value but for a few elements that decide the results, most of them at the far end, and these results are known
// exactly or by the reference: -Inf drops out of a softmax, and 0 out of a sum, so that a row has the results of its
// other elements alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "reference/log_softmax/log_softmax.hpp"
#include "reference/logsumexp/logsumexp.hpp"
#include "reference/sigmoid/sigmoid.hpp"
#include "reference/softmax/softmax.hpp"
#include "tests/long_rows/long_call.hpp"
#include "tests/long_rows/long_device.hpp"

namespace warpcheck::self {
namespace {

using reference::decode;
using reference::encode;

constexpr int64_t k_beyond = int64_t{1} << 31;
// No multiple of anything that a kernel takes at a time, and more than one tile of any kernel beyond 2^31.
constexpr int64_t k_length = k_beyond + (int64_t{1} << 20) + 100003;
constexpr int64_t k_length_below = k_beyond - 3;
// Not a divisor of 2^31: one of the rows lies on both sides of it.
constexpr int64_t k_dense_cols = 1000;
constexpr int64_t k_dense_rows = k_length / k_dense_cols;
constexpr double k_infinity = std::numeric_limits<double>::infinity();
constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();

using values = std::map<int64_t, double>;  // by index

struct input {
  dtype type;
  int64_t rows, cols;
  double background;
  values listed;
};

struct output {
  dtype type;
  bool of_element = true;  // or of each row
  // True if `value` may be element i. The answer is the same for all elements between two listed ones of `changes`, the
  // listed ones stand for themselves.
  std::function<bool(int64_t i, double value)> accepts;
  std::vector<int64_t> changes;
};

struct problem {
  std::string op;
  std::string variant;  // empty: the dispatch
  input x;
  std::vector<output> outputs;
  std::vector<warpcheck_scalar> scalars;
  int64_t offset = 1;  // elements between a boundary of 256 bytes and x
};

double value_of(dtype t, uint64_t bits) {
  return is_float(t) ? decode(t, bits) : static_cast<double>(static_cast<int64_t>(bits));
}

void judge(const output& o, int64_t length, const long_array& y) {
  const size_t size = size_of(o.type);
  size_t next = 0;  // of o.changes
  int64_t seen = 0, wrong = 0;
  y.visit([&](int64_t first, int64_t count, const char* bytes) {
    seen += count;
    const auto element = [&](int64_t i) { return bytes + static_cast<size_t>(i - first) * size; };
    while (next < o.changes.size() && o.changes[next] < first) ++next;
    for (int64_t i = first; i < first + count;) {
      uint64_t bits = 0;
      std::memcpy(&bits, element(i), size);
      const double value = value_of(o.type, bits);
      const bool accepted = o.accepts(i, value);
      if (!accepted && ++wrong <= 8) ADD_FAILURE() << "element " << i << " is " << value;
      const bool is_change = next < o.changes.size() && i == o.changes[next];
      if (is_change) ++next;
      ++i;
      if (is_change || !accepted) continue;
      // As many of the following ones as are the same.
      const int64_t end = next < o.changes.size() ? std::min(o.changes[next], first + count) : first + count;
      for (int64_t step = 1 << 16; i < end && step > 0;) {
        const int64_t same = std::min(step, end - i);
        if (std::memcmp(element(i - 1), element(i), static_cast<size_t>(same) * size) == 0)
          i += same;
        else
          step /= 16;
      }
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(next, o.changes.size()) << "a listed element was not looked at";
  EXPECT_GE(seen, std::min(length, int64_t{1} << 15));
}

// Launches the problem and judges all that can be looked at.
void solve(const problem& p) {
  const int64_t count = p.x.rows * p.x.cols;
  const size_t size = size_of(p.x.type);
  elements listed;
  for (const auto& [i, value] : p.x.listed) listed[i] = encode(p.x.type, value);
  const auto x_data = make_input(size, count, p.offset, encode(p.x.type, p.x.background), listed);
  const bool is_vector = p.op == "sigmoid";
  const auto extents = [&](bool matrix) {
    if (!matrix) return std::vector<int64_t>{p.x.rows};
    return is_vector ? std::vector<int64_t>{p.x.cols} : std::vector<int64_t>{p.x.rows, p.x.cols};
  };
  tensor x(x_data->data(), p.x.type, extents(true));
  const std::vector<const DLTensor*> inputs = {&x.dl};

  std::vector<std::unique_ptr<long_array>> y_data;
  std::vector<std::unique_ptr<tensor>> y;
  std::vector<DLTensor*> outputs;
  for (const output& o : p.outputs) {
    const int64_t length = o.of_element ? count : p.x.rows;
    // The first elements, those around 2^31 and the last ones, and where results change.
    std::vector<int64_t> places = {0, length - 1};
    if (length > k_beyond) places.push_back(k_beyond);
    places.insert(places.end(), o.changes.begin(), o.changes.end());
    std::ranges::sort(places);
    y_data.push_back(make_output(size_of(o.type), length, places));
    y.push_back(std::make_unique<tensor>(y_data.back()->data(), o.type, extents(o.of_element)));
    outputs.push_back(&y.back()->dl);
  }

  launch(p.op, p.variant, inputs, outputs, p.scalars);
  if (testing::Test::HasFatalFailure()) return;
  for (size_t i = 0; i < y_data.size(); ++i) {
    SCOPED_TRACE("output " + std::to_string(i));
    judge(p.outputs[i], p.outputs[i].of_element ? count : p.x.rows, *y_data[i]);
  }
}

// In a row of `length` elements: near its start, and far behind, up to the end.
values listed(int64_t length, const std::vector<double>& value) {
  const bool beyond = length > k_beyond;
  const int64_t places[] = {5, beyond ? k_beyond + 3 : length / 2, beyond ? k_beyond + 600001 : length - 600001,
                            length - 2, length - 1};
  values found;
  for (size_t k = 0; k < value.size(); ++k) found[places[k]] = value[k];
  return found;
}

std::vector<int64_t> keys(const values& v) {
  std::vector<int64_t> found;
  for (const auto& [i, value] : v) found.push_back(i);
  return found;
}

// The finite elements of a row: a small one, then equal largest ones. The models of a row are those of these elements,
// but for a bound that is less generous.
const std::vector<double> k_finite = {-11, 1, 1, 1, 1};

template <class Row>
output by_finite_row(const values& logits, double elsewhere) {
  return {dtype::f16, true,
          [row = std::make_shared<Row>(k_finite, dtype::f16), logits, elsewhere](int64_t i, double y) {
            const auto found = logits.find(i);
            if (found != logits.end()) return row->judge(std::distance(logits.begin(), found), y).accepted;
            return y == elsewhere && std::signbit(y) == std::signbit(elsewhere);
          },
          keys(logits)};
}

// An element, or the one of its row, is as expected.
output exactly(dtype type, bool of_element, std::function<double(int64_t)> expected, std::vector<int64_t> changes) {
  const auto is = [expected](int64_t i, double y) {
    const double e = expected(i);
    return std::isnan(e) ? std::isnan(y) : y == e && std::signbit(y) == std::signbit(e);
  };
  return {type, of_element, is, std::move(changes)};
}

double at(const values& v, int64_t i, double elsewhere) {
  const auto found = v.find(i);
  return found == v.end() ? elsewhere : found->second;
}

// Powers of 2, so that a sum shows which of them are in it.
const std::vector<double> k_terms = {8, 1, 2, 4, 16};

constexpr warpcheck_scalar k_sum = {"op", 0};
constexpr warpcheck_scalar k_inclusive = {"kind", 0};
constexpr warpcheck_scalar k_no_shift = {"mu", 0};
constexpr warpcheck_scalar k_no_gain = {"sigma", 1};

problem long_row(const std::string& op, int64_t length = k_length) {
  const values finite = listed(length, k_finite), addends = listed(length, k_terms);
  const int64_t first_maximum = std::next(finite.begin())->first;
  const input logits = {dtype::f16, 1, length, -k_infinity, finite};
  const input terms = {dtype::f32, 1, length, 0, addends};
  const output maximum = exactly(dtype::i64, false, [=](int64_t) { return first_maximum; }, {});
  if (op == "softmax") return {op, "", logits, {by_finite_row<reference::softmax_row>(finite, 0.0), maximum}, {}};
  if (op == "log_softmax")
    return {op, "", logits, {by_finite_row<reference::log_softmax_row>(finite, -k_infinity)}, {}};
  if (op == "logsumexp") {
    const auto is = [](int64_t, double y) { return reference::logsumexp_row(k_finite, dtype::f16).judge(y).accepted; };
    return {op, "", logits, {{dtype::f16, false, is, {}}}, {}};
  }
  if (op == "argmax") return {op, "", logits, {maximum}, {}};
  if (op == "reduce") return {op, "", terms, {exactly(dtype::f32, false, [](int64_t) { return 31; }, {})}, {k_sum}};
  if (op == "scan") {
    const auto sum_up_to = [addends](int64_t i) {
      double sum = 0;
      for (const auto& [place, term] : addends) sum += place <= i ? term : 0;
      return sum;
    };
    return {op, "", terms, {exactly(dtype::f32, true, sum_up_to, keys(addends))}, {k_inclusive}};
  }
  const auto is = [model = reference::sigmoid_model(0, 1, dtype::f16), finite](int64_t i, double y) {
    return model.judge(at(finite, i, 0), y).accepted;
  };
  return {op, "", {dtype::f16, 1, length, 0, finite}, {{dtype::f16, true, is, keys(finite)}}, {k_no_shift, k_no_gain}};
}

// k_length rows of one element; of two, where one has nothing to choose from.
problem many_rows(const std::string& op) {
  const values own = listed(k_length, k_terms);
  const auto itself = [own](int64_t r) { return at(own, r, 0.5); };
  const input terms = {dtype::f16, k_length, 1, 0.5, own};
  if (op == "softmax" || op == "log_softmax") {
    values no_numbers;
    for (const auto& [r, term] : own) no_numbers[r] = k_nan;
    const double alone = op == "softmax" ? 1 : 0;
    const auto expected = [=](int64_t r) { return at(no_numbers, r, alone); };
    return {op,
            "",
            {dtype::f16, k_length, 1, 0.5, no_numbers},
            {exactly(dtype::f16, true, expected, keys(no_numbers))},
            {}};
  }
  if (op == "logsumexp") return {op, "", terms, {exactly(dtype::f16, false, itself, keys(own))}, {}};
  if (op == "argmax") {
    values second;
    for (const auto& [r, term] : own) second[2 * r + 1] = 1;
    const auto expected = [own](int64_t r) { return own.count(r) ? 1 : 0; };
    return {op, "", {dtype::f16, k_length, 2, 0, second}, {exactly(dtype::i64, false, expected, keys(own))}, {}};
  }
  const input wide = {dtype::f32, k_length, 1, 0.5, own};
  if (op == "reduce") return {op, "", wide, {exactly(dtype::f32, false, itself, keys(own))}, {k_sum}};
  return {op, "", wide, {exactly(dtype::f32, true, itself, keys(own))}, {k_inclusive}};
}

constexpr double k_spike = 200;  // beside e^200, the rest of a row is nothing
// Models of a row of equal elements, and of one with a spike.
const std::vector<double> k_flat(k_dense_cols, 0), k_spiked = [] {
  std::vector<double> row = k_flat;
  row[0] = k_spike;
  return row;
}();

// The column of the spike of a dense row; -1 if it has none.
int64_t spike_of(const values& spikes, int64_t r) {
  const auto found = spikes.lower_bound(r * k_dense_cols);
  return found == spikes.end() || found->first >= (r + 1) * k_dense_cols ? -1 : found->first - r * k_dense_cols;
}

template <class Row>
output by_dense_row(const values& spikes) {
  std::set<int64_t> changes;
  for (const auto& [i, spike] : spikes) {
    const int64_t begin = i / k_dense_cols * k_dense_cols, end = begin + k_dense_cols;
    changes.insert({begin, i});
    if (end < k_dense_rows * k_dense_cols) changes.insert(end);
  }
  const auto is = [spikes, flat = std::make_shared<Row>(k_flat, dtype::f16),
                   spiked = std::make_shared<Row>(k_spiked, dtype::f16)](int64_t i, double y) {
    const int64_t column = spike_of(spikes, i / k_dense_cols);
    return (column < 0 ? flat->judge(0, y) : spiked->judge(i % k_dense_cols == column ? 0 : 1, y)).accepted;
  };
  return {dtype::f16, true, is, {changes.begin(), changes.end()}};
}

// Rows of equal elements, but for a few with a spike: the first, one half way, and those before, around and behind
// element 2^31.
problem dense_rows(const std::string& op) {
  values spikes;
  std::vector<int64_t> rows;
  for (const int64_t i : {int64_t{5}, k_beyond / 2, k_beyond - k_dense_cols, k_beyond + 3, k_beyond + 600001,
                          k_dense_rows * k_dense_cols - 1}) {
    spikes[i] = k_spike;
    rows.push_back(i / k_dense_cols);
  }
  const auto first_maximum = [spikes](int64_t r) { return std::max<int64_t>(0, spike_of(spikes, r)); };
  const output maximum = exactly(dtype::i64, false, first_maximum, rows);
  const input logits = {dtype::f16, k_dense_rows, k_dense_cols, 0, spikes};
  if (op == "softmax") return {op, "", logits, {by_dense_row<reference::softmax_row>(spikes), maximum}, {}, 0};
  if (op == "log_softmax") return {op, "", logits, {by_dense_row<reference::log_softmax_row>(spikes)}, {}, 0};
  if (op == "logsumexp") {
    const auto is = [spikes](int64_t r, double y) {
      return reference::logsumexp_row(spike_of(spikes, r) < 0 ? k_flat : k_spiked, dtype::f16).judge(y).accepted;
    };
    return {op, "", logits, {{dtype::f16, false, is, rows}}, {}, 0};
  }
  if (op == "argmax") return {op, "", logits, {maximum}, {}, 0};
  const auto sum = [spikes](int64_t r) { return 0.5 * k_dense_cols + (spike_of(spikes, r) < 0 ? 0 : k_spike - 0.5); };
  const input terms = {dtype::f32, k_dense_rows, k_dense_cols, 0.5, spikes};
  return {op, "", terms, {exactly(dtype::f32, false, sum, rows)}, {k_sum}, 0};
}

// More than 2^32 elements, so that an index without a sign fails, too. Each row has the sums of its own terms.
problem dense_scan() {
  constexpr int64_t k_far = int64_t{1} << 32, k_rows = (k_far + k_length - k_beyond) / k_dense_cols;
  const values terms = {{5, 8},          {k_beyond / 2, 1}, {k_beyond + 3, 2},   {k_far - k_dense_cols, 4},
                        {k_far - 1, 16}, {k_far + 3, 32},   {k_far + 600001, 1}, {k_rows * k_dense_cols - 1, 2}};
  std::set<int64_t> changes;
  for (const auto& [i, term] : terms) {
    const int64_t begin = i / k_dense_cols * k_dense_cols, end = begin + k_dense_cols;
    changes.insert({begin, i});
    if (end < k_rows * k_dense_cols) changes.insert(end);
  }
  const auto sum_in_row = [terms](int64_t i) {
    double sum = 0;
    for (auto term = terms.lower_bound(i / k_dense_cols * k_dense_cols); term != terms.end() && term->first <= i;
         ++term)
      sum += term->second;
    return sum;
  };
  return {"scan",
          "",
          {dtype::f32, k_rows, k_dense_cols, 0, terms},
          {exactly(dtype::f32, true, sum_in_row, {changes.begin(), changes.end()})},
          {k_inclusive},
          0};
}

constexpr const char* k_of_rows[] = {"softmax", "log_softmax", "logsumexp", "argmax", "reduce", "scan"};

// By every variant that takes rows of any length.
std::vector<problem> long_problems(int64_t length) {
  std::vector<problem> all;
  std::vector<std::string> operators(std::begin(k_of_rows), std::end(k_of_rows));
  operators.push_back("sigmoid");
  for (const std::string& name : operators) {
    const warpcheck_operator& op = operator_of(name);
    for (const warpcheck_variant& v : std::span(op.variants, static_cast<size_t>(op.num_variants))) {
      if (v.ranges[0].max >= 0) continue;
      all.push_back(long_row(name, length));
      all.back().variant = v.name;
    }
  }
  return all;
}

// Rows on a boundary: persistent_two_pass.hpp takes them by whole tiles where nobody asks for an argmax, and
// row_reduction.hpp reads those of f32 ahead in logsumexp.
std::vector<problem> whole_problems() {
  std::vector<problem> all;
  for (const char* op : {"softmax", "log_softmax"}) {
    all.push_back(long_row(op));
    problem& p = all.back();
    p.variant = std::string(op) + "_persistent";
    p.outputs.resize(1);
    p.offset = 0;
  }
  problem ahead = long_row("logsumexp");
  ahead.variant = "logsumexp_large_tiles";
  ahead.x.type = dtype::f32;
  ahead.x.cols = k_length + 1;  // a multiple of 4
  ahead.outputs[0].type = dtype::f32;
  ahead.outputs[0].accepts = [](int64_t, double y) {
    return reference::logsumexp_row(k_finite, dtype::f32).judge(y).accepted;
  };
  ahead.offset = 0;
  all.push_back(ahead);
  return all;
}

std::vector<problem> many_problems() {
  std::vector<problem> all;
  for (const char* op : k_of_rows) all.push_back(many_rows(op));
  return all;
}

std::vector<problem> dense_problems() {
  std::vector<problem> all;
  for (const char* op : {"softmax", "log_softmax", "logsumexp", "argmax", "reduce"}) all.push_back(dense_rows(op));
  all.push_back(dense_scan());
  return all;
}

class around_2_to_31 : public testing::TestWithParam<problem> {};

TEST_P(around_2_to_31, results_are_right) { solve(GetParam()); }

std::string name_of(const testing::TestParamInfo<problem>& p) {
  if (p.param.variant.empty()) return p.param.op + (p.param.x.cols == k_dense_cols ? "_dense" : "_dispatched");
  return p.param.variant + (p.param.offset == 0 ? "_whole" : p.param.x.cols == k_length_below ? "_below" : "");
}
void PrintTo(const problem& p, std::ostream* out) { *out << p.op << " " << p.variant; }

INSTANTIATE_TEST_SUITE_P(columns, around_2_to_31, testing::ValuesIn(long_problems(k_length)), name_of);
INSTANTIATE_TEST_SUITE_P(fewer_columns, around_2_to_31, testing::ValuesIn(long_problems(k_length_below)), name_of);
INSTANTIATE_TEST_SUITE_P(whole_tiles, around_2_to_31, testing::ValuesIn(whole_problems()), name_of);
INSTANTIATE_TEST_SUITE_P(rows, around_2_to_31, testing::ValuesIn(many_problems()), name_of);
INSTANTIATE_TEST_SUITE_P(dense_rows, around_2_to_31, testing::ValuesIn(dense_problems()), name_of);

}  // namespace
}  // namespace warpcheck::self

// A filter that fits no test is a mistake.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  if (testing::UnitTest::GetInstance()->test_to_run_count() > 0) return failed;
  std::fputs("no test has a name that fits the filter\n", stderr);
  return 2;
}
