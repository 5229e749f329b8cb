// Golden data of the row operators: what their known answers, their check against the reference and their property
// `golden` have in common. An operator's own file has the answers and assigns a model to each output.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "golden/check.hpp"
#include "golden/format.hpp"
#include "properties/engine/trials/property.hpp"
#include "reference/numerics/compare.hpp"

namespace warpcheck::golden {

// The exact values of an output, in row order.
struct answer {
  std::string tensor;
  dtype type;
  bool matrix;  // of x's shape; else one element per row
  std::vector<std::string> values;
};

struct row_layout {
  int64_t ldx = 0, ldy = 0;  // 0: the row length
  int64_t offset_x = 0, offset_y = 0;
  bool in_place = false;
  bool flat = false;  // x and y are vectors: one row
};

using knobs = std::map<std::string, std::string>;

// Collects the known answers of an operator. Throws engine::usage_error where the answers do not belong to what the
// file makes of the input.
class row_answers {
 public:
  explicit row_answers(std::string op) : op_(std::move(op)) {}

  // `rows` are of one length, exact in the type. They are listed in the file, unless all values are equal or a recipe
  // makes them.
  void add(std::string name, std::string source, dtype type, const std::vector<std::vector<double>>& rows,
           std::vector<answer> answers, const row_layout& l = {}, knobs k = {},
           std::optional<engine::recipe> fill = std::nullopt);

  std::vector<golden_file> take() { return std::move(files_); }

 private:
  std::string op_;
  std::vector<golden_file> files_;
};

// Returns the reference's results for a row's part of an output, element by element.
struct row_model {
  std::string tensor;
  int64_t size;
  std::function<std::string(int64_t)> text;  // with 20 significant digits, or exact
  std::function<reference::judgement(int64_t, double)> judge;
};
// `x` lives as long as the models.
using row_models = std::function<std::vector<row_model>(const engine::trial_case&, const std::vector<double>& x)>;

// An index, of which only one is right.
row_model index_model(int64_t expected);
// One value per row, by a model with judge(actual) and expected_text().
template <class Model>
row_model scalar_model(std::string tensor, Model model) {
  auto shared = std::make_shared<const Model>(std::move(model));
  return {std::move(tensor), 1, [shared](int64_t) { return shared->expected_text(); },
          [shared](int64_t, double actual) { return shared->judge(actual); }};
}
// A value per element, by a model with judge(i, actual) and expected_text(i).
template <class Model>
row_model element_model(std::string tensor, int64_t size, Model model) {
  auto shared = std::make_shared<const Model>(std::move(model));
  return {std::move(tensor), size, [shared](int64_t i) { return shared->expected_text(i); },
          [shared](int64_t i, double actual) { return shared->judge(i, actual); }};
}

// Registers the property `golden`: the known answers as cases, judged by the models. Returns the golden data, whose
// files are compared with the models (check.hpp).
operator_golden row_golden(const std::string& op, std::vector<dtype> types, std::vector<golden_file> (*known_answers)(),
                           const row_models& models, std::vector<std::string> optional_outputs = {});

// ---- rows ----

inline std::vector<double> repeated(double value, int64_t n) {
  return std::vector<double>(static_cast<size_t>(n), value);
}
inline std::vector<double> with(std::vector<double> x, size_t at, double value) {
  x[at] = value;
  return x;
}
inline double f32(double value) { return static_cast<float>(value); }

// The elements x of an operator's own rows.
template <class Row>
std::vector<std::vector<double>> inputs_of(const std::vector<Row>& rows) {
  std::vector<std::vector<double>> x;
  for (const Row& r : rows) x.push_back(r.x);
  return x;
}
// What `part` returns of each row, a text or some, one after another.
template <class Row, class Part>
std::vector<std::string> texts_of(const std::vector<Row>& rows, Part part) {
  std::vector<std::string> all;
  for (const Row& r : rows) {
    if constexpr (std::is_convertible_v<std::invoke_result_t<Part, const Row&>, std::string>) {
      all.push_back(std::invoke(part, r));
    } else {
      const std::vector<std::string>& texts = std::invoke(part, r);
      all.insert(all.end(), texts.begin(), texts.end());
    }
  }
  return all;
}

}  // namespace warpcheck::golden
