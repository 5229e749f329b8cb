// Golden data of the row operators: what their known answers, their check against the reference and their property
// `golden` have in common. An operator's own file has the answers and assigns a model to each output.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
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
};

using knobs = std::map<std::string, std::string>;

// Collects the known answers of an operator. Throws engine::usage_error where the answers do not belong to what the
// file makes of the input.
class row_answers {
 public:
  row_answers(std::string op, std::string generator) : op_(std::move(op)), generator_(std::move(generator)) {}

  // Values are listed in the file, unless all are equal. `rows` are of one length, exact in the type.
  void add(std::string name, std::string source, dtype type, const std::vector<std::vector<double>>& rows,
           std::vector<answer> answers, const row_layout& l = {}, knobs k = {});
  // Values are made by a recipe, which must make `rows`.
  void add(std::string name, std::string source, dtype type, const std::vector<std::vector<double>>& rows,
           engine::recipe fill, std::vector<answer> answers, const row_layout& l = {}, knobs k = {});
  // x and y are vectors: one row.
  void add_flat(std::string name, std::string source, dtype type, const std::vector<double>& x,
                std::vector<answer> answers, const row_layout& l = {}, knobs k = {});

  std::vector<golden_file> take() { return std::move(files_); }

 private:
  golden_file& add_file(std::string name, std::string source, engine::tensor_spec x, std::vector<answer> answers,
                        const row_layout& l, knobs k);
  static void list_input(golden_file& f, const std::vector<std::vector<double>>& rows);

  std::string op_, generator_;
  std::vector<golden_file> files_;
};

constexpr int k_answer_digits = 40;

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

// One sentence per output element in which the reference and the file differ (check.hpp).
std::vector<std::string> row_disagreements(const golden_file& f, const row_models& models);

// The property `golden`: the known answers as cases, judged by the reference, which row_disagreements ties to the
// files.
engine::property row_golden_property(std::string op, std::vector<dtype> types,
                                     std::vector<golden_file> (*known_answers)(), row_models models);

// ---- rows ----

inline std::vector<double> repeated(double value, int64_t n) {
  return std::vector<double>(static_cast<size_t>(n), value);
}
inline std::vector<double> with(std::vector<double> x, size_t at, double value) {
  x[at] = value;
  return x;
}
inline double f32(double value) { return static_cast<float>(value); }

}  // namespace warpcheck::golden
