// Products with a matrix of more than 2^31 elements: C of tiles, the matrix that is multiplied by a vector, and C that
// is a row or a column. All elements of A and B are 1 but for a few, the last ones among them; so sums are small
// integers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "tests/long_rows/long_call.hpp"
#include "tests/long_rows/long_device.hpp"

namespace warpcheck::self {
namespace {

using reference::encode;

constexpr int64_t k_beyond = int64_t{1} << 31;

// C of m x n is A of m x k times B of k x n, in f32.
struct product {
  const char* name;
  const char* variant;
  int64_t m, n, k;
};

// The elements of a matrix that are not 1, each by its row and column: near the begin, around 2^31 and at the end.
class listed_ones {
 public:
  listed_ones(int64_t rows, int64_t cols) : cols_(cols) {
    const int64_t count = rows * cols;
    int64_t value = 3;
    for (const int64_t i : {int64_t{5}, count / 2, k_beyond - 1, k_beyond + 3, count - 2, count - 1})
      if (i >= 0 && i < count && more_.emplace(i, value).second) value *= 2;
  }
  elements encoded() const {
    elements all;
    for (const auto& [i, more] : more_) all[i] = encode(dtype::f32, static_cast<double>(1 + more));
    return all;
  }
  // add(row, column, by how much the element is more than 1).
  template <class Add>
  void each(const Add& add) const {
    for (const auto& [i, more] : more_) add(i / cols_, i % cols_, more);
  }

 private:
  int64_t cols_;
  std::map<int64_t, int64_t> more_;
};

using sums = std::map<int64_t, int64_t>;

int64_t at(const sums& s, int64_t i) {
  const auto found = s.find(i);
  return found == s.end() ? 0 : found->second;
}

// c_ij = k + what row i of A and column j of B have more, and the products of both where they meet.
class expected_sums {
 public:
  expected_sums(const product& p, const listed_ones& a, const listed_ones& b) : n_(p.n), k_(p.k) {
    a.each([&](int64_t i, int64_t, int64_t more) { rows_[i] += more; });
    b.each([&](int64_t, int64_t j, int64_t more) { cols_[j] += more; });
    a.each([&](int64_t i, int64_t l, int64_t x) {
      b.each([&](int64_t row, int64_t j, int64_t y) {
        if (row == l) both_[i * n_ + j] += x * y;
      });
    });
  }
  double value(int64_t element) const {
    return static_cast<double>(k_ + at(rows_, element / n_) + at(cols_, element % n_) + at(both_, element));
  }
  // Around which C is looked at: the listed rows and columns, and the ends.
  std::vector<int64_t> places(int64_t m) const {
    std::map<int64_t, int> found = {{0, 0}, {m * n_ - 1, 0}};
    if (m * n_ > k_beyond) found[k_beyond] = 0;
    for (const auto& [i, more] : rows_) found[i * n_] = found[i * n_ + n_ - 1] = 0;
    for (const auto& [j, more] : cols_) found[j] = found[(m - 1) * n_ + j] = 0;
    std::vector<int64_t> all;
    for (const auto& [place, unused] : found) all.push_back(place);
    return all;
  }

 private:
  int64_t n_, k_;
  sums rows_, cols_, both_;
};

void solve(const product& p) {
  const listed_ones a(p.m, p.k), b(p.k, p.n);
  const expected_sums expected(p, a, b);
  const uint64_t one = encode(dtype::f32, 1);
  const auto a_data = make_input(sizeof(float), p.m * p.k, 0, one, a.encoded());
  const auto b_data = make_input(sizeof(float), p.k * p.n, 0, one, b.encoded());
  const auto c_data = make_output(sizeof(float), p.m * p.n, expected.places(p.m));
  const tensor a_tensor(a_data->data(), dtype::f32, {p.m, p.k}), b_tensor(b_data->data(), dtype::f32, {p.k, p.n});
  const tensor before(nullptr, dtype::f32, {0, 0}), bias(nullptr, dtype::f32, {0});
  tensor c_tensor(c_data->data(), dtype::f32, {p.m, p.n});
  launch("matmul", p.variant, {&a_tensor.dl, &b_tensor.dl, &before.dl, &bias.dl}, {&c_tensor.dl},
         {{"ta", 0},
          {"tb", 0},
          {"alpha", 1},
          {"beta", 0},
          {"sigmoid", 0},
          {"mu", 0},
          {"sigma", 1},
          {"mode", 0},
          {"rows_alone", 0}});
  if (testing::Test::HasFatalFailure()) return;
  int64_t seen = 0, wrong = 0;
  c_data->visit([&](int64_t first, int64_t count, const char* bytes) {
    seen += count;
    for (int64_t i = 0; i < count; ++i) {
      float actual = 0;
      std::memcpy(&actual, bytes + static_cast<size_t>(i) * sizeof actual, sizeof actual);
      const double value = expected.value(first + i);
      if (static_cast<double>(actual) != value && ++wrong <= 8)
        ADD_FAILURE() << "c[" << (first + i) / p.n << ',' << (first + i) % p.n << "] is " << actual << ", must be "
                      << value;
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(seen, std::min(p.m * p.n, int64_t{1} << 13));
}

class product_beyond_2_to_31 : public testing::TestWithParam<product> {};

TEST_P(product_beyond_2_to_31, is_right) { solve(GetParam()); }

void PrintTo(const product& p, std::ostream* out) { *out << p.m << " x " << p.n << " x " << p.k; }

constexpr product k_products[] = {{"matmul_tiles", "matmul_wide", 46400, 46400, 1},
                                  {"matmul_times_column", "matmul_vector", 12347, 1, 174000},
                                  {"matmul_times_row", "matmul_vector", 1, 12347, 174000},
                                  {"matmul_column", "matmul_vector", k_beyond + 12345, 1, 1},
                                  {"matmul_row", "matmul_vector", 1, k_beyond + 12345, 1}};

INSTANTIATE_TEST_SUITE_P(products, product_beyond_2_to_31, testing::ValuesIn(k_products),
                         [](const testing::TestParamInfo<product>& p) { return std::string(p.param.name); });

}  // namespace
}  // namespace warpcheck::self
