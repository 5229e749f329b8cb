#include "golden/row_golden.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "golden/answers.hpp"
#include "properties/engine/error.hpp"
#include "properties/rows/row_properties.hpp"

namespace warpcheck::golden {

using engine::host_tensor;
using engine::tensor_spec;

namespace {

// The answers belong to the rows' values: they must be exact in the type, and what the file makes of them.
void require_input(const golden_file& f, const std::vector<std::vector<double>>& rows) {
  const host_tensor x = engine::materialize(replay_case(f).at("x"));
  for (size_t r = 0; r < rows.size(); ++r)
    for (size_t i = 0; i < rows[r].size(); ++i) {
      const double made = x.value(static_cast<int64_t>(r), static_cast<int64_t>(i)), meant = rows[r][i];
      if (made != meant && !(std::isnan(made) && std::isnan(meant)))
        throw engine::usage_error(
            fmt::format("{}: x[{},{}] is {:a}, the answer belongs to {:a}", f.name, r, i, made, meant));
    }
}

}  // namespace

void row_answers::add(std::string name, std::string source, dtype type, const std::vector<std::vector<double>>& rows,
                      std::vector<answer> answers, const row_layout& l, knobs k, std::optional<engine::recipe> fill) {
  golden_file& f = files_.emplace_back(answer_of(op_, std::move(name), std::move(source), std::move(k)));
  const auto count = static_cast<int64_t>(rows.size()), cols = static_cast<int64_t>(rows.front().size());
  std::vector<double> values;
  for (const std::vector<double>& row : rows) values.insert(values.end(), row.begin(), row.end());
  if (!fill) {
    const double first = values.empty() ? 0 : values.front();
    const bool all_equal = std::isfinite(first) && std::ranges::all_of(values, [&](double v) {
                             return std::bit_cast<uint64_t>(v) == std::bit_cast<uint64_t>(first);
                           });
    fill = engine::make_recipe("constant", {all_equal ? first : 0});
    if (!all_equal) list_values(f, "x", type, values);
  }
  tensor_spec x = l.flat ? engine::input_vector("x", type, cols, std::move(*fill))
                         : engine::input_matrix("x", type, count, cols, std::move(*fill));
  if (l.ldx) x.ld = l.ldx;
  x.offset = l.offset_x;
  f.the_case.tensors = {x};
  for (answer& a : answers) {
    tensor_spec y = l.flat     ? engine::output_vector(a.tensor, a.type, cols)
                    : a.matrix ? engine::output_matrix(a.tensor, a.type, count, cols)
                               : engine::output_vector(a.tensor, a.type, count);
    if (a.matrix || l.flat) {
      if (!l.flat) y.ld = l.in_place ? x.ld : l.ldy ? l.ldy : cols;
      y.offset = l.in_place ? x.offset : l.offset_y;
      if (l.in_place) y.in_place = "x";
    }
    f.the_case.tensors.push_back(std::move(y));
    f.outputs.push_back({a.tensor, std::move(a.values)});
  }
  require_input(f, rows);
}

row_model index_model(int64_t expected) {
  return {"index", 1, [expected](int64_t) { return fmt::format("{}", expected); },
          [expected](int64_t, double actual) {
            return reference::judge_fixed(dtype::f64, actual, static_cast<double>(expected));
          }};
}

namespace {

std::vector<std::string> row_disagreements(const golden_file& f, const row_models& models) {
  const engine::trial_case c = replay_case(f);
  const host_tensor x = engine::materialize(c.at("x"));
  std::vector<std::vector<double>> rows;
  for (int64_t r = 0; r < x.spec.rows(); ++r) rows.push_back(x.row(r));
  std::map<std::string, std::vector<row_model>> of_rows;
  for (const std::vector<double>& row : rows)
    for (row_model& model : models(c, row)) of_rows[model.tensor].push_back(std::move(model));
  const auto at = [&](const std::string& tensor, int64_t i) {
    const std::vector<row_model>& of_row = of_rows.at(tensor);
    const int64_t size = of_row.front().size;
    return std::pair(&of_row[static_cast<size_t>(i / size)], i % size);
  };
  return disagreements_with(f, {[&](const std::string& tensor, int64_t i) {
                                  const auto [model, element] = at(tensor, i);
                                  return model->text(element);
                                },
                                [&](const std::string& tensor, int64_t i, double actual) {
                                  const auto [model, element] = at(tensor, i);
                                  return model->judge(element, actual);
                                }});
}

}  // namespace

operator_golden row_golden(const std::string& op, std::vector<dtype> types, std::vector<golden_file> (*known_answers)(),
                           const row_models& models, std::vector<std::string> optional_outputs) {
  const auto check = [models](engine::trial& t) {
    if (t.stated().is_unstable) t.need("a stable sort");
    const engine::run_result result = t.run();
    const host_tensor& x = t.input("x");
    for (int64_t r = 0; r < x.spec.rows(); ++r) {
      const std::vector<double> values = x.row(r);
      for (const row_model& model : models(t.the_case(), values)) {
        if (!t.the_case().find(model.tensor)) continue;
        const host_tensor& y = result.at(model.tensor);
        for (int64_t i = 0; i < model.size; ++i) {
          const double actual =
              y.spec.rows() == x.spec.rows() && y.spec.cols() == model.size ? y.value(r, i) : y.value(0, r);
          const double input = values.empty() ? 0.0 : values[model.size == x.spec.cols() ? static_cast<size_t>(i) : 0];
          t.judge(model.tensor, r, i, input, actual, model.judge(i, actual), [&] { return model.text(i); });
        }
      }
    }
  };
  engine::property p = golden_property(op, std::move(types), known_answers, check);
  p.sentence = "closed forms and published field bugs come out within the bound";
  p.share_percent = 100;
  p.optional_outputs = std::move(optional_outputs);
  engine::property_registration{{std::move(p)}};
  return {op, known_answers, [models](const golden_file& f) { return row_disagreements(f, models); }};
}

}  // namespace warpcheck::golden
